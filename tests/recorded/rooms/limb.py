"""Arms and legs in their own frame: the solver, its swivels, streams and learned ranges."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps
from posable.limb import Search

from .. import readers
from ..calls import call
from ..flat import stacked
from ..inputs import body, directions, few, rotations, sample

LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")
WIDE = Search(0.5, -3.14, 3.14, step=0.035, growth=0.0, refine=8)


@cache
def _limb(name: str, limited: bool = True, search: Search | None = None, reference: str = "transport") -> ps.Limb:
    upper, lower = (0.31, 0.26) if name.endswith("arm") else (0.43, 0.42)
    limits = ps.Limits.human() if limited else None
    return ps.Limb(name, upper, lower, limits=limits, search=search, reference=reference)


def _targets(limb: ps.Limb, count: int = 14, seed: int = 0) -> np.ndarray:
    """(count + 5, 3): near and far, and those that ask for trouble."""
    far = np.random.default_rng(seed).uniform(0.3, 1.1, (count, 1)) * limb.length
    hard = [[0, 0, 0], [np.nan, 0.1, 0.2], [0, -limb.length, 0], [0, 0, limb.length], [np.inf, 0, 0]]
    return np.concatenate([directions(count, seed) * far, hard])


def _frontal(limb: ps.Limb, count: int = 14) -> np.ndarray:
    """(count, 3): where hands and feet mostly are, taken from a built-in motion."""
    name = "reach" if limb.name.endswith("arm") else "dance"
    found = body().limb(limb.name).read(few(sample(name), count)).position
    return found * (limb.length / body().limb(limb.name).length)


@call()
def search():
    found = {}
    for name in LIMBS:
        limb = _limb(name)
        found[name] = readers.limb(limb.solve(_targets(limb)))
        found[name + " in front"] = readers.limb(limb.solve(_frontal(limb)))
        turned = np.concatenate([rotations(17, 1), [[0, 0, 0, 0], [1.0, 0, 0, 0]]])
        found[name + " turned"] = readers.limb(limb.solve(_targets(limb, seed=1), turned))
    return found


@call()
def search_without_limits():
    found = {}
    for name in ("right_arm", "left_leg"):
        limb = _limb(name, False)
        found[name] = readers.limb(limb.solve(_targets(limb), rotations(19, 2)))
    return found


@call()
def fixed_swivel():
    limb = _limb("right_arm")
    swivels = np.linspace(-1.0, 2.0, 19)
    return {
        "limited": readers.limb(limb.solve(_targets(limb), swivel=swivels)),
        "free": readers.limb(_limb("right_arm", False).solve(_targets(limb), rotations(19, 3), swivel=0.4)),
        "nan": readers.limb(limb.solve([0.2, -0.1, 0.3], swivel=np.nan)),
    }


@call()
def other_searches():
    wide, paper = _limb("left_arm", search=WIDE), _limb("left_arm", reference="paper")
    one = _limb("right_arm").solve([0.35, -0.2, 0.3], [1, 0, 0, 0])
    return {
        "wide": readers.limb(wide.solve(_targets(wide), rotations(19, 4))),
        "paper": readers.limb(paper.solve(_targets(paper), wrist=(0.1, -0.2, 0.3))),
        "one": readers.limb(one),
        "broadcast": readers.limb(_limb("right_arm").solve([[[0.35, -0.2, 0.3]]], rotations(3, 5))),
        "wrists": readers.limb(
            _limb("right_arm").solve(_frontal(paper), wrist=np.linspace(-0.3, 0.3, 42).reshape(14, 3))
        ),
    }


@call()
def preferred_swivels():
    limb = _limb("right_arm")
    front = _frontal(limb)
    table, model = ps.SwivelTable.builtin("right_arm"), ps.Sensorimotor()
    leg = _limb("left_leg")
    return {
        "number": readers.limb(limb.solve(front, preferred=0.6)),
        "numbers": readers.limb(limb.solve(front, preferred=np.linspace(0.0, 1.5, 14))),
        "function": readers.limb(limb.solve(front, preferred=lambda positions: 0.5 - positions[..., 1])),
        "table": readers.limb(limb.solve(front, preferred=table)),
        "table_swivels": table.swivels(limb, _targets(limb)),
        "leg_table": ps.SwivelTable.builtin("left_leg").swivels(leg, _targets(leg)),
        "sensorimotor": readers.limb(limb.solve(front, preferred=model)),
        "sensorimotor_swivels": model.swivels(limb, _targets(limb)),
        "sensorimotor_left": model.swivels(_limb("left_arm"), _targets(limb)),
    }


@call()
def learned_swivels():
    motions = [sample("reach"), sample("boxing")]
    fitted = ps.SwivelTable.fit(
        body(), "right_arm", motions, directions=60, distances=(0.3, 0.6, 1.0), smooth=5.0, max_poses=80, seed=3
    )
    limb = body().limb("right_arm")
    reading = limb.read(sample("reach").pose[::3])
    made = ps.SwivelTable.from_examples(
        "right_arm", reading.position, reading.swivel, limb.upper, limb.lower, directions=60, smooth=1e-2
    )
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "a.npz")
        again = ps.SwivelTable.load(Path(folder) / "a.npz")
    targets = _targets(limb)
    return {
        "directions": fitted.directions,
        "fitted": fitted.swivels(limb, targets),
        "made": made.swivels(limb, targets),
        "again": again.swivels(limb, targets),
    }


@call()
def obstacles_of_a_limb():
    scene = ps.Scene().box("box", (0.2, 0.3, 0.2), (0.25, -0.25, 0.1)).sphere("ball", 0.1, (0.1, 0.1, 0.4))
    limb = _limb("right_arm")
    front = _frontal(limb)
    own = body().limb("right_arm")
    return {
        "scene": readers.limb(limb.solve(front, scene=scene)),
        "scene_turned": readers.limb(limb.solve(_targets(limb), rotations(19, 6), scene=scene)),
        "collides": readers.limb(limb.solve(front, collides=lambda values, swivel: bool(swivel < 0.8))),
        "obstacles": readers.limb(own.solve(front, obstacles=own.obstacles(body().neutral_pose, scene, margin=0.01))),
        "fixed": readers.limb(limb.solve(front, swivel=0.3, scene=scene)),
    }


@call()
def softness_and_range():
    limb = _limb("right_arm")
    learned = ps.LimbRange.builtin("right_arm")
    return {
        "soft": readers.limb(limb.solve(_targets(limb), softness=0.05)),
        "range": readers.limb(limb.solve(_targets(limb), limb_range=learned)),
        "both": readers.limb(limb.solve(_targets(limb), softness=0.02, limb_range=learned, preferred=0.9)),
    }


@call()
def forward():
    limb = _limb("left_leg")
    values = np.random.default_rng(7).uniform(-1.0, 1.0, (12, 7))
    frames = limb.forward(values)
    return {"mid": frames.mid, "end": frames.end, "orientation": frames.orientation, "length": limb.length}


def _path(limb: ps.Limb, count: int = 40) -> np.ndarray:
    """(count, 3): a closed curve that leaves what the limb can reach, with a frame that is lost."""
    t = np.linspace(0.0, 2.0 * np.pi, count)
    path = np.stack([0.1 + 0.35 * np.cos(t), -0.15 + 0.35 * np.sin(2 * t), 0.3 + 0.3 * np.sin(t)], axis=-1)
    path[7] = np.nan
    return path * (limb.length / 0.57)


@call()
def streams():
    limb = _limb("right_arm")
    path = _path(limb)
    stream = limb.stream(fps=50.0, speed=4.0)
    begun = limb.solve(path[0])
    stream.begin(begun.values, float(begun.swivel))
    steps = [readers.limb_track(stream.step(place, dt=0.03)) for place in path[:6]]
    stream.reset()
    steps += [readers.limb_track(stream.step(place, preferred=1.0)) for place in path[:3]]
    return {
        "track": readers.limb_track(limb.track(path, fps=30.0)),
        "turned": readers.limb_track(limb.track(path, rotations(1, 8)[0], fps=60.0, preferred=0.2)),
        "scene": readers.limb_track(limb.track(path, scene=ps.Scene().sphere("ball", 0.1, (0.2, -0.2, 0.3)))),
        "steps": stacked(steps),
    }


@call()
def builtin_ranges():
    found = {}
    for name in LIMBS:
        learned = ps.LimbRange.builtin(name)
        limb = _limb(name)
        fitting = learned.for_limb(limb)
        targets, swivels = _targets(limb, 20), np.linspace(-3.0, 3.0, 25)
        found[name] = {
            "report": readers.range_report(learned.report),
            "contains": fitting.contains(targets, swivels),
            "reached": fitting.contains(targets),
            "margins": readers.margins(fitting.margins(targets, swivels)),
            "correct": readers.correction(fitting.correct(targets, swivels)),
            "smooth": readers.correction(fitting.correct(targets, swivels, margin=0.05, smooth=True)),
            "spans": readers.spans(fitting.spans(directions(12, 9))),
            "bent": fitting.is_bent(targets),
        }
    return found


@call()
def range_transformed():
    learned = ps.LimbRange.builtin("right_arm")
    compact = learned.compact(degree=3)
    targets, swivels = _targets(_limb("left_arm"), 20), np.linspace(-3.0, 3.0, 25)
    return {
        "directions": learned.directions,
        "areas": learned.mesh_areas,
        "boundary": np.concatenate(learned.boundary()),
        "can_be_smooth": learned.can_be_smooth,
        "mirrored": readers.correction(learned.mirrored().correct(targets, swivels)),
        "scaled": readers.correction(learned.scaled(0.4, 0.3).correct(targets, swivels)),
        "compact": readers.correction(compact.correct(targets, swivels)),
    }


@call()
def ranges_learned():
    motions = [sample("reach"), sample("boxing"), sample("throw")]
    fitted = ps.LimbRange.fit(
        body(), "right_arm", motions, samples=300, radius=0.35, min_count=3, trim=0.01, max_poses=100, seed=1
    )
    reading = body().limb("left_leg").read(sample("dance").pose)
    limb = body().limb("left_leg")
    holes = ps.LimbRange.from_examples(
        "left_leg",
        reading.position,
        reading.swivel,
        limb.upper,
        limb.lower,
        samples=300,
        radius=0.4,
        fill_holes=False,
        kind="harmonics",
        degree=3,
    )
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "a.npz")
        again = ps.LimbRange.load(Path(folder) / "a.npz")
        written = (Path(folder) / "a.npz").read_bytes()
    targets, swivels = _targets(limb, 20), np.linspace(-3.0, 3.0, 25)
    return {
        "report": readers.range_report(fitted.report),
        "fitted": readers.correction(fitted.correct(targets, swivels, margin=0.02)),
        "margins": readers.margins(fitted.margins(targets, swivels)),
        "holes": readers.correction(holes.correct(targets, swivels)),
        "holes_report": readers.range_report(holes.report),
        "again": readers.correction(again.correct(targets, swivels)),
        "bytes": written,
    }


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    limb, learned = _limb("right_arm"), ps.LimbRange.builtin("right_arm").for_limb(_limb("right_arm"))
    targets, swivels = _targets(limb, 2200, 9), np.linspace(-3.0, 3.0, 2205)
    return {
        "solved": readers.limb(limb.solve(targets[::10], rotations(221, 10))),
        "contains": learned.contains(targets, swivels),
        "margins": readers.margins(learned.margins(targets, swivels)),
        "correct": readers.correction(learned.correct(targets, swivels)),
    }

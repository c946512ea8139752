"""Bodies from points: Sequential IK, its streams, calibration."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps

from .. import readers
from ..calls import call
from ..flat import stacked
from ..inputs import body, child, few, orientations, rotations, sample


@cache
def _solver(**options: object) -> ps.SequentialIK:
    return ps.SequentialIK(body(), **options)


def _points(name: str, count: int) -> np.ndarray:
    return body().markers(few(sample(name), count))


def _path(name: str = "dance", frames: int = 30, noise: float = 0.0) -> np.ndarray:
    points = body().markers(sample(name).pose[20 : 20 + frames])
    return points + noise * np.random.default_rng(0).normal(size=points.shape)


def _joints(roles: tuple[str, ...], pose: ps.Pose) -> np.ndarray:
    return body().skeleton.forward(pose).positions[..., [body().index(role) for role in roles], :]


@call()
def solved():
    found = {}
    for label, options in (("prior", {}), ("paper", {"prior": None})):
        solver = _solver(**options)
        for name in ("walk", "boxing", "throw"):
            found[f"{label} {name}"] = readers.rebuilt(solver.solve(_points(name, 5)))
        far = _points("reach", 4)
        far[0, 2] += (0.5, 0.5, 0.5)
        far[1, 1] = np.nan
        far[2] += np.random.default_rng(1).normal(size=(6, 3))
        found[f"{label} wrong"] = readers.rebuilt(solver.solve(far))
        found[f"{label} one"] = readers.rebuilt(solver.solve(_points("dance", 3)[1]))
    return found


@call()
def solved_with_options():
    points = _points("reach", 6)
    scene = ps.Scene().plane("floor", (0, 0.05, 0)).box("table", (1.2, 0.05, 0.6), (0.0, 0.9, 0.4))
    found = {}
    for label, options in {
        "weights": {"weights": (1.0, 0.5, 0.2), "prior": None},
        "no_limits": {"limits": None},
        "no_limits_no_prior": {"limits": None, "prior": None},
        "elbows": {"elbows_out": False, "prior": None},
        "literal": {"paper_spine": True},
    }.items():
        found[label] = readers.rebuilt(_solver(**options).solve(points))
    for prior in ("default", None):
        among = ps.SequentialIK(body(), scene=scene, prior=prior)
        found[f"scene {prior}"] = readers.rebuilt(among.solve(points))
    own = ps.SequentialIK(body(), prior=ps.Prior.builtin(), limits=ps.Limits.human())
    found["own_prior"] = readers.rebuilt(own.solve(points))
    return found


@call()
def solved_with_orientations():
    pose = few(sample("dance"), 5)
    points, turns = body().markers(pose), orientations(pose)
    some = {"head": turns["head"], "left_hand": rotations(5, 2), "hips": turns["hips"].copy()}
    some["hips"][2] = np.nan
    found = {}
    for label, options in (("prior", {}), ("paper", {"prior": None})):
        found[f"{label} all"] = readers.rebuilt(_solver(**options).solve(points, turns))
        found[f"{label} some"] = readers.rebuilt(_solver(**options).solve(points, some))
    return found


MORE = (*ps.MARKERS, "left_lower_arm", "right_lower_leg", "upper_chest")
FEWER = ("head", "left_hand", "right_hand")


@call()
def other_markers():
    pose = few(sample("boxing"), 5)
    motion = sample("walk")[10:40]
    found = {}
    for label, markers in {
        "more": MORE,
        "fewer": FEWER,
        "hips": ("hips",),
        "legs": ("hips", "left_foot", "right_foot", "left_lower_leg"),
        "one_side": ("head", "hips", "right_hand", "right_foot"),
    }.items():
        solver = _solver(markers=markers)
        found[label] = readers.rebuilt(solver.solve(_joints(markers, pose)))
        found[f"{label} track"] = readers.rebuilt_motion(solver.track(_joints(markers, motion.pose), fps=30.0))
    turns = {"head": orientations(motion.pose)["head"]}
    found["fewer turned"] = readers.rebuilt_motion(
        _solver(markers=FEWER).track(_joints(FEWER, motion.pose), fps=30.0, orientations=turns)
    )
    return found


@call()
def tracked():
    lost = _path("reach")
    lost[5:12, 2] = np.nan
    lost[9, 0] = np.nan
    found = {}
    for label, options in {
        "prior": {},
        "paper": {"prior": None},
        "published": {"prior": None, "elbows_out": False, "limit_rates": False, "weights": (1.0, 1.0, 0.5)},
        "literal": {"paper_spine": True},
    }.items():
        solver = _solver(**options)
        found[label] = readers.rebuilt_motion(solver.track(_path("throw"), fps=30.0))
        found[f"{label} lost"] = readers.rebuilt_motion(solver.track(lost, fps=30.0))
    return found


@call()
def tracked_with_options():
    noisy = _path("walk", noise=0.003)
    turns = orientations(sample("walk").pose[20:50])
    found = {}
    for label, options in (("prior", {}), ("paper", {"prior": None})):
        solver = _solver(**options)
        found[f"{label} smooth"] = readers.rebuilt_motion(solver.track(noisy, fps=30.0, smoothing=0.05))
        found[f"{label} feet"] = readers.rebuilt_motion(solver.track(noisy, fps=30.0, lock_feet=True))
        found[f"{label} turned"] = readers.rebuilt_motion(
            solver.track(noisy, fps=30.0, orientations=turns, smoothing=0.05, lock_feet=True)
        )
    return found


@call()
def streamed():
    points = _path("dance", 14, 0.002)
    points[6, 3] = np.nan
    turns = orientations(sample("dance").pose[20:34])
    found = {}
    for label, options in (("prior", {}), ("paper", {"prior": None})):
        stream = _solver(**options).stream(fps=30.0, smoothing=0.04, lock_feet=True)
        plain = _solver(**options).stream(fps=30.0)
        turned, steps = [], []
        for k, frame in enumerate(points):
            told = {"head": turns["head"][k], "left_foot": turns["left_foot"][k]}
            turned.append(readers.rebuilt(stream.step(frame, told, dt=0.05 if k == 4 else None)))
            steps.append(readers.rebuilt(plain.step(frame)))
        found |= {f"{label} turned": stacked(turned), f"{label} plain": stacked(steps)}
        plain.reset()
        found[f"{label} again"] = readers.rebuilt(plain.step(points[0]))
    return found


@call()
def calibrated():
    upright = {role: rotations(6, 3)[k] for k, role in enumerate(ps.MARKERS)}
    pose = sample("walk").pose[::8]
    points, turns = child().markers(child().pose(body().canonical(pose))), orientations(pose)
    standing = child().markers(child().neutral_pose)
    posed = ps.Calibration.from_pose(body(), standing, upright, pose="neutral", height=1.3)
    without = ps.Calibration.from_pose(body(), standing, pose=body().neutral_pose)
    fitted = ps.Calibration.fit(body(), points, turns)
    further = ps.Calibration.fit(body(), points, start=without)
    with tempfile.TemporaryDirectory() as folder:
        posed.save(Path(folder) / "me.json")
        again = ps.Calibration.load(Path(folder) / "me.json")
    joints, parts = fitted.apply(points, turns)
    worn, reported = posed.trackers(points, turns)
    person = fitted.scaled(body())
    return {
        "posed": readers.calibration(posed),
        "without": readers.calibration(without),
        "fitted": readers.calibration(fitted),
        "further": readers.calibration(further),
        "again": readers.calibration(again),
        "joints": joints,
        "parts": parts,
        "worn": worn,
        "reported": reported,
        "measures": person.measures,
        "offsets": person.skeleton.offsets,
        "solved": readers.rebuilt(ps.SequentialIK(person, prior=None).solve(joints[:4])),
    }


@call("cmu/17_10.bvh")
def captured(path):
    motion = ps.load(path, repair="cmu", first_frame=1)[200:320:4]
    person = ps.Humanoid(motion.skeleton)
    points = person.markers(motion.pose)
    found = {}
    for label, options in {"prior": {}, "paper": {"prior": None}, "literal": {"paper_spine": True}}.items():
        solver = ps.SequentialIK(person, **options)
        found[label] = readers.rebuilt_motion(solver.track(points, fps=motion.fps))
    return found


@call("characters/KayKit_Knight.glb")
def knight(path):
    person = ps.Humanoid(ps.load(path).skeleton)
    points = person.markers(person.pose(body().canonical(few(sample("dance"), 5))))
    return {
        "prior": readers.rebuilt(ps.SequentialIK(person).solve(points)),
        "paper": readers.rebuilt(ps.SequentialIK(person, prior=None).solve(points)),
    }


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    points = body().markers(sample("reach").pose[:150])
    return {
        "prior": readers.rebuilt(_solver().solve(points)),
        "paper": readers.rebuilt(_solver(prior=None).solve(points)),
    }


@call(
    "characters/makehuman/default.mhskel", "characters/makehuman/base.obj", "characters/makehuman/default_weights.mhw"
)
def makehuman(path, _obj, _weights):
    """A spine of many joints, and bones in segments."""
    person = ps.Humanoid(ps.load(path).skeleton)
    points = person.markers(person.pose(body().canonical(sample("boxing").pose[::20])))
    return {
        "prior": readers.rebuilt(ps.SequentialIK(person).solve(points)),
        "paper": readers.rebuilt_motion(ps.SequentialIK(person, prior=None).track(points, fps=30.0)),
    }

"""Public calls with arrays on a GPU: what each is called with, and what of its answer is compared with the CPU's.

`CASES` serves two tests: one with a library and a driver that need no GPU (tests/compute/test_gpu_arrays.py), and one
where there is a GPU (tests/test_gpu.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import posable as ps


@dataclass(frozen=True)
class Case:
    """A call of `arrays` that gives a mapping of names to arrays."""

    arrays: dict[str, np.ndarray]
    call: Callable[..., dict[str, Any]]
    narrow: float = 1e-5
    """How far answers in float32 may be from those in float64, for the same float32 targets."""
    rounding: float = 1e-15
    """By how much, of their size, targets are moved to see what hangs on rounding: more where a product of matrices
    adds in an order of its own."""


def unsure(case: Case, arrays: dict[str, np.ndarray], expected: dict[str, Any]) -> dict[str, np.ndarray]:
    """How far the CPU's floats move where targets differ by rounding: of two postures, equally good, that decides."""
    moved = {key: np.zeros(np.shape(value)) for key, value in expected.items() if np.asarray(value).dtype.kind == "f"}
    rng = np.random.default_rng(0)
    for _ in range(16):
        steps = {key: case.rounding * rng.choice([-1.0, 0.0, 1.0], one.shape) for key, one in arrays.items()}
        for key, value in case.call(**{key: one * (1.0 + steps[key]) for key, one in arrays.items()}).items():
            if key in moved:
                with np.errstate(invalid="ignore"):
                    away = np.nan_to_num(np.abs(np.asarray(value) - expected[key]))
                moved[key] = np.maximum(moved[key], away)
    return moved


@lru_cache(maxsize=1)
def body() -> ps.Humanoid:
    return ps.figure()


def rotations(rng, *shape: int) -> np.ndarray:
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def forward() -> Case:
    skeleton, rng = body().skeleton, np.random.default_rng(0)

    def call(translation, rotations):
        frames = skeleton.forward(ps.Pose(translation, rotations))
        return {"positions": frames.positions, "orientations": frames.orientations}

    return Case({"translation": rng.normal(size=(3, 4, 3)), "rotations": rotations(rng, 3, 4, len(skeleton))}, call)


def jacobian() -> Case:
    skeleton, rng = body().skeleton, np.random.default_rng(1)

    def call(translation, rotations):
        pose = ps.Pose(translation, rotations)
        return {"jacobian": skeleton.jacobian(pose, 9, (0.1, 0.2, 0.3)), "values": skeleton.values(pose)}

    return Case({"translation": rng.normal(size=(5, 3)), "rotations": rotations(rng, 5, len(skeleton))}, call)


def from_values() -> Case:
    skeleton, rng = body().skeleton, np.random.default_rng(2)

    def call(values, steps):
        pose = skeleton.integrate(skeleton.from_values(values), steps)
        return {"translation": pose.translation, "rotations": pose.rotations}

    return Case({name: rng.uniform(-1, 1, size=(6, len(skeleton.dofs))) for name in ("values", "steps")}, call)


def limits() -> Case:
    human, rng = ps.Limits.human(), np.random.default_rng(3)

    def call(q, start):
        return {
            "clamped": human.clamp(human.names, q),
            "approximate": human.clamp(human.names, q, approximate=True),
            "excess": human.excess(human.names, q),
            "inside": human.contains("left_hand", q[..., 0, :]),
            "from": human.clamp_from(human.names, start, q),
            "slack": human.slack(human.names, start),
        }

    arrays = {"q": rotations(rng, 7, len(human)), "start": rotations(rng, 7, len(human))}
    small = {name: (q + 3.0 * np.array([1.0, 0, 0, 0])) for name, q in arrays.items()}
    return Case({name: q / np.linalg.norm(q, axis=-1, keepdims=True) for name, q in small.items()}, call)


def reported(answer: Any) -> dict[str, Any]:
    names = (
        "values status swivel position_error orientation_error tests too_far too_near ok flexion penetrates in_range"
    )
    return {name: getattr(answer, name) for name in names.split()}


def limb_targets(rng, arm: Any) -> dict[str, np.ndarray]:
    values = rng.uniform(-1.0, 1.0, (4, 10, 7))
    values[..., 3] = rng.uniform(0.2, 2.2, (4, 10))
    frames = arm.forward(values)
    position = np.array(frames.end)
    position[0, 0] *= 3.0
    position[1, 1] = np.nan
    return {"position": position, "orientation": np.array(frames.orientation)}


def limb_search() -> Case:
    arm = body().limb("right_arm")
    return Case(limb_targets(np.random.default_rng(4), arm), lambda **given: reported(arm.solve(**given)), 1e-3)


def limb_swivel() -> Case:
    arm = ps.Limb("left_arm", 0.3, 0.25)
    targets = limb_targets(np.random.default_rng(5), arm)

    def call(**given):
        return {**reported(arm.solve(**given)), "mid": arm.forward(arm.solve(**given).values).mid}

    return Case({**targets, "swivel": np.linspace(-2.0, 2.0, 10)}, call, 1e-3)


def limb_position_only() -> Case:
    leg = body().limb("left_leg")
    targets = limb_targets(np.random.default_rng(6), leg)
    return Case({"position": targets["position"]}, lambda **given: reported(leg.solve(**given)), 1e-3)


def limb_range() -> Case:
    known, rng = ps.LimbRange.builtin("right_arm"), np.random.default_rng(7)

    def call(position, swivel):
        corrected, margins = known.correct(position, swivel, margin=0.05), known.margins(position, swivel)
        spans = known.spans(position)
        return {
            "contains": known.contains(position, swivel),
            "anywhere": known.contains(position),
            "position": corrected.position,
            "swivel": corrected.swivel,
            "changed": corrected.changed,
            **{f"margin {k}": value for k, value in enumerate(vars(margins).values())},
            **{f"span {k}": value for k, value in enumerate(vars(spans).values())},
        }

    return Case({"position": rng.normal(size=(30, 3)) * 0.4, "swivel": rng.uniform(-3, 3, 30)}, call, 1e-4)


def walking(rng, *shape: int) -> ps.Pose:
    motion = ps.samples.walk(body())
    return motion.pose[rng.integers(0, len(motion), shape)]


def body_points(rng, *shape: int) -> np.ndarray:
    """Six points of walking bodies, some of which no body can reach."""
    points = body().markers(walking(rng, *shape)) + rng.normal(size=(*shape, 6, 3)) * 0.02
    points[..., 1, :] += [0.5, 0.0, -0.3]
    return points


def reconstructed(answer: Any) -> dict[str, Any]:
    poses = answer.motion.pose if hasattr(answer, "motion") else answer.pose
    names = "status position_error orientation_error marker_errors lost points ok"
    errors = {f"orientation of {role}": angle for role, angle in answer.marker_orientation_errors.items()}
    found = {name: getattr(answer, name) for name in names.split()} | errors
    return {"translation": poses.translation, "rotations": poses.rotations, **found}


def bodies(prior: str | None, **orientations: str) -> Case:
    solver, rng = ps.SequentialIK(body(), prior=prior), np.random.default_rng(8)
    points = body_points(rng, 3, 4)
    points[1, 2, 3] = np.nan
    frames = body().skeleton.forward(walking(np.random.default_rng(8), 3, 4))
    arrays = {"points": points}
    for role in orientations:  # of the same bodies, a little off: far from them, the last bit decides
        turned = body().canonical_orientation(frames, body().roles[role]) + 0.1 * rotations(rng, 3, 4)
        arrays[role] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)

    def call(points, **turned):
        return reconstructed(solver.solve(points, turned or None))

    return Case(arrays, call, 1e-3, 1e-15 if prior is None else 1e-12)


def bodies_with_prior() -> Case:
    return bodies("default")


def bodies_without_prior() -> Case:
    return bodies(None)


def bodies_with_orientations() -> Case:
    return bodies("default", hips="", left_hand="")


def one_track() -> Case:
    solver = ps.SequentialIK(body())
    points = body().markers(ps.samples.walk(body())[:8].pose)
    points[3, 2] = np.nan
    return Case({"points": points}, lambda points: reconstructed(solver.track(points, fps=30.0)), 1e-3)


def many_tracks() -> Case:
    solver = ps.SequentialIK(body())
    walk = body().markers(ps.samples.walk(body())[:18].pose).reshape(3, 6, 6, 3)
    return Case({"points": walk}, lambda points: reconstructed(solver.track(points, fps=30.0)), 1e-3)


def aims(method: str, *kinds: str) -> Case:
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    erik, rng = ps.ERIK(chain, method=method), np.random.default_rng(10)
    orientation = rotations(rng, 4, 5)
    orientation[0, 0] = np.nan
    orientation[0, 1] = 0.0
    postures = rng.uniform(-1.5, 1.5, (4, 5, 5))

    def call(posture, orientation):
        found = {}
        for kind in kinds:
            answer = erik.solve(posture, **{kind: orientation if kind == "orientation" else orientation[..., 1:]})
            names = "angles error orientation_score posture_error iterations status position_error orientation_error ok"
            found |= {f"{kind} {name}": getattr(answer, name) for name in names.split()}
        return found

    return Case({"posture": postures, "orientation": orientation}, call, 1e-3)


def aims_best() -> Case:
    return aims("best", "orientation", "direction")


def aims_by_paper() -> Case:
    return aims("erik", "orientation")


def reached(answer: Any) -> dict[str, Any]:
    names = "status position_error orientation_error reason tried weight lowered ok step heels"
    found = {name: getattr(answer, name) for name in names.split()}
    found |= {"translation": answer.pose.translation, "rotations": answer.pose.rotations}
    for side in ("right", "left"):
        hand = getattr(answer, side)
        if hand is not None:
            names = "status position_error orientation_error swivel requested_weight weight"
            found |= {f"{side} {name}": getattr(hand, name) for name in names.split()}
    return found


def hand_places(rng, *shape: int) -> np.ndarray:
    """Near and far, low and high, one of them no position."""
    places = rng.uniform([-0.9, 0.1, 0.0], [0.2, 1.9, 1.0], (*shape, 3))
    places[0, 1] = np.nan
    return places


def reach() -> Case:
    solver, rng = ps.Reacher(body(), ps.Behaviour.default(body(), "right_arm"), gaze=0.5), np.random.default_rng(12)
    return Case({"position": hand_places(rng, 3, 4)}, lambda position: reached(solver.solve(position)), 1e-3)


def reach_with_both_hands() -> Case:
    """From poses of a walk, with orientations and a pole, among obstacles."""
    right = ps.Behaviour.default(body(), "right_arm")
    scene = ps.Scene().sphere("ball", 0.15, (-0.3, 1.0, 0.45)).box("table", (0.8, 0.05, 0.5), (0.0, 0.75, 0.6))
    solver = ps.Reacher(body(), right, right.mirrored(), scene=scene, allowed_contacts="table")
    rng = np.random.default_rng(13)
    start = ps.samples.walk(body()).pose[:8:2]
    places = hand_places(rng, 3, 4)
    arrays = {
        "translation": np.array(start.translation),
        "turns": np.array(start.rotations),
        "right": places + np.array([0.0, 0.0, 0.2]),
        "left": places * np.array([-1.0, 1.0, 1.0]) + np.array([0.2, 0.0, 0.2]),
        "orientation": rotations(rng, 3, 4),
    }

    def call(translation, turns, right, left, orientation):
        targets = ps.Target(right, orientation, pole=[-1.0, 0.5, -0.5]), ps.Target(left)
        return reached(solver.solve(*targets, start=ps.Pose(translation, turns), weight=0.7))

    return Case(arrays, call, 1e-3)


def limb_inside_range() -> Case:
    """Targets that the range moves, near full stretch, some with an orientation and some with a given swivel."""
    arm, known = body().limb("right_arm"), ps.LimbRange.builtin("right_arm")
    targets = limb_targets(np.random.default_rng(14), arm)
    targets["position"][2] *= 1.1

    def call(position, orientation):
        found = {}
        for name, options in {
            "searched": {"orientation": orientation},
            "free": {"softness": 0.05},
            "fixed": {"orientation": orientation, "swivel": 0.4, "softness": 0.02},
        }.items():
            answer = arm.solve(position, limb_range=known if name == "searched" else None, **options)
            measures = reported(answer) | {"penetration": answer.penetration, "in_limits": answer.in_limits}
            found |= {f"{name} {key}": value for key, value in measures.items()}
        return found

    return Case(targets, call, 1e-3)


def aims_at_points() -> Case:
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    erik, rng = ps.ERIK(chain, signed=True), np.random.default_rng(15)
    points = rng.normal(size=(2, 5, 3))
    points[0, 0] = np.nan

    def call(posture, points):
        answer = erik.solve(posture, look_at=points)
        return {name: getattr(answer, name) for name in AIMED.split()}

    return Case({"posture": rng.uniform(-2.0, 2.0, (2, 5, 5)), "points": points}, call, 1e-3)


AIMED = "angles error orientation_score posture_error iterations status position_error orientation_error ok"


def tracked_aims(kind: str) -> Case:
    """Targets that turn, some of which begin where closed forms miss them; from a start, and from none."""
    import posable.math as pm

    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    # Signed: of two mirrored postures, equally good, the last bit would decide.
    erik, rng = ps.ERIK(chain, signed=True), np.random.default_rng(16)
    turns = pm.multiply(pm.axis_angle([0.3, 0.8, -0.52], np.radians(np.arange(6.0))), rotations(rng, 4, 1))
    turns[3, 2] = np.nan
    targets = {"orientations": turns, "directions": turns[..., 1:] + 0.1, "look_at": turns[..., 1:] + [0.3, 0.8, 2.0]}[
        kind
    ]
    posture, start = rng.uniform(-1.2, 1.2, (4, 1, 5)), rng.uniform(-0.5, 0.5, (4, 5))

    def call(posture, targets, start):
        found = {}
        for name, options in {"free": {}, "started": {"start": start}}.items():
            answer = erik.track(posture, fps=30.0, **{kind: targets}, **options)
            found |= {f"{name} {key}": getattr(answer, key) for key in (AIMED + " jumped").split()}
        return found

    return Case({"posture": posture, "targets": targets, "start": start}, call, 1e-3)


def tracked_orientations() -> Case:
    return tracked_aims("orientations")


def tracked_directions() -> Case:
    return tracked_aims("directions")


def tracked_points() -> Case:
    return tracked_aims("look_at")


def carried_postures() -> Case:
    """Motions from one body onto others: of other proportions, and with a spine of fewer joints and fingers."""
    source = ps.figure(height=1.6)
    targets = [ps.figure(height=1.9), other_rig()]
    walk = ps.samples.walk(source).pose[:12].reshape(3, 4)

    rig = other_rig().pose(source.canonical(walk))  # its own motion, which goes the other way

    def call(translation, rotations, rig_translation, rig_rotations):
        posture = source.canonical(ps.Pose(translation, rotations))
        found = {"canonical": posture.rotations, "hips": posture.hips, "bends": posture.spine.bends}
        for k, target in enumerate(targets):
            pose = target.pose(posture)
            found |= {f"{k} translation": pose.translation, f"{k} rotations": pose.rotations}
        back = source.pose(other_rig().canonical(ps.Pose(rig_translation, rig_rotations)))
        return found | {"back": back.rotations, "hips back": back.translation}

    arrays = {"translation": walk.translation, "rotations": walk.rotations}
    arrays |= {"rig_translation": rig.translation, "rig_rotations": rig.rotations}
    return Case({name: np.array(array) for name, array in arrays.items()}, call, 1e-5)


@lru_cache(maxsize=1)
def other_rig() -> ps.Humanoid:
    """A body whose spine has fewer joints, with fingers, whose joints' frames are not those of the world."""
    names = {"Hips": "", "Spine": "Hips", "Neck": "Spine", "Head": "Neck"}
    offsets = {"Hips": (0, 1, 0), "Spine": (0, 0.3, 0), "Neck": (0, 0.2, 0), "Head": (0, 0.1, 0)}
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        limbs = {
            "Arm": ("Spine", (0.2 * sign, 0.15, 0)), "ForeArm": ("Arm", (0.28 * sign, 0, 0)),
            "Hand": ("ForeArm", (0.25 * sign, 0, 0)), "HandIndex1": ("Hand", (0.09 * sign, 0, 0.02)),
            "HandIndex2": ("HandIndex1", (0.04 * sign, 0, 0)), "HandIndex3": ("HandIndex2", (0.03 * sign, 0, 0)),
            "UpLeg": ("Hips", (0.1 * sign, -0.05, 0)), "Leg": ("UpLeg", (0, -0.4, 0)), "Foot": ("Leg", (0, -0.42, 0)),
            "ToeBase": ("Foot", (0, -0.06, 0.12)),
        }  # fmt: skip
        for part, (above, offset) in limbs.items():
            names[side + part] = above if above in ("Spine", "Hips") else side + above
            offsets[side + part] = offset
    order = list(names)
    parents = [-1 if not names[one] else order.index(names[one]) for one in order]
    rest = rotations(np.random.default_rng(17), len(order))
    return ps.Humanoid(turned_rig(order, parents, np.array([offsets[one] for one in order], np.float64), rest))


def turned_rig(names: list[str], parents: list[int], offsets: np.ndarray, world: np.ndarray) -> ps.Skeleton:
    """A skeleton that stands as its offsets in the world say, with joints oriented as `world` says."""
    import posable.math as pm

    local, turned = world.copy(), offsets.copy()
    for k, parent in enumerate(parents):
        if parent >= 0:
            back = pm.conjugate(world[parent])
            local[k], turned[k] = pm.multiply(back, world[k]), pm.rotate(back, offsets[k])
    return ps.Skeleton(names, parents, turned, rest_rotations=local)


def quaternions() -> Case:
    import posable.math as pm

    def call(p, q, v):
        return {
            "product": pm.multiply(p, q),
            "inverse": pm.conjugate(q),
            "rotated": pm.rotate(q, v),
            "between": pm.between(v, [0.0, 0.0, 1.0]),
            "between rotations": pm.slerp(p, q, 0.3),
            "angle": pm.angle(p, q),
            "matrix": pm.to_matrix(q),
            "back": pm.from_matrix(pm.to_matrix(q)),
            "twist": pm.swing_twist(q, [0.0, 1.0, 0.0])[1],
            "log": pm.log(pm.exp(v)),
            "euler": pm.from_euler("ZYX", v),
        }

    rng = np.random.default_rng(11)
    return Case({"p": rotations(rng, 2, 3), "q": rotations(rng, 2, 3), "v": rng.normal(size=(2, 3, 3))}, call)


CASES: dict[str, Callable[[], Case]] = {
    one.__name__: one
    for one in (
        *(forward, jacobian, from_values, quaternions, limits),
        *(limb_search, limb_swivel, limb_position_only, limb_range, aims_best, aims_by_paper),
        *(bodies_with_prior, bodies_without_prior, bodies_with_orientations, one_track, many_tracks),
        *(reach, reach_with_both_hands, limb_inside_range, aims_at_points),
        *(tracked_orientations, tracked_directions, tracked_points, carried_postures),
    )
}

"""The jobs that are measured: every solver on the built-in figure, one input a call and many, and how each is judged.

A case makes its inputs when it is opened, from a seed, so that every run and every machine solves the same. Targets of
the limbs and of the whole body are hands of random postures, so most of them can be reached, and not all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from ... import math as pm
from ... import samples
from ...body import Humanoid, figure
from ...classic import METHODS
from ...compute.types import Floats
from ...edit import AutoPose, MotionEditor
from ...express import ERIK, Chain, MotionFilter
from ...formats import read_robot
from ...limb import LimbRange, Target
from ...reach import Behaviour, Reacher
from ...reconstruct import SequentialIK
from ...robots import retarget
from ...skeleton import Pose
from .gpu import tiled
from .judge import Judged, apart, arm_frames, chain_orientations, joints_of, rotated

EXACT, MILLIMETRE = 1e-6, 1e-3  # [m]: what exact solvers promise and more; what is called reached of a whole body
HAND = "right_hand"
AXES = "YXXZY"  # skeleton C of Ribeiro and Paiva

__all__ = ["CASES", "Case", "Contender", "opened"]


@dataclass(frozen=True)
class Contender:
    """One solver in a case: the package's own, or that of another library.

    Attributes:
        name: of the solver.
        one: solves input i in a call of its own.
        many: solves all inputs in one call; None where there is no such call.
        judged: judges what `many` returned; or, where there is no such call, a list of what `one` did.
        claimed: (N,) which of these answers the solver itself says it has reached; None where it says nothing.
        note: settings, for a table.
        is_peer: whether it is another library's.
        gpu: given what places arrays on a GPU, returns a call that solves `gpu.ROWS` inputs there; None where no call
            takes such arrays.
    """

    name: str
    one: Callable[[int], Any]
    many: Callable[[], Any] | None = None
    judged: Callable[[Any], Judged] | None = None
    claimed: Callable[[Any], Any] | None = None
    note: str = ""
    is_peer: bool = False
    gpu: Callable[[Callable[[Floats], Any]], Callable[[], object]] | None = None


@dataclass(frozen=True)
class Case:
    """A job, and who is measured at it."""

    unit: str
    rows: int
    contenders: Sequence[Contender] = field(default_factory=tuple)


def ok(answer: Any) -> Any:
    """Return what a solution says of itself."""
    return np.atleast_1d(answer.ok)


@cache
def person() -> Humanoid:
    """Return the body of all cases."""
    return figure()


def random_poses(count: int, spread: float = 0.35) -> Pose:
    """Return poses about the neutral one."""
    rng, body = np.random.default_rng(0), person()
    rotations = pm.multiply(
        body.neutral_pose.rotations, pm.exp(spread * rng.normal(size=(count, len(body.skeleton), 3)))
    )
    return Pose(np.broadcast_to(body.neutral_pose.translation, (count, 3)).copy(), rotations)


def hand_targets(count: int, reach: float = 1.15) -> Floats:
    """Return positions of the right hand [m], a few of them further off than the arm is long."""
    body, rng = person(), np.random.default_rng(1)
    shoulder = joints_of(body.skeleton, body.neutral_pose)[body.roles["right_upper_arm"]]
    arm = body.limb("right_arm")
    directions = rng.normal((-0.4, -0.2, 1.2), 1.0, (4 * count, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    far = (arm.upper + arm.lower) * rng.uniform(0.45, reach, (4 * count, 1))
    found: Floats = (shoulder + far * directions)[:count]
    return found


def arm_postures(count: int) -> Floats:
    """Return seven values (N, 7) of arms inside the human limits: of drawn ones, those whose joints the limits take."""
    body, rng = person(), np.random.default_rng(0)
    drawn = rng.uniform(-1.2, 1.2, (8 * count, 7))
    drawn[:, 3] = rng.uniform(0.2, 2.2, len(drawn))
    still = Pose(np.zeros((len(drawn), 3)), np.tile(body.neutral_pose.rotations, (len(drawn), 1, 1)))
    posture = body.canonical(body.pose_limb(still, "right_arm", drawn))
    joints = ("right_upper_arm", "right_lower_arm", "right_hand")
    inside = np.all([body.limits.contains(role, posture.rotation(role), 1e-7) for role in joints], axis=0)
    found: Floats = np.resize(drawn[inside], (count, 7))
    return found


def hand_off(positions: Floats, answer: Any) -> Judged:
    """Judge poses by how far the hand is from where it was sent."""
    reached = joints_of(person().skeleton, answer.pose)[..., person().roles[HAND], :]
    return Judged(np.atleast_1d(apart(reached, positions)), EXACT)


def forward() -> Case:
    """Forward kinematics of the figure."""
    rows, skeleton = 10_000, person().skeleton
    poses = random_poses(rows)
    single = [poses[i] for i in range(64)]

    def judged(frames: Any) -> Judged:
        return Judged(apart(frames.positions, joints_of(skeleton, poses)).max(axis=-1), 1e-9)

    def on_gpu(to_gpu: Callable[[Floats], Any]) -> Callable[[], object]:
        there = Pose(to_gpu(tiled(poses.translation)), to_gpu(tiled(poses.rotations)))
        return lambda: skeleton.forward(there)

    calls = (lambda i: skeleton.forward(single[i]), lambda: skeleton.forward(poses))
    return Case("pose", rows, [Contender("posable", *calls, judged, gpu=on_gpu)])


def jacobian() -> Case:
    """The Jacobian of a hand."""
    rows, skeleton, joint = 2000, person().skeleton, person().roles[HAND]
    poses = random_poses(rows)
    single = [poses[i] for i in range(64)]

    def judged(found: Any) -> Judged:
        """By differences: of every degree of freedom, a step this way and that way."""
        few, step, count = poses[:5], 1e-6, len(skeleton.dofs)
        change = step * np.eye(count)[:, None]
        ends = [
            joints_of(skeleton, skeleton.integrate(few, np.broadcast_to(sign * one, (5, count))))[:, joint]
            for one in change
            for sign in (1.0, -1.0)
        ]
        slopes = np.stack([(a - b) / (2 * step) for a, b in zip(ends[::2], ends[1::2], strict=True)], axis=-1)
        errors = np.abs(np.asarray(found)[:5, :3] - slopes).max(axis=(-1, -2))
        return Judged(errors, 1e-6, "m a unit, of five")

    calls = (lambda i: skeleton.jacobian(single[i], joint), lambda: skeleton.jacobian(poses, joint))
    return Case("pose", rows, [Contender("posable", *calls, judged)])


def clamp() -> Case:
    """A shoulder brought inside its limits."""
    rows, limits, role = 20_000, person().limits, "right_upper_arm"
    rotations = pm.normalize(np.random.default_rng(2).normal(size=(rows, 4)))

    def judged(found: Any) -> Judged:
        inside = limits.contains(role, found, 1e-7)
        return Judged(np.abs(np.linalg.norm(found, axis=-1) - 1.0), 1e-9, "of unit length and inside", inside)

    calls = (lambda i: limits.clamp(role, rotations[i]), lambda: limits.clamp(role, rotations))
    return Case("rotation", rows, [Contender("posable", *calls, judged, note="inside: asked of the limits")])


def limb(swivel: float | None = None) -> Case:
    """An arm, inside its limits with a search for the elbow; or without limits, its swivel given."""
    rows = 4000 if swivel is None else 20_000
    arm = person().limb("right_arm") if swivel is None else person().limb("right_arm", limits=None)
    values = arm_postures(rows)
    end, orientation = arm_frames(values, arm.upper, arm.lower)
    given: dict[str, Any] = {} if swivel is None else {"swivel": swivel}

    def judged(answer: Any) -> Judged:
        reached, rotation = arm_frames(answer.values, arm.upper, arm.lower)
        aside = 2.0 * np.sqrt(np.maximum(0.0, 1.0 - np.abs((rotation * orientation).sum(axis=-1))))
        return Judged(np.maximum(apart(reached, end), aside), EXACT, "m and rad")

    def on_gpu(to_gpu: Callable[[Floats], Any]) -> Callable[[], object]:
        p, q = to_gpu(tiled(end)), to_gpu(tiled(orientation))
        return lambda: arm.solve(p, q, **given)

    calls = (lambda i: arm.solve(end[i], orientation[i], **given), lambda: arm.solve(end, orientation, **given))
    return Case("target", rows, [Contender("posable", *calls, judged, ok, gpu=on_gpu)])


def hand(blocked: bool = False) -> Case:
    """A hand of the figure in the world; or clear of its own body and of a table."""
    from ...collision import Scene

    rows, body = 1000, person()
    positions, pose = hand_targets(rows), body.neutral_pose
    more: dict[str, Any] = {}
    if blocked:
        more = {"self_collision": True, "scene": Scene().box("table", (1.2, 0.04, 0.6), (0.0, 0.9, 0.75))}
    targets = [Target(position) for position in positions[:64]]
    every = Target(positions)
    calls = (lambda i: body.place(pose, HAND, targets[i], **more), lambda: body.place(pose, HAND, every, **more))
    note = "clearance is not judged here" if blocked else ""
    return Case("target", rows, [Contender("posable", *calls, partial(hand_off, positions), ok, note)])


def limb_range() -> Case:
    """A hand brought inside what arms were seen to do."""
    rows, found = 20_000, LimbRange.builtin("right_arm")
    rng = np.random.default_rng(3)
    positions, swivels = 0.5 * rng.normal(size=(rows, 3)), rng.uniform(-3.0, 3.0, rows)

    def judged(answer: Any) -> Judged:
        inside = found.contains(answer.position, answer.swivel)
        return Judged(np.zeros(rows), 0.0, "inside: asked of the range", inside)

    calls = (lambda i: found.correct(positions[i], swivels[i]), lambda: found.correct(positions, swivels))
    return Case("hand", rows, [Contender("posable", *calls, judged)])


def reach() -> Case:
    """A whole body that reaches, out of itself, with its feet where they stand."""
    rows, body = 1000, person()
    reacher = Reacher(body, right=Behaviour.default(body, "right_arm"))
    positions = hand_targets(rows, 1.6)
    targets = [Target(position) for position in positions[:64]]
    feet = [body.roles[f"{side}_foot"] for side in ("left", "right")]
    stand = joints_of(body.skeleton, body.neutral_pose)[feet]

    def judged(answer: Any) -> Judged:
        joints = joints_of(body.skeleton, answer.pose)
        planted = apart(joints[:, feet], stand).max(axis=-1) <= MILLIMETRE
        return Judged(apart(joints[:, body.roles[HAND]], positions), EXACT, "m, feet within a millimetre", planted)

    def on_gpu(to_gpu: Callable[[Floats], Any]) -> Callable[[], object]:
        there = Target(to_gpu(tiled(positions)))
        return lambda: reacher.solve(right=there)

    every = Target(positions)
    calls = (lambda i: reacher.solve(right=targets[i]), lambda: reacher.solve(right=every))
    return Case("target", rows, [Contender("posable", *calls, judged, ok, gpu=on_gpu)])


def points_off(markers: Sequence[str], points: Floats, answer: Any, within: float = MILLIMETRE) -> Judged:
    """Judge bodies by how far the worst of their points is from where it was seen."""
    body, pose = person(), answer.motion.pose if hasattr(answer, "motion") else answer.pose
    reached = joints_of(body.skeleton, pose)[..., [body.roles[role] for role in markers], :]
    return Judged(apart(reached, points).max(axis=-1), within)


def six_points(prior: str | None = "default", track: bool = False) -> Case:
    """A body from six points, those of a person who dances."""
    from ...body import MARKERS

    body, motion = person(), samples.dance(person())
    points = body.markers(motion.pose)
    solver = SequentialIK(body, prior=prior)
    fps = motion.fps
    many = (lambda: solver.track(points, fps=fps)) if track else (lambda: solver.solve(points))
    judged = partial(points_off, MARKERS, points)

    def on_gpu(to_gpu: Callable[[Floats], Any]) -> Callable[[], object]:
        there = to_gpu(tiled(points))
        return lambda: solver.solve(there)

    one = Contender(
        "posable", lambda i: solver.solve(points[i]), many, judged, ok, gpu=None if track else on_gpu
    )  # of one track, a GPU has one row
    return Case("frame", len(points), [one])


def classic() -> Case:
    """The same by the methods that people compare with."""
    from ...body import MARKERS

    body, motion = person(), samples.dance(person())
    points = body.markers(motion.pose)[::4]
    judged = partial(points_off, MARKERS, points, within=1e-2)  # [m]: where they stop

    def contender(name: str) -> Contender:
        solver: Any = METHODS[name](body)
        return Contender(name, lambda i: solver.solve(points[i]), lambda: solver.solve(points), judged, ok)

    return Case("frame", len(points), [contender(name) for name in METHODS])


def auto_pose() -> Case:
    """A body whose head and hands an artist drags."""
    body, solver = person(), AutoPose(person())
    roles = ("head", HAND)
    rng = np.random.default_rng(4)
    start = joints_of(body.skeleton, body.neutral_pose)[[body.roles[role] for role in roles]]
    moved = start + rng.uniform([-0.1, -0.15, -0.05], [0.1, 0.05, 0.3], (64, 2, 3))
    targets = [dict(zip(roles, one, strict=True)) for one in moved]

    def judged(answers: Any) -> Judged:
        ends = [joints_of(body.skeleton, one.pose)[[body.roles[role] for role in roles]] for one in answers]
        return Judged(apart(np.array(ends), moved).max(axis=-1), MILLIMETRE)

    ours = Contender(
        "posable", lambda i: solver.solve(targets[i]), None, judged, lambda answers: [a.ok for a in answers]
    )
    return Case("drag", len(targets), [ours])


def aim(method: str = "best") -> Case:
    """Skeleton C of Ribeiro and Paiva, which keeps its posture while it points somewhere."""
    rows = 1000
    chain = Chain.from_axes(AXES)
    solver = ERIK(chain, method)
    rng = np.random.default_rng(5)
    postures, aims = rng.uniform(-1.0, 1.0, (2, rows, len(AXES)))
    targets = chain_orientations(AXES, aims)
    pointing = np.broadcast_to(chain.pointing, (rows, 3))

    def judged(answer: Any) -> Judged:
        got = rotated(chain_orientations(AXES, answer.angles), pointing)
        inside = (np.abs(answer.angles) <= np.pi / 2 + 1e-9).all(axis=-1)
        return Judged(2.0 * np.arcsin(0.5 * apart(got, rotated(targets, pointing))), solver.tolerance, "rad", inside)

    def on_gpu(to_gpu: Callable[[Floats], Any]) -> Callable[[], object]:
        p, q = to_gpu(tiled(postures)), to_gpu(tiled(targets))
        return lambda: solver.solve(p, q)

    calls = (lambda i: solver.solve(postures[i], targets[i]), lambda: solver.solve(postures, targets))
    return Case("posture", rows, [Contender("posable", *calls, judged, ok, gpu=on_gpu)])


def motion_filter() -> Case:
    """A signal that motors can follow."""
    rows, fps = 2000, 60.0
    velocity, acceleration, jerk = 3.0, 20.0, 200.0
    signal = np.cumsum(np.random.default_rng(0).normal(0, 0.05, (rows, 5)), axis=0)
    solver = MotionFilter(velocity, acceleration, jerk, fps=fps)

    def judged(found: Any) -> Judged:
        rates = [np.abs(np.diff(found, k, axis=0)).max(axis=-1) * fps**k for k in (1, 2, 3)]
        limits = (velocity, acceleration, jerk)
        over = [np.pad(rate / limit, (0, rows - len(rate))) for rate, limit in zip(rates, limits, strict=True)]
        return Judged(np.max(over, axis=0) - 1.0, 1e-6, "over its limits")

    ours = Contender("posable", lambda i: solver.run(signal[i : i + 1]), lambda: solver.run(signal), judged)
    return Case("sample", rows, [ours])


def drag() -> Case:
    """A hand of a captured frame dragged by a tenth of a metre, feet where they stand."""
    motion = samples.throw(person())
    editor = MotionEditor(motion, person())
    rng = np.random.default_rng(6)
    frames = rng.integers(len(motion), size=128)
    aside = rng.normal(size=(128, 3))
    aside *= 0.1 / np.linalg.norm(aside, axis=-1, keepdims=True)
    start = joints_of(person().skeleton, motion.pose)[frames, person().roles["left_hand"]]

    def judged(answer: Any) -> Judged:
        reached = joints_of(person().skeleton, answer.pose)[..., person().roles["left_hand"], :]
        return Judged(apart(reached, start + aside), MILLIMETRE)

    def one(i: int) -> Any:
        return editor.drag(frame=int(frames[i]), part="left_hand", displacement=aside[i])

    ours = Contender(
        "posable", one, lambda: editor.drag(frame=frames, part="left_hand", displacement=aside), judged, ok
    )
    return Case("drag", len(frames), [ours])


def other_body() -> Case:
    """A motion put on a smaller body, whose feet stand where the motion's do."""
    motion, source, target = samples.walk(person()), person(), figure(1.6)
    feet = [f"{side}_foot" for side in ("left", "right")]

    def speeds(body: Humanoid, pose: Any) -> Floats:
        joints = joints_of(body.skeleton, pose)[:, [body.roles[foot] for foot in feet]]
        return apart(joints[1:], joints[:-1])

    stand = speeds(source, motion.pose) < 1e-4  # [m] a frame

    def judged(answer: Any) -> Judged:
        slides = np.where(stand, speeds(target, answer.motion.pose), 0.0).max(axis=-1)
        return Judged(np.append(slides, 0.0), MILLIMETRE, "m a frame slid by feet that stand")

    ours = Contender(
        "posable",
        lambda i: retarget(motion[i : i + 1], source, target),
        lambda: retarget(motion, source, target),
        judged,
        ok,
        "one call: a motion of one frame",
    )
    return Case("frame", len(motion), [ours])


@cache
def robot() -> Humanoid:
    """Return a small robot: legs of six joints, arms of four, a waist and a head."""
    with resources.as_file(resources.files("posable") / "assets" / "biped.xml") as path:
        return Humanoid(read_robot(path))


def on_robot() -> Case:
    """A motion put on a robot, whose feet stay where they stand."""
    motion, source, target = samples.walk(person()), person(), robot()

    def judged(answer: Any) -> Judged:
        joints = joints_of(target.skeleton, answer.motion.pose)
        slides = np.zeros(len(motion))
        for foot, first, last in answer.contacts:
            stands = joints[first : last + 1, target.roles[foot]]
            slides[first : last + 1] = np.maximum(slides[first : last + 1], apart(stands, stands.mean(axis=0)))
        return Judged(slides, MILLIMETRE, "m from where a foot stands")

    ours = Contender(
        "posable",
        lambda i: retarget(motion[i : i + 1], source, target),
        lambda: retarget(motion, source, target),
        judged,
        ok,
        "one call: a motion of one frame",
    )
    return Case("frame", len(motion), [ours])


CASES: dict[str, tuple[str, Callable[[], Case]]] = {
    "forward": ("forward kinematics, 29 joints", forward),
    "jacobian": ("Jacobian of a hand", jacobian),
    "clamp": ("a shoulder into its limits", clamp),
    "swivel": ("an arm, its swivel given", partial(limb, 0.5)),
    "limb": ("an arm inside its limits, searched", limb),
    "hand": ("a hand of the body", hand),
    "clear": ("a hand clear of body and table", partial(hand, True)),
    "range": ("a hand into a learned range", limb_range),
    "reach": ("a whole-body reach", reach),
    "six": ("a body from six points, with the prior", six_points),
    "plain": ("a body from six points, without", partial(six_points, None)),
    "track": ("the same with the prior, a track", partial(six_points, "default", True)),
    "classic": ("six points, classic methods", classic),
    "drags": ("AutoPose, head and a hand", auto_pose),
    "erik": ("ERIK as in the paper", partial(aim, "erik")),
    "best": ("ERIK, the best posture", aim),
    "filter": ("the motion filter", motion_filter),
    "drag": ("a frame edited by dragging", drag),
    "retarget": ("a motion on a smaller body", other_body),
    "robot": ("a motion on a robot", on_robot),
}
"""By name: a title, and the function that opens it."""


def opened(name: str) -> Case:
    """Return a case with its inputs, and with the libraries of others that are installed."""
    from . import peers

    case = CASES[name][1]()
    return Case(case.unit, case.rows, [*case.contenders, *peers.of(name, case)])

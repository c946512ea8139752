"""`retarget`: a person's motion on another body, be it a person's or a robot's.

People are answered by `posable.edit`, robots by this room: their joints have one axis each, with limits that always
hold and motors of limited speed, and their feet are rigid. What is said of the result is measured on the motion that
is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.roles import named_parts
from ..compute import PosableError, Status, expect
from ..compute.errors import checked_keywords, number
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Bools, Floats
from ..edit.bounds import Bound
from ..edit.retargeting import RetargetSolution, moving_fingers, require_cpu
from ..edit.retargeting import retarget as retarget_person
from ..math import conjugate, log, multiply, rotate
from ..skeleton import Frames, Motion, Pose
from ..skeleton.solution import MotionSolution
from .packing import Body
from .solver import Solved, Solver
from .targets import SIDES, read_person
from .touching import depths

MOST_WEIGHT = 1e6  # of hands: beyond it nothing else would count, and its square overflows one day
TORN, FAST = 0.3, 15.0
"""[m], [m/s]: a first frame that is further from the second, and would be left faster, has nothing to do with it."""
TIP = 0.1
"""Of a sole's length: what is no further back belongs to its tip."""
SLID, SUNK, INSIDE = 1e-3, 2e-3, 5e-3
"""[m]: a standing foot that slides further, a sole that is deeper in the floor, links that are deeper in each other."""


@dataclass(frozen=True, eq=False, repr=False)
class RobotSolution(MotionSolution):
    """A person's motion on a robot.

    REACHED in frames where standing feet are within a millimetre of their place, no sole is more than 2 mm under its
    floor, no two links are more than 5 mm in each other, and joints and speeds are within their limits; COLLISION where
    only links are too deep; LIMITS where the speed of a motor had to give way; else UNREACHABLE. INVALID where the
    motion is not finite: the robot then does what it does in the nearest frame that is. `position_error` is that of the
    worst part.
    """

    values: Floats
    """(F, D) of `motion.skeleton.dofs`: the root's position and rotation vector from rest, then the joints [rad, m].
    `values[:, robot.motors]` are the motors, in the file's order."""
    parts: tuple[str, ...]
    """(E,) hands and feet."""
    part_errors: Floats
    """(F, E) [m]: of hands seen from the shoulder, of feet in the world: how far each is from where it belongs."""
    contacts: tuple[tuple[str, int, int], ...]
    """Which foot ("left_foot") stands, from which frame to which, both included."""
    slid: Floats
    """(F,) [m]: how far the tip of a standing sole is from its place."""
    sunk: Floats
    """(F,) [m]: how far the lowest point of a sole is under the floor; below 0 where it is above."""
    depth: Floats
    """(F,) [m]: how deep two links are in each other; 0 where nothing touches."""
    too_fast: Bools
    """(F,): where a motor's speed could not be held."""
    ratio: float
    """Leg length of the robot over that of the person."""
    lacking: tuple[str, ...]
    """What a person has and the robot has not."""
    dropped: tuple[str, ...]
    """Parts of the person that the robot does not have, its joints of fingers among them where they move."""

    def __str__(self) -> str:
        found = [f"{int(np.sum(self.ok))} of {len(self.status)} frames reach everything"]
        if len(self.status):
            found += [f"standing feet slide up to {1000.0 * float(self.slid.max()):.2f} mm"]
            found += [f"soles up to {1000.0 * max(float(self.sunk.max()), 0.0):.1f} mm under the floor"]
            found += [f"links up to {1000.0 * float(self.depth.max()):.1f} mm in each other"]
        found += [f"motors too fast in {int(self.too_fast.sum())} frames"] if self.too_fast.any() else []
        found += [f"the robot lacks: {', '.join(self.lacking)}"] if self.lacking else []
        found += [f"no such part on the robot: {', '.join(named_parts(self.dropped))}"] if self.dropped else []
        return "; ".join(found)


@checked_keywords
def retarget(
    motion: Motion,
    source: Humanoid,
    target: Humanoid,
    *,
    contacts: bool = True,
    weights: str = "identity",
    limits: Bound | Iterable[Bound] = "body",
    iterations: int = 4,
    keep_out: bool = True,
    speeds: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
    hands: float = 1.0,
    lookahead: int | None = None,
) -> RetargetSolution | RobotSolution:
    """Put a motion of one body on another, a person's or a robot's.

    Args:
        motion: of the source.
        source: the body that performs it.
        target: the body that shall perform it: other proportions, another rig with roles, or a robot.
        contacts: people: whether hands that rest on the body are found and kept, default True; feet always are.
        weights: people: "identity" (default), or "clip" for weights fitted to the whole motion.
        limits: people: of the target, as for `MotionEditor`; by default its own. Those of robots always hold.
        iterations: people: number of steps of damped least squares for each frame; default 4.
        keep_out: people: whether forearms and hands are kept out of the target's body; default True. Robots always are.
        speeds: robots: largest speed of each joint, one number or one for each DoF [rad/s, m/s]; those of the robot's
            file hold besides. By default those, and 20 rad/s where the file gives none.
        accelerations: robots: likewise [rad/s^2, m/s^2]; 600 rad/s^2 by default.
        hands: robots: weight of hands that reach the person's positions beside arms that have the person's directions;
            default 1, 0 for directions alone.
        lookahead: robots: number of frames that are seen ahead, 0 to 2, as a stream sees them (`Retargeter`); by
            default the whole motion is.
    """
    for name, body in (("source", source), ("target", target)):
        expect(Humanoid, body, name, f": Humanoid({'motion.' if name == 'source' else ''}skeleton)")
    if target.robot_parts is None:
        return retarget_person(
            motion,
            source,
            target,
            contacts=contacts,
            weights=weights,
            limits=limits,
            iterations=iterations,
            keep_out=keep_out,
        )
    return retarget_robot(
        motion, source, target, speeds=speeds, accelerations=accelerations, hands=hands, lookahead=lookahead
    )


def retarget_robot(
    motion: Motion,
    source: Humanoid,
    target: Humanoid,
    *,
    speeds: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
    hands: float = 1.0,
    lookahead: int | None = None,
) -> RobotSolution:
    """Put a person's motion on a robot: `retarget` where the target is one."""
    check_motion(motion, source)
    if lookahead is not None:
        from .stream import Retargeter

        settings = Retargeter(source, target, speeds=speeds, accelerations=accelerations, hands=hands)
        return settings.retarget(motion, lookahead)
    check_hands(hands)
    solver = Solver.of(target, speeds, accelerations)
    body = solver.body
    pose, valid = sound_poses(motion, source)
    pose = with_first_brought_near(pose, motion.fps)
    person = read_person(source.skeleton.forward(pose), source, solver.leg / source.leg_length)
    solved = solver.solve(person, source, motion.fps, hands)
    return judged(motion, source, target, body, solver, solved, valid)


def check_hands(hands: object) -> None:
    """Raise where the weight of hands is none."""
    if not 0.0 <= number(hands) <= MOST_WEIGHT:
        raise PosableError(f"hands is {hands}; expected a weight of 0 or above, up to {MOST_WEIGHT:g}")


def check_motion(motion: Motion, source: Humanoid) -> None:
    """Raise where a motion is none of the body that should perform it."""
    require_cpu(motion)
    if not motion.skeleton.same_as(source.skeleton):
        raise PosableError(
            f"the motion is one of {motion.skeleton!r}, the source has {source.skeleton!r}; expected the body that "
            "performs it: Humanoid(motion.skeleton)"
        )


def are_sound(pose: Pose) -> Bools:
    """Return whether poses (...) are such: rotations of length one, and nothing beyond the extent."""
    with np.errstate(over="ignore", invalid="ignore"):  # of lengths that are none
        lengths = np.linalg.norm(pose.rotations, axis=-1)
    valid = rows_in_extent(pose.translation) & (np.abs(lengths - 1.0) < 1e-3).all(axis=-1)
    if pose.offsets is not None:
        valid = valid & rows_in_extent(pose.offsets, 2)
    return np.asarray(valid)


def sound_poses(motion: Motion, source: Humanoid) -> tuple[Pose, Bools]:
    """Return the poses of a motion, a bad one replaced by the nearest good one, and which frames are good."""
    pose = motion.pose
    valid = are_sound(pose)
    if valid.all():
        return pose, valid
    good = np.flatnonzero(valid)
    if not len(good):
        rest = source.neutral_pose
        count = len(motion)
        return Pose(np.tile(rest.translation, (count, 1)), np.tile(rest.rotations, (count, 1, 1))), valid
    rows = np.arange(len(motion))
    later = good[np.minimum(np.searchsorted(good, rows), len(good) - 1)]
    earlier = good[np.maximum(np.searchsorted(good, rows, side="right") - 1, 0)]
    return pose[np.where(np.abs(later - rows) < np.abs(rows - earlier), later, earlier)], valid


def with_first_brought_near(pose: Pose, fps: float) -> Pose:
    """Return poses the first of which is where the second is, if nobody gets from the one to the other.

    Many files begin with a T-pose at the origin, whose feet are no floor for what follows.
    """
    if len(pose.translation) < 2 or np.linalg.norm(pose.translation[1] - pose.translation[0]) <= max(TORN, FAST / fps):
        return pose
    translation = np.array(pose.translation)
    translation[0] = translation[1]
    return Pose(translation, pose.rotations, pose.offsets)


def dof_values(solver: Solver, states: Floats) -> Floats:
    """Return the values (F, D) of the skeleton's DoF in states of a solver."""
    skeleton, drives = solver.body.skeleton, solver.model.drives
    out = np.zeros((len(states), len(skeleton.dofs)))
    out[:, :3] = states[:, :3] - skeleton.offsets[0]
    out[:, 3:6] = log(multiply(conjugate(skeleton.rest_rotations[0]), states[:, 3:7]))
    for j in range(1, len(skeleton)):
        if skeleton.kinds[j] in ("hinge", "slide"):
            drive, d = drives[j], int(skeleton.packed[j]["dof"])
            out[:, d] = drive["offset"]
            if drive["variable"] >= 0:
                out[:, d] += drive["ratio"] * states[:, 7 + drive["variable"]]
    return out


def judged(
    motion: Motion, source: Humanoid, target: Humanoid, body: Body, solver: Solver, solved: Solved, valid: Bools
) -> RobotSolution:
    """Return the solution of a robot, its errors measured on the motion that it gives back."""
    skeleton, robot, parts = body.skeleton, body.robot, target.robot_parts
    assert parts is not None
    values = dof_values(solver, solved.states)
    pose = skeleton.from_values(values)
    frames = skeleton.forward(pose)
    names = [f"{side}_{part}" for part in ("foot", "hand") for side in SIDES if f"{side}_{part}" in body.parts]
    errors = np.stack([_error(name, body, frames, solved) for name in names], axis=-1)
    slid, sunk = _footing(body, frames, solved)
    depth = depths(solver.model, frames.positions, frames.orientations, len(body.soles))
    speeds = np.zeros(len(values))
    if len(values) > 1:
        variables = solver.model.variables
        steps = np.abs(np.diff(solved.states[:, 7:], axis=0)) * motion.fps / variables["speed"]
        speeds[1:] = steps.max(axis=1, initial=0.0)
    too_fast = speeds > 1.0 + 1e-6
    outside = np.maximum(values - robot.upper, robot.lower - values).max(axis=1, initial=-np.inf) > 1e-9
    stands = (slid <= SLID) & (sunk <= SUNK)
    status = np.full(len(values), int(Status.REACHED), np.int8)
    status[depth > INSIDE] = Status.COLLISION
    status[~stands] = Status.UNREACHABLE
    status[too_fast | outside] = Status.LIMITS
    status[~valid] = Status.INVALID
    worst = errors.max(axis=1, initial=0.0)
    worst[~valid] = np.inf
    return RobotSolution(
        motion.replace(skeleton=skeleton, pose=pose),
        status,
        worst,
        np.where(valid, 0.0, np.inf),
        values,
        tuple(names),
        errors,
        tuple((f"{side}_foot", first, last) for side in SIDES for first, last in solved.steps[side].stances),
        slid,
        sunk,
        depth,
        too_fast,
        solver.leg / source.leg_length,
        parts.lacking,
        (*(role for role in source.roles if role not in target.roles), *moving_fingers(motion, source)),
    )


def _error(name: str, body: Body, frames: Frames, solved: Solved) -> Floats:
    """Return how far (F,) a hand or a foot is from where it belongs [m]."""
    from .packing import ROWS

    part = body.parts[name]
    position = frames.point(part.joint, part.centre)
    if name.endswith("hand"):
        base = body.parts[name.replace("hand", "upper_arm")]
        position = position - frames.point(base.joint, base.centre)
    return np.asarray(np.linalg.norm(position - solved.targets[:, ROWS.index(name), :3], axis=-1))


def _footing(body: Body, frames: Frames, solved: Solved) -> tuple[Floats, Floats]:
    """Return how far (F,) the worst standing foot has slid, and how deep (F,) the lowest sole is in the floor [m]."""
    count = len(frames.positions)
    slid, sunk = np.zeros(count), np.full(count, -np.inf)
    for side in SIDES:
        part, steps = body.parts[f"{side}_foot"], solved.steps[side]
        position, orientation = frames.positions[:, part.joint], frames.orientations[:, part.joint]
        ahead = rotate(part.neutral, body.soles[side])[:, 2]
        tip = body.soles[side][ahead > ahead.max() - TIP * np.ptp(ahead)].mean(axis=0)
        foothold = frames.point(part.joint, tip)[:, [0, 2]]  # along the floor; across it, see `sunk`
        if steps.stances:
            first, last = np.array(steps.stances).T
            rows = np.flatnonzero(steps.standing)  # stances are all that stands, one after the other
            counts = last - first + 1
            middles = np.add.reduceat(foothold[rows], np.cumsum(counts) - counts) / counts[:, None]
            away = foothold[rows] - np.repeat(middles, counts, axis=0)
            slid[rows] = np.maximum(slid[rows], np.hypot(away[:, 0], away[:, 1]))
        lowest = (position[:, None] + rotate(orientation[:, None], body.soles[side][None]))[..., 1].min(axis=1)
        sunk = np.maximum(sunk, steps.floor - lowest)
    return slid, sunk

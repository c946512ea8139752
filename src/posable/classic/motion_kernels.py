"""Kernels that all iterative methods share: effectors and their errors, joint limits, and the best pose so far."""

from __future__ import annotations

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..limits.kernels import allowed, clamp_from
from ..math.angles import wrap_angle
from ..math.quaternion import axis_angle, conj, log, mul, rotate, twist_angle
from ..math.vector import add, dot, norm, scale, sub, unit
from ..skeleton.dofs import BALL, FREE, HINGE, HINGE_TWIST
from ..skeleton.forward import (
    axis_of,
    forward_row,
    offset_of,
    quat_at,
    quat_from,
    rest_of,
    set_quat,
    twist_axis_of,
    vec_at,
    vec_from,
)
from .model import PIK, Frames, Problem, State


@kernel
def basis(axis: int) -> Vec3:
    """Return the unit vector along x, y or z (0, 1, 2)."""
    return (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)


@kernel
def effector_position(t: int, e: int, problem: Problem, state: State) -> Vec3:
    """Where effector e is in the world [m]."""
    one = problem.effectors[e]
    arm = rotate(quat_at(state.world, t, one["joint"]), vec_from(one["point"]))
    return add(vec_at(state.positions, t, one["joint"]), arm)


@kernel
def rotation_to(goal: Quat, current: Quat) -> Vec3:
    """The rotation vector in the world that takes an orientation to its goal [rad]."""
    return log(mul(goal, conj(current)))


@kernel
def measure(t: int, i: int, problem: Problem, state: State, frames: Frames) -> tuple[float, int]:
    """Return how far effectors are off [m], weighted, and which level that is about; errors into row i.

    The level is the first one that is not within tolerance, 0 when all are; it is always 1 for methods without
    priorities, and the error then that of all effectors.
    """
    settings = problem.settings[0]
    for e in range(problem.effectors.shape[0]):
        position = effector_position(t, e, problem, state)
        frames.position_error[i, e] = norm(sub(vec_at(frames.targets, i, e), position))
        frames.orientation_error[i, e] = 0.0
        if problem.effectors[e]["oriented"]:
            orientation = quat_at(state.world, t, problem.effectors[e]["joint"])
            frames.orientation_error[i, e] = norm(rotation_to(quat_at(frames.orientations, i, e), orientation))
    levels = settings["levels"] if settings["method"] == PIK else 1
    error = 0.0
    for level in range(1, levels + 1):
        error, within = 0.0, True
        for e in range(problem.effectors.shape[0]):
            if levels == 1 or problem.effectors[e]["level"] == level:
                error += effector_error(i, e, problem, frames)
                met = frames.position_error[i, e] <= settings["tolerance"]
                within = within and met and frames.orientation_error[i, e] <= settings["orientation_tolerance"]
        if not within:
            return error, level
    return error, 0


@kernel
def effector_error(i: int, e: int, problem: Problem, frames: Frames) -> float:
    """How far an effector is off [m], its orientation included, times its weight."""
    off = frames.position_error[i, e] + problem.settings[0]["rotation_length"] * frames.orientation_error[i, e]
    return problem.effectors[e]["weight"] * off  # type: ignore[no-any-return]


@kernel
def better(t: int, i: int, problem: Problem, state: State, frames: Frames) -> bool:
    """Whether the pose that was just measured is nearer than the best so far: by level, a higher one first.

    Within the tolerance one pose of a higher level is as good as another.
    """
    settings = problem.settings[0]
    levels = settings["levels"] if settings["method"] == PIK else 1
    for level in range(1, levels + 1):
        now, best = 0.0, 0.0
        for e in range(problem.effectors.shape[0]):
            if levels == 1 or problem.effectors[e]["level"] == level:
                enough = 0.0 if level == levels else settings["tolerance"]
                now += max(effector_error(i, e, problem, frames), enough)
                best += max(state.best_errors[t, e], enough)
        if now != best:
            return now < best
    return False


@kernel
def forward(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Compute the positions of all joints, and let the root take half the error of the balanced effector, if any.

    The root goes half of what is missing along the line from its own target (Unzueta et al. 2008, Algorithm 2, 17).
    """
    balance = problem.settings[0]["balance"]
    shared = balance >= 0 and frames.roots.shape[0] > 0
    if shared:
        for k in range(3):
            state.translation[t, k] = frames.roots[i, k]
    forward_row(t, problem.joints, state.translation, state.rotations, state.offsets, state.positions, state.world)
    if not shared:
        return
    goal = vec_at(frames.targets, i, balance)
    chord = unit(sub(goal, (frames.roots[i, 0], frames.roots[i, 1], frames.roots[i, 2])))
    half = 0.5 * dot(sub(goal, effector_position(t, balance, problem, state)), chord)
    most = problem.settings[0]["max_error"]
    half = min(max(half, -most), most)
    for k in range(3):
        state.translation[t, k] += half * chord[k]
        for j in range(problem.joints.shape[0]):
            state.positions[t, j, k] += half * chord[k]


@kernel
def guarded(t: int, j: int, problem: Problem, state: State, q: Quat) -> Quat:
    """The local rotation of joint j brought inside its limit; a joint that began outside may stay as far out."""
    guard = problem.guards[j]
    if guard["row"] < 0:
        return q
    before, after = quat_from(guard["before"]), quat_from(guard["after"])
    seen = mul(mul(before, q), after)
    row = problem.limits[guard["row"]]
    if allowed(row, problem.curves, seen):
        return q
    start = mul(mul(before, quat_at(state.begin, t, j)), after)
    return mul(mul(conj(before), clamp_from(row, problem.curves, start, seen)), conj(after))


@kernel
def clamp_limits(t: int, problem: Problem, state: State) -> int:
    """Bring every joint inside its limit; how many had to be."""
    count = 0
    for j in range(problem.joints.shape[0]):
        if problem.guards[j]["row"] >= 0 and problem.rotates[j]:
            q = quat_at(state.rotations, t, j)
            clamped = guarded(t, j, problem, state, q)
            if clamped != q:
                count += 1
                set_quat(state.rotations, t, j, clamped)
    return count


@kernel
def at_limits(t: int, problem: Problem, state: State) -> bool:
    """Whether a joint that may rotate lies on the boundary of its limit, within a thousandth of a radian."""
    for j in range(problem.joints.shape[0]):
        guard = problem.guards[j]
        if guard["row"] >= 0 and problem.rotates[j]:
            before, after = quat_from(guard["before"]), quat_from(guard["after"])
            row, q = problem.limits[guard["row"]], quat_at(state.rotations, t, j)
            for k in range(6):
                nudge = 1e-3 if k < 3 else -1e-3
                rotation = (
                    1.0,
                    nudge if k % 3 == 0 else 0.0,
                    nudge if k % 3 == 1 else 0.0,
                    nudge if k % 3 == 2 else 0.0,
                )
                if not allowed(row, problem.curves, mul(mul(before, mul(q, rotation)), after)):
                    return True
    return False


@kernel
def steps_between(j: int, problem: Problem, start: Quat, goal: Quat) -> Vec3:
    """The DoF steps that take joint j from one local rotation to another; unused ones are 0."""
    joints = problem.joints
    kind = joints[j]["kind"]
    if kind in (BALL, FREE):
        return log(mul(conj(start), goal))
    rest = conj(rest_of(joints, j))
    one, other = mul(rest, start), mul(rest, goal)
    if kind == HINGE:
        axis = axis_of(joints, j)
        return (wrap_angle(twist_angle(other, axis) - twist_angle(one, axis)), 0.0, 0.0)
    if kind == HINGE_TWIST:
        axis, along = axis_of(joints, j), twist_axis_of(joints, j)
        a, b = twist_angle(one, along), twist_angle(other, along)
        flexed = twist_angle(mul(one, axis_angle(along, -a)), axis)
        flexing = twist_angle(mul(other, axis_angle(along, -b)), axis)
        return (wrap_angle(flexing - flexed), wrap_angle(b - a), 0.0)
    return (0.0, 0.0, 0.0)


@kernel
def copy_pose(
    i: int,
    translation: Floats,
    rotations: Floats,
    offsets: Floats,
    k: int,
    new_translation: Floats,
    new_rotations: Floats,
    new_offsets: Floats,
) -> None:
    """Copy row i of some poses to row k of others; offsets where both have any."""
    for c in range(3):
        new_translation[k, c] = translation[i, c]
    for j in range(rotations.shape[1]):
        set_quat(new_rotations, k, j, quat_at(rotations, i, j))
        if offsets.shape[0] > 0 and new_offsets.shape[0] > 0:
            for c in range(3):
                new_offsets[k, j, c] = offsets[i, j, c]


@kernel
def store_best(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Remember the pose as it is, just measured."""
    for e in range(problem.effectors.shape[0]):
        state.best_errors[t, e] = effector_error(i, e, problem, frames)
    best, now = state.best_rotations, state.rotations
    copy_pose(t, state.translation, now, state.offsets, t, state.best_translation, best, state.best_offsets)


@kernel
def restore_best(t: int, state: State) -> None:
    """Go back to the best pose."""
    best, now = state.best_rotations, state.rotations
    copy_pose(t, state.best_translation, best, state.best_offsets, t, state.translation, now, state.offsets)


@kernel
def slide_joint(t: int, j: int, problem: Problem, state: State, by: float) -> Vec3:
    """Move a sliding joint along its axis by so much [m]; its displacement in the world."""
    parent = problem.joints[j]["parent"]
    local = rotate(quat_at(state.rotations, t, j), axis_of(problem.joints, j))
    displacement = scale(local, by)
    if parent < 0:
        for k in range(3):
            state.translation[t, k] += displacement[k]
        return displacement
    for k in range(3):
        state.offsets[t, j, k] += displacement[k]
    return rotate(quat_at(state.world, t, parent), displacement)


@kernel
def offset_now(t: int, j: int, problem: Problem, state: State) -> Vec3:
    """Where joint j sits in its parent's frame [m]."""
    return offset_of(problem.joints, state.offsets, t, j)

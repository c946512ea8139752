"""ERIK's phases and its loop, and the coordinate descents that it uses (Ribeiro 2019, Algorithms 2 to 22).

The descents (3.2) warp a posture, or descend backward (BWCD) or cyclically (CCD): each rotates one joint after the
other so that the last segment points along the target's; backward from the root, which leaves the shape near the tip
alone, CCD from the tip. The printed versions never clamp (specification express, 7.1).

Frames are those before a joint's rotation. `frames` holds the solution's in its first half and the warped posture's in
its second (specification express, 6). The specification's decisions where the printed algorithms contradict themselves
are in its section 7.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import axis_angle, conj, mul, rotate
from ..math.vector import dot, norm, reject
from .kernels import (
    HALF_ROTATION,
    NOTHING,
    Y,
    across_of,
    axis_of,
    backward_twist,
    clamped,
    copy,
    forward,
    keep,
    latitude_angle,
    off_edge,
    orientation_score,
    parent_of,
    posture_error,
    quat_in,
    relative,
    rest_of,
    rotation_of,
    safe_twist,
    signed_angle,
    toward,
    wrapped,
    yaw_and_roll,
)
from .model import ANGLES, BEND, CCD, FOUND, HIGH, LOW, POSTURE, SHAPE, TWISTER, WARPED

STILL = 1e-9  # CCD stops when the direction changes by no more


@kernel
def swing_to(joints: Records, frames: Floats, k: int, pointing: Vec3, aim: Vec3) -> float:
    """Return how far joint k should rotate to carry one direction nearest to another; 0 where it cannot tell."""
    n = rotate(quat_in(frames, k), axis_of(joints, k))
    a, b = reject(pointing, n), reject(aim, n)
    if norm(a) < NOTHING or norm(b) < NOTHING:
        return 0.0
    return signed_angle(a, b, n)


@kernel
def warp_posture(joints: Records, settings: Records, aim: Vec3, angles: Floats, frames: Floats) -> None:
    """Rotate a posture's joints from the root until it points at the aim, whatever the limits."""
    end = forward(joints, angles, frames, 0)
    for _ in range(settings[0]["sweeps"]):
        for k in range(joints.shape[0]):
            pointing = rotate(end, Y)
            if 0.5 * (1.0 - dot(pointing, aim)) <= settings[0]["precision"]:
                return
            angles[k] = wrapped(-math.inf, math.inf, angles[k] + swing_to(joints, frames, k, pointing, aim))
            end = forward(joints, angles, frames, k)


@kernel
def end_twist(
    joints: Records, settings: Records, target: Quat, end: Quat, angles: Floats, frames: Floats, work: Floats
) -> Quat:
    """Rotate an end point that is a twister to the target's roll (pi is free if it is symmetric); return its frame."""
    k = joints.shape[0] - 1
    if joints[k]["kind"] != TWISTER:
        return end
    low, high = work[LOW, k], work[HIGH, k]
    along = joints[k]["ay"]  # +1 or -1: the axis may point backwards
    a = angles[k] + along * backward_twist(target, end)
    best, beyond, far = a, math.inf, math.inf
    rolls = 2 if settings[0]["symmetric"] else 1
    for m in range(rolls):
        b = wrapped(low, high, a + m * math.pi)
        outside = max(0.0, max(low - b, b - high))
        away = abs(b - angles[k])
        if outside < beyond - 1e-12 or (outside <= beyond + 1e-12 and away < far):
            best, beyond, far = b, outside, away
    angles[k] = min(high, max(low, best))
    return mul(quat_in(frames, k), rotation_of(joints, k, angles[k]))


@kernel
def backward_descent(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats
) -> Quat:
    """BWCD on a solution: from the root, inside the limits; then the end's roll. The frame of the end."""
    aim = rotate(target, Y)
    end = forward(joints, angles, frames, 0)
    for _ in range(settings[0]["sweeps"]):
        for k in range(joints.shape[0]):
            pointing = rotate(end, Y)
            if 0.5 * (1.0 - dot(pointing, aim)) <= settings[0]["precision"]:
                return end_twist(joints, settings, target, end, angles, frames, work)
            a = angles[k] + swing_to(joints, frames, k, pointing, aim)
            angles[k] = clamped(work[LOW, k], work[HIGH, k], a)
            end = forward(joints, angles, frames, k)
    return end_twist(joints, settings, target, end, angles, frames, work)


@kernel
def cyclic_descent(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats
) -> Quat:
    """Descend by cyclic coordinate descent from the tip, off the limits; then the end's roll. Return its frame."""
    aim = rotate(target, Y)
    end = forward(joints, angles, frames, 0)
    before = math.inf
    for _ in range(5 * settings[0]["sweeps"]):
        for step in range(joints.shape[0]):
            k = joints.shape[0] - 1 - step
            pointing = rotate(end, Y)
            if 0.5 * (1.0 - dot(pointing, aim)) <= settings[0]["precision"]:
                return end_twist(joints, settings, target, end, angles, frames, work)
            low, high = work[LOW, k], work[HIGH, k]
            a = clamped(low, high, angles[k] + swing_to(joints, frames, k, pointing, aim))
            angles[k] = off_edge(low, high, a, settings[0]["disturbance"])
            end = forward(joints, angles, frames, k)
        off = 0.5 * (1.0 - dot(rotate(end, Y), aim))
        if abs(before - off) <= STILL:
            break
        before = off
    return end_twist(joints, settings, target, end, angles, frames, work)


STALL = 1e-3  # an error that changes by less does not converge
PATIENCE = 3  # iterations before a stall counts


@kernel
def goal_of(joints: Records, target: Quat, frames: Floats, k: int) -> Quat:
    """Return the frame that joint k should end in: the target for the last one, else what its child's frame implies."""
    if k == joints.shape[0] - 1:
        return target
    return mul(quat_in(frames, k + 1), conj(rest_of(joints, k + 1)))


@kernel
def child_direction(joints: Records, angles: Floats, frames: Floats, k: int) -> Vec3:
    """Where the segment of joint k + 1 points."""
    return rotate(mul(quat_in(frames, k + 1), rotation_of(joints, k + 1, angles[k + 1])), Y)


@kernel
def forward_phase(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats
) -> None:
    """From the tip to the root: angles that fit the warped posture's frames (Algorithm 8)."""
    count = joints.shape[0]
    keep(frames, 0, rest_of(joints, 0))
    for step in range(count):
        k = count - 1 - step
        if k > 0:
            keep(frames, k, quat_in(frames, count + k))
        frame = quat_in(frames, k)
        goal = goal_of(joints, target, frames, k)
        axis = axis_of(joints, k)
        if k < count - 1 and joints[k + 1]["kind"] == TWISTER and dot(rotate(goal, axis), rotate(frame, axis)) < 0.0:
            flip_beyond(joints, angles, frames, k)
            goal = goal_of(joints, target, frames, k)
        low, high = work[LOW, k], work[HIGH, k]
        if joints[k]["kind"] == TWISTER:
            pitch = (joints[k]["bx"], joints[k]["by"], joints[k]["bz"])
            yaw, roll = yaw_and_roll(relative(frame, goal), pitch)
            if k == count - 1 and abs(roll) > 0.5 * math.pi:
                roll -= math.copysign(math.pi, roll)
            angle = safe_twist(low, high, joints[k]["ay"] * (yaw + roll), k == count - 1)
        else:
            u = toward(frame, rotate(goal, Y))
            angle = clamped(low, high, latitude_angle(joints, k, u, False))
        angles[k] = off_edge(low, high, angle, settings[0]["disturbance"])
        if k < count - 1:
            keep(frames, k, mul(goal, conj(rotation_of(joints, k, angles[k]))))


@kernel
def flip_beyond(joints: Records, angles: Floats, frames: Floats, k: int) -> None:
    """Rotate everything beyond joint k by pi about its parent's segment, its bends mirrored (section 4)."""
    for j in range(k + 1, joints.shape[0]):
        p = parent_of(joints, j)
        keep(frames, j, mul(quat_in(frames, j), (0.0, p[0], p[1], p[2])))
        if joints[j]["kind"] == BEND:
            angles[j] = 2.0 * joints[j]["phi"] - angles[j]


@kernel
def roll_child(joints: Records, angles: Floats, frames: Floats, k: int) -> None:
    """Roll the child of a twister about its segment until its axis is across the twister's (section 6, backward)."""
    frame, c = quat_in(frames, k), child_direction(joints, angles, frames, k)
    y = rotate(frame, Y)
    child = quat_in(frames, k + 1)
    if abs(dot(rotate(child, axis_of(joints, k + 1)), y)) < NOTHING:
        return
    for axis in (Y, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
        mine, theirs = rotate(frame, axis), rotate(child, axis)
        a, b = reject(theirs, c), reject(mine, c)
        if norm(a) > 1e-6 and norm(b) > 1e-6 and (axis[1] == 0.0 or norm(reject(y, c)) > 1e-6):
            keep(frames, k + 1, mul(axis_angle(c, signed_angle(a, b, c)), child))
            return


@kernel
def twist_backward(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats, k: int
) -> None:
    """A twister in the backward phase (Algorithm 16)."""
    last = k == joints.shape[0] - 1
    if not last:
        roll_child(joints, angles, frames, k)
    goal = goal_of(joints, target, frames, k)
    after = mul(quat_in(frames, k), rotation_of(joints, k, angles[k]))
    low, high, along = work[LOW, k], work[HIGH, k], joints[k]["ay"]
    a = angles[k] + along * backward_twist(goal, after)
    if last and settings[0]["symmetric"]:
        b = angles[k] + along * backward_twist(mul(goal, HALF_ROTATION), after)
        if abs(wrapped(low, high, b)) < abs(wrapped(low, high, a)):
            a = b
    angles[k] = clamped(low, high, a) if last else safe_twist(low, high, a, False)


@kernel
def bend_backward(joints: Records, target: Quat, angles: Floats, frames: Floats, work: Floats, k: int) -> None:
    """A bend in the backward phase, and the twist of its parent if that is a twister (Algorithms 17, 18)."""
    frame, goal = quat_in(frames, k), goal_of(joints, target, frames, k)
    aim = rotate(goal, Y)
    low, high = work[LOW, k], work[HIGH, k]
    u = toward(frame, aim)
    angle = clamped(low, high, latitude_angle(joints, k, u, False))
    if k < joints.shape[0] - 1:
        other = clamped(low, high, latitude_angle(joints, k, u, True))
        one = rotate(mul(frame, rotation_of(joints, k, angle)), Y)
        two = rotate(mul(frame, rotation_of(joints, k, other)), Y)
        child = child_direction(joints, angles, frames, k)
        if dot(two, child) > dot(one, child):
            angle, other = other, angle
            one, two = two, one
        if dot(two, aim) > dot(one, aim):
            angle = other
    angles[k] = angle
    if k > 0 and joints[k - 1]["kind"] == TWISTER:
        twist_parent(joints, goal, angles, frames, work, k)


@kernel
def twist_parent(joints: Records, goal: Quat, angles: Floats, frames: Floats, work: Floats, k: int) -> None:
    """Rotate the twister before bend k so that the bend's axis lies as its goal's does."""
    frame, before = quat_in(frames, k), quat_in(frames, k - 1)
    about = rotate(before, axis_of(joints, k - 1))
    axis = axis_of(joints, k)
    if norm(reject(rotate(goal, axis), about)) < 1e-6 or norm(reject(rotate(frame, axis), about)) < 1e-6:
        axis = across_of(joints, k)
    there, here = rotate(goal, axis), rotate(frame, axis)
    p = reject(there, about)
    if norm(p) < NOTHING:
        return
    if k < joints.shape[0] - 1:
        c = child_direction(joints, angles, frames, k)
        p = reject(rotate(axis_angle(c, signed_angle(there, p, c)), there), about)
    mine = reject(here, about)
    if norm(p) < NOTHING or norm(mine) < NOTHING:
        return
    a = angles[k - 1] + signed_angle(mine, p, about)
    angles[k - 1] = safe_twist(work[LOW, k - 1], work[HIGH, k - 1], a, False)
    keep(frames, k, mul(mul(before, rotation_of(joints, k - 1, angles[k - 1])), rest_of(joints, k)))


@kernel
def backward_phase(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats
) -> None:
    """From the root to the tip, inside the limits (Algorithm 15)."""
    for k in range(joints.shape[0]):
        if k == 0:
            keep(frames, 0, rest_of(joints, 0))
        else:
            after = mul(quat_in(frames, k - 1), rotation_of(joints, k - 1, angles[k - 1]))
            keep(frames, k, mul(after, rest_of(joints, k)))
        if joints[k]["kind"] == TWISTER:
            twist_backward(joints, settings, target, angles, frames, work, k)
        else:
            bend_backward(joints, target, angles, frames, work, k)


@kernel
def offer(
    joints: Records, settings: Records, target: Quat, end: Quat, best: float, work: Floats
) -> tuple[float, float]:
    """(error of the angles, least error so far): the angles are stored if theirs is less."""
    posture = posture_error(joints, settings, work[POSTURE], work[SHAPE], work[ANGLES])
    error = orientation_score(settings, target, end) + settings[0]["posture"] * posture
    if error < best:
        copy(work[ANGLES], work[FOUND], joints.shape[0])
        return error, error
    return error, best


@kernel
def disturbed(joints: Records, settings: Records, target: Quat, frames: Floats, work: Floats) -> Quat:
    """The target moved a little about the first two axes (the offset trick, 3.3.1; the formula's, not random)."""
    for k in range(min(2, joints.shape[0])):
        a = work[ANGLES, k]
        step = settings[0]["disturbance"]
        if a - work[LOW, k] <= work[HIGH, k] - a:
            step = -step
        target = mul(axis_angle(rotate(quat_in(frames, k), axis_of(joints, k)), step), target)
    return target


@kernel
def warp(joints: Records, settings: Records, target: Quat, step: float, frames: Floats, work: Floats) -> None:
    """The warped posture, a step off the edges of its limits, into WARPED; its frames into the second half."""
    count = joints.shape[0]
    warped, second = work[WARPED], frames[count:]
    copy(work[POSTURE], warped, count)
    warp_posture(joints, settings, rotate(target, Y), warped, second)
    if step > 0.0:
        for k in range(count):
            warped[k] = off_edge(work[LOW, k], work[HIGH, k], warped[k], step)
        forward(joints, warped, second, 0)


@kernel
def to_zero(joints: Records, angles: Floats, work: Floats) -> None:
    """The angles nearest to zero inside the limits."""
    for k in range(joints.shape[0]):
        angles[k] = clamped(work[LOW, k], work[HIGH, k], 0.0)


@kernel
def solve_erik(joints: Records, settings: Records, target: Quat, frames: Floats, work: Floats) -> int:
    """Run ERIK as specified (or CCD alone): the best angles into FOUND; return how many iterations it took."""
    angles, best, i, attempts = work[ANGLES], math.inf, 0, 0
    aim, since, last, older, tried = target, 0, math.inf, math.inf, settings[0]["offset"] == 0
    if settings[0]["method"] == CCD:
        for k in range(joints.shape[0]):
            angles[k] = clamped(work[LOW, k], work[HIGH, k], work[POSTURE, k])
        attempts = 1
    else:
        warp(joints, settings, target, settings[0]["disturbance"], frames, work)
        to_zero(joints, angles, work)
    while attempts == 0 and i < settings[0]["iterations"]:
        i += 1
        for part in range(2):
            if part == 0:
                forward_phase(joints, settings, aim, angles, frames, work)
                backward_phase(joints, settings, aim, angles, frames, work)
                end = forward(joints, angles, frames, 0)
            else:
                end = backward_descent(joints, settings, aim, angles, frames, work)
            error, best = offer(joints, settings, target, end, best, work)
            if error <= settings[0]["threshold"]:
                return i
        since += 1
        if since >= PATIENCE and (abs(error - last) < STALL or abs(error - older) < STALL):
            if tried:
                attempts = 2
                break
            aim, tried, since = disturbed(joints, settings, aim, frames, work), True, 0
            last, older = math.inf, math.inf
        else:
            last, older = error, last
    if attempts == 1 or (attempts == 2 and settings[0]["descent"]):
        last_resort(joints, settings, target, aim, best, attempts, frames, work)
    return max(i, 1)


@kernel
def last_resort(
    joints: Records,
    settings: Records,
    target: Quat,
    aim: Quat,
    best: float,
    attempts: int,
    frames: Floats,
    work: Floats,
) -> None:
    """CCD from where the solution is, and if that is not good enough from zero (3.3.1)."""
    for attempt in range(attempts):
        if attempt > 0:
            to_zero(joints, work[ANGLES], work)
        end = cyclic_descent(joints, settings, aim, work[ANGLES], frames, work)
        error, best = offer(joints, settings, target, end, best, work)
        if error <= settings[0]["threshold"]:
            return


@kernel
def solve_simple(joints: Records, settings: Records, target: Quat, frames: Floats, work: Floats) -> None:
    """Simplified ERIK (section 8): the warped posture and its twin rolled by pi, clamped and descended; then CCD."""
    count, angles, best = joints.shape[0], work[ANGLES], math.inf
    warp(joints, settings, target, 0.0, frames, work)
    first = -1
    for k in range(count - 1):
        if joints[k]["kind"] == TWISTER and first < 0:
            first = k
    for variant in range(1 if first < 0 else 2):
        for k in range(count):
            a = work[WARPED, k]
            if variant == 1 and k == first:
                a += math.pi
            elif variant == 1 and k > first and joints[k]["kind"] == BEND:
                a = 2.0 * joints[k]["phi"] - a
            elif variant == 1 and k == count - 1 and joints[k]["kind"] == TWISTER:
                a -= math.pi
            angles[k] = clamped(work[LOW, k], work[HIGH, k], a)
        end = backward_descent(joints, settings, target, angles, frames, work)
        _, best = offer(joints, settings, target, end, best, work)
    if best > settings[0]["threshold"] and settings[0]["descent"]:
        copy(work[FOUND], angles, count)
        last_resort(joints, settings, target, target, best, 2, frames, work)

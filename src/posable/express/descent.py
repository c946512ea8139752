"""Coordinate descent on a chain: warping a posture, backward (BWCD) and cyclic descent (Ribeiro 2019, 3.2).

Each rotates one joint after the other so that the last segment points along the target's; backward from the root, which
leaves the shape near the tip alone, CCD from the tip. The printed versions never clamp (specification express, 7.1).
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import mul, rotate
from ..math.vector import dot, norm, reject
from .kernels import (
    NOTHING,
    Y,
    axis_of,
    backward_twist,
    clamped,
    forward,
    off_edge,
    quat_in,
    rotation_of,
    signed_angle,
    wrapped,
)
from .model import HIGH, LOW, TWISTER

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

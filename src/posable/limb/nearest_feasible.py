"""The closest posture inside the limits, for targets that no posture inside them reaches: a pattern search."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..limits.kernels import allowed, clamp, clamp_approximate
from ..math.quaternion import angle_between, conj, mul, rotate, slerp
from ..math.vector import cross, dot, norm
from .kernels import FOUND, Reach, advance, base_at, base_towards, begin, canonical, canonical_inner, flexed, wrist_of

BASE, MID, END = range(3)  # rows of the limits

SWIVELS = 13  # candidates on the orbit circle, beside the orientations of `bones`
STEP, MIN_STEP = 0.2, 1e-4  # [rad] of the search around the best of them
ON_TARGET = 1e-9  # [m]

Goal: TypeAlias = tuple[Vec3, Quat, bool]  # position, orientation, whether an orientation was requested
Posture: TypeAlias = tuple[Quat, float, Quat, Quat]  # base, |v3|, twist and swing of the end


@kernel
def closest(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    target: Goal,
    wrist: tuple[Quat, Quat],
    bones: Floats,
    low: float,
    high: float,
    start: float,
) -> Posture:
    """Return a posture inside the limits whose end is as near to the target as can be found, position first.

    Where some swivel between low and high meets the position: the one of them whose wrist comes nearest to the
    orientation, or the one that the search from `start` finds for the position alone. Elsewhere the direction of the
    upper bone, two numbers, decides the rest, as the best twist and flexion for it follow in closed form, each clamped
    to its limit. So the nearest posture is a pattern search over bone directions alone: from those of `bones`, spread
    over all that the limits allow, and of the swivels; then around the best of them by steps that halve. It is a
    search, not a proof: `tests/limb` compares it with brute force (95 of 100 within 6 mm, all within 25).
    """
    position = target[0]
    base, bend, best = _nearest_on_circle(limb, limits, curves, reach, target, wrist, low, high)
    if best > ON_TARGET and target[2] and low < high:
        base, bend, best = _searched_on_circle(limb, limits, curves, reach, position, start, (base, bend, best))
    if best > ON_TARGET:
        near, closer = _nearest_of_bones(limb, limits, bones, position)
        if closer < best:
            base, bend, best = _nearest_with_bone(limb, limits, curves, rotate(near, (0.0, 0.0, 1.0)), position)
        step = STEP
        while step > MIN_STEP:
            better = False
            for k in range(4):
                bone = rotate(base, _nudged(k, step))
                other, other_bend, distance = _nearest_with_bone(limb, limits, curves, bone, position)
                if distance < best:
                    base, bend, best, better = other, other_bend, distance, True
            if not better:
                step *= 0.5
    twist, swing = clamped_wrist(limb, limits, curves, base, bend, target, wrist)
    return base, bend, twist, swing


@kernel
def _nearest_on_circle(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    target: Goal,
    wrist: tuple[Quat, Quat],
    low: float,
    high: float,
) -> tuple[Quat, float, float]:
    """Return (base, |v3|, remaining distance) of the swivels from low to high: on the target with the nearest
    orientation, or else nearest to the target.
    """
    best_base, best_bend, best, best_angle = (1.0, 0.0, 0.0, 0.0), reach[6], math.inf, math.inf
    count = SWIVELS if high > low else 1
    for k in range(count):
        fraction = k / (SWIVELS - 1)
        exact, _ = base_at(limb, reach, low + (high - low) * fraction)
        base, bend, distance = _nearest_with_bone(limb, limits, curves, rotate(exact, (0.0, 0.0, 1.0)), target[0])
        if distance > ON_TARGET:
            if distance < best:
                best_base, best_bend, best = base, bend, distance
            continue
        angle = 0.0
        if target[2]:
            twist, swing = clamped_wrist(limb, limits, curves, base, bend, target, wrist)
            angle = angle_between(mul(mul(mul(base, flexed(limb, bend)), twist), swing), target[1])
        if best > ON_TARGET or angle < best_angle:
            best_base, best_bend, best, best_angle = base, bend, distance, angle
    return best_base, best_bend, best


@kernel
def _searched_on_circle(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    position: Vec3,
    start: float,
    known: tuple[Quat, float, float],
) -> tuple[Quat, float, float]:
    """Return (base, |v3|, remaining distance) where the swivel search finds a base inside the limits, else `known`.

    A wrist outside its limits has failed the search before; a narrow interval of bases may lie between the swivels of
    `_nearest_on_circle`.
    """
    state = begin(limb, start)
    base = known[0]
    while state[0] < FOUND:
        base, _ = base_at(limb, reach, state[1])
        state = advance(limb, state, allowed(limits[BASE], curves, canonical(limb, base)))
    if state[0] != FOUND:
        return known
    base, _ = base_at(limb, reach, state[1])
    _, distance = bent_to(limb, rotate(conj(base), position))
    return (base, reach[6], distance) if distance < known[2] else known


@kernel
def _nearest_of_bones(limb: Any, limits: Records, bones: Floats, position: Vec3) -> tuple[Quat, float]:
    """Return (the orientation of `bones` from which twist and flexion bring the end nearest, remaining distance)."""
    best_base, best = (1.0, 0.0, 0.0, 0.0), math.inf
    for k in range(bones.shape[0]):
        base = (bones[k, 0], bones[k, 1], bones[k, 2], bones[k, 3])
        x, y, z = rotate(conj(base), position)
        flex, half = limb["flex"], limits[BASE]["twist_half"]
        twist = min(max(math.atan2(flex * y, flex * x), -half), half)
        c, s = math.cos(twist), math.sin(twist)
        _, distance = bent_to(limb, (x * c + y * s, y * c - x * s, z))
        if distance < best:
            best_base, best = base, distance
    return best_base, best


@kernel
def _nearest_with_bone(
    limb: Any, limits: Records, curves: Floats, bone: Vec3, position: Vec3
) -> tuple[Quat, float, float]:
    """Return (base, |v3|, remaining distance) with the upper bone along `bone` as far as the limits allow."""
    base = (1.0, 0.0, 0.0, 0.0)
    for _ in range(2):  # a loop, so that the clamping is compiled once
        base = clamped_base(limb, limits, curves, _bending_towards(limb, bone, position))
        clamped = rotate(base, (0.0, 0.0, 1.0))
        if dot(clamped, bone) > 1.0 - 1e-14:
            break
        bone = clamped  # the limits moved the bone: it needs another twist
    bend, distance = bent_to(limb, rotate(conj(base), position))
    return base, bend, distance


@kernel
def _bending_towards(limb: Any, bone: Vec3, position: Vec3) -> Quat:
    """Return the base orientation with the upper bone along `bone` whose bending plane contains `position`."""
    upper, flex = limb["upper"], limb["flex"]
    rest = (position[0] - bone[0] * upper, position[1] - bone[1] * upper, position[2] - bone[2] * upper)
    y = cross(bone, rest)  # the lower bone turns from `bone` towards `rest` about this axis
    base, _ = base_towards(bone, (flex * y[0], flex * y[1], flex * y[2]))
    return base


@kernel
def _nudged(k: int, step: float) -> Vec3:
    """Return the z axis rotated by `step` [rad] to one of four sides."""
    s, c = math.sin(step), math.cos(step)
    if k == 0:
        return (s, 0.0, c)
    if k == 1:
        return (-s, 0.0, c)
    if k == 2:
        return (0.0, s, c)
    return (0.0, -s, c)


@kernel
def bent_to(limb: Any, t: Vec3) -> tuple[float, float]:
    """Return (|v3| that brings the end nearest to t, remaining distance [m]), t in the frame of the base joint."""
    upper, lower, flex = limb["upper"], limb["lower"], limb["flex"]
    x, z = flex * t[0], t[2] - upper
    bend = math.atan2(x, z)
    low, high = limb["flex_low"], limb["flex_high"]
    if not low <= bend <= high:
        bend = low if math.cos(bend - low) >= math.cos(bend - high) else high
    return bend, norm((x - lower * math.sin(bend), t[1], z - lower * math.cos(bend)))


@kernel
def clamped_base(limb: Any, limits: Records, curves: Floats, base: Quat) -> Quat:
    """Return the base joint's orientation, in the limb's frame, moved inside its limits."""
    f, b = (limb["fw"], limb["fx"], limb["fy"], limb["fz"]), (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(conj(f), clamp_approximate(limits[BASE], curves, canonical(limb, base))), conj(b))


@kernel
def clamped_wrist(
    limb: Any, limits: Records, curves: Floats, base: Quat, bend: float, target: Goal, wrist: tuple[Quat, Quat]
) -> tuple[Quat, Quat]:
    """Return (twist, swing) of the end inside the limits, nearest to the target's orientation or to `wrist`."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    twist, swing = wrist
    bent = flexed(limb, bend)
    middle = mul(base, bent)
    if target[2]:
        twist, swing, _ = wrist_of(middle, target[1])
    clamped = clamp(limits[MID], curves, canonical_inner(limb, mul(bent, twist)))
    twist = _about_bone(mul(conj(bent), mul(mul(b, clamped), conj(b))))
    if target[2]:
        rest = mul(conj(mul(middle, twist)), target[1])
        swing = mul(rest, conj(_about_bone(rest)))  # the end has no twist of its own
    return twist, clamped_swing(limb, limits, curves, swing)


@kernel
def clamped_swing(limb: Any, limits: Records, curves: Floats, swing: Quat) -> Quat:
    """Return a swing of the end inside its limits, without a twist."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    swing = mul(mul(b, clamp(limits[END], curves, canonical_inner(limb, swing))), conj(b))
    swing = mul(swing, conj(_about_bone(swing)))
    if not allowed(limits[END], curves, canonical_inner(limb, swing)):
        # Taking out the twist has left the limits (a foot's are not about the leg's axis): back towards no swing.
        inside, outside = 0.0, 1.0
        for _ in range(40):
            fraction = 0.5 * (inside + outside)
            if allowed(limits[END], curves, canonical_inner(limb, slerp((1.0, 0.0, 0.0, 0.0), swing, fraction))):
                inside = fraction
            else:
                outside = fraction
        swing = slerp((1.0, 0.0, 0.0, 0.0), swing, inside)
    return swing


@kernel
def _about_bone(q: Quat) -> Quat:
    """Return the twist of q about the bone, z."""
    size = math.sqrt(q[0] * q[0] + q[3] * q[3])
    if size == 0.0:
        return (1.0, 0.0, 0.0, 0.0)
    return (q[0] / size, 0.0, 0.0, q[3] / size)

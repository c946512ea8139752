"""The closest posture inside the limits, for targets that no posture inside them reaches."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..limits.kernels import allowed, clamp, clamp_approximate
from ..math.quaternion import angle_between, conj, mul, rotate, slerp
from ..math.vector import cross, dot, norm
from .kernels import Reach, base_at, base_towards, canonical, canonical_inner, flexed, wrist_of
from .search import FOUND, advance, begin

BASE, MID, END = range(3)  # rows of the limits

SWIVELS = 9  # candidates on the orbit circle, beside the orientations of `bones`
STEP, STEP_LEAST = 0.2, 1e-4  # [rad] of the search around the best of them
ON_TARGET = 1e-9  # [m]

Target: TypeAlias = tuple[Vec3, Quat, bool]  # place, orientation, whether the orientation matters
Posture: TypeAlias = tuple[Quat, float, Quat, Quat]  # base, |v3|, twist and swing of the end


@kernel
def closest(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    target: Target,
    wrist: tuple[Quat, Quat],
    bones: Floats,
    low: float,
    high: float,
    start: float,
) -> Posture:
    """A posture inside the limits whose end lies as near to the target as can be found, position before orientation.

    Where some swivel between low and high meets the position, the one of them whose wrist comes nearest to the
    orientation, or the one that the search from `start` finds when it is asked for the position alone. Else: where the
    upper bone points, two numbers, decides the rest, as the best twist and flexion for it follow in closed form, each
    held inside its limit. So the nearest posture is sought over bone directions alone: from those of `bones`, spread
    over all that the limits allow, and of the swivels; then around the best of them by steps that halve. It is a
    search, not a proof: `tests/limb` holds it beside brute force (95 of 100 within 6 mm, all within 25).
    """
    place = target[0]
    base, bend, best = _nearest_on_circle(limb, limits, curves, reach, target, wrist, low, high)
    if best > ON_TARGET and target[2] and low < high:
        base, bend, best = _searched_on_circle(limb, limits, curves, reach, place, start, (base, bend, best))
    if best > ON_TARGET:
        near, closer = _nearest_of(limb, limits, bones, place)
        if closer < best:
            base, bend, best = _nearest_with_bone(limb, limits, curves, rotate(near, (0.0, 0.0, 1.0)), place)
        step = STEP
        while step > STEP_LEAST:
            better = False
            for k in range(4):
                bone = rotate(base, _nudged(k, step))
                other, other_bend, away = _nearest_with_bone(limb, limits, curves, bone, place)
                if away < best:
                    base, bend, best, better = other, other_bend, away, True
            if not better:
                step *= 0.5
    twist, swing = _clamped_wrist(limb, limits, curves, base, bend, target, wrist)
    return base, bend, twist, swing


@kernel
def _nearest_on_circle(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    target: Target,
    wrist: tuple[Quat, Quat],
    low: float,
    high: float,
) -> tuple[Quat, float, float]:
    """(base, |v3|, distance that stays) of the swivels from low to high: on the target with the nearest orientation,
    or else nearest to the target.
    """
    best_base, best_bend, best, best_turn = (1.0, 0.0, 0.0, 0.0), reach[6], math.inf, math.inf
    count = SWIVELS if high > low else 1
    for k in range(count):
        share = k / (SWIVELS - 1)
        exact, _ = base_at(limb, reach, low + (high - low) * share)
        base, bend, away = _nearest_with_bone(limb, limits, curves, rotate(exact, (0.0, 0.0, 1.0)), target[0])
        if away > ON_TARGET:
            if away < best:
                best_base, best_bend, best = base, bend, away
            continue
        turn = 0.0
        if target[2]:
            twist, swing = _clamped_wrist(limb, limits, curves, base, bend, target, wrist)
            turn = angle_between(mul(mul(mul(base, flexed(limb, bend)), twist), swing), target[1])
        if best > ON_TARGET or turn < best_turn:
            best_base, best_bend, best, best_turn = base, bend, away, turn
    return best_base, best_bend, best


@kernel
def _searched_on_circle(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    place: Vec3,
    start: float,
    known: tuple[Quat, float, float],
) -> tuple[Quat, float, float]:
    """(base, |v3|, distance that stays) where the swivel search finds a base inside the limits, or else what is known.

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
    _, away = _bent_to(limb, rotate(conj(base), place))
    return (base, reach[6], away) if away < known[2] else known


@kernel
def _nearest_of(limb: Any, limits: Records, bones: Floats, place: Vec3) -> tuple[Quat, float]:
    """(the base orientation of `bones` from which twist and flexion bring the end nearest, how far it stays away)."""
    best_base, best = (1.0, 0.0, 0.0, 0.0), math.inf
    for k in range(bones.shape[0]):
        base = (bones[k, 0], bones[k, 1], bones[k, 2], bones[k, 3])
        x, y, z = rotate(conj(base), place)
        flex, half = limb["flex"], limits[BASE]["twist_half"]
        twist = min(max(math.atan2(flex * y, flex * x), -half), half)
        c, s = math.cos(twist), math.sin(twist)
        _, away = _bent_to(limb, (x * c + y * s, y * c - x * s, z))
        if away < best:
            best_base, best = base, away
    return best_base, best


@kernel
def _nearest_with_bone(
    limb: Any, limits: Records, curves: Floats, bone: Vec3, place: Vec3
) -> tuple[Quat, float, float]:
    """(base, |v3|, distance that stays) with the upper bone along `bone` as far as the limits let it."""
    base = (1.0, 0.0, 0.0, 0.0)
    for _ in range(2):  # a loop, so that the clamping is compiled once
        base = _clamped_base(limb, limits, curves, _bending_towards(limb, bone, place))
        held = rotate(base, (0.0, 0.0, 1.0))
        if dot(held, bone) > 1.0 - 1e-14:
            break
        bone = held  # the limits moved the bone: it wants another twist
    bend, away = _bent_to(limb, rotate(conj(base), place))
    return base, bend, away


@kernel
def _bending_towards(limb: Any, bone: Vec3, place: Vec3) -> Quat:
    """The base orientation with the upper bone along `bone` whose bending plane holds `place`."""
    upper, flex = limb["upper"], limb["flex"]
    rest = (place[0] - bone[0] * upper, place[1] - bone[1] * upper, place[2] - bone[2] * upper)
    y = cross(bone, rest)  # the lower bone turns from `bone` towards `rest` about this axis
    base, _ = base_towards(bone, (flex * y[0], flex * y[1], flex * y[2]))
    return base


@kernel
def _nudged(k: int, step: float) -> Vec3:
    """The z axis turned by `step` [rad] to one of four sides."""
    s, c = math.sin(step), math.cos(step)
    if k == 0:
        return (s, 0.0, c)
    if k == 1:
        return (-s, 0.0, c)
    if k == 2:
        return (0.0, s, c)
    return (0.0, -s, c)


@kernel
def end_when(limb: Any, base: Quat, bent: Quat) -> Vec3:
    """Where the end is [m], from the base joint's orientation and the mid joint's flexion."""
    c, s = bent[0], bent[2]
    across, along = 2.0 * limb["lower"] * c * s, limb["upper"] + limb["lower"] * (c - s) * (c + s)
    return rotate(base, (across, 0.0, along))


@kernel
def _bent_to(limb: Any, t: Vec3) -> tuple[float, float]:
    """(|v3| that brings the end nearest to t, how far it stays away [m]), t in the frame of the base joint."""
    upper, lower, flex = limb["upper"], limb["lower"], limb["flex"]
    x, z = flex * t[0], t[2] - upper
    bend = math.atan2(x, z)
    low, high = limb["flex_low"], limb["flex_high"]
    if not low <= bend <= high:
        bend = low if math.cos(bend - low) >= math.cos(bend - high) else high
    return bend, norm((x - lower * math.sin(bend), t[1], z - lower * math.cos(bend)))


@kernel
def _clamped_base(limb: Any, limits: Records, curves: Floats, base: Quat) -> Quat:
    f, b = (limb["fw"], limb["fx"], limb["fy"], limb["fz"]), (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(conj(f), clamp_approximate(limits[BASE], curves, canonical(limb, base))), conj(b))


@kernel
def _clamped_wrist(
    limb: Any, limits: Records, curves: Floats, base: Quat, bend: float, target: Target, wrist: tuple[Quat, Quat]
) -> tuple[Quat, Quat]:
    """(twist, swing) of the end inside the limits that come nearest to the target's orientation, or to `wrist`."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    twist, swing = wrist
    bent = flexed(limb, bend)
    middle = mul(base, bent)
    if target[2]:
        twist, swing, _ = wrist_of(middle, target[1])
    held = clamp(limits[MID], curves, canonical_inner(limb, mul(bent, twist)))
    twist = _about_bone(mul(conj(bent), mul(mul(b, held), conj(b))))
    if target[2]:
        rest = mul(conj(mul(middle, twist)), target[1])
        swing = mul(rest, conj(_about_bone(rest)))  # the end has no twist of its own
    swing = mul(mul(b, clamp(limits[END], curves, canonical_inner(limb, swing))), conj(b))
    swing = mul(swing, conj(_about_bone(swing)))
    if not allowed(limits[END], curves, canonical_inner(limb, swing)):
        # Taking out the twist has left the limits (a foot's are not about the leg's axis): back towards no swing.
        inside, outside = 0.0, 1.0
        for _ in range(40):
            share = 0.5 * (inside + outside)
            if allowed(limits[END], curves, canonical_inner(limb, slerp((1.0, 0.0, 0.0, 0.0), swing, share))):
                inside = share
            else:
                outside = share
        swing = slerp((1.0, 0.0, 0.0, 0.0), swing, inside)
    return twist, swing


@kernel
def _about_bone(q: Quat) -> Quat:
    """The twist of q about the bone, z."""
    size = math.sqrt(q[0] * q[0] + q[3] * q[3])
    if size == 0.0:
        return (1.0, 0.0, 0.0, 0.0)
    return (q[0] / size, 0.0, 0.0, q[3] / size)

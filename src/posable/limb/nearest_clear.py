"""The closest posture that also keeps out of obstacles and inside a learned range: a search of its own.

`solve` answers a target that cannot be met with the closest posture inside the limits, without a look at what it
touches, and a `LimbRange` moves the target before the limits are known. Where that posture lies in an obstacle or
outside the range, this search takes its place. First the swivels on which the end stays as near as it can be; then,
as neither an obstacle nor a range is convex, postures spread over everything that the limits allow, and a pattern
search around the nearest admissible one in all four numbers that place the end (upper bone, its twist, the flexion).
Every posture accepted is inside the limits, in the range and out of the obstacles; `tests/limb/test_nearest_clear.py`
compares with brute force. Where nothing admissible is found the posture stays as it was, and `INSIDE` says what it
violates: everything in it is measured on the posture that is returned.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..collision.kernels import ball_far, gap, overlaps, placed, shapes_gap
from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limits.kernels import allowed, excess
from ..math.quaternion import angle_between, axis_angle, conj, mul, rotate
from ..math.vector import norm
from .kernels import (
    Values,
    base_at,
    base_towards,
    canonical,
    canonical_inner,
    end_position,
    flexed,
    posture_swivel,
    reach_of,
    rotations_of,
    values_of,
    wrist_of,
)
from .nearest_feasible import BASE, END, MID, Goal, Posture, bent_to, clamped_base, clamped_wrist
from .range.kernels import contains_one
from .range.locate import Packed
from .solve import Around, Model, collides

INSIDE = np.dtype([("penetration", "f8"), ("penetrates", "i1"), ("in_range", "i1"), ("in_limits", "i1")], align=True)
"""What a returned posture keeps: how deep [m] it lies in an obstacle, beyond the softness of that obstacle and into the
margin; whether it does; whether it is inside the learned range and inside the limits, true where there are none."""

REACHED, LIMITS, COLLISION, INVALID = 0, 2, 3, 5  # compute.Status, which kernels cannot read

SWIVELS = 144  # on a circle
SPREAD = 160  # bones where there are no limits to spread them over
OFFSETS = (0.0, 0.4, -0.4, 0.9, -0.9, 1.6)  # [rad] of twist and flexion from the best of a bone
STEP, MIN_STEP = 0.3, 2e-4  # [rad] of the pattern search
GAIN = 1e-7  # [m] that a step must bring
WITHIN = 1e-7  # [rad] outside the limits that counts as inside: clamping leaves some rounding
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))

Bones: TypeAlias = tuple[Quat, float]  # base, |v3|
Targets: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
# positions requested, positions moved by a range, orientations, swivels, wrists, values before
Own: TypeAlias = tuple[Ints, float]  # (P, 2) links that must keep out of each other, how far they may sink in [m]
Setting: TypeAlias = tuple[Any, Records, Floats, Around, Packed, Goal, tuple[Quat, Quat], Own]
# limb, limits, curves, obstacles, range, target as requested, wrist without an orientation, the limb's own pairs


@kernel
def penetration(limb: Any, around: Around, posture: Posture) -> float:
    """Return how deep [m] the links of a limb lie in obstacles, beyond their softness and into the margin; 0 outside.

    Above 0 exactly where `limb_touching` finds something.
    """
    links, groups, obstacles, margin = around
    base, bend, twist, swing = posture
    middle = mul(mul(base, flexed(limb, bend)), twist)
    mid = rotate(base, (0.0, 0.0, limb["upper"]))
    end = end_position(limb, base, flexed(limb, bend))
    worst = 0.0
    for g in range(groups.shape[0]):
        p, q = (0.0, 0.0, 0.0), base
        if g == 1:
            p, q = mid, middle
        elif g == 2:
            p, q = end, mul(middle, swing)
        group = groups[g]
        centre = (group["x"], group["y"], group["z"])
        for o in range(obstacles.shape[0]):
            row = obstacles[o]
            if row["spares"] & group["bits"] == group["bits"] or ball_far(centre, p, q, group["bound"] + margin, row):
                continue
            for k in range(group["first"], group["last"]):
                if (row["spares"] >> k) & 1 == 0 and overlaps(links[k], p, q, row, margin):
                    distance, _ = gap(links[k], p, q, row)
                    worst = max(worst, margin - row["softness"] - distance)
    return worst


@kernel
def own_penetration(limb: Any, links: Records, own: Own, posture: Posture) -> float:
    """Return how deep [m] parts of the limb lie in each other, beyond their softness; 0 outside."""
    pairs, softness = own
    base, bend, twist, swing = posture
    middle = mul(mul(base, flexed(limb, bend)), twist)
    mid = rotate(base, (0.0, 0.0, limb["upper"]))
    end = end_position(limb, base, flexed(limb, bend))
    worst = 0.0
    for k in range(pairs.shape[0]):
        a, b = links[pairs[k, 0]], links[pairs[k, 1]]
        p, q = _joint(a["joint"], base, mid, middle, end, swing)
        one = placed(a, p, q)
        p, q = _joint(b["joint"], base, mid, middle, end, swing)
        distance, _ = shapes_gap(one, placed(b, p, q), math.nan)
        worst = max(worst, -softness - distance)
    return worst


@kernel
def _joint(joint: int, base: Quat, mid: Vec3, middle: Quat, end: Vec3, swing: Quat) -> tuple[Vec3, Quat]:
    """Return where joint 0, 1 or 2 of a limb is [m], and its orientation."""
    if joint == 0:
        return (0.0, 0.0, 0.0), base
    return (mid, middle) if joint == 1 else (end, mul(middle, swing))


@kernel
def in_range(limb: Any, learned: Packed, posture: Posture) -> bool:
    """Return whether a posture is inside the learned range; True without one."""
    if learned[0].shape[0] == 0:
        return True
    base, bend, _, _ = posture
    end = end_position(limb, base, flexed(limb, bend))
    return contains_one(learned, end, posture_swivel(limb, base, bend), True)


@kernel
def limits_excess(limb: Any, limits: Records, curves: Floats, posture: Posture) -> float:
    """Return how far [rad] the worst of the three joints lies outside its limits; 0 inside, and without limits."""
    if not limb["limited"]:
        return 0.0
    base, bend, twist, swing = posture
    a = excess(limits[BASE], curves, canonical(limb, base))
    b = excess(limits[MID], curves, canonical_inner(limb, mul(flexed(limb, bend), twist)))
    c = excess(limits[END], curves, canonical_inner(limb, swing))
    return max(max(a[0], a[1]), max(b[0], b[1]), max(c[0], c[1]))


@kernel
def completed(setting: Setting, base: Quat, bend: float) -> Posture:
    """Return the posture with the wrist nearest to the requested one inside its limits."""
    limb, limits, curves, _, _, target, wrist, _ = setting
    if limb["limited"]:
        twist, swing = clamped_wrist(limb, limits, curves, base, bend, target, wrist)
    else:
        twist, swing = wrist
        if target[2]:
            twist, swing, _ = wrist_of(mul(base, flexed(limb, bend)), target[1])
    return base, bend, twist, swing


@kernel
def admissible(setting: Setting, posture: Posture) -> bool:
    """Return whether a posture made inside the limits is in the range and out of the obstacles."""
    limb, _, _, around, learned, _, _, own = setting
    if not in_range(limb, learned, posture):
        return False
    if around[2].shape[0] > 0 and collides(limb, around, posture):
        return False
    return own[0].shape[0] == 0 or own_penetration(limb, around[0], own, posture) <= 0.0


@kernel
def _inside(setting: Setting, base: Quat, bend: float) -> Bones:
    """Return a base and flexion inside their limits."""
    limb, limits, curves, _, _, _, _, _ = setting
    if limb["limited"] and not allowed(limits[BASE], curves, canonical(limb, base)):
        base = clamped_base(limb, limits, curves, base)
    return base, min(max(bend, limb["flex_low"]), limb["flex_high"])


@kernel
def _distance(setting: Setting, base: Quat, bend: float) -> float:
    end, goal = end_position(setting[0], base, flexed(setting[0], bend)), setting[5][0]
    return norm((end[0] - goal[0], end[1] - goal[1], end[2] - goal[2]))


@kernel
def on_circle(setting: Setting, aim: Vec3, low: float, high: float, start: float) -> tuple[bool, Posture]:
    """Return (whether one was found, the admissible posture with the end at `aim`, or as far as the limb reaches).

    Of several: with the orientation nearest to the requested one; without one, with the swivel nearest to `start`.
    """
    limb, limits, curves, _, _, target, _, _ = setting
    reach = reach_of(limb, aim)
    best, found, least = completed(setting, (1.0, 0.0, 0.0, 0.0), reach[6]), False, math.inf
    for k in range(SWIVELS):
        swivel = low + (high - low) * k / (SWIVELS - 1)
        base, stable = base_at(limb, reach, swivel)
        if not stable or (limb["limited"] and not allowed(limits[BASE], curves, canonical(limb, base))):
            continue
        posture = completed(setting, base, reach[6])
        cost = abs(swivel - start)
        if target[2]:
            middle = mul(mul(base, flexed(limb, posture[1])), posture[2])
            cost = angle_between(mul(middle, posture[3]), target[1])
        if cost < least and admissible(setting, posture):
            best, found, least = posture, True, cost
    return found, best


@kernel
def _spread_base(setting: Setting, bones: Floats, k: int) -> Quat:
    """Return orientation k of `bones`, or of directions spread over the sphere where there are no limits."""
    if bones.shape[0] > 0:
        return (bones[k, 0], bones[k, 1], bones[k, 2], bones[k, 3])
    z = 1.0 - (2.0 * k + 1.0) / SPREAD
    across = math.sqrt(1.0 - z * z)
    base, _ = base_towards((across * math.cos(GOLDEN * k), across * math.sin(GOLDEN * k), z), (0.0, 1.0, 0.0))
    return base


@kernel
def _spread_place(setting: Setting, bones: Floats, k: int, offset: int) -> Bones:
    """Return bone k with the twist and flexion that bring the end nearest, each moved by one of `OFFSETS`."""
    limb, limits = setting[0], setting[1]
    base, goal = _spread_base(setting, bones, k), setting[5][0]
    x, y, _ = rotate(conj(base), goal)
    flex = limb["flex"]
    half = limits[BASE]["twist_half"] if limb["limited"] else math.pi
    twist = min(max(math.atan2(flex * y, flex * x) + OFFSETS[offset % len(OFFSETS)], -half), half)
    base = mul(base, axis_angle((0.0, 0.0, 1.0), twist))
    bend, _ = bent_to(limb, rotate(conj(base), goal))
    bend += OFFSETS[offset // len(OFFSETS)]
    return base, min(max(bend, limb["flex_low"]), limb["flex_high"])


@kernel
def nearest_spread(setting: Setting, bones: Floats) -> tuple[bool, Posture, float]:
    """Return (whether one was found, the nearest admissible posture of those spread over the limits, distance [m])."""
    count = bones.shape[0] if bones.shape[0] > 0 else SPREAD
    best, found, least = completed(setting, (1.0, 0.0, 0.0, 0.0), setting[0]["flex_low"]), False, math.inf
    for offset in range(len(OFFSETS) * len(OFFSETS)):
        for k in range(count):
            base, bend = _spread_place(setting, bones, k, offset)
            if _distance(setting, base, bend) >= least:
                continue
            base, bend = _inside(setting, base, bend)
            distance = _distance(setting, base, bend)
            if distance < least:
                posture = completed(setting, base, bend)
                if admissible(setting, posture):
                    best, found, least = posture, True, distance
    return found, best, least


@kernel
def nearest_of_range(setting: Setting) -> tuple[bool, Posture, float]:
    """Return (whether one was found, the nearest admissible posture of those spread over the range, distance [m]).

    For ranges so narrow that none of the postures spread over the limits falls into them.
    """
    limb, limits, curves, _, learned, _, _, _ = setting
    head, points = learned[0], learned[1]
    best, found, least = completed(setting, (1.0, 0.0, 0.0, 0.0), limb["flex_low"]), False, math.inf
    for k in range(points.shape[0] * 3 if head.shape[0] > 0 else 0):
        row, part = points[k // 3], k % 3
        if row["high"] <= 0.0:
            continue
        far = (0.02 + 0.48 * part) * row["high"] + (0.98 - 0.48 * part) * row["low"]
        far *= limb["upper"] + limb["lower"]
        aim = (head[0]["sx"] * row["x"] * far, head[0]["sy"] * row["y"] * far, row["z"] * far)
        reach = reach_of(limb, aim)
        for j in range(9):
            base, stable = base_at(limb, reach, math.atan2(row["s"], row["c"]) + 0.245 * (j - 4) * row["half"])
            distance = _distance(setting, base, reach[6])
            if not stable or distance >= least:
                continue
            if limb["limited"] and not allowed(limits[BASE], curves, canonical(limb, base)):
                continue
            posture = completed(setting, base, reach[6])
            if admissible(setting, posture):
                best, found, least = posture, True, distance
    return found, best, least


@kernel
def _stepped(setting: Setting, base: Quat, bend: float, which: int, step: float) -> Bones:
    """Return the neighbour `which` (0 to 80, 40 is itself) of a posture, a step [rad] away in up to four numbers."""
    x, y, z, b = which % 3 - 1, which // 3 % 3 - 1, which // 9 % 3 - 1, which // 27 - 1
    size = math.sqrt(float(x * x + y * y + z * z))
    if size > 0.0:
        base = mul(base, axis_angle((x / size, y / size, z / size), step * size))
    return _inside(setting, base, bend + b * step)


@kernel
def refined(setting: Setting, posture: Posture, distance: float) -> tuple[Posture, float]:
    """Return the admissible posture that a pattern search around one finds nearest to the target, and its distance."""
    step = STEP
    while step > MIN_STEP:
        better = False
        for which in range(81):
            base, bend = _stepped(setting, posture[0], posture[1], which, step)
            away = _distance(setting, base, bend)
            if away < distance - GAIN:
                other = completed(setting, base, bend)
                if admissible(setting, other):
                    posture, distance, better = other, away, True
        if not better:
            step *= 0.5
    return posture, distance


@kernel
def nearest_admissible(
    setting: Setting,
    bones: Floats,
    aim: Vec3,
    start: float,
    before: Posture,
    came_from: tuple[Quat, float, Quat, Quat, bool],
) -> tuple[bool, Posture]:
    """Return (whether one was found, the admissible posture nearest to the target); `before` where there is none.

    `aim` [m] is where the range has moved the target, or the target itself. An orientation that leaves no room is given
    up, as position goes before orientation; then the posture that the limb came from is a start, and at last the one
    that touches least, freed step by step.
    """
    found, posture = _searched(setting, bones, aim, start, before)
    if found:
        return True, posture
    limb, limits, curves, around, learned, target, wrist, own = setting
    free = (limb, limits, curves, around, learned, (target[0], target[1], False), wrist, own)
    if target[2]:
        found, posture = _searched(free, bones, aim, start, before)
        if found:
            return True, posture
    if not came_from[4]:
        found, posture = _freed(free, bones)
        if not found:
            return False, before
    else:
        posture = (came_from[0], came_from[1], came_from[2], came_from[3])
        wrist = (posture[2], posture[3])
    free = (limb, limits, curves, around, learned, (target[0], target[1], False), wrist, own)
    posture, _ = refined(free, posture, _distance(free, posture[0], posture[1]))
    return True, posture


@kernel
def _freed(setting: Setting, bones: Floats) -> tuple[bool, Posture]:
    """Return (whether it got out, a posture): of those spread over the limits, the one least deep, moved out."""
    limb, _, _, around, learned, _, _, own = setting
    count = bones.shape[0] if bones.shape[0] > 0 else SPREAD
    posture, least = completed(setting, (1.0, 0.0, 0.0, 0.0), limb["flex_low"]), math.inf
    for k in range(count):
        base, bend = _spread_place(setting, bones, k, 0)
        base, bend = _inside(setting, base, bend)
        other = completed(setting, base, bend)
        if in_range(limb, learned, other):
            deep = max(penetration(limb, around, other), own_penetration(limb, around[0], own, other))
            if deep < least:
                posture, least = other, deep
    step = STEP
    while step > 0.01 and 0.0 < least < math.inf:
        before = least
        for which in range(81):
            base, bend = _stepped(setting, posture[0], posture[1], which, step)
            other = completed(setting, base, bend)
            if in_range(limb, learned, other):
                deep = max(penetration(limb, around, other), own_penetration(limb, around[0], own, other))
                if deep < least:
                    posture, least = other, deep
        if least > 0.9 * before:
            step *= 0.5
    return least <= 0.0, posture


@kernel
def _searched(setting: Setting, bones: Floats, aim: Vec3, start: float, before: Posture) -> tuple[bool, Posture]:
    """Return (whether one was found, the admissible posture nearest to the target) with the wrist as requested."""
    limb, learned, goal = setting[0], setting[4], setting[5][0]
    low, high = limb["low"], limb["high"]
    if learned[0].shape[0] > 0:  # a range knows which swivels are usual
        low, high = start - math.pi, start + math.pi
    if in_range_at(learned, goal):
        found, posture = on_circle(setting, goal, low, high, start)
        if found:
            return True, posture
    moved = norm((aim[0] - goal[0], aim[1] - goal[1], aim[2] - goal[2])) > 0.0
    known, nearest, distance = nearest_spread(setting, bones)
    if moved:
        found, posture = on_circle(setting, aim, low, high, start)
        if found:
            away = _distance(setting, posture[0], posture[1])
            if not known or away <= distance + 0.02 * (limb["upper"] + limb["lower"]):
                known, nearest, distance = True, posture, away
    if not known:
        known, nearest, distance = nearest_of_range(setting)
    if not known:
        return False, before
    nearest, _ = refined(setting, nearest, distance)
    return True, nearest


@kernel
def in_range_at(learned: Packed, position: Vec3) -> bool:
    """Return whether the learned range has a position at all, at whatever swivel; True without a range."""
    return learned[0].shape[0] == 0 or contains_one(learned, position, 0.0, False)


@kernel
def keep_row(
    i: int,
    model: Model,
    around: Around,
    own: Own,
    learned: Packed,
    targets: Targets,
    search: bool,
    values: Floats,
    report: Records,
    inside: Records,
) -> None:
    """Measure what posture i keeps, and search for the closest that keeps everything where it does not.

    Args:
        i: which posture.
        model: rows of `LIMB`, the limits of its three joints, their curves, and `bones` of `closest`.
        around: links, groups, obstacles (1 or N, O) and margin [m].
        own: pairs of links that must keep out of each other, and how far they may sink into each other [m].
        learned: a range, or five arrays without rows.
        targets: positions requested (N, 3), positions as the range has moved them (N, 3), orientations (N, 4) or none,
            swivels (1 or N,), wrists (1 or N, 3), values that the limb came from (N, 7) or none.
        search: whether to search at all; without it only `inside` is filled.
        values: (N, 7) [rad], changed where another posture was found.
        report: (N,) of `solve.REPORT`: swivel and errors follow the posture; the status stays, but for REACHED where
            the posture is outside the range (LIMITS) or touches (COLLISION).
        inside: (N,) of `INSIDE` to fill.
    """
    limbs, limits, curves, bones = model
    links, groups, obstacles, margin = around
    goals, aims, orientations, swivels, wrists, old = targets
    result, row = inside[i], report[i]
    if row["status"] == INVALID:
        result["penetration"], result["penetrates"], result["in_range"], result["in_limits"] = math.inf, 1, 0, 0
        return
    at = int(np.int64(i))
    limb = limbs[at if limbs.shape[0] > 1 else 0]
    goal, aim = (goals[i, 0], goals[i, 1], goals[i, 2]), (aims[i, 0], aims[i, 1], aims[i, 2])
    q, oriented = (1.0, 0.0, 0.0, 0.0), orientations.shape[0] > 0
    if oriented:
        q = (orientations[i, 0], orientations[i, 1], orientations[i, 2], orientations[i, 3])
        size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        q = (q[0] / size, q[1] / size, q[2] / size, q[3] / size)
    k = at if wrists.shape[0] > 1 else 0
    _, straight, bent_wrist = rotations_of((0.0, 0.0, 0.0, 0.0, wrists[k, 0], wrists[k, 1], wrists[k, 2]))
    near = (links, groups, obstacles[at if obstacles.shape[0] > 1 else 0], margin)
    setting = (limb, limits, curves, near, learned, (goal, q, oriented), (straight, bent_wrist), own)
    posture = _posture_of(limb, values, i)
    keeps = admissible(setting, posture)
    # A posture on its target that touches is a COLLISION, and stays.
    stays = row["found"] != 0 or row["status"] == COLLISION
    searches = not keeps and not (stays and in_range(limb, learned, posture))
    # What the limits leave of a target moved by a range may be far from the target itself.
    searches = searches or (learned[0].shape[0] > 0 and not stays)
    if search and searches:
        away = _distance(setting, posture[0], posture[1])
        came_from = (posture[0], posture[1], posture[2], posture[3], False)
        if old.shape[0] > 0:
            first = _posture_of(limb, old, i)
            inside_limits = limits_excess(limb, limits, curves, first) <= WITHIN
            came_from = (first[0], first[1], first[2], first[3], inside_limits and admissible(setting, first))
        swivel = swivels[at if swivels.shape[0] > 1 else 0]
        found, posture = nearest_admissible(setting, bones, aim, swivel, posture, came_from)
        found = found and (not keeps or _distance(setting, posture[0], posture[1]) < away)
        if found:
            _write(setting, posture, i, values, row)
        posture = _posture_of(limb, values, i)
    deep = max(penetration(limb, near, posture), own_penetration(limb, links, own, posture))
    result["penetration"], result["penetrates"] = deep, deep > 0.0
    result["in_range"] = in_range(limb, learned, posture)
    result["in_limits"] = limits_excess(limb, limits, curves, posture) <= WITHIN
    if row["status"] == REACHED and result["in_range"] == 0:
        row["status"] = LIMITS
    if row["status"] == REACHED and deep > 0.0:
        row["status"] = COLLISION


@kernel
def _posture_of(limb: Any, values: Floats, i: int) -> Posture:
    v: Values = (
        values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4], values[i, 5], values[i, 6],
    )  # fmt: skip
    base, _, swing = rotations_of(v)
    return base, limb["flex"] * v[3], axis_angle((0.0, 0.0, 1.0), v[4]), swing


@kernel
def _write(setting: Setting, posture: Posture, i: int, values: Floats, row: Any) -> None:
    """Write a posture, with its swivel and its errors by forward kinematics."""
    limb, target = setting[0], setting[5]
    v = values_of(limb, posture[0], posture[1], posture[2], posture[3])
    for k in range(7):
        values[i, k] = v[k]
    row["swivel"] = posture_swivel(limb, posture[0], posture[1])
    row["position_error"] = _distance(setting, posture[0], posture[1])
    if target[2]:
        middle = mul(mul(posture[0], flexed(limb, posture[1])), posture[2])
        row["orientation_error"] = angle_between(mul(middle, posture[3]), target[1])


@batch(rows=8)
def keep_rows(
    n: int,
    model: Model,
    around: Around,
    own: Own,
    learned: Packed,
    targets: Targets,
    search: bool,
    values: Floats,
    report: Records,
    inside: Records,
) -> None:
    """`keep_row` over a batch."""
    for i in prange(n):
        keep_row(i, model, around, own, learned, targets, search, values, report, inside)

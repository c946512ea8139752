"""The solve of one limb in stages, as a GPU runs it: the kernels of `solve`, with rows sorted by the work they need.

Neighbouring threads of a GPU go on together: of 32 rows all wait for the one with the longest search, and a kernel that
might search keeps registers for that on every row. So a launch does what every row needs (`begin_rows`), and counts the
rows that need more out into a list, which the next launch works on: `search_rows` looks for another swivel,
`closest_rows` for the closest posture where there is none. A limb without limits, at a given swivel, needs no stages:
`pose_rows`.

Without obstacles alone. Answers are those of `solve.solve_rows`, to the last bit where both run on the CPU.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import batch, kernel, prange
from ..compute.counting import claim
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Ints, Quat, Records
from ..limits.kernels import allowed
from ..math.quaternion import mul
from .kernels import (
    FOUND,
    Reach,
    Values,
    advance,
    base_at,
    begin,
    canonical_inner,
    flexed,
    posture_swivel,
    reach_of,
    rotations_of,
    values_of,
    wrist_of,
)
from .nearest_feasible import END, Goal, Posture, clamped_swing, closest
from .solve import (
    INVALID,
    LIMITS,
    PROBE,
    REACHED,
    SEARCH,
    SINGULAR,
    exactly_at,
    fill_report,
    joints_allow,
    no_posture,
    one_of,
)

CALLERS = ("positions", "orientations", "swivels", "wrists", "values")
"""Arrays that callers have in float32, perhaps."""
ONE_THREAD = 1 << 62  # rows from which the CPU would use several: counting is for one

Counts: TypeAlias = tuple[bool, int, int, int, int]  # found, tests, limits, singular, collisions


@kernel
def target_of(i: int, positions: Floats, orientations: Floats) -> tuple[Goal, float]:
    """Return (target i, how long its orientation is)."""
    q = (1.0, 0.0, 0.0, 0.0)
    oriented = orientations.shape[0] > 0
    if oriented:
        q = (orientations[i, 0], orientations[i, 1], orientations[i, 2], orientations[i, 3])
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    q = (q[0] / size, q[1] / size, q[2] / size, q[3] / size)
    return ((positions[i, 0], positions[i, 1], positions[i, 2]), q, oriented), size


@kernel
def is_target(target: Goal, size: float, swivel: float) -> bool:
    """Return whether a target is one at all."""
    return bool(vec_in_extent(target[0]) and math.isfinite(swivel) and math.isfinite(size) and size > 1e-150)


@kernel
def wrist_at(i: int, target: Goal, wrists: Floats) -> tuple[Quat, Quat]:
    """Return the twist and swing of the end of target i, where that has no orientation."""
    middle, swing = (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    if not target[2]:
        k = one_of(i, wrists.shape[0])
        _, middle, swing = rotations_of((0.0, 0.0, 0.0, 0.0, wrists[k, 0], wrists[k, 1], wrists[k, 2]))
    return middle, swing


@kernel
def allowed_wrist(
    i: int, limb: Any, limits: Records, curves: Floats, target: Goal, wrists: Floats
) -> tuple[Quat, Quat]:
    """Return the same inside its limits."""
    wrist = wrist_at(i, target, wrists)
    if limb["limited"] and not target[2] and not allowed(limits[END], curves, canonical_inner(limb, wrist[1])):
        wrist = (wrist[0], clamped_swing(limb, limits, curves, wrist[1]))
    return wrist


@kernel
def refuse(i: int, limb: Any, values: Floats, report: Records) -> None:
    """Fill in row i for a target that is none."""
    straight = no_posture()
    for k in range(7):
        values[i, k] = 0.0
    row = report[i]
    row["status"], row["cause"], row["found"] = INVALID, 0, False
    row["swivel"] = posture_swivel(limb, straight[0], straight[1])
    row["position_error"], row["orientation_error"] = math.inf, math.inf
    row["tests"], row["limits"], row["singular"], row["collision"] = 0, 0, 0, 0


@kernel
def put(
    i: int,
    limb: Any,
    reach: Reach,
    target: Goal,
    posture: Posture,
    swivel: float,
    counts: Counts,
    values: Floats,
    report: Records,
) -> None:
    """Fill in row i with a posture."""
    fill_report(limb, reach[0], target, posture, counts, report[i])
    report[i]["swivel"] = swivel
    found: Values = values_of(limb, posture[0], posture[1], posture[2], posture[3])
    for k in range(7):
        values[i, k] = found[k]


@batch(rows=64, single=CALLERS, whole=True)
def pose_rows(
    n: int,
    limb: Records,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    values: Floats,
    report: Records,
) -> None:
    """Solve every target of a limb without limits at exactly its swivel: `pose_row`."""
    for i in prange(n):
        pose_row(i, limb, positions, orientations, swivels, wrists, values, report)


@kernel
def pose_row(
    i: int,
    limb: Records,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    values: Floats,
    report: Records,
) -> None:
    """Solve target i of a limb without limits at exactly its swivel."""
    one, swivel = limb[one_of(i, limb.shape[0])], swivels[one_of(i, swivels.shape[0])]
    target, size = target_of(i, positions, orientations)
    if not is_target(target, size, swivel):
        refuse(i, one, values, report)
        return
    reach = reach_of(one, target[0])
    base, stable = base_at(one, reach, swivel)
    twist, swing = wrist_at(i, target, wrists)
    if target[2]:
        twist, swing, defined = wrist_of(mul(base, flexed(one, reach[6])), target[1])
        stable = stable and defined
    counts = (stable, 1, 0, int(not stable), 0)
    put(i, one, reach, target, (base, reach[6], twist, swing), swivel, counts, values, report)


@batch(rows=ONE_THREAD, single=CALLERS, whole=True, registers=80)
def begin_rows(
    n: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    mode: int,
    values: Floats,
    report: Records,
    left: Ints,
    listed: Ints,
) -> None:
    """Solve every target at its first swivel (`begin_row`), and list those that are left, as many as `left` says."""
    for i in prange(n):
        begin_row(i, limb, limits, curves, positions, orientations, swivels, wrists, mode, values, report, left, listed)


@kernel
def begin_row(
    i: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    mode: int,
    values: Floats,
    report: Records,
    left: Ints,
    listed: Ints,
) -> None:
    """Solve target i at the swivel where the search begins, or at exactly its own; where that fails, list the row."""
    one, swivel = limb[one_of(i, limb.shape[0])], swivels[one_of(i, swivels.shape[0])]
    target, size = target_of(i, positions, orientations)
    if not is_target(target, size, swivel):
        refuse(i, one, values, report)
        return
    wrist = allowed_wrist(i, one, limits, curves, target, wrists)
    reach = reach_of(one, target[0])
    if mode == SEARCH:
        swivel = begin(one, swivel)[1]
    bent = flexed(one, reach[6])
    status, posture = joints_allow(one, limits, curves, reach, target, wrist, bent, swivel)
    if status == REACHED:
        put(i, one, reach, target, posture, swivel, (True, 1, 0, 0, 0), values, report)
        return
    report[i]["tests"], report[i]["limits"], report[i]["singular"] = 1, int(status == LIMITS), int(status == SINGULAR)
    report[i]["swivel"] = swivel
    listed[claim(left)] = i


@batch(rows=ONE_THREAD, single=CALLERS, whole=True, registers=64)
def search_rows(
    n: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    values: Floats,
    report: Records,
    count: Ints,
    rows: Ints,
    left: Ints,
    listed: Ints,
) -> None:
    """Search the swivels of the targets that `begin_rows` has listed, and list those that are still left."""
    for k in prange(n):
        if k < count[0]:
            i = rows[k]
            search_row(i, limb, limits, curves, positions, orientations, swivels, wrists, values, report, left, listed)


@kernel
def search_row(
    i: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    values: Floats,
    report: Records,
    left: Ints,
    listed: Ints,
) -> None:
    """Search the swivel of target i on from the first, which has failed; where there is none, list the row."""
    one, swivel = limb[one_of(i, limb.shape[0])], swivels[one_of(i, swivels.shape[0])]
    target, _ = target_of(i, positions, orientations)
    wrist = allowed_wrist(i, one, limits, curves, target, wrists)
    reach = reach_of(one, target[0])
    bent = flexed(one, reach[6])
    state = advance(one, begin(one, swivel), False)
    tests, limited, singular = report[i]["tests"], report[i]["limits"], report[i]["singular"]
    while state[0] < FOUND:
        status, _ = joints_allow(one, limits, curves, reach, target, wrist, bent, state[1])
        tests += 1
        limited += int(status == LIMITS)
        singular += int(status == SINGULAR)
        state = advance(one, state, status == REACHED)
    if state[0] == FOUND:  # its posture is made once more: kept through the search, it would take 26 registers
        _, best = joints_allow(one, limits, curves, reach, target, wrist, bent, state[1])
        put(i, one, reach, target, best, state[1], (True, tests, limited, singular, 0), values, report)
        return
    report[i]["tests"], report[i]["limits"], report[i]["singular"] = tests, limited, singular
    report[i]["swivel"] = state[1]
    listed[claim(left)] = i


@batch(rows=ONE_THREAD, single=CALLERS, registers=64)
def closest_rows(
    n: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    bones: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    mode: int,
    values: Floats,
    report: Records,
    count: Ints,
    rows: Ints,
) -> None:
    """Find the closest postures for the targets that were listed, as many as `count` says: `closest_row`."""
    for k in prange(n):
        if k < count[0]:
            i = rows[k]
            closest_row(i, limb, limits, curves, bones, positions, orientations, swivels, wrists, mode, values, report)


@kernel
def closest_row(
    i: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    bones: Floats,
    positions: Floats,
    orientations: Floats,
    swivels: Floats,
    wrists: Floats,
    mode: int,
    values: Floats,
    report: Records,
) -> None:
    """Find the closest posture inside the limits for target i; without limits, and for a probe, that at the last swivel
    tried.
    """
    one, swivel = limb[one_of(i, limb.shape[0])], swivels[one_of(i, swivels.shape[0])]
    target, _ = target_of(i, positions, orientations)
    wrist = allowed_wrist(i, one, limits, curves, target, wrists)
    reach = reach_of(one, target[0])
    counts = (False, report[i]["tests"], report[i]["limits"], report[i]["singular"], 0)
    chosen = report[i]["swivel"]
    if one["limited"] and mode != PROBE:
        low, high = (one["low"], one["high"]) if mode == SEARCH else (swivel, swivel)
        best = closest(one, limits, curves, reach, target, wrist, bones, low, high, swivel)
        chosen = posture_swivel(one, best[0], best[1])
    else:
        best = exactly_at(one, reach, target, wrist, flexed(one, reach[6]), chosen)
    put(i, one, reach, target, best, chosen, counts, values, report)

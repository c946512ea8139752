"""Kernels that solve one limb: exact where a posture exists, the closest inside the limits where none does.

The order of things: the distance decides the flexion; the swivel search looks for a base, a twist and a wrist that the
limits allow and that touch nothing; where there is none, or the target is out of reach, `closest` gives the posture
inside the limits whose end lies nearest, position before orientation.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..collision.kernels import limb_touching
from ..compute import batch, kernel, prange
from ..compute.types import Floats, Quat, Records
from ..limits.kernels import allowed
from ..math.quaternion import angle_between, mul, rotate
from ..math.vector import norm
from .kernels import (
    FAR,
    FLEXION,
    NEAR,
    SINGULAR_REFERENCE,
    Reach,
    Values,
    base_at,
    canonical,
    canonical_inner,
    flexed,
    forearm,
    forward,
    reach_of,
    rotations_of,
    values_of,
    wrist_of,
)
from .nearest_feasible import BASE, END, MID, Posture, Target, closest, end_when
from .search import FOUND, PREFERRED, advance, begin

REACHED, UNREACHABLE, LIMITS, COLLISION, SINGULAR, INVALID = range(6)  # compute.Status, which kernels cannot read

REPORT = np.dtype(
    [
        ("status", "i1"),
        ("cause", "i1"),
        ("found", "i1"),
        ("swivel", "f8"),
        ("position_error", "f8"),
        ("orientation_error", "f8"),
    ]
    + [(name, "i4") for name in ("tests", "limits", "collision", "singular")],
    align=True,
)
"""What is told of a solve: status, causes (bits of `kernels`), whether some swivel passed every test, swivel [rad],
distance [m] and angle [rad] from the target, candidates tested, and how many failed of what."""

SEARCH, FIXED, PROBE = range(3)
"""How the swivel is taken: searched from, exactly, or exactly and without a closest posture where it fails."""

Around: TypeAlias = tuple[Records, Records, Records, float]  # links, groups, obstacles, margin [m]


@kernel
def judge(
    limb: Any,
    limits: Records,
    curves: Floats,
    around: Around,
    reach: Reach,
    target: Target,
    wrist: tuple[Quat, Quat],
    bent: Quat,
    swivel: float,
) -> tuple[int, Posture]:
    """(REACHED, or why not: SINGULAR, LIMITS or COLLISION, posture) of one candidate swivel [rad]; cheap tests first.

    The base is tested before anything is known of the wrist: it fails most often. Where it fails, the posture's wrist
    is not the target's. `wrist` is the twist and swing of the end for a target without an orientation, `bent` the mid
    joint's flexion.
    """
    base, stable = base_at(limb, reach, swivel)
    twist, swing = wrist
    if not stable:
        return SINGULAR, (base, reach[6], twist, swing)
    if limb["limited"] and not allowed(limits[BASE], curves, canonical(limb, base)):
        return LIMITS, (base, reach[6], twist, swing)
    if target[2]:
        twist, swing, stable = wrist_of(mul(base, bent), target[1])
    posture = (base, reach[6], twist, swing)
    if not stable:
        return SINGULAR, posture
    if limb["limited"] and not _wrist_within(limb, limits, curves, bent, twist, swing):
        return LIMITS, posture
    if around[2].shape[0] > 0 and touching(limb, around, posture):
        return COLLISION, posture
    return REACHED, posture


@kernel
def exactly_at(limb: Any, reach: Reach, target: Target, wrist: tuple[Quat, Quat], bent: Quat, swivel: float) -> Posture:
    """The posture on the target at this swivel [rad], whatever the limits say."""
    base, _ = base_at(limb, reach, swivel)
    twist, swing = wrist
    if target[2]:
        twist, swing, _ = wrist_of(mul(base, bent), target[1])
    return base, reach[6], twist, swing


@kernel
def touching(limb: Any, around: Around, posture: Posture) -> bool:
    """Whether the limb in this posture comes too near to an obstacle."""
    links, groups, obstacles, margin = around
    base, bend, twist, swing = posture
    bent = forearm(limb, base, bend)
    mid, arm = rotate(base, (0.0, 0.0, limb["upper"])), rotate(bent, (0.0, 0.0, limb["lower"]))
    end = (mid[0] + arm[0], mid[1] + arm[1], mid[2] + arm[2])
    middle = mul(bent, twist)
    return limb_touching(links, groups, base, mid, middle, end, mul(middle, swing), obstacles, margin) >= 0


@kernel
def within(limb: Any, limits: Records, curves: Floats, posture: Posture) -> bool:
    """Whether the three joints are inside their limits."""
    base, bend, twist, swing = posture
    if not allowed(limits[BASE], curves, canonical(limb, base)):
        return False
    return _wrist_within(limb, limits, curves, flexed(limb, bend), twist, swing)


@kernel
def _wrist_within(limb: Any, limits: Records, curves: Floats, bent: Quat, twist: Quat, swing: Quat) -> bool:
    """Whether the mid and the end joint are inside their limits."""
    if not allowed(limits[MID], curves, canonical_inner(limb, mul(bent, twist))):
        return False
    return allowed(limits[END], curves, canonical_inner(limb, swing))


@kernel
def solve_one(
    limb: Any,
    limits: Records,
    curves: Floats,
    bones: Floats,
    around: Around,
    target: Target,
    wrist: tuple[Quat, Quat],
    swivel: float,
    mode: int,
    report: Any,
) -> Values:
    """The seven values for one target, and its report; `swivel` is taken as `mode` says."""
    reach = reach_of(limb, target[0])
    bent = flexed(limb, reach[6])
    state = begin(limb, swivel)
    if mode in (FIXED, PROBE):
        state = (PREFERRED, swivel, 0.0, swivel, swivel, False, False, swivel, swivel, 0, 1)
    tests, limited, singular, collided = 0, 0, 0, 0
    found, verdict, posture = False, SINGULAR, _no_posture()
    kept = posture
    while state[0] < FOUND:
        verdict, posture = judge(limb, limits, curves, around, reach, target, wrist, bent, state[1])
        tests += 1
        limited += int(verdict == LIMITS)
        singular += int(verdict == SINGULAR)
        if verdict == REACHED:
            kept, found = posture, True
        elif verdict == COLLISION:
            if collided == 0 and not found:
                kept = posture  # inside the limits and on the target: the best there is if everything collides
            collided += 1
        state = advance(limb, state, verdict == REACHED)
    if not found and collided == 0:
        kept = exactly_at(limb, reach, target, wrist, bent, state[1])
        if limb["limited"] and mode in (SEARCH, FIXED):
            low, high = (limb["low"], limb["high"]) if mode == SEARCH else (swivel, swivel)
            kept = closest(limb, limits, curves, reach, target, wrist, bones, low, high, swivel)
    _report(limb, reach[0], target, kept, (found, tests, limited, singular, collided), report)
    report["swivel"] = state[1]
    return values_of(limb, kept[0], kept[1], kept[2], kept[3])


@kernel
def _report(
    limb: Any, flags: int, target: Target, posture: Posture, counts: tuple[bool, int, int, int, int], report: Any
) -> None:
    """Fill the report: the true reason of a failure, and how far the posture is from its target."""
    found, tests, limited, singular, collided = counts
    status = REACHED
    if flags & (FAR | NEAR):
        status = UNREACHABLE
    elif flags & FLEXION:
        status = LIMITS
    elif not found and collided > 0:
        status = COLLISION
    elif not found:
        status = LIMITS if limited > 0 else SINGULAR
    elif flags & SINGULAR_REFERENCE:
        status = SINGULAR
    report["status"], report["cause"], report["found"] = status, flags, found
    report["tests"], report["limits"], report["singular"], report["collision"] = tests, limited, singular, collided
    base, bend, twist, swing = posture
    bent = flexed(limb, bend)
    end = end_when(limb, base, bent)
    place = target[0]
    report["position_error"] = norm((end[0] - place[0], end[1] - place[1], end[2] - place[2]))
    report["orientation_error"] = 0.0
    if target[2]:
        report["orientation_error"] = angle_between(mul(mul(mul(base, bent), twist), swing), target[1])


@kernel
def _no_posture() -> Posture:
    return ((1.0, 0.0, 0.0, 0.0), 0.0, (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


@kernel
def solve_row(
    i: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    bones: Floats,
    links: Records,
    groups: Records,
    obstacles: Records,
    margin: float,
    position: Floats,
    orientation: Floats,
    swivel: Floats,
    mode: int,
    wrist: Floats,
    values: Floats,
    report: Records,
) -> None:
    """Row i: orientations may have no rows (position only); limb, obstacles, swivel and wrist have one row, or one a
    target; `obstacles` is (1 or N, O), O may be 0.
    """
    e = (position[i, 0], position[i, 1], position[i, 2])
    q = (1.0, 0.0, 0.0, 0.0)
    turned = orientation.shape[0] > 0
    if turned:
        q = (orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3])
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    start = swivel[_row(i, swivel.shape[0])]
    if not (
        math.isfinite(e[0])
        and math.isfinite(e[1])
        and math.isfinite(e[2])
        and math.isfinite(size)
        and size > 1e-150
        and math.isfinite(start)
    ):
        for k in range(7):
            values[i, k] = 0.0
        report[i]["status"], report[i]["swivel"] = INVALID, 0.0
        report[i]["position_error"], report[i]["orientation_error"] = math.inf, math.inf
        return
    q = (q[0] / size, q[1] / size, q[2] / size, q[3] / size)
    k = _row(i, wrist.shape[0])
    middle, swing = (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    if not turned:
        _, middle, swing = rotations_of((0.0, 0.0, 0.0, 0.0, wrist[k, 0], wrist[k, 1], wrist[k, 2]))
    around = (links, groups, obstacles[_row(i, obstacles.shape[0])], margin)
    v = solve_one(
        limb[_row(i, limb.shape[0])],
        limits,
        curves,
        bones,
        around,
        (e, q, turned),
        (middle, swing),
        start,
        mode,
        report[i],
    )
    for j in range(7):
        values[i, j] = v[j]


@kernel
def _row(i: int, rows: int) -> int:
    """The row of target i in an array that has one row for all of them, or one for each."""
    return int(np.int64(i)) if rows > 1 else 0  # a parallel loop counts without a sign


@batch(rows=64)
def solve_rows(
    n: int,
    limb: Records,
    limits: Records,
    curves: Floats,
    bones: Floats,
    links: Records,
    groups: Records,
    obstacles: Records,
    margin: float,
    position: Floats,
    orientation: Floats,
    swivel: Floats,
    mode: int,
    wrist: Floats,
    values: Floats,
    report: Records,
) -> None:
    """`solve_row` over a batch."""
    for i in prange(n):
        solve_row(
            i,
            limb,
            limits,
            curves,
            bones,
            links,
            groups,
            obstacles,
            margin,
            position,
            orientation,
            swivel,
            mode,
            wrist,
            values,
            report,
        )


@batch(rows=4096)
def forward_rows(n: int, limb: Records, values: Floats, mid: Floats, end: Floats, turned: Floats) -> None:
    """Forward kinematics of a batch of values (N, 7)."""
    for i in prange(n):
        v = (values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4], values[i, 5], values[i, 6])
        m, e, q = forward(limb[0], v)
        for k in range(3):
            mid[i, k], end[i, k] = m[k], e[k]
        for k in range(4):
            turned[i, k] = q[k]

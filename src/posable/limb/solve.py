"""Kernels that solve one limb: exact where a posture exists, the closest inside the limits where none does.

In this order: the distance decides the flexion; the swivel search looks for a base, a twist and a wrist that the
limits allow and that touch nothing; where there is none, or the target is out of reach, `closest` gives the posture
inside the limits whose end lies nearest, position before orientation.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..collision.kernels import limb_touching
from ..compute import batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Quat, Records
from ..compute.verdict import verdict
from ..limits.kernels import allowed
from ..math.quaternion import angle_between, mul, rotate
from ..math.vector import norm
from .kernels import (
    FAR,
    FLEXION,
    FOUND,
    NEAR,
    PREFERRED,
    SINGULAR_REFERENCE,
    Reach,
    Values,
    advance,
    base_at,
    begin,
    canonical,
    canonical_inner,
    end_position,
    flexed,
    forearm,
    forward,
    posture_swivel,
    reach_of,
    rotations_of,
    values_of,
    wrist_of,
)
from .nearest_feasible import BASE, END, MID, Goal, Posture, clamped_swing, closest

REACHED, UNREACHABLE, LIMITS, COLLISION, SINGULAR, INVALID = range(6)  # compute.Status, which kernels cannot read

POSITION_TOLERANCE = 1e-9
"""[m] Distance from its target within which the end has reached it; of the limb's length where that is above 1 m."""

ORIENTATION_TOLERANCE = 1e-9
"""[rad] Angle from the requested orientation within which the end has it."""

REPORT = np.dtype(
    [(name, "i1") for name in ("status", "cause", "found")]
    + [(name, "f8") for name in ("swivel", "position_error", "orientation_error")]
    + [(name, "i4") for name in ("tests", "limits", "collision", "singular")],
    align=True,
)
"""The report of a solve: status, causes (bits of `kernels`), whether some swivel passed every test, swivel [rad],
distance [m] and angle [rad] from the target, candidates tested, and how many failed for which reason."""

SEARCH, FIXED, PROBE = range(3)
"""How the swivel is taken: searched from, exactly, or exactly and without a closest posture where it fails."""

Around: TypeAlias = tuple[Records, Records, Records, float]  # links, groups, obstacles, margin [m]
Model: TypeAlias = tuple[Records, Records, Floats, Floats]  # limbs, limits, curves, bones
Targets: TypeAlias = tuple[Floats, Floats, Floats, Floats]  # positions, orientations, swivels, wrists


@kernel
def evaluate_swivel(
    limb: Any,
    limits: Records,
    curves: Floats,
    around: Around,
    reach: Reach,
    target: Goal,
    wrist: tuple[Quat, Quat],
    bent: Quat,
    swivel: float,
) -> tuple[int, Posture]:
    """Return (REACHED, SINGULAR, LIMITS or COLLISION; the posture) of one candidate swivel [rad], cheap tests first.

    The base is tested before anything is known of the wrist: it fails most often. Where it fails, the posture's wrist
    is not the target's. `wrist` is the twist and swing of the end for a target without an orientation, `bent` the mid
    joint's flexion.
    """
    status, posture = joints_allow(limb, limits, curves, reach, target, wrist, bent, swivel)
    if status == REACHED and around[2].shape[0] > 0 and collides(limb, around, posture):
        return COLLISION, posture
    return status, posture


@kernel
def joints_allow(
    limb: Any,
    limits: Records,
    curves: Floats,
    reach: Reach,
    target: Goal,
    wrist: tuple[Quat, Quat],
    bent: Quat,
    swivel: float,
) -> tuple[int, Posture]:
    """Return (REACHED, SINGULAR or LIMITS; the posture) of one candidate swivel [rad], whatever is around."""
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
    return REACHED, posture


@kernel
def exactly_at(limb: Any, reach: Reach, target: Goal, wrist: tuple[Quat, Quat], bent: Quat, swivel: float) -> Posture:
    """Return the posture on the target at this swivel [rad], whatever the limits say."""
    base, _ = base_at(limb, reach, swivel)
    twist, swing = wrist
    if target[2]:
        twist, swing, _ = wrist_of(mul(base, bent), target[1])
    return base, reach[6], twist, swing


@kernel
def collides(limb: Any, around: Around, posture: Posture) -> bool:
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
    target: Goal,
    wrist: tuple[Quat, Quat],
    swivel: float,
    mode: int,
    report: Any,
) -> Values:
    """Return the seven values for one target, and fill its report; `swivel` is taken as `mode` says.

    The reported swivel is the one at which the returned posture was made, or measured from it where it is the closest.
    """
    reach = reach_of(limb, target[0])
    bent = flexed(limb, reach[6])
    if limb["limited"] and not target[2] and not allowed(limits[END], curves, canonical_inner(limb, wrist[1])):
        # A captured wrist is often outside its limits. Nobody asked for it: kept, it would fail every target.
        wrist = (wrist[0], clamped_swing(limb, limits, curves, wrist[1]))
    state = begin(limb, swivel)
    if mode in (FIXED, PROBE):
        state = (PREFERRED, swivel, 0.0, swivel, swivel, False, False, swivel, swivel, 0, 1)
    tests, limited, singular, collided = 0, 0, 0, 0
    found, status, posture = False, SINGULAR, no_posture()
    best, collided_at = posture, swivel
    while state[0] < FOUND:
        status, posture = evaluate_swivel(limb, limits, curves, around, reach, target, wrist, bent, state[1])
        tests += 1
        limited += int(status == LIMITS)
        singular += int(status == SINGULAR)
        if status == REACHED:
            best, found = posture, True
        elif status == COLLISION:
            if collided == 0 and not found:
                # Inside the limits and on the target: the best there is if everything collides.
                best, collided_at = posture, state[1]
            collided += 1
        state = advance(limb, state, status == REACHED)
    chosen = state[1] if found or collided == 0 else collided_at
    if not found and collided == 0:
        best = exactly_at(limb, reach, target, wrist, bent, state[1])
        if limb["limited"] and mode in (SEARCH, FIXED):
            low, high = (limb["low"], limb["high"]) if mode == SEARCH else (swivel, swivel)
            best = closest(limb, limits, curves, reach, target, wrist, bones, low, high, swivel)
            chosen = posture_swivel(limb, best[0], best[1])
    fill_report(limb, reach[0], target, best, (found, tests, limited, singular, collided), report)
    report["swivel"] = chosen
    return values_of(limb, best[0], best[1], best[2], best[3])


@kernel
def fill_report(
    limb: Any, flags: int, target: Goal, posture: Posture, counts: tuple[bool, int, int, int, int], report: Any
) -> None:
    """Fill the report: the errors of the returned posture by forward kinematics, and the status they deserve."""
    found, tests, limited, singular, collided = counts
    cause = REACHED
    if flags & (FAR | NEAR):
        cause = UNREACHABLE
    elif flags & FLEXION:
        cause = LIMITS
    elif not found and collided > 0:
        cause = COLLISION
    elif not found:
        cause = LIMITS if limited > 0 else SINGULAR
    elif flags & SINGULAR_REFERENCE:
        cause = SINGULAR
    base, bend, twist, swing = posture
    bent = flexed(limb, bend)
    end = end_position(limb, base, bent)
    position = target[0]
    error = norm((end[0] - position[0], end[1] - position[1], end[2] - position[2]))
    angle = 0.0
    if target[2]:
        angle = angle_between(mul(mul(mul(base, bent), twist), swing), target[1])
    tolerance = POSITION_TOLERANCE * max(1.0, limb["upper"] + limb["lower"])
    # A posture that passed every test is inside the limits, touches nothing and has a swivel; no other was promised to.
    excess = 0.0 if found and not flags & SINGULAR_REFERENCE else 1.0
    report["status"] = verdict(cause, error, tolerance, angle, ORIENTATION_TOLERANCE, excess)
    report["cause"], report["found"] = flags, found
    report["position_error"], report["orientation_error"] = error, angle
    report["tests"], report["limits"], report["singular"], report["collision"] = tests, limited, singular, collided


@kernel
def no_posture() -> Posture:
    """Return the posture with no rotations."""
    return ((1.0, 0.0, 0.0, 0.0), 0.0, (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


@kernel
def solve_row(
    i: int, model: Model, around: Around, targets: Targets, mode: int, values: Floats, report: Records
) -> None:
    """Solve target i of a batch.

    Args:
        i: which target.
        model: rows of `LIMB`, the limits of its three joints, their curves, and `bones` of `closest`.
        around: links, groups, obstacles (1 or N, O) and margin.
        targets: positions (N, 3), orientations (N, 4) or none, swivels (1 or N,), wrists (1 or N, 3).
        mode: how the swivel is taken.
        values: (N, 7) [rad] to fill.
        report: (N,) to fill.
    """
    limb, limits, curves, bones = model
    links, groups, obstacles, margin = around
    positions, orientations, swivels, wrists = targets
    e = (positions[i, 0], positions[i, 1], positions[i, 2])
    q = (1.0, 0.0, 0.0, 0.0)
    oriented = orientations.shape[0] > 0
    if oriented:
        q = (orientations[i, 0], orientations[i, 1], orientations[i, 2], orientations[i, 3])
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    start = swivels[one_of(i, swivels.shape[0])]
    if not (vec_in_extent(e) and math.isfinite(start) and math.isfinite(size) and size > 1e-150):
        for k in range(7):
            values[i, k] = 0.0
        straight = no_posture()
        report[i]["status"] = INVALID
        report[i]["swivel"] = posture_swivel(limb[one_of(i, limb.shape[0])], straight[0], straight[1])
        report[i]["position_error"], report[i]["orientation_error"] = math.inf, math.inf
        return
    q = (q[0] / size, q[1] / size, q[2] / size, q[3] / size)
    k = one_of(i, wrists.shape[0])
    middle, swing = (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    if not oriented:
        _, middle, swing = rotations_of((0.0, 0.0, 0.0, 0.0, wrists[k, 0], wrists[k, 1], wrists[k, 2]))
    near = (links, groups, obstacles[one_of(i, obstacles.shape[0])], margin)
    one, target = limb[one_of(i, limb.shape[0])], (e, q, oriented)
    v = solve_one(one, limits, curves, bones, near, target, (middle, swing), start, mode, report[i])
    for j in range(7):
        values[i, j] = v[j]


@kernel
def one_of(i: int, rows: int) -> int:
    """Return the row of target i in an array that has one row for all of them, or one for each."""
    return int(np.int64(i)) if rows > 1 else 0  # a parallel loop counts without a sign


@batch(rows=64)
def solve_rows(
    n: int, model: Model, around: Around, targets: Targets, mode: int, values: Floats, report: Records
) -> None:
    """Solve every target of a batch: `solve_row`."""
    for i in prange(n):
        solve_row(i, model, around, targets, mode, values, report)


@batch(rows=4096)
def forward_rows(n: int, limb: Records, values: Floats, mid: Floats, end: Floats, orientation: Floats) -> None:
    """Fill the joints of a batch by forward kinematics of values (N, 7)."""
    for i in prange(n):
        v = (values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4], values[i, 5], values[i, 6])
        m, e, q = forward(limb[0], v)
        for k in range(3):
            mid[i, k], end[i, k] = m[k], e[k]
        for k in range(4):
            orientation[i, k] = q[k]

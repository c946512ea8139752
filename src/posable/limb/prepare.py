"""What a limb works out once, when it is made: the limits of its joints as its kernels need them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ..compute import PosableError
from ..compute.types import ArrayLike, Bools, Floats, Records
from ..limits import JointLimit, Limits
from ..math import axis_angle, between, conjugate, from_matrix, multiply
from .model import ROLES, SIDES, Search


def checked_search(search: Search) -> Search:
    """The search itself, or an error that says what of it cannot be."""
    numbers = (search.preferred, search.low, search.high, search.step, search.growth)
    if not all(map(math.isfinite, numbers)) or search.low > search.high:
        raise PosableError(f"{search}: expected finite angles with low <= high")
    if search.step <= 0.0 or search.growth < 0.0 or search.refine < 0:
        raise PosableError(f"{search}: expected step above 0, growth and refine 0 or more")
    return search


def limit_rows(name: str, limits: Limits | None) -> tuple[Records, Floats]:
    """The packed limits of the limb's three joints; some that are never read where there are none."""
    if limits is None:
        limits = Limits({role: JointLimit() for role in ROLES[name]})
    rows = limits.packed[[limits.index(role) for role in ROLES[name]]]
    return np.ascontiguousarray(rows), np.array(limits.curves)


def allowed_bones(name: str, limits: Limits, count: int = 120) -> Floats:
    """(count, 4) orientations of the base joint in the limb's frame, their bones spread over all that the limits allow.

    The twist of each is the middle of what the limits allow.
    """
    role, side = ROLES[name][0], SIDES[name]
    sphere = np.arange(1000) + 0.5
    z, turn = 1.0 - sphere / 500.0, sphere * math.pi * (1.0 + math.sqrt(5.0))
    across = np.sqrt(1.0 - z * z)
    directions = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=-1)
    limit = limits[role]
    swing_only = Limits({role: dataclasses.replace(limit, twist=None)})
    mirror = -1.0 if limit.is_mirrored else 1.0
    rest = np.array(limit.direction) * [mirror, 1.0, 1.0]
    allowed = directions[swing_only.contains(role, between(rest, directions))]
    if not len(allowed):
        allowed = rest[None]
    chosen = [allowed[0]]
    far = np.full(len(allowed), np.inf)
    while len(chosen) < min(count, len(allowed)):
        far = np.minimum(far, np.linalg.norm(allowed - chosen[-1], axis=-1))
        chosen.append(allowed[int(np.argmax(far))])
    middle = 0.0 if limit.twist is None else limit.twist.middle
    canonical = multiply(between(rest, np.array(chosen)), axis_angle(rest, middle * mirror))
    frame = from_matrix(np.array(side.axes, dtype=np.float64).T)
    zero = np.array(side.zero, dtype=np.float64)
    return np.ascontiguousarray(multiply(multiply(conjugate(frame), canonical), multiply(conjugate(zero), frame)))


def flexion_range(name: str, limits: Limits, flex: float) -> tuple[float, float]:
    """The least and the largest flexion that the mid joint's limit allows [rad], by scanning and bisecting."""
    side = SIDES[name]
    axis = np.array(side.axes[1], dtype=np.float64) * flex
    zero = np.array(side.zero, dtype=np.float64)
    role = ROLES[name][1]

    def fits(bend: ArrayLike) -> Bools:
        turned = multiply(multiply(conjugate(zero), axis_angle(axis, bend)), zero)
        return np.asarray(limits.contains(role, turned, 0.0))

    grid = np.linspace(0.0, math.pi, 721)
    inside = np.flatnonzero(fits(grid))
    if not len(inside):
        raise PosableError(f"the limits of {role!r} allow no flexion at all; give it a Hinge that the limb can bend in")
    low, high = int(inside[0]), int(inside[-1])
    edges = []
    for good, bad in ((low, low - 1), (high, high + 1)):
        a, b = grid[good], grid[bad] if 0 <= bad < len(grid) else grid[good]
        for _ in range(50):
            middle = 0.5 * (a + b)
            a, b = (middle, b) if fits(middle) else (a, middle)
        edges.append(float(a))
    return edges[0], edges[1]

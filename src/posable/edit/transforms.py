"""Relative velocities: how the other parts move when one is dragged (Komura et al. 2004, section 5).

T(p -> e) is a turn R from the direction in which the dragged part p moves in the clip to that of the part e, and a
scale |e| / |p|. Dragged along its own velocity, p takes e along with e's own; the map is linear in the drag, so it is
continuous. Decided in `specs/edit.md`, section 3: the scale is |e||p| / (|p|^2 + eps^2), so that a part at rest takes
nobody along instead of everybody to infinity, and it has an upper limit; opposite directions turn half round about
the vertical (forward becomes backward, up stays up). Angles are those of unit vectors (erratum K4).
"""

from __future__ import annotations

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Quat, Vec3
from ..math.quaternion import between, rotate
from ..math.vector import cross, dot, norm, reject, scale, unit

EPSILON = 0.05  # [m/s], [rad/s]: slower than this is rest
OPPOSITE = 1e-6  # sine below which two opposite directions share no plane
ARM = 0.5  # [m]: the length over which a way counts as a turn
UP = (0.0, 1.0, 0.0)
ASIDE = (1.0, 0.0, 0.0)


@kernel
def velocity_turn(p: Vec3, e: Vec3) -> Quat:
    """The smallest rotation from the direction of p to that of e; opposite ones: half a turn about the vertical."""
    a, b = unit(p), unit(e)
    c = cross(a, b)
    if dot(a, b) < 0.0 and norm(c) < OPPOSITE:
        axis = reject(UP, a)
        if norm(axis) < OPPOSITE:
            axis = reject(ASIDE, a)
        axis = unit(axis)
        return (0.0, axis[0], axis[1], axis[2])
    return between(p, e)


@kernel
def velocity_scale(p: Vec3, e: Vec3, rest: float, cap: float) -> float:
    """How much further than p the part e goes, at most `cap`; 0 where either rests, slower than `rest`."""
    slow, fast = norm(p), norm(e)
    return min(cap, fast * slow / (slow * slow + rest * rest))


@kernel
def taken_along(p: Vec3, e: Vec3, rest: float, cap: float, drag: Vec3) -> Vec3:
    """T(p -> e) drag: where the part with velocity e goes when the one with velocity p is dragged."""
    s = velocity_scale(p, e, rest, cap)
    if s == 0.0:
        return (0.0, 0.0, 0.0)
    return scale(rotate(velocity_turn(p, e), drag), s)


@kernel
def virtual_time(p: Vec3, rest: float, most: float, drag: Vec3) -> float:
    """How much of the clip's time a drag along p stands for [s], at most `most` either way."""
    return max(-most, min(most, dot(drag, p) / (dot(p, p) + rest * rest)))


@kernel
def turned_along(spin: Vec3, time: float, cap: float, drag: Vec3) -> Vec3:
    """How a part turns [rad] in the time that a drag stands for, at most `cap` times the drag over an arm's length.

    Without the limit a part at rest, dragged along the little it moves, would stand for seconds, and spin the others.
    """
    turn = scale(spin, time)
    most, size = cap * norm(drag) / ARM, norm(turn)
    return scale(turn, most / size) if size > most else turn


def relative_motion(dragged: ArrayLike, other: ArrayLike, drag: ArrayLike, cap: float = 1.5) -> Floats:
    """(..., 3) [m]: T(p -> e) drag for velocities (..., 3) of the dragged part and another; see this page's top.

    Args:
        dragged: velocity of the dragged part in the clip [m/s].
        other: velocity of the other part at the same time [m/s].
        drag: how far the dragged part is pulled [m].
        cap: the largest scale.
    """
    p, e, d = np.broadcast_arrays(*(floats(a, "the velocity or way", 3) for a in (dragged, other, drag)))
    out = np.empty(p.shape)
    rows = [np.ascontiguousarray(a).reshape(-1, 3) for a in (p, e, d)]
    relative_rows(len(rows[0]), *rows, float(cap), out.reshape(-1, 3))
    return out


@batch
def relative_rows(n: int, p: Floats, e: Floats, drag: Floats, cap: float, out: Floats) -> None:
    """`taken_along` over a batch."""
    for i in prange(n):
        x, y, z = taken_along(
            (p[i, 0], p[i, 1], p[i, 2]),
            (e[i, 0], e[i, 1], e[i, 2]),
            EPSILON,
            cap,
            (drag[i, 0], drag[i, 1], drag[i, 2]),
        )
        out[i, 0], out[i, 1], out[i, 2] = x, y, z

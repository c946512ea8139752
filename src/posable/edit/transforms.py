"""Relative velocities: how the other parts move when one is dragged (Komura et al. 2004, section 5).

T(p -> e) is a rotation R from the direction in which the dragged part p moves in the clip to that of the part e, and a
scale |e| / |p|. Dragged along its own velocity, p takes e along with e's own; the map is linear in the drag, so it is
continuous. Decided in `specs/edit.md`, section 3: the scale is |e||p| / (|p|^2 + eps^2), so that a part at rest takes
no part along instead of every part to infinity, and it has an upper limit; opposite directions are a half rotation
about the vertical (forward becomes backward, up stays up). Angles are those of unit vectors (erratum K4).
"""

from __future__ import annotations

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import ArrayLike, Floats, Quat, Vec3, floats
from ..math.quaternion import between, rotate
from ..math.vector import cross, dot, norm, reject, scale, unit

EPSILON = 0.05  # [m/s], [rad/s]: slower than this is rest
OPPOSITE = 1e-6  # sine below which two opposite directions share no plane
ARM = 0.5  # [m]: the radius at which a displacement counts as a rotation
ALONG, ACROSS = 0.98, 0.9
"""Cosines of the angle between a drag and the part's velocity: nearer than the first it means the motion, further than
the second the part alone."""
UP = (0.0, 1.0, 0.0)
ASIDE = (1.0, 0.0, 0.0)


@kernel
def velocity_rotation(p: Vec3, e: Vec3) -> Quat:
    """Return the smallest rotation from the direction of p to that of e; for opposite ones pi about the vertical."""
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
def velocity_scale(p: Vec3, e: Vec3, rest: float, max_ratio: float) -> float:
    """Return how much further than p the part e goes, at most `max_ratio`; 0 where either is slower than `rest`."""
    slow, fast = norm(p), norm(e)
    return min(max_ratio, fast * slow / (slow * slow + rest * rest))


@kernel
def taken_along(p: Vec3, e: Vec3, rest: float, max_ratio: float, drag: Vec3) -> Vec3:
    """Return T(p -> e) drag: the displacement of the part with velocity e when the one with velocity p is dragged."""
    s = velocity_scale(p, e, rest, max_ratio)
    if s == 0.0:
        return (0.0, 0.0, 0.0)
    return scale(rotate(velocity_rotation(p, e), drag), s)


@kernel
def virtual_time(p: Vec3, rest: float, max_time: float, drag: Vec3) -> float:
    """Return the time of the clip that a drag along p stands for [s], within plus and minus `max_time`."""
    return max(-max_time, min(max_time, dot(drag, p) / (dot(p, p) + rest * rest)))


@kernel
def along_fraction(p: Vec3, rest: float, drag: Vec3) -> float:
    """Return how much of a drag goes along the velocity p: 1 along it or against it, 0 across it or where p rests.

    Between two angles from the velocity, `ALONG` and `ACROSS`, it falls smoothly. A drag along the motion means the
    motion; one across it means the part alone.
    """
    speed, length = norm(p), norm(drag)
    if speed == 0.0 or length == 0.0:
        return 0.0
    t = (abs(dot(p, drag)) / (speed * length) - ACROSS) / (ALONG - ACROSS)
    t = max(0.0, min(1.0, t))
    return t * t * (3.0 - 2.0 * t) * speed * speed / (speed * speed + rest * rest)


@kernel
def ahead_in_clip(velocity: Vec3, time: float, max_ratio: float, drag: Vec3) -> Vec3:
    """Return how far a part goes in the time that a drag stands for, at most `max_ratio` times the drag [m]."""
    moved = scale(velocity, time)
    largest, size = max_ratio * norm(drag), norm(moved)
    return scale(moved, largest / size) if size > largest else moved


@kernel
def rotated_along(spin: Vec3, time: float, max_ratio: float, drag: Vec3) -> Vec3:
    """Return the rotation [rad] of a part in the time that a drag stands for, at most `max_ratio` times drag / `ARM`.

    Without the limit a part at rest, dragged along the little it moves, would stand for seconds, and spin the others.
    """
    rotation = scale(spin, time)
    largest, size = max_ratio * norm(drag) / ARM, norm(rotation)
    return scale(rotation, largest / size) if size > largest else rotation


def relative_motion(dragged: ArrayLike, other: ArrayLike, drag: ArrayLike, max_ratio: float = 1.5) -> Floats:
    """Return T(p -> e) drag (..., 3) [m] for velocities (..., 3) of the dragged part and another (module docstring).

    Args:
        dragged: velocity of the dragged part in the clip [m/s].
        other: velocity of the other part at the same time [m/s].
        drag: displacement of the dragged part [m].
        max_ratio: how much further than the dragged part the other may go at most.
    """
    p, e, d = np.broadcast_arrays(*(floats(a, "the velocity or displacement", 3) for a in (dragged, other, drag)))
    out = np.empty(p.shape)
    rows = [np.ascontiguousarray(a).reshape(-1, 3) for a in (p, e, d)]
    relative_rows(len(rows[0]), *rows, float(max_ratio), out.reshape(-1, 3))
    return out


@batch
def relative_rows(n: int, p: Floats, e: Floats, drag: Floats, max_ratio: float, out: Floats) -> None:
    """Call `taken_along` for n rows."""
    for i in prange(n):
        x, y, z = taken_along(
            (p[i, 0], p[i, 1], p[i, 2]),
            (e[i, 0], e[i, 1], e[i, 2]),
            EPSILON,
            max_ratio,
            (drag[i, 0], drag[i, 1], drag[i, 2]),
        )
        out[i, 0], out[i, 1], out[i, 2] = x, y, z

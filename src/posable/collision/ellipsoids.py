"""Distances between ellipsoids, and of an ellipsoid to a box.

Two ellipsoids: whether they touch is decided exactly by the contact function of Perram and Wertheim (1985, J. Comput.
Phys. 58, 409): the largest value over s in (0, 1) of s (1 - s) r.C(s)^-1 r, with r from centre to centre and C(s) a
mixture of both, is below 1 where they overlap, and C^-1 r is then a normal that separates them where they do not. From
that normal, Newton on the sphere of directions goes to the one of the largest gap, which is the distance.

Ellipsoid and box: the nearest point of the box lies on an edge (found as for rounded cones) or inside a face, where
the normal is the face's.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..math.quaternion import conj, mul, rotate, rotate_inverse
from ..math.vector import any_perpendicular, cross, dot, norm, unit
from .surfaces import CAPSULE, Shape, cone_surface

Symmetric: TypeAlias = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz

MIXTURES = 60  # halvings of s at most
NEWTON_STEPS = 12  # Newton steps over directions at most; 3 to 5 are usual


@kernel
def squared(shape: Shape) -> Symmetric:
    """Return R diag(e^2) R^T of a placed ellipsoid: its support along n is sqrt(n.M n)."""
    q, r = shape[3], shape[4]
    x, y, z = rotate(q, (r[0], 0.0, 0.0)), rotate(q, (0.0, r[1], 0.0)), rotate(q, (0.0, 0.0, r[2]))
    return (
        x[0] * x[0] + y[0] * y[0] + z[0] * z[0],
        x[1] * x[1] + y[1] * y[1] + z[1] * z[1],
        x[2] * x[2] + y[2] * y[2] + z[2] * z[2],
        x[0] * x[1] + y[0] * y[1] + z[0] * z[1],
        x[0] * x[2] + y[0] * y[2] + z[0] * z[2],
        x[1] * x[2] + y[1] * y[2] + z[1] * z[2],
    )


@kernel
def times(m: Symmetric, v: Vec3) -> Vec3:
    """Return m v."""
    return (
        m[0] * v[0] + m[3] * v[1] + m[4] * v[2],
        m[3] * v[0] + m[1] * v[1] + m[5] * v[2],
        m[4] * v[0] + m[5] * v[1] + m[2] * v[2],
    )


@kernel
def _solve(m: Symmetric, v: Vec3) -> Vec3:
    """Return m^-1 v of a positive definite m."""
    a, b, c = m[1] * m[2] - m[5] * m[5], m[4] * m[5] - m[3] * m[2], m[3] * m[5] - m[4] * m[1]
    det = m[0] * a + m[3] * b + m[4] * c
    inverse = (a, m[0] * m[2] - m[4] * m[4], m[0] * m[1] - m[3] * m[3], b, c, m[3] * m[4] - m[0] * m[5])
    x, y, z = times(inverse, v)
    return (x / det, y / det, z / det)


@kernel
def ellipsoid_ellipsoid(one: Shape, other: Shape, stop: float) -> tuple[float, Vec3]:
    """Return (signed distance [m] between two ellipsoids, unit direction out of the other).

    Below zero: minus the shortest separation that Newton finds, which may be a little longer than the shortest of all.
    """
    r = (one[1][0] - other[1][0], one[1][1] - other[1][1], one[1][2] - other[1][2])
    a, b = squared(one), squared(other)
    if norm(r) == 0.0:
        r = any_perpendicular((1.0, 0.0, 0.0))
        n = r
        r = (0.0, 0.0, 0.0)
    else:
        n = _contact_normal(a, b, r)
    gap, g, ha, hb = _gap_along(a, b, r, n)
    for _ in range(NEWTON_STEPS):
        if gap >= stop:  # a direction with this gap is a proof
            break
        step = _newton_step(a, b, n, gap, g, ha, hb)
        if dot(step, step) < 1e-24:
            break
        better = False
        for _ in range(8):
            rotated = unit((n[0] + step[0], n[1] + step[1], n[2] + step[2]))
            next_gap, next_g, next_ha, next_hb = _gap_along(a, b, r, rotated)
            if next_gap > gap:
                better = next_gap > gap + 1e-16
                n, gap, g, ha, hb = rotated, next_gap, next_g, next_ha, next_hb
                break
            step = (0.25 * step[0], 0.25 * step[1], 0.25 * step[2])
        if not better:
            break
    return gap, n


@kernel
def _contact_normal(a: Symmetric, b: Symmetric, r: Vec3) -> Vec3:
    """Return C(s)^-1 r at the s of the largest contact function, as a unit vector."""
    low, high = 0.0, 1.0
    n = r
    for _ in range(MIXTURES):
        s = 0.5 * (low + high)
        n = _solve(_mixed(a, b, 1.0 - s, s), r)
        na, nb = dot(n, times(a, n)), dot(n, times(b, n))
        slope = (1.0 - s) * (1.0 - s) * na - s * s * nb
        if slope > 0.0:
            low = s
        else:
            high = s
        if high - low < 1e-9:
            break
    return unit(n)


@kernel
def _mixed(a: Symmetric, b: Symmetric, p: float, q: float) -> Symmetric:
    return (
        p * a[0] + q * b[0],
        p * a[1] + q * b[1],
        p * a[2] + q * b[2],
        p * a[3] + q * b[3],
        p * a[4] + q * b[4],
        p * a[5] + q * b[5],
    )


@kernel
def _gap_along(a: Symmetric, b: Symmetric, r: Vec3, n: Vec3) -> tuple[float, Vec3, float, float]:
    """Return (gap between both along n, its gradient, both supports)."""
    an, bn = times(a, n), times(b, n)
    ha, hb = math.sqrt(max(dot(n, an), 1e-300)), math.sqrt(max(dot(n, bn), 1e-300))
    g = (
        r[0] - an[0] / ha - bn[0] / hb,
        r[1] - an[1] / ha - bn[1] / hb,
        r[2] - an[2] / ha - bn[2] / hb,
    )
    return dot(n, r) - ha - hb, g, ha, hb


@kernel
def _newton_step(a: Symmetric, b: Symmetric, n: Vec3, gap: float, g: Vec3, ha: float, hb: float) -> Vec3:
    """Return the Newton step across n towards the largest gap; along the gradient where the curvature is wrong."""
    x = any_perpendicular(n)
    y = cross(n, x)
    gx, gy = dot(g, x), dot(g, y)
    xx, xy, yy = gap, 0.0, gap
    for k in range(2):
        m, h = (a, ha) if k == 0 else (b, hb)
        mn, mx, my = times(m, n), times(m, x), times(m, y)
        px, py = dot(mn, x) / h, dot(mn, y) / h
        xx += (dot(mx, x) - px * px) / h
        xy += (dot(mx, y) - px * py) / h
        yy += (dot(my, y) - py * py) / h
    det = xx * yy - xy * xy
    if xx > 0.0 and det > 1e-12 * xx * yy:
        sx, sy = (yy * gx - xy * gy) / det, (xx * gy - xy * gx) / det
    else:
        scale = 1.0 / (abs(xx) + abs(yy) + abs(xy) + 1e-300)
        sx, sy = gx * scale, gy * scale
    size = math.sqrt(sx * sx + sy * sy)
    if size > 0.5:
        sx, sy = 0.5 * sx / size, 0.5 * sy / size
    return (sx * x[0] + sy * y[0], sx * x[1] + sy * y[1], sx * x[2] + sy * y[2])


@kernel
def ellipsoid_box(one: Shape, box: Shape, stop: float) -> tuple[float, Vec3]:
    """Return (signed distance [m] of an ellipsoid to a box, unit direction out of the box).

    Below zero: minus the shortest separation among the normals of faces and of the nearest points of edges.
    """
    centre, q, half = box[1], box[3], box[4]
    away = (one[1][0] - centre[0], one[1][1] - centre[1], one[1][2] - centre[2])
    c = rotate_inverse(q, away)
    widest, widest_n, touching, over_face = _faces(one, c, q, half)
    if widest >= stop or (widest > 0.0 and over_face):
        return widest, rotate(q, widest_n)
    # A question about sinking in is settled by directions, so these have to be the best ones.
    edge_stop = stop if stop >= 0.0 else math.nan
    nearest, nearest_n = math.inf, widest_n
    for k in range(12):
        start, axis, length = _edge(k, half)
        world = rotate(q, start)
        edge = (
            (world[0] + centre[0], world[1] + centre[1], world[2] + centre[2]),
            rotate(q, axis),
            length,
            0.0,
            0.0,
        )
        gap, n = cone_surface(edge, one, edge_stop)
        if gap < nearest:
            nearest, nearest_n = gap, (-n[0], -n[1], -n[2])
        if nearest < stop:
            break
        out = rotate_inverse(q, n)
        along = _gap_in(one, c, q, half, (-out[0], -out[1], -out[2]))
        if along > widest:
            widest, widest_n = along, (-out[0], -out[1], -out[2])
    if nearest <= 0.0 or touching:
        # Overlapping: `stop` above 0 is answered by any value below 0.
        return min(widest, 0.0), rotate(q, widest_n)
    return nearest, nearest_n


@kernel
def _edge(k: int, half: Vec3) -> tuple[Vec3, Vec3, float]:
    """Return (start, unit axis, length) of edge k of a box about the origin."""
    a, b = float(k // 3 % 2 * 2 - 1), float(k // 6 * 2 - 1)
    if k % 3 == 0:
        return (-half[0], a * half[1], b * half[2]), (1.0, 0.0, 0.0), 2.0 * half[0]
    if k % 3 == 1:
        return (a * half[0], -half[1], b * half[2]), (0.0, 1.0, 0.0), 2.0 * half[1]
    return (a * half[0], b * half[1], -half[2]), (0.0, 0.0, 1.0), 2.0 * half[2]


@kernel
def _gap_in(one: Shape, c: Vec3, q: Quat, half: Vec3, n: Vec3) -> float:
    """Return the gap between a box about the origin and an ellipsoid along n, in the box's frame."""
    local = rotate_inverse(one[3], rotate(q, n))
    e = one[4]
    support = norm((e[0] * local[0], e[1] * local[1], e[2] * local[2]))
    return dot(n, c) - support - abs(n[0]) * half[0] - abs(n[1]) * half[1] - abs(n[2]) * half[2]


@kernel
def _faces(one: Shape, c: Vec3, q: Quat, half: Vec3) -> tuple[float, Vec3, bool, bool]:
    """Return (largest gap along a face's normal, the normal, whether the ellipsoid touches inside some face or lies
    within, whether its lowest point over that face lies inside it), all in the box's frame.
    """
    widest, widest_n, over_face = -math.inf, (1.0, 0.0, 0.0), False
    touching = abs(c[0]) <= half[0] and abs(c[1]) <= half[1] and abs(c[2]) <= half[2]
    m = squared((CAPSULE, c, c, mul(conj(q), one[3]), one[4]))
    for k in range(6):
        sign = float(k // 3 * 2 - 1)
        n = face_normal(k % 3, sign)
        mn = times(m, n)
        h = math.sqrt(dot(n, mn))
        height = dot(n, c) - abs(dot(n, half))
        foot = (c[0] - mn[0] / h, c[1] - mn[1] / h, c[2] - mn[2] / h)
        if height - h > widest:
            widest, widest_n = height - h, n
            over_face = _over(k % 3, foot, half)
        if abs(height) <= h * (1.0 + 1e-12):  # the face's plane cuts an ellipse (just touching: a point), centred at
            fraction = height / (h * h)
            middle = (c[0] - mn[0] * fraction, c[1] - mn[1] * fraction, c[2] - mn[2] * fraction)
            touching = touching or _over(k % 3, middle, half)
    return widest, widest_n, touching, over_face


@kernel
def face_normal(axis: int, sign: float) -> Vec3:
    """Return a world axis, or its opposite for a negative sign."""
    if axis == 0:
        return (sign, 0.0, 0.0)
    if axis == 1:
        return (0.0, sign, 0.0)
    return (0.0, 0.0, sign)


@kernel
def _over(axis: int, x: Vec3, half: Vec3) -> bool:
    """Return whether a point lies over a face across this axis."""
    inside_x, inside_y, inside_z = abs(x[0]) <= half[0], abs(x[1]) <= half[1], abs(x[2]) <= half[2]
    return (axis == 0 or inside_x) and (axis == 1 or inside_y) and (axis == 2 or inside_z)

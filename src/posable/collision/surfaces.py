"""Signed distances between rounded cones, of points to boxes and ellipsoids, and of rounded cones to them.

A rounded cone is the union of the balls whose centres run along its axis while their radii change linearly. So its
distance to another is the minimum of |A(s) - B(t)| - ra(s) - rb(t) over both axes: a convex function (the length of
something linear, less something linear), whose minimum is either where its gradient vanishes, or on the border, where
one of the two is a single ball. Both have a closed form, with different radii too. Below zero the same number says how
deep the deepest pair of balls overlaps.

The signed distance to a convex body is a convex function of the position. Along the axis of a rounded cone, less the
radius there, it stays convex, so the nearest (or deepest) ball is found by narrowing an interval; tangents bound the
answer from below, and a query ("nearer than this?") ends as soon as the bounds allow, mostly at once.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..math.quaternion import rotate, rotate_inverse
from ..math.vector import any_perpendicular, cross, dot, unit

CAPSULE, ELLIPSOID, SPHERE, BOX, PLANE = range(5)

Shape: TypeAlias = tuple[int, Vec3, Vec3, Quat, Vec3]
"""kind, first centre (a plane: a point of it), second centre (a plane: its normal), axes, radii or half sizes [m]."""

Cone: TypeAlias = tuple[Vec3, Vec3, float, float, float]
"""start, unit axis, length [m] (0: a ball), radius at the start [m], growth of the radius along the axis."""

PARALLEL = 1e-14  # squared sine between two axes below which one end of either is as near as anything between
NEWTON = 40  # steps at most to the nearest point of an ellipsoid; 3 to 6 are usual
NARROWINGS = 60  # of the interval along a cone's axis at most; 4 to 8 are usual
CLOSE = 1e-12  # [m] at which both stop


@kernel
def cone_of(a: Vec3, b: Vec3, ra: float, rb: float) -> Cone:
    """Return the rounded cone of two balls; the larger ball alone where it contains the other."""
    axis = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    length = math.sqrt(dot(axis, axis))
    if length <= abs(rb - ra) * (1.0 + 1e-12) or length == 0.0:
        if rb > ra:
            return b, (0.0, 0.0, 1.0), 0.0, rb, 0.0
        return a, (0.0, 0.0, 1.0), 0.0, ra, 0.0
    return a, (axis[0] / length, axis[1] / length, axis[2] / length), length, ra, (rb - ra) / length


@kernel
def along(cone: Cone, t: float) -> Vec3:
    """Return the centre of the ball at t [m] along the axis."""
    a, u, _, _, _ = cone
    return (a[0] + u[0] * t, a[1] + u[1] * t, a[2] + u[2] * t)


@kernel
def nearest_ball(cone: Cone, x: Vec3) -> tuple[float, float]:
    """Return (distance [m] of a point to the cone, where along the axis the ball is that it is nearest to)."""
    a, u, length, radius, growth = cone
    d = (x[0] - a[0], x[1] - a[1], x[2] - a[2])
    t = 0.0
    if length > 0.0:
        ahead = dot(d, u)
        across = (d[0] - u[0] * ahead, d[1] - u[1] * ahead, d[2] - u[2] * ahead)
        t = ahead + math.sqrt(dot(across, across)) * growth / math.sqrt(1.0 - growth * growth)
        t = min(max(t, 0.0), length)
    c = (d[0] - u[0] * t, d[1] - u[1] * t, d[2] - u[2] * t)
    return math.sqrt(dot(c, c)) - radius - growth * t, t


@kernel
def cone_cone(one: Cone, other: Cone) -> tuple[float, Vec3]:
    """Return (distance [m] between two rounded cones, unit direction from the other to the one)."""
    _, u, la, ra, ka = one
    _, v, lb, rb, kb = other
    if la > 0.0 and lb > 0.0:
        inside, gap, n = _between_axes(one, other)
        if inside:
            return gap, n
    best, best_s, best_t = math.inf, 0.0, 0.0
    for end in range(2):
        if end == 0 or la > 0.0:
            s = end * la
            gap, t = nearest_ball(other, along(one, s))
            gap -= ra + ka * s
            if gap < best:
                best, best_s, best_t = gap, s, t
        if end == 0 or lb > 0.0:
            t = end * lb
            gap, s = nearest_ball(one, along(other, t))
            gap -= rb + kb * t
            if gap < best:
                best, best_s, best_t = gap, s, t
    p, q = along(one, best_s), along(other, best_t)
    c = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    size = math.sqrt(dot(c, c))
    if size > 0.0:
        return best, (c[0] / size, c[1] / size, c[2] / size)
    return best, any_perpendicular(u if la > 0.0 else v)  # centres that coincide: any direction is as short


@kernel
def _between_axes(one: Cone, other: Cone) -> tuple[bool, float, Vec3]:
    """Return (whether the gradient vanishes inside both axes, distance there, direction).

    There the direction n has n.u = ka and n.v = -kb, which leaves only its sign across both axes open, and that is the
    side on which the one lies.
    """
    a, u, la, ra, ka = one
    b, v, lb, rb, kb = other
    cosine = dot(u, v)
    w = cross(u, v)
    det = dot(w, w)  # squared sine, without the cancellation of 1 - cosine^2
    if det < PARALLEL:
        return False, 0.0, u
    alpha, beta = (ka + cosine * kb) / det, -(kb + cosine * ka) / det
    rest = 1.0 - (alpha * ka - beta * kb)
    if rest <= 0.0:
        return False, 0.0, u
    sine = math.sqrt(det)
    w = (w[0] / sine, w[1] / sine, w[2] / sine)
    d = (a[0] - b[0], a[1] - b[1], a[2] - b[2])
    height = dot(d, w)
    gamma = math.copysign(math.sqrt(rest), height)
    away = height / gamma
    n = (
        alpha * u[0] + beta * v[0] + gamma * w[0],
        alpha * u[1] + beta * v[1] + gamma * w[1],
        alpha * u[2] + beta * v[2] + gamma * w[2],
    )
    e = (away * n[0] - d[0], away * n[1] - d[1], away * n[2] - d[2])
    eu, ev = dot(e, u), dot(e, v)
    s, t = (eu - cosine * ev) / det, (cosine * eu - ev) / det
    if not (0.0 <= s <= la and 0.0 <= t <= lb):
        return False, 0.0, u
    return True, away - (ra + ka * s) - (rb + kb * t), n


@kernel
def point_box(x: Vec3, half: Vec3) -> tuple[float, Vec3]:
    """Return (signed distance [m], outward unit normal) of a point and a box about the origin with these half sizes."""
    qx, qy, qz = abs(x[0]) - half[0], abs(x[1]) - half[1], abs(x[2]) - half[2]
    if qx <= 0.0 and qy <= 0.0 and qz <= 0.0:
        if qx >= qy and qx >= qz:
            return qx, (math.copysign(1.0, x[0]), 0.0, 0.0)
        if qy >= qz:
            return qy, (0.0, math.copysign(1.0, x[1]), 0.0)
        return qz, (0.0, 0.0, math.copysign(1.0, x[2]))
    c = (max(qx, 0.0), max(qy, 0.0), max(qz, 0.0))
    size = math.sqrt(dot(c, c))
    if size == 0.0:  # so near that its square is nothing
        c = unit(c)
        size = max(qx, max(qy, qz))
        return size, (math.copysign(c[0], x[0]), math.copysign(c[1], x[1]), math.copysign(c[2], x[2]))
    return size, (
        math.copysign(c[0] / size, x[0]),
        math.copysign(c[1] / size, x[1]),
        math.copysign(c[2] / size, x[2]),
    )


@kernel
def point_ellipsoid(x: Vec3, e: Vec3) -> tuple[float, Vec3]:
    """Return (signed distance [m], outward unit normal) of a point and an ellipsoid about the origin with half-axes e.

    The nearest point y has x - y = k y / e^2 for one number k > -min(e)^2. Written for m = k + min(e)^2 > 0, which
    keeps its digits at the centre, and solved by Newton for 1 / |y / e| = 1: nearly linear in m, so it takes few steps,
    and concave, so from below it never passes the answer.
    """
    ax, ay, az = abs(x[0]), abs(x[1]), abs(x[2])
    least = min(e[0], min(e[1], e[2]))
    low = least * least
    speck = 1e-14 * least  # on the middle plane of the shortest axis both sides are as near: take the positive one
    if e[0] == least:
        ax = max(ax, speck)
    elif e[1] == least:
        ay = max(ay, speck)
    else:
        az = max(az, speck)
    dx, dy, dz = (e[0] - least) * (e[0] + least), (e[1] - least) * (e[1] + least), (e[2] - least) * (e[2] + least)
    gx, gy, gz = e[0] * ax, e[1] * ay, e[2] * az
    m = max(gx - dx, max(gy - dy, gz - dz))
    for _ in range(NEWTON):
        px, py, pz = gx / (m + dx), gy / (m + dy), gz / (m + dz)
        size2 = px * px + py * py + pz * pz
        size = math.sqrt(size2)
        if size <= 1.0 + 1e-15:
            break
        slope = px * px / (m + dx) + py * py / (m + dy) + pz * pz / (m + dz)
        step = (size - 1.0) * size2 / slope
        m += step
        if step <= 1e-16 * m:
            break
    # The gradient y / e^2 is g / (e (m + d)); x - y is k times it.
    nx, ny, nz = gx / (e[0] * (m + dx)), gy / (e[1] * (m + dy)), gz / (e[2] * (m + dz))
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    normal = (
        math.copysign(nx / size, x[0]),
        math.copysign(ny / size, x[1]),
        math.copysign(nz / size, x[2]),
    )
    return (m - low) * size, normal


@kernel
def point_surface(x: Vec3, shape: Shape) -> tuple[float, Vec3]:
    """Return (signed distance [m], outward unit normal) of a point and a placed box or ellipsoid."""
    kind, centre, _, q, r = shape
    local = rotate_inverse(q, (x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]))
    if kind == BOX:
        gap, n = point_box(local, r)
    else:
        gap, n = point_ellipsoid(local, r)
    return gap, rotate(q, n)


@kernel
def cone_surface(cone: Cone, shape: Shape, stop: float) -> tuple[float, Vec3]:
    """Return (signed distance [m] of a rounded cone to a placed box or ellipsoid, outward unit normal of the shape).

    With `stop` a number, the search ends as soon as it is known on which side of it the distance lies; NaN: never.
    """
    _, u, length, radius, growth = cone
    centre = shape[1]
    a = cone[0]
    ahead = (centre[0] - a[0]) * u[0] + (centre[1] - a[1]) * u[1] + (centre[2] - a[2]) * u[2]
    t = min(max(ahead, 0.0), length)
    low, high = 0.0, length
    low_gap, low_slope, high_gap, high_slope = 0.0, math.nan, 0.0, math.nan  # slopes unknown as yet
    best, best_n, floor = math.inf, u, -math.inf
    for k in range(NARROWINGS):
        gap, n = point_surface(along(cone, t), shape)
        gap -= radius + growth * t
        slope = dot(n, u) - growth
        if gap < best:
            best, best_n = gap, n
        if slope > 0.0:
            high, high_gap, high_slope = t, gap, slope
        else:
            low, low_gap, low_slope = t, gap, slope
        floor = max(floor, _floor(low, low_gap, low_slope, high, high_gap, high_slope))
        if best < stop or floor >= stop or best - floor <= CLOSE or high - low <= 1e-15 * length:
            break
        t = _next(k, low, low_gap, low_slope, high, high_gap, high_slope)
    return best, best_n


@kernel
def _floor(low: float, low_gap: float, low_slope: float, high: float, high_gap: float, high_slope: float) -> float:
    """Return a lower bound of a convex function with these tangents, between low and high."""
    if math.isnan(low_slope):
        return high_gap - high_slope * (high - low)
    if math.isnan(high_slope) or low_slope == 0.0:
        return low_gap + low_slope * (high - low)
    meet = (high_slope * (high - low) + low_gap - high_gap) / (high_slope - low_slope)
    return low_gap + low_slope * meet


@kernel
def _next(
    k: int, low: float, low_gap: float, low_slope: float, high: float, high_gap: float, high_slope: float
) -> float:
    """Return where to look next: an unseen end, where linear slopes vanish, where tangents meet, or halfway.

    The second is right for smooth pieces, the third for corners, the fourth makes sure that it ends.
    """
    if math.isnan(low_slope):
        return low
    if math.isnan(high_slope):
        return high
    width = high - low
    t = low + 0.5 * width
    if k % 3 == 1:
        t = low - low_slope * width / (high_slope - low_slope)
    elif k % 3 == 2:
        t = low + (high_slope * width + low_gap - high_gap) / (high_slope - low_slope)
    return min(max(t, low), high)

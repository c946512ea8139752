"""Distances of rounded cones, in closed form.

A rounded cone is the union of the balls whose centres run along its axis while their radii change evenly. So its
distance to another is the least of |A(s) - B(t)| - ra(s) - rb(t) over both axes: a convex function (the length of
something linear, less something linear), whose least value is either where its gradient vanishes, or on the border,
where one of the two is a single ball. Both have a closed form, with different radii too.

Below zero the same number says how deep the deepest pair of balls overlaps.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel
from ..compute.types import Vec3
from ..math.vector import any_perpendicular, cross, dot

Cone: TypeAlias = tuple[Vec3, Vec3, float, float, float]
"""start, unit axis, length [m] (0: a ball), radius at the start [m], growth of the radius along the axis."""

PARALLEL = 1e-14  # squared sine between two axes below which one end of either is as near as anything between


@kernel
def cone_of(a: Vec3, b: Vec3, ra: float, rb: float) -> Cone:
    """The rounded cone of two balls; the larger ball alone where it holds the other."""
    axis = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    length = math.sqrt(dot(axis, axis))
    if length <= abs(rb - ra) * (1.0 + 1e-12) or length == 0.0:
        if rb > ra:
            return b, (0.0, 0.0, 1.0), 0.0, rb, 0.0
        return a, (0.0, 0.0, 1.0), 0.0, ra, 0.0
    return a, (axis[0] / length, axis[1] / length, axis[2] / length), length, ra, (rb - ra) / length


@kernel
def along(cone: Cone, t: float) -> Vec3:
    """The centre of the ball at t [m] along the axis."""
    a, u, _, _, _ = cone
    return (a[0] + u[0] * t, a[1] + u[1] * t, a[2] + u[2] * t)


@kernel
def nearest_ball(cone: Cone, x: Vec3) -> tuple[float, float]:
    """(distance [m] of a point to the cone, where along the axis the ball is that it is nearest to)."""
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
    """(distance [m] between two rounded cones, unit direction from the other to the one)."""
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
    return best, any_perpendicular(u if la > 0.0 else v)  # centres that coincide: any way out is as short


@kernel
def _between_axes(one: Cone, other: Cone) -> tuple[bool, float, Vec3]:
    """(whether the gradient vanishes inside both axes, distance there, direction).

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

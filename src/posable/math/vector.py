"""Vectors as tuples `(x, y, z)`, for use inside kernels."""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Vec3


@kernel
def add(a: Vec3, b: Vec3) -> Vec3:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a: Vec3, b: Vec3) -> Vec3:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale(a: Vec3, s: float) -> Vec3:
    """s a."""
    return (a[0] * s, a[1] * s, a[2] * s)


@kernel
def lerp(a: Vec3, b: Vec3, t: float) -> Vec3:
    """a at t = 0, b at t = 1, straight between."""
    return (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t)


@kernel
def dot(a: Vec3, b: Vec3) -> float:
    """The inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vec3, b: Vec3) -> Vec3:
    """The vector product, right-handed."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def norm(a: Vec3) -> float:
    """The length, without overflow or underflow on the way."""
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    if 1e-280 < square < 1e280:  # all but always; the rest takes five times as long
        return math.sqrt(square)
    return math.hypot(math.hypot(a[0], a[1]), a[2])


@kernel
def unit(a: Vec3) -> Vec3:
    """a / |a|; the zero vector stays zero."""
    largest = max(abs(a[0]), abs(a[1]), abs(a[2]))
    if largest == 0.0:
        return (0.0, 0.0, 0.0)
    # Dividing by the largest first keeps denormal and huge vectors from losing their direction.
    x, y, z = a[0] / largest, a[1] / largest, a[2] / largest
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


@kernel
def project(a: Vec3, onto: Vec3) -> Vec3:
    """The part of `a` along the unit vector `onto`."""
    s = dot(a, onto)
    return (onto[0] * s, onto[1] * s, onto[2] * s)


@kernel
def reject(a: Vec3, normal: Vec3) -> Vec3:
    """The part of `a` across the unit vector `normal`: its projection on the plane."""
    s = dot(a, normal)
    return (a[0] - normal[0] * s, a[1] - normal[1] * s, a[2] - normal[2] * s)


@kernel
def angle(a: Vec3, b: Vec3) -> float:
    """The angle between two vectors in [0, pi], accurate near 0 and pi; 0 when one of them is zero."""
    c = cross(unit(a), unit(b))
    return math.atan2(math.sqrt(dot(c, c)), dot(unit(a), unit(b)))


@kernel
def any_perpendicular(a: Vec3) -> Vec3:
    """A unit vector across `a`, the same for the same `a`: `a` crossed with the world axis it is least along.

    Ties go to x, then y. The zero vector gives +X.
    """
    x, y, z = abs(a[0]), abs(a[1]), abs(a[2])
    if x == 0.0 and y == 0.0 and z == 0.0:
        return (1.0, 0.0, 0.0)
    if x <= y and x <= z:
        return unit((0.0, a[2], -a[1]))
    if y <= z:
        return unit((-a[2], 0.0, a[0]))
    return unit((a[1], -a[0], 0.0))

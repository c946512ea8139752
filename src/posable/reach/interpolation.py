"""Kernels that interpolate the keys of a behaviour: where a target lies among them, and the weight of each key there.

On the swing plane (Kallmann 2008, Body Control) a target is the swing that rotates the arm's zero direction towards it,
in the shoulder's frame of the starting pose. Three interpolations:

- *linear*: barycentric coordinates in the triangle that contains the swing: continuous, exact at keys, never negative;
- *smooth*: a polyharmonic spline r^3 over all keys: C2 inside the ellipse, exact at keys, may overshoot a little;
- *around*: the same spline with keys in space around the shoulder, in arm lengths (the paper's Extensions).

Decided here: a swing outside the ellipse is brought to the nearest point of the ellipse *in the plane*. The geodesic
nearest point of the specification (3b) is the better clamp of a joint, but it jumps where two points of the boundary
are equally near; the plane's is continuous, and nothing that a behaviour drives may jump. Towards the far side, where
the plane has no direction (swing of pi), the weight of the behaviour fades to 0: from the ellipse's furthest swing on,
so that keys inside are exact, and no steeper than it must be.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limits.nearest import nearest_on_planar_ellipse
from ..math.quaternion import unit_quat
from ..math.vector import norm
from ..skeleton.forward import quat_at, set_quat

LINEAR, SMOOTH, AROUND = range(3)
QUADRATIC, SMOOTHSTEP, CONSTANT = range(3)

FIELD = np.dtype(
    [(name, "i8") for name in ("interpolation", "weight", "keys", "triangles")]
    + [("centre", "f8", 2), ("radii", "f8", 2)]
    + [(name, "f8") for name in ("furthest_swing", "k", "furthest_key")],
    align=True,
)
"""One row: the interpolation and the kind of weight; the numbers of keys and triangles; the ellipse of swings and the
largest swing on it [rad]; the weight's k; the distance of the furthest key of a behaviour around the shoulder [arm
lengths]."""


class Field(NamedTuple):
    """The keys of a behaviour as kernels read them; made by `field.field_of`."""

    header: Records
    """(1,) of `FIELD`."""
    keys: Floats
    """(K, 3) swings [rad] and a zero, or positions [arm lengths]."""
    triangles: Ints
    """(T, 3)."""
    barycentric: Floats
    """(T, 6) see `field.barycentric_rows`."""
    spline: Floats
    """(K, K + 4) weights of the keys over (r^3 to each key, 1, x, y, z), `field.spline_of`."""


@kernel
def swing_of(direction: Vec3) -> tuple[float, float]:
    """Return the swing (x, y) [rad] that rotates the z axis to this direction; (pi, 0) straight back."""
    across = math.hypot(direction[0], direction[1])
    angle = math.atan2(across, direction[2])
    if across < 1e-300:
        return angle, 0.0
    return -angle * direction[1] / across, angle * direction[0] / across


@kernel
def locate(field: Any, target: Vec3, length: float) -> tuple[Vec3, float]:
    """Return (coordinates among the keys, weight of the behaviour) of a target in the shoulder's frame [m], for an arm
    of this length [m].
    """
    distance = norm(target)
    u = weight_at(field, distance / length)
    if field["interpolation"] == AROUND:
        furthest = field["furthest_key"] * length
        scale = 1.0 / length if distance <= furthest else field["furthest_key"] / distance
        return (target[0] * scale, target[1] * scale, target[2] * scale), u
    if distance == 0.0:
        return (field["centre"][0], field["centre"][1], 0.0), 0.0
    x, y = swing_of(target)
    swing = math.hypot(x, y)
    if swing > field["furthest_swing"]:
        rest = (math.pi - swing) / (math.pi - field["furthest_swing"])
        u *= rest * rest * (3.0 - 2.0 * rest)
    inside = into_ellipse(field, x, y)
    return (inside[0], inside[1], 0.0), u


@kernel
def into_ellipse(field: Any, x: float, y: float) -> tuple[float, float]:
    """Return the swing itself, or the nearest point of the ellipse in the plane."""
    centre, radii = field["centre"], field["radii"]
    a, b = x - centre[0], y - centre[1]
    if (a / radii[0]) ** 2 + (b / radii[1]) ** 2 <= 1.0:
        return x, y
    a, b = nearest_on_planar_ellipse(radii[0], radii[1], a, b)
    return centre[0] + a, centre[1] + b


@kernel
def weight_at(field: Any, d: float) -> float:
    """Return f_weight of the paper's Overall Method at a distance of d arm lengths: k d^2 up to 1, a smoothstep with
    the same ends, or k.
    """
    if field["weight"] == CONSTANT:
        return float(field["k"])
    x = min(1.0, d * math.sqrt(field["k"]))
    return x * x if field["weight"] == QUADRATIC else x * x * (3.0 - 2.0 * x)


@kernel
def key_weights(
    i: int, field: Any, keys: Floats, triangles: Ints, barycentric: Floats, spline: Floats, at: Vec3, out: Floats
) -> None:
    """Fill row i of `out` (N, K) with the weight of each key at these coordinates; they sum to 1. The arrays may have
    more rows than the field has keys and triangles.
    """
    count = field["keys"]
    for k in range(out.shape[1]):
        out[i, k] = 0.0
    if field["interpolation"] == LINEAR:
        best, largest = 0, -math.inf
        for t in range(field["triangles"]):
            a = barycentric[t, 0] + barycentric[t, 1] * at[0] + barycentric[t, 2] * at[1]
            b = barycentric[t, 3] + barycentric[t, 4] * at[0] + barycentric[t, 5] * at[1]
            low = min(a, b, 1.0 - a - b)
            if low > largest:
                best, largest = t, low
                if low >= 0.0:
                    break
        a = max(barycentric[best, 0] + barycentric[best, 1] * at[0] + barycentric[best, 2] * at[1], 0.0)
        b = max(barycentric[best, 3] + barycentric[best, 4] * at[0] + barycentric[best, 5] * at[1], 0.0)
        c = max(1.0 - a - b, 0.0)
        total = a + b + c
        out[i, triangles[best, 0]] = a / total
        out[i, triangles[best, 1]] = b / total
        out[i, triangles[best, 2]] = c / total
        return
    for j in range(count + 4):
        base = 1.0
        if j < count:
            r = norm((at[0] - keys[j, 0], at[1] - keys[j, 1], at[2] - keys[j, 2]))
            base = r * r * r
        elif j > count:
            base = at[j - count - 1]
        for k in range(count):
            out[i, k] += spline[k, j] * base


@kernel
def mean_rotation(i: int, weights: Floats, rotations: Floats, d: int) -> Quat:
    """Return the weighted mean of column d of the keys' rotations (K, D, 4), which lie in one half of the sphere."""
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(weights.shape[1]):
        weight = weights[i, k]
        if weight != 0.0:
            q = quat_at(rotations, k, d)
            w, x, y, z = w + weight * q[0], x + weight * q[1], y + weight * q[2], z + weight * q[3]
    return unit_quat((w, x, y, z))


@kernel
def mean_number(i: int, weights: Floats, numbers: Floats, column: int) -> float:
    """Return the weighted mean of one column of the keys' numbers (K, M)."""
    total = 0.0
    for k in range(weights.shape[1]):
        total += weights[i, k] * numbers[k, column]
    return total


@kernel
def interpolate_row(
    i: int,
    header: Records,
    keys: Floats,
    triangles: Ints,
    barycentric: Floats,
    spline: Floats,
    key_rotations: Floats,
    key_numbers: Floats,
    at: Floats,
    weights: Floats,
    rotations: Floats,
    numbers: Floats,
) -> None:
    """Interpolate row i at coordinates `at` (N, 3): rotations (N, D, 4) from (K, D, 4), numbers (N, M) from (K, M)."""
    x, y = at[i, 0], at[i, 1]
    if header[0]["interpolation"] != AROUND:
        x, y = into_ellipse(header[0], x, y)
    key_weights(i, header[0], keys, triangles, barycentric, spline, (x, y, at[i, 2]), weights)
    for d in range(key_rotations.shape[1]):
        set_quat(rotations, i, d, mean_rotation(i, weights, key_rotations, d))
    for m in range(key_numbers.shape[1]):
        numbers[i, m] = mean_number(i, weights, key_numbers, m)


@batch(rows=512)
def interpolate_rows(
    n: int,
    header: Records,
    keys: Floats,
    triangles: Ints,
    barycentric: Floats,
    spline: Floats,
    key_rotations: Floats,
    key_numbers: Floats,
    at: Floats,
    weights: Floats,
    rotations: Floats,
    numbers: Floats,
) -> None:
    """`interpolate_row` over a batch."""
    for i in prange(n):
        interpolate_row(
            i, header, keys, triangles, barycentric, spline, key_rotations, key_numbers, at, weights, rotations, numbers
        )


@batch(rows=1024)
def locate_rows(n: int, header: Records, targets: Floats, length: float, at: Floats, weights: Floats) -> None:
    """Fill `at` (N, 3) and `weights` (N,) with `locate` of targets (N, 3) [m] in the shoulder's frame."""
    for i in prange(n):
        coordinates, u = locate(header[0], (targets[i, 0], targets[i, 1], targets[i, 2]), length)
        at[i, 0], at[i, 1], at[i, 2] = coordinates
        weights[i] = u

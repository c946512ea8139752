"""Where a target lies among the keys of a behaviour, and how much each key counts there.

On the swing plane (Kallmann 2008, Body Control) a target is the swing that turns the arm's zero direction towards it,
seen in the shoulder's frame of the starting pose. Three ways of weighing the keys:

- *linear*: barycentric coordinates in the triangle that holds the swing: continuous, exact at keys, never negative;
- *smooth*: a polyharmonic spline r^3 over all keys: C2 inside the ellipse, exact at keys, may overshoot a little;
- *around*: the same spline with keys placed in space around the shoulder, in arm lengths (the paper's Extensions).

Decided here: a swing outside the ellipse is brought to the nearest point of the ellipse *in the plane*. The geodesic
nearest point of the specification (3b) is the better clamp of a joint, but it leaps where two points of the boundary
are equally near; the plane's is continuous, and nothing that a behaviour drives may leap. Towards the far side, where
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
QUADRATIC, EASED, CONSTANT = range(3)

FIELD = np.dtype(
    [("interpolation", "i8"), ("weight", "i8")]
    + [(name, "f8") for name in ("cx", "cy", "rx", "ry", "edge", "k", "reach")],
    align=True,
)
"""One row: how keys are weighed, how the distance is; the ellipse [rad] and its furthest swing; the weight's k; the
furthest key of a behaviour around the shoulder [arm lengths]."""


class Field(NamedTuple):
    """The keys of a behaviour as kernels read them."""

    header: Records
    """(1,) of `FIELD`."""
    keys: Floats
    """(K, 3) swings [rad] and a zero, or places [arm lengths]."""
    triangles: Ints
    """(T, 3)."""
    rows: Floats
    """(T, 6) see `triangles.affine_rows`."""
    spline: Floats
    """(K, K + 4) weights of the keys over (r^3 to each key, 1, x, y, z), `spline.spline_of`."""


@kernel
def swing_of(direction: Vec3) -> tuple[float, float]:
    """The swing (x, y) [rad] that turns the z axis to this direction; (pi, 0) straight back."""
    across = math.hypot(direction[0], direction[1])
    angle = math.atan2(across, direction[2])
    if across < 1e-300:
        return angle, 0.0
    return -angle * direction[1] / across, angle * direction[0] / across


@kernel
def place_in_field(field: Any, target: Vec3, length: float) -> tuple[Vec3, float]:
    """(coordinates among the keys, weight of the behaviour) of a target in the shoulder's frame, arm length [m]."""
    distance = norm(target)
    u = weight_at(field, distance / length)
    if field["interpolation"] == AROUND:
        most = field["reach"] * length
        scale = 1.0 / length if distance <= most else field["reach"] / distance
        return (target[0] * scale, target[1] * scale, target[2] * scale), u
    if distance == 0.0:
        return (field["cx"], field["cy"], 0.0), 0.0
    x, y = swing_of(target)
    swing = math.hypot(x, y)
    if swing > field["edge"]:
        rest = (math.pi - swing) / (math.pi - field["edge"])
        u *= rest * rest * (3.0 - 2.0 * rest)
    inside = into_ellipse(field, x, y)
    return (inside[0], inside[1], 0.0), u


@kernel
def into_ellipse(field: Any, x: float, y: float) -> tuple[float, float]:
    """The swing itself, or the nearest point of the ellipse in the plane."""
    a, b = x - field["cx"], y - field["cy"]
    if (a / field["rx"]) ** 2 + (b / field["ry"]) ** 2 <= 1.0:
        return x, y
    a, b = nearest_on_planar_ellipse(field["rx"], field["ry"], a, b)
    return field["cx"] + a, field["cy"] + b


@kernel
def weight_at(field: Any, d: float) -> float:
    """f_weight of the paper's Overall Method at a distance of d arm lengths: k d^2 up to 1, or eased in and out."""
    if field["weight"] == CONSTANT:
        return float(field["k"])
    x = min(1.0, d * math.sqrt(field["k"]))
    return x * x if field["weight"] == QUADRATIC else x * x * (3.0 - 2.0 * x)


@kernel
def key_weights(
    i: int, field: Any, keys: Floats, triangles: Ints, rows: Floats, spline: Floats, at: Vec3, out: Floats
) -> None:
    """How much each key counts at these coordinates, into row i of `out` (N, K); they sum to 1."""
    count = keys.shape[0]
    for k in range(count):
        out[i, k] = 0.0
    if field["interpolation"] == LINEAR:
        best, least = 0, -math.inf
        for t in range(triangles.shape[0]):
            a = rows[t, 0] + rows[t, 1] * at[0] + rows[t, 2] * at[1]
            b = rows[t, 3] + rows[t, 4] * at[0] + rows[t, 5] * at[1]
            low = min(a, b, 1.0 - a - b)
            if low > least:
                best, least = t, low
                if low >= 0.0:
                    break
        a = max(rows[best, 0] + rows[best, 1] * at[0] + rows[best, 2] * at[1], 0.0)
        b = max(rows[best, 3] + rows[best, 4] * at[0] + rows[best, 5] * at[1], 0.0)
        c = max(1.0 - a - b, 0.0)
        whole = a + b + c
        out[i, triangles[best, 0]] = a / whole
        out[i, triangles[best, 1]] = b / whole
        out[i, triangles[best, 2]] = c / whole
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
def blended(i: int, weights: Floats, turns: Floats, d: int) -> Quat:
    """The weighted mean of column d of the keys' rotations (K, D, 4), which all lie in one half of the sphere."""
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(weights.shape[1]):
        share = weights[i, k]
        if share != 0.0:
            q = quat_at(turns, k, d)
            w, x, y, z = w + share * q[0], x + share * q[1], y + share * q[2], z + share * q[3]
    return unit_quat((w, x, y, z))


@kernel
def blend_row(
    i: int,
    header: Records,
    keys: Floats,
    triangles: Ints,
    rows: Floats,
    spline: Floats,
    turns: Floats,
    numbers: Floats,
    at: Floats,
    weights: Floats,
    rotations: Floats,
    shifts: Floats,
) -> None:
    """Row i: the posture at coordinates `at` (N, 3): rotations (N, D, 4), and the means of `numbers` (K, M)."""
    x, y = at[i, 0], at[i, 1]
    if header[0]["interpolation"] != AROUND:
        x, y = into_ellipse(header[0], x, y)
    key_weights(i, header[0], keys, triangles, rows, spline, (x, y, at[i, 2]), weights)
    for d in range(turns.shape[1]):
        set_quat(rotations, i, d, blended(i, weights, turns, d))
    for m in range(numbers.shape[1]):
        shifts[i, m] = 0.0
        for k in range(weights.shape[1]):
            shifts[i, m] += weights[i, k] * numbers[k, m]


@batch(rows=512)
def blend_rows(
    n: int,
    header: Records,
    keys: Floats,
    triangles: Ints,
    rows: Floats,
    spline: Floats,
    turns: Floats,
    numbers: Floats,
    at: Floats,
    weights: Floats,
    rotations: Floats,
    shifts: Floats,
) -> None:
    """`blend_row` over a batch."""
    for i in prange(n):
        blend_row(i, header, keys, triangles, rows, spline, turns, numbers, at, weights, rotations, shifts)


@batch(rows=1024)
def place_rows(n: int, header: Records, targets: Floats, length: float, at: Floats, weights: Floats) -> None:
    """Coordinates (N, 3) and weights (N,) of targets (N, 3) [m] in the shoulder's frame."""
    for i in prange(n):
        place, u = place_in_field(header[0], (targets[i, 0], targets[i, 1], targets[i, 2]), length)
        at[i, 0], at[i, 1], at[i, 2] = place
        weights[i] = u

"""The field of a behaviour: postures interpolated between its keys, by kernels and the arrays they read.

On the swing plane (Kallmann 2008, Body Control) a target is the swing that rotates the arm's zero direction towards it,
in the shoulder's frame of the starting pose. Three interpolations:

- *linear*: barycentric coordinates in the triangle that contains the swing: continuous, exact at keys, never negative;
- *smooth*: a polyharmonic spline r^3 over all keys: C2 inside the ellipse, exact at keys, may overshoot a little;
- *around*: the same spline with keys in space around the shoulder, in arm lengths (the paper's Extensions).

Decided here: a swing outside the ellipse is brought to the nearest point of the ellipse *in the plane*. The geodesic
nearest point of the specification (3b) is the better clamp of a joint, but it jumps where two points of the boundary
are equally near; the plane's is continuous, and nothing that a behaviour drives may jump. Towards the far side, where
the plane has no direction (swing of pi), the weight of the behaviour fades to 0: outside the ellipse's furthest swing,
so that keys inside are exact; over `FADING` of what is left to pi, so that a hand that reaches across has the body's
help.

*Triangles* of the swing plane are Delaunay's, the same on every machine. Where four or more points lie on one circle
any diagonal is Delaunay's, and which one a library picks may change from platform to platform; symmetric keys are just
such points. Ties are therefore settled here: of the two diagonals of such a quadrilateral the one at the
lexicographically smallest corner is taken (specification limb-and-reach, section 5).

*Splines* are unbounded beyond their keys: with three keys in front of the body, a spline would lean the body many times
over for a hand behind it. On the plane four outer keys enclose the ellipse. In space twelve do the same, the corners of
an icosahedron around every position that a behaviour is evaluated at; with an octahedron's six, weights overshoot twice
as much. These are not edited: their postures are means of the keys', weighted by inverse distance. So one key gives its
posture everywhere, keys on a line or in a plane are as good as any, and far from all keys the nearest ones' postures
apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compute import PosableError, batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limb.model import SEARCHES
from ..limits import Ellipse
from ..limits.nearest import nearest_on_planar_ellipse
from ..math import normalize
from ..math.quaternion import unit_quat
from ..math.vector import norm
from ..skeleton.forward import quat_at, set_quat
from .posture import CONSTANT, NEEDED, QUADRATIC, WEIGHTS, Key, Weight

LINEAR, SMOOTH, AROUND = range(3)
INTERPOLATIONS = {"linear": LINEAR, "smooth": SMOOTH, "around": AROUND}
SEARCH_FIELDS = ("preferred", "low", "high", "step", "growth")
"""The fields of a search that are interpolated as postures are."""
OUTER = 1.05  # the four outer keys stand on a rectangle this many times the ellipse's radii around its centre
FURTHEST = 0.9 * math.pi  # [rad] of an outer key: the plane has no directions at pi
COCIRCULAR = 1e-9  # of the in-circle determinant, for points of the order of one radian
FADING = 0.8  # of the swings between the ellipse and pi
MIN_REACH = 1.0  # [arm lengths]: the outer keys in space enclose at least what the arm reaches

GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
ICOSAHEDRON = np.array(
    [np.roll((0.0, a, b * GOLDEN), k) for k in range(3) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
) / (GOLDEN**2 / math.sqrt(3.0))  # fmt: skip
"""(12, 3) corners of the icosahedron around the unit ball, the same in a mirror across each axis."""

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
    """The keys of a behaviour as kernels read them; made by `field_of`."""

    header: Records
    """(1,) of `FIELD`."""
    keys: Floats
    """(K, 3) swings [rad] and a zero, or positions [arm lengths]."""
    triangles: Ints
    """(T, 3)."""
    barycentric: Floats
    """(T, 6) see `barycentric_rows`."""
    spline: Floats
    """(K, K + 4) weights of the keys over (r^3 to each key, 1, x, y, z), `spline_of`."""


def field_of(
    keys: Sequence[Key], parts: int, interpolation: str, weight: Weight, ellipse: Ellipse
) -> tuple[Field, Floats, Floats]:
    """Return (the field, rotations (K, R, 4), hips and search (K, 8)), for kernels.

    Around the shoulder twelve outer keys follow the given ones, and take their postures from them.

    Args:
        keys: those that have postures.
        parts: how many parts a posture rotates, R.
        interpolation: one of `INTERPOLATIONS`.
        weight: how much of the behaviour is taken at which distance.
        ellipse: the swings that the behaviour is made for.
    """
    if not keys:
        raise PosableError("a behaviour around the shoulder needs at least one key with a posture")
    around = interpolation == "around"
    positions = np.array([key.at if around else (*key.at, 0.0) for key in keys], dtype=np.float64)
    triangles = np.zeros((0, 3), np.int64) if around else triangulate(positions[:, :2])
    barycentric = barycentric_rows(positions[:, :2], triangles)
    header = np.zeros(1, FIELD)
    header["interpolation"], header["weight"] = INTERPOLATIONS[interpolation], WEIGHTS[weight.kind]
    header["k"], header["centre"], header["radii"] = weight.k, ellipse.centre, ellipse.radii
    header["furthest_swing"] = np.linalg.norm(ellipse.boundary(np.linspace(0, math.tau, 721)), axis=-1).max()
    header["furthest_key"] = furthest_key(positions)
    rotations, numbers = _postures_of(keys, parts)
    if around:
        beyond, weights = outer_keys(positions)
        means = normalize(np.einsum("ok,krc->orc", weights, rotations))
        positions, rotations = np.concatenate([positions, beyond]), np.concatenate([rotations, means])
        numbers = np.concatenate([numbers, weights @ numbers])
    header["keys"], header["triangles"] = len(positions), len(triangles)
    spline = np.zeros((0, 0)) if interpolation == "linear" else spline_of(positions)
    return Field(header, positions, triangles, barycentric, spline), rotations, numbers


def outer_corners(ellipse: Ellipse) -> list[tuple[float, float]]:
    """Return the swings [rad] of the four keys around an ellipse; raise where the plane has no room for them."""
    (cx, cy), (rx, ry) = ellipse.centre, ellipse.radii
    corners = [(cx + a * OUTER * rx, cy + b * OUTER * ry) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    furthest = max(math.hypot(x, y) for x, y in corners)
    if furthest > FURTHEST:
        raise PosableError(
            f"the ellipse's outer keys would stand at swings up to {math.degrees(furthest):.0f} degrees; "
            f"shrink it until they stay below {math.degrees(FURTHEST):.0f}"
        )
    if min(rx, ry) < math.radians(1.0):
        raise PosableError(f"the ellipse's radii are {ellipse.radii} rad; expected at least one degree each")
    return corners


def _postures_of(keys: Sequence[Key], parts: int) -> tuple[Floats, Floats]:
    """Return (rotations (K, R, 4), hips and search (K, 8)) of the keys themselves."""
    default = SEARCHES["arm"]
    postures = [key.posture for key in keys if key.posture is not None]
    rotations = np.array([posture.rotations for posture in postures]).reshape(len(keys), parts, 4)
    numbers = [
        [*posture.hips, *(getattr(key.search or default, name) for name in SEARCH_FIELDS)]
        for key, posture in zip(keys, postures, strict=True)
    ]
    return rotations, np.array(numbers, dtype=np.float64)


def spline_of(keys: Floats) -> Floats:
    """Return (K, K + 4): the weights of the keys (K, 3) at a point are this times (r^3 to each key, 1, x, y, z).

    The spline of least bending through values f at the keys is [phi, p]^T A^-1 [f, 0], and so linear in f. The keys
    must span the plane z = 0 or space, as they do with outer keys. Weights of 1e-9 stay exact for keys a degree apart.
    """
    count = len(keys)
    axes = np.flatnonzero(np.ptp(keys, axis=0) > 0.0)  # a plane has no slope across it
    size = count + 1 + len(axes)
    r = np.linalg.norm(keys[:, None] - keys[None], axis=-1)
    system = np.zeros((size, size))
    system[:count, :count] = r**3
    system[:count, count] = system[count, :count] = 1.0
    system[:count, count + 1 :] = keys[:, axes]
    system[count + 1 :, :count] = keys[:, axes].T
    identity = np.eye(size, count)
    found = np.linalg.solve(system, identity)
    found += np.linalg.solve(system, identity - system @ found)  # iterative refinement: keys may be near each other
    out = np.zeros((count, count + 4))
    out[:, : count + 1] = found[: count + 1].T
    out[:, count + 1 + axes] = found[count + 1 :].T
    return out


def furthest_key(keys: Floats) -> float:
    """Return the distance from the shoulder [arm lengths] to which targets further than all keys (K, 3) are brought."""
    return max(MIN_REACH, float(np.linalg.norm(keys, axis=-1).max()))


def outer_keys(keys: Floats) -> tuple[Floats, Floats]:
    """Return (positions (12, 3) of the outer keys around keys (K, 3) in space, weights (12, K) of the keys there)."""
    positions = furthest_key(keys) * ICOSAHEDRON
    weights = np.linalg.norm(positions[:, None] - keys[None], axis=-1) ** -4.0
    return positions, weights / weights.sum(axis=-1, keepdims=True)


def triangulate(points: Floats) -> Ints:
    """Return the Delaunay triangles (T, 3) of points (K, 2) [rad], counter-clockwise, sorted, smallest corner first."""
    from scipy.spatial import Delaunay

    triangles = [_oriented(points, corners) for corners in Delaunay(points).simplices.tolist()]
    triangles = [corners for corners in triangles if _area(points, *corners) > 0.0]
    while _settle_one_tie(points, triangles):
        pass
    rolled = [corners[corners.index(min(corners)) :] + corners[: corners.index(min(corners))] for corners in triangles]
    return np.array(sorted(rolled), dtype=np.int64).reshape(-1, 3)


def barycentric_rows(points: Floats, triangles: Ints) -> Floats:
    """Return (T, 6): weights of a triangle's first two corners at (x, y) are (a + b x + c y) and (d + e x + f y)."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    out = np.empty((len(triangles), 6))
    for first, p, q in ((0, b, c), (3, c, a)):  # the weight of a corner is the area over the other two
        out[:, first] = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
        out[:, first + 1] = p[:, 1] - q[:, 1]
        out[:, first + 2] = q[:, 0] - p[:, 0]
    total = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return out / total[:, None]


def _settle_one_tie(points: Floats, triangles: list[list[int]]) -> bool:
    """Flip one edge of a tie to the smallest corner; return whether there was one. Every flip lowers a corner."""
    position = {corner: (*points[corner].tolist(), corner) for corners in triangles for corner in corners}
    triangle_of: dict[tuple[int, int], int] = {}
    for index, corners in enumerate(triangles):
        for k in range(3):
            triangle_of[corners[k], corners[(k + 1) % 3]] = index
    for (p, q), first in triangle_of.items():
        second = triangle_of.get((q, p))
        if second is None or p > q:
            continue
        r = next(corner for corner in triangles[first] if corner not in (p, q))
        s = next(corner for corner in triangles[second] if corner not in (p, q))
        smallest = min((p, q, r, s), key=lambda corner: position[corner])
        if smallest in (p, q) or abs(_in_circle(points, p, q, r, s)) > COCIRCULAR:
            continue
        if min(_area(points, r, p, s), _area(points, r, s, q)) <= 0.0:
            continue
        triangles[first], triangles[second] = [r, p, s], [r, s, q]
        return True
    return False


def _oriented(points: Floats, corners: list[int]) -> list[int]:
    a, b, c = corners
    return corners if _area(points, a, b, c) > 0.0 else [a, c, b]


def _area(points: Floats, a: int, b: int, c: int) -> float:
    """Return twice the signed area, positive counter-clockwise."""
    ab, ac = points[b] - points[a], points[c] - points[a]
    return float(ab[0] * ac[1] - ab[1] * ac[0])


def _in_circle(points: Floats, a: int, b: int, c: int, d: int) -> float:
    """Return the in-circle determinant: 0 where d lies on the circle through a, b and c."""
    rows = points[[a, b, c]] - points[d]
    return float(np.linalg.det(np.column_stack([rows, (rows * rows).sum(axis=-1)])))


@kernel
def swing_of(direction: Vec3) -> tuple[float, float]:
    """Return the swing (x, y) [rad] that rotates the z axis to this direction; (pi, 0) straight back."""
    across = math.hypot(direction[0], direction[1])
    angle = math.atan2(across, direction[2])
    if across < 1e-300:
        return angle, 0.0
    return -angle * direction[1] / across, angle * direction[0] / across


@kernel
def locate(field: Any, target: Vec3, length: float) -> tuple[Vec3, float, float]:
    """Return (coordinates among the keys, weight by the distance, fading) of a target in the shoulder's frame [m], for
    an arm of this length [m].

    The fading, from 1 to 0 towards the far side of the plane, is a factor of whatever weight is used.
    """
    distance = norm(target)
    u = weight_at(field, distance / length)
    if field["interpolation"] == AROUND:
        furthest = field["furthest_key"] * length
        scale = 1.0 / length if distance <= furthest else field["furthest_key"] / distance
        return (target[0] * scale, target[1] * scale, target[2] * scale), u, 1.0
    if distance == 0.0:
        return (field["centre"][0], field["centre"][1], 0.0), 0.0, 1.0
    x, y = swing_of(target)
    swing, fading = math.hypot(x, y), 1.0
    if swing > field["furthest_swing"]:
        rest = (math.pi - swing) / (math.pi - field["furthest_swing"])
        rest = min(1.0, rest / FADING)
        fading = rest * rest * (3.0 - 2.0 * rest)
    inside = into_ellipse(field, x, y)
    return (inside[0], inside[1], 0.0), u, fading


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
    the same ends, or k; 1 where the weight is what is needed (`need`).
    """
    if field["weight"] == CONSTANT:
        return float(field["k"])
    if field["weight"] == NEEDED:
        return 1.0
    x = min(1.0, d * math.sqrt(field["k"]))
    return x * x if field["weight"] == QUADRATIC else x * x * (3.0 - 2.0 * x)


@kernel
def key_weights(i: int, field: Field, at: Vec3, out: Floats) -> None:
    """Fill row i of `out` (N, K) with the weight of each key at these coordinates; they sum to 1. The arrays may have
    more rows than the field has keys and triangles.
    """
    header, keys, triangles, barycentric, spline = field
    count = header[0]["keys"]
    for k in range(out.shape[1]):
        out[i, k] = 0.0
    if header[0]["interpolation"] == LINEAR:
        best, largest = 0, -math.inf
        for t in range(header[0]["triangles"]):
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
    field: Field,
    key_rotations: Floats,
    key_numbers: Floats,
    at: Floats,
    weights: Floats,
    rotations: Floats,
    numbers: Floats,
) -> None:
    """Interpolate row i at coordinates `at` (N, 3): rotations (N, D, 4) from (K, D, 4), numbers (N, M) from (K, M)."""
    x, y = at[i, 0], at[i, 1]
    if field.header[0]["interpolation"] != AROUND:
        x, y = into_ellipse(field.header[0], x, y)
    key_weights(i, field, (x, y, at[i, 2]), weights)
    for d in range(key_rotations.shape[1]):
        set_quat(rotations, i, d, mean_rotation(i, weights, key_rotations, d))
    for m in range(key_numbers.shape[1]):
        numbers[i, m] = mean_number(i, weights, key_numbers, m)


@batch(rows=512)
def interpolate_rows(
    n: int, field: Field, keys: tuple[Floats, Floats], at: Floats, weights: Floats, rotations: Floats, numbers: Floats
) -> None:
    """Do `interpolate_row` over a batch; `keys` are their rotations (K, D, 4) and numbers (K, M)."""
    for i in prange(n):
        interpolate_row(i, field, keys[0], keys[1], at, weights, rotations, numbers)


@batch(rows=1024)
def locate_rows(n: int, header: Records, targets: Floats, length: float, at: Floats, weights: Floats) -> None:
    """Fill `at` (N, 3) and `weights` (N,) with `locate` of targets (N, 3) [m] in the shoulder's frame."""
    for i in prange(n):
        coordinates, u, fading = locate(header[0], (targets[i, 0], targets[i, 1], targets[i, 2]), length)
        at[i, 0], at[i, 1], at[i, 2] = coordinates
        weights[i] = u * fading

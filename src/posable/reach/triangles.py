"""The triangulation of the swing plane: Delaunay, the same on every machine.

Where four or more points lie on one circle any diagonal is Delaunay's, and which one a library picks may change from
platform to platform; symmetric keys are just such points. Ties are therefore settled here: of the two diagonals of such
a quadrilateral the one at the lexicographically smallest corner is taken (specification limb-and-reach, section 5).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay

from ..compute.types import Floats, Ints

COCIRCULAR = 1e-9  # of the in-circle determinant, for points of the order of one radian


def triangulate(points: Floats) -> Ints:
    """(T, 3) counter-clockwise triangles over points (K, 2) [rad], each beginning at its smallest corner, in order."""
    triangles = [_oriented(points, corners) for corners in Delaunay(points).simplices.tolist()]
    triangles = [corners for corners in triangles if _area(points, *corners) > 0.0]
    while _settle_one_tie(points, triangles):
        pass
    rolled = [corners[corners.index(min(corners)) :] + corners[: corners.index(min(corners))] for corners in triangles]
    return np.array(sorted(rolled), dtype=np.int64).reshape(-1, 3)


def affine_rows(points: Floats, triangles: Ints) -> Floats:
    """(T, 6): weights of a triangle's first two corners at (x, y) are (a + b x + c y) and (d + e x + f y)."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    out = np.empty((len(triangles), 6))
    for first, p, q in ((0, b, c), (3, c, a)):  # the weight of a corner is the area over the other two
        out[:, first] = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
        out[:, first + 1] = p[:, 1] - q[:, 1]
        out[:, first + 2] = q[:, 0] - p[:, 0]
    whole = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return out / whole[:, None]


def _settle_one_tie(points: Floats, triangles: list[list[int]]) -> bool:
    """Flip one edge of a tie to the smallest corner; whether there was one. Each flip brings a smaller corner in."""
    place = {corner: (*points[corner].tolist(), corner) for corners in triangles for corner in corners}
    beside: dict[tuple[int, int], int] = {}
    for index, corners in enumerate(triangles):
        for k in range(3):
            beside[corners[k], corners[(k + 1) % 3]] = index
    for (p, q), first in beside.items():
        second = beside.get((q, p))
        if second is None or p > q:
            continue
        r = next(corner for corner in triangles[first] if corner not in (p, q))
        s = next(corner for corner in triangles[second] if corner not in (p, q))
        smallest = min((p, q, r, s), key=lambda corner: place[corner])
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
    """Twice the signed area, positive counter-clockwise."""
    ab, ac = points[b] - points[a], points[c] - points[a]
    return float(ab[0] * ac[1] - ab[1] * ac[0])


def _in_circle(points: Floats, a: int, b: int, c: int, d: int) -> float:
    """0 where d lies on the circle through a, b and c."""
    rows = points[[a, b, c]] - points[d]
    return float(np.linalg.det(np.column_stack([rows, (rows * rows).sum(axis=-1)])))

"""Kernels of `LimbRange` on its disc: the smooth correction folds the outside over the inside.

Outside and inside are both laid out on one disc, rim on rim (`range_fold.lay_out`). What is outside has a place on the
disc; its middle part is spread over all of it, and the direction inside at that place is the answer, which so varies
continuously with the target.
"""

from __future__ import annotations

import math

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Ints, Records, Vec3
from .locate import CLOSED

FOLD = 0.5  # how much of the disc's radius is spread over the inside; the rest goes to the rim


@kernel
def folded(head: Records, points: Records, faces: Records, index: Ints, face: int, w: Vec3) -> tuple[int, Vec3]:
    """(triangle inside, weights) over which the smooth correction lays a point of a triangle outside."""
    row = faces[face]
    a, b, c = points[row["a"]], points[row["b"]], points[row["c"]]
    u = w[0] * a["u"] + w[1] * b["u"] + w[2] * c["u"]
    v = w[0] * a["v"] + w[1] * b["v"] + w[2] * c["v"]
    radius = math.hypot(u, v)
    if radius > 0.0:
        # The rim is a regular polygon, the first corner at angle 0; a little inside, so that it belongs to the range.
        side = 2.0 * math.pi / head[0]["corners"]
        angle = math.atan2(v, u)
        across: float = angle - side * math.floor(angle / side) - 0.5 * side
        rim = math.cos(0.5 * side) / math.cos(across) * (1.0 - CLOSED)
        grow = min(1.0 / FOLD, rim / radius)
        u, v = u * grow, v * grow
    size = head[0]["flat_grid"]
    i = min(max(int((u + 1.0) * 0.5 * size), 0), size - 1)
    j = min(max(int((v + 1.0) * 0.5 * size), 0), size - 1)
    return walk_flat(points, faces, index[head[0]["flat_at"] + j * size + i], u, v)


@kernel
def walk_flat(points: Records, faces: Records, start: int, u: float, v: float) -> tuple[int, Vec3]:
    """(triangle of the range, weights) that lies at a place of the disc, by walking from another one.

    The disc's triangles are not Delaunay's, so that the walk may run in a circle; then all are looked at.
    """
    face = start
    for _ in range(200):
        w = _flat_weights(points, faces, face, u, v)
        least = min(w[0], w[1], w[2])
        if least >= -1e-12:
            return face, w
        row = faces[face]
        beyond = row["na"] if w[0] == least else (row["nb"] if w[1] == least else row["nc"])
        if faces[beyond]["valid"] == 0:
            break
        face = beyond
    best, best_least, weights = face, -math.inf, (1.0, 0.0, 0.0)
    for k in range(faces.shape[0]):
        if faces[k]["valid"] != 0:
            w = _flat_weights(points, faces, k, u, v)
            least = min(w[0], w[1], w[2])
            if least > best_least:
                best, best_least, weights = k, least, w
    return best, weights


@kernel
def _flat_weights(points: Records, faces: Records, face: int, u: float, v: float) -> Vec3:
    row = faces[face]
    a, b, c = points[row["a"]], points[row["b"]], points[row["c"]]
    bu, bv, cu, cv = b["u"] - a["u"], b["v"] - a["v"], c["u"] - a["u"], c["v"] - a["v"]
    area = bu * cv - bv * cu
    if area == 0.0:
        return (-math.inf, 0.0, 0.0)
    du, dv = u - a["u"], v - a["v"]
    second, third = (du * cv - dv * cu) / area, (bu * dv - bv * du) / area
    return (1.0 - second - third, second, third)


@batch(rows=1 << 30)
def locate_flat_rows(n: int, points: Records, faces: Records, start: int, places: Floats, out: Ints) -> None:
    """The triangle of the range at each place (N, 2) of the disc: for building its grid."""
    for i in prange(n):
        face, _ = walk_flat(points, faces, start, places[i, 0], places[i, 1])
        out[i] = face

"""The disc of a `LimbRange`: its smooth correction folds the outside over the inside.

Outside and inside are discs of triangles with the same boundary. Both are laid out on one disc, rim on rim: the corners
of the boundary go to a regular polygon, every other point to the mean of its neighbours (Tutte 1963: no triangle flips
as long as the rim is convex). A direction outside then has a position on the disc; the middle part of the disc is
spread over all of it, and the direction inside at that position is the answer, which so varies continuously with the
target.
"""

from __future__ import annotations

import math

import numpy as np

from ...compute import batch, kernel, prange
from ...compute.types import Bools, Floats, Ints, Records, Vec3
from .locate import CLOSED
from .sphere import SphereMesh

FOLD = 0.5  # how much of the disc's radius is spread over the inside; the rest goes to the rim


@kernel
def folded(head: Records, points: Records, faces: Records, index: Ints, face: int, w: Vec3) -> tuple[int, Vec3]:
    """Return (triangle inside, weights) over which the smooth correction lays a point of a triangle outside."""
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
    """Return (triangle of the range, weights) at a position of the disc, by walking from another triangle.

    The disc's triangles are not Delaunay's, so that the walk may run in a circle; then all are tried.
    """
    face = start
    for _ in range(200):
        w = _flat_weights(points, faces, face, u, v)
        smallest = min(w[0], w[1], w[2])
        if smallest >= -1e-12:
            return face, w
        row = faces[face]
        beyond = row["na"] if w[0] == smallest else (row["nb"] if w[1] == smallest else row["nc"])
        if faces[beyond]["valid"] == 0:
            break
        face = beyond
    best, best_smallest, weights = face, -math.inf, (1.0, 0.0, 0.0)
    for k in range(faces.shape[0]):
        if faces[k]["valid"] != 0:
            w = _flat_weights(points, faces, k, u, v)
            smallest = min(w[0], w[1], w[2])
            if smallest > best_smallest:
                best, best_smallest, weights = k, smallest, w
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
def locate_flat_rows(n: int, points: Records, faces: Records, start: int, positions: Floats, out: Ints) -> None:
    """Fill the triangle of the range at each position (N, 2) of the disc: for building its grid."""
    for i in prange(n):
        face, _ = walk_flat(points, faces, start, positions[i, 0], positions[i, 1])
        out[i] = face


def lay_out(mesh: SphereMesh, valid: Bools, loop: Ints) -> Floats:
    """Return (V, 2): the position of each point on the unit disc; inside and outside cover it once each."""
    positions = np.zeros((len(mesh.points), 2))
    angle = 2.0 * math.pi * np.arange(len(loop)) / len(loop)
    positions[loop] = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for side in (mesh.triangles[valid], mesh.triangles[~valid]):
        _relax(side, loop, positions)
    return positions


def _relax(triangles: Ints, loop: Ints, positions: Floats) -> None:
    """Move the points of some triangles that are not on the rim to the mean of their neighbours."""
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    inner = np.setdiff1d(triangles, loop)
    if not len(inner):
        return
    count = len(positions)
    pairs = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    laplacian = (diags_array(np.asarray(graph.sum(axis=1)).ravel()) - graph).tocsr()
    rest = positions.copy()
    rest[inner] = 0.0
    solved = spsolve(laplacian[inner][:, inner].tocsc(), -(laplacian[inner] @ rest))
    positions[inner] = solved.reshape(-1, 2)

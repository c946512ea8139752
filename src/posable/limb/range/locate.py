"""Compiled queries of a `LimbRange`: the triangle of a direction, the nearest boundary, the ranges there, and the fold.

A grid over the sphere gives a triangle to start from, a walk of a step or two the right one; of the boundary only the
arcs that can be nearest to this triangle are tried (specification limb-range, section 3). So the time of a query does
not depend on the number of samples.

The smooth correction folds the outside over the inside. Both are discs of triangles with the same boundary, laid out on
one disc, rim on rim: the corners of the boundary go to a regular polygon, every other point to the mean of its
neighbours (Tutte 1963: no triangle flips as long as the rim is convex). A direction outside then has a position on the
disc; the middle part of the disc is spread over all of it, and the direction inside at that position is the answer,
which so varies continuously with the target.

A model enters as five arrays (`model.pack`): one row of `RANGE`, rows of `POINT`, `FACE` and `EDGE`, and a flat table
of indices.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ...compute import batch, kernel, prange
from ...compute.types import Bools, Floats, Ints, Records, Vec3
from ...math.vector import cross, dot, reject, unit
from .sphere import SphereMesh

RANGE = np.dtype(
    [(name, "i8") for name in ("grid", "near_at", "flat_at", "flat_grid", "corners")]
    + [(name, "f8") for name in ("upper", "lower", "sx", "sy", "px", "py", "pz")],
    align=True,
)
"""The header: cells along the grid, where parts of the index begin, cells along the grid of the disc (0: no fold),
corners of the rim, lengths of the bones [m], signs of x and y that make a right limb of this one, and the direction of
a target at the base."""

POINT = np.dtype([(name, "f8") for name in ("x", "y", "z", "low", "high", "c", "s", "half", "u", "v")], align=True)
"""A sampled direction: itself, smallest and largest distance over the limb's length, the middle of the swivels as
cosine and sine (both 0 where any swivel is right), half their width [rad], and its position on the unit disc."""

FACE = np.dtype([(name, "i8") for name in ("a", "b", "c", "na", "nb", "nc", "valid")], align=True)
"""A triangle: corners, neighbours opposite to them, whether it belongs to the range."""

EDGE = np.dtype(
    [(name, "f8") for name in ("ax", "ay", "az", "bx", "by", "bz", "mx", "my", "mz", "cx", "cy", "cz")]
    + [("face", "i8")],
    align=True,
)
"""An arc of the boundary: its ends, the normal of its plane, which points inwards, and the triangle that owns it with
the middle of that triangle."""

Packed: TypeAlias = tuple[Records, Records, Records, Records, Ints]
"""The five arrays of a range: header, points, faces, edges, index."""

STRAIGHT = 0.08  # of the limb's length: with the mid joint closer to the axis than this, the swivel means little
CLOSED = 1e-6  # [rad] a direction this close to the region belongs to it, and corrected ones lie this far inside
ANY_SWIVEL = math.pi - 1e-9  # half a width of the swivels from which on any is right
EXACT = 1e-9  # of the limb's length, and [rad]: what counts as on the edge of a range

FOLD = 0.5  # how much of the disc's radius is spread over the inside; the rest goes to the rim


@kernel
def direction_of(head: Records, position: Vec3, distance: float) -> Vec3:
    """Return the unit vector to a position, as a right limb's; at the base joint, where there is none, the pole."""
    if distance < 1e-6 * (head[0]["upper"] + head[0]["lower"]):
        return (head[0]["px"], head[0]["py"], head[0]["pz"])
    return unit((head[0]["sx"] * position[0], head[0]["sy"] * position[1], position[2]))


@kernel
def cell_of(size: int, n: Vec3) -> int:
    """Return the cell of the octahedral map, `size` cells along each side, in which a direction lies."""
    total = abs(n[0]) + abs(n[1]) + abs(n[2])
    u, v = n[0] / total, n[1] / total
    if n[2] < 0.0:
        u, v = math.copysign(1.0 - abs(v), u), math.copysign(1.0 - abs(u), v)
    i = min(max(int((u + 1.0) * 0.5 * size), 0), size - 1)
    j = min(max(int((v + 1.0) * 0.5 * size), 0), size - 1)
    return j * size + i


@kernel
def locate(head: Records, points: Records, faces: Records, index: Ints, n: Vec3) -> tuple[int, Vec3]:
    """Return (triangle that a direction falls into, its weights at the three corners)."""
    return walk(points, faces, index[cell_of(head[0]["grid"], n)], n)


@kernel
def walk(points: Records, faces: Records, start: int, n: Vec3) -> tuple[int, Vec3]:
    """Return the triangle of a direction by walking from another one.

    Each step crosses the edge that the direction lies furthest beyond. On a Delaunay triangulation such a walk ends;
    the bound is for rounding on an edge.
    """
    face = start
    w = corner_weights(points, faces, face, n)
    for _ in range(faces.shape[0]):
        smallest = min(w[0], w[1], w[2])
        if smallest >= -1e-14:
            break
        row = faces[face]
        face = row["na"] if w[0] == smallest else (row["nb"] if w[1] == smallest else row["nc"])
        w = corner_weights(points, faces, face, n)
    return face, w


@kernel
def corner_weights(points: Records, faces: Records, face: int, n: Vec3) -> Vec3:
    """Return weights, summing to 1, of the corners of a triangle at a direction; negative beyond an edge."""
    row = faces[face]
    a, b, c = point_at(points, row["a"]), point_at(points, row["b"]), point_at(points, row["c"])
    u, v, w = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
    total = u + v + w
    if total <= 0.0:  # behind the sphere, seen from this triangle: the signs still show where to go
        total = 1.0
    return (u / total, v / total, w / total)


@kernel
def point_at(points: Records, i: int) -> Vec3:
    """Return a sampled direction."""
    return (points[i]["x"], points[i]["y"], points[i]["z"])


@kernel
def nearest_edge(head: Records, edges: Records, index: Ints, face: int, n: Vec3) -> tuple[int, float, Vec3]:
    """Return (arc of the boundary, angle to it [rad], its nearest point) for a direction that lies in a triangle.

    Only the arcs that can be nearest to a point of this triangle are tried; there is at least one.
    """
    near = head[0]["near_at"]
    best, smallest, nearest = 0, math.inf, n
    for k in range(index[near + face], index[near + face + 1]):
        edge = index[k]
        p = nearest_on_arc(edges[edge], n)
        d = (n[0] - p[0], n[1] - p[1], n[2] - p[2])
        chord = dot(d, d)
        if chord < smallest:
            best, smallest, nearest = edge, chord, p
    return best, 2.0 * math.asin(min(0.5 * math.sqrt(smallest), 1.0)), nearest


@kernel
def nearest_on_arc(edge: Any, n: Vec3) -> Vec3:
    """Return the point of an arc that is nearest to a direction."""
    a, b = (edge["ax"], edge["ay"], edge["az"]), (edge["bx"], edge["by"], edge["bz"])
    m = (edge["mx"], edge["my"], edge["mz"])
    flat = reject(n, m)
    if dot(cross(a, flat), m) > 0.0 and dot(cross(flat, b), m) > 0.0:
        return unit(flat)
    return a if dot(n, a) >= dot(n, b) else b


@kernel
def spans(points: Records, faces: Records, face: int, w: Vec3) -> tuple[float, float, float, float]:
    """Return (smallest, largest distance over the limb's length, middle and half width of the swivels [rad]).

    Middles are averaged as vectors, since angles wrap; where they cancel out any swivel is right.
    """
    row = faces[face]
    a, b, c = points[row["a"]], points[row["b"]], points[row["c"]]
    u, v, t = max(w[0], 0.0), max(w[1], 0.0), max(w[2], 0.0)
    total = u + v + t
    u, v, t = u / total, v / total, t / total
    x, y = u * a["c"] + v * b["c"] + t * c["c"], u * a["s"] + v * b["s"] + t * c["s"]
    half = u * a["half"] + v * b["half"] + t * c["half"]
    mid = 0.0
    if x * x + y * y < 1e-12:
        half = math.pi
    else:
        mid = math.atan2(y, x)
    low = u * a["low"] + v * b["low"] + t * c["low"]
    high = u * a["high"] + v * b["high"] + t * c["high"]
    return low, high, mid, half


@kernel
def bend_radius(head: Records, reach: float) -> float:
    """Return how far the mid joint is from the axis, over the limb's length, with the end `reach` lengths away."""
    length = head[0]["upper"] + head[0]["lower"]
    d, e = reach, abs(head[0]["upper"] - head[0]["lower"]) / length
    if d <= e or d >= 1.0:
        return 0.0
    return math.sqrt((1.0 - d) * (1.0 + d) * (d - e) * (d + e)) / (2.0 * d)


@batch(rows=1 << 30)
def locate_rows(n: int, points: Records, faces: Records, toward: Floats, out: Ints) -> None:
    """Fill the triangle of each direction (N, 3), with no grid yet: for building it."""
    for i in prange(n):
        face, _ = walk(points, faces, 0, (toward[i, 0], toward[i, 1], toward[i, 2]))
        out[i] = face


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

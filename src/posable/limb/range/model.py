"""The table of a `LimbRange` over sampled directions, and the arrays that its kernels read.

The table is all that is learned and stored; the region, its boundary and the search structures follow from it
(specification limb-range, sections 2 and 3). Decided here:

- The "closed outer hull" of the paper is the largest connected set of triangles with three reached corners, its holes
  filled. It is not made convex: what people can reach is not.
- Which arcs of the boundary can be nearest to anything in a triangle is found once: those nearer to its middle than
  the nearest one plus twice the triangle's radius. That is exact, since distances change no faster than one for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...compute import PosableError
from ...compute.types import Bools, Floats, Ints, Records
from ..model import SIDES
from .locate import EDGE, FACE, POINT, RANGE, Packed, lay_out, locate_flat_rows, locate_rows
from .sphere import SphereMesh, octahedral_directions, sphere_mesh


@dataclass(frozen=True, eq=False)
class Table:
    """The range at each of V sampled directions (`sphere.fibonacci`); values only where `reached`."""

    reached: Bools
    """(V,): whether people reach there."""
    filled: Bools
    """(V,): reached without examples of its own, inside a hole; its values come from around it."""
    low: Floats
    """(V,): smallest distance over the limb's length."""
    high: Floats
    """(V,): largest distance over the limb's length."""
    mid: Floats
    """(V,) [rad]: the middle of the swivels."""
    half: Floats
    """(V,) [rad]: half their width; pi where any is right."""

    def __len__(self) -> int:
        return len(self.reached)


def find_region(reached: Bools, fill_holes: bool) -> Bools:
    """Return (T,): the triangles of the range: the largest connected set of them, with its holes filled or not."""
    mesh = sphere_mesh(len(reached))
    valid = np.asarray(reached[mesh.triangles].all(axis=1))
    pieces = _connected(mesh, valid)
    if not len(pieces):
        raise PosableError("no three neighbouring directions have enough examples; give more poses or a larger radius")
    valid = np.zeros_like(valid)
    valid[pieces[0]] = True
    if fill_holes:
        for hole in _connected(mesh, ~valid)[1:]:
            valid[hole] = True
    return valid


def pack(table: Table, valid: Bools, limb: str, upper: float, lower: float) -> Packed:
    """Return the arrays that kernels read, for a limb with these bones [m]."""
    mesh = sphere_mesh(len(table))
    points, faces = mesh_rows(mesh)
    known = table.reached
    limited = known & (table.half < math.pi - 1e-9)
    for name, values, where in (
        ("low", table.low, known),
        ("high", table.high, known),
        ("half", table.half, known),
        ("c", np.cos(table.mid), limited),
        ("s", np.sin(table.mid), limited),
    ):
        points[name][where] = values[where]
    faces["valid"] = valid
    edges, loops = _boundary(mesh, valid)
    head = np.zeros(1, RANGE)
    set_limb(head, limb, upper, lower)
    parts = [grid_of(points, faces, head)]
    parts.append(_near_lists(mesh, edges, head, len(parts[0])))
    flat = _fold(mesh, valid, loops, points, faces, head)
    head["flat_at"] = sum(map(len, parts))
    return head, points, faces, edges, np.concatenate([*parts, flat])


def mesh_rows(mesh: SphereMesh) -> tuple[Records, Records]:
    """Return (points, faces) of a sphere's triangles as kernels read them, without values."""
    points, faces = np.zeros(len(mesh.points), POINT), np.zeros(len(mesh.triangles), FACE)
    for name, column in zip("xyz", mesh.points.T, strict=True):
        points[name] = column
    for k, (corner, neighbour) in enumerate((("a", "na"), ("b", "nb"), ("c", "nc"))):
        faces[corner], faces[neighbour] = mesh.triangles[:, k], mesh.neighbours[:, k]
    return points, faces


def grid_of(points: Records, faces: Records, head: Records) -> Ints:
    """Return a triangle to start from, for each cell of the octahedral map; about one cell a sample."""
    size = math.isqrt(len(points) - 1) + 1
    head["grid"] = size
    out = np.empty(size * size, np.int64)
    locate_rows(len(out), points, faces, octahedral_directions(size), out)
    return out


def set_limb(head: Records, limb: str, upper: float, lower: float) -> None:
    """Write into the header which limb the range is for: its bones [m], and whether it is a mirror image."""
    head["upper"], head["lower"] = upper, lower
    head["sx"], head["sy"], _ = to_right(limb)
    pole = np.array(SIDES[limb.replace("left", "right")].pole, dtype=np.float64)
    head["px"], head["py"], head["pz"] = pole / np.linalg.norm(pole)


def to_right(limb: str) -> Floats:
    """Return (3,): the signs that make a vector of this limb's frame one of the right limb's, its mirror image."""
    own, right = (np.array(SIDES[name].axes, dtype=np.float64) for name in (limb, limb.replace("left", "right")))
    mirror = np.diag([1.0, 1.0, 1.0] if limb.startswith("right") else [-1.0, 1.0, 1.0])
    return np.asarray(np.diag(right @ mirror @ own.T))


def boundary_loops(valid: Bools, samples: int) -> list[Ints]:
    """Return the boundary as closed loops of sampled directions, the range on their left; the longest first."""
    mesh = sphere_mesh(samples)
    after: dict[int, list[int]] = {}
    for start, end, _ in _rim(mesh, valid).tolist():
        after.setdefault(start, []).append(end)
    loops = []
    while after:
        start = next(iter(after))
        loop, here = [start], start
        while True:
            ends = after[here]
            there = ends.pop()
            if not ends:
                del after[here]
            if there == start:
                break
            loop.append(there)
            here = there
        loops.append(np.array(loop))
    return sorted(loops, key=len, reverse=True)


def _rim(mesh: SphereMesh, valid: Bools) -> Ints:
    """Return (E, 3): start, end and owner of the edges with the range on one side only, its triangles on their left."""
    rows = []
    for k in range(3):
        own = np.flatnonzero(valid & ~valid[mesh.neighbours[:, k]])
        rows.append(np.stack([mesh.triangles[own, (k + 1) % 3], mesh.triangles[own, (k + 2) % 3], own], axis=-1))
    return np.concatenate(rows)


def _boundary(mesh: SphereMesh, valid: Bools) -> tuple[Records, list[Ints]]:
    rim = _rim(mesh, valid)
    edges = np.zeros(len(rim), EDGE)
    a, b = mesh.points[rim[:, 0]], mesh.points[rim[:, 1]]
    normal = np.cross(a, b)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    for letter, vectors in (("a", a), ("b", b), ("m", normal), ("c", mesh.centres[rim[:, 2]])):
        for axis, column in zip("xyz", vectors.T, strict=True):
            edges[letter + axis] = column
    edges["face"] = rim[:, 2]
    return edges, boundary_loops(valid, len(mesh.points))


def _connected(mesh: SphereMesh, chosen: Bools) -> list[Ints]:
    """Return the sets of chosen triangles connected by edges, the largest first; ties by their first triangle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(chosen)
    rows, columns = np.repeat(np.arange(count), 3), mesh.neighbours.ravel()
    both = chosen[rows] & chosen[columns]
    graph = coo_array((np.ones(both.sum(), np.int8), (rows[both], columns[both])), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    label = np.where(chosen, label, -1)
    found = [np.flatnonzero(label == name) for name in np.unique(label[chosen])]
    return sorted(found, key=lambda piece: (-len(piece), piece[0]))


def _near_lists(mesh: SphereMesh, edges: Records, head: Records, start: int) -> Ints:
    """Return, for each triangle, the edges that can be nearest to it: T + 1 starts in the index, then the edges."""
    head["near_at"] = start
    count = len(mesh.triangles)
    if not len(edges):
        return np.full(count + 1, start + count + 1)
    centres = mesh.centres
    radius = np.arccos(np.clip((mesh.points[mesh.triangles] * centres[:, None]).sum(-1).min(axis=1), -1.0, 1.0))
    lists = []
    for block in np.array_split(np.arange(count), max(1, count * len(edges) // 2_000_000)):
        away = _arc_distances(centres[block], edges)
        lists += [np.flatnonzero(row <= row.min() + 2.0 * r + 1e-9) for row, r in zip(away, radius[block], strict=True)]
    starts = start + count + 1 + np.concatenate([[0], np.cumsum([len(found) for found in lists])])
    return np.concatenate([starts, *lists])


def _arc_distances(directions: Floats, edges: Records) -> Floats:
    """Return (N, E) [rad]: angles from directions to arcs."""
    a, b, m = (np.stack([edges[letter + axis] for axis in "xyz"], axis=-1) for letter in "abm")
    height = directions @ m.T
    # A direction lies over the arc when it is on the inner side of the planes through the normal and each end.
    over = (directions @ np.cross(m, a).T > 0.0) & (directions @ np.cross(b, m).T > 0.0)
    ends = np.maximum(directions @ a.T, directions @ b.T)
    away = np.where(over, np.arcsin(np.clip(np.abs(height), 0.0, 1.0)), np.arccos(np.clip(ends, -1.0, 1.0)))
    return np.asarray(away)


def _fold(mesh: SphereMesh, valid: Bools, loops: list[Ints], points: Records, faces: Records, head: Records) -> Ints:
    """Lay inside and outside out on one disc, for the smooth correction; return its grid, empty without one loop."""
    if len(loops) != 1 or len(np.unique(loops[0])) != len(loops[0]):
        return np.zeros(0, np.int64)
    points["u"], points["v"] = lay_out(mesh, valid, loops[0]).T
    size = max(8, math.isqrt(len(points)))
    line = (np.arange(size) + 0.5) / size * 2.0 - 1.0
    v, u = np.meshgrid(line, line, indexing="ij")
    positions = np.stack([u.ravel(), v.ravel()], axis=-1)
    positions *= np.minimum(1.0, 0.95 / np.maximum(np.linalg.norm(positions, axis=-1, keepdims=True), 1e-12))
    out = np.empty(size * size, np.int64)
    locate_flat_rows(len(out), points, faces, int(np.flatnonzero(valid)[0]), positions, out)
    head["flat_grid"], head["corners"] = size, len(loops[0])
    return out

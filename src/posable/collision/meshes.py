"""Triangle meshes as obstacles, through `coal`.

The tree over the triangles is built once. For each shape of volume that asks, one functor of `coal` is kept a thread
(it holds the shape, the tree and a solver's memory): a call costs a tenth of the plain function's. `coal` has no
rounded cone; one whose radii differ by more than a millimetre is asked as a convex polyhedron around it, which holds
it and reaches some 5 % of its radius further (at most 10 %).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, batch, kernel, prange, require
from ..compute.types import ArrayLike, Bools, Floats, Quat, Records, Vec3
from ..math.quaternion import between, rotate
from .kernels import placed
from .surfaces import point_box
from .transforms import seen_from
from .volumes import ELLIPSOID, _rounded_cone

SAME_RADIUS = 1e-3
"""[m] Radii that differ by less make a capsule."""

DETAIL = 16  # corners around a polyhedron for a rounded cone
AROUND = 1.0 / (math.cos(math.pi / DETAIL) * math.cos(2.0 * math.pi / DETAIL))  # it never reaches further, in radii
REMEMBERED = 32  # sets of volumes for which a thread keeps functors
LEAST_AREA = 1e-12
"""[m^2] Triangles smaller than this are dropped."""


class Mesh:
    """Triangles with a tree over them, in a frame of their own. Any number of threads may ask.

    Args:
        name: for messages.
        vertices: (V, 3) [m].
        faces: (T, 3) indices of vertices.
    """

    def __init__(self, name: str, vertices: ArrayLike, faces: ArrayLike) -> None:
        self.coal: Any = require("coal", "collision")
        self.vertices, self.faces = _checked(name, vertices, faces)
        model = self.coal.BVHModelOBBRSS()
        model.beginModel(len(self.faces), len(self.vertices))
        model.addVertices(self.vertices)
        model.addTriangles(self.faces)
        model.endModel()
        self.tree = model
        used = self.vertices[np.unique(self.faces)]
        low, high = used.min(axis=0), used.max(axis=0)
        self._box = np.concatenate([0.5 * (low + high), 0.5 * (high - low)])
        self._of_thread = threading.local()

    def row(self, position: Floats, orientation: Floats) -> Floats:
        """(13,) the mesh as kernels read it: place (3), orientation (4), middle and half sizes of its box (3, 3)."""
        return np.concatenate([position, orientation, self._box])

    def contacts(
        self,
        volumes: Records,
        positions: Floats,
        orientations: Floats,
        place: tuple[Floats, Floats],
        margin: float,
        first: bool,
    ) -> list[int]:
        """The volumes that come nearer to the surface than `margin` [m]; only the first such if that is enough.

        Args:
            volumes: (V,) rows of `volumes.PACKED`.
            positions: (J, 3) places of the joints that carry them, in the world [m].
            orientations: (J, 4).
            place: position (3,) and orientation (4,) of the mesh in the world.
            margin: below 0 it counts as 0: a surface has no depth.
            first: whether one is enough.
        """
        near, turns, places = self._seen(volumes, positions, orientations, place, margin)
        if not near.any():
            return []
        ask = self.contact_test(volumes, margin)
        found = []
        for v in np.flatnonzero(near).tolist():
            if ask(v, turns[v], places[v]):
                found.append(v)
                if first:
                    break
        return found

    def contact_test(self, volumes: Records, margin: float) -> Callable[[int, Floats, Floats], bool]:
        """A question for this thread to ask many times: does volume v, turned (3, 3) and placed (3,) so in the mesh's
        frame (its middle, z along it), come nearer to the surface than `margin` [m]?
        """
        mine, place = self._mine(), self.coal.Transform3s
        functors, request, result, here = (
            self._functors("ComputeCollision", volumes),
            self.coal.CollisionRequest(),
            mine["contact"],
            mine["origin"],
        )
        request.security_margin = max(margin, 0.0)

        def touches(v: int, turn: Floats, at: Floats) -> bool:
            result.clear()
            return bool(functors[v](place(turn, at), here, request, result))

        return touches

    def distance(
        self, volumes: Records, positions: Floats, orientations: Floats, place: tuple[Floats, Floats]
    ) -> tuple[float, int]:
        """(distance [m] of the volume nearest to the surface, which one it is); 0 where it touches."""
        _, turns, places = self._seen(volumes, positions, orientations, place, math.inf)
        mine = self._mine()
        ask, request, result = self._functors("ComputeDistance", volumes), mine["request"], mine["distance"]
        best, which = math.inf, -1
        for v in range(len(volumes)):
            result.clear()
            away = ask[v](self.coal.Transform3s(turns[v], places[v]), mine["origin"], request, result)
            if away < best:
                best, which = max(float(away), 0.0), v
        return best, which

    def _seen(
        self,
        volumes: Records,
        positions: Floats,
        orientations: Floats,
        place: tuple[Floats, Floats],
        margin: float,
    ) -> tuple[Bools, Floats, Floats]:
        """(which volumes are near, (V, 3, 3) and (V, 3) where they are in the mesh's frame)."""
        n = len(volumes)
        near, turns, places = np.empty(n, np.bool_), np.empty((n, 3, 3)), np.empty((n, 3))
        seen_rows(n, volumes, positions, orientations, self.row(*place), margin, near, turns, places)
        return near, turns, places

    def _mine(self) -> dict[str, Any]:
        """What this thread keeps for its questions: requests, results, functors."""
        kept: dict[str, Any] = self._of_thread.__dict__
        if not kept:
            coal = self.coal
            kept.update(contact=coal.CollisionResult())
            kept.update(request=coal.DistanceRequest(), distance=coal.DistanceResult())
            kept.update(origin=coal.Transform3s(np.eye(3), np.zeros(3)), functors={})
        return kept

    def _functors(self, kind: str, volumes: Records) -> list[Any]:
        """The functors of this thread for volumes of these shapes; a handful of bodies are remembered."""
        kept = self._mine()["functors"]
        key = (kind, volumes.tobytes())
        if key not in kept:
            while len(kept) >= REMEMBERED:
                kept.pop(next(iter(kept)))
            shapes = [_geometry(self.coal, row) for row in volumes]
            made = [getattr(self.coal, kind)(shape, self.tree) for shape in shapes]
            kept[key] = made, shapes  # a functor does not keep its shape alive
        functors: list[Any] = kept[key][0]
        return functors


@batch(rows=1024)
def seen_rows(
    n: int,
    volumes: Records,
    positions: Floats,
    orientations: Floats,
    mesh: Floats,
    margin: float,
    near: Bools,
    turns: Floats,
    places: Floats,
) -> None:
    """`seen_volume` over volumes, carried by joints (J, 3), (J, 4)."""
    for i in prange(n):
        j = volumes[i]["joint"]
        p = (positions[j, 0], positions[j, 1], positions[j, 2])
        q = (orientations[j, 0], orientations[j, 1], orientations[j, 2], orientations[j, 3])
        near[i] = seen_volume(volumes[i], p, q, mesh, margin, turns[i], places[i])


@kernel
def seen_volume(volume: Any, p: Vec3, q: Quat, mesh: Floats, margin: float, turn: Floats, place: Floats) -> bool:
    """Whether a volume, placed by (p, q), is near a mesh, by the mesh's box; if so, its axes (3, 3) and middle (3,) in
    the mesh's frame are filled in: its own, or z along it. `mesh` is a row of `Mesh.row`.
    """
    kind, a, b, own, _ = seen_from(
        placed(volume, p, q), (mesh[0], mesh[1], mesh[2]), (mesh[3], mesh[4], mesh[5], mesh[6])
    )
    c = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))
    away, _ = point_box((c[0] - mesh[7], c[1] - mesh[8], c[2] - mesh[9]), (mesh[10], mesh[11], mesh[12]))
    if away > volume["bound"] * AROUND + max(margin, 0.0):
        return False
    if kind != ELLIPSOID:
        own = between((0.0, 0.0, 1.0), (b[0] - a[0], b[1] - a[1], b[2] - a[2]))
    x, y, z = rotate(own, (1.0, 0.0, 0.0)), rotate(own, (0.0, 1.0, 0.0)), rotate(own, (0.0, 0.0, 1.0))
    for k in range(3):
        turn[k, 0], turn[k, 1], turn[k, 2], place[k] = x[k], y[k], z[k], c[k]
    return True


def _geometry(coal: Any, row: Any) -> Any:
    """A shape of `coal` for a volume: about its middle, along its z axis."""
    radii, length = row["radii"].tolist(), float(np.linalg.norm(row["end"] - row["start"]))
    if row["kind"] == ELLIPSOID:
        return coal.Ellipsoid(*radii)
    if length == 0.0:
        return coal.Sphere(max(radii[:2]))
    if abs(radii[0] - radii[1]) <= SAME_RADIUS:
        return coal.Capsule(max(radii[:2]), length)
    ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
    grown = _around(radii[0], radii[1], length)
    vertices, _, faces = _rounded_cone(ends[0], ends[1], radii[0] * grown, radii[1] * grown, DETAIL)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(vertices))
    triangles.extend([coal.Triangle(*map(int, face)) for face in faces])
    return coal.Convex(points, triangles)


def _around(r0: float, r1: float, length: float) -> float:
    """How much thicker a polyhedron with corners on a rounded cone must be to hold the cone.

    Half the widest step between corners, around and from pole to pole, decides; the caps of a cone that tapers have
    unequal steps.
    """
    slope = min(AROUND * abs(r0 - r1) / max(length, 1e-12), 1.0)
    widest = (0.5 * math.pi + math.asin(slope)) / (DETAIL // 4)
    return 1.0 / (math.cos(math.pi / DETAIL) * math.cos(0.5 * widest))


def _checked(name: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Floats, Any]:
    """The mesh's arrays, without triangles that have no area."""
    points = np.array(vertices, dtype=np.float64)
    triangles = np.array(faces)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ShapeError(f"vertices of mesh {name!r} have shape {points.shape}; expected (V, 3)")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or not np.issubdtype(triangles.dtype, np.integer):
        raise ShapeError(
            f"faces of mesh {name!r}: {triangles.dtype} of shape {triangles.shape}; expected indices (T, 3)"
        )
    bad = np.flatnonzero(~np.isfinite(points).all(axis=-1))
    if len(bad):
        raise PosableError(f"vertex {bad[0]} of mesh {name!r} is {points[bad[0]].tolist()}: not finite")
    wrong = triangles[(triangles < 0) | (triangles >= len(points))]
    if len(wrong):
        raise PosableError(f"a face of mesh {name!r} names vertex {wrong[0]}; there are {len(points)}")
    a, b, c = (points[triangles[:, k]] for k in range(3))
    kept = np.linalg.norm(np.cross(b - a, c - a), axis=-1) > 2.0 * LEAST_AREA
    if not kept.any():
        raise PosableError(f"mesh {name!r} has no triangle with an area ({len(triangles)} were given)")
    return points, triangles[kept].astype(np.int64)

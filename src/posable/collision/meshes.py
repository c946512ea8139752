"""Triangle meshes as obstacles, through `coal`.

The tree over the triangles is built once. For each shape of volume, one functor of `coal` is stored a thread
(it holds the shape, the tree and a solver's memory): a call costs a tenth of the plain function's. `coal` has no
rounded cone; one whose radii differ by more than a millimetre is tested as a convex polyhedron around it, which
contains it and reaches some 5 % of its radius further (at most 10 %).
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
from ..skeleton.forward import quat_from
from .kernels import placed, seen_from
from .surfaces import point_box
from .volumes import ELLIPSOID, _rounded_cone

SAME_RADIUS = 1e-3
"""[m] Radii that differ by less make a capsule."""

DETAIL = 16  # corners around a polyhedron for a rounded cone
AROUND = 1.0 / (math.cos(math.pi / DETAIL) * math.cos(2.0 * math.pi / DETAIL))  # it never reaches further, in radii
MAX_STORED = 32  # sets of volumes for which a thread keeps functors
MIN_AREA = 1e-12
"""[m^2] Triangles smaller than this are dropped."""

MESH_ROW = np.dtype(
    [(name, "f8", size) for name, size in (("position", 3), ("orientation", 4), ("middle", 3), ("half_sizes", 3))]
    + [("allowed", "i8")],
    align=True,
)
"""A mesh for kernels: its frame in the world [m], a box around it in that frame [m], whether hands and feet may touch
it."""


class Mesh:
    """Triangles with a tree over them, in a frame of their own. Any number of threads may query it.

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
        self._low, self._high = used.min(axis=0), used.max(axis=0)
        self._of_thread = threading.local()

    def row(self, position: Floats, orientation: Floats, allowed: bool = False) -> Records:
        """Return (1,) of `MESH_ROW`: the mesh at a position (3,) [m] and orientation (4,) in the world."""
        row = np.zeros(1, MESH_ROW)
        row["position"], row["orientation"], row["allowed"] = position, orientation, allowed
        row["middle"], row["half_sizes"] = 0.5 * (self._low + self._high), 0.5 * (self._high - self._low)
        return row

    def contacts(
        self,
        volumes: Records,
        positions: Floats,
        orientations: Floats,
        frame: tuple[Floats, Floats],
        margin: float,
        first: bool,
    ) -> list[int]:
        """Return the volumes that come nearer to the surface than `margin` [m], or only the first of them.

        Args:
            volumes: (V,) rows of `volumes.PACKED`.
            positions: (J, 3) of the joints that carry them, in the world [m].
            orientations: (J, 4).
            frame: position (3,) and orientation (4,) of the mesh in the world.
            margin: below 0 it counts as 0: a surface has no depth.
            first: whether one is enough.
        """
        near, rotations, centres = self._seen(volumes, positions, orientations, frame, margin)
        if not near.any():
            return []
        ask = self.contact_test(volumes, margin)
        found = []
        for v in np.flatnonzero(near).tolist():
            if ask(v, rotations[v], centres[v]):
                found.append(v)
                if first:
                    break
        return found

    def contact_test(self, volumes: Records, margin: float) -> Callable[[int, Floats, Floats], bool]:
        """Return a test for this thread: does volume v come nearer to the surface than `margin` [m]?

        It takes v, its rotation (3, 3), z along it, and its middle (3,), both in the mesh's frame.
        """
        mine, transform = self._mine(), self.coal.Transform3s
        functors, request, result, here = (
            self._functors("ComputeCollision", volumes),
            self.coal.CollisionRequest(),
            mine["contact"],
            mine["origin"],
        )
        request.security_margin = max(margin, 0.0)

        def touches(v: int, rotation: Floats, at: Floats) -> bool:
            result.clear()
            return bool(functors[v](transform(rotation, at), here, request, result))

        return touches

    def distance(
        self, volumes: Records, positions: Floats, orientations: Floats, frame: tuple[Floats, Floats]
    ) -> tuple[float, int]:
        """Return (distance [m] of the volume nearest to the surface, which one it is); 0 where it touches."""
        _, rotations, centres = self._seen(volumes, positions, orientations, frame, math.inf)
        mine = self._mine()
        ask, request, result = self._functors("ComputeDistance", volumes), mine["request"], mine["distance"]
        best, which = math.inf, -1
        for v in range(len(volumes)):
            result.clear()
            away = ask[v](self.coal.Transform3s(rotations[v], centres[v]), mine["origin"], request, result)
            if away < best:
                best, which = max(float(away), 0.0), v
        return best, which

    def _seen(
        self,
        volumes: Records,
        positions: Floats,
        orientations: Floats,
        frame: tuple[Floats, Floats],
        margin: float,
    ) -> tuple[Bools, Floats, Floats]:
        """Return (which volumes are near, their axes (V, 3, 3) and middles (V, 3) in the mesh's frame)."""
        n = len(volumes)
        near, rotations, centres = np.empty(n, np.bool_), np.empty((n, 3, 3)), np.empty((n, 3))
        seen_rows(n, volumes, positions, orientations, self.row(*frame), margin, near, rotations, centres)
        return near, rotations, centres

    def _mine(self) -> dict[str, Any]:
        """Return what this thread stores for its queries: requests, results, functors."""
        stored: dict[str, Any] = self._of_thread.__dict__
        if not stored:
            coal = self.coal
            stored.update(contact=coal.CollisionResult())
            stored.update(request=coal.DistanceRequest(), distance=coal.DistanceResult())
            stored.update(origin=coal.Transform3s(np.eye(3), np.zeros(3)), functors={})
        return stored

    def _functors(self, kind: str, volumes: Records) -> list[Any]:
        """Return the functors of this thread for volumes of these shapes; those of a handful of bodies are stored."""
        stored = self._mine()["functors"]
        key = (kind, volumes.tobytes())
        if key not in stored:
            while len(stored) >= MAX_STORED:
                stored.pop(next(iter(stored)))
            shapes = [_geometry(self.coal, row) for row in volumes]
            made = [getattr(self.coal, kind)(shape, self.tree) for shape in shapes]
            stored[key] = made, shapes  # a functor does not keep its shape alive
        functors: list[Any] = stored[key][0]
        return functors


@batch(rows=1024)
def seen_rows(
    n: int,
    volumes: Records,
    positions: Floats,
    orientations: Floats,
    mesh: Records,
    margin: float,
    near: Bools,
    rotations: Floats,
    centres: Floats,
) -> None:
    """Fill `seen_volume` of volumes, carried by joints (J, 3), (J, 4)."""
    for i in prange(n):
        j = volumes[i]["joint"]
        p = (positions[j, 0], positions[j, 1], positions[j, 2])
        q = (orientations[j, 0], orientations[j, 1], orientations[j, 2], orientations[j, 3])
        near[i] = seen_volume(volumes[i], p, q, mesh[0], margin, rotations[i], centres[i])


@kernel
def seen_volume(volume: Any, p: Vec3, q: Quat, mesh: Any, margin: float, axes: Floats, centre: Floats) -> bool:
    """Return whether a volume, placed by (p, q), is near a mesh, by the mesh's box.

    If so, fill its axes (3, 3), its own or z along it, and centre (3,) in the frame of the mesh, a row of `MESH_ROW`.
    """
    at, middle, half = mesh["position"], mesh["middle"], mesh["half_sizes"]
    kind, a, b, own, _ = seen_from(placed(volume, p, q), (at[0], at[1], at[2]), quat_from(mesh["orientation"]))
    c = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))
    away, _ = point_box((c[0] - middle[0], c[1] - middle[1], c[2] - middle[2]), (half[0], half[1], half[2]))
    if away > volume["bound"] * AROUND + max(margin, 0.0):
        return False
    if kind != ELLIPSOID:
        own = between((0.0, 0.0, 1.0), (b[0] - a[0], b[1] - a[1], b[2] - a[2]))
    x, y, z = rotate(own, (1.0, 0.0, 0.0)), rotate(own, (0.0, 1.0, 0.0)), rotate(own, (0.0, 0.0, 1.0))
    for k in range(3):
        axes[k, 0], axes[k, 1], axes[k, 2], centre[k] = x[k], y[k], z[k], c[k]
    return True


def _geometry(coal: Any, row: Any) -> Any:
    """Return a shape of `coal` for a volume: about its middle, along its z axis."""
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
    """Return how much thicker a polyhedron with corners on a rounded cone must be to contain the cone.

    Half the widest step between corners, around and from pole to pole, decides; the caps of a cone that tapers have
    unequal steps.
    """
    slope = min(AROUND * abs(r0 - r1) / max(length, 1e-12), 1.0)
    widest = (0.5 * math.pi + math.asin(slope)) / (DETAIL // 4)
    return 1.0 / (math.cos(math.pi / DETAIL) * math.cos(0.5 * widest))


def _checked(name: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Floats, Any]:
    """Return the mesh's arrays, without triangles that have no area."""
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
    solid = np.linalg.norm(np.cross(b - a, c - a), axis=-1) > 2.0 * MIN_AREA
    if not solid.any():
        raise PosableError(f"mesh {name!r} has no triangle with an area ({len(triangles)} were given)")
    return points, triangles[solid].astype(np.int64)

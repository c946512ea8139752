"""`Scene`: the obstacles around a body that it must not touch.

Boxes, balls, capsules and half spaces are rows that our own kernels read. Meshes go to `coal` (extra `collision`):
their trees are built when they are added, and moving one only changes where it is.

A scene can change while others query it: every change makes a new snapshot and installs it in one step, so a query is
answered from one state of the scene, never from half a change. Writers wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, number
from ..compute.extent import EXTENT, finite_in_extent
from ..compute.types import ArrayLike, Floats, Records, floats
from .kernels import BOX, CAPSULE, KINDS, OBSTACLE, PLANE, SPHERE, all_gap_rows, all_overlap_rows, in_frame

if TYPE_CHECKING:
    from .meshes import Mesh
    from .volumes import Volumes

ORIGIN = (0.0, 0.0, 0.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
MESH = "mesh"


class Scene:
    """Named obstacles in the world, moving or not. Any number of threads may use and change it.

    ```python
    scene = ps.Scene()
    scene.box("table", size=(1.2, 0.04, 0.8), position=(0, 0.74, 0.6))
    scene.move("table", position=(0, 0.70, 0.6))
    ```
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Snapshot.of({})
        self._waiting: dict[str, Obstacle] | None = None

    def __len__(self) -> int:
        return len(self._now.obstacles)

    def __contains__(self, name: object) -> bool:
        return name in self._now.obstacles

    def __getitem__(self, name: str) -> Obstacle:
        return _known(self._now.obstacles, name)

    def __repr__(self) -> str:
        return f"Scene({', '.join(f'{obstacle.name}: {obstacle.kind}' for obstacle in self._now.obstacles.values())})"

    @property
    def names(self) -> tuple[str, ...]:
        """The obstacles, in the order they were added; `source` of a packed row counts them."""
        return tuple(self._now.obstacles)

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of this moment, in the order they were added."""
        return tuple(self._now.obstacles.values())

    @staticmethod
    def load(path: str | PathLike[str]) -> Scene:
        """Read a scene from a file: see `collision.scene_file`. Meshes are read from its folder only."""
        from .scene_file import load

        return load(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the scene of this moment to a JSON file, its meshes next to it."""
        from .scene_file import save

        save(self, path)

    def box(self, name: str, size: ArrayLike, position: ArrayLike = ORIGIN, orientation: ArrayLike = UPRIGHT) -> Scene:
        """Add a box with edges of `size` (3,) [m], its centre at `position`."""
        return self._put(name, "box", 0.5 * sizes_of(name, "size", size, 3), 0.0, position, orientation)

    def sphere(self, name: str, radius: float, position: ArrayLike = ORIGIN) -> Scene:
        """Add a ball with this radius [m]."""
        return self._put(name, "sphere", sizes_of(name, "radius", [radius], 1), 0.0, position, UPRIGHT)

    def capsule(
        self,
        name: str,
        radius: float,
        length: float,
        position: ArrayLike = ORIGIN,
        orientation: ArrayLike = UPRIGHT,
        *,
        end_radius: float | None = None,
    ) -> Scene:
        """Add a capsule of `length` from centre to centre along its y axis, its middle at `position` [m].

        `end_radius`: of its +y end, if it tapers.
        """
        radii = sizes_of(name, "radius", [radius, radius if end_radius is None else end_radius], 2)
        if not 0.0 <= number(length) <= EXTENT:
            raise PosableError(f"capsule {name!r} has length {length}: expected 0 or more metres")
        return self._put(name, "capsule", radii, float(length), position, orientation)

    def ellipsoid(
        self, name: str, half_axes: ArrayLike, position: ArrayLike = ORIGIN, orientation: ArrayLike = UPRIGHT
    ) -> Scene:
        """Add an ellipsoid with these half-axes (3,) [m]."""
        return self._put(name, "ellipsoid", sizes_of(name, "half_axes", half_axes, 3), 0.0, position, orientation)

    def plane(self, name: str, position: ArrayLike = ORIGIN, normal: ArrayLike = (0.0, 1.0, 0.0)) -> Scene:
        """Add a half space: solid below the plane through `position` with the outward `normal`; a floor, a wall."""
        from ..math import between

        up = vector(name, "normal", normal, 3)
        if not np.linalg.norm(up) > 0.0:
            raise PosableError(f"plane {name!r} has normal {up.tolist()}: expected a direction")
        return self._put(name, "plane", np.zeros(0), 0.0, position, between((0.0, 1.0, 0.0), up))

    def mesh(
        self,
        name: str,
        vertices: ArrayLike,
        faces: ArrayLike,
        position: ArrayLike = ORIGIN,
        orientation: ArrayLike = UPRIGHT,
    ) -> Scene:
        """Add triangles: vertices (V, 3) [m] in the mesh's own frame, faces (T, 3). Only the surface is solid.

        Triangles without an area are dropped. Needs the extra `collision`.
        """
        from .meshes import Mesh

        return self._put_mesh(name, Mesh(name, vertices, faces), position, orientation)

    def _put_mesh(self, name: str, mesh: Mesh, position: ArrayLike = ORIGIN, orientation: ArrayLike = UPRIGHT) -> Scene:
        return self._put(name, MESH, np.zeros(0), 0.0, position, orientation, mesh)

    def move(self, name: str, position: ArrayLike | None = None, orientation: ArrayLike | None = None) -> Scene:
        """Move an obstacle; a position or orientation that is not given stays. A plane's own +y is its normal."""
        with self._lock:
            obstacle = _known(self._now.obstacles, name)
            moved = replace(
                obstacle,
                position=obstacle.position if position is None else vector(name, "position", position, 3),
                orientation=obstacle.orientation if orientation is None else unit(name, orientation),
            )
            self._now = Snapshot.of({**self._now.obstacles, name: moved})
        return self

    def remove(self, name: str) -> Scene:
        """Remove an obstacle."""
        with self._lock:
            _known(self._now.obstacles, name)
            self._now = Snapshot.of({key: obstacle for key, obstacle in self._now.obstacles.items() if key != name})
        return self

    @property
    def packed(self) -> Records:
        """(O,) rows of `OBSTACLE` in the world, read-only: all but meshes. `source` is the index in `names`."""
        return self._now.packed

    @property
    def meshes(self) -> tuple[Obstacle, ...]:
        """The meshes of this moment."""
        return self._now.meshes

    @property
    def has_meshes(self) -> bool:
        """Whether queries need `touches` besides the packed rows."""
        return bool(self._now.meshes)

    def in_frame(self, position: ArrayLike, orientation: ArrayLike) -> Records:
        """Return (..., O) the packed rows in a frame at position (..., 3) [m], orientation (..., 4)."""
        return in_frame(self._now.packed, floats(position, "position", 3), floats(orientation, "orientation", 4))

    def touches(self, volumes: Volumes, positions: Floats, orientations: Floats, margin: float = 0.0) -> bool:
        """Return whether volumes come nearer to any obstacle than `margin` [m].

        Args:
            volumes: of a body.
            positions: (J, 3) of its joints in the world [m], as `Frames.positions`.
            orientations: (J, 4).
            margin: how near; below 0: how far they may sink in (into meshes they may not).
        """
        return bool(self._contacts(volumes, positions, orientations, margin, True))

    def contacts(
        self, volumes: Volumes, positions: Floats, orientations: Floats, margin: float = 0.0
    ) -> list[tuple[str, str]]:
        """Return (obstacle, volume) names of all that come nearer to each other than `margin` [m]; see `touches`."""
        return self._contacts(volumes, positions, orientations, margin, False)

    def distance(self, volumes: Volumes, positions: Floats, orientations: Floats) -> tuple[float, str, str]:
        """Return (distance [m], obstacle, volume) of the nearest pair.

        Below zero: sunk in, see `kernels.gap`; from a mesh it is 0 then. Infinite, with empty names, without
        obstacles.
        """
        now = self._now
        best: tuple[float, str, str] = (np.inf, "", "")
        positions, orientations = _joints(volumes.packed, positions, orientations)
        names = list(now.obstacles)
        if len(now.packed) and len(volumes):
            gaps = all_gaps(volumes.packed, positions, orientations, now.packed)
            nearest = int(np.argmin(gaps))
            v, o = nearest // len(now.packed), nearest % len(now.packed)
            best = (float(gaps[v, o]), names[int(now.packed[o]["source"])], volumes.names[v])
        away, which, obstacle = _nearest_mesh(now, volumes.packed, positions, orientations)
        return (away, obstacle, volumes.names[which]) if away < best[0] else best

    def meshes_touch(self, volumes: Records, positions: Floats, orientations: Floats, margin: float = 0.0) -> bool:
        """Return whether rows of `volumes.PACKED` come nearer to a mesh than `margin` [m], for a search.

        Args:
            volumes: (V,) rows; `joint` chooses a row of the next two.
            positions: (J, 3) in the world [m], contiguous.
            orientations: (J, 4), contiguous.
            margin: how near.
        """
        meshes = (obstacle.placed_mesh for obstacle in self._now.meshes)
        return any(mesh.contacts(volumes, positions, orientations, frame, margin, True) for mesh, frame in meshes)

    def mesh_distance(self, volumes: Records, positions: Floats, orientations: Floats) -> tuple[float, int, str]:
        """Return (distance [m], volume, mesh) of the nearest, as `meshes_touch` takes them; 0 where one touches."""
        return _nearest_mesh(self._now, volumes, positions, orientations)

    def _contacts(
        self, volumes: Volumes, positions: Floats, orientations: Floats, margin: float, first: bool
    ) -> list[tuple[str, str]]:
        now = self._now
        names = list(now.obstacles)
        positions, orientations = _joints(volumes.packed, positions, orientations)
        hits = np.zeros((len(volumes), len(now.packed)), np.bool_)
        all_overlap_rows(len(volumes), volumes.packed, positions, orientations, now.packed, float(margin), hits)
        found = [(names[int(now.packed[o]["source"])], volumes.names[v]) for v, o in np.argwhere(hits)]
        if (found and first) or not now.meshes:
            return found
        for obstacle in now.meshes:
            mesh, frame = obstacle.placed_mesh
            hit = mesh.contacts(volumes.packed, positions, orientations, frame, margin, first)
            found += [(obstacle.name, volumes.names[v]) for v in hit]
            if found and first:
                break
        return found

    def _put(
        self,
        name: str,
        kind: str,
        sizes: Floats,
        length: float,
        position: ArrayLike,
        orientation: ArrayLike,
        mesh: Mesh | None = None,
    ) -> Scene:
        p, q = vector(name, "position", position, 3), unit(name, orientation)
        full = np.zeros(3)
        full[: len(sizes)] = sizes
        with self._lock:
            known = self._now.obstacles if self._waiting is None else self._waiting
            if name in known:
                raise PosableError(f"the scene has a {name!r} already; move it, or remove it first")
            added = Obstacle(name, kind, full, length, p, q, mesh)
            if self._waiting is None:
                self._now = Snapshot.of({**known, name: added})
            else:
                self._waiting[name] = added
        return self

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Take in at its end all obstacles that are added within: one by one, each packs those before it again."""
        self._waiting = dict(self._now.obstacles)
        try:
            yield
            self._now = Snapshot.of(self._waiting)
        finally:
            self._waiting = None


def _nearest_mesh(now: Snapshot, volumes: Records, positions: Floats, orientations: Floats) -> tuple[float, int, str]:
    """Return (distance [m], volume, name of the nearest mesh); infinite, -1 and "" without meshes."""
    best: tuple[float, int, str] = (np.inf, -1, "")
    for obstacle in now.meshes:
        mesh, frame = obstacle.placed_mesh
        away, which = mesh.distance(volumes, positions, orientations, frame)
        if away < best[0]:
            best = (away, which, obstacle.name)
    return best


def all_gaps(volumes: Records, positions: Floats, orientations: Floats, obstacles: Records) -> Floats:
    """Return (V, O) `kernels.gap` of every volume, carried by joints (J, 3), (J, 4), to every obstacle [m]."""
    out = np.zeros((len(volumes), len(obstacles)))
    positions, orientations = _joints(volumes, positions, orientations)
    all_gap_rows(len(volumes), volumes, positions, orientations, obstacles, out)
    return out


def _joints(volumes: Records, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
    p, q = np.ascontiguousarray(positions, dtype=np.float64), np.ascontiguousarray(orientations, dtype=np.float64)
    count = len(p) if p.ndim else 0
    if p.shape != (count, 3) or q.shape != (count, 4):
        raise ShapeError(f"positions and orientations have shapes {p.shape}, {q.shape}; expected (J, 3), (J, 4)")
    if len(volumes) and int(volumes["joint"].max()) >= count:
        raise ShapeError(f"a volume is carried by joint {int(volumes['joint'].max())}, there are {count} joints")
    return p, q


def _known(obstacles: dict[str, Obstacle], name: str) -> Obstacle:
    if name not in obstacles:
        raise UnknownNameError("obstacle", name, obstacles)
    return obstacles[name]


@dataclass(frozen=True, eq=False)
class Obstacle:
    """One named obstacle: its shape in its own frame, and the frame in the world."""

    name: str
    kind: str
    """"box", "sphere", "capsule", "plane", "ellipsoid" or "mesh"."""
    sizes: Floats
    """(3,) half sizes, half-axes or radii [m]."""
    length: float
    """Of a capsule, centre to centre, along its own y axis [m]."""
    position: Floats
    """(3,) in the world [m]."""
    orientation: Floats
    """(4,) `wxyz`."""
    mesh: Mesh | None = None

    @property
    def placed_mesh(self) -> tuple[Mesh, tuple[Floats, Floats]]:
        """The mesh, and the position (3,) [m] and orientation (4,) of its frame in the world."""
        assert self.mesh is not None
        return self.mesh, (self.position, self.orientation)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A scene at one moment."""

    obstacles: dict[str, Obstacle]
    """By name, in the order they were added."""
    packed: Records
    """(O,) rows of `OBSTACLE` in the world, read-only: all but meshes."""
    meshes: tuple[Obstacle, ...]

    @classmethod
    def of(cls, obstacles: dict[str, Obstacle]) -> Snapshot:
        """Return these obstacles as kernels and `coal` read them."""
        rows = np.zeros(sum(obstacle.kind != MESH for obstacle in obstacles.values()), OBSTACLE)
        k = 0
        for source, obstacle in enumerate(obstacles.values()):
            if obstacle.kind != MESH:
                _pack(rows[k], obstacle)
                rows[k]["source"] = source
                k += 1
        rows.flags.writeable = False
        return cls(obstacles, rows, tuple(obstacle for obstacle in obstacles.values() if obstacle.kind == MESH))


def vector(name: str, what: str, values: ArrayLike, count: int) -> Floats:
    """Return `count` numbers of an obstacle, finite and within the extent, read-only."""
    array = floats(values, f"{what} of {name!r}").copy()
    if array.shape != (count,):
        raise ShapeError(f"{what} of {name!r} has shape {array.shape}; expected ({count},)")
    finite_in_extent(array, f"{what} of {name!r}")
    array.flags.writeable = False
    return array


def sizes_of(name: str, what: str, values: ArrayLike, count: int) -> Floats:
    """Return `count` sizes above 0 [m]."""
    array = vector(name, what, values, count)
    if not (array > 0.0).all():
        raise PosableError(f"{what} of {name!r} is {array.tolist()}: expected metres above 0")
    return array


def unit(name: str, values: ArrayLike) -> Floats:
    """Return a unit quaternion (4,), read-only."""
    q = vector(name, "orientation", values, 4)
    size = float(np.linalg.norm(q))
    if not size > 1e-9:
        raise PosableError(f"orientation of {name!r} is {q.tolist()}: expected a unit quaternion, wxyz")
    rotated = q / size
    rotated.flags.writeable = False
    return rotated


def _pack(row: Any, obstacle: Obstacle) -> None:
    from ..math import rotate

    start = end = obstacle.position
    row["kind"] = KINDS.index(obstacle.kind)
    if row["kind"] == CAPSULE:
        half = rotate(obstacle.orientation, np.array([0.0, 0.5 * obstacle.length, 0.0]))
        start, end = obstacle.position - half, obstacle.position + half
    elif row["kind"] == PLANE:
        end = rotate(obstacle.orientation, np.array([0.0, 1.0, 0.0]))
    sizes = obstacle.sizes.copy()
    if row["kind"] == SPHERE:
        sizes[1] = sizes[0]
    for name, values in (("p", start), ("e", end), ("r", sizes)):
        for axis, value in zip("xyz", values, strict=True):
            row[name + axis] = value
    for axis, value in zip("wxyz", obstacle.orientation, strict=True):
        row["q" + axis] = value
    if row["kind"] == BOX:
        row["bound"] = np.linalg.norm(sizes)
    else:
        row["bound"] = 0.5 * obstacle.length + sizes.max()

"""`Obstacle`: one obstacle of a scene, and the obstacles of one moment as queries read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Records
from .kernels import BOX, CAPSULE, KINDS, OBSTACLE, PLANE, SPHERE

if TYPE_CHECKING:
    from .meshes import Mesh

MESH = "mesh"


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

    def row(self, allowed: bool) -> Floats:
        """Return (14,) of a mesh: `Mesh.row`, and 1 where hands and feet may touch it."""
        assert self.mesh is not None
        return np.append(self.mesh.row(self.position, self.orientation), float(allowed))


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
    """Return `count` finite numbers of an obstacle, read-only."""
    array = floats(values, f"{what} of {name!r}").copy()
    if array.shape != (count,):
        raise ShapeError(f"{what} of {name!r} has shape {array.shape}; expected ({count},)")
    if not np.isfinite(array).all():
        raise PosableError(f"{what} of {name!r} is {array.tolist()}: not finite")
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

"""Scenes in files: JSON that a person can read and write, meshes in OBJ files next to it.

```json
{
  "format": "posable-scene/1",
  "obstacles": [
    {"kind": "plane", "name": "floor"},
    {"kind": "box", "name": "table", "size": [1.2, 0.04, 0.8], "position": [0, 0.74, 0.6]},
    {"kind": "mesh", "name": "statue", "file": "statue.obj", "scale": 0.01}
  ]
}
```

The fields of an obstacle are the arguments of the `Scene` method of that name. A scene may come from a stranger: meshes
are read only from the folder of the file and below it, sizes and counts are bounded, and unknown fields are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
import numpy as np

from ..compute import FormatError, MissingExtraError, PosableError
from ..compute.documents import read_document, write_document
from ..compute.files import inside_folder
from ..formats.obj import read_mesh, write_mesh
from ..math import rotate
from .scene import ORIGIN, UPRIGHT, Obstacle, Scene

if TYPE_CHECKING:
    from .meshes import Mesh

FORMAT = "posable-scene/1"
MAX_BYTES = 4_000_000  # [bytes]
MAX_OBSTACLES = 2000
MAX_MESHES = 64
MAX_LENGTH = 1e9  # [m] of a mesh's vertices

Metres = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
Size = Annotated[float, msgspec.Meta(gt=0.0, le=1e6)]
Vector: TypeAlias = tuple[Metres, Metres, Metres]
Sizes: TypeAlias = tuple[Size, Size, Size]
Quaternion: TypeAlias = tuple[float, float, float, float]


class _Entry(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    position: Vector = ORIGIN


class Box(_Entry, tag="box"):
    """`Scene.box`."""

    size: Sizes
    orientation: Quaternion = UPRIGHT


class Sphere(_Entry, tag="sphere"):
    """`Scene.sphere`."""

    radius: Size


class Capsule(_Entry, tag="capsule"):
    """`Scene.capsule`."""

    radius: Size
    length: Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]
    end_radius: Size | None = None
    orientation: Quaternion = UPRIGHT


class Ellipsoid(_Entry, tag="ellipsoid"):
    """`Scene.ellipsoid`."""

    half_axes: Sizes
    orientation: Quaternion = UPRIGHT


class Plane(_Entry, tag="plane"):
    """`Scene.plane`."""

    normal: Vector = (0.0, 1.0, 0.0)


class MeshEntry(_Entry, tag="mesh"):
    """`Scene.mesh`, of the triangles in an OBJ file."""

    file: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    """Relative to the scene's file, with "/"."""
    scale: Size = 1.0
    """[m] of the file's unit."""
    orientation: Quaternion = UPRIGHT


class SceneFile(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    format: str
    obstacles: Annotated[
        list[Box | Sphere | Capsule | Ellipsoid | Plane | MeshEntry], msgspec.Meta(max_length=MAX_OBSTACLES)
    ]


def load(path: str | PathLike[str]) -> Scene:
    """Read a scene; raise an error that names the location in the file where something does not fit."""
    where = Path(path)
    content, scene = read_document(where, SceneFile, FORMAT, MAX_BYTES), Scene()
    if (meshes := sum(isinstance(entry, MeshEntry) for entry in content.obstacles)) > MAX_MESHES:
        raise FormatError(where, f"has {meshes} meshes; at most {MAX_MESHES} are read", "obstacles")
    put: dict[type, Callable[..., Scene]] = {
        Box: scene.box,
        Sphere: scene.sphere,
        Capsule: scene.capsule,
        Ellipsoid: scene.ellipsoid,
        Plane: scene.plane,
    }
    made: dict[tuple[Path, float], Mesh] = {}  # several entries may show one file
    with scene._together():
        for row, entry in enumerate(content.obstacles):
            given = msgspec.structs.asdict(entry)
            location = f"obstacles[{row}]"
            try:
                if isinstance(entry, MeshEntry):
                    file, scale = _mesh_path(where, given.pop("file"), f"{location}.file"), given.pop("scale")
                    if (file, scale) not in made:
                        made[file, scale] = _mesh(entry.name, file, scale)
                    scene._put_mesh(mesh=made[file, scale], **given)
                else:
                    put[type(entry)](**given)
            except (FormatError, MissingExtraError):
                raise
            except PosableError as error:
                raise FormatError(where, str(error), location) from None
    return scene


@np.errstate(over="ignore")  # what is infinite is refused
def _mesh(name: str, file: Path, scale: float) -> Mesh:
    from .meshes import Mesh

    vertices, faces = read_mesh(file)
    if not np.abs(vertices * scale).max() < MAX_LENGTH:
        raise FormatError(file, f"has vertices {MAX_LENGTH:g} m away and further")
    return Mesh(name, vertices * scale, faces)


def save(scene: Scene, path: str | PathLike[str]) -> None:
    """Write a scene, its meshes first, as OBJ files that are called after it; `load` gives the same back."""
    where = Path(path)
    entries = []
    for row, obstacle in enumerate(scene.obstacles):
        entry = _entry(obstacle)
        if obstacle.mesh is not None:
            entry["file"] = f"{where.stem}-{row}.obj"
            write_mesh(where.with_name(entry["file"]), obstacle.mesh.vertices, obstacle.mesh.faces)
        entries.append(entry)
    write_document(where, {"format": FORMAT, "obstacles": entries}, SceneFile)


def _entry(obstacle: Obstacle) -> dict[str, Any]:
    """Return an obstacle as it is written, without fields that have their default."""
    entry: dict[str, Any] = {"kind": obstacle.kind, "name": obstacle.name}
    if obstacle.kind == "box":
        entry["size"] = (2.0 * obstacle.sizes).tolist()
    elif obstacle.kind == "sphere":
        entry["radius"] = float(obstacle.sizes[0])
    elif obstacle.kind == "capsule":
        entry |= {"radius": float(obstacle.sizes[0]), "length": obstacle.length}
        if obstacle.sizes[1] != obstacle.sizes[0]:
            entry["end_radius"] = float(obstacle.sizes[1])
    elif obstacle.kind == "ellipsoid":
        entry["half_axes"] = obstacle.sizes.tolist()
    elif obstacle.kind == "plane":
        entry["normal"] = rotate(obstacle.orientation, (0.0, 1.0, 0.0)).tolist()
    if tuple(obstacle.position) != ORIGIN:
        entry["position"] = obstacle.position.tolist()
    if obstacle.kind not in ("sphere", "plane") and tuple(obstacle.orientation) != UPRIGHT:
        entry["orientation"] = obstacle.orientation.tolist()
    return entry


def _mesh_path(where: Path, file: str, location: str) -> Path:
    """Return the path of a mesh's file."""
    found = inside_folder(where.parent, file)
    if found is None:
        raise FormatError(where, f"is {file[:80]!r}; only files in the scene's folder or below it are read", location)
    if not found.is_file():
        raise FormatError(where, f"is {file[:80]!r}, which is no file", location)
    if found.suffix.lower() != ".obj":
        raise FormatError(where, f"is {file[:80]!r}; meshes are read from .obj files", location)
    return found

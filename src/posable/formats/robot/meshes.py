"""Meshes of robots: STL (binary and ASCII) and OBJ, looked for beside the robot's file and read when they are drawn.

A file of a robot is a stranger's: a mesh is read from the folder of that file or the one above it (`../meshes`), links
followed, and from nowhere else. What is not there, or what no reader here knows, is listed once in the robot's notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np

from ... import math as pm
from ...compute import FormatError, PosableError
from ...compute.extent import finite_in_extent
from ...compute.types import Floats, Ints
from ...skeleton import MeshFile
from .. import obj, stl
from ..obj import MAX_BYTES

SUFFIXES = (".stl", ".obj")
LISTED = 40
ABOVE = 3
"""Folders above a robot's file in which a ROS package is looked for."""


class MeshFolder:
    """The meshes beside a robot's file.

    Args:
        path: the robot's file.
    """

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self._found: dict[str, Path | None] = {}
        self._lost: dict[tuple[str, str], list[str]] = {}

    def mesh(self, name: str, transform: Transformed | None = None) -> MeshFile | None:
        """Return a mesh by the name that the robot's file has for it, or None, which the notes will list."""
        if name not in self._found:
            self._found[name] = self._look(name)
        found = self._found[name]
        if found is None:
            return None
        return MeshFile(name, TriangleReader(found, transform or Transformed()))

    def lose(self, reason: tuple[str, str], name: str) -> None:
        """Keep a mesh that is not drawn for the notes; the reason for one and for several."""
        self._lost.setdefault(reason, []).append(PurePosixPath(name.replace("\\", "/")).name)

    @property
    def notes(self) -> list[str]:
        """One note for each reason why meshes are not drawn, with their names."""
        return [f"{len(names)} {reason[len(names) > 1]}: {_listed(names)}" for reason, names in self._lost.items()]

    def _look(self, name: str) -> Path | None:
        if PurePosixPath(name).suffix.lower() not in SUFFIXES:
            known = ", ".join(SUFFIXES)
            one, several = "mesh is of a format that is", "meshes are of formats that are"
            self.lose((f"{one} not read ({known} are)", f"{several} not read ({known} are)"), name)
            return None
        home = self.folder.absolute()
        for path, allowed in self._candidates(name, home):
            try:
                if not path.is_file():  # one question, where following it takes one for every step of a long path
                    continue
                file = path.resolve()
                if not (file.is_relative_to(allowed.resolve()) and file.is_file()):
                    continue
                if file.stat().st_size > MAX_BYTES:
                    large = f"more than {MAX_BYTES // 2**20} MB"
                    self.lose((f"mesh has {large}", f"meshes have {large}"), name)
                    return None
                return file
            except (OSError, RuntimeError, ValueError):  # too long, links in a circle, a character of code zero
                continue
        self.lose(("mesh was not found", "meshes were not found"), name)
        return None

    def _candidates(self, name: str, home: Path) -> list[tuple[Path, Path]]:
        """Return paths of a mesh, each with the folder that it must be in."""
        plain = name.replace("\\", "/")
        if "://" not in plain:
            return [] if plain.startswith("/") else [(home / plain, home.parent)]
        scheme, _, rest = plain.partition("://")
        package, _, inside = rest.partition("/")
        if scheme != "package" or not inside:
            return []
        above = [home, *home.parents][: ABOVE + 1]
        found = [(folder / inside, folder) for folder in above if folder.name == package]
        return found + [(folder / package / inside, folder / package) for folder in above]


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))  # folders may have files of one name
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(name[:60] for name in names[:LISTED]) + more


@dataclass(frozen=True)
class Transformed:
    """Vertices as they come from a file to those of a shape: shifted, rotated back, then scaled."""

    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TriangleReader:
    """Read the triangles of a file, when called."""

    path: Path
    transform: Transformed

    def __call__(self) -> tuple[Floats, Ints]:
        """Return vertices (V, 3) [m] and faces (T, 3), counter-clockwise from outside."""
        vertices, faces = read_triangles(self.path)
        if self.transform == Transformed():
            return vertices, faces
        scale = np.array(self.transform.scale)
        with np.errstate(over="ignore", invalid="ignore"):  # of what is refused in the next line
            moved = pm.rotate(pm.conjugate(self.transform.rotation), vertices - self.transform.shift) * scale
        moved = finite_in_extent(np.asarray(moved), f"the vertices of {self.path.name}")
        return moved, faces[:, ::-1] if np.prod(scale) < 0.0 else faces


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, size: int) -> tuple[Floats, Ints]:
    """Read a file once, until it changes: mirrored robots use one mesh for both sides."""
    vertices, faces = (obj if path.suffix.lower() == ".obj" else stl).read_mesh(path)
    try:
        finite_in_extent(vertices, "the vertices")
    except PosableError as error:
        raise FormatError(path, str(error)) from None
    return vertices, faces


def read_triangles(path: Path) -> tuple[Floats, Ints]:
    """Return vertices (V, 3) in the unit of the file and faces (T, 3) of an STL or OBJ file."""
    try:
        about = path.stat()
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from error
    return _read(path, about.st_mtime_ns, about.st_size)

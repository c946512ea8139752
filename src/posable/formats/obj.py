"""Triangles in Wavefront OBJ files: vertices, faces and their groups, nothing else of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from ..compute import FormatError, atomic_write
from ..compute.files import read_bytes
from ..compute.types import Floats, Ints

MAX_BYTES = 64 * 2**20


def read_mesh(path: Path) -> tuple[Floats, Ints]:
    """Return (vertices (V, 3) in the file's unit, triangles (T, 3)) of a file."""
    vertices, faces, _ = read_groups(path)
    return vertices, faces


def read_groups(path: Path, max_bytes: int = MAX_BYTES) -> tuple[Floats, Ints, list[str]]:
    """Return (vertices (V, 3), triangles (T, 3), the group of each triangle); faces with more corners become fans."""
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    groups: list[str] = []
    group = ""
    for number, line in enumerate(read_bytes(path, max_bytes).decode("utf-8", "replace").splitlines(), start=1):
        words = line.split()
        try:
            if words[:1] == ["v"]:
                x, y, z = map(float, words[1:4])  # a weight or colours may follow
                vertices.append((x, y, z))
            elif words[:1] == ["g"]:
                group = words[1] if len(words) > 1 else ""
            elif words[:1] == ["f"]:
                corners = [_corner(word, len(vertices)) for word in words[1:]]
                if len(corners) < 3:
                    raise ValueError
                faces += [(corners[0], a, b) for a, b in pairwise(corners[1:])]
                groups += [group] * (len(corners) - 2)
        except ValueError:
            raise FormatError(path, f"cannot read {line[:60]!r}", f"line {number}") from None
    if not faces:
        raise FormatError(path, "has no faces")
    points = np.array(vertices, dtype=np.float64)
    if not np.isfinite(points).all():
        raise FormatError(path, "has vertices that are not finite")
    return points, np.array(faces, dtype=np.int64), groups


def write_mesh(path: Path, vertices: Floats, faces: Ints) -> None:
    """Write a mesh that `read_mesh` reads back to the last bit."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    with atomic_write(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="ascii")


def _corner(word: str, count: int) -> int:
    """Return a face's corner as an index: "7", "7/1/3", or "-1" for the last vertex so far."""
    number = int(word.split("/")[0])
    corner = number - 1 if number > 0 else count + number
    if number == 0 or not 0 <= corner < count:
        raise ValueError
    return corner

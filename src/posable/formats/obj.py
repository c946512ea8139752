"""Triangles in Wavefront OBJ files: vertices and faces, nothing else of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from ..compute import FormatError, atomic_write
from ..compute.types import Floats, Ints

MOST_BYTES = 64 * 2**20


def read_mesh(path: Path) -> tuple[Floats, Ints]:
    """(vertices (V, 3) in the file's unit, triangles (T, 3)): faces with more corners are cut into fans."""
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        words = line.split()
        try:
            if words[:1] == ["v"]:
                x, y, z = map(float, words[1:4])  # a weight or colours may follow
                vertices.append((x, y, z))
            elif words[:1] == ["f"]:
                corners = [_corner(word, len(vertices)) for word in words[1:]]
                if len(corners) < 3:
                    raise ValueError
                faces += [(corners[0], a, b) for a, b in pairwise(corners[1:])]
        except ValueError:
            raise FormatError(path, f"cannot read {line[:60]!r}", f"line {number}") from None
    if not faces:
        raise FormatError(path, "has no faces")
    points = np.array(vertices, dtype=np.float64)
    if not np.isfinite(points).all():
        raise FormatError(path, "has vertices that are not finite")
    return points, np.array(faces, dtype=np.int64)


def write_mesh(path: Path, vertices: Floats, faces: Ints) -> None:
    """Write a mesh that `read_mesh` reads back to the last bit."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    with atomic_write(path) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="ascii")


def _corner(word: str, count: int) -> int:
    """A face's corner as an index: "7", "7/1/3", or "-1" for the last vertex so far."""
    said = int(word.split("/")[0])
    corner = said - 1 if said > 0 else count + said
    if said == 0 or not 0 <= corner < count:
        raise ValueError
    return corner


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise FormatError(path, "is no file")
        if (size := path.stat().st_size) > MOST_BYTES:
            raise FormatError(path, f"has {size} bytes; at most {MOST_BYTES} are read")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FormatError(path, error.strerror or "cannot be read") from None

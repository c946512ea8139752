"""Triangles in Wavefront OBJ files: vertices, faces and their groups, nothing else of them."""

from __future__ import annotations

import io
from array import array
from pathlib import Path

import numpy as np

from ..compute import FormatError, atomic_write
from ..compute.files import read_bytes
from ..compute.types import Floats, Ints

MAX_BYTES = 64 * 2**20
MAX_NAME = 1000  # characters of a group's name


def read_mesh(path: Path) -> tuple[Floats, Ints]:
    """Return (vertices (V, 3) in the file's unit, triangles (T, 3)) of a file."""
    vertices, faces, _, _ = read_groups(path)
    return vertices, faces


def read_groups(path: Path, max_bytes: int = MAX_BYTES) -> tuple[Floats, Ints, Ints, list[str]]:
    """Return (vertices (V, 3), triangles (T, 3), the group (T,) of each triangle, the names of groups).

    Faces with more corners become fans.
    """
    vertices, faces = array("d"), array("i")  # lists of tuples would take ten times as much
    names, ends = [""], array("q")  # of groups, in order, and how many triangles there are at the end of each
    for number, line in enumerate(io.StringIO(read_bytes(path, max_bytes).decode("utf-8", "replace")), start=1):
        words = line.split()
        kind = words[0] if words else ""
        try:
            if kind == "v":
                x, y, z = map(float, words[1:4])  # a weight or colours may follow
                vertices.extend((x, y, z))
            elif kind == "g":
                ends.append(len(faces) // 3)
                names.append(words[1][:MAX_NAME] if len(words) > 1 else "")
            elif kind == "f":
                _add_fan(faces, words, len(vertices) // 3)
        except (ValueError, OverflowError):
            raise FormatError(path, f"cannot read {line[:60]!r}", f"line {number}") from None
    if not faces:
        raise FormatError(path, "has no faces")
    ends.append(len(faces) // 3)
    points = np.array(vertices).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise FormatError(path, "has vertices that are not finite")
    known = {name: code for code, name in enumerate(dict.fromkeys(names))}
    codes = np.array([known[name] for name in names])
    return (
        points,
        np.array(faces, dtype=np.int64).reshape(-1, 3),
        np.repeat(codes, np.diff(ends, prepend=0)),
        list(known),
    )


def _add_fan(faces: array[int], words: list[str], count: int) -> None:
    """Add the triangles of a face with corners `words[1:]` among `count` vertices."""
    try:
        corners = [int(word) - 1 for word in words[1:]]
    except ValueError:
        corners = [int(word.partition("/")[0]) - 1 for word in words[1:]]  # "7/1/3": texture and normal follow
    if len(corners) < 3:
        raise ValueError
    if min(corners) < 0:  # "-1" is the last vertex so far, and "0" none
        corners = [corner if corner >= 0 else count + corner + 1 for corner in corners if corner != -1]
        if len(corners) < len(words) - 1 or min(corners) < 0:
            raise ValueError
    if max(corners) >= count:
        raise ValueError
    if len(corners) == 3:
        faces.extend(corners)
        return
    fan = np.empty((len(corners) - 2, 3), np.int32)
    fan[:, 0], fan[:, 1], fan[:, 2] = corners[0], corners[1:-1], corners[2:]
    faces.frombytes(fan.tobytes())


def write_mesh(path: Path, vertices: Floats, faces: Ints) -> None:
    """Write a mesh that `read_mesh` reads back to the last bit."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    with atomic_write(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="ascii")

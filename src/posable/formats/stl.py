"""Triangles in STL files, binary and ASCII; corners at one position become one vertex."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from ..compute import FormatError
from ..compute.files import read_bytes
from ..compute.types import Floats, Ints

MAX_BYTES = 64 * 2**20
HEADER, TRIANGLE = 84, 50  # bytes
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)  # odd, to hash with


def read_mesh(path: Path) -> tuple[Floats, Ints]:
    """Return (vertices (V, 3) in the file's unit, triangles (T, 3)) of a file."""
    data = read_bytes(path, MAX_BYTES)
    count = struct.unpack_from("<I", data, HEADER - 4)[0] if len(data) >= HEADER else -1
    if len(data) == HEADER + TRIANGLE * count:
        corners = np.frombuffer(data, RECORD, count, HEADER)["corners"].reshape(-1, 3)
    elif data[:5].lower() == b"solid" and b"\0" not in data:
        corners = _ascii_corners(path, data)
    else:
        expected = f" where its header has {HEADER + TRIANGLE * count}" if count >= 0 else ""
        raise FormatError(path, f"is no STL file: it has {len(data)} bytes{expected}")
    if not len(corners):
        raise FormatError(path, "has no triangles")
    if not np.isfinite(corners).all():
        raise FormatError(path, "has vertices that are not finite")
    return _merged(np.ascontiguousarray(corners, dtype=np.float32))


def _ascii_corners(path: Path, data: bytes) -> Floats:
    """Return (3 T, 3): the three numbers after each word "vertex"."""
    words = data.split()
    at = [k for k, word in enumerate(words) if word == b"vertex"]
    try:
        numbers = [float(word) for k in at for word in words[k + 1 : k + 4]]
    except ValueError:
        raise FormatError(path, "has a vertex that is not three numbers") from None
    if len(numbers) != 3 * len(at) or len(at) % 3:
        raise FormatError(path, f"has {len(at)} vertices, which are not three numbers each and three a triangle")
    return np.array(numbers).reshape(-1, 3)


def _merged(corners: Floats) -> tuple[Floats, Ints]:
    """Return each position once, and the triangles of corners (3 T, 3); sorting hashes is faster than sorting rows."""
    corners = corners + np.float32(0.0)  # -0.0 is 0.0
    hashes = (corners.view(np.uint32).astype(np.uint64) * FACTORS).sum(axis=1, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(29)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    vertices = corners[first]
    if not np.array_equal(vertices[inverse], corners):  # two positions have one hash
        vertices, inverse = np.unique(corners, axis=0, return_inverse=True)
    return vertices.astype(np.float64), inverse.reshape(-1, 3).astype(np.int64)

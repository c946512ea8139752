"""Chosen members of NumPy archives that others wrote: also packed ones; all others, pickles among them, stay unread."""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute import FormatError

MAX_BYTES = 1 << 34
UNPACKED, TIMES = 40_000_000, 4
"""What the members may unpack to: so many bytes, and so many times the bytes of the file."""
MAX_HEADER = 10_000  # bytes of an array's description
PLAIN = "fiuUS"
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, NotImplementedError, ValueError, EOFError,
    RuntimeError, SyntaxError, TypeError, MemoryError, RecursionError,
)  # fmt: skip


def read_members(path: Path, names: Container[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that have one of the `names`, by name; the file may have any others."""
    if not path.is_file():
        raise FormatError(path, "no such file")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError(path, f"has {size} bytes; files up to {MAX_BYTES} are read")
    left = UNPACKED + TIMES * size
    found: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name not in names:
                    continue
                location = f"member {name!r}"
                if name in found or info.flag_bits & 1:
                    raise FormatError(path, "is there twice, or encrypted", location)
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise FormatError(path, "is packed in a way that NumPy does not write", location)
                left -= info.file_size
                if left < 0:
                    raise FormatError(path, f"unpacks to {info.file_size} bytes from a file of {size}", location)
                found[name] = _array(path, location, archive.read(info))
    except _BROKEN as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, f"is no archive of NumPy arrays: {error}") from error
    return found


def _array(path: Path, location: str, data: bytes) -> NDArray[Any]:
    """Return the array in a member's bytes, which must be exactly as many as its description says."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=MAX_HEADER)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file, max_header_size=MAX_HEADER)
    except Exception as error:  # NumPy evaluates the description as Python literals: many things can go wrong there
        raise FormatError(path, f"its description cannot be read: {error}", location) from error
    if dtype.hasobject:
        raise FormatError(path, "holds Python objects (a pickle), which are never read", location)
    if dtype.kind not in PLAIN or dtype.names is not None or dtype.itemsize == 0:
        raise FormatError(path, f"has numbers of kind {str(dtype)[:40]}", location)
    body = memoryview(data)[file.seek(0, io.SEEK_CUR) :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(body):
        raise FormatError(path, f"has {len(body)} bytes for an array of shape {str(shape)[:80]}", location)
    if not len(body) and any(length > 1_000_000 for length in shape):
        raise FormatError(path, f"has no numbers and shape {str(shape)[:80]}", location)
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise FormatError(path, f"has numbers of kind {dtype}", location)
    array: NDArray[Any] = np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C")
    if dtype.kind == "U":
        codes = np.frombuffer(body, np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.max(initial=0) > 0x10FFFF:
            raise FormatError(path, "has text with a code that is no character", location)
    return array

"""NumPy archives of plain arrays, read with care: what is not exactly as it should be is refused, whoever wrote it.

Members are stored, never compressed, so what a file can unpack to is bounded by its own size; nothing is unpickled;
an array must have the bytes that its description says. `numpy.load` reads these files too.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FormatError
from .files import atomic_write

MOST_DESCRIPTION = 10_000  # bytes of a member's own description
LARGE = 1 << 30  # bytes from which on a member needs the larger kind of entry

# What the standard library raises for archives that are damaged or use features nobody needs here.
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, struct.error, ValueError, OSError, EOFError, RuntimeError)


def read_archive(
    path: str | os.PathLike[str], members: Mapping[str, tuple[str, int]], most_bytes: int
) -> dict[str, NDArray[Any]]:
    """The arrays of a file; those of `members` may be missing, others may not be there.

    Args:
        path: the file.
        members: by name, what an array must be: its numbers, as NumPy writes their kind ("<f8", "|u1"; "U" is text of
            any width), and its number of axes.
        most_bytes: of the file.

    Raises:
        FormatError: naming the member and what is wrong with it. Floats that are not finite are wrong.
    """
    file = Path(path)
    if not file.is_file():
        raise FormatError(path, "no such file")
    try:
        size = file.stat().st_size
        if size > most_bytes:
            raise FormatError(path, f"has {size} bytes; files up to {most_bytes} are read")
        arrays: dict[str, NDArray[Any]] = {}
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                place = f"member {name[:40]!r}"
                if name not in members or name in arrays or info.flag_bits & 1:
                    raise FormatError(path, "is not one of ours, or there twice, or encrypted", place)
                stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
                if not stored or info.file_size > size:
                    raise FormatError(
                        path, "is compressed or larger than the file; members are stored as they are", place
                    )
                arrays[name] = _array(path, place, archive.read(info), *members[name])
        return arrays
    except _BROKEN as error:
        raise FormatError(path, f"is no archive of NumPy arrays as we write them: {error}") from error


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays; the file appears whole or not at all, and the same arrays make the same bytes."""
    with atomic_write(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            # Like numpy.savez, but with a date that does not change.
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=array.nbytes >= LARGE) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), (1, 0), False)


def _array(path: str | os.PathLike[str], place: str, data: bytes, wanted: str, axes: int) -> NDArray[Any]:
    """An array out of a member's bytes, which must be exactly as many as its description says."""
    file = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("unknown version of an array")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=MOST_DESCRIPTION)
    except Exception as error:  # NumPy evaluates the description as Python literals: many things can go wrong there
        raise FormatError(path, f"its description cannot be read: {error}", place) from error
    fits = dtype.kind == "U" if wanted == "U" else dtype == np.dtype(wanted)
    if not fits or len(shape) != axes or fortran:
        raise FormatError(
            path, f"has numbers of kind {dtype} and shape {shape}; expected {axes} axes of {wanted!r}", place
        )
    body = memoryview(data)[file.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(body):
        raise FormatError(path, f"has {len(body)} bytes for an array of shape {shape} and kind {dtype}", place)
    if dtype.itemsize == 0:  # NumPy never writes text of no width, and nothing would bound its number
        raise FormatError(path, "has text of no width", place)
    array: NDArray[Any] = np.frombuffer(body, dtype).reshape(shape).copy()
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise FormatError(path, "has numbers that are not finite", place)
    if dtype.kind == "U":
        "".join(array.ravel().tolist()).encode()  # raises a ValueError for what is no character
    return array

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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FormatError
from .files import atomic_write

MOST_DESCRIPTION = 10_000  # bytes of a member's own description
PLAIN = "biufcU"  # kinds of numbers, and text, that need no Python to be read
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

    def wanted(path: str | os.PathLike[str], name: str, place: str, data: bytes) -> NDArray[Any]:
        if name not in members:
            raise FormatError(path, "is not one of ours", place)
        array = _array(path, place, data, *members[name])
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FormatError(path, "has numbers that are not finite", place)
        return array

    return _read(path, most_bytes, wanted)


def read_any_archive(path: str | os.PathLike[str], most_bytes: int) -> dict[str, NDArray[Any]]:
    """The arrays of a file whatever their names: numbers of any plain kind, also NaN and infinite ones, or text."""
    return _read(path, most_bytes, lambda path, name, place, data: _array(path, place, data, None, None))


def _read(
    path: str | os.PathLike[str],
    most_bytes: int,
    array_of: Callable[[str | os.PathLike[str], str, str, bytes], NDArray[Any]],
) -> dict[str, NDArray[Any]]:
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
                if name in arrays or info.flag_bits & 1:
                    raise FormatError(path, "is there twice, or encrypted", place)
                stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
                if not stored or info.file_size > size:
                    raise FormatError(
                        path, "is compressed or larger than the file; members are stored as they are", place
                    )
                arrays[name] = array_of(path, name, place, archive.read(info))
        return arrays
    except _BROKEN as error:
        raise FormatError(path, f"is no archive of NumPy arrays as we write them: {error}") from error


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays; the file appears whole or not at all, and the same arrays make the same bytes."""
    with atomic_write(path) as temporary:
        _write(temporary, arrays)


def archive_bytes(arrays: Mapping[str, Any]) -> bytes:
    """What `write_archive` would write, for somebody else to write."""
    file = io.BytesIO()
    _write(file, arrays)
    return file.getvalue()


def _write(file: Path | io.BytesIO, arrays: Mapping[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            # Like numpy.savez, but with a date that does not change.
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=array.nbytes >= LARGE) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), (1, 0), False)


def _array(path: str | os.PathLike[str], place: str, data: bytes, wanted: str | None, axes: int | None) -> NDArray[Any]:
    """An array out of a member's bytes, which must be exactly as many as its description says."""
    file = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("unknown version of an array")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=MOST_DESCRIPTION)
    except Exception as error:  # NumPy evaluates the description as Python literals: many things can go wrong there
        raise FormatError(path, f"its description cannot be read: {error}", place) from error
    if wanted is None:
        fits, axes = dtype.kind in PLAIN and dtype.names is None, len(shape)
    else:
        fits = dtype.kind == "U" if wanted == "U" else dtype == np.dtype(wanted)
    if not fits or len(shape) != axes or fortran:
        told = "plain numbers or text" if wanted is None else f"{axes} axes of {wanted!r}"
        raise FormatError(path, f"has numbers of kind {dtype} and shape {shape}; expected {told}", place)
    body = memoryview(data)[file.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(body):
        raise FormatError(path, f"has {len(body)} bytes for an array of shape {shape} and kind {dtype}", place)
    if dtype.itemsize == 0:  # NumPy never writes text of no width, and nothing would bound its number
        raise FormatError(path, "has text of no width", place)
    array: NDArray[Any] = np.frombuffer(body, dtype).reshape(shape).copy()
    if dtype.kind == "U":
        "".join(array.ravel().tolist()).encode()  # raises a ValueError for what is no character
    return array

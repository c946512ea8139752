"""NumPy archives of plain arrays, read with care: what is not exactly as it should be is refused, whoever wrote it.

Members are stored, never compressed, so what a file can unpack to is bounded by its own size; nothing is unpickled;
an array must have the bytes that its description says. `numpy.load` reads these files too.
"""

from __future__ import annotations

import io
import math
import os
import struct
import sys
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .errors import FormatError
from .files import atomic_write

MAX_DESCRIPTION = 10_000  # bytes of a member's own description
MAX_EMPTY = 1_000_000  # of the axes of an array that has no numbers, those of length zero left out
MAGIC = b"\x93NUMPY\x01\x00"
PLAIN = "biufcU"  # kinds of numbers, and text, that need no Python to be read
PIECE = 1 << 20  # bytes of a member that are read at once
ZIP64_BYTES = 1 << 30  # from which on a member needs the larger kind of entry

# What the standard library raises for archives that are damaged or use features nobody needs here.
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, struct.error, ValueError, OSError, EOFError, RuntimeError)


def read_archive(
    path: str | os.PathLike[str], members: Mapping[str, tuple[str, int]], max_bytes: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; those of `members` may be missing, others may not be there.

    Args:
        path: the file.
        members: by name, the dtype of an array as NumPy writes it ("<f8", "|u1"; "U" is text of any width) and its
            number of axes.
        max_bytes: largest file that is read.

    Raises:
        FormatError: naming the member and what is wrong with it. Floats that are not finite are wrong.
    """

    def checked(path: str | os.PathLike[str], name: str, location: str, data: bytearray) -> NDArray[Any]:
        if name not in members:
            raise FormatError(path, "is not one of ours", location)
        array = _array(path, location, data, *members[name])
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FormatError(path, "has numbers that are not finite", location)
        return array

    return _read(path, max_bytes, checked)


def member_names(path: str | os.PathLike[str]) -> set[str]:
    """Return the names of the arrays in a file, without reading any; empty for a file that is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except _BROKEN:
        return set()


def read_any_archive(path: str | os.PathLike[str], max_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file whatever their names: numbers of any plain kind, also not finite ones, or text."""
    return _read(path, max_bytes, lambda path, name, location, data: _array(path, location, data, None, None))


def _read(
    path: str | os.PathLike[str],
    max_bytes: int,
    array_of: Callable[[str | os.PathLike[str], str, str, bytearray], NDArray[Any]],
) -> dict[str, NDArray[Any]]:
    file = Path(path)
    if not file.is_file():
        raise FormatError(path, "no such file")
    try:
        size = file.stat().st_size
        if size > max_bytes:
            raise FormatError(path, f"has {size} bytes; files up to {max_bytes} are read")
        arrays: dict[str, NDArray[Any]] = {}
        left = size
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                location = f"member {name[:40]!r}"
                if name in arrays or info.flag_bits & 1:
                    raise FormatError(path, "is there twice, or encrypted", location)
                stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
                left -= info.file_size  # members that lie over one another would unpack to more than the file has
                if not stored or left < 0:
                    raise FormatError(
                        path, "is compressed or larger than the file; members are stored as they are", location
                    )
                data = bytearray(info.file_size)  # the array's own memory: nothing is copied
                with archive.open(info) as member:
                    _fill(data, member)
                arrays[name] = array_of(path, name, location, data)
        return arrays
    except FormatError:
        raise
    except _BROKEN as error:
        raise FormatError(path, f"is no archive of NumPy arrays as we write them: {error}") from error


def _fill(data: bytearray, member: IO[bytes]) -> None:
    """Read a member into memory of its length, to its end, where its checksum is compared."""
    left = memoryview(data)
    while part := member.read(PIECE):
        if len(part) > len(left):
            raise EOFError("it has another length than it says")
        left[: len(part)] = part
        left = left[len(part) :]
    if left:
        raise EOFError("it has another length than it says")


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays; the file appears whole or not at all, and the same arrays make the same bytes."""
    with atomic_write(path) as temporary:
        _write(temporary, arrays)


def archive_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return the bytes that `write_archive` would write."""
    file = io.BytesIO()
    _write(file, arrays)
    return file.getvalue()


def _write(file: Path | io.BytesIO, arrays: Mapping[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            if array.flags.f_contiguous:  # columns first, where rows are expected; parts of arrays are not copied
                array = np.asarray(array, order="C")
            # Like numpy.savez, but with a date that does not change.
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=array.nbytes >= ZIP64_BYTES) as member:
                np.lib.format.write_array(member, array, (1, 0), False)


@lru_cache(maxsize=256)
def _described(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return (shape, whether columns come first, dtype) of a member's description; many members have the same one."""
    return np.lib.format.read_array_header_1_0(io.BytesIO(header), max_header_size=MAX_DESCRIPTION)


def _array(
    path: str | os.PathLike[str], location: str, data: bytearray, kind: str | None, axes: int | None
) -> NDArray[Any]:
    """Return the array in a member's bytes, which must be exactly as many as its description says."""
    try:
        if data[:8] != MAGIC:
            raise ValueError("it is no array of version 1.0")
        start = 10 + int.from_bytes(data[8:10], "little")
        shape, fortran, dtype = _described(bytes(data[8:start]))
    except Exception as error:  # NumPy evaluates the description as Python literals: many things can go wrong there
        raise FormatError(path, f"its description cannot be read: {error}", location) from error
    if kind is None:
        fits, axes = dtype.kind in PLAIN and dtype.names is None, len(shape)
    else:
        fits = dtype.kind == "U" if kind == "U" else dtype == np.dtype(kind)
    if not fits or len(shape) != axes or fortran:
        expected = "plain numbers or text" if kind is None else f"{axes} axes of {kind!r}"
        raise FormatError(
            path, f"has numbers of kind {str(dtype)[:40]}, shape {str(shape)[:80]}; expected {expected}", location
        )
    body = memoryview(data)[start:]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(body):
        raise FormatError(path, f"has {len(body)} bytes for an array of shape {shape} and kind {dtype}", location)
    # Of an array without numbers, the other axes may be of any length, and cost memory further on.
    if not len(body) and math.prod(length for length in shape if length) > MAX_EMPTY:
        raise FormatError(path, f"has no numbers and shape {str(shape)[:80]}", location)
    if dtype.itemsize == 0:  # NumPy never writes text of no width, and nothing would bound its number
        raise FormatError(path, "has text of no width", location)
    array: NDArray[Any] = np.frombuffer(body, dtype).reshape(shape)
    if not array.flags.aligned:  # a description of another length than NumPy writes
        array = array.copy()
    if dtype.kind == "U":
        codes = np.frombuffer(body, np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise FormatError(path, "has text with a code that is no character", location)
        "".join(array.ravel().tolist()).encode()  # raises a ValueError for what is no character
    return array

"""The records of an FBX file: a name, values, and records below it; here the binary form, `text` has the other.

A binary file is read where it is needed: a record knows the bytes that hold its values and those below it, which are
taken apart when somebody looks. So a stranger's depth of nesting costs nothing, and what nobody needs (pictures,
constraints, other programs' settings) stays bytes. Arrays may be packed (zlib): each says its length first, and is
unpacked to that length and no further, on the budget of the file.

Layout: 27 bytes of header with the version; a record has its end, the count and the bytes of its values (32 bits each,
64 from version 7.5 on), a name, the values, then the records below it, and a record of zeros behind those.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...compute import FormatError

MAGIC = b"Kaydara FBX Binary  \x00"
FREE_BYTES = 100_000_000  # of memory that reading any file may take, however small it is
PER_BYTE = 32  # and this many for each byte of it
RECORD, VALUE, LOOK = 1000, 100, 100  # bytes that count for a record, a value, and a connection looked at
SCALARS = {"C": "<b", "B": "<b", "Z": "<b", "Y": "<h", "I": "<i", "L": "<q", "F": "<f", "D": "<d"}
ARRAYS = {"b": "<i1", "c": "<u1", "i": "<i4", "l": "<i8", "f": "<f4", "d": "<f8"}
TEXTS = b"SR"


@dataclass(eq=False)
class Source:
    """The file that records are from, and the memory that may still be taken for it."""

    path: Path
    data: bytes
    spent: int = 0
    arrays: dict[Any, NDArray[Any]] = field(default_factory=dict)
    """Arrays by their packed bytes: hundreds of curves share the times of their keys."""

    def __repr__(self) -> str:
        return f"Source({str(self.path)!r}, {len(self.data)} bytes)"

    def fail(self, message: str, where: str) -> NoReturn:
        """Raise the error for a place in the file."""
        raise FormatError(self.path, message, where)

    def take(self, count: int, where: str) -> None:
        """Count bytes before they are allocated; more than the file's size warrants is an error."""
        self.spent += count
        if self.spent > FREE_BYTES + PER_BYTE * len(self.data):
            self.fail("asks for more memory than its size warrants", where)


@dataclass(frozen=True, slots=True)
class Packed:
    """An array as it lies in the file: its type, length, whether it is packed, and its bytes."""

    kind: str
    length: int
    packed: bool
    start: int
    size: int


class Record:
    """A record: `name`, `values` (numbers, bytes, arrays that are unpacked by `array`), `records` below it."""

    name: str
    values: list[Any]
    records: list[Record]
    source: Source
    where: str

    def fail(self, message: str) -> NoReturn:
        """Raise the error for this record."""
        self.source.fail(message, self.where)

    def first(self, name: str) -> Record | None:
        """The first record of a name below this one."""
        return next((one for one in self.records if one.name == name), None)

    def all(self, name: str) -> list[Record]:
        """All records of a name below this one."""
        return [one for one in self.records if one.name == name]

    def integer(self, at: int, default: int = 0) -> int:
        """A value as a whole number."""
        value = self.values[at] if at < len(self.values) else default
        if isinstance(value, float) and abs(value) < 2**62:
            value = int(value)
        return value if isinstance(value, int) else default

    def number(self, at: int) -> float | None:
        """A value as a finite number; None where it is none."""
        value = self.values[at] if at < len(self.values) else None
        return float(value) if isinstance(value, int | float) and np.isfinite(value) else None

    def text(self, at: int) -> str:
        """A value as text; empty where it is none."""
        value = self.values[at] if at < len(self.values) else b""
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""

    def array(self, kinds: str) -> NDArray[Any]:
        """The array that is the first value.

        Args:
            kinds: "d" numbers, "l" whole numbers, "f" floats that text may have as their bits.
        """
        raise NotImplementedError

    def array_of(self, name: str, kinds: str) -> NDArray[Any] | None:
        """The array in the first record of a name below this one; None where there is none."""
        one = self.first(name)
        return None if one is None else one.array(kinds)


class BinaryRecord(Record):
    """A record of a binary file; its values and the records below it are taken apart when they are needed."""

    def __init__(self, source: Source, name: str, at: tuple[int, int, int, int], wide: bool, where: str) -> None:
        self.source, self.name, self.where = source, name, where
        self._first, self._count, self._after, self._end = at
        self._wide = wide

    @cached_property
    def values(self) -> list[Any]:  # type: ignore[override]
        """The values of the record itself."""
        source, at = self.source, self._first
        source.take(VALUE * self._count, self.where)
        found = []
        for _ in range(self._count):
            value, at = self._value(at)
            found.append(value)
        return found

    def _value(self, at: int) -> tuple[Any, int]:
        data, end = self.source.data, self._after
        if at >= end:
            self.fail(f"has {self._count} values, which end before")
        kind, at = chr(data[at]), at + 1
        if kind in SCALARS:
            size = struct.calcsize(SCALARS[kind])
            if at + size > end:
                self.fail("ends within a number")
            return struct.unpack_from(SCALARS[kind], data, at)[0], at + size
        if ord(kind) in TEXTS:
            (size,) = self._words("<I", at, end)
            if at + 4 + size > end:
                self.fail(f"has a text of {size} bytes, and {end - at - 4} are left")
            return data[at + 4 : at + 4 + size], at + 4 + size
        if kind in ARRAYS:
            length, packed, size = self._words("<III", at, end)
            if at + 12 + size > end or packed > 1:
                self.fail(f"has an array of {size} bytes, and {end - at - 12} are left")
            return Packed(kind, length, bool(packed), at + 12, size), at + 12 + size
        return self.fail(f"has a value of type {kind!r}")

    def _words(self, form: str, at: int, end: int) -> tuple[int, ...]:
        if at + struct.calcsize(form) > end:
            self.fail("ends within a value")
        return struct.unpack_from(form, self.source.data, at)

    @cached_property
    def records(self) -> list[Record]:  # type: ignore[override]
        """The records below this one."""
        return read_records(self.source, self._after, self._end, self._wide, self.where)

    def array(self, kinds: str) -> NDArray[Any]:
        """Unpack the array; older programs write many values in its place."""
        value = self.values[0] if self.values else None
        if not isinstance(value, Packed):
            return _of_values(self, kinds)
        source = self.source
        raw = memoryview(source.data)[value.start : value.start + value.size]
        key = (value.kind, kinds, value.length, bytes(raw) if value.size < 4096 else hash(bytes(raw)), value.size)
        if key not in source.arrays:
            source.arrays[key] = self._unpacked(value, raw, kinds)
        return source.arrays[key]

    def _unpacked(self, value: Packed, raw: memoryview, kinds: str) -> NDArray[Any]:
        kind = np.dtype(ARRAYS[value.kind])
        size = value.length * kind.itemsize
        if not value.packed and size != value.size:
            self.fail(f"says it has {value.length} numbers in {value.size} bytes")
        self.source.take(2 * size, self.where)
        if value.packed:
            unpacking = zlib.decompressobj()
            try:
                raw = memoryview(unpacking.decompress(raw, size) if size else b"")
            except zlib.error as error:
                self.fail(f"cannot be unpacked: {error}")
            if len(raw) != size:
                self.fail(f"unpacks to {len(raw)} bytes; expected {size}")
        return _checked(self, np.frombuffer(raw, kind), kinds)


def _of_values(record: Record, kinds: str) -> NDArray[Any]:
    """Return the numbers of a record as an array."""
    record.source.take(16 * len(record.values), record.where)
    if not all(isinstance(value, int | float) for value in record.values):
        record.fail("is no array of numbers")
    try:
        return _checked(record, np.array(record.values, dtype=np.int64 if kinds == "l" else np.float64), kinds)
    except (OverflowError, ValueError):
        record.fail("is no array of whole numbers")


def _checked(record: Record, numbers: NDArray[Any], kinds: str) -> NDArray[Any]:
    """Return numbers as they were stored, where they are of the kind that is needed: floats "d", whole ones "l"."""
    if kinds == "l" and numbers.dtype.kind == "f":
        record.fail("holds fractions; expected whole numbers")
    return numbers


def place(within: str, name: str) -> str:
    """Return where a record is, by the names of those that hold it: the last letters of them."""
    return f"{within}.{name[:60]}"[-120:] if within else name[:60]


def read_binary(source: Source) -> tuple[int, Record]:
    """The version of a binary file, and a record without a name that holds all others."""
    data = source.data
    if len(data) < 27:
        source.fail(f"has {len(data)} bytes; its header alone has 27", "byte 0")
    (version,) = struct.unpack_from("<I", data, 23)
    if data[22] == 1:
        source.fail("is written for processors with the high byte first; save it again as binary FBX", "byte 22")
    return version, BinaryRecord(source, "", (27, 0, 27, len(data)), version >= 7500, "")


def read_records(source: Source, at: int, end: int, wide: bool, within: str) -> list[Record]:
    """The records between two places; a record of zeros ends them."""
    form = "<QQQB" if wide else "<IIIB"
    head = struct.calcsize(form)
    found: list[Record] = []
    while at + head <= end:
        last, count, size, letters = struct.unpack_from(form, source.data, at)
        if last == 0:
            break
        first = at + head + letters
        name = source.data[at + head : first].decode("utf-8", "replace")
        where = place(within, name)
        if first + size > last or last > end:
            source.fail(f"ends at byte {last}, and what holds it at byte {end}", f"{where} (byte {at})")
        source.take(RECORD, where)
        found.append(BinaryRecord(source, name, (first, count, first + size, last), wide, where))
        at = last
    return found

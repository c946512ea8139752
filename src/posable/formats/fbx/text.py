"""The records of an FBX file written as text (ASCII).

`Name: value, value { records }`, with texts in quotation marks, `*12 { a: 1,2,3 }` for arrays, and comments from `;` to
the end of the line. Slopes of curves are often written as the whole numbers that have their bits. Read with one regular
expression over the bytes, without recursion.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .records import RECORD, VALUE, Record, Source, _checked, _of_values, place

DEEPEST = 64  # records below one another
TOKEN = re.compile(
    rb"""[\s,]+|;[^\n]*|"(?P<text>[^"]*)"|(?P<name>[A-Za-z_][\w|.-]*)\s*:(?!:)|(?P<open>\{)|(?P<close>\})"""
    rb"""|\*(?P<array>\d+)\s*\{\s*a\s*:|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\#?\w*)"""
    rb"""|(?P<word>[^\s,{}"]+)"""
)
COMMENT = re.compile(rb";[^\n]*")
ESCAPES = ((b"&quot;", b'"'), (b"&cr;", b"\r"), (b"&lf;", b"\n"))


class TextRecord(Record):
    """A record of a file that is text."""

    def __init__(self, source: Source, name: str, where: str) -> None:
        self.source, self.name, self.where = source, name, where
        self.values, self.records = [], []

    def array(self, kinds: str) -> NDArray[Any]:
        """The numbers of the array, or the values where older programs wrote those."""
        value = self.values[0] if self.values else None
        if not isinstance(value, _Span):
            return _of_values(self, kinds)
        key = (value.start, value.end, kinds)
        if key not in self.source.arrays:
            self.source.take(24 * min(value.length, value.end - value.start), self.where)
            made = self._numbers(self.source.data[value.start : value.end], kinds) if value.length else np.empty(0)
            if len(made) != value.length:
                self.fail(f"says it has {value.length} numbers and has {len(made)}")
            self.source.arrays[key] = _checked(self, made, kinds)
        return self.source.arrays[key]

    def _numbers(self, text: bytes, kinds: str) -> NDArray[Any]:
        words = COMMENT.sub(b"", text).split(b",")
        try:
            if kinds == "f" and not any(mark in text for mark in b".eEn#"):
                bits = np.array([int(word) & 0xFFFFFFFF for word in words], dtype=np.uint64).astype(np.uint32)
                return bits.view(np.float32)
            if kinds == "l":
                return np.array([int(word) for word in words], dtype=np.int64)
            return np.array([float(word) for word in words], dtype=np.float64)
        except (ValueError, OverflowError):
            self.fail("is no array of numbers")


class _Span:
    """Where the numbers of an array stand, and how many there are said to be."""

    __slots__ = ("end", "length", "start")

    def __init__(self, length: int, start: int, end: int) -> None:
        self.length, self.start, self.end = length, start, end


def read_text(source: Source) -> tuple[int, Record]:
    """The version of a file that is text, and a record without a name that holds all others."""
    root = TextRecord(source, "", "")
    open_records: list[TextRecord] = [root]
    current: TextRecord = root  # that values belong to
    at, data = 0, source.data
    while at < len(data):
        match = TOKEN.match(data, at)
        if match is None:
            source.fail(f"cannot read {data[at : at + 20]!r}", _line(data, at))
        kind, at = match.lastgroup, match.end()
        if kind is None:
            continue
        if kind == "name":
            within = open_records[-1]
            name = match["name"].decode("ascii")
            current = TextRecord(source, name, place(within.where, name))
            source.take(RECORD, current.where)
            within.records.append(current)
        elif kind == "open":
            if current is open_records[-1] or len(open_records) > DEEPEST:
                source.fail("has a brace where none can be", _line(data, match.start()))
            open_records.append(current)
        elif kind == "close":
            if len(open_records) == 1:
                source.fail("closes a brace that was not opened", _line(data, match.start()))
            open_records.pop()
            current = open_records[-1]
        elif kind == "array":
            end = data.find(b"}", at)
            if end < 0:
                source.fail("has an array without an end: it is cut short", _line(data, match.start()))
            source.take(VALUE, current.where)
            current.values.append(_Span(int(match["array"][:18]), at, end))
            at = end + 1
        else:
            _add_value(current, kind, match, source)
    if len(open_records) > 1:
        source.fail(f"ends within {open_records[-1].where}: it is cut short", _line(data, len(data)))
    header = root.first("FBXHeaderExtension")
    version = header.first("FBXVersion") if header else None
    return (version.integer(0) if version else 0), root


def _add_value(record: TextRecord, kind: str, match: re.Match[bytes], source: Source) -> None:
    source.take(2 * VALUE + (len(match[0]) if kind == "text" else 0), record.where)
    if kind == "text":
        text = match["text"]
        for escape, plain in ESCAPES:
            text = text.replace(escape, plain)
        record.values.append(text)
    else:
        record.values.append(_number(match[0]))


def _number(word: bytes) -> Any:
    try:
        return int(word[:30])
    except ValueError:
        pass
    try:
        return float(word[:60])
    except ValueError:
        return word[:60]


def _line(data: bytes, at: int) -> str:
    return f"line {data.count(10, 0, at) + 1}"

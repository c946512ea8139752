"""Captures, `.osc`: every packet that came, when it came, and when bodies were sent, so that a replay sends the same.

A line of JSON says what it is; then records follow, each with a kind (one byte), the number of the source (one byte),
the time since the beginning (8 bytes, float), the number of bytes that follow (4 bytes) and these. Kinds: `P` a packet,
`T` a moment at which a body was sent (`T` with the byte `c` by the clock, `p` with a packet), `C` JSON: a command, a
calibration, or the number of whoever sends the packets of the record's source from here on. Numbers are big-endian. A
capture is written aside and gets its name when it ends.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ..compute import FormatError, PosableError
from ..compute.files import atomic_write
from .osc import LARGEST

FORMAT = "posable-capture/1"
SUFFIX = ".osc"
PACKET, SENT, COMMAND = b"P", b"T", b"C"
MAX_HEAD = 1 << 16
MAX_SOURCES = 64
LARGEST_COMMAND = 1 << 20
LARGEST_FILE = 1 << 33
LONGEST = 1e9  # [s]
_RECORD = struct.Struct(">cBdI")


class Record(NamedTuple):
    """Something that happened."""

    kind: bytes
    """`PACKET`, `SENT` or `COMMAND`."""
    source: int
    time: float
    """[s] since the beginning."""
    content: bytes


class Head(msgspec.Struct):
    """The first line of a capture."""

    format: str
    sources: list[str]
    """Of each source, what its packets are: "osc" or "lines"."""
    rate: float
    """[1/s] at which bodies were sent."""


class CaptureWriter:
    """Writes a capture; `close` ends it.

    Args:
        path: of the file, which appears when the capture ends.
        sources: what the packets of each source are.
        rate: [1/s] at which bodies are sent.
    """

    def __init__(self, path: str | os.PathLike[str], sources: list[str], rate: float) -> None:
        self.path = Path(path)
        self.bytes = 0
        """Written so far."""
        self._stack = ExitStack()
        temporary = self._stack.enter_context(atomic_write(self.path))
        self._file: BinaryIO = self._stack.enter_context(temporary.open("wb"))
        self._file.write(msgspec.json.encode(Head(FORMAT, sources, rate)) + b"\n")

    def write(self, kind: bytes, source: int, time: float, content: bytes) -> None:
        """Add a record; `time` [s] since the beginning."""
        if self.bytes < LARGEST_FILE:
            self._file.write(_RECORD.pack(kind, source, time, len(content)) + content)
            self.bytes += _RECORD.size + len(content)

    def close(self) -> None:
        """End the capture: the file is there."""
        self._stack.close()

    def discard(self) -> None:
        """End without a file: what was there before stays."""
        discard(self._stack)


class CaptureReader:
    """Reads a capture record by record.

    Args:
        path: of the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():  # a pipe would be waited for
            raise FormatError(self.path, "is not a regular file")
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            raise FormatError(self.path, f"cannot be read: {error.strerror}") from None
        line = self._file.readline(MAX_HEAD)
        try:
            self.head = msgspec.json.decode(line, type=Head)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self._file.close()
            raise FormatError(self.path, f"is no capture; expected one that begins with {FORMAT!r}") from None
        kinds = set(self.head.sources) - {"osc", "lines"}
        if self.head.format != FORMAT or kinds or len(self.head.sources) > MAX_SOURCES:
            self._file.close()
            raise FormatError(
                self.path,
                f"is {self.head.format[:60]!r} with {kinds or 'too many sources'}; "
                f"expected {FORMAT!r} with sources 'osc' and 'lines'",
            )

    def __iter__(self) -> Iterator[Record]:
        """Yield the records in their order. One that was cut off at the end of the file is an error."""
        number = 0
        with self._file as file:
            while head := file.read(_RECORD.size):
                number += 1
                if len(head) < _RECORD.size:
                    raise FormatError(self.path, "ends in the middle of a record", f"record {number}")
                kind, source, time, size = _RECORD.unpack(head)
                most = LARGEST_COMMAND if kind == COMMAND else LARGEST
                if kind not in (PACKET, SENT, COMMAND) or size > most or not 0.0 <= time < LONGEST:
                    raise FormatError(self.path, "is damaged", f"record {number}")
                if kind == PACKET and source >= len(self.head.sources):
                    raise FormatError(self.path, f"has a packet of source {source}", f"record {number}")
                content = file.read(size)
                if len(content) < size:
                    raise FormatError(self.path, "ends in the middle of a record", f"record {number}")
                yield Record(kind, source, time, content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def discard(stack: ExitStack) -> None:
    """Leave a stack in which `atomic_write` is, without a file: what was there before stays."""
    with suppress(OSError):  # what was not yet written may fit nowhere
        stack.__exit__(PosableError, PosableError("given up"), None)


def command(**content: Any) -> bytes:
    """Return the content of a command."""
    return msgspec.json.encode(content)


def read_command(content: bytes, path: Path) -> dict[str, Any]:
    """Return what `command` made."""
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise FormatError(path, "has a command that is no JSON object") from None


__all__ = ["CaptureReader", "CaptureWriter", "Head", "Record", "command", "read_command"]

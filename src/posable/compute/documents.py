"""Documents of our own: JSON that a person can read and edit. What is wrong in one is told with its place."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .errors import FormatError, PosableError
from .files import atomic_write

T = TypeVar("T")
MALFORMED = "JSON is malformed: "


def read_document(path: str | PathLike[str], kind: type[T], form: str, largest: int) -> T:
    """The document in a file, as the struct `kind` describes it.

    Args:
        path: of the file.
        kind: a `msgspec.Struct` with a field `format`.
        form: what that field must say: "posable-scene/1".
        largest: files with more bytes are refused unread.
    """
    content = read_json(path, kind, largest, f'a JSON object with "format": "{form}"')
    said = getattr(content, "format", None)
    if said != form:
        raise FormatError(path, f"is {said!r}; expected {form!r}", "format")
    return content


def read_json(path: str | PathLike[str], kind: type[T], largest: int, expected: str) -> T:
    """What is in a JSON file, as `kind` describes it.

    Args:
        path: of the file.
        kind: any type that `msgspec` knows.
        largest: files with more bytes are refused unread.
        expected: what the file should have been, for people who gave another one: "a JSON list of targets".
    """
    where = Path(path)
    try:
        size = where.stat().st_size
        if size > largest:
            raise FormatError(where, f"has {size} bytes; at most {largest} are read")
        content = where.read_bytes() if size else b""  # a device says 0 and never ends
    except OSError as error:
        raise FormatError(where, error.strerror or "cannot be read") from None
    return decode_json(where, content, kind, expected)


def decode_json(path: str | PathLike[str], content: bytes, kind: type[T], expected: str) -> T:
    """JSON as `kind` describes it; what is wrong is told of `path`, as by `read_json`."""
    text = content.removeprefix(codecs.BOM_UTF8)  # which some editors of text put there
    if not text.strip():
        raise FormatError(path, f"is empty; expected {expected}")
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        why = message if place else f"{message}; expected {expected}"
        raise FormatError(path, why, place.strip("`.") or None) from None
    except RecursionError:
        raise FormatError(path, f"is nested too deeply; expected {expected}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = "ends too early" if "truncated" in str(error) else f"is no JSON ({str(error).removeprefix(MALFORMED)})"
        raise FormatError(path, f"{why}; expected {expected}") from None


def write_document(path: str | PathLike[str], document: Mapping[str, Any], kind: type[Any]) -> None:
    """Write a document, whole or not at all; one that could not be read back as `kind` is refused."""
    text = _indented(dict(document)) + "\n"
    try:
        msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise PosableError(f"this could not be read back: {error}") from None
    with atomic_write(Path(path)) as beside:
        beside.write_text(text, encoding="utf-8")


def _indented(value: Any, depth: int = 0) -> str:
    """JSON with one number list a line: a person reads postures and places, not columns of digits."""
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(key)}: {_indented(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{outer}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(inner + _indented(item, depth + 1) for item in value) + f"\n{outer}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise PosableError(f"{value} cannot be written")
    return json.dumps(value)

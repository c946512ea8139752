"""Documents of our own: JSON that a person can read and edit. Errors name the member of the document."""

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
from .files import atomic_write, read_bytes

T = TypeVar("T")
MALFORMED = "JSON is malformed: "


def read_document(path: str | PathLike[str], kind: type[T], form: str, max_bytes: int) -> T:
    """Return the document in a file, as the struct `kind` describes it.

    Args:
        path: of the file.
        kind: a `msgspec.Struct` with a field `format`.
        form: what that field must say: "posable-scene/1".
        max_bytes: files with more bytes are refused unread.
    """
    content = read_json(path, kind, max_bytes, f'a JSON object with "format": "{form}"')
    said = getattr(content, "format", None)
    if said != form:
        raise FormatError(path, f"is {said!r}; expected {form!r}", "format")
    return content


def read_json(path: str | PathLike[str], kind: type[T], max_bytes: int, expected: str) -> T:
    """Return the content of a JSON file, as `kind` describes it.

    Args:
        path: of the file.
        kind: any type that `msgspec` knows.
        max_bytes: files with more bytes are refused unread.
        expected: what the file should have been, for people who gave another one: "a JSON list of targets".
    """
    return decode_json(path, read_bytes(path, max_bytes), kind, expected)


def decode_json(path: str | PathLike[str], content: bytes, kind: type[T], expected: str) -> T:
    """Return JSON as `kind` describes it; errors name `path`, as those of `read_json` do."""
    text = content.removeprefix(codecs.BOM_UTF8)  # which some editors of text put there
    if not text.strip():
        raise FormatError(path, f"is empty; expected {expected}")
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        message, _, location = str(error).partition(" - at `$")
        why = message if location else f"{message}; expected {expected}"
        raise FormatError(path, why, location.strip("`.") or None) from None
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
    with atomic_write(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _indented(value: Any, depth: int = 0) -> str:
    """Return JSON with one list of numbers a line: a person reads postures and positions, not columns of digits."""
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(key)}: {_indented(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{outer}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(inner + _indented(item, depth + 1) for item in value) + f"\n{outer}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise PosableError(f"{value} cannot be written")
    return json.dumps(value)

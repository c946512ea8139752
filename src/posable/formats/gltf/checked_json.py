"""Typed look-ups in a JSON document whose errors name the member: `accessors[3].count`.

A glTF file comes from anywhere, so nothing in it is trusted: each value is read with its type and its range,
and what does not fit is one `FormatError`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...compute import FormatError
from ...compute.types import Floats

REQUIRED: Any = object()
MAX_VALUES = 10_000_000  # in one document: each takes some sixty bytes once parsed
FREE_CONTAINERS = 250_000  # objects and arrays in any document: each takes some two hundred bytes once parsed
BYTES_A_CONTAINER = 10  # of text, for more of them


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object somewhere in a document: its value, the file it is in and the path of keys to it."""

    path: Path
    value: dict[str, Any]
    where: str = ""

    def fail(self, message: str, key: str | None = None) -> NoReturn:
        """Raise the error for this object, or for its member `key`."""
        raise FormatError(self.path, message, self._name(key) if key else self.where or None)

    def has(self, key: str) -> bool:
        """Whether the member is there."""
        return self.value.get(key) is not None

    def object(self, key: str) -> JsonObject:
        """The object under a key; an empty one where the key is absent."""
        return self._object(self.value.get(key, {}), self._name(key))

    def items(self, key: str) -> list[JsonObject]:
        """The objects of the array under a key; none where the key is absent."""
        name = self._name(key)
        return [self._object(value, f"{name}[{i}]") for i, value in enumerate(self._array(key))]

    def item(self, key: str, index: int) -> JsonObject:
        """One object of the array under a key; a list of all, made again for each, would be quadratic."""
        return self._object(self._array(key)[index], f"{self._name(key)}[{index}]")

    def members(self) -> Iterator[tuple[str, JsonObject]]:
        """The members of this object that are objects themselves."""
        for key in self.value:
            if isinstance(self.value[key], dict):
                yield key, self.object(key)

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            self.fail(f"is {_shown(value)}; expected a string", key)
        return value

    def flag(self, key: str) -> bool:
        """A boolean; false where the key is absent."""
        value = self.value.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"is {_shown(value)}; expected true or false", key)
        return value

    def integer(self, key: str, low: int = 0, high: int = 2**53, default: int = REQUIRED) -> int:
        """A whole number from `low` to `high`, both included."""
        value = self.value.get(key)
        if value is None:
            if default is REQUIRED:
                self.fail("is missing", key)
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # some exporters write 12.0
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(f"is {_shown(value)}; expected a whole number from {low} to {high}", key)
        return value

    def index(self, key: str, size: int, of: str) -> int | None:
        """An index into the document's array `of`, which has `size` members; None where the key is absent."""
        return self._index(self.value[key], size, of, self._name(key)) if self.has(key) else None

    def indices(self, key: str, size: int, of: str) -> list[int]:
        """The indices, into the document's array `of`, that the array under a key holds."""
        values = self._array(key)
        for i, value in enumerate(values):
            if type(value) is not int or not 0 <= value < size:  # a boolean is an int to isinstance
                self._index(value, size, of, f"{self._name(key)}[{i}]")
        return list(values)

    def number(self, key: str, default: float = REQUIRED) -> float:
        """A finite number."""
        if not self.has(key) and default is not REQUIRED:
            return default
        value = self.value.get(key)
        if not _is_number(value):
            self.fail(f"is {_shown(value)}; expected a finite number", key)
        return float(value)  # type: ignore[arg-type]

    def numbers(self, key: str, count: int, default: tuple[float, ...]) -> Floats:
        """An array of `count` finite numbers."""
        if not self.has(key):
            return np.array(default, dtype=np.float64)
        values = self._array(key)
        if len(values) != count:
            self.fail(f"has {len(values)} numbers; expected {count}", key)
        for i, value in enumerate(values):
            if not _is_number(value):
                raise FormatError(self.path, f"is {_shown(value)}; expected a finite number", f"{self._name(key)}[{i}]")
        return np.array(values, dtype=np.float64)

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def _array(self, key: str) -> list[Any]:
        value = self.value.get(key, [])
        if not isinstance(value, list):
            self.fail(f"is {_shown(value)}; expected an array", key)
        return value

    def _object(self, value: Any, where: str) -> JsonObject:
        if not isinstance(value, dict):
            raise FormatError(self.path, f"is {_shown(value)}; expected an object", where)
        return JsonObject(self.path, value, where)

    def _index(self, value: Any, size: int, of: str, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
            raise FormatError(self.path, f"is {_shown(value)}; the file has {size} {of}", where)
        return value


def parse_json(path: Path, text: bytes) -> dict[str, Any]:
    """Parse a JSON object; NaN, infinities, absurd depth and broken text are errors."""
    marks = text.count(b",") + text.count(b"[") + text.count(b"{")
    if marks > MAX_VALUES:
        raise FormatError(path, f"its JSON text has {marks} values; at most {MAX_VALUES} are read")

    containers = text.count(b"[") + text.count(b"{")
    if containers > FREE_CONTAINERS + len(text) // BYTES_A_CONTAINER:
        raise FormatError(path, f"its JSON text has {containers} objects and arrays in {len(text)} bytes: too many")

    def refuse(constant: str) -> NoReturn:
        raise FormatError(path, f"the JSON text holds {constant}, which is no JSON number")

    try:
        document = json.loads(text.decode("utf-8-sig"), parse_constant=refuse)
    except FormatError:
        raise
    except UnicodeDecodeError as error:
        raise FormatError(path, "the JSON text is not UTF-8", f"byte {error.start} of the JSON") from None
    except json.JSONDecodeError as error:
        location = f"line {error.lineno} column {error.colno} of the JSON"
        raise FormatError(path, f"broken JSON: {error.msg}", location) from None
    except RecursionError:
        raise FormatError(path, "the JSON text is nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise FormatError(path, f"broken JSON: {str(error)[:100]}") from None
    if not isinstance(document, dict):
        raise FormatError(path, f"the JSON text is {_shown(document)}; expected an object")
    return document


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer beyond float64
        return False


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if value is None:
        return "missing"
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        return "a huge number"
    return text if len(text) <= 60 else f"{text[:57]}..."

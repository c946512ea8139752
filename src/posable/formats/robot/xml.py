"""XML of robots: elements with their line in the file, read by the standard library's expat.

Any document type is refused, so no entity can fill memory or name another file; sizes are bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from ...compute import FormatError
from ...compute.files import read_bytes
from ...compute.types import Floats

MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 200_000
MAX_DEPTH = 500


@dataclass(eq=False)
class Element:
    """An XML element: its tag, attributes, children and line in the file. Text between tags is not stored."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)

    def fail(self, message: str) -> NoReturn:
        """Raise the error for this element."""
        name = self.attributes.get("name")
        called = f"<{self.tag}>" if name is None else f"<{self.tag} name={name[:60]!r}>"
        raise FormatError(self.path, message, f"line {self.line}, {called}")

    def all(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def text(self, key: str) -> str:
        """An attribute that must be there."""
        if not self.attributes.get(key):
            self.fail(f"it has no {key!r}")
        return self.attributes[key]

    def number(self, key: str, default: float) -> float:
        """An attribute that is a finite number."""
        return default if key not in self.attributes else self._finite(key, self.attributes[key])

    def numbers(self, key: str, default: tuple[float, ...]) -> Floats:
        """An attribute that is as many finite numbers as the default has."""
        if key not in self.attributes:
            return np.array(default)
        words = self.attributes[key].split()
        if len(words) != len(default):
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected {len(default)} numbers")
        return np.array([self._finite(key, word) for word in words])

    def vector(self, key: str, default: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tuple[float, float, float]:
        """An attribute that is three finite numbers."""
        if key not in self.attributes:
            return default
        words = self.several(key, 3, default)
        if len(words) != 3:
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected 3 numbers")
        return words[0], words[1], words[2]

    def several(self, key: str, most: int, default: tuple[float, ...]) -> tuple[float, ...]:
        """An attribute that is some finite numbers, at least one."""
        if key not in self.attributes:
            return default
        words = self.attributes[key].split()
        if not 1 <= len(words) <= most:
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected 1 to {most} numbers")
        return tuple(self._finite(key, word) for word in words)

    def _finite(self, key: str, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected finite numbers")
        return value


def read_xml(path: Path) -> Element:
    """Return the outermost element of a file; document types and entities are refused, sizes are bounded."""
    data = read_bytes(path, MAX_BYTES)
    parser = expat.ParserCreate()
    top = Element(path, 0, "", {})
    stack = [top]
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(stack) > MAX_DEPTH:
            problem = f"more than {MAX_ELEMENTS} elements" if count > MAX_ELEMENTS else "elements nested too deeply"
            raise FormatError(path, problem, f"line {parser.CurrentLineNumber}")
        element = Element(path, parser.CurrentLineNumber, tag, attributes)
        stack[-1].children.append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def refuse(*_: Any) -> NoReturn:
        raise FormatError(path, "has a document type; such files are not read", f"line {parser.CurrentLineNumber}")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        location = f"line {error.lineno} column {error.offset}"
        raise FormatError(path, f"broken XML: {expat.ErrorString(error.code)}", location) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, f"broken XML: {str(error)[:100]}") from None  # an encoding nobody knows
    return top.children[0]

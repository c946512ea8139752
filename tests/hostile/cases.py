"""The list of hostile files: each case writes one, with what lies next to it, into an empty folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Maker = Callable[[Path], Path]


@dataclass(frozen=True)
class Case:
    """A file to make, and how it is read."""

    name: str
    reader: str
    make: Maker
    large: bool
    """Whether it is megabytes to make and read: such cases are for `make soak`."""


CASES: dict[str, Case] = {}


def case(reader: str, *, large: bool = False) -> Callable[[Maker], Maker]:
    """Add a case to the list, under its function's name."""

    def add(make: Maker) -> Maker:
        name = make.__name__
        assert name not in CASES, name
        CASES[name] = Case(name, reader, make, large)
        return make

    return add


def written(path: Path, content: str | bytes | dict[str, Any] | list[Any]) -> Path:
    """Write a file and return its path; what is no text becomes JSON."""
    if isinstance(content, dict | list):
        content = json.dumps(content, separators=(",", ":"))
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path

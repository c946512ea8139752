"""Targets of hands in CSV and JSON files, and as text on the command line.

A CSV file has a line of column names, a JSON file a list of objects with the same names: x, y, z [m] in the world;
qw, qx, qy, qz, the orientation of the hand (canonical: the identity is a hand that hangs, palm in), where it matters;
and, where they differ from the caller's defaults, hand (right or left) and hold [s].
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.documents import decode_json

HANDS = ("right", "left")
POSITION, ORIENTATION = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
NUMBERS = (*POSITION, *ORIENTATION, "hold")
COLUMNS = (*NUMBERS, "hand")
EXPECTED = 'a JSON list of targets, such as [{"x": 0.3, "y": 1.2, "z": 0.5}]'
MAX_BYTES = 64_000_000  # more than a day of targets


@dataclass(frozen=True)
class HandTarget:
    """A target of one hand."""

    hand: str
    """"right" or "left"."""
    position: tuple[float, ...]
    """(3,) [m] in the world."""
    orientation: tuple[float, ...] | None = None
    """(4,) canonical `wxyz`; None: free."""
    hold: float = 0.0
    """[s] to stay there."""


def parse_target(text: str, hand: str = "right", hold: float = 0.0) -> HandTarget:
    """Return the target written as x,y,z or x,y,z,qw,qx,qy,qz."""
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (3, 7) or not all(map(math.isfinite, numbers)):
        raise PosableError(f"target {text}: expected x,y,z or x,y,z,qw,qx,qy,qz")
    return HandTarget(_hand(hand), numbers[:3], _orientation(numbers[3:]), hold)


def read_targets(path: str | PathLike[str], hand: str = "right", hold: float = 0.0) -> list[HandTarget]:
    """Return the targets of a `.csv` or `.json` file; `hand` and `hold` [s] apply where it has none."""
    path = Path(path)
    readers = {".csv": _csv_rows, ".json": _json_rows}
    if path.suffix.lower() not in readers:
        raise FormatError(path, f"targets are read from {' and '.join(readers)}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(path, f"has {path.stat().st_size} bytes; targets have at most {MAX_BYTES}")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormatError(path, error.strerror or "cannot be read") from None
    except UnicodeDecodeError:
        raise FormatError(path, "is not text") from None
    targets = []
    for where, row in readers[path.suffix.lower()](path, text):
        try:
            targets.append(_target(row, hand, hold))
        except PosableError as error:
            raise FormatError(path, str(error), where) from None
    if not targets:
        raise FormatError(path, "has no targets; expected at least one")
    return targets


def _csv_rows(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    lines = csv.DictReader(io.StringIO(text), skipinitialspace=True, strict=True)
    rows = []
    try:
        for row in lines:
            if None in row or None in row.values():
                raise FormatError(path, f"expected {len(lines.fieldnames or ())} values", f"line {lines.line_num}")
            given = {name.strip().lower(): value.strip() for name, value in row.items()}
            rows.append((f"line {lines.line_num}", {name: value for name, value in given.items() if value}))
    except csv.Error as error:
        raise FormatError(path, str(error), f"line {lines.line_num}") from None
    return rows


def _json_rows(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    rows = decode_json(path, text.encode(), list[dict[str, float | str | None]], EXPECTED)
    return [(f"[{k}]", {name: v for name, v in row.items() if v is not None}) for k, row in enumerate(rows)]


def _target(row: dict[str, Any], hand: str, hold: float) -> HandTarget:
    for name in row:
        if name not in COLUMNS:
            raise UnknownNameError("column", name, COLUMNS)
    numbers = {name: _number(name, row[name]) for name in NUMBERS if name in row}
    oriented = any(name in numbers for name in ORIENTATION)
    missing = [name for name in (*POSITION, *(ORIENTATION if oriented else ())) if name not in numbers]
    if missing:
        raise PosableError(f"lacks {', '.join(missing)}")
    return HandTarget(
        _hand(str(row.get("hand", hand))),
        tuple(numbers[name] for name in POSITION),
        _orientation(tuple(numbers[name] for name in ORIENTATION) if oriented else ()),
        numbers.get("hold", hold),
    )


def _orientation(numbers: tuple[float, ...]) -> tuple[float, ...] | None:
    if numbers and not 0.0 < math.hypot(*numbers) < math.inf:
        raise PosableError(f"the orientation qw, qx, qy, qz is {numbers}; expected a quaternion, which is not all 0")
    return numbers or None


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PosableError(f"{name} is {value!r}; expected a number")
    return number


def _hand(name: str) -> str:
    if name not in HANDS:
        raise UnknownNameError("hand", name, HANDS)
    return name

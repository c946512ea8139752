"""Targets as they are written down for `posable reach`: on the command line, in CSV and in JSON.

A CSV file has a line of column names, a JSON file a list of objects with the same names: x, y, z [m] in the world;
where the hand shall be turned, qw, qx, qy, qz (canonical: the identity is a hand that hangs, palm in); and, where they
differ from the command's own, hand (right or left) and hold [s].
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compute import FormatError, PosableError, UnknownNameError

HANDS = ("right", "left")
NUMBERS = ("x", "y", "z", "qw", "qx", "qy", "qz", "hold")
COLUMNS = (*NUMBERS, "hand")
EXPECTED = 'a JSON list of targets, such as [{"x": 0.3, "y": 1.2, "z": 0.5}]'
LARGEST = 64_000_000  # bytes: more than a day of targets


@dataclass(frozen=True)
class Goal:
    """A target of one hand."""

    hand: str
    position: tuple[float, ...]
    orientation: tuple[float, ...] | None = None
    hold: float = 0.0


def written_goal(text: str, hand: str, hold: float) -> Goal:
    """One that was given on the command line: x,y,z or x,y,z,qw,qx,qy,qz."""
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (3, 7) or not all(map(math.isfinite, numbers)):
        raise PosableError(f"--to {text}: expected x,y,z or x,y,z,qw,qx,qy,qz")
    return Goal(_hand(hand), numbers[:3], _turn(numbers[3:]), hold)


def read_goals(path: Path, hand: str, hold: float) -> list[Goal]:
    """Those of a file; `hand` and `hold` where it does not say."""
    readers = {".csv": _csv_rows, ".json": _json_rows}
    if path.suffix.lower() not in readers:
        raise FormatError(path, f"targets are read from {' and '.join(readers)}")
    try:
        if path.stat().st_size > LARGEST:
            raise FormatError(path, f"has {path.stat().st_size} bytes; targets have at most {LARGEST}")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormatError(path, error.strerror or "cannot be read") from None
    except UnicodeDecodeError:
        raise FormatError(path, "is not text") from None
    goals = []
    for place, row in readers[path.suffix.lower()](path, text):
        try:
            goals.append(_goal(row, hand, hold))
        except PosableError as error:
            raise FormatError(path, str(error), place) from None
    if not goals:
        raise FormatError(path, "has no targets; expected at least one")
    return goals


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
    from ..compute.documents import decode_json

    rows = decode_json(path, text.encode(), list[dict[str, float | str | None]], EXPECTED)
    return [(f"[{k}]", {name: v for name, v in row.items() if v is not None}) for k, row in enumerate(rows)]


def _goal(row: dict[str, Any], hand: str, hold: float) -> Goal:
    for name in row:
        if name not in COLUMNS:
            raise UnknownNameError("column", name, COLUMNS)
    numbers = {name: _number(name, row[name]) for name in NUMBERS if name in row}
    turn = [name for name in ("qw", "qx", "qy", "qz") if name in numbers]
    missing = [name for name in (*"xyz", *(("qw", "qx", "qy", "qz") if turn else ())) if name not in numbers]
    if missing:
        raise PosableError(f"lacks {', '.join(missing)}")
    return Goal(
        _hand(str(row.get("hand", hand))),
        tuple(numbers[name] for name in "xyz"),
        _turn(tuple(numbers[name] for name in turn)),
        numbers.get("hold", hold),
    )


def _turn(numbers: tuple[float, ...]) -> tuple[float, ...] | None:
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

"""Targets of hands in CSV and JSON files, and as text on the command line.

A CSV file has a line of column names, a JSON file a list of objects with the same names: x, y, z [m] in the world;
qw, qx, qy, qz, the orientation of the hand (canonical: the identity is a hand that hangs, palm in), where it matters;
and, where they differ from the caller's defaults, hand (right or left) and hold [s]; together (yes or no): whether it
is reached at the same time as the target before it, by the other hand.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.documents import decode_json
from ..compute.files import read_text

HANDS = ("right", "left")
POSITION, ORIENTATION = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
NUMBERS = (*POSITION, *ORIENTATION, "hold")
COLUMNS = (*NUMBERS, "hand", "together")
YES, NO = ("yes", "true", "1", "1.0"), ("no", "false", "0", "0.0")
EXPECTED = 'a JSON list of targets, such as [{"x": 0.3, "y": 1.2, "z": 0.5}]'
MAX_BYTES = 64_000_000
MAX_TARGETS = 50_000  # more than a day of them


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
    together: bool = False
    """Whether it is reached at the same time as the target before it, which is the other hand's."""


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
    text = read_text(path, MAX_BYTES)
    targets: list[HandTarget] = []
    for where, row in readers[path.suffix.lower()](path, text):
        try:
            if len(targets) == MAX_TARGETS:
                raise PosableError(f"has more than {MAX_TARGETS} targets; reach them in several files")
            targets.append(_target(row, hand, hold))
            _check_together(targets)
        except PosableError as error:
            raise FormatError(path, str(error), where) from None
    if not targets:
        raise FormatError(path, "has no targets; expected at least one")
    return targets


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = csv.DictReader(io.StringIO(text), skipinitialspace=True, strict=True)
    try:
        if len(lines.fieldnames or ()) > len(COLUMNS):
            raise FormatError(path, f"has {len(lines.fieldnames or ())} columns; known: {', '.join(COLUMNS)}", "line 1")
        for row in lines:
            if None in row or None in row.values():
                raise FormatError(path, f"expected {len(lines.fieldnames or ())} values", f"line {lines.line_num}")
            given = {name.strip().lower(): value.strip() for name, value in row.items()}
            yield f"line {lines.line_num}", {name: value for name, value in given.items() if value}
    except csv.Error as error:
        raise FormatError(path, str(error), f"line {lines.line_num}") from None


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = decode_json(path, text.encode(), list[dict[str, float | bool | str | None]], EXPECTED)
    for k, row in enumerate(rows):
        yield f"[{k}]", {name: v for name, v in row.items() if v is not None}


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
        _together(str(row.get("together", "no")).lower()),
    )


def _together(word: str) -> bool:
    if word not in (*YES, *NO):
        raise PosableError(f"together is {word!r}; expected yes or no")
    return word in YES


def _check_together(targets: list[HandTarget]) -> None:
    """Refuse a last target that goes with another one, where that is none, of the same hand, or one of two already."""
    if not targets[-1].together:
        return
    if len(targets) < 2 or targets[-2].together or targets[-2].hand == targets[-1].hand:
        raise PosableError("together is yes, and the target before it is not one of the other hand alone")


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

"""Tracked points over time in CSV files with named columns.

A line of names, then a line a frame. `hips_x, hips_y, hips_z, head_x, ...` are positions of parts of a body;
`head_qw, head_qx, head_qy, head_qz` their orientations (canonical: the identity when the body stands neutrally).
`time` [s] says when, or the rate is given by the caller; `frame` is not read. A point is lost where a cell is empty or
`nan`.
Separators are commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.extent import SHORTEST_STEP
from ..compute.files import read_text
from ..compute.types import Floats
from ..math import multiply
from .bvh.numbers import NotANumberError, read_decimals

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
TO_Y_UP = {"y": np.eye(3), "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])}
"""From a world with this axis up to ours. Where Z is up, x stays, and who faces -y there faces +Z here."""
UPRIGHT = {"y": (1.0, 0.0, 0.0, 0.0), "z": (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)}
"""The same as quaternions."""
AXES, QUATERNION = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
ALIASES = {
    "pelvis": "hips",
    "root": "hips",
    "wrist": "hand",
    "ankle": "foot",
    "elbow": "lower_arm",
    "knee": "lower_leg",
}
LOST = {"", "nan", "na", "null", "none"}
STEADY = 0.1  # of a frame: times this close to an even rate count as even
GAP = 2.5  # frames between two lines beyond which points are lost between them, not interpolated
LARGEST = 1e9  # of a coordinate, in any unit
EMPTY = "1e99"  # stands for an empty cell where many are read at once
LATEST = 1e15  # [s]: thirty million years, or milliseconds since 1970 that were taken for seconds
MAX_FRAMES = 100  # of an even rate for each line of the file
FREE_NUMBERS, MORE_NUMBERS = 2_000_000, 2  # at an even rate that any file may have, and for each of the file's own
MAX_BYTES = 1 << 30
MAX_HEAD = 1 << 17  # characters of the line of names


@dataclass(frozen=True, repr=False)
class Points:
    """Tracked points over time, in metres and the world's axes (right-handed, Y up)."""

    names: tuple[str, ...]
    """(M,) the part of the body that each point is on."""
    positions: Floats
    """(F, M, 3) [m], NaN where a point was lost."""
    fps: float
    """Frames a second."""
    orientations: dict[str, Floats] = field(default_factory=dict)
    """Canonical orientations (F, 4) of some of the parts, NaN where they are not known."""
    notes: tuple[str, ...] = ()
    """What was assumed or changed while reading, and what is hardly right."""
    units: str = "m"
    """The unit of the file that they were read from; positions here are in metres."""

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"Points({len(self)} frames at {self.fps:g} fps of {', '.join(self.names)})"

    def of(self, names: Sequence[str]) -> Floats:
        """Return the positions (F, n, 3) [m] of some of the points."""
        return self.positions[:, [self.names.index(name) for name in names]]


def read_points(
    path: Path,
    parts: Sequence[str],
    oriented: Sequence[str],
    *,
    fps: float | None = None,
    units: str = "m",
    up: str = "y",
    first_frame: int = 0,
) -> Points:
    """Read the points of a CSV file.

    Args:
        path: the file.
        parts: names that a point may have; the first six are named where the file has none.
        oriented: names that an orientation may have.
        fps: frames a second instead of the file's time column, or where it has none.
        units: of positions in the file: m, cm, mm, in or ft.
        up: the axis that is up in the file: y or z.
        first_frame: frames before it are dropped; less than the file has.
    """
    if units not in UNITS:
        raise UnknownNameError("unit", units, UNITS)
    if up not in TO_Y_UP:
        raise UnknownNameError("axis", up, TO_Y_UP)
    if fps is not None and not (math.isfinite(fps) and fps > 0.0):
        raise PosableError(f"fps is {fps}; expected above 0")
    names, rows, lines = _numbers(path, parts, oriented)
    points = tuple(dict.fromkeys(name for name, part in names if part in AXES))
    rotated = tuple(dict.fromkeys(name for name, part in names if part in QUATERNION))
    columns = [names.index((name, part)) for name in points for part in AXES]
    columns += [names.index((name, part)) for name in rotated for part in QUATERNION]
    values = rows[:, columns]
    notes: tuple[str, ...] = ()
    _lose_halves(values, 3 * len(points))
    if fps is None:
        if ("time", "") not in names:
            raise FormatError(path, "has no column 'time'; give fps=RATE")
        values, fps, notes = _even(path, rows[:, names.index(("time", ""))], lines, values)
    if not 0 <= first_frame < len(values):
        raise FormatError(path, f"has {len(values)} frames; first_frame={first_frame} is not one of them")
    values = values[first_frame:]
    positions = values[:, : 3 * len(points)].reshape(len(values), len(points), 3) @ TO_Y_UP[up].T * UNITS[units]
    quaternions = values[:, 3 * len(points) :].reshape(len(values), len(rotated), 4)
    there, back = np.array(UPRIGHT[up]), np.array(UPRIGHT[up]) * (1.0, -1.0, -1.0, -1.0)
    orientations = {name: multiply(multiply(there, quaternions[:, k]), back) for k, name in enumerate(rotated)}
    return Points(points, positions, fps, orientations, notes, units)


def _lose_halves(values: Floats, coordinates: int) -> None:
    """Make points that lack a coordinate, and orientations that lack a number, NaN as a whole."""
    for first, end, size in ((0, coordinates, 3), (coordinates, values.shape[1], 4)):
        whole = values[:, first:end].reshape(len(values), -1, size)
        whole[np.isnan(whole).any(axis=-1)] = np.nan
        values[:, first:end] = whole.reshape(len(values), -1)


def _numbers(
    path: Path, parts: Sequence[str], oriented: Sequence[str]
) -> tuple[list[tuple[str, str]], Floats, Sequence[int]]:
    """Return (column names, the numbers below them, the line of each row); read a line at a time."""
    try:
        text = read_text(path, MAX_BYTES)
        file = io.StringIO(text, newline="")
        head = file.readline(MAX_HEAD)
        separator = max(",;\t", key=head.count)
        cells = next(csv.reader([head], delimiter=separator, skipinitialspace=True), [])
        names = _columns(path, cells, parts, oriented)
        if (plain := _plain_numbers(text[len(head) :], separator, names)) is not None:
            return names, *plain
        numbers, lines = array("d"), array("q")
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
        for cells in reader:
            try:
                values = list(map(float, cells))  # most lines are plain; what is not is looked at cell by cell
                if len(values) == len(names) and sum(map(abs, values)) < LARGEST:  # false with NaN
                    numbers.extend(values)
                    lines.append(reader.line_num + 1)
                    continue
            except ValueError:
                pass
            if not any(map(str.strip, cells)):
                continue
            line = reader.line_num + 1
            if len(cells) != len(names):
                raise FormatError(path, f"has {len(cells)} values; expected {len(names)}", f"line {line}")
            numbers.extend(_number(path, line, name, cell) for name, cell in zip(names, cells, strict=True))
            lines.append(line)
    except csv.Error as error:
        raise FormatError(path, str(error)) from None
    if not lines:
        raise FormatError(path, "has no frames")
    return names, np.array(numbers).reshape(len(lines), len(names)), lines


def _plain_numbers(content: str, separator: str, names: list[tuple[str, str]]) -> tuple[Floats, Sequence[int]] | None:
    """Return (numbers, the line of each row) of a file that holds nothing but numbers and empty cells, read at once.

    None where it has quotes, words or anything else, or a number that is wrong, and must be read cell by cell.
    """
    mark, blank = separator.encode(), EMPTY.encode()
    text = content.encode().replace(b"\r\n", b"\n").replace(mark + b" ", mark).rstrip(b"\n") + b"\n"
    if text.translate(None, b"0123456789+-.eE\n" + mark) or b"\n\n" in text or blank in text or text == b"\n":
        return None
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    within = np.diff(np.searchsorted(np.flatnonzero(letters == ord(separator)), ends), prepend=0)
    if (within != len(names) - 1).any():
        return None
    for before, after in ((mark, mark), (mark, mark), (mark, b"\n"), (b"\n", mark)):  # twice: ",,," has two
        text = text.replace(before + after, before + blank + after)
    text = blank + text if text.startswith(mark) else text
    try:
        values, count = read_decimals(text.replace(mark, b" "), len(ends) * len(names))
    except NotANumberError:
        return None
    if count != len(ends) * len(names):
        return None
    rows = values.reshape(len(ends), len(names))
    rows[rows == float(EMPTY)] = np.nan
    filled = ~np.isnan(rows).all(axis=1)
    rows, lines = rows[filled], np.flatnonzero(filled) + 2
    for k, (name, part) in enumerate(names):
        wrong = np.abs(rows[:, k]) >= LARGEST if part else np.isnan(rows[:, k])
        if wrong.any() and name != "frame":
            return None
    return (rows, lines.tolist()) if len(rows) else None


def _columns(path: Path, cells: Sequence[str], parts: Sequence[str], oriented: Sequence[str]) -> list[tuple[str, str]]:
    """Return (point, axis) of each column; ("time", "") and ("frame", "") for those."""
    most = 2 + len(AXES) * len(parts) + len(QUATERNION) * len(oriented)
    if len(cells) > most:
        raise FormatError(path, f"has {len(cells)} columns; there are {most} that a file may have", "line 1")
    names = [_column(path, cell.strip(), parts, oriented) for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise FormatError(path, f"has {'_'.join(name).strip('_')} twice", "line 1")
    missing = [f"{point}_{part}" for point in dict.fromkeys(name for name, part in names if part) for part in AXES]
    missing += [
        f"{name}_{part}" for name in dict.fromkeys(n for n, p in names if p in QUATERNION) for part in QUATERNION
    ]
    missing = [column for column in missing if tuple(column.rsplit("_", 1)) not in names]
    if not any(part for _, part in names):
        missing = [f"{name}_{part}" for name in parts[:6] for part in AXES]
    if missing:
        raise FormatError(path, f"lacks {', '.join(missing)}", "line 1")
    return names


def _column(path: Path, cell: str, parts: Sequence[str], oriented: Sequence[str]) -> tuple[str, str]:
    name = cell.lower().replace(".", "_").replace(" ", "_").replace("-", "_")
    if name in {"time", "frame"}:
        return name, ""
    point, _, axis = name.rpartition("_")
    side = next((side for side in ("left_", "right_") if point.startswith(side)), "")
    point = side + ALIASES.get(point.removeprefix(side), point.removeprefix(side))
    if axis not in (*AXES, *QUATERNION) or point not in (parts if axis in AXES else oriented):
        expected = ("time", "frame", *(f"{part}_{axis}" for part in parts for axis in AXES))
        expected += tuple(f"{part}_{axis}" for part in oriented for axis in QUATERNION)
        raise FormatError(path, str(UnknownNameError("column", cell, expected)), "line 1")
    return point, axis


def _number(path: Path, line: int, name: tuple[str, str], cell: str) -> float:
    if name[1] and (not cell or cell.strip().lower() in LOST):
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        number = math.inf
    if not abs(number) < (LARGEST if name[1] else math.inf) and name != ("frame", ""):
        column = "_".join(name).strip("_")
        expected = f"a number below {LARGEST:g}, or nothing for a lost point" if name[1] else "a number"
        raise FormatError(path, f"{column} is {cell.strip()[:40]!r}; expected {expected}", f"line {line}")
    return number


def _even(path: Path, times: Floats, lines: Sequence[int], values: Floats) -> tuple[Floats, float, tuple[str, ...]]:
    """Return (values (F, N) at an even rate, that rate, notes); interpolated linearly where times are uneven."""
    if len(times) < 2:
        raise FormatError(path, "has one frame, which makes no rate; give fps=RATE")
    if (far := ~(np.abs(times) <= LATEST)).any():
        k = int(np.argmax(far))
        raise FormatError(path, f"time is {times[k]:g}; expected seconds up to {LATEST:g}", f"line {lines[k]}")
    steps = np.diff(times)
    if (steps <= 0.0).any():
        k = int(np.argmax(steps <= 0.0)) + 1
        raise FormatError(path, f"time is {times[k]:g} after {times[k - 1]:g}; it must grow", f"line {lines[k]}")
    if (steps < SHORTEST_STEP).any():
        k = int(np.argmin(steps)) + 1
        what = f"time is {times[k]:.17g} after {times[k - 1]:.17g}; expected {SHORTEST_STEP:g} s or more between lines"
        raise FormatError(path, what, f"line {lines[k]}")
    mean = (len(times) - 1) / float(times[-1] - times[0])
    if np.abs((times - times[0]) * mean - np.arange(len(times))).max() < STEADY:
        return values, mean, ()
    rate = 1.0 / float(np.median(steps))
    count = (times[-1] - times[0]) * rate + 1.0
    if count > MAX_FRAMES * len(times) or count * values.shape[1] > FREE_NUMBERS + MORE_NUMBERS * values.size:
        k = int(np.argmax(steps)) + 1
        raise FormatError(path, f"time jumps from {times[k - 1]:g} to {times[k]:g} s", f"line {lines[k]}")
    requested = times[0] + np.arange(math.floor(count + STEADY)) / rate
    after = np.clip(np.searchsorted(times, requested), 1, len(times) - 1)
    fraction = np.clip((requested - times[after - 1]) / steps[after - 1], 0.0, 1.0)[:, None]
    between = (1.0 - fraction) * values[after - 1] + fraction * values[after]
    # On a line, its own positions, also where the neighbour's are lost.
    between = np.where(fraction == 0.0, values[after - 1], np.where(fraction == 1.0, values[after], between))
    on_a_line = np.minimum(fraction, 1.0 - fraction)[:, 0] < STEADY
    between[(steps[after - 1] * rate > GAP) & ~on_a_line] = np.nan
    return between, rate, (f"times are uneven; taken at {rate:.6g} frames a second",)

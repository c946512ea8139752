"""CSV files of robots' motions: a row a frame, root position, root quaternion `xyzw`, joints; z up, metres and radians.

So are the files of LAFAN1 retargeted by Unitree, which `csv_to_npz` of BeyondMimic and of mjlab read: no header,
commas, joints in the order of the robot's file. The rate and the columns' names are in a file beside it,
`walk.csv.json`; those programs ask for the rate on their command line. `header=True` writes the names as a first line,
for people and tables.
"""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import msgspec
import numpy as np

from ...compute import FormatError, PosableError
from ...compute.documents import read_document, write_document
from ...compute.files import atomic_write, read_text
from ...compute.types import Floats
from ...skeleton import Motion, Skeleton
from ..rows import check_rows
from .orders import Layout, joint_layout, robot_of
from .robots import robot_skeleton
from .values import robot_motion, robot_values

ROOT_COLUMNS = ("root_x", "root_y", "root_z", "root_qx", "root_qy", "root_qz", "root_qw")
FORM = "posable-robot-motion/1"
FPS = 30.0
"""Frames a second of a file that says nothing: that of LAFAN1, and what its readers assume."""
MAX_BYTES = 1 << 30
MAX_SIDECAR = 1 << 20
LARGEST = 1e6  # [m] or [rad]: beyond it a number is a mistake


class Sidecar(msgspec.Struct, forbid_unknown_fields=True):
    """The facts about a table of numbers that it does not hold itself."""

    format: str
    robot: str
    fps: float
    order: str
    columns: list[str]
    up: str = "z"


def write(motion: Motion, path: Path, *, joint_order: str = "mujoco", header: bool = False) -> None:
    """Write a robot's motion, and beside it what its columns are."""
    values = robot_values(motion, joint_order)
    columns = [*ROOT_COLUMNS, *values.layout.joint_names]
    rows = np.concatenate([values.positions, np.roll(values.orientations, -1, axis=1), values.joints], axis=1)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        if header:
            csv.writer(file, lineterminator="\n").writerow(columns)
        np.savetxt(file, rows, fmt="%.9g", delimiter=",")
    write_sidecar(path, motion, values.layout, columns)


def read(
    path: Path,
    *,
    robot: str | os.PathLike[str] | Skeleton | None = None,
    joint_order: str | None = None,
    fps: float | None = None,
) -> Motion:
    """Read a robot's motion; without a file beside it and a header, joints are taken as in `joint_order`."""
    skeleton = robot_skeleton(path, robot)
    sidecar = read_sidecar(path)
    layout = joint_layout(skeleton, joint_order or (sidecar.order if sidecar else "mujoco"))
    names, rows = _table(path, len(ROOT_COLUMNS) + len(layout.dofs), skeleton)
    check_rows(path, len(rows), len(skeleton))
    if names is not None:
        rows = rows[:, _columns(path, names, layout)]
    notes: tuple[str, ...] = ()
    if fps is None and sidecar is None:
        notes = (f"the file says no rate; taken as {FPS:g} frames a second",)
    chosen = fps or (sidecar.fps if sidecar else FPS)
    quaternions = np.roll(rows[:, 3:7], 1, axis=1)
    try:
        return robot_motion(skeleton, layout, rows[:, :3], quaternions, rows[:, 7:], chosen, path.stem, notes)
    except FormatError:
        raise
    except PosableError as error:
        raise FormatError(path, str(error)) from None


def sidecar_of(path: Path) -> Path:
    """Return where what a file does not say of itself stands: beside it, `.json` after its name."""
    return path.with_name(f"{path.name}.json")


def write_sidecar(path: Path, motion: Motion, layout: Layout, columns: list[str]) -> None:
    """Write what the columns of a file are."""
    said = {
        "format": FORM,
        "robot": robot_of(motion.skeleton).name,
        "fps": float(motion.fps),
        "order": layout.order,
        "columns": columns,
        "up": "z",
    }
    write_document(sidecar_of(path), said, Sidecar)


def read_sidecar(path: Path) -> Sidecar | None:
    """Return what stands beside a file; None where nothing of ours does."""
    sidecar = sidecar_of(path)
    if not sidecar.is_file():
        return None
    found = read_document(sidecar, Sidecar, FORM, MAX_SIDECAR)
    if not 0.0 < found.fps < LARGEST:
        raise FormatError(sidecar, f"fps is {found.fps}; expected frames a second above 0")
    return found


def _table(path: Path, count: int, skeleton: Skeleton) -> tuple[list[str] | None, Floats]:
    """Return the names of the columns, None without a header, and the numbers (F, columns)."""
    names: list[str] | None = None
    rows: list[list[float]] = []
    for number, line in enumerate(read_text(path, MAX_BYTES).splitlines(), 1):
        cells = line.split(",")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            if names is None and not rows:
                names = [cell.strip() for cell in cells]
                continue
            bad = next(cell for cell in cells if not _is_number(cell))
            raise FormatError(path, f"{bad.strip()[:40]!r} is no number", f"line {number}") from None
        if len(row) != (count if names is None else len(names)):
            raise FormatError(path, _wrong_width(len(row), count, names, skeleton), f"line {number}")
        if not all(abs(value) < LARGEST for value in row):  # false with NaN
            worst = next(cell for cell, value in zip(cells, row, strict=True) if not abs(value) < LARGEST)
            raise FormatError(path, f"{worst.strip()[:40]!r}: expected metres or radians", f"line {number}")
        rows.append(row)
    if not rows:
        raise FormatError(path, "has no frames")
    return names, np.array(rows)


def _wrong_width(found: int, count: int, names: list[str] | None, skeleton: Skeleton) -> str:
    if names is not None:
        return f"has {found} numbers below {len(names)} names"
    robot = robot_of(skeleton)
    return (
        f"has {found} numbers; {robot.name[:60] or 'the robot'!r} needs {count}: 7 of the root and {count - 7} joints"
    )


def _columns(path: Path, names: list[str], layout: Layout) -> list[int]:
    required = [*ROOT_COLUMNS, *layout.joint_names]
    column = {name: k for k, name in enumerate(names)}
    if lacking := [name for name in required if name not in column]:
        shown = ", ".join(name[:60] for name in lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        raise FormatError(path, f"lacks the columns {shown}", "line 1")
    if twice := next((name for k, name in enumerate(names) if column[name] != k), None):
        raise FormatError(path, f"has the column {twice[:60]!r} twice", "line 1")
    return [column[name] for name in required]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) or True
    except ValueError:
        return False

"""`qpos` of MuJoCo as a plain NumPy array (F, 7 + N): root position, root quaternion `wxyz`, joints; z up."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError, PosableError
from ...compute.files import atomic_write, read_bytes
from ...compute.types import Floats
from ...skeleton import Motion, Skeleton
from ..rows import check_rows
from .csv_file import FPS, LARGEST, read_sidecar, write_sidecar
from .orders import joint_layout
from .robots import robot_skeleton
from .values import robot_motion, robot_values

COLUMNS = ("root_x", "root_y", "root_z", "root_qw", "root_qx", "root_qy", "root_qz")
MAX_BYTES = 1 << 30


def write(motion: Motion, path: Path) -> None:
    """Write MuJoCo's qpos of a robot's motion, and beside it the rate and the columns' names."""
    values = robot_values(motion)
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(values.qpos), (1, 0), allow_pickle=False)
    write_sidecar(path, motion, values.layout, [*COLUMNS, *values.layout.joint_names])


def read(path: Path, *, robot: str | os.PathLike[str] | Skeleton | None = None, fps: float | None = None) -> Motion:
    """Read MuJoCo's qpos over time of a robot."""
    skeleton = robot_skeleton(path, robot)
    sidecar = read_sidecar(path)
    try:
        qpos = np.lib.format.read_array(io.BytesIO(read_bytes(path, MAX_BYTES)), allow_pickle=False)
    except FormatError:
        raise
    except Exception as error:  # NumPy evaluates the description as Python literals: many things can go wrong there
        raise FormatError(path, f"is no plain NumPy array: {str(error)[:100]}") from None
    notes = () if fps or sidecar else (f"the file says no rate; taken as {FPS:g} frames a second",)
    return motion_of_qpos(path, skeleton, qpos, fps or (sidecar.fps if sidecar else FPS), notes)


def motion_of_qpos(path: Path, skeleton: Skeleton, qpos: Any, fps: float, notes: tuple[str, ...]) -> Motion:
    """Return the motion that MuJoCo's qpos (F, 7 + N) are."""
    layout = joint_layout(skeleton)
    values: Floats = checked(path, "qpos", qpos, (None, 7 + len(layout.dofs)))
    check_rows(path, len(values), len(skeleton))
    try:
        return robot_motion(skeleton, layout, values[:, :3], values[:, 3:7], values[:, 7:], fps, path.stem, notes)
    except PosableError as error:
        raise FormatError(path, str(error)) from None


def checked(path: Path, name: str, array: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return an array of a file as floats; one of another shape, or with numbers that are none or huge, is refused."""
    if array.dtype.kind not in "fiu":
        raise FormatError(path, f"{name} holds {array.dtype}, expected numbers")
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits or array.shape[0] == 0:
        required = ", ".join("F" if want is None else str(want) for want in shape)
        raise FormatError(path, f"{name} has shape {array.shape}; this robot needs ({required})")
    values = np.ascontiguousarray(array, np.float64)
    if not np.isfinite(values).all():
        raise FormatError(path, f"{name} has numbers that are not finite")
    if not (np.abs(values) < LARGEST).all():
        worst = float(values.flat[int(np.argmax(np.abs(values)))])
        raise FormatError(path, f"{name} has {worst:g}; expected metres or radians")
    return values

"""The motion half of ASF/AMC: numbered frames, a line a bone with the values of its channels."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..compute import FormatError
from ..compute.types import Floats
from .asf_skeleton import AsfSkeleton, text_lines

MAX_BYTES = 1 << 30


def read_channels(path: Path, asf: AsfSkeleton) -> list[Floats]:
    """For each bone the values (F, channels) of an AMC file: turns [rad], the root's shifts in file units.

    Frames must be numbered one after the other; every bone with channels must be in every frame.
    """
    wanted = {bone.name: len(bone.dofs) for bone in asf.bones}
    values: dict[str, list[float]] = {name: [] for name in wanted}
    radians = math.pi / 180
    frames = first = number = 0
    here: set[str] = set()
    for number, text in text_lines(path, MAX_BYTES):
        name, *rest = text.split()
        if name.startswith(":"):
            radians = 1.0 if name.upper() == ":RADIANS" else radians
        elif not rest and name.isascii() and name.isdigit() and len(name) < 12:
            if frames:
                _check_frame(path, wanted, here, number)
            first = first if frames else int(name)
            if int(name) != first + frames:
                raise FormatError(path, f"expected frame {first + frames}, found {name}", f"line {number}")
            frames += 1
            here = set()
        else:
            _check_bone(path, name, rest, wanted, here, frames, number)
            here.add(name)
            try:
                values[name].extend(map(float, rest))
            except ValueError:
                raise FormatError(path, f"expected numbers after {name!r}, found {rest}", f"line {number}") from None
    if frames:
        _check_frame(path, wanted, here, number)
    return [_table(path, bone.name, bone.dofs, values[bone.name], frames, radians) for bone in asf.bones]


def _check_bone(
    path: Path, name: str, rest: list[str], wanted: dict[str, int], here: set[str], frames: int, number: int
) -> None:
    place = f"line {number}"
    if not frames:
        raise FormatError(path, f"expected a frame's number, found {name[:40]!r}", place)
    if name not in wanted:
        raise FormatError(path, f"bone {name[:40]!r} is not in the skeleton", place)
    if name in here:
        raise FormatError(path, f"bone {name!r} stands twice in one frame", place)
    if len(rest) != wanted[name]:
        raise FormatError(path, f"bone {name!r} has {wanted[name]} channels in the skeleton, {len(rest)} here", place)


def _check_frame(path: Path, wanted: dict[str, int], here: set[str], number: int) -> None:
    if len(here) < len(wanted):
        for name, channels in wanted.items():
            if channels and name not in here:
                raise FormatError(path, f"bone {name!r} is missing from the frame that ends here", f"line {number}")


def _table(path: Path, name: str, dofs: tuple[str, ...], values: list[float], frames: int, radians: float) -> Floats:
    table = np.array(values, dtype=np.float64).reshape(frames, len(dofs))
    if len(bad := np.argwhere(~np.isfinite(table))):
        raise FormatError(path, f"bone {name!r} has a number that is not finite", f"frame {int(bad[0, 0]) + 1}")
    table[:, [k for k, dof in enumerate(dofs) if dof[0] == "r"]] *= radians
    return table

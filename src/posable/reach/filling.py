"""The start and the targets of a call, written into the rows of its kernels where those lie: on the CPU, or a GPU."""

from __future__ import annotations

from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Records
from ..limb.requests import row_of
from ..skeleton.forward import quat_at, set_quat
from .packed import Arrays


@kernel
def fill_target(i: int, side: int, target: Arrays, work: Records) -> None:
    """Write position, orientation and pole of a hand's target; what has no rows was not given."""
    position, orientation, pole = target
    if position.shape[0] > 0:
        k = row_of(i, position.shape[0])
        for c in range(3):
            work[i]["position"][side, c] = position[k, c]
    if orientation.shape[0] > 0:
        k = row_of(i, orientation.shape[0])
        for c in range(4):
            work[i]["orientation"][side, c] = orientation[k, c]
    if pole.shape[0] > 0:
        k = row_of(i, pole.shape[0])
        for c in range(3):
            work[i]["pole"][side, c] = pole[k, c]


@kernel
def fill_row(
    i: int, start: Arrays, right: Arrays, left: Arrays, translation: Floats, rotations: Floats, work: Any
) -> None:
    """Write the pose that row i starts from, and the targets of both hands."""
    k = row_of(i, start[0].shape[0])
    for c in range(3):
        translation[0, i, c] = start[0][k, c]
    k = row_of(i, start[1].shape[0])
    for j in range(rotations.shape[2]):
        set_quat(rotations[0], i, j, quat_at(start[1], k, j))
    fill_target(i, 0, right, work)
    fill_target(i, 1, left, work)


@batch
def fill_rows(
    n: int, start: Arrays, right: Arrays, left: Arrays, translation: Floats, rotations: Floats, work: Records
) -> None:
    """Write starts (translation (1 or n, 3), rotations (1 or n, J, 4)) and targets (0, 1 or n rows each) into rows."""
    for i in prange(n):
        fill_row(i, start, right, left, translation, rotations, work)

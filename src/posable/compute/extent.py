"""How far the world goes, and how short and long a moment is: the one rule for numbers that are no input.

A position, displacement or length with a coordinate beyond `EXTENT`, or one that is not finite, is no target: solvers
return INVALID for it, and what is made once (a skeleton, a limb, an obstacle) refuses it with a `PosableError`. Within
the extent no square, product or sum of coordinates overflows, and a nanometre is still told from the next one.
Every solver asks here: in kernels `in_extent` and `vec_in_extent`, on arrays `rows_in_extent`.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from .errors import ExtentError, PosableError, number
from .gpu_arrays import GpuArray
from .kernels import kernel
from .types import Bools, Floats, Vec3

EXTENT = 1e6  # [m]: a thousand kilometres
SHORTEST_STEP, LONGEST_STEP = 1e-9, 1e9  # [s] between two steps of a stream
SLOWEST, FASTEST = 1e-9, 1e5  # frames a second of a motion

__all__ = [
    "EXTENT",
    "finite_in_extent",
    "frame_rate",
    "in_extent",
    "nan_beyond_extent",
    "rows_in_extent",
    "time_step",
    "vec_in_extent",
]


@kernel
def in_extent(x: float) -> bool:
    """Return whether a coordinate [m] is one: finite and at most `EXTENT` from 0."""
    return abs(x) <= EXTENT  # never true of NaN


@kernel
def vec_in_extent(p: Vec3) -> bool:
    """Return whether a position or displacement [m] is one: `in_extent` of its coordinates."""
    return abs(p[0]) <= EXTENT and abs(p[1]) <= EXTENT and abs(p[2]) <= EXTENT


def rows_in_extent(array: Floats, axes: int = 1) -> Bools:
    """Return whether all numbers along the last `axes` axes are `in_extent`: (...)."""
    if isinstance(array, GpuArray):
        sound = np.abs(array) <= EXTENT
        for _ in range(axes):
            sound = np.all(sound, -1)
        return cast("Bools", sound)
    return cast("Bools", np.asarray((np.abs(array) <= EXTENT).all(axis=tuple(range(-axes, 0)))))


def nan_beyond_extent(points: Floats) -> Floats:
    """Return points (..., 3) [m] with NaN in the place of those that are not `in_extent`."""
    return np.where(rows_in_extent(points)[..., None], points, np.nan)


def finite_in_extent(array: Floats, name: str) -> Floats:
    """Return an array of lengths [m]; raise where a number is not `in_extent`, naming the first row with one."""
    if not (np.abs(array) <= EXTENT).all():
        first = np.argwhere(~(np.abs(array) <= EXTENT))[0]
        value = array[tuple(first)]
        kind = f"beyond {EXTENT:g} m" if math.isfinite(value) else "that are not finite"
        where = f", first in row {int(first[0])}" if array.ndim else ""
        raise ExtentError(f"{name} has numbers {kind}{where}: {value:g}; expected metres")
    return array


def frame_rate(fps: object) -> float:
    """Return a number of frames a second of a motion; raise where that is none, or frames are too long or too short.

    What is smoothed over seconds would take memory for a billion frames, and a motion has twenty.
    """
    rate = number(fps)
    if not SLOWEST <= rate <= FASTEST:
        expected = f"frames a second above 0, from {SLOWEST:g} to {FASTEST:g}"
        raise ExtentError(f"fps is {str(fps)[:60]}; expected {expected}")
    return rate


def time_step(dt: object, fps: float) -> float:
    """Return the time since the last step of a stream [s]: `dt`, or that of one frame where it is None."""
    seconds = 1.0 / fps if dt is None else number(dt)
    if not SHORTEST_STEP <= seconds <= LONGEST_STEP:
        what = f"dt is {dt!r}" if dt is not None else f"fps is {fps!r}, {seconds:g} s a frame"
        raise PosableError(f"{what}; expected {SHORTEST_STEP:g} to {LONGEST_STEP:g} seconds")
    return seconds

"""The array and tuple types of signatures, and the check of arrays that callers hand over."""

from __future__ import annotations

import math
import reprlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import PosableError, ShapeError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[Any]  # a structured array: one row a joint, a limit, a volume

Vec3: TypeAlias = tuple[float, float, float]  # (x, y, z)
Quat: TypeAlias = tuple[float, float, float, float]  # (w, x, y, z), unit

__all__ = ["ArrayLike", "Bools", "Floats", "Ints", "Quat", "Records", "Vec3", "floats", "zero_records"]


def floats(value: ArrayLike, name: str, *last: int, hint: str = "") -> Floats:
    """Return a caller's value as an array of float64 (..., *last), not copied where it is one already.

    Args:
        value: anything that NumPy makes an array of.
        name: of the argument, for the error where the value is not made of numbers or has other last axes.
        *last: lengths of the last axes; any shape will do without them.
        hint: what else was expected, such as the order of the rows.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        are = "are" if name.endswith("s") else "is"
        raise PosableError(f"{name} {are} {reprlib.repr(value)}; expected numbers{_of(last)}{hint}") from None
    if last and array.shape[-len(last) :] != last:
        have = "have" if name.endswith("s") else "has"
        raise ShapeError(f"{name} {have} shape {array.shape}; expected{_of(last)}{hint}")
    return array


def zero_records(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Records:
    """Return `np.zeros(shape, dtype)` of records, which takes NumPy half a microsecond for each ten fields."""
    return np.ndarray(shape, dtype, bytearray(math.prod(shape) * dtype.itemsize))


def _of(last: tuple[int, ...]) -> str:
    return f" (..., {', '.join(map(str, last))})" if last else ""

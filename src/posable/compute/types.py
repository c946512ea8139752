"""The array and tuple types of signatures, and the check of arrays that callers hand over."""

from __future__ import annotations

import math
import reprlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import PosableError, ShapeError
from .gpu_arrays import GpuArray, wrapped, zeros

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[Any]  # a structured array: one row a joint, a limit, a volume

Vec3: TypeAlias = tuple[float, float, float]  # (x, y, z)
Quat: TypeAlias = tuple[float, float, float, float]  # (w, x, y, z), unit

__all__ = ["ArrayLike", "Bools", "Floats", "Ints", "Quat", "Records", "Vec3", "floats", "zero_records"]


def floats(value: ArrayLike, name: str, *last: int, hint: str = "") -> Floats:
    """Return a caller's value as an array of float64 (..., *last), not copied where it is one already.

    An array on a GPU stays there, in float32 or float64, as a `GpuArray`.

    Args:
        value: anything that NumPy makes an array of.
        name: of the argument, for the error where the value is not made of numbers or has other last axes.
        *last: lengths of the last axes; any shape will do without them.
        hint: what else was expected, such as the order of the rows.
    """
    try:
        if type(value) not in PLAIN and isinstance(value := wrapped(value, name), GpuArray):
            array: Any = _floats_on_gpu(value, name)
        else:
            array = np.asarray(value, dtype=np.float64)
    except PosableError:
        raise
    except (TypeError, ValueError, OverflowError):
        are = "are" if name.endswith("s") else "is"
        raise PosableError(f"{name} {are} {reprlib.repr(value)}; expected numbers{_of(last)}{hint}") from None
    if last and array.shape[-len(last) :] != last:
        have = "have" if name.endswith("s") else "has"
        raise ShapeError(f"{name} {have} shape {array.shape}; expected{_of(last)}{hint}")
    return array  # type: ignore[no-any-return]


PLAIN = frozenset({np.ndarray, list, tuple, float, int})
"""What lies on no GPU: compared first, because that is quick."""


def _floats_on_gpu(array: GpuArray, name: str) -> GpuArray:
    kind = array.dtype.kind
    if kind in "iub":
        return array.astype(np.float64)
    if kind == "f" and array.dtype.itemsize in (4, 8):
        return array
    raise PosableError(f"{name} has dtype {array.dtype}; expected float32 or float64 on a GPU")


def zero_records(shape: tuple[int, ...], dtype: np.dtype[Any], like: Any = None) -> Records:
    """Return `np.zeros(shape, dtype)` of records, which takes NumPy half a microsecond for each ten fields.

    On a GPU where the array `like` is on one.
    """
    if isinstance(like, GpuArray):
        return zeros(shape, like, dtype)  # type: ignore[no-any-return]
    return np.ndarray(shape, dtype, bytearray(math.prod(shape) * dtype.itemsize))


def _of(last: tuple[int, ...]) -> str:
    return f" (..., {', '.join(map(str, last))})" if last else ""

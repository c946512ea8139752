"""The ground everything stands on: compiling, errors, statuses, files.

`kernel`, `batch` and `prange` import Numba, so they are loaded when first asked for; the rest is light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import FormatError, MissingExtraError, PosableError, ShapeError, UnknownNameError, expect, number, require
from .files import atomic_write, cache_dir
from .status import Status

if TYPE_CHECKING:
    from .kernels import Batch, batch, kernel, prange

__all__ = [
    "Batch",
    "FormatError",
    "MissingExtraError",
    "PosableError",
    "ShapeError",
    "Status",
    "UnknownNameError",
    "atomic_write",
    "batch",
    "cache_dir",
    "expect",
    "kernel",
    "number",
    "prange",
    "require",
]


def __getattr__(name: str) -> Any:
    if name in {"Batch", "batch", "kernel", "prange"}:
        from . import kernels

        return getattr(kernels, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

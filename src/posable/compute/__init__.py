"""The ground everything stands on: compiling, errors, statuses, files.

`kernel`, `batch` and what goes with them load the compiled library, or Numba, when first used; the rest is light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import (
    FormatError,
    MissingExtraError,
    PosableError,
    ShapeError,
    Status,
    UnknownNameError,
    UnknownOptionError,
    checked_keywords,
    expect,
    number,
    require,
)
from .files import atomic_write, cache_dir
from .lazy import lazy_names
from .stopping import StoppedError, check_stop, stoppable

if TYPE_CHECKING:
    from .kernels import Batch, batch, kernel, prange, thread_count, threads

__all__ = [
    "Batch",
    "FormatError",
    "MissingExtraError",
    "PosableError",
    "ShapeError",
    "Status",
    "StoppedError",
    "UnknownNameError",
    "UnknownOptionError",
    "atomic_write",
    "batch",
    "cache_dir",
    "check_stop",
    "checked_keywords",
    "expect",
    "kernel",
    "number",
    "prange",
    "require",
    "stoppable",
    "thread_count",
    "threads",
]

__getattr__, __dir__ = lazy_names(
    __name__, {"kernels": ["Batch", "batch", "kernel", "prange", "thread_count", "threads"]}
)

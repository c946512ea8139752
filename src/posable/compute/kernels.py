"""The one compile decorator, its cache, and the loop over a batch.

Kernels are scalar Python on tuples and flat arrays, compiled by Numba. Three layers, one source:

- a *tuple kernel* takes and returns tuples of floats: `rotate(q, v)`;
- a *row kernel* takes a row number and arrays, and fills row i of the outputs: `forward_row(i, joints, ...)`.
  It is also what one CUDA thread runs (`posable.compute.cuda`);
- a *batch* loops over rows: `for i in prange(n): forward_row(i, ...)`. `@batch` compiles that loop twice from the
  same source, once plain and once parallel, and picks by the number of rows.

Numba's own cache does not notice when a helper in another file changes (its callers keep the old code), so
ours lies in a folder named by a hash of every kernel source, the Numba version and the Python version.

Kernels use more of Numba than its public interface, to compile and start sooner (`numba_inline`). With a Numba that was
not tried they do without: they are compiled in Numba's plain way, in every process anew, and give the same answers. The
environment variable `POSABLE_PLAIN_NUMBA=1` asks for that way with any Numba.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast, overload

import numba
from numba import prange

from .files import cache_dir

P = ParamSpec("P")
R = TypeVar("R")

PARALLEL_ROWS = 1024  # below this many rows, waking the threads costs more than they save
TRIED = ((0, 61), (0, 68))  # oldest and newest Numba for `numba_inline`: both ends and 0.64 were tried
CACHE_DAYS = 30  # compiled code of versions nobody used for this long is removed

__all__ = ["Batch", "batch", "kernel", "prange"]


@overload
def kernel(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def kernel(*, fused: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(function: Callable[..., Any] | None = None, *, fused: bool = False) -> Any:
    """Compile a function with Numba on its first call, cached on disk; its signature stays visible to type checkers.

    `error_model="numpy"` makes a division by zero give infinity instead of raising, as on a GPU. Kernels allocate
    nothing, so they count no references to their arrays; one that does allocate fails to compile.

    `fused` lets a product and the sum it goes into be rounded once (a fused multiply-add), as GPUs do everywhere; the
    order of sums stays as written. For long sums of products only: elsewhere what is symmetric on paper would no
    longer be so to the last bit.
    """
    if function is None:
        return lambda f: _kernel(f, fused)
    return _kernel(function, fused)


def _kernel(function: Callable[P, R], fused: bool) -> Callable[P, R]:
    more: Any = {"fastmath": {"contract"}} if fused else {}
    compiled = _compiled(function, **more)
    private = _private_numba()
    if private is not None and compiled is not function:  # the JIT is on
        private.call_twin(compiled, lambda: _compiled(_renamed(function, "inner"), **private.TWIN_OPTIONS, **more))
    return cast("Callable[P, R]", compiled)


def _compiled(function: Callable[..., Any], *, parallel: bool = False, **more: Any) -> Any:
    """Return the function as Numba's dispatcher, which compiles it when it is first called."""
    options: Any = {"error_model": "numpy", "nogil": True, "parallel": parallel, **more}
    private = _private_numba()
    # Without a folder of our own nothing is cached: Numba's own cache does not notice when a helper changes.
    return numba.njit(**options)(function) if private is None else private.cached(function, options, _cache_folder())


@lru_cache(maxsize=1)
def _private_numba() -> ModuleType | None:
    """Return the module that uses Numba's private parts; None with a Numba it was not tried with."""
    version: Any = numba.version_info
    if not TRIED[0] <= (version.major, version.minor) <= TRIED[1]:
        warnings.warn(
            f"Numba {numba.__version__} was not tried with this version of Posable: kernels are compiled in its plain "
            "way, which takes longer, and at every start anew",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    if os.environ.get("POSABLE_PLAIN_NUMBA", "0") != "0":
        return None
    from . import numba_inline

    return numba_inline


def _renamed(function: Callable[..., Any], suffix: str) -> types.FunctionType:
    """Return a copy under another name: Numba's cache tells functions apart by name and line, not by options."""
    source = cast("types.FunctionType", function)
    name = f"{source.__name__}_{suffix}"
    copy = types.FunctionType(source.__code__, source.__globals__, name, source.__defaults__, source.__closure__)
    copy.__qualname__ = copy.__name__
    return copy


class Batch:
    """A loop over rows that runs on one core for few rows and on all cores for many.

    Call it with the number of rows first: `forward_rows(n, joints, ...)`. Threads share nothing but the arrays.
    """

    _one_at_a_time = threading.Lock()  # Numba's portable thread pool aborts when two threads enter it

    def __init__(self, function: Callable[..., None], rows: int = PARALLEL_ROWS) -> None:
        self.function = function
        self.rows = rows
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.serial = _compiled(function)
        self._parallel: Any = None

    def __call__(self, n: int, *arrays: Any) -> None:
        """Run rows 0 to n - 1."""
        if n < self.rows or numba.get_num_threads() == 1:
            self.serial(n, *arrays)
            return
        with self._one_at_a_time:
            self.parallel(n, *arrays)

    @property
    def parallel(self) -> Any:
        """The loop compiled for all cores, made when first needed: it costs a second to compile."""
        if self._parallel is None:
            self._parallel = _compiled(_renamed(self.function, "parallel"), parallel=True)
        return self._parallel


@overload
def batch(function: Callable[..., None]) -> Batch: ...
@overload
def batch(*, rows: int) -> Callable[[Callable[..., None]], Batch]: ...
def batch(function: Callable[..., None] | None = None, *, rows: int = PARALLEL_ROWS) -> Any:
    """Make a `Batch` of a function `(n, *arrays)` whose body is one `for i in prange(n)` over a row kernel.

    `rows` is where the parallel loop takes over; raise it for rows of a few nanoseconds.
    """
    if function is None:
        return lambda f: Batch(f, rows)
    return Batch(function, rows)


@lru_cache(maxsize=1)
def _cache_folder() -> Path:
    """The folder of compiled code for exactly these sources; folders nobody used for a month are removed."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source or b"@batch" in source or path.name == "numba_inline.py":
            digest.update(str(path.relative_to(package)).encode() + b"\0" + source)
    root = cache_dir() / "kernels"
    ours = root / digest.hexdigest()[:16]
    try:
        ours.mkdir(parents=True, exist_ok=True)
        ours.touch()
        for other in root.iterdir():
            if time.time() - other.stat().st_mtime > CACHE_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass  # a read-only home: Numba then falls back to compiling in memory
    return ours

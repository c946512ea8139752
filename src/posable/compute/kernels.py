"""The one compile decorator, its cache, and the loop over a batch.

Kernels are scalar Python on tuples and flat arrays, compiled by Numba. Three layers, one source:

- a *tuple kernel* takes and returns tuples of floats: `rotate(q, v)`;
- a *row kernel* takes a row number and arrays, and fills row i of the outputs: `forward_row(i, joints, ...)`.
  It is also what one CUDA thread runs (`posable.compute.cuda`);
- a *batch* loops over rows: `for i in prange(n): forward_row(i, ...)`. `@batch` compiles that loop twice from the
  same source, once plain and once parallel, and picks by the number of rows.

Numba's own cache does not notice when a helper in another file changes (its callers keep the old code), so
ours lies in a folder named by a hash of every kernel source, the Numba version and the Python version.

Around every function Numba makes code that takes its arguments from Python. For solvers, whose parts pass dozens of
arrays to each other, that was a third of the time to compile: other kernels call a twin that has none of it, and that
is never run by itself (`parts`).
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import shutil
import sys
import threading
import time
import types
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, overload

import numba
from numba import prange
from numba.core import event

from .files import cache_dir

P = ParamSpec("P")
R = TypeVar("R")

PARALLEL_ROWS = 1024  # below this many rows, waking the threads costs more than they save
TRIED = ((0, 61), (0, 68))  # oldest and newest Numba for `parts`: both ends and 0.64 were tried
KEPT_DAYS = 30  # compiled code of versions nobody used for this long is removed

__all__ = ["Batch", "batch", "kernel", "prange"]


@overload
def kernel(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def kernel(*, fused: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(function: Callable[..., Any] | None = None, *, fused: bool = False) -> Any:
    """Compile a function with Numba on its first call, cached on disk; its signature stays visible to type checkers.

    `error_model="numpy"` makes a division by zero give infinity instead of raising, as on a GPU. Kernels allocate
    nothing and keep nothing, so they count no references to their arrays (`_nrt=False`; it took 40 atomic operations a
    limb), and one that does allocate fails to compile.

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

    @lru_cache(maxsize=1)
    def twin() -> Any:
        options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_part_options(), **more}
        return _compiled(_renamed(function, "inner"), **options)

    def template(args: Any, kws: Any) -> Any:
        return twin().get_call_template(tuple(map(_common_type, args)), kws)

    if compiled is not function:  # the JIT is on: this is what Numba asks of a kernel that another one calls
        compiled.get_call_template = template
        compiled.get_overload = lambda signature: twin().get_overload(signature)
    return cast("Callable[P, R]", compiled)


def _part_options() -> dict[str, Any]:
    """How a twin is compiled. With a Numba nobody tried: as Numba does it, which takes longer and runs the same."""
    version: Any = numba.version_info
    if not TRIED[0] <= (version.major, version.minor) <= TRIED[1]:
        return {}
    from .numba_inline import PartCompiler

    return {"pipeline_class": PartCompiler}


def _common_type(argument: Any) -> Any:
    """The type to compile a part for, given that of an argument: one for many that are the same in sense.

    A parallel loop counts without a sign, and Numba gives every constant a type of its own (also inside of tuples)
    though its value is handed over like any other; either would have all that is called compiled once more.
    """
    known: Any = numba.types
    return known.int64 if argument == known.uint64 else known.unliteral(argument)


def _compiled(function: Callable[..., Any], *, parallel: bool = False, **more: Any) -> Any:
    """The function as Numba's dispatcher. Only the parallel loop around kernels counts references: it needs them."""
    config: Any = numba.config  # Numba fills this module at run time
    options: Any = {
        "error_model": "numpy",
        "nogil": True,
        "cache": True,
        "parallel": parallel,
        "_nrt": parallel,
        **more,
    }
    previous, config.CACHE_DIR = config.CACHE_DIR, str(_compiled_code_dir())  # read while it decorates, and only then
    try:
        return numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = previous


def _renamed(function: Callable[..., Any], suffix: str) -> types.FunctionType:
    """A copy under a name of its own: Numba's cache tells functions apart by name and line, not by options."""
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
def _compiled_code_dir() -> Path:
    """The folder of compiled code for exactly these sources; folders nobody used for a month are removed."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source or b"@batch" in source:
            digest.update(str(path.relative_to(package)).encode() + b"\0" + source)
    root = cache_dir() / "kernels"
    ours = root / digest.hexdigest()[:16]
    try:
        ours.mkdir(parents=True, exist_ok=True)
        ours.touch()
        for other in root.iterdir():
            if time.time() - other.stat().st_mtime > KEPT_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass  # a read-only home: Numba then falls back to compiling in memory
    return ours


class _CompileNotice(event.Listener):
    """Says once that kernels are being compiled, when it takes longer than a second; at the end, how many they were.

    Python's search for garbage waits meanwhile: it walks again and again through what the compiler builds.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.done = 0
        self.began = 0.0
        self.seconds = 0.0
        self.shown = False
        self.collecting = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if not self._is_ours(event):
            return
        if self.depth == 0:
            self.began = time.monotonic()
            self.collecting = gc.isenabled()
            gc.disable()
            if not self.shown:
                self.timer = threading.Timer(1.0, self._show)
                self.timer.daemon = True
                self.timer.start()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        if not self._is_ours(event):
            return
        self.depth -= 1
        self.done += 1
        if self.depth == 0:
            self.seconds += time.monotonic() - self.began
            if self.collecting:
                gc.enable()
            if self.timer is not None:
                self.timer.cancel()

    def _show(self) -> None:
        self.shown = True
        atexit.register(self._sum_up)
        print("posable: compiling kernels for this machine, once; half a minute for a whole solver", file=sys.stderr)

    def _sum_up(self) -> None:
        print(
            f"posable: compiled {self.done} kernels in {self.seconds:.0f} s, kept for the next start", file=sys.stderr
        )

    @staticmethod
    def _is_ours(event: Any) -> bool:
        return str(event.data["dispatcher"].py_func.__module__).startswith("posable")


event.register("numba:compile", _CompileNotice())  # type: ignore[no-untyped-call]

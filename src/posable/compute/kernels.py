"""The one compile decorator, and the loop over a batch.

Kernels are scalar Python on tuples and flat arrays. Three layers, one source:

- a *tuple kernel* takes and returns tuples of floats: `rotate(q, v)`;
- a *row kernel* takes a row number and arrays, and fills row i of the outputs: `forward_row(i, joints, ...)`.
  It is also what one CUDA thread runs (`posable.compute.cuda`);
- a *batch* loops over rows: `for i in prange(n): forward_row(i, ...)`. `@batch` compiles that loop and shares its
  rows out over the cores where there are many.

There are two ways to the same answers, to the last bit. The *library* (`posable.compute.library`) was compiled ahead of
time and comes with the wheel; nothing is compiled, and Numba need not be there. The *JIT* (`posable.compute.jit`)
compiles with Numba when a batch is first called. At import the library is taken if it was made of these very sources;
`POSABLE_KERNELS=jit` or `POSABLE_KERNELS=library` asks for one, `POSABLE_KERNELS=checked` for a library in which every
index is checked (`make check-bounds`). Nothing else in the package knows which it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from . import library, stopping
from .errors import PosableError
from .gpu_arrays import GpuArray, GpuRecords

P = ParamSpec("P")
R = TypeVar("R")
Part: TypeAlias = Callable[[int, int, int, tuple[Any, ...]], object]
"""A loop over some of a batch's rows: (first, last, n, arrays)."""

PARALLEL_ROWS = 1024  # below this many rows, waking the threads costs more than they save
PIECES = 3  # a piece is that part of a thread's share of the rows that are left: one that is done early takes another
SHORTEST = 4e-5  # [s] of a piece, about: at the end they are that short, so that all threads end together
MOST_ROWS = 4096  # of a piece: between two of them Ctrl-C and requests to stop are seen, whatever the number of rows
TRIED = 64  # of many rows, one in so many runs first, and says how long the others will take
WORTH = 2e-4  # [s] of work that is left: below this, waking the threads costs more than they save
prange = range  # the name by which a batch's loop over its rows is found

__all__ = ["Batch", "batch", "kernel", "prange", "thread_count", "threads"]


@overload
def kernel(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def kernel(*, fused: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(function: Callable[..., Any] | None = None, *, fused: bool = False) -> Any:
    """Mark a function as one that is compiled; its signature stays visible to type checkers.

    With the JIT it is compiled on its first call. Beside the library, where only batches are called, it stays the
    Python function that it is. Kernels allocate nothing, so they count no references to their arrays; one that does
    allocate fails to compile. A division by zero gives infinity in compiled code, as on a GPU.

    `fused` lets a product and the sum it goes into be rounded once (a fused multiply-add), as GPUs do everywhere; the
    order of sums stays as written. For long sums of products only: elsewhere what is symmetric on paper would no
    longer be so to the last bit.
    """
    if function is None:
        return lambda f: kernel_of(f, fused)
    return kernel_of(function, fused)


def kernel_of(function: Callable[..., Any], fused: bool) -> Any:
    """Return a kernel as the chosen mode has it."""
    if mode() == "jit":
        from . import jit

        return jit.compile_kernel(function, fused)
    function.__fused__ = fused  # type: ignore[attr-defined]
    return function


@lru_cache(maxsize=1)
def mode() -> str:
    """Return how kernels run in this process: "library", "checked" (a library that checks every index) or "jit"."""
    requested = requested_mode()
    if requested != "jit" and library.table() is not None:
        return requested or "library"
    if requested in ("library", "checked"):
        raise PosableError(f"POSABLE_KERNELS is {requested!r}, and {library.why_not()}")
    if find_spec("numba") is None:
        why = "POSABLE_KERNELS is 'jit'" if requested == "jit" else f"{library.why_not()}; without it"
        raise PosableError(f"{why}{',' if requested == 'jit' else ''} kernels need Numba: pip install 'posable[jit]'")
    return "jit"


def requested_mode() -> str:
    """Return the mode that was asked for; "" for the library or the JIT."""
    requested = os.environ.get("POSABLE_KERNELS", "")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" or os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0":
        requested = requested or "jit"  # whoever asks Numba for that wants no code that was compiled before
    if requested not in ("", "jit", "library", "checked"):
        raise PosableError(f"POSABLE_KERNELS is {requested!r}; expected 'jit', 'library' or 'checked'")
    return requested


class Batch:
    """A loop over rows that runs on one core for few rows and on all cores for many.

    Call it with the number of rows first: `forward_rows(n, joints, ...)`. Threads share nothing but the arrays.
    """

    def __init__(
        self,
        function: Callable[..., None],
        rows: int = PARALLEL_ROWS,
        scratch: Sequence[str] = (),
        interleaved: Sequence[str] = (),
        staged: Sequence[str] = (),
        single: Sequence[str] = (),
        whole: bool = False,
        registers: int = 0,
    ) -> None:
        self.function = function
        self.rows = rows
        self.scratch, self.interleaved, self.staged = tuple(scratch), tuple(interleaved), tuple(staged)
        self.single, self.whole, self.registers = tuple(single), whole, registers
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._part: Part | None = None
        self._is_compiled_ahead = False

    def __call__(self, n: int, *arrays: Any) -> None:
        """Run rows 0 to n - 1."""
        part = self._part or self._found()
        if stopping.watched:
            stopping.check_stop()
        if not self._is_compiled_ahead and on_gpu(arrays):
            self._run_on_gpu(n, arrays)
            return
        if not self._is_compiled_ahead and library.needs_copies(arrays):  # Numba would compile once more for those
            library.run_with_copies(self, lambda *given: self(n, *given), arrays)
            return
        try:
            if n < self.rows:
                part(0, n, n, arrays)
            else:
                _on_all_cores(part, n, arrays)
        except TypeError as error:
            if not self._is_compiled_ahead:
                raise
            if on_gpu(arrays):
                self._run_on_gpu(n, arrays)
                return
            library.run_otherwise(self, n, arrays, error)
        except ValueError as error:  # too few rows: Numba would read past their end
            raise PosableError(f"{self.__name__}: {error}") from None

    def _run_on_gpu(self, n: int, arrays: tuple[Any, ...]) -> None:
        from .gpu_launch import run_on_gpu

        run_on_gpu(self, n, *arrays)

    def serial(self, n: int, *arrays: Any) -> None:
        """Run rows 0 to n - 1 on one core."""
        with threads(1):
            self(n, *arrays)

    def run_jit(self, n: int, arrays: tuple[Any, ...]) -> None:
        """Run rows 0 to n - 1 by the JIT."""
        if n < self.rows:
            self.jit(0, n, n, *arrays)
        else:
            _on_all_cores(self._jit_part, n, arrays)

    def _found(self) -> Part:
        """Return the loop over some of the rows: the library's where it has this batch, else the JIT's."""
        # Also where the JIT was chosen for want of a library: it may have been built meanwhile.
        made: Part | None = library.loop(self) if requested_mode() != "jit" else None
        self._is_compiled_ahead = made is not None
        self._part = made or self._jit_part
        return self._part

    def _jit_part(self, first: int, last: int, n: int, arrays: tuple[Any, ...]) -> None:
        self.jit(first, last, n, *arrays)

    @property
    def jit(self) -> Any:
        """The loop `(first, last, n, *arrays)` as Numba's dispatcher."""
        if "_jit" not in vars(self):
            from . import jit

            self._jit = jit.compile_loop(self.function)
        return self._jit


def on_gpu(arguments: tuple[Any, ...]) -> bool:
    """Return whether an array among arguments lies on a GPU."""
    return any(on_gpu(one) if isinstance(one, tuple) else isinstance(one, GpuArray | GpuRecords) for one in arguments)


@overload
def batch(function: Callable[..., None]) -> Batch: ...
@overload
def batch(
    *,
    rows: int,
    scratch: Sequence[str] = (),
    interleaved: Sequence[str] = (),
    staged: Sequence[str] = (),
    single: Sequence[str] = (),
    whole: bool = False,
    registers: int = 0,
) -> Callable[[Callable[..., None]], Batch]: ...
def batch(
    function: Callable[..., None] | None = None,
    *,
    rows: int = PARALLEL_ROWS,
    scratch: Sequence[str] = (),
    interleaved: Sequence[str] = (),
    staged: Sequence[str] = (),
    single: Sequence[str] = (),
    whole: bool = False,
    registers: int = 0,
) -> Any:
    """Make a `Batch` of a function `(n, *arrays)` whose body is one `for i in prange(n)` over a row kernel.

    Args:
        function: the loop.
        rows: where the parallel loop takes over; raise it for rows of a few nanoseconds.
        scratch: names of arrays, also those in named tuples, that nobody reads afterwards. On a GPU neighbouring
            threads work on neighbouring rows, so there their rows lie beside each other.
        interleaved: names of arrays with answers or targets that are worth the same on a GPU: a launch works on copies
            of them. Those that are written to are written as a whole.
        staged: names of arrays in C order that a block of a GPU's threads copies to the memory that it shares, its rows
            at once, and back. Those that are written to are written as a whole.
        single: names of arrays of float64 that on a GPU may have float32 in memory, all of them or none.
        whole: whether all that it calls is inlined in its code for GPUs, however large that becomes.
        registers: that a thread of a GPU has at most, 0 for as many as it likes: the fewer, the more threads work while
            others wait.
    """
    if function is None:
        return lambda f: Batch(f, rows, scratch, interleaved, staged, single, whole, registers)
    return Batch(function, rows)


# Threads


class _Threads(threading.local):
    """How many threads a batch called by this thread may use; one for each core where nothing was said."""

    count: int | None = None


def thread_count() -> int:
    """Return how many threads a batch called by this thread uses at most.

    POSABLE_THREADS says it, else OMP_NUM_THREADS, which joblib, dask and ray set to the share of each of their workers;
    else it is the cores that this process may use.
    """
    return _threads.count or _cores()


def _cores() -> int:
    requested = os.environ.get("POSABLE_THREADS", "")
    if requested and not (requested.isdigit() and int(requested) > 0):
        raise PosableError(f"POSABLE_THREADS is {requested!r}; expected a number of threads")
    if requested:
        return int(requested)
    allotted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list is for loops within loops
    cores = _usable_cores()
    return min(cores, int(allotted)) if allotted.isdigit() and int(allotted) > 0 else cores


@lru_cache(maxsize=1)
def _usable_cores() -> int:
    """Return the cores that this process may run on; of a container's quota, the whole ones."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
        return cores


class _Running:
    """Counts the threads that run rows of batches now: those that called, and those that help them.

    Threads of the user's own may call at the same time, as in joblib's threading backend or a dask worker with several
    threads: helpers take only the cores that callers leave.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.callers, self.helpers = 0, 0

    @contextmanager
    def caller(self) -> Iterator[None]:
        """Count this thread among those that called, in the `with` block."""
        with self.lock:
            self.callers += 1
        try:
            yield
        finally:
            with self.lock:
                self.callers -= 1

    @contextmanager
    def helper(self, cores: int) -> Iterator[bool]:
        """Count this thread among the helpers in the `with` block, where a core is left for it; give whether one is."""
        with self.lock:
            is_free = self.callers + self.helpers < cores
            self.helpers += is_free
        try:
            yield is_free
        finally:
            with self.lock:
                self.helpers -= is_free

    def is_crowded(self, cores: int) -> bool:
        """Return whether more threads run than there are cores: a caller has come since."""
        return self.callers + self.helpers > cores


_running = _Running()
_threads = _Threads()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let batches that this thread calls use so many threads in the `with` block."""
    before, _threads.count = _threads.count, count
    try:
        yield
    finally:
        _threads.count = before


def _on_all_cores(part: Part, n: int, arrays: tuple[Any, ...]) -> None:
    """Run rows 0 to n - 1 on several threads, this one among them; compiled loops let go of the interpreter's lock.

    Where this thread is interrupted (Ctrl-C), the others end with the piece they are at before the error goes on.
    """
    with _running.caller():
        _shared_out(part, n, arrays)
    if stopping.watched:
        stopping.check_stop()


def _shared_out(part: Part, n: int, arrays: tuple[Any, ...]) -> None:
    count, cores = thread_count(), _cores()
    stop = stopping.stop_event() if stopping.watched else None
    # At first a few rows, or none: what is wrong with the arguments is said here, and the JIT compiles once.
    tried, least = 0 if count == 1 else min(n // TRIED, MOST_ROWS), MOST_ROWS
    if count > 1:
        began = time.perf_counter()
        part(0, tried, n, arrays)
        taken = time.perf_counter() - began
        least = int(SHORTEST * tried / max(taken, 1e-9)) + 1
        if taken * (n - tried) < WORTH * tried:
            count = 1
    pieces = iter(_pieces(tried, n, count, least))  # several threads may take from it: that is the interpreter's step
    stopped = threading.Event()

    def work(is_helper: bool = False) -> None:
        for first, last in pieces:
            if stopped.is_set() or (stop is not None and stop.is_set()):
                return
            part(first, last, n, arrays)
            if is_helper and _running.is_crowded(cores):
                return

    def help_out() -> None:
        with _running.helper(cores) as is_free:
            if is_free:
                work(is_helper=True)

    if count == 1:
        work()
        return
    others = [_pool().submit(help_out) for _ in range(count - 1)]
    try:
        work()
    except BaseException:
        stopped.set()
        raise
    finally:
        for other in others:
            other.cancel()
        wait(others)
    for other in others:
        if not other.cancelled():
            other.result()


def _pieces(first: int, n: int, count: int, least: int) -> list[tuple[int, int]]:
    """Return rows first to n - 1 in pieces for so many threads: large ones first, then smaller and smaller ones.

    `least` rows are the fewest of a piece; one thread takes them all, but for `MOST_ROWS` at a time.
    """
    pieces = []
    while first < n:
        rows = n - first if count == 1 else max(-(-(n - first) // (PIECES * count)), least)
        last = min(first + min(rows, MOST_ROWS), n)
        pieces.append((first, last))
        first = last
    return pieces


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="posable")


def _forget_threads() -> None:
    global _running
    _pool.cache_clear()
    _running = _Running()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)  # a fork takes none of the threads along

"""Public calls with arrays on a GPU: `run_on_gpu` runs a batch where they lie, in the stream of their library.

A batch has several codes (`variants`), and the one is taken that copies least: float32 of the caller is read and
written in place where the batch has a code for it, and so is C order, which a block of threads stages in the memory
that it shares. Elsewhere the arrays' own library makes copies, and copies back what was written.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import byref, c_void_p
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cuda_driver, gpu_casts, library
from .calls import Kind, changed, leaves
from .cuda import DEFAULT_STREAM, FOLDER, MAX_BLOCKS, THREADS, AsNumPy, NoCodeError, blocks_of, file_name, flat, loaded
from .cuda_driver import Driver, DriverError
from .errors import PosableError
from .gpu_arrays import LIBRARIES, GpuArray, GpuRecords
from .gpu_memory import GpuMemory, address_in
from .kernels import Batch
from .variants import BLOCK, Variant, parameters_of, row_bytes, staged_rows

__all__ = ["run_on_gpu"]


def run_on_gpu(batch: Batch, n: int, *arguments: Any) -> None:
    """Run rows 0 to n - 1 of a batch where its arrays lie, in the stream that their library works in.

    The call returns before the work is done. Arrays of the CPU that the batch reads, a solver's model for the most
    part, are copied to the GPU once and stay there as long as they live; one that it writes to is refused. Where the
    batch has no code for float32, and an array has it, it works on a copy.
    """
    library_used, device = _common(list(flat(arguments)))
    driver = cuda_driver.driver()
    reader = _readers.get(batch) or library.reader(batch)
    if reader is None:
        why = library.why_not() or "it was not compiled ahead of time"
        raise PosableError(f"{batch.__name__} cannot run on a GPU: {why}")
    if n <= 0:
        return
    _readers[batch] = reader
    stream = library_used.stream(device)
    layout = _layout(batch, reader, arguments)
    with driver.on(device) as context:
        _give_back(driver)
        try:
            kernel = loaded(driver, context, FOLDER / file_name(), library.full_name(batch) + layout.suffix)
        except NoCodeError as error:
            raise PosableError(f"{batch.__name__} cannot run on a GPU: {error}") from None
        taken = _Arguments(driver, context, stream)
        headers = _placed(arguments, iter(layout.kinds), iter(reader.uses), taken)
        try:
            row = np.frombuffer(reader.read(0, n, n, headers), np.int64).copy()
        except (TypeError, ValueError) as error:
            raise PosableError(f"{batch.__name__}: {error}") from None
        _set_layout(row, [kind for kind, _ in layout.kinds], taken.strides)
        if layout.height:
            blocks, threads = min(-(-n // layout.height), MAX_BLOCKS), (layout.height, BLOCK // layout.height)
            driver.launch(kernel, blocks, threads, row, stream, layout.shared)
        else:
            driver.launch(kernel, blocks_of(n), (THREADS, 1), row, stream)
        taken.finish()


@dataclass(frozen=True)
class _Layout:
    """A code of a batch, and how it is launched.

    Attributes:
        suffix: of its name.
        kinds: of each array and number its kind, and whether it is scratch.
        height: how many rows a block stages at once; 0 where it stages none.
        shared: bytes of shared memory that it needs for them.
    """

    suffix: str
    kinds: tuple[tuple[Kind, bool], ...]
    height: int = 0
    shared: int = 0


def _layout(batch: Batch, reader: library.Reader, arguments: tuple[Any, ...]) -> _Layout:
    """Return the code of a batch that copies least of these arguments."""
    if not (batch.scratch or batch.interleaved or batch.staged or batch.single):
        return _Layout("", _kinds(batch, reader, Variant()))
    given = dict(_named(parameters_of(batch), arguments, reader.kinds))
    own = [one for name, (one, _) in given.items() if name in batch.single and isinstance(one, GpuArray)]
    single = bool(own) and all(one.dtype == np.float32 for one in own)
    interleaved = any(one.is_interleaved for one, _ in given.values() if isinstance(one, GpuArray) and one.ndim > 2)
    height, each = 0, 0
    if batch.staged and not interleaved:
        sizes = [
            math.prod(one.shape[1:]) * (4 if single and name in batch.single else kind.dtype.itemsize)
            for name, (one, kind) in given.items()
            if name in batch.staged
        ]
        height, each = staged_rows(sizes), sum(map(row_bytes, sizes))
    rows = not height and bool(batch.scratch or batch.interleaved)
    variant = Variant(rows=rows, staged=height > 0, single=single)
    return _Layout(variant.suffix, _kinds(batch, reader, variant), height, height * each)


def _named(
    names: Sequence[str], arguments: Sequence[Any], kinds: Sequence[Kind]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the name, the array and the kind of arguments, also of those in named tuples."""
    for name, one, kind in zip(names, arguments, kinds, strict=True):
        if kind.dtype is not None:
            yield name, (one, kind)
        elif kind.named is not None:
            fields: Any = kind.named
            yield from _named(fields._fields, one, kind.parts)


@cache
def _kinds(batch: Batch, reader: library.Reader, variant: Variant) -> tuple[tuple[Kind, bool], ...]:
    """Return, of each array and number, its kind and whether it is scratch."""
    kinds = variant.kinds(batch, reader.kinds)
    marked = changed(kinds, parameters_of(batch), batch.scratch, lambda kind: replace(kind, scalar=bool))
    return tuple((kind, other.scalar is bool) for kind, other in zip(leaves(kinds), leaves(marked), strict=True))


def _set_layout(row: NDArray[np.int64], kinds: Sequence[Kind], strides: Sequence[tuple[int, ...]]) -> None:
    """Write into the row of a launch what the reader does not know: the strides of arrays that are not in C order, and
    the size of float32 in the place of float64. `strides`: of the arrays that are taken as they lie.
    """
    at, lying = 1, iter(strides)
    for kind in kinds:
        if kind.dtype is None:
            at += 1
            continue
        if kind.order == "A":
            row[at + 3] = 4 if kind.single else kind.dtype.itemsize
            row[at + 5 + kind.axes : at + 5 + 2 * kind.axes] = next(lying)
        elif kind.order == "F" or kind.single:
            stride = 4 if kind.single else kind.dtype.itemsize
            row[at + 3] = stride
            for axis in range(kind.axes) if kind.order == "F" else reversed(range(kind.axes)):
                row[at + 5 + kind.axes + axis] = stride
                stride *= int(row[at + 5 + axis])
        at += 5 + 2 * kind.axes


def _common(flat: Sequence[Any]) -> tuple[Any, int]:
    """Return the one library and the one GPU of arrays."""
    arrays = [one for one in flat if isinstance(one, GpuArray | GpuRecords | GpuMemory)]
    devices = sorted({one.device for one in arrays})
    if len(devices) > 1:
        raise PosableError(f"the arrays lie on GPUs {devices}; expected one GPU")
    names = {one.library.name: one.library for one in arrays if not isinstance(one, GpuMemory)}
    if len(names) > 1:
        raise PosableError(f"the arrays are of {' and '.join(sorted(names))}; expected one library")
    return next(iter(names.values()), LIBRARIES["jax"]), devices[0]


class _Arguments:
    """The arrays of one launch on their way to the GPU; `finish` sees to what comes after it."""

    def __init__(self, driver: Driver, context: int, stream: int) -> None:
        self.driver, self.context, self.stream = driver, context, stream
        self.written: list[tuple[Any, Any]] = []  # the caller's float32, and what the kernel writes
        self.interleaved: list[
            tuple[Any, Any]
        ] = []  # the caller's array, and what the kernel writes with its axes reversed
        self.strides: list[tuple[int, ...]] = []  # of arrays that a code takes with any
        self.alive: list[Any] = []  # copies, which are given back after the launch, in the order of the stream
        self.used: list[Any] = []  # what has to stay until the kernel is done

    def header(self, given: Any, kind: Kind, is_scratch: bool, written: bool) -> Any:
        """Return an array as the reader takes it: float32 that a code reads in place is float64 there."""
        shown, dtype = np.dtype(kind.dtype), np.dtype(np.float32 if kind.single else kind.dtype)
        if kind.order == "A":
            array, strides = self._interleaved(given, dtype, written)
            self.strides.append(strides)
            if isinstance(given, GpuArray):
                return _as_numpy(self._address(array.target, array.library), given.shape, shown)
        if isinstance(given, np.ndarray):
            if written and given.size:
                raise PosableError("an array of the CPU is written to on a GPU; expected one on the GPU")
            there = given.astype(np.float32) if kind.single and given.dtype == shown else given
            return _as_numpy(_uploaded(self.driver, self.context, there), given.shape, given.dtype)
        if isinstance(given, GpuRecords):
            return _as_numpy(self._address(given.data, given.library), given.shape, given.dtype)
        if isinstance(given, GpuMemory):
            return _as_numpy(given.address, given.shape, given.dtype)
        if written and not (given.library.writes or isinstance(given.target, GpuMemory)):
            raise PosableError("an array of JAX is written to")  # nobody may, and no public call does
        array = given.contiguous()
        if array is not given and written:
            raise PosableError("an array that is written to has gaps")
        if array.dtype == np.float32 and dtype == np.float64:
            array = self._widened(array, written)
        self.alive.append(array)
        return _as_numpy(
            self._address(array.target, array.library), array.shape, shown if array.dtype == dtype else array.dtype
        )

    def _interleaved(self, given: Any, dtype: np.dtype[Any], written: bool) -> tuple[Any, tuple[int, ...]]:
        """Return an array, or room for it, with its rows beside each other, and its strides [bytes]; one of the CPU as
        it is.
        """
        if not isinstance(given, GpuArray) or not given.size:
            return given, _steps(given.shape, dtype.itemsize)
        used = given.library
        if given.dtype == dtype and given.is_interleaved:
            return given, given.strides
        if written:
            made = GpuArray(used.filled(given.shape[::-1], dtype, given.device, None), used)
            self.interleaved.append((given, made))
        else:
            made = GpuArray(used.contiguous(used.transposed(given.array)), used)
            made = made if made.dtype == dtype else self._widened(made, False)
        self.alive.append(made)
        return made, _steps(given.shape[::-1], dtype.itemsize)[::-1]

    def _widened(self, array: Any, written: bool) -> Any:
        """Return float64 in the place of float32."""
        if array.library.writes:
            wide = array.astype(np.float64)
        else:
            memory = GpuMemory(array.shape, np.dtype(np.float64), array.device)
            wide = GpuArray(memory, array.library)
            source = array.target
            if not isinstance(source, GpuMemory):
                source = _Borrowed(self._address(source, array.library), array.shape, array.dtype, array.device)
            flat = (array.size,)
            run_on_gpu(gpu_casts.widen_rows, array.size, source.reshape(flat), memory.reshape(flat))
        if written:
            self.written.append((array, wide))
        return wide

    def _address(self, target: Any, array_library: Any) -> int:
        if isinstance(target, GpuMemory):
            return target.address
        if array_library.writes:
            return int(array_library.address(target))
        capsule = target.__dlpack__(stream=DEFAULT_STREAM)
        self.used.append((capsule, target))
        return address_in(capsule)

    def finish(self) -> None:
        """Narrow what was written in float64; store what the kernel still reads."""
        for array, wide in self.written:
            if array.library.writes:
                array.library.assign(array.target, wide.target)
            else:
                flat = (array.size,)
                run_on_gpu(gpu_casts.narrow_rows, array.size, wide.target.reshape(flat), array.target.reshape(flat))
        for array, made in self.interleaved:
            if array.library.writes:
                array.library.assign(array.target, array.library.transposed(made.target))
            else:
                array.become(made.target.cast(array.dtype))
        if self.used:
            _in_use.append((self.driver.event(self.stream), self.used))


def _placed(
    arguments: Any, kinds: Iterator[tuple[Kind, bool]], uses: Iterator[int], taken: _Arguments
) -> tuple[Any, ...]:
    """Return arguments as the reader takes them: arrays as NumPy's, with addresses on the GPU."""
    made: list[Any] = []
    for one in arguments:
        if isinstance(one, tuple):
            made.append(_placed(one, kinds, uses, taken))
            continue
        kind, is_scratch = next(kinds, (None, False))
        if kind is None or kind.dtype is None:
            made.append(one)
        else:
            made.append(taken.header(one, kind, is_scratch, bool(next(uses) & library.WRITTEN)))
    return tuple(made)


def _as_numpy(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return memory on the GPU as an array of NumPy that nobody may look into."""
    given = {"shape": shape, "data": (address or 8, False)}
    return np.asarray(AsNumPy(given, dtype.itemsize)).view(dtype)


def _steps(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the strides [bytes] of an array in C order."""
    made = [size]
    for length in reversed(shape[1:]):
        made.insert(0, made[0] * length)
    return tuple(made[: len(shape)])


class _Borrowed(GpuMemory):
    """Memory of somebody else's."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> None:
        super().__init__(shape, dtype, device, owner=_Address(address))


class _Address:
    def __init__(self, address: int) -> None:
        self.address = address


_readers: dict[Batch, library.Reader] = {}  # finding one takes as long as a launch
_in_use: list[tuple[int, list[Any]]] = []  # (an event, what may not be given back before it has happened)
_copies: dict[tuple[int, Any], tuple[Any, int]] = {}  # by context and array: (what it is a copy of, its address)
_unused: list[tuple[int, int]] = []  # (context, address) of copies whose original is gone
SMALL = 1024  # bytes up to which a copy is found by what is in it, and stays
MOST_SMALL = 1024  # of them


def _uploaded(driver: Driver, context: int, array: NDArray[Any]) -> int:
    """Return the address of an array's copy in a context, which is made once.

    A model never changes after it was made, and a copy of it is found by the array that it is; one of few bytes, which
    may be made for a call, by its bytes.
    """
    if not array.nbytes:
        return 0
    small = array.nbytes <= SMALL
    key = (context, (array.tobytes(), array.shape) if small else id(array))
    found = _copies.get(key)
    if found is not None and (small or found[0]() is array):
        return found[1]
    if small and len(_copies) > MOST_SMALL:
        first = next((one for one, (original, _) in _copies.items() if original is None), None)
        if first is not None:
            _unused.append((first[0], _copies.pop(first)[1]))
    address = driver.allocate(array.nbytes)
    driver.to_gpu(address, np.ascontiguousarray(array))
    driver.wait(0)  # other streams do not wait for a copy
    original = None
    if not small:
        original = weakref.ref(array, lambda _: _forget(key))
    _copies[key] = (original, address)
    return address


def _forget(key: tuple[int, Any]) -> None:
    found = _copies.pop(key, None)
    if found is not None:
        _unused.append((key[0], found[1]))


def _give_back(driver: Driver) -> None:
    """Free copies whose originals are gone, and let go of what kernels have read."""
    while _unused:
        context, address = _unused.pop()
        with suppress(DriverError):
            driver.call("cuCtxPushCurrent_v2", context)
            try:
                driver.free(address)
            finally:
                driver.call("cuCtxPopCurrent_v2", byref(c_void_p()))
    _in_use[:] = [(event, used) for event, used in _in_use if not driver.has_happened(event)]

"""Batches on an NVIDIA GPU: the same source, one thread a row.

A batch is a function `(n, *arrays)` whose body is `for i in prange(n): ...`. On a GPU the same code runs with another
`prange`: each thread takes the rows that are its own (its number, then every further one a whole grid away). Nothing
is written twice, and what the CPU's tests say of a kernel holds for the GPU's.

`launch` runs a batch. Its code was compiled ahead of time, to PTX in one file beside the package (`python -m
posable.compute.build --ptx`; wheels bring it), which the GPU's driver assembles once and keeps in a cache of its own.
Nothing else is needed: the library's own reader checks the arguments and puts them into a row of machine words, and
these are the kernel's parameters. Where the file is not that of these sources, or was not compiled for the
arguments, numba-cuda compiles the batch (extra `cuda`; `posable.compute.ptx`). `POSABLE_KERNELS=library` or
`POSABLE_KERNELS=jit` asks for one of the two, as on a CPU.
"""

from __future__ import annotations

import inspect
import json
import lzma
import weakref
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import byref, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cuda_driver, gpu_casts, library
from .calls import Kind, calls, interleaved, leaves
from .cuda_driver import Driver, DriverError
from .errors import PosableError
from .gpu_arrays import LIBRARIES, GpuArray, GpuRecords
from .gpu_memory import GpuMemory, address_in
from .kernels import Batch, requested_mode
from .sources import library_sources

THREADS = 128  # a block: enough to hide memory's delay, few enough for kernels with many registers
MAX_BLOCKS = 65536  # more rows than this many blocks have threads are walked in strides of the whole grid
CAPABILITY = (7, 0)  # the oldest compute capability that the PTX is for: Volta, 2017; every later GPU takes it too
PTX_VERSION = "7.0"  # of the PTX: drivers know it since CUDA 11.0
INTERLEAVED = "@rows"  # after the name of a batch: its code for arrays whose rows lie beside each other
ENTRY = "batch"  # the kernel's name in the PTX
DEFAULT_STREAM = 1  # in the words of the CUDA array interface
FOLDER = library.FOLDER
# What the standard library raises for a file that is damaged, or where it was made without xz.
BROKEN = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile)

__all__ = ["available", "launch", "run_on_gpu"]


def available() -> bool:
    """Whether a GPU is at hand."""
    try:
        cuda_driver.driver()
    except PosableError:
        return False
    return True


def launch(batch: Batch, n: int, *arrays: Any) -> None:
    """Run rows 0 to n - 1 of a batch on the current GPU, in its default stream.

    Arrays on that GPU (of PyTorch, CuPy, numba-cuda: anything with `__cuda_array_interface__`) stay there, and the call
    returns before the work is done, as launches do. NumPy arrays are copied there, and back if they are written to,
    which waits; one that is given twice is copied once.
    """
    driver = cuda_driver.driver()
    if n <= 0:
        return
    why = "POSABLE_KERNELS is 'jit'"
    if requested_mode() != "jit":
        why = _launch_compiled(driver, batch, n, arrays)
        if not why:
            return
    if requested_mode() == "library" or not _numba_cuda_is_there():
        raise PosableError(f"{batch.__name__}: {why}; without that a GPU needs numba-cuda: pip install 'posable[cuda]'")
    from . import ptx

    ptx.kernel(batch)[_blocks(n), THREADS](n, *arrays)


def file_name() -> str:
    """Return the name of the file with the PTX: it has a hash of the sources in it, so that another's is not found."""
    return f"_ptx_{library_sources()[:16]}.zip"


def interleaved_kinds(batch: Batch, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return the kinds of a batch's arguments with rows beside each other where it says so."""
    names = list(inspect.signature(batch.function).parameters)[1:]
    return interleaved(kinds, names, (*batch.scratch, *batch.interleaved))


def compiled_calls() -> dict[str, str]:
    """Return what is compiled for GPUs, by name: every batch, some once more with `INTERLEAVED` after their name."""
    from .build import batch_of

    table = calls()
    more = {name: words for name, words in table.items() if batch_of(name).scratch or batch_of(name).interleaved}
    return table | {f"{name}{INTERLEAVED}": words for name, words in more.items()}


def write_file(path: Path, codes: dict[str, bytes]) -> None:
    """Write compressed PTX (xz) of batches, by their full names, into one file."""
    table = {"sources": library_sources(), "capability": CAPABILITY, "version": PTX_VERSION, "entry": ENTRY}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("table.json"), json.dumps(table))  # with a date that does not change
        for name, code in codes.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.ptx.xz"), code)


def parameters(kinds: Sequence[Kind]) -> Iterator[tuple[str, bool]]:
    """Yield the parameters of a kernel: of each its type in PTX, and whether it is the address of an array.

    The first is the number of rows. An array becomes two null pointers, the number of items, their size, the data, the
    shape and the strides, as the library's reader writes them.
    """
    yield "u64", False
    for kind in leaves(kinds):
        if kind.dtype is None:
            yield {float: "f64", int: "u64", bool: "u8"}[kind.scalar or int], False
        else:
            yield from (("u64", k == 4) for k in range(5 + 2 * kind.axes))


# Public calls with arrays on a GPU


def run_on_gpu(batch: Batch, n: int, *arguments: Any) -> None:
    """Run rows 0 to n - 1 of a batch where its arrays lie, in the stream that their library works in.

    The call returns before the work is done. Arrays of the CPU that the batch reads, a solver's model for the most
    part, are copied to the GPU once and stay there as long as they live; one that it writes to is refused. Where the
    batch takes float64 and an array has float32, it works on a copy.
    """
    flat = list(_flat(arguments))
    library_used, device = _common(flat)
    driver = cuda_driver.driver()
    reader = library.reader(batch)
    if reader is None:
        why = library.why_not() or "it was not compiled ahead of time"
        raise PosableError(f"{batch.__name__} cannot run on a GPU: {why}")
    if n <= 0:
        return
    stream = library_used.stream(device)
    with driver.on(device) as context:
        _give_back(driver)
        try:
            name, kinds = _layout(batch, reader)
            kernel = _loaded(driver, context, FOLDER / file_name(), name)
        except _NoCodeError as error:
            raise PosableError(f"{batch.__name__} cannot run on a GPU: {error}") from None
        taken = _Arguments(driver, context, stream)
        headers = _placed(arguments, iter(kinds), iter(reader.uses), taken)
        try:
            row = np.frombuffer(reader.read(0, n, n, headers), np.int64).copy()
        except (TypeError, ValueError) as error:
            raise PosableError(f"{batch.__name__}: {error}") from None
        _set_strides(row, [kind for kind, _ in kinds])
        driver.launch(kernel, _blocks(n), THREADS, row, stream)
        taken.finish()


@cache
def _layout(batch: Batch, reader: library.Reader) -> tuple[str, tuple[tuple[Kind, bool], ...]]:
    """Return the name of a batch's code, and of each array and number its kind and whether it is scratch."""
    name = library.full_name(batch)
    if not (batch.scratch or batch.interleaved):
        return name, tuple((kind, False) for kind in leaves(reader.kinds))
    laid_out = [*leaves(interleaved_kinds(batch, reader.kinds))]
    names = list(inspect.signature(batch.function).parameters)[1:]
    scratch = [*leaves(interleaved(reader.kinds, names, batch.scratch))]
    return f"{name}{INTERLEAVED}", tuple(
        (one, other.order == "F") for one, other in zip(laid_out, scratch, strict=True)
    )


def _set_strides(row: NDArray[np.int64], kinds: Sequence[Kind]) -> None:
    """Write the strides of arrays whose rows lie beside each other into the row of a launch."""
    at = 1
    for kind in kinds:
        if kind.dtype is None:
            at += 1
            continue
        if kind.order == "F":
            stride = kind.dtype.itemsize
            for axis in range(kind.axes):
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
        self.alive: list[Any] = []  # copies, which are given back after the launch, in the order of the stream
        self.used: list[Any] = []  # what has to stay until the kernel is done

    def header(self, given: Any, kind: Kind, is_scratch: bool, written: bool) -> Any:
        """Return an array as the reader takes it."""
        dtype = np.dtype(kind.dtype)
        if kind.order == "F" and not is_scratch and isinstance(given, GpuArray) and given.size:
            array = self._interleaved(given, dtype, written)
            return _as_numpy(self._address(array.target, array.library), given.shape, dtype)
        if isinstance(given, np.ndarray):
            if kind.order == "F" and given.size:  # a target of the CPU beside others on the GPU
                given = _reversed_copy(given)
            if written and given.size:
                raise PosableError("an array of the CPU is written to on a GPU; expected one on the GPU")
            return _as_numpy(_uploaded(self.driver, self.context, given), given.shape, given.dtype)
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
        return _as_numpy(self._address(array.target, array.library), array.shape, array.dtype)

    def _interleaved(self, array: Any, dtype: np.dtype[Any], written: bool) -> Any:
        """Return an array, or room for it, in the layout in which the rows of this one lie beside each other."""
        used = array.library
        if array.dtype == dtype and array.is_interleaved:
            return array
        if written:
            made = GpuArray(used.filled(array.shape[::-1], dtype, array.device, None), used)
            self.interleaved.append((array, made))
        else:
            made = GpuArray(used.contiguous(used.transposed(array.array)), used)
            made = made if made.dtype == dtype else self._widened(made, False)
        self.alive.append(made)
        return made

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
    return np.asarray(_AsNumPy(given, dtype.itemsize)).view(dtype)


def _reversed_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same shape whose memory is that of the array with its axes reversed."""
    return np.ascontiguousarray(array.T).reshape(-1).reshape(array.shape)


class _Borrowed(GpuMemory):
    """Memory of somebody else's."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> None:
        super().__init__(shape, dtype, device, owner=_Address(address))


class _Address:
    def __init__(self, address: int) -> None:
        self.address = address


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


# Code that was compiled ahead of time


class _NoCodeError(PosableError):
    """There is no code for a batch that the driver takes; the message says why."""


def _launch_compiled(driver: Driver, batch: Batch, n: int, arguments: tuple[Any, ...]) -> str:
    """Run a batch with the code of the file; return "", or why that cannot be."""
    reader = library.reader(batch)
    if reader is None:
        return library.why_not() or "it was not compiled ahead of time"
    try:
        kernel = _loaded(driver, driver.context(), FOLDER / file_name(), library.full_name(batch))
    except _NoCodeError as error:
        return str(error)

    def run(*given: Any) -> None:
        row = np.frombuffer(reader.read(0, n, n, tuple(map(_header, given))), np.int64).copy()
        arrays = [one for one, kind in zip(_flat(given), leaves(reader.kinds), strict=True) if kind.dtype is not None]
        addresses = [k for k, (_, is_address) in enumerate(parameters(reader.kinds)) if is_address]
        written = [bool(use & library.WRITTEN) for use in reader.uses]
        _run(driver, kernel, n, row, list(zip(addresses, arrays, written, strict=True)))

    try:
        run(*arguments)
    except TypeError as error:
        refused = library.refused_with_copies(batch, run, error, arguments)
        return str(refused) if refused is not None else ""
    except PosableError:
        raise
    except ValueError as error:  # too few rows
        raise PosableError(f"{batch.__name__}: {error}") from None
    return ""


def _run(driver: Driver, kernel: int, n: int, row: NDArray[np.int64], arrays: Sequence[tuple[int, Any, bool]]) -> None:
    """Launch a kernel; `arrays` has, of each array, the place of its address in the row, and whether it is written to.

    Arrays that are not on the GPU are copied there, and back.
    """
    copies: dict[tuple[int, int], int] = {}  # on the GPU, by address and size of the array
    back: dict[tuple[int, int], NDArray[Any]] = {}
    try:
        for at, array, written in arrays:
            if _is_on_gpu(array):
                stream = array.__cuda_array_interface__.get("stream")
                if stream not in (None, DEFAULT_STREAM):
                    driver.wait(stream)
                continue
            key = (array.ctypes.data, array.nbytes)
            if key not in copies:
                copies[key] = driver.allocate(array.nbytes)
                driver.to_gpu(copies[key], array)
            row[at] = copies[key]
            if written:
                back[key] = array
        driver.launch(kernel, _blocks(n), THREADS, row)
        if copies:
            driver.wait(0)
        for key, array in back.items():
            driver.from_gpu(array, copies[key])
    finally:
        for pointer in copies.values():
            with suppress(DriverError):  # after an error, the driver gives it again for every call
                driver.free(pointer)


def _blocks(n: int) -> int:
    return min(-(-n // THREADS), MAX_BLOCKS)


@cache
def _loaded(driver: Driver, context: int, path: Path, name: str) -> int:
    """Return a batch's kernel, loaded into a context."""
    code = _code(path, name)
    try:
        return driver.load(code, ENTRY)
    except DriverError as error:
        oldest = ".".join(map(str, CAPABILITY))
        raise _NoCodeError(
            f"the GPU's driver does not take the compiled code ({error}); that is for GPUs of compute capability "
            f"{oldest} or later with the driver of CUDA 11.0 or later, and this is the one of CUDA {driver.version()}"
        ) from None


def _code(path: Path, name: str) -> bytes:
    """Return a batch's PTX from the file."""
    if not path.exists():
        raise _NoCodeError(
            "there is no code for GPUs of these sources beside the package (python -m posable.compute.build --ptx "
            "makes it)"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            sources = json.loads(archive.read("table.json"))["sources"]
            code = lzma.decompress(archive.read(f"{name}.ptx.xz"))
    except BROKEN as error:
        raise _NoCodeError(f"{path} cannot be read ({error})") from None
    if sources != library_sources():
        raise _NoCodeError(f"{path} was made of other sources")
    return code


# Arguments


def _flat(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Yield all arrays and numbers of arguments, tuples taken apart."""
    for one in arguments:
        if isinstance(one, tuple):
            yield from _flat(one)
        else:
            yield one


def _is_on_gpu(argument: Any) -> bool:
    return hasattr(argument, "__cuda_array_interface__")


def _header(argument: Any) -> Any:
    """Return an argument as the reader takes it: an array on the GPU as one of NumPy, which nobody may look into."""
    if isinstance(argument, tuple):
        return tuple(map(_header, argument))
    if not _is_on_gpu(argument):
        return argument
    given = argument.__cuda_array_interface__
    dtype = getattr(argument, "dtype", None)  # records have no name in the interface, and PyTorch's dtypes are others
    dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(given["typestr"])
    return np.asarray(_AsNumPy(given, dtype.itemsize)).view(dtype)


class _AsNumPy:
    """An array on the GPU as NumPy is told of it: items of so many bytes."""

    def __init__(self, given: dict[str, Any], size: int) -> None:
        self.__array_interface__ = {
            "shape": given["shape"],
            "strides": given.get("strides"),
            "data": given["data"],
            "typestr": f"|V{size}",
            "version": 3,
        }


def _numba_cuda_is_there() -> bool:
    try:
        return find_spec("numba_cuda") is not None
    except ValueError:  # where its import was forbidden
        return False

"""Batches on an NVIDIA GPU: the same source, one thread a row.

A batch is a function `(n, *arrays)` whose body is `for i in prange(n): ...`. On a GPU the same code runs with another
`prange`: each thread takes the rows that are its own (its number, then every further one a whole grid away). Nothing
is written twice, and what the CPU's tests say of a kernel holds for the GPU's.

`launch` runs a batch. Its code was compiled ahead of time, to PTX in one file beside the package (`python -m
posable.compute.build --ptx`; wheels bring it), which the GPU's driver assembles once and keeps in a cache of its own;
for the GPUs of `ASSEMBLED` the file has machine code, too.
Nothing else is needed: the library's own reader checks the arguments and puts them into a row of machine words, and
these are the kernel's parameters. Where the file is not that of these sources, or was not compiled for the
arguments, numba-cuda compiles the batch (extra `cuda`; `posable.compute.ptx`). `POSABLE_KERNELS=library` or
`POSABLE_KERNELS=jit` asks for one of the two, as on a CPU.
"""

from __future__ import annotations

import json
import lzma
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cuda_driver, library
from .calls import Kind, calls, leaves
from .cuda_driver import Driver, DriverError
from .errors import PosableError
from .kernels import Batch, requested_mode
from .sources import library_sources
from .variants import variants

THREADS = 128  # a block: enough to hide memory's delay, few enough for kernels with many registers
MAX_BLOCKS = 65536  # more rows than this many blocks have threads are walked in strides of the whole grid
ASSEMBLED = ("sm_80", "sm_90")  # what the code is also assembled for: it runs on GPUs of the same first digit
CAPABILITY = (7, 0)  # the oldest compute capability that the PTX is for: Volta, 2017; every later GPU takes it too
PTX_VERSION = "7.0"  # of the PTX: drivers know it since CUDA 11.0
ENTRY = "batch"  # the kernel's name in the PTX
DEFAULT_STREAM = 1  # in the words of the CUDA array interface
FOLDER = library.FOLDER
# What the standard library raises for a file that is damaged, or where it was made without xz.
BROKEN = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile)

__all__ = ["available", "launch"]


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

    ptx.kernel(batch)[blocks_of(n), THREADS](n, *arrays)


def file_name() -> str:
    """Return the name of the file with the PTX: it has a hash of the sources in it, so that another's is not found."""
    return f"_ptx_{library_sources()[:16]}.zip"


def compiled_calls() -> dict[str, str]:
    """Return what is compiled for GPUs, by name: every batch, and its variants."""
    from .build import batch_of

    table = calls()
    more = ((name + one.suffix, words) for name, words in table.items() for one in variants(batch_of(name)))
    return table | dict(more)


def write_file(path: Path, codes: dict[str, bytes], machine: dict[str, bytes] | None = None) -> None:
    """Write compressed PTX (xz) of batches, by their full names, into one file; and `machine` code, by names such as
    `NAME.sm_90`.
    """
    table = {"sources": library_sources(), "capability": CAPABILITY, "version": PTX_VERSION, "entry": ENTRY}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("table.json"), json.dumps(table))  # with a date that does not change
        for name, code in codes.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.ptx.xz"), code)
        for name, code in (machine or {}).items():
            archive.writestr(zipfile.ZipInfo(f"{name}.xz"), code)


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


# Code that was compiled ahead of time


class NoCodeError(PosableError):
    """There is no code for a batch that the driver takes; the message says why."""


def _launch_compiled(driver: Driver, batch: Batch, n: int, arguments: tuple[Any, ...]) -> str:
    """Run a batch with the code of the file; return "", or why that cannot be."""
    reader = library.reader(batch)
    if reader is None:
        return library.why_not() or "it was not compiled ahead of time"
    try:
        kernel = loaded(driver, driver.context(), FOLDER / file_name(), library.full_name(batch))
    except NoCodeError as error:
        return str(error)

    def run(*given: Any) -> None:
        row = np.frombuffer(reader.read(0, n, n, tuple(map(_header, given))), np.int64).copy()
        arrays = [one for one, kind in zip(flat(given), leaves(reader.kinds), strict=True) if kind.dtype is not None]
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
        driver.launch(kernel, blocks_of(n), (THREADS, 1), row)
        if copies:
            driver.wait(0)
        for key, array in back.items():
            driver.from_gpu(array, copies[key])
    finally:
        for pointer in copies.values():
            with suppress(DriverError):  # after an error, the driver gives it again for every call
                driver.free(pointer)


def blocks_of(n: int) -> int:
    return min(-(-n // THREADS), MAX_BLOCKS)


@cache
def loaded(driver: Driver, context: int, path: Path, name: str) -> int:
    """Return a batch's kernel, loaded into a context."""
    machine = _machine_code(path, f"{name}.sm_{driver.capability()[0]}0")
    if machine:
        with suppress(DriverError):  # of a driver that is older than what assembled it: it assembles the PTX itself
            return driver.load(machine, ENTRY)
    code = _code(path, name)
    try:
        return driver.load(code, ENTRY)
    except DriverError as error:
        oldest = ".".join(map(str, CAPABILITY))
        raise NoCodeError(
            f"the GPU's driver does not take the compiled code ({error}); that is for GPUs of compute capability "
            f"{oldest} or later with the driver of CUDA 11.0 or later, and this is the one of CUDA {driver.version()}"
        ) from None


def _machine_code(path: Path, name: str) -> bytes:
    """Return the code of a batch that is assembled for a GPU; none where the file has none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return lzma.decompress(archive.read(f"{name}.xz"))
    except BROKEN:
        return b""


def _code(path: Path, name: str) -> bytes:
    """Return a batch's PTX from the file."""
    if not path.exists():
        raise NoCodeError(
            "there is no code for GPUs of these sources beside the package (python -m posable.compute.build --ptx "
            "makes it)"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            sources = json.loads(archive.read("table.json"))["sources"]
            code = lzma.decompress(archive.read(f"{name}.ptx.xz"))
    except BROKEN as error:
        raise NoCodeError(f"{path} cannot be read ({error})") from None
    if sources != library_sources():
        raise NoCodeError(f"{path} was made of other sources")
    return code


# Arguments


def flat(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Yield all arrays and numbers of arguments, tuples taken apart."""
    for one in arguments:
        if isinstance(one, tuple):
            yield from flat(one)
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
    return np.asarray(AsNumPy(given, dtype.itemsize)).view(dtype)


class AsNumPy:
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

"""The library of kernels compiled ahead of time: finding it, and the loops in it.

`python -m posable.compute.build` makes it (`make kernels`), a C extension on Python's stable ABI with the machine code
of every batch; wheels bring one. It is taken only where it was made of the sources that are here, byte for byte.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import calls
from .errors import PosableError
from .sources import library_sources

if TYPE_CHECKING:
    from .kernels import Batch

FOLDER = Path(__file__).parent
NO_CODE = -1  # in the place of a loop's number: arguments are read, and nothing is run
WRITTEN = 1  # the bit of an array that is written to (native/calls.c)

__all__ = [
    "Reader",
    "file_in",
    "file_name",
    "full_name",
    "is_whole",
    "loop",
    "reader",
    "run_otherwise",
    "table",
    "why_not",
]


def file_name(content: bytes, system: str = sys.platform, *, checked: bool = False) -> str:
    """Return the name of the library's file: with a hash of the sources, and with the CRC-32 of its content.

    So another's is not found, and a damaged one is seen before it is run. `checked`: of the one whose loops check every
    index.
    """
    ending = ".pyd" if system == "win32" else ".abi3.so"
    return f"{_beginning(checked)}{zlib.crc32(content):08x}{ending}"


def file_in(folder: Path, *, checked: bool = False) -> Path | None:
    """Return the library of these sources in a folder, a whole one where there is one; None where there is none."""
    found = sorted(folder.glob(f"{_beginning(checked)}*"))
    return next((path for path in found if len(found) == 1 or is_whole(path)), found[0] if found else None)


def is_whole(path: Path) -> bool:
    """Return whether a library's content is that which its name says; of what is no file, nothing is read."""
    stem = path.name.partition(".")[0]
    return path.is_file() and stem.endswith(f"_{zlib.crc32(path.read_bytes()):08x}")


def _beginning(checked: bool) -> str:
    return f"{'_checked' if checked else '_loops'}_{library_sources()[:16]}_"


def _found() -> tuple[Any, dict[str, Any], str]:
    """Return (the extension, its table, ""); or (None, {}, why there is none): one may be built later."""
    checked = os.environ.get("POSABLE_KERNELS") == "checked"
    path = file_in(FOLDER, checked=checked)
    if path is None:
        command = "python -m posable.compute.build --checked" if checked else "make kernels"
        return None, {}, f"there is no compiled library of these sources beside the package ({command} makes one)"
    return _loaded(path)


@cache
def _loaded(path: Path) -> tuple[Any, dict[str, Any], str]:
    try:
        if not is_whole(path):
            return None, {}, "the compiled library is damaged (make kernels makes it anew)"
        loader = importlib.machinery.ExtensionFileLoader("posable.compute._loops", str(path))
        spec = importlib.util.spec_from_file_location("posable.compute._loops", path, loader=loader)
        assert spec is not None
        extension: Any = importlib.util.module_from_spec(spec)
        loader.exec_module(extension)
        facts = json.loads(extension.table())
    except (ImportError, ValueError, OSError) as error:
        return None, {}, f"the compiled library does not load ({error})"
    if facts["sources"] != library_sources():
        return None, {}, "the compiled library was made of other sources (make kernels makes it anew)"
    if not _reads_arrays(extension):
        return None, {}, f"the compiled library does not know the arrays of NumPy {np.__version__}"
    extension.take_variant(extension.best_variant())
    return extension, facts["loops"], ""


def _reads_arrays(extension: Any) -> bool:
    """Return whether the extension finds in an array what NumPy says of it."""
    array = np.zeros((3, 2))
    array.flags.writeable = False
    data, axes, length, stride, flags, dtype = extension.fields(array)
    known = (array.ctypes.data, 2, 3, 16, int(array.flags.num))
    return (data, axes, length, stride, flags) == known and dtype is array.dtype


def table() -> dict[str, Any] | None:
    """Return what the library has, by the full name of a batch; None where there is no library to be used."""
    extension, loops, _ = _found()
    return loops if extension is not None else None


def why_not() -> str:
    """Return why the library is not used; "" where it is."""
    return _found()[2]


def full_name(batch: Batch) -> str:
    """Return a batch's name in `calls.json`."""
    return f"{batch.function.__module__}.{batch.function.__name__}"


def loop(batch: Batch) -> Any:
    """Return the loop `(first, last, n, arguments)` of a batch; None where the library does not have it.

    Arguments that it was not compiled for are a TypeError, before anything is written (`run_otherwise`).
    """
    known = _found()[1].get(full_name(batch))
    if known is None:
        return None
    return _callable(known, known["number"])


@dataclass(frozen=True)
class Reader:
    """A reader checks the arguments of a batch and puts them into a row of machine words; it runs nothing.

    Attributes:
        read: called with (first, last, n, arguments); returns the bytes of the row, n first, or raises a TypeError.
        kinds: of the arguments.
        uses: of each array among them, bits that say how it is used (`native/calls.c`).
    """

    read: Callable[..., bytes]
    kinds: tuple[calls.Kind, ...]
    uses: tuple[int, ...]


def reader(batch: Batch) -> Reader | None:
    """Return the reader of a batch's arguments; None where the library does not have the batch."""
    extension, loops, _ = _found()
    name = full_name(batch)
    return _reader(extension, name) if name in loops else None


@cache
def _reader(extension: Any, name: str) -> Reader:
    """Return a reader of the extension that was found; making one takes a launch's time."""
    known = _found()[1][name]
    return Reader(_callable(known, NO_CODE), calls.parsed(known["arguments"]), tuple(known["arrays"]))


def _callable(known: dict[str, Any], number: int) -> Any:
    """Return the extension's callable for a row of its table."""
    extension, _, _ = _found()
    kinds = calls.parsed(known["arguments"])
    dtypes: list[np.dtype[Any]] = []
    arrays = zip(known["arrays"], known["lengths"], strict=True)
    plan = b"".join(_plan(kind, arrays, dtypes) for kind in kinds)
    sizes = tuple(dtype.itemsize for dtype in dtypes)
    return extension.loop(number, plan, tuple(dtypes), sizes, np.ndarray, np.bool_)


def _plan(kind: calls.Kind, arrays: Iterator[tuple[int, list[int]]], dtypes: list[np.dtype[Any]]) -> bytes:
    """Return an argument's plan, as native/calls.c reads it; `arrays` has the use and the lengths of each array."""
    if kind.dtype is not None:
        if kind.dtype not in dtypes:
            dtypes.append(kind.dtype)
        use, lengths = next(arrays)
        return b"A" + bytes([kind.axes, dtypes.index(kind.dtype), use, *lengths])
    if kind.scalar is not None:
        return {float: b"d", int: b"i", bool: b"b"}[kind.scalar]
    return b"T" + bytes([len(kind.parts)]) + b"".join(_plan(part, arrays, dtypes) for part in kind.parts)


def run_otherwise(batch: Batch, n: int, arguments: tuple[Any, ...], error: TypeError) -> None:
    """Run a batch whose arguments the library does not take as they are.

    Other types are compiled by Numba, where it is installed and not ruled out.
    """
    again = refused_with_copies(batch, lambda *given: batch(n, *given), error, arguments)
    if again is None:
        return
    if os.environ.get("POSABLE_KERNELS") in ("library", "checked") or not _numba_is_there():
        raise PosableError(f"{batch.__name__}: {again}; other types need Numba: pip install 'posable[jit]'") from None
    batch.run_jit(n, arguments)


def refused_with_copies(
    batch: Batch, run: Callable[..., Any], error: TypeError, arguments: tuple[Any, ...]
) -> TypeError | None:
    """Run code once more that raised an error for its arguments, with copies (`run_with_copies`); None if it ran."""
    if not needs_copies(arguments):
        return error
    try:
        run_with_copies(batch, run, arguments)
    except TypeError as other:
        return other
    return None


def needs_copies(arguments: tuple[Any, ...]) -> bool:
    """Return whether an array is read-only: loops are compiled for arrays that may be written to."""
    for one in arguments:
        if isinstance(one, tuple):
            if needs_copies(one):
                return True
        elif isinstance(one, np.ndarray) and not one.flags.writeable:
            return True
    return False


def run_with_copies(batch: Batch, run: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run code with copies of the arrays that are read-only.

    Not of every array is it known that a loop only reads it, so a copy may not have changed afterwards.
    """
    copies: list[tuple[Any, Any]] = []
    run(*_writable(arguments, copies))
    for given, copy in copies:
        if given.tobytes() != copy.tobytes():
            raise PosableError(f"{batch.__name__} writes to an array of shape {given.shape}, and it is read-only")


def _numba_is_there() -> bool:
    try:
        return importlib.util.find_spec("numba") is not None
    except ValueError:  # where its import was forbidden
        return False


def _writable(arguments: tuple[Any, ...], copies: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    """Return arguments with copies of the arrays that need one, which go into `copies` with the originals."""
    made: list[Any] = []
    for one in arguments:
        if isinstance(one, tuple):
            parts = _writable(one, copies)
            made.append(type(one)(*parts) if hasattr(one, "_fields") else parts)
        elif isinstance(one, np.ndarray) and not one.flags.writeable:
            # By its bytes: a copy of records leaves out what is between their fields.
            copy = np.frombuffer(bytearray(one.tobytes()), one.dtype).reshape(one.shape)
            copies.append((one, copy))
            made.append(copy)
        else:
            made.append(one)
    return tuple(made)

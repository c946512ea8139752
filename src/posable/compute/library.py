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

__all__ = ["file_name", "loop", "table", "why_not"]


def file_name(system: str = sys.platform) -> str:
    """Return the name of the library's file: it has a hash of the sources in it, so that another's is not found."""
    return f"_loops_{library_sources()[:16]}{'.pyd' if system == 'win32' else '.abi3.so'}"


def _found() -> tuple[Any, dict[str, Any], str]:
    """Return (the extension, its table, ""); or (None, {}, why there is none): one may be built later."""
    path = FOLDER / file_name()
    if not path.exists():
        return None, {}, "there is no compiled library of these sources beside the package (make kernels makes one)"
    return _loaded(path)


@cache
def _loaded(path: Path) -> tuple[Any, dict[str, Any], str]:
    try:
        loader = importlib.machinery.ExtensionFileLoader("posable.compute._loops", str(path))
        spec = importlib.util.spec_from_file_location("posable.compute._loops", path, loader=loader)
        assert spec is not None
        extension: Any = importlib.util.module_from_spec(spec)
        loader.exec_module(extension)
        facts = json.loads(extension.table())
    except (ImportError, ValueError) as error:
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


def loop(batch: Batch) -> Any:
    """Return the loop `(first, last, n, *arguments)` of a batch; None where the library does not have it.

    Arguments that it was not compiled for go to Numba where that is installed; elsewhere they are an error.
    """
    extension, loops, _ = _found()
    name = f"{batch.function.__module__}.{batch.function.__name__}"
    known = loops.get(name)
    if extension is None or known is None:
        return None
    kinds = calls.parsed(known["arguments"])
    dtypes: list[np.dtype[Any]] = []
    plan = b"".join(_plan(kind, iter(known["arrays"]), dtypes) for kind in (calls.Kind(parts=kinds),))[2:]
    sizes = tuple(dtype.itemsize for dtype in dtypes)
    compiled = extension.loop(known["number"], plan, tuple(dtypes), sizes, np.ndarray, np.bool_)

    def run(first: int, last: int, n: int, *arguments: Any) -> None:
        try:
            compiled(first, last, n, *arguments)
        except TypeError as error:
            _run_otherwise(batch, compiled, error, (first, last, n), arguments)

    return run


def _plan(kind: calls.Kind, uses: Any, dtypes: list[np.dtype[Any]]) -> bytes:
    """Return an argument's plan, as native/calls.c reads it; `uses` has, of each array, how it is used."""
    if kind.dtype is not None:
        if kind.dtype not in dtypes:
            dtypes.append(kind.dtype)
        return b"A" + bytes([kind.axes, dtypes.index(kind.dtype), next(uses)])
    if kind.scalar is not None:
        return {float: b"d", int: b"i", bool: b"b"}[kind.scalar]
    return b"T" + bytes([len(kind.parts)]) + b"".join(_plan(part, uses, dtypes) for part in kind.parts)


def _run_otherwise(
    batch: Batch, compiled: Any, error: TypeError, rows: tuple[int, int, int], arguments: tuple[Any, ...]
) -> None:
    """Run a loop whose arguments the library does not take as they are.

    Not of every array is it known that a loop only reads it, so one that is read-only is handed over as a copy, which
    may not have changed afterwards. Other types are compiled by Numba, where it is installed and not ruled out.
    """
    copies: list[tuple[Any, Any]] = []
    writable = _writable(arguments, copies)
    if copies:
        try:
            compiled(*rows, *writable)
        except TypeError as other:
            error = other
        else:
            for given, copy in copies:
                if given.tobytes() != copy.tobytes():
                    raise PosableError(
                        f"{batch.__name__} writes to an array of shape {given.shape}, and it is read-only"
                    )
            return
    if os.environ.get("POSABLE_KERNELS") == "library" or not _numba_is_there():
        raise PosableError(f"{batch.__name__}: {error}; other types need Numba: pip install 'posable[jit]'") from None
    batch.jit(*rows, *arguments)


def _numba_is_there() -> bool:
    try:
        return importlib.util.find_spec("numba") is not None
    except ValueError:  # where its import was forbidden
        return False


def _writable(arguments: tuple[Any, ...], copies: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    """Return arguments with copies of the arrays that are read-only, which go into `copies` with the originals."""
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

"""Hashes of the kernels' sources: compiled code is that of the sources only while they are the same.

Every start reads and hashes them; searching them for marks with `re` took longer than all of the rest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
MARKS = (b"\n@kernel", b"\n@batch")


@lru_cache(maxsize=1)
def kernel_sources() -> str:
    """Return the SHA-256 of every file of the package with kernels, in hexadecimal digits."""
    return _digest(item for item in _read().items() if _has_kernels(item[1]))


@lru_cache(maxsize=1)
def library_sources() -> str:
    """Return the SHA-256 of all that the compiled library depends on, in hexadecimal digits.

    That is every file of a room with kernels: the records and constants that a kernel was compiled with may be made in
    a file beside it, and code for another layout of them would read the wrong bytes.
    """
    rooms = {_room(path) for path, source in _read().items() if _has_kernels(source)}
    return _digest(item for item in _read().items() if _room(item[0]) in rooms)


def _has_kernels(source: bytes) -> bool:
    return any(mark in source for mark in MARKS)


def _room(path: str) -> str:
    return path.partition("/")[0]


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for path, source in sorted(files):
        digest.update(path.encode() + b"\0" + source)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _read() -> dict[str, bytes]:
    """Return the Python and C sources and the table of calls, by their paths in the package."""
    return {path: (PACKAGE / path).read_bytes() for path in _paths("")}


def _paths(folder: str) -> Iterator[str]:
    with os.scandir(f"{PACKAGE}/{folder}") as entries:
        for entry in entries:
            path = folder + entry.name
            if entry.name.endswith(".py") or folder == "compute/native/" or path == "compute/calls.json":
                yield path
            elif "." not in entry.name and entry.is_dir():  # a library may be anything, a link to itself too
                yield from _paths(f"{path}/") if entry.name != "__pycache__" else ()

"""Hashes of the kernels' sources: compiled code is that of the sources only while they are the same."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

MARK = re.compile(rb"^@(kernel|batch)\b", re.MULTILINE)


@lru_cache(maxsize=1)
def kernel_sources() -> str:
    """Return the SHA-256 of every file of the package with kernels, in hexadecimal digits."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if MARK.search(source):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def library_sources() -> str:
    """Return the SHA-256 of all that the compiled library depends on, in hexadecimal digits.

    That is every file of a room with kernels: the records and constants that a kernel was compiled with may be made in
    a file beside it, and code for another layout of them would read the wrong bytes.
    """
    package = Path(__file__).parents[1]
    read = {path.relative_to(package): path.read_bytes() for path in package.rglob("*.py")}
    rooms = {path.parts[0] for path, source in read.items() if MARK.search(source)}
    native = (path for pattern in ("compute/native/*", "compute/calls.json") for path in package.glob(pattern))
    read.update({path.relative_to(package): path.read_bytes() for path in native})
    digest = hashlib.sha256()
    for path, source in sorted(read.items()):
        if path.parts[0] in rooms:
            digest.update(path.as_posix().encode() + b"\0" + source)
    return digest.hexdigest()

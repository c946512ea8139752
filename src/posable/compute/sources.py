"""The hash of the kernels' sources: compiled code is that of the sources only while it is the same."""

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

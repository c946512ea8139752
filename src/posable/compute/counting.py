"""Counting rows out into a list, in kernels that run on many threads of a GPU at once."""

from __future__ import annotations

from .kernels import kernel
from .types import Ints

__all__ = ["claim"]


@kernel
def claim(counter: Ints) -> int:
    """Return the number in `counter` (1,) and add 1 to it, for one thread after the other.

    On a GPU this is one step of the memory (`ptx`); which thread gets which number is left open there. On the CPU a
    batch that counts has to run on one thread: `@batch(rows=...)` of more rows than there are.
    """
    at = counter[0]
    counter[0] = at + 1
    return int(at)

"""Kernels that change the dtype of numbers on a GPU, and take a field out of records there.

JAX has no records and, unless it is told to, no float64; so what kernels wrote for it is rewritten before it takes it
over. Other libraries do that themselves.
"""

from __future__ import annotations

from .kernels import batch, prange
from .types import Floats, Ints


@batch
def widen_rows(n: int, values: Floats, out: Floats) -> None:
    """Write float32 as float64."""
    for i in prange(n):
        out[i] = values[i]


@batch
def narrow_rows(n: int, values: Floats, out: Floats) -> None:
    """Write float64 as float32."""
    for i in prange(n):
        out[i] = values[i]


@batch
def narrow_whole_rows(n: int, values: Ints, out: Ints) -> None:
    """Write whole numbers of 64 bits as those of 32."""
    for i in prange(n):
        out[i] = values[i]


@batch
def float_field_rows(n: int, words: Floats, first: int, step: int, out: Floats) -> None:
    """Take one float64 of every record; records are `step` numbers long, and it is number `first` of each."""
    for i in prange(n):
        out[i] = words[first + i * step]


@batch
def whole_field_rows(n: int, words: Ints, first: int, step: int, out: Ints) -> None:
    """Take one whole number of 32 bits of every record."""
    for i in prange(n):
        out[i] = words[first + i * step]


@batch
def byte_field_rows(n: int, words: Ints, first: int, step: int, out: Ints) -> None:
    """Take one whole number of 8 bits of every record."""
    for i in prange(n):
        out[i] = words[first + i * step]

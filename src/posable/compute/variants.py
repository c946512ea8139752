"""The codes that a batch has for GPUs, one for each way in which its arrays may lie in memory.

The same source is compiled for each: with arrays in C order (the code named as the batch), with rows beside each other
(`NAME@rows`), with rows that a block of threads stages in the memory that it shares (`NAME@staged`), and each of them
with float32 in the caller's arrays (`NAME@rows+single`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from .calls import Kind, changed

MARK = "@"  # between the name of a batch and what its arrays are like
WORD = 8  # bytes to which a row in shared memory is aligned
BLOCK = 64  # threads of a block that stages its rows
HIGHEST = 16  # rows that a block stages at once, at most: several blocks take turns with memory
LOWEST = 8  # fewer are not worth it
MOST_SHARED = 96 * 1024  # bytes of shared memory that every GPU's block may have


@dataclass(frozen=True)
class Variant:
    """The layout of a code's arrays.

    Attributes:
        rows: whether those that the batch calls scratch or interleaved have their rows beside each other.
        staged: whether a block stages those that it says.
        single: whether the caller's arrays have float32.
    """

    rows: bool = False
    staged: bool = False
    single: bool = False

    @cached_property
    def suffix(self) -> str:
        """The ending of a code's name, after that of its batch."""
        words = [word for word in ("rows", "staged", "single") if getattr(self, word)]
        return MARK + "+".join(words) if words else ""

    def kinds(self, batch: Any, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
        """Return the kinds of a batch's arguments in this variant."""
        names = parameters_of(batch)
        made = tuple(kinds)
        if self.rows:
            made = changed(made, names, batch.scratch, _interleaved)
            made = changed(made, names, batch.interleaved, _anyhow)
        if self.single:
            made = changed(made, names, batch.single, _narrow)
        return made


def _interleaved(kind: Kind) -> Kind:
    return replace(kind, order="F") if kind.axes > 1 else kind


def _anyhow(kind: Kind) -> Kind:
    return replace(kind, order="A") if kind.axes > 1 else kind


def _narrow(kind: Kind) -> Kind:
    return replace(kind, single=True)


@cache
def parameters_of(batch: Any) -> tuple[str, ...]:
    """Return the names of a batch's arguments after the number of rows."""
    return tuple(inspect.signature(batch.function).parameters)[1:]


def variants(batch: Any) -> Iterator[Variant]:
    """Yield what a batch's arrays may be like, beside C order in float64."""
    layouts = [Variant()]
    if batch.scratch or batch.interleaved:
        layouts.append(Variant(rows=True))
    if batch.staged:
        layouts.append(Variant(staged=True))
    yield from layouts[1:]
    if batch.single:
        yield from (replace(one, single=True) for one in (layouts[1:] or layouts))


def named(name: str) -> tuple[str, Variant]:
    """Return (the name of the batch, the variant) of a code's name."""
    plain, _, words = name.partition(MARK)
    return plain, Variant(**dict.fromkeys(filter(None, words.split("+")), True))


def row_bytes(size: int) -> int:
    """Return how many bytes of shared memory a row of so many bytes takes: an odd number of words, so that 32 rows lie
    in as many of its banks.
    """
    return WORD * (-(-size // WORD) | 1)


def staged_rows(sizes: Sequence[int]) -> int:
    """Return how many rows a block stages at once, of arrays with rows of so many bytes; 0 where they are too large."""
    each = sum(map(row_bytes, sizes))
    height = HIGHEST
    while height >= LOWEST and height * each > MOST_SHARED:
        height //= 2
    return height if height >= LOWEST else 0

"""Many decimal numbers out of text, fast, without a compiler.

A motion file is megabytes of short decimals. NumPy's own readers take 150 to 250 ns a number; this one takes about
30, in plain NumPy, so that the first file of a process costs no compilation and no import of Numba. Eight
characters are handled at a time as the bytes of one 64-bit integer.

Every number is correctly rounded: an integer below 2**53 divided by a power of ten below 10**23 is rounded once
(Clinger 1990). Anything else (exponents, a plus sign, more than 15 digits) goes through Python's `float`, token by
token, which also decides what is not a number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..compute.types import Bools, Floats, Ints

BLOCK = 1 << 17  # bytes at a time: the temporaries stay in the processor's cache

_U64 = np.uint64
_Words = NDArray[np.uint64]


def _every_byte(value: int) -> np.uint64:
    return _U64(int.from_bytes(bytes([value]) * 8, "little"))


_ZERO, _DOT, _ONES, _TOP, _NINE = (_every_byte(b) for b in (0x30, 0x2E ^ 0x30, 0x01, 0x80, 0x7F - 9))
# Keeps the last n of eight characters; text is little-endian, so the last character is the highest byte.
_LAST = np.array([(~0 << (64 - 8 * n)) & (2**64 - 1) for n in range(9)], dtype=_U64)
_POWERS = 10.0 ** np.arange(17)


class NotANumberError(ValueError):
    """A word that is no finite number; `offset` is its byte in the text, `word` what stands there."""

    def __init__(self, offset: int, word: str) -> None:
        self.offset = offset
        self.word = word
        super().__init__(f"{word!r} is not a finite number")


def read_decimals(text: bytes, limit: int) -> Floats:
    """The whitespace-separated numbers of `text`, at most `limit + 1` of them (one more tells "too many").

    Raises `NotANumberError` at the first word that is not a finite number.
    """
    parts: list[Floats] = []
    count = 0
    for start, block in _blocks(text):
        values = _read_block(block, start)
        parts.append(values)
        count += len(values)
        if count > limit:
            break
    return np.concatenate(parts)[: limit + 1] if parts else np.empty(0)


def _blocks(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole words with the offset of their first byte."""
    start = 0
    while start < len(text):
        stop = min(start + BLOCK, len(text))
        while stop < len(text) and text[stop] > 32:
            stop += 1
        yield start, text[start:stop]
        start = stop


def _read_block(block: bytes, offset: int) -> Floats:
    # Sixteen blanks before the first word let every word be looked at through a 16-byte window that ends with it.
    padded = b" " * 16 + block + b" "
    characters = np.frombuffer(padded, np.uint8)
    blank = characters <= 32
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    minus = characters[starts] == ord("-")
    lengths = ends - starts - minus
    windows: _Words = np.ndarray((len(padded) - 7,), _U64, padded, 0, (1,))

    digits, decimals, odd = _eight(windows[ends - 8], np.minimum(lengths, 8))
    values = digits.astype(np.float64)
    long = np.flatnonzero(lengths > 8)
    if len(long):
        # `digits` of the last eight characters, seven of which are digits where the point is among them.
        upper, upper_decimals, upper_odd = _eight(windows[ends[long] - 16], np.minimum(lengths[long] - 8, 8))
        point_below, point_above = decimals[long] >= 0, upper_decimals >= 0
        values[long] += upper.astype(np.float64) * np.where(point_below, 1e7, 1e8)
        decimals[long] = np.where(point_above, upper_decimals + 8, decimals[long])
        odd[long] |= upper_odd | (point_above & point_below) | (lengths[long] > 16) | (values[long] >= 2.0**53)
    odd |= lengths == (decimals >= 0)  # a bare sign or a bare point
    values /= _POWERS[np.maximum(decimals, 0)]
    np.negative(values, where=minus, out=values)
    for k in np.flatnonzero(odd):
        values[k] = _read_word(padded[starts[k] : ends[k]], offset + int(starts[k]) - 16)
    return values


def _eight(words: _Words, lengths: Ints) -> tuple[_Words, Ints, Bools]:
    """The last `lengths` of eight characters as an integer, the decimals after its point (-1: none), what is odd."""
    words = (words ^ _ZERO) & _LAST[lengths]
    other = words ^ _DOT
    point = ((other - _ONES) & ~other & _TOP) >> _U64(7)  # the lowest bit of the point's byte
    before = (point - _U64(1)) & words  # what stands before the point; everything if there is none
    after = words - before - point * (_DOT & _U64(0xFF))
    digits = after | (before << ((point != 0).astype(_U64) << _U64(3)))  # close the gap
    odd = (((digits + _NINE) | digits) & _TOP != 0) | (point & (point - _U64(1)) != 0)  # no digit; two points
    digits = (digits * _U64(2561) >> _U64(8)) & _U64(0x00FF00FF00FF00FF)
    digits = (digits * _U64(6553601) >> _U64(16)) & _U64(0x0000FFFF0000FFFF)
    digits = digits * _U64(42949672960001) >> _U64(32)
    # point == 2**(8k) for the point in byte k: its float's exponent field tells k without a search.
    exponent = point.astype(np.float64).view(np.int64) >> 52
    decimals = np.where(exponent > 0, 7 - ((exponent - 1023) >> 3), -1)
    return digits, decimals, odd


def _read_word(word: bytes, offset: int) -> float:
    try:
        if b"_" in word:  # Python's own digit separator
            raise ValueError
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise NotANumberError(offset, word[:40].decode("latin-1"))
    return value

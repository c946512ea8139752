"""Many decimal numbers out of text, fast.

A motion file is megabytes of short decimals. NumPy's own readers take 150 to 250 ns a number, this kernel about 12.

Every number is correctly rounded: an integer up to 2**53 times or divided by a power of ten up to 10**22 is rounded
once (Clinger 1990). What that does not cover (more digits, larger exponents) goes through Python's `float`, word by
word, which also decides what is not a number.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
from numpy.typing import NDArray

from ...compute import batch, kernel, prange
from ...compute.types import Bools, Floats, Ints

_POWERS = 10.0 ** np.arange(23)  # all exact
_MANY = 1000  # gaps worth reading everything again
_WORD = re.compile(rb"[^\x00-\x20]+")
_Text = NDArray[np.uint8]


class NotANumberError(ValueError):
    """A word that is no finite number; `offset` is its byte in the text, `word` what stands there."""

    def __init__(self, offset: int, word: str) -> None:
        self.offset = offset
        self.word = word
        super().__init__(f"{word!r} is not a finite number")


def read_decimals(text: bytes, count: int, start: int = 0) -> tuple[Floats, int]:
    """The first `count` numbers of a text from byte `start` on, and how many words are there, up to one more.

    Words are what control characters and blanks leave between them. Where there are fewer, so are the numbers. Raises
    `NotANumberError` at the first word that is not a finite number.
    """
    values = np.empty((1, count))
    found = np.zeros(1, dtype=np.int64)
    ended = text if text[-1:] in (b"\n", b" ") else text + b" "  # the kernel looks one character ahead
    read_rows(1, np.frombuffer(ended, np.uint8)[None, start:], _POWERS, values, found)
    words = int(found[0])
    numbers = values[0, : min(words, count)]
    gaps = np.isnan(numbers)
    if np.count_nonzero(gaps) > _MANY and words == count:
        _read_in_bulk(text, start, numbers, gaps)
    if gaps.any():
        _read_slowly(text, start, numbers, gaps)
    return numbers, words


def _read_in_bulk(text: bytes, start: int, values: Floats, gaps: Bools) -> None:
    """Fill the gaps of a file written with all the digits of its numbers by NumPy, unless there is rubbish in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy's way to say that not all could be read
        try:
            every = np.fromstring(text[start:], sep=" ")
        except (DeprecationWarning, ValueError):
            return
    if every.shape == values.shape:
        values[gaps] = every[gaps]
        gaps[:] = ~np.isfinite(values)


def _read_slowly(text: bytes, start: int, values: Floats, gaps: Bools) -> None:
    """Fill the gaps that the kernel left, one word after the other; a list of all words could fill the memory."""
    is_gap = gaps.tobytes()
    for k, match in zip(range(int(np.flatnonzero(gaps)[-1]) + 1), _WORD.finditer(text, start)):
        if is_gap[k]:
            word = match.group()
            try:
                value = float(word) if b"_" not in word else np.nan  # Python takes 1_000 for a number
            except ValueError:
                value = np.nan
            if not np.isfinite(value):
                raise NotANumberError(match.start(), word[:40].decode("latin-1"))
            values[k] = value


@kernel
def read_row(i: int, text: _Text, powers: Floats, values: Floats, found: Ints) -> None:
    """Read the words of row i of `text`, which ends in a blank; NaN where there is no number or not the exact way."""
    size = text.shape[1]
    at = 0
    count = 0
    while True:
        while at < size and text[i, at] <= 32:
            at += 1
        found[i] = count + (at < size)
        if at == size or count == values.shape[1]:
            return
        negative = text[i, at] == 45
        if negative or text[i, at] == 43:
            at += 1
        mantissa = 0
        first = at
        while 48 <= text[i, at] <= 57:
            mantissa = mantissa * 10 + (int(text[i, at]) - 48)
            at += 1
        digits = at - first
        exponent = 0
        if text[i, at] == 46:
            at += 1
            first = at
            while 48 <= text[i, at] <= 57:
                mantissa = mantissa * 10 + (int(text[i, at]) - 48)
                at += 1
            exponent = first - at
            digits -= exponent
        good = 0 < digits <= 18 and mantissa <= 9007199254740992
        if (text[i, at] | 32) == 101:
            at += 1
            down = text[i, at] == 45
            if down or text[i, at] == 43:
                at += 1
            first = at
            power = 0
            while 48 <= text[i, at] <= 57 and at < first + 4:
                power = power * 10 + (int(text[i, at]) - 48)
                at += 1
            good = good and at > first
            exponent += -power if down else power
        good = good and text[i, at] <= 32 and -22 <= exponent <= 22
        while text[i, at] > 32:
            at += 1
        value = np.nan
        if good:
            value = mantissa / powers[-exponent] if exponent < 0 else mantissa * powers[exponent]
        values[i, count] = -value if negative else value
        count += 1


@batch
def read_rows(n: int, text: _Text, powers: Floats, values: Floats, found: Ints) -> None:
    """Read each row of `text`."""
    for i in prange(n):
        read_row(i, text, powers, values, found)

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.formats.bvh.numbers import NotANumberError, read_decimals

finite = st.floats(allow_nan=False, allow_infinity=False)
spellings = st.one_of(
    finite.map(repr),
    st.tuples(st.floats(-1e15, 1e15), st.integers(0, 17)).map(lambda t: f"{t[0]:.{t[1]}f}"),
    st.tuples(finite, st.integers(0, 17)).map(lambda t: f"{t[0]:.{t[1]}e}"),
    st.from_regex(r"\A[+-]?[0-9]{1,20}\.?\Z"),
    st.from_regex(r"\A[+-]?[0-9]{0,12}\.[0-9]{1,12}([eE][+-]?[0-9]{1,2})?\Z"),
).filter(lambda word: np.isfinite(float(word)))
blanks = st.sampled_from([" ", "\t", "\n", "\r\n", "  ", " \t "])


def _read(text):
    count = len(re.findall(rb"[^\x00-\x20]+", text))
    values, words = read_decimals(text, count)
    assert words == len(values) == count
    return values


def _same_bits(a, b):
    return a.shape == b.shape and (a.view(np.int64) == b.view(np.int64)).all()


@given(st.lists(spellings, max_size=40), blanks)
def test_every_number_is_the_one_python_reads_to_the_last_bit(words, blank):
    values = _read((blank + blank.join(words)).encode())
    assert _same_bits(values, np.array([float(word) for word in words]))


def test_thousands_of_random_decimals_are_read_to_the_last_bit():
    rng = np.random.default_rng(5)
    words = [
        f"{x:.{d}f}"
        for x, d in zip(rng.normal(size=40_000) * 10 ** rng.uniform(-6, 9, 40_000), rng.integers(0, 13, 40_000))
    ]
    values = _read(" ".join(words).encode())
    assert _same_bits(values, np.array([float(word) for word in words]))


@pytest.mark.parametrize("form", ["%.18e", "%.17g", "%.20f", "%+.16e"])
def test_files_with_all_the_digits_are_read_to_the_last_bit(form):
    values = np.random.default_rng(6).normal(size=20_000) * 100
    words = [form % value for value in values]
    assert _same_bits(_read("\n".join(words).encode()), np.array([float(word) for word in words]))


@pytest.mark.parametrize("word", ["x", "nan", "0x10", "1_0", "1e999", "1.5.5", "--1"])
def test_rubbish_among_thousands_of_long_numbers_is_found(word):
    words = [f"{value:.18e}" for value in np.random.default_rng(7).normal(size=5000)]
    words[4000] = word
    text = " ".join(words).encode()
    with pytest.raises(NotANumberError) as caught:
        _read(text)
    assert caught.value.word == word
    assert text[caught.value.offset :].startswith(word.encode() + b" ")


NO_NUMBERS = """- + . -. --1 1-2 1..2 1.2.3 abc nan inf -inf 1e 1e999 0x10 1_0 1/2 1:2 /0 :0 12345678.1234567.
    1.2345678901.2345 x1234567.12345678 1234567x.12345678"""


@pytest.mark.parametrize("word", NO_NUMBERS.split())
def test_what_is_no_finite_number_is_refused_with_its_place(word):
    with pytest.raises(NotANumberError) as caught:
        _read(f"1.5 2 {word} 3".encode())
    assert caught.value.offset == 6
    assert caught.value.word == word


@given(st.binary(max_size=60))
def test_any_bytes_give_numbers_or_one_error(data):
    try:
        values = _read(data)
    except NotANumberError:
        return
    assert np.isfinite(values).all()


@given(st.lists(spellings, max_size=20), st.integers(0, 25))
def test_words_are_counted_to_one_more_than_asked_for(words, count):
    values, found = read_decimals(" ".join(words).encode(), count)
    assert found == min(len(words), count + 1)
    assert len(values) == min(len(words), count)


def test_no_text_gives_no_numbers():
    assert len(_read(b"")) == 0
    assert len(_read(b" \r\n\t ")) == 0

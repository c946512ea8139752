"""Every public solver answers as it did when its answers were recorded (`tests/recorded`).

The calls of a room are tested together with that room (`conftest.room_of`), where their kernels are compiled.
"""

import os

import numpy as np
import pytest

from tests.conftest import require_or_skip
from tests.recorded import answers, compare
from tests.recorded.calls import all_calls
from tests.recorded.flat import flatten

CALLS = all_calls()
RECORDED, WHERE = answers.load()


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="what was recorded are answers of compiled code")
@pytest.mark.parametrize("key", CALLS)
def test_an_answer_is_the_recorded_one(key, request):
    made = CALLS[key]
    if made.extra:
        pytest.importorskip(made.extra)
    paths = [request.getfixturevalue("data_dir") / file for file in made.files]
    for path in paths:
        if not path.exists():
            require_or_skip("data", f"no {path}")
    within = None if answers.fingerprint() == WHERE[made.room] else made.within
    wrong = compare.differences(RECORDED[key], flatten(made.function(*paths)), within, made.fitted)
    assert not wrong, "\n".join(wrong)


def test_every_recorded_answer_has_its_call():
    assert set(RECORDED) == set(CALLS)


def test_a_changed_bit_a_type_and_a_shape_are_seen():
    value = np.linspace(0.0, 1.0, 2000)
    bit = value.copy()
    bit[1] = np.nextafter(bit[1], 1.0)
    for other in (bit, value.astype(np.float32), value.reshape(2, -1), value[:-1]):
        assert compare.differences(flatten({"a": {"b": value}}), flatten({"a": {"b": other}}), None)
        assert (
            compare.differences(flatten({"a": value[:100]}), flatten({"a": other.ravel()[:100]}), None)
            or other is not bit
        )
    assert compare.differences(flatten({"a": value}), flatten({}), 1e-7)
    assert compare.differences(flatten({"a": 1}), flatten({"a": 2}), 1e-7)
    assert compare.differences(flatten({"a": value[:9]}), flatten({"a": value[:9] + 1e-6}), 1e-7)
    assert not compare.differences(flatten({"a": value[:9]}), flatten({"a": bit[:9]}), 1e-7)
    assert not compare.differences(flatten({"a": np.nan, "b": -0.0}), flatten({"a": np.nan, "b": 0.0}), None)


def test_what_a_fit_and_a_digest_may_do_on_another_machine():
    recorded = flatten({"fit": 1.0, "other": 1.0, "facts": ["out.npz", "0" * 64]})
    found = flatten({"fit": 1.00005, "other": 1.0, "facts": ["out.npz", "1" * 64]})
    assert not compare.differences(recorded, found, 1e-7, {"fit": 1e-4})
    assert len(compare.differences(recorded, found, 1e-7)) == 1
    assert len(compare.differences(recorded, found, None, {"fit": 1e-4})) == 2
    assert compare.differences(recorded, flatten({**found, "facts": ["in.npz", "1" * 64]}), 1e-7, {"fit": 1e-4})

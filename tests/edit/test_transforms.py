"""Relative velocities: where the others go when one part is dragged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.edit import relative_motion
from posable.edit.transforms import EPSILON

vectors = st.lists(st.floats(-10, 10), min_size=3, max_size=3).map(np.array)


@given(vectors, vectors)
def test_a_drag_along_the_motion_takes_the_other_along_its_own(p, e):
    ratio = np.linalg.norm(e) / max(np.linalg.norm(p), 1e-300)
    if np.linalg.norm(p) < 0.2 or ratio > 3.9:
        return
    h = 0.01
    loss = (EPSILON / np.linalg.norm(p)) ** 2
    np.testing.assert_allclose(
        relative_motion(p, e, h * p, max_ratio=4.0), h * e, atol=h * np.linalg.norm(e) * (loss + 1e-9)
    )


@given(vectors, vectors, vectors, vectors, st.floats(-3, 3))
def test_it_is_linear_in_the_drag(p, e, a, b, s):
    both = relative_motion(p, e, a + s * b)
    np.testing.assert_allclose(both, relative_motion(p, e, a) + s * relative_motion(p, e, b), atol=1e-9)


@given(vectors, vectors, vectors, st.floats(0.1, 5))
def test_no_part_goes_further_than_the_largest_ratio_allows(p, e, drag, max_ratio):
    moved = relative_motion(p, e, drag, max_ratio)
    assert np.isfinite(moved).all()
    assert np.linalg.norm(moved) <= max_ratio * np.linalg.norm(drag) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("p", [np.zeros(3), np.full(3, 1e-200), np.full(3, 1e-6)])
def test_a_part_at_rest_takes_nobody_along(p):
    assert np.linalg.norm(relative_motion(p, [1.0, 2.0, 3.0], [0.1, 0.0, 0.0])) < 1e-3


def test_a_part_that_rests_stays():
    np.testing.assert_array_equal(relative_motion([1.0, 0.2, 0.0], np.zeros(3), [0.1, 0.2, 0.3]), 0.0)


def test_opposite_parts_go_opposite_directions_and_rise_together():
    p, e = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])
    s = 1.0 / (1.0 + EPSILON**2)
    np.testing.assert_allclose(relative_motion(p, e, [0.0, 0.0, 0.1]), [0.0, 0.0, -0.1 * s], atol=1e-12)
    np.testing.assert_allclose(relative_motion(p, e, [0.0, 0.1, 0.0]), [0.0, 0.1 * s, 0.0], atol=1e-12)
    up = relative_motion([0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.1, 0.0])
    np.testing.assert_allclose(up, [0.0, -0.1 * s, 0.0], atol=1e-12)

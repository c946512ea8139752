"""Unity's frame: the mirror, and angles as degrees, against matrices."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import posable as ps
from posable.live import unity

numbers = st.floats(-3, 3, width=32)
quaternions = arrays(np.float64, 4, elements=numbers).filter(lambda q: np.linalg.norm(q) > 0.1)
MIRROR = np.diag([-1.0, 1.0, 1.0])


def about(axis: int, degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    made = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    made[i, i], made[j, j], made[i, j], made[j, i] = c, c, -s, s
    return made


def matrix(wxyz: np.ndarray) -> np.ndarray:
    w, x, y, z = wxyz / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@given(quaternions)
def test_a_rotation_is_the_mirrored_one(xyzw):
    ours = unity.rotation_from_unity(*xyzw)
    theirs = matrix(np.roll(xyzw, 1))
    np.testing.assert_allclose(matrix(np.array(ours)), MIRROR @ theirs @ MIRROR, atol=1e-9)


def test_left_is_at_minus_x_there():
    assert unity.position_from_unity(-0.2, 1.0, 0.5) == (0.2, 1.0, 0.5)


@given(numbers.map(lambda v: 60 * v), numbers.map(lambda v: 60 * v), numbers.map(lambda v: 60 * v))
def test_degrees_are_y_x_z(x, y, z):
    ours = unity.rotation_from_degrees(x, y, z)
    theirs = about(1, y) @ about(0, x) @ about(2, z)
    np.testing.assert_allclose(matrix(np.array(ours)), MIRROR @ theirs @ MIRROR, atol=1e-9)


@given(quaternions)
def test_degrees_give_the_rotation_back(q):
    q = q / np.linalg.norm(q)
    x, y, z = unity.degrees_from_rotation(q)
    again = np.array(unity.rotation_from_degrees(x, y, z))
    np.testing.assert_allclose(matrix(again), matrix(q), atol=2e-4)  # near straight up two angles are one
    np.testing.assert_allclose(MIRROR @ about(1, y) @ about(0, x) @ about(2, z) @ MIRROR, matrix(q), atol=2e-4)


@pytest.mark.parametrize("up", [90.0, -90.0])
def test_straight_up_and_down(up):
    q = np.array(unity.rotation_from_degrees(up, 30.0, 10.0))
    again = np.array(unity.rotation_from_degrees(*unity.degrees_from_rotation(q)))
    np.testing.assert_allclose(matrix(again), matrix(q), atol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1.1e6])
def test_numbers_that_are_none_are_lost(bad):
    assert unity.position_from_unity(bad, 0.0, 0.0) is None
    assert unity.rotation_from_degrees(0.0, bad, 0.0) is None
    assert unity.rotation_from_unity(0.0, 0.0, 0.0, 0.0) is None
    assert bad == 1.1e6 or unity.rotation_from_unity(bad, 0.0, 0.0, 1.0) is None


def test_a_batch_of_degrees_is_each_alone():
    q = ps.math.normalize(np.random.default_rng(0).normal(size=(5, 3, 4)))
    made = unity.degrees_from_rotation(q)
    np.testing.assert_allclose(made[2, 1], unity.degrees_from_rotation(q[2, 1]))

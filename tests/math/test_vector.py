"""Vector kernels: exact where they can be, and quiet about zero, denormal and huge vectors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.math import vector

from . import cases

EPS = np.finfo(float).eps
vectors = st.tuples(*[st.floats(-1e6, 1e6)] * 3)
any_vectors = st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3)


@given(vectors, vectors, st.floats(-10, 10))
def test_vectors_do_what_numpy_arrays_do(a, b, s):
    p, q = np.array(a), np.array(b)
    assert (np.array(vector.add(a, b)) == p + q).all()
    assert (np.array(vector.sub(a, b)) == p - q).all()
    assert (np.array(vector.scale(a, s)) == p * s).all()
    assert np.allclose(vector.dot(a, b), p @ q, rtol=1e-12, atol=1e-3)
    assert np.allclose(vector.cross(a, b), np.cross(p, q), rtol=1e-12, atol=1e-3)
    assert vector.lerp(a, b, 0.0) == a
    assert np.allclose(vector.lerp(a, b, 0.25), 0.75 * p + 0.25 * q, rtol=1e-12, atol=1e-9)


@given(any_vectors)
def test_length_and_direction_survive_every_scale(a):
    length, direction = vector.norm(a), vector.unit(a)
    exact = cases.mp(a)
    if any(a) and length < math.inf:
        assert cases.relative_error([length], [cases.mpmath.sqrt(sum(x * x for x in exact))]) < 4 * EPS
    if not any(a):
        assert length == 0.0 and direction == (0.0, 0.0, 0.0)
    else:
        assert cases.error(direction, cases.mp_unit(a)) < 4 * EPS


@given(any_vectors)
def test_a_perpendicular_is_perpendicular_and_of_unit_length(a):
    across = vector.any_perpendicular(a)
    assert np.linalg.norm(across) == pytest.approx(1.0, abs=4 * EPS)
    assert abs(vector.dot(across, vector.unit(a))) < 4 * EPS
    assert vector.any_perpendicular(a) == across


def test_the_perpendicular_of_each_world_axis_is_the_documented_one():
    assert vector.any_perpendicular((0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0)
    for axis, across in (((1, 0, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, -1)), ((0, 0, 1), (0, 1, 0))):
        found = vector.any_perpendicular(tuple(map(float, axis)))
        assert np.abs(found).tolist() == np.abs(across).tolist()


@given(vectors, vectors.filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_a_vector_is_its_part_along_and_its_part_across(a, b):
    n = vector.unit(b)
    along, across = vector.project(a, n), vector.reject(a, n)
    size = 1.0 + vector.norm(a)
    assert np.allclose(vector.add(along, across), a, rtol=0, atol=4 * EPS * size)
    assert abs(vector.dot(across, n)) < 8 * EPS * size
    assert vector.norm(vector.cross(along, n)) < 8 * EPS * size


@pytest.mark.parametrize("angle", [*[t for t in cases.TINY if t == 0 or t > 1e-15], 1.0, 3.0, math.pi - 1e-7, math.pi])
def test_angles_keep_their_digits_near_zero_and_pi(angle):
    a = (1.0, 0.0, 0.0)
    b = (math.cos(angle), math.sin(angle), 0.0)
    assert vector.angle(a, b) == pytest.approx(angle, rel=4 * EPS, abs=EPS)
    assert vector.angle(a, tuple(1e200 * x for x in b)) == pytest.approx(angle, rel=4 * EPS, abs=EPS)
    assert vector.angle(a, (0.0, 0.0, 0.0)) == 0.0

"""Quaternion kernels against many-digit truth, near every place where formulas break, and by the laws of rotations."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from posable.math import quaternion, vector

from . import cases

EPS = np.finfo(float).eps
part = st.floats(-1, 1)
quats = (
    st.tuples(part, part, part, part)
    .filter(lambda q: np.linalg.norm(q) > 1e-6)
    .map(lambda q: tuple(float(x) for x in np.array(q) / np.linalg.norm(q)))
)
vectors = st.tuples(*[st.floats(-10, 10)] * 3)


def close(a, b, tolerance=1e-14):
    return np.allclose(a, b, rtol=0, atol=tolerance)


def same_rotation(p, q, tolerance=1e-14):
    return close(p, q, tolerance) or close(p, -np.array(q), tolerance)


@given(quats, quats, quats)
def test_rotations_form_a_group(p, q, r):
    mul, conj = quaternion.mul, quaternion.conj
    assert close(mul(mul(p, q), r), mul(p, mul(q, r)))
    assert close(mul(p, (1.0, 0.0, 0.0, 0.0)), p) and close(mul((1.0, 0.0, 0.0, 0.0), p), p)
    assert close(mul(p, conj(p)), (1, 0, 0, 0)) and close(mul(conj(p), p), (1, 0, 0, 0))
    assert close(conj(mul(p, q)), mul(conj(q), conj(p)))


@given(quats, quats, vectors)
def test_a_product_turns_by_the_right_one_first(p, q, v):
    turned = quaternion.rotate(p, quaternion.rotate(q, v))
    assert close(quaternion.rotate(quaternion.mul(p, q), v), turned, 1e-13)
    assert close(quaternion.rotate_inverse(p, quaternion.rotate(p, v)), v, 1e-13)


@given(quats, vectors, vectors)
def test_turning_keeps_lengths_angles_and_handedness(q, a, b):
    ra, rb = quaternion.rotate(q, a), quaternion.rotate(q, b)
    assert vector.dot(ra, rb) == pytest.approx(vector.dot(a, b), abs=1e-11)
    assert close(vector.cross(ra, rb), quaternion.rotate(q, vector.cross(a, b)), 1e-11)


@given(quats, vectors)
def test_turning_a_vector_agrees_with_scipy(q, v):
    assert close(quaternion.rotate(q, v), Rotation.from_quat(q, scalar_first=True).apply(v), 1e-13)


@pytest.mark.parametrize("axis", cases.AXES)
@pytest.mark.parametrize("angle", cases.ANGLES)
def test_exp_is_exact_to_rounding_at_every_angle(axis, angle):
    v = tuple(float(a) * angle for a in axis)
    found, exact = quaternion.exp(v), cases.mp_exp(v)
    assert cases.error(found, exact) < 4 * EPS
    assert cases.relative_error(found[1:], exact[1:]) < 4 * EPS  # tiny rotations keep their digits


@pytest.mark.parametrize("axis", cases.AXES)
@pytest.mark.parametrize("angle", cases.ANGLES)
def test_log_is_exact_to_rounding_at_every_angle(axis, angle):
    q = quaternion.exp(tuple(float(a) * angle for a in axis))
    for sign in (1.0, -1.0):
        signed = tuple(sign * x for x in q)
        assert cases.relative_error(quaternion.log(signed), cases.mp_log(signed)) < 6 * EPS


@settings(max_examples=500)
@given(vectors)
def test_log_undoes_exp_up_to_whole_turns(v):
    back = quaternion.log(quaternion.exp(v))
    assert vector.norm(back) <= math.pi + 1e-15
    turns = (vector.norm(v) - vector.dot(back, vector.unit(v))) / (2 * math.pi)
    assert turns == pytest.approx(round(turns), abs=1e-13)
    if 0 < vector.norm(v) < math.pi - 1e-9:
        assert cases.relative_error(back, cases.mp(v)) < 1e-13


@given(quats)
def test_exp_undoes_log(q):
    assert same_rotation(quaternion.exp(quaternion.log(q)), q)


def test_log_of_a_half_turn_is_pi_long_and_of_no_rotation_zero():
    assert close(quaternion.log((0.0, 0.0, 1.0, 0.0)), (0, math.pi, 0))
    assert quaternion.log((1.0, 0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)
    assert close(quaternion.log((-1.0, 0.0, 0.0, 0.0)), (0, 0, 0))
    assert quaternion.log((0.0, 0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@given(st.sampled_from(cases.AXES), st.floats(-7, 7))
def test_an_axis_and_an_angle_are_a_rotation_vector(axis, angle):
    axis = tuple(map(float, axis))
    assert same_rotation(quaternion.axis_angle(axis, angle), quaternion.exp(tuple(a * angle for a in axis)))


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e-20, 1.0, 1e20, 1e200, 1e308])
def test_unit_length_at_every_scale(scale):
    q = (0.5 * scale, -0.25 * scale, 0.75 * scale, 0.125 * scale)
    if any(q):
        assert cases.error(quaternion.unit_quat(q), cases.mp_unit(q)) < 2 * EPS
    assert np.linalg.norm(quaternion.unit_quat(q)) == pytest.approx(1.0, abs=2 * EPS)
    assert quaternion.unit_quat((0.0, 0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)


def near(a, angle, seed):
    """A unit vector at `angle` from a."""
    p = np.cross(a, np.random.default_rng(seed + 1000).normal(size=3))
    p /= np.linalg.norm(p)
    return tuple(np.cos(angle) * np.array(a) + np.sin(angle) * p)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("angle", [*cases.TINY, 1.0, 2.0, 3.0, *(np.pi - t for t in (0.1, 1e-3, 1e-5, 1e-6, 2e-7))])
def test_between_carries_one_direction_exactly_to_the_other(angle, seed):
    a = tuple(cases.random_directions(1, seed)[0])
    b = near(a, angle, seed)
    q = quaternion.between(a, b)
    exact = cases.mp_unit(b)
    assert cases.error(quaternion.rotate(q, tuple(vector.unit(a))), exact) < 8 * EPS
    # Smallest: it does not turn about either direction, and its angle is the angle between them.
    assert abs(vector.dot(q[1:], a)) < 4 * EPS and abs(vector.dot(q[1:], b)) < 4 * EPS
    assert 2 * math.atan2(vector.norm(q[1:]), q[0]) == pytest.approx(vector.angle(a, b), abs=4 * EPS)


@pytest.mark.parametrize("axis", cases.AXES)
def test_between_opposite_directions_is_a_half_turn_about_the_documented_axis(axis):
    a = tuple(map(float, axis))
    q = quaternion.between(a, tuple(-x for x in a))
    assert q[0] == 0.0
    assert close(q[1:], vector.any_perpendicular(a))
    assert close(quaternion.rotate(q, a), [-x for x in a])


@pytest.mark.parametrize("length", [5e-324, 1e-310, 1e-200, 1e200, 1e308])
def test_between_does_not_care_how_long_its_vectors_are(length):
    a, b = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)
    q = quaternion.between(a, tuple(length * x for x in b))
    assert close(quaternion.rotate(q, a), b)


def test_between_with_a_zero_vector_is_the_identity():
    for a, b in (((0.0,) * 3, (0.0, 1.0, 0.0)), ((1.0, 0.0, 0.0), (0.0,) * 3), ((0.0,) * 3, (0.0,) * 3)):
        assert quaternion.between(a, b) == (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("axis", cases.AXES)
@pytest.mark.parametrize("angle", [a for a in cases.ANGLES if a == 0 or a > 1e-12])
def test_the_angle_between_two_rotations_keeps_its_digits(axis, angle):
    p = tuple(cases.random_rotations(1, 3)[0])
    q = quaternion.mul(p, quaternion.axis_angle(tuple(map(float, vector.unit(axis))), angle))
    assert quaternion.angle_between(p, q) == pytest.approx(angle, abs=4 * EPS)
    assert quaternion.angle_between(p, tuple(-x for x in q)) == pytest.approx(angle, abs=4 * EPS)


@settings(max_examples=300)
@given(quats, st.sampled_from(cases.AXES), st.sampled_from(cases.ANGLES), st.floats(0, 1))
def test_slerp_runs_at_constant_speed_along_the_shorter_arc(p, axis, angle, t):
    axis = tuple(map(float, vector.unit(axis)))
    q = quaternion.mul(p, quaternion.axis_angle(axis, angle))
    expected = quaternion.mul(p, quaternion.axis_angle(axis, t * angle))
    for sign in (1.0, -1.0):
        found = quaternion.slerp(p, tuple(sign * x for x in q), t)
        if angle < math.pi - 1e-9:  # at a half turn both arcs are as short
            assert same_rotation(found, expected, 2e-15)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=4 * EPS)


@given(quats, quats)
def test_slerp_starts_and_ends_where_it_should(p, q):
    assert same_rotation(quaternion.slerp(p, q, 0.0), p, 4 * EPS)
    assert same_rotation(quaternion.slerp(p, q, 1.0), q, 4 * EPS)


def test_slerp_between_a_rotation_and_its_opposite_quaternion_stays_there():
    p = tuple(cases.random_rotations(1, 4)[0])
    assert same_rotation(quaternion.slerp(p, tuple(-x for x in p), 0.3), p)


def test_the_truth_itself_is_right():
    q = [mpmath.mpf(x) for x in cases.random_rotations(1, 5)[0]]
    v = (0.3, -2.0, 1.0)
    assert np.allclose([float(x) for x in cases.mp_rotated(q, cases.mp(v))], quaternion.rotate(tuple(map(float, q)), v))

"""Swing and twist: both orders recompose, the swing is the smallest, nothing breaks where the twist is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posable.math import quaternion, vector
from posable.math.quaternion import swing_twist, twist_angle, twist_swing

from . import cases

EPS = np.finfo(float).eps
part = st.floats(-1, 1)
quats = (
    st.tuples(part, part, part, part)
    .filter(lambda q: np.linalg.norm(q) > 1e-6)
    .map(lambda q: tuple(float(x) for x in np.array(q) / np.linalg.norm(q)))
)
axes = st.sampled_from([tuple(map(float, vector.unit(tuple(map(float, a))))) for a in cases.AXES])


def close(a, b, tolerance=1e-14):
    return np.allclose(a, b, rtol=0, atol=tolerance)


@settings(max_examples=500)
@given(quats, axes)
def test_swing_times_twist_is_the_rotation(q, axis):
    swing, twist = swing_twist(q, axis)
    assert close(quaternion.mul(swing, quaternion.axis_angle(axis, twist)), q, 4 * EPS)
    twist, swing = twist_swing(q, axis)
    assert close(quaternion.mul(quaternion.axis_angle(axis, twist), swing), q, 4 * EPS)


@settings(max_examples=500)
@given(quats, axes)
def test_the_swing_is_the_smallest_rotation_that_carries_the_axis_there(q, axis):
    swing, _ = swing_twist(q, axis)
    carried = quaternion.rotate(q, axis)
    assert close(quaternion.rotate(swing, axis), carried, 8 * EPS)
    assert abs(vector.dot(swing[1:], axis)) < 4 * EPS  # it does not turn about the axis
    if vector.angle(axis, carried) < math.pi - 1e-6:
        smallest = quaternion.between(axis, carried)
        assert quaternion.angle_between(swing, smallest) < 1e-9
    _, swing = twist_swing(q, axis)
    assert close(quaternion.rotate_inverse(swing, axis), quaternion.rotate_inverse(q, axis), 8 * EPS)
    assert abs(vector.dot(swing[1:], axis)) < 4 * EPS


@settings(max_examples=500)
@given(quats, axes)
def test_the_twist_is_one_in_both_orders_and_for_both_signs(q, axis):
    _, a = swing_twist(q, axis)
    b, _ = twist_swing(q, axis)
    assert a == b and -math.pi <= a <= math.pi
    c = twist_angle(tuple(-x for x in q), axis)
    assert math.remainder(a - c, math.tau) == pytest.approx(0.0, abs=1e-12)


@given(axes, st.floats(-3.1, 3.1), st.floats(0.0, 3.0), st.floats(-3.1, 3.1))
def test_the_parts_that_were_put_in_come_out(axis, twist, angle, around):
    across = vector.any_perpendicular(axis)
    across = quaternion.rotate(quaternion.axis_angle(axis, around), across)
    swing = quaternion.axis_angle(across, angle)
    q = quaternion.mul(swing, quaternion.axis_angle(axis, twist))
    found, turned = swing_twist(q, axis)
    assert turned == pytest.approx(twist, abs=1e-13)
    assert quaternion.angle_between(found, swing) < 1e-13


@pytest.mark.parametrize("twist", cases.TINY)
def test_tiny_twists_keep_their_digits(twist):
    axis = (0.0, 1.0, 0.0)
    assert twist_angle(quaternion.axis_angle(axis, twist), axis) == pytest.approx(twist, rel=4 * EPS, abs=1e-323)


@pytest.mark.parametrize("axis", cases.AXES)
def test_an_axis_turned_straight_back_has_no_twist_and_still_recomposes(axis):
    axis = tuple(map(float, vector.unit(tuple(map(float, axis)))))
    q = (0.0, *vector.any_perpendicular(axis))
    along = vector.dot(q[1:], axis)
    swing, twist = swing_twist(q, axis)
    assert np.isfinite(swing).all()
    assert twist == 0.0 or along != 0.0  # rounding left a little along the axis: then any twist is right
    assert close(quaternion.mul(swing, quaternion.axis_angle(axis, twist)), q)
    for off in (1e-300, 1e-200, 1e-16, 1e-8):
        swing, twist = swing_twist((off, *q[1:]), axis)
        assert close(quaternion.mul(swing, quaternion.axis_angle(axis, twist)), q, 1e-7)
        assert np.isfinite(swing).all()


def test_a_zero_quaternion_gives_no_nan():
    swing, twist = swing_twist((0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert twist == 0.0 and np.isfinite(swing).all()

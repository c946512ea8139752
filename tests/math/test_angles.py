"""Angles less whole turns: the same direction, in the promised interval."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.math import angles

KERNELS = (angles.wrap_angle, angles.wrap_angle_odd, angles.wrap_angle_modulo)
ANGLES = st.floats(-1000.0, 1000.0)


@given(ANGLES)
def test_a_wrapped_angle_is_the_same_direction_within_half_a_turn(angle):
    for wrap in KERNELS:
        wrapped = wrap(angle)
        assert abs(wrapped) <= math.pi + 1e-12
        assert float(mpmath.sin((mpmath.mpf(angle) - wrapped) / 2)) == pytest.approx(0.0, abs=1e-12)
        assert wrap(angle) == angle or abs(angle) >= math.pi - 1e-12
    assert float(angles.wrapped_angles(np.array(angle))) == pytest.approx(angles.wrap_angle_modulo(angle), abs=1e-12)


@given(ANGLES)
def test_mirrored_angles_wrap_to_mirrored_ones(angle):
    assert angles.wrap_angle_odd(-angle) == -angles.wrap_angle_odd(angle)


@given(ANGLES, st.floats(-10.0, 10.0))
def test_an_angle_wraps_to_within_half_a_turn_of_any_middle(angle, middle):
    wrapped = angles.wrap_angle_around(angle, middle)
    assert abs(wrapped - middle) <= math.pi + 1e-12
    assert float(mpmath.sin((mpmath.mpf(angle) - wrapped) / 2)) == pytest.approx(0.0, abs=1e-12)


def test_half_a_turn_has_the_documented_sign():
    assert angles.wrap_angle(math.pi) == angles.wrap_angle_modulo(math.pi) == -math.pi
    assert angles.wrap_angle_odd(math.pi) == math.pi and angles.wrap_angle_odd(-math.pi) == -math.pi

"""The machine that finds how much of a behaviour a body takes, against what a fine scan finds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.reach.kernels import SETTLED, STRETCHED, first_adjustment, next_adjustment

SHARES = st.floats(0.02, 0.98)


def settled(stands, lack, extend=True, first=0.0):
    """(the adjustment the machine ends at, how many it tried)."""
    state, tried = first_adjustment(first), 0
    while state[0] != SETTLED:
        x = state[1]
        state = next_adjustment(state, stands(x), lack(x), extend)
        tried += 1
        assert tried < 100
    return state[1], tried


def test_a_body_that_stands_with_long_arms_is_taken_at_once():
    assert settled(lambda x: True, lambda x: -0.1) == (0.0, 1)
    assert settled(lambda x: True, lambda x: 0.1, extend=False) == (0.0, 1)
    assert settled(lambda x: True, lambda x: 0.1, first=-0.25) == (-0.25, 1)


@given(edge=st.floats(-0.99, -0.001))
def test_a_body_that_does_not_stand_is_lowered_to_the_edge(edge):
    x, _ = settled(lambda x: x <= edge, lambda x: 0.1)
    assert edge - 1e-6 <= x <= edge


def test_nothing_of_the_behaviour_is_left_where_nothing_else_stands():
    x, _ = settled(lambda x: x <= -1.0, lambda x: 0.0)
    assert x == -1.0


@given(at=SHARES)
def test_an_arm_too_short_takes_the_least_that_makes_it_long_enough(at):
    x, _ = settled(lambda x: True, lambda x: at - x)
    assert at - STRETCHED <= x <= at + 1e-6


@given(at=SHARES, size=st.floats(0.01, 0.03))
def test_a_narrow_way_between_the_steps_is_found(at, size):
    """Where bending on takes the shoulder away again: in reach only within `size` of `at`."""
    x, _ = settled(lambda x: True, lambda x: (x - at) ** 2 - size**2)
    assert x == pytest.approx(max(at - size, 0.0), abs=1e-5)


@given(at=SHARES, depth=st.floats(1e-3, 0.3))
def test_out_of_reach_it_is_where_least_is_lacking(at, depth):
    x, _ = settled(lambda x: True, lambda x: depth + (x - at) ** 2)
    assert x == pytest.approx(at, abs=1e-3)


@given(edge=SHARES)
def test_out_of_reach_it_goes_as_far_as_the_body_stands(edge):
    x, _ = settled(lambda x: x <= edge, lambda x: 2.0 - x)
    assert edge - 1e-3 <= x <= edge


@given(at=SHARES, over=st.floats(1e-7, 1e-5))
def test_just_in_and_just_out_of_reach_are_the_same(at, over):
    inside, _ = settled(lambda x: True, lambda x: (x - at) ** 2 - over)
    outside, _ = settled(lambda x: True, lambda x: (x - at) ** 2 + over)
    assert abs(inside - outside) < 2.0 * math.sqrt(over) + 1e-3


@given(edge=st.floats(-1.0, 1.0), slope=st.floats(-1.0, 1.0), start=st.floats(-0.1, 0.5))
def test_it_ends_where_the_body_stands_after_few_tries(edge, slope, start):
    x, tried = settled(lambda x: x <= edge, lambda x: start + slope * x)
    assert x <= edge or x == -1.0
    assert -1.0 <= x <= 1.0 and tried <= 60

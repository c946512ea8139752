"""The machine that finds how much of a behaviour a body takes where it does not stand with all that it needs."""

from hypothesis import given
from hypothesis import strategies as st

from posable.reach.kernels import SETTLED, first_adjustment, next_adjustment


def settled(stands, first=0.0):
    """(the adjustment the machine ends at, how many it tried)."""
    state, tried = first_adjustment(first), 0
    while state[0] != SETTLED:
        state = next_adjustment(state, stands(state[1]))
        tried += 1
        assert tried < 100
    return state[1], tried


def test_a_body_that_stands_is_taken_at_once():
    assert settled(lambda x: True) == (0.0, 1)
    assert settled(lambda x: True, first=0.4) == (0.4, 1)
    assert settled(lambda x: True, first=-0.25) == (-0.25, 1)


@given(edge=st.floats(-0.99, 0.999), first=st.floats(0.0, 1.0))
def test_a_body_that_does_not_stand_is_lowered_to_the_edge(edge, first):
    x, _ = settled(lambda x: x <= edge, first)
    assert x == first if first <= edge else edge - 1e-6 <= x <= edge


def test_nothing_of_the_behaviour_is_left_where_nothing_else_stands():
    x, _ = settled(lambda x: x <= -1.0)
    assert x == -1.0


@given(edge=st.floats(-1.0, 1.0), first=st.floats(0.0, 1.0))
def test_it_ends_where_the_body_stands_after_few_tries(edge, first):
    x, tried = settled(lambda x: x <= edge, first)
    assert x <= edge or x == -1.0
    assert -1.0 <= x <= 1.0 and tried <= 40

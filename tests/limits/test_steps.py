"""`step_within`: between two rotations inside the limits there is a way, in steps, that stays inside and arrives."""

import math

import numpy as np
import pytest

import posable.math as pm
from posable.limits import Limits
from posable.limits.kernels import step_within

HUMAN = Limits.human()
STEP = 0.1  # [rad]


def inside(role, count, seed):
    """Rotations (N, 4) inside the limits of a joint, half of them at the edge."""
    drawn = pm.normalize(np.random.default_rng(seed).normal(size=(count, 4)))
    small = pm.axis_angle(pm.rotate(drawn, [1.0, 0.0, 0.0]), np.random.default_rng(seed + 1).uniform(0.0, 1.0, count))
    found = HUMAN.clamp(role, np.where((np.arange(count) % 2)[:, None] == 0, drawn, small))
    back = np.linalg.norm(pm.rotate(found, direction_of(role)) + direction_of(role), axis=-1) < 1e-6
    return np.where(back[:, None], [1.0, 0.0, 0.0, 0.0], found)  # straight back there is no twist, and no way inside


def direction_of(role):
    return HUMAN.joints[role].direction


def angle(a, b):
    return 2.0 * math.atan2(*(np.linalg.norm(pm.multiply(pm.conjugate(a), b)[1:]), abs(np.dot(a, b))))


@pytest.mark.parametrize("role", HUMAN.joints)
def test_steps_arrive_inside_the_limits_and_none_is_longer_than_it_may_be(role):
    row = HUMAN.packed[HUMAN.index(role)]
    for start, goal in inside(role, 60, 5).reshape(-1, 2, 4):
        now, steps = tuple(start), 0
        while angle(now, goal) > 1e-9:
            then = step_within(row, HUMAN.curves, now, tuple(goal), STEP)
            assert angle(now, then) < STEP + 1e-9
            assert HUMAN.contains(role, np.array(then), 1e-6)
            now, steps = then, steps + 1
            assert steps < 3.0 * math.pi / STEP, (role, start, goal)
        assert steps >= math.floor(angle(start, goal) / STEP)


@pytest.mark.parametrize("role", ["left_upper_arm", "right_upper_leg", "left_hand", "right_lower_arm"])
def test_small_steps_are_in_proportion(role):
    """A step of a tenth goes a tenth of the way: nothing waits, and nothing hops."""
    row = HUMAN.packed[HUMAN.index(role)]
    for start, goal in inside(role, 40, 8).reshape(-1, 2, 4):
        if angle(start, goal) > STEP:
            small = step_within(row, HUMAN.curves, tuple(start), tuple(goal), 0.1 * STEP)
            assert 0.08 * STEP < angle(start, small) < 0.1 * STEP + 1e-9

"""The rule from errors to a status: nothing is REACHED that the pose does not deserve."""

import itertools
import math

import numpy as np
import pytest

from posable import Status
from posable.compute.verdict import verdict, verdict_rows

ERRORS = (0.0, 0.9, 1.0, 1.1, math.inf, math.nan)


@pytest.mark.parametrize("cause", list(Status))
def test_reached_needs_every_error_within_its_tolerance(cause):
    for position, orientation, excess in itertools.product(ERRORS, ERRORS, (-1.0, 0.0, 1e-12, math.nan)):
        status = Status(verdict(int(cause), position, 1.0, orientation, 1.0, excess))
        deserved = position <= 1.0 and orientation <= 1.0 and excess <= 0.0
        if cause is Status.INVALID:
            assert status is Status.INVALID
        elif deserved:
            assert status is Status.REACHED
        else:
            assert status is not Status.REACHED
            assert cause is Status.REACHED or status is cause


def test_a_pose_that_only_leaves_its_limits_is_told_from_one_that_misses():
    assert verdict(0, 0.0, 1.0, 0.0, 1.0, 0.5) == Status.LIMITS
    assert verdict(0, 2.0, 1.0, 0.0, 1.0, 0.0) == Status.UNREACHABLE
    assert verdict(0, 2.0, 1.0, 0.0, 1.0, 0.5) == Status.UNREACHABLE


def test_rows_are_judged_one_by_one():
    rng = np.random.default_rng(0)
    n = 5000  # more than the parallel loop's threshold
    causes, out = rng.integers(0, 6, n), np.empty(n, np.int64)
    errors, angles, excesses = rng.uniform(0.0, 2.0, (2, n)), rng.uniform(0.0, 2.0, n), rng.uniform(-1.0, 1.0, n)
    verdict_rows(n, causes, errors[0], 1.0, angles, 1.0, excesses, out)
    alone = [verdict(int(c), e, 1.0, a, 1.0, x) for c, e, a, x in zip(causes, errors[0], angles, excesses, strict=True)]
    assert out.tolist() == alone

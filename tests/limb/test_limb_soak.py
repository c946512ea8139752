"""A million targets for each limb, hostile ones among them."""

import math

import numpy as np
import pytest

import posable.math as pm
from posable.compute import Status
from posable.limb import LIMBS, Limb
from posable.limits import Limits

from .test_limb import LOWER, UPPER, inside, slow_forward

BLOCK, BLOCKS = 50_000, 20


def targets(seed: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Places all around and far out, and in every fourth row a hostile one."""
    rng = np.random.default_rng([seed, block])
    place = rng.normal(size=(BLOCK, 3))
    place *= rng.uniform(0.0, 0.7, (BLOCK, 1)) / np.linalg.norm(place, axis=-1, keepdims=True)
    turn = pm.normalize(rng.normal(size=(BLOCK, 4)))
    full, folded = UPPER + LOWER, UPPER - LOWER
    hostile = np.array(
        [
            *([0, 0, full], [0, 0, -full], [0, -0.45, 0], [0, 0.45, 0], [0, 0, 0], [5e-324, 0, 0], [1e-200, 1e-200, 0]),
            *([1e150, 0, 0], [1e308, 1e308, 1e308], [np.nan, 0, 0], [0, np.inf, 0], [folded, 0, 0], [0, 0, -folded]),
            *([full * (1 + 1e-15), 0, 0], [full * (1 - 1e-15), 0, 0], [1e-7, 0, 0.3], [0, -0.5, 1e-9]),
        ]
    )
    place[::4] = hostile[rng.integers(0, len(hostile), len(place[::4]))]
    turn[::97] = 0.0
    return place, turn


@pytest.mark.soak
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("name", LIMBS)
def test_a_million_targets_are_reached_or_truly_refused(name: str, limited: bool, drawn):
    limb = Limb(name, UPPER, LOWER, limits=Limits.human() if limited else None)
    for block in range(drawn(BLOCKS, each=BLOCK)):
        place, turn = targets(LIMBS.index(name), block)
        answer = limb.solve(place, turn)
        assert np.isfinite(answer.values).all()
        invalid = ~(np.abs(place) <= 1e6).all(axis=-1) | ~turn.any(axis=-1)
        np.testing.assert_array_equal(answer.status == Status.INVALID, invalid)
        _, end, turned = slow_forward(answer.values)
        ok = answer.ok
        assert np.abs(end[ok] - place[ok]).max() < 1e-9
        assert pm.angle(turned[ok], turn[ok]).max() < 1e-9
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.hypot(np.hypot(place[:, 0], place[:, 1]), place[:, 2])
        beyond = ~invalid & (distance > (UPPER + LOWER) * (1 + 1e-12))
        assert (answer.status[beyond] == Status.UNREACHABLE).all()
        assert np.abs(answer.values).max() <= math.pi + 1e-12
        if limited:
            assert inside(name, answer.values[~invalid]).all()

"""Millions of poses against the built-in ranges."""

import math

import numpy as np
import pytest

import posable as ps

from .range_cases import anywhere


def hostile(seed: int, count: int, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Random poses, and among them ones on axes, at the base, exactly at full reach, denormal, huge and not finite."""
    position, swivel = anywhere(seed, count, length)
    rng = np.random.default_rng(seed)
    odd = rng.random(count)
    axes = np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1.0, 1.0], (count, 1))
    size = np.linalg.norm(position, axis=-1, keepdims=True)
    position = np.where((odd < 0.05)[:, None], axes * size, position)
    position = np.where(((odd > 0.05) & (odd < 0.1))[:, None], position / size * length, position)
    position[(odd > 0.1) & (odd < 0.11)] = 0.0
    position[(odd > 0.11) & (odd < 0.12)] *= 1e-310
    position[(odd > 0.12) & (odd < 0.13)] *= 1e200
    position[(odd > 0.13) & (odd < 0.14), 1] = np.nan
    swivel[(odd > 0.14) & (odd < 0.15)] = np.inf
    swivel[(odd > 0.15) & (odd < 0.16)] *= 1e12
    return position, swivel


@pytest.mark.soak
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("name", ["right_arm", "left_arm", "right_leg", "left_leg"])
def test_a_million_poses_are_brought_in_and_stay(name, smooth, drawn):
    found = ps.LimbRange.builtin(name)
    position, swivel = hostile(1, drawn(1_000_000), found.upper + found.lower)
    good = (np.abs(position) <= 1e6).all(axis=-1) & np.isfinite(swivel)
    answer = found.correct(position, swivel, smooth=smooth)
    assert found.contains(answer.position[good], answer.swivel[good]).all()
    assert not answer.changed[~good].any()
    again = found.correct(answer.position[good], answer.swivel[good], smooth=smooth)
    assert not again.changed.any()
    if not smooth:
        np.testing.assert_array_equal(answer.changed[good], ~found.contains(position[good], swivel[good]))
    assert np.abs(answer.swivel[answer.changed & good & answer.causes["swivel"]]).max() <= math.pi

"""A million random postures and orientations: limits hold, nothing is NaN, scores are those of the angles."""

import numpy as np
import pytest

import posable.math as pm
from posable.express import ERIK, SKELETONS, Chain, MotionFilter

from .cases import orientation_error, posture_error
from .test_robots import CHAINS

BLOCK = 10_000


def pairs(chain, seed):
    """Mostly inside the limits, some at them, some far outside; some orientations on the axes."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    postures = rng.uniform(low, high, (BLOCK, len(chain)))
    edge = rng.random(postures.shape)
    postures = np.where(edge < 0.05, low, np.where(edge > 0.95, high, postures))
    postures[::10] *= 5.0
    targets = pm.normalize(rng.normal(size=(BLOCK, 4)))
    targets[::7] = np.eye(4)[rng.integers(0, 4, len(targets[::7]))]
    return postures, targets


@pytest.mark.soak
@pytest.mark.parametrize("method", ["best", "erik", "simple"])
@pytest.mark.parametrize("name", SKELETONS)
def test_a_million_pairs_on_the_paper_s_skeletons(name, method):
    chain = SKELETONS[name]
    for seed in range(5 if method == "best" else 4):
        postures, targets = pairs(chain, seed)
        answer = ERIK(chain, method).solve(postures, targets)
        assert (answer.angles >= chain.lower).all() and (answer.angles <= chain.upper).all()
        off, shape = orientation_error(chain, answer.angles, targets), posture_error(chain, answer.angles, postures)
        np.testing.assert_allclose(answer.orientation_score, off, rtol=0, atol=1e-12)
        np.testing.assert_allclose(answer.posture_error, shape, rtol=0, atol=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("method", ["best", "erik", "simple"])
@pytest.mark.parametrize("name", CHAINS)
def test_robots_keep_their_limits(name, method, data_dir):
    chain = Chain.from_robot(data_dir / "robots" / f"{name}.urdf", *CHAINS[name][:2])
    for seed in range(2):
        postures, targets = pairs(chain, seed)
        answer = ERIK(chain, method).solve(postures, targets)
        assert np.isfinite(answer.error).all()
        assert (answer.angles >= chain.lower).all() and (answer.angles <= chain.upper).all()
        off = orientation_error(chain, answer.angles, targets)
        np.testing.assert_allclose(answer.orientation_score, off, rtol=0, atol=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_channels_of_late_setpoints(seed):
    rng = np.random.default_rng(seed)
    limits = rng.uniform(0.1, 5, 500), rng.uniform(1, 50, 500), rng.uniform(5, 1000, 500)
    ends = np.stack([rng.uniform(-2, -0.1, 500), rng.uniform(0.1, 2, 500)], axis=-1)
    stream = MotionFilter(*limits, position_limits=ends).stream(np.zeros(500))
    for _ in range(300):
        dt = float(rng.choice([1 / 240, 1 / 60, 0.1, rng.uniform(0.0005, 1.0)]))
        stream.step(rng.uniform(-3, 3, 500) if rng.random() < 0.5 else None, dt)
        assert (np.abs(stream.velocity) <= limits[0] * (1 + 1e-9)).all()
        assert (np.abs(stream.acceleration) <= limits[1] * (1 + 1e-9)).all()
        assert (stream.values >= ends[:, 0] - 1e-12).all() and (stream.values <= ends[:, 1] + 1e-12).all()

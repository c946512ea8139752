"""The sampling of the paper's evaluation, and scores written a second time: from positions, slowly."""

import numpy as np

import posable.math as pm
from posable.express import SKELETONS, Chain

VALUES = {"A": 33, "B": 19, "C": 15, "D": 15, "E": 15, "F": 9, "G": 5}
X, Y = np.eye(3)[:2]


def sample(name: str, count: int, seed: int = 0) -> tuple[Chain, np.ndarray, np.ndarray]:
    """(chain, postures, orientations): random pairs of the two grids (specification express, section 11)."""
    chain, rng = SKELETONS[name], np.random.default_rng(seed)
    postures = np.zeros((count, len(chain)))
    grid = np.linspace(chain.lower[0], chain.upper[0], VALUES[name])
    postures[:, 1:-1] = grid[rng.integers(0, len(grid), (count, len(chain) - 2))]
    return chain, postures, composed(np.linspace(-np.pi, np.pi, 19)[rng.integers(0, 19, (count, 3))])


def composed(angles: np.ndarray) -> np.ndarray:
    """Turn about the vertical, pitch, twist about the pointing axis."""
    yaw, pitch, roll = np.moveaxis(angles, -1, 0)
    return pm.multiply(pm.multiply(pm.axis_angle(Y, yaw), pm.axis_angle(X, pitch)), pm.axis_angle(Y, roll))


def orientation_error(chain: Chain, angles: np.ndarray, targets: np.ndarray, symmetric: bool = True) -> np.ndarray:
    """Section 2, from the skeleton's forward kinematics."""
    ends = chain.forward(angles).orientations[..., -1, :]
    half = np.concatenate([[0.0], chain.pointing])
    turned = [ends, pm.multiply(ends, half)] if symmetric else [ends]
    apart = [np.linalg.norm(targets - sign * end, axis=-1) for end in turned for sign in (1, -1)]
    return np.min(apart, axis=0) / np.sqrt(2)


def posture_error(chain: Chain, angles: np.ndarray, postures: np.ndarray, aggravation: float = 1.5) -> np.ndarray:
    """Section 2, from the places of the joints: for chains that stand upright at rest."""
    bends = [k for k, link in enumerate(chain.links) if abs(link.axis[1]) < 0.5]
    weights = aggravation ** np.arange(len(bends))
    cosines = [_cosines(chain, values)[..., bends] for values in (angles, postures)]
    return np.abs(cosines[0] - cosines[1]) @ (weights / weights.sum()) / 2


def _cosines(chain: Chain, values: np.ndarray) -> np.ndarray:
    steps = np.diff(chain.forward(values).positions, axis=-2)
    units = steps / np.linalg.norm(steps, axis=-1, keepdims=True)
    before = np.concatenate([np.broadcast_to(Y, (*units.shape[:-2], 1, 3)), units[..., :-1, :]], axis=-2)
    return (units * before).sum(axis=-1)

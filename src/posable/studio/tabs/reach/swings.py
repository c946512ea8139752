"""Swings: directions in which an arm points, as points of a plane; and where the keys of a behaviour are among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute.types import ArrayLike, Floats

if TYPE_CHECKING:
    from ....reach import Behaviour, Key


def in_space(behaviour: Behaviour) -> bool:
    """Whether a behaviour has its keys in space around the shoulder, not on the swing plane."""
    return behaviour.interpolation == "around"


def swing_of_key(key: Key) -> Floats:
    """(2,) the swing [rad] of a key; of one in space that of its direction from the shoulder."""
    return np.asarray(key.at, dtype=np.float64) if len(key.at) == 2 else swing_of(key.at)


def direction_of(swing: ArrayLike) -> Floats:
    """(..., 3) unit vectors in the arm's frame of swings (..., 2) [rad]."""
    given = np.asarray(swing, dtype=np.float64)
    turned = pm.exp(np.concatenate([given, np.zeros((*given.shape[:-1], 1))], axis=-1))
    return np.asarray(pm.rotate(turned, np.array([0.0, 0.0, 1.0])))


def swing_of(direction: ArrayLike) -> Floats:
    """(..., 2) swings [rad] of vectors (..., 3) in the arm's frame; straight back is (pi, 0)."""
    x, y, z = np.moveaxis(np.asarray(direction, dtype=np.float64), -1, 0)
    across = np.hypot(x, y)
    angle = np.arctan2(across, z)
    far = np.where(across > 0.0, across, 1.0)
    return np.stack([np.where(across > 0.0, -angle * y / far, angle), angle * x / far], axis=-1)


def grid_of(behaviour: Behaviour, count: int = 26) -> Floats:
    """(N, 2) swings [rad] on a grid over the ellipse, `count` along its longer axis."""
    (cx, cy), (rx, ry) = behaviour.ellipse.centre, behaviour.ellipse.radii
    step = 2.0 * max(rx, ry) / count
    xs, ys = (np.arange(-np.floor(r / step), np.floor(r / step) + 1) * step for r in (rx, ry))
    x, y = (values.ravel() for values in np.meshgrid(xs, ys, indexing="ij"))
    inside = (x / rx) ** 2 + (y / ry) ** 2 <= 1.0
    return np.stack([cx + x[inside], cy + y[inside]], axis=-1)


def pieces(lines: Sequence[tuple[ArrayLike, ArrayLike]], count: int = 24) -> Floats:
    """(N, 2, 2) straight lines of the plane, between swings [rad], cut into pieces: on the sphere they are curved."""
    share = np.linspace(0.0, 1.0, count + 1)[:, None]
    ways = np.array([(1.0 - share) * np.asarray(a) + share * np.asarray(b) for a, b in lines])
    ways = ways.reshape(-1, count + 1, 2)
    return np.stack([ways[:, :-1], ways[:, 1:]], axis=2).reshape(-1, 2, 2)

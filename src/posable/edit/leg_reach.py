"""Hips that a change moves so far that a leg no longer reaches its foothold come back towards it, smoothly over time.

A fading change moves the hips in frames in which a foot stands elsewhere: half a step later the leg behind is too
short. Brought back frame by frame, the knee snaps straight and the foot is torn off. Kovar, Schreiner and Gleicher 2002
("Footskate cleanup for motion capture editing") move the root first, smoothly, so that each leg reaches its foothold,
and bend the legs afterwards. So it is done here: the displacement d(t) of the root minimises

    sum |d|^2 + tau^4 |d''|^2 + w max(0, |hip + d - ankle| - reach)^2

with a weight w that grows; d is 0 at the frames of the drag, which has found a pose there, and outside the change.
Each round linearises the distance and solves a banded system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute.types import Bools, Floats, Ints
from ..skeleton import Frames

SECONDS = 0.12
"""[s]: tau, about how long before and after a foothold out of reach the hips begin to give way."""
STRETCHED = 0.99
"""Of the length of a leg: as far as it may be stretched by a change; in the clip it may be straighter."""
ROUNDS = 24
WEIGHTS = (1.0, 1e4)
"""Of a leg that is too short, in the first round and in the last ones."""


@dataclass(frozen=True, eq=False)
class Foothold:
    """Where the ankle of a leg must be in some frames."""

    foot: str
    """The role of the ankle."""
    ankle: Floats
    """(K, 3) [m]: on the ramps of a contact between where the change has put it and where it stands."""
    active: Bools
    """(K,): the frames in which it must be there."""


def root_displacement(
    body: Humanoid,
    footholds: list[Foothold],
    old: Frames,
    new: Frames,
    nearness: Floats,
    rows: Ints,
    count: int,
    fps: float,
) -> Floats:
    """Return displacements (K, 3) [m] of the root with which legs reach their footholds; zeros where they do.

    Args:
        body: the body, with roles of both legs.
        footholds: of the feet that stand.
        old: (K,) frames before the change: a leg may be as straight as it was there.
        new: (K,) frames after the change.
        nearness: (K,) 1 at the frames of the drag, where the root stays; the nearer to one, the straighter a leg may
            be, as far as the drag itself has stretched it.
        rows: (K,) the numbers of these frames, in a motion of `count`.
        count: frames of the motion.
        fps: frames per second.
    """
    first, length, fixed = int(rows[0]), int(rows[-1] - rows[0]) + 1, nearness >= 1.0
    legs = []
    for hold in footholds:
        upper, lower, foot = (
            body.roles[hold.foot.replace("foot", part)] for part in ("upper_leg", "lower_leg", "foot")
        )
        thigh, shank = (
            np.linalg.norm(new.positions[:, a] - new.positions[:, b], axis=-1)
            for a, b in ((upper, lower), (lower, foot))
        )
        away = new.positions[:, upper] - hold.ankle
        before = np.linalg.norm(old.positions[:, upper] - old.positions[:, foot], axis=-1)
        straight = (np.linalg.norm(away, axis=-1) / (thigh + shank))[fixed].max(initial=STRETCHED)
        # Angles and not distances, as the knee of a leg that is nearly straight moves much more than its ankle.
        bend = np.arccos(STRETCHED) + nearness * (np.arccos(min(straight, 1.0)) - np.arccos(STRETCHED))
        reach = (thigh + shank) * np.maximum(np.cos(bend), np.minimum(before / (thigh + shank), 1.0))
        legs.append((away, reach, hold.active & ~fixed))
    found = np.zeros((length, 3))
    if not any((here & (np.linalg.norm(away, axis=-1) > reach)).any() for away, reach, here in legs):
        return found[rows - first]
    locked = np.zeros(length, np.bool_)
    locked[rows[fixed] - first] = True
    smooth = _smoothness(length, (SECONDS * fps) ** 4, first == 0, int(rows[-1]) == count - 1)
    for weight in np.geomspace(*WEIGHTS, ROUNDS):
        bands, right = _stacked(smooth, locked)
        for away, reach, here in legs:
            _add_leg(bands, right, rows - first, away, reach, here, found, weight)
        found = _solved(bands, right)
    return found[rows - first]


def _smoothness(length: int, stiffness: float, starts: bool, ends: bool) -> Floats:
    """Return the upper bands (3, L) of 1 + stiffness D2^T D2; beyond the ends there is rest, unless the clip ends."""
    bands = np.zeros((3, length))
    bands[2] = 1.0
    for k in range(0 if not starts else 2, length + 2 if not ends else length):
        for a, value in ((k - 2, 1.0), (k - 1, -2.0), (k, 1.0)):
            for b, other in ((k - 2, 1.0), (k - 1, -2.0), (k, 1.0)):
                if 0 <= a <= b < length:
                    bands[2 - (b - a), b] += stiffness * value * other
    return bands


def _stacked(smooth: Floats, locked: Bools) -> tuple[Floats, Floats]:
    """Return the upper bands (7, 3 L) for three coordinates a frame, frames that are locked made heavy, and zeros."""
    length = smooth.shape[1]
    bands = np.zeros((7, 3 * length))
    for apart in range(3):
        bands[6 - 3 * apart] = np.repeat(smooth[2 - apart], 3)
    bands[6] += np.repeat(np.where(locked, 1e12, 0.0), 3)
    return bands, np.zeros(3 * length)


def _add_leg(
    bands: Floats, right: Floats, at: Ints, away: Floats, reach: Floats, here: Bools, found: Floats, weight: float
) -> None:
    """Add one leg's term, linearised at displacements `found` (L, 3), where it is too short there."""
    vectors = away + found[at]
    distance = np.linalg.norm(vectors, axis=-1)
    short = here & (distance > reach)
    n = vectors[short] / distance[short, None]
    # |u + d' - d| - reach = 0 along n: n d' = n d - (|u| - reach)
    target = np.einsum("kc,kc->k", n, found[at[short]]) - (distance - reach)[short]
    for c in range(3):
        column = 3 * at[short] + c
        right[column] += weight * n[:, c] * target
        for other in range(c + 1):
            bands[6 - (c - other), column] += weight * n[:, c] * n[:, other]


def _solved(bands: Floats, right: Floats) -> Floats:
    from scipy.linalg import solveh_banded

    return np.asarray(solveh_banded(bands, right)).reshape(-1, 3)

"""Lengths of a body next to those of the people that a prior was learned from.

A network has seen people of CMU with trunks, arms and legs of many lengths, and hips, spines and shoulders where rigs
have them. A body that differs more is shown to it as the nearest one that it knows, and what it says is brought back
(`prior_kernels.from_origin`, `prior_kernels.fit_said`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compute.types import Floats
from .packed import HEAD, HIPS, LEFT_FOOT, RIGHT_FOOT, Figure

if TYPE_CHECKING:
    from ..body import Humanoid

ANKLE = 0.044  # of people who stand: above the floor, in joint heights
HEAD_AHEAD, LEGS_AHEAD, LEGS_UP = 13, 15, 17  # of `mirrors.proportions`


def lengths_of(proportions: Floats) -> Floats:
    """Return lengths (5,) in joint heights of a body with proportions (18,): hips and head above the floor as it
    stands, hips to head, arms, hips to ankles.
    """
    upper_arm, forearm, chord = proportions[[0, 1, 4]]
    (trunk, _), (legs, ahead) = lines(proportions)
    return np.array([ANKLE + legs, ANKLE + legs + trunk, chord, upper_arm + forearm, np.hypot(legs, ahead)])


def lines(proportions: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (how far up, how far forward) it is from hips to head, and from ankles to hips, in joint heights."""
    chord, ahead = proportions[4], proportions[HEAD_AHEAD]
    legs = proportions[2] + proportions[3] - proportions[LEGS_UP]
    return (float(np.sqrt(max(chord * chord - ahead * ahead, 0.0))), float(ahead)), (legs, -proportions[LEGS_AHEAD])


def own_lengths(body: Humanoid, figure: Figure) -> Floats:
    """Return the same of a body."""
    stance = figure.stance[0]
    to_head, to_feet = stance["hips_to_head"], stance["hips_to_ankles"]
    high, legs = stance["hip_height"], np.linalg.norm(to_feet, axis=-1).mean()
    lengths = [high, high + to_head[1], np.linalg.norm(to_head), stance["arm_lengths"].mean(), legs]
    return np.array(lengths) / body.joint_height


def leans(body: Humanoid, proportions: Floats) -> Floats:
    """Return by how much more than one with proportions (18,) a body leans forward in the neutral pose (2,) [rad]: from
    hips to head, from ankles to hips.
    """
    hips, head, left, right = body.markers(body.neutral_pose)[[HIPS, HEAD, LEFT_FOOT, RIGHT_FOOT]]
    known = [np.arctan2(ahead, up) for up, ahead in lines(proportions)]
    own = [np.arctan2(v[2], v[1]) for v in (head - hips, hips - 0.5 * (left + right))]
    return np.subtract(own, known, dtype=np.float64)

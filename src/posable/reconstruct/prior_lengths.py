"""Lengths of a body next to those of the people that a prior was learned from.

A network has seen hips as high above the floor, and trunks, arms and legs as long for a body's height, as people of CMU
have them. A body that differs is shown to it as the nearest one that it knows, and what it says is brought back
(`prior_kernels.from_origin`, `prior_kernels.fit_said`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compute.types import Floats
from .packed import HEAD, HIPS, LEFT_FOOT, RIGHT_FOOT, Figure

if TYPE_CHECKING:
    from ..body import Humanoid

ANKLE, DROP, HEAD_AHEAD, LEGS_AHEAD = 0.044, 0.064, -0.015, -0.054
"""Of CMU's people who stand: ankles above the floor and hips above the legs, in joint heights; the angles [rad] of the
lines from hips to head and from ankles to hips, forward of the vertical."""


def lengths_of(proportions: Floats) -> Floats:
    """Return lengths (5,) in joint heights of one of CMU's people with proportions (9,): hips and head above the floor
    as it stands, hips to head, arms, hips to ankles.
    """
    upper_arm, forearm, thigh, calf, chord = proportions[:5]
    hips = ANKLE + DROP + thigh + calf
    return np.array([hips, hips + chord, chord, upper_arm + forearm, hips - ANKLE])


def own_lengths(body: Humanoid, figure: Figure) -> Floats:
    """Return the same of a body."""
    stance = figure.stance[0]
    to_head, to_feet = stance["hips_to_head"], stance["hips_to_ankles"]
    high, legs = stance["hip_height"], np.linalg.norm(to_feet, axis=-1).mean()
    lengths = [high, high + to_head[1], np.linalg.norm(to_head), stance["arm_lengths"].mean(), legs]
    return np.array(lengths) / body.joint_height


def leans(body: Humanoid) -> Floats:
    """Return by how much more than CMU's people a body leans forward in the neutral pose (2,) [rad]: from hips to head,
    from ankles to hips.
    """
    hips, head, left, right = body.markers(body.neutral_pose)[[HIPS, HEAD, LEFT_FOOT, RIGHT_FOOT]]
    trunk, legs = head - hips, hips - 0.5 * (left + right)
    return np.array([np.arctan2(trunk[2], trunk[1]) - HEAD_AHEAD, np.arctan2(legs[2], legs[1]) - LEGS_AHEAD])

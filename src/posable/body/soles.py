"""Where a body touches the floor: its soles, and its stature, from joints that rarely say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..math import rotate

if TYPE_CHECKING:
    from .humanoid import Humanoid

SKULL_TIP = "skull_tip"  # the built-in figure's end site at the top of its head
WITHOUT_HEAD_AND_FEET = 0.8875
"""Calf, thigh, pelvis, torso and neck of a person, as a fraction of the stature (`figure.MEASURES`)."""


@dataclass(frozen=True)
class Sole:
    """The underside of a foot, seen from its ankle in the neutral pose [m], all positive."""

    depth: float
    """How far below the ankle it lies."""
    heel: float
    """How far behind the ankle it ends."""
    ball: float
    """How far ahead the toes bend."""
    tip: float
    """How far ahead the toes end."""
    hinge: float
    """How high above the sole the toes' joint lies."""


def stature(body: Humanoid) -> float:
    """Sole to top of the head [m]: measured where the rig has a site there, else estimated from the joint height."""
    if SKULL_TIP not in body.skeleton.end_names:
        return expected_stature(body)
    tip = float(body.neutral_frames.ends[body.skeleton.end_names.index(SKULL_TIP), 1])
    ankles = body.neutral_frames.positions[[body.index("left_foot"), body.index("right_foot")], 1]
    floor = min(float(y) - sole_of(body, side).depth for y, side in zip(ankles, ("left", "right"), strict=True))
    return round(tip - floor, 12)  # sums of offsets: a figure of 1.75 m shall say 1.75


def expected_stature(body: Humanoid) -> float:
    """The stature of a person with this joint height [m], which is without head and feet."""
    return body.joint_height / WITHOUT_HEAD_AND_FEET


def sole_of(body: Humanoid, side: str) -> Sole:
    """The sole of the "left" or "right" foot.

    The built-in figure has end sites at heels and toe tips. Other rigs have at most a joint at the toes; what they do
    not say is taken from human proportions: the ankle .039 of the stature above the sole, the foot .152 of it long,
    a quarter of which lies behind the ankle, and the leg .491 (Drillis and Contini, in Winter 2009, Fig. 4.1).
    """
    frames = body.neutral_frames
    ankle = frames.positions[body.index(f"{side}_foot")]
    tall = body.leg_length / 0.491  # feet go with legs, whatever a character's head may be
    depth, long = 0.039 * tall, 0.152 * tall
    ball, heel, tip = 0.47 * long, 0.25 * long, 0.75 * long
    toes = body.roles.get(f"{side}_toes")
    ahead = None if toes is None else frames.positions[toes] - ankle
    if ahead is not None and ahead[2] > 0.1 * long:  # else it lies at the ankle, and tells nothing
        ball, tip = float(ahead[2]), tip + float(ahead[2]) - ball
    ends = dict(zip(body.skeleton.end_names, frames.ends - ankle))
    if {f"{side[0]}_heel", f"{side[0]}_toe_tip"} <= set(ends):
        behind, front = ends[f"{side[0]}_heel"], ends[f"{side[0]}_toe_tip"]
        depth, heel, tip = -float(behind[1]), -float(behind[2]), float(front[2])
    if ahead is None:
        return Sole(depth, heel, tip, tip, 0.0)  # nothing bends there: the foot rolls over its tip
    return Sole(depth, heel, ball, tip, max(0.0, depth + float(ahead[1])))


def sole_points(body: Humanoid, side: str) -> tuple[np.ndarray, np.ndarray]:
    """Heel and ball (2, 3) in the foot joint's frame, toe tip (1, 3) in the toes' (else the foot's) [m]."""
    sole = sole_of(body, side)
    frames = body.neutral_frames
    foot = body.index(f"{side}_foot")
    toes = body.roles.get(f"{side}_toes", foot)

    def local(joint: int, z: float) -> np.ndarray:
        position = frames.positions[foot] + np.array([0.0, -sole.depth, z]) - frames.positions[joint]
        q = frames.orientations[joint] * np.array([1.0, -1.0, -1.0, -1.0])
        return np.asarray(rotate(q, position))

    return np.stack([local(foot, -sole.heel), local(foot, sole.ball)]), local(toes, sole.tip)[None]

"""Lengths of a body, read from its neutral pose: the eleven measures of Unzueta et al., its stature and its soles.

The measures are named and meant as `figure` takes them. Lengths that a rig does not have are estimated from those that
it has: a hand without fingers from the forearm, a foot without a tip or a heel from its other joints (Winter 2009, Fig.
4.1: forearm .146 and hand .108 of the stature; the ankle a quarter of the foot before the heel, the ball at .47 beyond
it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..compute.types import Floats
from ..math import rotate
from ..skeleton import Frames
from .roles.names import read_name

if TYPE_CHECKING:
    from .humanoid import Humanoid

HAND_OF_FOREARM = 0.108 / 0.146
BALL_OF_FOOT, TIP_OF_FOOT = 0.47, 0.75  # how far before the ankle ball and toe tip lie, of the foot's whole length

SKULL_TIP = "skull_tip"  # the built-in figure's end site at the top of its head
WITHOUT_HEAD_AND_FEET = 0.8875
"""Calf, thigh, pelvis, torso and neck of a person, as a fraction of the stature (`figure.MEASURES`)."""


def body_measures(frames: Frames, roles: Mapping[str, int]) -> dict[str, float]:
    """The eleven measures [m] of a body; lengths of limbs are means of left and right.

    Args:
        frames: the body in its neutral pose.
        roles: role to joint index.
    """

    def at(role: str) -> Floats:
        return np.asarray(frames.positions[roles[role]])

    def length(a: str, b: str) -> float:
        return float(np.mean([np.linalg.norm(at(f"{side}_{b}") - at(f"{side}_{a}")) for side in ("left", "right")]))

    def width(part: str) -> float:
        return float(np.linalg.norm(at(f"left_{part}") - at(f"right_{part}")))

    hip_line = 0.5 * (at("left_upper_leg") + at("right_upper_leg"))
    base_of_neck = "neck" if "neck" in roles else "head"  # no neck: the torso reaches to the head
    forearm = length("lower_arm", "hand")
    return {
        "foot": float(np.mean([_foot(frames, roles, side) for side in ("left", "right")])),
        "calf": length("lower_leg", "foot"),
        "thigh": length("upper_leg", "lower_leg"),
        "pelvis": abs(float(at("hips")[1] - hip_line[1])),
        "pelvis_width": width("upper_leg"),
        "torso": float(np.linalg.norm(at(base_of_neck) - at("hips"))),
        "torso_width": width("upper_arm"),
        "neck": float(np.linalg.norm(at("head") - at(base_of_neck))),
        "upper_arm": length("upper_arm", "lower_arm"),
        "forearm": forearm,
        "hand": float(np.mean([_hand(frames, roles, side) or HAND_OF_FOREARM * forearm for side in ("left", "right")])),
    }


def _hand(frames: Frames, roles: Mapping[str, int], side: str) -> float:
    """From the wrist down to the lowest finger joint or tip [m]; 0 where the hand ends at the wrist."""
    wrist = roles[f"{side}_hand"]
    points = _below(frames, wrist)
    return max(0.0, float(frames.positions[wrist, 1] - points[:, 1].min())) if len(points) else 0.0


def _foot(frames: Frames, roles: Mapping[str, int], side: str) -> float:
    """From heel to toe tip [m]; from the ball or the tip alone where that is all there is."""
    ankle = roles[f"{side}_foot"]
    points = _below(frames, ankle)
    if not len(points):
        return 0.0
    ahead = points[:, 2] - frames.positions[ankle, 2]
    front, back = float(ahead.max()), float(ahead.min())
    if back < -0.05 * front:
        return front - back
    toes = roles.get(f"{side}_toes")
    only_ball = len(points) == 1 or (toes is not None and not len(_below(frames, toes)))
    return front / (BALL_OF_FOOT if only_ball else TIP_OF_FOOT)


def _below(frames: Frames, joint: int) -> Floats:
    """(K, 3) [m]: joints of the body and end sites below a joint."""
    skeleton = frames.skeleton
    below = {joint}
    for j in range(joint + 1, len(skeleton)):
        if int(skeleton.parents[j]) in below and not read_name(skeleton.names[j]).helper:
            below.add(j)
    ends = [k for k, parent in enumerate(skeleton.end_parents) if int(parent) in below]
    below.discard(joint)
    return np.concatenate([frames.positions[sorted(below)].reshape(-1, 3), frames.ends[ends].reshape(-1, 3)])


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
    if ahead is not None and ahead[2] > 0.1 * long:  # else it lies at the ankle, and says nothing about the ball
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

"""The eleven body measures of paper 004, read from a body in its neutral pose, and the height made of five of them.

They are named and meant as `figure` takes them. What a rig does not have is estimated from what it has: a hand without
fingers from the forearm, a foot without a tip or a heel from what there is of it (Winter 2009, Fig. 4.1: forearm .146
and hand .108 of the stature; the ankle a quarter of the foot before the heel, the ball at .47 beyond it).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..compute.types import Floats
from ..skeleton import Frames
from .roles.names import read_name

HAND_OF_FOREARM = 0.108 / 0.146
BALL_OF_FOOT, TIP_OF_FOOT = 0.47, 0.75  # how far before the ankle ball and toe tip lie, of the foot's whole length


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


def reconstruction_height(measures: Mapping[str, float]) -> float:
    """Calf + thigh + pelvis + torso + neck [m]: the height that paper 004's errors are relative to."""
    return sum(measures[name] for name in ("calf", "thigh", "pelvis", "torso", "neck"))


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

"""Lengths of a robot, by the names that people's have (`measures`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...compute.types import Floats
from ...math import rotate
from ...skeleton import Frames
from .parts import RobotParts


def robot_measures(parts: RobotParts, standing: Frames, roles: Mapping[str, int]) -> dict[str, float]:
    """The eleven body measures [m] of a robot, between the centres of its joints; of limbs the means of both sides.

    Args:
        parts: the robot's.
        standing: the pose from which they are.
        roles: role to joint index.
    """
    up = rotate(_inverse(parts.to_neutral["hips"]), np.array([0.0, 1.0, 0.0]))
    limbs = parts.limbs

    def centre(name: str) -> Floats:
        return standing.point(limbs[name].carrier, limbs[name].centres[0])

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    hips, hip_line = standing.positions[parts.hips], 0.5 * (centre("left_leg") + centre("right_leg"))
    shoulders = 0.5 * (centre("left_arm") + centre("right_arm"))
    head = shoulders if parts.head is None else standing.positions[roles["head"]]
    arms, legs = ([limbs[f"{side}_{kind}"] for side in ("left", "right")] for kind in ("arm", "leg"))
    return {
        "foot": mean([sole.length for sole in parts.soles.values()]),
        "calf": mean([leg.lengths[1] for leg in legs]),
        "thigh": mean([leg.lengths[0] for leg in legs]),
        "pelvis": abs(float((hips - hip_line) @ up)),
        "pelvis_width": float(np.linalg.norm(centre("left_leg") - centre("right_leg"))),
        "torso": float(np.linalg.norm(shoulders - hips)),
        "torso_width": float(np.linalg.norm(centre("left_arm") - centre("right_arm"))),
        "neck": float(np.linalg.norm(head - shoulders)),
        "upper_arm": mean([arm.lengths[0] for arm in arms]),
        "forearm": mean([arm.lengths[1] for arm in arms]),
        "hand": mean([arm.reach for arm in arms]),
    }


def robot_stature(parts: RobotParts, standing: Frames) -> float:
    """The robot's height [m] from its soles to its highest point, legs straight."""
    up = rotate(_inverse(parts.to_neutral["hips"]), np.array([0.0, 1.0, 0.0]))
    legs = [parts.limbs["left_leg"], parts.limbs["right_leg"]]
    down = [
        float((standing.positions[parts.hips] - standing.point(leg.carrier, leg.centres[0])) @ up)
        + leg.length
        + leg.reach
        for leg in legs
    ]
    return parts.top + float(np.mean(down))


def _inverse(q: Floats) -> Floats:
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))

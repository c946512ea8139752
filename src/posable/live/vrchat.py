"""VRChat's trackers over OSC: eight of them and the head, on port 9000.

The numbers are not fixed by VRChat; these are what others use: 1 hip, 2 and 3 left and right foot, 4 and 5 upper legs,
6 chest, 7 and 8 upper arms. A tracker of an upper leg or arm sits near its lower end: it is read as the knee or elbow,
and sent there, with the orientation of the upper bone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..math import conjugate, multiply
from ..skeleton import Frames
from .osc import encode, packets
from .unity import MIRROR, degrees_from_rotation

if TYPE_CHECKING:
    from ..body import Humanoid

PORT = 9000
NUMBERS = {
    "hips": 1,
    "left_foot": 2,
    "right_foot": 3,
    "left_lower_leg": 4,
    "right_lower_leg": 5,
    "chest": 6,
    "left_lower_arm": 7,
    "right_lower_arm": 8,
}
"""Parts where trackers are, to their numbers."""
ROLES = {str(number): role for role, number in NUMBERS.items()} | {"head": "head"}
_ORIENTED = {
    "left_lower_leg": "left_upper_leg",
    "right_lower_leg": "right_upper_leg",
    "left_lower_arm": "left_upper_arm",
    "right_lower_arm": "right_upper_arm",
}
PREFIX = "/tracking/trackers/"


class VrchatWriter:
    """Writes poses of a body as VRChat's trackers: position and angles of each, and the position of the head.

    Args:
        body: the body; parts that it lacks are not sent.
    """

    def __init__(self, body: Humanoid) -> None:
        roles = [role for role in NUMBERS if _joint_of(role, body) is not None]
        self.numbers = tuple(NUMBERS[role] for role in roles)
        oriented = [_ORIENTED.get(role, role if role != "chest" else _chest(body)) for role in roles]
        self._joints = np.array([_joint_of(role, body) for role in roles])
        self._bones = np.array([body.index(str(role)) for role in oriented])
        self._neutral = conjugate(np.array([body.neutral_orientation(str(role)) for role in oriented]))
        self._head = body.index("head")

    def packets(self, frames: Frames) -> list[bytes]:
        """Return the packets of a frame, from the joints of the body in the world."""
        positions = frames.positions[self._joints] * MIRROR
        angles = degrees_from_rotation(multiply(frames.orientations[self._bones], self._neutral))
        head = frames.positions[self._head] * MIRROR
        messages = [encode(f"{PREFIX}head/position", *map(float, head))]
        for number, position, angle in zip(self.numbers, positions.tolist(), angles.tolist(), strict=True):
            messages.append(encode(f"{PREFIX}{number}/position", *position))
            messages.append(encode(f"{PREFIX}{number}/rotation", *angle))
        return packets(messages)


def _chest(body: Humanoid) -> str | None:
    return next((role for role in ("chest", "upper_chest", "spine") if role in body.roles), None)


def _joint_of(role: str, body: Humanoid) -> int | None:
    found = _chest(body) if role == "chest" else role
    return body.roles.get(found) if found is not None else None

"""Canonical frames of fingers: what is a straight finger, and which way does it curl, on any rig.

In the neutral pose a hand hangs with its palm in. Its four fingers are straight and parallel there, along the hand
(-Y); its thumb lies in the plane of the palm, straight, half way between the fingers and forward. That is the hand of
VRM 1's T-pose (https://github.com/vrm-c/vrm-specification, VRMC_vrm-1.0, tpose). So fingers of the left hand curl about
-Z and spread about X; a thumb curls across the palm, about X, and leaves the plane of the palm about the direction
`ACROSS`. (The thumb's saddle joint is pronated by 80 degrees from the fingers': Cooney et al. 1981, so its flexion is
in the plane of the palm.) The right hand is the mirror image.

Rigs rest with fingers more or less bent and spread. Each bone is brought to its neutral direction by the smallest
rotation, in the frame of the hand. A tip without a joint or site after it continues the bone before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from ...compute.types import Floats
from ...math import between, multiply, rotate
from ...skeleton import Frames
from ..roles import FINGER_CHAINS

ALONG = np.array([0.0, -1.0, 0.0])
"""Where the four fingers point in the neutral pose."""
THUMB = np.array([0.0, -1.0, 1.0]) / np.sqrt(2.0)
"""Where thumbs point."""
ACROSS = np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)
"""The axis about which a thumb leaves the plane of the palm; about it positive rotations lead left."""
SHORTEST = 1e-6
"""[m]: bones that are shorter have no direction."""


def finger_rotations(frames: Frames, fingers: Mapping[str, int], to_neutral: Mapping[str, Floats]) -> dict[str, Floats]:
    """Finger role to the rotation (4,) that takes its world orientation in `frames` to the neutral pose's.

    Args:
        frames: one pose in which the body stands, usually the skeleton's rest pose.
        fingers: finger role to joint index.
        to_neutral: the same for the hands, by role, as `neutral.neutral_rotations` gives them.
    """
    rotations = {}
    for roles in finger_chains(fingers):
        hand = to_neutral[f"{roles[0].partition('_')[0]}_hand"]
        straight = THUMB if "thumb" in roles[0] else ALONG
        for role, bone in zip(roles, bone_directions(frames, [fingers[role] for role in roles]), strict=True):
            now = straight if bone is None else rotate(hand, bone)
            rotations[role] = multiply(between(now, straight), hand)
    return rotations


def finger_chains(present: Iterable[str]) -> list[list[str]]:
    """Return the roles of each finger of which any joint is present, from the palm outwards, those that are."""
    among = set(present)
    chains = ([role for role in chain if role in among] for chain in FINGER_CHAINS.values())
    return [chain for chain in chains if chain]


def bone_directions(frames: Frames, joints: list[int]) -> list[Floats | None]:
    """Unit vectors in the world from each joint of a finger to the next, the last one's to its tip; None for none."""
    points = [*(frames.positions[joint] for joint in joints), finger_tip(frames, joints[-1])]
    found: list[Floats | None] = []
    for start, end in pairwise(points):
        bone = np.zeros(3) if end is None else end - start
        length = float(np.linalg.norm(bone))
        found.append(bone / length if length > SHORTEST else (found[-1] if found else None))
    return found


def finger_tip(frames: Frames, joint: int) -> Floats | None:
    """Where (3,) a finger with this last joint ends in the world [m]: an end site or a further joint; else None."""
    ends = np.flatnonzero(frames.skeleton.end_parents == joint)
    if len(ends):
        return np.asarray(frames.ends[ends[0]])
    below = frames.skeleton.children(joint)
    return np.asarray(frames.positions[below[0]]) if below else None

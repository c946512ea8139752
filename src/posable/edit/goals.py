"""Goals of a retargeting: where hands, feet and head of a body belong when it performs another body's motion."""

from __future__ import annotations

import numpy as np

from ..body import Humanoid
from ..compute.types import Floats, Records
from ..math import conjugate, rotate
from ..skeleton import Frames, Pose
from .clip import Clip
from .contacts import Contact
from .model import EXACT, GOAL
from .repair import RAMP, ramp

FOOT_ORIENTATION, HAND_ORIENTATION, HEAD_POSITION, HEAD_ORIENTATION = 0.05, 0.3, 0.5, 0.3


def goals_of(clip: Clip, target: Humanoid, begun: Pose, parts: tuple[str, ...], found: tuple[Contact, ...]) -> Records:
    """Return goals (F, E): where hands, feet and head belong on the new body."""
    source, frames = clip.body, len(clip)
    old, new = source.skeleton.forward(clip.motion.pose), target.skeleton.forward(begun)
    goals = np.zeros((frames, len(parts)), GOAL)
    for g, part in enumerate(parts):
        joint = target.roles[part]
        goals["joint"][:, g] = joint
        positions = new.positions[:, joint]
        side, _, kind = part.partition("_")
        if kind == "hand":
            positions = _hand_positions(source, target, old, new, side)
            positions = _rested(clip, target, old, new, part, positions, found)
        goals["position"][:, g], goals["orientation"][:, g] = positions, new.orientations[:, joint]
        soft = {"foot": (EXACT, FOOT_ORIENTATION), "hand": (EXACT, HAND_ORIENTATION)}.get(
            kind, (HEAD_POSITION, HEAD_ORIENTATION)
        )
        goals["position_softness"][:, g], goals["orientation_softness"][:, g] = soft
    return goals


def _hand_positions(source: Humanoid, target: Humanoid, old: Frames, new: Frames, side: str) -> Floats:
    """Return positions (F, 3) of a hand [m], as far from the shoulder as before in arm lengths."""
    ratio = target.limb(f"{side}_arm").length / source.limb(f"{side}_arm").length
    hand, shoulder = f"{side}_hand", f"{side}_upper_arm"
    displacement = old.positions[:, source.roles[hand]] - old.positions[:, source.roles[shoulder]]
    return np.asarray(new.positions[:, target.roles[shoulder]] + ratio * displacement)


def _part_ratio(source: Humanoid, target: Humanoid, part: str) -> float:
    """Return how much larger a part of the target is: its leg, its arm, or its whole body for trunk and head."""
    if part.endswith(("leg", "foot", "toes")):
        return target.leg_length / source.leg_length
    if part.endswith(("arm", "hand")):
        arm = f"{part.partition('_')[0]}_arm"
        return target.limb(arm).length / source.limb(arm).length
    return target.joint_height / source.joint_height


def _rested(
    clip: Clip, target: Humanoid, old: Frames, new: Frames, part: str, positions: Floats, found: tuple[Contact, ...]
) -> Floats:
    """Return positions (F, 3) of a hand [m]; where it rests on a part they are relative to it, as that is larger."""
    source, total, moved = clip.body, np.zeros((len(clip), 1)), np.zeros_like(positions)
    for on in sorted({contact.on for contact in found if contact.part == part and contact.on in target.roles}):
        inside = np.zeros(len(clip), np.bool_)
        for contact in found:
            inside[contact.first : contact.last + 1] |= (contact.part, contact.on) == (part, on)
        weight = ramp(inside, RAMP * clip.fps)[:, None]
        o, n, ratio = source.roles[on], target.roles[on], _part_ratio(source, target, on)
        orientation = source.canonical_orientation(old, o)
        seen = rotate(conjugate(orientation), old.positions[:, source.roles[part]] - old.positions[:, o])
        there = new.positions[:, n] + rotate(target.canonical_orientation(new, n), ratio * seen)
        total, moved = total + weight, moved + weight * (there - positions)
    # A hand on two parts at once is between the places that either gives it.
    return np.asarray(positions + moved / np.maximum(total, 1.0))

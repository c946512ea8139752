"""Scopes: which part of the body answers a drag, the limb alone, half of the body, or all of it.

The weights of the paper say how readily each DoF moves in the clip, and in a walk nothing moves as readily as the root:
a hand lifted by 18 cm took the head along by 19 cm and bent the elbow by 4 degrees. An animator who pulls a hand means
the arm. So by default ("auto") the DoF outside the limb are heavier, by factors that leave the order of the clip's own
weights among them: while the limb can do the change comfortably it does nearly all of it, and where it is stretched or
near its limits the trunk comes along, then the legs. That is continuous, where a choice of the shortest chain that
suffices would leap as the target moves.
"""

from __future__ import annotations

import numpy as np

from ..body import Humanoid
from ..compute import UnknownNameError
from ..compute.types import Floats
from .clip import Parts

SCOPES = ("auto", "limb", "half", "whole")
"""Of a hand: the arm first and the rest as far as it must; the arm alone; the upper body; the whole body."""
HALF, REST = np.log(0.01), np.log(0.0005)
"""Logarithms of how readily the other DoF of the same half of the body move in scope "auto", and all others."""
LOCKED = -1e3


def scope_logs(body: Humanoid, parts: Parts, joint: int, scope: str) -> Floats:
    """Return what a scope adds to the logarithms of the inverse weights of the edited DoF (n,)."""
    if scope not in SCOPES:
        raise UnknownNameError("scope", scope, SCOPES)
    limb, half = chain_of(body, joint)
    joints = body.skeleton.dofs.joint[parts.dofs]
    near, far = {"auto": (HALF, REST), "limb": (LOCKED, LOCKED), "half": (0.0, LOCKED), "whole": (0.0, 0.0)}[scope]
    inside = np.isin(joints, sorted(limb))
    return np.where(inside, 0.0, np.where(np.isin(joints, sorted(half)), near, far))


def chain_of(body: Humanoid, joint: int) -> tuple[set[int], set[int]]:
    """Return the joints that move a joint by themselves, and those of its half of the body.

    Of a hand its arm, of a foot its leg, of the head, the neck or the chest the spine; of the hips, and whatever is
    above them, the legs and the root. The upper half is all above the hips, the lower half the root and the legs.
    """
    skeleton = body.skeleton
    root = {*skeleton.path(body.roles["hips"])}
    legs = {j for j in range(len(skeleton)) if {*skeleton.path(j)} & _leg_joints(body)}
    lower = root | legs
    upper = {*range(len(skeleton))} - lower
    path = {*skeleton.path(joint)}
    if joint in root:
        return lower, lower
    if joint in legs:
        return path - root, lower
    beyond = path - root - {*body.spine}
    return (beyond or path - root), upper


def _leg_joints(body: Humanoid) -> set[int]:
    """Return the first joint of each leg, or the joint between it and the hips."""
    skeleton, hips = body.skeleton, {*body.skeleton.path(body.roles["hips"])}
    first = set()
    for role in ("left_upper_leg", "right_upper_leg"):
        if role in body.roles:
            first.add(next(j for j in skeleton.path(body.roles[role]) if j not in hips))
    return first

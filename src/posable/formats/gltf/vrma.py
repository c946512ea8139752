"""VRM animations (`.vrma`, VRMC_vrm_animation 1.0): a motion of VRM's bones in a T-pose, for any VRM character.

Read as any glTF file: the extension's map says who is who, and the nodes it names are the skeleton. Expressions and
gaze are tracks of nodes of their own; they are not played, and stay in a file that is written anew.

Written is a file of its own: the skeleton of a VRM file as it is, from the hips down, since its rest pose is a T-pose
by that format's rule; of any other person VRM's bones, in a T-pose, with the canonical posture. Only the hips' node has
a translation, as the extension demands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compute import PosableError
from ...compute.lazy import later_room
from ...math import rotate
from ...skeleton import Motion, Pose, Skeleton
from ..people import person_of
from .write import new_document

EXTENSION = "VRMC_vrm_animation"
SIDES = ("left", "right")
_LIMBS = ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")
REQUIRED = ("hips", "spine", "head", *(f"{side}_{part}" for side in SIDES for part in _LIMBS))
"""Bones that the extension demands."""
BLOCK = 4096  # frames that are posed at once
NOT_BONES = ("left_eye", "right_eye")
"""Parts of a VRM character that have no place in the map: gaze is a matter of its own."""


def animation_document(motion: Motion) -> tuple[dict[str, Any], bytes]:
    """Return the document of a motion as a VRM animation, and its binary chunk."""
    character = motion.skeleton.character
    roles = dict((character.roles if character is not None else None) or {})
    roles = {role: name for role, name in roles.items() if role not in NOT_BONES}
    bones, who = _from_hips(motion, roles) if set(REQUIRED) <= set(roles) else _canonical(motion)
    document, binary = new_document(bones, looks=False)
    named = {_camel(role): {"node": bones.skeleton.index(name)} for role, name in who.items()}
    document["extensions"] = {EXTENSION: {"specVersion": "1.0", "humanoid": {"humanBones": named}}}
    document["extensionsUsed"] = [EXTENSION]
    return document, binary


def _from_hips(motion: Motion, roles: dict[str, str]) -> tuple[Motion, dict[str, str]]:
    """Return the motion on the joints from the hips down to those with roles, and the roles that are below the hips."""
    skeleton = motion.skeleton
    hips = skeleton.index(roles["hips"])
    keep = {hips}
    below: dict[str, str] = {}
    for role, name in roles.items():
        path = skeleton.path(name)
        if hips in path:
            keep.update(path[path.index(hips) :])
            below[role] = name
    joints = sorted(keep)
    index = {j: k for k, j in enumerate(joints)}
    rest = skeleton.forward(skeleton.rest)
    offsets, still = skeleton.offsets[joints].copy(), skeleton.rest_rotations[joints].copy()
    offsets[0], still[0] = rest.positions[hips], rest.orientations[hips]
    rotations, translation = motion.pose.rotations[:, joints].copy(), np.empty((len(motion), 3))
    for first in range(0, len(motion), BLOCK):
        rows = slice(first, first + BLOCK)
        placed = skeleton.forward(motion.pose[rows])
        rotations[rows, 0], translation[rows] = placed.orientations[:, hips], placed.positions[:, hips]
    cut = Skeleton(
        [skeleton.names[j] for j in joints],
        [-1, *(index[int(skeleton.parents[j])] for j in joints[1:])],
        offsets,
        rest_rotations=still,
    )
    return motion.replace(skeleton=cut, pose=Pose(translation, rotations)), below


def _canonical(motion: Motion) -> tuple[Motion, dict[str, str]]:
    """Return a person's posture on VRM's bones, which are as long as the person's, and stand in a T-pose."""
    room = later_room("body")
    body = person_of(motion.skeleton, "a VRM animation")
    at = {role: body.neutral_frames.positions[j] for role, j in (body.roles | body.fingers).items()}
    names_of = later_room("body.roles")
    if "spine" not in at:
        above = next(role for role in ("chest", "upper_chest", "neck", "head") if role in at)
        at["spine"] = at["hips"] + 0.2 * (at[above] - at["hips"])
    for side, sign in (("left", 1.0), ("right", -1.0)):
        base, lifted = at[f"{side}_upper_arm"], [np.cos(np.pi / 4), 0.0, 0.0, sign * np.sin(np.pi / 4)]
        own = (role for role in body.fingers if role.startswith(side))
        for role in (f"{side}_lower_arm", f"{side}_hand", *own):
            at[role] = base + rotate(lifted, at[role] - base)
    order = [role for role in names_of.EVERY_ROLE if role in at]
    above_of = {role: names_of.parent_role(role, order) for role in order}
    names = [_camel(role) for role in order]
    skeleton = Skeleton(
        names,
        [-1 if above_of[role] is None else order.index(str(above_of[role])) for role in order],
        [at[role] - (0.0 if above_of[role] is None else at[str(above_of[role])]) for role in order],
    )
    who = dict(zip(order, names, strict=True))
    target = room.Humanoid(skeleton, roles=who)
    pose = Pose(np.empty((len(motion), 3)), np.empty((len(motion), len(skeleton), 4)))
    for first in range(0, len(motion), BLOCK):
        rows = slice(first, first + BLOCK)
        posture = body.canonical(motion.pose[rows])
        made = target.pose(posture.replace(hips=posture.hips * (body.leg_length / target.leg_length)))
        pose.translation[rows], pose.rotations[rows] = made.translation, made.rotations
    if not pose.is_finite():
        raise PosableError("the motion has numbers that are not finite and cannot be written")
    return motion.replace(skeleton=skeleton, pose=pose), who


def _camel(role: str) -> str:
    first, *others = role.split("_")
    return first + "".join(word.capitalize() for word in others)

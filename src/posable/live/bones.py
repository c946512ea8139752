"""Unity's human bones: their names, and the local positions and rotations by which a receiver poses its model.

A receiver sets, for each bone of its model that has a name, the position and the rotation relative to the bone's
parent in the model's file. Nodes between two bones stay at rest there, so what they do here is part of the bone below.
A model from a VRM 1 file gets the rotations that its file has; any other stands in a T-pose at identity, as VRM 0 does.
Where a file says more of its scene than a skeleton keeps (nodes above the hips, scales) it is requested.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import CanonicalPose
from ..compute.types import Floats, Ints
from ..formats.gltf import Scene, scene_of
from ..math import axis_angle, conjugate, multiply, rotate
from ..skeleton import Frames, Pose, Skeleton
from .unity import MIRROR, UNITY_SIGNS

if TYPE_CHECKING:
    from ..body import Humanoid

IDENTITY = (1.0, 0.0, 0.0, 0.0)
_FINGERS = [
    f"{finger}_{part}"
    for finger in ("thumb", "index", "middle", "ring", "little")
    for part in (("metacarpal", "proximal", "distal") if finger == "thumb" else ("proximal", "intermediate", "distal"))
]
_SIDED = ["upper_leg", "lower_leg", "foot", "toes", "shoulder", "upper_arm", "lower_arm", "hand", "eye", *_FINGERS]
_PARTS = ["hips", "spine", "chest", "upper_chest", "neck", "head", "jaw"]
_THUMBS = {"thumb_proximal": "thumb_intermediate", "thumb_metacarpal": "thumb_proximal"}


def _unity_name(role: str) -> str:
    for ours, theirs in _THUMBS.items():
        role = f"{role[: -len(ours)]}{theirs}" if role.endswith(ours) else role
    return re.sub(r"(?:^|_)(\w)", lambda letter: letter[1].upper(), role)


UNITY_NAMES = {role: _unity_name(role) for role in [*_PARTS, *(f"{s}_{p}" for s in ("left", "right") for p in _SIDED)]}
"""Parts of a body, as VRM 1 names them in snake_case, to the 55 names of Unity's HumanBodyBones."""
ROLES_OF = {name: role for role, name in UNITY_NAMES.items()}


def t_pose(body: Humanoid) -> Pose:
    """Return the pose with arms out to the sides, palms down."""
    roles = tuple(body.roles)
    rotations = np.tile(IDENTITY, (len(roles), 1))
    for role, sign in (("left_upper_arm", 1.0), ("right_upper_arm", -1.0)):
        rotations[roles.index(role)] = axis_angle((0.0, 0.0, 1.0), sign * np.pi / 2.0)
    return body.pose(CanonicalPose(roles, rotations, body.canonical(body.neutral_pose).hips))


class Bones:
    """The bones of a model and how their transforms follow from a pose.

    Args:
        body: the model; its roles and those of its file are sent.
    """

    def __init__(self, body: Humanoid) -> None:
        skeleton = body.skeleton
        named = {role: skeleton.names[joint] for role, joint in body.roles.items()}
        character = skeleton.character
        if character is not None and character.roles:
            named = {role: joint for role, joint in character.roles.items() if joint in skeleton.names} | named
        joints = {role: skeleton.index(joint) for role, joint in named.items() if role in UNITY_NAMES}
        self.body = body
        self.roles = tuple(sorted(joints, key=lambda role: (joints[role], role)))
        """Of the bones, parents before children."""
        self.names = tuple(UNITY_NAMES[role] for role in self.roles)
        """(N,) as Unity calls them."""
        self._joints = np.array([joints[role] for role in self.roles])
        scene = scene_of(character)
        self.original = scene.is_vrm1
        """Whether rotations are those of the model's file, and not counted from a T-pose."""
        rest = skeleton.forward(skeleton.rest if scene.is_vrm else t_pose(body))
        self._above = _bone_above(skeleton, self._joints)
        parents = skeleton.parents[self._joints]
        inner = self._above >= 0
        above, parents = np.where(inner, self._joints[self._above], 0), np.where(inner, parents, 0)
        own, over, node = (rest.orientations[index] for index in (self._joints, above, parents))
        self._own = np.broadcast_to(IDENTITY, own.shape) if self.original else conjugate(own)
        self._over = multiply(conjugate(over), node) if self.original else conjugate(over)
        self._lever = rotate(conjugate(over), rest.positions[parents] - rest.positions[above])
        self._levers = bool(np.abs(self._lever[inner]).max(initial=0.0) > 0.0)
        self._overs = not np.array_equal(self._over[inner], np.tile(IDENTITY, (int(inner.sum()), 1)))
        self._scale = np.ones((len(self._joints), 1))
        if character is not None and scene.scales is not None and len(scene.scales) == len(skeleton):
            self._scale[inner, 0] = scene.scales[parents[inner]]
        self._outer: Ints = np.flatnonzero(~inner)
        self._tops = [self._top(rest, scene, int(skeleton.parents[self._joints[row]])) for row in self._outer]
        for row, (_, _, size) in zip(self._outer, self._tops, strict=True):
            self._scale[row, 0] = size

    def _top(self, rest: Frames, scene: Scene, parent: int) -> tuple[Floats, Floats, float]:
        """Return (position [m], orientation, scale) of what a bone without a bone above it hangs on."""
        if not scene.is_vrm:
            return np.zeros(3), np.array(IDENTITY), 1.0
        position, orientation, scale = scene.position, scene.orientation, scene.scale
        if parent >= 0:
            position, orientation = rest.positions[parent], rest.orientations[parent]
            scale = 1.0 if scene.scales is None else float(scene.scales[parent])
        return position, orientation if self.original else np.array(IDENTITY), scale

    def __len__(self) -> int:
        return len(self.names)

    def transforms(self, frames: Frames) -> Floats:
        """Return (N, 7) what a receiver sets: local positions [m] and rotations `xyzw`, in Unity's frame."""
        own_positions, own = frames.positions[self._joints], frames.orientations[self._joints]
        over_positions, over = own_positions[self._above], own[self._above]
        # Where no node lies between two bones there is nothing to add, which is so on most models.
        parent_positions = over_positions + rotate(over, self._lever) if self._levers else over_positions.copy()
        parents = multiply(over, self._over) if self._overs else over.copy()
        for row, (position, orientation, _) in zip(self._outer, self._tops, strict=True):
            parent_positions[row], parents[row] = position, orientation
        back = conjugate(parents)
        out = np.empty((len(self._joints), 7))
        out[:, :3] = rotate(back, own_positions - parent_positions) / self._scale * MIRROR
        local = multiply(back, own if self.original else multiply(own, self._own))
        out[:, 3:] = local[:, [1, 2, 3, 0]] * UNITY_SIGNS
        return out


def _bone_above(skeleton: Skeleton, joints: Ints) -> Ints:
    """Return (N,) which of these joints is the nearest above each; -1 where none is."""
    rows = {int(joint): row for row, joint in enumerate(joints)}
    found = []
    for joint in joints:
        parent = int(skeleton.parents[joint])
        while parent >= 0 and parent not in rows:
            parent = int(skeleton.parents[parent])
        found.append(rows.get(parent, -1))
    return np.array(found)

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
from ..body.roles import EVERY_ROLE
from ..compute.types import Floats, Ints, zero_records
from ..formats.gltf import Scene, scene_of
from ..math import axis_angle, conjugate, multiply, rotate
from ..skeleton import Frames, Pose, Skeleton
from ..skeleton.forward import LOCAL, local_rows
from .unity import MIRROR, UNITY_SIGNS

if TYPE_CHECKING:
    from ..body import Humanoid

IDENTITY = (1.0, 0.0, 0.0, 0.0)
TO_UNITY, SIGNS = [0, 1, 2, 4, 5, 6, 3], np.concatenate([MIRROR, UNITY_SIGNS])
"""Of seven numbers: position and rotation `wxyz` of ours to those of Unity, `xyzw`."""
_PARTS = (*EVERY_ROLE, "jaw", "left_eye", "right_eye")
_THUMBS = {"thumb_proximal": "thumb_intermediate", "thumb_metacarpal": "thumb_proximal"}


def _unity_name(role: str) -> str:
    for ours, theirs in _THUMBS.items():
        role = f"{role[: -len(ours)]}{theirs}" if role.endswith(ours) else role
    return re.sub(r"(?:^|_)(\w)", lambda letter: letter[1].upper(), role)


UNITY_NAMES = {role: _unity_name(role) for role in _PARTS}
"""Parts of a body, as VRM 1 names them in snake_case, to the 55 names of Unity's HumanBodyBones."""
ROLES_OF = {name: role for role, name in UNITY_NAMES.items()}


def t_pose(body: Humanoid) -> Pose:
    """Return the pose with arms out to the sides, palms down."""
    roles = (*body.roles, *body.fingers)
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
        named = {role: skeleton.names[joint] for role, joint in (body.roles | body.fingers).items()}
        character = skeleton.character
        if character is not None and character.roles:
            named = {role: joint for role, joint in character.roles.items() if joint in skeleton.names} | named
        joints = {role: skeleton.index(joint) for role, joint in named.items() if role in UNITY_NAMES}
        self.body = body
        self.roles = tuple(sorted(joints, key=lambda role: (joints[role], role)))
        """Of the bones, parents before children."""
        self.names = tuple(UNITY_NAMES[role] for role in self.roles)
        """(N,) as Unity calls them."""
        rows = np.array([joints[role] for role in self.roles])
        scene = scene_of(character)
        self.original = scene.is_vrm1
        """Whether rotations are those of the model's file, and not counted from a T-pose."""
        rest = skeleton.forward(skeleton.rest if scene.is_vrm else t_pose(body))
        above = _bone_above(skeleton, rows)
        inner = above >= 0
        over, parents = rows[np.where(inner, above, 0)], np.where(inner, skeleton.parents[rows], 0)
        own, base, node = (rest.orientations[index] for index in (rows, over, parents))
        self.locals = zero_records((len(rows),), LOCAL)
        """(N,) of `skeleton.forward.LOCAL`: each bone in the frame of the one above it."""
        self.locals["joint"], self.locals["above"] = rows, np.where(inner, over, -1)
        self.locals["lever"] = rotate(conjugate(base), rest.positions[parents] - rest.positions[over])
        self.locals["between"] = multiply(conjugate(base), node) if self.original else conjugate(base)
        self.locals["own"] = IDENTITY if self.original else conjugate(own)
        self.locals["scale"] = 1.0
        if character is not None and scene.scales is not None and len(scene.scales) == len(skeleton):
            self.locals["scale"][inner] = scene.scales[parents[inner]]
        for row in np.flatnonzero(~inner):
            top = self._top(rest, scene, int(skeleton.parents[rows[row]]))
            for name, value in zip(("lever", "between", "scale"), top, strict=True):
                self.locals[row][name] = value

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
        records = self.locals
        made = np.empty((len(records), 7))
        local_rows(len(records), records, frames.positions[None], frames.orientations[None], made)
        return np.asarray(made[:, TO_UNITY] * SIGNS)


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

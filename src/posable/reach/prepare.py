"""Behaviours on a body: what the kernels need, worked out once when a `Reacher` is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import CanonicalPose
from ..body.collision.clearance import clearance
from ..body.collision.obstacles import NOTHING
from ..body.roles import ROLES, parent_role
from ..compute.types import Floats, Records
from .behaviour import Behaviour
from .interpolation import FIELD
from .model import DRIVE, Figure, Legs, Styles
from .posture import Posture

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene


def legs_of(body: Humanoid) -> Legs:
    """Both legs, and where the arms begin."""
    packed = body.packed
    return Legs(
        packed.limb_rows(("right_leg", "left_leg")),
        packed.limits,
        packed.driven,
        packed.limb_rows(("right_arm", "left_arm")),
    )


def driven_joints(body: Humanoid, parts: set[str]) -> list[int]:
    """The joints of a rig that behaviours of these parts turn, parents first.

    A joint of the spine that has no role belongs to the next part above it.
    """
    joints = {body.roles[part] for part in parts if part in body.roles}
    role_of = {joint: role for role, joint in body.roles.items()}
    for row, joint in enumerate(body.spine):
        above = next((role_of[j] for j in body.spine[row:] if j in role_of), None)
        if joint not in role_of and above in parts:
            joints.add(joint)
    return sorted(joints)


def drive_rows(body: Humanoid, joints: list[int]) -> Records:
    """(U,) of `DRIVE` for the driven joints."""
    role_of = {joint: role for role, joint in body.roles.items()}
    rows = np.zeros(len(joints), DRIVE)
    for row, joint in zip(rows, joints, strict=True):
        role = role_of.get(joint)
        above = None if role is None else parent_role(role, body.roles)
        row["joint"], row["limit"], row["above"] = joint, -1, joint
        neutral = np.array([1.0, 0.0, 0.0, 0.0]) if role is None else body.neutral_orientation(role)
        other = neutral
        if role == "hips":
            row["above"] = -1
        elif role is not None and above is not None:
            row["above"], other = body.roles[above], body.neutral_orientation(above)
            if role in body.limits:
                row["limit"] = body.limits.index(role)
        for letter, q in (("n", neutral), ("a", other)):
            for axis, value in zip("wxyz", q, strict=True):
                row[f"{letter}{axis}"] = value
    return rows


def styles_of(body: Humanoid, behaviours: Sequence[Behaviour | None], joints: list[int], hips: bool) -> Styles:
    """The behaviours of right and left hand on this body; `hips`: whether their hips move."""
    fields = [None if one is None else one.packed for one in behaviours]
    most = max(len(one[0].keys) for one in fields if one is not None)
    triangles = max(len(one[0].triangles) for one in fields if one is not None)
    styles = Styles(
        np.zeros(2, FIELD),
        np.zeros((2, 2), np.int64),
        np.zeros((2, most, 3)),
        np.zeros((2, triangles, 3), np.int64),
        np.zeros((2, triangles, 6)),
        np.zeros((2, most, most + 4)),
        np.zeros((2, most, len(joints), 4)),
        np.zeros((2, most, 8)),
        np.zeros((2, len(joints)), np.int64),
    )
    for side, (behaviour, made) in enumerate(zip(behaviours, fields, strict=True)):
        if behaviour is None or made is None:
            continue
        field, turns, numbers = made
        count = len(field.keys)
        styles.header[side], styles.counts[side] = field.header[0], (count, len(field.triangles))
        styles.keys[side, :count], styles.numbers[side, :count] = field.keys, numbers
        styles.numbers[side, :, :3] *= body.leg_length if hips else 0.0
        styles.triangles[side, : len(field.triangles)] = field.triangles
        styles.rows[side, : len(field.barycentric)] = field.barycentric
        if len(field.spline):
            styles.spline[side, :count, : count + 4] = field.spline
        for k, one in enumerate(turns):
            styles.turns[side, k] = key_rotations(body, Posture(behaviour.parts, one), joints)
        mine = set(driven_joints(body, set(behaviour.parts) - (set() if hips else {"hips"})))
        styles.owned[side] = [joint in mine for joint in joints]
    return styles


def key_rotations(body: Humanoid, posture: Posture, joints: list[int]) -> Floats:
    """(U, 4) what a key's posture says of the driven joints: local rotations of the rig, the hips' canonical.

    Spines are handed over by arc length, as `body.pose` does. Of q and -q the one nearer to the neutral pose, so that
    sums of them are means. Rotations are brought inside this body's limits.
    """
    given = {part: posture.rotation(part) for part in posture.parts}
    roles = tuple(role for role in ROLES if role in body.roles or role in given)
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    canonical = CanonicalPose(roles, [given.get(role, identity) for role in roles], (0.0, 1.0, 0.0))
    out = body.clamp(body.pose(canonical, base=body.neutral_pose)).rotations[joints].copy()
    neutral = body.neutral_pose.rotations[joints].copy()
    hips = body.roles["hips"]
    if hips in joints:
        out[joints.index(hips)], neutral[joints.index(hips)] = given.get("hips", identity), identity
    return np.where((out * neutral).sum(axis=-1, keepdims=True) < 0.0, -out, out)


def figure_of(body: Humanoid, drive: Records, arms: Sequence[str], scene: Scene | None, self_collision: bool) -> Figure:
    """The body and what it keeps out of; the volumes of `arms`, which are solved last, do not count."""
    slots = np.full(len(body.skeleton), -1, np.int64)
    slots[drive["joint"]] = np.arange(len(drive))
    looked_at = clearance(body, leave_out=arms, self_collision=self_collision)
    around = NOTHING if scene is None else scene.packed
    return Figure(
        body.skeleton.packed,
        drive,
        slots,
        body.limits.packed,
        np.array(body.limits.curves),
        body.volumes.packed,
        looked_at.pairs,
        looked_at.outside if scene is not None else np.zeros(0, np.int64),
        around,
    )

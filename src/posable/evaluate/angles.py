"""Joint angles of a motion as a table: a person's, in the words of anatomy, or the Euler angles of any joint.

A person's angles are measured between the parts of the body, whatever the rig: 0 is standing with hanging arms, palms
in. The flexion of an elbow or a knee is the angle between its two bones, 0 when straight, as a goniometer shows it. The
rotations of the other parts are written as angles about axes of the body after each other: bending forward, to the
side, and about the bone; a bend forward or away from the body, and a rotation inwards, are positive on both sides.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.roles import LIMBS
from ..compute import PosableError, UnknownNameError, atomic_write
from ..compute.types import Floats
from ..express.chain import angles_about
from ..express.paths import ARM, BACK, HEAD, LEG
from ..formats.euler import euler_axes, euler_from_quaternions
from ..skeleton import Motion

JOINTS = {"elbow": "lower_arm", "wrist": "hand", "hip": "upper_leg", "knee": "lower_leg", "ankle": "foot"}
"""What people call a joint by, and the part that it moves."""
HINGES = ("lower_arm", "lower_leg")


@dataclass(frozen=True, eq=False)
class JointAngles:
    """Angles over time, a column each."""

    names: tuple[str, ...]
    """(N,) "left_lower_arm.flexion", or with Euler angles "LeftForeArm.z"."""
    values: Floats
    """(F, N) [rad]."""
    fps: float

    def __repr__(self) -> str:
        return f"JointAngles({len(self.values)} frames of {', '.join(self.names[:4])}{', ...' * (len(self.names) > 4)})"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> Floats:
        """Return one column (F,) [rad]; a joint may be called as people do: "left_elbow.flexion"."""
        part, _, angle = name.partition(".")
        known = f"{part_of(part)}.{angle}"
        if known not in self.names and name not in self.names:
            raise UnknownNameError("angle", name, self.names)
        return self.values[:, self.names.index(known if known in self.names else name)]

    @property
    def degrees(self) -> Floats:
        """(F, N) [degrees]."""
        return np.degrees(self.values)

    @property
    def times(self) -> Floats:
        """(F,) [s]."""
        return np.arange(len(self.values)) / self.fps

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file: a line of names with "time" first, then a line a frame, in seconds and degrees."""
        with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", *self.names])
            for time, row in zip(self.times.tolist(), self.degrees.tolist(), strict=True):
                cells = (f"{round(value, 6) + 0.0:.6g}" for value in row)  # no -4e-19 where a joint does not move
                writer.writerow([f"{time:.6g}", *cells])


def joint_angles(
    motion: Motion,
    parts: Sequence[str] | None = None,
    *,
    euler: str | None = None,
    body: Humanoid | None = None,
) -> JointAngles:
    """Return the angles of joints over time.

    ```python
    elbow = ps.joint_angles(motion)["left_elbow.flexion"]
    ```

    Args:
        motion: of a person; with `euler`, of any skeleton.
        parts: which parts, as "left_lower_arm" or "left_elbow", and with `euler` also joints by name; all by default.
        euler: None (default): a person's angles; an order such as "ZYX": the Euler angles of each joint's own rotation,
            about moving axes in this order, as a BVH file has them, continuous over time.
        body: of the motion, where the names of its joints do not tell who is who; found by default.
    """
    if euler is not None:
        return _euler_angles(motion, parts, euler, body)
    person = Humanoid(motion.skeleton) if body is None else body
    known = {role: _axes(role) for role in person.roles if _axes(role)}
    chosen = [part_of(part) for part in known] if parts is None else [part_of(part) for part in parts]
    for part in chosen:
        if part not in known:
            raise UnknownNameError("part with angles", part, known)
    posture = person.canonical(motion.pose)
    names: list[str] = []
    columns: list[Floats] = []
    for part in dict.fromkeys(chosen):
        found = _angles(posture.rotation(part), known[part], part)
        if part.split("_", 1)[-1] in HINGES:
            found[0] = _between_bones(person, motion, part)
        names += [f"{part}.{name}" for name, _ in known[part]]
        columns += found
    return JointAngles(tuple(names), np.stack(columns, axis=-1), motion.fps)


def part_of(name: str) -> str:
    """Return the part that a joint moves: "left_lower_arm" for "left_elbow"; other names stay."""
    side, _, joint = name.partition("_")
    return f"{side}_{JOINTS[joint]}" if side in ("left", "right") and joint in JOINTS else name


def _axes(role: str) -> list[tuple[str, Floats]]:
    """Return the (name, canonical axis) of the rotations of a part; none for parts that have no names for them."""
    side, _, part = role.partition("_")
    if side not in ("left", "right"):
        trunk = HEAD if role in ("neck", "head") else BACK
        return [] if role == "hips" else [(name, axis) for name, axis, _, _ in trunk]
    rows = {**ARM, **LEG}.get(part, ())
    # Mirrored about the body's middle plane, a rotation about y or z changes its sign.
    return [(name, -axis if side == "right" and axis[0] == 0.0 else axis) for name, axis, _, _ in rows]


def _angles(rotations: Floats, axes: list[tuple[str, Floats]], part: str) -> list[Floats]:
    """Return the angles (F,) [rad] about the axes of a part, continuous over time."""
    about = [axis for _, axis in axes]
    if len(about) == 1:
        return [np.unwrap(angles_about(rotations, about)[0][0])]
    return [np.unwrap(angle) for angle in angles_about(rotations, about)[0]]


def _between_bones(body: Humanoid, motion: Motion, part: str) -> Floats:
    """Return (F,) [rad] how far an elbow or knee is bent: the angle between the bones before and after it."""
    limb = next(roles for roles in LIMBS.values() if part in roles)
    base, mid, end = (motion.skeleton.forward(motion.pose).positions[:, body.index(role)] for role in limb)
    upper, lower = mid - base, end - mid
    across = np.linalg.norm(np.cross(upper, lower), axis=-1)
    return np.asarray(np.arctan2(across, (upper * lower).sum(axis=-1)))


def _euler_angles(motion: Motion, parts: Sequence[str] | None, order: str, body: Humanoid | None) -> JointAngles:
    euler_axes(order)  # raises where it is none
    skeleton = motion.skeleton
    if parts is None:
        chosen = list(range(len(skeleton)))
    else:
        roles = _roles(motion, body)
        chosen = [_joint(motion, part, roles) for part in parts]
    if not chosen:
        raise PosableError("no joints were given; expected at least one")
    angles = euler_from_quaternions(order, motion.pose.rotations[:, chosen])
    names = [f"{skeleton.names[joint]}.{axis}" for joint in chosen for axis in order.lower()]
    return JointAngles(tuple(names), angles.reshape(len(motion), -1), motion.fps)


def _roles(motion: Motion, body: Humanoid | None) -> dict[str, int]:
    if body is not None:
        return body.roles
    try:
        return Humanoid(motion.skeleton).roles
    except PosableError:  # joints go by their own names alone
        return {}


def _joint(motion: Motion, part: str, roles: dict[str, int]) -> int:
    names = motion.skeleton.names
    if part in names:
        return names.index(part)
    if part_of(part) in roles:
        return roles[part_of(part)]
    raise UnknownNameError("part or joint", part, (*roles, *names))

"""Where a limb sits in a rig: its joints, and which of them turn with it and carry how much of a bone's twist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats, Records
from ...limb.model import ROLES
from ..roles import parent_role
from .kernels import DRIVEN, PLACE

if TYPE_CHECKING:
    from ..humanoid import Humanoid

TWISTERS = ("twist", "roll")  # parts of joint names that say: this joint only hands out a bone's twist


def place_of(body: Humanoid, name: str) -> Records:
    """The limb's joints, the part that carries it, and two neutral orientations: one row of `PLACE`."""
    base, mid, end = body.limb_joints(name)
    carrier = parent_role(ROLES[name][0], body.roles)
    if carrier is None:
        raise PosableError(f"no part of this body carries the {name}")
    row = np.zeros(1, PLACE)
    row["base"], row["mid"], row["end"], row["carrier"] = base, mid, end, body.index(carrier)
    for letter, role in (("c", carrier), ("e", ROLES[name][2])):
        for axis, value in zip("wxyz", body.neutral_orientation(role), strict=True):
            row[f"{letter}{axis}"] = value
    return row


def driven_by(body: Humanoid, base: int, mid: int, end: int) -> Records:
    """The joints the limb turns, its end aside: those on the way from base to end, and twist joints beside it."""
    skeleton = body.skeleton
    frames = skeleton.forward(body.neutral_pose)
    path = [j for j in skeleton.path(end) if j >= base and base in skeleton.path(j)]
    rows: list[tuple[int, int, float, Floats]] = []
    for lower, (first, last) in enumerate(((base, mid), (mid, end))):
        bone = frames.positions[last] - frames.positions[first]
        length = max(float(np.linalg.norm(bone)), 1e-9)
        way = path[path.index(first) : path.index(last)]
        beside = [k for j in way for k in skeleton.children(j) if k not in path and _is_twister(body, k)]
        whole = tuple(way) in body.segments.values()
        at = {j: float((frames.positions[j] - frames.positions[first]) @ bone) / length**2 for j in [*way, *beside]}
        for j in sorted([*way, *beside]):
            rows.append((j, lower, _share(j, way, beside, at, whole), frames.orientations[j]))
    out = np.zeros(len(rows), DRIVEN)
    for row, (joint, lower, share, neutral) in zip(out, rows, strict=True):
        row["joint"], row["lower"], row["share"] = joint, lower, share
        for axis, value in zip("wxyz", neutral, strict=True):
            row[f"n{axis}"] = value
    return out


def _share(joint: int, way: list[int], beside: list[int], at: dict[int, float], whole: bool) -> float:
    """How much of a bone's twist a joint carries: all of it where it is alone, else as at the middle of its stretch.

    Segments of one bone (`whole`) carry what there is at the end of their stretch. So the last one has all of it: it
    tells how the bone is turned, and the elbow and the wrist are left with what is theirs.
    """
    if len(way) == 1 and not beside:
        return 1.0
    if joint in beside:
        return min(max(at[joint], 0.0), 1.0)
    after = [at[j] for j in way if at[j] > at[joint] + 1e-6]
    end = min(after, default=1.0)
    return min(max(end if whole else 0.5 * (at[joint] + end), 0.0), 1.0) if len(way) > 1 else 0.0


def _is_twister(body: Humanoid, joint: int) -> bool:
    name = body.skeleton.names[joint].lower()
    return any(word in name for word in TWISTERS) and joint not in body.roles.values()

"""What joints may do while they are edited: the clip's own range, a body's limits, or a limb's range.

The paper has no joint limits and says that figures look unnatural when pulled far; here they are on by default. A clip
tells its own: each joint's rotation vector stays in the box that the clip uses, widened by 0.2 rad (`specs/edit.md`,
section 4). Decided here: vectors are counted from the joint's mean rotation in the clip, not from rest, so that a joint
that works far from rest does not meet the place where rotation vectors wrap around.

Whoever starts outside may stay or come back, never go further out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..body import Humanoid
from ..body.roles import parent_role
from ..compute import PosableError
from ..compute.types import Floats, Records
from ..limb import LimbRange
from ..limits import Limits
from ..limits.limits import ROW
from ..math import conjugate, log, multiply, normalize
from ..skeleton import Pose
from .clip import Clip
from .model import BOX, SHAPE
from .parts import Parts

MARGIN = 0.2  # [rad]

Bound: TypeAlias = "str | Limits | LimbRange | None"
NO_ROWS = np.zeros(1, ROW)
NO_CURVES = np.zeros(1)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits as the kernels read them, and the ranges of limbs that are asked afterwards."""

    boxes: Records
    """(B,)"""
    shapes: Records
    """(S,)"""
    packed: Records
    curves: Floats
    ranges: tuple[LimbRange, ...] = ()
    limits: Limits | None = None
    roles: tuple[str, ...] = ()
    """(S,) the part of each shape."""

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(len(self.boxes) or len(self.shapes) or self.ranges)

    def box_rows(self, n: int) -> Records:
        """(n, B) boxes for n rows of a kernel, each with its own."""
        return np.tile(self.boxes, (n, 1))

    def shape_rows(self, body: Humanoid, start: Pose) -> Records:
        """(N, S) shapes for poses (N,), widened to hold them."""
        rows = np.tile(self.shapes, (len(start), 1))
        if self.limits is not None and self.roles:
            posture = body.canonical(start)
            turns = posture.rotations[:, [posture.index(role) for role in self.roles]]
            slack = self.limits.slack(self.roles, turns)
            rows["swing"], rows["below"], rows["above_twist"] = np.moveaxis(slack, -1, 0)
        return rows


def make_bounds(clip: Clip, given: Bound | Iterable[Bound]) -> Bounds:
    """Bounds from what a user says: "clip", "body", `Limits`, a `LimbRange`, None, or several of them."""
    several = [given] if given is None or isinstance(given, str | Limits | LimbRange) else list(given)
    boxes, shapes, limits = np.zeros(0, BOX), np.zeros(0, SHAPE), None
    roles: tuple[str, ...] = ()
    ranges: list[LimbRange] = []
    for one in several:
        if one == "clip":
            boxes = clip_boxes(clip)
        elif one == "body" or isinstance(one, Limits):
            limits = one if isinstance(one, Limits) else clip.body.limits
            shapes, roles = limit_shapes(clip.body, clip.parts, limits)
        elif isinstance(one, LimbRange):
            ranges.append(one.for_limb(clip.body.limb(one.name, limits=None)))
        elif one is not None:
            raise PosableError(f"limits {one!r}: give 'clip', 'body', Limits, a LimbRange, None, or several of them")
    # Copies: for the read-only arrays of `Limits` kernels would be compiled once more.
    packed, curves = (NO_ROWS, NO_CURVES) if limits is None else (np.array(limits.packed), np.array(limits.curves))
    return Bounds(boxes, shapes, packed, curves, tuple(ranges), limits, roles)


def clip_boxes(clip: Clip, margin: float = MARGIN) -> Records:
    """(B,) of `BOX`: what each joint does in a clip, widened by `margin` [rad]; the root and hips are free."""
    skeleton, parts = clip.body.skeleton, clip.parts
    trunk = set(skeleton.path(clip.body.roles["hips"]))
    edited = skeleton.dofs.joint[parts.dofs]
    joints = [j for j in np.unique(edited).tolist() if j not in trunk and skeleton.kinds[j] in ("ball", "hinge")]
    boxes = np.zeros(len(joints), BOX)
    for box, j in zip(boxes, joints, strict=True):
        q = clip.motion.pose.rotations[:, j]
        middle = normalize((q * np.where((q @ q[0]) < 0.0, -1.0, 1.0)[:, None]).mean(axis=0))
        vectors = log(multiply(conjugate(middle), q))
        if skeleton.kinds[j] == "hinge":
            box["hinge"] = 1
            vectors = (vectors @ skeleton.axes[j, 0])[:, None] * [1.0, 0.0, 0.0]
        box["joint"], box["first"] = j, int(np.searchsorted(edited, j))
        for name, value in zip(("rw", "rx", "ry", "rz"), middle, strict=True):
            box[name] = value
        for k, axis in enumerate("xyz"):
            box[f"l{axis}"], box[f"h{axis}"] = vectors[:, k].min() - margin, vectors[:, k].max() + margin
    return boxes


def limit_shapes(body: Humanoid, parts: Parts, limits: Limits) -> tuple[Records, tuple[str, ...]]:
    """(S,) of `SHAPE`: the limits of the parts that an editor moves, balls only; and which parts they are."""
    edited = body.skeleton.dofs.joint[parts.dofs]
    rows, roles = [], []
    for role, joint in body.roles.items():
        above = parent_role(role, tuple(body.roles))
        if above is None or role not in limits or joint not in edited or body.skeleton.kinds[joint] != "ball":
            continue
        row = np.zeros((), SHAPE)
        row["joint"], row["above"], row["row"] = joint, body.roles[above], limits.index(role)
        row["first"] = int(np.searchsorted(edited, joint))
        for letter, turn in zip("ab", (body.neutral_orientation(above), body.neutral_orientation(role)), strict=True):
            for name, value in zip("wxyz", turn, strict=True):
                row[f"{letter}{name}"] = value
        rows.append(row)
        roles.append(role)
    return np.array(rows, SHAPE) if rows else np.zeros(0, SHAPE), tuple(roles)

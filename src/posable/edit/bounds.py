"""Limits of joints while a motion is edited: the clip's own range, a body's limits, or a limb's learned range.

The paper has no joint limits and says that figures look unnatural when pulled far; here they are on by default. The
clip's own range: each joint's rotation vector stays in the box that the clip uses, widened by 0.2 rad (`specs/edit.md`,
section 4). Decided here: vectors are counted from the joint's mean rotation in the clip, not from rest, so that a joint
that works far from rest does not come near pi, where rotation vectors wrap around.

A joint that starts outside may stay or come back, never go further out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..body import Humanoid
from ..body.packed import PackedBody
from ..compute import PosableError
from ..compute.types import Bools, Records
from ..limb import LimbRange
from ..limits import Limits
from ..math import conjugate, log, multiply, normalize
from ..skeleton import Pose
from .clip import Clip
from .model import BOX, SHAPE

MARGIN = 0.2  # [rad]
ROTATING = ("ball", "hinge", "hinge_twist")
INSIDE = 1e-6  # [rad], and of a limb's length: how far inside its range a limb is projected

Bound: TypeAlias = "str | Limits | LimbRange | None"


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits as the kernels read them, and the ranges of limbs that poses are projected to afterwards."""

    packed: PackedBody
    """The body with the limits that `shapes` refer to."""
    boxes: Records
    """(B,)"""
    shapes: Records
    """(S,)"""
    roles: tuple[str, ...] = ()
    """(S,) the role of each shape's joint."""
    limits: Limits | None = None
    ranges: tuple[LimbRange, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return bool(len(self.boxes) or len(self.shapes) or self.ranges)

    def rows(self, start: Pose) -> tuple[Records, Records]:
        """Return boxes (N, B) and shapes (N, S) for poses (N,), the shapes widened to contain them."""
        boxes, shapes = np.tile(self.boxes, (len(start), 1)), np.tile(self.shapes, (len(start), 1))
        if self.limits is not None and self.roles:
            posture = self.packed.body.canonical(start)
            rotations = posture.rotations[:, [posture.index(role) for role in self.roles]]
            shapes["slack"] = self.limits.slack(self.roles, rotations)
        return boxes, shapes


def make_bounds(clip: Clip, given: Bound | Iterable[Bound]) -> Bounds:
    """Return the bounds for an argument `limits=`: "clip", "body", `Limits`, a `LimbRange`, None, or several."""
    several = [given] if given is None or isinstance(given, str | Limits | LimbRange) else list(given)
    boxes, limits = np.zeros(0, BOX), None
    ranges: list[LimbRange] = []
    for one in several:
        if one == "clip":
            boxes = clip_boxes(clip)
        elif one == "body" or isinstance(one, Limits):
            limits = one if isinstance(one, Limits) else clip.body.limits
        elif isinstance(one, LimbRange):
            ranges.append(one.for_limb(clip.body.limb(one.name, limits=None)))
        elif one is not None:
            raise PosableError(f"limits {one!r}: give 'clip', 'body', Limits, a LimbRange, None, or several of them")
    packed = PackedBody(clip.body, limits)
    shapes, roles = limit_shapes(clip, packed)
    return Bounds(packed, boxes, shapes, roles, limits, tuple(ranges))


def clip_boxes(clip: Clip, margin: float = MARGIN) -> Records:
    """Return (B,) of `BOX`: the range of each joint in a clip, widened by `margin` [rad]; root and hips are free."""
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
        box["joint"], box["first"], box["reference"] = j, int(np.searchsorted(edited, j)), middle
        box["low"], box["high"] = vectors.min(axis=0) - margin, vectors.max(axis=0) + margin
    return boxes


def limit_shapes(clip: Clip, packed: PackedBody) -> tuple[Records, tuple[str, ...]]:
    """Return (S,) of `SHAPE`: the limits of the joints that an editor rotates, and the roles of these joints."""
    body, drive = clip.body, packed.drive
    edited = body.skeleton.dofs.joint[clip.parts.dofs]
    roles = {
        role: joint
        for role, joint in body.roles.items()
        if drive["limit"][joint] >= 0 and joint in edited and body.skeleton.kinds[joint] in ROTATING
    }
    shapes, joints = np.zeros(len(roles), SHAPE), list(roles.values())
    shapes["joint"], shapes["first"], shapes["row"] = joints, np.searchsorted(edited, joints), drive["limit"][joints]
    shapes["dofs"] = [np.count_nonzero(edited == joint) for joint in joints]
    for name in ("above", "above_neutral", "neutral"):
        shapes[name] = drive[name][joints]
    return shapes, tuple(roles)


def project_to_ranges(body: Humanoid, ranges: Sequence[LimbRange], start: Pose, pose: Pose) -> tuple[Pose, Bools]:
    """Return poses (N,) with limbs that left their learned range projected back to it, and which rows (N,) changed.

    This is done after a drag, since a `LimbRange` limits the whole limb. One that is outside in `start` (N,) already is
    left alone.
    """
    moved = np.zeros(len(pose), np.bool_)
    for known in ranges:
        limb = body.limb(known.name, limits=None)
        began, now = limb.read(start), limb.read(pose)
        corrected = known.correct(now.position, now.swivel)
        back = corrected.changed & known.contains(began.position, began.swivel)
        if not back.any():
            continue
        # A little inside: a position on the edge, read back from the joints, may lie a rounding error beyond it.
        corrected = known.correct(now.position, now.swivel, margin=INSIDE)
        solved = limb.solve(corrected.position, now.orientation, swivel=corrected.swivel)
        posed = limb.pose(pose, solved.values, now)
        pose = Pose(pose.translation, np.where(back[:, None, None], posed.rotations, pose.rotations), pose.offsets)
        moved |= back
    return pose, moved

"""Limbs kept in a learned range (`LimbRange`): asked after a drag, since a range judges a limb as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..body import Humanoid
from ..compute import Status
from ..compute.types import Bools, Floats
from ..limb import LimbRange
from ..skeleton import Pose
from .answers import REACHED_WITHIN, DragAnswer
from .dragging import Dragger
from .parts import joint_of

INSIDE = 1e-6  # [rad], and of the limb's length


def kept_in_ranges(body: Humanoid, ranges: Sequence[LimbRange], start: Pose, pose: Pose) -> tuple[Pose, Bools]:
    """Poses (N,) with limbs that left their range brought back into it, and where (N,) that was so.

    A limb that is outside already in `start` (N,) is left alone.
    """
    moved = np.zeros(len(pose), np.bool_)
    for known in ranges:
        limb = body.limb(known.name, limits=None)
        began, now = limb.read(start), limb.read(pose)
        corrected = known.correct(now.position, now.swivel)
        back = corrected.changed & known.contains(began.position, began.swivel)
        if not back.any():
            continue
        # A rounding inside: a place on the edge, read back from the joints, may lie a rounding beyond it.
        corrected = known.correct(now.position, now.swivel, margin=INSIDE)
        solved = limb.solve(corrected.position, now.orientation, swivel=corrected.swivel)
        posed = limb.pose(pose, solved.values, now)
        pose = Pose(pose.translation, np.where(back[:, None, None], posed.rotations, pose.rotations), pose.offsets)
        moved |= back
    return pose, moved


def inside_ranges(dragger: Dragger, start: Pose, answer: DragAnswer, part: str | int, target: Floats) -> DragAnswer:
    """The answer with limbs that left their range brought back into it; one that began outside is left alone."""
    body = dragger.clip.body
    pose, moved = kept_in_ranges(body, dragger.bounds.ranges, start, answer.pose)
    if not moved.any():
        return answer
    place = body.skeleton.forward(pose).positions[:, joint_of(body, part)]
    away = np.linalg.norm(target - place, axis=-1)
    held = (away > REACHED_WITHIN) & (answer.status == Status.REACHED)
    status = np.where(held, np.int8(Status.LIMITS), answer.status)
    return replace(answer, pose=pose, status=status, residual=away, limited=answer.limited | held)

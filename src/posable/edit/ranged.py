"""Limbs kept in a learned range (`LimbRange`): asked after a drag, since a range judges a limb as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..compute import Status
from ..compute.types import Floats
from ..skeleton import Pose
from .answers import REACHED_WITHIN, DragAnswer
from .dragging import Dragger
from .parts import joint_of


def inside_ranges(dragger: Dragger, start: Pose, answer: DragAnswer, part: str | int, target: Floats) -> DragAnswer:
    """The answer with limbs that left their range brought back into it; one that began outside is left alone."""
    pose, body = answer.pose, dragger.clip.body
    for known in dragger.bounds.ranges:
        limb = body.limb(known.name, limits=None)
        began, now = limb.read(start), limb.read(pose)
        corrected = known.correct(now.position, now.swivel)
        back = corrected.changed & known.contains(began.position, began.swivel)
        if not back.any():
            continue
        solved = limb.solve(corrected.position, now.orientation, swivel=corrected.swivel)
        posed = limb.pose(pose, solved.values, now)
        pose = Pose(pose.translation, np.where(back[:, None, None], posed.rotations, pose.rotations), pose.offsets)
    if pose is answer.pose:
        return answer
    place = body.skeleton.forward(pose).positions[:, joint_of(body, part)]
    away = np.linalg.norm(target - place, axis=-1)
    held = (away > REACHED_WITHIN) & (answer.status == Status.REACHED)
    status = np.where(held, np.int8(Status.LIMITS), answer.status)
    return replace(answer, pose=pose, status=status, residual=away, limited=answer.limited | held)

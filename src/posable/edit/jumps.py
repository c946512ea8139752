"""Motions without jumps: corrections of single frames, made smooth over time.

A body that is brought to its goals in each frame by itself is brought there differently from one frame to the next
where limits or stretched limbs stop a joint: its hips leap. So corrections are smoothed and made again, wide ones first
(Lee and Shin 1999); and where a joint jumps after all, its goals are given up for as long as that takes.
"""

from __future__ import annotations

import numpy as np

from ..compute.types import Floats
from ..math import conjugate, exp, log, multiply, slerp
from ..skeleton import Pose
from .dragging import Dragger
from .model import GOAL
from .repair import ramp

JUMP = 1.5
"""A joint whose velocity changes so much faster than any does in the motion that it began with jumps."""
CALMER = (0.05, 0.1, 0.2, np.inf)
"""[s]: standard deviations with which the corrections around a jump are smoothed, until there is none; infinite: they
are taken back."""
BLENDED = 0.2  # [s]: how long before and after a jump


def changes(positions: Floats) -> Floats:
    """Return the largest change of a velocity (F,) in each frame [m a frame squared], of positions (F, J, 3)."""
    made = np.zeros(len(positions))
    made[1:-1] = np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max(axis=-1, initial=0.0)
    return made


def smoothed_change(base: Pose, pose: Pose, width: float) -> Pose:
    """Return the poses `base` (F,) with the changes that led from them to `pose`, smoothed over `width` frames."""
    from scipy.ndimage import gaussian_filter1d

    rotated = log(multiply(conjugate(base.rotations), pose.rotations))
    moved = (pose.translation - base.translation)[:, None]
    smooth = gaussian_filter1d(np.concatenate([rotated, moved], axis=1), width, axis=0, mode="nearest")
    return Pose(base.translation + smooth[:, -1], multiply(base.rotations, exp(smooth[:, :-1])), base.offsets)


def without_jumps(dragger: Dragger, begun: Pose, pose: Pose, source: Floats, fps: float) -> Pose:
    """Return poses (F,) whose corrections are calmer around frames in which a joint jumps.

    Args:
        dragger: whose limits they keep.
        begun: (F,) the poses before their corrections.
        pose: (F,) those after.
        source: (F, J, 3) positions of the joints that the motion is taken from, as large as this body [m]; they and
            those of `begun` show how fast joints change their velocities without a jump.
        fps: frames per second.
    """
    skeleton, count = dragger.clip.body.skeleton, len(begun.translation)
    usual = max(float(changes(x).max(initial=0.0)) for x in (source, skeleton.forward(begun).positions))
    calm = JUMP * usual
    best, least = pose, np.inf
    for width in (*CALMER, None):
        excess = changes(skeleton.forward(pose).positions) / max(calm, 1e-12)
        if excess.max(initial=0.0) < least:
            best, least = pose, float(excess.max(initial=0.0))
        if least <= 1.0 or width is None:
            break
        jumping = excess > 1.0
        most = min(width, CALMER[-2])
        fraction = ramp(jumping, (BLENDED + 2.0 * most) * fps)
        smooth = smoothed_change(begun, pose, most * fps)
        rotations = smooth.rotations if np.isfinite(width) else begun.rotations
        free = np.zeros((count, 1), GOAL)
        free["position_softness"] = free["orientation_softness"] = -1.0
        blended = Pose(
            pose.translation + fraction[:, None] * (smooth.translation - pose.translation),
            slerp(pose.rotations, rotations, fraction[:, None]),
            pose.offsets,
        )
        pose, _, _ = dragger.pulled(blended, free, dragger.logs, 0, begun)
    return best

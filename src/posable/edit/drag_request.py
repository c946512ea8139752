"""Arguments of `MotionEditor.drag`, checked and brought into the rows that kernels take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Ints
from ..skeleton import Motion, Pose
from .dragging import world_rotation
from .parts import joint_of


@dataclass(frozen=True, eq=False)
class DragRequest:
    """N drags of one part."""

    joint: int
    frames: Ints
    """(N,)"""
    displacements: Floats
    """(N, 3) [m]"""
    rotations: Floats | None
    """(N, 3) [rad], or None."""
    start: Pose
    """(N,) poses to start from."""
    shape: tuple[int, ...]
    """The shape of the batch."""


def read_drag(
    body: Humanoid,
    motion: Motion,
    frame: ArrayLike,
    part: str | int,
    displacement: ArrayLike | None,
    target: ArrayLike | None,
    orientation: ArrayLike | None,
    pose: Pose | None,
) -> DragRequest:
    """Read the arguments of `MotionEditor.drag`; frames, positions, orientations and poses broadcast."""
    if (displacement is None) == (target is None) and (displacement is not None or orientation is None):
        raise PosableError("give a displacement or a target (or an orientation alone), not both")
    joint = joint_of(body, part)
    given = np.asarray(frame)
    if given.dtype.kind not in "iu":
        raise PosableError(f"frame is {frame!r}; expected whole numbers from 0 to {len(motion) - 1}")
    where = displacement if displacement is not None else target
    vectors = None if where is None else floats(where, "displacement" if target is None else "target", 3)
    quats = None if orientation is None else floats(orientation, "orientation", 4)
    shapes = [given.shape] + [a.shape[:-1] for a in (vectors, quats) if a is not None]
    shape = np.broadcast_shapes(*shapes, () if pose is None else pose.shape)
    n = int(np.prod(shape, dtype=np.int64))
    frames = np.array([frame_of(f, len(motion)) for f in np.broadcast_to(given, shape).reshape(n)], dtype=np.int64)
    start = motion.pose[frames] if pose is None else rows_of(pose, shape)
    here = body.skeleton.forward(start)
    displacements = np.zeros((n, 3)) if vectors is None else np.broadcast_to(vectors, (*shape, 3)).reshape(n, 3).copy()
    if target is not None:
        displacements -= here.positions[:, joint]
    rotations = None
    if quats is not None:
        rotations = world_rotation(here.orientations[:, joint], np.broadcast_to(quats, (*shape, 4)).reshape(n, 4))
    return DragRequest(joint, frames, displacements, rotations, start, shape)


def frame_of(frame: Any, count: int) -> int:
    """Return a frame's number, counted from the end where it is negative; raises where there is no such frame."""
    try:
        at = int(frame)
    except (TypeError, ValueError):
        at = count
    if at != frame or not -count <= at < count:
        raise PosableError(f"frame {frame!r} does not exist; there are frames 0 to {count - 1}")
    return at % count


def rows_of(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """Return a pose broadcast over a batch, one row after the other."""
    count = pose.joint_count
    offsets = None
    if pose.offsets is not None:
        offsets = np.broadcast_to(pose.offsets, (*shape, count, 3)).reshape(-1, count, 3)
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)).reshape(-1, 3),
        np.broadcast_to(pose.rotations, (*shape, count, 4)).reshape(-1, count, 4),
        offsets,
    )

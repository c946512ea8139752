"""What a user asks of a drag, brought into the rows that kernels take, and the answers back into the user's shape."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Ints
from ..skeleton import Motion, Pose
from .answers import DragAnswer
from .dragging import one, world_turn
from .parts import joint_of


@dataclass(frozen=True, eq=False)
class Asked:
    """Drags of one part, flat."""

    joint: int
    frames: Ints
    """(N,)"""
    way: Floats
    """(N, 3) [m]"""
    turn: Floats | None
    """(N, 3) [rad], or None."""
    start: Pose
    """(N,) poses to start from."""
    shape: tuple[int, ...]
    """Of the answer."""

    def shaped(self, answer: DragAnswer) -> DragAnswer:
        """An answer (N,) in the shape of what was asked."""
        if self.shape == ():
            return one(answer)
        flat = {f.name: getattr(answer, f.name).reshape(self.shape) for f in fields(answer) if f.name != "pose"}
        return replace(answer, pose=answer.pose.reshape(*self.shape), **flat)


def read_drag(
    body: Humanoid,
    motion: Motion,
    frame: ArrayLike,
    part: str | int,
    displacement: ArrayLike | None,
    target: ArrayLike | None,
    orientation: ArrayLike | None,
    pose: Pose | None,
) -> Asked:
    """What `MotionEditor.drag` is asked; frames, places, orientations and poses broadcast."""
    if (displacement is None) == (target is None) and (displacement is not None or orientation is None):
        raise PosableError("give a displacement or a target (or an orientation alone), not both")
    joint = joint_of(body, part)
    given = np.asarray(frame)
    if given.dtype.kind not in "iu":
        raise PosableError(f"frame is {frame!r}; expected whole numbers from 0 to {len(motion) - 1}")
    where = displacement if displacement is not None else target
    place = None if where is None else floats(where, "displacement" if target is None else "target", 3)
    quats = None if orientation is None else floats(orientation, "orientation", 4)
    shapes = [given.shape] + [a.shape[:-1] for a in (place, quats) if a is not None]
    shape = np.broadcast_shapes(*shapes, () if pose is None else pose.shape)
    n = int(np.prod(shape, dtype=np.int64))
    frames = np.array([frame_of(f, len(motion)) for f in np.broadcast_to(given, shape).reshape(n)], dtype=np.int64)
    start = motion.pose[frames] if pose is None else rows_of(pose, shape)
    here = body.skeleton.forward(start)
    way = np.zeros((n, 3)) if place is None else np.broadcast_to(place, (*shape, 3)).reshape(n, 3).copy()
    if target is not None:
        way -= here.positions[:, joint]
    turn = None
    if quats is not None:
        turn = world_turn(here.orientations[:, joint], np.broadcast_to(quats, (*shape, 4)).reshape(n, 4))
    return Asked(joint, frames, way, turn, start, shape)


def frame_of(frame: Any, count: int) -> int:
    """A frame's number, counted from the end where it is negative; raises where there is none."""
    try:
        at = int(frame)
    except (TypeError, ValueError):
        at = count
    if at != frame or not -count <= at < count:
        raise PosableError(f"frame {frame!r} does not exist; there are frames 0 to {count - 1}")
    return at % count


def rows_of(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """A pose spread over a batch and made flat."""
    count = pose.joint_count
    offsets = None
    if pose.offsets is not None:
        offsets = np.broadcast_to(pose.offsets, (*shape, count, 3)).reshape(-1, count, 3)
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)).reshape(-1, 3),
        np.broadcast_to(pose.rotations, (*shape, count, 4)).reshape(-1, count, 4),
        offsets,
    )

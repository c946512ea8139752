"""A target of a limb, from the world to the limb's own frame, and the pose that its solution makes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...compute import PosableError, expect
from ...compute.arrays import floats
from ...compute.types import Floats, Records
from ...limb import LimbSolution, Target, as_target
from ...limb.limb import common_shape
from ...limb.solution import TargetLike
from ...skeleton import Frames, Pose, Skeleton
from .kernels import READING
from .place_kernels import PLACED, aim_rows, put_rows

if TYPE_CHECKING:
    from ..humanoid import Humanoid

REQUESTED = (("position", 3), ("orientation", 4), ("pole", 3))
NOTHING_REQUESTED = {columns: np.empty((0, columns)) for _, columns in REQUESTED}


@dataclass(frozen=True, eq=False, slots=True)
class Aim:
    """A target in the world, and the body it was given to, as the limb sees them: n rows of a batch."""

    skeleton: Skeleton
    driven: Records
    """The joints that the body's limbs rotate: `PackedBody.driven`."""
    pose: Pose
    offsets: Floats
    """(n, J, 3), or no rows."""
    positions: Floats
    """(n, J, 3) [m]."""
    orientations: Floats
    """(n, J, 4)."""
    model: Records
    reading: Records
    remainders: Floats
    world: Floats
    """(n, 7) position [m] and orientation of the limb's frame."""
    goals: Floats
    """(n, 3) [m] in the world."""
    goal_orientations: Floats
    """(n, 4) requested canonical orientations, or no rows."""
    position: Floats
    """(..., 3) in the batch's shape, as the next two."""
    orientation: Floats | None
    starts: Floats | None

    @property
    def frames(self) -> Frames:
        """Where the joints are before the limb is solved."""
        world = self.orientations.reshape(self.pose.rotations.shape)
        return Frames(self.skeleton, self.positions.reshape(*world.shape[:-1], 3), world)

    def put(self, solution: LimbSolution) -> tuple[Floats, Records]:
        """(rotations (..., J, 4) with the limb as the solution has it, errors (...) of `PLACED`)."""
        n, shape = len(self.goals), self.pose.shape
        rotations, placed = self.pose.rotations.reshape(self.orientations.shape).copy(), np.empty(n, PLACED)
        put_rows(
            *(n, self.skeleton.packed, self.model, self.driven, solution.values.reshape(n, 7)),
            *(self.remainders, self.offsets, self.goals, self.goal_orientations, self.positions, self.orientations),
            *(rotations, solution.report.reshape(n), placed),
        )
        return rotations.reshape(self.pose.rotations.shape), placed.reshape(shape)

    def searching(self, searches: Floats) -> Aim:
        """The same with a swivel search (..., 5) [rad] of its own for each target."""
        flat = searches.reshape(-1, 5)
        rows = np.repeat(self.model, len(flat)) if len(self.model) == 1 else self.model.copy()
        rows["preferred"], rows["low"], rows["high"] = flat[:, 0], flat[:, 1], np.maximum(flat[:, 1], flat[:, 2])
        rows["step"], rows["growth"] = np.maximum(flat[:, 3], 1e-3), np.maximum(flat[:, 4], 0.0)
        return replace(self, model=rows)


def aim_at(skeleton: Skeleton, packed: Records, driven: Records, driven_count: int, pose: Pose, target: Target) -> Aim:
    """Return everything that a target in the world requests, in the limb's frame.

    Args:
        skeleton: of the body.
        packed: (1,) the limb, as its kernels read it.
        driven: the joints that the body's limbs rotate.
        driven_count: how many of them this limb rotates.
        pose: one, or a batch that broadcasts with the target.
        target: in the world.
    """
    expect(Target, target, "the target", ": Target(position, orientation)")
    expect(Pose, pose, "the pose")
    given = [(name, getattr(target, name), columns) for name, columns in REQUESTED]
    requested = [None if value is None else floats(value, f"the target's {name}", size) for name, value, size in given]
    if requested[0] is None:
        raise PosableError("the target has no position; expected (..., 3) [m]")
    shape = pose.shape
    if any(array is not None and array.shape[:-1] != shape for array in requested):
        shape = common_shape(shape, *(array.shape[:-1] for array in requested if array is not None))
        pose = spread(pose, shape)
    n = math.prod(shape)
    translation, rotations, offsets = skeleton._flat(pose)
    goals, goal_orientations, poles = (
        NOTHING_REQUESTED[columns] if array is None else _rows(array, shape)
        for array, (_, columns) in zip(requested, REQUESTED, strict=True)
    )
    positions, orientations = np.empty((*rotations.shape[:-1], 3)), np.empty(rotations.shape)
    reading, remainders = np.empty(n, READING), np.empty((n, driven_count, 4))
    aims, aimed, starts = np.empty((n, 3)), np.empty(goal_orientations.shape), np.empty(len(poles))
    world = np.empty((n, 7))
    model = packed if pose.offsets is None else np.repeat(packed, n)
    aim_rows(
        *(n, skeleton.packed, model, driven, translation, rotations, offsets),
        *(goals, goal_orientations, poles, positions, orientations, reading, remainders, world),
        *(aims, aimed, starts),
    )
    return Aim(
        *(skeleton, driven, pose, offsets, positions, orientations, model, reading, remainders, world),
        *(goals, goal_orientations),
        aims.reshape(*shape, 3),
        aimed.reshape(*shape, 4) if len(goal_orientations) else None,
        starts.reshape(shape) if len(poles) else None,
    )


def canonical_target(body: Humanoid, limb: str, target: TargetLike) -> Target:
    """Return a target of a limb's hand or foot with a canonical orientation; `target` may be positions (..., 3) [m]."""
    made = as_target(target)
    if made.world_orientation is None:
        return made
    return made.canonical(body.skeleton.forward(body.neutral_pose).orientations[body.limb_joints(limb)[2]])


def spread(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """The pose repeated to a batch's shape."""
    if pose.shape == shape:
        return pose
    tail = pose.rotations.shape[-2:]
    offsets = None if pose.offsets is None else np.broadcast_to(pose.offsets, (*shape, tail[0], 3))
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)), np.broadcast_to(pose.rotations, (*shape, *tail)), offsets
    )


def _rows(array: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array of a target as rows, one for each of a batch."""
    if array.shape[:-1] != shape:
        array = np.broadcast_to(array, (*shape, array.shape[-1]))
    return np.ascontiguousarray(array).reshape(-1, array.shape[-1])

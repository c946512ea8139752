"""`Pose`: the position of the root and the rotation of every joint, for one body or any batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compute import ShapeError
from ..compute.extent import rows_in_extent
from ..compute.gpu_arrays import stored, unwrapped, wrapped
from ..compute.types import ArrayLike, Bools, Floats, floats


@dataclass(frozen=True, eq=False)
class Pose:
    """One pose, or a batch of poses with any leading axes.

    The arrays are stored, not copied, when they are float64 and contiguous already: treat them as read-only.
    """

    translation: Floats
    """(..., 3) [m]: the root's position in the world."""
    rotations: Floats
    """(..., J, 4): unit quaternions `wxyz`, each joint in its parent's frame; the root's in the world."""
    offsets: Floats | None = None
    """(..., J, 3) [m], or None: positions of the joints in their parents' frames where a file or a slide moves them.

    They replace the skeleton's offsets; the root's row is not used.
    """

    def __init__(self, translation: ArrayLike, rotations: ArrayLike, offsets: ArrayLike | None = None) -> None:
        array = stored(floats(rotations, "rotations"))  # on a GPU, too
        if array.ndim < 2 or array.shape[-1] != 4:
            raise ShapeError(f"rotations have shape {array.shape}; expected (..., J, 4)")
        fields = self.__dict__
        fields["translation"] = _fitted("translation", translation, (*array.shape[:-2], 3))
        fields["rotations"] = unwrapped(array)
        fields["offsets"] = None if offsets is None else _fitted("offsets", offsets, (*array.shape[:-1], 3))

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch's shape; `()` for a single pose."""
        return tuple(self.rotations.shape[:-2])

    @property
    def joint_count(self) -> int:
        """Return the number of joints J."""
        return int(self.rotations.shape[-2])

    def __repr__(self) -> str:
        offsets = "" if self.offsets is None else ", with offsets"
        return f"Pose({batch_text(self.shape)}{self.joint_count} joints{offsets})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single pose has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Pose:
        """Poses of the batch, by anything that indexes its leading axes."""
        if not self.shape:
            raise IndexError("a single pose cannot be indexed; batches can")
        offsets = None if self.offsets is None else self.offsets[index]
        return Pose(self.translation[index], self.rotations[index], offsets)

    def replace(self, **changes: Any) -> Pose:
        """Return the same pose with some of its arrays replaced."""
        return replace(self, **changes)

    def reshape(self, *shape: int) -> Pose:
        """The same poses in a batch of another shape; one axis may be -1."""
        tail = self.rotations.shape[-2]
        offsets = None if self.offsets is None else self.offsets.reshape(*shape, tail, 3)
        return Pose(self.translation.reshape(*shape, 3), self.rotations.reshape(*shape, tail, 4), offsets)

    def is_finite(self) -> bool:
        """Whether every number in it is finite."""
        arrays = map(wrapped, (self.translation, self.rotations, self.offsets))
        return all(array is None or bool(np.isfinite(array).all()) for array in arrays)

    @staticmethod
    def stack(poses: Sequence[Pose]) -> Pose:
        """A batch from poses of one shape, along a new first axis; joint offsets must be in all of them or in none."""
        if not poses:
            raise ShapeError("no poses to stack")
        moved = [pose.offsets for pose in poses]
        if any(offsets is None for offsets in moved) and any(offsets is not None for offsets in moved):
            raise ShapeError("some poses move their joints (offsets) and some do not; give offsets to all of them")
        offsets = None if moved[0] is None else _stacked([o for o in moved if o is not None])
        return Pose(_stacked([p.translation for p in poses]), _stacked([p.rotations for p in poses]), offsets)


def are_poses(pose: Pose) -> Bools:
    """Return (...) which rows are poses at all: positions within the extent, rotations of length 1 within 1e-3."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (pose.rotations * pose.rotations).sum(axis=-1)
        sound = rows_in_extent(pose.translation) & (np.abs(squares - 1.0) < 1e-3).all(axis=-1)
    return np.asarray(sound if pose.offsets is None else sound & rows_in_extent(pose.offsets, 2))


def batch_text(shape: tuple[int, ...]) -> str:
    """Return how a `repr` tells the shape of a batch: nothing for a single pose."""
    return f"{shape} of " if shape else ""


def _fitted(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = floats(value, name)
    shape = tuple(shape)
    if array.shape != shape:
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            raise ShapeError(f"{name} has shape {array.shape}; expected {shape} to fit the rotations") from None
    return unwrapped(stored(array))  # type: ignore[no-any-return]


def _stacked(arrays: Sequence[Any]) -> Any:
    return unwrapped(np.stack([wrapped(array) for array in arrays]))

"""`Motion`: poses of one skeleton over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from ..compute import PosableError, ShapeError, expect
from ..compute.extent import frame_rate
from ..compute.lazy import later_room
from ..compute.types import ArrayLike, Floats, floats
from ..math import slerp
from .pose import Pose
from .skeleton import Skeleton

DISPLAYED = 3600
"""Frames of a motion that a notebook shows at most: a minute at 60 a second."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Frames of a skeleton at a constant rate.

    `motion[i]` is a Pose, `motion[a:b]` a Motion, and a loop over a motion gives its frames as poses.
    """

    skeleton: Skeleton
    pose: Pose
    """All frames: a Pose of shape (F,)."""
    fps: float
    """Frames a second."""
    name: str = ""
    notes: tuple[str, ...] = ()
    """What a reader or an editor did to it that the user should know."""

    def __post_init__(self) -> None:
        expect(Pose, self.pose, "pose")
        if len(self.pose.shape) != 1:
            raise ShapeError(f"a motion needs poses of shape (F,); got {self.pose.shape}")
        if self.pose.joint_count != len(self.skeleton):
            raise ShapeError(f"the poses have {self.pose.joint_count} joints, the skeleton {len(self.skeleton)}")
        frame_rate(self.fps)

    def __len__(self) -> int:
        return self.pose.shape[0]

    def __iter__(self) -> Iterator[Pose]:
        return (self.pose[frame] for frame in range(len(self)))

    def __repr__(self) -> str:
        name = f"{self.name[:40]!r}, " if self.name else ""
        joints = self.pose.joint_count
        return f"Motion({name}{len(self)} frames at {self.fps:g} fps, {self.duration:.2f} s, {joints} joints)"

    @overload
    def __getitem__(self, index: int) -> Pose: ...
    @overload
    def __getitem__(self, index: slice) -> Motion: ...
    def __getitem__(self, index: Any) -> Pose | Motion:
        if isinstance(index, slice):
            step = 1 if index.step is None else index.step
            if step < 1:
                raise PosableError(f"a motion cannot be sliced with step {step}; steps are 1 or more")
            return replace(self, pose=self.pose[index], fps=self.fps / step)
        return self.pose[index]

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return max(0, len(self) - 1) / self.fps

    @property
    def times(self) -> Floats:
        """(F,) seconds of the frames, the first at 0."""
        return np.arange(len(self)) / self.fps

    def at(self, time: ArrayLike) -> Pose:
        """Poses at any times (...) [s]: rotations by slerp, positions by linear interpolation of the two frames around.

        Before the first and after the last frame, that frame.
        """
        if len(self) == 0:
            raise PosableError("an empty motion has no pose at any time")
        seconds = floats(time, "time")
        if np.isnan(seconds).any():
            raise PosableError(f"time is {time!r}; expected seconds")
        frame = np.clip(np.clip(seconds, 0.0, self.duration) * self.fps, 0.0, len(self) - 1.0)
        # A time that is a frame's within rounding is that frame: k / fps * fps is not always k.
        frame = np.where(np.abs(frame - np.rint(frame)) < 1e-9 * max(1, len(self)), np.rint(frame), frame)
        before = np.minimum(np.floor(frame).astype(np.int64), max(0, len(self) - 2))
        fraction = frame - before
        first, second = self.pose[before], self.pose[np.minimum(before + 1, len(self) - 1)]
        offsets = None
        if first.offsets is not None and second.offsets is not None:
            offsets = _lerp(first.offsets, second.offsets, fraction[..., None, None])
        return Pose(
            _lerp(first.translation, second.translation, fraction[..., None]),
            slerp(first.rotations, second.rotations, fraction[..., None]),
            offsets,
        )

    def resampled(self, fps: float) -> Motion:
        """The same motion at another rate, from its first frame to the last sample that fits."""
        frame_rate(fps)
        if len(self) == 0:
            return replace(self, fps=fps)
        count = int(min(np.floor(self.duration * fps + 1e-6), 1e15)) + 1
        max_count = max(100 * len(self), 100_000)
        if count > max_count:
            raise PosableError(
                f"at {fps:g} frames a second this motion has {count} frames; expected at most {max_count}"
            )
        return replace(self, pose=self.at(np.arange(count) / fps), fps=fps)

    @staticmethod
    def concatenate(motions: Iterable[Motion]) -> Motion:
        """Return one motion that plays several of the same skeleton and frame rate after each other.

        It has the first one's skeleton and name and the notes of all. The first frame of a motion follows the last
        frame of the one before it by one frame's time; nothing is blended.
        """
        parts = list(motions)
        if not parts:
            raise PosableError("there are no motions to concatenate")
        first = parts[0]
        for k, part in enumerate(parts):
            expect(Motion, part, f"motion {k}")
            if part.fps != first.fps:
                raise PosableError(f"motion {k} has {part.fps:g} fps, the first {first.fps:g}; use resampled(fps)")
            if not part.skeleton.same_as(first.skeleton):
                raise PosableError(f"motion {k} has another skeleton than the first; use posable.retarget")
        poses = [part.pose for part in parts]
        offsets = None
        if any(pose.offsets is not None for pose in poses):
            still = first.skeleton.offsets
            offsets = np.concatenate(
                [np.tile(still, (len(p), 1, 1)) if p.offsets is None else p.offsets for p in poses]
            )
        pose = Pose(
            np.concatenate([p.translation for p in poses]), np.concatenate([p.rotations for p in poses]), offsets
        )
        notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
        return replace(first, pose=pose, notes=notes)

    def show(self, *others: Motion, names: Sequence[str] | None = None, spacing: float | None = None) -> None:
        """Play the motion: in a notebook below the cell, otherwise in the browser. `render.Player` has more to choose.

        Args:
            others: motions to compare it with: one is drawn over it, with a slider between both; more stand beside it.
            names: of all of them, for the page; by default their own.
            spacing: between the bodies [m]; by default 0 for two, and as far apart as they need for more.
        """
        later_room("render").Player(self, *others, names=names, spacing=spacing).show()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the motion, playable, also where the notebook is read without Python.

        A motion of more than `DISPLAYED` frames is shown at a lower rate, so that notebooks stay small; `show` and
        `render.Player` have every frame.
        """
        shown = self if len(self) <= DISPLAYED else self.resampled((DISPLAYED - 1) / self.duration)
        page: str = later_room("render").Player(shown)._repr_html_()
        return page

    def replace(self, **changes: Any) -> Motion:
        """Return the same motion with some of its fields replaced."""
        return replace(self, **changes)


def _lerp(a: Floats, b: Floats, fraction: Floats) -> Floats:
    """Linear interpolation: `a` at fraction 0, `b` at 1, both exactly."""
    blend: Floats = a * (1.0 - fraction) + b * fraction
    return blend

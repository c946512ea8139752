"""How a change at one frame fades over the frames around it (`specs/edit.md`, section 5).

The change of each joint, Delta = log(theta^-1 theta'), is put on the frames around as theta(t) exp(b(t) Delta), b a
raised cosine by default; several changes follow each other. Frames where b is 0 keep their numbers, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.errors import number
from ..compute.types import Bools, Floats, Ints
from ..math import conjugate, exp, log, multiply
from ..skeleton import Pose

EASES = ("cosine", "smooth", "linear")
LONGEST = 1e6
"""[s]: the greatest half-width, some days."""


@dataclass(frozen=True, eq=False)
class Change:
    """What makes one pose of another: turns of all joints (..., J, 3) [rad] and the root's way (..., 3) [m]."""

    turns: Floats
    way: Floats

    @staticmethod
    def between(before: Pose, after: Pose) -> Change:
        """The change from one pose to another, joint by joint."""
        turns = log(multiply(conjugate(before.rotations), after.rotations))
        same = (before.rotations == after.rotations).all(axis=-1, keepdims=True)
        return Change(np.where(same, 0.0, turns), after.translation - before.translation)

    def added(self, pose: Pose, shares: Floats) -> Pose:
        """Poses (K,) with shares (K,) of the change on top; a joint that does not change keeps its bits."""
        turned = multiply(pose.rotations, exp(shares[:, None, None] * self.turns))
        moves = (shares[:, None, None] * self.turns != 0.0).any(axis=-1, keepdims=True)
        rotations = np.where(moves, turned, pose.rotations)
        return Pose(pose.translation + shares[:, None] * self.way, rotations, pose.offsets)


def check_spread(spread: float) -> float:
    """A half-width [s]; raises for what is none."""
    if not 0.0 <= number(spread) <= LONGEST:
        raise PosableError(f"spread is {spread}; expected seconds, from 0 to {LONGEST:.0f}")
    return float(spread)


def check_frames(frames: object, frame: int, count: int) -> tuple[int, int]:
    """First and last frame of a range around a frame, of `count` frames; raises for what is none."""
    try:
        first, last = (int(one) for one in frames)  # type: ignore[attr-defined]
        whole = (first, last) == tuple(frames)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        first = last = -1
        whole = False
    if not (whole and 0 <= first <= frame <= last < count):
        raise PosableError(
            f"frames are {frames}; expected the first and the last frame, "
            f"two whole numbers from 0 to {count - 1} with frame {frame} between them"
        )
    return first, last


def bell(
    count: int, fps: float, frame: int, spread: float, ease: str = "cosine", frames: tuple[int, int] | None = None
) -> Floats:
    """(F,): 1 at `frame`, falling to 0 on both sides.

    Args:
        count: F.
        fps: frames a second.
        frame: where the change is.
        spread: half-width [s]; 0 changes this frame alone.
        ease: "cosine", "smooth" (no jolt at the ends and the middle either), or "linear".
        frames: first and last frame that may change, instead of a width.
    """
    if ease not in EASES:
        raise UnknownNameError("ease", ease, EASES)
    at = np.arange(count, dtype=np.float64)
    if frames is None:
        width = check_spread(spread) * fps
        before = after = max(width, 1e-9)
    else:
        first, last = check_frames(frames, frame, count)
        before, after = frame - first + 1.0, last - frame + 1.0
    away = np.where(at < frame, (frame - at) / before, (at - frame) / after)
    share = np.clip(1.0 - away, 0.0, 1.0)
    return eased(share, ease)


def eased(share: Floats, ease: str) -> Floats:
    """0 to 1 along a curve."""
    if ease == "linear":
        return share
    if ease == "smooth":
        return np.asarray(share**3 * (10.0 - 15.0 * share + 6.0 * share**2))
    return np.asarray(np.where(share >= 1.0, 1.0, 0.5 - 0.5 * np.cos(np.pi * share)))


def put(pose: Pose, rows: Ints | Bools, changed: Pose) -> Pose:
    """Poses (F,) with some rows exchanged; the others keep their numbers, bit for bit."""
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    translation[rows], rotations[rows] = changed.translation, changed.rotations
    offsets = pose.offsets
    if changed.offsets is not None:
        if offsets is None:
            raise PosableError("these poses have no joint offsets to exchange")
        offsets = offsets.copy()
        offsets[rows] = changed.offsets
    return Pose(translation, rotations, offsets)

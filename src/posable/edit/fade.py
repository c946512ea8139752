"""Fading of a change at one frame over the frames around it (`specs/edit.md`, section 5).

The change of each joint, Delta = log(theta^-1 theta'), is added to the frames around as theta(t) exp(b(t) Delta), b a
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
"""[s]: the largest half-width, some days."""


@dataclass(frozen=True, eq=False)
class Change:
    """The difference of two poses: rotation vectors (..., J, 3) [rad] and the translation of the root (..., 3) [m]."""

    rotations: Floats
    translation: Floats

    @staticmethod
    def between(before: Pose, after: Pose) -> Change:
        """Return the change from one pose to another, joint by joint."""
        rotations = log(multiply(conjugate(before.rotations), after.rotations))
        same = (before.rotations == after.rotations).all(axis=-1, keepdims=True)
        return Change(np.where(same, 0.0, rotations), after.translation - before.translation)

    def added(self, pose: Pose, fractions: Floats) -> Pose:
        """Add fractions (K,) of the change to poses (K,); a joint that does not change keeps its bits."""
        rotated = multiply(pose.rotations, exp(fractions[:, None, None] * self.rotations))
        moves = (fractions[:, None, None] * self.rotations != 0.0).any(axis=-1, keepdims=True)
        rotations = np.where(moves, rotated, pose.rotations)
        return Pose(pose.translation + fractions[:, None] * self.translation, rotations, pose.offsets)


def check_spread(spread: float) -> float:
    """Return a half-width [s]; raises where it is negative, not finite or too long."""
    if not 0.0 <= number(spread) <= LONGEST:
        raise PosableError(f"spread is {spread}; expected seconds, from 0 to {LONGEST:.0f}")
    return float(spread)


def check_frames(frames: object, frame: int, count: int) -> tuple[int, int]:
    """Return the first and last frame of a range around a frame, of `count` frames; raises for anything else."""
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
    """Return fractions (F,): 1 at `frame`, falling to 0 on both sides.

    Args:
        count: F.
        fps: frames per second.
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
    fraction = np.clip(1.0 - away, 0.0, 1.0)
    return eased(fraction, ease)


def eased(fraction: Floats, ease: str) -> Floats:
    """Map fractions from 0 to 1 to a curve from 0 to 1."""
    if ease == "linear":
        return fraction
    if ease == "smooth":
        return np.asarray(fraction**3 * (10.0 - 15.0 * fraction + 6.0 * fraction**2))
    return np.asarray(np.where(fraction >= 1.0, 1.0, 0.5 - 0.5 * np.cos(np.pi * fraction)))


def put(pose: Pose, rows: Ints | Bools, changed: Pose) -> Pose:
    """Return poses (F,) with some rows exchanged; the others keep their numbers, bit for bit."""
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    translation[rows], rotations[rows] = changed.translation, changed.rotations
    offsets = pose.offsets
    if changed.offsets is not None:
        if offsets is None:
            raise PosableError("these poses have no joint offsets to exchange")
        offsets = offsets.copy()
        offsets[rows] = changed.offsets
    return Pose(translation, rotations, offsets)

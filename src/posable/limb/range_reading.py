"""Reading the examples of a `LimbRange` out of motions of any bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from ..compute import PosableError
from ..compute.types import Floats
from ..skeleton import Motion


def read_motion(body: Any, limb: str, motion: Motion, most: int | None, seed: tuple[int, int]) -> Floats:
    """(F, 6): position, swivel, upper and lower bone of a limb in the frames of a motion."""
    pose = motion.pose
    if most is not None and len(motion) > most:
        pose = pose[np.sort(np.random.default_rng(seed).choice(len(motion), most, replace=False))]
    try:
        whose = body if motion.skeleton is body.skeleton else type(body)(motion.skeleton)
        own = whose.limb(limb, limits=None)
    except PosableError as error:
        raise PosableError(f"motion {motion.name!r}: {error}") from error
    reading = own.read(pose)
    bones = np.broadcast_to([own.upper, own.lower], (len(reading.position), 2))
    return np.column_stack([reading.position, reading.swivel, bones])


def counted(motions: Iterable[Motion]) -> Iterator[tuple[Motion, float]]:
    """Motions with the share of them that is done after each; 0 where nobody knows how many there are."""
    total = len(motions) if isinstance(motions, Sized) else 0
    for i, motion in enumerate(motions):
        yield motion, (i + 1) / total if total else 0.0

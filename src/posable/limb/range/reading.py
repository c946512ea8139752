"""Reading examples of a limb out of motions of any bodies, or out of arrays: for ranges and tables of swivels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np

from ...compute import PosableError, ShapeError, UnknownNameError
from ...compute.arrays import floats
from ...compute.types import ArrayLike, Floats
from ...skeleton import Motion
from ..model import LIMBS

Sources = list[tuple[str, int]]
"""Name and number of poses of each."""


def read_motions(
    body: Any,
    limb: str,
    motions: Motion | Iterable[Motion],
    max_poses: int | None,
    seed: int,
    share: Callable[[float], None],
) -> tuple[Floats, Sources]:
    """(rows (N, 6) of position [m], swivel [rad], upper and lower bone [m]; where they are from); `share`: how far."""
    parts: list[Floats] = []
    sources: Sources = []
    for motion, done in _counted([motions] if isinstance(motions, Motion) else motions):
        parts.append(_read(body, limb, motion, max_poses, (seed, len(parts))))
        sources.append((motion.name or f"motion {len(parts)}", len(parts[-1])))
        share(done)
    return np.concatenate(parts) if parts else np.zeros((0, 6)), sources


def given_rows(name: str, position: ArrayLike, swivel: ArrayLike, upper: ArrayLike, lower: ArrayLike) -> Floats:
    """The same rows (N, 6) of poses that were read already; bones are one, or one for each pose."""
    if name not in LIMBS:
        raise UnknownNameError("limb", name, LIMBS)
    places, turns, shape = batch_of(position, swivel)
    given = [floats(bone, "bones") for bone in (upper, lower)]
    try:
        bones = [np.broadcast_to(bone, shape).reshape(-1) for bone in given]
    except ValueError:
        raise ShapeError(f"bones must be one, or one for each of the {shape} poses") from None
    if not all(np.isfinite(b).all() and (b > 0.0).all() for b in bones):
        raise PosableError("some bones are not longer than 0; expected lengths in metres")
    return np.column_stack([places, turns, *bones])


def batch_of(position: ArrayLike, swivel: ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Rows (N, 3) and (N,), contiguous, and the shape they came in."""
    places, turns = floats(position, "position", 3), floats(swivel, "swivel")
    shape = places.shape[:-1]
    if turns.shape != shape:
        try:
            shape = np.broadcast_shapes(shape, turns.shape)
        except ValueError:
            raise ShapeError(f"positions of shape {places.shape} and swivels of {turns.shape} do not fit") from None
        places, turns = np.broadcast_to(places, (*shape, 3)), np.broadcast_to(turns, shape)
    count = math.prod(shape)
    return np.ascontiguousarray(places.reshape(count, 3)), np.ascontiguousarray(turns.reshape(count)), shape


def _read(body: Any, limb: str, motion: Motion, max_poses: int | None, seed: tuple[int, int]) -> Floats:
    pose = motion.pose
    if max_poses is not None and len(motion) > max_poses:
        pose = pose[np.sort(np.random.default_rng(seed).choice(len(motion), max_poses, replace=False))]
    try:
        whose = body if motion.skeleton is body.skeleton else type(body)(motion.skeleton)
        own = whose.limb(limb, limits=None)
    except PosableError as error:
        raise PosableError(f"motion {motion.name!r}: {error}") from error
    reading = own.read(pose)
    bones = np.broadcast_to([own.upper, own.lower], (len(reading.position), 2))
    return np.column_stack([reading.position, reading.swivel, bones])


def _counted(motions: Iterable[Motion]) -> Iterator[tuple[Motion, float]]:
    """Motions with the share of them that is done after each; 0 where nobody knows how many there are."""
    total = len(motions) if isinstance(motions, Sized) else 0
    for i, motion in enumerate(motions):
        yield motion, (i + 1) / total if total else 0.0

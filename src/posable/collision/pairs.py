"""Which pairs of a body's own volumes are worth testing.

Neighbours always touch: an upper arm grows out of a chest. Other pairs never meet: an ear and a heel. Both are left
out, the first because they would always cry wolf, the second because they cost time. Which they are is learned: from
who carries whom, from a pose that is known to be free of collisions, and from many poses inside the limits.
"""

from __future__ import annotations

import numpy as np

from ..compute import batch, prange
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton.forward import quat_at, vec_at
from .kernels import overlaps
from .placing import volume_obstacles

ALWAYS = 0.8
"""A pair that touches in a larger share of all poses than this is left out."""

FEELER = 0.02
"""[m] A pair that never comes nearer than this in all poses is left out."""


def neighbours(volumes: Records, parents: Ints) -> Bools:
    """(V, V) whether two volumes are on one joint, or one on the nearest joint above the other that carries any."""
    carrying = set(volumes["joint"].tolist())
    above: dict[int, int] = {}
    for joint in carrying:
        over = int(parents[joint])
        while over >= 0 and over not in carrying:
            over = int(parents[over])
        above[joint] = over
    joints = volumes["joint"]
    up = np.array([above[int(j)] for j in joints], dtype=np.int64)
    same = joints[:, None] == joints[None, :]
    return np.asarray(same | (up[:, None] == joints[None, :]) | (joints[:, None] == up[None, :]))


def touch_shares(wanted: Bools, volumes: Records, positions: Floats, orientations: Floats, margin: float) -> Floats:
    """(V, V) the share of poses in which two volumes come nearer than `margin` [m]; 0 for pairs not wanted.

    Args:
        wanted: (V, V) symmetric: the pairs to look at.
        volumes: (V,) rows of `volumes.PACKED`.
        positions: (N, J, 3) places of the joints in N poses [m].
        orientations: (N, J, 4).
        margin: see `kernels.overlaps`.
    """
    count, poses = len(volumes), len(positions)
    origin, frame = np.zeros((poses, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (poses, 1))
    placed = volume_obstacles(volumes, positions, orientations, origin, frame)
    one, other = np.nonzero(np.triu(wanted, 1))
    pairs = np.stack([one, other], axis=-1).astype(np.int64)
    counts = np.zeros(len(pairs), np.int64)
    pair_rows(len(pairs), pairs, volumes, positions, orientations, placed, margin, counts)
    shares = np.zeros((count, count))
    shares[one, other] = shares[other, one] = counts / max(poses, 1)
    return shares


def pairs_to_test(
    candidates: Bools, volumes: Records, free: tuple[Floats, Floats], poses: tuple[Floats, Floats], soft: float
) -> Bools:
    """(V, V) symmetric: which pairs are worth testing.

    Args:
        candidates: (V, V) symmetric: pairs that are not neighbours.
        volumes: (V,) rows of `volumes.PACKED`.
        free: positions (N, J, 3) and orientations (N, J, 4) of poses without collisions: pairs that touch in one of
            them are left out.
        poses: the same of many poses: pairs that touch in nearly all, or never come near, are left out.
        soft: how far two may sink into each other before that counts [m].
    """
    wanted = candidates & (touch_shares(candidates, volumes, *free, -soft) == 0.0)
    wanted &= touch_shares(wanted, volumes, *poses, FEELER) > 0.0
    return np.asarray(wanted & (touch_shares(wanted, volumes, *poses, -soft) <= ALWAYS))


@batch(rows=64)
def pair_rows(
    n: int,
    pairs: Ints,
    volumes: Records,
    positions: Floats,
    orientations: Floats,
    placed: Records,
    margin: float,
    counts: Ints,
) -> None:
    """Row i: in how many poses the two volumes of pair i come nearer than the margin."""
    for i in prange(n):
        one, other = pairs[i, 0], pairs[i, 1]
        joint = volumes[one]["joint"]
        for k in range(positions.shape[0]):
            p, q = vec_at(positions, k, joint), quat_at(orientations, k, joint)
            if overlaps(volumes[one], p, q, placed[k, other], margin):
                counts[i] += 1


@batch(rows=64)
def self_touching_rows(
    n: int, pairs: Ints, volumes: Records, positions: Floats, orientations: Floats, placed: Records, out: Bools
) -> None:
    """Row i: which pairs (P,) of volumes sink into each other further than they may, in pose i."""
    for i in prange(n):
        for k in range(pairs.shape[0]):
            one, other = pairs[k, 0], pairs[k, 1]
            joint = volumes[one]["joint"]
            p, q = vec_at(positions, i, joint), quat_at(orientations, i, joint)
            out[i, k] = overlaps(volumes[one], p, q, placed[i, other], 0.0)

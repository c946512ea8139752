"""Which pairs of a body's own volumes are worth testing.

Neighbours always touch: an upper arm grows out of a chest. Other pairs never meet: an ear and a heel. Both are left
out, the first because they would always report a collision, the second because they cost time. Which they are is
learned: from the hierarchy, from a pose that is known to be free of collisions, and from many poses inside the limits.

Few hundred poses never bring two palms together, though they can meet. But limits are those of single joints: from the
last joint that carries both volumes on, each may be as in any of the poses. So every posture of the one is tested with
every posture of the other, seen from that joint: a few hundred poses make a hundred thousand.
"""

from __future__ import annotations

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton.forward import quat_at, vec_at
from .kernels import overlaps, shape_of, shapes_gap
from .transforms import volume_obstacles

ALWAYS = 0.8
"""A pair that touches in a larger fraction of all poses than this is left out."""

FEELER = 0.014
"""Of a body's height (`Humanoid.joint_height`, without head and feet): a pair that never comes nearer is left out."""


def neighbours(volumes: Records, parents: Ints) -> Bools:
    """Return (V, V) whether two volumes are on one joint, or one on the next joint with volumes above the other."""
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


def touch_fractions(
    candidates: Bools, volumes: Records, positions: Floats, orientations: Floats, margin: float
) -> Floats:
    """Return (V, V) the fraction of poses in which two volumes come nearer than `margin` [m]; 0 for other pairs.

    Args:
        candidates: (V, V) symmetric: the pairs to test.
        volumes: (V,) rows of `volumes.PACKED`.
        positions: (N, J, 3) of the joints in N poses [m].
        orientations: (N, J, 4).
        margin: see `kernels.overlaps`.
    """
    count, poses = len(volumes), len(positions)
    origin, frame = np.zeros((poses, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (poses, 1))
    placed = volume_obstacles(volumes, positions, orientations, origin, frame)
    one, other = np.nonzero(np.triu(candidates, 1))
    pairs = np.stack([one, other], axis=-1).astype(np.int64)
    counts = np.zeros(len(pairs), np.int64)
    pair_rows(len(pairs), pairs, volumes, positions, orientations, placed, margin, counts)
    fractions = np.zeros((count, count))
    fractions[one, other] = fractions[other, one] = counts / max(poses, 1)
    return fractions


def pairs_that_meet(
    candidates: Bools, volumes: Records, parents: Ints, positions: Floats, orientations: Floats, margin: float
) -> Bools:
    """Return (V, V) which of the pairs come nearer than `margin` [m] when each of the two is as in any of the poses.

    Args:
        candidates: (V, V) symmetric: the pairs to test.
        volumes: (V,) rows of `volumes.PACKED`.
        parents: (J,) of the joints.
        positions: (N, J, 3) of the joints in N poses [m].
        orientations: (N, J, 4).
        margin: how near.
    """
    one, other = np.nonzero(np.triu(candidates, 1))
    joints = volumes["joint"]
    paths = {int(j): _path(parents, int(j)) for j in np.unique(joints)}
    forks = np.array([_fork(paths[int(joints[a])], paths[int(joints[b])]) for a, b in zip(one, other, strict=True)])
    poses = len(positions)
    met = np.zeros(len(one), np.bool_)
    for fork in np.unique(forks):  # one at a time: all of them together would be a hundred megabytes
        here = np.flatnonzero(forks == fork)
        placed = volume_obstacles(volumes, positions, orientations, positions[:, fork], orientations[:, fork])
        both = np.stack([one[here], other[here]], axis=-1)
        # What the fork itself carries is always at the same position there: one of the poses is enough.
        several = np.where(joints[both] == fork, 1, poses)
        found = np.zeros(len(here), np.bool_)
        meeting_rows(len(here), np.concatenate([both, several], axis=-1).astype(np.int64), placed, margin, found)
        met[here] = found
    out = np.zeros((len(volumes), len(volumes)), np.bool_)
    out[one, other] = out[other, one] = met
    return out


def _path(parents: Ints, joint: int) -> list[int]:
    """Return the path from the root to the joint."""
    path = [joint]
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return path[::-1]


def _fork(one: list[int], other: list[int]) -> int:
    """Return the last joint that two paths have in common."""
    return [a for a, b in zip(one, other, strict=False) if a == b][-1]


def pairs_to_test(
    candidates: Bools,
    volumes: Records,
    parents: Ints,
    free: tuple[Floats, Floats],
    poses: tuple[Floats, Floats],
    softness: float,
    feeler: float,
) -> Bools:
    """Return (V, V) symmetric: which pairs are worth testing.

    Args:
        candidates: (V, V) symmetric: pairs that are not neighbours.
        volumes: (V,) rows of `volumes.PACKED`.
        parents: (J,) of the joints.
        free: positions (N, J, 3) and orientations (N, J, 4) of poses without collisions: pairs that touch in one of
            them are left out.
        poses: the same of many poses: pairs that touch in nearly all, or can never come near, are left out.
        softness: how far two may sink into each other before that counts [m].
        feeler: how near is near [m].
    """
    apart = candidates & (touch_fractions(candidates, volumes, *free, -softness) == 0.0)
    apart &= pairs_that_meet(apart, volumes, parents, *poses, feeler)
    return np.asarray(apart & (touch_fractions(apart, volumes, *poses, -softness) <= ALWAYS))


@batch(rows=64)
def meeting_rows(n: int, pairs: Ints, placed: Records, margin: float, out: Bools) -> None:
    """Fill `out` (P,): whether the volumes of pair i come nearer than `margin` [m] in any two of their poses.

    `pairs` (P, 4): both volumes, and the number of poses of each that are tried; `placed` (N, V) rows of `OBSTACLE`.
    """
    for i in prange(n):
        out[i] = meet(pairs[i, 0], pairs[i, 1], pairs[i, 2], pairs[i, 3], placed, margin)


@kernel
def meet(one: int, other: int, poses_one: int, poses_other: int, placed: Records, margin: float) -> bool:
    """Return whether two volumes come nearer than `margin` [m], in any two of `placed` (N, V)."""
    for a in range(poses_one):
        p = placed[a, one]
        x, y, z = p["px"] + p["ex"], p["py"] + p["ey"], p["pz"] + p["ez"]
        for b in range(poses_other):
            q = placed[b, other]
            dx, dy, dz = x - q["px"] - q["ex"], y - q["py"] - q["ey"], z - q["pz"] - q["ez"]
            near = 2.0 * (p["bound"] + q["bound"] + margin)  # twice: sums of two centres are twice their middle
            if dx * dx + dy * dy + dz * dz <= near * near:
                away, _ = shapes_gap(shape_of(p), shape_of(q), margin)
                if away < margin:
                    return True
    return False


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
    """Fill `counts` (P,): in how many poses the two volumes of pair i come nearer than the margin."""
    for i in prange(n):
        one, other = pairs[i, 0], pairs[i, 1]
        joint = volumes[one]["joint"]
        for k in range(positions.shape[0]):
            p, q = vec_at(positions, k, joint), quat_at(orientations, k, joint)
            if overlaps(volumes[one], p, q, placed[k, other], margin):
                counts[i] += 1

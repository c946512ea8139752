"""Whether a whole body touches itself or the obstacles around it, how deep, and which of its pairs are worth testing.

Possible contacts are numbered: first the pairs of the body's own volumes, then each volume of `outside` against each
obstacle. Choosing the pairs and `outside` beforehand chooses which parts count (`body.collision.clearance` does, by
limbs); `allowed_contacts` leaves out single contacts of a row, such as those that touched from the start. A ball around
each volume is placed once for each pose, in a scratch array; most contacts end with the distance of two balls.

Neighbours always touch (an upper arm grows out of a chest) and other pairs never meet (an ear and a heel). Both are
left out by `pairs_to_test`, the first because they would always report a collision, the second because they cost time.
Which they are is learned: from the hierarchy, from a pose that is known to be free of collisions, and from many poses
inside the limits. Few hundred poses never bring two palms together, though they can meet. But limits are those of
single joints: from the last joint that carries both volumes on, each may be as in any of the poses. So every posture of
the one is tested with every posture of the other, seen from that joint: a few hundred poses make a hundred thousand.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Ints, Records
from ..math.quaternion import rotate
from ..skeleton.forward import quat_at, vec_at
from .kernels import apart, overlaps, placed, placed_ball_far, shape_of, shapes_gap, volume_obstacles
from .surfaces import Shape

ALWAYS = 0.8
"""A pair that touches in a larger fraction of all poses than this is left out."""
FEELER = 0.014
"""Of a body's height (`Humanoid.joint_height`, without head and feet): a pair that never comes nearer is left out."""


@kernel
def body_touching(
    i: int,
    volumes: Records,
    pairs: Ints,
    outside: Ints,
    positions: Floats,
    orientations: Floats,
    obstacles: Records,
    margin: float,
    softness: float,
    allowed_contacts: Bools,
    balls: Floats,
    noting: bool,
) -> int:
    """Return the first contact of pose i that is nearer than allowed, or -1.

    Args:
        i: which pose.
        volumes: (V,) rows of `volumes.PACKED`.
        pairs: (P, 2) volumes that must keep apart.
        outside: (K,) volumes that must keep out of the obstacles.
        positions: (N, J, 3) of the joints in the world [m].
        orientations: (N, J, 4).
        obstacles: (O,) rows of `OBSTACLE` in the world.
        margin: how near is too near [m].
        softness: how far two volumes of the body may sink into each other before that counts [m].
        allowed_contacts: (N, P + K O) contacts that do not count; without columns all do.
        balls: (N, V, 4) scratch.
        noting: fill row i of `allowed_contacts` with all contacts of the pose instead, and return -1.
    """
    place_balls(i, volumes, positions, orientations, balls)
    own, count = pairs.shape[0], obstacles.shape[0]
    some = allowed_contacts.shape[1] > 0
    for k in range(own + outside.shape[0] * count):
        one, near = 0, margin - softness
        if k < own:
            one = pairs[k, 0]
            far = not balls_near(balls, i, one, pairs[k, 1], near)
        else:
            obstacle = obstacles[(k - own) % count]
            one, near = outside[(k - own) // count], margin - obstacle["softness"]
            far = placed_ball_far(vec_at(balls, i, one), balls[i, one, 3] + near, obstacle)
        if noting:
            allowed_contacts[i, k] = False
        if far or (some and allowed_contacts[i, k]):
            continue
        other = (
            shape_of(obstacles[(k - own) % count])
            if k >= own
            else placed_at(i, volumes[pairs[k, 1]], positions, orientations)
        )
        gap, _ = shapes_gap(placed_at(i, volumes[one], positions, orientations), other, near)
        if gap < near:
            if not noting:
                return k
            allowed_contacts[i, k] = True
    return -1


@kernel
def placed_at(i: int, volume: Any, positions: Floats, orientations: Floats) -> Shape:
    """Return a volume at its joint in pose i."""
    return placed(volume, vec_at(positions, i, volume["joint"]), quat_at(orientations, i, volume["joint"]))


@kernel
def body_depth(
    i: int,
    volumes: Records,
    pairs: Ints,
    outside: Ints,
    positions: Floats,
    orientations: Floats,
    obstacles: Records,
    reach: float,
    softness: float,
    allowed_contacts: Bools,
    balls: Floats,
) -> tuple[float, int]:
    """Return (how much too near the worst contact of pose i is [m], which one); see `body_touching`.

    Above 0: how far it is sunk in, less what flesh yields (`kernels.gap`: of the deepest balls, not always the
    separation). Below: the distance of the nearest, negative. Nothing nearer than `reach` [m]: -reach and -1. So it
    grows continuously as a body comes near, touches and sinks in.
    """
    place_balls(i, volumes, positions, orientations, balls)
    some = allowed_contacts.shape[1] > 0
    smallest, worst = reach, -1
    for k in range(pairs.shape[0]):
        one, other, near = pairs[k, 0], pairs[k, 1], smallest - softness
        if balls_near(balls, i, one, other, near) and not (some and allowed_contacts[i, k]):
            moved = placed_at(i, volumes[other], positions, orientations)
            gap, _ = shapes_gap(placed_at(i, volumes[one], positions, orientations), moved, math.nan)
            if gap < near:
                smallest, worst = gap + softness, k
    count = obstacles.shape[0]
    for k in range(outside.shape[0] * count):
        if not (some and allowed_contacts[i, pairs.shape[0] + k]):
            obstacle, v = obstacles[k % count], outside[k // count]
            near = smallest - obstacle["softness"]
            if placed_ball_far(vec_at(balls, i, v), balls[i, v, 3] + near, obstacle):
                continue
            gap, _ = shapes_gap(placed_at(i, volumes[v], positions, orientations), shape_of(obstacle), math.nan)
            if gap < near:
                smallest, worst = gap + obstacle["softness"], pairs.shape[0] + k
    return -smallest, worst


@kernel
def place_balls(i: int, volumes: Records, positions: Floats, orientations: Floats, balls: Floats) -> None:
    """Fill row i of `balls` (N, V, 4): the middles of all volumes in the world, and radii of balls around them."""
    for v in range(volumes.shape[0]):
        start, end, j = volumes[v]["start"], volumes[v]["end"], volumes[v]["joint"]
        middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]), 0.5 * (start[2] + end[2]))
        c = rotate(quat_at(orientations, i, j), middle)
        for k in range(3):
            balls[i, v, k] = positions[i, j, k] + c[k]
        balls[i, v, 3] = volumes[v]["bound"]


@kernel
def balls_near(balls: Floats, i: int, one: int, other: int, margin: float) -> bool:
    """Return whether the balls of two volumes come nearer than `margin` [m].

    Small, so that it is compiled into its callers: a call with all those arrays would cost more than the test.
    """
    x = balls[i, one, 0] - balls[i, other, 0]
    y = balls[i, one, 1] - balls[i, other, 1]
    z = balls[i, one, 2] - balls[i, other, 2]
    near = balls[i, one, 3] + balls[i, other, 3] + margin
    return bool(near > 0.0 and x * x + y * y + z * z < near * near)


@batch(rows=64)
def body_touching_rows(
    n: int,
    volumes: Records,
    pairs: Ints,
    outside: Ints,
    positions: Floats,
    orientations: Floats,
    obstacles: Records,
    margin: float,
    softness: float,
    allowed: Bools,
    balls: Floats,
    noting: bool,
    out: Ints,
) -> None:
    """Fill `out` (N,), or the contacts `allowed` where `noting`, with `body_touching` of a batch."""
    for i in prange(n):
        out[i] = body_touching(
            i, volumes, pairs, outside, positions, orientations, obstacles, margin, softness, allowed, balls, noting
        )


@batch(rows=64)
def body_depth_rows(
    n: int,
    volumes: Records,
    pairs: Ints,
    outside: Ints,
    positions: Floats,
    orientations: Floats,
    obstacles: Records,
    reach: float,
    softness: float,
    allowed_contacts: Bools,
    balls: Floats,
    depth: Floats,
    contact: Ints,
) -> None:
    """Fill `depth` and `contact` (N,) with `body_depth` of a batch."""
    for i in prange(n):
        depth[i], contact[i] = body_depth(
            i, volumes, pairs, outside, positions, orientations, obstacles, reach, softness, allowed_contacts, balls
        )


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
        sums = [placed[f"p{axis}"] + placed[f"e{axis}"] for axis in "xyz"]
        centres = np.ascontiguousarray(np.stack(sums, axis=-1).swapaxes(0, 1))
        both = np.stack([one[here], other[here]], axis=-1)
        # A volume of the fork itself is always at the same position there: one of the poses is enough.
        several = np.where(joints[both] == fork, 1, poses)
        found = np.zeros(len(here), np.bool_)
        tasks = np.concatenate([both, several], axis=-1).astype(np.int64)
        meeting_rows(len(here), tasks, centres, placed, margin, found)
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
def meeting_rows(n: int, pairs: Ints, centres: Floats, placed: Records, margin: float, out: Bools) -> None:
    """Fill `out` (P,): whether the volumes of pair i come nearer than `margin` [m] in any two of their poses.

    `pairs` (P, 4): both volumes, and the number of poses of each that are tried; `placed` (N, V) rows of `OBSTACLE`;
    `centres` (V, N, 3): twice their middles, those of a volume side by side, since most are only compared by these.
    """
    for i in prange(n):
        out[i] = meet(pairs[i, 0], pairs[i, 1], pairs[i, 2], pairs[i, 3], centres, placed, margin)


@kernel
def meet(
    one: int, other: int, poses_one: int, poses_other: int, centres: Floats, placed: Records, margin: float
) -> bool:
    """Return whether two volumes come nearer than `margin` [m], in any two of `placed` (N, V)."""
    near = 2.0 * (placed[0, one]["bound"] + placed[0, other]["bound"] + margin)
    for a in range(poses_one):
        x, y, z = vec_at(centres, one, a)
        for b in range(poses_other):
            dx, dy, dz = x - centres[other, b, 0], y - centres[other, b, 1], z - centres[other, b, 2]
            if dx * dx + dy * dy + dz * dz <= near * near:
                first, second = shape_of(placed[a, one]), shape_of(placed[b, other])
                if not apart(first, second, margin):
                    away, _ = shapes_gap(first, second, margin)
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

"""Whether a whole body touches itself or the obstacles around it, and how deep: for one pose, inside kernels.

Possible contacts are numbered: first the pairs of the body's own volumes, then each volume of `outside`
against each obstacle. Choosing the pairs and `outside` beforehand chooses which parts count (`body.clearance`
does, by limbs); `allowed_contacts` leaves out single contacts a row, such as what touched from the start.

A ball around each volume is placed once a pose, in a scratch array; most contacts end with the distance of two balls.
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Ints, Records
from ..math.quaternion import rotate
from ..skeleton.forward import quat_at, vec_at
from .kernels import placed, placed_ball_far, shape_of, shapes_gap
from .surfaces import Shape


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
    allowed_contacts: Bools,
    balls: Floats,
    out: Ints,
) -> None:
    """Fill `out` (N,) with `body_touching` of a batch."""
    for i in prange(n):
        out[i] = body_touching(
            i,
            volumes,
            pairs,
            outside,
            positions,
            orientations,
            obstacles,
            margin,
            softness,
            allowed_contacts,
            balls,
            False,
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


@batch(rows=64)
def body_contacts_rows(
    n: int,
    volumes: Records,
    pairs: Ints,
    outside: Ints,
    positions: Floats,
    orientations: Floats,
    obstacles: Records,
    margin: float,
    softness: float,
    balls: Floats,
    out: Bools,
) -> None:
    """Fill `out` (N, P + K O): which contacts are nearer than allowed; see `body_touching`."""
    for i in prange(n):
        body_touching(
            i, volumes, pairs, outside, positions, orientations, obstacles, margin, softness, out, balls, True
        )

"""Whether a whole body touches itself or what is around it, and how deep: for one pose, inside kernels.

What may touch is a list of contacts, numbered: first the pairs of the body's own volumes, then each volume of `outside`
against each obstacle. Choosing the pairs and `outside` beforehand chooses which parts count (`body.clearance`
does, by limbs); `spared` leaves out single contacts a row, such as what touched from the start.

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
    spared: Bools,
    balls: Floats,
    noting: bool,
) -> int:
    """The first contact of pose i that is nearer than it may be, or -1.

    Args:
        i: which pose.
        volumes: (V,) rows of `volumes.PACKED`.
        pairs: (P, 2) volumes that must keep apart.
        outside: (K,) volumes that must keep out of the obstacles.
        positions: (N, J, 3) places of the joints in the world [m].
        orientations: (N, J, 4).
        obstacles: (O,) rows of `OBSTACLE` in the world.
        margin: how near is too near [m].
        softness: how far two volumes of the body may sink into each other before that counts [m].
        spared: (N, P + K O) contacts that do not count; without columns all do.
        balls: (N, V, 4) scratch.
        noting: fill row i of `spared` with all contacts of the pose instead, and return -1.
    """
    place_balls(i, volumes, positions, orientations, balls)
    own, count = pairs.shape[0], obstacles.shape[0]
    some = spared.shape[1] > 0
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
            spared[i, k] = False
        if far or (some and spared[i, k]):
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
            spared[i, k] = True
    return -1


@kernel
def placed_at(i: int, volume: Any, positions: Floats, orientations: Floats) -> Shape:
    """A volume where pose i has its joint."""
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
    spared: Bools,
    balls: Floats,
) -> tuple[float, int]:
    """(how much too near the worst contact of pose i is [m], which one); see `body_touching`.

    Above 0: how far it is sunk in, less what flesh yields (`kernels.gap`: of the deepest balls, not always the way
    out). Below: the distance of the nearest, negative. Nothing nearer than `reach` [m]: -reach and -1. So it grows
    evenly as a body comes near, touches and sinks in.
    """
    place_balls(i, volumes, positions, orientations, balls)
    some = spared.shape[1] > 0
    least, worst = reach, -1
    for k in range(pairs.shape[0]):
        one, other, near = pairs[k, 0], pairs[k, 1], least - softness
        if balls_near(balls, i, one, other, near) and not (some and spared[i, k]):
            gap = pair_gap(i, one, other, volumes, positions, orientations, math.nan)
            if gap < near:
                least, worst = gap + softness, k
    count = obstacles.shape[0]
    for k in range(outside.shape[0] * count):
        if not (some and spared[i, pairs.shape[0] + k]):
            obstacle, v = obstacles[k % count], outside[k // count]
            near = least - obstacle["softness"]
            if placed_ball_far(vec_at(balls, i, v), balls[i, v, 3] + near, obstacle):
                continue
            gap = outside_gap(i, v, volumes, positions, orientations, obstacle, math.nan)
            if gap < near:
                least, worst = gap + obstacle["softness"], pairs.shape[0] + k
    return -least, worst


@kernel
def place_balls(i: int, volumes: Records, positions: Floats, orientations: Floats, balls: Floats) -> None:
    """Row i of `balls` (N, V, 4): the middles of all volumes in the world, and the radii of balls that hold them."""
    for v in range(volumes.shape[0]):
        start, end, j = volumes[v]["start"], volumes[v]["end"], volumes[v]["joint"]
        middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]), 0.5 * (start[2] + end[2]))
        c = rotate(quat_at(orientations, i, j), middle)
        for k in range(3):
            balls[i, v, k] = positions[i, j, k] + c[k]
        balls[i, v, 3] = volumes[v]["bound"]


@kernel
def balls_near(balls: Floats, i: int, one: int, other: int, margin: float) -> bool:
    """Whether the balls of two volumes come nearer than `margin` [m]. Small, so that it is compiled into its callers:
    a call with all those arrays would cost more than the test.
    """
    x = balls[i, one, 0] - balls[i, other, 0]
    y = balls[i, one, 1] - balls[i, other, 1]
    z = balls[i, one, 2] - balls[i, other, 2]
    near = balls[i, one, 3] + balls[i, other, 3] + margin
    return bool(near > 0.0 and x * x + y * y + z * z < near * near)


@kernel
def pair_gap(
    i: int, one: int, other: int, volumes: Records, positions: Floats, orientations: Floats, stop: float
) -> float:
    """The distance of two volumes in pose i [m]: below zero sunk in. Right where it is below `stop`; elsewhere it is
    only told that it is not. NaN: right everywhere.
    """
    a, b = volumes[one]["joint"], volumes[other]["joint"]
    gap, _ = shapes_gap(
        placed(volumes[one], vec_at(positions, i, a), quat_at(orientations, i, a)),
        placed(volumes[other], vec_at(positions, i, b), quat_at(orientations, i, b)),
        stop,
    )
    return gap


@kernel
def outside_gap(
    i: int,
    v: int,
    volumes: Records,
    positions: Floats,
    orientations: Floats,
    obstacle: Any,
    stop: float,
) -> float:
    """The distance of a volume in pose i to an obstacle [m]; `stop` as of `pair_gap`."""
    j = volumes[v]["joint"]
    gap, _ = shapes_gap(
        placed(volumes[v], vec_at(positions, i, j), quat_at(orientations, i, j)), shape_of(obstacle), stop
    )
    return gap


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
    spared: Bools,
    balls: Floats,
    out: Ints,
) -> None:
    """`body_touching` over a batch."""
    for i in prange(n):
        out[i] = body_touching(
            i, volumes, pairs, outside, positions, orientations, obstacles, margin, softness, spared, balls, False
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
    spared: Bools,
    balls: Floats,
    depth: Floats,
    contact: Ints,
) -> None:
    """`body_depth` over a batch."""
    for i in prange(n):
        depth[i], contact[i] = body_depth(
            i, volumes, pairs, outside, positions, orientations, obstacles, reach, softness, spared, balls
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
    """Row i of `out` (N, P + K O): which contacts are nearer than they may be; see `body_touching`."""
    for i in prange(n):
        body_touching(
            i, volumes, pairs, outside, positions, orientations, obstacles, margin, softness, out, balls, True
        )

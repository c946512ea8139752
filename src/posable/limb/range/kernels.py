"""Kernels of `LimbRange` that judge: is a limb's pose one that people take, and how far from the edge?

A direction from the base joint to the end falls into a triangle of the sphere (`range_locate`); the triangle says
whether people reach there, and its corners between which distances and swivels (Mukai, 2.2; specification limb-range,
section 3). `range_correct` brings what is outside back.
"""

from __future__ import annotations

import math

from ...compute import batch, kernel, prange
from ...compute.types import Bools, Floats, Ints, Records, Vec3
from ...math.angles import wrap_angle_modulo
from ...math.vector import norm
from .locate import (
    ANY_SWIVEL,
    CLOSED,
    EXACT,
    STRAIGHT,
    bend_radius,
    corner_weights,
    direction_of,
    locate,
    nearest_edge,
    spans,
)


@kernel
def contains_one(
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    position: Vec3,
    swivel: float,
    judged: bool,
) -> bool:
    """Whether a limb's end may be at `position` [m] with this swivel [rad], which counts only when `judged`."""
    distance = norm(position)
    if not (math.isfinite(distance) and (math.isfinite(swivel) or not judged)):
        return False
    if head[0]["on"] == 0:
        return True
    n = direction_of(head, position, distance)
    face, w = locate(head, points, faces, index, n)
    if faces[face]["valid"] == 0:
        edge, away, p = nearest_edge(head, edges, index, face, n)
        if away > CLOSED:
            return False
        face, w = edges[edge]["face"], corner_weights(points, faces, edges[edge]["face"], p)
    reach = distance / (head[0]["upper"] + head[0]["lower"])
    low, high, mid, half = spans(points, faces, face, w)
    if reach < low - EXACT or reach > high + EXACT:
        return False
    straight = bend_radius(head, reach) < STRAIGHT
    return not judged or straight or half >= ANY_SWIVEL or abs(wrap_angle_modulo(swivel - mid)) <= half + EXACT


@kernel
def margins_one(
    head: Records, points: Records, faces: Records, edges: Records, index: Ints, position: Vec3, swivel: float
) -> Vec3:
    """(direction [rad], distance [m], swivel [rad]): how far inside, negative outside; pi where nothing limits it.

    Outside the region, distance and swivel are judged as at its nearest point.
    """
    distance = norm(position)
    if not (math.isfinite(distance) and math.isfinite(swivel)):
        return (-math.inf, -math.inf, -math.inf)
    if head[0]["on"] == 0:
        return (math.pi, math.inf, math.pi)
    length = head[0]["upper"] + head[0]["lower"]
    n = direction_of(head, position, distance)
    inside, face, w = _nearest_inside(head, points, faces, edges, index, n)
    low, high, mid, half = spans(points, faces, face, w)
    reach = distance / length
    turn = math.pi
    if bend_radius(head, reach) >= STRAIGHT and half < ANY_SWIVEL:
        turn = half - abs(wrap_angle_modulo(swivel - mid))
    return (inside, min(reach - low, high - reach) * length, turn)


@kernel
def _nearest_inside(
    head: Records, points: Records, faces: Records, edges: Records, index: Ints, n: Vec3
) -> tuple[float, int, Vec3]:
    """(angle to the boundary [rad], negative outside, pi without one; the nearest triangle of the range, weights)."""
    face, w = locate(head, points, faces, index, n)
    if edges.shape[0] == 0:
        return math.pi, face, w
    edge, away, p = nearest_edge(head, edges, index, face, n)
    if faces[face]["valid"] != 0:
        return away, face, w
    owner = edges[edge]["face"]
    return -away, owner, corner_weights(points, faces, owner, p)


@batch(rows=2048)
def contains_rows(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    positions: Floats,
    swivels: Floats,
    judged: bool,
    out: Bools,
) -> None:
    """`contains_one` over a batch of positions (N, 3) and swivels (N,)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i] = contains_one(head, points, faces, edges, index, p, swivels[i], judged)


@batch(rows=2048)
def margins_rows(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    positions: Floats,
    swivels: Floats,
    out: Floats,
) -> None:
    """`margins_one` over a batch: out (N, 3)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        told = margins_one(head, points, faces, edges, index, p, swivels[i])
        for k in range(3):
            out[i, k] = told[k]


@batch(rows=2048)
def spans_rows(
    n: int, head: Records, points: Records, faces: Records, edges: Records, index: Ints, toward: Floats, out: Floats
) -> None:
    """What the range says of directions (N, 3): out (N, 5) margin [rad], least and largest distance, middle, half."""
    for i in prange(n):
        d = direction_of(head, (toward[i, 0], toward[i, 1], toward[i, 2]), math.inf)
        inside, face, w = _nearest_inside(head, points, faces, edges, index, d)
        out[i, 0] = inside
        out[i, 1], out[i, 2], out[i, 3], out[i, 4] = spans(points, faces, face, w)

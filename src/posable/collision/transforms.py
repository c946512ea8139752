"""Obstacles from one frame to another, and body volumes as obstacles for another part of the body."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import conj, mul, rotate_inverse, unit_quat
from ..skeleton.forward import quat_at, vec_at
from .kernels import OBSTACLE, placed, shape_of
from .surfaces import PLANE, Shape


def volume_obstacles(
    volumes: Records, positions: Floats, orientations: Floats, origin: Floats, frame: Floats
) -> Records:
    """Return body volumes as obstacles in a frame: (..., V) rows of `OBSTACLE` with `source` -1 - v.

    Args:
        volumes: (V,) rows of `volumes.PACKED`.
        positions: (..., J, 3) of all joints in the world [m].
        orientations: (..., J, 4).
        origin: (..., 3) position of the frame in the world [m].
        frame: (..., 4) its orientation.
    """
    shape, count = positions.shape[:-2], positions.shape[-2]
    n = math.prod(shape)
    out = np.zeros((n, len(volumes)), OBSTACLE)
    place_rows(
        n, volumes, *_flat(n, (positions, count, 3), (orientations, count, 4), (origin, 1, 3), (frame, 1, 4)), out
    )
    return out.reshape(*shape, len(volumes))


def in_frame(obstacles: Records, origin: Floats, frame: Floats) -> Records:
    """Return obstacles (O,) of the world in a frame, or in each of a batch of frames: (..., O) rows."""
    shape = origin.shape[:-1]
    n = math.prod(shape)
    out = np.empty((n, len(obstacles)), OBSTACLE)
    move_rows(n, obstacles, *_flat(n, (origin, 1, 3), (frame, 1, 4)), out)
    return out.reshape(*shape, len(obstacles))


def _flat(n: int, *arrays: tuple[Floats, int, int]) -> list[Floats]:
    return [np.ascontiguousarray(array, dtype=np.float64).reshape(n, rows, width) for array, rows, width in arrays]


@kernel
def set_shape(row: Any, shape: Shape) -> None:
    """Write a shape into a row of `OBSTACLE`."""
    row["kind"] = shape[0]
    row["px"], row["py"], row["pz"] = shape[1]
    row["ex"], row["ey"], row["ez"] = shape[2]
    row["qw"], row["qx"], row["qy"], row["qz"] = shape[3]
    row["rx"], row["ry"], row["rz"] = shape[4]


@kernel
def seen_from(shape: Shape, origin: Vec3, frame: Quat) -> Shape:
    """Return a shape of the world in a frame."""
    kind, a, b, q, r = shape
    a = rotate_inverse(frame, (a[0] - origin[0], a[1] - origin[1], a[2] - origin[2]))
    if kind == PLANE:
        b = rotate_inverse(frame, b)
    else:
        b = rotate_inverse(frame, (b[0] - origin[0], b[1] - origin[1], b[2] - origin[2]))
    return kind, a, b, unit_quat(mul(conj(frame), q)), r


@batch(rows=512)
def place_rows(
    n: int, volumes: Records, positions: Floats, orientations: Floats, origin: Floats, frame: Floats, out: Records
) -> None:
    """Fill row i: all volumes, carried by the joints of pose i, in frame i."""
    for i in prange(n):
        o, f = vec_at(origin, i, 0), quat_at(frame, i, 0)
        for v in range(volumes.shape[0]):
            joint = volumes[v]["joint"]
            shape = placed(volumes[v], vec_at(positions, i, joint), quat_at(orientations, i, joint))
            set_shape(out[i, v], seen_from(shape, o, f))
            out[i, v]["source"] = -1 - v
            out[i, v]["bound"] = volumes[v]["bound"]


@batch(rows=512)
def move_rows(n: int, obstacles: Records, origin: Floats, frame: Floats, out: Records) -> None:
    """Fill row i: all obstacles in frame i."""
    for i in prange(n):
        o, f = vec_at(origin, i, 0), quat_at(frame, i, 0)
        for k in range(obstacles.shape[0]):
            set_shape(out[i, k], seen_from(shape_of(obstacles[k]), o, f))
            out[i, k]["source"], out[i, k]["spares"] = obstacles[k]["source"], obstacles[k]["spares"]
            out[i, k]["bound"], out[i, k]["softness"] = obstacles[k]["bound"], obstacles[k]["softness"]

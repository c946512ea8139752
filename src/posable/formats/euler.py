"""Euler angles to quaternions and back, in bulk, for the formats that speak in Euler angles.

A sequence such as "ZYX" means R = Rz Ry Rx on column vectors: rotations about the moving axes in the order written, as
the channels of a BVH file do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..compute import PosableError, batch, kernel, prange
from ..compute.types import Bools, Floats, Ints
from ..math.angles import wrapped_angles

_AXES = "XYZ"


def quaternions_from_euler(axes: Sequence[int], angles: Floats) -> Floats:
    """Return the rotations (..., 4) by `angles` (..., n) [rad] about moving `axes`, n numbers of 0 (X) to 2 (Z).

    Any number of axes and any repetition is allowed. Unit quaternions `wxyz`.
    """
    shape = angles.shape[:-1]
    flat = np.ascontiguousarray(angles.reshape(math.prod(shape), len(axes)), dtype=np.float64)
    return compose_rotations(flat, [tuple(axes)], [tuple(range(len(axes)))], 1.0).reshape(*shape, 4)


def compose_rotations(
    values: Floats, axes: Sequence[Sequence[int]], columns: Sequence[Sequence[int]], unit: float
) -> Floats:
    """Return the rotations (F, J, 4) of joints whose angles stand in columns of a table (F, C).

    Joint j rotates about its moving `axes[j]` in order, by the values of `columns[j]`, whose unit is `unit` [rad].
    """
    longest = max(map(len, axes), default=0)
    about = np.full((len(axes), longest), -1, dtype=np.int64)
    taken = np.zeros((len(axes), longest), dtype=np.int64)
    for j, (own, numbers) in enumerate(zip(axes, columns, strict=True)):
        about[j, : len(own)] = own
        taken[j, : len(own)] = numbers
    out = np.empty((len(values), len(axes), 4))
    rotation_rows(len(values), values, about, taken, 0.5 * unit, out)
    return out


def euler_from_quaternions(order: str, rotations: Floats) -> Floats:
    """Angles (F, ..., 3) [rad] about the three different axes of `order`, continuous along the first axis (time).

    Bernardes and Viollet 2022: half sum and half difference of the outer angles are found apart, so that the
    composed rotation stays exact near gimbal lock, where only one of them is determined. There the last angle keeps
    its neighbour's value. Of the two triples that give a rotation the one nearer to the frame before is taken, and
    whole turns are added where that keeps the curve together; a motion that passes through the lock therefore does
    not flip. The first frame has its middle angle in [-pi/2, pi/2], the others in [-pi, pi].
    """
    i, j, k = euler_axes(order)
    handed = 1.0 if (j - i) % 3 == 1 else -1.0
    w, qi, qj, qk = (rotations[..., c] for c in (0, 1 + i, 1 + j, 1 + k))
    # Moving axes i j k: (a, b) points along half of first + handed*last, (c, d) along half of first - handed*last.
    a, b = w + qj, qi + handed * qk
    c, d = w - qj, qi - handed * qk
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    across, along = np.hypot(a, b), np.hypot(c, d)
    middle = 2.0 * np.arctan2(across, along) - np.pi / 2
    first = half_sum + half_difference
    last = handed * (half_sum - half_difference)
    locked = np.minimum(across, along) < 1e-12
    if locked.any():
        carried = _carried(last, locked)
        # Only the well-determined one of half_sum and half_difference counts; the other follows from `carried`.
        sum_counts = along < across
        first = np.where(locked & sum_counts, 2 * half_sum - handed * carried, first)
        first = np.where(locked & ~sum_counts, 2 * half_difference + handed * carried, first)
        last = np.where(locked, carried, last)
    angles = np.stack([first, middle, last], axis=-1)
    return _continuous(angles - 2 * np.pi * np.round(angles / (2 * np.pi)))


def euler_axes(order: str) -> tuple[int, int, int]:
    """The axis numbers of an order such as "ZYX"; three different letters."""
    if sorted(order.upper()) != sorted(_AXES):
        raise PosableError(f"Euler order {order!r}: give one of XYZ, XZY, YXZ, YZX, ZXY, ZYX")
    i, j, k = (_AXES.index(letter) for letter in order.upper())
    return i, j, k


def _carried(values: Floats, missing: Bools) -> Floats:
    """`values` with the missing ones replaced by the last good one before in time, else the first after, else 0."""
    frame = np.arange(len(values)).reshape((-1,) + (1,) * (values.ndim - 1))
    before = np.maximum.accumulate(np.where(missing, -1, frame), axis=0)
    after = np.minimum.accumulate(np.where(missing, len(values), frame)[::-1], axis=0)[::-1]
    source = np.where(before >= 0, before, np.where(after < len(values), after, 0))
    filled: Floats = np.take_along_axis(values, source, axis=0)
    return np.where(missing.all(axis=0), 0.0, filled)


def _continuous(angles: Floats) -> Floats:
    """The equivalent angles that follow the frame before: (a, b, c) or (a + pi, pi - b, c + pi), plus whole turns."""
    if len(angles) < 2:
        return angles
    twin = np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], axis=-1)
    stay = _distance(angles[1:], angles[:-1])
    swap = _distance(twin[1:], angles[:-1])
    # Swapping both frames leaves their distance as it is, so the choice is a running parity.
    odd = np.cumsum(swap < stay - 1e-9, axis=0) % 2 == 1
    chosen = angles.copy()
    chosen[1:] = np.where(odd[..., None], twin[1:], angles[1:])
    unwrapped: Floats = np.unwrap(chosen, axis=0)
    return unwrapped


def _distance(a: Floats, b: Floats) -> Floats:
    """How far two triples are apart, whole turns aside."""
    return np.asarray(np.abs(wrapped_angles(a - b)).sum(axis=-1))


@kernel
def rotation_row(i: int, values: Floats, axes: Ints, columns: Ints, half_unit: float, out: Floats) -> None:
    """Compose the rotations of every joint in row i of a table; an axis below zero ends a joint's list."""
    for j in range(axes.shape[0]):
        w, x, y, z = 1.0, 0.0, 0.0, 0.0
        for k in range(axes.shape[1]):
            axis = axes[j, k]
            if axis < 0:
                break
            half = values[i, columns[j, k]] * half_unit
            c, s = math.cos(half), math.sin(half)
            if axis == 0:
                w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
            elif axis == 1:
                w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
            else:
                w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
        out[i, j, 0], out[i, j, 1], out[i, j, 2], out[i, j, 3] = w, x, y, z


# Compiling a parallel loop takes a second: it pays for hours of motion.
@batch(rows=100_000)
def rotation_rows(n: int, values: Floats, axes: Ints, columns: Ints, half_unit: float, out: Floats) -> None:
    """`rotation_row` over a table."""
    for i in prange(n):
        rotation_row(i, values, axes, columns, half_unit, out)

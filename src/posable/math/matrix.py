"""Rotation matrices and Euler angles as tuples, for use inside kernels and at the doors of file formats."""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat
from .quaternion import mul, unit_quat


@kernel
def quat_from_matrix(m: Floats) -> Quat:
    """The unit quaternion of a 3 x 3 rotation matrix, from its largest component (Shepperd 1978); w >= 0."""
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    if trace > 0.0:
        q = (1.0 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    elif m[0, 0] >= m[1, 1] and m[0, 0] >= m[2, 2]:
        q = (m[2, 1] - m[1, 2], 1.0 + m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0])
    elif m[1, 1] >= m[2, 2]:
        q = (m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1.0 - m[0, 0] + m[1, 1] - m[2, 2], m[1, 2] + m[2, 1])
    else:
        q = (m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1.0 - m[0, 0] - m[1, 1] + m[2, 2])
    w, x, y, z = unit_quat(q)
    if w < 0.0:
        return (-w, -x, -y, -z)
    return (w, x, y, z)


@kernel
def matrix_from_quat(q: Quat, out: Floats) -> None:
    """Fill the 3 x 3 `out` with the rotation matrix of q."""
    w, x, y, z = q
    out[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[0, 1] = 2.0 * (x * y - w * z)
    out[0, 2] = 2.0 * (x * z + w * y)
    out[1, 0] = 2.0 * (x * y + w * z)
    out[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[1, 2] = 2.0 * (y * z - w * x)
    out[2, 0] = 2.0 * (x * z - w * y)
    out[2, 1] = 2.0 * (y * z + w * x)
    out[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def axis_rotation(axis: int, angle: float) -> Quat:
    """The rotation by `angle` [rad] about world axis 0, 1 or 2 (x, y, z)."""
    c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    if axis == 0:
        return (c, s, 0.0, 0.0)
    if axis == 1:
        return (c, 0.0, s, 0.0)
    return (c, 0.0, 0.0, s)


@kernel
def quat_from_euler(i: int, j: int, k: int, a: float, b: float, c: float) -> Quat:
    """R_i(a) R_j(b) R_k(c), angles in radians: the first rotation comes first in the moving frame (intrinsic)."""
    return mul(mul(axis_rotation(i, a), axis_rotation(j, b)), axis_rotation(k, c))

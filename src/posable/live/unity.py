"""Unity's frame, that of VMC and VRChat: left-handed, y up, z ahead; ours is right-handed, mirrored in x.

A position (x, y, z) of ours is (-x, y, z) there; a rotation `wxyz` is (x, -y, -z, w) as `xyzw`. Angles of VRChat are
degrees about x, y and z; their matrix is Y X Z. All of it is its own inverse.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute.extent import EXTENT
from ..compute.types import Floats, Quat, Vec3

MIRROR = np.array([-1.0, 1.0, 1.0])
"""Of positions, from either frame to the other."""
UNITY_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
"""Of rotations `xyzw`, likewise."""
SHORTEST, LONGEST = 1e-3, 1e3
"""Lengths between which four numbers are taken for a rotation."""


def position_from_unity(x: float, y: float, z: float) -> Vec3 | None:
    """Return a position [m] of ours; None for one that is not finite or further than a thousand kilometres."""
    if abs(x) <= EXTENT and abs(y) <= EXTENT and abs(z) <= EXTENT:
        return (-x, y, z)
    return None


def rotation_from_unity(x: float, y: float, z: float, w: float) -> Quat | None:
    """Return a unit rotation `wxyz` of ours from Unity's `xyzw`; None where the four numbers are none."""
    size = math.hypot(x, y, z, w)
    if SHORTEST < size < LONGEST:
        return (w / size, x / size, -y / size, -z / size)
    return None


def rotation_from_degrees(x: float, y: float, z: float) -> Quat | None:
    """Return a rotation of ours from Unity's angles about its axes [degrees], whose matrix is Y X Z."""
    if not max(abs(x), abs(y), abs(z)) <= EXTENT:
        return None
    a, b, c = (math.radians(math.fmod(angle, 360.0)) / 2.0 for angle in (x, y, z))
    sx, cx, sy, cy, sz, cz = math.sin(a), math.cos(a), math.sin(b), math.cos(b), math.sin(c), math.cos(c)
    return rotation_from_unity(
        cy * sx * cz + sy * cx * sz,
        sy * cx * cz - cy * sx * sz,
        cy * cx * sz - sy * sx * cz,
        cy * cx * cz + sy * sx * sz,
    )


def degrees_from_rotation(rotations: Floats) -> Floats:
    """Return Unity's angles (..., 3) about x, y and z [degrees] of rotations (..., 4) of ours."""
    q = np.asarray(rotations)
    w, x, y, z = q[..., 0], q[..., 1], -q[..., 2], -q[..., 3]
    up = np.clip(2.0 * (w * x - y * z), -1.0, 1.0)
    level = np.abs(up) > 1.0 - 1e-9  # looking straight up or down, only the sum of the other two counts
    heading = np.where(
        level,
        np.arctan2(2.0 * (w * y - x * z), 1.0 - 2.0 * (y * y + z * z)),
        np.arctan2(2.0 * (x * z + w * y), 1.0 - 2.0 * (x * x + y * y)),
    )
    roll = np.where(level, 0.0, np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z)))
    angles: Floats = np.degrees(np.stack([np.arcsin(up), heading, roll], axis=-1))
    return angles

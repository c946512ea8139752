"""Judging answers from the answers alone, with plain NumPy that uses no line of the solvers.

A solver says of itself whether it has reached its target. A benchmark that believed it could be won by saying so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.types import Bools, Floats
from ...skeleton import Motion, Pose, Skeleton

__all__ = ["Judged", "apart", "arm_frames", "chain_orientations", "joints_of", "rotated", "times"]


@dataclass(frozen=True)
class Judged:
    """The errors of the answers to all inputs of a case, and which of them have done their job."""

    errors: Floats
    """(N,) how far each is from what was wanted, in `unit`."""
    within: float
    """An answer with at most this error has done its job."""
    unit: str = "m"
    also: Bools | None = None
    """(N,) of what else must be so; None where nothing else."""

    @property
    def done(self) -> Bools:
        """(N,): which answers have done their job. NaN has not."""
        good: Bools = np.asarray(self.errors) <= self.within
        return good if self.also is None else good & self.also

    @property
    def text(self) -> str:
        """Return the demand in words, for a table."""
        return f"within {self.within:g} {self.unit}".rstrip()


def times(p: Floats, q: Floats) -> Floats:
    """Return the product of quaternions wxyz (..., 4)."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    e, f, g, h = np.moveaxis(q, -1, 0)
    scalar = a * e - b * f - c * g - d * h
    vector = (a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e)
    return np.stack([scalar, *vector], axis=-1)


def rotated(q: Floats, v: Floats) -> Floats:
    """Return vectors (..., 3) rotated by quaternions wxyz (..., 4), through their matrices."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
    ]
    found: Floats = np.einsum("...ij,...j->...i", np.stack(rows, axis=-2), v)
    return found


def joints_of(skeleton: Skeleton, pose: Pose | Motion) -> Floats:
    """Return the positions (..., J, 3) [m] of a skeleton's joints in the world."""
    posed = pose.pose if isinstance(pose, Motion) else pose
    local = np.asarray(posed.rotations)
    positions = np.empty((*local.shape[:-1], 3))
    orientations = np.empty(local.shape)
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            positions[..., j, :], orientations[..., j, :] = posed.translation, local[..., j, :]
            continue
        offset = np.broadcast_to(skeleton.offsets[j], positions[..., j, :].shape)
        positions[..., j, :] = positions[..., parent, :] + rotated(orientations[..., parent, :], offset)
        orientations[..., j, :] = times(orientations[..., parent, :], local[..., j, :])
    return positions


def arm_frames(values: Floats, upper: float, lower: float) -> tuple[Floats, Floats]:
    """Return the end (N, 3) [m] of limbs with seven values (N, 7), and its orientation (N, 4) wxyz.

    The values are a swing across the limb, a twist about it, the middle joint's flexion about y, a twist and a swing.
    """
    base = times(_exp(values[:, 0], values[:, 1], 0.0), _exp(0.0, 0.0, values[:, 2]))
    bent = times(base, _exp(0.0, values[:, 3], 0.0))
    along = np.broadcast_to([0.0, 0.0, 1.0], (len(values), 3))
    end = upper * rotated(base, along) + lower * rotated(bent, along)
    return end, times(times(bent, _exp(0.0, 0.0, values[:, 4])), _exp(values[:, 5], values[:, 6], 0.0))


def chain_orientations(axes: str, angles: Floats) -> Floats:
    """Return the orientation (N, 4) of the last of one-axis joints, root first, with angles (N, J) [rad]."""
    found = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(angles), 4))
    for letter, angle in zip(axes, angles.T, strict=True):
        found = times(found, _exp(*(angle if letter == axis else 0.0 * angle for axis in "XYZ")))
    return found


def apart(a: Floats, b: Floats) -> Floats:
    """Return the distances (...) between points, or directions, (..., 3)."""
    found: Floats = np.linalg.norm(np.asarray(a) - np.asarray(b), axis=-1)
    return found


def _exp(x: Floats | float, y: Floats | float, z: Floats | float) -> Floats:
    """Return the quaternions of rotation vectors, by components."""
    vector = np.stack(np.broadcast_arrays(*(np.asarray(one, dtype=np.float64) for one in (x, y, z))), axis=-1)
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(0.5 * angle), 0.5 * np.sinc(angle / (2 * np.pi)) * vector], axis=-1)

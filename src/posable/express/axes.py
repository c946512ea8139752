"""Axes: read from letters or arrays, and the angles about them that make a rotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def angles_about(rotations: Floats, axes: Sequence[Floats]) -> list[Floats]:
    """Return angles [rad] about one to three orthogonal axes whose rotations, after each other, give `rotations`."""
    if len(axes) == 1:
        sine = rotations[..., 1:] @ axes[0]
        return [2.0 * np.arctan2(np.where(rotations[..., 0] < 0, -sine, sine), np.abs(rotations[..., 0]))]
    third = np.cross(axes[0], axes[1])
    basis = np.stack([axes[0], axes[1], third], axis=-1)
    m = np.asarray(basis.T @ pm.to_matrix(rotations) @ basis)  # X(a) Y(b) Z(c)
    b = np.arctan2(m[..., 0, 2], np.hypot(m[..., 0, 0], m[..., 0, 1]))
    a, c = np.arctan2(-m[..., 1, 2], m[..., 2, 2]), np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    if len(axes) == 2:
        return [a, b]
    return [a, b, c if axes[2] @ third > 0.0 else -c]


def axes_of(axes: str | ArrayLike) -> Floats:
    """Return (N, 3) unit axes from letters or an array."""
    if isinstance(axes, str):
        for letter in axes:
            if letter.upper() not in AXES:
                raise UnknownNameError("axis", letter, AXES)
        return np.array([AXES[letter.upper()] for letter in axes]).reshape(-1, 3)
    given = np.array(axes, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != 3:
        raise ShapeError(f"axes have shape {given.shape}; expected letters or (N, 3)")
    return np.array([unit_of("an axis", axis) for axis in given]).reshape(-1, 3)


def vector_of(name: str, value: ArrayLike) -> Floats:
    """Return three finite numbers; raise an error that names them where they are not."""
    array = np.array(value, dtype=np.float64)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise PosableError(f"{name} is {np.asarray(value).tolist()}; expected three finite numbers")
    return array


def unit_of(name: str, value: ArrayLike) -> Floats:
    """Return a direction of length 1; raise an error that names it where it is none."""
    array = vector_of(name, value)
    length = float(np.linalg.norm(array))
    if length < 1e-9:
        raise PosableError(f"{name} is {array.tolist()}; expected a direction")
    return array / length

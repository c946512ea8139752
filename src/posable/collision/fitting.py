"""Volumes fitted to points on a skin: for each joint the rounded cone or the ellipsoid that lies nearest to what it
carries.

A first guess comes from the points' own extent along the bone; then least squares on the distances to the surface,
with a robust loss (soft L1) that lets stray points (hair, belts, the flare of a sleeve) count little. A volume's size
is bounded by that of its points. A few hundred points a joint are used, drawn with a seed: the time does not grow with
the mesh.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..compute import PosableError, ShapeError
from ..compute.types import Floats, Ints
from ..math import conjugate, from_matrix, multiply, rotate
from .volumes import Volumes

MIN_POINTS = 12
"""A joint with fewer points carries no volume."""

MAX_POINTS = 400
STRAY = 0.01  # [m] beyond which a point begins to count less


def fit_volumes(
    points: Floats,
    owners: Ints,
    positions: Floats,
    orientations: Floats,
    tips: Mapping[int, Floats],
    names: Mapping[int, str],
    seed: int = 0,
) -> Volumes:
    """Return one volume for each joint with enough points.

    Args:
        points: (N, 3) on the skin, in the world [m].
        owners: (N,) the joint that carries each; -1: none.
        positions: (J, 3) of the joints in the same pose [m].
        orientations: (J, 4).
        tips: where the bone of a joint ends (3,), for those that have one; others take the points' longest direction.
        names: of the joints, for the volumes.
        seed: of the drawn points.
    """
    if points.ndim != 2 or points.shape[1] != 3 or owners.shape != points.shape[:1]:
        raise ShapeError(f"points {points.shape} and owners {owners.shape}: expected (N, 3) and (N,)")
    if not np.isfinite(points).all():
        raise PosableError("a point of the skin is not finite")
    made: list[tuple[int, str, Floats, Floats, Floats, Floats]] = []
    for joint in sorted(set(owners[owners >= 0].tolist())):
        mine = points[owners == joint]
        if len(mine) > MAX_POINTS:
            mine = mine[np.random.default_rng([seed, joint]).choice(len(mine), MAX_POINTS, replace=False)]
        if len(mine) < MIN_POINTS or not np.ptp(mine, axis=0).max() > 1e-3:
            continue
        back = conjugate(orientations[joint])
        cone, cone_error = _fit_cone(mine, positions[joint], tips.get(joint))
        egg, spin, egg_error = _fit_ellipsoid(mine)
        if cone_error <= egg_error:
            start, end = (rotate(back, centre - positions[joint]) for centre in (cone[:3], cone[3:6]))
            made.append((joint, "capsule", start, end, np.array([*cone[6:], 0.0]), np.array([1.0, 0.0, 0.0, 0.0])))
        else:
            centre = rotate(back, egg[:3] - positions[joint])
            made.append((joint, "ellipsoid", centre, centre, egg[3:], multiply(back, spin)))
    joints, kinds, starts, ends, radii, spins = zip(*made, strict=True) if made else ((),) * 6
    count = len(made)
    return Volumes(
        np.array(joints, dtype=np.int64),
        np.array(kinds, dtype=str),
        np.array(starts).reshape(count, 3),
        np.array(ends).reshape(count, 3),
        np.array(radii).reshape(count, 3),
        rotations=np.array(spins).reshape(count, 4),
        names=tuple(names[joint] for joint in joints),
    )


def cone_distance(points: Floats, cone: Floats) -> Floats:
    """Return (N,) signed distances [m] of points to a rounded cone: start (3), end (3), two radii."""
    start, end, r0, r1 = cone[:3], cone[3:6], cone[6], cone[7]
    axis = end - start
    length = max(float(np.linalg.norm(axis)), 1e-12)
    axis = axis / length
    growth = np.clip((r1 - r0) / length, -0.95, 0.95)
    ahead = (points - start) @ axis
    across = np.linalg.norm(points - start - ahead[:, None] * axis, axis=-1)
    t = np.clip(ahead + across * growth / np.sqrt(1.0 - growth * growth), 0.0, length)
    return np.asarray(np.hypot(ahead - t, across) - r0 - growth * t)


def ellipsoid_distance(points: Floats, egg: Floats, spin: Floats) -> Floats:
    """Return (N,) signed distances [m] to an ellipsoid, along lines from its centre: centre (3), half-axes (3)."""
    local = rotate(conjugate(spin), points - egg[:3])
    size = np.maximum(np.linalg.norm(local / egg[3:], axis=-1), 1e-9)
    return np.asarray(np.linalg.norm(local, axis=-1) * (1.0 - 1.0 / size))


def _fit_cone(points: Floats, base: Floats, tip: Floats | None) -> tuple[Floats, float]:
    """Return (start, end, radii (8,), error [m]) of the nearest rounded cone."""
    axis, centre = _longest(points)[0], points.mean(axis=0)
    if tip is not None and np.linalg.norm(tip - base) > 1e-3:
        axis, centre = (tip - base) / np.linalg.norm(tip - base), base + (tip - base) / 2
        centre = centre + _across(points.mean(axis=0) - centre, axis)
    ahead = (points - centre) @ axis
    across = np.linalg.norm(_across(points - centre, axis), axis=-1)
    low, high = np.quantile(ahead, [0.03, 0.97])
    first = np.median(across[ahead <= np.median(ahead)])
    last = np.median(across[ahead >= np.median(ahead)])
    low, high = low + min(first, 0.45 * (high - low)), high - min(last, 0.45 * (high - low))
    guess = np.concatenate([centre + axis * low, centre + axis * high, [max(first, 2e-3), max(last, 2e-3)]])
    widest = max(float(across.max()), 4e-3)
    low_bounds = np.concatenate([np.tile(points.min(axis=0) - 1e-3, 2), [1e-3, 1e-3]])
    high_bounds = np.concatenate([np.tile(points.max(axis=0) + 1e-3, 2), [widest, widest]])
    found = _least_squares(lambda x: cone_distance(points, x), guess, low_bounds, high_bounds)
    return found, float(np.mean(np.abs(cone_distance(points, found))))


def _fit_ellipsoid(points: Floats) -> tuple[Floats, Floats, float]:
    """Return (centre and half-axes (6,), orientation (4,), error [m]) of the nearest ellipsoid on the points' axes."""
    axes = _longest(points)
    spin = from_matrix(axes.T)
    local = (points - points.mean(axis=0)) @ axes.T
    low, high = np.quantile(local, [0.03, 0.97], axis=0)
    centre = points.mean(axis=0) + (0.5 * (low + high)) @ axes
    half = np.maximum(0.5 * (high - low), 2e-3)
    low_bounds = np.concatenate([points.min(axis=0) - 1e-3, np.full(3, 1e-3)])
    high_bounds = np.concatenate([points.max(axis=0) + 1e-3, np.maximum(1.3 * np.ptp(local, axis=0), 4e-3)])
    guess = np.concatenate([centre, half])
    found = _least_squares(lambda x: ellipsoid_distance(points, x, spin), guess, low_bounds, high_bounds)
    return found, spin, float(np.mean(np.abs(ellipsoid_distance(points, found, spin))))


def _least_squares(residuals: object, guess: Floats, low: Floats, high: Floats) -> Floats:
    from scipy.optimize import least_squares

    start = np.clip(guess, low + 1e-9, high - 1e-9)
    found = least_squares(residuals, start, bounds=(low, high), loss="soft_l1", f_scale=STRAY, max_nfev=30)
    return np.asarray(found.x)


def _longest(points: Floats) -> Floats:
    """Return (3, 3) unit rows: the points' own axes, the longest first, right-handed."""
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    axes[2] = np.cross(axes[0], axes[1])
    return np.asarray(axes)


def _across(vectors: Floats, axis: Floats) -> Floats:
    return np.asarray(vectors - (vectors @ axis)[..., None] * axis)

"""The compact form of a `LimbRange` (Mukai's future work): six smooth fields on the sphere, as spherical harmonics.

The fields are the angle to the boundary, smallest and largest distance, cosine and sine of the middle swivel, and half
the swivels' width. They are fitted one-sidedly (specification limb-range, section 5): a plain least-squares fit cuts
through the ranges and rejects what people do. What is compact is what is stored, 24 (degree + 1)^2 bytes; it is spread
over the sampled directions when it is read, so that questions to it cost the same as to any range.
"""

from __future__ import annotations

import math

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...math.angles import wrapped_angles
from .fit import FULL_CIRCLE
from .model import Table, find_region
from .sphere import fibonacci, sphere_mesh

FIELDS = 6
MAX_DEGREE = 12
MAX_ANGLE = 0.5  # [rad] the angle to the boundary is cut off here: further away it does not matter
LOW_FRACTION, HIGH_FRACTION, HALF_FRACTION = 0.1, 0.9, 0.8  # fractions of samples that may lie below the fitted fields
REACHED_FRACTION = 0.99  # of the directions that people reach stay reached
ROUNDS = 60
RIDGE = 1e-4


def fit_harmonics(table: Table, margins: Floats, degree: int) -> Floats:
    """Return (6, (degree + 1)^2) coefficients of a table; `margins` (V,) [rad] are the angles to its boundary."""
    if not 1 <= degree <= MAX_DEGREE:
        raise PosableError(f"harmonics of degree {degree}; expected 1 to {MAX_DEGREE}")
    basis = harmonics(fibonacci(len(table)), degree)
    own = basis[table.reached]
    low, high, mid, half = (values[table.reached] for values in (table.low, table.high, table.mid, table.half))
    edge = _least_squares(basis, np.clip(margins, -MAX_ANGLE, MAX_ANGLE), np.ones(len(basis)))
    edge[0] -= min(np.quantile(own @ edge, 1.0 - REACHED_FRACTION), 0.0) / basis[0, 0]  # the first one is constant
    cosine, sine = (_least_squares(own, values, np.ones(len(own))) for values in (np.cos(mid), np.sin(mid)))
    off = np.arctan2(own @ sine, own @ cosine) - mid
    wide = np.minimum(half + np.abs(wrapped_angles(off)), math.pi)
    fields = [edge, _quantile(own, low, LOW_FRACTION), _quantile(own, high, HIGH_FRACTION), cosine, sine]
    return np.stack([*fields, _quantile(own, wide, HALF_FRACTION)]).astype(np.float32).astype(np.float64)


def expand(coefficients: Floats, samples: int, fill_holes: bool) -> Table:
    """Return the table that the coefficients (6, (degree + 1)^2) describe."""
    degree = math.isqrt(coefficients.shape[1]) - 1
    edge, low, high, cosine, sine, half = coefficients @ harmonics(fibonacci(samples), degree).T
    valid = find_region(edge >= 0.0, fill_holes)
    reached = np.zeros(samples, np.bool_)
    reached[sphere_mesh(samples).triangles[valid]] = True
    low = np.clip(low, 0.0, 1.0)
    half = np.clip(half, 0.0, math.pi)
    half[half > FULL_CIRCLE] = math.pi
    values = (low, np.clip(high, low, 1.0), np.arctan2(sine, cosine), half)
    return Table(reached, reached & (edge < 0.0), *(np.where(reached, field, 0.0) for field in values))


def harmonics(directions: Floats, degree: int) -> Floats:
    """Return (N, (degree + 1)^2): real spherical harmonics, orthonormal over the sphere, of unit vectors (N, 3)."""
    from scipy.special import lpmv

    azimuth, z = np.arctan2(directions[:, 1], directions[:, 0]), directions[:, 2]
    columns = []
    for order in range(degree + 1):
        for m in range(-order, order + 1):
            k = abs(m)
            ratio = math.factorial(order - k) / math.factorial(order + k)
            size = math.sqrt((2 * order + 1) / (4.0 * math.pi) * ratio)
            wave = np.sqrt(2.0) * (np.cos(k * azimuth) if m > 0 else np.sin(k * azimuth)) if m else 1.0
            columns.append(size * lpmv(k, order, z) * wave)
    return np.stack(columns, axis=-1)


def _least_squares(basis: Floats, values: Floats, weights: Floats) -> Floats:
    """Return coefficients by weighted least squares, with a little ridge for where there are no samples."""
    weighted = basis * weights[:, None]
    square = weighted.T @ basis
    ridge = RIDGE * np.trace(square) / len(square)
    return np.asarray(np.linalg.solve(square + ridge * np.eye(len(square)), weighted.T @ values))


def _quantile(basis: Floats, values: Floats, fraction: float) -> Floats:
    """Return coefficients of the field below which `fraction` of the values lie.

    The pinball loss, by iteratively reweighted least squares.
    """
    weights = np.ones(len(values))
    coefficients = np.zeros(basis.shape[1])
    for _ in range(ROUNDS):
        coefficients = _least_squares(basis, values, weights)
        rest = values - basis @ coefficients
        weights = np.where(rest > 0.0, fraction, 1.0 - fraction) / np.maximum(np.abs(rest), 1e-3)
    return coefficients

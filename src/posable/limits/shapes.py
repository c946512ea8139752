"""The shapes a limit is made of: intervals, hinges, spherical ellipses, spline cones.

A joint rotates its bone away from the rest direction (the *swing*) and about the bone (the *twist*). Shapes limit the
swing on the sphere of bone directions, in the joint's own axes `(a1, a2, d)`: `d` the bone at rest, `a1` the first
swing axis, `a2 = d x a1`. All angles are in radians. Shapes are plain values: they validate, and the kernels of
`limits.kernels` do the work on their packed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.polynomial import Polynomial

from ..compute import PosableError
from ..compute.types import ArrayLike, Bools, Floats, floats

ELLIPSE_SAMPLES = 32  # boundary points the nearest-point search starts from
CONE_SAMPLES = 8  # the same, for each piece of a cone's spline
PIECE_LENGTH = 0.4  # [rad]
TAU = 2.0 * math.pi


@dataclass(frozen=True, slots=True)
class Interval:
    """Angles from `low` to `high` [rad] on the circle; a width of 2 pi or more allows every angle."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)

    def contains(self, angle: ArrayLike, tolerance: float = 1e-9) -> Bools:
        """Return whether each angle lies inside, modulo 2 pi."""
        offset = self._offset(angle)
        return np.asarray(np.abs(offset) <= self.half + tolerance)

    def clamp(self, angle: ArrayLike) -> Floats:
        """Return the nearest angles inside; angles that are inside are returned untouched."""
        angles = floats(angle, "angle")
        offset = self._offset(angles)
        inside = np.abs(offset) <= self.half
        return np.where(inside, angles, np.where(offset > 0.0, self.high, self.low))

    def scaled(self, factor: float) -> Interval:
        """Return the interval with both ends times `factor`."""
        return Interval(self.low * factor, self.high * factor)

    @property
    def middle(self) -> float:
        """Half-way between the ends [rad]."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> float:
        """Half the width [rad]."""
        return 0.5 * (self.high - self.low)

    def _offset(self, angle: ArrayLike) -> Floats:
        offset = floats(angle, "angle") - self.middle
        return np.asarray(offset - TAU * np.rint(offset / TAU))


@dataclass(frozen=True, slots=True)
class Hinge:
    """The bone rotates about `a1` only, from `low` to `high` [rad].

    `slack` [rad] is how far the bone may lie off the hinge's plane: an elbow's carrying angle, or what a rig's
    skewed axes leave over. A slack of 0 is a perfect hinge.
    """

    low: float
    high: float
    slack: float = 0.0

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        if not 0.0 <= self.slack <= 0.5 * math.pi:
            raise PosableError(f"hinge slack {self.slack} rad: give a value from 0 to pi/2")

    def scaled(self, factor: float) -> Hinge:
        """Return the hinge with both ends times `factor`; the slack stays."""
        return Hinge(self.low * factor, self.high * factor, self.slack)


@dataclass(frozen=True, slots=True)
class Ellipse:
    """A spherical ellipse with centre: Kallmann 2008, Eq. 7; specification limb-and-reach, section 3.

    The swing's rotation vector has components (s1, s2) about `a1` and `a2`; inside is
    `((s1 - c1) / r1)^2 + ((s2 - c2) / r2)^2 <= 1`. So `radii[0]` limits the rotation *about* `a1`. The whole ellipse
    lies inside the disc `|s| <= pi`, where swings are unique; a radius of 0 makes it a segment or a point. (A radius
    between 0 and 1e-3 costs digits: nearest points are then found to 1e-9.)
    """

    radii: tuple[float, float]
    centre: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if len(self.radii) != 2 or len(self.centre) != 2:
            raise PosableError(f"ellipse with radii {self.radii} and centre {self.centre}: each has two numbers [rad]")
        if not all(map(math.isfinite, (*self.radii, *self.centre))) or min(self.radii) < 0.0:
            raise PosableError(f"ellipse with radii {self.radii} and centre {self.centre}: radii are 0 or more, finite")
        swing = self.boundary(np.linspace(0.0, TAU, 721))
        reach = float(np.max(np.hypot(swing[:, 0], swing[:, 1])))
        if reach > math.pi:
            raise PosableError(f"ellipse reaches a swing of {reach:.4f} rad; the largest swing there is is pi")

    @classmethod
    def from_ranges(cls, first: tuple[float, float], second: tuple[float, float]) -> Ellipse:
        """Return the ellipse whose components run over these (low, high) ranges [rad]."""
        _check_range(*first)
        _check_range(*second)
        return cls(
            (0.5 * (first[1] - first[0]), 0.5 * (second[1] - second[0])),
            (0.5 * (first[1] + first[0]), 0.5 * (second[1] + second[0])),
        )

    @classmethod
    def through(cls, first: tuple[float, float], second: tuple[float, float]) -> Ellipse:
        """Return the ellipse whose boundary crosses each swing axis at these (low, high) angles [rad], 0 between them.

        That is how ranges of joints are measured: one component at a time, the other at 0.
        """
        for low, high in (first, second):
            _check_range(low, high)
            if not low < 0.0 < high:
                raise PosableError(f"range from {low} to {high} rad: an ellipse through it needs 0 strictly between")
        centre = 0.5 * (first[0] + first[1]), 0.5 * (second[0] + second[1])
        (a, b), (c, d) = [0.25 * (high - low) ** 2 for low, high in (first, second)], [x * x for x in centre]
        whole = a * b - c * d
        return cls((math.sqrt(whole / (b - d)), math.sqrt(whole / (a - c))), centre)

    def boundary(self, t: ArrayLike) -> Floats:
        """Return swing vectors (..., 2) on the curve at the parameters t (...), 0 to 2 pi."""
        angle = np.asarray(t, dtype=np.float64)
        return np.stack(
            [self.centre[0] + self.radii[0] * np.cos(angle), self.centre[1] + self.radii[1] * np.sin(angle)], axis=-1
        )

    def scaled(self, factor: float) -> Ellipse:
        """Return the ellipse with radii and centre times `factor`."""
        (r1, r2), (c1, c2) = self.radii, self.centre
        return Ellipse((r1 * factor, r2 * factor), (c1 * factor, c2 * factor))


@dataclass(frozen=True, slots=True)
class Cone:
    """A cone with a spline for its rim: Unzueta 2008, section 7 and Eq. 3; specification reconstruct, section 4.6.

    `theta` [rad] is the direction of the swing about the rest bone, `atan2(b.a1, b.a2)` of the bone b, and runs from
    -pi to pi; `psi` [rad] is the largest angle from the rest direction there. Between, psi is a cubic spline
    whose slope is the same at both ends (Eq. 3). Where the spline passes pi the joint is not limited: the
    specification's shoulder does so, and the arm may then point straight up from there.
    """

    theta: tuple[float, ...]
    psi: tuple[float, ...]

    def __post_init__(self) -> None:
        theta, psi = self.theta, self.psi
        if len(theta) != len(psi) or len(theta) < 3:
            raise PosableError(
                f"cone with {len(theta)} directions and {len(psi)} angles: give 3 or more of each, paired"
            )
        if not all(map(math.isfinite, (*theta, *psi))) or any(b <= a for a, b in pairwise(theta)):
            raise PosableError(f"cone directions {theta}: they must be finite and grow")
        if abs(theta[0] + math.pi) > 1e-9 or abs(theta[-1] - math.pi) > 1e-9 or abs(psi[0] - psi[-1]) > 1e-9:
            raise PosableError("cone directions run from -pi to pi, and both ends have the same angle psi")
        object.__setattr__(self, "theta", (-math.pi, *theta[1:-1], math.pi))
        object.__setattr__(self, "psi", (*psi[:-1], psi[0]))
        lowest = float(np.min(self.limit(np.linspace(-math.pi, math.pi, 2881))))
        if lowest < 0.0 or max(psi) > math.pi:
            raise PosableError(f"cone angles {psi} rad: they and the spline (least {lowest:.4f}) lie between 0 and pi")

    @classmethod
    def from_degrees(cls, knots: Mapping[float, float]) -> Cone:
        """Return a cone from {theta: psi}, in degrees."""
        return cls(tuple(map(math.radians, knots)), tuple(map(math.radians, knots.values())))

    def limit(self, theta: ArrayLike) -> Floats:
        """Return the largest angle psi (...) [rad] in the directions theta (...); pi where nothing limits."""
        angle = np.asarray(theta, dtype=np.float64)
        angle = angle - TAU * np.rint(angle / TAU)
        pieces = self.pieces()
        at = np.clip(np.searchsorted(pieces[:, 0], angle, side="right") - 1, 0, len(pieces) - 1)
        left, c0, c1, c2, c3 = np.moveaxis(pieces[at], -1, 0)
        x = angle - left
        return np.asarray(c0 + x * (c1 + x * (c2 + x * c3)))

    def pieces(self) -> Floats:
        """Return the rim in pieces (K, 5): left end, then the coefficients of 1, x, x^2, x^3 with x from the left end.

        Where the spline lies above pi a piece is flat: each piece is smooth, none is higher than pi, and none is
        longer than `PIECE_LENGTH` on the sphere, so that its samples lie close.
        """
        return _pieces(self)

    def _spline(self) -> Floats:
        """Return the spline's pieces (K, 5) as `pieces` has them, one between two knots."""
        theta, psi = np.array(self.theta), np.array(self.psi)
        h, rise = np.diff(theta), np.diff(psi) / np.diff(theta)
        end = 0.5 * (rise[0] + rise[-1])  # Eq. 3
        slopes = np.full(len(theta), end)
        if len(theta) > 2:
            matrix = np.diag(2.0 * (h[:-1] + h[1:]))
            matrix += np.diag(h[2:], -1) + np.diag(h[:-2], 1) if len(theta) > 3 else 0.0
            right = 3.0 * (h[1:] * rise[:-1] + h[:-1] * rise[1:])
            right[0] -= h[1] * end
            right[-1] -= h[-2] * end
            slopes[1:-1] = np.linalg.solve(matrix, right)
        c2 = (3.0 * rise - 2.0 * slopes[:-1] - slopes[1:]) / h
        c3 = (slopes[:-1] + slopes[1:] - 2.0 * rise) / h**2
        return np.stack([theta[:-1], psi[:-1], slopes[:-1], c2, c3], axis=-1)


Swing: TypeAlias = Hinge | Ellipse | Cone


def boundary_samples(shape: Ellipse | Cone) -> Floats:
    """Return directions (S, 3) in the axes (a1, a2, d) along the boundary, where the search for the nearest starts."""
    if isinstance(shape, Ellipse):
        swing = shape.boundary(np.arange(ELLIPSE_SAMPLES) * (TAU / ELLIPSE_SAMPLES))
        return _directions_of_swings(swing)
    knots = np.append(shape.pieces()[:, 0], math.pi)
    step = np.arange(CONE_SAMPLES) / CONE_SAMPLES
    theta = (knots[:-1, None] + np.diff(knots)[:, None] * step).ravel()
    psi = shape.limit(theta)
    psi = np.where(psi > math.pi - 1e-12, math.pi, psi)  # where a rim meets pi it is there exactly
    return np.stack([np.sin(psi) * np.sin(theta), np.sin(psi) * np.cos(theta), np.cos(psi)], axis=-1)


def _directions_of_swings(swing: Floats) -> Floats:
    """Return where the rest bone goes under the rotation vectors (S, 2) about (a1, a2): (S, 3)."""
    angle = np.hypot(swing[:, 0], swing[:, 1])
    sine = np.sinc(angle / math.pi)
    return np.stack([sine * swing[:, 1], -sine * swing[:, 0], np.cos(angle)], axis=-1)


@lru_cache(maxsize=64)
def _pieces(cone: Cone) -> Floats:
    """Return `Cone.pieces`; cached, because every query of a cone starts here."""
    pieces = []
    for (left, *coefficients), right in zip(cone._spline(), cone.theta[1:], strict=True):
        cubic = Polynomial(coefficients)
        roots = np.asarray((cubic - math.pi).roots(), dtype=np.complex128)
        real = np.sort(roots.real[np.abs(roots.imag) < 1e-9])
        inner = real[(real > 0.0) & (real < right - left)]
        for a, b in pairwise(_divided(cubic, [0.0, *inner, right - left])):
            if b - a < 1e-9:
                continue
            part = cubic(Polynomial([a, 1.0])) if np.less(cubic(0.5 * (a + b)), math.pi) else Polynomial([math.pi])
            pieces.append([left + a, *np.pad(part.coef, (0, 4 - len(part.coef)))])
    found = np.array(pieces)
    found.flags.writeable = False
    return found


def _divided(cubic: Polynomial, ends: list[float]) -> list[float]:
    """Return the ends of pieces of a cone's rim, with more between them where a piece is long on the sphere."""
    more = [ends[0]]
    for a, b in pairwise(ends):
        x = np.linspace(a, b, 33)
        psi = np.minimum(np.asarray(cubic(x), dtype=np.float64), math.pi)
        length = float(np.sum(np.hypot(np.diff(psi), np.sin(0.5 * (psi[1:] + psi[:-1])) * np.diff(x))))
        more.extend(np.linspace(a, b, 1 + max(1, math.ceil(length / PIECE_LENGTH)))[1:].tolist())
    return more


def _check_range(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise PosableError(f"range from {low} to {high} rad: give finite angles, the lower first")

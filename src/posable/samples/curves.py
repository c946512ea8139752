"""Smooth curves for motions made by formula. Times in seconds, one row a frame."""

from __future__ import annotations

import numpy as np

from ..compute.types import ArrayLike, Floats
from ..math import axis_angle, multiply

DEGREE = np.pi / 180.0
X, Y, Z = np.eye(3)


def about(axis: Floats, angle: ArrayLike) -> Floats:
    """(..., 4) rotations about one axis by angles (...) [rad]."""
    return axis_angle(axis, np.asarray(angle, dtype=np.float64))


def yaw_pitch_roll(yaw: ArrayLike, pitch: ArrayLike = 0.0, roll: ArrayLike = 0.0) -> Floats:
    """(..., 4): rotated left by yaw, then bowed forward by pitch, then leant to the right by roll [rad]."""
    yaw, pitch, roll = np.broadcast_arrays(yaw, pitch, roll)
    return multiply(about(Y, yaw), multiply(about(X, pitch), about(Z, roll)))


def curve(times: Floats, knots: ArrayLike, values: ArrayLike, period: float | None = None) -> Floats:
    """A smooth curve through values at knots [s], at times; closed over a period when one is given."""
    from scipy.interpolate import CubicSpline

    at, through = np.asarray(knots, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if period is not None:
        at, through = np.append(at, at[0] + period), np.concatenate([through, through[:1]])
        return np.asarray(CubicSpline(at, through, bc_type="periodic")(at[0] + (times - at[0]) % period))
    return np.asarray(CubicSpline(at, through, bc_type="clamped")(np.clip(times, at[0], at[-1])))


def eased(times: Floats, knots: ArrayLike, values: ArrayLike, period: float | None = None) -> Floats:
    """A curve that never overshoots its values, with continuous velocity and acceleration.

    It is still before the first and after the last knot, or closed over a period when one is given.
    """
    from scipy.interpolate import PchipInterpolator

    at, through = np.asarray(knots, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if period is not None:
        times = at[0] + (times - at[0]) % period
        at = np.concatenate([at[-2:] - period, at, at[:2] + period])
        through = np.concatenate([through[-2:], through, through[:2]])
    slopes = np.asarray(PchipInterpolator(at, through).derivative()(at))
    slopes[0] = slopes[-1] = 0.0
    zero = np.zeros_like(slopes)
    k = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
    span = at[k + 1] - at[k]
    s = np.clip((times - at[k]) / span, 0.0, 1.0)
    column = (slice(None),) + (None,) * (through.ndim - 1)
    return quintic(
        s[column], span[column], (through[k], slopes[k], zero[k]), (through[k + 1], slopes[k + 1], zero[k + 1])
    )


def quintic(s: Floats, span: Floats | float, start: tuple[Floats, ...], end: tuple[Floats, ...]) -> Floats:
    """Between two states (value, rate, acceleration) `span` seconds apart, s from 0 to 1 between: quintic Hermite."""
    p0, v0, a0 = start[0], start[1] * span, start[2] * span**2
    p1, v1, a1 = end[0], end[1] * span, end[2] * span**2
    c3 = 10 * (p1 - p0) - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15 * (p1 - p0) + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
    c5 = 6 * (p1 - p0) - 3 * v0 - 3 * v1 - 0.5 * a0 + 0.5 * a1
    return np.asarray(p0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5)))))


def wave(phase: Floats, *terms: tuple[int, float, float]) -> Floats:
    """A Fourier series of a phase that goes from 0 to 1.

    Each term (k, amplitude, shift) adds amplitude * cos(2 pi (k phase - shift)).
    """
    return np.asarray(sum(a * np.cos(2 * np.pi * (k * phase - shift)) for k, a, shift in terms))


def pulse(t: Floats, peak: float, rise: float, fall: float, hold: float = 0.0, period: float | None = None) -> Floats:
    """From 0 to 1 within `rise` seconds before `peak`, held, and back to 0 within `fall` seconds.

    It repeats over a period when one is given. Velocity and acceleration are continuous.
    """
    s = t - peak
    if period is not None:
        s = (s + period / 2) % period - period / 2
    x = np.clip(np.minimum(1.0 + s / rise, 1.0 - (s - hold) / fall), 0.0, 1.0)
    return minimum_jerk(x)


def minimum_jerk(t: ArrayLike) -> Floats:
    """The fraction of its path, 0 to 1, that a hand has done after a fraction t of its time (Flash and Hogan 1985).

    Its speed is a bell, 1.875 times the mean at its peak half-way; speed and acceleration are zero at both ends.
    """
    t = np.asarray(t, dtype=np.float64)
    return np.asarray(t**3 * (10 - 15 * t + 6 * t * t))


def toward(start: Floats, end: Floats, fraction: Floats) -> Floats:
    """Linear interpolation: the positions (F, 3) at fractions (F,) between start and end."""
    return np.asarray(start + (end - start) * fraction[:, None])


def bump(s: Floats, crest: float) -> Floats:
    """From 0 to 1 at s = crest and back to 0 as s goes from 0 to 1, without velocity or acceleration at the ends."""
    early, late = (3.0, 3.0 * (1 - crest) / crest) if crest < 0.5 else (3.0 * crest / (1 - crest), 3.0)
    return np.asarray((s / crest) ** early * ((1 - s) / (1 - crest)) ** late)

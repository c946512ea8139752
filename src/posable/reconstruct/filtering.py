"""Filters of points before a body is reconstructed from them: smoothing, and feet locked where they stand.

The body meets the filtered points, which are the solution's `points`; errors and status are measured from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..body.contacts import contact_step, new_feet
from ..compute import PosableError, batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Ints, Records, Vec3
from ..math.vector import norm, sub

LET_GO = 0.2  # [s] within which a foot that is released is back on its point
STRAYED = 0.03  # [leg lengths]: a foot whose point is further than this from where it is locked is released
LONGEST = 60.0  # [s]: nobody moves so slowly, and the filter's numbers would vanish
QUICK = 8.0  # [Hz for each body height a second]: how much less a stream smooths what moves


def checked_smoothing(seconds: float | None) -> float | None:
    """Return a time [s], or None for 0 and None."""
    if seconds is None or seconds == 0.0:
        return None
    if not 0.0 < seconds <= LONGEST:
        raise PosableError(f"smoothing is {seconds} s; expected 0 to {LONGEST:g}, or None")
    return float(seconds)


def smoothed(values: Floats, fps: float, seconds: float) -> Floats:
    """Return values (F, ...) smoothed over `seconds`, without lag.

    A Butterworth filter of second order with its corner at 1 / (2 pi seconds), run forwards and backwards. Values that
    are not finite are bridged by straight lines while filtering and are NaN afterwards.
    """
    from scipy.signal import butter, sosfiltfilt

    frames = len(values)
    corner = 1.0 / (2.0 * math.pi * seconds)
    if frames < 3 or corner >= 0.5 * fps:
        return values
    sections = butter(2, corner, fs=fps, output="sos")
    flat = np.ascontiguousarray(values.reshape(frames, -1))
    out = np.full(flat.shape, np.nan)
    for k in range(flat.shape[1]):
        seen = np.isfinite(flat[:, k])
        if seen.any():
            times = np.arange(frames)
            whole = np.interp(times, times[seen], flat[seen, k])
            pad = min(frames - 1, int(3.0 * seconds * fps) + 12)
            out[seen, k] = sosfiltfilt(sections, whole, padlen=pad)[seen]
    return out.reshape(values.shape)


def smoothed_orientations(orientations: Floats, fps: float, seconds: float) -> Floats:
    """Return orientations (F, ..., 4) smoothed in the same way, as four numbers whose sign does not flip, made unit
    again.
    """
    if not len(orientations):
        return orientations
    out = orientations.copy()
    for track in np.moveaxis(out.reshape(len(orientations), -1, 4), 1, 0):
        last = None
        for q in track:
            if np.isfinite(q).all():
                if last is not None and q @ last < 0.0:
                    q *= -1.0
                last = q
    out = smoothed(out, fps, seconds)
    size = np.linalg.norm(out, axis=-1, keepdims=True)
    return np.where(size > 1e-6, out / np.where(size > 1e-6, size, 1.0), orientations)


def unit_or_nan(orientations: Floats) -> Floats:
    """Return orientations (..., 4) that a filter can take: made unit where they are far from it, NaN where one is zero,
    not finite, or too long or short to tell. One that is huge would weigh on all that come after it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.linalg.norm(orientations, axis=-1, keepdims=True)
        usable, fine = (size > 1e-150) & (size < np.inf), (size > 1e-3) & (size < 1e3)
        return np.where(usable, orientations / np.where(usable & ~fine, size, 1.0), np.nan)


class OneEuro:
    """A filter for streams: the slower something moves, the more it is smoothed (Casiez, Roussel and Vogel 2012).

    At rest it is a low pass with its corner at 1 / (2 pi seconds), so it lags by about `seconds`; speed raises the
    corner, so that it lags less. Values that are not finite are ignored.

    Args:
        seconds: see above.
        size: the unit of length of speeds [m]; 1 for quaternions.
        quaternions: whether the values are quaternions.
    """

    def __init__(self, seconds: float, size: float, quaternions: bool = False) -> None:
        self.corner, self.size, self.quaternions = 1.0 / (2.0 * math.pi * seconds), size, quaternions
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._value: Floats | None = None
        self._speed: Floats | None = None

    def step(self, values: Floats, dt: float) -> Floats:
        """Return the values (..., D) smoothed, `dt` [s] after the last ones."""
        if self._value is None or self._speed is None:
            self._value, self._speed = values.copy(), np.zeros_like(values)
            return values
        if self.quaternions:
            values = np.where((values * self._value).sum(axis=-1, keepdims=True) < 0.0, -values, values)
        new = ~np.isfinite(self._value)
        speed = (values - self._value) / dt
        self._speed += np.where(np.isfinite(speed), speed - self._speed, -self._speed) * _fraction(1.0, dt)
        fast = np.sqrt((self._speed**2).sum(axis=-1, keepdims=True)) / self.size
        out = self._value + (values - self._value) * _fraction(self.corner + QUICK * fast, dt)
        out = np.where(new, values, out)
        if self.quaternions:
            out = out / np.linalg.norm(out, axis=-1, keepdims=True)
        self._value = out
        return out


def _fraction(corner: float | Floats, dt: float) -> float | Floats:
    """Return the weight of a new value in a low pass with this corner [Hz]."""
    return 1.0 / (1.0 + 1.0 / (2.0 * math.pi * corner * dt))


LOCK = np.dtype([("position", "f8", 3), ("offset", "f8", 3), ("since", "f8"), ("locked", "i8")], align=True)
"""A foot after its last step: where it is locked [m]; by how much that was off its point when it was released, `since`
[s] ago; and whether it is locked."""


class FootLock:
    """Feet locked where they stand; made for the feet among `markers`.

    A foot that comes to stand (`body.contacts`) is locked there, while its point stays within `STRAYED` of a leg; when
    it is released, it returns to its point smoothly over `LET_GO`.
    """

    def __init__(self, markers: Sequence[str], leg_length: float) -> None:
        self.columns = np.array([k for k, role in enumerate(markers) if role in ("left_foot", "right_foot")], np.int64)
        self._leg_length = float(leg_length)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._feet = new_feet(len(self.columns))
        self._locks = np.zeros(len(self.columns), LOCK)
        self._locks["since"] = np.inf

    def step(self, points: Floats, dt: float) -> None:
        """Lock the feet of points (F, M, 3) [m] in place, each frame `dt` [s] after the one before."""
        lock_rows(len(self.columns), points, self.columns, dt, self._leg_length, self._feet, self._locks)


@kernel
def lock_step(i: int, ankle: Vec3, dt: float, leg_length: float, feet: Records, locks: Records) -> Vec3:
    """Return where foot i is, `dt` [s] after its last step: where it is locked, or at its point."""
    standing = contact_step(i, ankle, dt, leg_length, feet)
    lock = locks[i]
    lock["since"] += dt
    t = min(lock["since"] / LET_GO, 1.0)
    left = 1.0 - t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)  # minimum jerk (Flash and Hogan 1985)
    x, y, z = lock["position"][0], lock["position"][1], lock["position"][2]
    free = (
        ankle[0] + lock["offset"][0] * left,
        ankle[1] + lock["offset"][1] * left,
        ankle[2] + lock["offset"][2] * left,
    )
    if lock["locked"]:
        if standing and norm(sub(ankle, (x, y, z))) < STRAYED * leg_length:
            return (x, y, z)
        lock["locked"] = 0
        if not vec_in_extent(ankle):
            return free
        lock["offset"][0], lock["offset"][1], lock["offset"][2] = x - ankle[0], y - ankle[1], z - ankle[2]
        lock["since"] = 0.0
        return (x, y, z)
    if standing:
        lock["locked"] = 1
        lock["position"][0], lock["position"][1], lock["position"][2] = free[0], free[1], free[2]
    return free


@batch
def lock_rows(
    n: int, points: Floats, columns: Ints, dt: float, leg_length: float, feet: Records, locks: Records
) -> None:
    """`lock_step` of each of n feet over the frames of `points` (F, M, 3) [m], in place."""
    for i in prange(n):
        k = columns[i]
        for f in range(points.shape[0]):
            ankle = (points[f, k, 0], points[f, k, 1], points[f, k, 2])
            points[f, k, 0], points[f, k, 1], points[f, k, 2] = lock_step(i, ankle, dt, leg_length, feet, locks)

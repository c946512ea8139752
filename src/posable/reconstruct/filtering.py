"""Filters of points before a body is reconstructed from them: smoothing, and feet locked where they stand.

The body meets the filtered points, which are the solution's `points`; errors and status are measured from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..body.contacts import FootContacts
from ..compute import PosableError
from ..compute.types import Floats
from ..samples.curves import minimum_jerk

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


class FootLock:
    """Feet locked where they stand; made for the feet among `markers`.

    A foot that comes to stand (`body.contacts`) is locked there, while its point stays within `STRAYED` of a leg; when
    it is released, it returns to its point smoothly over `LET_GO`.
    """

    def __init__(self, markers: Sequence[str], leg_length: float) -> None:
        self.columns = [k for k, role in enumerate(markers) if role in ("left_foot", "right_foot")]
        self._contacts = FootContacts(leg_length, len(self.columns))
        self._far = STRAYED * leg_length
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._contacts.reset()
        count = len(self.columns)
        self.locked = np.zeros(count, np.bool_)
        self._positions, self._offsets, self._since = np.zeros((count, 3)), np.zeros((count, 3)), np.full(count, np.inf)

    def step(self, points: Floats, dt: float) -> Floats:
        """Return the points (M, 3) [m] with locked feet, `dt` [s] after the last ones."""
        ankles = points[self.columns]
        standing = self._contacts.step(ankles, dt)
        self._since += dt
        left = 1.0 - np.asarray(minimum_jerk(np.minimum(self._since / LET_GO, 1.0)))[:, None]
        free = ankles + self._offsets * left
        holds = self.locked & standing & (np.linalg.norm(ankles - self._positions, axis=-1) < self._far)
        begins = standing & ~self.locked
        self._positions = np.where(begins[:, None], free, self._positions)
        lets_go = self.locked & ~holds & np.isfinite(ankles).all(axis=-1)
        self._offsets = np.where(lets_go[:, None], self._positions - ankles, self._offsets)
        self._since = np.where(lets_go, 0.0, self._since)
        self.locked = holds | begins
        out = points.copy()
        out[self.columns] = np.where(self.locked[:, None] | lets_go[:, None], self._positions, free)
        return out

"""When feet stand: low, and hardly moving.

A foot comes to stand when it is slower than `SLOW` and not higher than `LOW` above its recent lowest height; it
stands until it is faster than `FAST` or higher than `HIGH`. In between it goes on with what it did, so noise does not
make it flicker. All of it is counted in leg lengths, and causal: `step` needs nothing of the future.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import PosableError, ShapeError
from ..compute.types import ArrayLike, Bools, floats

SLOW, FAST = 0.35, 0.8  # [leg lengths a second]
LOW, HIGH = 0.08, 0.14  # [leg lengths]
EVENED = 0.06  # [s] over which velocities are evened out
RISING = 0.02  # [leg lengths a second] by which the lowest height is forgotten: floors have steps


class FootContacts:
    """Which feet stand, from their ankles as they come.

    Args:
        leg_length: of the body [m].
        feet: how many ankles there are.
    """

    def __init__(self, leg_length: float, feet: int = 2) -> None:
        if not (math.isfinite(leg_length) and leg_length > 0.0):
            raise PosableError(f"leg_length is {leg_length} m; expected a number above 0")
        self.leg_length, self.feet = leg_length, feet
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self.standing: Bools = np.zeros(self.feet, np.bool_)
        self._before, self._velocity = np.full((self.feet, 3), np.nan), np.zeros((self.feet, 3))
        self._lowest = np.full(self.feet, np.inf)

    def step(self, ankles: ArrayLike, dt: float) -> Bools:
        """(feet,) which stand, `dt` [s] after the last step, for ankles (feet, 3) [m]; never one that is not finite."""
        given = floats(ankles, "ankles")
        if given.shape != (self.feet, 3):
            raise ShapeError(f"ankles have shape {given.shape}; expected ({self.feet}, 3)")
        seen: Bools = np.asarray(np.isfinite(given).all(axis=-1))
        positions = given / self.leg_length
        known = seen & np.isfinite(self._before).all(axis=-1)
        velocity = np.where(known[:, None], (positions - self._before) / dt, self._velocity)
        self._velocity += (velocity - self._velocity) * min(1.0, dt / EVENED)
        speed = np.sqrt((self._velocity**2).sum(axis=-1))
        self._lowest = np.where(seen, np.minimum(self._lowest + RISING * dt, positions[:, 1]), self._lowest)
        height = positions[:, 1] - self._lowest
        begins, stays = (speed < SLOW) & (height < LOW), (speed < FAST) & (height < HIGH)
        self.standing = seen & np.where(self.standing, stays, begins)
        self._before = np.where(seen[:, None], positions, self._before)
        return self.standing


def foot_contacts(ankles: ArrayLike, fps: float, leg_length: float) -> Bools:
    """(F, feet) which feet stand, from ankles (F, feet, 3) [m]: `FootContacts` frame by frame."""
    given = floats(ankles, "ankles")
    if given.ndim != 3 or given.shape[-1] != 3:
        raise ShapeError(f"ankles have shape {given.shape}; expected (F, feet, 3)")
    contacts = FootContacts(leg_length, given.shape[1])
    return np.array([contacts.step(frame, 1.0 / fps) for frame in given]).reshape(given.shape[:2])

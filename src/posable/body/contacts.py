"""When feet stand: low, and hardly moving.

A foot comes to stand when it is slower than `SLOW` and not higher than `LOW` above its recent lowest height; it
stands until it is faster than `FAST` or higher than `HIGH`. In between it goes on with what it did, so noise does not
make it flicker. All of it is counted in leg lengths, and causal: `step` needs nothing of the future.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import PosableError, ShapeError, batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import ArrayLike, Bools, Floats, Records, Vec3, floats

SLOW, FAST = 0.35, 0.8  # [leg lengths a second]
LOW, HIGH = 0.08, 0.14  # [leg lengths]
EVENED = 0.06  # [s] over which velocities are evened out
RISING = 0.02  # [leg lengths a second] by which the lowest height is forgotten: floors have steps


FOOT = np.dtype(
    [("before", "f8", 3), ("velocity", "f8", 3), ("lowest", "f8"), ("standing", "i8")],
    align=True,
)
"""A foot after its last step, in leg lengths: where it was (NaN: not seen yet), its velocity, evened out, its recent
lowest height, and whether it stands."""


def new_feet(count: int) -> Records:
    """Return the states (N,) of `FOOT` of feet that were not seen yet."""
    out = np.zeros(count, FOOT)
    out["before"], out["lowest"] = np.nan, np.inf
    return out


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
        self._state = new_feet(feet)

    def step(self, ankles: ArrayLike, dt: float) -> Bools:
        """Return (feet,) which stand, `dt` [s] after the last step, from ankles (feet, 3) [m]; never a lost one."""
        given = floats(ankles, "ankles")
        if given.shape != (self.feet, 3):
            raise ShapeError(f"ankles have shape {given.shape}; expected ({self.feet}, 3)")
        return np.asarray(self._steps(given[None], dt)[0])

    def _steps(self, ankles: Floats, dt: float) -> Bools:
        standing = np.empty(ankles.shape[:2], np.bool_)
        contact_rows(self.feet, np.ascontiguousarray(ankles), float(dt), float(self.leg_length), self._state, standing)
        return standing


def foot_contacts(ankles: ArrayLike, fps: float, leg_length: float) -> Bools:
    """(F, feet) which feet stand, from ankles (F, feet, 3) [m]: `FootContacts` frame by frame."""
    given = floats(ankles, "ankles")
    if given.ndim != 3 or given.shape[-1] != 3:
        raise ShapeError(f"ankles have shape {given.shape}; expected (F, feet, 3)")
    return FootContacts(leg_length, given.shape[1])._steps(given, 1.0 / fps)


@kernel
def contact_step(i: int, ankle: Vec3, dt: float, leg_length: float, feet: Records) -> bool:
    """Return whether foot i stands, `dt` [s] after its last step, and keep its state; never where it is no position."""
    seen = vec_in_extent(ankle)
    foot = feet[i]
    square = 0.0
    for k in range(3):
        position, before = ankle[k] / leg_length, foot["before"][k]
        if seen and math.isfinite(before):
            velocity = (position - before) / dt
            foot["velocity"][k] += (velocity - foot["velocity"][k]) * min(1.0, dt / EVENED)
        square += foot["velocity"][k] * foot["velocity"][k]
        if seen:
            foot["before"][k] = position
    if not seen:
        foot["standing"] = 0
        return False
    height = ankle[1] / leg_length
    foot["lowest"] = min(foot["lowest"] + RISING * dt, height)
    speed, height = math.sqrt(square), height - foot["lowest"]
    fast, high = (FAST, HIGH) if foot["standing"] else (SLOW, LOW)
    stands = speed < fast and height < high
    foot["standing"] = 1 if stands else 0
    return stands


@batch
def contact_rows(n: int, ankles: Floats, dt: float, leg_length: float, feet: Records, standing: Bools) -> None:
    """`contact_step` of each of n feet over the frames of `ankles` (F, n, 3) [m]."""
    for i in prange(n):
        for f in range(ankles.shape[0]):
            ankle = (ankles[f, i, 0], ankles[f, i, 1], ankles[f, i, 2])
            standing[f, i] = contact_step(i, ankle, dt, leg_length, feet)

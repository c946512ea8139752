"""`MotionFilter`: joint values that motors can follow (Ribeiro 2019, 3.7; specification express, section 9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Records
from .filter_kernels import filter_rows

KINDS = {"limits": 0, "nutty": 1}

LIMITS = np.dtype(
    [
        (name, "f8")
        for name in (
            *("velocity", "acceleration", "jerk", "low", "high"),
            *("response", "smoothness", "hardness"),
        )
    ],
    align=True,
)


class MotionFilter:
    """Follows a signal as closely as limits on speed, acceleration and jerk allow. Immutable.

    Args:
        velocity: at most [rad/s, or the signal's unit a second]; a number, or one for each channel.
        acceleration: at most [rad/s^2].
        jerk: at most [rad/s^3].
        fps: samples a second of `run`, and of a stream whose steps come without a time.
        kind: "limits": they hold, at any rate; "nutty": the paper's filter, whose limits are soft (it reaches a tenth
            to a quarter of the speed, and more than the jerk on repeated steps).
        position_limits: (low, high) or (N, 2) that the values never leave (nutty: near which it slows down).
        response: of the paper's filter, its rho: 0 to below 1; more is faster.
        smoothness: its sigma, 0 to 1; more eases more.
        hardness: its beta, above 0: how late it slows down before the position limits.
    """

    def __init__(
        self,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        jerk: ArrayLike,
        fps: float = 60.0,
        kind: str = "limits",
        position_limits: ArrayLike | None = None,
        *,
        response: float = 0.0,
        smoothness: float = 0.0,
        hardness: float = 1.0,
    ) -> None:
        if kind not in KINDS:
            raise UnknownNameError("kind of filter", kind, KINDS)
        if not (math.isfinite(fps) and fps > 0):
            raise PosableError(f"fps is {fps}; expected samples a second above 0")
        if not (0 <= response < 1 and 0 <= smoothness <= 1 and 0 < hardness < math.inf):
            given = f"response {response}, smoothness {smoothness}, hardness {hardness}"
            raise PosableError(f"{given}; expected 0 to below 1, 0 to 1, above 0")
        self.fps, self.kind = float(fps), kind
        columns = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        rows = {name: np.atleast_1d(np.array(value, dtype=np.float64)) for name, value in columns.items()}
        for name, value in rows.items():
            if value.ndim != 1 or not (np.isfinite(value) & (value > 0)).all():
                raise PosableError(f"{name} is {value.tolist()}; expected a number above 0, or one for each channel")
        ends = np.array([-np.inf, np.inf] if position_limits is None else position_limits, dtype=np.float64)
        if ends.ndim not in (1, 2) or ends.shape[-1] != 2 or not (ends[..., 0] < ends[..., 1]).all():
            raise PosableError(
                f"position_limits are {ends.tolist()}; expected (low, high) with low < high, or (N, 2) of them"
            )
        rows |= {"low": np.atleast_1d(ends[..., 0]), "high": np.atleast_1d(ends[..., 1])}
        try:
            count = np.broadcast_shapes(*(value.shape for value in rows.values()))[0]
        except ValueError:
            shapes = {name: len(value) for name, value in rows.items()}
            raise ShapeError(f"limits for different numbers of channels: {shapes}") from None
        self._limits = np.zeros(count, LIMITS)
        for name, column in {**rows, "response": response, "smoothness": smoothness, "hardness": hardness}.items():
            self._limits[name] = column

    def run(self, signal: ArrayLike) -> Floats:
        """Return the signal (F, N) or (F,) as motors can follow it, at rest on its first sample; in the same shape.

        Samples that are not finite are passed over: the last setpoint stays.
        """
        given = floats(signal, "the signal")
        if given.ndim not in (1, 2):
            raise ShapeError(f"the signal has shape {given.shape}; expected (F, N) or (F,)")
        if given.size == 0:
            return given.copy()
        flat = given.reshape(len(given), -1)
        stream = self.stream(np.nan_to_num(flat[0], posinf=0.0, neginf=0.0))
        out = np.empty((*flat.shape, 3))
        out[0] = 0.0
        out[0, :, 0] = stream.values
        stream._advance(flat[1:], np.full(len(flat) - 1, 1.0 / self.fps), out[1:])
        return np.ascontiguousarray(out[..., 0]).reshape(given.shape)

    def stream(self, start: ArrayLike) -> FilterStream:
        """Return a filter with a state, at rest at `start` (N,): `step(setpoint, dt)`."""
        return FilterStream(self, start)

    def _rows(self, count: int) -> Records:
        if len(self._limits) not in (1, count):
            raise ShapeError(f"the filter has limits for {len(self._limits)} channels, the signal {count}")
        return np.ascontiguousarray(np.broadcast_to(self._limits, count))


class FilterStream:
    """A `MotionFilter` over time; made by `MotionFilter.stream`. One stream serves one robot, from one thread."""

    def __init__(self, motion_filter: MotionFilter, start: ArrayLike) -> None:
        values = np.atleast_1d(np.array(start, dtype=np.float64))
        if values.ndim != 1 or not np.isfinite(values).all():
            raise PosableError(f"a stream starts at {values.tolist()}; expected finite numbers, one a channel")
        self.filter = motion_filter
        self._limits = motion_filter._rows(len(values))
        self._states = np.zeros((len(values), 4))
        self._states[:, 0] = np.clip(values, self._limits["low"], self._limits["high"])
        self._states[:, 3] = self._states[:, 0]

    @property
    def values(self) -> Floats:
        """(N,) where it is."""
        return self._states[:, 0].copy()

    @property
    def velocity(self) -> Floats:
        """(N,) [1/s]."""
        return self._states[:, 1].copy()

    @property
    def acceleration(self) -> Floats:
        """(N,) [1/s^2]."""
        return self._states[:, 2].copy()

    def step(self, setpoint: ArrayLike | None = None, dt: float | None = None) -> Floats:
        """(N,): where it is `dt` seconds later (a sample when not given), towards the newest setpoint (N,).

        With no setpoint, or in channels where it is not finite, the last one stays: they may come late or not at all.
        """
        count = len(self._states)
        seconds = 1.0 / self.filter.fps if dt is None else float(dt)
        if not (math.isfinite(seconds) and seconds > 0):
            raise PosableError(f"dt is {dt}; expected seconds above 0")
        goal: Any = np.full(count, np.nan) if setpoint is None else floats(setpoint, "the setpoint")
        if goal.shape not in ((), (count,)):
            raise ShapeError(f"the setpoint has shape {goal.shape}; expected ({count},)")
        out = np.empty((1, count, 3))
        self._advance(np.ascontiguousarray(np.broadcast_to(goal, (1, count))), np.array([seconds]), out)
        return np.ascontiguousarray(out[0, :, 0])

    def _advance(self, goals: Floats, seconds: Floats, out: Floats) -> None:
        kind = KINDS[self.filter.kind]
        filter_rows(len(self._states), kind, self._limits, np.ascontiguousarray(goals), seconds, self._states, out)

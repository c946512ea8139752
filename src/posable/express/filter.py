"""`MotionFilter`: joint values that motors can follow (Ribeiro 2019, 3.7; specification express, section 9).

The filter whose limits hold is planned in continuous time: a state (position, speed, acceleration) moves with piecewise
constant jerk, and is only ever allowed where a stop with full effort keeps to every limit. So at any rate of frames,
and whenever the next setpoint comes, the limits hold, and so they do for the differences of the samples. Of the
allowed jerks the one is taken whose stop ends on the setpoint: full effort first, then exactly that stop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, batch, kernel, number, prange
from ..compute.extent import EXTENT, finite_in_extent, in_extent, time_step
from ..compute.types import ArrayLike, Floats, Records, Vec3, floats

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
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected samples a second above 0")
        if not (0 <= number(response) < 1 and 0 <= number(smoothness) <= 1 and 0 < number(hardness) < math.inf):
            given = f"response {response}, smoothness {smoothness}, hardness {hardness}"
            raise PosableError(f"{given}; expected 0 to below 1, 0 to 1, above 0")
        self.fps, self.kind = float(fps), kind
        columns = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        rows = {name: np.atleast_1d(floats(value, name)) for name, value in columns.items()}
        for name, value in rows.items():
            if value.ndim != 1 or not (np.isfinite(value) & (value > 0)).all():
                raise PosableError(f"{name} is {value.tolist()}; expected a number above 0, or one for each channel")
        ends = floats([-np.inf, np.inf] if position_limits is None else position_limits, "position_limits")
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

        Samples that are not finite, or beyond 1e6, are passed over: the last setpoint stays.
        """
        given = floats(signal, "the signal")
        if given.ndim not in (1, 2):
            raise ShapeError(f"the signal has shape {given.shape}; expected (F, N) or (F,)")
        if given.size == 0:
            return given.copy()
        flat = given.reshape(len(given), -1)
        stream = self.stream(np.where(np.abs(flat[0]) <= EXTENT, flat[0], 0.0))
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
        values = np.atleast_1d(finite_in_extent(floats(start, "start"), "start")).copy()
        if values.ndim != 1:
            raise ShapeError(f"start has shape {values.shape}; expected (N,), one number a channel")
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

        With no setpoint, or in channels where it is not finite or beyond 1e6, the last one stays: setpoints may come
        late or not at all.
        """
        count = len(self._states)
        seconds = time_step(dt, self.filter.fps)
        goal: Any = np.full(count, np.nan) if setpoint is None else floats(setpoint, "the setpoint")
        if goal.shape not in ((), (count,)):
            raise ShapeError(f"the setpoint has shape {goal.shape}; expected ({count},)")
        out = np.empty((1, count, 3))
        self._advance(np.ascontiguousarray(np.broadcast_to(goal, (1, count))), np.array([seconds]), out)
        return np.ascontiguousarray(out[0, :, 0])

    def _advance(self, goals: Floats, seconds: Floats, out: Floats) -> None:
        kind = KINDS[self.filter.kind]
        filter_rows(len(self._states), kind, self._limits, np.ascontiguousarray(goals), seconds, self._states, out)


BISECTIONS = 40
SETTLED = 1e-10  # [of the unit, relative to a setpoint beyond 1]: a stop that ends this near is followed as it is
FINEST = 256  # at most so many steps between two samples


@kernel
def moved(state: Vec3, jerk: float, t: float) -> Vec3:
    """Return (position, speed, acceleration) after t seconds of constant jerk."""
    x, v, a = state
    return (
        x + t * (v + t * (0.5 * a + t * jerk / 6.0)),
        v + t * (a + 0.5 * t * jerk),
        a + t * jerk,
    )


@kernel
def stop_of(state: Vec3, most: float, jerk: float) -> tuple[float, float, float, float]:
    """(jerk of the first phase, three durations) of the fastest stop: towards a braking acceleration, hold, and off."""
    _, v, a = state
    side = 1.0 if v + a * abs(a) / (2.0 * jerk) >= 0.0 else -1.0
    v, a = side * v, side * a
    peak = math.sqrt(max(0.0, jerk * v + 0.5 * a * a))
    hold = 0.0
    if peak > most:
        peak = most
        hold = max(0.0, (v + a * a / (2.0 * jerk) - most * most / jerk) / most)
    return -side * jerk, max(0.0, (a + peak) / jerk), hold, peak / jerk


@kernel
def along_stop(state: Vec3, most: float, jerk: float, t: float) -> Vec3:
    """The state t seconds into the fastest stop; at rest once it has ended."""
    first, t1, t2, t3 = stop_of(state, most, jerk)
    if t <= t1:
        return moved(state, first, t)
    state = moved(state, first, t1)
    if t <= t1 + t2:
        return moved(state, 0.0, t - t1)
    state = moved(state, 0.0, t2)
    if t < t1 + t2 + t3:
        return moved(state, -first, t - t1 - t2)
    state = moved(state, -first, t3)
    return (state[0], 0.0, 0.0)


@kernel
def stop_position(state: Vec3, most: float, jerk: float) -> float:
    """Return the position where the fastest stop ends."""
    first, t1, t2, t3 = stop_of(state, most, jerk)
    return moved(moved(moved(state, first, t1), 0.0, t2), -first, t3)[0]


@kernel
def keeps_range(state: Vec3, most: float, jerk: float, low: float, high: float) -> bool:
    """Whether the fastest stop stays inside a range: where it ends, and where it reverses before."""
    x, v, a = state
    end = stop_position(state, most, jerk)
    if not (low <= x <= high and low <= end <= high):
        return False
    first, t1, _, _ = stop_of(state, most, jerk)
    if first * v <= 0.0:
        return True  # it brakes against its motion: it never reverses
    root = a * a - 2.0 * first * v
    if root < 0.0:
        return True
    t = (-a + math.copysign(math.sqrt(root), first)) / first
    other = (-a - math.copysign(math.sqrt(root), first)) / first
    if 0.0 < other < t:
        t = other
    if 0.0 < t <= t1:
        reversal = moved(state, first, t)[0]
        return low <= reversal <= high
    return True


@kernel
def allowed(state: Vec3, u: float, h: float, limits: Records, i: int) -> bool:
    """Whether jerk u for h seconds, and the fastest stop after it, keep to every limit."""
    _, v, a = state
    fastest, most, jerk = limits[i]["velocity"], limits[i]["acceleration"], limits[i]["jerk"]
    after = moved(state, u, h)
    if abs(after[2]) > most:
        return False
    if abs(after[1] + after[2] * abs(after[2]) / (2.0 * jerk)) > fastest:
        return False
    if a * after[2] < 0.0 and abs(v - a * a / (2.0 * u)) > fastest:
        return False
    low, high = limits[i]["low"], limits[i]["high"]
    if math.isinf(low) and math.isinf(high):
        return True
    if not keeps_range(after, most, jerk, low, high):
        return False
    # Inside the step the position is extreme where the speed is zero.
    root = a * a - 2.0 * u * v
    if u != 0.0 and root >= 0.0:
        for side in range(2):
            t = (-a + (math.sqrt(root) if side else -math.sqrt(root))) / u
            if 0.0 < t < h and not low <= moved(state, u, t)[0] <= high:
                return False
    elif u == 0.0 and a != 0.0:
        t = -v / a
        if 0.0 < t < h and not low <= moved(state, 0.0, t)[0] <= high:
            return False
    return True


@kernel
def towards(state: Vec3, goal: float, h: float, limits: Records, i: int) -> Vec3:
    """The state after h seconds towards rest at `goal`, by bisection on the jerk."""
    most, jerk = limits[i]["acceleration"], limits[i]["jerk"]
    end = stop_position(state, most, jerk)
    if abs(end - goal) <= SETTLED * max(1.0, abs(goal)):
        return along_stop(state, most, jerk, h)
    low, high = max(-jerk, (-most - state[2]) / h), min(jerk, (most - state[2]) / h)
    u = high
    if stop_position(moved(state, high, h), most, jerk) > goal:
        u = low
        if stop_position(moved(state, low, h), most, jerk) < goal:
            for _ in range(BISECTIONS):
                u = 0.5 * (low + high)
                if stop_position(moved(state, u, h), most, jerk) > goal:
                    high = u
                else:
                    low = u
    if allowed(state, u, h, limits, i):
        return moved(state, u, h)
    brake, _, _, _ = stop_of(state, most, jerk)
    if not allowed(state, brake, h, limits, i):
        return safest(state, u, h, limits, i)
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if allowed(state, brake + middle * (u - brake), h, limits, i):
            low = middle
        else:
            high = middle
    return moved(state, brake + low * (u - brake), h)


@kernel
def safest(state: Vec3, u: float, h: float, limits: Records, i: int) -> Vec3:
    """No jerk at all, if it is allowed and so is more to gain from it than from stopping; else the fastest stop."""
    if allowed(state, 0.0, h, limits, i):
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if allowed(state, middle * u, h, limits, i):
                low = middle
            else:
                high = middle
        return moved(state, low * u, h)
    return along_stop(state, limits[i]["acceleration"], limits[i]["jerk"], h)


@kernel
def squashed(z: float, k: float) -> float:
    """The paper's limiter: at most k / 2 either way (Eq. 23)."""
    return 0.5 * k * math.tanh(2.0 * z / k)


@kernel
def nutty(state: Vec3, goal: float, h: float, limits: Records, i: int) -> Vec3:
    """One frame of the paper's filter, in the reading whose units fit (section 9)."""
    x, speed, acceleration = state
    v = (goal - x) / h
    low, high = limits[i]["low"], limits[i]["high"]
    if not (math.isinf(low) or math.isinf(high)) and high > low:
        off = (x - 0.5 * (low + high)) / (0.5 * (high - low))
        if off * v > 0.0:
            v *= 1.0 - min(1.0, abs(off)) ** (2.0 * limits[i]["hardness"])
    ease = (abs(v) / (1.0 - limits[i]["response"])) ** (1.0 - limits[i]["smoothness"])
    v *= 0.5 * (math.tanh(ease - math.pi) + 1.0)
    jerk = squashed(((v - speed) / h - acceleration) / h, limits[i]["jerk"])
    a = squashed(acceleration + jerk * h, limits[i]["acceleration"])
    after = squashed(speed + a * h, limits[i]["velocity"])
    return (x + after * h, after, a)


@kernel
def filter_row(i: int, kind: int, limits: Records, goals: Floats, steps: Floats, states: Floats, out: Floats) -> None:
    """Channel i: from its state towards one goal after the other, each so many seconds after the one before."""
    state = (states[i, 0], states[i, 1], states[i, 2])
    finest = 0.25 * min(
        limits[i]["acceleration"] / limits[i]["jerk"], limits[i]["velocity"] / limits[i]["acceleration"]
    )
    for f in range(goals.shape[0]):
        if in_extent(goals[f, i]):
            states[i, 3] = min(limits[i]["high"], max(limits[i]["low"], goals[f, i]))
        if kind == 1:
            state = nutty(state, states[i, 3], steps[f], limits, i)
        else:
            count = int(min(float(FINEST), max(1.0, math.ceil(steps[f] / finest))))
            for _ in range(count):
                state = towards(state, states[i, 3], steps[f] / count, limits, i)
            # A stop that ends on a limit may end beyond it by rounding.
            state = (min(limits[i]["high"], max(limits[i]["low"], state[0])), state[1], state[2])
        out[f, i, 0], out[f, i, 1], out[f, i, 2] = state
    states[i, 0], states[i, 1], states[i, 2] = state


@batch(rows=64)
def filter_rows(n: int, kind: int, limits: Records, goals: Floats, steps: Floats, states: Floats, out: Floats) -> None:
    """`filter_row` over channels: goals (F, n), seconds before each (F,), states (n, 4), out (F, n, 3)."""
    for i in prange(n):
        filter_row(i, kind, limits, goals, steps, states, out)

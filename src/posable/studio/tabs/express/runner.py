"""One method at work on a chain: the solver with its memory, and the filter that its motors follow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....compute.types import Floats
from ....express import ERIK, Chain, ErikSolution, FilterStream, MotionFilter

STILL = 1e-5
"""[rad]: an answer that changes by less stands still."""
AT_REST = 1e-3
"""[rad, and rad a second]: motors this near to their answer, this slow, are at rest; answers tremble by less."""


@dataclass(frozen=True)
class Motors:
    """What the motors can do: [rad/s], [rad/s^2], [rad/s^3], and the kind of filter."""

    velocity: float
    acceleration: float
    jerk: float
    kind: str

    def filter(self, chain: Chain) -> MotionFilter:
        """The filter for a chain; a joint whose limits leave it one value keeps it by itself."""
        ends = chain.limits
        ends = np.where(ends[:, :1] < ends[:, 1:], ends, [-np.inf, np.inf])
        return MotionFilter(self.velocity, self.acceleration, self.jerk, kind=self.kind, position_limits=ends)


class Runner:
    """A method that follows a target, moment after moment."""

    def __init__(self, chain: Chain, method: str) -> None:
        self.method = method
        self.stream = ERIK(chain, method).stream()
        self.motors: Motors | None = None
        self.answer: ErikSolution | None = None
        self.seconds = 0.0
        self.still = False
        self._sent: FilterStream | None = None

    @property
    def angles(self) -> Floats:
        """(N,) what the motors have: the answer, or as far as the filter has come towards it."""
        if self._sent is not None:
            return self._sent.values
        return self.stream.erik.chain.zero if self.answer is None else np.asarray(self.answer.angles)

    @property
    def velocity(self) -> Floats | None:
        """(N,) of the motors [rad/s], where there is a filter."""
        return None if self._sent is None else self._sent.velocity

    @property
    def acceleration(self) -> Floats | None:
        """(N,) of the motors [rad/s^2], where there is a filter."""
        return None if self._sent is None else self._sent.acceleration

    def drive(self, motors: Motors | None) -> None:
        """Have motors of this kind follow, from where they are; None: whatever is answered."""
        if motors != self.motors:
            start, self.motors = self.angles, motors
            self._sent = None if motors is None else motors.filter(self.stream.erik.chain).stream(start)

    def step(self, posture: Floats, aim: Mapping[str, Floats], dt: float) -> ErikSolution:
        """Go on by `dt` seconds with a posture (N,) and a target as `ErikStream.step` takes it."""
        before = None if self.answer is None else self.answer.angles
        begun = time.perf_counter()
        answer = self.stream.step(posture, dt=dt, **aim)
        self.seconds = time.perf_counter() - begun
        self.answer = answer
        self.still = before is not None and float(np.abs(answer.angles - before).max()) < STILL
        if self._sent is not None:
            values = self._sent.step(answer.angles, dt)
            moving = max(float(np.abs(self._sent.velocity).max()), float(np.abs(values - answer.angles).max()))
            self.still = self.still and moving < AT_REST
        return answer

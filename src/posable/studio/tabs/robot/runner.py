"""One method that follows a target with a chain: the solver with its state, the filter of its motors, its text."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....compute import Status
from ....compute.types import Floats
from ....express import ERIK, Chain, ErikSolution, FilterStream, MotionFilter
from ...widgets.status_text import COLOURS, coloured, status_text

STILL = 1e-5
"""[rad]: a solution that changes by less stands still."""
AT_REST = 1e-3
"""[rad, and rad a second]: motors this near to their solution, this slow, are at rest; solutions jitter by less."""
BEHIND = 0.02
"""[rad]: motors further from their solution than this are behind it."""
ANGLE, SPEED, ACCELERATION = "angle", "speed", "acceleration"
QUANTITIES = (ANGLE, SPEED, ACCELERATION)
ITERATIONS = {"best": "start", "erik": "iteration", "simple": "iteration", "ccd": "iteration"}
"""What a method counts."""
AIMED = {Status.REACHED: "On target", Status.LIMITS: "Not quite on target: a joint is at its limit"}


@dataclass(frozen=True)
class Motors:
    """The limits of the motors, [rad/s], [rad/s^2], [rad/s^3], and the kind of filter that enforces them."""

    velocity: float
    acceleration: float
    jerk: float
    kind: str

    def filter(self, chain: Chain) -> MotionFilter:
        """Return the filter for a chain; a joint whose limits leave it one value keeps it by itself."""
        limits = chain.limits
        limits = np.where(limits[:, :1] < limits[:, 1:], limits, [-np.inf, np.inf])
        return MotionFilter(self.velocity, self.acceleration, self.jerk, kind=self.kind, position_limits=limits)


class Runner:
    """A method that follows a target, moment after moment."""

    def __init__(self, chain: Chain, method: str) -> None:
        self.method = method
        self.stream = ERIK(chain, method).stream()
        self.motors: Motors | None = None
        self.solution: ErikSolution | None = None
        self.seconds = 0.0  # that the last solution took
        self.still = False
        self.sent: FilterStream | None = None  # what the filter makes of the solutions, where there is one

    @property
    def angles(self) -> Floats:
        """(N,) the motors' angles: the solution, or as far as the filter has come towards it."""
        if self.sent is not None:
            return self.sent.values
        return self.stream.erik.chain.zero if self.solution is None else np.asarray(self.solution.angles)

    @property
    def is_behind(self) -> bool:
        """Whether the motors have not come to the solution yet: what is drawn is not what was solved."""
        if self.sent is None or self.solution is None:
            return False
        return bool(np.abs(self.sent.values - self.solution.angles).max() > BEHIND)

    @property
    def status(self) -> Status:
        """Of the angles that are drawn; INVALID while there is no solution, or the motors are behind it."""
        return Status.INVALID if self.solution is None or self.is_behind else Status(int(self.solution.status))

    def drive(self, motors: Motors | None) -> None:
        """Follow with motors of this kind, from their present angles; None applies every solution at once."""
        if motors != self.motors:
            start, self.motors = self.angles, motors
            self.sent = None if motors is None else motors.filter(self.stream.erik.chain).stream(start)

    def step(self, posture: Floats, aim: Mapping[str, Floats], dt: float) -> None:
        """Advance by `dt` seconds with a posture (N,) and a target as `ErikStream.step` takes it."""
        before = None if self.solution is None else self.solution.angles
        start = time.perf_counter()
        solution = self.stream.step(posture, dt=dt, **aim)
        self.seconds = time.perf_counter() - start
        self.solution = solution
        self.still = before is not None and float(np.abs(solution.angles - before).max()) < STILL
        if self.sent is not None:
            values = self.sent.step(solution.angles, dt)
            moving = max(float(np.abs(self.sent.velocity).max()), float(np.abs(values - solution.angles).max()))
            self.still = self.still and moving < AT_REST

    @property
    def text(self) -> str:
        """How the solution is, as Markdown, in words."""
        if self.solution is None:
            return ""
        if self.is_behind:
            return coloured(COLOURS[Status.INVALID], "**The motors are on their way**")
        return status_text(self.status, AIMED.get(self.status))

    @property
    def numbers(self) -> str:
        """The errors of the solution, its iterations and its time."""
        found = self.solution
        if found is None:
            return ""
        counted = f"{found.iterations} {ITERATIONS[self.method]}{'' if found.iterations == 1 else 's'}"
        degrees = math.degrees(float(found.orientation_error))
        return (
            f"error {found.error:.4f}, aim {found.orientation_score:.4f} ({degrees:.1f}°), "
            f"posture {found.posture_error:.4f}, {counted}, {1000.0 * self.seconds:.1f} ms"
        )

    def motor_lines(self, joint: int, quantity: str) -> tuple[str, dict[str, float]]:
        """Return a title and, by label, one of `QUANTITIES` of a joint's motor now, with its limits."""
        motors, sent = self.motors, self.sent
        if motors is None or sent is None or self.solution is None:
            return quantity, {}
        if quantity == ANGLE:
            angle, target = float(sent.values[joint]), float(self.solution.angles[joint])
            return "angle [°]", {"sent": math.degrees(angle), "target": math.degrees(target)}
        if quantity == SPEED:
            title, value, limit = "speed [rad/s]", float(sent.velocity[joint]), motors.velocity
        else:
            title, value, limit = "acceleration [rad/s²]", float(sent.acceleration[joint]), motors.acceleration
        return title, {"sent": value, "limit": limit, "−limit": -limit}

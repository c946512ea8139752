"""Whole-body reaching over time: `ReachStream`, a reacher with memory.

How the body bends is a continuous function of the hands' targets, so it needs no memory. The arms do, whose swivels
move from frame to frame (`limb.stream`), and so does the beginning. A behaviour may bend a body at rest already, for
the hands that hang; so the weight of a hand's behaviour grows from 0 when it gets its first target, and a motion begins
in its starting pose.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..compute import PosableError, ShapeError, Status
from ..limb.solution import TargetLike
from ..samples.curves import minimum_jerk
from ..skeleton import Pose
from .solutions import ReachSolution

if TYPE_CHECKING:
    from ..limb.stream import LimbStream
    from .reacher import Reacher


TARGET_FIELDS = (("position", 3), ("orientation", 4), ("pole", 3))
"""The parts of a target and how many columns they have."""


class Fractions(NamedTuple):
    """How much of something is due by now, from 0 to 1, for each hand."""

    right: float = 1.0
    left: float = 1.0


class ArmStep(NamedTuple):
    """A step of an arm's stream: options of `BodyLimb.place`."""

    stream: LimbStream
    dt: float
    fraction: float


class ReachStream:
    """A body that follows moving targets; made by `Reacher.stream`. One stream serves one body, from one thread."""

    def __init__(self, reacher: Reacher, fps: float, start: Pose | None, settle: float, speed: float) -> None:
        if not (math.isfinite(settle) and settle >= 0.0):
            raise PosableError(f"settle is {settle} s; expected 0 or more")
        self.reacher, self.fps, self.settle = reacher, fps, settle
        self.start = reacher.body.neutral_pose if start is None else start
        if self.start.shape or self.start.joint_count != len(reacher.body.skeleton):
            raise ShapeError(
                f"start has shape {self.start.shape} and {self.start.joint_count} joints; "
                f"expected one pose of {len(reacher.body.skeleton)} joints"
            )
        self._arms = tuple(arm.stream(fps, speed=speed) for arm in reacher._arms)
        self.reset()

    def reset(self) -> None:
        """Go back to the starting pose: the next step is as the first."""
        self.pose = self.start
        """The last pose."""
        self._since: list[float | None] = [None, None]

    def step(
        self, right: TargetLike | None = None, left: TargetLike | None = None, dt: float | None = None
    ) -> ReachSolution:
        """Return the body for the next targets.

        A hand without a target hangs as at the start, or moves with the other hand's behaviour. A target that is not
        finite keeps the body still.

        Args:
            right: of the right hand in the world: a `Target`, or a position (3,) [m].
            left: of the left hand.
            dt: time since the last targets [s]; a frame when not given.
        """
        step = 1.0 / self.fps if dt is None else dt
        fractions = []
        for since in self._since:
            time = step if since is None else since + step
            fractions.append(1.0 if time >= self.settle else float(minimum_jerk(time / self.settle)))
        return self.advance((right, left), step, Fractions(*fractions), Fractions(*fractions))

    def advance(
        self, targets: tuple[TargetLike | None, TargetLike | None], dt: float, weights: Fractions, elbows: Fractions
    ) -> ReachSolution:
        """Do a `step` with given fractions of the behaviours' weights and of the elbows' paths since `depart`."""
        targets = self.reacher._checked(self.start, *targets)
        arms: list[ArmStep | None] = [None, None]
        for side, (target, arm) in enumerate(zip(targets, self._arms, strict=True)):
            since = self._since[side]
            self._since[side] = None if target is None else dt if since is None else since + dt
            if target is not None:
                arms[side] = ArmStep(arm, dt, elbows[side])
                if since is None:  # goes on from where it is
                    reading = self.reacher._arms[side].read(self.pose)
                    arm.begin(reading.values, float(reading.swivel))
        solution = self.reacher._solve(self.start, targets, weights, arms)
        if solution.status is Status.INVALID:
            solution = replace(solution, pose=self.pose)
        self.pose = solution.pose
        return solution

    def depart(self) -> None:
        """Begin new paths here: the elbows' fractions count from their swivels of this moment."""
        for arm in self._arms:
            arm.depart()

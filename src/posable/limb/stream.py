"""A limb over time: the swivel follows the search's, at a bounded speed and through valid postures only.

The search has no memory: where the edge of a valid interval moves, its swivel moves with it, but where a nearer
interval opens or the one it uses vanishes, it jumps. A stream walks instead (specification limb-and-reach, section 4):
from the last swivel towards the search's, at most `speed` times the time step, stopping before the first invalid one.
Where the last swivel is no longer valid it takes the nearest valid one, and reports a jump if that is further than a
step: no continuous motion could have avoided it. Where a target has no valid posture at all the closest one is taken,
which has no memory either; a jump of the elbow into it, out of it or within is flagged too. The hand stays on its
target throughout, jump or not; the specification would blend joint values over a jump, which takes the hand off.

The specification's speed is 360 degrees a second. At 60 frames a second that is an elbow moving 27 mm a frame next to
a resting hand, so ours is half of it by default: at most 17 mm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError, Status, number
from ..compute.arguments import explained
from ..compute.extent import time_step
from ..compute.types import ArrayLike, Floats, floats
from .nearest_clear import INSIDE
from .solution import LimbSolution, LimbTrackSolution
from .solve import REPORT

if TYPE_CHECKING:
    from .limb import Limb

SUB_STEP = math.radians(2.0)  # a walk tests swivels this far apart


@explained
class LimbStream:
    """A limb with memory; made by `Limb.stream`. One stream serves one limb of one body, from one thread."""

    def __init__(self, limb: Limb, fps: float, speed: float) -> None:
        for name, value in (("fps", fps), ("speed", speed)):
            if not 0.0 < number(value) < math.inf:
                raise PosableError(f"{name} is {value}; expected a number above 0")
        self.limb, self.fps, self.speed = limb, float(fps), float(speed)
        time_step(None, self.fps)
        self._swivel: float | None = None
        self._departed = 0.0
        self._last: _Moment | None = None

    def reset(self) -> None:
        """Forget the past: the next step is as the first."""
        self._swivel = self._last = None

    def begin(self, values: ArrayLike, swivel: float) -> None:
        """Continue from a posture: its seven values and swivel [rad], as `BodyLimb.read` gives them."""
        given = floats(values, "values", 7).copy()
        frames = self.limb.forward(given)
        self._swivel = float(swivel)
        self._last = _Moment(frames.end, given, frames.mid, True, self._swivel)
        self.depart()

    def depart(self) -> None:
        """Begin a new path here: the `fraction` of `step` counts from the swivel of this moment."""
        self._departed = 0.0 if self._swivel is None else self._swivel

    def step(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        dt: float | None = None,
        *,
        fraction: float = 1.0,
        **options: Any,
    ) -> LimbTrackSolution:
        """Return the posture for the next target.

        Args:
            position: (3,) [m] in the limb's frame.
            orientation: (4,) `wxyz` of the end; default none.
            dt: [s] since the last step; default: one frame.
            fraction: of the path from the swivel at `depart` to the one searched for that is due by now, 0 to 1, for
                an elbow that sets off as gently as its hand; default 1.
            **options: of `Limb.solve`; `preferred` is where the swivel would like to be.
        """
        goal = floats(position, "position", 3)
        step = self.speed * time_step(dt, self.fps)
        best = self.limb._solve(goal, orientation, **options)
        if best.status is Status.INVALID and self._last is not None:
            best.report["swivel"] = self._last.swivel
            return LimbTrackSolution(self._last.values.copy(), best.report, False, best.inside)  # holds still
        if self._swivel is None or not best.report["found"]:
            return self._remember(best, False, goal, step)
        options.pop("preferred", None)
        here = self.limb._solve(goal, orientation, swivel=self._swivel, probe=True, **options)
        if not here.report["found"]:
            near = self.limb._solve(goal, orientation, preferred=self._swivel, **options)
            if not near.report["found"]:  # its growing steps passed over what the other search has found
                near = best
            return self._remember(near, abs(float(near.swivel) - self._swivel) > step, goal, step)
        change = self._departed + fraction * (float(best.swivel) - self._departed) - self._swivel
        count = max(1, math.ceil(min(abs(change), step) / SUB_STEP))
        for k in range(1, count + 1):
            swivel = self._swivel + math.copysign(min(abs(change), step), change) * k / count
            following = self.limb._solve(goal, orientation, swivel=swivel, probe=True, **options)
            if not following.report["found"]:
                break
            here = following
        return self._remember(here, False, goal, step)

    def track(self, positions: ArrayLike, orientations: ArrayLike | None = None, **options: Any) -> LimbTrackSolution:
        """Return postures for a path of targets (F, 3) [m], one a frame; orientations (4,) or (F, 4)."""
        path = floats(positions, "positions")
        if path.ndim != 2 or path.shape[1] != 3:
            raise ShapeError(f"positions have shape {path.shape}; expected (F, 3)")
        given = [None] * len(path) if orientations is None else _each(orientations, len(path))
        steps = [self.step(position, given[k], **options) for k, position in enumerate(path)]
        return LimbTrackSolution(
            np.array([one.values for one in steps]).reshape(-1, 7),
            np.array([one.report for one in steps], REPORT),
            np.array([one.jumped for one in steps], dtype=np.bool_),
            np.array([one.inside for one in steps], INSIDE),
        )

    def _remember(self, solution: LimbSolution, jumped: bool, goal: Floats, step: float) -> LimbTrackSolution:
        """Return the solution, stored; next to a closest posture it is a jump if its elbow moved too far."""
        found, last = bool(solution.report["found"]), self._last
        elbow = self.limb.forward(solution.values).mid
        if last is not None and not (found and last.found):
            far = step * self.limb.upper + float(np.linalg.norm(goal - last.position))
            jumped = jumped or float(np.linalg.norm(elbow - last.elbow)) > far
        if found:
            self._swivel = float(solution.swivel)
        self._last = _Moment(goal, solution.values, elbow, found, float(solution.swivel))
        return LimbTrackSolution(solution.values, solution.report, jumped, solution.inside)


def _each(orientations: ArrayLike, frames: int) -> Floats:
    rows = floats(orientations, "orientations", 4)
    try:
        return np.broadcast_to(rows, (frames, 4))
    except ValueError:
        raise ShapeError(f"orientations have shape {rows.shape}; expected (4,) or ({frames}, 4)") from None


@dataclass(frozen=True, eq=False)
class _Moment:
    """The last step, as a stream remembers it."""

    position: Floats
    values: Floats
    elbow: Floats
    found: bool
    swivel: float

"""A limb over time: the swivel follows what the search wants, at a bounded speed and through valid postures only.

The search has no memory: where the edge of a valid interval moves, its swivel moves with it, but where a nearer
interval opens or the one it uses vanishes, it leaps. A stream walks instead (specification limb-and-reach, section 4):
from the last swivel towards the search's, at most `speed` times the time step, stopping before the first invalid one.
Where the last swivel is no longer valid it takes the nearest valid one, and says so if that is further than a walk: a
jump that no continuous motion could have avoided. Where a target has no valid posture at all the closest one is taken,
which has no memory either; a leap of the elbow into it, out of it or within is flagged too. The hand stays on its
target throughout, jump or not; the specification would blend joint values over a jump, which takes the hand off.

The specification's speed is 360 degrees a second. At 60 frames a second that is an elbow moving 27 mm a frame beside a
resting hand, so ours is half of it by default: at most 17 mm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError, Status, number
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Bools, Floats
from .answers import LimbSolution

if TYPE_CHECKING:
    from .limb import Limb

SUB_STEP = math.radians(2.0)  # the walk looks at the swivels between this far apart


@dataclass(frozen=True, eq=False)
class StreamAnswer:
    """The posture of one moment."""

    answer: LimbSolution
    jumped: bool
    """Whether the elbow may have leapt: the swivel had to leave its valid interval, or there was none."""

    @property
    def values(self) -> Floats:
        """(7,) [rad]."""
        return self.answer.values

    @property
    def swivel(self) -> float:
        """[rad]."""
        return float(self.answer.swivel)

    @property
    def status(self) -> Any:
        """As `LimbSolution.status`."""
        return self.answer.status

    @property
    def position_error(self) -> float:
        """[m]."""
        return float(self.answer.position_error)


@dataclass(frozen=True, eq=False)
class TrackAnswer:
    """The postures of a path."""

    values: Floats
    """(F, 7) [rad]."""
    swivel: Floats
    """(F,) [rad]."""
    status: Any
    """(F,) int8 of `Status`."""
    position_error: Floats
    """(F,) [m]."""
    jumped: Bools
    """(F,) where the swivel had to leap."""


class LimbStream:
    """A limb with memory; made by `Limb.stream`. One stream serves one limb of one body, from one thread."""

    def __init__(self, limb: Limb, fps: float, speed: float) -> None:
        for name, value in (("fps", fps), ("speed", speed)):
            if not 0.0 < number(value) < math.inf:
                raise PosableError(f"{name} is {value}; expected a number above 0")
        self.limb, self.fps, self.speed = limb, fps, speed
        self._last: float | None = None
        self._departed = 0.0
        self._before: _Moment | None = None

    def reset(self) -> None:
        """Forget the past: the next step is as the first."""
        self._last = self._before = None

    def begin(self, values: ArrayLike, swivel: float) -> None:
        """Continue from a posture: its seven values and swivel [rad], as `BodyLimb.read` gives them."""
        given = np.array(values, dtype=np.float64)
        frames = self.limb.forward(given)
        self._last = float(swivel)
        self._before = _Moment(frames.end, given, frames.mid, True)
        self.depart()

    def depart(self) -> None:
        """A new way begins here: shares of it, as `step` takes them, count from the swivel of this moment."""
        self._departed = 0.0 if self._last is None else self._last

    def step(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        dt: float | None = None,
        *,
        share: float = 1.0,
        **options: Any,
    ) -> StreamAnswer:
        """The posture for the next target.

        Args:
            position: (3,) [m] in the limb's frame.
            orientation: (4,) of the end.
            dt: [s] since the last step; a frame when not given.
            share: how much of the way from the swivel at `depart` to the wanted one is due by now, from 0 to 1, for
                an elbow that sets off as gently as its hand.
            **options: for `Limb.solve`; `preferred` is where the swivel would like to be.
        """
        place = floats(position, "position", 3)
        step = self.speed * (1.0 / self.fps if dt is None else dt)
        wanted = self.limb._solve(place, orientation, **options)
        if wanted.status is Status.INVALID and self._before is not None:
            return StreamAnswer(LimbSolution(self._before.values.copy(), wanted._report), False)  # holds still
        if self._last is None or not wanted._report["found"]:
            return self._kept(wanted, False, place, step)
        options.pop("preferred", None)
        here = self.limb._solve(place, orientation, swivel=self._last, probe=True, **options)
        if not here._report["found"]:
            near = self.limb._solve(place, orientation, preferred=self._last, **options)
            if not near._report["found"]:  # its growing steps leapt over what the other search has found
                near = wanted
            return self._kept(near, abs(float(near.swivel) - self._last) > step, place, step)
        way = self._departed + share * (float(wanted.swivel) - self._departed) - self._last
        count = max(1, math.ceil(min(abs(way), step) / SUB_STEP))
        for k in range(1, count + 1):
            swivel = self._last + math.copysign(min(abs(way), step), way) * k / count
            next_one = self.limb._solve(place, orientation, swivel=swivel, probe=True, **options)
            if not next_one._report["found"]:
                break
            here = next_one
        return self._kept(here, False, place, step)

    def track(self, positions: ArrayLike, orientations: ArrayLike | None = None, **options: Any) -> TrackAnswer:
        """Postures for a path of targets (F, 3), one a frame; orientations (4,) or (F, 4)."""
        places = floats(positions, "positions")
        if places.ndim != 2 or places.shape[1] != 3:
            raise ShapeError(f"positions have shape {places.shape}; expected (F, 3)")
        turns = None if orientations is None else np.broadcast_to(np.asarray(orientations), (len(places), 4))
        told = [self.step(p, None if turns is None else turns[k], **options) for k, p in enumerate(places)]
        return TrackAnswer(
            np.array([one.values for one in told]).reshape(-1, 7),
            np.array([one.swivel for one in told]),
            np.array([int(one.status) for one in told], dtype=np.int8),
            np.array([one.position_error for one in told]),
            np.array([one.jumped for one in told], dtype=np.bool_),
        )

    def _kept(self, answer: LimbSolution, jumped: bool, place: Floats, step: float) -> StreamAnswer:
        """The answer, remembered; a closest posture on either side of the step is a jump if its elbow went too far."""
        found, before = bool(answer._report["found"]), self._before
        elbow = self.limb.forward(answer.values).mid
        if before is not None and not (found and before.found):
            far = step * self.limb.upper + float(np.linalg.norm(place - before.place))
            jumped = jumped or float(np.linalg.norm(elbow - before.elbow)) > far
        if found:
            self._last = float(answer.swivel)
        self._before = _Moment(place, answer.values, elbow, found)
        return StreamAnswer(answer, jumped)


@dataclass(frozen=True, eq=False)
class _Moment:
    """What a stream remembers of its last step."""

    place: Floats
    values: Floats
    elbow: Floats
    found: bool

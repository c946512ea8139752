"""Solutions of whole-body reaches: `ReachSolution` with a `HandSolution` a hand, and `ReachMotionSolution`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compute import Status
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton import Pose
from ..skeleton.solution import MotionSolution, PoseSolution, Solution, StatusLike, status_like


class HandSolution(Solution):
    """How one hand met its target; read when needed."""

    __slots__ = ("_result", "_side", "jumped")

    def __init__(self, result: Records, side: int, jumped: bool = False) -> None:
        self._result, self._side = result, side
        self.jumped = jumped
        """Whether the elbow jumped, because no valid posture leads from the last one to this; only of a stream."""

    @property
    def status(self) -> StatusLike:
        """A `Status`, or an int8 array of them (...): REACHED where the hand of the returned pose is on its target."""
        return status_like(self._result["hand_status"][..., self._side], self._result.shape)

    @property
    def position_error(self) -> Floats:
        """(...) [m] from its target."""
        return np.asarray(self._result["position_error"][..., self._side])

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad] from the requested orientation; 0 where none was."""
        return np.asarray(self._result["orientation_error"][..., self._side])

    @property
    def swivel(self) -> Floats:
        """(...) [rad] of its elbow."""
        return np.asarray(self._result["swivel"][..., self._side])

    @property
    def requested_weight(self) -> Floats:
        """(...) the weight of the behaviour by the target's distance, from 0 to 1."""
        return np.asarray(self._result["requested_weight"][..., self._side])

    @property
    def weight(self) -> Floats:
        """(...) the weight used."""
        return np.asarray(self._result["weight"][..., self._side])


@dataclass(frozen=True, eq=False, repr=False)
class ReachSolution(PoseSolution):
    """A body that reaches: REACHED where every hand with a target is on it, and the feet are where they stood."""

    right: HandSolution | None
    left: HandSolution | None
    reason: StatusLike
    """Why the weight was lowered: REACHED where it was not, COLLISION, or UNREACHABLE: a leg was too short."""
    tried: Ints
    """(...) how many postures of the body were tried."""

    @staticmethod
    def of(pose: Pose, result: Records, right: HandSolution | None, left: HandSolution | None) -> ReachSolution:
        """Return the solution of a call from its rows (...) of `packed.RESULT`."""
        shape, hands = result.shape, [hand for hand in (right, left) if hand is not None]
        return ReachSolution(
            pose,
            status_like(result["status"], shape),
            _largest([hand.position_error for hand in hands]),
            _largest([hand.orientation_error for hand in hands]),
            right,
            left,
            status_like(result["reason"], shape),
            result["tried"],
        )

    @property
    def weight(self) -> Floats:
        """(...) the weight of the behaviour that was used; with two hands the larger one."""
        return _largest([hand.weight for hand in (self.right, self.left) if hand is not None])

    @property
    def jumped(self) -> bool:
        """Whether an elbow jumped, because no valid posture leads from the last one to this; only of a stream."""
        return any(hand is not None and hand.jumped for hand in (self.right, self.left))

    @property
    def lowered(self) -> Bools:
        """(...) whether less of the behaviour was taken than the distance requests."""
        return np.asarray(np.not_equal(self.reason, Status.REACHED))


@dataclass(frozen=True, eq=False, repr=False)
class ReachMotionSolution(MotionSolution):
    """A motion that reaches: REACHED in frames where every hand is on its path. Errors are measured from the path."""

    weight: Floats
    """(F,) the weight of the behaviour that was used."""
    jumped: Bools
    """(F,) where an elbow jumped, because no valid posture leads from the last one to the next."""
    arrivals: Ints
    """(S,) the frame in which each step's target is met, before the hand stays there."""

    @property
    def first_failure(self) -> int | None:
        """The first frame that is not ok; None where all are."""
        failed = np.flatnonzero(self.status != Status.REACHED)
        return int(failed[0]) if len(failed) else None


def _largest(values: list[Floats]) -> Floats:
    return values[0] if len(values) == 1 else np.maximum(*values)

"""Solutions of whole-body reaches: `ReachSolution` with a `HandSolution` a hand, and `ReachMotionSolution`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import Status
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton import Pose
from ..skeleton.solution import MotionSolution, PoseSolution, Solution, StatusLike, status_like

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..body.balance import Balance


@dataclass(frozen=True, eq=False, repr=False)
class HandSolution(Solution):
    """How one hand met its target."""

    status: StatusLike
    """A `Status`, or an int8 array of them (...): REACHED where the hand of the returned pose is on its target."""
    position_error: Floats
    """(...) [m] from its target."""
    orientation_error: Floats
    """(...) [rad] from the requested orientation; 0 where none was."""
    swivel: Floats
    """(...) [rad] of its elbow."""
    requested_weight: Floats
    """(...) the weight of the behaviour by the target's distance, from 0 to 1."""
    weight: Floats
    """(...) the weight used."""
    jumped: bool
    """Whether the elbow jumped, because no valid posture leads from the last one to this; only of a stream."""

    @staticmethod
    def of(result: Records, side: int, jumped: bool) -> HandSolution:
        """Return the solution of a hand from the rows (...) of `packed.RESULT` of a call."""

        def measure(name: str) -> Floats:
            return np.asarray(result[name][..., side])

        return HandSolution(
            status_like(result["hand_status"][..., side], result.shape),
            measure("position_error"),
            measure("orientation_error"),
            measure("swivel"),
            measure("requested_weight"),
            measure("weight"),
            jumped,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ReachSolution(PoseSolution):
    """A body that reaches: REACHED where every hand with a target is on it, and the feet are where they stood, or where
    they stepped to.
    """

    right: HandSolution | None
    left: HandSolution | None
    reason: StatusLike
    """Why the weight was lowered: REACHED where it was not, COLLISION, or UNREACHABLE: a leg was too short."""
    tried: Ints
    """(...) how many postures of the body were tried."""
    contact: Any
    """The two that touch where the status is COLLISION, or would have touched where the weight was lowered for one: the
    names of two parts, or of a part and an obstacle of the scene. None elsewhere; of a batch an array (...) of them."""
    body: Humanoid
    """Who reaches."""
    step: Floats
    """(..., 3) displacement of the foot that stepped [m]; zero where none did."""
    heels: Floats
    """(..., 2) how far the heels of the left and right foot are lifted [rad]."""

    @staticmethod
    def of(
        pose: Pose,
        result: Records,
        right: HandSolution | None,
        left: HandSolution | None,
        contact: Any,
        body: Humanoid,
        step: Floats,
        heels: Floats,
    ) -> ReachSolution:
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
            contact,
            body,
            step,
            heels,
        )

    def __repr__(self) -> str:
        """Return one line: the statuses and errors, and what touches."""
        line = super().__repr__()
        pairs = self.contact.ravel().tolist() if isinstance(self.contact, np.ndarray) else [self.contact]
        named = sorted({pair for pair in pairs if pair is not None})
        if not named:
            return line
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        return f"{line[:-1]}; {named[0][0]} at {named[0][1]}{more})"

    @property
    def weight(self) -> Floats:
        """(...) the weight of the behaviour that was used; with two hands the larger one."""
        return _largest([hand.weight for hand in (self.right, self.left) if hand is not None])

    @property
    def balance(self) -> Balance:
        """The centre of mass of the returned pose, and how far inside the feet it is [m]."""
        return self.body.balance(self.pose)

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
    contact: tuple[tuple[str, str] | None, ...]
    """(F,) the two that touch, or would have: as `ReachSolution.contact`."""

    @property
    def first_failure(self) -> int | None:
        """The first frame that is not ok; None where all are."""
        failed = np.flatnonzero(self.status != Status.REACHED)
        return int(failed[0]) if len(failed) else None


def _largest(values: list[Floats]) -> Floats:
    return values[0] if len(values) == 1 else np.maximum(*values)

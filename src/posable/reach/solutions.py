"""Solutions of whole-body reaches: `ReachSolution` with a `HandSolution` a hand, and `ReachMotionSolution`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, Status
from ..compute.gpu_arrays import GpuArray, GpuRecords, unwrapped, wrapped, zeros
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton import Pose
from ..skeleton.solution import MotionSolution, PoseSolution, Solution, StatusLike, status_like

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..body.balance import Balance


class HandSolution(Solution):
    """How one hand met its target. Read from the kernel's result when it is needed, which keeps a single call short."""

    __slots__ = ("_result", "_side", "jumped")

    def __init__(self, result: Records, side: int, jumped: bool) -> None:
        self._result, self._side = result, side
        self.jumped = jumped
        """Whether the elbow jumped, because no valid posture leads from the last one to this; only of a stream."""

    def _measure(self, name: str) -> Floats:
        values = self._result[name][..., self._side]
        return values.array if isinstance(values, GpuArray) else np.asarray(values)

    @property
    def status(self) -> StatusLike:
        """A `Status`, or an int8 array of them (...): REACHED where the hand of the returned pose is on its target."""
        return status_like(self._result["hand_status"][..., self._side], self._result.shape)

    @property
    def position_error(self) -> Floats:
        """(...) [m] from its target."""
        return self._measure("position_error")

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad] from the requested orientation; 0 where none was."""
        return self._measure("orientation_error")

    @property
    def swivel(self) -> Floats:
        """(...) [rad] of its elbow."""
        return self._measure("swivel")

    @property
    def requested_weight(self) -> Floats:
        """(...) the weight of the behaviour by the target's distance, from 0 to 1."""
        return self._measure("requested_weight")

    @property
    def weight(self) -> Floats:
        """(...) the weight used."""
        return self._measure("weight")


class ReachSolution(PoseSolution):
    """A body that reaches: REACHED where every hand with a target is on it, and the feet are where they stood, or where
    they stepped to. Errors are those of the hand that is further off.
    """

    def __init__(
        self,
        pose: Pose,
        result: Records,
        hands: tuple[HandSolution | None, HandSolution | None],
        contact: Any,
        body: Humanoid,
        standing: tuple[Floats, Floats] | None,
    ) -> None:
        """Make it of the rows (...) of `packed.RESULT` of a call; `standing` are step and heels where feet may step."""
        fields = self.__dict__
        fields["pose"], fields["_result"], fields["_standing"] = pose, result, standing
        fields["right"], fields["left"] = hands
        fields["_contact"], fields["body"] = contact, body

    if TYPE_CHECKING:
        right: HandSolution | None
        left: HandSolution | None
        body: Humanoid
        """Who reaches."""
        _contact: Any
        _result: Records
        _standing: tuple[Floats, Floats] | None

    def with_pose(self, pose: Pose) -> ReachSolution:
        """Return the same with another pose."""
        return ReachSolution(pose, self._result, (self.right, self.left), self._contact, self.body, self._standing)

    @property
    def contact(self) -> Any:
        """The two that touch where the status is COLLISION, or would have touched where the weight was lowered for one:
        the names of two parts, or of a part and an obstacle of the scene. None elsewhere; of a batch an array (...) of
        them. Not of a solution on a GPU: names are found on the CPU.
        """
        if isinstance(self._result, GpuRecords):
            raise PosableError("names of contacts need a solution of the CPU; on a GPU, `status` and `reason` say it")
        return self._contact

    @property
    def status(self) -> StatusLike:
        """A `Status`, or an int8 array of them (...)."""
        return status_like(self._result["status"], self._result.shape)

    @property
    def position_error(self) -> Floats:
        """(...) [m]: see `Solution`."""
        return _largest([hand.position_error for hand in (self.right, self.left) if hand is not None])

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: see `Solution`."""
        return _largest([hand.orientation_error for hand in (self.right, self.left) if hand is not None])

    @property
    def reason(self) -> StatusLike:
        """Why the weight was lowered: REACHED where it was not, COLLISION, or UNREACHABLE: a leg was too short."""
        return status_like(self._result["reason"], self._result.shape)

    @property
    def tried(self) -> Ints:
        """(...) how many postures of the body were tried."""
        return unwrapped(self._result["tried"])  # type: ignore[no-any-return]

    @property
    def step(self) -> Floats:
        """(..., 3) displacement of the foot that stepped [m]; zero where none did."""
        return self._nothing(3) if self._standing is None else self._standing[0]

    @property
    def heels(self) -> Floats:
        """(..., 2) how far the heels of the left and right foot are lifted [rad]."""
        return self._nothing(2) if self._standing is None else self._standing[1]

    def _nothing(self, columns: int) -> Floats:
        """Return zeros (..., columns), where the solution lies."""
        return unwrapped(zeros((*self._result.shape, columns), self._result))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Return one line: the statuses and errors, and what touches."""
        line = super().__repr__()
        if isinstance(self._result, GpuRecords):
            return line
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
        if isinstance(self._result, GpuRecords):
            raise PosableError("balance needs a pose of the CPU")
        return self.body.balance(self.pose)

    @property
    def jumped(self) -> bool:
        """Whether an elbow jumped, because no valid posture leads from the last one to this; only of a stream."""
        return any(hand is not None and hand.jumped for hand in (self.right, self.left))

    @property
    def lowered(self) -> Bools:
        """(...) whether less of the behaviour was taken than the distance requests."""
        lowered = np.not_equal(wrapped(self.reason), int(Status.REACHED))
        return lowered.array if isinstance(lowered, GpuArray) else np.asarray(lowered)


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
    return values[0] if len(values) == 1 else unwrapped(np.maximum(*map(wrapped, values)))

"""What a whole-body reach answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute import Status
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton import Pose


@dataclass(frozen=True, eq=False)
class HandAnswer:
    """What one hand did."""

    status: Any
    """A `Status`, or an int8 array of them."""
    residual: Floats
    """(...) [m] from its target."""
    orientation_residual: Floats
    """(...) [rad]."""
    swivel: Floats
    """(...) [rad] of its elbow."""
    wanted: Floats
    """(...) the weight of the behaviour that the target's distance asks for, from 0 to 1."""
    weight: Floats
    """(...) the weight used."""


@dataclass(frozen=True, eq=False)
class ReachAnswer:
    """A body that reaches."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them: REACHED where every hand with a target is on it."""
    right: HandAnswer | None
    left: HandAnswer | None
    reason: Any
    """Why the weight was lowered: REACHED where it was not, COLLISION, or UNREACHABLE: a leg could not hold on."""
    tried: Ints
    """(...) how many postures of the body were looked at."""

    @property
    def ok(self) -> Any:
        """Whether every hand with a target is on it."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok

    @property
    def weight(self) -> Floats:
        """(...) the weight of the behaviour that was used; with two hands the larger one."""
        return _larger(self.right, self.left, "weight")

    @property
    def residual(self) -> Floats:
        """(...) [m] from the target; with two hands the larger one."""
        return _larger(self.right, self.left, "residual")

    @property
    def lowered(self) -> Bools:
        """(...) whether less of the behaviour was taken than the distance asks for."""
        return np.asarray(np.not_equal(self.reason, Status.REACHED))


def reach_answer(
    pose: Pose, start: Pose, told: Records, right: HandAnswer | None, left: HandAnswer | None
) -> ReachAnswer:
    """The answer of a call; rows that are not valid keep the starting pose."""
    hands = [hand for hand in (right, left) if hand is not None]
    status = np.asarray(told["status"])
    for hand in hands:
        status = np.where(status == Status.REACHED, np.asarray(hand.status), status)
    invalid = np.any([np.asarray(hand.status) == Status.INVALID for hand in hands], axis=0) | (status == Status.INVALID)
    if np.any(invalid):
        status = np.where(invalid, Status.INVALID, status)
        rows = invalid[..., None]
        pose = Pose(
            np.where(rows, start.translation, pose.translation),
            np.where(rows[..., None], start.rotations, pose.rotations),
            pose.offsets,
        )
    if told.shape:
        return ReachAnswer(pose, status.astype(np.int8), right, left, told["reason"], told["tried"])
    return ReachAnswer(pose, Status(int(status)), right, left, Status(int(told["reason"])), told["tried"])


def _larger(right: HandAnswer | None, left: HandAnswer | None, name: str) -> Floats:
    values = [getattr(hand, name) for hand in (right, left) if hand is not None]
    return np.asarray(values[0] if len(values) == 1 else np.maximum(*values))

"""What a whole-body reach answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..body.limb.results import PlaceSolution
from ..compute import Status
from ..compute.types import Bools, Floats, Ints, Records
from ..skeleton import Pose

REACHED, INVALID = int(Status.REACHED), int(Status.INVALID)


@dataclass(frozen=True, eq=False)
class HandAnswer:
    """What one hand did; read when it is asked for."""

    placed: PlaceSolution
    """The arm, as `body.place` tells of it."""
    told: Records
    """(...) rows of `model.TOLD`, and which hand (0: right) this is in them."""
    side: int

    @property
    def status(self) -> Any:
        """A `Status`, or an int8 array of them."""
        return self.placed.status

    @property
    def residual(self) -> Floats:
        """(...) [m] from its target."""
        return self.placed.position_error

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]."""
        return self.placed.orientation_error

    @property
    def swivel(self) -> Floats:
        """(...) [rad] of its elbow."""
        return self.placed.swivel

    @property
    def wanted(self) -> Floats:
        """(...) the weight of the behaviour that the target's distance asks for, from 0 to 1."""
        return np.asarray(self.told["wanted"][..., self.side])

    @property
    def weight(self) -> Floats:
        """(...) the weight used."""
        return np.asarray(self.told["weight"][..., self.side])

    @property
    def jumped(self) -> bool:
        """Whether its elbow leapt; only a stream can tell."""
        return self.placed.jumped


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
    def jumped(self) -> bool:
        """Whether an elbow leapt, because no valid posture leads from the last one to this; only a stream can tell."""
        return any(hand is not None and hand.jumped for hand in (self.right, self.left))

    @property
    def lowered(self) -> Bools:
        """(...) whether less of the behaviour was taken than the distance asks for."""
        return np.asarray(np.not_equal(self.reason, Status.REACHED))


def reach_answer(
    pose: Pose, start: Pose, told: Records, right: HandAnswer | None, left: HandAnswer | None
) -> ReachAnswer:
    """The answer of a call; rows that are not valid keep the starting pose."""
    hands = [hand for hand in (right, left) if hand is not None]
    if not told.shape:
        statuses = [int(told["status"]), *(int(hand.status) for hand in hands)]
        status = Status(INVALID if INVALID in statuses else next((one for one in statuses if one != REACHED), REACHED))
        pose = start if status == INVALID else pose
        return ReachAnswer(pose, status, right, left, Status(int(told["reason"])), told["tried"])
    worst = told["status"].copy()
    for hand in hands:
        worst[(worst == REACHED) | (hand.status == INVALID)] = hand.status[
            (worst == REACHED) | (hand.status == INVALID)
        ]
    invalid = (worst == INVALID)[..., None]
    if invalid.any():
        pose = Pose(
            np.where(invalid, start.translation, pose.translation),
            np.where(invalid[..., None], start.rotations, pose.rotations),
            pose.offsets,
        )
    return ReachAnswer(pose, worst, right, left, told["reason"], told["tried"])


def _larger(right: HandAnswer | None, left: HandAnswer | None, name: str) -> Floats:
    values = [getattr(hand, name) for hand in (right, left) if hand is not None]
    return np.asarray(values[0] if len(values) == 1 else np.maximum(*values))

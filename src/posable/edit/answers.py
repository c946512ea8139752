"""What dragging and editing answer with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute import Status
from ..compute.types import Floats, Ints
from ..skeleton import Pose

REACHED_WITHIN = 1e-3  # [m]: nearer to its target than this a part has reached it
TURNED_WITHIN = 5e-3  # [rad]


@dataclass(frozen=True, eq=False)
class DragAnswer:
    """A dragged pose, or a batch of them."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array: REACHED within a millimetre, LIMITS, UNREACHABLE, or INVALID."""
    residual: Floats
    """(...) [m]: how far the part stayed from its target."""
    turn_residual: Floats
    """(...) [rad]: and from the orientation, where one was asked."""
    slid: Floats
    """(...) [m]: how far the worst pin moved; at most 0.3 mm, or the drag stops first."""
    done: Floats
    """(...): the share of the way that was gone."""
    frame: Floats
    """(...): the frame of the clip whose weights were used last; mode "phase" moves it."""
    steps: Ints
    """(...): steps tried."""
    iterations: Ints
    """(...): iterations of all steps together."""
    limited: Any
    """(...): whether a joint's limit was what stopped it."""

    @property
    def ok(self) -> Any:
        """Whether the target was reached."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok

    @property
    def cause(self) -> Any:
        """What happened: "converged", "stalled" (out of reach), "limited" or "invalid"; or an array."""
        names = np.array(["converged", "stalled", "limited", "stalled", "stalled", "invalid"])
        told = names[np.asarray(self.status, dtype=np.int64)]
        return told if told.shape else str(told)


def statuses(told: np.ndarray, invalid: np.ndarray) -> np.ndarray:
    """int8 (N,): what became of each drag."""
    reached = (told["done"] >= 1.0) & (told["away"] <= REACHED_WITHIN) & (told["turned"] <= TURNED_WITHIN)
    status = np.where(told["limited"] > 0, Status.LIMITS, Status.UNREACHABLE)
    status = np.where(reached, Status.REACHED, status)
    return np.asarray(np.where(invalid, Status.INVALID, status), dtype=np.int8)

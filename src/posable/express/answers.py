"""What solvers of chains give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import Status
from ..compute.types import Bools, Floats, Ints
from ..skeleton import Motion, Pose

if TYPE_CHECKING:
    from .chain import Chain


@dataclass(frozen=True, eq=False)
class ErikAnswer:
    """Angles that hold a posture while aiming, for one target or a batch."""

    chain: Chain
    angles: Floats
    """(..., N) [rad; m for slides], inside the limits."""
    error: Any
    """(...): orientation error + 0.2 posture error (Eq. 19); infinite where the input is no target."""
    orientation_error: Any
    """(...): sqrt(2) sin(angle / 4) of the angle left to the target; 0.354 a radian near zero."""
    posture_error: Any
    """(...), unweighted: 0 where every bend is the posture's, at most 1."""
    iterations: Any
    """(...): iterations of `erik`; starts that `best` tried."""
    status: Any
    """A `Status`, or an int8 array of them: REACHED where the error is at most the threshold."""

    @property
    def ok(self) -> Any:
        """Whether the error is at most the threshold."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok

    @property
    def residual(self) -> Any:
        """The error."""
        return self.error

    @property
    def angle_left(self) -> Any:
        """(...) [rad] between the tip and its target."""
        return 4.0 * np.arcsin(np.minimum(np.asarray(self.orientation_error) / np.sqrt(2.0), 1.0))

    @property
    def pose(self) -> Pose:
        """The pose of the chain's skeleton."""
        return self.chain.pose(self.angles)


@dataclass(frozen=True, eq=False)
class ErikTrack(ErikAnswer):
    """Angles that follow a moving target, frame after frame: (..., F, N)."""

    fps: float
    jumped: Bools
    """(..., F): frames in which a joint moved further than the speed that a track keeps to."""

    @property
    def motion(self) -> Motion:
        """The motion of the chain's skeleton; for a single track."""
        return Motion(self.chain.skeleton, self.pose, self.fps)


def shaped(values: Any, shape: tuple[int, ...]) -> Any:
    """A column of reports in the batch's shape; a number for a single call."""
    return values.reshape(shape) if shape else values[0].item()


def statuses(values: Ints, shape: tuple[int, ...]) -> Any:
    """Statuses in the batch's shape."""
    return values.astype(np.int8).reshape(shape) if shape else Status(int(values[0]))

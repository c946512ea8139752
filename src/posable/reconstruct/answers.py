"""What Sequential IK answers: a pose of one moment, or a motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compute import Status
from ..compute.types import Bools, Floats, Ints
from ..skeleton import Motion, Pose


@dataclass(frozen=True, eq=False)
class ReconstructSolution:
    """Bodies from points."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them: REACHED where all points are met within 1e-6 m."""
    residual: Floats
    """(..., M) [m] between each of the solver's `markers` and its point; infinite for one that is no number."""
    orientation_residual: dict[str, Floats] = field(default_factory=dict)
    """Role to (...) [rad] between the orientation asked for and had; NaN where it was not known."""
    lost: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    """(..., M) which points were no numbers."""
    points: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """(..., M, 3) [m] what the body was asked to meet: as given, or steadied where a stream does that."""

    @property
    def ok(self) -> Any:
        """Whether all points are met."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok


@dataclass(frozen=True, eq=False)
class ReconstructMotionSolution:
    """A motion from moving points."""

    motion: Motion
    status: Ints
    """(F,) int8 of `Status`: REACHED where all points are met within 1e-6 m, INVALID where one was lost."""
    residual: Floats
    """(F, M) [m] between each of the solver's `markers` and its point (of `points`); infinite for one that is lost."""
    orientation_residual: dict[str, Floats]
    """Role to (F,) [rad] between the orientation asked for and had; NaN where it was not known."""
    lost: Bools
    """(F, M) which points were no numbers and were bridged."""
    points: Floats
    """(F, M, 3) [m] what the body was asked to meet: as given, or smoothed and with locked feet."""

    @property
    def ok(self) -> Any:
        """(F,) whether all points are met."""
        return self.status == Status.REACHED

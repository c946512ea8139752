"""What the iterative methods are asked and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute import Status
from ..compute.types import Floats, Ints, Vec3
from ..skeleton import Motion, Pose


@dataclass(frozen=True)
class Effector:
    """A point of the skeleton that has a target."""

    joint: str | int
    """The joint that carries it."""
    point: Vec3 = (0.0, 0.0, 0.0)
    """[m] in the joint's frame."""
    oriented: bool = False
    """Whether the joint's orientation has a target as well."""
    weight: float = 1.0
    """How much its error counts; lower levels of `PIK` give way whatever their weight."""
    level: int = 1
    """Priority for `PIK`: 1 is the highest."""
    base: str | int | None = None
    """For `CCD`: the chain's last joint, counted from the effector; the root when not given."""


@dataclass(frozen=True)
class Stop:
    """When to stop: Unzueta et al. 2008, section 9."""

    tolerance: float = 0.01
    """[m]: effectors this near to their targets are on them, which is what REACHED means."""
    improvement: float = 0.001
    """[m]: less than this from one iteration to the next is no progress; below 0, it goes on where it gets worse."""
    iterations: int = 20
    angle: float = 0.01
    """[rad]: the tolerance of orientations."""
    settled: float = 0.01
    """[rad]: with an optimisation term, a step below this has settled."""


@dataclass(frozen=True, eq=False)
class IKAnswer:
    """Poses for targets."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them: REACHED where every effector is within the tolerance."""
    residual: Floats
    """(..., E) [m]."""
    orientation_residual: Floats
    """(..., E) [rad]; 0 for effectors whose orientation is free."""
    iterations: Any
    """How many iterations it took."""
    stalled: Any
    """Whether it stopped for want of progress."""

    @property
    def ok(self) -> Any:
        """Whether all targets are met."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok


@dataclass(frozen=True, eq=False)
class IKMotion:
    """A motion for moving targets; fields as of `IKAnswer`, a row a frame."""

    motion: Motion
    status: Ints
    residual: Floats
    orientation_residual: Floats
    iterations: Ints
    stalled: Any

    @property
    def ok(self) -> Any:
        """(F,) whether all targets are met."""
        return self.status == Status.REACHED

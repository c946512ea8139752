"""Effectors and stop rules of the iterative methods, and their solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compute.types import Floats, Ints, Vec3
from ..skeleton import MotionSolution, PoseSolution


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
    """Weight of its error; lower levels of `PIK` give way whatever their weight."""
    level: int = 1
    """Priority for `PIK`: 1 is the highest."""
    base: str | int | None = None
    """For `CCD`: the chain's last joint, counted from the effector; the root when not given."""


@dataclass(frozen=True)
class Stop:
    """When to stop: Unzueta et al. 2008, section 9."""

    tolerance: float = 0.01
    """[m]: the largest position error with status REACHED."""
    improvement: float = 0.001
    """[m]: less than this from one iteration to the next is no progress; below 0, it goes on where it gets worse."""
    iterations: int = 20
    angle: float = 0.01
    """[rad]: the tolerance of orientations."""
    settled: float = 0.01
    """[rad]: with an optimisation term, a step below this has settled."""


@dataclass(frozen=True, eq=False, repr=False)
class IKSolution(PoseSolution):
    """Poses for targets: REACHED where every effector of the returned pose is within the tolerances."""

    effector_errors: Floats
    """(..., E) [m] of each effector."""
    effector_orientation_errors: Floats
    """(..., E) [rad]; 0 for effectors whose orientation is free."""
    iterations: Any
    """(...) how many iterations it took."""
    stalled: Any
    """(...) whether it stopped for want of progress."""


@dataclass(frozen=True, eq=False, repr=False)
class IKMotionSolution(MotionSolution):
    """A motion for moving targets; fields as of `IKSolution`, a row a frame."""

    effector_errors: Floats
    effector_orientation_errors: Floats
    iterations: Ints
    stalled: Any

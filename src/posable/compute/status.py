"""`Status`: the outcome of a solve."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The outcome of one solve; batches carry an int8 array of these values."""

    REACHED = 0
    """The target is met within the solver's documented tolerance."""
    UNREACHABLE = 1
    """No posture meets it; the pose is the closest one, the residual says how close."""
    LIMITS = 2
    """Only postures outside the joint limits meet it."""
    COLLISION = 3
    """Only colliding postures meet it."""
    SINGULAR = 4
    """The target lies where the method has no defined answer."""
    INVALID = 5
    """The input is no target at all (NaN, infinite, zero quaternion)."""

    @property
    def ok(self) -> bool:
        """Whether the target was reached."""
        return self is Status.REACHED

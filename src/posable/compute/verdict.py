"""The one rule that turns errors into a `Status`: an answer is REACHED only if the returned pose deserves it.

A solver measures its errors by forward kinematics of what it returns, after the last step, against what the caller
requested: the distance of the end effector from its target, the angle between its orientation (or pointing direction)
and the requested one, and how far the pose lies outside what was promised besides (joint limits, contacts). It may
say why it failed, with a cause; whether it succeeded is decided here.
"""

from __future__ import annotations

from .errors import Status
from .kernels import batch, kernel, prange
from .types import Floats, Ints

REACHED, UNREACHABLE, LIMITS, INVALID = (
    int(Status.REACHED),
    int(Status.UNREACHABLE),
    int(Status.LIMITS),
    int(Status.INVALID),
)


@kernel
def verdict(
    cause: int,
    position_error: float,
    position_tolerance: float,
    orientation_error: float,
    orientation_tolerance: float,
    excess: float,
) -> int:
    """Return the status of a pose from the errors measured on it.

    Args:
        cause: why the solver thinks it failed, as a `Status`; REACHED where it knows of nothing.
        position_error: distance of the end effector from its target [m]; 0 where none was requested.
        position_tolerance: the largest distance that counts as reached [m].
        orientation_error: angle from the requested orientation or direction [rad]; 0 where none was requested.
        orientation_tolerance: the largest angle that counts as reached [rad].
        excess: how far the pose lies outside joint limits or contacts that were promised, beyond their tolerance, in
            any unit; 0 or less where it keeps them.

    Returns:
        REACHED where every error is within its tolerance (an error that is not finite never is). Elsewhere the cause;
        where the solver named none, LIMITS if only the excess is to blame, else UNREACHABLE. INVALID stays INVALID.
    """
    if cause == INVALID:
        return INVALID
    reached = position_error <= position_tolerance and orientation_error <= orientation_tolerance
    if reached and excess <= 0.0:
        return REACHED
    if cause != REACHED:
        return cause
    return LIMITS if reached else UNREACHABLE


@batch
def verdict_rows(
    n: int,
    causes: Ints,
    position_errors: Floats,
    position_tolerance: float,
    orientation_errors: Floats,
    orientation_tolerance: float,
    excesses: Floats,
    out: Ints,
) -> None:
    """Fill `out` (N,) with the `verdict` of each row."""
    for i in prange(n):
        out[i] = verdict(
            causes[i],
            position_errors[i],
            position_tolerance,
            orientation_errors[i],
            orientation_tolerance,
            excesses[i],
        )

"""Angles less whole turns: tuple kernels for use inside kernels, and one function for arrays.

The three kernels agree but for the last digit of an angle outside [-pi, pi], and for the sign of a half turn; each of
them is what its callers' answers, to the last bit, are made with.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import kernel
from ..compute.types import Floats

TWO_PI = 2.0 * math.pi


@kernel
def wrap_angle(angle: float) -> float:
    """Return the angle [rad] less whole turns, in [-pi, pi)."""
    return float(angle - TWO_PI * math.floor((angle + math.pi) / TWO_PI))


@kernel
def wrap_angle_odd(angle: float) -> float:
    """Return the angle [rad] less whole turns, in [-pi, pi]; odd in the angle, so mirror images stay mirror images."""
    revolutions = angle / TWO_PI
    whole = float(math.floor(abs(revolutions) + 0.5))
    if abs(revolutions) + 0.5 == whole:
        whole -= 1.0
    return angle - math.copysign(whole, revolutions) * TWO_PI


@kernel
def wrap_angle_modulo(angle: float) -> float:
    """Return the angle [rad] in [-pi, pi): untouched inside, its remainder modulo a full turn outside."""
    if -math.pi <= angle < math.pi:
        return angle
    return (angle + math.pi) % TWO_PI - math.pi


@kernel
def wrap_angle_around(angle: float, middle: float) -> float:
    """Return the angle [rad] less whole turns, within half a turn of `middle` [rad]."""
    return angle - TWO_PI * round((angle - middle) / TWO_PI)


def wrapped_angles(angles: Floats) -> Floats:
    """Return angles (...) [rad] less whole turns, in [-pi, pi)."""
    return np.asarray((angles + math.pi) % TWO_PI - math.pi)

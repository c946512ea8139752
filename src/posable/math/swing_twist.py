"""A rotation split into a swing of an axis and a twist about it, in both orders.

The swing is the smallest rotation that carries the axis where the whole rotation carries it (`swing_twist`), or
where the inverse does (`twist_swing`). When the axis is exactly reversed (the twist is then undefined: every
twist is right with a matching half-turn swing) the twist is 0.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Quat, Vec3
from .quaternion import conj, mul
from .vector import dot


@kernel
def twist_angle(q: Quat, axis: Vec3) -> float:
    """The twist of q about the unit vector `axis`, in [-pi, pi]: the same in both orders; 0 where it is undefined."""
    along = dot((q[1], q[2], q[3]), axis)
    if q[0] < 0.0:
        return 2.0 * math.atan2(-along, -q[0])
    if q[0] == 0.0 and along == 0.0:
        return 0.0
    return 2.0 * math.atan2(along, q[0])


@kernel
def swing_twist(q: Quat, axis: Vec3) -> tuple[Quat, float]:
    """(swing, twist angle [rad]) with q = swing * twist: the twist happens first, in the child's frame."""
    angle = twist_angle(q, axis)
    s = math.sin(0.5 * angle)
    twist = (math.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)
    return mul(q, conj(twist)), angle


@kernel
def twist_swing(q: Quat, axis: Vec3) -> tuple[float, Quat]:
    """(twist angle [rad], swing) with q = twist * swing: the twist happens on the parent's side."""
    angle = twist_angle(q, axis)
    s = math.sin(0.5 * angle)
    twist = (math.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)
    return angle, mul(conj(twist), q)

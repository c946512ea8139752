"""Kernels for one joint: whether a rotation is allowed, how far outside it is, and the nearest one that is.

A rotation q (w, x, y, z) is read as `q = swing * twist`: the twist about the rest bone first, then the smallest swing
that carries the bone where q carries it. Swing and twist are limited separately, so the allowed set is a product, and
clamping one leaves the other alone. Joints of the right side are computed as the mirror images of left ones, so left
and right agree to the last bit.

A wrist bends about axes that the forearm carries around: its rotation is read as `q = twist * swing`, the swing in axes
that turn with the twist (`JointLimit.turning`), so that pronation may sit in the hand or in the forearm of a rig.

A quaternion that is zero or not finite is no rotation: it is never allowed (`excess` is infinite) and clamps as the
identity does. A bone that points straight back has no twist, so none is forbidden there. Nothing here returns NaN.
Within `ON_BOUNDARY` of the boundary counts as on it, so clamping twice changes no bit.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..math.angles import wrap_angle_odd
from ..math.quaternion import angle_between, slerp, unit_quat
from .nearest import (
    FREE,
    HalfSwing,
    Row,
    angle_apart,
    approximate_direction,
    direction_of,
    from_plane,
    nearest_direction,
    on_plane,
    swing_allowed,
    swing_to,
)

ON_BOUNDARY = 1e-12  # [rad]
STRAIGHT_BACK = 1e-12  # a bone within twice this of straight back [rad] counts as being there, and has no twist
HALVINGS = 16  # of a step that is too large
SAMPLES = 12  # of a straight way, looked at
ROUNDING = 2e-15  # more than rounding adds to the components of a unit quaternion

LocalQuat: TypeAlias = Quat  # (w; parts along a1, a2, d), mirrored to the left side


@kernel
def excess(row: Row, curves: Floats, q: Quat) -> tuple[float, float]:
    """Return how far (swing, twist) lie outside [rad], 0 inside; infinite for a zero or non-finite quaternion."""
    if not _is_rotation(q):
        return (math.inf, math.inf)
    swing, twist = _split(row, _local(row, q))
    return _swing_excess(row, curves, swing), abs(_twist_excess(row, swing, twist))


@kernel
def allowed(row: Row, curves: Floats, q: Quat) -> bool:
    """Return whether a unit rotation lies inside, boundary included, with no tolerance: the fast test of a search."""
    swing, twist = _split(row, _local(row, q))
    return _twist_excess(row, swing, twist) == 0.0 and swing_allowed(row, curves, swing)


@kernel
def clamp(row: Row, curves: Floats, q: Quat) -> Quat:
    """Return the rotation with the nearest allowed swing, along the sphere of bones, and the nearest allowed twist."""
    return _clamped(row, curves, q, 0.0, 0.0, 0.0, False)


@kernel
def clamp_approximate(row: Row, curves: Floats, q: Quat) -> Quat:
    """Return what `clamp` does by the papers' rules: planar nearest point for ellipses, same direction for cones."""
    return _clamped(row, curves, q, 0.0, 0.0, 0.0, True)


@kernel
def clamp_from(row: Row, curves: Floats, start: Quat, q: Quat) -> Quat:
    """Return q clamped to limits widened just enough to contain `start`: from outside, it may stay or come back.

    The swing may lie as far from the boundary as it did, the twist as far beyond the end it was beyond.
    """
    wider, below, above = slack(row, curves, start)
    return _clamped(row, curves, q, wider, below, above, False)


@kernel
def step_within(row: Row, curves: Floats, start: Quat, goal: Quat, most: float) -> Quat:
    """Return the rotation inside the limits that lies on the way between two others inside them, `most` [rad] from the
    start at most.

    The straight way, where all of it is inside. Else the straight line in the plane in which the shape of swings is
    convex (`nearest.on_plane`), the twist along its interval: it leads round every corner, so steps always arrive. Near
    straight back a small step of the bone is a large rotation, so how far is found by bisection.
    """
    angle = angle_between(start, goal)
    if angle <= most:
        return goal
    straight = unit_quat(slerp(start, goal, most / angle))
    if allowed(row, curves, straight) and straight_inside(row, curves, start, goal):
        return straight
    swing, twist = _split(row, _local(row, start))
    to_swing, to_twist = _split(row, _local(row, goal))
    if row["twist_half"] < math.pi:
        middle = row["twist_middle"]
        twist, to_twist = middle + wrap_angle_odd(twist - middle), middle + wrap_angle_odd(to_twist - middle)
    else:
        to_twist = twist + wrap_angle_odd(to_twist - twist)
    (x, y), (to_x, to_y) = on_plane(row, curves, swing), on_plane(row, curves, to_swing)
    low, high, found = 0.0, 1.0, start
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        here = from_plane(row, curves, x + s * (to_x - x), y + s * (to_y - y))
        q = unit_quat(_global(row, _joined(row, here, twist + s * (to_twist - twist))))
        if angle_between(start, q) <= most:
            low, found = s, q
        else:
            high = s
    inside = clamp(row, curves, found)
    return inside if angle_between(start, inside) <= most else found  # straight back limits are of no use


@kernel
def straight_inside(row: Row, curves: Floats, start: Quat, goal: Quat) -> bool:
    """Return whether the smallest rotation between two others inside the limits stays inside, at `SAMPLES` on it."""
    inside = True
    for k in range(1, SAMPLES + 1):
        inside = inside and allowed(row, curves, unit_quat(slerp(start, goal, k / (SAMPLES + 1.0))))
    return inside


@kernel
def slack(row: Row, curves: Floats, start: Quat) -> Vec3:
    """Return how far a start lies outside [rad]: its swing, its twist below its interval, and above it; else zeros."""
    if not _is_rotation(start):
        return (0.0, 0.0, 0.0)
    swing, twist = _split(row, _local(row, start))
    beyond = _twist_excess(row, swing, twist)
    return (_swing_excess(row, curves, swing), max(-beyond, 0.0), max(beyond, 0.0))


@kernel
def clamp_widened(row: Row, curves: Floats, q: Quat, wider: Vec3) -> Quat:
    """Return what `clamp_from` does with the start's `slack` computed before, for a solver that clamps often."""
    return _clamped(row, curves, q, wider[0], wider[1], wider[2], False)


@kernel
def _clamped(row: Row, curves: Floats, q: Quat, wider: float, below: float, above: float, approximate: bool) -> Quat:
    """Return q inside the limits widened by `wider` for the swing and by `below` and `above` for the twist [rad]."""
    if not _is_rotation(q):
        q = (1.0, 0.0, 0.0, 0.0)
    swing, twist = _split(row, _local(row, q))
    new_swing = _allowed_swing(row, curves, swing, wider, approximate)
    over = _beyond(_twist_excess(row, new_swing, twist), below, above)
    if new_swing == swing and over == 0.0:
        return q
    w, x, y, z = _global(row, _joined(row, new_swing, twist - over))
    a, b, c, d = unit_quat(q)
    if w * a + x * b + y * c + z * d < 0.0:  # stay on the side of the sphere that q is on
        return (-w, -x, -y, -z)
    return (w, x, y, z)


@kernel
def _allowed_swing(row: Row, curves: Floats, swing: HalfSwing, wider: float, approximate: bool) -> HalfSwing:
    """Return the swing itself if it lies within `wider` [rad] of the row's shape, else the nearest one that does."""
    if row["kind"] == FREE or swing_allowed(row, curves, swing):
        return swing
    bone = direction_of(swing)
    edge = approximate_direction(row, curves, swing) if approximate else nearest_direction(row, curves, bone)
    outside = angle_apart(bone, edge)
    if outside <= wider + ON_BOUNDARY:
        return swing
    if wider == 0.0:
        return swing_to(edge)
    # On the great arc to the nearest boundary point the distance to the boundary falls evenly.
    s = math.sin(outside)
    a, b = math.sin(wider) / s, math.sin(outside - wider) / s
    return swing_to((a * bone[0] + b * edge[0], a * bone[1] + b * edge[1], a * bone[2] + b * edge[2]))


@kernel
def _swing_excess(row: Row, curves: Floats, swing: HalfSwing) -> float:
    if row["kind"] == FREE or swing_allowed(row, curves, swing):
        return 0.0
    bone = direction_of(swing)
    return angle_apart(bone, nearest_direction(row, curves, bone))


@kernel
def _twist_excess(row: Row, swing: HalfSwing, twist: float) -> float:
    """Return how far the twist lies beyond its interval [rad]: positive past the upper end, negative past the lower.

    The nearer the bone is to straight back, the less its rotation says about the twist; what rounding alone could have
    added counts as inside.
    """
    offset = wrap_angle_odd(twist - row["twist_middle"])
    past = abs(offset) - row["twist_half"]
    return math.copysign(past, offset) if past * swing[0] > ROUNDING else 0.0


@kernel
def _beyond(over: float, below: float, above: float) -> float:
    """Return the remaining excess of a twist once the interval is widened [rad]."""
    if over > above + ON_BOUNDARY:
        return over - above
    if over < -below - ON_BOUNDARY:
        return over + below
    return 0.0


@kernel
def _is_rotation(q: Quat) -> bool:
    w, x, y, z = q
    finite = math.isfinite(w) and math.isfinite(x) and math.isfinite(y) and math.isfinite(z)
    return finite and not (w == 0.0 and x == 0.0 and y == 0.0 and z == 0.0)


@kernel
def _split(row: Row, q: LocalQuat) -> tuple[HalfSwing, float]:
    """Return (swing, twist angle in [-pi, pi]) of a local rotation with w >= 0; a bone straight back has no twist."""
    w, p, r, t = q
    n = math.sqrt(w * w + t * t)
    if n < STRAIGHT_BACK:
        return (0.0, p, r), 0.0
    c, s = w / n, row["order"] * t / n
    return (n, p * c - r * s, r * c + p * s), 2.0 * math.atan2(t, w)


@kernel
def _joined(row: Row, swing: HalfSwing, twist: float) -> LocalQuat:
    """Return the inverse of `_split`."""
    c, s = math.cos(0.5 * twist), math.sin(0.5 * twist)
    n, u, v = swing
    k = row["order"]
    return (n * c, u * c + k * v * s, v * c - k * u * s, n * s)


@kernel
def _local(row: Row, q: Quat) -> LocalQuat:
    """Return the unit rotation along q in the axes (a1, a2, d), mirrored to the left side for right joints."""
    w, x, y, z = unit_quat(q)
    side = row["side"]
    y, z = y * side, z * side
    if w < 0.0 or (w == 0.0 and (x < 0.0 or (x == 0.0 and (y < 0.0 or (y == 0.0 and z < 0.0))))):
        w, x, y, z = -w, -x, -y, -z  # q and -q are one rotation and get one result
    a1, a2, a3, d1, d2, d3 = row["a1"], row["a2"], row["a3"], row["d1"], row["d2"], row["d3"]
    return (
        w,
        x * a1 + y * a2 + z * a3,
        x * (d2 * a3 - d3 * a2) + y * (d3 * a1 - d1 * a3) + z * (d1 * a2 - d2 * a1),
        x * d1 + y * d2 + z * d3,
    )


@kernel
def _global(row: Row, q: LocalQuat) -> Quat:
    """Return the inverse of `_local`."""
    w, p, r, t = q
    side = row["side"]
    a1, a2, a3, d1, d2, d3 = row["a1"], row["a2"], row["a3"], row["d1"], row["d2"], row["d3"]
    return (
        w,
        p * a1 + r * (d2 * a3 - d3 * a2) + t * d1,
        side * (p * a2 + r * (d3 * a1 - d1 * a3) + t * d2),
        side * (p * a3 + r * (d1 * a2 - d2 * a1) + t * d3),
    )

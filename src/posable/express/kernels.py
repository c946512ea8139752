"""Kernels that every solver of a chain uses: forward kinematics, the score, angles inside limits (specification 1-4).

Decided here: angles are wrapped into the 2 pi around the middle of a joint's range instead of around zero, so that one
beyond a limit is clamped to the limit that is nearer on the circle; for ranges around zero it is the same.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.angles import wrap_angle_around
from ..math.quaternion import axis_angle, conj, mul, rotate, rotate_inverse
from ..math.vector import cross, dot, norm, reject, unit
from .model import BEND

Y = (0.0, 1.0, 0.0)
HALF_ROTATION = (0.0, 0.0, 1.0, 0.0)  # about Y
NOTHING = 1e-9  # a projection shorter than this has no direction
TWO_PI = 2.0 * math.pi


@kernel
def axis_of(joints: Records, k: int) -> Vec3:
    """The axis of joint k in its own frame."""
    return (joints[k]["ax"], joints[k]["ay"], joints[k]["az"])


@kernel
def parent_of(joints: Records, k: int) -> Vec3:
    """The direction of the parent's segment in the frame before joint k."""
    return (joints[k]["px"], joints[k]["py"], joints[k]["pz"])


@kernel
def across_of(joints: Records, k: int) -> Vec3:
    """The parent-orthogonal axis (Eq. 17)."""
    return (joints[k]["ox"], joints[k]["oy"], joints[k]["oz"])


@kernel
def rest_of(joints: Records, k: int) -> Quat:
    """From the frame after joint k - 1 to the one before joint k."""
    return (joints[k]["rw"], joints[k]["rx"], joints[k]["ry"], joints[k]["rz"])


@kernel
def rotation_of(joints: Records, k: int, angle: float) -> Quat:
    """The rotation of joint k by an angle [rad]."""
    return axis_angle(axis_of(joints, k), angle)


@kernel
def quat_in(rows: Floats, k: int) -> Quat:
    """Row k of (R, 4)."""
    return (rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3])


@kernel
def keep(rows: Floats, k: int, q: Quat) -> None:
    """Store a rotation in row k of (R, 4)."""
    rows[k, 0] = q[0]
    rows[k, 1] = q[1]
    rows[k, 2] = q[2]
    rows[k, 3] = q[3]


@kernel
def copy(source: Floats, target: Floats, count: int) -> None:
    """The first `count` numbers."""
    for k in range(count):
        target[k] = source[k]


@kernel
def product(joints: Records, angles: Floats, first: int, last: int) -> Quat:
    """Return the product of the rotations of joints first to last - 1, each with the constant rotation before it."""
    q = (1.0, 0.0, 0.0, 0.0)
    for k in range(first, last):
        q = mul(mul(q, rest_of(joints, k)), rotation_of(joints, k, angles[k]))
    return q


@kernel
def forward(joints: Records, angles: Floats, frames: Floats, first: int) -> Quat:
    """Frames before the joints from `first` on, whose own is kept; the frame after the last joint."""
    count = joints.shape[0]
    if first == 0:
        keep(frames, 0, rest_of(joints, 0))
    after = (1.0, 0.0, 0.0, 0.0)
    for k in range(first, count):
        after = mul(quat_in(frames, k), rotation_of(joints, k, angles[k]))
        if k + 1 < count:
            keep(frames, k + 1, mul(after, rest_of(joints, k + 1)))
    return after


@kernel
def wrapped(low: float, high: float, a: float) -> float:
    """Return the angle within pi of the middle of a range; of zero where it has no ends."""
    if math.isinf(low) and math.isinf(high):
        middle = 0.0
    elif math.isinf(low):
        middle = high - math.pi
    elif math.isinf(high):
        middle = low + math.pi
    else:
        middle = 0.5 * (low + high)
    return wrap_angle_around(a, middle)


@kernel
def clamped(low: float, high: float, a: float) -> float:
    """An angle wrapped, and moved to the nearest limit if it is outside."""
    return min(high, max(low, wrapped(low, high, a)))


@kernel
def safe_twist(low: float, high: float, a: float, last: bool) -> float:
    """Return a twist inside the limits, pi away if need be (section 4); the end point's is only clamped."""
    b = wrapped(low, high, a)
    if low <= b <= high:
        return b
    if not last:
        c = wrapped(low, high, b - math.pi)
        if low <= c <= high:
            return c
    return min(high, max(low, b))


@kernel
def off_edge(low: float, high: float, a: float, step: float) -> float:
    """An angle at a limit moved inside by a step, never past the other limit; one beyond it (a posture's) stays."""
    if abs(a - low) < NOTHING:
        return min(low + step, high)
    if abs(a - high) < NOTHING:
        return max(high - step, low)
    return a


@kernel
def signed_angle(a: Vec3, b: Vec3, about: Vec3) -> float:
    """The angle from a to b, negative when it rotates against `about`."""
    c = cross(a, b)
    angle = math.atan2(norm(c), dot(a, b))
    return -angle if dot(about, c) < 0.0 else angle


@kernel
def cosine(joints: Records, k: int, angle: float) -> float:
    """The cosine between the segments around joint k."""
    return float(joints[k]["k0"] + joints[k]["amp"] * math.cos(angle - joints[k]["phi"]))


@kernel
def latitude_angle(joints: Records, k: int, u: Vec3, other: bool) -> float:
    """The angle that puts the segment on the latitude of u in the same hemisphere, or the other (section 3)."""
    if joints[k]["kind"] != BEND:
        axis = axis_of(joints, k)
        a, b = reject(Y, axis), reject(u, axis)
        return signed_angle(a, b, axis) if norm(a) > NOTHING and norm(b) > NOTHING else 0.0
    side = -1.0 if dot(u, across_of(joints, k)) < 0.0 else 1.0
    if other:
        side = -side
    c = (dot(unit(u), parent_of(joints, k)) - joints[k]["k0"]) / joints[k]["amp"]
    return float(joints[k]["phi"] + side * math.acos(min(1.0, max(-1.0, c))))


@kernel
def chord_distance(a: Quat, b: Quat) -> float:
    """Z of section 2: sqrt(2) sin(angle / 4), from the chord, so that it is right to the last digits near zero."""
    plus, minus = 0.0, 0.0
    for c in range(4):
        plus += (a[c] + b[c]) * (a[c] + b[c])
        minus += (a[c] - b[c]) * (a[c] - b[c])
    return math.sqrt(0.5 * min(plus, minus))


@kernel
def orientation_score(settings: Records, target: Quat, end: Quat) -> float:
    """Return how far the end is from a target (Eq. 20); a symmetric end point may be rolled by pi."""
    error = chord_distance(target, end)
    if settings[0]["symmetric"]:
        error = min(error, chord_distance(target, mul(end, HALF_ROTATION)))
    return error


@kernel
def bend_error(joints: Records, settings: Records, posture: Floats, shape: Floats, k: int, angle: float) -> float:
    """Return a joint's part of the posture error: of its cosine (Eq. 21, 22), or signed, of its direction."""
    if settings[0]["signed"]:
        return float(joints[k]["weight"] * joints[k]["side"] * abs(math.sin(0.5 * (angle - posture[k]))))
    return float(0.5 * joints[k]["weight"] * abs(cosine(joints, k, angle) - shape[k]))


@kernel
def posture_error(joints: Records, settings: Records, posture: Floats, shape: Floats, angles: Floats) -> float:
    """How far the shape is from the posture's, unweighted."""
    total = 0.0
    for k in range(joints.shape[0]):
        if joints[k]["weight"] > 0.0:
            total += bend_error(joints, settings, posture, shape, k, angles[k])
    return total


@kernel
def backward_twist(target: Quat, end: Quat) -> float:
    """Return the rotation about the end's own segment that brings it to the target's roll (section 5) [rad]."""
    y = rotate(end, Y)
    x = rotate(target, (1.0, 0.0, 0.0))
    z = rotate(target, (0.0, 0.0, 1.0))
    if abs(dot(x, y)) > abs(dot(z, y)):
        return signed_angle(rotate(end, (0.0, 0.0, 1.0)), reject(z, y), y)
    return signed_angle(rotate(end, (1.0, 0.0, 0.0)), reject(x, y), y)


@kernel
def yaw_and_roll(q: Quat, x: Vec3) -> tuple[float, float]:
    """(yaw, roll) of q = A(Y, yaw) A(x, pitch) A(Y, roll), x across Y (section 6)."""
    yq, xq = rotate(q, Y), rotate(q, x)
    n = cross(Y, yq)
    if norm(n) < NOTHING:
        if yq[1] > 0.0:
            return 0.0, signed_angle(x, xq, Y)
        return 0.0, signed_angle(x, xq, yq)
    n = unit(n)
    if dot(n, x) < 0.0:
        n = (-n[0], -n[1], -n[2])
    return signed_angle(x, n, Y), signed_angle(n, xq, yq)


@kernel
def toward(frame: Quat, v: Vec3) -> Vec3:
    """A world vector in a frame."""
    return rotate_inverse(frame, v)


@kernel
def relative(a: Quat, b: Quat) -> Quat:
    """b seen from a."""
    return mul(conj(a), b)

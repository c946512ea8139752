"""Unit quaternions as tuples `(w, x, y, z)`, for use inside kernels; swing and twist, matrices and Euler angles.

A product composes from parent to child: `rotate(mul(p, q), v) == rotate(p, rotate(q, v))`.

A rotation splits into a swing of an axis and a twist about it, in both orders. The swing is the smallest rotation that
carries the axis where the whole rotation carries it (`swing_twist`), or where the inverse does (`twist_swing`). When
the axis is exactly reversed (the twist is then undefined: every twist is right with a matching half-turn swing) the
twist is 0.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from .vector import any_perpendicular, cross, dot, norm, unit

SMALL_ANGLE = 1e-4  # below it sin(x)/x is 1 - x^2/6 to the last bit but one


@kernel
def mul(p: Quat, q: Quat) -> Quat:
    """The Hamilton product p q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@kernel
def conj(q: Quat) -> Quat:
    """The inverse rotation."""
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def rotate(q: Quat, v: Vec3) -> Vec3:
    """v rotated by q: v + 2 w (u x v) + 2 u x (u x v), with u the vector part."""
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    return (
        v[0] + q[0] * tx + q[2] * tz - q[3] * ty,
        v[1] + q[0] * ty + q[3] * tx - q[1] * tz,
        v[2] + q[0] * tz + q[1] * ty - q[2] * tx,
    )


@kernel
def rotate_inverse(q: Quat, v: Vec3) -> Vec3:
    """v rotated by the inverse of q: a world vector in the frame q."""
    return rotate((q[0], -q[1], -q[2], -q[3]), v)


@kernel
def unit_quat(q: Quat) -> Quat:
    """q / |q|; the zero quaternion becomes the identity."""
    largest = max(max(abs(q[0]), abs(q[1])), max(abs(q[2]), abs(q[3])))
    if largest == 0.0:
        return (1.0, 0.0, 0.0, 0.0)
    w, x, y, z = q[0] / largest, q[1] / largest, q[2] / largest, q[3] / largest
    length = math.sqrt(w * w + x * x + y * y + z * z)
    return (w / length, x / length, y / length, z / length)


@kernel
def exp(v: Vec3) -> Quat:
    """The rotation by |v| radians about v (exponential map); a full turn more gives the same rotation."""
    angle = norm(v)
    if angle < SMALL_ANGLE:
        # sin(a/2)/a and cos(a/2) by their series: exact to rounding here, and no 0/0
        s = 0.5 - angle * angle / 48.0
        return (1.0 - angle * angle / 8.0, v[0] * s, v[1] * s, v[2] * s)
    s = math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), v[0] * s, v[1] * s, v[2] * s)


@kernel
def log(q: Quat) -> Vec3:
    """The rotation vector of q, of length at most pi: the inverse of `exp`. q and -q give the same."""
    w, x, y, z = q
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.hypot(math.hypot(x, y), z)
    if sine < SMALL_ANGLE * w:
        # atan(t)/t by its series, t = sine / w
        k = 2.0 / w * (1.0 - sine * sine / (3.0 * w * w))
    else:
        k = 2.0 * math.atan2(sine, w) / sine if sine > 0.0 else 0.0
    return (x * k, y * k, z * k)


@kernel
def axis_angle(axis: Vec3, angle: float) -> Quat:
    """The rotation by `angle` [rad] about the unit vector `axis`."""
    s = math.sin(0.5 * angle)
    return (math.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)


@kernel
def between(a: Vec3, b: Vec3) -> Quat:
    """The smallest rotation from the direction of `a` to that of `b`.

    Opposite directions have no single smallest rotation: then it is the half turn about
    `any_perpendicular(a)`, and so it stays within 1e-15 rad of opposite. A zero vector gives the identity.
    """
    p, q = unit(a), unit(b)
    if p == (0.0, 0.0, 0.0) or q == (0.0, 0.0, 0.0):
        return (1.0, 0.0, 0.0, 0.0)
    # With s = p + q the rotation is (|s|^2 / 2; p x s), and with d = q - p it is (2 - |d|^2 / 2; p x d). They are exact
    # where p and q are nearly opposite or nearly the same; 1 + p.q and p x q lose their digits there.
    if dot(p, q) < 0.0:
        s = (p[0] + q[0], p[1] + q[1], p[2] + q[2])
        w = 0.5 * dot(s, s)
        if w < 5e-31:
            c = any_perpendicular(p)
            return (0.0, c[0], c[1], c[2])
        c = cross(p, s)
        return unit_quat((w, c[0], c[1], c[2]))
    d = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
    c = cross(p, d)
    return unit_quat((2.0 - 0.5 * dot(d, d), c[0], c[1], c[2]))


@kernel
def angle_between(p: Quat, q: Quat) -> float:
    """The angle of the rotation from p to q, in [0, pi]."""
    d = mul(conj(p), q)
    sine, cosine = norm((d[1], d[2], d[3])), abs(d[0])
    if sine < SMALL_ANGLE * cosine:  # as for a solver that has met its target: atan by its series
        t = sine / cosine
        return 2.0 * t * (1.0 - t * t / 3.0)
    return 2.0 * math.atan2(sine, cosine)


@kernel
def slerp(p: Quat, q: Quat, t: float) -> Quat:
    """p at t = 0, q at t = 1, at constant speed along the shorter arc between."""
    cosine = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
    sign = 1.0
    if cosine < 0.0:
        sign, cosine = -1.0, -cosine
    r = (sign * q[0] - p[0], sign * q[1] - p[1], sign * q[2] - p[2], sign * q[3] - p[3])
    half = 0.5 * math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    angle = 2.0 * math.asin(min(1.0, half))  # from the chord: accurate for near quaternions, unlike acos(cosine)
    if angle < SMALL_ANGLE:
        a, b = 1.0 - t, t
    else:
        s = math.sin(angle)
        a, b = math.sin((1.0 - t) * angle) / s, math.sin(t * angle) / s
    b *= sign
    return unit_quat((a * p[0] + b * q[0], a * p[1] + b * q[1], a * p[2] + b * q[2], a * p[3] + b * q[3]))


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
    return mul(q, conj(axis_angle(axis, angle))), angle


@kernel
def twist_swing(q: Quat, axis: Vec3) -> tuple[float, Quat]:
    """(twist angle [rad], swing) with q = twist * swing: the twist happens on the parent's side."""
    angle = twist_angle(q, axis)
    return angle, mul(conj(axis_angle(axis, angle)), q)


@kernel
def quat_from_matrix(m: Floats) -> Quat:
    """The unit quaternion of a 3 x 3 rotation matrix, from its largest component (Shepperd 1978); w >= 0."""
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    if trace > 0.0:
        q = (1.0 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    elif m[0, 0] >= m[1, 1] and m[0, 0] >= m[2, 2]:
        q = (m[2, 1] - m[1, 2], 1.0 + m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0])
    elif m[1, 1] >= m[2, 2]:
        q = (m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1.0 - m[0, 0] + m[1, 1] - m[2, 2], m[1, 2] + m[2, 1])
    else:
        q = (m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1.0 - m[0, 0] - m[1, 1] + m[2, 2])
    w, x, y, z = unit_quat(q)
    if w < 0.0:
        return (-w, -x, -y, -z)
    return (w, x, y, z)


@kernel
def matrix_from_quat(q: Quat, out: Floats) -> None:
    """Fill the 3 x 3 `out` with the rotation matrix of q."""
    w, x, y, z = q
    out[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[0, 1] = 2.0 * (x * y - w * z)
    out[0, 2] = 2.0 * (x * z + w * y)
    out[1, 0] = 2.0 * (x * y + w * z)
    out[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[1, 2] = 2.0 * (y * z - w * x)
    out[2, 0] = 2.0 * (x * z - w * y)
    out[2, 1] = 2.0 * (y * z + w * x)
    out[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def axis_rotation(axis: int, angle: float) -> Quat:
    """The rotation by `angle` [rad] about world axis 0, 1 or 2 (x, y, z)."""
    c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    if axis == 0:
        return (c, s, 0.0, 0.0)
    if axis == 1:
        return (c, 0.0, s, 0.0)
    return (c, 0.0, 0.0, s)


@kernel
def quat_from_euler(i: int, j: int, k: int, a: float, b: float, c: float) -> Quat:
    """R_i(a) R_j(b) R_k(c), angles in radians: the first rotation comes first in the moving frame (intrinsic)."""
    return mul(mul(axis_rotation(i, a), axis_rotation(j, b)), axis_rotation(k, c))

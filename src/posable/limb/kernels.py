"""Kernels of one limb: forward kinematics, the exact inverse at a given swivel, and the search for a swivel.

Kallmann 2008, Eq. 1 to 6, in the robust form of specification limb-and-reach, section 2: the flexion by `atan2` of
square roots instead of `acos`, the base twist from the bending plane's normal instead of Eq. 4 (which is 0/0 for a
straight limb), the wrist's quaternion negated instead of its twist wrapped. Defined at full extension, at full
flexion and on every axis.

All that does not depend on the swivel is computed once a target (`reach_of`); a candidate swivel then costs some forty
multiplications and two square roots (`base_at`), and no trigonometry but the swivel's own sine and cosine.

The swivel search (`begin`, `advance`) is a machine of small steps: it proposes a swivel, takes a verdict, proposes the
next. Its state is a plain tuple, so that it runs inside compiled code, where limits and our own volumes decide, and
under a Python loop, where meshes and a user's own test do. Kallmann 2008, Automatic swivel angle determination;
specification limb-and-reach, section 4, which also tests the bounds and bisects to the edge of the valid interval.

The paper sketches another way for limits alone: clamp the base joint and take the swivel of the clamped elbow. On
40,000 random positions with human limits, where the preferred swivel fails and the search finds one, that found 18 % of
them for an arm and 13 % for a leg, and 3 and 1 % with an orientation to meet; going a fifth further than the clamp
said, up to ten times, 38, 69, 11 and 9 %. The clamped elbow is off the orbit circle, and back on it the swing is
outside its limits again; and it ignores the wrist's limits. So it is not used.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..math.angles import wrap_angle
from ..math.quaternion import axis_angle, conj, mul, rotate
from ..math.vector import any_perpendicular, cross, dot, norm, reject, unit

Limb: TypeAlias = Any  # the record of `model.LIMB`
Values: TypeAlias = tuple[float, float, float, float, float, float, float]

# Why a target is not simply reached: bits of one number.
FAR, NEAR, FLEXION, SINGULAR_REFERENCE = 1, 2, 4, 8

TINY = 1e-6  # [m] a target closer to the base than this has no direction
STRAIGHT_BACK_COSINE = -math.cos(0.01)  # a swing this close to a half turn has no stable direction
POLE_CONE = 1.0 - math.cos(math.radians(0.5))  # 1 + cos of the angle to the pole's opposite
PAPER_AXIS = 1e-3  # sine of the angle to the y axis below which the paper's reference is undefined
STRAIGHT = 1e-10  # of the bones' lengths: a mid joint closer to the axis than this does not show which way it bends
UNDEFINED_TWIST = 1e-6  # norm of (w, z) below which a wrist, rotated by half a revolution, has no twist

Reach: TypeAlias = tuple[int, Vec3, Vec3, Vec3, float, float, float]

PREFERRED, BELOW, ABOVE, REFINE, FOUND, FAILED = range(6)
"""The stage of the search: the preferred swivel, a step below or above it, a bisection; or how the search ended."""


@kernel
def forward(limb: Limb, v: Values) -> tuple[Vec3, Vec3, Quat]:
    """Return (mid, end, orientation of the end) in the limb's frame: forward kinematics of the seven values [rad]."""
    base = mul(_swing(v[0], v[1]), axis_angle((0.0, 0.0, 1.0), v[2]))
    middle = mul(base, axis_angle((0.0, 1.0, 0.0), v[3]))
    mid = rotate(base, (0.0, 0.0, limb["upper"]))
    arm = rotate(middle, (0.0, 0.0, limb["lower"]))
    end = (mid[0] + arm[0], mid[1] + arm[1], mid[2] + arm[2])
    orientation = mul(mul(middle, axis_angle((0.0, 0.0, 1.0), v[4])), _swing(v[5], v[6]))
    return mid, end, orientation


@kernel
def reach_of(limb: Limb, target: Vec3) -> Reach:
    """Return (flags, n, u, v, centre, radius, |v3|) of a target, all that does not depend on the swivel.

    n points from the base to the target; the orbit circle of the mid joint has its centre at `centre` n and its radius
    `radius`; u and v = u x n are its axes, u at swivel 0 of the reference. A target that is out of reach, or that needs
    more or less flexion than the limits allow, is moved along n to the nearest distance that can be had, and flagged.
    """
    upper, lower = limb["upper"], limb["lower"]
    distance = norm(target)
    flags = 0
    n = (limb["px"], limb["py"], limb["pz"])  # a target at the base: any direction is right, so the pole's
    if not math.isfinite(distance):
        n = unit(target)
    elif distance >= TINY:
        n = (target[0] / distance, target[1] / distance, target[2] / distance)
    longest, shortest = upper + lower, abs(upper - lower)
    if distance > longest:
        flags |= FAR
    elif distance < shortest or distance < TINY:
        flags |= NEAR
    length = min(max(distance, shortest, TINY), longest)
    # |v3| = pi - acos(...) (Eq. 2, minus branch) as 2 atan2: no cancellation at either end.
    a = (longest - length) * (longest + length)
    b = (length - shortest) * (length + shortest)
    bend = 2.0 * math.atan2(math.sqrt(max(a, 0.0)), math.sqrt(max(b, 0.0)))
    if limb["limited"] and not limb["flex_low"] - 1e-12 <= bend <= limb["flex_high"] + 1e-12:
        if flags == 0:
            flags |= FLEXION
        bend = min(max(bend, limb["flex_low"]), limb["flex_high"])
        length = math.sqrt(upper * upper + lower * lower + 2.0 * upper * lower * math.cos(bend))
        length = max(length, TINY)
        a = (longest - length) * (longest + length)
        b = (length - shortest) * (length + shortest)
    centre = (upper * upper - lower * lower + length * length) / (2.0 * length)
    radius = math.sqrt(max(a, 0.0) * max(b, 0.0)) / (2.0 * length)
    u, defined = reference(limb, n)
    if not defined:
        flags |= SINGULAR_REFERENCE
    return flags, n, u, cross(u, n), centre, radius, bend


@kernel
def reference(limb: Limb, n: Vec3) -> tuple[Vec3, bool]:
    """Return (direction of swivel 0 of the orbit circle around n, whether it is defined there).

    Paper: -y made perpendicular to n, undefined on the y axis, where arms hang. Default: the reference at the pole,
    carried to n by the smallest rotation; undefined only opposite to the pole, behind and above the body.
    """
    if limb["paper"]:
        u = reject((0.0, -1.0, 0.0), n)
        size = norm(u)
        if size < PAPER_AXIS:
            return any_perpendicular(n), False
        return (u[0] / size, u[1] / size, u[2] / size), True
    pole, ref = (limb["px"], limb["py"], limb["pz"]), (limb["ux"], limb["uy"], limb["uz"])
    cosine = 1.0 + dot(pole, n)
    if cosine < POLE_CONE:
        return any_perpendicular(n), False
    a = cross(pole, n)
    t = cross(a, ref)
    s = cross(a, t)
    return unit((ref[0] + t[0] + s[0] / cosine, ref[1] + t[1] + s[1] / cosine, ref[2] + t[2] + s[2] / cosine)), True


@kernel
def base_at(limb: Limb, reach: Reach, swivel: float) -> tuple[Quat, bool]:
    """Return (orientation of the base joint at this swivel [rad], whether its swing is defined)."""
    _, n, u, v, centre, radius, _ = reach
    angle = limb["sign"] * swivel + limb["offset"]
    c, s = math.cos(angle), math.sin(angle)
    w = (u[0] * c + v[0] * s, u[1] * c + v[1] * s, u[2] * c + v[2] * s)
    mid = (n[0] * centre + w[0] * radius, n[1] * centre + w[1] * radius, n[2] * centre + w[2] * radius)
    normal = cross(w, n)  # of the bending plane: where local y must point, up to the bending's sign
    flex = limb["flex"]
    k = 1.0 / math.sqrt(dot(mid, mid))
    z = (k * mid[0], k * mid[1], k * mid[2])
    return _with_axes((flex * normal[0], flex * normal[1], flex * normal[2]), z), z[2] > STRAIGHT_BACK_COSINE


@kernel
def swivel_at(limb: Limb, angle: float) -> float:
    """Return the swivel in [-pi, pi) [rad] of an angle measured from the limb's reference."""
    return wrap_angle((angle - limb["offset"]) * limb["sign"])


@kernel
def swivel_of(limb: Limb, position: Vec3, mid: Vec3, y: Vec3) -> float:
    """Return the swivel [rad] at which the mid joint lies at `mid` [m], with the end at `position` [m].

    On a straight limb, which has no such side, it follows from the base joint's y axis.
    """
    _, n, u, v, _, _, _ = reach_of(limb, position)
    w = reject(mid, n)
    if norm(w) < STRAIGHT * (limb["upper"] + limb["lower"]):
        flex = limb["flex"]
        w = cross(n, (flex * y[0], flex * y[1], flex * y[2]))
    return swivel_at(limb, math.atan2(dot(w, v), dot(w, u)))


@kernel
def posture_swivel(limb: Limb, base: Quat, bend: float) -> float:
    """Return the swivel [rad] of a posture from its bending axis, which a straight limb has too."""
    _, n, u, v, _, _, _ = reach_of(limb, end_position(limb, base, flexed(limb, bend)))
    w = cross(n, rotate(base, (0.0, limb["flex"], 0.0)))
    return swivel_at(limb, math.atan2(dot(w, v), dot(w, u)))


@kernel
def base_towards(mid: Vec3, y: Vec3) -> tuple[Quat, bool]:
    """Return (orientation with z along the unit vector `mid` and y along `y`, whether its swing is stable).

    Swing times twist by half-angle algebra: the swing is (1 + z, -y, x, 0) normalised, and the twist about z the one
    that carries the swung y axis to `y`.
    """
    swing = _swing_to(mid)
    local = rotate(conj(swing), y)
    # The twist t has cos t = local.y and sin t = -local.x; its half by the form that does not cancel.
    size = math.sqrt(local[0] * local[0] + local[1] * local[1])
    c, s = size + local[1], -local[0]
    if local[1] < 0.0:
        c, s = abs(local[0]), math.copysign(size - local[1], -local[0])
    length = math.sqrt(c * c + s * s)
    twist = (1.0, 0.0, 0.0, 0.0)
    if length > 0.0:
        twist = (c / length, 0.0, 0.0, s / length)
    return mul(swing, twist), mid[2] > STRAIGHT_BACK_COSINE


@kernel
def flexed(limb: Limb, bend: float) -> Quat:
    """Return the mid joint's rotation at |v3| = bend [rad], without its twist."""
    half = 0.5 * limb["flex"] * bend
    return (math.cos(half), 0.0, math.sin(half), 0.0)


@kernel
def forearm(limb: Limb, base: Quat, bend: float) -> Quat:
    """Return the orientation of the mid joint before its twist, at flexion |v3| = bend [rad]."""
    return mul(base, flexed(limb, bend))


@kernel
def end_position(limb: Limb, base: Quat, bent: Quat) -> Vec3:
    """Return the position of the end [m], from the base joint's orientation and the mid joint's flexion."""
    c, s = bent[0], bent[2]
    across, along = 2.0 * limb["lower"] * c * s, limb["upper"] + limb["lower"] * (c - s) * (c + s)
    return rotate(base, (across, 0.0, along))


@kernel
def wrist_of(middle: Quat, orientation: Quat) -> tuple[Quat, Quat, bool]:
    """Return (twist about the lower bone, swing, whether the twist is defined) that give the end its orientation.

    Eq. 5 and 6: q = twist * swing. Of q and -q the one with w >= 0, so that the twist stays in [-pi, pi] and its swing
    is the right one (wrapping the twist instead flips the swing of half of all targets: erratum E3).
    """
    q = mul(conj(middle), orientation)
    if q[0] < 0.0:
        q = (-q[0], -q[1], -q[2], -q[3])
    size = math.sqrt(q[0] * q[0] + q[3] * q[3])
    if size < UNDEFINED_TWIST:
        return (1.0, 0.0, 0.0, 0.0), q, False
    twist = (q[0] / size, 0.0, 0.0, q[3] / size)
    return twist, mul(conj(twist), q), True


@kernel
def values_of(limb: Limb, base: Quat, bend: float, twist: Quat, swing: Quat) -> Values:
    """Return the seven values [rad] of a posture given by its rotations."""
    w, x, y, z = base
    size = math.sqrt(w * w + z * z)
    c, s = 1.0, 0.0  # of half the twist; a bone that points straight back has none
    if size > 0.0:
        c, s = w / size, z / size
    v0, v1 = _swing_values(size, x * c - y * s, y * c + x * s)
    v5, v6 = _swing_values(swing[0], swing[1], swing[2])
    return (v0, v1, _twist_value(w, z), limb["flex"] * bend, _twist_value(twist[0], twist[3]), v5, v6)


@kernel
def rotations_of(v: Values) -> tuple[Quat, Quat, Quat]:
    """Return (base, mid with its twist, end) local rotations of the three joints, in the limb's frame."""
    base = mul(_swing(v[0], v[1]), axis_angle((0.0, 0.0, 1.0), v[2]))
    middle = mul(axis_angle((0.0, 1.0, 0.0), v[3]), axis_angle((0.0, 0.0, 1.0), v[4]))
    return base, middle, _swing(v[5], v[6])


@kernel
def canonical(limb: Limb, base: Quat) -> Quat:
    """Return the base joint's rotation in the canonical frame of the body, which the limits are given in."""
    f, b = (limb["fw"], limb["fx"], limb["fy"], limb["fz"]), (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(f, base), b)


@kernel
def canonical_inner(limb: Limb, q: Quat) -> Quat:
    """Return a rotation of the mid or end joint in the canonical frame."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(conj(b), q), b)


@kernel
def _swing_to(z: Vec3) -> Quat:
    """Return the swing that carries the z axis to the unit vector z; straight back: the half turn about x."""
    across = z[0] * z[0] + z[1] * z[1]
    w = 1.0 + z[2]
    if z[2] < 0.0:
        w = across / (1.0 - z[2])  # 1 + z without its cancellation
    length = math.sqrt(w * w + across)
    if length == 0.0:
        return (0.0, 1.0, 0.0, 0.0)
    return (w / length, -z[1] / length, z[0] / length, 0.0)


@kernel
def _swing(x: float, y: float) -> Quat:
    angle = math.sqrt(x * x + y * y)
    k = 0.5 if angle < 1e-8 else math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), x * k, y * k, 0.0)


@kernel
def _swing_values(w: float, x: float, y: float) -> tuple[float, float]:
    """Return (x, y) [rad] of the swing quaternion (w, x, y, 0)."""
    if w < 0.0:
        w, x, y = -w, -x, -y
    sine = math.sqrt(x * x + y * y)
    k = 2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, w) / sine
    return (k * x, k * y)


@kernel
def _twist_value(w: float, z: float) -> float:
    """Return the angle in [-pi, pi] of the quaternion (w, 0, 0, z)."""
    return 2.0 * math.atan2(z, w) if w >= 0.0 else 2.0 * math.atan2(-z, -w)


@kernel
def _with_axes(y: Vec3, z: Vec3) -> Quat:
    """The orientation whose local y and z axes are these perpendicular unit vectors.

    From the rotation's matrix by the largest of the four components (Shepperd 1978), which never cancels.
    """
    x = cross(y, z)
    a, b, c = x[0], y[1], z[2]
    if c >= 0.0:
        if a + b >= 0.0:
            t = 1.0 + a + b + c
            q = (t, y[2] - z[1], z[0] - x[2], x[1] - y[0])
        else:
            t = 1.0 - a - b + c
            q = (x[1] - y[0], z[0] + x[2], y[2] + z[1], t)
    elif a >= b:
        t = 1.0 + a - b - c
        q = (y[2] - z[1], t, x[1] + y[0], z[0] + x[2])
    else:
        t = 1.0 - a + b - c
        q = (z[0] - x[2], x[1] + y[0], t, y[2] + z[1])
    k = 0.5 / math.sqrt(t)
    return (k * q[0], k * q[1], k * q[2], k * q[3])


State: TypeAlias = tuple[int, float, float, float, float, bool, bool, float, float, int, int]
# stage, swivel proposed, step, lowest and highest swivel tried, sides still open, valid and invalid end of the
# bisection, bisections left, tests before the bisection


@kernel
def begin(limb: Any, preferred: float) -> State:
    """Return the machine that proposes the preferred swivel [rad], even outside the bounds; its steps lead inside."""
    start = preferred
    if not limb["low"] <= start <= limb["high"]:
        start = min(max(wrap_angle(start), -math.pi), math.pi)  # of a huge angle, rounding may leave more than a turn
    below, above = start > limb["low"], start < limb["high"]
    return (PREFERRED, start, limb["step"], start, start, below, above, start, start, limb["refine"], 1)


@kernel
def advance(limb: Any, state: State, valid: bool) -> State:
    """Return the machine after a verdict on its proposed swivel; once `state[0]` is FOUND, `state[1]` is the answer."""
    stage, swivel, step, lowest, highest, below, above, good, bad, left, tests = state
    if stage == REFINE:
        if valid:
            good = swivel
        else:
            bad = swivel
        if left == 0:
            return (FOUND, good, step, lowest, highest, below, above, good, bad, 0, tests)
        return (REFINE, 0.5 * (good + bad), step, lowest, highest, below, above, good, bad, left - 1, tests)
    if valid:
        if stage == PREFERRED or left == 0:
            return (FOUND, swivel, step, lowest, highest, below, above, swivel, swivel, 0, tests)
        bad = lowest if stage == BELOW else highest  # the last one on this side, which failed
        return (REFINE, 0.5 * (swivel + bad), step, lowest, highest, below, above, swivel, bad, left - 1, tests)
    if stage == BELOW:
        lowest = swivel
        below = swivel > limb["low"]
    elif stage == ABOVE:
        highest = swivel
        above = swivel < limb["high"]
    if stage == ABOVE or (stage == BELOW and not above):
        step += limb["growth"]
    if below and (stage != BELOW or not above):
        swivel = max(lowest - step, limb["low"])
        return (BELOW, swivel, step, lowest, highest, below, above, good, bad, left, tests + 1)
    if above:
        swivel = min(highest + step, limb["high"])
        return (ABOVE, swivel, step, lowest, highest, below, above, good, bad, left, tests + 1)
    return (FAILED, swivel, step, lowest, highest, below, above, good, bad, left, tests)

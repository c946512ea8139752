"""Kernels that bring a bone direction to the nearest one its swing shape allows, along the sphere.

Directions are tuples `(x, y, z)` in the joint's axes `(a1, a2, d)`. Swings are half-angle tuples
`(n, u, v)`: the quaternion `(n; u a1 + v a2)` with n >= 0. A row is one record of `limits.packed`.

Ellipses and cones have a closed boundary curve B(t). The nearest point is where `f(t) = bone . B(t)` is largest: every
local maximum among the stored boundary samples is refined by Newton's method, safeguarded by bisection in its bracket,
on the derivative of f rather than on f (golden section on f, as specification limb-and-reach 3(b) has it, stops at half
the digits), and the best is taken. So the answer is the global nearest point, not the one next to the starting guess.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import kernel
from ..compute.types import Floats, Vec3
from ..math.angles import wrap_angle_odd

FREE, HINGE, ELLIPSE, CONE = 0, 1, 2, 3
PER_PIECE = 8  # boundary samples for each piece of a cone's spline (shapes.CONE_SAMPLES)
PIECE = 5  # numbers a piece: left end and four coefficients
CORNER = 1e-9  # [rad], how near a corner of the rim, whose own point is a sample, the search stops
NEWTON_STEPS = 60  # bisection alone would need 55 to exhaust a double

Row: TypeAlias = Any  # a record of Limits.packed
HalfSwing: TypeAlias = tuple[float, float, float]


@kernel
def direction_of(swing: HalfSwing) -> Vec3:
    """Return where the swing (n, u, v) takes the rest bone (0, 0, 1)."""
    n, u, v = swing
    return (2.0 * n * v, -2.0 * n * u, n * n - u * u - v * v)


@kernel
def swing_to(bone: Vec3) -> HalfSwing:
    """Return the smallest swing (n, u, v) from the rest bone to the unit direction `bone`; straight back: about a1."""
    x, y, z = bone
    across = math.hypot(x, y)
    if across == 0.0:
        return (1.0, 0.0, 0.0) if z > 0.0 else (0.0, 1.0, 0.0)
    half = 0.5 * math.atan2(across, z)
    k = math.sin(half) / across
    return (math.cos(half), -y * k, x * k)


@kernel
def rotation_vector(swing: HalfSwing) -> tuple[float, float]:
    """Return the rotation vector (s1, s2) [rad] of a swing, about a1 and a2."""
    n, u, v = swing
    sine = math.hypot(u, v)
    if sine == 0.0:
        return (0.0, 0.0)
    k = 2.0 * math.atan2(sine, n) / sine
    return (u * k, v * k)


@kernel
def swing_of_vector(s1: float, s2: float) -> HalfSwing:
    """Return the swing (n, u, v) with the rotation vector (s1, s2) [rad]."""
    angle = math.hypot(s1, s2)
    k = 0.5 if angle == 0.0 else math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), s1 * k, s2 * k)


@kernel
def angle_apart(a: Vec3, b: Vec3) -> float:
    """Return the angle between two unit directions, accurate near 0 and pi."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return math.atan2(math.sqrt(x * x + y * y + z * z), a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@kernel
def swing_allowed(row: Row, curves: Floats, swing: HalfSwing) -> bool:
    """Return whether the swing lies inside the row's shape, boundary included, with no tolerance."""
    kind = row["kind"]
    if kind == FREE:
        return True
    if kind == ELLIPSE:
        s1, s2 = rotation_vector(swing)
        return _ellipse_value(s1 - row["c1"], row["r1"], s2 - row["c2"], row["r2"]) <= 1.0
    x, y, z = direction_of(swing)
    if kind == CONE:
        psi, _, _ = cone_limit(row, curves, math.atan2(x, y))
        return math.atan2(math.sqrt(x * x + y * y), z) <= psi
    offset = wrap_angle_odd(math.atan2(-y, z) - row["c1"])
    return bool(abs(offset) <= row["r1"] and abs(math.atan2(x, math.sqrt(y * y + z * z))) <= row["r2"])


@kernel
def on_plane(row: Row, curves: Floats, swing: HalfSwing) -> tuple[float, float]:
    """Return a swing as a point of a plane in which the row's shape is convex, so that straight lines stay inside it.

    Rotation vectors for ellipses, both angles for hinges; for cones the fraction of the largest angle in a direction,
    in that direction: a disc of radius 1.
    """
    kind = row["kind"]
    if kind in (FREE, ELLIPSE):
        return rotation_vector(swing)
    if kind == CONE:
        n, p, q = swing  # not the bone: straight back, too, a swing has a direction
        theta = math.atan2(q, -p)
        psi, _, _ = cone_limit(row, curves, theta)
        fraction = 2.0 * math.atan2(math.hypot(p, q), n) / max(psi, CORNER)
        return (fraction * math.sin(theta), fraction * math.cos(theta))
    x, y, z = direction_of(swing)
    return (wrap_angle_odd(math.atan2(-y, z) - row["c1"]), math.atan2(x, math.sqrt(y * y + z * z)))


@kernel
def from_plane(row: Row, curves: Floats, u: float, v: float) -> HalfSwing:
    """Return the inverse of `on_plane`."""
    kind = row["kind"]
    if kind in (FREE, ELLIPSE):
        return swing_of_vector(u, v)
    if kind == CONE:
        theta = math.atan2(u, v)
        psi, _, _ = cone_limit(row, curves, theta)
        half = 0.5 * math.hypot(u, v) * max(psi, CORNER)
        return (math.cos(half), -math.sin(half) * math.cos(theta), math.sin(half) * math.sin(theta))
    bent = u + row["c1"]
    return swing_to((math.sin(v), -math.cos(v) * math.sin(bent), math.cos(v) * math.cos(bent)))


@kernel
def nearest_direction(row: Row, curves: Floats, bone: Vec3) -> Vec3:
    """Return the direction on the boundary of the row's shape nearest to an outside direction, along the sphere."""
    if row["kind"] == HINGE:
        return _nearest_on_hinge(row, bone)
    return _nearest_on_curve(row, curves, bone)


@kernel
def approximate_direction(row: Row, curves: Floats, swing: HalfSwing) -> Vec3:
    """Return a direction on the boundary by the papers' own approximate rules, for an outside swing.

    Ellipses: the nearest point in the swing plane (limb-and-reach 3(a)). Cones: the same direction theta (Unzueta
    2008, section 7). Hinges: as `nearest_direction`.
    """
    if row["kind"] == ELLIPSE:
        s1, s2 = rotation_vector(swing)
        p1, p2 = nearest_on_planar_ellipse(row["r1"], row["r2"], s1 - row["c1"], s2 - row["c2"])
        return direction_of(swing_of_vector(row["c1"] + p1, row["c2"] + p2))
    bone = direction_of(swing)
    if row["kind"] == CONE:
        theta = math.atan2(bone[0], bone[1])
        psi, _, _ = cone_limit(row, curves, theta)
        return (math.sin(psi) * math.sin(theta), math.sin(psi) * math.cos(theta), math.cos(psi))
    return _nearest_on_hinge(row, bone)


@kernel
def nearest_on_planar_ellipse(r1: float, r2: float, x: float, y: float) -> tuple[float, float]:
    """Return the point of the axis-aligned ellipse with semi-axes r1, r2 nearest to an outside point (x, y).

    Eberly's form: with a >= b the semi-axes, the root t of (a x / (t + a^2))^2 + (b y / (t + b^2))^2 = 1 by bisection.
    """
    a, b, p, q = (r1, r2, abs(x), abs(y)) if r1 >= r2 else (r2, r1, abs(y), abs(x))
    if b == 0.0:  # a segment, or a point
        p, q = min(p, a), 0.0
    else:
        low, high = -b * b + b * q, -b * b + math.hypot(a * p, b * q)
        for _ in range(64):
            t = 0.5 * (low + high)
            if (a * p / (t + a * a)) ** 2 + (b * q / (t + b * b)) ** 2 > 1.0:
                low = t
            else:
                high = t
        p, q = a * a * p / (high + a * a), b * b * q / (high + b * b)
    if r1 < r2:
        p, q = q, p
    return (math.copysign(p, x), math.copysign(q, y))


@kernel
def cone_limit(row: Row, curves: Floats, theta: float) -> tuple[float, float, float]:
    """Return (psi, psi', psi'') of a cone's spline at theta [rad], modulo 2 pi."""
    angle = wrap_angle_odd(theta)
    pieces = row["pieces"]
    first = row["start"] + 3 * row["samples"]
    low, high = 0, pieces - 1
    while low < high:
        middle = (low + high + 1) // 2
        if curves[first + PIECE * middle] <= angle:
            low = middle
        else:
            high = middle - 1
    at = first + PIECE * low
    x = angle - curves[at]
    c1, c2, c3 = curves[at + 2], curves[at + 3], curves[at + 4]
    psi = min(curves[at + 1] + x * (c1 + x * (c2 + x * c3)), math.pi)
    return (psi, c1 + x * (2.0 * c2 + 3.0 * x * c3), 2.0 * c2 + 6.0 * x * c3)


@kernel
def _ellipse_value(p: float, r1: float, q: float, r2: float) -> float:
    """Return (p / r1)^2 + (q / r2)^2, where 0 / 0 counts as 0."""
    a = 0.0 if p == 0.0 else p / r1
    b = 0.0 if q == 0.0 else q / r2
    return a * a + b * b


@kernel
def _nearest_on_hinge(row: Row, bone: Vec3) -> Vec3:
    """Return the nearest direction in a hinge's band: longitude within r1 of c1 about a1, latitude within r2."""
    x, y, z = bone
    middle, half, slack = row["c1"], row["r1"], row["r2"]
    longitude = wrap_angle_odd(math.atan2(-y, z) - middle)
    latitude = math.atan2(x, math.hypot(y, z))
    if abs(longitude) > half:
        # The nearest point of the end's meridian, a great circle, then the end of its arc if it lies beyond.
        end = math.copysign(half, longitude)
        latitude = math.atan2(x, math.hypot(y, z) * math.cos(longitude - end))
        longitude = end
    latitude = min(max(latitude, -slack), slack)
    across = math.cos(latitude)
    angle = longitude + middle
    return (math.sin(latitude), -across * math.sin(angle), across * math.cos(angle))


@kernel
def _nearest_on_curve(row: Row, curves: Floats, bone: Vec3) -> Vec3:
    """Return the nearest point of an ellipse's or cone's boundary.

    Candidates: the summit next to the point that lies in the same direction from the middle, which is the nearest one
    for a bone just outside, however wild the curve; and the summits next to every local maximum among the samples.
    """
    first, count = row["start"], row["samples"]
    t, step = _facing(row, bone)
    point, slope, _ = _curve(row, curves, bone, t)
    best, smallest = _closer(bone, point, bone, 8.0)
    if slope > 0.0:
        best, smallest = _closer(bone, _summit(row, curves, bone, t, t + step), best, smallest)
    elif slope < 0.0:
        best, smallest = _closer(bone, _summit(row, curves, bone, t - step, t), best, smallest)
    before = _height(curves, first + 3 * (count - 1), bone)
    here = _height(curves, first, bone)
    for i in range(count):
        after = _height(curves, first + 3 * ((i + 1) % count), bone)
        if here >= before and here >= after and (here > before or here > after):
            at = first + 3 * i
            best, smallest = _closer(bone, (curves[at], curves[at + 1], curves[at + 2]), best, smallest)
            # Where a cone's rim meets pi it has a corner: each side has a slope of its own there.
            gap = CORNER if curves[at + 2] == -1.0 else 0.0
            middle = _parameter(row, curves, i)
            _, slope, bend = _curve(row, curves, bone, middle - gap)
            if slope < 0.0 or (slope == 0.0 and bend > 0.0):  # falling, or the valley at the end of a segment
                point = _summit(row, curves, bone, _parameter(row, curves, i - 1), middle - gap)
                best, smallest = _closer(bone, point, best, smallest)
            elif _curve(row, curves, bone, middle + gap)[1] > 0.0:
                point = _summit(row, curves, bone, middle + gap, _parameter(row, curves, i + 1))
                best, smallest = _closer(bone, point, best, smallest)
        before, here = here, after
    return best


@kernel
def _closer(bone: Vec3, point: Vec3, best: Vec3, smallest: float) -> tuple[Vec3, float]:
    """Return the nearer of two points, and its squared distance, which unlike the cosine separates near points."""
    x, y, z = bone[0] - point[0], bone[1] - point[1], bone[2] - point[2]
    apart = x * x + y * y + z * z
    return (point, apart) if apart < smallest else (best, smallest)


@kernel
def _facing(row: Row, bone: Vec3) -> tuple[float, float]:
    """Return (curve parameter in the bone's direction from the middle, how far to search from there) [rad]."""
    if row["kind"] == CONE:
        return math.atan2(bone[0], bone[1]), 2.0 * math.pi / row["samples"]
    s1, s2 = rotation_vector(swing_to(bone))
    return math.atan2(row["r1"] * (s2 - row["c2"]), row["r2"] * (s1 - row["c1"])), 2.0 * math.pi / row["samples"]


@kernel
def _height(curves: Floats, at: int, bone: Vec3) -> float:
    return float(curves[at] * bone[0] + curves[at + 1] * bone[1] + curves[at + 2] * bone[2])


@kernel
def _parameter(row: Row, curves: Floats, i: int) -> float:
    """Return the curve parameter of boundary sample i [rad]; i may be one off either end."""
    count = row["samples"]
    if row["kind"] == ELLIPSE:
        return i * (2.0 * math.pi / float(count))
    revolutions = 0.0
    if i < 0:
        i, revolutions = i + count, -2.0 * math.pi
    elif i >= count:
        i, revolutions = i - count, 2.0 * math.pi
    piece = i // PER_PIECE
    at = row["start"] + 3 * count + PIECE * piece
    left = curves[at]
    right = curves[at + PIECE] if piece + 1 < row["pieces"] else math.pi
    return float(left + (right - left) * (i - piece * PER_PIECE) / PER_PIECE + revolutions)


@kernel
def _summit(row: Row, curves: Floats, bone: Vec3, low: float, high: float) -> Vec3:
    """Return the boundary point where f stops rising, between parameters where it rises and falls.

    Newton's method on f', with bisection where a step would leave the bracket.
    """
    t = 0.5 * (low + high)
    point, slope, bend = _curve(row, curves, bone, t)
    for _ in range(NEWTON_STEPS):
        if slope > 0.0:
            low = t
        else:
            high = t
        step = -slope / bend if bend < 0.0 else math.inf
        inside = low < t + step < high
        if abs(step) <= 4e-16 * (1.0 + abs(t)) or (high - low < CORNER and not inside):
            break
        t = t + step if inside else 0.5 * (low + high)
        point, slope, bend = _curve(row, curves, bone, t)
    return point


@kernel
def _curve(row: Row, curves: Floats, bone: Vec3, t: float) -> tuple[Vec3, float, float]:
    """Return (B(t), f'(t), f''(t)) of the boundary curve, with f = bone . B."""
    if row["kind"] == ELLIPSE:
        return _ellipse_curve(row["c1"], row["c2"], row["r1"], row["r2"], bone, t)
    psi, rise, bend = cone_limit(row, curves, t)
    x, y, z = bone
    sine, cosine = (math.sin(psi), math.cos(psi)) if psi < math.pi else (0.0, -1.0)
    st, ct = math.sin(t), math.cos(t)
    along, across = x * st + y * ct, x * ct - y * st
    tilt = cosine * along - sine * z
    first = rise * tilt + sine * across
    second = bend * tilt - rise * rise * (sine * along + cosine * z) + 2.0 * rise * cosine * across - sine * along
    return (sine * st, sine * ct, cosine), first, second


@kernel
def _ellipse_curve(
    c1: float,
    c2: float,
    r1: float,
    r2: float,
    bone: Vec3,
    t: float,
) -> tuple[Vec3, float, float]:
    """Return what `_curve` does for B(t) = exp(E(t)) d with E(t) = c + (r1 cos t, r2 sin t)."""
    ct, st = math.cos(t), math.sin(t)
    e1, e2 = c1 + r1 * ct, c2 + r2 * st
    d1, d2 = -r1 * st, r2 * ct
    b1, b2 = -r1 * ct, -r2 * st
    m = math.hypot(e1, e2)
    cosine = math.cos(m)
    if m < 1e-2:  # sin(m)/m and its derivatives over m, by their series
        m2 = m * m
        sinc = 1.0 - m2 / 6.0 * (1.0 - m2 / 20.0)
        k = -1.0 / 3.0 + m2 / 30.0 * (1.0 - m2 / 28.0)
        k2 = 1.0 / 15.0 - m2 / 210.0
    else:
        sinc = math.sin(m) / m
        k = (cosine - sinc) / (m * m)
        k2 = (-sinc - 3.0 * k) / (m * m)
    g1, g2 = -bone[1], bone[0]
    eg, dg, ed = e1 * g1 + e2 * g2, d1 * g1 + d2 * g2, e1 * d1 + e2 * d2
    inner = -bone[2] * sinc + k * eg
    first = ed * inner + sinc * dg
    second = (d1 * d1 + d2 * d2 + e1 * b1 + e2 * b2) * inner
    second += ed * (ed * (-bone[2] * k + k2 * eg) + 2.0 * k * dg) + sinc * (b1 * g1 + b2 * g2)
    return (sinc * e2, -sinc * e1, cosine), first, second

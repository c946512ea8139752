"""Orientations met in closed form: by two joints of a chain as nearly as they can, by three exactly (specification, 8).

The specification completes chains with twisters at both ends. The same holds for any two joints p < q with everything
else fixed: the end is `pre A(r_p, a) B A(r_q, b) post`, so with T = pre* target post* the product of unit quaternions
that says how near the end is,

    f(a, b) = T . A(r_p, a) B A(r_q, b) = x' F y,   x = (cos a/2, sin a/2),   y = (cos b/2, sin b/2),

is a bilinear form: its largest value, over a and b, is the larger singular value of the 2 x 2 matrix F, found from the
sum and the difference of the angles. A third joint j between them makes that value 1, the orientation exact, where
`r_p . B A(r_j, angle) C r_q` equals `r_p . T r_q`: K0 + K1 cos + K2 sin = const, two roots.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Ints, Quat, Records
from ..math.quaternion import conj, mul, rotate, rotate_inverse
from ..math.vector import cross, dot
from .kernels import HALF_ROTATION, axis_of, bend_error, clamped, copy, product, rest_of, rotation_of, wrapped
from .model import HIGH, LOW, POSTURE, SHAPE, SPARE, TWISTER

INSIDE = 1e-12
VAGUE = 1e-9  # a sum or difference of angles that changes nothing
LESS = 1e-6  # a gain that is worth a move
FREELY = 3.0  # so much further go the steps of a joint that costs nothing
SHRINK = 0.4  # of the steps of a search


@kernel
def bilinear(t: Quat, m: Quat, p: tuple[float, float, float], q: tuple[float, float, float]) -> Quat:
    """F of the two joints, row by row: (f00, f01, f10, f11)."""
    left = mul((0.0, p[0], p[1], p[2]), m)
    right = (0.0, q[0], q[1], q[2])
    return (dot4(t, m), dot4(t, mul(m, right)), dot4(t, left), dot4(t, mul(left, right)))


@kernel
def dot4(a: Quat, b: Quat) -> float:
    """The inner product of two quaternions."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def nearness(f: Quat, a: float, b: float, free: bool) -> float:
    """|f(a, b)|; with a free half rotation of the second joint the better of the two."""
    ca, sa, cb, sb = math.cos(0.5 * a), math.sin(0.5 * a), math.cos(0.5 * b), math.sin(0.5 * b)
    y0, y1 = ca * f[0] + sa * f[2], ca * f[1] + sa * f[3]
    value = abs(y0 * cb + y1 * sb)
    return max(value, abs(y1 * cb - y0 * sb)) if free else value


@kernel
def inside(low: float, high: float, a: float) -> bool:
    """Whether an angle is within its limits, but for rounding."""
    return low - INSIDE <= a <= high + INSIDE


@kernel
def put(low: float, high: float, b: float, free: bool) -> float:
    """An angle inside its limits if it can be (pi away if that is free), not clamped."""
    a = wrapped(low, high, b)
    if free and not inside(low, high, a):
        c = wrapped(low, high, b + math.pi)
        if inside(low, high, c) or max(low - c, c - high) < max(low - a, a - high):
            return c
    return a


@kernel
def complete_two(
    f: Quat, low_a: float, high_a: float, low_b: float, high_b: float, free: bool, hint: float
) -> tuple[float, float, float]:
    """(a, b, nearness): the two angles inside their limits that come nearest; `hint` is a where it does not matter."""
    plus = math.hypot(f[1] + f[2], f[0] - f[3])
    minus = math.hypot(f[2] - f[1], f[0] + f[3])
    s, d = math.atan2(f[1] + f[2], f[0] - f[3]), math.atan2(f[2] - f[1], f[0] + f[3])
    if plus < VAGUE:
        s = hint - d
    elif minus < VAGUE:
        d = hint - s
    a, b = put(low_a, high_a, s + d, False), put(low_b, high_b, s - d, free)
    fits_a, fits_b = inside(low_a, high_a, a), inside(low_b, high_b, b)
    if fits_a and fits_b:
        return min(high_a, max(low_a, a)), min(high_b, max(low_b, b)), 0.5 * (plus + minus)
    best_a, best_b = min(high_a, max(low_a, a)), min(high_b, max(low_b, b))
    best = nearness(f, best_a, best_b, free)
    for side in range(2):
        if not fits_a:
            a = high_a if side else low_a
            if not math.isinf(a):
                ca, sa = math.cos(0.5 * a), math.sin(0.5 * a)
                b = 2.0 * math.atan2(ca * f[1] + sa * f[3], ca * f[0] + sa * f[2])
                b = min(high_b, max(low_b, put(low_b, high_b, b, free)))
                value = nearness(f, a, b, free)
                if value > best:
                    best_a, best_b, best = a, b, value
        if not fits_b:
            b = high_b if side else low_b
            if not math.isinf(b):
                cb, sb = math.cos(0.5 * b), math.sin(0.5 * b)
                a = 2.0 * math.atan2(cb * f[2] + sb * f[3], cb * f[0] + sb * f[1])
                a = clamped(low_a, high_a, a)
                value = nearness(f, a, b, free)
                if value > best:
                    best_a, best_b, best = a, b, value
    return best_a, best_b, best


@kernel
def free_end(joints: Records, settings: Records, q: int) -> bool:
    """Return whether half a rotation of joint q costs nothing: a twister at a symmetric end point."""
    return bool(settings[0]["symmetric"] != 0 and q == joints.shape[0] - 1 and joints[q]["kind"] == TWISTER)


@kernel
def try_three(
    joints: Records,
    settings: Records,
    target: Quat,
    p: int,
    j: int,
    q: int,
    fixed: bool,
    limit: float,
    angles: Floats,
    work: Floats,
) -> float:
    """Set joints p < j < q of `angles` so that the end meets the target, or comes near; the error then.

    With `fixed` the angle of j stays and the end only comes near. Candidates whose posture alone costs `limit` or more
    are passed over; infinite where nothing is left.
    """
    count, free = joints.shape[0], free_end(joints, settings, q)
    others = cost_without(joints, settings, p, j, q, angles, work)
    if others >= limit:
        return math.inf
    pre = mul(product(joints, angles, 0, p), rest_of(joints, p))
    b = mul(product(joints, angles, p + 1, j), rest_of(joints, j))
    c = mul(product(joints, angles, j + 1, q), rest_of(joints, q))
    post = product(joints, angles, q + 1, count)
    rp, rj, rq = axis_of(joints, p), axis_of(joints, j), axis_of(joints, q)
    u, v = rotate_inverse(b, rp), rotate(c, rq)
    k0 = dot(u, rj) * dot(v, rj)
    k1, k2 = dot(u, v) - k0, dot(u, cross(rj, v))
    amp, middle = math.sqrt(k1 * k1 + k2 * k2), math.atan2(k2, k1)
    best, hint, old = limit, angles[p], angles[j]
    best_p, best_j, best_q = angles[p], angles[j], angles[q]
    for flip in range(2 if settings[0]["symmetric"] and not free else 1):
        t = mul(mul(conj(pre), mul(target, HALF_ROTATION) if flip else target), conj(post))
        requested = dot(rp, rotate(t, rq)) - k0
        away = math.acos(min(1.0, max(-1.0, requested / amp))) if amp > VAGUE and not fixed else 0.0
        for root in range(2 if away > 0.0 else 1):
            x = old
            if amp > VAGUE and not fixed:
                x = clamped(work[LOW, j], work[HIGH, j], middle + away if root else middle - away)
            shape = others + weighed(joints, settings, j, x, work)
            if shape >= best:
                continue
            f = bilinear(t, mul(mul(b, rotation_of(joints, j, x)), c), rp, rq)
            y, z, near = complete_two(f, work[LOW, p], work[HIGH, p], work[LOW, q], work[HIGH, q], free, hint)
            cost = shape + math.sqrt(max(0.0, 1.0 - near))
            cost += weighed(joints, settings, p, y, work) + weighed(joints, settings, q, z, work)
            if cost < best:
                best, best_p, best_j, best_q = cost, y, x, z
    angles[p], angles[j], angles[q] = best_p, best_j, best_q
    return best if best < limit else math.inf


@kernel
def weighed(joints: Records, settings: Records, k: int, angle: float, work: Floats) -> float:
    """Return the contribution of an angle of joint k to the error."""
    if joints[k]["weight"] == 0.0:
        return 0.0
    return float(settings[0]["posture"] * bend_error(joints, settings, work[POSTURE], work[SHAPE], k, angle))


@kernel
def cost_without(joints: Records, settings: Records, p: int, j: int, q: int, angles: Floats, work: Floats) -> float:
    """Return the contribution of all joints but these three to the error."""
    total = 0.0
    for k in range(joints.shape[0]):
        if k not in (p, j, q):
            total += weighed(joints, settings, k, angles[k], work)
    return total


@kernel
def refine(
    joints: Records,
    settings: Records,
    target: Quat,
    triples: Ints,
    t: int,
    fixed: bool,
    cost: float,
    step: float,
    least: float,
    angles: Floats,
    work: Floats,
) -> float:
    """Search for smaller errors by moving joints outside triple t and completing it again (pattern search); the error.

    With `fixed` only the first and the last of it are completed: for targets that cannot be met.
    """
    count, p, j, q = joints.shape[0], triples[t, 0], triples[t, 1], triples[t, 2]
    spare = work[SPARE]
    while step > least:
        better = False
        for move in range(2 * count):
            k = move // 2
            if k in (p, q) or (k == j and not fixed) or work[LOW, k] == work[HIGH, k]:
                continue
            copy(angles, spare, count)
            far = step if joints[k]["weight"] > 0.0 else FREELY * step
            spare[k] = min(work[HIGH, k], max(work[LOW, k], angles[k] + (far if move % 2 else -far)))
            if spare[k] == angles[k]:
                continue
            found = try_three(joints, settings, target, p, j, q, fixed, cost - LESS, spare, work)
            if found < cost - LESS:
                copy(spare, angles, count)
                cost, better = found, True
        if not better:
            step *= SHRINK
    return cost

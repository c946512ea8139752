"""Kernels that aim several tips of one skeleton: damped least squares on directions and positions (`aim`)."""

from __future__ import annotations

import math

import numpy as np

from ..compute import Status, batch, kernel, prange
from ..compute.extent import in_extent
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..compute.verdict import verdict
from ..math.linear import cholesky, cholesky_solve
from ..math.quaternion import axis_angle, conj, mul, rotate
from ..math.vector import add, angle, cross, dot, norm, scale, sub
from .kernels import chord_distance

ORIENTATION, DIRECTION, POINT = range(3)
UNREACHABLE, LIMITS, INVALID = int(Status.UNREACHABLE), int(Status.LIMITS), int(Status.INVALID)

LINK = np.dtype(
    [
        *(("parent", "i8"), ("value", "i8"), ("slides", "i8"), ("multiplier", "f8"), ("offset", "f8")),
        *(("at", "f8", 3), ("rest", "f8", 4), ("axis", "f8", 3)),
    ],
    align=True,
)
"""A rotation or slide. `parent` is the link that carries it (-1: the world); `at` [m] and `rest` are its frame in that
link's at rest, `axis` is in its own; it takes multiplier * value + offset [rad or m]."""

TIP = np.dtype(
    [
        *(
            ("link", "i8"),
            ("kind", "i8"),
            ("symmetric", "i8"),
            ("weight", "f8"),
            ("tolerance", "f8"),
            ("posture", "f8"),
        ),
        *(("at", "f8", 3), ("frame", "f8", 4), ("pointing", "f8", 3)),
    ],
    align=True,
)
"""An end point: `at` [m], `frame` and the axis `pointing` in the frame of the link that carries it; `weight` of its
error in the sum, `posture` the weight of its posture error in its error, `tolerance` the largest score that counts as
reached."""

BEND = np.dtype(
    [("tip", "i8"), ("value", "i8"), ("signed", "i8")]
    + [(name, "f8") for name in ("multiplier", "offset", "k0", "phi", "amp", "side", "weight")],
    align=True,
)
"""A bend of a tip's posture: the cosine between its segments is k0 + amp cos(angle - phi)."""

# Rows of a solve's scratch, each as wide as there are values; the normal matrix comes after them.
VALUES, TRIAL, FOUND, GRADIENT, STEP, LOW, HIGH, FREE, AGAIN, MATRIX = range(10)

SOFT = 1e-3  # weight of the posture's bends against the squares of the directions, while they count
ITERATIONS = 40  # of each descent: from a fair start ten are enough
AIMED = 1e-7  # score below which a tip aims as exactly as anybody can tell
RANDOM_STARTS = 32  # tried where no other start leads to the target
AT_LIMIT = 1e-9  # [rad or m]
DAMPING, MAX_DAMPING = 1e-3, 1e8
STILL = 1e-13  # change of a value [rad or m] below which a descent has ended
PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97.0])


@kernel
def vec_of(record: Records) -> Vec3:
    """Return three numbers of a record's field."""
    return (record[0], record[1], record[2])


@kernel
def quat_of(record: Records) -> Quat:
    """Return four numbers of a record's field."""
    return (record[0], record[1], record[2], record[3])


@kernel
def place_links(links: Records, values: Floats, frames: Floats) -> None:
    """Fill `frames` (L, 7) with the position [m] and orientation of every link (forward kinematics)."""
    for k in range(links.shape[0]):
        p, q = vec_of(links[k]["at"]), quat_of(links[k]["rest"])
        parent = links[k]["parent"]
        if parent >= 0:
            carrier = quat_of(frames[parent, 3:])
            p, q = add(vec_of(frames[parent]), rotate(carrier, p)), mul(carrier, q)
        axis, value = vec_of(links[k]["axis"]), links[k]["multiplier"] * values[links[k]["value"]] + links[k]["offset"]
        if links[k]["slides"]:
            p = add(p, scale(rotate(q, axis), value))
        else:
            q = mul(q, axis_angle(axis, value))
        for c in range(3):
            frames[k, c] = p[c]
        for c in range(4):
            frames[k, 3 + c] = q[c]


@kernel
def tip_position(tips: Records, t: int, frames: Floats) -> Vec3:
    """Return the position of a tip [m] in the world."""
    k = tips[t]["link"]
    return add(vec_of(frames[k]), rotate(quat_of(frames[k, 3:]), vec_of(tips[t]["at"])))


@kernel
def tip_orientation(tips: Records, t: int, frames: Floats, goal: Quat) -> Quat:
    """Return the orientation of a tip in the world, rolled by pi where it is symmetric and nearer to the goal so."""
    q = mul(quat_of(frames[tips[t]["link"], 3:]), quat_of(tips[t]["frame"]))
    if tips[t]["symmetric"]:
        # The pointing axis is that of the link's frame; half a rotation about it, before the tip's own frame.
        half = vec_of(tips[t]["pointing"])
        rolled = mul(
            mul(quat_of(frames[tips[t]["link"], 3:]), (0.0, half[0], half[1], half[2])), quat_of(tips[t]["frame"])
        )
        if chord_distance(goal, rolled) < chord_distance(goal, q):
            return rolled
    return q


@kernel
def tip_direction(tips: Records, t: int, frames: Floats) -> Vec3:
    """Return the pointing axis of a tip in the world."""
    return rotate(quat_of(frames[tips[t]["link"], 3:]), vec_of(tips[t]["pointing"]))


@kernel
def goal_direction(tips: Records, t: int, position: Vec3, goal: Floats) -> tuple[Vec3, float]:
    """Return (unit direction that the tip should point to, distance of the point [m]); zero where there is none."""
    u, far = vec_of(goal), math.inf
    if tips[t]["kind"] == POINT:
        u = sub(u, position)
        far = norm(u)
    length = norm(u)
    return (scale(u, 1.0 / length) if length > 0.0 else (0.0, 0.0, 0.0)), far


@kernel
def residual(tips: Records, t: int, frames: Floats, goal: Floats) -> Vec3:
    """Return how far a tip is from its goal: the difference of two directions, or twice a quaternion's vector."""
    if tips[t]["kind"] == ORIENTATION:
        target = quat_of(goal)
        off = mul(target, conj(tip_orientation(tips, t, frames, target)))
        sign = -2.0 if off[0] < 0.0 else 2.0
        return (sign * off[1], sign * off[2], sign * off[3])
    u, _ = goal_direction(tips, t, tip_position(tips, t, frames), goal)
    return sub(tip_direction(tips, t, frames), u)


@kernel
def score(tips: Records, t: int, frames: Floats, goal: Floats) -> float:
    """Return the paper's measure sqrt(2) sin(angle / 4) between a tip and its goal (Eq. 20)."""
    if tips[t]["kind"] == ORIENTATION:
        target = quat_of(goal)
        return chord_distance(target, tip_orientation(tips, t, frames, target))
    u, _ = goal_direction(tips, t, tip_position(tips, t, frames), goal)
    off = angle(tip_direction(tips, t, frames), u) if dot(u, u) > 0.0 else math.pi
    return math.sqrt(2.0) * math.sin(0.25 * off)


@kernel
def bend_of(bends: Records, b: int, values: Floats, posture: Floats) -> tuple[float, float]:
    """Return (difference of a bend from the posture's, its derivative by the value)."""
    a = bends[b]["multiplier"] * values[bends[b]["value"]] + bends[b]["offset"]
    if bends[b]["signed"]:
        half = 0.5 * (a - posture[b])
        return 2.0 * bends[b]["side"] * math.sin(half), bends[b]["side"] * math.cos(half) * bends[b]["multiplier"]
    amp, phi = bends[b]["amp"], bends[b]["phi"]
    return amp * (math.cos(a - phi) - math.cos(posture[b] - phi)), -amp * math.sin(a - phi) * bends[b]["multiplier"]


@kernel
def cost(
    links: Records,
    tips: Records,
    bends: Records,
    values: Floats,
    goals: Floats,
    posture: Floats,
    soft: float,
    frames: Floats,
) -> float:
    """Return the sum of squares that a descent makes smaller."""
    place_links(links, values, frames)
    total = 0.0
    for t in range(tips.shape[0]):
        f = residual(tips, t, frames, goals[t])
        total += tips[t]["weight"] * dot(f, f)
    for b in range(bends.shape[0]):
        r, _ = bend_of(bends, b, values, posture)
        total += soft * bends[b]["weight"] * r * r
    return total


@kernel
def normal_equations(
    links: Records,
    tips: Records,
    bends: Records,
    goals: Floats,
    posture: Floats,
    soft: float,
    frames: Floats,
    jacobian: Floats,
    work: Floats,
) -> None:
    """Fill the gradient and the normal matrix of `cost` (half of its derivatives) at the values in `work`."""
    count = work.shape[1]
    for a in range(count):
        work[GRADIENT, a] = 0.0
        for b in range(a, count):
            work[MATRIX + a, b] = 0.0
    for t in range(tips.shape[0]):
        for a in range(count):
            for c in range(3):
                jacobian[c, a] = 0.0
        f, p, d = residual(tips, t, frames, goals[t]), tip_position(tips, t, frames), tip_direction(tips, t, frames)
        u, far = goal_direction(tips, t, p, goals[t])
        off = (1.0, 0.0, 0.0, 0.0)
        if tips[t]["kind"] == ORIENTATION:
            target = quat_of(goals[t])
            off = mul(target, conj(tip_orientation(tips, t, frames, target)))
            if off[0] < 0.0:
                off = (-off[0], -off[1], -off[2], -off[3])
        k = tips[t]["link"]
        while k >= 0:
            axis = rotate(quat_of(frames[k, 3:]), vec_of(links[k]["axis"]))
            rotating = (0.0, 0.0, 0.0) if links[k]["slides"] else axis
            moving = axis if links[k]["slides"] else cross(axis, sub(p, vec_of(frames[k])))
            if tips[t]["kind"] == ORIENTATION:
                v = (off[1], off[2], off[3])
                column = scale(add(scale(rotating, off[0]), cross(v, rotating)), -1.0)
            else:
                column = cross(rotating, d)
                if tips[t]["kind"] == POINT and far > 0.0:
                    across = sub(moving, scale(u, dot(u, moving)))
                    column = add(column, scale(across, 1.0 / far))
            for c in range(3):
                jacobian[c, links[k]["value"]] += links[k]["multiplier"] * column[c]
            k = links[k]["parent"]
        weight = tips[t]["weight"]
        for a in range(count):
            x, y, z = weight * jacobian[0, a], weight * jacobian[1, a], weight * jacobian[2, a]
            if x != 0.0 or y != 0.0 or z != 0.0:
                work[GRADIENT, a] += x * f[0] + y * f[1] + z * f[2]
                for b in range(count):
                    if b >= a:
                        work[MATRIX + a, b] += x * jacobian[0, b] + y * jacobian[1, b] + z * jacobian[2, b]
    for b in range(bends.shape[0]):
        a = bends[b]["value"]
        r, slope = bend_of(bends, b, work[VALUES], posture)
        work[GRADIENT, a] += soft * bends[b]["weight"] * slope * r
        work[MATRIX + a, a] += soft * bends[b]["weight"] * slope * slope


@kernel
def step_into(work: Floats, damping: float) -> float:
    """Fill TRIAL with a damped step from VALUES inside the limits; return its largest change, 0 where there is none.

    Values at a limit that the gradient pushes outwards stay there (an active set).
    """
    count, free = work.shape[1], 0
    for a in range(count):
        at_limit = (work[VALUES, a] <= work[LOW, a] and work[GRADIENT, a] > 0.0) or (
            work[VALUES, a] >= work[HIGH, a] and work[GRADIENT, a] < 0.0
        )
        work[TRIAL, a] = work[VALUES, a]
        if not at_limit and work[HIGH, a] > work[LOW, a]:
            work[FREE, free] = a
            free += 1
    factor = work[MATRIX + count :]
    for i in range(free):
        a = int(work[FREE, i])
        work[STEP, i] = work[GRADIENT, a]
        for j in range(i, free):
            b = int(work[FREE, j])
            factor[i, j] = work[MATRIX + a, b] if a <= b else work[MATRIX + b, a]
        factor[i, i] += damping * (factor[i, i] + 1e-3) + 1e-15
    if free == 0 or not cholesky(factor, free):
        return 0.0
    cholesky_solve(factor, free, work[STEP])
    largest = 0.0
    for i in range(free):
        a = int(work[FREE, i])
        work[TRIAL, a] = min(work[HIGH, a], max(work[LOW, a], work[VALUES, a] - work[STEP, i]))
        largest = max(largest, abs(work[TRIAL, a] - work[VALUES, a]))
    return largest


@kernel
def descend(
    links: Records,
    tips: Records,
    bends: Records,
    goals: Floats,
    posture: Floats,
    soft: float,
    frames: Floats,
    jacobian: Floats,
    work: Floats,
) -> None:
    """Move VALUES to a minimum of `cost` inside LOW and HIGH (Levenberg-Marquardt)."""
    damping, count = DAMPING, work.shape[1]
    here, fresh = cost(links, tips, bends, work[VALUES], goals, posture, soft, frames), False
    for _ in range(ITERATIONS):
        if not fresh:
            place_links(links, work[VALUES], frames)
            normal_equations(links, tips, bends, goals, posture, soft, frames, jacobian, work)
            fresh = True
        if step_into(work, damping) < STILL:
            break
        there = cost(links, tips, bends, work[TRIAL], goals, posture, soft, frames)
        if there < here:
            for a in range(count):
                work[VALUES, a] = work[TRIAL, a]
            here, fresh, damping = there, False, max(0.1 * damping, 1e-12)
        else:
            damping *= 10.0
            if damping > MAX_DAMPING:
                break


@kernel
def evaluate_aim(
    links: Records,
    tips: Records,
    bends: Records,
    goals: Floats,
    posture: Floats,
    frames: Floats,
    work: Floats,
    report: Records,
) -> tuple[float, float]:
    """Fill the errors of every tip with VALUES; return (their weighted sum, the largest orientation score)."""
    place_links(links, work[VALUES], frames)
    total, worst = 0.0, 0.0
    for t in range(tips.shape[0]):
        off, shape = score(tips, t, frames, goals[t]), 0.0
        for b in range(bends.shape[0]):
            if bends[b]["tip"] == t:
                r, _ = bend_of(bends, b, work[VALUES], posture)
                shape += 0.5 * bends[b]["weight"] * abs(r)
        report[t]["orientation"], report[t]["posture"] = off, shape
        report[t]["error"] = off + tips[t]["posture"] * shape
        total += tips[t]["weight"] * report[t]["error"]
        worst = max(worst, off)
    return total, worst


@kernel
def radical_inverse(index: int, base: int) -> float:
    """Return a number of the Halton sequence, from 0 to 1."""
    fraction, found = 1.0, 0.0
    while index > 0:
        fraction /= base
        found += fraction * (index % base)
        index //= base
    return found


@kernel
def is_aim(tips: Records, goals: Floats, posture: Floats) -> bool:
    """Return whether goals and postures are finite, points in the extent, directions and orientations not zero."""
    for t in range(tips.shape[0]):
        largest = 0.0
        for c in range(4 if tips[t]["kind"] == ORIENTATION else 3):
            if not math.isfinite(goals[t, c]) or (tips[t]["kind"] == POINT and not in_extent(goals[t, c])):
                return False
            largest = max(largest, abs(goals[t, c]))
        if largest == 0.0 and tips[t]["kind"] != POINT:
            return False
    largest = 0.0
    for b in range(posture.shape[0]):
        largest += abs(posture[b])
    return math.isfinite(largest)


@kernel
def start_into(
    s: int,
    near: int,
    starts: Floats,
    past: Floats,
    max_step: float,
    lower: Floats,
    upper: Floats,
    fixed: Ints,
    primes: Floats,
    work: Floats,
) -> None:
    """Fill VALUES with start s, and LOW and HIGH with where it may go: around the past first, where there is one.

    Then the given starts, then those of a Halton sequence; every other one of these only for values that move a tip
    which the best so far does not aim (AGAIN). Fixed values have those of the first start.
    """
    for a in range(work.shape[1]):
        work[LOW, a], work[HIGH, a] = lower[a], upper[a]
        if s < near:
            work[LOW, a] = min(max(lower[a], past[a] - max_step), upper[a])
            work[HIGH, a] = max(min(upper[a], past[a] + max_step), lower[a])
            work[VALUES, a] = past[a]
        elif s < near + starts.shape[0]:
            work[VALUES, a] = starts[s - near, a]
        else:
            low, high = lower[a], upper[a]
            if math.isinf(low):  # a value without an end: one turn of it, about zero where it has neither end
                low = -math.pi if math.isinf(high) else high - 2.0 * math.pi
            if math.isinf(high):
                high = low + 2.0 * math.pi
            at = radical_inverse(s - near - starts.shape[0] + 1, int(primes[a % primes.shape[0]]))
            work[VALUES, a] = low + (high - low) * at
            if (s - near - starts.shape[0]) % 2 == 0 and work[AGAIN, a] == 0.0:
                work[VALUES, a] = work[FOUND, a]
        if fixed[a]:
            work[VALUES, a] = work[LOW, a] = work[HIGH, a] = starts[0, a]
        work[VALUES, a] = min(work[HIGH, a], max(work[LOW, a], work[VALUES, a]))


@kernel
def mark_again(links: Records, tips: Records, report: Records, work: Floats) -> None:
    """Fill AGAIN with 1 for values that move a tip outside its tolerance, 0 for the others."""
    for a in range(work.shape[1]):
        work[AGAIN, a] = 0.0
    for t in range(tips.shape[0]):
        k = tips[t]["link"] if report[t]["orientation"] > tips[t]["tolerance"] else -1
        while k >= 0:
            work[AGAIN, links[k]["value"]] = 1.0
            k = links[k]["parent"]


@kernel
def aim_row(
    i: int,
    links: Records,
    tips: Records,
    bends: Records,
    lower: Floats,
    upper: Floats,
    fixed: Ints,
    primes: Floats,
    gain: float,
    max_step: float,
    goals: Floats,
    postures: Floats,
    starts: Floats,
    past: Floats,
    values: Floats,
    report: Records,
    frames: Floats,
    jacobian: Floats,
    work: Floats,
) -> None:
    """Solve row i: tips (T) aim at `goals` (n, T, 4) from `starts` (n, S, V), after the values `past` (NaN: none)."""
    count, near = work.shape[1], 0 if math.isnan(past[0]) else 1
    if not is_aim(tips, goals[i], postures[i]):
        for a in range(count):
            values[i, a] = past[a] if near else starts[i, 0, a]
        for t in range(tips.shape[0]):
            report[i, t]["error"] = report[i, t]["orientation"] = report[i, t]["posture"] = math.inf
            report[i, t]["status"] = INVALID
        return
    best, best_off, last, tried, aims = math.inf, math.inf, near + starts.shape[1] - 1, 0, False
    for s in range(last + 1 + RANDOM_STARTS):
        start_into(s, near, starts[i], past, max_step, lower, upper, fixed, primes, work)
        following, tried = False, s + 1
        for soft in (0.0, SOFT, 0.0):
            descend(links, tips, bends, goals[i], postures[i], soft, frames, jacobian, work)
            if soft > 0.0:
                continue
            error, off = evaluate_aim(links, tips, bends, goals[i], postures[i], frames, work, report[i])
            close = True
            for t in range(tips.shape[0]):
                close = close and report[i, t]["orientation"] <= tips[t]["tolerance"]
            if s < near:
                following = following or close
                error -= gain  # another branch must be clearly better
            # No posture is worth a target that can be met; but a track leaves its branch only for a smaller error.
            if (close and not aims and near == 0) or (error < best and (close or not aims or near == 1)):
                best, best_off, aims = error, off, close
                for a in range(count):
                    work[FOUND, a] = work[VALUES, a]
                mark_again(links, tips, report[i], work)
        if following or (s >= last and best_off <= AIMED):
            break
    for a in range(count):
        values[i, a] = work[VALUES, a] = work[FOUND, a]
    evaluate_aim(links, tips, bends, goals[i], postures[i], frames, work, report[i])
    for t in range(tips.shape[0]):
        cause, k = UNREACHABLE, tips[t]["link"]
        while k >= 0:
            a = links[k]["value"]
            if values[i, a] <= lower[a] + AT_LIMIT or values[i, a] >= upper[a] - AT_LIMIT:
                cause = LIMITS
            k = links[k]["parent"]
        report[i, t]["iterations"] = tried
        report[i, t]["status"] = verdict(cause, 0.0, 0.0, report[i, t]["orientation"], tips[t]["tolerance"], 0.0)


@batch(rows=64, scratch=("frames", "jacobian", "work"))
def aim_rows(
    n: int,
    length: int,
    links: Records,
    tips: Records,
    bends: Records,
    lower: Floats,
    upper: Floats,
    fixed: Ints,
    primes: Floats,
    gain: float,
    max_step: float,
    goals: Floats,
    postures: Floats,
    starts: Floats,
    before: Floats,
    values: Floats,
    report: Records,
    frames: Floats,
    jacobian: Floats,
    work: Floats,
) -> None:
    """Solve n tracks of `length` rows: each row continues from the one before, the first from `before` (n, V)."""
    for i in prange(n):
        for row in range(i * length, (i + 1) * length):
            past = before[i] if row == i * length else values[row - 1]
            aim_row(
                row,
                links,
                tips,
                bends,
                lower,
                upper,
                fixed,
                primes,
                gain,
                max_step,
                goals,
                postures,
                starts,
                past,
                values,
                report,
                frames[i],
                jacobian[i],
                work[i],
            )

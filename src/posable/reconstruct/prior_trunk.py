"""The trunk as a learned prior has it, in compiled code, and what it says of the limbs.

The spine is turned as the network says, then its segments towards their chord or away from it until hips and head are
as far apart as their points, then the whole by the smallest rotation (specification reconstruct, 7.1). Limits, what is
known besides and the clavicles follow as without a prior.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..math.quaternion import axis_angle, between, exp, log, mul, rotate, slerp
from ..math.vector import add, cross, dot, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, set_quat, vec_at
from .model import Trunk
from .packed import HEAD, HIPS, LEFT_FOOT, LEFT_HAND, Rows
from .prior_kernels import CHAIN, Network, evaluate, recall_past, said, write_features
from .spine import about_y, bend_to, finish_trunk, hold_spine, knows, place_spine, vec_at_row
from .untracked import set_vec

# Chosen on the clips that docs/reconstruct.md measures, since there are no others: SETTLED, FIRST, MOST_TILT.
SETTLE = 4  # passes at most in a frame that has none before it
SETTLED = 0.01  # [rad]: a pass that turns the pelvis by less is the last one
FIRST, FURTHEST = 1.24, 4.0  # how many times as far as a pass says the pelvis turns: after the first one; at most
SEARCHES, EXACT, MET = 32, 1e-12, 1e-9  # steps for the spine's length; [m]
MOST_BENT = 16.0  # the square of how many times as much as the network says, at most, a spine is bent
NEARLY_TAUT = 0.998  # of the longest chord
TILTS, MOST_TILT = 24, 0.3  # of the pelvis, towards feet that are out of reach: steps; [rad]
AXES, MIDS, BENDS, ENDS = 0, 6, 18, 36  # in what the network says
ROTATED = 6  # joints of the spine above the hips that it knows


@kernel
def learned(net: Network, i: int, rows: Rows) -> bool:
    """Whether the network can be asked: there is one, and six points are given, bridged or estimated."""
    if net.sizes.shape[0] == 0:
        return False
    known = 0
    for k in range(LEFT_HAND + 4):
        known += int(math.isfinite(rows.goals[i, k, 0]))
    return known == LEFT_HAND + 4


@kernel
def no_guess(i: int, rows: Rows) -> None:
    """Row i has no guesses."""
    for limb in range(4 if rows.guess.shape[0] > 0 else 0):
        rows.guess[i, limb, 0] = math.nan


@kernel
def predict_trunk(
    i: int, t: int, net: Network, trunk: Trunk, memory: Floats, before: Vec3, x: Vec3, y: Vec3, rows: Rows
) -> tuple[Vec3, Vec3]:
    """(where the hips go, X of the pelvis): trunk into `rows.trunk`, the rest into `rows.guess`.

    `x` and `y` are what plain Sequential IK says of the pelvis; a frame that has none before it starts from there.
    """
    work = rows.work[t]
    still = not recall_past(i, t, memory, rows, work)
    passes = SETTLE
    if norm(before) > 0.5 and norm(reject(before, y)) > 1e-6:
        x, passes = unit(reject(before, y)), 1
    if knows(i, rows, HIPS):
        x, passes = rotate(quat_at(rows.target_orientations, i, HIPS), (1.0, 0.0, 0.0)), 1
    rotated, step = 0.0, 0.0
    for k in range(passes):
        x = unit(reject(x, y))
        write_features(net, x, y, work)
        evaluate(net, still, work)
        orient_trunk(i, net, trunk, rows, x, y, work)
        side = rotate(quat_at(rows.trunk, i, 0), (1.0, 0.0, 0.0))
        rotation = math.atan2(dot(cross(x, side), y), dot(x, side))
        if k + 1 == passes or abs(rotation) < SETTLED:
            break
        step = rotation * (FIRST if k == 0 else further(step, rotated - rotation))
        x, rotated = rotate(axis_angle(y, step), x), rotation
    guess_limbs(i, net, rows, x, y, work)
    if not knows(i, rows, HIPS):
        tilt_to_feet(i, trunk, rows)
    return settle_trunk(i, trunk, rows)


@kernel
def tilt_to_feet(i: int, trunk: Trunk, rows: Rows) -> None:
    """Tilt the pelvis, as little as needed and not far, towards feet that are out of reach, as people do.

    The network guesses how the pelvis is turned; whether a leg reaches its foot is sure. The spine follows in
    `settle_trunk`.
    """
    hips, pelvis, tilt = vec_at(rows.goals, i, HIPS), quat_at(rows.trunk, i, 0), (1.0, 0.0, 0.0, 0.0)
    for _ in range(TILTS):
        displacement, total = (0.0, 0.0, 0.0), 0.0
        for k in range(2):
            foot = sub(vec_at(rows.goals, i, LEFT_FOOT + k), hips)
            base = rotate(mul(tilt, pelvis), (trunk.legs[k, 0], trunk.legs[k, 1], trunk.legs[k, 2]))
            size, axis = norm(foot) * norm(base), cross(base, foot)
            needed = 0.5 * (dot(foot, foot) + dot(base, base) - trunk.legs[k, 3] * trunk.legs[k, 3])
            if needed > dot(base, foot) and norm(axis) > 1e-9 * size:
                angle = math.atan2(norm(axis), dot(base, foot)) - math.acos(min(needed / size, 1.0))
                displacement, total = add(displacement, scale(unit(axis), angle * angle)), total + angle
        if total < 1e-12:
            break
        # Neither side comes first, and one that wants nothing counts for nothing.
        tilt = mul(exp(scale(displacement, 1.0 / total)), tilt)
    displacement = log(tilt)
    if norm(displacement) > 0.0:
        set_quat(rows.trunk, i, 0, mul(exp(scale(displacement, min(1.0, MOST_TILT / norm(displacement)))), pelvis))


@kernel
def further(step: float, gained: float) -> float:
    """How many times as far as a pass says the pelvis has to turn in all, where a step [rad] made it say less by
    `gained`: the secant of what it says, along which it would say nothing more.
    """
    if step * gained <= 0.0:
        return 1.0
    return min(step / gained, FURTHEST)


@kernel
def in_frame(x: Vec3, y: Vec3, v: Vec3) -> Vec3:
    """A vector of the frame (x, y), in the world."""
    z = cross(x, y)
    return (
        x[0] * v[0] + y[0] * v[1] + z[0] * v[2],
        x[1] * v[0] + y[1] * v[1] + z[1] * v[2],
        x[2] * v[0] + y[2] * v[1] + z[2] * v[2],
    )


@kernel
def orient_trunk(i: int, net: Network, trunk: Trunk, rows: Rows, x: Vec3, y: Vec3, work: Floats) -> None:
    """Pelvis and spine as the network says, turned by the smallest rotation so that the head lies where it should.

    The nearer hips and head are to as far apart as they can be, the more the spine is as stretched as it can be.
    """
    out, count = rows.trunk, trunk.offsets.shape[0]
    side = unit(said(work, AXES))
    up = unit(reject(said(work, AXES + 3), side))
    if norm(side) < 0.5 or norm(up) < 0.5:
        side, up = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    left, upwards = in_frame(x, y, side), in_frame(x, y, up)
    estimate = mul(between((0.0, 1.0, 0.0), upwards), about_y(left, upwards))
    chain_bends(work)
    length = min(norm(sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS))), trunk.numbers[4])
    slack = (trunk.numbers[4] - length) / ((1.0 - NEARLY_TAUT) * trunk.numbers[4])
    taut = 1.0 - math.sqrt(max(slack, 0.0))  # chords shorten by the squares of angles
    for k in range(count):
        low, high = int(net.spine[k, 0]), int(net.spine[k, 1])
        below = bend_of(work, low)
        if net.spine[k, 2] > 0.0:
            below = slerp(below, bend_of(work, high), net.spine[k, 2])
        if taut > 0.0 and k > 0:
            below = slerp(below, (net.spine[k, 3], net.spine[k, 4], net.spine[k, 5], net.spine[k, 6]), taut)
        set_quat(out, i, k, below)
    chord = fit_length(i, trunk, rows, length)
    pelvis = mul(between(rotate(estimate, chord), y), estimate)
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
    for k in range(count):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))


@kernel
def fit_length(i: int, trunk: Trunk, rows: Rows, length: float) -> Vec3:
    """The chord of a spine in the pelvis' frame once it is as long as asked for: its segments turned towards its chord,
    or away from it, each by the same share s of its angle, -3 to 1.

    The length falls nearly evenly with u = (1 - s)^2, so Newton's method in that finds it within a few steps.
    """
    out, last = rows.trunk, trunk.offsets.shape[0] - 1
    chord, change, above = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for k in range(last):
        chord = add(chord, rotate(quat_at(out, i, k), vec_at_row(trunk.offsets, k + 1)))
    for k in range(1, last):
        step = rotate(quat_at(out, i, k), vec_at_row(trunk.offsets, k + 1))
        displacement = displacement_between(step, chord)
        set_vec(rows.spine, i, k, displacement)
        change, above = add(change, cross(displacement, step)), above + norm(step)
    value, u, low, high = norm(chord) - length, 1.0, 1.0, math.inf
    if value < 0.0:
        first = rotate(quat_at(out, i, 0), vec_at_row(trunk.offsets, 1))
        if norm(add(first, scale(unit(chord), above))) <= length:
            return straighten(i, trunk, rows, first, above, chord, length)
        low, high = 0.0, 1.0
    for _ in range(SEARCHES):
        if abs(value) < EXACT:
            break
        if value > 0.0:
            low = u
        else:
            high = u
        if low >= MOST_BENT:
            break
        newton = u + value * 2.0 * math.sqrt(u) * norm(chord) / dot(chord, change)
        if low < newton < min(high, MOST_BENT):
            u = newton
        else:
            u = MOST_BENT if high > MOST_BENT else 0.5 * (low + high)
        chord, change = chord_when(i, trunk, rows, 1.0 - math.sqrt(u))
        value = norm(chord) - length
    rotation = (1.0, 0.0, 0.0, 0.0)
    for k in range(1, last + 1):
        if k < last:
            rotation = exp(scale(vec_at(rows.spine, i, k), 1.0 - math.sqrt(u)))
        set_quat(out, i, k, mul(rotation, quat_at(out, i, k)))
    return chord


@kernel
def displacement_between(a: Vec3, b: Vec3) -> Vec3:
    """The rotation vector of the smallest rotation that turns the direction of a into that of b."""
    axis, cosine = cross(a, b), dot(a, b)
    sine = norm(axis)
    if sine <= 1e-6 * abs(cosine):  # the cross product has lost its digits, or a half turn has no axis
        return log(between(a, b))
    return scale(axis, math.atan2(sine, cosine) / sine)


@kernel
def chord_when(i: int, trunk: Trunk, rows: Rows, fraction: float) -> tuple[Vec3, Vec3]:
    """(from hips to head when the segments above the first are turned by a share of the ways in `rows.spine`, how that
    changes with the share).
    """
    chord, change = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(trunk.offsets.shape[0] - 1):
        step = rotate(quat_at(rows.trunk, i, k), vec_at_row(trunk.offsets, k + 1))
        if k > 0:
            displacement = vec_at(rows.spine, i, k)  # perpendicular to the step
            angle = norm(displacement)
            sine = math.sin(fraction * angle) / angle if angle > 0.0 else fraction
            step = add(scale(step, math.cos(fraction * angle)), scale(cross(displacement, step), sine))
            change = add(change, cross(displacement, step))
        chord = add(chord, step)
    return chord, change


@kernel
def straighten(i: int, trunk: Trunk, rows: Rows, first: Vec3, above: float, chord: Vec3, length: float) -> Vec3:
    """The chord of a spine that is straight above its first segment, which is rigid with the pelvis, and bent there as
    little as needed to be as long as asked for.
    """
    size = norm(first)
    along = unit(chord)
    if size > 1e-9:
        cosine = (length * length - size * size - above * above) / (2.0 * size * above)
        cosine = min(max(cosine, -1.0), 1.0)
        axis = scale(first, 1.0 / size)
        along = add(scale(axis, cosine), scale(unit(reject(along, axis)), math.sqrt(1.0 - cosine * cosine)))
    rotation, last = (1.0, 0.0, 0.0, 0.0), trunk.offsets.shape[0] - 1
    for k in range(1, last + 1):
        now = quat_at(rows.trunk, i, k)
        if k < last:
            rotation = between(rotate(now, vec_at_row(trunk.offsets, k + 1)), along)
        set_quat(rows.trunk, i, k, mul(rotation, now))
    return add(first, scale(along, above))


@kernel
def chain_bends(work: Floats) -> None:
    """How the joints of the network's spine are turned in the pelvis' frame, from the hips up."""
    q = (1.0, 0.0, 0.0, 0.0)
    for k in range(ROTATED + 1):
        if k > 0:
            q = mul(q, exp(said(work, BENDS + 3 * (k - 1))))
        for c in range(4):
            work[CHAIN + 4 * k + c] = q[c]


@kernel
def bend_of(work: Floats, joint: int) -> Quat:
    """One of them; 0 is the hips."""
    at = CHAIN + 4 * joint
    return (work[at], work[at + 1], work[at + 2], work[at + 3])


@kernel
def settle_trunk(i: int, trunk: Trunk, rows: Rows) -> tuple[Vec3, Vec3]:
    """(where the hips go, X of the pelvis): the trunk inside its limits, head and hips on their points, what is known
    of pelvis, chest and head besides, clavicles.

    Where limits have bent the spine, it is bent to the head again, unless that is too far: what is missing is shared.
    """
    position, head, last = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD), trunk.offsets.shape[0] - 1
    hold_spine(i, trunk, rows)
    if not knows(i, rows, HIPS):
        miss = norm(sub(head, place_spine(i, trunk, rows, position)))
        if miss > MET and norm(sub(head, position)) < trunk.numbers[4]:
            bend_to(i, trunk, rows, position, 0, last, True, head)
        position = add(position, scale(sub(head, vec_at(rows.spine, i, last)), 0.5))
    position = finish_trunk(i, trunk, rows, position)
    return position, rotate(quat_at(rows.trunk, i, 0), (1.0, 0.0, 0.0))


@kernel
def guess_limbs(i: int, net: Network, rows: Rows, x: Vec3, y: Vec3, work: Floats) -> None:
    """Where elbows and knees should be, and how hands and feet are turned, into `rows.guess`."""
    hips = vec_at(rows.goals, i, HIPS)
    for limb in range(4):
        mid = add(hips, scale(in_frame(x, y, said(work, MIDS + 3 * limb)), net.body[0]))
        rotation = exp(said(work, ENDS + 3 * limb))
        for c in range(3):
            rows.guess[i, limb, c] = mid[c]
        for c in range(4):
            rows.guess[i, limb, 3 + c] = rotation[c]

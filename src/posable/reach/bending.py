"""Kernels that bend the body: from a target to a posture and its weight, and to joints inside their limits."""

from __future__ import annotations

import math
from typing import Any

from ..body.limb.kernels import frame_of
from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..limits.kernels import allowed, clamp_from
from ..math.quaternion import between, conj, mul, rotate, rotate_inverse, slerp, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import forward_row, quat_at, set_quat, vec_at
from .interpolation import key_weights
from .interpolation import locate as place_in_field
from .interpolation import mean_rotation as blended
from .model import Figure, Legs, Rows, Styles
from .posture import facing

LOOK_BACK = math.radians(100.0)  # beyond this angle the head gives up looking, little by little
NECK = 0.4  # the neck's share of a look, the head does the rest


@kernel
def adjusted(u: float, x: float) -> float:
    """A weight lowered (x below 0, at -1 to nothing) or raised (x above 0, at 1 to 1)."""
    return u * (1.0 + x) if x <= 0.0 else u + (1.0 - u) * x


@kernel
def wanted_weight(i: int, side: int, legs: Legs, styles: Styles, rows: Rows) -> float:
    """The weight that a hand's target asks for; how much each key counts there, and the arm's search, are filled in.

    Seen from the shoulder of the starting pose, not of the bent one, which would define itself.
    """
    model = legs.arms[side]
    shoulder = vec_at(rows.positions[0], i, model["base"])
    frame = frame_of(model, rows.orientations[0], i)
    target = rotate_inverse(frame, sub(vec_at(rows.goals, side, i), shoulder))
    at, u = place_in_field(styles.header[side], target, arm_length(i, side, legs, rows))
    keys, triangles = styles.counts[side, 0], styles.counts[side, 1]
    weights = rows.weights[side, :, :keys]
    key_weights(
        i,
        styles.header[side],
        styles.keys[side, :keys],
        styles.triangles[side, :triangles],
        styles.rows[side, :triangles],
        styles.spline[side, :keys],
        at,
        weights,
    )
    for k in range(5):
        rows.searches[side, i, k] = mean(i, weights, styles.numbers[side], 3 + k)
    return u


@kernel
def arm_length(i: int, side: int, legs: Legs, rows: Rows) -> float:
    """Upper and lower arm [m], as long as they are in this pose where poses move joints."""
    model = legs.arms[side]
    if rows.offsets.shape[0] == 0:
        return float(model["upper"] + model["lower"])
    mid = vec_at(rows.positions[0], i, model["mid"])
    upper = norm(sub(mid, vec_at(rows.positions[0], i, model["base"])))
    return upper + norm(sub(mid, vec_at(rows.positions[0], i, model["end"])))


@kernel
def mean(i: int, weights: Floats, numbers: Floats, column: int) -> float:
    """The mean of one column of the keys' numbers (K, M)."""
    total = 0.0
    for k in range(weights.shape[1]):
        total += weights[i, k] * numbers[k, column]
    return total


@kernel
def gather(i: int, options: Any, figure: Figure, styles: Styles, rows: Rows, u: tuple[float, float]) -> None:
    """Where each driven joint turns to and with which weight; what both hands drive they share.

    Two-Arms Control: (h uR pR + (1 - h) uL pL) / (h uR + (1 - h) uL) with the larger weight of the two.
    """
    h = options["handedness"]
    a, b = h * u[0], (1.0 - h) * u[1]
    if a + b == 0.0:
        a, b = u
    for d in range(figure.drive.shape[0]):
        mine, theirs = a if styles.owned[0, d] else 0.0, b if styles.owned[1, d] else 0.0
        rows.shares[i, d] = max(u[0] if styles.owned[0, d] else 0.0, u[1] if styles.owned[1, d] else 0.0)
        q = _weighed(i, 0, styles, rows, d, mine)
        p = _weighed(i, 1, styles, rows, d, theirs)
        q = unit_quat((q[0] + p[0], q[1] + p[1], q[2] + p[2], q[3] + p[3]))
        if figure.drive[d]["above"] < 0:
            q = _hips_goal(i, options, figure, rows, q)
        set_quat(rows.turns, i, d, q)
    whole = a + b if a + b > 0.0 else 1.0
    one, other = _shift(i, 0, styles, rows, a / whole), _shift(i, 1, styles, rows, b / whole)
    shift = rotate(_facing(i, options, rows), (one[0] + other[0], one[1] + other[1], one[2] + other[2]))
    for k in range(3):
        rows.shift[i, k] = shift[k]
    rows.shift[i, 3] = max(u[0], u[1])


@kernel
def _weighed(i: int, side: int, styles: Styles, rows: Rows, d: int, share: float) -> Quat:
    """What one hand's behaviour says of a joint, times its share."""
    if share == 0.0:
        return (0.0, 0.0, 0.0, 0.0)
    q = blended(i, rows.weights[side, :, : styles.counts[side, 0]], styles.turns[side], d)
    return (share * q[0], share * q[1], share * q[2], share * q[3])


@kernel
def _shift(i: int, side: int, styles: Styles, rows: Rows, share: float) -> Vec3:
    """And of the hips' shift [m]."""
    if share == 0.0:
        return (0.0, 0.0, 0.0)
    weights, numbers = rows.weights[side, :, : styles.counts[side, 0]], styles.numbers[side]
    return (
        share * mean(i, weights, numbers, 0),
        share * mean(i, weights, numbers, 1),
        share * mean(i, weights, numbers, 2),
    )


@kernel
def _facing(i: int, options: Any, rows: Rows) -> Quat:
    """Which way the body faces at the start."""
    h = (options["hw"], options["hx"], options["hy"], options["hz"])
    return facing(mul(quat_at(rows.orientations[0], i, options["hips"]), conj(h)))


@kernel
def _hips_goal(i: int, options: Any, figure: Figure, rows: Rows, canonical: Quat) -> Quat:
    """The local rotation of the hips' joint for a canonical one that is seen from the way the body faces."""
    joint = options["hips"]
    h = (options["hw"], options["hx"], options["hy"], options["hz"])
    world = mul(mul(_facing(i, options, rows), canonical), h)
    parent = figure.joints[joint]["parent"]
    if parent < 0:
        return world
    return mul(conj(quat_at(rows.orientations[0], i, parent)), world)


@kernel
def bend(i: int, figure: Figure, rows: Rows, x: float) -> None:
    """The body at adjustment x: the root moved, the driven joints turned inside their limits, forward kinematics.

    A joint that starts outside its limit may stay or come back, never go further out.
    """
    joints = figure.joints
    u = adjusted(rows.shift[i, 3], x)
    for k in range(3):
        rows.translation[1, i, k] = rows.translation[0, i, k] + u * rows.shift[i, k]
    start, rotations, orientations = rows.rotations[0], rows.rotations[1], rows.orientations[1]
    for j in range(joints.shape[0]):
        local = quat_at(start, i, j)
        d, parent = figure.slots[j], joints[j]["parent"]
        share = adjusted(rows.shares[i, d], x) if d >= 0 else 0.0
        if share > 0.0:
            local = slerp(local, quat_at(rows.turns, i, d), share)
        above = quat_at(orientations, i, parent) if parent >= 0 else (1.0, 0.0, 0.0, 0.0)
        world = mul(above, local)
        if share > 0.0 and figure.drive[d]["limit"] >= 0:
            held, changed = inside_limit(i, figure, rows, d, world)
            if changed:
                world, local = held, unit_quat(mul(conj(above), held))
        set_quat(rotations, i, j, local)
        set_quat(orientations, i, j, world)
    forward_row(i, joints, rows.translation[1], rotations, rows.offsets, rows.positions[1], orientations)


@kernel
def inside_limit(i: int, figure: Figure, rows: Rows, d: int, world: Quat) -> tuple[Quat, bool]:
    """(a driven joint's orientation in the world, inside its limit, whether it had to be brought there)."""
    row = figure.drive[d]
    n, a = (row["nw"], row["nx"], row["ny"], row["nz"]), (row["aw"], row["ax"], row["ay"], row["az"])
    limit, joint = figure.limits[row["limit"]], row["above"]
    above = mul(quat_at(rows.orientations[1], i, joint), conj(a))
    q = mul(conj(above), mul(world, conj(n)))
    if allowed(limit, figure.curves, q):
        return world, False
    before = mul(quat_at(rows.orientations[0], i, joint), conj(a))
    start = mul(conj(before), mul(quat_at(rows.orientations[0], i, row["joint"]), conj(n)))
    return mul(mul(above, clamp_from(limit, figure.curves, start, q)), n), True


@kernel
def look(i: int, options: Any, figure: Figure, rows: Rows, target: Vec3) -> None:
    """Turn neck and head towards a target, inside their limits; the further behind it lies, the less."""
    head = options["head"]
    if options["gaze"] <= 0.0 or head < 0:
        return
    for k in range(2):
        joint = options["neck"] if k == 0 else head
        if joint < 0 or figure.slots[joint] < 0:
            continue
        h = (options["kw"], options["kx"], options["ky"], options["kz"])
        ahead = rotate(mul(quat_at(rows.orientations[1], i, head), conj(h)), (0.0, 0.0, 1.0))
        turn = between(ahead, sub(target, vec_at(rows.positions[1], i, head)))
        angle = 2.0 * math.acos(min(1.0, abs(turn[0])))
        share = options["gaze"] * (NECK if k == 0 else 1.0)
        if angle > LOOK_BACK:
            rest = (math.pi - angle) / (math.pi - LOOK_BACK)
            share *= rest * rest * (3.0 - 2.0 * rest)
        world = mul(slerp((1.0, 0.0, 0.0, 0.0), turn, share), quat_at(rows.orientations[1], i, joint))
        d = figure.slots[joint]
        if figure.drive[d]["limit"] >= 0:
            world, _ = inside_limit(i, figure, rows, d, world)
        parent = figure.joints[joint]["parent"]
        set_quat(rows.rotations[1], i, joint, unit_quat(mul(conj(quat_at(rows.orientations[1], i, parent)), world)))
        forward_row(
            i,
            figure.joints,
            rows.translation[1],
            rows.rotations[1],
            rows.offsets,
            rows.positions[1],
            rows.orientations[1],
        )

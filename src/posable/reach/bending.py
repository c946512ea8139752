"""Kernels that bend the body: from a target to a posture and its weight, and to joints inside their limits."""

from __future__ import annotations

import math
from typing import Any

from ..body.limb.kernels import frame_of
from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..limits.kernels import allowed, clamp_from
from ..math.quaternion import between, conj, mul, rotate, rotate_inverse, slerp, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import forward_row, offset_of, quat_at, quat_from, set_quat, vec_at
from .field import Field, key_weights, locate, mean_number, mean_rotation
from .packed import ARM, Body, Rows, Styles

LOOK_BACK = math.radians(100.0)  # beyond this angle the head looks less and less
SINKING = 0.35  # of the hips' sinking that grows as the weight, the rest as its square
NECK = 0.4  # the fraction of the rotation towards the target that the neck takes; the head takes the rest


@kernel
def adjusted(u: float, x: float) -> float:
    """Return a weight lowered (x below 0, at -1 to 0) or raised (x above 0, at 1 to 1)."""
    return u * (1.0 + x) if x <= 0.0 else u + (1.0 - u) * x


@kernel
def sunk(u: float) -> float:
    """Return the fraction of the hips' way down at weight u.

    A straight leg that must shorten by a little bends by a lot, as the root of it: hips that sink in proportion to the
    weight would send a body into its knees for the slightest reach.
    """
    return u * (SINKING + (1.0 - SINKING) * u)


@kernel
def target_of(i: int, side: int, rows: Rows) -> Vec3:
    """Return the target position of a hand in the world [m]."""
    position = rows.work[i]["position"]
    return (position[side, 0], position[side, 1], position[side, 2])


@kernel
def locate_target(i: int, side: int, body: Body, styles: Styles, rows: Rows) -> tuple[float, float]:
    """Return the weight that the distance of a hand's target requests, and its fading; fill in the weights of its keys
    and the arm's search there.

    Seen from the shoulder of the starting pose, not of the bent one, which would depend on itself.
    """
    model = body.limbs[ARM - side]
    shoulder = vec_at(rows.positions[0], i, model["base"])
    frame = frame_of(model, rows.orientations[0], i)
    target = rotate_inverse(frame, sub(target_of(i, side, rows), shoulder))
    weights = rows.key_weights[side]
    at, u, fading = locate(styles.header[side], target, arm_length(i, side, body, rows))
    field = Field(
        styles.header[side : side + 1],
        styles.keys[side],
        styles.triangles[side],
        styles.barycentric[side],
        styles.spline[side],
    )
    key_weights(i, field, at, weights)
    search = rows.work[i]["search"]
    for k in range(5):
        search[side, k] = mean_number(i, weights, styles.numbers[side], 3 + k)
    return u, fading


@kernel
def arm_length(i: int, side: int, body: Body, rows: Rows) -> float:
    """Return the length of upper and lower arm [m], in this pose where poses move joints."""
    model = body.limbs[ARM - side]
    if rows.offsets.shape[0] == 0:
        return float(model["upper"] + model["lower"])
    mid = vec_at(rows.positions[0], i, model["mid"])
    upper = norm(sub(mid, vec_at(rows.positions[0], i, model["base"])))
    return upper + norm(sub(mid, vec_at(rows.positions[0], i, model["end"])))


@kernel
def gather(i: int, options: Any, body: Body, styles: Styles, rows: Rows, u: tuple[float, float]) -> None:
    """Fill in the rotation that each driven joint approaches, and its weight; joints that both hands drive take means.

    Two-Arms Control: (h uR pR + (1 - h) uL pL) / (h uR + (1 - h) uL) with the larger weight of the two. The further
    one hand leads, the less the other's weight counts, at h = 0 and 1 not at all.
    """
    h = options["handedness"]
    a, b = h * u[0], (1.0 - h) * u[1]
    one, other = min(1.0, 2.0 * h), min(1.0, 2.0 * (1.0 - h))
    if not (options["hands"][0] and options["hands"][1]):
        one, other = 1.0, 1.0
    if a + b == 0.0:
        a, b = u
    for j in range(body.slots.shape[0]):
        d = body.slots[j]
        if d < 0:
            continue
        right, left = styles.owned[0, d], styles.owned[1, d]
        if right and left:
            rows.driven_weights[i, d] = max(one * u[0], other * u[1])
        else:
            rows.driven_weights[i, d] = u[0] if right else u[1]
        r = _weighted_rotation(i, 0, styles, rows, d, (a if left or a > 0.0 else 1.0) if right else 0.0)
        s = _weighted_rotation(i, 1, styles, rows, d, (b if right or b > 0.0 else 1.0) if left else 0.0)
        mean = unit_quat((r[0] + s[0], r[1] + s[1], r[2] + s[2], r[3] + s[3]))
        if j == options["hips"]:
            mean = _hips_rotation(i, options, body, rows, mean)
        set_quat(rows.driven, i, d, mean)
    total = a + b if a + b > 0.0 else 1.0
    p, q = _weighted_shift(i, 0, styles, rows, a / total), _weighted_shift(i, 1, styles, rows, b / total)
    shift = rotate(_heading(i, options, rows), (p[0] + q[0], p[1] + q[1], p[2] + q[2]))
    work = rows.work[i]
    for k in range(3):
        work["shift"][k] = shift[k]
    work["shift_weight"] = max(one * u[0], other * u[1])


@kernel
def _weighted_rotation(i: int, side: int, styles: Styles, rows: Rows, d: int, weight: float) -> Quat:
    """Return the rotation of a joint in one hand's behaviour, times a weight."""
    if weight == 0.0:
        return (0.0, 0.0, 0.0, 0.0)
    q = mean_rotation(i, rows.key_weights[side], styles.rotations[side], d)
    return (weight * q[0], weight * q[1], weight * q[2], weight * q[3])


@kernel
def _weighted_shift(i: int, side: int, styles: Styles, rows: Rows, weight: float) -> Vec3:
    """Return the displacement of the hips in one hand's behaviour [m], times a weight."""
    if weight == 0.0:
        return (0.0, 0.0, 0.0)
    weights, numbers = rows.key_weights[side], styles.numbers[side]
    return (
        weight * mean_number(i, weights, numbers, 0),
        weight * mean_number(i, weights, numbers, 1),
        weight * mean_number(i, weights, numbers, 2),
    )


@kernel
def _heading(i: int, options: Any, rows: Rows) -> Quat:
    """Return the heading of the body at the start: the twist about the vertical of the hips' canonical orientation."""
    hips = mul(quat_at(rows.orientations[0], i, options["hips"]), conj(quat_from(options["hips_neutral"])))
    return unit_quat((hips[0], 0.0, hips[2], 0.0))


@kernel
def _hips_rotation(i: int, options: Any, body: Body, rows: Rows, canonical: Quat) -> Quat:
    """Return the local rotation of the hips' joint for a canonical one relative to the body's heading."""
    world = mul(mul(_heading(i, options, rows), canonical), quat_from(options["hips_neutral"]))
    parent = body.joints[options["hips"]]["parent"]
    if parent < 0:
        return world
    return mul(conj(quat_at(rows.orientations[0], i, parent)), world)


@kernel
def bend(i: int, body: Body, rows: Rows, x: float) -> None:
    """Pose the body at adjustment x: the root moved, the driven joints rotated inside their limits, and forward
    kinematics.

    A joint that starts outside its limit may stay or come back, never go further out.
    """
    bend_towards(i, 0, body, rows, x)
    forward_solution(i, body, rows)


@kernel
def bend_towards(i: int, shoulders: int, body: Body, rows: Rows, x: float) -> None:
    """Fill in the rotations and orientations of all joints at adjustment x or, with bits of `Body.above_shoulders`,
    rotations, orientations and positions of these joints alone.
    """
    work = rows.work[i]
    u = adjusted(work["shift_weight"], x)
    for k in range(3):
        rows.translation[1, i, k] = rows.translation[0, i, k] + (sunk(u) if k == 1 else u) * work["shift"][k]
    start, rotations, orientations, positions = (
        rows.rotations[0],
        rows.rotations[1],
        rows.orientations[1],
        rows.positions[1],
    )
    for j in range(body.joints.shape[0]):
        if shoulders != 0 and body.above_shoulders[j] & shoulders == 0:
            continue
        local = quat_at(start, i, j)
        d, parent = body.slots[j], body.joints[j]["parent"]
        weight = adjusted(rows.driven_weights[i, d], x) if d >= 0 else 0.0
        if weight > 0.0:
            local = slerp(local, quat_at(rows.driven, i, d), weight)
        above = quat_at(orientations, i, parent) if parent >= 0 else (1.0, 0.0, 0.0, 0.0)
        world = mul(above, local)
        if weight > 0.0 and body.drive[j]["limit"] >= 0:
            inside, changed = inside_limit(i, body, rows, j, world)
            if changed:
                world, local = inside, unit_quat(mul(conj(above), inside))
        set_quat(rotations, i, j, local)
        set_quat(orientations, i, j, world)
        if shoulders != 0:
            bone = rotate(above, offset_of(body.joints, rows.offsets, i, j)) if parent >= 0 else (0.0, 0.0, 0.0)
            for k in range(3):
                origin = positions[i, parent, k] if parent >= 0 else rows.translation[1, i, k]
                positions[i, j, k] = origin + bone[k]


@kernel
def forward_solution(i: int, body: Body, rows: Rows) -> None:
    """Do the forward kinematics of the solution."""
    forward_row(
        i, body.joints, rows.translation[1], rows.rotations[1], rows.offsets, rows.positions[1], rows.orientations[1]
    )


@kernel
def inside_limit(i: int, body: Body, rows: Rows, j: int, world: Quat) -> tuple[Quat, bool]:
    """Return (a driven joint's orientation in the world, inside its limit, whether it had to be brought there)."""
    drive = body.drive[j]
    neutral, above_neutral = quat_from(drive["neutral"]), quat_from(drive["above_neutral"])
    limit, joint = body.limits[drive["limit"]], drive["above"]
    above = mul(quat_at(rows.orientations[1], i, joint), conj(above_neutral))
    q = mul(conj(above), mul(world, conj(neutral)))
    if allowed(limit, body.curves, q):
        return world, False
    before = mul(quat_at(rows.orientations[0], i, joint), conj(above_neutral))
    start = mul(conj(before), mul(quat_at(rows.orientations[0], i, j), conj(neutral)))
    return mul(mul(above, clamp_from(limit, body.curves, start, q)), neutral), True


@kernel
def look(i: int, options: Any, body: Body, rows: Rows, target: Vec3) -> None:
    """Rotate neck and head towards a target, inside their limits; the further behind it lies, the less."""
    head = options["head"]
    if options["gaze"] <= 0.0 or head < 0:
        return
    for k in range(2):
        joint = options["neck"] if k == 0 else head
        if joint < 0 or body.slots[joint] < 0:
            continue
        canonical = mul(quat_at(rows.orientations[1], i, head), conj(quat_from(options["head_neutral"])))
        ahead = rotate(canonical, (0.0, 0.0, 1.0))
        rotation = between(ahead, sub(target, vec_at(rows.positions[1], i, head)))
        angle = 2.0 * math.acos(min(1.0, abs(rotation[0])))
        fraction = options["gaze"] * (NECK if k == 0 else 1.0)
        if angle > LOOK_BACK:
            rest = (math.pi - angle) / (math.pi - LOOK_BACK)
            fraction *= rest * rest * (3.0 - 2.0 * rest)
        world = mul(slerp((1.0, 0.0, 0.0, 0.0), rotation, fraction), quat_at(rows.orientations[1], i, joint))
        if body.drive[joint]["limit"] >= 0:
            world, _ = inside_limit(i, body, rows, joint, world)
        parent = body.joints[joint]["parent"]
        set_quat(rows.rotations[1], i, joint, unit_quat(mul(conj(quat_at(rows.orientations[1], i, parent)), world)))
        forward_solution(i, body, rows)

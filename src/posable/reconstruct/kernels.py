"""Sequential IK in compiled code: pelvis, spine, clavicles, then the limbs (Unzueta et al. 2008, Algorithms 1 to 5;
specification reconstruct, section 4, which decides where the paper slips).

Decided here besides: the bend of the spine is found by bisection instead of steps of 0.1 and 0.01 rad, so head and hips
are met exactly and nothing pops; its largest value keeps the spine inside the limits. Algorithm 5 says where an elbow
points (backwards of the trunk, as the limb hangs and is swung to its target) and a knee (forwards); the limb solver
then searches from that swivel for one inside the limits, so that hands and feet stay on their points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..body.limb_kernels import frame_of, pose_row, swivel_of
from ..body.place_kernels import CORRECTIONS, EXACT, end_of_chain
from ..body.posture_kernels import drive_row
from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limb.solve import INVALID, REACHED, SEARCH, UNREACHABLE, solve_one
from ..limits.kernels import allowed, clamp
from ..math.quaternion import axis_angle, between, conj, mul, rotate, rotate_inverse, slerp
from ..math.vector import any_perpendicular, cross, norm, reject, sub, unit
from ..skeleton.forward import forward_row, quat_at, set_quat, vec_at
from .model import Trunk

HIPS, HEAD, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT = range(6)  # of `MARKERS`
NO_DIRECTION = 1e-6  # a weighted sum of unit vectors shorter than this says nothing
MOST_CLAVICLE = 0.5  # [rad]
BISECTIONS = 40
MET = 1e-6  # [m]: a point nearer than this is met


class Figure(NamedTuple):
    """The rig: what turns canonical orientations into its joints, and its four limbs (left and right arm and leg)."""

    joints: Records
    driven: Ints
    parents: Ints
    slots: Ints
    constants: Floats
    rest: Floats
    """(1, J, 4) local rotations of joints that nothing drives."""
    limbs: Records
    """(4,) of `limb.model.LIMB`."""
    limits: Records
    """(4, 3)."""
    curves: Floats
    bones: Floats
    """(4, B, 3)."""
    places: Records
    """(4,)."""
    turned: Records
    """The joints that each limb turns, one limb after the other."""
    split: Ints
    """(5,) where they begin."""
    remainders: Floats
    """(1, all of them, 4)."""
    ends: Ints
    """(2,) joints of hips and head."""
    home: Floats
    """(3,) [m]: where the root is at rest."""
    links: Records
    groups: Records
    obstacles: Records
    """Nothing: the limb solver asks for them."""


class Rows(NamedTuple):
    """A row a pose."""

    points: Floats
    """(N, 6, 3) [m]."""
    orientations: Floats
    """(N, K, 4) canonical, of everything that is driven; scratch."""
    trunk: Floats
    """(N, S + 2, 4) canonical orientations of the spine's joints and the clavicles; scratch."""
    translation: Floats
    rotations: Floats
    positions: Floats
    world: Floats
    values: Floats
    """(N, 7) scratch."""
    offsets: Floats
    """No rows."""
    residual: Floats
    """(N, 6) [m]."""
    status: Ints
    """(N,)."""
    heading: Floats
    """(N, 3) X of the pelvis."""
    report: Records
    """(N,) scratch."""


@kernel
def pelvis_frame(points: Floats, i: int, weights: Vec3, before: Vec3) -> tuple[Quat, Vec3, Vec3]:
    """(estimate of the pelvis' orientation, its X, its Y): section 4, first step. `before` is X of the last frame."""
    hips = vec_at(points, i, HIPS)
    y = unit(sub(vec_at(points, i, HEAD), hips))
    if norm(y) < 0.5:
        y = (0.0, 1.0, 0.0)
    a = unit(reject(sub(vec_at(points, i, LEFT_HAND), vec_at(points, i, RIGHT_HAND)), y))
    b = unit(reject(sub(vec_at(points, i, LEFT_FOOT), vec_at(points, i, RIGHT_FOOT)), y))
    c = unit(reject(before, y))
    w1, w2, w3 = weights
    x = (
        w1 * a[0] + w2 * b[0] + w3 * c[0],
        w1 * a[1] + w2 * b[1] + w3 * c[1],
        w1 * a[2] + w2 * b[2] + w3 * c[2],
    )
    x = reject(x, y)
    if norm(x) < NO_DIRECTION:
        x = c if norm(c) > 0.5 else any_perpendicular(y)
    x = unit(x)
    return mul(between((0.0, 1.0, 0.0), y), about_y(x, y)), x, y


@kernel
def about_y(x: Vec3, y: Vec3) -> Quat:
    """The turn about Y which, after the smallest rotation of Y to y, carries X to x (perpendicular to y)."""
    local = rotate_inverse(between((0.0, 1.0, 0.0), y), x)
    return axis_angle((0.0, 1.0, 0.0), math.atan2(-local[2], local[0]))


@kernel
def bent_chord(trunk: Trunk, phi: float) -> Vec3:
    """From hips to head, in the pelvis' frame, when the pelvis' share of the bend is phi [rad]: Eq. 1 and 2."""
    count = 0
    for k in range(trunk.bends.shape[0]):
        count += trunk.bends[k]
    step = 2.0 * phi / max(count, 1)
    x, y, z, angle = 0.0, 0.0, 0.0, 0.0
    for k in range(1, trunk.offsets.shape[0]):
        c, s = math.cos(angle), math.sin(angle)
        o = vec_at_row(trunk.offsets, k)
        x, y, z = x + o[0], y + c * o[1] - s * o[2], z + s * o[1] + c * o[2]
        angle += step * trunk.bends[k]
    return (x, y, z)


@kernel
def stretched_chord(trunk: Trunk, s: float, i: int, out: Floats) -> Vec3:
    """The same with each segment above the hips turned s of the way to the neutral chord; orientations into `out`."""
    count = trunk.offsets.shape[0]
    whole = (0.0, 0.0, 0.0)
    for k in range(1, count):
        o = vec_at_row(trunk.offsets, k)
        whole = (whole[0] + o[0], whole[1] + o[1], whole[2] + o[2])
    chord, turn = vec_at_row(trunk.offsets, 1), (1.0, 0.0, 0.0, 0.0)
    set_quat(out, i, 0, turn)
    for k in range(1, count):
        if k + 1 < count:
            o = vec_at_row(trunk.offsets, k + 1)
            if trunk.bends[k]:
                turn = slerp((1.0, 0.0, 0.0, 0.0), between(o, whole), s)
            d = rotate(turn, o)
            chord = (chord[0] + d[0], chord[1] + d[1], chord[2] + d[2])
        set_quat(out, i, k, turn)
    return chord


@kernel
def vec_at_row(vectors: Floats, k: int) -> Vec3:
    """Row k of (R, 3)."""
    return (vectors[k, 0], vectors[k, 1], vectors[k, 2])


@kernel
def shape_spine(i: int, trunk: Trunk, length: float, out: Floats) -> Vec3:
    """Orientations of the spine's joints, in the pelvis' frame, whose chord is as long as asked for; the chord."""
    neutral, most, stretch = trunk.numbers[0], trunk.numbers[1], trunk.numbers[2]
    if length >= neutral:
        low, high = 0.0, stretch
        if norm(stretched_chord(trunk, high, i, out)) > length:
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                if norm(stretched_chord(trunk, middle, i, out)) < length:
                    low = middle
                else:
                    high = middle
        return stretched_chord(trunk, high, i, out)
    low, high = 0.0, most
    if norm(bent_chord(trunk, high)) < length:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if norm(bent_chord(trunk, middle)) > length:
                low = middle
            else:
                high = middle
    count = 0
    for k in range(trunk.bends.shape[0]):
        count += trunk.bends[k]
    angle = 0.0
    for k in range(trunk.offsets.shape[0]):
        angle += 2.0 * high / max(count, 1) * trunk.bends[k]
        set_quat(out, i, k, axis_angle((1.0, 0.0, 0.0), angle))
    return bent_chord(trunk, high)


@kernel
def pose_trunk(i: int, trunk: Trunk, rows: Rows, estimate: Quat, y: Vec3) -> Vec3:
    """Hips, spine and clavicles into `rows.trunk`, canonical in the world; where the hips go."""
    points, out = rows.points, rows.trunk
    count = trunk.offsets.shape[0]
    hips = vec_at(points, i, HIPS)
    length = norm(sub(vec_at(points, i, HEAD), hips))
    chord = shape_spine(i, trunk, length, out)
    pelvis = mul(between(rotate(estimate, chord), y), estimate)
    rest = 0.5 * (length - norm(chord))
    place = (hips[0] + rest * y[0], hips[1] + rest * y[1], hips[2] + rest * y[2])
    chest = place
    for k in range(count):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))
        if 0 < k <= trunk.chest[0]:
            step = rotate(quat_at(out, i, k - 1), vec_at_row(trunk.offsets, k))
            chest = (chest[0] + step[0], chest[1] + step[1], chest[2] + step[2])
    carrier = quat_at(out, i, trunk.chest[0])
    for side in range(2):
        wrist = vec_at(points, i, LEFT_HAND + side)
        set_quat(out, i, count + side, clavicle(trunk, side, carrier, chest, wrist))
    return place


@kernel
def clavicle(trunk: Trunk, side: int, carrier: Quat, chest: Vec3, wrist: Vec3) -> Quat:
    """A clavicle turned towards a wrist that its arm cannot reach: Algorithm 4, from neutral in every frame."""
    a, b = rotate(carrier, vec_at(trunk.shoulders, side, 0)), rotate(carrier, vec_at(trunk.shoulders, side, 1))
    joint = (chest[0] + a[0], chest[1] + a[1], chest[2] + a[2])
    away, reach = norm(sub(wrist, (joint[0] + b[0], joint[1] + b[1], joint[2] + b[2]))), trunk.arms[side]
    c, d = norm(b), norm(sub(wrist, joint))
    if away <= reach or c < 1e-9 or d < 1e-9:
        return carrier
    theta1 = math.acos(min(1.0, max(-1.0, (c * c + d * d - reach * reach) / (2.0 * c * d))))
    theta2 = math.acos(min(1.0, max(-1.0, (c * c + d * d - away * away) / (2.0 * c * d))))
    axis = cross(b, sub(wrist, joint))
    if norm(axis) < 1e-12 * c * d:
        return carrier
    turn = axis_angle(unit(axis), min(max(theta2 - theta1, 0.0), MOST_CLAVICLE))
    if trunk.clavicles.shape[0] == 0:
        return mul(turn, carrier)
    local = mul(mul(conj(carrier), turn), carrier)
    if not allowed(trunk.clavicles[side], trunk.curves, local):
        local = clamp(trunk.clavicles[side], trunk.curves, local)
    return mul(carrier, local)


@kernel
def pose_limb(i: int, limb: int, figure: Figure, rows: Rows) -> int:
    """Turn a limb to its point, its elbow or knee where Algorithm 5 has it, and tell its status.

    What a rig whose bones are not straight lines misses by is added to the aim, as `BodyLimb.place` does.
    """
    model, place = figure.limbs[limb], figure.places[limb]
    frame = frame_of(model, place, rows.world, i)
    goal = vec_at(rows.points, i, LEFT_HAND + limb)
    aim = rotate_inverse(frame, sub(goal, vec_at(rows.positions, i, place["base"])))
    back = (model["fw"], -model["fx"], -model["fy"], -model["fz"])  # the trunk's axes, seen from the limb's frame
    hanging, ahead = rotate(back, (0.0, -1.0, 0.0)), rotate(back, (0.0, 0.0, -1.0 if limb < 2 else 1.0))
    pole = rotate(between(hanging, aim), ahead)
    mid = (aim[0] + pole[0], aim[1] + pole[1], aim[2] + pole[2])
    swivel = swivel_of(model, aim, mid, (0.0, 1.0, 0.0))
    before = math.inf
    for _ in range(CORRECTIONS):
        turn_limb(i, limb, figure, rows, aim, swivel)
        end = end_of_chain(i, figure.joints, place, rows.offsets, rows.positions, rows.world)
        miss = rotate_inverse(frame, sub(goal, end))
        away = norm(miss)
        if rows.report[i]["status"] != REACHED or away <= EXACT or away >= before:
            break
        before, swivel = away, rows.report[i]["swivel"]
        aim = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2])
    rows.residual[i, LEFT_HAND + limb] = away
    return int(rows.report[i]["status"])


@kernel
def turn_limb(i: int, limb: int, figure: Figure, rows: Rows, aim: Vec3, swivel: float) -> None:
    """Solve a limb for an aim in its frame, searching from a swivel [rad], and put it into the pose."""
    straight = (1.0, 0.0, 0.0, 0.0)
    values = solve_one(
        figure.limbs[limb],
        figure.limits[limb],
        figure.curves,
        figure.bones[limb],
        (figure.links, figure.groups, figure.obstacles, 0.0),
        (aim, straight, False),
        (straight, straight),
        swivel,
        SEARCH,
        rows.report[i],
    )
    for k in range(7):
        rows.values[i, k] = values[k]
    first, last = figure.split[limb], figure.split[limb + 1]
    pose_row(
        i,
        figure.joints,
        figure.limbs[limb : limb + 1],
        figure.places[limb : limb + 1],
        figure.turned[first:last],
        rows.values,
        figure.remainders[:, first:last],
        rows.world,
        rows.rotations,
    )


@kernel
def rebuild_row(i: int, weights: Floats, trunk: Trunk, figure: Figure, before: Vec3, rows: Rows) -> None:
    """Row i: a whole body from six points (Algorithm 1); `before` is X of the pelvis in the frame before."""
    for k in range(6):
        for c in range(3):
            if not math.isfinite(rows.points[i, k, c]):
                refuse(i, figure, before, rows)
                return
    w = (weights[0], weights[1], weights[2])
    if norm(before) < 0.5:
        w = (1.0, 1.0, 0.0)  # the first frame has no frame before
    estimate, x, y = pelvis_frame(rows.points, i, w, before)
    place = pose_trunk(i, trunk, rows, estimate, y)
    for k in range(3):
        rows.heading[i, k] = x[k]
    for k in range(trunk.slots.shape[0]):
        set_quat(rows.orientations, i, k, quat_at(rows.trunk, i, trunk.slots[k]))
    for j in range(figure.joints.shape[0]):
        set_quat(rows.rotations, i, j, quat_at(figure.rest, 0, j))
    drive_row(
        i, figure.driven, figure.parents, figure.slots, rows.orientations, figure.constants, rows.rotations, rows.world
    )
    place_hips(i, figure, rows, place)
    status = REACHED
    for limb in range(4):
        told = pose_limb(i, limb, figure, rows)
        if status == REACHED and rows.residual[i, LEFT_HAND + limb] > MET:
            status = told if told != REACHED else UNREACHABLE
    for k in range(2):
        end = vec_at(rows.positions, i, figure.ends[k])
        rows.residual[i, k] = norm(sub(end, vec_at(rows.points, i, k)))
        if status == REACHED and rows.residual[i, k] > MET:
            status = UNREACHABLE
    rows.status[i] = status


@kernel
def place_hips(i: int, figure: Figure, rows: Rows, place: Vec3) -> None:
    """Forward kinematics with the hips' joint at `place`."""
    for k in range(3):
        rows.translation[i, k] = 0.0
    forward_row(i, figure.joints, rows.translation, rows.rotations, rows.offsets, rows.positions, rows.world)
    hips = vec_at(rows.positions, i, figure.ends[0])
    for k in range(3):
        rows.translation[i, k] = place[k] - hips[k]
    for j in range(figure.joints.shape[0]):
        for k in range(3):
            rows.positions[i, j, k] += rows.translation[i, k]


@kernel
def refuse(i: int, figure: Figure, before: Vec3, rows: Rows) -> None:
    """A row with a point that is no number: the rest pose, INVALID."""
    for k in range(3):
        rows.translation[i, k], rows.heading[i, k] = figure.home[k], before[k]
    for j in range(figure.joints.shape[0]):
        set_quat(rows.rotations, i, j, quat_at(figure.rest, 0, j))
    for k in range(6):
        rows.residual[i, k] = math.inf
    rows.status[i] = INVALID


@batch(rows=64)
def rebuild_rows(n: int, weights: Floats, trunk: Trunk, figure: Figure, before: Floats, rows: Rows) -> None:
    """n tracks of equal length, one after the other in the rows: each frame with the pelvis' X of the one before it.

    `before` (N or 1, 3) is X before the first frames, zero for none. Poses alone are tracks of one frame.
    """
    frames = rows.points.shape[0] // n
    for t in prange(n):
        k = t % before.shape[0]
        x = (before[k, 0], before[k, 1], before[k, 2])
        for f in range(frames):
            i = t * frames + f
            rebuild_row(i, weights, trunk, figure, x, rows)
            x = (rows.heading[i, 0], rows.heading[i, 1], rows.heading[i, 2])

"""Pelvis, spine and clavicles in compiled code (Unzueta et al. 2008, sections 4 and 5; specification reconstruct, 4).

Decided here besides: the bend of the spine is found by bisection instead of steps of 0.1 and 0.01 rad, so head and hips
are met exactly and nothing pops; its largest value keeps the spine inside the limits.

Where more is known than six positions (`rotate_trunk`): a pelvis whose orientation is known keeps it, and the spine
bends to the head by the smallest rotations of its joints (Gauss-Newton, one 3 x 3 system a step); a chest that is known
is met first by the joints below it, then the head by those above; a head whose orientation is known twists the spine by
equal fractions, each joint about the line from it to the head, so that the head stays where it is.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..limits.kernels import allowed, clamp
from ..math.quaternion import axis_angle, between, conj, exp, mul, rotate, rotate_inverse, slerp, twist_angle
from ..math.vector import any_perpendicular, cross, dot, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, set_quat, vec_at
from .model import Trunk
from .packed import CHEST, HEAD, HIPS, LEFT_FOOT, LEFT_HAND, RIGHT_FOOT, RIGHT_HAND, Rows

NO_DIRECTION = 1e-6  # a weighted sum of unit vectors shorter than this says nothing
MOST_CLAVICLE = 0.5  # [rad]
BISECTIONS = 40
STEPS, MOST_STEP, EXACT = 24, 0.4, 1e-12  # of the spine's search: how many, [rad] a joint, [m]
SWUNG = 0.25  # how much wrists say beside a head whose orientation is known, where ankles are not
SLOWLY = 9.0  # [rad]: of what the pelvis may turn, beyond which it follows wrists alone; 0.7 s of two turns a second
SURE = 0.5  # of what wrists and ankles could say at most: below it, the pelvis turns more slowly


@kernel
def pelvis_frame(i: int, rows: Rows, weights: Vec3, before: Vec3, most: float) -> tuple[Quat, Vec3, Vec3]:
    """(estimate of the pelvis' orientation, its X, its Y): section 4, first step. `before` is X of the last frame.

    Wrists or ankles that are not known say nothing; the head does in place of ankles, if its orientation is known. From
    the frame before, the pelvis turns by `most` [rad] at most, and by less the less the points say: where wrists and
    ankles contradict each other, it would flip. Without ankles it follows slowly: arms swing.
    """
    hips = vec_at(rows.goals, i, HIPS)
    y = unit(sub(vec_at(rows.goals, i, HEAD), hips))
    if norm(y) < 0.5:
        y = (0.0, 1.0, 0.0)
    a = unit(reject(across(i, rows, LEFT_HAND, RIGHT_HAND), y))
    b = unit(reject(across(i, rows, LEFT_FOOT, RIGHT_FOOT), y))
    c = unit(reject(before, y))
    w1, w2, w3 = weights
    swung = b == (0.0, 0.0, 0.0)  # no ankles to take the swing of the arms out
    if swung and knows(i, rows, HEAD):
        b, w1 = unit(reject(rotate(quat_at(rows.target_orientations, i, HEAD), (1.0, 0.0, 0.0)), y)), SWUNG * w1
    x = (
        w1 * a[0] + w2 * b[0] + w3 * c[0],
        w1 * a[1] + w2 * b[1] + w3 * c[1],
        w1 * a[2] + w2 * b[2] + w3 * c[2],
    )
    x = reject(x, y)
    sure = norm(x) / (SURE * (w1 + w2 + w3))
    if norm(x) < NO_DIRECTION:
        x = c if norm(c) > 0.5 else reject((1.0, 0.0, 0.0), y)  # facing +Z
        if norm(x) < NO_DIRECTION:
            x = any_perpendicular(y)
    x = unit(x)
    if norm(c) > 0.5 and math.isfinite(most):
        most *= min(1.0, sure)
        angle = math.atan2(dot(cross(c, x), y), dot(c, x))
        if swung:
            most = min(most, abs(angle) * most / SLOWLY)
        if abs(angle) > most:
            x = unit(rotate(axis_angle(y, math.copysign(most, angle)), c))
    return mul(between((0.0, 1.0, 0.0), y), about_y(x, y)), x, y


@kernel
def across(i: int, rows: Rows, left: int, right: int) -> Vec3:
    """From the right one of a pair to the left one; nothing where one of them is not known."""
    d = sub(vec_at(rows.goals, i, left), vec_at(rows.goals, i, right))
    if math.isfinite(d[0]):
        return d
    return (0.0, 0.0, 0.0)


@kernel
def knows(i: int, rows: Rows, slot: int) -> bool:
    """Whether the orientation of one of the six is known."""
    return rows.target_orientations.shape[0] > 0 and math.isfinite(rows.target_orientations[i, slot, 0])


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
    chord, rotation = vec_at_row(trunk.offsets, 1), (1.0, 0.0, 0.0, 0.0)
    set_quat(out, i, 0, rotation)
    for k in range(1, count):
        if k + 1 < count:
            o = vec_at_row(trunk.offsets, k + 1)
            if trunk.bends[k]:
                rotation = slerp((1.0, 0.0, 0.0, 0.0), between(o, whole), s)
            d = rotate(rotation, o)
            chord = (chord[0] + d[0], chord[1] + d[1], chord[2] + d[2])
        set_quat(out, i, k, rotation)
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
    length = norm(sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS)))
    return place_trunk(i, trunk, rows, estimate, y, shape_spine(i, trunk, length, rows.trunk))


@kernel
def place_trunk(i: int, trunk: Trunk, rows: Rows, estimate: Quat, y: Vec3, chord: Vec3) -> Vec3:
    """A spine in the pelvis' frame, of this chord, into the world, then clavicles; where the hips go."""
    out, hips = rows.trunk, vec_at(rows.goals, i, HIPS)
    pelvis = mul(between(rotate(estimate, chord), y), estimate)
    rest = 0.5 * (norm(sub(vec_at(rows.goals, i, HEAD), hips)) - norm(chord))
    position = (hips[0] + rest * y[0], hips[1] + rest * y[1], hips[2] + rest * y[2])
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
    for k in range(trunk.offsets.shape[0]):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))
    return finish_trunk(i, trunk, rows, position)


@kernel
def finish_trunk(i: int, trunk: Trunk, rows: Rows, position: Vec3) -> Vec3:
    """The spine with what is known besides hips and head, then the clavicles, into `rows.trunk`; where the hips go."""
    goals, out, count = rows.goals, rows.trunk, trunk.offsets.shape[0]
    if knows(i, rows, HIPS) or knows(i, rows, HEAD) or math.isfinite(goals[i, CHEST, 0]):
        position = rotate_trunk(i, trunk, rows, position)
    chest = position
    for k in range(1, trunk.chest[0] + 1):
        step = rotate(quat_at(out, i, k - 1), vec_at_row(trunk.offsets, k))
        chest = (chest[0] + step[0], chest[1] + step[1], chest[2] + step[2])
    carrier = quat_at(out, i, trunk.chest[0])
    for side in range(2):
        wrist = vec_at(goals, i, LEFT_HAND + side)
        if math.isfinite(wrist[0]):
            set_quat(out, i, count + side, clavicle(trunk, side, carrier, chest, wrist))
        else:
            set_quat(out, i, count + side, carrier)
    return position


@kernel
def rotate_trunk(i: int, trunk: Trunk, rows: Rows, position: Vec3) -> Vec3:
    """The spine with what is known besides hips and head: pelvis, chest, and how the head is turned; the hips' place.

    What head and hips miss together is shared by both, as without.
    """
    free, last = not knows(i, rows, HIPS), trunk.offsets.shape[0] - 1
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    bent = not free
    if free and math.isfinite(rows.goals[i, CHEST, 0]):
        bend_to(i, trunk, rows, position, 0, trunk.chest[1], free, vec_at(rows.goals, i, CHEST))
        bend_to(i, trunk, rows, position, trunk.chest[1], last, False, head)
        bent = True
    elif math.isfinite(rows.goals[i, CHEST, 0]):
        position = hips
        bend_to(i, trunk, rows, position, 0, trunk.chest[1], False, vec_at(rows.goals, i, CHEST))
    if not free:
        position = hips
    if bent:
        bend_to(i, trunk, rows, position, 0, last, free, head)
    if knows(i, rows, HEAD):
        twist_spine(i, trunk, rows, position, quat_at(rows.target_orientations, i, HEAD))
        bend_to(i, trunk, rows, position, 0, last, False, head if bent else vec_at(rows.spine, i, last))
        rotate_head(i, trunk, rows, quat_at(rows.target_orientations, i, HEAD))
    if bent:
        miss = sub(head, place_spine(i, trunk, rows, position))
        position = (position[0] + 0.5 * miss[0], position[1] + 0.5 * miss[1], position[2] + 0.5 * miss[2])
    return position


@kernel
def place_spine(i: int, trunk: Trunk, rows: Rows, position: Vec3) -> Vec3:
    """Places of the spine's joints into `rows.spine`, the hips' at `position`; where the head is."""
    p = position
    for k in range(trunk.offsets.shape[0]):
        if k > 0:
            step = rotate(quat_at(rows.trunk, i, k - 1), vec_at_row(trunk.offsets, k))
            p = (p[0] + step[0], p[1] + step[1], p[2] + step[2])
        for c in range(3):
            rows.spine[i, k, c] = p[c]
    return p


@kernel
def bend_to(i: int, trunk: Trunk, rows: Rows, position: Vec3, first: int, last: int, free: bool, target: Vec3) -> None:
    """Bring joint `last` of the spine to a place by the smallest turns of the joints from `first` on, inside limits.

    Gauss-Newton: joint k, from which the end lies r_k away, turns by r_k x (A^-1 e), A = sum (|r_k|^2 - r_k r_k^T). The
    pelvis turns along if it is `free`.
    """
    for _ in range(STEPS):
        place_spine(i, trunk, rows, position)
        end = vec_at(rows.spine, i, last)
        e = sub(target, end)
        if norm(e) < EXACT:
            break
        xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(first, last):
            if trunk.bends[k] or (k == 0 and free):
                r = sub(end, vec_at(rows.spine, i, k))
                xx, yy, zz = (
                    xx + r[1] * r[1] + r[2] * r[2],
                    yy + r[0] * r[0] + r[2] * r[2],
                    zz + r[0] * r[0] + r[1] * r[1],
                )
                xy, xz, yz = xy - r[0] * r[1], xz - r[0] * r[2], yz - r[1] * r[2]
        size = xx + yy + zz
        if size < 1e-12:  # nothing there turns
            break
        soft = 1e-6 * size
        x = solve_symmetric(xx + soft, yy + soft, zz + soft, xy, xz, yz, e)
        rotation = (1.0, 0.0, 0.0, 0.0)
        for k in range(first, trunk.offsets.shape[0]):
            if k < last and (trunk.bends[k] or (k == 0 and free)):
                w = cross(sub(end, vec_at(rows.spine, i, k)), x)
                rotation = mul(exp(scale(w, min(1.0, MOST_STEP / max(norm(w), 1e-12)))), rotation)
            set_quat(rows.trunk, i, k, mul(rotation, quat_at(rows.trunk, i, k)))
        hold_spine(i, trunk, rows)
    place_spine(i, trunk, rows, position)


@kernel
def solve_symmetric(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float, e: Vec3) -> Vec3:
    """x of A x = e for a symmetric 3 x 3 matrix, by its cofactors."""
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, f, g = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    det = xx * a + xy * b + xz * c
    return (
        (a * e[0] + b * e[1] + c * e[2]) / det,
        (b * e[0] + d * e[1] + f * e[2]) / det,
        (c * e[0] + f * e[1] + g * e[2]) / det,
    )


@kernel
def hold_spine(i: int, trunk: Trunk, rows: Rows) -> None:
    """Bring every joint of the spine inside its limits, from below; what is above goes along."""
    rotation = (1.0, 0.0, 0.0, 0.0)
    for k in range(1, trunk.offsets.shape[0]):
        now = mul(rotation, quat_at(rows.trunk, i, k))
        if trunk.above[k] >= 0:
            carrier = quat_at(rows.trunk, i, trunk.above[k])
            local = mul(conj(carrier), now)
            if not allowed(trunk.limits[k], trunk.curves, local):
                fixed = mul(carrier, clamp(trunk.limits[k], trunk.curves, local))
                rotation, now = mul(mul(fixed, conj(now)), rotation), fixed
        set_quat(rows.trunk, i, k, now)


@kernel
def twist_spine(i: int, trunk: Trunk, rows: Rows, position: Vec3, head: Quat) -> None:
    """Hand out the twist between the spine as it is and an orientation of the head: equal shares to what bends, and to
    the head. Each turns about its line to the head, which stays where it is unless a limit is met.
    """
    last = trunk.offsets.shape[0] - 1
    end = place_spine(i, trunk, rows, position)
    count = 1
    for k in range(last):
        count += trunk.bends[k]
    axis = unit(sub(end, vec_at(rows.spine, i, 0)))
    fraction = twist_angle(mul(head, conj(quat_at(rows.trunk, i, last))), axis) / count
    rotation, p = (1.0, 0.0, 0.0, 0.0), position
    for k in range(last + 1):
        if k > 0:
            step = rotate(quat_at(rows.trunk, i, k - 1), vec_at_row(trunk.offsets, k))
            p = (p[0] + step[0], p[1] + step[1], p[2] + step[2])
        if k < last and trunk.bends[k]:
            rotation = mul(axis_angle(unit(sub(end, p)), fraction), rotation)
        set_quat(rows.trunk, i, k, mul(rotation, quat_at(rows.trunk, i, k)))
    hold_spine(i, trunk, rows)


@kernel
def rotate_head(i: int, trunk: Trunk, rows: Rows, head: Quat) -> None:
    """Turn the head alone to an orientation, as far as its limits let it."""
    last = trunk.offsets.shape[0] - 1
    if trunk.above[last] >= 0:
        carrier = quat_at(rows.trunk, i, trunk.above[last])
        local = mul(conj(carrier), head)
        if not allowed(trunk.limits[last], trunk.curves, local):
            head = mul(carrier, clamp(trunk.limits[last], trunk.curves, local))
    set_quat(rows.trunk, i, last, head)


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
    rotation = axis_angle(unit(axis), min(max(theta2 - theta1, 0.0), MOST_CLAVICLE))
    if trunk.clavicles.shape[0] == 0:
        return mul(rotation, carrier)
    local = mul(mul(conj(carrier), rotation), carrier)
    if not allowed(trunk.clavicles[side], trunk.curves, local):
        local = clamp(trunk.clavicles[side], trunk.curves, local)
    return mul(carrier, local)

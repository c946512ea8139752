"""Pelvis, spine and clavicles in compiled code (Unzueta et al. 2008, sections 4 and 5; specification reconstruct, 4).

Decided here besides: the bend of the spine is found by bisection instead of steps of 0.1 and 0.01 rad, so head and hips
are met exactly and nothing pops; its largest value keeps the spine inside the limits. `pose_trunk_by_paper` is the
paper's spine to the letter.

Where more is known than six positions (`rotate_trunk`): a pelvis whose orientation is known keeps it, and the spine
bends to the head by the smallest rotations of its joints (Gauss-Newton, one 3 x 3 system a step); a chest that is known
is met first by the joints below it, then the head by those above; a head whose orientation is known twists the spine as
people do, who turn the neck and hardly the chest (`TWISTED`), each joint about the line from it to the head, so that
the head stays where it is. What the head's limits do not allow is divided equally among the other joints.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..limits.kernels import allowed, clamp
from ..math.quaternion import (
    angle_between,
    axis_angle,
    between,
    conj,
    exp,
    log,
    mul,
    rotate,
    rotate_inverse,
    slerp,
    twist_angle,
    unit_quat,
)
from ..math.vector import add, any_perpendicular, cross, dot, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, quat_from, set_quat, vec_at
from .packed import (
    CHEST,
    HEAD,
    HIPS,
    LEFT_FOOT,
    LEFT_HAND,
    LEFT_SHOULDER,
    MAX_JOINTS,
    RIGHT_FOOT,
    RIGHT_HAND,
    Figure,
    Rows,
    across,
    hips_fraction,
    knows,
    put_quat,
    quat_of,
    vec_from,
    vec_of,
)
from .track_state import CALM, LATE_NOW, catches_up

NO_DIRECTION = 1e-6  # a weighted sum of unit vectors shorter than this has no direction
MAX_CLAVICLE = 0.5  # [rad]
BISECTIONS = 40
STEPS, MAX_STEP, EXACT = 24, 0.4, 1e-12  # of the spine's search: how many, [rad] a joint, [m]
DAMPING, DAMPED = 1e-3, 0.01  # of the trace of A, at misses over so much of its root: no small rotation shortens a
# straight spine, and undamped steps overshoot for ever
SWUNG = 0.25  # weight of the wrists next to a head whose orientation is known, where ankles are not
SLOWLY = 9.0  # [rad]: without ankles the pelvis follows with this time constant times its rate: 0.7 s at 4 pi rad/s
SURE = 0.5  # of the longest sum of wrists and ankles: below it, the pelvis rotates more slowly
COARSE, FINE = 0.1, 0.01  # [rad] of the pelvis: steps of the paper's spine
MAX_PAPER_STEPS = 16
TWISTED_AT = (0.0, 0.25, 0.75, 1.19, 1.53, 1.84, 2.0)
TWISTED = (0.0, 0.043, 0.095, 0.119, 0.401, 0.771, 1.0)
"""The fraction of the head's twist against the pelvis that the spine has at a place between hips (0), the joint that
carries the arms (1) and head (2): 179,340 poses of 78 subjects of CMU, `python -m tools.fit_twist`."""
TWISTS = 3  # times that what the head's limits leave is divided
BENT_ON = 1.5
POPPED = 3.0  # of the rate of a pelvis: pelvis and spine rotate no faster from frame to frame, all together
LOST = 0.02  # of the length: a search of the paper's that ends further off has not found it


@kernel
def pelvis_frame(i: int, rows: Rows, weights: Vec3, before: Vec3, most: float) -> tuple[Quat, Vec3, Vec3]:
    """Return (estimate of the pelvis' orientation, its X, its Y): section 4, first step.

    `before` is X of the last frame. Wrists or ankles that are not known have no weight; the head takes the place of
    ankles if its orientation is known. From the frame before, the pelvis rotates by `most` [rad] at most, and by less
    the less the points agree: where wrists and ankles contradict each other, it would flip. Without ankles it follows
    slowly: arms swing.
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
def about_y(x: Vec3, y: Vec3) -> Quat:
    """Return the rotation about Y which, after the smallest rotation of Y to y, carries X to x (perpendicular to y)."""
    local = rotate_inverse(between((0.0, 1.0, 0.0), y), x)
    return axis_angle((0.0, 1.0, 0.0), math.atan2(-local[2], local[0]))


@kernel
def bend_step(figure: Figure, phi: float) -> float:
    """Return the angle [rad] of each joint that bends when the pelvis' part of the bend is phi [rad]: Eq. 1."""
    return float(2.0 * phi / max(figure.settings[0]["bending"], 1))


@kernel
def bent_chord(figure: Figure, phi: float) -> Vec3:
    """Return hips to head [m] in the pelvis' frame when the pelvis' part of the bend is phi [rad]: Eq. 2."""
    step = bend_step(figure, phi)
    x, y, z, angle = 0.0, 0.0, 0.0, 0.0
    for k in range(1, figure.spine.shape[0]):
        c, s = math.cos(angle), math.sin(angle)
        o = vec_from(figure.spine[k]["offset"])
        x, y, z = x + o[0], y + c * o[1] - s * o[2], z + s * o[1] + c * o[2]
        angle += step * figure.spine[k]["bends"]
    return (x, y, z)


@kernel
def stretched_chord(figure: Figure, s: float, i: int, out: Floats) -> Vec3:
    """Return the same with each segment above the hips rotated by a fraction s of the way to the neutral chord;
    orientations into `out`.
    """
    count = figure.spine.shape[0]
    whole = (0.0, 0.0, 0.0)
    for k in range(1, count):
        whole = add(whole, vec_from(figure.spine[k]["offset"]))
    chord, rotation = vec_from(figure.spine[1]["offset"]), (1.0, 0.0, 0.0, 0.0)
    set_quat(out, i, 0, rotation)
    for k in range(1, count):
        if k + 1 < count:
            o = vec_from(figure.spine[k + 1]["offset"])
            if figure.spine[k]["bends"]:
                rotation = slerp((1.0, 0.0, 0.0, 0.0), between(o, whole), s)
            chord = add(chord, rotate(rotation, o))
        set_quat(out, i, k, rotation)
    return chord


@kernel
def shape_spine(i: int, figure: Figure, length: float, out: Floats) -> Vec3:
    """Fill in the orientations of the spine's joints in the pelvis' frame, for a chord of this length [m]; return the
    chord.
    """
    settings = figure.settings[0]
    if length >= settings["neutral_chord"]:
        low, high = 0.0, settings["max_stretch"]
        if norm(stretched_chord(figure, high, i, out)) > length:
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                if norm(stretched_chord(figure, middle, i, out)) < length:
                    low = middle
                else:
                    high = middle
        return stretched_chord(figure, high, i, out)
    low, high = 0.0, settings["max_bend"]
    if norm(bent_chord(figure, high)) < length:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if norm(bent_chord(figure, middle)) > length:
                low = middle
            else:
                high = middle
    angle, step = 0.0, bend_step(figure, high)
    for k in range(figure.spine.shape[0]):
        angle += step * figure.spine[k]["bends"]
        set_quat(out, i, k, axis_angle((1.0, 0.0, 0.0), angle))
    return bent_chord(figure, high)


@kernel
def pose_trunk(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float, estimate: Quat, y: Vec3) -> Vec3:
    """Fill in hips, spine and clavicles in `rows.trunk`, canonical in the world; return the position of the hips."""
    length = norm(sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS)))
    return place_trunk(i, t, figure, rows, memory, dt, estimate, y, shape_spine(i, figure, length, rows.trunk))


@kernel
def place_trunk(
    i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float, estimate: Quat, y: Vec3, chord: Vec3
) -> Vec3:
    """Rotate a spine of this chord from the pelvis' frame into the world, add clavicles; return the hips' position."""
    out, hips = rows.trunk, vec_at(rows.goals, i, HIPS)
    pelvis = mul(between(rotate(estimate, chord), y), estimate)
    rest = 0.5 * (norm(sub(vec_at(rows.goals, i, HEAD), hips)) - norm(chord))
    position = (hips[0] + rest * y[0], hips[1] + rest * y[1], hips[2] + rest * y[2])
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
    for k in range(figure.spine.shape[0]):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))
    return finish_trunk(i, t, figure, rows, memory, dt, position)


@kernel
def finish_trunk(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float, position: Vec3) -> Vec3:
    """Rotate the spine to what is known besides hips and head, then the clavicles; return the hips' position."""
    goals, out, count, chest = rows.goals, rows.trunk, figure.spine.shape[0], figure.stance[0]["chest"]
    if knows(i, rows, HIPS) or knows(i, rows, HEAD) or math.isfinite(goals[i, CHEST, 0]):
        position = rotate_trunk(i, figure, rows, position)
    if memory.shape[0] > 0 and dt > 0.0:
        position = calm_spine(i, t, figure, rows, memory, dt, position)
    carrier, joint = quat_at(out, i, chest), position
    for k in range(1, chest + 1):
        joint = next_joint(i, figure, rows, k, joint)
    for side in range(2):
        wrist, shoulder = vec_at(goals, i, LEFT_HAND + side), vec_at(goals, i, LEFT_SHOULDER + side)
        rotated = carrier
        if math.isfinite(shoulder[0]):
            rotated = clavicle_to(figure, side, carrier, joint, shoulder)
        elif math.isfinite(wrist[0]):
            rotated = clavicle(figure, side, carrier, joint, wrist)
        if memory.shape[0] > 0 and dt > 0.0:
            rotated = calm_clavicle(t, side, figure, memory, dt, carrier, rotated)
        set_quat(out, i, count + side, rotated)
    return position


@kernel
def calm_clavicle(t: int, side: int, figure: Figure, memory: Records, dt: float, carrier: Quat, rotated: Quat) -> Quat:
    """Return a clavicle that rotates by `CALM` at most while the trunk, or its arm, catches up."""
    before = quat_of(memory[t]["clavicles"], side)
    now, waited = mul(conj(carrier), rotated), memory[t]["behind"][4 + side]
    most, late = min(CALM, figure.settings[0]["pelvis_rate"]) * dt, 0.0
    if math.isfinite(before[0]) and (catches_up(t, memory) or waited > 0.0):
        angle = angle_between(before, now)
        if angle > most:
            now = slerp(before, now, most / angle)
            rotated, late = mul(carrier, now), waited + dt
    memory[t]["behind"][4 + side] = late
    put_quat(memory[t]["clavicles"], side, now)
    return rotated


@kernel
def calm_spine(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float, position: Vec3) -> Vec3:
    """While the trunk catches up with a change of what is known, let pelvis and spine together rotate by `CALM` at
    most, and then as little as it takes to the head, `BENT_ON` times as much at most in all; else by `POPPED` times as
    much as a pelvis may. Return the hips' position.
    """
    state, out, count = memory[t], rows.trunk, min(figure.spine.shape[0], MAX_JOINTS)
    bends, rate = state["bends"], figure.settings[0]["pelvis_rate"]
    catching_up = catches_up(t, memory)
    most = min(CALM, rate) * dt if catching_up else POPPED * rate * dt
    free = not knows(i, rows, HIPS)
    if math.isfinite(bends[count - 1, 0]) and trunk_rotated(i, t, free, figure, rows, memory) > most:
        if catching_up:
            state["late"] = LATE_NOW
        last = figure.spine.shape[0] - 1
        limit_trunk(i, t, free, figure, rows, memory, most)
        bend_to(i, figure, rows, position, 0, last, free, vec_at(rows.goals, i, HEAD))
        if knows(i, rows, HEAD):
            rotate_head(i, figure, rows, quat_at(rows.target_orientations, i, HEAD))
        limit_trunk(i, t, free, figure, rows, memory, BENT_ON * most)
        place_spine(i, figure, rows, position)
        miss = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.spine, i, last))
        position = add(position, scale(miss, hips_fraction(i, rows)))
    for k in range(1, count):
        put_quat(bends, k, mul(conj(quat_at(out, i, k - 1)), quat_at(out, i, k)))
    state["late"] = int(state["late"] == LATE_NOW)
    return position


@kernel
def trunk_rotated(i: int, t: int, free: bool, figure: Figure, rows: Rows, memory: Records) -> float:
    """Return by how much the pelvis, if it is `free`, and the spine's joints have rotated since the last frame [rad],
    all together.
    """
    state, out, total = memory[t], rows.trunk, 0.0
    if free:
        total = angle_between(quat_of(state["orientations"], HIPS), quat_at(out, i, 0))
    for k in range(1, min(figure.spine.shape[0], MAX_JOINTS)):
        bend = mul(conj(quat_at(out, i, k - 1)), quat_at(out, i, k))
        total += angle_between(quat_of(state["bends"], k), bend)
    return total


@kernel
def limit_trunk(i: int, t: int, free: bool, figure: Figure, rows: Rows, memory: Records, most: float) -> None:
    """Let the pelvis, if it is `free`, and the spine's joints rotate by `most` [rad] all together since the last frame,
    inside the limits.
    """
    state, out = memory[t], rows.trunk
    fraction = most / max(trunk_rotated(i, t, free, figure, rows, memory), 1e-9)
    if fraction >= 1.0:
        return
    below = quat_at(out, i, 0)
    if free:
        set_quat(out, i, 0, slerp(quat_of(state["orientations"], HIPS), below, fraction))
    for k in range(1, figure.spine.shape[0]):
        bend, below = mul(conj(below), quat_at(out, i, k)), quat_at(out, i, k)
        if k < MAX_JOINTS:
            bend = slerp(quat_of(state["bends"], k), bend, fraction)
        set_quat(out, i, k, unit_quat(mul(quat_at(out, i, k - 1), bend)))
    clamp_spine(i, figure, rows)


@kernel
def rotate_trunk(i: int, figure: Figure, rows: Rows, position: Vec3) -> Vec3:
    """Rotate the spine to what is known besides hips and head: pelvis, chest, the head's orientation; return the hips'
    position.

    What head and hips miss together is divided between both, as without.
    """
    free, last, joint = not knows(i, rows, HIPS), figure.spine.shape[0] - 1, figure.settings[0]["chest"]
    hips, head, chest = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, CHEST)
    bent = not free
    if free and math.isfinite(chest[0]):
        bend_to(i, figure, rows, position, 0, joint, free, chest)
        bend_to(i, figure, rows, position, joint, last, False, head)
        bent = True
    elif math.isfinite(chest[0]):
        position = hips
        bend_to(i, figure, rows, position, 0, joint, False, chest)
    if not free:
        position = hips
    if bent:
        bend_to(i, figure, rows, position, 0, last, free, head)
    if knows(i, rows, HEAD):
        requested = quat_at(rows.target_orientations, i, HEAD)
        twist_spine(i, figure, rows, position, quat_at(rows.trunk, i, last), requested, True)
        goal = head if bent else vec_at(rows.spine, i, last)
        for k in range(TWISTS):
            bend_to(i, figure, rows, position, 0, last, False, goal)
            within, clamped = inside_limit(i, figure, rows, last, requested)
            if not clamped or k + 1 == TWISTS:
                break
            twist_spine(i, figure, rows, position, within, requested, False)
        rotate_head(i, figure, rows, requested)
    if bent:
        miss = sub(head, place_spine(i, figure, rows, position))
        position = add(position, scale(miss, hips_fraction(i, rows)))
    return position


@kernel
def next_joint(i: int, figure: Figure, rows: Rows, k: int, before: Vec3) -> Vec3:
    """Return the position [m] of joint k of the spine, from that of the joint before it."""
    return add(before, rotate(quat_at(rows.trunk, i, k - 1), vec_from(figure.spine[k]["offset"])))


@kernel
def place_spine(i: int, figure: Figure, rows: Rows, position: Vec3) -> Vec3:
    """Fill in `rows.spine`, with the hips at `position`; return the position of the head [m]."""
    p = position
    for k in range(figure.spine.shape[0]):
        if k > 0:
            p = next_joint(i, figure, rows, k, p)
        for c in range(3):
            rows.spine[i, k, c] = p[c]
    return p


@kernel
def bend_to(
    i: int, figure: Figure, rows: Rows, position: Vec3, first: int, last: int, free: bool, target: Vec3
) -> None:
    """Bring joint `last` of the spine to a target by the smallest rotations of the joints from `first` on, inside
    limits.

    Damped least squares: joint k, from which the end lies r_k away, rotates by r_k x (A^-1 e), with
    A = sum (|r_k|^2 - r_k r_k^T).
    The pelvis rotates too if it is `free`.
    """
    for _ in range(STEPS):
        place_spine(i, figure, rows, position)
        end = vec_at(rows.spine, i, last)
        e = sub(target, end)
        if norm(e) < EXACT:
            break
        xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(first, last):
            if bends_now(figure, k, free):
                r = sub(end, vec_at(rows.spine, i, k))
                xx, yy, zz = (
                    xx + r[1] * r[1] + r[2] * r[2],
                    yy + r[0] * r[0] + r[2] * r[2],
                    zz + r[0] * r[0] + r[1] * r[1],
                )
                xy, xz, yz = xy - r[0] * r[1], xz - r[0] * r[2], yz - r[1] * r[2]
        size = xx + yy + zz
        if size < 1e-12:  # no joint there can rotate
            break
        soft = (1e-6 + DAMPING * min(1.0, norm(e) / (DAMPED * math.sqrt(size)))) * size
        x = solve_symmetric(xx + soft, yy + soft, zz + soft, xy, xz, yz, e)
        rotation = (1.0, 0.0, 0.0, 0.0)
        for k in range(first, figure.spine.shape[0]):
            if k < last and bends_now(figure, k, free):
                w = cross(sub(end, vec_at(rows.spine, i, k)), x)
                rotation = mul(exp(scale(w, min(1.0, MAX_STEP / max(norm(w), 1e-12)))), rotation)
            set_quat(rows.trunk, i, k, mul(rotation, quat_at(rows.trunk, i, k)))
        clamp_spine(i, figure, rows)
    place_spine(i, figure, rows, position)


@kernel
def bends_now(figure: Figure, k: int, free: bool) -> bool:
    """Return whether a joint of the spine rotates as it bends to a target: one at the place of a `free` pelvis has no
    motion of its own; that of one whose orientation is known is all there is.
    """
    return bool(k > 0 and (figure.spine[k]["bends"] or not free)) or (k == 0 and free)


@kernel
def solve_symmetric(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float, e: Vec3) -> Vec3:
    """Return x of A x = e for a symmetric 3 x 3 matrix, by its cofactors."""
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, f, g = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    det = xx * a + xy * b + xz * c
    return (
        (a * e[0] + b * e[1] + c * e[2]) / det,
        (b * e[0] + d * e[1] + f * e[2]) / det,
        (c * e[0] + f * e[1] + g * e[2]) / det,
    )


@kernel
def inside_limit(i: int, figure: Figure, rows: Rows, k: int, world: Quat) -> tuple[Quat, bool]:
    """Return (an orientation of joint k of the spine inside its limit, whether it had to be brought there)."""
    spine = figure.spine[k]
    if spine["below"] < 0:
        return world, False
    carrier, limit = quat_at(rows.trunk, i, spine["below"]), figure.limits[spine["limit"]]
    local = mul(conj(carrier), world)
    if allowed(limit, figure.curves, local):
        return world, False
    return mul(carrier, clamp(limit, figure.curves, local)), True


@kernel
def clamp_spine(i: int, figure: Figure, rows: Rows) -> None:
    """Bring every joint of the spine inside its limits, from below; those above rotate with it."""
    rotation = (1.0, 0.0, 0.0, 0.0)
    for k in range(1, figure.spine.shape[0]):
        now = mul(rotation, quat_at(rows.trunk, i, k))
        fixed, clamped = inside_limit(i, figure, rows, k, now)
        if clamped:
            rotation = mul(mul(fixed, conj(now)), rotation)
        set_quat(rows.trunk, i, k, fixed)


@kernel
def twisted_at(arc_length: float) -> float:
    """Return the fraction of the head's twist that the spine has at an arc length: 0 at the hips, 2 at the head."""
    for k in range(1, len(TWISTED)):
        if arc_length < TWISTED_AT[k]:
            part = (arc_length - TWISTED_AT[k - 1]) / (TWISTED_AT[k] - TWISTED_AT[k - 1])
            return TWISTED[k - 1] + part * (TWISTED[k] - TWISTED[k - 1])
    return 1.0


@kernel
def twist_spine(i: int, figure: Figure, rows: Rows, position: Vec3, now: Quat, head: Quat, as_people: bool) -> None:
    """Distribute the twist of the head from an orientation to another among the joints of the spine that bend: as
    people do, the head keeping a part, or all of it equally. Each rotates about its line to the head, which stays where
    it is unless a limit is met.
    """
    last = figure.spine.shape[0] - 1
    end = place_spine(i, figure, rows, position)
    axis = unit(sub(end, vec_at(rows.spine, i, 0)))
    twist, before = twist_angle(mul(head, conj(now)), axis), 0.0
    rotation, p = (1.0, 0.0, 0.0, 0.0), position
    for k in range(last + 1):
        if k > 0:
            p = next_joint(i, figure, rows, k, p)
        if k < last and figure.spine[k]["bends"]:
            fraction = 1.0 / figure.settings[0]["bending"]
            if as_people:
                has = twisted_at(0.5 * (figure.spine[k]["arc_length"] + figure.spine[k + 1]["arc_length"]))
                fraction, before = has - before, has
            rotation = mul(axis_angle(unit(sub(end, p)), fraction * twist), rotation)
        set_quat(rows.trunk, i, k, mul(rotation, quat_at(rows.trunk, i, k)))
    clamp_spine(i, figure, rows)


@kernel
def rotate_head(i: int, figure: Figure, rows: Rows, head: Quat) -> None:
    """Rotate the head alone to an orientation, as far as its limits allow."""
    last = figure.spine.shape[0] - 1
    fixed, _ = inside_limit(i, figure, rows, last, head)
    set_quat(rows.trunk, i, last, fixed)


@kernel
def clavicle_to(figure: Figure, side: int, carrier: Quat, chest: Vec3, shoulder: Vec3) -> Quat:
    """Return a clavicle rotated towards a shoulder that is known, by the smallest rotation inside its limits."""
    stance = figure.stance[0]
    b = rotate(carrier, vec_of(stance["clavicles_to_arms"], side))
    goal = sub(shoulder, add(chest, rotate(carrier, vec_of(stance["chest_to_clavicles"], side))))
    if norm(b) < 1e-9 or norm(goal) < 1e-9:
        return carrier
    rotation = log(between(unit(b), unit(goal)))
    rotation = scale(rotation, min(1.0, MAX_CLAVICLE / max(norm(rotation), 1e-12)))
    return inside_clavicle(figure, side, carrier, exp(rotation))


@kernel
def inside_clavicle(figure: Figure, side: int, carrier: Quat, rotation: Quat) -> Quat:
    """Return a clavicle rotated against its carrier, inside its limits."""
    row = figure.settings[0]["clavicle_limits"][side]
    if row < 0:
        return mul(rotation, carrier)
    local = mul(mul(conj(carrier), rotation), carrier)
    if not allowed(figure.limits[row], figure.curves, local):
        local = clamp(figure.limits[row], figure.curves, local)
    return mul(carrier, local)


@kernel
def clavicle(figure: Figure, side: int, carrier: Quat, chest: Vec3, wrist: Vec3) -> Quat:
    """Return a clavicle rotated towards a wrist that its arm cannot reach: Algorithm 4, from neutral in every frame."""
    stance = figure.stance[0]
    b = rotate(carrier, vec_of(stance["clavicles_to_arms"], side))
    joint = add(chest, rotate(carrier, vec_of(stance["chest_to_clavicles"], side)))
    away, reach = norm(sub(wrist, add(joint, b))), stance["arm_lengths"][side]
    c, d = norm(b), norm(sub(wrist, joint))
    if away <= reach or c < 1e-9 or d < 1e-9:
        return carrier
    theta1 = math.acos(min(1.0, max(-1.0, (c * c + d * d - reach * reach) / (2.0 * c * d))))
    theta2 = math.acos(min(1.0, max(-1.0, (c * c + d * d - away * away) / (2.0 * c * d))))
    axis = cross(b, sub(wrist, joint))
    if norm(axis) < 1e-12 * c * d:
        return carrier
    rotation = axis_angle(unit(axis), min(max(theta2 - theta1, 0.0), MAX_CLAVICLE))
    return inside_clavicle(figure, side, carrier, rotation)


@kernel
def pose_trunk_by_paper(i: int, t: int, figure: Figure, rows: Rows, memory: Records, estimate: Quat, y: Vec3) -> Vec3:
    """Do as `pose_trunk` with the paper's spine to the letter, which continues from that of the frame before
    (Algorithms 2 and 3).

    It bends in the plane of the line from pelvis to head before and now; by steps of 0.1 rad until it is too short (or
    too long), then of 0.01 rad back. The paper's loops do not always end: the plane turns over when the head comes
    back, and bending straightens the spine then; here each has at most `MAX_PAPER_STEPS`, and a search that ends
    without its length starts again from the neutral posture (specification reconstruct, 5, no. 6).
    """
    goal = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS))
    chord = shape_by_paper(i, t, figure, rows, memory, goal)
    if memory.shape[0] > 0:
        for k in range(figure.spine.shape[0]):
            put_quat(memory[t]["bends"], k, quat_at(rows.trunk, i, k))
    position = place_trunk(i, t, figure, rows, memory, 0.0, estimate, y, chord)
    if memory.shape[0] > 0:
        state, pelvis = memory[t], quat_at(rows.trunk, i, 0)
        world = rotate(pelvis, chord)
        for c in range(4):
            state["paper_pelvis"][c] = pelvis[c]
        for c in range(3):
            state["paper_chord"][c] = world[c]
    return position


@kernel
def shape_by_paper(i: int, t: int, figure: Figure, rows: Rows, memory: Records, goal: Vec3) -> Vec3:
    """Fill in the spine's orientations in the pelvis' frame in `rows.trunk`; return the chord from hips to head there
    [m].
    """
    out, length, neutral = rows.trunk, norm(goal), figure.settings[0]["neutral_chord"]
    if length >= neutral:
        return shape_spine(i, figure, length, out)
    began = memory.shape[0] > 0 and norm(vec_from(memory[t]["paper_chord"])) > 0.0
    straighten_spine(i, figure, rows)
    if began:
        for k in range(figure.spine.shape[0]):
            set_quat(out, i, k, quat_of(memory[t]["bends"], k))
    now = norm(chord_of(i, figure, rows))
    if now > neutral:
        straighten_spine(i, figure, rows)
        now = neutral
    normal = (1.0, 0.0, 0.0)
    if began:
        normal = vec_from(memory[t]["paper_normal"])
        n = unit(cross(vec_from(memory[t]["paper_chord"]), goal))
        if norm(n) > 0.5:
            normal = rotate_inverse(quat_from(memory[t]["paper_pelvis"]), n)
    if memory.shape[0] > 0:
        for c in range(3):
            memory[t]["paper_normal"][c] = normal[c]
    now = search_length(i, figure, rows, normal, now, length)
    if abs(now - length) > LOST * length:  # the loops did not end: from the neutral posture they do
        straighten_spine(i, figure, rows)
        search_length(i, figure, rows, normal, neutral, length)
    return chord_of(i, figure, rows)


@kernel
def straighten_spine(i: int, figure: Figure, rows: Rows) -> None:
    """Make the spine in the pelvis' frame the neutral one."""
    for k in range(figure.spine.shape[0]):
        set_quat(rows.trunk, i, k, (1.0, 0.0, 0.0, 0.0))


@kernel
def search_length(i: int, figure: Figure, rows: Rows, normal: Vec3, now: float, length: float) -> float:
    """Bend the spine about `normal` until its chord has a length [m]: Algorithm 3; return the length it has."""
    sign = 1.0 if now > length else -1.0
    for _ in range(MAX_PAPER_STEPS):
        if sign * now <= sign * length:
            break
        now = bend_all(i, figure, rows, normal, sign * COARSE)
    for _ in range(MAX_PAPER_STEPS):
        if sign * now >= sign * length:
            break
        now = bend_all(i, figure, rows, normal, -sign * FINE)
    return now


@kernel
def chord_of(i: int, figure: Figure, rows: Rows) -> Vec3:
    """Return the displacement from hips to head [m] in the pelvis' frame."""
    chord = (0.0, 0.0, 0.0)
    for k in range(1, figure.spine.shape[0]):
        chord = next_joint(i, figure, rows, k, chord)
    return chord


@kernel
def bend_all(i: int, figure: Figure, rows: Rows, normal: Vec3, phi: float) -> float:
    """Bend every joint by its part of a step phi [rad] of the pelvis, inside the limits; return the length then [m]."""
    angle, step = 0.0, bend_step(figure, phi)
    for k in range(figure.spine.shape[0]):
        angle += step * figure.spine[k]["bends"]
        set_quat(rows.trunk, i, k, mul(axis_angle(normal, angle), quat_at(rows.trunk, i, k)))
    clamp_spine(i, figure, rows)
    return norm(chord_of(i, figure, rows))

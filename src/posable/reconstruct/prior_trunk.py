"""The trunk and the guesses of the limbs that a learned prior predicts, in compiled code.

The spine takes the network's rotations, then its segments rotate towards their chord or away from it until hips and
head are as far apart as their points, then the whole by the smallest rotation (specification reconstruct, 7.1). Limits,
known orientations and the clavicles follow as without a prior.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import angle_between, axis_angle, between, exp, log, mul, rotate, slerp
from ..math.vector import add, any_perpendicular, cross, dot, lerp, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, quat_from, set_quat, vec_at
from .packed import (
    HEAD,
    HIPS,
    LEFT_ELBOW,
    LEFT_FOOT,
    LEFT_HAND,
    SAID,
    SLOTS,
    Figure,
    Rows,
    given,
    given_orientation,
    hips_fraction,
    knows,
    quat_of,
    set_vec,
    vec_from,
    vec_of,
)
from .prior_fade import fade
from .prior_kernels import CHAIN, PREDICTED, Network, evaluate, fit_said, frame_of_known, predicted, write_features
from .prior_layout import AXES, BENDS, END_POSITIONS, ENDS, ERRORS, MIDS, TO_HEAD
from .spine import about_y, bend_to, clamp_spine, finish_trunk, place_spine
from .track_state import CALM, LATE_NOW, RETURN, catches_up, hurry, left_of, trunk_is_hidden

SEARCHES, EXACT, MET = 32, 1e-12, 1e-9  # steps for the spine's length; [m]
MOST_BENT = 16.0  # the square of how many times the network's bend a spine is bent by at most
IN_REACH = 1.0 - 3e-5  # of a leg: bending the spine to the head rotates the pelvis a little more
NEARLY_TAUT = 0.998  # of the longest chord
TILTS, MOST_TILT = 24, 0.3  # of the pelvis, towards feet that are out of reach: steps; [rad]
LEAST_CHORD = 0.2  # of the longest one: heads that are estimated are no nearer to the hips
FOLLOW = 0.2  # [s] in which what was lost follows the network by 1 - 1/e
FASTEST = 3.0  # [joint heights a second] of points that are estimated
PULLS, FITS = 8, 3  # steps of estimated hips towards feet; times that the spine follows
SLOW, SURE = 3.0, 0.005  # [s] in which what it says is followed, for each height of expected error beyond so much
SLOW_LOST = 1.2  # [s] the same while points are lost
QUICK = 2.0  # [heights/s], [rad/s]: what is followed at that rate is followed in half of it
ROTATED = 6  # joints of the spine above the hips that it knows
TRUNK = ((AXES, 2), (BENDS, 6), (TO_HEAD, 1))
"""First numbers and count of the vectors that the network says of the trunk."""
WORLD = ((AXES, 2), (MIDS, 4), (TO_HEAD, 5))
"""First numbers and count of the vectors that the network says in the frame."""


@kernel
def learned(net: Network) -> bool:
    """Return whether there is a network."""
    return bool(net.sizes.shape[0] > 0)


@kernel
def no_guess(i: int, rows: Rows) -> None:
    """Mark row i as one without guesses."""
    for limb in range(4 if rows.guess.shape[0] > 0 else 0):
        rows.guess[i, limb, 0] = math.nan


@kernel
def predict_trunk(
    i: int, t: int, net: Network, figure: Figure, memory: Records, dt: float, rows: Rows
) -> tuple[Vec3, Vec3]:
    """Fill in missing ends in `rows.goals`, `rows.trunk` and `rows.guess`; return (position of the hips [m], X of the
    pelvis). One of hips and head is known.
    """
    work, before = rows.work[t], (0.0, 0.0, 0.0)
    if memory.shape[0] > 0:
        before = vec_from(memory[t]["shown_heading"])
    x, y, shown = frame_of_known(i, figure, rows, before)
    write_features(i, t, net, figure, memory, rows, x, y, work)
    evaluate(net, work)
    fit_said(net, work)
    fade(i, t, net, figure, memory, dt, before, rows, x, y, work)
    if memory.shape[0] > 0 and dt > 0.0:
        ease_changes(i, t, figure, x, y, memory, dt, rows, work)
    chain_bends(work)
    complete_trunk(i, t, figure, memory, dt, rows, x, y, work)
    for _ in range(FITS):
        orient_trunk(i, t, net, figure, memory, dt, rows, x, y, work)
        if given(i, rows, HIPS) or not pull_hips(i, t, figure, memory, dt, rows):
            break
    complete_limbs(i, t, figure, memory, dt, rows, x, y, work)
    guess_limbs(i, figure, rows, x, y, work)
    if not knows(i, rows, HIPS):
        tilt_to_feet(i, figure, rows)
    if memory.shape[0] > 0 and dt > 0.0:
        remember_ends(i, t, figure, memory, rows)
    position, heading = settle_trunk(i, t, figure, memory, dt, rows)
    if memory.shape[0] > 0 and (shown or norm(before) < 0.5):
        for c in range(3):
            memory[t]["shown_heading"][c] = heading[c]
    return position, heading


@kernel
def ease_changes(
    i: int, t: int, figure: Figure, x: Vec3, y: Vec3, memory: Records, dt: float, rows: Rows, work: Floats
) -> None:
    """Where what is known has changed, go over from what the network said before, so that nothing jumps; and follow
    what it says the more slowly the larger the errors are that it expects.
    """
    state, z = memory[t], cross(x, y)
    said, gaps, since = state["said"], state["said_gaps"], state["since_change"]
    error, first = math.exp(min(work[PREDICTED + ERRORS], 0.0)), not math.isfinite(said[0])
    to_world(x, y, work)
    if not first and trunk_is_hidden(i, figure, rows):
        hold_trunk(said, work)
    if since < RETURN and not first:
        left = left_of(min((since + dt) / RETURN, 1.0))
        for k in range(SAID):
            if since == 0.0:
                gaps[k] = said[k] - work[PREDICTED + k]
            work[PREDICTED + k] += left * gaps[k]
    if not first and error > SURE:
        if sees_all(i, figure, rows):
            follow_calmly(said, SLOW * (error - SURE), dt, QUICK, work)
        else:
            follow_calmly(said, SLOW_LOST * (error - SURE), dt, math.inf, work)
    for k in range(SAID):
        said[k] = work[PREDICTED + k]
    to_world((x[0], y[0], z[0]), (x[1], y[1], z[1]), work)


@kernel
def hold_trunk(said: Floats, work: Floats) -> None:
    """Let what the network says of pelvis, spine and head stay what it said before, in the world."""
    for part in range(len(TRUNK)):
        for k in range(TRUNK[part][0], TRUNK[part][0] + 3 * TRUNK[part][1]):
            work[PREDICTED + k] = said[k]


@kernel
def sees_all(i: int, figure: Figure, rows: Rows) -> bool:
    """Return whether every tracked point is seen in row i: what the body itself holds on to shows no motion."""
    for k in range(SLOTS):
        if figure.tracked[0, k] >= 0 and not vec_in_extent(vec_at(rows.points, i, figure.tracked[0, k])):
            return False
    return True


@kernel
def follow_calmly(said: Floats, seconds: float, dt: float, quick: float, work: Floats) -> None:
    """Let each vector follow what the network says of it within so many seconds, in half of that at a rate `quick`."""
    for n in range(SAID // 3):
        at = PREDICTED + 3 * n
        before = (said[3 * n], said[3 * n + 1], said[3 * n + 2])
        now = (work[at], work[at + 1], work[at + 2])
        rate = norm(sub(now, before)) / (quick * dt)
        now = lerp(now, before, math.exp(-dt * (1.0 + rate) / seconds))
        work[at], work[at + 1], work[at + 2] = now[0], now[1], now[2]


@kernel
def to_world(x: Vec3, y: Vec3, work: Floats) -> None:
    """Rotate the vectors that the network says from the frame (x, y) into the world."""
    for part in range(len(WORLD)):
        for n in range(WORLD[part][1]):
            at = PREDICTED + WORLD[part][0] + 3 * n
            v = in_frame(x, y, (work[at], work[at + 1], work[at + 2]))
            work[at], work[at + 1], work[at + 2] = v[0], v[1], v[2]


@kernel
def remember_ends(i: int, t: int, figure: Figure, memory: Records, rows: Rows) -> None:
    """Store where the ends are, as if the network had said it."""
    said, size, hips = memory[t]["said"], 1.0 / figure.stance[0]["joint_height"], vec_at(rows.goals, i, HIPS)
    for n in range(5):
        v = scale(sub(vec_at(rows.goals, i, HEAD + n), hips), size)
        for c in range(3):
            said[TO_HEAD + 3 * n + c] = v[c]


@kernel
def follow(i: int, t: int, k: int, goal: Vec3, memory: Records, dt: float, rows: Rows) -> Vec3:
    """Return where a point goes that is not given: to where the network has it; slowly if it was bridged so far."""
    before = vec_at(rows.goals, i, k)
    if memory.shape[0] == 0 or not math.isfinite(before[0] + before[1] + before[2]):
        return goal
    return lerp(before, goal, 1.0 - math.exp(-dt / FOLLOW))


@kernel
def hold_back(i: int, t: int, k: int, figure: Figure, memory: Records, dt: float, rows: Rows) -> None:
    """Let a point that is estimated move no faster than `FASTEST` from the hips, or hips from the head."""
    if memory.shape[0] == 0 or dt <= 0.0:
        return
    by, goals = HEAD if k == HIPS else HIPS, memory[t]["goals"]
    along = sub(vec_at(rows.goals, i, by), vec_of(goals, by))
    before, now = add(vec_of(goals, k), along), vec_at(rows.goals, i, k)
    away, most = norm(sub(now, before)), FASTEST * figure.stance[0]["joint_height"] * dt
    if away > most:  # false where there is none before
        set_vec(rows.goals, i, k, lerp(before, now, most / away))


@kernel
def complete_trunk(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, x: Vec3, y: Vec3, work: Floats
) -> None:
    """Fill in hips or head where they are not given; lost orientations of them follow the network."""
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    chord = follow_chord(i, t, figure, memory, dt, rows, x, y, work)
    if given(i, rows, HIPS):
        set_vec(rows.goals, i, HEAD, add(hips, chord))
    else:
        set_vec(rows.goals, i, HIPS, sub(head, chord))
    estimate = pelvis_said(x, y, work)
    for k in range(2):
        if knows(i, rows, k) and not given_orientation(i, rows, k):
            said = estimate if k == HIPS else mul(estimate, bend_of(work, ROTATED))
            bridged = quat_at(rows.target_orientations, i, k)
            slower = slerp(bridged, said, 1.0 - math.exp(-dt / FOLLOW))
            set_quat(rows.target_orientations, i, k, calm_step(t, figure, memory, dt, bridged, slower))


@kernel
def follow_chord(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, x: Vec3, y: Vec3, work: Floats
) -> Vec3:
    """Return the displacement [m] from hips to head: as it is given, or as the network says it, slowly from where it
    was bridged to. While that changes it rotates rather than collapse, no faster than a pelvis.
    """
    chord, longest = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS)), figure.settings[0]["longest_chord"]
    least, both, tracking = LEAST_CHORD * longest, given(i, rows, HIPS) and given(i, rows, HEAD), memory.shape[0] > 0
    tracking = tracking and dt > 0.0
    if both:
        return chord
    bridged, said = chord, scale(in_frame(x, y, predicted(work, TO_HEAD)), figure.stance[0]["joint_height"])
    chord = within(said, least, longest)
    if tracking and math.isfinite(bridged[0] + bridged[1] + bridged[2]):
        chord = rotated_towards(within(bridged, least, longest), chord, 1.0 - math.exp(-dt / FOLLOW), math.inf)
    if tracking:
        before = sub(vec_of(memory[t]["goals"], HEAD), vec_of(memory[t]["goals"], HIPS))
        most = trunk_rate(t, figure, memory) * dt
        if norm(before) > 1e-9 and norm(chord) > 1e-9 and angle_of(before, chord) > most:  # false where none was before
            chord = rotated_towards(within(before, least, longest), within(chord, least, longest), 1.0, most)
            if catches_up(t, memory):
                memory[t]["late"] = LATE_NOW
    return chord


@kernel
def angle_of(a: Vec3, b: Vec3) -> float:
    """Return the angle between two vectors [rad]."""
    return math.atan2(norm(cross(a, b)), dot(a, b))


@kernel
def trunk_rate(t: int, figure: Figure, memory: Records) -> float:
    """Return how fast pelvis and head may be rotated by what is estimated [rad/s]."""
    rate = float(figure.settings[0]["pelvis_rate"])
    return min(CALM * hurry(memory[t]["since_change"]), rate) if catches_up(t, memory) else rate


@kernel
def calm_step(t: int, figure: Figure, memory: Records, dt: float, before: Quat, now: Quat) -> Quat:
    """Return an orientation that has rotated from one before no faster than that."""
    most = trunk_rate(t, figure, memory) * dt
    if not math.isfinite(before[0]) or angle_between(before, now) <= most:
        return now
    if catches_up(t, memory):
        memory[t]["late"] = LATE_NOW
    return slerp(before, now, most / angle_between(before, now))


@kernel
def rotated_towards(v: Vec3, to: Vec3, fraction: float, most: float) -> Vec3:
    """Return a vector that a fraction of the rotation and of the stretch to another one has led to, by `most` [rad] at
    most.
    """
    axis = cross(v, to)
    angle = angle_of(v, to)
    axis = unit(axis) if norm(axis) > 1e-9 * norm(v) * norm(to) else any_perpendicular(unit(v))
    length = norm(v) + fraction * (norm(to) - norm(v))
    return scale(unit(rotate(axis_angle(axis, min(fraction * angle, most)), v)), length)


@kernel
def within(v: Vec3, least: float, most: float) -> Vec3:
    """Return a vector with a length [m] between two others."""
    size = norm(v)
    if size < 1e-9:
        return (0.0, least, 0.0)
    return scale(v, min(max(size, least), IN_REACH * most) / size)


@kernel
def pull_hips(i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows) -> bool:
    """Move hips that are not given until legs reach the feet that are; return whether they moved."""
    stance, pelvis = figure.stance[0], quat_at(rows.trunk, i, 0)
    hips, head, moved = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD), False
    for _ in range(PULLS):
        far = 0.0
        for side in range(2):
            if given(i, rows, LEFT_FOOT + side):
                base = add(hips, rotate(pelvis, vec_of(stance["hips_to_legs"], side)))
                leg = sub(vec_at(rows.goals, i, LEFT_FOOT + side), base)
                beyond = norm(leg) - IN_REACH * stance["leg_lengths"][side]
                if beyond > 0.0:
                    hips, far = add(hips, scale(unit(leg), beyond)), max(far, beyond)
        if given(i, rows, HEAD):
            longest = figure.settings[0]["longest_chord"]
            hips = sub(head, within(sub(head, hips), LEAST_CHORD * longest, longest))
        moved = moved or far > MET
        if far <= MET:
            break
    set_vec(rows.goals, i, HIPS, hips)
    hold_back(i, t, HIPS, figure, memory, dt, rows)
    return moved


@kernel
def complete_limbs(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, x: Vec3, y: Vec3, work: Floats
) -> None:
    """Fill in hands and feet that are not given, feet above the floor; elbows and knees that were lost follow."""
    hips, tall = vec_at(rows.goals, i, HIPS), figure.stance[0]["joint_height"]
    for limb in range(4):
        slot = LEFT_HAND + limb
        if not given(i, rows, slot):
            goal = add(hips, scale(in_frame(x, y, predicted(work, END_POSITIONS + 3 * limb)), tall))
            goal = follow(i, t, slot, goal, memory, dt, rows)
            if limb >= 2:
                floor = figure.settings[0]["floor"] + figure.soles[limb - 2]["depth"]
                goal = (goal[0], max(goal[1], min(floor, hips[1])), goal[2])
            set_vec(rows.goals, i, slot, goal)
            hold_back(i, t, slot, figure, memory, dt, rows)
        slot = LEFT_ELBOW + limb
        if not given(i, rows, slot) and math.isfinite(rows.goals[i, slot, 0]):
            goal = add(hips, scale(in_frame(x, y, predicted(work, MIDS + 3 * limb)), tall))
            set_vec(rows.goals, i, slot, follow(i, t, slot, goal, memory, dt, rows))


@kernel
def tilt_to_feet(i: int, figure: Figure, rows: Rows) -> None:
    """Tilt the pelvis, as little as needed and not far, towards feet that are out of reach, as people do.

    The network only guesses the pelvis' orientation; whether a leg reaches its foot is certain. The spine follows in
    `settle_trunk`.
    """
    stance = figure.stance[0]
    hips, pelvis, tilt = vec_at(rows.goals, i, HIPS), quat_at(rows.trunk, i, 0), (1.0, 0.0, 0.0, 0.0)
    for _ in range(TILTS):
        displacement, total = (0.0, 0.0, 0.0), 0.0
        for k in range(2):
            if not given(i, rows, LEFT_FOOT + k):
                continue
            foot = sub(vec_at(rows.goals, i, LEFT_FOOT + k), hips)
            base, leg = (
                rotate(mul(tilt, pelvis), vec_of(stance["hips_to_legs"], k)),
                IN_REACH * stance["leg_lengths"][k],
            )
            size, axis = norm(foot) * norm(base), cross(base, foot)
            needed = 0.5 * (dot(foot, foot) + dot(base, base) - leg * leg)
            if needed > dot(base, foot) and norm(axis) > 1e-9 * size:
                angle = math.atan2(norm(axis), dot(base, foot)) - math.acos(min(needed / size, 1.0))
                displacement, total = add(displacement, scale(unit(axis), angle * angle)), total + angle
        if total < 1e-12:
            break
        # Neither side comes first, and one whose foot is in reach has no weight.
        tilt = mul(exp(scale(displacement, 1.0 / total)), tilt)
    displacement = log(tilt)
    if norm(displacement) > 0.0:
        set_quat(rows.trunk, i, 0, mul(exp(scale(displacement, min(1.0, MOST_TILT / norm(displacement)))), pelvis))


@kernel
def in_frame(x: Vec3, y: Vec3, v: Vec3) -> Vec3:
    """Return a vector of the frame (x, y), in the world."""
    z = cross(x, y)
    return (
        x[0] * v[0] + y[0] * v[1] + z[0] * v[2],
        x[1] * v[0] + y[1] * v[1] + z[1] * v[2],
        x[2] * v[0] + y[2] * v[1] + z[2] * v[2],
    )


@kernel
def pelvis_said(x: Vec3, y: Vec3, work: Floats) -> Quat:
    """Return the pelvis' orientation as the network says, in the world."""
    return pelvis_of(in_frame(x, y, predicted(work, AXES)), in_frame(x, y, predicted(work, AXES + 3)))


@kernel
def pelvis_of(side: Vec3, up: Vec3) -> Quat:
    """Return the orientation whose X is along `side`, and whose Y is as near to `up` as that allows."""
    x = unit(side)
    y = unit(reject(up, x))
    if norm(x) < 0.5 or norm(y) < 0.5:
        x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    return mul(between((0.0, 1.0, 0.0), y), about_y(x, y))


@kernel
def orient_trunk(
    i: int,
    t: int,
    net: Network,
    figure: Figure,
    memory: Records,
    dt: float,
    rows: Rows,
    x: Vec3,
    y: Vec3,
    work: Floats,
) -> None:
    """Fill in pelvis and spine by the network, rotated as a whole by the smallest rotation that aims at the head. In a
    track the pelvis rotates no faster than pelvises do.

    The nearer the distance from hips to head is to the longest chord, the more of the straightest spine is taken.
    """
    out, count = rows.trunk, figure.spine.shape[0]
    estimate = pelvis_said(x, y, work)
    to_head = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS))
    y = unit(to_head) if norm(to_head) > 0.0 else y
    longest = figure.settings[0]["longest_chord"]
    length = min(norm(to_head), longest)
    slack = (longest - length) / ((1.0 - NEARLY_TAUT) * longest)
    taut = 1.0 - math.sqrt(max(slack, 0.0))  # chords shorten by the squares of angles
    for k in range(count):
        joint = net.spine[k]
        below = bend_of(work, joint["low"])
        if joint["fraction"] > 0.0:
            below = slerp(below, bend_of(work, joint["high"]), joint["fraction"])
        if taut > 0.0 and k > 0:
            below = slerp(below, quat_from(joint["straight"]), taut)
        set_quat(out, i, k, below)
    chord = fit_length(i, figure, rows, length)
    pelvis = mul(between(rotate(estimate, chord), y), estimate)
    if memory.shape[0] > 0 and dt > 0.0:
        calm = calm_step(t, figure, memory, dt, quat_of(memory[t]["orientations"], HIPS), pelvis)
        if calm != pelvis:
            pelvis = mul(between(rotate(calm, chord), y), calm)
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
    for k in range(count):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))


@kernel
def fit_length(i: int, figure: Figure, rows: Rows, length: float) -> Vec3:
    """Rotate the segments of a spine in the pelvis' frame towards its chord, or away from it, each by the same fraction
    s of its angle (-3 to 1), until the chord has a length [m]; return the chord.

    The length falls nearly evenly with u = (1 - s)^2, so Newton's method in that finds it within a few steps.
    """
    out, last = rows.trunk, figure.spine.shape[0] - 1
    chord, change, above = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for k in range(last):
        chord = add(chord, rotate(quat_at(out, i, k), vec_from(figure.spine[k + 1]["offset"])))
    for k in range(1, last):
        step = rotate(quat_at(out, i, k), vec_from(figure.spine[k + 1]["offset"]))
        displacement = displacement_between(step, chord)
        set_vec(rows.spine, i, k, displacement)
        change, above = add(change, cross(displacement, step)), above + norm(step)
    value, u, low, high = norm(chord) - length, 1.0, 1.0, math.inf
    if value < 0.0:
        first = rotate(quat_at(out, i, 0), vec_from(figure.spine[1]["offset"]))
        if norm(add(first, scale(unit(chord), above))) <= length:
            return straighten(i, figure, rows, first, above, chord, length)
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
        chord, change = chord_when(i, figure, rows, 1.0 - math.sqrt(u))
        value = norm(chord) - length
    rotation = (1.0, 0.0, 0.0, 0.0)
    for k in range(1, last + 1):
        if k < last:
            rotation = exp(scale(vec_at(rows.spine, i, k), 1.0 - math.sqrt(u)))
        set_quat(out, i, k, mul(rotation, quat_at(out, i, k)))
    return chord


@kernel
def displacement_between(a: Vec3, b: Vec3) -> Vec3:
    """Return the rotation vector of the smallest rotation of the direction of a to that of b."""
    axis, cosine = cross(a, b), dot(a, b)
    sine = norm(axis)
    if sine <= 1e-6 * abs(cosine):  # the cross product has lost its digits, or a half turn has no axis
        return log(between(a, b))
    return scale(axis, math.atan2(sine, cosine) / sine)


@kernel
def chord_when(i: int, figure: Figure, rows: Rows, fraction: float) -> tuple[Vec3, Vec3]:
    """Return (hips to head [m] with the segments above the first rotated by a fraction of the rotation vectors in
    `rows.spine`, its derivative by the fraction).
    """
    chord, change = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(figure.spine.shape[0] - 1):
        step = rotate(quat_at(rows.trunk, i, k), vec_from(figure.spine[k + 1]["offset"]))
        if k > 0:
            displacement = vec_at(rows.spine, i, k)  # perpendicular to the step
            angle = norm(displacement)
            sine = math.sin(fraction * angle) / angle if angle > 0.0 else fraction
            step = add(scale(step, math.cos(fraction * angle)), scale(cross(displacement, step), sine))
            change = add(change, cross(displacement, step))
        chord = add(chord, step)
    return chord, change


@kernel
def straighten(i: int, figure: Figure, rows: Rows, first: Vec3, above: float, chord: Vec3, length: float) -> Vec3:
    """Make a spine straight above its first segment, which is rigid with the pelvis, and bend it there as little as
    needed for its chord to have a length [m]; return the chord.
    """
    size = norm(first)
    along = unit(chord)
    if size > 1e-9:
        cosine = (length * length - size * size - above * above) / (2.0 * size * above)
        cosine = min(max(cosine, -1.0), 1.0)
        axis = scale(first, 1.0 / size)
        along = add(scale(axis, cosine), scale(unit(reject(along, axis)), math.sqrt(1.0 - cosine * cosine)))
    rotation, last = (1.0, 0.0, 0.0, 0.0), figure.spine.shape[0] - 1
    for k in range(1, last + 1):
        now = quat_at(rows.trunk, i, k)
        if k < last:
            rotation = between(rotate(now, vec_from(figure.spine[k + 1]["offset"])), along)
        set_quat(rows.trunk, i, k, mul(rotation, now))
    return add(first, scale(along, above))


@kernel
def chain_bends(work: Floats) -> None:
    """Fill in the orientations of the network's spine in the pelvis' frame, from the hips up."""
    q = (1.0, 0.0, 0.0, 0.0)
    for k in range(ROTATED + 1):
        if k > 0:
            q = mul(q, exp(predicted(work, BENDS + 3 * (k - 1))))
        for c in range(4):
            work[CHAIN + 4 * k + c] = q[c]


@kernel
def bend_of(work: Floats, joint: int) -> Quat:
    """Return one of them; 0 is the hips."""
    at = CHAIN + 4 * joint
    return (work[at], work[at + 1], work[at + 2], work[at + 3])


@kernel
def settle_trunk(i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows) -> tuple[Vec3, Vec3]:
    """Bring the trunk inside its limits, head and hips to their points, then rotate it to known orientations and add
    clavicles; return (position of the hips [m], X of the pelvis).

    Where limits have bent the spine, it is bent to the head again, unless that is too far: hips and head then divide
    the error, or the one that is not given has it.
    """
    position, head, last = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD), figure.spine.shape[0] - 1
    clamp_spine(i, figure, rows)
    if not knows(i, rows, HIPS):
        miss = norm(sub(head, place_spine(i, figure, rows, position)))
        if miss > MET and norm(sub(head, position)) < figure.settings[0]["longest_chord"]:
            bend_to(i, figure, rows, position, 0, last, True, head)
        position = add(position, scale(sub(head, vec_at(rows.spine, i, last)), hips_fraction(i, rows)))
    position = finish_trunk(i, t, figure, rows, memory, dt, position)
    if given(i, rows, HEAD) and not given(i, rows, HIPS):
        position = add(position, sub(head, place_spine(i, figure, rows, position)))
    return position, rotate(quat_at(rows.trunk, i, 0), (1.0, 0.0, 0.0))


@kernel
def guess_limbs(i: int, figure: Figure, rows: Rows, x: Vec3, y: Vec3, work: Floats) -> None:
    """Fill in the positions of elbows and knees and the orientations of hands and feet in `rows.guess`."""
    hips = vec_at(rows.goals, i, HIPS)
    for limb in range(4):
        mid = add(hips, scale(in_frame(x, y, predicted(work, MIDS + 3 * limb)), figure.stance[0]["joint_height"]))
        rotation = exp(predicted(work, ENDS + 3 * limb))
        for c in range(3):
            rows.guess[i, limb, c] = mid[c]
        for c in range(4):
            rows.guess[i, limb, 3 + c] = rotation[c]

"""The trunk, the missing ends and the guesses of the limbs that a learned prior predicts, in compiled code.

The spine takes the network's rotations, then its segments rotate towards their chord or away from it until hips and
head are as far apart as their points (`prior_spine`), then the whole by the smallest rotation (specification
reconstruct, 7.1). Limits, known orientations and the clavicles follow as without a prior. What is estimated follows
what the network says over time as `prior_follow` has it.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Records, Vec3
from ..math.quaternion import between, exp, log, mul, rotate, slerp
from ..math.vector import add, cross, dot, norm, scale, sub, unit
from ..skeleton.forward import quat_at, quat_from, set_quat, vec_at
from .packed import (
    HEAD,
    HIPS,
    LEFT_ELBOW,
    LEFT_FOOT,
    LEFT_HAND,
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
from .planting import plant_feet
from .prior_fade import fade
from .prior_follow import (
    FOLLOW,
    IN_REACH,
    LEAST_CHORD,
    calm_step,
    ease_changes,
    follow,
    follow_chord,
    hold_back,
    remember_ends,
    within,
)
from .prior_kernels import (
    ANSWERED,
    ASK,
    WHOLE,
    Network,
    Prediction,
    evaluate,
    fit_said,
    frame_of_known,
    join_sides,
    predicted,
    split_sides,
    write_features,
)
from .prior_layout import END_POSITIONS, ENDS, MIDS
from .prior_spine import ROTATED, bend_of, chain_bends, fit_length, pelvis_said, said_in_world
from .spine import bend_to, clamp_spine, finish_trunk, place_spine

MET = 1e-9  # [m]
NEARLY_TAUT = 0.998  # of the longest chord
TILTS, MOST_TILT = 24, 0.3  # of the pelvis, towards feet that are out of reach: steps; [rad]
PULLS, FITS = 8, 3  # steps of estimated hips towards feet; times that the spine follows


@kernel
def predict_trunk(
    i: int, t: int, net: Network, figure: Figure, memory: Records, dt: float, stage: int, rows: Rows
) -> tuple[Vec3, Vec3]:
    """Fill in missing ends in `rows.goals`, `rows.trunk` and `rows.guess`; return (position of the hips [m], X of the
    pelvis). One of hips and head is known. `stage`: `prior_kernels.WHOLE`, or ASK and then ANSWERED.
    """
    before = (0.0, 0.0, 0.0)
    if memory.shape[0] > 0:
        before = vec_from(memory[t]["shown_heading"])
    x, y, shown = frame_of_known(i, figure, rows, before)
    prediction = Prediction(x, y, rows.work[t])
    if stage != ANSWERED:
        write_features(i, t, net, figure, memory, rows, prediction)
    if stage == ASK:
        split_sides(net, prediction.work)
        return y, x
    if stage == WHOLE:
        evaluate(net, prediction.work)
    else:
        join_sides(net, prediction.work)
    fit_said(net, prediction.work)
    fade(i, t, net, figure, memory, dt, before, rows, prediction)
    if memory.shape[0] > 0 and dt > 0.0:
        ease_changes(i, t, figure, memory, dt, rows, prediction)
    chain_bends(prediction.work)
    complete_trunk(i, t, figure, memory, dt, rows, prediction)
    for _ in range(FITS):
        orient_trunk(i, t, net, figure, memory, dt, rows, prediction)
        if given(i, rows, HIPS) or not pull_hips(i, t, figure, memory, dt, rows):
            break
    complete_limbs(i, t, figure, memory, dt, rows, prediction)
    guess_limbs(i, figure, rows, prediction)
    if not knows(i, rows, HIPS):
        tilt_to_feet(i, figure, rows)
    if memory.shape[0] > 0 and dt > 0.0:
        remember_ends(i, t, figure, memory, rows)
        plant_feet(i, t, figure, rows, memory, dt)
    position, heading = settle_trunk(i, t, figure, memory, dt, rows)
    if memory.shape[0] > 0 and (shown or norm(before) < 0.5):
        for c in range(3):
            memory[t]["shown_heading"][c] = heading[c]
    return position, heading


@kernel
def no_guess(i: int, rows: Rows) -> None:
    """Mark row i as one without guesses."""
    for limb in range(4 if rows.guess.shape[0] > 0 else 0):
        rows.guess[i, limb, 0] = math.nan


@kernel
def learned(net: Network) -> bool:
    """Return whether there is a network."""
    return bool(net.sizes.shape[0] > 0)


@kernel
def complete_trunk(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, prediction: Prediction
) -> None:
    """Fill in hips or head where they are not given; lost orientations of them follow the network."""
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    chord = follow_chord(i, t, figure, memory, dt, rows, prediction)
    if given(i, rows, HIPS):
        set_vec(rows.goals, i, HEAD, add(hips, chord))
    else:
        set_vec(rows.goals, i, HIPS, sub(head, chord))
    estimate = pelvis_said(prediction)
    for k in range(2):
        if knows(i, rows, k) and not given_orientation(i, rows, k):
            said = estimate if k == HIPS else mul(estimate, bend_of(prediction.work, ROTATED))
            bridged = quat_at(rows.target_orientations, i, k)
            slower = slerp(bridged, said, 1.0 - math.exp(-dt / FOLLOW))
            set_quat(rows.target_orientations, i, k, calm_step(t, figure, memory, dt, bridged, slower))


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
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, prediction: Prediction
) -> None:
    """Fill in hands and feet that are not given, feet above the floor; elbows and knees that were lost follow."""
    hips, tall = vec_at(rows.goals, i, HIPS), figure.stance[0]["joint_height"]
    for limb in range(4):
        slot = LEFT_HAND + limb
        if not given(i, rows, slot):
            goal = add(hips, scale(said_in_world(prediction, END_POSITIONS + 3 * limb), tall))
            goal = follow(i, t, slot, goal, memory, dt, rows)
            if limb >= 2:
                floor = figure.settings[0]["floor"] + figure.soles[limb - 2]["depth"]
                goal = (goal[0], max(goal[1], min(floor, hips[1])), goal[2])
            set_vec(rows.goals, i, slot, goal)
            hold_back(i, t, slot, figure, memory, dt, rows)
        slot = LEFT_ELBOW + limb
        if not given(i, rows, slot) and math.isfinite(rows.goals[i, slot, 0]):
            goal = add(hips, scale(said_in_world(prediction, MIDS + 3 * limb), tall))
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
def orient_trunk(
    i: int,
    t: int,
    net: Network,
    figure: Figure,
    memory: Records,
    dt: float,
    rows: Rows,
    prediction: Prediction,
) -> None:
    """Fill in pelvis and spine by the network, rotated as a whole by the smallest rotation that aims at the head. In a
    track the pelvis rotates no faster than pelvises do.

    The nearer the distance from hips to head is to the longest chord, the more of the straightest spine is taken.
    """
    out, count = rows.trunk, figure.spine.shape[0]
    estimate = pelvis_said(prediction)
    to_head = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS))
    aim = unit(to_head) if norm(to_head) > 0.0 else prediction.y
    longest = figure.settings[0]["longest_chord"]
    length = min(norm(to_head), longest)
    slack = (longest - length) / ((1.0 - NEARLY_TAUT) * longest)
    taut = 1.0 - math.sqrt(max(slack, 0.0))  # chords shorten by the squares of angles
    for k in range(count):
        joint = net.spine[k]
        below = bend_of(prediction.work, joint["low"])
        if joint["fraction"] > 0.0:
            below = slerp(below, bend_of(prediction.work, joint["high"]), joint["fraction"])
        if taut > 0.0 and k > 0:
            below = slerp(below, quat_from(joint["straight"]), taut)
        set_quat(out, i, k, below)
    chord = fit_length(i, figure, rows, length)
    pelvis = mul(between(rotate(estimate, chord), aim), estimate)
    if memory.shape[0] > 0 and dt > 0.0:
        calm = calm_step(t, figure, memory, dt, quat_of(memory[t]["orientations"], HIPS), pelvis)
        if calm != pelvis:
            pelvis = mul(between(rotate(calm, chord), aim), calm)
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
    for k in range(count):
        set_quat(out, i, k, mul(pelvis, quat_at(out, i, k)))


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
def guess_limbs(i: int, figure: Figure, rows: Rows, prediction: Prediction) -> None:
    """Fill in the positions of elbows and knees and the orientations of hands and feet in `rows.guess`."""
    hips = vec_at(rows.goals, i, HIPS)
    for limb in range(4):
        mid = add(hips, scale(said_in_world(prediction, MIDS + 3 * limb), figure.stance[0]["joint_height"]))
        rotation = exp(predicted(prediction.work, ENDS + 3 * limb))
        for c in range(3):
            rows.guess[i, limb, c] = mid[c]
        for c in range(4):
            rows.guess[i, limb, 3 + c] = rotation[c]

"""Arms and legs of Sequential IK (Unzueta et al. 2008, sections 6 and 8; specification reconstruct, 4.5).

Algorithm 5 gives the direction of an elbow (backwards of the trunk, as the limb hangs and is swung to its target) and
of a knee (forwards), unless its own point is known. The limb solver then searches from that swivel for one inside the
limits, with arms out of the rest of the body, legs out of each other and both out of obstacles, so that hands and feet
stay on their points. Where no swivel is clear, the first inside the limits is taken: points come before collisions. Of
two arms, or two legs, the one that is bent more gives way to the other: it has more room, and in a mirror it is the
other one.
"""

from __future__ import annotations

import math
from typing import Any

from ..body.collision.clearance import limb_obstacle_row
from ..body.limb.kernels import CORRECTIONS, EXACT, frame_of, in_limb, pose_row
from ..collision.surfaces import PLANE
from ..compute import kernel
from ..compute.types import Quat, Records, Vec3
from ..limb.kernels import base_at, canonical_inner, flexed, reach_of, swivel_of, wrist_of
from ..limb.nearest_feasible import END, MID
from ..limb.solve import REACHED, SEARCH, solve_one
from ..limits.kernels import allowed, clamp, step_within
from ..math.quaternion import angle_between, axis_angle, between, conj, mul, rotate, rotate_inverse, slerp, unit_quat
from ..math.vector import add, cross, dot, norm, reject, scale, sub, unit
from ..skeleton.forward import offset_of, quat_at, quat_from, set_quat, vec_at
from .packed import (
    HIPS,
    LEFT_ELBOW,
    LEFT_FOOT,
    LEFT_HAND,
    LEFT_SHOULDER,
    Figure,
    Rows,
    distance_to,
    given,
    given_orientation,
    knows,
    put_quat,
    put_vec,
    quat_of,
    set_vec,
    vec_of,
)
from .track_state import STRAIGHT, calm_pole, requested_orientation, settled

OWN_POLE = 0.02  # of the limb's length: the weight of Algorithm 5 next to a prior's guess of an elbow or knee
LATE_RATE = 2.0 * math.pi  # [rad/s] of joints that catch up, beyond the angle by which their end moves on
ESTIMATED = 0.75  # of the rate of a swivel: of the joints of limbs whose end is estimated
POPPED = 2.0  # times as far as its hand or foot moves, and by a quick swivel: an elbow or knee that moves further pops
SUNK = 1e-6  # [m]: a sole deeper in the floor than this is rotated out of it


@kernel
def pose_limb(i: int, t: int, limb: int, count: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> int:
    """Rotate a limb to its goal, out of so many of its own obstacles; return its status."""
    model = figure.limbs[limb]
    if count > 0 or figure.around.shape[0] > 0:
        first, last = figure.splits[1, limb], figure.splits[1, limb] + count
        limb_obstacle_row(
            i,
            figure.limbs[limb : limb + 1],
            figure.volumes,
            figure.own[first:last],
            figure.around,
            rows.positions,
            rows.world,
            rows.obstacles,
        )
    rotation, rotated = (1.0, 0.0, 0.0, 0.0), knows(i, rows, LEFT_HAND + limb)
    if rotated:
        rotation = quat_at(rows.target_orientations, i, LEFT_HAND + limb)
    status = REACHED
    for _ in range(2):
        status = reach_goal(i, t, limb, count, figure, rows, rotation, rotated, memory, dt)
        if limb < 2 or rotated or figure.around.shape[0] == 0:
            break
        now = mul(quat_at(rows.world, i, model["end"]), conj(quat_from(model["end_neutral"])))
        rotation, rotated = lifted_foot(i, limb - 2, figure, rows, now)
        if not rotated:
            break
    if dt > 0.0 and memory.shape[0] > 0:
        calm_limb(i, t, limb, figure, rows, memory, dt)
    return status


@kernel
def calm_limb(i: int, t: int, limb: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> None:
    """Let the joints of a limb whose end a prior has estimated rotate no faster than elbows and knees may, as no point
    is missed by that; the estimate is where the end comes to be. Where points are lost or return, so do those of every
    limb, until they have caught up: limits may turn an elbow over, and a hand is late rather.
    """
    slot, model, stored = LEFT_HAND + limb, figure.limbs[limb], memory[t]["limb_rotations"]
    free = guesses(i, limb, rows) and not (given(i, rows, slot) or given_orientation(i, rows, slot))
    free = free and not given(i, rows, LEFT_ELBOW + limb)
    behind, goals = memory[t]["behind"], memory[t]["goals"]
    waited = behind[limb]
    late = waited > 0.0 or not settled(t, figure, memory)
    behind[limb] = 0.0
    hips = vec_at(rows.positions, i, figure.tracked[1, HIPS])
    moved = norm(
        sub(
            sub(vec_at(rows.goals, i, slot), vec_at(rows.goals, i, HIPS)), sub(vec_of(goals, slot), vec_of(goals, HIPS))
        )
    )
    moved = moved if math.isfinite(moved) else 0.0
    swung = moved / (model["upper"] + model["lower"])
    carrier, carried = quat_at(rows.world, i, figure.joints[model["base"]]["parent"]), 0.0
    if math.isfinite(memory[t]["carriers"][limb, 0]):
        carried = angle_between(quat_of(memory[t]["carriers"], limb), carrier)
    put_quat(memory[t]["carriers"], limb, carrier)
    most, rate = figure.settings[0]["swivel_rate"] * dt, LATE_RATE * dt
    mid = sub(position_of(i, figure, rows, model["base"], model["mid"]), hips)
    away = norm(sub(mid, vec_of(memory[t]["mids"], limb)))
    if late or (not free and away > (most + carried) * model["upper"] + POPPED * moved):
        late, most = True, min(max(most, rate), rate + swung)
    else:
        most = ESTIMATED * most if free else math.inf
    missed = False
    for k in range(3):
        joint = joint_of(figure, limb, k)
        now = quat_at(rows.rotations, i, joint)
        before = quat_at(stored, limb, k)
        rotated = most + carried if k == 0 else most  # the base goes against what carries it
        if math.isfinite(before[0]) and angle_between(before, now) > rotated:
            behind[limb] = waited + dt if late else 0.0
            missed = True
            now = step_inside(i, limb, k, figure, rows, before, now, rotated)
            set_quat(rows.rotations, i, joint, now)
        set_quat(stored, limb, k, now)
    guessed = guesses(i, limb, rows) and not given(i, rows, slot)
    put_vec(memory[t]["mids"], limb, mid)
    if guessed or missed:
        end = model["end"]
        for joint in range(model["base"], end + 1):
            above = end
            while above > joint:
                above = figure.joints[above]["parent"]
            if above == joint:
                parent = figure.joints[joint]["parent"]
                world = mul(quat_at(rows.world, i, parent), quat_at(rows.rotations, i, joint))
                set_quat(rows.world, i, joint, world)
        mid = sub(position_of(i, figure, rows, model["base"], model["mid"]), hips)
        put_vec(memory[t]["mids"], limb, mid)
        if guessed:
            set_vec(rows.goals, i, slot, position_of(i, figure, rows, model["base"], end))


@kernel
def joint_of(figure: Figure, limb: int, k: int) -> int:
    """Return the base, mid or end joint (k = 0, 1, 2) of a limb."""
    model = figure.limbs[limb]
    return int(model["base"] if k == 0 else model["mid"] if k == 1 else model["end"])


@kernel
def step_inside(i: int, limb: int, k: int, figure: Figure, rows: Rows, before: Quat, now: Quat, most: float) -> Quat:
    """Return the local rotation of the base, mid or end joint (k = 0, 1, 2) of a limb that lies `most` [rad] on the way
    between two others, inside its limits, where the limb is posed in `rows.world`.
    """
    model = figure.limbs[limb]
    if not model["limited"]:
        return unit_quat(slerp(before, now, most / angle_between(before, now)))
    joint = joint_of(figure, limb, k)
    posed, parent = quat_at(rows.world, i, joint), quat_at(rows.world, i, figure.joints[joint]["parent"])
    below = mul(conj(canonical_bone(i, limb, k - 1, figure, rows)), parent)
    above = mul(conj(posed), canonical_bone(i, limb, k, figure, rows))  # the rest of a bone in segments, too
    row = model["first_limit"] + k
    start, goal = unit_quat(mul(mul(below, before), above)), unit_quat(mul(mul(below, now), above))
    rotation = step_within(figure.limits[row], figure.curves, start, goal, most)
    return unit_quat(mul(mul(conj(below), rotation), conj(above)))


@kernel
def canonical_bone(i: int, limb: int, k: int, figure: Figure, rows: Rows) -> Quat:
    """Return the canonical orientation in the world of what carries a limb (k = -1), of its upper bone (0), its lower
    bone (1), each at its far end, and its end (2).
    """
    model = figure.limbs[limb]
    if k == 2:
        return mul(quat_at(rows.world, i, model["end"]), conj(quat_from(model["end_neutral"])))
    q = mul(quat_at(rows.world, i, model["carrier"]), conj(quat_from(model["carrier_neutral"])))
    for n in range(model["first_driven"], model["last_driven"]):
        segment = figure.driven[n]
        if k >= 0 and segment["lower"] == k:
            q = mul(quat_at(rows.world, i, segment["joint"]), conj(quat_from(segment["neutral"])))
    return q


@kernel
def reach_goal(
    i: int,
    t: int,
    limb: int,
    count: int,
    figure: Figure,
    rows: Rows,
    rotation: Quat,
    rotated: bool,
    memory: Records,
    dt: float,
) -> int:
    """Rotate a limb to its goal, and its end to a canonical orientation if `rotated`; return its status.

    In a track an elbow or knee whose swivel would change faster than it may follows slowly.
    """
    model = figure.limbs[limb]
    frame = frame_of(model, rows.world, i)
    base = vec_at(rows.positions, i, model["base"])
    aim = rotate_inverse(frame, sub(vec_at(rows.goals, i, LEFT_HAND + limb), base))
    point = vec_at(rows.goals, i, LEFT_ELBOW + limb)
    if math.isfinite(point[0]):
        mid = rotate_inverse(frame, sub(point, base))
    elif shown_by_bone(i, limb, rows):
        mid = rotate_inverse(frame, sub(bone_end(i, limb, figure, rows, base), base))
    else:
        back = (model["fw"], -model["fx"], -model["fy"], -model["fz"])  # the trunk's axes, seen from the limb's frame
        hanging, ahead = rotate(back, (0.0, -1.0, 0.0)), rotate(back, (0.0, 0.0, -1.0 if limb < 2 else 1.0))
        pole = rotate(between(hanging, aim), ahead)
        if guesses(i, limb, rows):
            guess = rotate_inverse(frame, sub(vec_at(rows.guess, i, limb), base))
            pole = add(reject(guess, unit(aim)), scale(pole, OWN_POLE * (model["upper"] + model["lower"])))
        mid = (aim[0] + pole[0], aim[1] + pole[1], aim[2] + pole[2])
    swivel = swivel_of(model, aim, mid, (0.0, 1.0, 0.0))
    hand = rotation
    if rotated:
        neutral = quat_from(model["end_neutral"])
        hand = in_limb(model, frame, mul(rotation, neutral), neutral)
    tracking = dt > 0.0 and memory.shape[0] > 0
    status = REACHED
    for attempt in range(2):
        status = corrected(i, limb, count, figure, rows, frame, aim, swivel, hand, rotated)
        if not tracking:
            break
        mid = rotate_inverse(frame, sub(position_of(i, figure, rows, model["base"], model["mid"]), base))
        popped = False
        if attempt == 0 and rows.report[i]["found"] and not math.isfinite(point[0]):
            popped, mid = calm_pole(t, limb, unit(aim), mid, memory, figure.settings[0]["swivel_rate"] * dt)
        if not popped:
            pole = reject(mid, unit(aim))
            if norm(pole) > STRAIGHT * norm(mid):
                put_vec(memory[t]["poles"], limb, unit(pole))
            break
        swivel = swivel_of(model, aim, mid, (0.0, 1.0, 0.0))
    return status


@kernel
def shown(i: int, limb: int, rows: Rows) -> bool:
    """Return whether it is known where an elbow or a knee is."""
    return math.isfinite(rows.goals[i, LEFT_ELBOW + limb, 0]) or shown_by_bone(i, limb, rows)


@kernel
def shown_by_bone(i: int, limb: int, rows: Rows) -> bool:
    """Return whether the orientation of a lower bone, or of an upper arm, shows where elbow or knee is."""
    return knows(i, rows, LEFT_ELBOW + limb) or (limb < 2 and knows(i, rows, LEFT_SHOULDER + limb))


@kernel
def bone_end(i: int, limb: int, figure: Figure, rows: Rows, base: Vec3) -> Vec3:
    """Return the elbow or knee [m] that these orientations show: bones point down in the neutral pose."""
    model = figure.limbs[limb]
    if knows(i, rows, LEFT_ELBOW + limb):
        lower = rotate(quat_at(rows.target_orientations, i, LEFT_ELBOW + limb), (0.0, -model["lower"], 0.0))
        return sub(vec_at(rows.goals, i, LEFT_HAND + limb), lower)
    return add(base, rotate(quat_at(rows.target_orientations, i, LEFT_SHOULDER + limb), (0.0, -model["upper"], 0.0)))


@kernel
def corrected(
    i: int,
    limb: int,
    count: int,
    figure: Figure,
    rows: Rows,
    frame: Quat,
    aim: Vec3,
    swivel: float,
    hand: Quat,
    rotated: bool,
) -> int:
    """Rotate a limb to an aim in its frame, searching from a swivel [rad]; return its status.

    What a rig whose bones are not straight lines misses by is added to the aim, as `BodyLimb.place` does.
    """
    model = figure.limbs[limb]
    goal = vec_at(rows.goals, i, LEFT_HAND + limb)
    before = math.inf
    for _ in range(CORRECTIONS):
        rotate_limb(i, limb, count, figure, rows, aim, swivel, hand, rotated)
        end = position_of(i, figure, rows, model["base"], model["end"])
        miss = rotate_inverse(frame, sub(goal, end))
        away = norm(miss)
        if rows.report[i]["status"] != REACHED or away <= EXACT or away >= before:
            break
        before, swivel = away, rows.report[i]["swivel"]
        aim = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2])
    return int(rows.report[i]["status"])


@kernel
def rotate_limb(
    i: int, limb: int, count: int, figure: Figure, rows: Rows, aim: Vec3, swivel: float, hand: Quat, rotated: bool
) -> None:
    """Solve a limb for an aim in its frame, searching from a swivel [rad], and pose it."""
    count += figure.around.shape[0]
    model = figure.limbs[limb]
    wrist, exactly = guessed_wrist(i, limb, figure, rows), rotated
    if rotated and (shown(i, limb, rows) or guesses(i, limb, rows)):
        wrist, exactly = wrist_at(model, figure, aim, swivel, hand)
    values = solve_one(
        model,
        figure.limits[model["first_limit"] : model["first_limit"] + 3],
        figure.curves,
        figure.bones[model["first_bone"] : model["last_bone"]],
        (
            figure.links[figure.splits[0, limb] : figure.splits[0, limb + 1]],
            figure.groups[limb],
            rows.obstacles[i, :count],
            0.0,
        ),
        (aim, hand, exactly),
        wrist,
        swivel,
        SEARCH,
        rows.report[i],
    )
    for k in range(7):
        rows.values[i, k] = values[k]
    pose_row(
        i,
        figure.joints,
        figure.limbs[limb : limb + 1],
        figure.driven,
        rows.values,
        figure.remainders[:, model["first_driven"] : model["last_driven"]],
        rows.world,
        rows.rotations,
    )


@kernel
def guesses(i: int, limb: int, rows: Rows) -> bool:
    """Return whether a prior has guessed this limb."""
    return rows.guess.shape[0] > 0 and math.isfinite(rows.guess[i, limb, 0])


@kernel
def guessed_wrist(i: int, limb: int, figure: Figure, rows: Rows) -> tuple[Quat, Quat]:
    """Return (twist of the lower bone, swing of the hand or foot) of an end without a target orientation, inside its
    limits: a prior's guess, else straight.
    """
    straight = (1.0, 0.0, 0.0, 0.0)
    if not guesses(i, limb, rows):
        return straight, straight
    model = figure.limbs[limb]
    guess = (rows.guess[i, limb, 3], rows.guess[i, limb, 4], rows.guess[i, limb, 5], rows.guess[i, limb, 6])
    twist, swing = split_wrist(model, guess)
    return inside_wrist(model, figure, straight, twist, swing)


@kernel
def wrist_at(model: Any, figure: Figure, aim: Vec3, swivel: float, hand: Quat) -> tuple[tuple[Quat, Quat], bool]:
    """Return (twist of the lower bone and swing of the end with which the end comes nearest to an orientation at this
    swivel [rad], whether it has it there inside its limits).
    """
    reach = reach_of(model, aim)
    base, _ = base_at(model, reach, swivel)
    bent = flexed(model, reach[6])
    twist, swing, _ = wrist_of(mul(base, bent), hand)
    inside = inside_wrist(model, figure, bent, twist, swing)
    same = angle_between(inside[0], twist) + angle_between(inside[1], swing) < 1e-6
    return inside, same


@kernel
def inside_wrist(model: Any, figure: Figure, bent: Quat, twist: Quat, swing: Quat) -> tuple[Quat, Quat]:
    """Return (twist, swing) brought inside the limits of a limb whose middle joint is bent so."""
    straight = (1.0, 0.0, 0.0, 0.0)
    if not model["limited"]:
        return twist, swing
    first = model["first_limit"]
    local = canonical_inner(model, mul(bent, twist))
    if not allowed(figure.limits[first + MID], figure.curves, local):
        clamped = clamp(figure.limits[first + MID], figure.curves, local)
        twist, _ = split_wrist(model, mul(conj(canonical_inner(model, bent)), clamped))
        if not allowed(figure.limits[first + MID], figure.curves, canonical_inner(model, mul(bent, twist))):
            twist = straight
    local = canonical_inner(model, swing)
    if not allowed(figure.limits[first + END], figure.curves, local):
        _, swing = split_wrist(model, clamp(figure.limits[first + END], figure.curves, local))
        if not allowed(figure.limits[first + END], figure.curves, canonical_inner(model, swing)):
            swing = straight
    return twist, swing


@kernel
def split_wrist(model: Any, q: Quat) -> tuple[Quat, Quat]:
    """Return (twist, swing) of a canonical rotation of a hand or foot against its straight limb."""
    back = (model["bw"], model["bx"], model["by"], model["bz"])
    twist, swing, _ = wrist_of((1.0, 0.0, 0.0, 0.0), mul(mul(back, q), conj(back)))
    return twist, swing


@kernel
def position_of(i: int, figure: Figure, rows: Rows, base: int, joint: int) -> Vec3:
    """Return a joint's position [m], from that of the limb's base and the orientations of the joints between."""
    p = vec_at(rows.positions, i, base)
    j = joint
    while j != base:
        parent = figure.joints[j]["parent"]
        p = add(p, rotate(quat_at(rows.world, i, parent), offset_of(figure.joints, rows.offsets, i, j)))
        j = parent
    return p


@kernel
def limb_residuals(i: int, limb: int, figure: Figure, rows: Rows) -> None:
    """Fill in how far hand or foot, and elbow or knee, are from their points [m], and from the target orientation
    [rad].
    """
    model = figure.limbs[limb]
    for between_ends in range(2):
        slot = (LEFT_ELBOW if between_ends else LEFT_HAND) + limb
        column = figure.tracked[0, slot]
        if column >= 0:
            joint = model["mid"] if between_ends else model["end"]
            at = position_of(i, figure, rows, model["base"], joint)
            rows.residual[i, column] = distance_to(at, vec_at(rows.points, i, column))
    if rows.missing.shape[0] > 0:
        rotated = mul(quat_at(rows.world, i, model["end"]), conj(quat_from(model["end_neutral"])))
        rows.missing[i, LEFT_HAND + limb] = angle_between(rotated, requested_orientation(i, LEFT_HAND + limb, rows))


@kernel
def lift_goal(i: int, limb: int, figure: Figure, rows: Rows) -> bool:
    """Move the goal of a hand or foot out of the planes of the scene; return whether it was in one.

    A foot keeps its sole out, at its target orientation, else flat.
    """
    moved = False
    for o in range(figure.around.shape[0]):
        plane = figure.around[o]
        if plane["kind"] != PLANE:
            continue
        n, p = (plane["ex"], plane["ey"], plane["ez"]), (plane["px"], plane["py"], plane["pz"])
        goal = vec_at(rows.goals, i, LEFT_HAND + limb)
        height = dot(n, sub(goal, p))
        if limb >= 2:
            height -= sole_depth(i, limb - 2, figure, rows, n)
        if height < 0.0:
            moved = True
            set_vec(rows.goals, i, LEFT_HAND + limb, add(goal, scale(n, -height)))
    return moved


@kernel
def sole_depth(i: int, side: int, figure: Figure, rows: Rows, n: Vec3) -> float:
    """Return how far a sole reaches below its ankle along the normal n of a plane [m]."""
    if not knows(i, rows, LEFT_FOOT + side):
        return float(figure.soles[side]["depth"])
    rotation, deepest = quat_at(rows.target_orientations, i, LEFT_FOOT + side), 0.0
    for k in range(2):
        deepest = max(deepest, -dot(n, rotate(rotation, sole_point(figure, side, k))))
    return deepest


@kernel
def sole_point(figure: Figure, side: int, k: int) -> Vec3:
    """Return the heel (k = 0) or the tip (k = 1) of a sole from its ankle [m], in the foot's canonical frame."""
    sole = figure.soles[side]
    return (0.0, -sole["depth"], sole["tip"] if k else -sole["heel"])


@kernel
def lifted_foot(i: int, side: int, figure: Figure, rows: Rows, rotation: Quat) -> tuple[Quat, bool]:
    """Return (a foot's canonical orientation with heel and toes out of the scene's planes, whether it rotated)."""
    ankle, lifted = vec_at(rows.goals, i, LEFT_FOOT + side), False
    for o in range(figure.around.shape[0]):
        plane = figure.around[o]
        if plane["kind"] != PLANE:
            continue
        n, p = (plane["ex"], plane["ey"], plane["ez"]), (plane["px"], plane["py"], plane["pz"])
        high = dot(n, sub(ankle, p))
        for k in range(2):
            r = rotate(rotation, sole_point(figure, side, k))
            size = norm(r)
            if dot(n, r) + high < -SUNK and size > 0.0:
                least, now = max(-high / size, -1.0), max(min(dot(n, r) / size, 1.0), -1.0)
                axis = unit(cross(r, n))
                rotation = mul(axis_angle(axis, math.asin(min(least, 1.0)) - math.asin(now)), rotation)
                lifted = True
    return rotation, lifted

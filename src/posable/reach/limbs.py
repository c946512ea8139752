"""Kernels for the limbs of a bent body: legs that keep the feet where they stood, arms that place the hands.

An arm is solved as `BodyLimb.place` does it, row by row inside the reach's own kernel.
"""

from __future__ import annotations

import math
from typing import Any

from ..body.collision.clearance import limb_obstacle_row
from ..body.limb.kernels import (
    CORRECTIONS,
    EXACT,
    SHORTEST,
    end_of_chain,
    frame_of,
    in_limb,
    pose_row,
    read_row,
)
from ..compute import kernel
from ..compute.extent import vec_in_extent
from ..compute.types import Quat, Vec3
from ..limb.kernels import (
    FAR,
    FLEXION,
    FOUND,
    NEAR,
    Values,
    advance,
    base_at,
    begin,
    flexed,
    reach_of,
    rotations_of,
    swivel_of,
    values_of,
    wrist_of,
)
from ..limb.solve import INVALID, REACHED, SEARCH, SINGULAR, solve_one, within
from ..math.quaternion import axis_angle, conj, mul, rotate_inverse, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import quat_at, quat_from, vec_at
from .bending import forward_solution, target_of
from .contacts import first_contact
from .packed import ARM, Body, Rows

MIN_STEP = 1e-3  # [rad] of a search that is interpolated from keys
FIXED = 1e-9  # [m]: a foot further than this from where it stood has moved


@kernel
def read_limb(i: int, limb: int, body: Body, rows: Rows, pose: int) -> None:
    """Read a limb of row i in the starting pose (0) or in the bent body (1): its model, with the lengths of its bones
    where poses move joints, and its values.
    """
    rows.limbs[limb, i] = body.limbs[limb]
    positions = rows.positions[pose]
    if rows.offsets.shape[0] > 0:
        model = rows.limbs[limb, i]
        base, mid = vec_at(positions, i, model["base"]), vec_at(positions, i, model["mid"])
        end = vec_at(positions, i, model["end"])
        model["upper"], model["lower"] = max(norm(sub(mid, base)), SHORTEST), max(norm(sub(end, mid)), SHORTEST)
    read_row(
        i,
        rows.limbs[limb],
        body.driven,
        positions,
        rows.orientations[pose],
        rows.readings[limb],
        rows.remainders[limb],
    )


@kernel
def pose_limb(i: int, limb: int, body: Body, rows: Rows, values: Values) -> Vec3:
    """Pose a limb of the bent body of row i by its seven values [rad]; return the position of its end [m]."""
    for k in range(7):
        rows.values[limb, i, k] = values[k]
    pose_row(
        i,
        body.joints,
        rows.limbs[limb],
        body.driven,
        rows.values[limb],
        rows.remainders[limb],
        rows.orientations[1],
        rows.rotations[1],
    )
    return end_of_chain(i, body.joints, rows.limbs[limb, i], rows.offsets, rows.positions[1], rows.orientations[1])


@kernel
def read_leg(i: int, limb: int, body: Body, rows: Rows) -> None:
    """Read a leg of the starting pose. A leg that starts outside its limits, as captured ones do, is not constrained by
    them: it could not even stand still.
    """
    read_limb(i, limb, body, rows, 0)
    model = rows.limbs[limb, i]
    v = rows.readings[limb, i]["values"]
    base, _, swing = rotations_of((v[0], v[1], v[2], v[3], v[4], v[5], v[6]))
    posture = (base, abs(v[3]), axis_angle((0.0, 0.0, 1.0), v[4]), swing)
    if model["limited"] and not within(model, body.limits[model["first_limit"] :], body.curves, posture):
        model["limited"] = 0


@kernel
def fix_foot(i: int, limb: int, options: Any, body: Body, rows: Rows, clear: int) -> bool:
    """Rotate a leg so that its foot has the position and orientation of the start; return whether it can.

    `clear`: its bit of `Body.legs` where it must also keep out of everything, 0 where that is not tested.

    Where it cannot, the weight is lowered. Hips that sink by what a leg lacks would save some of the behaviour, but go
    where no key has them; and the shipped behaviours never need that much of a leg, on any body we tried (a test checks
    it). `ReachSolution.reason` reports a behaviour that does.

    The knee's swivel is searched from the start's, so a body that does not move keeps its legs. The error of a rig
    whose bones are not straight lines is added to the aim, as `BodyLimb.place` does.
    """
    model = rows.limbs[limb, i]
    frame = frame_of(model, rows.orientations[1], i)
    foot = vec_at(rows.positions[0], i, model["end"])
    aim = rotate_inverse(frame, sub(foot, vec_at(rows.positions[1], i, model["base"])))
    swivel = rows.readings[limb, i]["swivel"]
    before = math.inf
    for _ in range(CORRECTIONS):
        found, swivel, end = rotate_leg(i, limb, options, body, rows, frame, aim, swivel, clear)
        if not found:
            return False
        miss = rotate_inverse(frame, sub(foot, end))
        if norm(miss) <= EXACT or norm(miss) >= before:
            break
        before = norm(miss)
        aim = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2])
    return norm(miss) < FIXED


@kernel
def rotate_leg(
    i: int, limb: int, options: Any, body: Body, rows: Rows, frame: Quat, aim: Vec3, swivel: float, clear: int
) -> tuple[bool, float, Vec3]:
    """Rotate a leg so that its foot is at `aim` [m] in the leg's frame, and keeps clear as `fix_foot` has it.

    Returns:
        Whether it can, the swivel [rad], and the position of the foot in the world [m].
    """
    model = rows.limbs[limb, i]
    neutral = quat_from(model["end_neutral"])
    orientation = unit_quat(in_limb(model, frame, quat_at(rows.orientations[0], i, model["end"]), neutral))
    reach = reach_of(model, aim)
    if reach[0] & (FAR | NEAR | FLEXION):
        return False, swivel, aim
    bend = reach[6]
    bent = flexed(model, bend)
    state = begin(model, swivel)
    base, twist, swing = bent, bent, bent
    found = False
    while state[0] < FOUND:
        hip, stable = base_at(model, reach, state[1])
        ankle_twist, ankle_swing, defined = wrist_of(mul(hip, bent), orientation)
        valid = stable and defined
        if valid and model["limited"]:
            posture = (hip, bend, ankle_twist, ankle_swing)
            valid = within(model, body.limits[model["first_limit"] :], body.curves, posture)
        if valid and clear != 0:
            pose_limb(i, limb, body, rows, values_of(model, hip, bend, ankle_twist, ankle_swing))
            forward_solution(i, body, rows)
            valid = first_contact(i, options, body, rows, clear) < 0
        if valid:
            base, twist, swing, found, swivel = hip, ankle_twist, ankle_swing, True, state[1]
        state = advance(model, state, valid)
    if not found:
        return False, swivel, aim
    return True, swivel, pose_limb(i, limb, body, rows, values_of(model, base, bend, twist, swing))


@kernel
def place_hand(i: int, side: int, options: Any, body: Body, rows: Rows) -> None:
    """Rotate an arm of the bent body so that its hand meets its target; fill in the results of the hand.

    A rig whose bones are not straight lines misses: its error is added to the aim, at the swivel found, until it is 0
    or grows.
    """
    limb, work, result, report = ARM - side, rows.work[i], rows.result[i], rows.report[side, i]
    read_limb(i, limb, body, rows, 1)
    model, positions, orientations = rows.limbs[limb, i], rows.positions[1], rows.orientations[1]
    frame = frame_of(model, orientations, i)
    base = vec_at(positions, i, model["base"])
    aim = rotate_inverse(frame, sub(target_of(i, side, rows), base))
    swivel = _start_swivel(i, side, options, rows, frame, aim)
    hand, size = (1.0, 0.0, 0.0, 0.0), 1.0
    if options["oriented"][side]:
        q, b = work["orientation"], (model["bw"], model["bx"], model["by"], model["bz"])
        hand = mul(mul(conj(frame), (q[side, 0], q[side, 1], q[side, 2], q[side, 3])), conj(b))
        size = math.sqrt(hand[0] * hand[0] + hand[1] * hand[1] + hand[2] * hand[2] + hand[3] * hand[3])
    if not (vec_in_extent(aim) and 1e-150 < size < math.inf and math.isfinite(swivel)):
        result["hand_status"][side] = INVALID
        return
    hand = (hand[0] / size, hand[1] / size, hand[2] / size, hand[3] / size)
    first, last = options["own"][side, 0], options["own"][side, 1]
    around = body.around_right if side == 0 else body.around_left
    limb_obstacle_row(
        i, body.limbs[limb:], body.volumes, body.own[first:last], around, positions, orientations, rows.obstacles
    )
    count = last - first + around.shape[0]
    accepted, before, corrections, restoring = (aim, swivel), math.inf, 0, False
    while True:
        miss = _rotate_arm(i, side, options, body, rows, count, (aim, hand), swivel)
        error = norm(miss)
        if restoring:
            break
        if error >= before:
            aim, swivel = accepted
            restoring = True
            continue
        accepted, before = (aim, swivel), error
        solved = report["status"] == REACHED or report["status"] == SINGULAR
        if error <= EXACT or not solved or corrections == CORRECTIONS:
            break
        aim, swivel = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2]), report["swivel"]
        corrections += 1
    result["hand_status"][side], result["swivel"][side] = report["status"], report["swivel"]
    result["position_error"][side], result["orientation_error"][side] = before, report["orientation_error"]


@kernel
def _start_swivel(i: int, side: int, options: Any, rows: Rows, frame: Quat, aim: Vec3) -> float:
    """Return the swivel [rad] to search from: the pole's, the keys', or the arm's own; set the search of the keys."""
    model, work = rows.limbs[ARM - side, i], rows.work[i]
    if options["guided"]:
        search = work["search"]
        model["preferred"], model["low"] = search[side, 0], search[side, 1]
        model["high"] = max(search[side, 1], search[side, 2])
        model["step"], model["growth"] = max(search[side, 3], MIN_STEP), max(search[side, 4], 0.0)
    if options["poles"][side]:
        point = (work["pole"][side, 0], work["pole"][side, 1], work["pole"][side, 2])
        pole = rotate_inverse(frame, sub(point, vec_at(rows.positions[1], i, model["base"])))
        return swivel_of(model, aim, pole, (0.0, 1.0, 0.0))
    return float(model["preferred"])


@kernel
def _rotate_arm(
    i: int, side: int, options: Any, body: Body, rows: Rows, count: int, target: tuple[Vec3, Quat], swivel: float
) -> Vec3:
    """Solve an arm for (position, orientation) in its frame, searching from a swivel [rad], and pose it.

    Returns:
        The displacement [m] from the hand to its target, in the arm's frame.
    """
    limb = ARM - side
    model, report = rows.limbs[limb, i], rows.report[side, i]
    middle, swing = (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    oriented = options["oriented"][side] != 0
    if not oriented:
        v = rows.readings[limb, i]["values"]
        _, middle, swing = rotations_of((0.0, 0.0, 0.0, 0.0, v[4], v[5], v[6]))
    links = options["links"]
    values = solve_one(
        model,
        body.limits[model["first_limit"] :],
        body.curves,
        body.bones[model["first_bone"] : model["last_bone"]],
        (
            body.links[links[side, 0] : links[side, 1]],
            body.groups[side],
            rows.obstacles[i, :count],
            options["margin"],
        ),
        (target[0], target[1], oriented),
        (middle, swing),
        swivel,
        SEARCH,
        report,
    )
    end = pose_limb(i, limb, body, rows, values)
    return rotate_inverse(frame_of(model, rows.orientations[1], i), sub(target_of(i, side, rows), end))

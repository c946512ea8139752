"""Kernels that place the hands of a bent body: `BodyLimb.place`, row by row inside the reach's own kernel."""

from __future__ import annotations

import math
from typing import Any

from ..body.collision.clearance import limb_obstacle_row
from ..body.limb.kernels import CORRECTIONS, EXACT, SHORTEST, end_of_chain, frame_of, pose_row, read_row, swivel_of
from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..limb.kernels import rotations_of
from ..limb.solve import INVALID, REACHED, SEARCH, SINGULAR, solve_one
from ..math.quaternion import conj, mul, rotate_inverse
from ..math.vector import norm, sub
from ..skeleton.forward import vec_at
from .bending import target_of
from .packed import ARM, Body, Rows

MIN_STEP = 1e-3  # [rad] of a search that is interpolated from keys


@kernel
def measure_bones(i: int, limb: int, rows: Rows, pose: int) -> None:
    """Set the lengths of a limb's bones to those of row i, where poses move joints."""
    if rows.offsets.shape[0] > 0:
        model, positions = rows.limbs[limb, i], rows.positions[pose]
        base, mid = vec_at(positions, i, model["base"]), vec_at(positions, i, model["mid"])
        end = vec_at(positions, i, model["end"])
        model["upper"], model["lower"] = max(norm(sub(mid, base)), SHORTEST), max(norm(sub(end, mid)), SHORTEST)


@kernel
def place_hand(i: int, side: int, options: Any, body: Body, rows: Rows) -> None:
    """Rotate an arm of the bent body so that its hand meets its target; fill in the results of the hand.

    What a rig whose bones are not straight lines misses by is added to the aim, at the swivel found, until nothing is
    missed or it gets worse.
    """
    limb, work, result, report = ARM + side, rows.work[i], rows.result[i], rows.report[side, i]
    rows.limbs[limb, i] = body.limbs[limb]
    model = rows.limbs[limb, i]
    measure_bones(i, limb, rows, 1)
    positions, orientations = rows.positions[1], rows.orientations[1]
    read_row(i, rows.limbs[limb], body.driven, positions, orientations, rows.readings[limb], rows.remainders[limb])
    frame = frame_of(model, orientations, i)
    base = vec_at(positions, i, model["base"])
    aim = rotate_inverse(frame, sub(target_of(i, side, rows), base))
    swivel = _start_swivel(i, side, options, rows, frame, aim)
    hand, size = (1.0, 0.0, 0.0, 0.0), 1.0
    if options["oriented"][side]:
        q, b = work["orientation"], (model["bw"], model["bx"], model["by"], model["bz"])
        hand = mul(mul(conj(frame), (q[side, 0], q[side, 1], q[side, 2], q[side, 3])), conj(b))
        size = math.sqrt(hand[0] * hand[0] + hand[1] * hand[1] + hand[2] * hand[2] + hand[3] * hand[3])
    if not (math.isfinite(aim[0] + aim[1] + aim[2]) and 1e-150 < size < math.inf and math.isfinite(swivel)):
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
    model, work = rows.limbs[ARM + side, i], rows.work[i]
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
    limb = ARM + side
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
    for k in range(7):
        rows.values[limb, i, k] = values[k]
    orientations = rows.orientations[1]
    pose_row(
        i,
        body.joints,
        rows.limbs[limb],
        body.driven,
        rows.values[limb],
        rows.remainders[limb],
        orientations,
        rows.rotations[1],
    )
    end = end_of_chain(i, body.joints, model, rows.offsets, rows.positions[1], orientations)
    return rotate_inverse(frame_of(model, orientations, i), sub(target_of(i, side, rows), end))

"""Kernels that keep the feet where they stood while the body above them bends."""

from __future__ import annotations

import math

from ..body.limb.kernels import frame_of, in_limb, pose_row, read_row
from ..body.limb.place_kernels import CORRECTIONS, EXACT, SHORTEST, end_of_chain
from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..limb.kernels import FAR, FLEXION, NEAR, base_at, flexed, reach_of, rotations_of, values_of, wrist_of
from ..limb.search import FOUND, advance, begin
from ..limb.solve import within
from ..math.quaternion import axis_angle, mul, rotate_inverse, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import quat_at, quat_from, vec_at
from .model import Figure, Legs, Rows

HELD = 1e-9  # [m]: a foot further than this from where it stood is not held


@kernel
def read_leg(i: int, side: int, figure: Figure, legs: Legs, rows: Rows) -> None:
    """A leg as it is in the starting pose. One that starts outside its limits, as captured ones do, is not held to
    them: it could not even stand still.
    """
    rows.legs[side, i] = legs.models[side]
    model = rows.legs[side, i]
    positions = rows.positions[0]
    if rows.offsets.shape[0] > 0:
        base, mid = vec_at(positions, i, model["base"]), vec_at(positions, i, model["mid"])
        end = vec_at(positions, i, model["end"])
        model["upper"], model["lower"] = max(norm(sub(mid, base)), SHORTEST), max(norm(sub(end, mid)), SHORTEST)
    read_row(
        i,
        rows.legs[side],
        legs.driven,
        positions,
        rows.orientations[0],
        rows.readings[side],
        rows.remainders[side],
    )
    v = rows.readings[side, i]["values"]
    base_turn, _, swing = rotations_of((v[0], v[1], v[2], v[3], v[4], v[5], v[6]))
    posture = (base_turn, abs(v[3]), axis_angle((0.0, 0.0, 1.0), v[4]), swing)
    if model["limited"] and not within(model, legs.limits[model["first_limit"] :], figure.curves, posture):
        model["limited"] = 0


@kernel
def hold_foot(i: int, side: int, figure: Figure, legs: Legs, rows: Rows) -> bool:
    """Turn a leg so that its foot is where and how it stood; whether it can.

    Where it cannot, the weight is lowered. Hips that sink by what a leg lacks would save some of the behaviour, but go
    where no key has them; and the shipped behaviours never ask that much of a leg, on any body we tried (a test sees to
    it). A behaviour that does is told (`ReachAnswer.reason`).

    The knee's swivel is searched from the start's, so a body that does not move keeps its legs. What a rig whose bones
    are not straight lines misses by is added to the aim, as `BodyLimb.place` does.
    """
    model = rows.legs[side, i]
    orientations = rows.orientations[1]
    frame = frame_of(model, orientations, i)
    foot = vec_at(rows.positions[0], i, model["end"])
    aim = rotate_inverse(frame, sub(foot, vec_at(rows.positions[1], i, model["base"])))
    swivel = rows.readings[side, i]["swivel"]
    before = math.inf
    for _ in range(CORRECTIONS):
        found, swivel = turn_leg(i, side, figure, legs, rows, frame, aim, swivel)
        if not found:
            return False
        end = end_of_chain(i, figure.joints, model, rows.offsets, rows.positions[1], orientations)
        miss = rotate_inverse(frame, sub(foot, end))
        if norm(miss) <= EXACT or norm(miss) >= before:
            break
        before = norm(miss)
        aim = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2])
    return norm(miss) < HELD


@kernel
def turn_leg(
    i: int, side: int, figure: Figure, legs: Legs, rows: Rows, frame: Quat, aim: Vec3, swivel: float
) -> tuple[bool, float]:
    """(whether a leg can be turned so that its foot is at `aim` in its frame, the knee's swivel [rad]); if so it is."""
    model = rows.legs[side, i]
    neutral = quat_from(model["end_neutral"])
    turn = unit_quat(in_limb(model, frame, quat_at(rows.orientations[0], i, model["end"]), neutral))
    reach = reach_of(model, aim)
    if reach[0] & (FAR | NEAR | FLEXION):
        return False, swivel
    bend = reach[6]
    bent = flexed(model, bend)
    state = begin(model, swivel)
    base, twist, swing = bent, bent, bent
    found = False
    while state[0] < FOUND:
        turned, stable = base_at(model, reach, state[1])
        twisted, swung, defined = wrist_of(mul(turned, bent), turn)
        valid = stable and defined
        if valid and model["limited"]:
            valid = within(model, legs.limits[model["first_limit"] :], figure.curves, (turned, bend, twisted, swung))
        if valid:
            base, twist, swing, found, swivel = turned, twisted, swung, True, state[1]
        state = advance(model, state, valid)
    if not found:
        return False, swivel
    values = values_of(model, base, bend, twist, swing)
    for k in range(7):
        rows.values[side, i, k] = values[k]
    pose_row(
        i,
        figure.joints,
        rows.legs[side],
        legs.driven,
        rows.values[side],
        rows.remainders[side],
        rows.orientations[1],
        rows.rotations[1],
    )
    return True, swivel

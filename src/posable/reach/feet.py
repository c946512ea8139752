"""Kernels that keep the feet where they stood while the body above them bends."""

from __future__ import annotations

import math

from ..body.limb.kernels import CORRECTIONS, EXACT, end_of_chain, frame_of, in_limb, pose_row, read_row
from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..limb.kernels import (
    FAR,
    FLEXION,
    FOUND,
    NEAR,
    advance,
    base_at,
    begin,
    flexed,
    reach_of,
    rotations_of,
    values_of,
    wrist_of,
)
from ..limb.solve import within
from ..math.quaternion import axis_angle, mul, rotate_inverse, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import quat_at, quat_from, vec_at
from .arms import measure_bones
from .packed import Body, Rows

FIXED = 1e-9  # [m]: a foot further than this from where it stood has moved


@kernel
def read_leg(i: int, side: int, body: Body, rows: Rows) -> None:
    """Read a leg of the starting pose. A leg that starts outside its limits, as captured ones do, is not constrained by
    them: it could not even stand still.
    """
    rows.limbs[side, i] = body.limbs[side]
    model = rows.limbs[side, i]
    measure_bones(i, side, rows, 0)
    read_row(
        i,
        rows.limbs[side],
        body.driven,
        rows.positions[0],
        rows.orientations[0],
        rows.readings[side],
        rows.remainders[side],
    )
    v = rows.readings[side, i]["values"]
    base, _, swing = rotations_of((v[0], v[1], v[2], v[3], v[4], v[5], v[6]))
    posture = (base, abs(v[3]), axis_angle((0.0, 0.0, 1.0), v[4]), swing)
    if model["limited"] and not within(model, body.limits[model["first_limit"] :], body.curves, posture):
        model["limited"] = 0


@kernel
def fix_foot(i: int, side: int, body: Body, rows: Rows) -> bool:
    """Rotate a leg so that its foot has the position and orientation of the start; return whether it can.

    Where it cannot, the weight is lowered. Hips that sink by what a leg lacks would save some of the behaviour, but go
    where no key has them; and the shipped behaviours never need that much of a leg, on any body we tried (a test checks
    it). `ReachSolution.reason` reports a behaviour that does.

    The knee's swivel is searched from the start's, so a body that does not move keeps its legs. What a rig whose bones
    are not straight lines misses by is added to the aim, as `BodyLimb.place` does.
    """
    model = rows.limbs[side, i]
    orientations = rows.orientations[1]
    frame = frame_of(model, orientations, i)
    foot = vec_at(rows.positions[0], i, model["end"])
    aim = rotate_inverse(frame, sub(foot, vec_at(rows.positions[1], i, model["base"])))
    swivel = rows.readings[side, i]["swivel"]
    before = math.inf
    for _ in range(CORRECTIONS):
        found, swivel = rotate_leg(i, side, body, rows, frame, aim, swivel)
        if not found:
            return False
        end = end_of_chain(i, body.joints, model, rows.offsets, rows.positions[1], orientations)
        miss = rotate_inverse(frame, sub(foot, end))
        if norm(miss) <= EXACT or norm(miss) >= before:
            break
        before = norm(miss)
        aim = (aim[0] + miss[0], aim[1] + miss[1], aim[2] + miss[2])
    return norm(miss) < FIXED


@kernel
def rotate_leg(i: int, side: int, body: Body, rows: Rows, frame: Quat, aim: Vec3, swivel: float) -> tuple[bool, float]:
    """Rotate a leg so that its foot is at `aim` in the leg's frame; return (whether it can, the swivel [rad])."""
    model = rows.limbs[side, i]
    neutral = quat_from(model["end_neutral"])
    orientation = unit_quat(in_limb(model, frame, quat_at(rows.orientations[0], i, model["end"]), neutral))
    reach = reach_of(model, aim)
    if reach[0] & (FAR | NEAR | FLEXION):
        return False, swivel
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
        if valid:
            base, twist, swing, found, swivel = hip, ankle_twist, ankle_swing, True, state[1]
        state = advance(model, state, valid)
    if not found:
        return False, swivel
    values = values_of(model, base, bend, twist, swing)
    for k in range(7):
        rows.values[side, i, k] = values[k]
    pose_row(
        i,
        body.joints,
        rows.limbs[side],
        body.driven,
        rows.values[side],
        rows.remainders[side],
        rows.orientations[1],
        rows.rotations[1],
    )
    return True, swivel

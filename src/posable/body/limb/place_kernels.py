"""Kernels that put a hand or a foot somewhere in the world: before the limb is solved, and after.

`aim_row` goes from a pose and a target in the world to the limb's own frame, `put_row` from the limb's solution back to
the pose, and measures there how far it is from the target. Between them the solver runs as it always does, so every
option of it works in the world too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Records, Vec3
from ...compute.verdict import INVALID, REACHED, verdict
from ...math.quaternion import angle_between, conj, mul, rotate, rotate_inverse, unit_quat
from ...math.vector import norm, sub
from ...skeleton.forward import forward_row, offset_of, quat_at, quat_from, vec_at
from .kernels import frame_of, pose_row, read_row, swivel_of

SHORTEST = 1e-6  # [m]: of a bone where poses move joints
CORRECTIONS = 12  # at most; each leaves a tenth or less of what a rig's crooked bones miss
EXACT = 1e-12  # [m]: an error that is not worth a correction
REACHED_WITHIN = 1e-9  # [m]: the largest position error that counts as reached
ORIENTED_WITHIN = 1e-6  # [rad]: and the largest orientation error

PLACED = np.dtype(
    [("miss", "f8", 3), ("position_error", "f8"), ("orientation_error", "f8"), ("status", "i1")], align=True
)
"""A placed hand or foot, measured on the pose: the displacement from its joint to the target in the limb's frame [m],
its length [m], the angle from the requested orientation [rad] (0 where none was), and the status that it deserves."""


@kernel
def aim_row(
    i: int,
    joints: Records,
    limb: Records,
    driven: Records,
    translation: Floats,
    rotations: Floats,
    offsets: Floats,
    goals: Floats,
    goal_orientations: Floats,
    poles: Floats,
    positions: Floats,
    orientations: Floats,
    reading: Records,
    remainders: Floats,
    worlds: Floats,
    aims: Floats,
    aimed: Floats,
    starts: Floats,
) -> None:
    """Row i: forward kinematics, the limb as it is, its frame, and its target, orientation and swivel in that frame.

    Where poses move joints (`offsets` has rows), `limb` has a row a pose and gets the lengths of the bones there.
    `goal_orientations` and `poles` have no rows where none are asked for; `aimed` and `starts` are left alone then.
    """
    model = limb[i % limb.shape[0]]
    forward_row(i, joints, translation, rotations, offsets, positions, orientations)
    base = vec_at(positions, i, model["base"])
    if offsets.shape[0] > 0:
        mid, end = vec_at(positions, i, model["mid"]), vec_at(positions, i, model["end"])
        model["upper"] = max(norm(sub(mid, base)), SHORTEST)
        model["lower"] = max(norm(sub(end, mid)), SHORTEST)
    read_row(i, limb, driven, positions, orientations, reading, remainders)
    frame = frame_of(model, orientations, i)
    aim = rotate_inverse(frame, sub((goals[i, 0], goals[i, 1], goals[i, 2]), base))
    for k in range(3):
        worlds[i, k], aims[i, k] = base[k], aim[k]
    for k in range(4):
        worlds[i, 3 + k] = frame[k]
    if goal_orientations.shape[0] > 0:
        back = (model["bw"], model["bx"], model["by"], model["bz"])
        requested = quat_from(goal_orientations[i])
        local = mul(mul(conj(frame), requested), conj(back))
        for k in range(4):
            aimed[i, k] = local[k]
    if poles.shape[0] > 0:
        pole = rotate_inverse(frame, sub((poles[i, 0], poles[i, 1], poles[i, 2]), base))
        starts[i] = swivel_of(model, aim, pole, (0.0, 1.0, 0.0))


@kernel
def put_row(
    i: int,
    joints: Records,
    limb: Records,
    driven: Records,
    values: Floats,
    remainders: Floats,
    offsets: Floats,
    goals: Floats,
    goal_orientations: Floats,
    positions: Floats,
    orientations: Floats,
    rotations: Floats,
    report: Records,
    placed: Records,
) -> None:
    """Row i: the pose's `rotations` with the limb at its values, and how far it is from the target: `PLACED`.

    A rig whose bones are not straight lines between its joints misses by what the values cannot express. An invalid
    target leaves the pose as it is. The solver's failures stand; that it succeeded is decided here.
    """
    result, cause = placed[i], int(report[i]["status"])
    if cause == INVALID:
        result["status"], result["position_error"], result["orientation_error"] = INVALID, math.inf, math.inf
        for k in range(3):
            result["miss"][k] = math.inf
        return
    model = limb[i % limb.shape[0]]
    pose_row(i, joints, limb, driven, values, remainders, orientations, rotations)
    end = end_of_chain(i, joints, model, offsets, positions, orientations)
    frame = frame_of(model, orientations, i)
    miss = rotate_inverse(frame, sub((goals[i, 0], goals[i, 1], goals[i, 2]), end))
    for k in range(3):
        result["miss"][k] = miss[k]
    angle = 0.0
    if goal_orientations.shape[0] > 0:
        orientation = mul(quat_at(orientations, i, model["end"]), conj(quat_from(model["end_neutral"])))
        angle = angle_between(orientation, unit_quat(quat_from(goal_orientations[i])))
    result["position_error"], result["orientation_error"] = norm(miss), angle
    failed = 0.0 if cause == REACHED else 1.0
    result["status"] = verdict(cause, norm(miss), REACHED_WITHIN, angle, ORIENTED_WITHIN, failed)


@kernel
def end_of_chain(i: int, joints: Records, limb: Any, offsets: Floats, positions: Floats, orientations: Floats) -> Vec3:
    """Where a limb's end joint is [m], from its base joint's place and the orientations of the joints between."""
    end = vec_at(positions, i, limb["base"])
    j = limb["end"]
    while j != limb["base"]:
        parent = joints[j]["parent"]
        bone = rotate(quat_at(orientations, i, parent), offset_of(joints, offsets, i, j))
        end = (end[0] + bone[0], end[1] + bone[1], end[2] + bone[2])
        j = parent
    return end


@batch(rows=256)
def aim_rows(
    n: int,
    joints: Records,
    limb: Records,
    driven: Records,
    translation: Floats,
    rotations: Floats,
    offsets: Floats,
    goals: Floats,
    goal_orientations: Floats,
    poles: Floats,
    positions: Floats,
    orientations: Floats,
    reading: Records,
    remainders: Floats,
    worlds: Floats,
    aims: Floats,
    aimed: Floats,
    starts: Floats,
) -> None:
    """`aim_row` over a batch."""
    for i in prange(n):
        aim_row(
            i,
            joints,
            limb,
            driven,
            translation,
            rotations,
            offsets,
            goals,
            goal_orientations,
            poles,
            positions,
            orientations,
            reading,
            remainders,
            worlds,
            aims,
            aimed,
            starts,
        )


@batch(rows=256)
def put_rows(
    n: int,
    joints: Records,
    limb: Records,
    driven: Records,
    values: Floats,
    remainders: Floats,
    offsets: Floats,
    goals: Floats,
    goal_orientations: Floats,
    positions: Floats,
    orientations: Floats,
    rotations: Floats,
    report: Records,
    placed: Records,
) -> None:
    """`put_row` over a batch."""
    for i in prange(n):
        put_row(
            i,
            joints,
            limb,
            driven,
            values,
            remainders,
            offsets,
            goals,
            goal_orientations,
            positions,
            orientations,
            rotations,
            report,
            placed,
        )

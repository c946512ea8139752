"""Kernels that put a hand or a foot somewhere in the world: before the limb is solved, and after.

`aim_row` goes from a pose and a target in the world to what the limb solver is asked, `put_row` from its answer back
to the pose. Between them the solver runs as it always does, so every option of it works in the world too.
"""

from __future__ import annotations

import math
from typing import Any

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Records, Vec3
from ...limb.solve import INVALID
from ...math.quaternion import conj, mul, rotate, rotate_inverse
from ...math.vector import norm, sub
from ...skeleton.forward import forward_row, offset_of, quat_at, vec_at
from .kernels import frame_of, pose_row, read_row, swivel_of

SHORTEST = 1e-6  # [m]: of a bone where poses move joints
CORRECTIONS = 12  # at most; each leaves a tenth or less of what a rig's crooked bones miss
EXACT = 1e-12  # [m]: what is not worth a correction


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
    turns: Floats,
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
    `turns` and `poles` have no rows where none are asked for; `aimed` and `starts` are left alone then.
    """
    place = limb[0]
    forward_row(i, joints, translation, rotations, offsets, positions, orientations)
    base = vec_at(positions, i, place["base"])
    if offsets.shape[0] > 0:
        mid, end = vec_at(positions, i, place["mid"]), vec_at(positions, i, place["end"])
        limb[i]["upper"] = max(norm(sub(mid, base)), SHORTEST)
        limb[i]["lower"] = max(norm(sub(end, mid)), SHORTEST)
    model = limb[i % limb.shape[0]]
    read_row(i, limb, driven, positions, orientations, reading, remainders)
    frame = frame_of(model, orientations, i)
    aim = rotate_inverse(frame, sub((goals[i, 0], goals[i, 1], goals[i, 2]), base))
    for k in range(3):
        worlds[i, k], aims[i, k] = base[k], aim[k]
    for k in range(4):
        worlds[i, 3 + k] = frame[k]
    if turns.shape[0] > 0:
        back = (model["bw"], model["bx"], model["by"], model["bz"])
        turn = (turns[i, 0], turns[i, 1], turns[i, 2], turns[i, 3])
        turned = mul(mul(conj(frame), turn), conj(back))
        for k in range(4):
            aimed[i, k] = turned[k]
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
    positions: Floats,
    orientations: Floats,
    rotations: Floats,
    report: Records,
    misses: Floats,
) -> None:
    """Row i: the pose's `rotations` with the limb at its values, and the way from its end to the goal (N, 4) [m], in
    the limb's frame and then how long it is: a rig whose bones are not straight lines between its joints misses by
    what the values cannot say.

    An invalid target leaves the pose as it is.
    """
    if report[i]["status"] == INVALID:
        for k in range(4):
            misses[i, k] = math.inf
        return
    pose_row(i, joints, limb, driven, values, remainders, orientations, rotations)
    end = end_of_chain(i, joints, limb[0], offsets, positions, orientations)
    frame = frame_of(limb[i % limb.shape[0]], orientations, i)
    miss = rotate_inverse(frame, sub((goals[i, 0], goals[i, 1], goals[i, 2]), end))
    for k in range(3):
        misses[i, k] = miss[k]
    misses[i, 3] = norm(miss)


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
    turns: Floats,
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
            turns,
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
    positions: Floats,
    orientations: Floats,
    rotations: Floats,
    report: Records,
    misses: Floats,
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
            positions,
            orientations,
            rotations,
            report,
            misses,
        )

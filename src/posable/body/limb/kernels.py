"""Kernels between a limb in its own frame and a limb of a body: reading a pose, posing it, and placing its end.

The limb's frame in the world is the canonical orientation of the part that carries it, times the limb's axes, with its
origin at the base joint. A joint whose canonical orientation is C has the rotation Q = f^-1 C_parent^-1 C b^-1 there.

Seven values cannot express every rotation of a rig's joints: its elbow does not bend exactly about its hinge, its upper
arm carries part of the twist. The difference is stored as a remainder R, with Q = (model's Q) R, and put back when the
limb is posed: the look of the captured arm stays, and nothing is lost in a round trip.

To place a hand or a foot in the world, `aim_row` goes from a pose and a target to the limb's own frame, `put_row`
from the limb's solution back to the pose, and measures there how far it is from the target. Between them the solver
runs as it always does, so all its options work in the world too.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ...compute import batch, kernel, prange
from ...compute.extent import vec_in_extent
from ...compute.types import Floats, Quat, Records, Vec3
from ...compute.verdict import INVALID, REACHED, verdict
from ...limb.kernels import (
    STRAIGHT,
    Values,
    base_towards,
    forearm,
    rotations_of,
    swivel_of,
    values_of,
    wrist_of,
)
from ...math.quaternion import angle_between, conj, mul, rotate, rotate_inverse, unit_quat
from ...math.vector import cross, dot, norm, reject, sub, unit
from ...skeleton.forward import forward_row, is_pose, offset_of, quat_at, quat_from, set_quat, vec_at

READING = np.dtype(
    [("swivel", "f8"), ("upper", "f8"), ("lower", "f8")]
    + [(name, "f8", size) for name, size in (("position", 3), ("orientation", 4), ("values", 7))],
    align=True,
)

Rig: TypeAlias = tuple[Records, Records, Records]  # joints, limb (1 or N,), driven joints
PoseArrays: TypeAlias = tuple[Floats, Floats, Floats]  # translation, rotations, offsets
TargetArrays: TypeAlias = tuple[Floats, Floats, Floats]  # positions [m], orientations, poles [m], in the world
Aimed: TypeAlias = tuple[Floats, Floats, Records, Floats, Floats, Floats, Floats, Floats]
# Filled: positions, orientations, readings and remainders of the pose; the limb's frame (N, 7); aim, orientation and
# swivel in it.
PutArrays: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Records, Floats]
# Goals, requested orientations, offsets, positions, orientations, readings, remainders.

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
def frame_of(limb: Any, orientations: Floats, i: int) -> Quat:
    """The limb's frame in the world, for row i."""
    carrier = mul(quat_at(orientations, i, limb["carrier"]), conj(quat_from(limb["carrier_neutral"])))
    return mul(carrier, (limb["fw"], limb["fx"], limb["fy"], limb["fz"]))


@kernel
def in_limb(limb: Any, frame: Quat, world: Quat, neutral: Quat) -> Quat:
    """A joint's world orientation as a rotation of the limb's frame."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(conj(frame), mul(world, conj(neutral))), conj(b))


@kernel
def in_world(limb: Any, frame: Quat, rotation: Quat, neutral: Quat) -> Quat:
    """The inverse of `in_limb`."""
    b = (limb["bw"], limb["bx"], limb["by"], limb["bz"])
    return mul(mul(mul(frame, rotation), b), neutral)


@kernel
def model_rotation(values: Values, lower: int, fraction: float) -> Quat:
    """The rotation that the values give a joint on the upper or the lower bone that carries a fraction of its twist."""
    v0, v1, v2, v3, v4, _, _ = values
    if lower == 0:
        base, _, _ = rotations_of((v0, v1, v2 * fraction, 0.0, 0.0, 0.0, 0.0))
        return base
    base, middle, _ = rotations_of((v0, v1, v2, v3, v4 * fraction, 0.0, 0.0))
    return mul(base, middle)


@kernel
def read_row(
    i: int,
    limb: Records,
    driven: Records,
    positions: Floats,
    orientations: Floats,
    out: Records,
    remainders: Floats,
) -> None:
    """Read the limb of row i: position and orientation of its end, its swivel, values and remainders."""
    model = limb[i % limb.shape[0]]
    first, last = model["first_driven"], model["last_driven"]
    base, mid = vec_at(positions, i, model["base"]), vec_at(positions, i, model["mid"])
    end = vec_at(positions, i, model["end"])
    frame = frame_of(model, orientations, i)
    e, m = rotate_inverse(frame, sub(end, base)), rotate_inverse(frame, sub(mid, base))
    q_end = in_limb(model, frame, quat_at(orientations, i, model["end"]), quat_from(model["end_neutral"]))
    q_base = in_limb(model, frame, quat_at(orientations, i, model["base"]), quat_from(driven[first]["neutral"]))
    swivel = swivel_of(model, e, m, rotate(q_base, (0.0, 1.0, 0.0)))
    base_rotation, bend = _bent(model, m, e, rotate(q_base, (0.0, 1.0, 0.0)))
    twist, swing, _ = wrist_of(forearm(model, base_rotation, bend), q_end)
    values = values_of(model, base_rotation, bend, twist, swing)
    for k in range(last - first):
        row = driven[first + k]
        actual = in_limb(model, frame, quat_at(orientations, i, row["joint"]), quat_from(row["neutral"]))
        rest = unit_quat(mul(conj(model_rotation(values, row["lower"], row["fraction"])), actual))
        set_quat(remainders, i, k, rest)
    reading = out[i]
    reading["swivel"], reading["upper"], reading["lower"] = swivel, norm(m), norm(sub(end, mid))
    for k in range(3):
        reading["position"][k] = e[k]
    for k in range(4):
        reading["orientation"][k] = q_end[k]
    for k in range(7):
        reading["values"][k] = values[k]


@kernel
def _bent(limb: Any, mid: Vec3, end: Vec3, y: Vec3) -> tuple[Quat, float]:
    """(orientation of the base, |v3|) from where the joints are; `y` is the bending axis of a straight limb.

    From the joints themselves and not from the distance of the end: near full extension the distance determines the
    mid joint's position to half the digits only.
    """
    rest = sub(end, mid)
    normal = cross(mid, rest)
    flex = limb["flex"]
    axis = (flex * normal[0], flex * normal[1], flex * normal[2])
    if norm(normal) < STRAIGHT * norm(mid) * norm(rest):
        axis = reject(y, unit(mid))
    base, _ = base_towards(unit(mid), unit(axis))
    return base, math.atan2(norm(normal), dot(mid, rest))


@kernel
def pose_row(
    i: int,
    joints: Records,
    limb: Records,
    driven: Records,
    values: Floats,
    remainders: Floats,
    orientations: Floats,
    rotations: Floats,
) -> None:
    """Pose the limb of row i at its values: local `rotations` and world `orientations` of its joints, in place."""
    model = limb[i % limb.shape[0]]
    first, last = model["first_driven"], model["last_driven"]
    frame = frame_of(model, orientations, i)
    v = (values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4], values[i, 5], values[i, 6])
    for k in range(last - first):
        row = driven[first + k]
        rotation = model_rotation(v, row["lower"], row["fraction"])
        rotation = mul(rotation, quat_at(remainders, i % remainders.shape[0], k))
        world = in_world(model, frame, rotation, quat_from(row["neutral"]))
        _set_orientation(joints, i, row["joint"], world, orientations, rotations)
    base, middle, swing = rotations_of(v)
    world = in_world(model, frame, mul(mul(base, middle), swing), quat_from(model["end_neutral"]))
    _set_orientation(joints, i, model["end"], world, orientations, rotations)


@kernel
def _set_orientation(joints: Records, i: int, j: int, world: Quat, orientations: Floats, rotations: Floats) -> None:
    parent = joints[j]["parent"]
    local = world
    if parent >= 0:
        local = mul(conj(quat_at(orientations, i, parent)), world)
    set_quat(rotations, i, j, unit_quat(local))
    set_quat(orientations, i, j, world)


@batch(rows=512)
def read_rows(
    n: int,
    limb: Records,
    driven: Records,
    positions: Floats,
    orientations: Floats,
    out: Records,
    remainders: Floats,
) -> None:
    """`read_row` over a batch."""
    for i in prange(n):
        read_row(i, limb, driven, positions, orientations, out, remainders)


@batch(rows=512)
def pose_rows(
    n: int,
    joints: Records,
    limb: Records,
    driven: Records,
    values: Floats,
    remainders: Floats,
    orientations: Floats,
    rotations: Floats,
) -> None:
    """`pose_row` over a batch."""
    for i in prange(n):
        pose_row(i, joints, limb, driven, values, remainders, orientations, rotations)


@kernel
def end_of_chain(i: int, joints: Records, limb: Any, offsets: Floats, positions: Floats, orientations: Floats) -> Vec3:
    """Return the position of a limb's end joint [m], from its base joint and the orientations of the joints between."""
    end = vec_at(positions, i, limb["base"])
    j = limb["end"]
    while j != limb["base"]:
        parent = joints[j]["parent"]
        bone = rotate(quat_at(orientations, i, parent), offset_of(joints, offsets, i, j))
        end = (end[0] + bone[0], end[1] + bone[1], end[2] + bone[2])
        j = parent
    return end


@kernel
def aim_row(i: int, rig: Rig, pose: PoseArrays, target: TargetArrays, found: Aimed) -> None:
    """Row i: forward kinematics, the limb as it is, its frame, and its target, orientation and swivel in that frame.

    Where poses move joints (`offsets` has rows), `limb` has a row for each pose and gets the lengths of the bones
    there. Requested orientations and poles have no rows where none are given; `aimed` and `starts` are left alone then.
    """
    (joints, limb, driven), (translation, rotations, offsets) = rig, pose
    goals, goal_orientations, poles = target
    positions, orientations, reading, remainders, worlds, aims, aimed, starts = found
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
    sound = vec_in_extent((goals[i, 0], goals[i, 1], goals[i, 2])) and vec_in_extent(base)
    if not (sound and is_pose(i, translation, rotations, offsets)):
        aim = (math.nan, math.nan, math.nan)  # no target: INVALID
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
        starts[i] = swivel_of(model, aim, pole, (0.0, 1.0, 0.0)) if vec_in_extent(pole) else math.nan


@kernel
def put_row(
    i: int, rig: Rig, aimed: PutArrays, values: Floats, rotations: Floats, report: Records, placed: Records
) -> None:
    """Row i: the pose's `rotations` with the limb at its values, and how far it is from the target: `PLACED`.

    A rig whose bones are not straight lines between its joints misses by what the values cannot express. An invalid
    target leaves the pose, and so its swivel, as it is. The solver's failures stand; success is decided here.
    """
    joints, limb, driven = rig
    goals, goal_orientations, offsets, positions, orientations, reading, remainders = aimed
    result, cause = placed[i], int(report[i]["status"])
    if cause == INVALID:
        report[i]["swivel"] = reading[i]["swivel"]
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


@batch(rows=256)
def aim_rows(n: int, rig: Rig, pose: PoseArrays, target: TargetArrays, found: Aimed) -> None:
    """`aim_row` over a batch."""
    for i in prange(n):
        aim_row(i, rig, pose, target, found)


@batch(rows=256)
def put_rows(
    n: int, rig: Rig, aimed: PutArrays, values: Floats, rotations: Floats, report: Records, placed: Records
) -> None:
    """`put_row` over a batch."""
    for i in prange(n):
        put_row(i, rig, aimed, values, rotations, report, placed)

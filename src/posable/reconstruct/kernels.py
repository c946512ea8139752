"""Sequential IK in compiled code: pelvis, spine, clavicles, then the limbs (Unzueta et al. 2008, Algorithm 1).

Targets come from `track_state` (given or bridged) and `untracked` (estimated), the trunk from `spine`, or from
`prior_trunk` with a learned prior, arms and legs from `limbs`.
"""

from __future__ import annotations

import math

from ..body.packed import drive_row
from ..compute import batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import Records, Vec3
from ..limb.solve import COLLISION, INVALID, REACHED, UNREACHABLE
from ..math.quaternion import angle_between, conj, mul, rotate
from ..math.vector import norm, sub
from ..skeleton.forward import forward_row, quat_at, quat_from, set_quat, vec_at
from .limbs import lift_goal, limb_residuals, pose_limb
from .packed import (
    CHEST,
    HEAD,
    HIPS,
    LEFT_ELBOW,
    LEFT_HAND,
    SCRATCH,
    SLOTS,
    Figure,
    Rows,
    distance_to,
    knows,
    quat_of,
    set_vec,
    vec_from,
)
from .prior_kernels import ASK, Network, store_past
from .prior_trunk import learned, no_guess, predict_trunk
from .spine import pelvis_frame, pose_trunk, pose_trunk_by_paper
from .track_state import calm_hips, heading_before, requested_orientation, store_frame, take_inputs
from .untracked import estimate_ends, estimate_feet, hang_hand

MET = 1e-6  # [m]: a point nearer than this is met


@kernel
def reconstruct_row(
    i: int, t: int, figure: Figure, net: Network, memory: Records, dt: float, stage: int, rows: Rows
) -> None:
    """Reconstruct the body of row i (Algorithm 1), `dt` [s] after the frame that `memory` has of track t."""
    before = heading_before(t, memory)
    lost = count_lost(i, rows)
    if lost > 0 and memory.shape[0] == 0:
        refuse(i, figure, before, rows)
        return
    take_inputs(i, t, figure, rows, memory, dt)
    if memory.shape[0] > 0:
        memory[t]["clock"] += dt
    if learned(net):
        if rows.known[i] & 3 == 0:
            refuse(i, figure, before, rows)
            return
        position, x = predict_trunk(i, t, net, figure, memory, dt, stage, rows)
        if stage == ASK:
            return
    else:
        if not estimate_ends(i, figure, rows, before):
            refuse(i, figure, before, rows)
            return
        position, x = estimate_trunk(i, t, figure, memory, dt, before, rows)
    if memory.shape[0] > 0 and dt > 0.0:
        position = calm_hips(i, t, memory, dt, rows, position)
    for k in range(3):
        rows.heading[i, k] = x[k]
    for k in range(figure.sources.shape[0]):
        set_quat(rows.orientations, i, k, quat_at(rows.trunk, i, figure.sources[k]))
    for j in range(figure.joints.shape[0]):
        set_quat(rows.rotations, i, j, quat_from(figure.drive[j]["local"]))
    drive_row(i, figure.drive, rows.orientations, rows.rotations, rows.world)
    place_hips(i, figure, rows, position)
    status = pose_limbs(i, t, figure, memory, dt, rows)
    status = trunk_residuals(i, figure, rows, status)
    rows.status[i] = INVALID if lost > 0 else status
    if memory.shape[0] > 0:
        store_frame(i, t, figure, rows, memory, dt)
        if net.sizes.shape[0] > 0:
            store_past(i, t, memory, rows)


@kernel
def estimate_trunk(
    i: int, t: int, figure: Figure, memory: Records, dt: float, before: Vec3, rows: Rows
) -> tuple[Vec3, Vec3]:
    """Fill in `rows.trunk`, and feet in `rows.goals`, without a prior; return (position of the hips [m], X of the
    pelvis).
    """
    settings = figure.settings[0]
    weights = vec_from(settings["weights"])
    if norm(before) < 0.5:
        weights = (1.0, 1.0, 0.0)  # the first frame has no frame before
    estimate, x, y = pelvis_frame(i, rows, weights, before, settings["pelvis_rate"] * dt)
    if knows(i, rows, HIPS):
        estimate = quat_at(rows.target_orientations, i, HIPS)
        x = rotate(estimate, (1.0, 0.0, 0.0))
    estimate_feet(i, t, figure, rows, x, memory, dt)
    no_guess(i, rows)
    if settings["paper_spine"]:
        return pose_trunk_by_paper(i, t, figure, rows, memory, estimate, y), x
    return pose_trunk(i, t, figure, rows, memory, dt, estimate, y), x


@kernel
def count_lost(i: int, rows: Rows) -> int:
    """Return how many points of row i are not finite, or beyond the extent."""
    lost = 0
    for k in range(rows.points.shape[1]):
        lost += int(not vec_in_extent(vec_at(rows.points, i, k)))
    return lost


@kernel
def pose_limbs(i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows) -> int:
    """Rotate the four limbs to their goals; return REACHED, or the reason why the first point is not met.

    Legs come before arms, which keep out of them, and of each pair the one that is bent less before the other.
    """
    status = (REACHED, REACHED, REACHED, REACHED)
    second = (second_of(i, 0, figure, rows), second_of(i, 2, figure, rows))
    for k in range(4):
        pair = 1 - k // 2
        limb = second[pair] if k % 2 == 1 else 4 * pair + 1 - second[pair]
        slot = LEFT_HAND + limb
        if limb < 2 and not math.isfinite(rows.goals[i, slot, 0]):
            elbow = vec_at(rows.goals, i, LEFT_ELBOW + limb)
            set_vec(rows.goals, i, slot, hang_hand(i, limb, figure, rows, elbow))
        lifted = lift_goal(i, limb, figure, rows) if figure.around.shape[0] > 0 else False
        last = figure.splits[1, limb + 1] if k % 2 == 1 else figure.splits[2, limb]
        report = pose_limb(i, t, limb, last - figure.splits[1, limb], figure, rows, memory, dt)
        if k < 3 and figure.own.shape[0] > 0:  # those that follow keep out of it where it is
            forward_row(i, figure.joints, rows.translation, rows.rotations, rows.offsets, rows.positions, rows.world)
        limb_residuals(i, limb, figure, rows)
        missed = REACHED
        for side in range(2):
            column = figure.tracked[0, slot + 4 * side]
            if missed == REACHED and column >= 0 and not rows.residual[i, column] <= MET:
                missed = COLLISION if lifted else report if report != REACHED else UNREACHABLE
        status = with_status(status, limb, missed)
    for limb in range(4):
        if status[limb] != REACHED:
            return status[limb]
    return REACHED


@kernel
def with_status(status: tuple[int, int, int, int], limb: int, one: int) -> tuple[int, int, int, int]:
    """Return the statuses of four limbs with that of one replaced."""
    a, b, c, d = status
    return (
        one if limb == 0 else a,
        one if limb == 1 else b,
        one if limb == 2 else c,
        one if limb == 3 else d,
    )


@kernel
def second_of(i: int, left: int, figure: Figure, rows: Rows) -> int:
    """Return which limb of a pair is posed after the other, from its left one: that whose end is nearer, for its
    length. One whose end is not known is posed first.
    """
    away = (math.inf, math.inf)
    for side in range(2):
        model = figure.limbs[left + side]
        d = norm(sub(vec_at(rows.goals, i, LEFT_HAND + left + side), vec_at(rows.positions, i, model["base"])))
        if math.isfinite(d):
            away = (
                (d / (model["upper"] + model["lower"]), away[1])
                if side == 0
                else (
                    away[0],
                    d / (model["upper"] + model["lower"]),
                )
            )
    return left if away[0] < away[1] else left + 1


@kernel
def trunk_residuals(i: int, figure: Figure, rows: Rows, status: int) -> int:
    """Fill in how far the trunk's joints are from their points, infinity for lost points; return the status."""
    for k in range(SLOTS):
        column = figure.tracked[0, k]
        if column < 0:
            continue
        if k <= HEAD or k >= CHEST:
            at = vec_at(rows.positions, i, figure.tracked[1, k])
            rows.residual[i, column] = distance_to(at, vec_at(rows.points, i, column))
            if status == REACHED and not rows.residual[i, column] <= MET:
                status = UNREACHABLE
    if rows.missing.shape[0] > 0:
        for k in range(HEAD + 1):
            part = 0 if k == HIPS else figure.spine.shape[0] - 1
            rows.missing[i, k] = angle_between(quat_at(rows.trunk, i, part), requested_orientation(i, k, rows))
        for k in range(LEFT_ELBOW, SLOTS):
            joint = figure.tracked[2, k]
            if joint >= 0:
                now = mul(quat_at(rows.world, i, joint), conj(quat_of(figure.neutrals, k)))
                rows.missing[i, k] = angle_between(now, requested_orientation(i, k, rows))
    return status


@kernel
def place_hips(i: int, figure: Figure, rows: Rows, position: Vec3) -> None:
    """Do the forward kinematics with the hips' joint at `position`."""
    for k in range(3):
        rows.translation[i, k] = 0.0
    forward_row(i, figure.joints, rows.translation, rows.rotations, rows.offsets, rows.positions, rows.world)
    hips = vec_at(rows.positions, i, figure.tracked[1, HIPS])
    for k in range(3):
        rows.translation[i, k] = position[k] - hips[k]
    for j in range(figure.joints.shape[0]):
        for k in range(3):
            rows.positions[i, j, k] += rows.translation[i, k]


@kernel
def refuse(i: int, figure: Figure, before: Vec3, rows: Rows) -> None:
    """Return the neutral pose, INVALID, for a row with a point that is not finite and cannot be bridged."""
    for k in range(3):
        rows.translation[i, k], rows.heading[i, k] = figure.stance[0]["root"][k], before[k]
    for j in range(figure.joints.shape[0]):
        set_quat(rows.rotations, i, j, quat_from(figure.drive[j]["local"]))
    for k in range(rows.residual.shape[1]):
        rows.residual[i, k] = math.inf
    rows.status[i] = INVALID


@batch(rows=64, scratch=SCRATCH, interleaved=("translation", "rotations"))
def reconstruct_rows(n: int, figure: Figure, net: Network, memory: Records, dt: float, stage: int, rows: Rows) -> None:
    """Reconstruct n tracks of equal length, one after the other in the rows, `dt` [s] from frame to frame.

    Each continues from its row of `memory`; without rows, poses are independent: tracks of one frame. Of these the
    network may be evaluated by others, for all of them at once, between two calls: `stage` is ASK, then ANSWERED.
    """
    frames = rows.points.shape[0] // n
    for t in prange(n):
        for f in range(frames):
            reconstruct_row(t * frames + f, t, figure, net, memory, dt, stage, rows)

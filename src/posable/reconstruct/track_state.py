"""The state of a track from frame to frame: points that are lost are bridged, elbows and knees do not pop.

A lost point goes on as it went, its velocity dying away (`FADE`), carried along with the body: moved as hips and head
move, and turned as the pelvis turns where its orientation is known, else about the vertical as it turned of late.
When it returns, the way that is left to it is eased away within `RETURN`, from rest to rest. Orientations likewise,
without a velocity. A point that was not seen yet is guessed as one that nobody tracks (`missing`).
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..math.quaternion import axis_angle, conj, mul, rotate, slerp, unit_quat
from ..math.vector import add, cross, dot, norm, reject, scale, sub
from ..skeleton.forward import quat_at, set_quat, vec_at
from .packed import (
    GAP,
    GOALS,
    HEAD,
    HEADING,
    HIPS,
    ORIENTATION,
    ORIENTATION_GAP,
    ORIENTATION_SINCE,
    POLES,
    SINCE,
    SLOTS,
    SPEED,
    YAW_RATE,
    Figure,
    Rows,
)
from .untracked import set_vec

FADE = 0.15  # [s] in which the velocity of a lost point falls to 1/e
RETURN = 0.3  # [s] until a point that returns is met again
STRAIGHT = 1e-3  # sine of the angle below which a limb is too straight to say where its elbow or knee is
EVENED = 0.3  # [s] over which the turning of the body is evened out


@kernel
def take_inputs(i: int, t: int, figure: Figure, rows: Rows, memory: Floats, dt: float) -> None:
    """Write the targets of row i: as given, or in track t bridged; NaN where unknown."""
    for k in range(SLOTS):
        column = figure.tracked[0, k]
        for c in range(3):
            rows.goals[i, k, c] = rows.points[i, column, c] if column >= 0 else math.nan
        if not (math.isfinite(rows.goals[i, k, 0] + rows.goals[i, k, 1] + rows.goals[i, k, 2])):
            rows.goals[i, k, 0] = math.nan
    for k in range(rows.target_orientations.shape[1] if rows.target_orientations.shape[0] > 0 else 0):
        q = quat_at(rows.marker_orientations, i, k)
        size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        if math.isfinite(size) and size > 1e-150:
            set_quat(rows.target_orientations, i, k, unit_quat(q))
        else:
            rows.target_orientations[i, k, 0] = math.nan
    if memory.shape[0] > 0 and dt > 0.0 and norm(heading_before(t, memory)) > 0.5:
        bridge(i, t, figure, rows, memory, dt)


@kernel
def recall(memory: Floats, t: int, at: int) -> Vec3:
    """The vector that track t has at a place of its memory."""
    return (memory[t, at], memory[t, at + 1], memory[t, at + 2])


@kernel
def remember(memory: Floats, t: int, at: int, v: Vec3) -> None:
    """The inverse of `recall`."""
    memory[t, at], memory[t, at + 1], memory[t, at + 2] = v[0], v[1], v[2]


@kernel
def recall_rotation(memory: Floats, t: int, at: int) -> Quat:
    """The same for a quaternion."""
    return (memory[t, at], memory[t, at + 1], memory[t, at + 2], memory[t, at + 3])


@kernel
def remember_rotation(memory: Floats, t: int, at: int, q: Quat) -> None:
    """The inverse of `recall_rotation`."""
    memory[t, at], memory[t, at + 1], memory[t, at + 2], memory[t, at + 3] = q[0], q[1], q[2], q[3]


@kernel
def heading_before(t: int, memory: Floats) -> Vec3:
    """X of the pelvis in the last frame of track t; zero before the first."""
    if memory.shape[0] == 0:
        return (0.0, 0.0, 0.0)
    return recall(memory, t, HEADING)


@kernel
def bridge(i: int, t: int, figure: Figure, rows: Rows, memory: Floats, dt: float) -> None:
    """Fill in what is lost in row i, and ease in what returns."""
    centre, now, rotation = carried(i, t, rows, memory, dt)
    for k in range(SLOTS):
        before = recall(memory, t, GOALS + 3 * k)
        if figure.tracked[0, k] < 0 or not math.isfinite(before[0]):
            continue
        moved = add(now, rotate(rotation, sub(before, centre)))
        if not math.isfinite(rows.goals[i, k, 0]):
            speed = scale(rotate(rotation, recall(memory, t, SPEED + 3 * k)), math.exp(-dt / FADE))
            remember(memory, t, SPEED + 3 * k, speed)
            set_vec(rows.goals, i, k, add(moved, scale(speed, dt)))
            continue
        here = vec_at(rows.goals, i, k)
        if memory[t, SINCE + k] < 0.0:
            memory[t, SINCE + k] = 0.0
            remember(memory, t, GAP + 3 * k, sub(moved, here))
        memory[t, SINCE + k] += dt
        if memory[t, SINCE + k] < RETURN:
            set_vec(
                rows.goals,
                i,
                k,
                add(here, scale(recall(memory, t, GAP + 3 * k), left_of(memory[t, SINCE + k] / RETURN))),
            )
        else:
            fresh = scale(sub(here, moved), 0.5 / dt)
            remember(memory, t, SPEED + 3 * k, add(scale(recall(memory, t, SPEED + 3 * k), 0.5), fresh))
    for k in range(rows.target_orientations.shape[1] if rows.target_orientations.shape[0] > 0 else 0):
        bridge_orientation(i, t, k, rotation, rows, memory, dt)


@kernel
def bridge_orientation(i: int, t: int, k: int, rotation: Quat, rows: Rows, memory: Floats, dt: float) -> None:
    """The same for orientation k; `rotation` is how the body turned."""
    before = recall_rotation(memory, t, ORIENTATION + 4 * k)
    if not math.isfinite(before[0]):
        return
    moved = mul(rotation, before)
    if not math.isfinite(rows.target_orientations[i, k, 0]):
        set_quat(rows.target_orientations, i, k, unit_quat(moved))
        memory[t, ORIENTATION_SINCE + k] = -1.0
        return
    here = quat_at(rows.target_orientations, i, k)
    if memory[t, ORIENTATION_SINCE + k] < 0.0:
        memory[t, ORIENTATION_SINCE + k] = 0.0
        remember_rotation(memory, t, ORIENTATION_GAP + 4 * k, mul(moved, conj(here)))
    memory[t, ORIENTATION_SINCE + k] += dt
    if memory[t, ORIENTATION_SINCE + k] < RETURN:
        fraction = left_of(memory[t, ORIENTATION_SINCE + k] / RETURN)
        gap = slerp((1.0, 0.0, 0.0, 0.0), recall_rotation(memory, t, ORIENTATION_GAP + 4 * k), fraction)
        set_quat(rows.target_orientations, i, k, mul(gap, here))


@kernel
def left_of(s: float) -> float:
    """Return the remaining fraction of a displacement at the fraction s of its time, from rest to rest."""
    return 1.0 - s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


@kernel
def carried(i: int, t: int, rows: Rows, memory: Floats, dt: float) -> tuple[Vec3, Vec3, Quat]:
    """(middle of the body before, now, how it turned between) from what is seen in both frames."""
    centre, now, count = sums(i, t, rows, memory, HEAD + 1)
    if count == 0:
        centre, now, count = sums(i, t, rows, memory, SLOTS)
    if count == 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    centre, now = scale(centre, 1.0 / count), scale(now, 1.0 / count)
    if rows.target_orientations.shape[0] > 0 and math.isfinite(
        rows.target_orientations[i, HIPS, 0] + memory[t, ORIENTATION + 4 * HIPS]
    ):
        return (
            centre,
            now,
            unit_quat(
                mul(
                    quat_at(rows.target_orientations, i, HIPS), conj(recall_rotation(memory, t, ORIENTATION + 4 * HIPS))
                )
            ),
        )
    return centre, now, axis_angle((0.0, 1.0, 0.0), memory[t, YAW_RATE] * dt)


@kernel
def sums(i: int, t: int, rows: Rows, memory: Floats, slots: int) -> tuple[Vec3, Vec3, int]:
    """(sum of the first slots' goals before, now, how many) of those seen in both frames."""
    centre, now, count = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0
    for k in range(slots):
        one, other = recall(memory, t, GOALS + 3 * k), vec_at(rows.goals, i, k)
        if memory[t, SINCE + k] >= RETURN and math.isfinite(one[0] + other[0]):
            centre, now, count = add(centre, one), add(now, other), count + 1
    return centre, now, count


@kernel
def keep(i: int, t: int, figure: Figure, rows: Rows, memory: Floats, dt: float) -> None:
    """Remember row i as the last frame of track t, `dt` [s] after the one before."""
    old, new = recall(memory, t, HEADING), (rows.heading[i, 0], rows.heading[i, 1], rows.heading[i, 2])
    rotated = math.atan2(old[2] * new[0] - old[0] * new[2], old[0] * new[0] + old[2] * new[2])
    memory[t, YAW_RATE] += (rotated / dt - memory[t, YAW_RATE]) * min(1.0, dt / EVENED)
    remember(memory, t, HEADING, new)
    for k in range(SLOTS):
        remember(memory, t, GOALS + 3 * k, vec_at(rows.goals, i, k))
        if figure.tracked[0, k] >= 0:
            p = vec_at(rows.points, i, figure.tracked[0, k])
            if not math.isfinite(p[0] + p[1] + p[2]):
                memory[t, SINCE + k] = -1.0
    for k in range(rows.target_orientations.shape[1] if rows.target_orientations.shape[0] > 0 else 0):
        remember_rotation(memory, t, ORIENTATION + 4 * k, quat_at(rows.target_orientations, i, k))


@kernel
def calm_pole(t: int, limb: int, n: Vec3, mid: Vec3, memory: Floats, most: float) -> tuple[bool, Vec3]:
    """(whether an elbow or knee popped, where it may be): `mid` in the limb's frame, `most` [rad] about the line n.

    n is the direction of the limb as a whole. A straight limb does not pop.
    """
    before, pole = reject(recall(memory, t, POLES + 3 * limb), n), reject(mid, n)
    size = norm(before) * norm(pole)
    if norm(before) < 0.1 or norm(pole) < STRAIGHT * norm(mid):
        return False, mid
    if dot(before, pole) >= size * math.cos(min(most, math.pi)):
        return False, mid
    displacement = math.copysign(most, dot(cross(before, pole), n))
    return True, rotate(axis_angle(n, displacement), before)

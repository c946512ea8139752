"""The state of a track from frame to frame: lost points are bridged, elbows and knees do not pop.

A lost point continues with its velocity dying away (`FADE`), carried along with the body: translated as hips and head
are, and rotated as the pelvis is where its orientation is known, else about the vertical at the body's recent rate.
When the point returns, the remaining gap is eased away within `RETURN`, a large one at `PACE`, from rest to rest.
Orientations likewise, without a velocity. A point that was not seen yet is estimated as an untracked one (`untracked`).
While what is known has changed of late, pelvis, spine and clavicles rotate no faster than `CALM`.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.extent import vec_in_extent
from ..compute.types import Quat, Records, Vec3
from ..math.quaternion import axis_angle, conj, exp, mul, rotate, unit_quat
from ..math.vector import add, cross, dot, lerp, norm, reject, scale, sub
from ..skeleton.forward import quat_at, set_quat, vec_at
from .packed import (
    CHEST,
    HEAD,
    HIPS,
    LEFT_HAND,
    LEFT_SHOULDER,
    SLOTS,
    Figure,
    Rows,
    given,
    given_orientation,
    knows,
    put_quat,
    put_vec,
    quat_of,
    set_vec,
    vec_from,
    vec_of,
)

FADE = 0.15  # [s] in which the velocity of a lost point falls to 1/e
KEEP = 0.05  # [s] in which where it was bridged to takes on its velocity once it has returned
RETURN = 0.3  # [s] until a point that returns is met again, or as long as its way takes at
LONGEST = 1.0  # [s] that it takes at most: from further than 3 m nothing returns as a body moves
PACE, ROTATION_PACE = 3.0, 1.5 * math.pi  # [m/s], [rad/s] on average
ASTRAY = 2.0  # [m] from their goal, where hips of no body are
CALM = math.pi  # [rad/s]: of pelvis and spine, while they catch up with a change of what is known
LATE_NOW = 2  # of a trunk that is late: found in this frame
UNSEEN = -2.0  # in place of the time since an orientation was seen: it never was, and the body's own is stored
STRAIGHT = 1e-3  # sine of the angle below which a limb is too straight to show where its elbow or knee is
EVENED = 0.3  # [s] over which the body's yaw rate is smoothed


@kernel
def take_inputs(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> None:
    """Write the targets of row i: as given, or in track t bridged; NaN where unknown."""
    for k in range(SLOTS):
        column = figure.tracked[0, k]
        for c in range(3):
            rows.goals[i, k, c] = rows.points[i, column, c] if column >= 0 else math.nan
        if not vec_in_extent(vec_at(rows.goals, i, k)):
            rows.goals[i, k, 0] = math.nan
    for k in range(orientation_count(rows)):
        set_quat(rows.target_orientations, i, k, requested_orientation(i, k, rows))
    rows.known[i] = known_bits(i, figure, rows)
    if memory.shape[0] > 0 and dt > 0.0 and norm(heading_before(t, memory)) > 0.5:
        bridge(i, t, figure, rows, memory, dt)
    if rows.known[i] & 3 == 0:  # neither hips nor head: the body holds on to where it has them
        for k in range(HEAD + 1):
            if math.isfinite(rows.goals[i, k, 0]):
                rows.known[i] |= 1 << k
    if memory.shape[0] > 0:
        state = memory[t]
        changed = state["known"] >= 0 and state["known"] != rows.known[i]
        state["since_change"] = 0.0 if changed else state["since_change"] + dt
        state["known"] = rows.known[i]


@kernel
def trunk_is_hidden(i: int, figure: Figure, rows: Rows) -> bool:
    """Return whether nothing that is seen in row i shows how the trunk is rotated: neither hips nor head, nor what a
    trunk carries on both sides. Feet do not.
    """
    for k in range(HEAD + 1):
        column = figure.tracked[0, k]
        if (column >= 0 and vec_in_extent(vec_at(rows.points, i, column))) or given_orientation(i, rows, k):
            return False
    hands = given(i, rows, LEFT_HAND) and given(i, rows, LEFT_HAND + 1)
    shoulders = given(i, rows, LEFT_SHOULDER) and given(i, rows, LEFT_SHOULDER + 1)
    return not (hands or shoulders or given(i, rows, CHEST) or given_orientation(i, rows, CHEST))


@kernel
def catches_up(t: int, memory: Records) -> bool:
    """Return whether the trunk of track t still catches up with a change of what is known."""
    return bool(memory[t]["since_change"] < RETURN or memory[t]["late"] != 0)


@kernel
def requested_orientation(i: int, k: int, rows: Rows) -> Quat:
    """Return the orientation of marker k that row i was given, as a unit quaternion; NaN where it is none."""
    q = quat_at(rows.marker_orientations, i, k)
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if math.isfinite(size) and size > 1e-150:
        return unit_quat(q)
    return (math.nan, math.nan, math.nan, math.nan)


@kernel
def known_bits(i: int, figure: Figure, rows: Rows) -> int:
    """Return `Rows.known` of row i, as long as nothing is bridged. A chest counts where arms are carried."""
    bits = 0
    for k in range(SLOTS):
        if math.isfinite(rows.goals[i, k, 0]) and (
            k != CHEST or figure.settings[0]["chest"] == figure.stance[0]["chest"]
        ):
            bits |= 1 << k
    for k in range(orientation_count(rows)):
        if math.isfinite(rows.target_orientations[i, k, 0]) and (
            k != CHEST or figure.settings[0]["chest"] == figure.stance[0]["chest"]
        ):
            bits |= 1 << (SLOTS + k)
    return bits


@kernel
def orientation_count(rows: Rows) -> int:
    """Return how many of the slots may have orientations: all, or none where no orientations are given."""
    return rows.target_orientations.shape[1] if rows.target_orientations.shape[0] > 0 else 0


@kernel
def heading_before(t: int, memory: Records) -> Vec3:
    """Return X of the pelvis in the last frame of track t; zero before the first."""
    if memory.shape[0] == 0:
        return (0.0, 0.0, 0.0)
    return vec_from(memory[t]["heading"])


@kernel
def bridge(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> None:
    """Fill in lost points of row i, and ease in those that return; what is lost goes along with what returns.

    Where a point was bridged to goes on moving as long as the point is eased in, so that no speed changes at once.
    """
    state = memory[t]
    seen, bridged, velocities = state["seen"], state["bridged"], state["velocities"]
    centre, now, rotation = carried(i, t, RETURN, rows, memory, dt)
    for k in range(SLOTS):
        before, here = vec_of(state["goals"], k), vec_at(rows.goals, i, k)
        if figure.tracked[0, k] < 0 or not math.isfinite(before[0] + here[0]):
            continue
        if seen[k] >= RETURN:
            moved = add(now, rotate(rotation, sub(before, centre)))
            fresh = scale(sub(here, moved), 0.5 / dt)
            put_vec(velocities, k, add(scale(vec_of(velocities, k), 0.5), fresh))
            continue
        if seen[k] < 0.0:
            seen[k] = 0.0
            put_vec(bridged, k, before)
        else:  # it takes on the velocity of the point
            old = add(now, rotate(rotation, sub(vec_of(state["returning"], k), centre)))
            velocity = lerp(scale(sub(here, old), 1.0 / dt), vec_of(velocities, k), math.exp(-dt / KEEP))
            put_vec(velocities, k, velocity)
        put_vec(state["returning"], k, here)
        there = gone_on(t, k, vec_of(bridged, k), centre, now, rotation, memory, dt)
        put_vec(bridged, k, there)
        seen[k] += dt * min(1.0, RETURN * max(PACE / max(norm(sub(there, here)), 1e-9), 1.0 / LONGEST))
        if seen[k] < RETURN:
            set_vec(rows.goals, i, k, lerp(here, there, left_of(seen[k] / RETURN)))
    centre, now, rotation = carried(i, t, 0.0, rows, memory, dt)
    for k in range(SLOTS):
        before = vec_of(state["goals"], k)
        if figure.tracked[0, k] < 0 or not math.isfinite(before[0]) or math.isfinite(rows.goals[i, k, 0]):
            continue
        put_vec(velocities, k, scale(vec_of(velocities, k), math.exp(-dt / FADE)))
        goal = gone_on(t, k, before, centre, now, rotation, memory, dt)
        if vec_in_extent(goal):  # else it is unknown, as one that was never seen
            set_vec(rows.goals, i, k, goal)
    for k in range(orientation_count(rows)):
        bridge_orientation(i, t, k, rotation, rows, memory, dt)


@kernel
def gone_on(t: int, k: int, before: Vec3, centre: Vec3, now: Vec3, rotation: Quat, memory: Records, dt: float) -> Vec3:
    """Return where point k of track t goes from `before` while it is not seen: along with the body, whose middle moves
    from `centre` to `now` and which rotates, and on with its own velocity.
    """
    velocities = memory[t]["velocities"]
    velocity = rotate(rotation, vec_of(velocities, k))
    put_vec(velocities, k, velocity)
    return add(add(now, rotate(rotation, sub(before, centre))), scale(velocity, dt))


@kernel
def bridge_orientation(i: int, t: int, k: int, rotation: Quat, rows: Rows, memory: Records, dt: float) -> None:
    """Fill in orientation k of row i where it is lost, or ease it in; `rotation` is the body's since the last frame."""
    state = memory[t]
    seen, before = state["orientations_seen"], quat_of(state["orientations"], k)
    if not math.isfinite(before[0]):
        return
    if not math.isfinite(rows.target_orientations[i, k, 0]):
        if seen[k] == UNSEEN:
            return
        set_quat(rows.target_orientations, i, k, unit_quat(mul(rotation, before)))
        seen[k] = -1.0
        return
    if seen[k] >= RETURN:
        return
    here = quat_at(rows.target_orientations, i, k)
    if seen[k] < 0.0:
        seen[k] = 0.0
        put_quat(state["bridged_orientations"], k, before)
        put_quat(state["orientation_gaps"], k, nearer(mul(before, conj(here)), (1.0, 0.0, 0.0, 0.0)))  # the shorter way
    there = unit_quat(mul(rotation, quat_of(state["bridged_orientations"], k)))
    put_quat(state["bridged_orientations"], k, there)
    gap = nearer(mul(there, conj(here)), quat_of(state["orientation_gaps"], k))
    put_quat(state["orientation_gaps"], k, gap)
    size = math.sqrt(gap[1] * gap[1] + gap[2] * gap[2] + gap[3] * gap[3])
    angle = 2.0 * math.atan2(size, gap[0])  # beyond half a turn, too: the shorter way would turn over
    seen[k] += dt * min(1.0, RETURN * ROTATION_PACE / max(angle, 1e-9))
    if seen[k] < RETURN and size > 0.0:
        left = left_of(seen[k] / RETURN) * angle / size
        rotated = exp((left * gap[1], left * gap[2], left * gap[3]))
        set_quat(rows.target_orientations, i, k, unit_quat(mul(rotated, here)))


@kernel
def nearer(q: Quat, to: Quat) -> Quat:
    """Return the one of the two quaternions of a rotation that is nearer to another quaternion."""
    if q[0] * to[0] + q[1] * to[1] + q[2] * to[2] + q[3] * to[3] >= 0.0:
        return q
    return (-q[0], -q[1], -q[2], -q[3])


@kernel
def left_of(s: float) -> float:
    """Return the remaining fraction of a displacement at the fraction s of its time, from rest to rest."""
    return 1.0 - s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


@kernel
def carried(i: int, t: int, since: float, rows: Rows, memory: Records, dt: float) -> tuple[Vec3, Vec3, Quat]:
    """Return (middle of the body before, now, its rotation between) from the points seen for so long [s]."""
    state = memory[t]
    centre, now, count = sums(i, t, since, rows, memory, HEAD + 1)
    if count == 0:
        centre, now, count = sums(i, t, since, rows, memory, SLOTS)
    if count == 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    centre, now = scale(centre, 1.0 / count), scale(now, 1.0 / count)
    before = quat_of(state["orientations"], HIPS)
    steady = state["orientations_seen"][HIPS] >= RETURN  # else the difference is what the orientation was lost by
    if steady and knows(i, rows, HIPS) and math.isfinite(before[0]):
        return centre, now, unit_quat(mul(quat_at(rows.target_orientations, i, HIPS), conj(before)))
    return centre, now, axis_angle((0.0, 1.0, 0.0), state["yaw_rate"] * dt)


@kernel
def sums(i: int, t: int, since: float, rows: Rows, memory: Records, slots: int) -> tuple[Vec3, Vec3, int]:
    """Return (sum of the first slots' goals before, now, how many) of those seen for so long [s]."""
    state = memory[t]
    centre, now, count = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0
    for k in range(slots):
        one, other = vec_of(state["goals"], k), vec_at(rows.goals, i, k)
        if state["seen"][k] >= since and math.isfinite(one[0] + other[0]):
            centre, now, count = add(centre, one), add(now, other), count + 1
    return centre, now, count


@kernel
def store_frame(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> None:
    """Store row i as the last frame of track t, `dt` [s] after the one before."""
    state = memory[t]
    old, new = vec_from(state["heading"]), (rows.heading[i, 0], rows.heading[i, 1], rows.heading[i, 2])
    level = math.hypot(old[0], old[2]) * math.hypot(new[0], new[2])  # the less, the less it says
    rotated = level * math.atan2(old[2] * new[0] - old[0] * new[2], old[0] * new[0] + old[2] * new[2])
    # What eases in where the pelvis faces shows no rate: it would carry along what it is eased from.
    if trunk_is_hidden(i, figure, rows) or 0.0 <= state["orientations_seen"][HIPS] < RETURN:
        rotated = 0.0
    state["yaw_rate"] += (rotated / dt - state["yaw_rate"]) * min(1.0, dt / EVENED)
    for c in range(3):
        state["heading"][c] = new[c]
    for k in range(SLOTS):
        at = vec_at(rows.goals, i, k)
        if k <= HEAD and not given(i, rows, k):  # where it came to be
            at = vec_at(rows.positions, i, figure.tracked[1, k])
        put_vec(state["goals"], k, at)
        if figure.tracked[0, k] >= 0 and not vec_in_extent(vec_at(rows.points, i, figure.tracked[0, k])):
            state["seen"][k] = -1.0
    oriented = orientation_count(rows)
    for k in range(SLOTS):
        if k < oriented and math.isfinite(rows.target_orientations[i, k, 0]):
            put_quat(state["orientations"], k, quat_at(rows.target_orientations, i, k))
        else:
            put_quat(state["orientations"], k, own_orientation(i, k, figure, rows))
            state["orientations_seen"][k] = UNSEEN


@kernel
def own_orientation(i: int, k: int, figure: Figure, rows: Rows) -> Quat:
    """Return the canonical orientation of marker k in the body of row i."""
    if k <= HEAD:
        return quat_at(rows.trunk, i, 0 if k == HIPS else figure.spine.shape[0] - 1)
    joint = figure.tracked[2, k]
    if joint < 0:  # the body has no such part
        return (1.0, 0.0, 0.0, 0.0)
    return mul(quat_at(rows.world, i, joint), conj(quat_of(figure.neutrals, k)))


@kernel
def settled(t: int, figure: Figure, memory: Records) -> bool:
    """Return whether nothing has been lost or returned for `RETURN`, in the last frame of track t."""
    state = memory[t]
    if state["since_change"] < RETURN:
        return False
    for k in range(SLOTS):
        if figure.tracked[0, k] >= 0 and 0.0 <= state["seen"][k] < RETURN:
            return False
        if 0.0 <= state["orientations_seen"][k] < RETURN:
            return False
    return True


@kernel
def calm_hips(i: int, t: int, memory: Records, dt: float, rows: Rows, position: Vec3) -> Vec3:
    """Return where the hips are put [m]: from their goal they move away, or back to it, by `PACE` at most. So nothing
    jumps where a trunk that has not caught up has another of its ends to meet. Further than `ASTRAY` from it they go
    back at once: points were somewhere else altogether.
    """
    state, goal = memory[t], vec_at(rows.goals, i, HIPS)
    before = sub(vec_from(state["hips"]), vec_of(state["goals"], HIPS))
    change = sub(sub(position, goal), before)
    if norm(change) > PACE * dt and norm(before) < ASTRAY:  # false where there was none before
        position = add(goal, add(before, scale(change, PACE * dt / norm(change))))
    for c in range(3):
        state["hips"][c] = position[c]
    return position


@kernel
def calm_pole(t: int, limb: int, n: Vec3, mid: Vec3, memory: Records, most: float) -> tuple[bool, Vec3]:
    """Return (whether an elbow or knee popped, where it may be): `mid` in the limb's frame, `most` [rad] about the
    line n.

    n is the direction of the limb as a whole. A straight limb does not pop.
    """
    before, pole = reject(vec_of(memory[t]["poles"], limb), n), reject(mid, n)
    size = norm(before) * norm(pole)
    if norm(before) < 0.1 or norm(pole) < STRAIGHT * norm(mid):
        return False, mid
    if dot(before, pole) >= size * math.cos(min(most, math.pi)):
        return False, mid
    displacement = math.copysign(most, dot(cross(before, pole), n))
    return True, rotate(axis_angle(n, displacement), before)

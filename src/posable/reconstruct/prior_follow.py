"""How estimates follow what the network of a prior says from frame to frame, in compiled code: nothing jumps where
what is known changes, what the network is unsure of is followed slowly, and nothing moves faster than bodies do.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import angle_between, axis_angle, rotate, slerp
from ..math.vector import add, any_perpendicular, cross, dot, lerp, norm, scale, sub, unit
from ..skeleton.forward import vec_at
from .packed import HEAD, HIPS, LEFT_FOOT, RIGHT_FOOT, SAID, SLOTS, Figure, Rows, given, set_vec, vec_of
from .prior_kernels import PREDICTED, Prediction
from .prior_layout import AXES, BENDS, ERRORS, MIDS, TO_HEAD
from .prior_spine import said_in_world
from .track_state import CALM, LATE_NOW, RETURN, catches_up, left_of, trunk_is_hidden

IN_REACH = 1.0 - 3e-5  # of a leg or a chord: bending the spine to the head rotates the pelvis a little more
LEAST_CHORD = 0.2  # of the longest one: heads that are estimated are no nearer to the hips
FOLLOW = 0.2  # [s] in which what was lost follows the network by 1 - 1/e
FASTEST = 3.0  # [joint heights a second] of points that are estimated
SLOW, SURE = 6.0, 0.005  # [s] in which what it says is followed, for each height of expected error beyond so much
SLOWEST = 0.12  # [s] at most
SLOW_LOST = 1.2  # [s] the same while points are lost
QUICK = 2.0  # [heights/s], [rad/s]: what is followed at that rate is followed in half of it
TRUNK = ((AXES, 2), (BENDS, 6), (TO_HEAD, 1))
"""First numbers and count of the vectors that the network says of the trunk."""
WORLD = ((AXES, 2), (MIDS, 4), (TO_HEAD, 5))
"""First numbers and count of the vectors that the network says in the frame."""


@kernel
def ease_changes(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, prediction: Prediction
) -> None:
    """Where what is known has changed, go over from what the network said before, so that nothing jumps; and follow
    what it says the more slowly the larger the errors are that it expects.
    """
    x, y, work = prediction
    state, z = memory[t], cross(x, y)
    said, gaps, since = state["said"], state["said_gaps"], state["since_change"]
    error, first = math.exp(min(work[PREDICTED + ERRORS], 0.0)), not math.isfinite(said[0])
    to_world(prediction)
    if not first and trunk_is_hidden(i, figure, rows):
        hold_trunk(said, work)
    if since < RETURN and not first:
        left = left_of(min((since + dt) / RETURN, 1.0))
        for k in range(SAID):
            if since == 0.0:
                gaps[k] = said[k] - work[PREDICTED + k]
            work[PREDICTED + k] += left * gaps[k]
    if not first and error > SURE:
        if sees_all(i, figure, rows):
            follow_calmly(said, min(SLOW * (error - SURE), SLOWEST), dt, QUICK, work)
        else:
            follow_calmly(said, SLOW_LOST * (error - SURE), dt, math.inf, work)
    for k in range(SAID):
        said[k] = work[PREDICTED + k]
    to_world(Prediction((x[0], y[0], z[0]), (x[1], y[1], z[1]), work))  # its inverse


@kernel
def hold_trunk(said: Floats, work: Floats) -> None:
    """Let what the network says of pelvis, spine and head stay what it said before, in the world."""
    for part in range(len(TRUNK)):
        for k in range(TRUNK[part][0], TRUNK[part][0] + 3 * TRUNK[part][1]):
            work[PREDICTED + k] = said[k]


@kernel
def sees_all(i: int, figure: Figure, rows: Rows) -> bool:
    """Return whether every tracked point is seen in row i: what the body itself holds on to shows no motion."""
    for k in range(SLOTS):
        if figure.tracked[0, k] >= 0 and not vec_in_extent(vec_at(rows.points, i, figure.tracked[0, k])):
            return False
    return True


@kernel
def follow_calmly(said: Floats, seconds: float, dt: float, quick: float, work: Floats) -> None:
    """Let each vector follow what the network says of it within so many seconds, in half of that at a rate `quick`."""
    for n in range(SAID // 3):
        at = PREDICTED + 3 * n
        before = (said[3 * n], said[3 * n + 1], said[3 * n + 2])
        now = (work[at], work[at + 1], work[at + 2])
        rate = norm(sub(now, before)) / (quick * dt)
        now = lerp(now, before, math.exp(-dt * (1.0 + rate) / seconds))
        work[at], work[at + 1], work[at + 2] = now[0], now[1], now[2]


@kernel
def to_world(prediction: Prediction) -> None:
    """Rotate the vectors that the network says from the frame into the world."""
    work = prediction.work
    for part in range(len(WORLD)):
        for n in range(WORLD[part][1]):
            at = PREDICTED + WORLD[part][0] + 3 * n
            v = said_in_world(prediction, WORLD[part][0] + 3 * n)
            work[at], work[at + 1], work[at + 2] = v[0], v[1], v[2]


@kernel
def remember_ends(i: int, t: int, figure: Figure, memory: Records, rows: Rows) -> None:
    """Store where the ends are, as if the network had said it."""
    said, size, hips = memory[t]["said"], 1.0 / figure.stance[0]["joint_height"], vec_at(rows.goals, i, HIPS)
    for n in range(5):
        v = scale(sub(vec_at(rows.goals, i, HEAD + n), hips), size)
        for c in range(3):
            said[TO_HEAD + 3 * n + c] = v[c]


@kernel
def follow(i: int, t: int, k: int, goal: Vec3, memory: Records, dt: float, rows: Rows) -> Vec3:
    """Return where a point goes that is not given: to where the network has it; slowly if it was bridged so far."""
    before = vec_at(rows.goals, i, k)
    if memory.shape[0] == 0 or not math.isfinite(before[0] + before[1] + before[2]):
        return goal
    return lerp(before, goal, 1.0 - math.exp(-dt / FOLLOW))


@kernel
def hold_back(i: int, t: int, k: int, figure: Figure, memory: Records, dt: float, rows: Rows) -> None:
    """Let a point that is estimated move no faster than `FASTEST` from the hips, or hips from the head."""
    if memory.shape[0] == 0 or dt <= 0.0:
        return
    by, goals = HEAD if k == HIPS else HIPS, memory[t]["goals"]
    along = sub(vec_at(rows.goals, i, by), vec_of(goals, by))
    last, now = vec_of(goals, k), vec_at(rows.goals, i, k)
    if (
        k >= LEFT_FOOT and k <= RIGHT_FOOT and figure.tracked[0, k] < 0 and memory[t]["standing"][k - LEFT_FOOT]
    ):  # not where it is planted
        last = vec_of(memory[t]["free_feet"], k - LEFT_FOOT)
    before = add(last, along)
    away, most = norm(sub(now, before)), FASTEST * figure.stance[0]["joint_height"] * dt
    if away > most:  # false where there is none before
        set_vec(rows.goals, i, k, lerp(before, now, most / away))


@kernel
def follow_chord(
    i: int, t: int, figure: Figure, memory: Records, dt: float, rows: Rows, prediction: Prediction
) -> Vec3:
    """Return the displacement [m] from hips to head: as it is given, or as the network says it, slowly from where it
    was bridged to. While that changes it rotates rather than collapse, no faster than a pelvis.
    """
    chord, longest = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS)), figure.settings[0]["longest_chord"]
    least, both, tracking = LEAST_CHORD * longest, given(i, rows, HIPS) and given(i, rows, HEAD), memory.shape[0] > 0
    tracking = tracking and dt > 0.0
    if both:
        return chord
    bridged, said = chord, scale(said_in_world(prediction, TO_HEAD), figure.stance[0]["joint_height"])
    chord = within(said, least, longest)
    if tracking and math.isfinite(bridged[0] + bridged[1] + bridged[2]):
        chord = rotated_towards(within(bridged, least, longest), chord, 1.0 - math.exp(-dt / FOLLOW), math.inf)
    if tracking:
        before = sub(vec_of(memory[t]["goals"], HEAD), vec_of(memory[t]["goals"], HIPS))
        most = trunk_rate(t, figure, memory) * dt
        if norm(before) > 1e-9 and norm(chord) > 1e-9 and angle_of(before, chord) > most:  # false where none was before
            chord = rotated_towards(within(before, least, longest), within(chord, least, longest), 1.0, most)
            if catches_up(t, memory):
                memory[t]["late"] = LATE_NOW
    return chord


@kernel
def angle_of(a: Vec3, b: Vec3) -> float:
    """Return the angle between two vectors [rad]."""
    return math.atan2(norm(cross(a, b)), dot(a, b))


@kernel
def trunk_rate(t: int, figure: Figure, memory: Records) -> float:
    """Return how fast pelvis and head may be rotated by what is estimated [rad/s]."""
    rate = float(figure.settings[0]["pelvis_rate"])
    return min(CALM, rate) if catches_up(t, memory) else rate


@kernel
def calm_step(t: int, figure: Figure, memory: Records, dt: float, before: Quat, now: Quat) -> Quat:
    """Return an orientation that has rotated from one before no faster than that."""
    most = trunk_rate(t, figure, memory) * dt
    if not math.isfinite(before[0]) or angle_between(before, now) <= most:
        return now
    if catches_up(t, memory):
        memory[t]["late"] = LATE_NOW
    return slerp(before, now, most / angle_between(before, now))


@kernel
def rotated_towards(v: Vec3, to: Vec3, fraction: float, most: float) -> Vec3:
    """Return a vector that a fraction of the rotation and of the stretch to another one has led to, by `most` [rad] at
    most.
    """
    axis = cross(v, to)
    angle = angle_of(v, to)
    axis = unit(axis) if norm(axis) > 1e-9 * norm(v) * norm(to) else any_perpendicular(unit(v))
    length = norm(v) + fraction * (norm(to) - norm(v))
    return scale(unit(rotate(axis_angle(axis, min(fraction * angle, most)), v)), length)


@kernel
def within(v: Vec3, least: float, most: float) -> Vec3:
    """Return a vector with a length [m] between two others."""
    size = norm(v)
    if size < 1e-9:
        return (0.0, least, 0.0)
    return scale(v, min(max(size, least), IN_REACH * most) / size)

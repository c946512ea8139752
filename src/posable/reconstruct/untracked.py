"""Positions of untracked parts, estimated simply and continuously from the tracked ones.

- Hips under the head: as far below it as in the neutral pose, the trunk tilted towards hands that reach further than
  `EASY` of an arm, and forwards as the head comes down: a person who picks something up bends and squats at once.
- A head over the hips: the same tilt, or straight on the pelvis if its orientation is known.
- Hands hang from their shoulders.
- Feet stand on the floor as wide as in the neutral pose, under a point between hips and head, where they balance the
  body. Over time they stay where they are; when the body has moved on by `STRIDE` of a leg, they step after it, one at
  a time.

Up is the world's y axis and the floor is at y = 0, or where a scene has its highest plane that points up.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Records, Vec3
from ..math.quaternion import rotate
from ..math.vector import add, cross, lerp, norm, scale, sub, unit
from ..skeleton.forward import quat_at, vec_at
from .packed import (
    HEAD,
    HIPS,
    LEFT_FOOT,
    LEFT_HAND,
    RIGHT_FOOT,
    RIGHT_HAND,
    Figure,
    Rows,
    across,
    knows,
    put_vec,
    set_vec,
    vec_from,
    vec_of,
)

EASY, LEAN = 0.6, 1.0  # of an arm: how far hands go without the trunk; [rad] for each arm length beyond it
STOOP = 1.2  # [rad] of tilt when the head is at the height at which the hips stand
MOST_TILT = 1.4  # [rad]
BALANCE = 0.4  # where between hips and head the feet stand
HANGING = 0.96  # of an arm's length below its shoulder
STRIDE, STEP_TIME, STEP_HEIGHT = 0.22, 0.35, 0.08  # of a leg; [s]; of a leg
UP = (0.0, 1.0, 0.0)


@kernel
def estimate_ends(i: int, figure: Figure, rows: Rows, before: Vec3) -> bool:
    """Fill in hips or head in `rows.goals`; return whether one is known. `before` is the pelvis' X before."""
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    if math.isfinite(hips[0]) and math.isfinite(head[0]):
        return True
    chord = vec_from(figure.stance[0]["hips_to_head"])
    if math.isfinite(head[0]):
        set_vec(rows.goals, i, HIPS, sub(head, tilted(i, figure, rows, head, before)))
        return True
    if not math.isfinite(hips[0]):
        return False
    if knows(i, rows, HIPS):
        displacement = rotate(quat_at(rows.target_orientations, i, HIPS), chord)
    else:
        over = add(hips, scale(UP, norm(chord)))
        displacement = tilted(i, figure, rows, over, before)
    set_vec(rows.goals, i, HEAD, add(hips, displacement))
    return True


@kernel
def tilted(i: int, figure: Figure, rows: Rows, head: Vec3, before: Vec3) -> Vec3:
    """Return the displacement [m] from hips to head for a head about there."""
    chord = vec_from(figure.stance[0]["hips_to_head"])
    arms, standing = figure.stance[0]["arm_lengths"], figure.settings[0]["floor"] + figure.stance[0]["hip_height"]
    arm = 0.5 * (arms[0] + arms[1])
    x = level(across(i, rows, LEFT_HAND, RIGHT_HAND))
    if knows(i, rows, HEAD):
        x = level(rotate(quat_at(rows.target_orientations, i, HEAD), (1.0, 0.0, 0.0)))
    if norm(x) < 0.5:
        x = level(across(i, rows, LEFT_FOOT, RIGHT_FOOT))
    if norm(x) < 0.5:
        x = level(before)
    if norm(x) < 0.5:
        x = (1.0, 0.0, 0.0)
    down = min(max((standing + chord[1] - head[1]) / chord[1], 0.0), 1.1)
    tilt = scale(cross(x, UP), STOOP * down * down)
    hands, count = (0.0, 0.0, 0.0), 0
    for side in range(2):
        d = sub(vec_at(rows.goals, i, LEFT_HAND + side), head)
        if math.isfinite(d[0]):
            hands, count = (hands[0] + d[0], 0.0, hands[2] + d[2]), count + 1
    if count > 0:
        away = norm(hands) / count / arm
        tilt = add(tilt, scale(unit(hands), LEAN * min(max(away - EASY, 0.0), 1.0)))
    angle = norm(tilt)
    to = unit(tilt)
    angle = min(angle, MOST_TILT)
    return scale(add(scale(UP, math.cos(angle)), scale(to, math.sin(angle))), norm(chord))


@kernel
def level(v: Vec3) -> Vec3:
    """Return the direction of a vector on the ground; zero for a vertical one."""
    return unit((v[0], 0.0, v[2]))


@kernel
def estimate_feet(i: int, t: int, figure: Figure, rows: Rows, x: Vec3, memory: Records, dt: float) -> None:
    """Fill in feet in `rows.goals`: standing, or in track t stepping; `x` is the pelvis' X."""
    if math.isfinite(rows.goals[i, LEFT_FOOT, 0]) and math.isfinite(rows.goals[i, LEFT_FOOT + 1, 0]):
        return
    moving = dt > 0.0 and memory.shape[0] > 0
    if moving:
        start_step(i, t, figure, rows, x, memory)
    for side in range(2):
        if math.isfinite(rows.goals[i, LEFT_FOOT + side, 0]):
            continue
        home = stand(i, side, figure, rows, x)
        if moving:
            home = stepped(t, side, figure, home, memory, dt)
        set_vec(rows.goals, i, LEFT_FOOT + side, home)


@kernel
def stand(i: int, side: int, figure: Figure, rows: Rows, x: Vec3) -> Vec3:
    """Return the position of a foot under the body [m]: on the floor, or hanging where the body is too high."""
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    offset = vec_of(figure.stance[0]["hips_to_ankles"], side)
    flat = level(x)
    if norm(flat) < 0.5:
        flat = (1.0, 0.0, 0.0)
    ahead = cross(flat, UP)
    middle = lerp(hips, head, BALANCE)
    floor = figure.settings[0]["floor"] + figure.soles[side]["depth"]
    return (
        middle[0] + offset[0] * flat[0] + offset[2] * ahead[0],
        max(floor, hips[1] + offset[1]),
        middle[2] + offset[0] * flat[2] + offset[2] * ahead[2],
    )


@kernel
def start_step(i: int, t: int, figure: Figure, rows: Rows, x: Vec3, memory: Records) -> None:
    """Let the foot that is furthest from where it should stand begin a step, if that is far and no other steps."""
    state = memory[t]
    furthest, far = -1, STRIDE * figure.stance[0]["leg_length"]
    for side in range(2):
        foot = vec_of(state["feet"], side)
        if math.isfinite(rows.goals[i, LEFT_FOOT + side, 0]) or not math.isfinite(foot[0]):
            continue
        if state["step_fractions"][side] < 1.0:
            return
        home = stand(i, side, figure, rows, x)
        away = norm((home[0] - foot[0], 0.0, home[2] - foot[2]))
        if away > far:
            furthest, far = side, away
    if furthest >= 0:
        put_vec(state["step_starts"], furthest, vec_of(state["feet"], furthest))
        state["step_fractions"][furthest] = 0.0


@kernel
def stepped(t: int, side: int, figure: Figure, home: Vec3, memory: Records, dt: float) -> Vec3:
    """Return the position [m] of a foot of track t, dt [s] after its stored one, and store it."""
    state, leg = memory[t], figure.stance[0]["leg_length"]
    foot, fractions = vec_of(state["feet"], side), state["step_fractions"]
    position = home
    if not math.isfinite(foot[0]):
        fractions[side] = 1.0
    elif fractions[side] < 1.0:
        away = norm((home[0] - foot[0], 0.0, home[2] - foot[2]))
        s = min(1.0, fractions[side] + dt / STEP_TIME * max(1.0, away / leg))  # the further behind, the faster
        eased, lift = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s), 16.0 * s * s * (1.0 - s) * (1.0 - s)
        position = lerp(vec_of(state["step_starts"], side), home, eased)
        position = (position[0], position[1] + STEP_HEIGHT * leg * lift, position[2])
        fractions[side] = s
    else:
        position = (foot[0], home[1], foot[2])
    put_vec(state["feet"], side, position)
    return position


@kernel
def hang_hand(i: int, side: int, figure: Figure, rows: Rows, elbow: Vec3) -> Vec3:
    """Return the position [m] of an untracked hand: below its elbow if that is known, else below its shoulder."""
    if math.isfinite(elbow[0]):
        return (elbow[0], elbow[1] - figure.limbs[side]["lower"], elbow[2])
    shoulder = vec_at(rows.positions, i, figure.limbs[side]["base"])
    return (shoulder[0], shoulder[1] - HANGING * figure.stance[0]["arm_lengths"][side], shoulder[2])

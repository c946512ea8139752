"""Feet that nobody tracks stand where they came to stand, and step when the body has moved on, in compiled code.

Where a network has them, such feet are where people's feet are on average, and slide along with the body. So a foot
that is low and slow is planted. It lets go where it becomes fast or high, where the network has it by `STRIDE`
elsewhere and the other foot stands (by twice that in any case), or where its leg does not reach it any more. Then it
goes over, from rest, to where the network has it, lifted a little if it has to step, and is planted again. Its height
is the network's. The numbers were chosen with the clips of `tools.measure_slides` in view.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Records, Vec3
from ..math.quaternion import rotate
from ..math.vector import add, lerp, norm, sub
from ..skeleton.forward import quat_at, vec_at
from .packed import HIPS, LEFT_FOOT, Figure, Rows, put_vec, set_vec, vec_of
from .track_state import left_of

SLOW, FAST = 0.7, 1.8  # [leg lengths a second]: slower feet are planted, faster ones let go
LOW, HIGH = 0.1, 0.2  # [leg lengths] above the floor, likewise
STRIDE = 0.13  # [leg lengths]
STEP, PACE = 0.3, 2.0  # [s] of a step, or for a long way as long as it takes at [leg lengths a second] on average
LIFT = 0.25  # of the way of a step
REACH, FOLDED = 0.999, 0.7  # of a leg: who sits or lies does not stand


@kernel
def plant_feet(i: int, t: int, figure: Figure, rows: Rows, memory: Records, dt: float) -> None:
    """Plant the goals of feet that are not tracked, or let them step; `dt` [s] after the frame before."""
    for side in range(2):
        if figure.tracked[0, LEFT_FOOT + side] < 0:
            goal = vec_at(rows.goals, i, LEFT_FOOT + side)
            set_vec(rows.goals, i, LEFT_FOOT + side, planted(i, t, side, goal, figure, rows, memory, dt))


@kernel
def planted(i: int, t: int, side: int, goal: Vec3, figure: Figure, rows: Rows, memory: Records, dt: float) -> Vec3:
    """Return where a foot is [m] that the network has at `goal`, and store it."""
    state, leg = memory[t], figure.stance[0]["leg_lengths"][side]
    before, at, fractions = vec_of(state["free_feet"], side), vec_of(state["feet"], side), state["step_fractions"]
    put_vec(state["free_feet"], side, goal)
    if not math.isfinite(before[0] + at[0]):
        fractions[side], state["standing"][side] = 1.0, 0
        put_vec(state["feet"], side, goal)
        return goal
    low = vec_at(rows.goals, i, HIPS)[1] - figure.settings[0]["floor"] < FOLDED * leg
    speed = norm(sub(goal, before)) / (leg * dt)
    height = (goal[1] - figure.settings[0]["floor"] - figure.soles[side]["depth"]) / leg
    base = add(
        vec_at(rows.goals, i, HIPS), rotate(quat_at(rows.trunk, i, 0), vec_of(figure.stance[0]["hips_to_legs"], side))
    )
    if state["standing"][side]:
        away = math.hypot(goal[0] - at[0], goal[2] - at[2]) / leg
        behind = away > (STRIDE if state["standing"][1 - side] else 2.0 * STRIDE)
        if not (behind or low or speed > FAST or height > HIGH or norm(sub(at, base)) > REACH * leg):
            return (at[0], goal[1], at[2])
        state["standing"][side], fractions[side] = 0, 0.0
        put_vec(state["step_starts"], side, (at[0], goal[1], at[2]))
    start = vec_of(state["step_starts"], side)
    s = min(1.0, fractions[side] + dt * min(1.0 / STEP, PACE * leg / max(norm(sub(goal, start)), 1e-9)))
    fractions[side] = s
    shown = goal
    if s < 1.0:
        shown = lerp(goal, start, left_of(s))
        lift = LIFT * 16.0 * s * s * (1.0 - s) * (1.0 - s) * norm(sub(goal, start))
        shown = (shown[0], shown[1] + max(lift - max(height * leg, 0.0), 0.0), shown[2])
    put_vec(state["feet"], side, shown)
    if not low and s >= 1.0 and speed < SLOW and height < LOW and norm(sub(shown, base)) <= REACH * leg:
        state["standing"][side] = 1
    return shown

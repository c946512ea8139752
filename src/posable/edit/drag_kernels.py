"""The kernel of a drag: many small pulls along a straight way, each followed by the other parts as in the clip.

Each step moves the dragged part by at most `step` metres along its way, exactly. Every other part is asked to go,
softly, where its velocity relative to the dragged one takes it from where it is now (`transforms`), and to turn as it
does in the clip during the time that the step stands for; pins must stay (`specs/edit.md`, section 4). A step that does
not arrive, or whose pins slide, is undone and tried at half its length; the drag ends when steps become too small. So a
drag that stops early is a valid pose a little before what cannot be reached.

In mode "phase" the time that each step stands for also moves the frame whose weights and velocities are used: then
dragging along the motion replays it. The paper's mode keeps both frozen.

Decided here: a step during which the way of a joint bends much is undone too and tried at half its length, as solvers
of differential equations do, and steps grow again afterwards. A drag follows a field of directions, so it goes back the
way it came if its steps are small where that field is stiff (an arm that stretches); with steps of one length a dancer
came back with a hand 93 degrees from where it was (`specs/edit.md`, section 7, calls it a fold-over).
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Records, Vec3
from ..math.quaternion import exp, mul
from ..math.vector import add, norm, scale, sub
from ..skeleton.forward import integrate_row, quat_at, vec_at
from .edge_kernels import hold_start, near_an_edge
from .model import Bodies, Rig, Scratch
from .pull_kernels import (
    MOST_TURN,
    goal_place,
    inverse_weights,
    lacking,
    missed,
    place_frames,
    pull,
    set_goal,
    stack,
    weigh,
)
from .transforms import taken_along, turned_along, virtual_time

ARRIVED = 1e-4  # [m]: a step is over when what must be kept is this near
SLIPPED = 3e-4  # [m]: a step that misses by more is undone
UNTURNED = 2e-3  # [rad]: likewise, where a turn is asked
LAST = 1e-6  # [m]: how near the last step shall come
SHORTEST = 4e-4  # [m], [rad]: the drag ends when steps become shorter
MOST_STEP_TURN = 0.1  # [rad] in one step
NEAR_EDGES = 5e-3  # [m]: the longest step while a joint is near the edge of its box
BEND = 0.02  # [rad], [m]: how much a DoF's way may bend in a step
SHORT = 1e-3  # [m], [rad]: a step as short is not made shorter for that
SWEEPS = 3  # of a step: the others follow a little more with each


@kernel
def _velocity(rates: Floats, row: int, share: float, e: int, half: int) -> Vec3:
    """Velocity [m/s] (half 0) or turning [rad/s] (half 1) of part e between two frames."""
    k = 3 * half
    later = min(row + 1, rates.shape[0] - 1)
    return (
        rates[row, e, k] + share * (rates[later, e, k] - rates[row, e, k]),
        rates[row, e, k + 1] + share * (rates[later, e, k + 1] - rates[row, e, k + 1]),
        rates[row, e, k + 2] + share * (rates[later, e, k + 2] - rates[row, e, k + 2]),
    )


@kernel
def _ask(i: int, drag: Any, goals: Records, rates: Floats, frame: float, way: Vec3, turn: Vec3, work: Scratch) -> float:
    """Set the goals of all parts but pins for a step of the dragged one; the time that it stands for [s]."""
    row = int(frame)
    share = frame - row
    p, rest = drag["dragged"], drag["rest"]
    place_rate, turn_rate = _velocity(rates, row, share, p, 0), _velocity(rates, row, share, p, 1)
    h = virtual_time(place_rate, rest, drag["most_time"], way)
    for e in range(rates.shape[1]):
        if e == p or goals[e]["kept"]:
            continue
        place = vec_at(work.positions, i, goals[e]["joint"])
        spin = _velocity(rates, row, share, e, 1)
        moved = taken_along(place_rate, _velocity(rates, row, share, e, 0), rest, drag["cap"], way)
        turned = taken_along(turn_rate, spin, rest, drag["cap"], turn)
        if not drag["turned"]:
            turned = turned_along(spin, h, drag["turn_cap"], way)
        q = mul(exp(turned), quat_at(work.orientations, i, goals[e]["joint"]))
        set_goal(goals[e], add(place, moved), q)
        goals[e]["place"], goals[e]["turn"] = drag["place"], drag["turn"]
    if not drag["turned"]:
        turned = turned_along(turn_rate, h, drag["turn_cap"], way)
        q = mul(exp(turned), quat_at(work.orientations, i, goals[p]["joint"]))
        set_goal(goals[p], goal_place(goals[p]), q)
        goals[p]["turn"] = drag["turn"]
    return h


@kernel
def _copy_pose(i: int, place: Floats, turns: Floats, to_place: Floats, to_turns: Floats) -> None:
    for k in range(3):
        to_place[i, k] = place[i, k]
    for j in range(turns.shape[1]):
        for k in range(4):
            to_turns[i, j, k] = turns[i, j, k]


@kernel
def _lean(i: int, rig: Rig, goals: Records, boxes: Records, bodies: Bodies, work: Scratch) -> float:
    """Move towards all goals at once by the midpoint rule; the bend [rad] of the way.

    What the joints would do from here is done half, and what they do from there for the same lack is done from here.
    The bend is how much both differ: what is left of it grows with the square of the step, and not with the step.
    """
    bend = 0.0
    for half in range(2):
        rows = stack(i, rig, goals, bodies.rotations, work)
        here, there = (5, 0) if half == 0 else (0, 5)
        for a in range(rows):
            work.vec[i, here, a] = work.vec[i, there, a]
        if weigh(i, rows, SWEEPS, rig, boxes, bodies.rotations, work) > MOST_TURN:
            bend = math.inf
        for d in range(rig.dofs.shape[0]):
            k = rig.dofs[d]
            if half == 0:
                work.first[i, d] = work.steps[i, k]
                work.steps[i, k] *= 0.5
            else:
                bend = max(bend, abs(work.steps[i, k] - work.first[i, d]))
        if half == 1:
            _copy_pose(i, work.saved_place, work.saved_turns, bodies.translation, bodies.rotations)
        integrate_row(i, rig.joints, work.steps, bodies.translation, bodies.rotations, bodies.offsets)
        place_frames(i, rig, bodies, work)
    return bend


@kernel
def _middle(i: int, drag: Any, rates: Floats, frame: float, way: Vec3) -> float:
    """The frame half-way through a step: velocities there fit the whole of it better than those at its beginning."""
    if not drag["phase"]:
        return frame
    last = float(rates.shape[0] - 1)
    middle = frame
    for _ in range(2):
        row = int(middle)
        velocity = _velocity(rates, row, middle - row, drag["dragged"], 0)
        h = virtual_time(velocity, drag["rest"], drag["most_time"], way)
        middle = min(max(frame + 0.5 * h * drag["fps"], 0.0), last)
    return middle


@kernel
def _step(
    i: int,
    rig: Rig,
    logs: Floats,
    rates: Floats,
    drag: Any,
    frame: float,
    way: Vec3,
    turn: Vec3,
    goals: Records,
    boxes: Records,
    shapes: Records,
    close: float,
    bodies: Bodies,
    told: Any,
    work: Scratch,
) -> tuple[bool, float, float]:
    """One step towards the goal of the dragged part: whether it arrived, the time it stands for [s], its bend [rad]."""
    p, row = drag["dragged"], int(frame)
    inverse_weights(logs[row], logs[min(row + 1, logs.shape[0] - 1)], frame - row, work.vec[i, 2])
    h = _ask(i, drag, goals, rates, frame, way, turn, work)
    told["steps"] += 1
    bend = _lean(i, rig, goals, boxes, bodies, work)
    for e in range(rates.shape[1]):  # what is still missing is made good, the others staying where they are now
        if not goals[e]["kept"]:
            joint = goals[e]["joint"]
            set_goal(goals[e], vec_at(work.positions, i, joint), quat_at(work.orientations, i, joint))
    if not drag["turned"]:
        set_goal(goals[p], goal_place(goals[p]), quat_at(work.orientations, i, goals[p]["joint"]))
    count, held, _ = pull(i, rig, goals, boxes, shapes, 0, drag["iterations"], close, bodies, work)
    told["iterations"] += 2 + count
    if held:
        told["limited"] = 1
    twisted = norm(lacking(i, goals[p], work)[1]) if drag["turned"] else 0.0
    return missed(i, goals, work) <= SLIPPED and twisted <= UNTURNED, h, bend


@kernel
def drag_row(
    i: int,
    rig: Rig,
    logs: Floats,
    rates: Floats,
    drag: Any,
    goals: Records,
    boxes: Records,
    shapes: Records,
    bodies: Bodies,
    told: Any,
    work: Scratch,
) -> None:
    """Drag row i in place. goals (G,): first the E parts of rates (F, E, 6), then other pins; logs (F, n)."""
    p = drag["dragged"]
    place_frames(i, rig, bodies, work)
    hold_start(i, rig.joints, boxes, bodies.rotations)
    began, held = vec_at(work.positions, i, goals[p]["joint"]), quat_at(work.orientations, i, goals[p]["joint"])
    way, spin = (drag["dx"], drag["dy"], drag["dz"]), (drag["rx"], drag["ry"], drag["rz"])
    longest = 1.0 / max(1.0, norm(way) / drag["step"], norm(spin) / MOST_STEP_TURN)
    share, shortest = longest, min(0.5 * longest, SHORTEST / max(SHORTEST, norm(way), norm(spin)))
    short = SHORT / max(SHORT, norm(way), norm(spin))
    careful = NEAR_EDGES / max(NEAR_EDGES, norm(way))
    done, frame = 0.0, drag["frame"]
    goals[p]["kept"], goals[p]["place"] = 1, 1e-3
    for _ in range(drag["most"]):
        if done >= 1.0 or longest < shortest:
            break
        ahead = min(share, careful) if near_an_edge(boxes) else share
        here = done + ahead if done + ahead < 1.0 - 1e-9 else 1.0
        _copy_pose(i, bodies.translation, bodies.rotations, work.saved_place, work.saved_turns)
        aim = add(began, scale(way, here))
        step = sub(aim, vec_at(work.positions, i, goals[p]["joint"]))
        set_goal(goals[p], aim, mul(exp(scale(spin, here)), held))
        turn, close = scale(spin, here - done), LAST if here == 1.0 else ARRIVED
        middle = _middle(i, drag, rates, frame, step)
        arrived, h, bend = _step(
            i, rig, logs, rates, drag, middle, step, turn, goals, boxes, shapes, close, bodies, told, work
        )
        if arrived and (bend <= BEND or ahead <= short):
            done = here
            if bend < 0.2 * BEND:
                share = min(longest, 2.0 * share)
            if drag["phase"]:
                frame = min(max(frame + h * drag["fps"], 0.0), float(logs.shape[0] - 1))
            continue
        _copy_pose(i, work.saved_place, work.saved_turns, bodies.translation, bodies.rotations)
        place_frames(i, rig, bodies, work)
        share = 0.5 * ahead
        if not arrived:
            longest = share  # what cannot be reached in such a step will not be in the next one either
    told["done"], told["frame"] = done, frame
    if done >= 1.0:
        told["limited"] = 0  # a limit may have been touched on the way, but it held nothing back
    set_goal(goals[p], add(began, way), mul(exp(spin), held))
    place, turn = lacking(i, goals[p], work)
    told["away"], told["turned"] = norm(place), norm(turn) if drag["turned"] else 0.0
    goals[p]["kept"] = 0
    told["slid"] = missed(i, goals, work)


@batch(rows=8)
def drag_rows(
    n: int,
    rig: Rig,
    logs: Floats,
    rates: Floats,
    drags: Records,
    goals: Records,
    boxes: Records,
    shapes: Records,
    bodies: Bodies,
    told: Records,
    work: Scratch,
) -> None:
    """`drag_row` over n drags of one clip."""
    for i in prange(n):
        drag_row(i, rig, logs, rates, drags[i], goals[i], boxes[i], shapes[i], bodies, told[i], work)

"""The kernel of a drag: many small pulls along a straight way, each followed by the other parts as in the clip.

Each step moves the dragged part by at most `step` metres along its way, exactly. Every other part is asked to go,
softly, where its velocity relative to the dragged one takes it from where it is now (`transforms`), and to turn as it
does in the clip during the time that the step stands for; pins must stay (`specs/edit.md`, section 4). A step that does
not arrive, or whose pins slide, is undone and tried at half its length; the drag ends when steps become too small. So a
drag that stops early is a valid pose a little before what cannot be reached.

In mode "phase" the time that each step stands for also moves the frame whose weights and velocities are used: then
dragging along the motion replays it. The paper's mode keeps both frozen.
"""

from __future__ import annotations

from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Records, Vec3
from ..math.quaternion import exp, mul
from ..math.vector import add, norm, scale, sub
from ..skeleton.forward import quat_at, vec_at
from .edge_kernels import hold_start, keep_in_shapes, near_an_edge
from .model import Bodies, Rig, Scratch
from .pull_kernels import goal_place, inverse_weights, lacking, missed, place_frames, pull, set_goal
from .transforms import taken_along, turned_along, virtual_time

ARRIVED = 1e-4  # [m]: a step is over when what must be kept is this near
SLIPPED = 3e-4  # [m]: a step that misses by more is undone
UNTURNED = 2e-3  # [rad]: likewise, where a turn is asked
LAST = 1e-6  # [m]: how near the last step shall come
SHORTEST = 4e-4  # [m], [rad]: the drag ends when steps become shorter
MOST_STEP_TURN = 0.1  # [rad] in one step
NEAR_EDGES = 5e-3  # [m]: the longest step while a joint is near the edge of its box
LEAST = 3  # iterations of a step: the others follow a little more with each


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
    p = drag["dragged"]
    place_rate, turn_rate = _velocity(rates, row, share, p, 0), _velocity(rates, row, share, p, 1)
    h = virtual_time(place_rate, way)
    for e in range(rates.shape[1]):
        if e == p or goals[e]["kept"]:
            continue
        place = vec_at(work.positions, i, goals[e]["joint"])
        spin = _velocity(rates, row, share, e, 1)
        moved = taken_along(place_rate, _velocity(rates, row, share, e, 0), drag["cap"], way)
        turned = taken_along(turn_rate, spin, drag["cap"], turn)
        if not drag["turned"]:
            turned = turned_along(spin, h, drag["cap"], way)
        q = mul(exp(turned), quat_at(work.orientations, i, goals[e]["joint"]))
        set_goal(goals[e], add(place, moved), q)
        goals[e]["place"], goals[e]["turn"] = drag["place"], drag["turn"]
    if not drag["turned"]:
        q = mul(exp(turned_along(turn_rate, h, drag["cap"], way)), quat_at(work.orientations, i, goals[p]["joint"]))
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
) -> tuple[bool, float]:
    """One step towards the goal of the dragged part: whether it arrived, and the time it stands for [s]."""
    p, row = drag["dragged"], int(frame)
    inverse_weights(logs[row], logs[min(row + 1, logs.shape[0] - 1)], frame - row, work.vec[i, 2])
    h = _ask(i, drag, goals, rates, frame, way, turn, work)
    told["steps"] += 1
    # Shapes are looked at after each iteration, boxes inside the pull: without shapes one pull does it all.
    rounds = drag["iterations"] if shapes.shape[0] > 0 else 1
    for done in range(rounds):
        if done >= LEAST and missed(i, goals, work) <= close:
            break
        least, most = (1, 1) if rounds > 1 else (LEAST, drag["iterations"])
        count, limited = pull(i, rig, goals, boxes, least, most, close, bodies, work)
        told["iterations"] += count
        if rounds > 1 and keep_in_shapes(i, rig, shapes, bodies.rotations, work):
            limited = True
            place_frames(i, rig, bodies, work)
        if limited:
            told["limited"] = 1
    twisted = norm(lacking(i, goals[p], work)[1]) if drag["turned"] else 0.0
    return missed(i, goals, work) <= SLIPPED and twisted <= UNTURNED, h


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
    share = 1.0 / max(1.0, norm(way) / drag["step"], norm(spin) / MOST_STEP_TURN)
    shortest = SHORTEST / max(SHORTEST, norm(way), norm(spin))
    careful = NEAR_EDGES / max(NEAR_EDGES, norm(way))
    done, frame = 0.0, drag["frame"]
    goals[p]["kept"], goals[p]["place"] = 1, 1e-3
    for _ in range(drag["most"]):
        if done >= 1.0 or share < shortest:
            break
        ahead = min(share, careful) if near_an_edge(boxes) else share
        here = done + ahead if done + ahead < 1.0 - 1e-9 else 1.0
        _copy_pose(i, bodies.translation, bodies.rotations, work.saved_place, work.saved_turns)
        aim = add(began, scale(way, here))
        step = sub(aim, vec_at(work.positions, i, goals[p]["joint"]))
        set_goal(goals[p], aim, mul(exp(scale(spin, here)), held))
        turn, close = scale(spin, here - done), LAST if here == 1.0 else ARRIVED
        arrived, h = _step(
            i, rig, logs, rates, drag, frame, step, turn, goals, boxes, shapes, close, bodies, told, work
        )
        if arrived:
            done = here
            if drag["phase"]:
                frame = min(max(frame + h * drag["fps"], 0.0), float(logs.shape[0] - 1))
            continue
        _copy_pose(i, work.saved_place, work.saved_turns, bodies.translation, bodies.rotations)
        place_frames(i, rig, bodies, work)
        share = 0.5 * ahead
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

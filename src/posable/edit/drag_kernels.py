"""The kernel of a drag: many small steps along a straight line, in each of which the other parts move as in the clip.

Each step moves the dragged part by at most `step` metres along its path, exactly. Every other part has a soft target:
the position where its velocity relative to the dragged part takes it (`transforms`), and the rotation that it makes in
the clip during the time that the step stands for. Pins must stay (`specs/edit.md`, section 4). A step that does not
arrive, or in which a pin slides, is undone and tried at half its length; the drag ends when steps become too small. So
a drag that stops early is a valid pose a little before what cannot be reached.

In mode "phase" the time that each step stands for also moves the frame whose weights and velocities are used: then
dragging along the motion replays it. The paper's mode keeps both frozen.

Decided here: a step during which the path of a joint bends much is undone too and tried at half its length (adaptive
step size, as in solvers of differential equations), and steps grow again afterwards. A drag follows a field of
directions, so it goes back along its own path if its steps are small where that field is stiff (an arm that stretches);
with steps of one length a dancer came back with a hand 93 degrees from where it was (`specs/edit.md`, section 7, calls
it a fold-over).
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Records, Vec3
from ..math.quaternion import exp, mul
from ..math.vector import add, norm, scale, sub
from ..skeleton.forward import integrate_row, quat_at, vec_at
from .model import PIN_TOLERANCE, Bodies, Rig, Scratch
from .pull_kernels import (
    MAX_CHANGE,
    any_near_edge,
    damped_step,
    fixed_error,
    goal_error,
    goal_position,
    inverse_weights,
    pull,
    set_goal,
    stack_goals,
    update_frames,
    widen_boxes,
)
from .transforms import rotated_along, taken_along, virtual_time

ARRIVED = 1e-4  # [m]: a step is over when the dragged part and the pins are this near to their targets
ROTATION_TOLERANCE = 2e-3  # [rad]: a step whose orientation misses by more is undone, where one is requested
LAST = 1e-6  # [m]: the tolerance of the last step
SHORTEST = 4e-4  # [m], [rad]: the drag ends when steps become shorter
MAX_STEP_ROTATION = 0.1  # [rad] in one step
NEAR_EDGES = 5e-3  # [m]: the longest step while a joint is near the edge of its box
BEND = 0.02  # [rad], [m]: how much a DoF's path may bend in a step
SHORT = 1e-3  # [m], [rad]: a step as short is not made shorter for that
SWEEPS = 3  # of a step: the other parts follow a little more with each


@kernel
def _velocity(rates: Floats, row: int, fraction: float, e: int, half: int) -> Vec3:
    """Return the velocity [m/s] (half 0) or angular velocity [rad/s] (half 1) of part e between two frames."""
    k = 3 * half
    later = min(row + 1, rates.shape[0] - 1)
    return (
        rates[row, e, k] + fraction * (rates[later, e, k] - rates[row, e, k]),
        rates[row, e, k + 1] + fraction * (rates[later, e, k + 1] - rates[row, e, k + 1]),
        rates[row, e, k + 2] + fraction * (rates[later, e, k + 2] - rates[row, e, k + 2]),
    )


@kernel
def _set_step_goals(
    i: int,
    drag: Any,
    goals: Records,
    rates: Floats,
    frame: float,
    displacement: Vec3,
    rotation: Vec3,
    work: Scratch,
) -> float:
    """Set the goals of all parts but pins for a step of the dragged one; return the time that it stands for [s]."""
    row = int(frame)
    fraction = frame - row
    p, rest = drag["dragged"], drag["rest"]
    velocity, angular_velocity = _velocity(rates, row, fraction, p, 0), _velocity(rates, row, fraction, p, 1)
    h = virtual_time(velocity, rest, drag["max_time"], displacement)
    for e in range(rates.shape[1]):
        if e == p or goals[e]["fixed"]:
            continue
        position = vec_at(work.positions, i, goals[e]["joint"])
        spin = _velocity(rates, row, fraction, e, 1)
        moved = taken_along(velocity, _velocity(rates, row, fraction, e, 0), rest, drag["max_ratio"], displacement)
        rotated = taken_along(angular_velocity, spin, rest, drag["max_ratio"], rotation)
        if not drag["oriented"]:
            rotated = rotated_along(spin, h, drag["max_rotation_ratio"], displacement)
        q = mul(exp(rotated), quat_at(work.orientations, i, goals[e]["joint"]))
        set_goal(goals[e], add(position, moved), q)
        goals[e]["position_softness"] = drag["position_softness"]
        goals[e]["orientation_softness"] = drag["orientation_softness"]
    if not drag["oriented"]:
        rotated = rotated_along(angular_velocity, h, drag["max_rotation_ratio"], displacement)
        q = mul(exp(rotated), quat_at(work.orientations, i, goals[p]["joint"]))
        set_goal(goals[p], goal_position(goals[p]), q)
        goals[p]["orientation_softness"] = drag["orientation_softness"]
    return h


@kernel
def _copy_pose(i: int, translation: Floats, rotations: Floats, to_translation: Floats, to_rotations: Floats) -> None:
    for k in range(3):
        to_translation[i, k] = translation[i, k]
    for j in range(rotations.shape[1]):
        for k in range(4):
            to_rotations[i, j, k] = rotations[i, j, k]


@kernel
def _midpoint_step(i: int, rig: Rig, goals: Records, boxes: Records, bodies: Bodies, work: Scratch) -> float:
    """Move towards all goals at once by the midpoint rule; return the bend of the path [rad], [m].

    Half of the first step leads to the midpoint; the step computed there for the same errors is then made from the
    start. The bend is the largest difference between both steps: it grows with the square of their length.
    """
    bend = 0.0
    for half in range(2):
        rows = stack_goals(i, rig, goals, bodies.rotations, work)
        here, there = (5, 0) if half == 0 else (0, 5)
        for a in range(rows):
            work.vec[i, here, a] = work.vec[i, there, a]
        if damped_step(i, rows, SWEEPS, rig, boxes, bodies.rotations, work) > MAX_CHANGE:
            bend = math.inf
        for d in range(rig.dofs.shape[0]):
            k = rig.dofs[d]
            if half == 0:
                work.first[i, d] = work.steps[i, k]
                work.steps[i, k] *= 0.5
            else:
                bend = max(bend, abs(work.steps[i, k] - work.first[i, d]))
        if half == 1:
            _copy_pose(i, work.saved_translation, work.saved_rotations, bodies.translation, bodies.rotations)
        integrate_row(i, rig.joints, work.steps, bodies.translation, bodies.rotations, bodies.offsets)
        update_frames(i, rig, bodies, work)
    return bend


@kernel
def _middle(i: int, drag: Any, rates: Floats, frame: float, displacement: Vec3) -> float:
    """Return the frame half-way through a step: its velocities fit the step better than those at the beginning."""
    if not drag["phase"]:
        return frame
    last = float(rates.shape[0] - 1)
    middle = frame
    for _ in range(2):
        row = int(middle)
        velocity = _velocity(rates, row, middle - row, drag["dragged"], 0)
        h = virtual_time(velocity, drag["rest"], drag["max_time"], displacement)
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
    displacement: Vec3,
    rotation: Vec3,
    goals: Records,
    boxes: Records,
    shapes: Records,
    close: float,
    bodies: Bodies,
    report: Any,
    work: Scratch,
) -> tuple[bool, float, float]:
    """Make one step towards the goal of the dragged part.

    Returns whether it arrived, the time that it stands for [s], and its bend [rad].
    """
    p, row = drag["dragged"], int(frame)
    inverse_weights(logs[row], logs[min(row + 1, logs.shape[0] - 1)], frame - row, work.vec[i, 2])
    h = _set_step_goals(i, drag, goals, rates, frame, displacement, rotation, work)
    report["steps"] += 1
    bend = _midpoint_step(i, rig, goals, boxes, bodies, work)
    for e in range(rates.shape[1]):  # the errors that remain are removed while the other parts stay where they are now
        if not goals[e]["fixed"]:
            joint = goals[e]["joint"]
            set_goal(goals[e], vec_at(work.positions, i, joint), quat_at(work.orientations, i, joint))
    if not drag["oriented"]:
        set_goal(goals[p], goal_position(goals[p]), quat_at(work.orientations, i, goals[p]["joint"]))
    count, clamped, _ = pull(i, rig, goals, boxes, shapes, 0, drag["iterations"], close, bodies, work)
    report["iterations"] += 2 + count
    if clamped:
        report["limited"] = 1
    twisted = norm(goal_error(i, goals[p], work)[1]) if drag["oriented"] else 0.0
    return fixed_error(i, goals, work) <= PIN_TOLERANCE and twisted <= ROTATION_TOLERANCE, h, bend


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
    report: Any,
    work: Scratch,
) -> None:
    """Drag row i in place. goals (G,): first the E parts of rates (F, E, 6), then other pins; logs (F, n)."""
    p = drag["dragged"]
    update_frames(i, rig, bodies, work)
    widen_boxes(i, rig.joints, boxes, bodies.rotations)
    joint = goals[p]["joint"]
    began, orientation = vec_at(work.positions, i, joint), quat_at(work.orientations, i, joint)
    displacement, spin = (drag["dx"], drag["dy"], drag["dz"]), (drag["rx"], drag["ry"], drag["rz"])
    longest = 1.0 / max(1.0, norm(displacement) / drag["step"], norm(spin) / MAX_STEP_ROTATION)
    fraction, shortest = longest, min(0.5 * longest, SHORTEST / max(SHORTEST, norm(displacement), norm(spin)))
    short = SHORT / max(SHORT, norm(displacement), norm(spin))
    careful = NEAR_EDGES / max(NEAR_EDGES, norm(displacement))
    done, frame = 0.0, drag["frame"]
    goals[p]["fixed"], goals[p]["position_softness"] = 1, 1e-3
    for _ in range(drag["max_steps"]):
        if done >= 1.0 or longest < shortest:
            break
        ahead = min(fraction, careful) if any_near_edge(boxes) else fraction
        here = done + ahead if done + ahead < 1.0 - 1e-9 else 1.0
        _copy_pose(i, bodies.translation, bodies.rotations, work.saved_translation, work.saved_rotations)
        aim = add(began, scale(displacement, here))
        step = sub(aim, vec_at(work.positions, i, joint))
        set_goal(goals[p], aim, mul(exp(scale(spin, here)), orientation))
        rotation, close = scale(spin, here - done), LAST if here == 1.0 else ARRIVED
        middle = _middle(i, drag, rates, frame, step)
        arrived, h, bend = _step(
            i, rig, logs, rates, drag, middle, step, rotation, goals, boxes, shapes, close, bodies, report, work
        )
        if arrived and (bend <= BEND or ahead <= short):
            done = here
            if bend < 0.2 * BEND:
                fraction = min(longest, 2.0 * fraction)
            if drag["phase"]:
                frame = min(max(frame + h * drag["fps"], 0.0), float(logs.shape[0] - 1))
            continue
        _copy_pose(i, work.saved_translation, work.saved_rotations, bodies.translation, bodies.rotations)
        update_frames(i, rig, bodies, work)
        fraction = 0.5 * ahead
        if not arrived:
            longest = fraction  # a length of step that does not arrive will not arrive in the next step either
    report["done"], report["frame"] = done, frame
    if done >= 1.0:
        report["limited"] = 0  # a limit may have been touched on the path, but it stopped nothing
    set_goal(goals[p], add(began, displacement), mul(exp(spin), orientation))
    missing, rotation = goal_error(i, goals[p], work)
    report["position_error"] = norm(missing)
    report["orientation_error"] = norm(rotation) if drag["oriented"] else 0.0
    goals[p]["fixed"] = 0
    report["slid"] = fixed_error(i, goals, work)


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
    report: Records,
    work: Scratch,
) -> None:
    """Call `drag_row` for n drags of one clip."""
    for i in prange(n):
        drag_row(i, rig, logs, rates, drags[i], goals[i], boxes[i], shapes[i], bodies, report[i], work)

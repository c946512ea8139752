"""The kernel of a drag: many small steps along a straight line, in each of which the other parts move as in the clip.

Each step moves the dragged part by at most `step` metres along its path, exactly. Every other part has a soft target:
the position where its velocity relative to the dragged part takes it (`transforms`), and the rotation that it makes in
the clip during the time that the step stands for. Pins must stay (`specs/edit.md`, section 4). A step that does not
arrive, or in which a pin slides, is undone and tried at half its length; the drag ends when steps become too small. So
a drag that stops early is a valid pose a little before what cannot be reached.

In mode "phase" the time that each step stands for also moves the frame whose weights and velocities are used: then
dragging along the motion replays it. The more a step leads away from the part's own motion, the less it stands for, and
the more of it is left to the DoF that the scope prefers (`scopes`): the arm of a hand that is lifted in a walk. The
paper's mode keeps frame, weights and velocities frozen, and takes the other parts along whatever the direction.

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
from ..skeleton.forward import quat_at, vec_at, vec_from
from .model import EXACT, PIN_TOLERANCE, Rig, Rows, Scratch
from .pull_kernels import (
    MAX_CHANGE,
    any_near_edge,
    damped_step,
    fixed_error,
    goal_error,
    integrate,
    pull,
    set_goal,
    set_weights,
    stack_goals,
    update_frames,
    widen_boxes,
)
from .transforms import ahead_in_clip, along_fraction, rotated_along, taken_along, virtual_time

ARRIVED = 1e-4  # [m]: a step is over when the dragged part and the pins are this near to their targets
ROTATION_TOLERANCE = 2e-3  # [rad]: a step whose orientation misses by more is undone, where one is requested
LAST = 1e-6  # [m]: the tolerance of the last step
SHORTEST = 4e-4  # [m], [rad]: the drag ends when steps become shorter
MAX_STEP_ROTATION = 0.1  # [rad] in one step
NEAR_EDGES = 5e-3  # [m]: the longest step while a joint is near the edge of its box
BEND = 0.02  # [rad], [m]: how much a DoF's path may bend in a step
SHORT = 1e-3  # [m], [rad]: a step as short is not made shorter for that
SWEEPS = 3  # of a step: the other parts follow a little more with each
MAX_STEPS = 20_000
ITERATIONS = 10  # of a step
LOOSE = 2.0  # softness of the dragged part's orientation, added in mode "phase" across its motion


@kernel
def _velocity(rates: Floats, frame: float, e: int, half: int) -> Vec3:
    """Return the velocity [m/s] (half 0) or angular velocity [rad/s] (half 1) of part e between two frames."""
    row, k = int(frame), 3 * half
    later, fraction = min(row + 1, rates.shape[0] - 1), frame - row
    return (
        rates[row, e, k] + fraction * (rates[later, e, k] - rates[row, e, k]),
        rates[row, e, k + 1] + fraction * (rates[later, e, k + 1] - rates[row, e, k + 1]),
        rates[row, e, k + 2] + fraction * (rates[later, e, k + 2] - rates[row, e, k + 2]),
    )


@kernel
def _set_step_goals(
    i: int,
    rows: Rows,
    drag: Any,
    rates: Floats,
    frame: float,
    fraction_along: float,
    displacement: Vec3,
    rotation: Vec3,
    work: Scratch,
) -> float:
    """Set the goals of all parts but pins for a step of the dragged one; return the time that it stands for [s]."""
    p, rest, phase = drag["dragged"], drag["rest"], drag["phase"]
    velocity, angular_velocity = _velocity(rates, frame, p, 0), _velocity(rates, frame, p, 1)
    h = virtual_time(velocity, rest, drag["max_time"], displacement)
    if phase:
        h *= fraction_along
    for e in range(rates.shape[1]):
        goal = rows.goals[i, e]
        if e == p or goal["fixed"]:
            continue
        position, spin = vec_at(work.positions, i, goal["joint"]), _velocity(rates, frame, e, 1)
        if phase:
            moved = ahead_in_clip(_velocity(rates, frame, e, 0), h, drag["max_ratio"], displacement)
        else:
            moved = taken_along(velocity, _velocity(rates, frame, e, 0), rest, drag["max_ratio"], displacement)
        rotated = taken_along(angular_velocity, spin, rest, drag["max_ratio"], rotation)
        if phase or not drag["oriented"]:
            rotated = rotated_along(spin, h, drag["max_rotation_ratio"], displacement)
        set_goal(goal, add(position, moved), mul(exp(rotated), quat_at(work.orientations, i, goal["joint"])))
        goal["position_softness"] = drag["position_softness"]
        goal["orientation_softness"] = drag["orientation_softness"]
    if not drag["oriented"]:
        goal = rows.goals[i, p]
        rotated = rotated_along(angular_velocity, h, drag["max_rotation_ratio"], displacement)
        q = mul(exp(rotated), quat_at(work.orientations, i, goal["joint"]))
        set_goal(goal, vec_from(goal["position"]), q)
        goal["orientation_softness"] = drag["orientation_softness"]
        if phase:  # across the motion a hand turns with its forearm; kept as it was it would lift the elbow
            goal["orientation_softness"] += LOOSE * (1.0 - fraction_along)
    return h


@kernel
def _copy_pose(i: int, translation: Floats, rotations: Floats, to_translation: Floats, to_rotations: Floats) -> None:
    for k in range(3):
        to_translation[i, k] = translation[i, k]
    for j in range(rotations.shape[1]):
        for k in range(4):
            to_rotations[i, j, k] = rotations[i, j, k]


@kernel
def _midpoint_step(i: int, rig: Rig, rows: Rows, work: Scratch) -> float:
    """Move towards all goals at once by the midpoint rule; return the bend of the path [rad], [m].

    Half of the first step leads to the midpoint; the step computed there for the same errors is then made from the
    start. The bend is the largest difference between both steps: it grows with the square of their length.
    """
    bend = 0.0
    for half in range(2):
        count = stack_goals(i, rig, rows, work)
        for a in range(count):
            if half == 0:
                work.step_errors[i, a] = work.errors[i, a]
            else:
                work.errors[i, a] = work.step_errors[i, a]
        if damped_step(i, count, SWEEPS, rig, rows, work) > MAX_CHANGE:
            bend = math.inf
        for d in range(rig.dofs.shape[0]):
            k = rig.dofs[d]
            if half == 0:
                work.half_steps[i, d] = work.steps[i, k]
                work.steps[i, k] *= 0.5
            else:
                bend = max(bend, abs(work.steps[i, k] - work.half_steps[i, d]))
        if half == 1:
            _copy_pose(i, work.saved_translation, work.saved_rotations, rows.translation, rows.rotations)
        integrate(i, rig, rows, work)
        update_frames(i, rig, rows, work)
    return bend


@kernel
def _middle(drag: Any, rates: Floats, frame: float, displacement: Vec3) -> float:
    """Return the frame half-way through a step: its velocities fit the step better than those at the beginning."""
    if not drag["phase"]:
        return frame
    last = float(rates.shape[0] - 1)
    middle = frame
    for _ in range(2):
        velocity = _velocity(rates, middle, drag["dragged"], 0)
        h = virtual_time(velocity, drag["rest"], drag["max_time"], displacement)
        middle = min(max(frame + 0.5 * h * drag["fps"], 0.0), last)
    return middle


@kernel
def _step(
    i: int,
    rig: Rig,
    rows: Rows,
    logs: Floats,
    scope: Floats,
    rates: Floats,
    drag: Any,
    frame: float,
    displacement: Vec3,
    rotation: Vec3,
    close: float,
    report: Any,
    work: Scratch,
) -> tuple[bool, float, float]:
    """Make one step towards the goal of the dragged part.

    Returns whether it arrived, the time that it stands for [s], and its bend [rad].
    """
    row, dragged = int(frame), rows.goals[i, drag["dragged"]]
    fraction_along = 0.0
    if drag["phase"]:
        fraction_along = along_fraction(_velocity(rates, frame, drag["dragged"], 0), drag["rest"], displacement)
    set_weights(i, logs[row], logs[min(row + 1, logs.shape[0] - 1)], frame - row, scope, 1.0 - fraction_along, work)
    h = _set_step_goals(i, rows, drag, rates, frame, fraction_along, displacement, rotation, work)
    report["steps"] += 1
    bend = _midpoint_step(i, rig, rows, work)
    for e in range(rates.shape[1]):  # the errors that remain are removed while the other parts stay where they are now
        goal = rows.goals[i, e]
        if not goal["fixed"]:
            set_goal(goal, vec_at(work.positions, i, goal["joint"]), quat_at(work.orientations, i, goal["joint"]))
    if not drag["oriented"]:
        set_goal(dragged, vec_from(dragged["position"]), quat_at(work.orientations, i, dragged["joint"]))
    count, clamped, _ = pull(i, rig, rows, work, 0, ITERATIONS, close)
    report["iterations"] += 2 + count
    if clamped:
        report["limited"] = 1
    twisted = norm(goal_error(i, dragged, work)[1]) if drag["oriented"] else 0.0
    return fixed_error(i, rows, work) <= PIN_TOLERANCE and twisted <= ROTATION_TOLERANCE, h, bend


@kernel
def drag_row(
    i: int,
    rig: Rig,
    rows: Rows,
    logs: Floats,
    scope: Floats,
    rates: Floats,
    drag: Any,
    report: Any,
    work: Scratch,
) -> None:
    """Drag row i in place; its goals are first the E parts of rates (F, E, 6), then other pins; logs are (F, n),
    `scope` (n,) is what the scope adds to them.
    """
    goal = rows.goals[i, drag["dragged"]]
    update_frames(i, rig, rows, work)
    widen_boxes(i, rig, rows, rows.rotations)
    joint = goal["joint"]
    began, orientation = vec_at(work.positions, i, joint), quat_at(work.orientations, i, joint)
    displacement, spin = vec_from(drag["displacement"]), vec_from(drag["rotation"])
    longest = 1.0 / max(1.0, norm(displacement) / drag["step"], norm(spin) / MAX_STEP_ROTATION)
    fraction, shortest = longest, min(0.5 * longest, SHORTEST / max(SHORTEST, norm(displacement), norm(spin)))
    short = SHORT / max(SHORT, norm(displacement), norm(spin))
    careful = NEAR_EDGES / max(NEAR_EDGES, norm(displacement))
    done, frame = 0.0, drag["frame"]
    goal["fixed"], goal["position_softness"] = 1, EXACT
    for _ in range(MAX_STEPS):
        if done >= 1.0 or longest < shortest:
            break
        ahead = min(fraction, careful) if any_near_edge(i, rows) else fraction
        here = done + ahead if done + ahead < 1.0 - 1e-9 else 1.0
        _copy_pose(i, rows.translation, rows.rotations, work.saved_translation, work.saved_rotations)
        aim = add(began, scale(displacement, here))
        step = sub(aim, vec_at(work.positions, i, joint))
        set_goal(goal, aim, mul(exp(scale(spin, here)), orientation))
        rotation, close = scale(spin, here - done), LAST if here == 1.0 else ARRIVED
        middle = _middle(drag, rates, frame, step)
        arrived, h, bend = _step(i, rig, rows, logs, scope, rates, drag, middle, step, rotation, close, report, work)
        if arrived and (bend <= BEND or ahead <= short):
            done = here
            if bend < 0.2 * BEND:
                fraction = min(longest, 2.0 * fraction)
            if drag["phase"]:
                frame = min(max(frame + h * drag["fps"], 0.0), float(logs.shape[0] - 1))
            continue
        _copy_pose(i, work.saved_translation, work.saved_rotations, rows.translation, rows.rotations)
        update_frames(i, rig, rows, work)
        fraction = 0.5 * ahead
        if not arrived:
            longest = fraction  # a length of step that does not arrive will not arrive in the next step either
    report["done"], report["frame"] = done, frame
    if done >= 1.0:
        report["limited"] = 0  # a limit may have been touched on the path, but it stopped nothing
    set_goal(goal, add(began, displacement), mul(exp(spin), orientation))
    missing, rotation = goal_error(i, goal, work)
    report["position_error"] = norm(missing)
    report["orientation_error"] = norm(rotation) if drag["oriented"] else 0.0
    goal["fixed"] = 0
    report["slid"] = fixed_error(i, rows, work)


@batch(rows=8)
def drag_rows(
    n: int,
    rig: Rig,
    rows: Rows,
    logs: Floats,
    scope: Floats,
    rates: Floats,
    drags: Records,
    reports: Records,
    work: Scratch,
) -> None:
    """Call `drag_row` for n drags of one clip."""
    for i in prange(n):
        drag_row(i, rig, rows, logs, scope, rates, drags[i], reports[i], work)

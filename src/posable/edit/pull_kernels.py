"""Kernels that bring parts of a body to their goals by weighted damped least squares, inside the joints' limits.

One iteration is dtheta = V J^T (J V J^T + Lambda)^-1 r (Komura et al. 2004, Eq. 2, with the damping of `specs/edit.md`,
section 4): r are the errors of the parts, Lambda the softness of each goal. Steps are scaled so that no DoF moves by
more than 0.15 rad. Joints are clamped to their bounds after each.

Decided here, where the specification clamps and then punishes (`specs/edit.md`, section 4): a joint becomes heavier
the nearer its rotation vector is to the edge of its box, with the square of the distance, and others take over. As that
depends on the pose alone, and a joint comes near its edge but not to it, joints go back along their own path, which
one that was clamped and released does not. (With a thousandth of its freedom left at the edge a joint arrives there
and is clamped: then one drag of ten came back more than 10 degrees off, and one of a hundred with less.) What crosses
an edge all the same is clamped to it. Joints that leave a shape (`Limits`) are clamped to its edge and get heavier for
the rest of the pull.
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Quat, Vec3
from ..limits.kernels import clamp_widened
from ..math.linear import cholesky_floored, cholesky_solve, weighted_gram
from ..math.quaternion import axis_angle, conj, exp, log, mul, twist_angle, unit_quat
from ..math.vector import cross, dot, norm, sub
from ..skeleton.dofs import HINGE
from ..skeleton.forward import (
    axis_of,
    forward_row,
    integrate_row,
    jacobian_row,
    quat_at,
    quat_from,
    set_quat,
    vec_at,
    vec_from,
)
from .model import Pulls, Rig, Rows, Scratch

MAX_CHANGE = 0.15  # [rad], [m] a DoF moves in one iteration
HEAVY = 1e-8  # of its freedom: a DoF at the edge of its box
BAND = 0.2  # [rad] from an edge: where a DoF begins to become heavier
HEAVY_SHAPE = 0.05  # the three DoF of a joint that left a shape: it may still slide along the edge
CLAMPS = 6
NOWHERE = (0.0, 0.0, 0.0)


@kernel
def set_goal(goal: Any, position: Vec3, orientation: Quat) -> None:
    """Set the target position and orientation of a goal."""
    for k in range(3):
        goal["position"][k] = position[k]
    for k in range(4):
        goal["orientation"][k] = orientation[k]


@kernel
def goal_error(i: int, goal: Any, work: Scratch) -> tuple[Vec3, Vec3]:
    """Return the displacement [m] and the rotation vector [rad], both in the world, from a part to its goal."""
    rotation = log(mul(quat_from(goal["orientation"]), conj(quat_at(work.orientations, i, goal["joint"]))))
    return sub(vec_from(goal["position"]), vec_at(work.positions, i, goal["joint"])), rotation


@kernel
def fixed_error(i: int, rows: Rows, work: Scratch) -> float:
    """Return the largest distance of a fixed goal's part from its position [m]."""
    worst = 0.0
    for g in range(rows.goals.shape[1]):
        goal = rows.goals[i, g]
        if goal["fixed"] and goal["position_softness"] >= 0.0:
            worst = max(worst, norm(goal_error(i, goal, work)[0]))
    return worst


@kernel
def stack_goals(i: int, rig: Rig, rows: Rows, work: Scratch) -> int:
    """Fill the transposed Jacobian, the errors and the damping of all goals; return the number of rows."""
    count = 0
    for g in range(rows.goals.shape[1]):
        goal = rows.goals[i, g]
        if goal["position_softness"] < 0.0 and goal["orientation_softness"] < 0.0:
            continue
        for k in range(6):
            for d in range(work.jacobian.shape[2]):
                work.jacobian[i, k, d] = 0.0
        jacobian_row(
            i, rig.joints, rows.rotations, work.positions, work.orientations, goal["joint"], NOWHERE, work.jacobian
        )
        displacement, rotation = goal_error(i, goal, work)
        for half in range(2):
            soft = goal["position_softness"] if half == 0 else goal["orientation_softness"]
            if soft < 0.0:
                continue
            error = displacement if half == 0 else rotation
            for k in range(3):
                work.errors[i, count] = error[k]
                work.damping[i, count] = soft * soft
                for d in range(rig.dofs.shape[0]):
                    work.transposed[i, d, count] = work.jacobian[i, 3 * half + k, rig.dofs[d]]
                count += 1
    return count


@kernel
def update_frames(i: int, rig: Rig, rows: Rows, work: Scratch) -> None:
    """Compute the forward kinematics of row i into `work`."""
    forward_row(i, rig.joints, rows.translation, rows.rotations, rows.offsets, work.positions, work.orientations)


@kernel
def integrate(i: int, rig: Rig, rows: Rows, work: Scratch) -> None:
    """Add the steps to row i."""
    integrate_row(i, rig.joints, work.steps, rows.translation, rows.rotations, rows.offsets)


@kernel
def damped_step(i: int, count: int, sweeps: int, rig: Rig, rows: Rows, work: Scratch) -> float:
    """Fill `steps` with the damped least squares change of the DoF for so many stacked errors.

    Returns the largest change [rad], [m]; more than `MAX_CHANGE` is scaled down to it. Each further sweep solves again
    for the error that damping has left: with y = (J V J^T + Lambda)^-1 r that is Lambda y.
    """
    n = rig.dofs.shape[0]
    for d in range(n):
        work.eased[i, d] = work.inverse_weights[i, d]
    _ease_to_edges(i, count, rig, rows, work)
    weighted_gram(work.transposed[i], work.eased[i], count, n, work.gram[i])
    for a in range(count):
        work.gram[i, a, a] += work.damping[i, a]
        work.multipliers[i, a] = 0.0
    cholesky_floored(work.gram[i], count)
    for _ in range(sweeps):
        cholesky_solve(work.gram[i], count, work.errors[i])
        for a in range(count):
            work.multipliers[i, a] += work.errors[i, a]
            work.errors[i, a] *= work.damping[i, a]
    largest = 0.0
    for d in range(n):
        s = 0.0
        for a in range(count):
            s += work.transposed[i, d, a] * work.multipliers[i, a]
        s *= work.eased[i, d]
        work.steps[i, rig.dofs[d]] = s
        largest = max(largest, abs(s))
    if largest > MAX_CHANGE:
        for d in range(n):
            work.steps[i, rig.dofs[d]] *= MAX_CHANGE / largest
    _from_vectors(i, rig, rows, work)
    return largest


@kernel
def pull(
    i: int, rig: Rig, rows: Rows, work: Scratch, min_iterations: int, max_iterations: int, close: float
) -> tuple[int, bool, bool]:
    """Bring row i into its limits and to its goals, with the inverse weights in `work`; leaves its frames there.

    Iterates until fixed goals are met within `close` [m]. Returns the number of iterations, and whether the edge of a
    box or a shape clamped a joint at any time, and in the end.
    """
    ever, count = False, 0
    while True:  # each kernel is called from one place only: the compiler copies it to every place
        clamped = _keep_inside(i, rig, rows, work)
        ever = ever or clamped
        if count >= max_iterations or (count >= min_iterations and fixed_error(i, rows, work) <= close):
            return count, ever, clamped
        damped_step(i, stack_goals(i, rig, rows, work), 1, rig, rows, work)
        integrate(i, rig, rows, work)
        count += 1


@kernel
def set_weights(
    i: int, row: Floats, other: Floats, fraction: float, scope: Floats, portion: float, work: Scratch
) -> None:
    """Set the inverse weights: the exponential of two interpolated rows of logarithms, with mean 1.

    `portion` of the logarithms of `scope` (n,) is added to them. A logarithm below -100 is that of a locked DoF: 0.
    """
    total, count = 0.0, 0
    for k in range(row.shape[0]):
        if row[k] < -100.0 or other[k] < -100.0 or scope[k] < -100.0:
            work.inverse_weights[i, k] = 0.0
            continue
        work.inverse_weights[i, k] = math.exp(row[k] + fraction * (other[k] - row[k]) + portion * scope[k])
        total += work.inverse_weights[i, k]
        count += 1
    for k in range(row.shape[0]):
        work.inverse_weights[i, k] *= count / max(total, 1e-300)


@kernel
def pull_row(
    i: int, rig: Rig, rows: Rows, pulls: Pulls, min_iterations: int, max_iterations: int, close: float, work: Scratch
) -> None:
    """Bring pose i to its goals in place, with iterations until fixed goals are met within `close` [m].

    Boxes are widened to hold the source's rotations, shapes must be already; a pose that lies outside of them is
    brought inside first. A row that is inside and has no active goal keeps its pose, bit for bit.
    """
    active = False
    for g in range(rows.goals.shape[1]):
        goal = rows.goals[i, g]
        active = active or goal["position_softness"] >= 0.0 or goal["orientation_softness"] >= 0.0
    widen_boxes(i, rig, rows, pulls.source)
    set_weights(i, pulls.logs[i], pulls.logs[i], 0.0, pulls.scope, 1.0, work)
    least, most = (min_iterations, max_iterations) if active else (0, 0)
    pulls.limited[i] = 1 if pull(i, rig, rows, work, least, most, close)[2] else 0
    for g in range(rows.goals.shape[1]):
        goal = rows.goals[i, g]
        requested = active and goal["position_softness"] >= 0.0
        pulls.errors[i, g] = norm(goal_error(i, goal, work)[0]) if requested else 0.0


@batch(rows=32)
def pull_rows(
    n: int, rig: Rig, rows: Rows, pulls: Pulls, min_iterations: int, max_iterations: int, close: float, work: Scratch
) -> None:
    """Call `pull_row` for n poses."""
    for i in prange(n):
        pull_row(i, rig, rows, pulls, min_iterations, max_iterations, close, work)


# Edges of boxes and shapes


@kernel
def widen_boxes(i: int, rig: Rig, rows: Rows, rotations: Floats) -> None:
    """Widen the boxes of row i just enough for these rotations to be inside."""
    for b in range(rows.boxes.shape[1]):
        box = rows.boxes[i, b]
        u = _box_vector(box, quat_at(rotations, i, box["joint"]), axis_of(rig.joints, box["joint"]))
        for k in range(3):
            box["low"][k], box["high"][k] = min(box["low"][k], u[k]), max(box["high"][k], u[k])


@kernel
def any_near_edge(i: int, rows: Rows) -> bool:
    """Return whether the last step found a joint near the edge of its box."""
    found = False
    for b in range(rows.boxes.shape[1]):
        found = found or rows.boxes[i, b]["near_edge"] == 1
    return found


@kernel
def _vector_step(u: Vec3, w: Vec3) -> Vec3:
    """Return Jr(u) w, the right Jacobian of SO(3): the rotation in the body's frame that changes the vector u by w."""
    angle = norm(u)
    a, b = 0.5, 1.0 / 6.0
    if angle > 1e-4:
        a = (1.0 - math.cos(angle)) / (angle * angle)
        b = (angle - math.sin(angle)) / (angle * angle * angle)
    first = cross(u, w)
    second = cross(u, first)
    return (
        w[0] - a * first[0] + b * second[0],
        w[1] - a * first[1] + b * second[1],
        w[2] - a * first[2] + b * second[2],
    )


@kernel
def _ease(box: Any, u: Vec3, k: int) -> float:
    """Return the remaining freedom of component k: 1 inside its box, falling to `HEAVY` within `BAND` of an edge."""
    low, high = box["low"][k], box["high"][k]
    room = min(u[k] - low, high - u[k]) / min(BAND, 0.5 * (high - low) + 1e-12)
    if room >= 1.0:
        return 1.0
    t = max(0.0, room)
    return float(HEAVY + (1.0 - HEAVY) * t * t * (3.0 - 2.0 * t))


@kernel
def _ease_to_edges(i: int, count: int, rig: Rig, rows: Rows, work: Scratch) -> None:
    """Make DoF heavier towards the edges of their boxes; such joints move along their rotation vector's axes.

    Only so can one component stop while the others go on; columns J become J Jr(u).
    """
    for b in range(rows.boxes.shape[1]):
        box = rows.boxes[i, b]
        u = _box_vector(box, quat_at(rows.rotations, i, box["joint"]), axis_of(rig.joints, box["joint"]))
        first = box["first"]
        if box["hinge"]:
            work.eased[i, first] *= _ease(box, u, 0)
            continue
        s = (_ease(box, u, 0), _ease(box, u, 1), _ease(box, u, 2))
        box["near_edge"] = 1 if s[0] < 1.0 or s[1] < 1.0 or s[2] < 1.0 else 0
        if box["near_edge"] == 0:
            continue
        x, y, z = _vector_step(u, (1.0, 0.0, 0.0)), _vector_step(u, (0.0, 1.0, 0.0)), _vector_step(u, (0.0, 0.0, 1.0))
        for k in range(3):
            work.eased[i, first + k] *= s[k]
        columns = work.transposed[i]
        for a in range(count):
            c = (columns[first, a], columns[first + 1, a], columns[first + 2, a])
            columns[first, a] = dot(c, x)
            columns[first + 1, a] = dot(c, y)
            columns[first + 2, a] = dot(c, z)


@kernel
def _from_vectors(i: int, rig: Rig, rows: Rows, work: Scratch) -> None:
    """Convert steps of rotation vectors to rotations of the joints: the inverse of `_ease_to_edges`."""
    for b in range(rows.boxes.shape[1]):
        box = rows.boxes[i, b]
        if box["near_edge"] == 0 or box["hinge"]:
            continue
        u = log(mul(conj(quat_from(box["reference"])), quat_at(rows.rotations, i, box["joint"])))
        d = rig.dofs[box["first"]]
        w = _vector_step(u, (work.steps[i, d], work.steps[i, d + 1], work.steps[i, d + 2]))
        for k in range(3):
            work.steps[i, d + k] = w[k]


@kernel
def _box_vector(box: Any, q: Quat, axis: Vec3) -> Vec3:
    """Return a joint's rotation in its box: a rotation vector, or (angle, 0, 0) for a hinge [rad]."""
    u = log(mul(conj(quat_from(box["reference"])), q))
    if box["hinge"]:
        return (u[0] * axis[0] + u[1] * axis[1] + u[2] * axis[2], 0.0, 0.0)
    return u


@kernel
def _keep_inside(i: int, rig: Rig, rows: Rows, work: Scratch) -> bool:
    """Clamp joints of row i to their box or shape and update its frames; return whether any joint was outside.

    A joint with both may leave one for the other, so it is clamped to them in turn, until it stays.
    """
    any_left = False
    for _ in range(CLAMPS):
        if _keep_in_boxes(i, rig, rows):
            any_left = True
        update_frames(i, rig, rows, work)
        if not _keep_in_shapes(i, rig, rows, work):
            break
        any_left = True
        if rows.boxes.shape[1] == 0:
            update_frames(i, rig, rows, work)
            break
    return any_left


@kernel
def _keep_in_boxes(i: int, rig: Rig, rows: Rows) -> bool:
    """Clamp joints to their boxes; return whether any was outside."""
    any_left = False
    for b in range(rows.boxes.shape[1]):
        box = rows.boxes[i, b]
        j, low, high = box["joint"], box["low"], box["high"]
        axis = axis_of(rig.joints, j)
        u = _box_vector(box, quat_at(rows.rotations, i, j), axis)
        inside = (
            min(high[0], max(low[0], u[0])),
            min(high[1], max(low[1], u[1])),
            min(high[2], max(low[2], u[2])),
        )
        if inside == u:
            continue
        any_left = True
        local = axis_angle(axis, inside[0]) if box["hinge"] else exp(inside)
        set_quat(rows.rotations, i, j, unit_quat(mul(quat_from(box["reference"]), local)))
    return any_left


@kernel
def _keep_in_shapes(i: int, rig: Rig, rows: Rows, work: Scratch) -> bool:
    """Clamp joints to their shapes; `work` holds the pose's frames. Return whether any was outside."""
    any_left = False
    for s in range(rows.shapes.shape[1]):
        shape = rows.shapes[i, s]
        j, neutral, above_neutral = shape["joint"], quat_from(shape["neutral"]), quat_from(shape["above_neutral"])
        above = quat_at(work.orientations, i, shape["above"])
        q = mul(mul(above_neutral, conj(above)), mul(quat_at(work.orientations, i, j), conj(neutral)))
        clamped = clamp_widened(rig.limits[shape["row"]], rig.curves, q, vec_from(shape["slack"]))
        if clamped == q:
            continue
        any_left = True
        own = mul(above, mul(mul(conj(above_neutral), clamped), neutral))
        local = mul(conj(quat_at(work.orientations, i, rig.joints[j]["parent"])), own)
        if rig.joints[j]["kind"] == HINGE:  # the nearest rotation inside may be about another axis
            axis = axis_of(rig.joints, j)
            local = axis_angle(axis, twist_angle(local, axis))
        set_quat(rows.rotations, i, j, unit_quat(local))
        for k in range(shape["dofs"]):
            work.inverse_weights[i, shape["first"] + k] *= HEAVY_SHAPE
    return any_left

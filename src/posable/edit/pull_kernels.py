"""Kernels that bring parts of a body to their goals by weighted damped least squares, inside the joints' limits.

One iteration is dtheta = V J^T (J V J^T + Lambda)^-1 r (Komura et al. 2004, Eq. 2, with the damping of `specs/edit.md`,
section 4): r are the errors of the parts, Lambda the softness of each goal. Steps are scaled so that no DoF moves by
more than 0.15 rad. Joints are clamped to their bounds after each (`edge_kernels`).
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..math.linear import cholesky_floored, cholesky_solve, weighted_gram
from ..math.quaternion import conj, log, mul
from ..math.vector import norm
from ..skeleton.forward import forward_row, integrate_row, jacobian_row, quat_at, vec_at
from .edge_kernels import ease_to_edges, from_vectors, keep_in_boxes, keep_in_shapes, widen_boxes
from .model import Bodies, Rig, Scratch

MAX_CHANGE = 0.15  # [rad], [m] a DoF moves in one iteration
NOWHERE = (0.0, 0.0, 0.0)


@kernel
def goal_position(goal: Any) -> Vec3:
    """Return the target position of a goal [m]."""
    return (goal["x"], goal["y"], goal["z"])


@kernel
def goal_orientation(goal: Any) -> Quat:
    """Return the target orientation of a goal."""
    return (goal["qw"], goal["qx"], goal["qy"], goal["qz"])


@kernel
def set_goal(goal: Any, position: Vec3, orientation: Quat) -> None:
    """Set the target position and orientation of a goal."""
    goal["x"], goal["y"], goal["z"] = position
    goal["qw"], goal["qx"], goal["qy"], goal["qz"] = orientation


@kernel
def goal_error(i: int, goal: Any, work: Scratch) -> tuple[Vec3, Vec3]:
    """Return the displacement [m] and the rotation vector [rad], both in the world, from a part to its goal."""
    position, target = vec_at(work.positions, i, goal["joint"]), goal_position(goal)
    rotation = log(mul(goal_orientation(goal), conj(quat_at(work.orientations, i, goal["joint"]))))
    return (target[0] - position[0], target[1] - position[1], target[2] - position[2]), rotation


@kernel
def stack_goals(i: int, rig: Rig, goals: Records, rotations: Floats, work: Scratch) -> int:
    """Fill J^T into `wide`, the errors into vec[0], the squared softness into vec[1]; return the number of rows."""
    rows = 0
    for g in range(goals.shape[0]):
        goal = goals[g]
        if goal["position_softness"] < 0.0 and goal["orientation_softness"] < 0.0:
            continue
        for k in range(6):
            for d in range(work.full.shape[2]):
                work.full[i, k, d] = 0.0
        jacobian_row(i, rig.joints, rotations, work.positions, work.orientations, goal["joint"], NOWHERE, work.full)
        displacement, rotation = goal_error(i, goal, work)
        for half in range(2):
            soft = goal["position_softness"] if half == 0 else goal["orientation_softness"]
            if soft < 0.0:
                continue
            error = displacement if half == 0 else rotation
            for k in range(3):
                work.vec[i, 0, rows] = error[k]
                work.vec[i, 1, rows] = soft * soft
                for d in range(rig.dofs.shape[0]):
                    work.wide[i, d, rows] = work.full[i, 3 * half + k, rig.dofs[d]]
                rows += 1
    return rows


@kernel
def update_frames(i: int, rig: Rig, bodies: Bodies, work: Scratch) -> None:
    """Compute the forward kinematics of row i into `work`."""
    forward_row(i, rig.joints, bodies.translation, bodies.rotations, bodies.offsets, work.positions, work.orientations)


@kernel
def damped_step(i: int, rows: int, sweeps: int, rig: Rig, boxes: Records, rotations: Floats, work: Scratch) -> float:
    """Fill `steps` with the damped least squares change of the DoF for the errors; vec[2] holds the inverse weights.

    Returns the largest change [rad], [m]; more than `MAX_CHANGE` is scaled down to it. Each further sweep solves again
    for the error that damping has left: with y = (J V J^T + Lambda)^-1 r that is Lambda y.
    """
    n = rig.dofs.shape[0]
    for d in range(n):
        work.vec[i, 3, d] = work.vec[i, 2, d]
    ease_to_edges(i, rows, rig.joints, boxes, rotations, work)
    weighted_gram(work.wide[i], work.vec[i, 3], rows, n, work.small[i])
    for a in range(rows):
        work.small[i, a, a] += work.vec[i, 1, a]
        work.vec[i, 4, a] = 0.0
    cholesky_floored(work.small[i], rows)
    for _ in range(sweeps):
        cholesky_solve(work.small[i], rows, work.vec[i, 0])
        for a in range(rows):
            work.vec[i, 4, a] += work.vec[i, 0, a]
            work.vec[i, 0, a] *= work.vec[i, 1, a]
    largest = 0.0
    for d in range(n):
        s = 0.0
        for a in range(rows):
            s += work.wide[i, d, a] * work.vec[i, 4, a]
        s *= work.vec[i, 3, d]
        work.steps[i, rig.dofs[d]] = s
        largest = max(largest, abs(s))
    if largest > MAX_CHANGE:
        for d in range(n):
            work.steps[i, rig.dofs[d]] *= MAX_CHANGE / largest
    from_vectors(i, rig.dofs, boxes, rotations, work)
    return largest


@kernel
def fixed_error(i: int, goals: Records, work: Scratch) -> float:
    """Return the largest distance of a fixed goal's part from its position [m]."""
    worst = 0.0
    for g in range(goals.shape[0]):
        if goals[g]["fixed"] and goals[g]["position_softness"] >= 0.0:
            worst = max(worst, norm(goal_error(i, goals[g], work)[0]))
    return worst


@kernel
def keep_inside(i: int, rig: Rig, boxes: Records, shapes: Records, bodies: Bodies, work: Scratch) -> bool:
    """Clamp joints of row i to their box or shape and update its frames; return whether any joint was outside."""
    any_left = keep_in_boxes(i, rig.joints, boxes, bodies.rotations)
    update_frames(i, rig, bodies, work)
    if keep_in_shapes(i, rig, shapes, bodies.rotations, work):
        update_frames(i, rig, bodies, work)
        any_left = True
    return any_left


@kernel
def pull(
    i: int,
    rig: Rig,
    goals: Records,
    boxes: Records,
    shapes: Records,
    min_iterations: int,
    max_iterations: int,
    close: float,
    bodies: Bodies,
    work: Scratch,
) -> tuple[int, bool, bool]:
    """Bring row i into its limits and to its goals (G,), from inverse weights in vec[2]; leaves its frames in `work`.

    Iterates until fixed goals are met within `close` [m]. Returns the number of iterations, and whether the edge of a
    box or a shape clamped a joint at any time, and in the end.
    """
    ever, count = False, 0
    while True:  # each kernel is called from one place only: the compiler copies it to every place
        clamped = keep_inside(i, rig, boxes, shapes, bodies, work)
        ever = ever or clamped
        if count >= max_iterations or (count >= min_iterations and fixed_error(i, goals, work) <= close):
            return count, ever, clamped
        rows = stack_goals(i, rig, goals, bodies.rotations, work)
        damped_step(i, rows, 1, rig, boxes, bodies.rotations, work)
        integrate_row(i, rig.joints, work.steps, bodies.translation, bodies.rotations, bodies.offsets)
        count += 1


@kernel
def inverse_weights(row: Floats, other: Floats, fraction: float, v: Floats) -> None:
    """Fill v with the exponential of two interpolated rows of logarithms, scaled to mean 1; below -100 is locked: 0."""
    total, count = 0.0, 0
    for k in range(row.shape[0]):
        if row[k] < -100.0 or other[k] < -100.0:
            v[k] = 0.0
            continue
        v[k] = math.exp(row[k] + fraction * (other[k] - row[k]))
        total += v[k]
        count += 1
    for k in range(row.shape[0]):
        v[k] *= count / max(total, 1e-300)


@batch(rows=32)
def pull_rows(
    n: int,
    rig: Rig,
    logs: Floats,
    goals: Records,
    boxes: Records,
    shapes: Records,
    max_iterations: int,
    source: Floats,
    bodies: Bodies,
    errors: Floats,
    limited: Ints,
    work: Scratch,
) -> None:
    """Bring each of n poses to its goals (N, G) in place; logs (N, n) are their weights, errors (N, G) are left [m].

    Boxes (N, B) are widened to hold the rotations `source` (N, J, 4), shapes (N, S) must be already; a pose that lies
    outside of them is brought inside first. A row that is inside and has no active goal keeps its pose, bit for bit.
    limited (N,) is 1 where limits stopped a joint in the last iteration.
    """
    for i in prange(n):
        active = False
        for g in range(goals.shape[1]):
            active = active or goals[i, g]["position_softness"] >= 0.0 or goals[i, g]["orientation_softness"] >= 0.0
        widen_boxes(i, rig.joints, boxes[i], source)
        inverse_weights(logs[i], logs[i], 0.0, work.vec[i, 2])
        count = max_iterations if active else 0
        found = pull(i, rig, goals[i], boxes[i], shapes[i], count, count, 0.0, bodies, work)
        limited[i] = 1 if found[2] else 0
        for g in range(goals.shape[1]):
            errors[i, g] = (
                norm(goal_error(i, goals[i, g], work)[0]) if active and goals[i, g]["position_softness"] >= 0.0 else 0.0
            )

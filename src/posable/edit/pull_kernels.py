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
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limits.kernels import clamp_widened
from ..math.linear import cholesky_floored, cholesky_solve, weighted_gram
from ..math.quaternion import axis_angle, conj, exp, log, mul, unit_quat
from ..math.vector import cross, dot, norm
from ..skeleton.forward import axis_of, forward_row, integrate_row, jacobian_row, quat_at, set_quat, vec_at
from .model import Bodies, Rig, Scratch

HEAVY = 1e-8  # of its freedom: a DoF at the edge of its box
BAND = 0.2  # [rad] from an edge: where a DoF begins to become heavier
HEAVY_SHAPE = 0.05  # the three DoF of a joint that left a shape: it may still slide along the edge


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
def _ease(value: float, low: float, high: float) -> float:
    """Return the remaining freedom of a DoF: 1 inside its interval, falling to `HEAVY` within `BAND` of an edge."""
    room = min(value - low, high - value) / min(BAND, 0.5 * (high - low) + 1e-12)
    if room >= 1.0:
        return 1.0
    t = max(0.0, room)
    return HEAVY + (1.0 - HEAVY) * t * t * (3.0 - 2.0 * t)


@kernel
def ease_to_edges(i: int, rows: int, joints: Records, boxes: Records, rotations: Floats, work: Scratch) -> None:
    """Make DoF heavier towards the edges of their boxes; such joints move along their rotation vector's axes.

    Only so can one component stop while the others go on; columns J become J Jr(u).
    """
    for b in range(boxes.shape[0]):
        box = boxes[b]
        u = _box_vector(box, quat_at(rotations, i, box["joint"]), axis_of(joints, box["joint"]))
        first = box["first"]
        if box["hinge"]:
            work.vec[i, 3, first] *= _ease(u[0], box["lx"], box["hx"])
            continue
        s = (_ease(u[0], box["lx"], box["hx"]), _ease(u[1], box["ly"], box["hy"]), _ease(u[2], box["lz"], box["hz"]))
        box["near_edge"] = 1 if s[0] < 1.0 or s[1] < 1.0 or s[2] < 1.0 else 0
        if box["near_edge"] == 0:
            continue
        x, y, z = _vector_step(u, (1.0, 0.0, 0.0)), _vector_step(u, (0.0, 1.0, 0.0)), _vector_step(u, (0.0, 0.0, 1.0))
        for k in range(3):
            work.vec[i, 3, first + k] *= s[k]
        for a in range(rows):
            c = (work.wide[i, first, a], work.wide[i, first + 1, a], work.wide[i, first + 2, a])
            work.wide[i, first, a] = dot(c, x)
            work.wide[i, first + 1, a] = dot(c, y)
            work.wide[i, first + 2, a] = dot(c, z)


@kernel
def from_vectors(i: int, dofs: Ints, boxes: Records, rotations: Floats, work: Scratch) -> None:
    """Turn steps of rotation vectors into rotations of the joints: the inverse of `ease_to_edges`."""
    for b in range(boxes.shape[0]):
        box = boxes[b]
        if box["near_edge"] == 0 or box["hinge"]:
            continue
        u = log(mul(conj(_reference(box)), quat_at(rotations, i, box["joint"])))
        d = dofs[box["first"]]
        w = _vector_step(u, (work.steps[i, d], work.steps[i, d + 1], work.steps[i, d + 2]))
        for k in range(3):
            work.steps[i, d + k] = w[k]


@kernel
def _reference(box: Any) -> Quat:
    return (box["rw"], box["rx"], box["ry"], box["rz"])


@kernel
def _box_vector(box: Any, q: Quat, axis: Vec3) -> Vec3:
    """Return a joint's rotation in its box: a rotation vector, or (angle, 0, 0) for a hinge [rad]."""
    u = log(mul(conj(_reference(box)), q))
    if box["hinge"]:
        return (u[0] * axis[0] + u[1] * axis[1] + u[2] * axis[2], 0.0, 0.0)
    return u


@kernel
def keep_in_boxes(i: int, joints: Records, boxes: Records, rotations: Floats) -> bool:
    """Clamp joints to their boxes; return whether any was outside."""
    any_left = False
    for b in range(boxes.shape[0]):
        box = boxes[b]
        j = box["joint"]
        axis = axis_of(joints, j)
        u = _box_vector(box, quat_at(rotations, i, j), axis)
        x = min(box["hx"], max(box["lx"], u[0]))
        y = min(box["hy"], max(box["ly"], u[1]))
        z = min(box["hz"], max(box["lz"], u[2]))
        if x == u[0] and y == u[1] and z == u[2]:
            continue
        any_left = True
        local = axis_angle(axis, x) if box["hinge"] else exp((x, y, z))
        set_quat(rotations, i, j, unit_quat(mul(_reference(box), local)))
    return any_left


@kernel
def _canonical(i: int, shape: Any, orientations: Floats) -> Quat:
    above = mul((shape["aw"], shape["ax"], shape["ay"], shape["az"]), conj(quat_at(orientations, i, shape["above"])))
    own = mul(quat_at(orientations, i, shape["joint"]), conj((shape["bw"], shape["bx"], shape["by"], shape["bz"])))
    return mul(above, own)


@kernel
def keep_in_shapes(i: int, rig: Rig, shapes: Records, rotations: Floats, work: Scratch) -> bool:
    """Clamp joints to their shapes; `work` holds the pose's frames. Return whether any was outside."""
    any_left = False
    for s in range(shapes.shape[0]):
        shape = shapes[s]
        q = _canonical(i, shape, work.orientations)
        wider = (shape["swing"], shape["below"], shape["above_twist"])
        clamped = clamp_widened(rig.packed[shape["row"]], rig.curves, q, wider)
        if clamped == q:
            continue
        any_left = True
        j = shape["joint"]
        own = mul(conj((shape["aw"], shape["ax"], shape["ay"], shape["az"])), clamped)
        own = mul(own, (shape["bw"], shape["bx"], shape["by"], shape["bz"]))
        own = mul(quat_at(work.orientations, i, shape["above"]), own)
        local = mul(conj(quat_at(work.orientations, i, rig.joints[j]["parent"])), own)
        set_quat(rotations, i, j, unit_quat(local))
        for k in range(3):
            work.vec[i, 2, shape["first"] + k] *= HEAVY_SHAPE
    return any_left


@kernel
def widen_boxes(i: int, joints: Records, boxes: Records, rotations: Floats) -> None:
    """Widen boxes just enough for the pose to be inside."""
    for b in range(boxes.shape[0]):
        u = _box_vector(boxes[b], quat_at(rotations, i, boxes[b]["joint"]), axis_of(joints, boxes[b]["joint"]))
        boxes[b]["lx"], boxes[b]["hx"] = min(boxes[b]["lx"], u[0]), max(boxes[b]["hx"], u[0])
        boxes[b]["ly"], boxes[b]["hy"] = min(boxes[b]["ly"], u[1]), max(boxes[b]["hy"], u[1])
        boxes[b]["lz"], boxes[b]["hz"] = min(boxes[b]["lz"], u[2]), max(boxes[b]["hz"], u[2])


@kernel
def any_near_edge(boxes: Records) -> bool:
    """Return whether the last pull found a joint near the edge of its box."""
    found = False
    for b in range(boxes.shape[0]):
        found = found or boxes[b]["near_edge"] == 1
    return found


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

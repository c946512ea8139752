"""Methods that rotate joints one at a time: cyclic coordinate descent and FABRIK.

CCD (Wang and Chen 1991) takes each effector's chain by itself and rotates its joints from the end towards the base
(specification reconstruct, erratum 16), each to where the effector comes nearest to its target.

FABRIK (Aristidou and Lasenby 2011) goes from the effectors inwards and requests where each joint would have to be,
joints with several children taking the mean, and then poses the joints from the root outwards so that the next ones
come as near as they can to their requested positions. Posing real joints, not points, keeps bones rigid at branches
and lets hinges and limits hold at every joint.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Quat, Vec3
from ..math.quaternion import axis_angle, between, conj, exp, mul, rotate, rotate_inverse, twist_angle, unit_quat
from ..math.vector import add, cross, dot, norm, scale, sub, unit
from ..skeleton.dofs import BALL, FREE, HINGE, HINGE_TWIST, SLIDE
from ..skeleton.forward import axis_of, quat_at, rest_of, set_quat, twist_axis_of, vec_at, vec_from
from .model import Frames, Problem, State
from .motion_kernels import basis, effector_position, guarded, offset_now, slide_joint

Columns = tuple[Vec3, Vec3, Vec3]

EXTRACTIONS = 40
NO_ROTATION = 1e-12  # [rad]
BENT = 0.5  # [rad]: a bend that shows to which side a hinge bends
STRAIGHT = 1e-3  # sine of the angle below which two bones have no plane


@kernel
def no_columns() -> Columns:
    """Zeros."""
    return ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@kernel
def with_pair(b: Columns, current: Vec3, goal: Vec3) -> Columns:
    """Add goal current^T, by columns: what the best rotation of `current` to `goal` depends on."""
    return (
        add(b[0], scale(goal, current[0])),
        add(b[1], scale(goal, current[1])),
        add(b[2], scale(goal, current[2])),
    )


@kernel
def nearest_rotation(b: Columns) -> Quat:
    """The rotation nearest to a sum of pairs (Mueller et al. 2016: Newton steps on the rotation, from none)."""
    q = (1.0, 0.0, 0.0, 0.0)
    for _ in range(EXTRACTIONS):
        x, y, z = rotate(q, (1.0, 0.0, 0.0)), rotate(q, (0.0, 1.0, 0.0)), rotate(q, (0.0, 0.0, 1.0))
        torque = add(add(cross(x, b[0]), cross(y, b[1])), cross(z, b[2]))
        agree = abs(dot(x, b[0]) + dot(y, b[1]) + dot(z, b[2]))
        size = norm(torque)
        if size == 0.0:
            break
        rotation = scale(torque, 1.0 / (agree + 1e-9 * size))
        if norm(rotation) < NO_ROTATION:
            break
        q = unit_quat(mul(exp(rotation), q))
    return q


@kernel
def best_angle(b: Columns, axis: Vec3) -> float:
    """The angle about a unit axis that brings a sum of pairs nearest [rad]; 0 where none is better."""
    around = (b[1][2] - b[2][1], b[2][0] - b[0][2], b[0][1] - b[1][0])
    through = add(add(scale(b[0], axis[0]), scale(b[1], axis[1])), scale(b[2], axis[2]))
    sine, cosine = dot(axis, around), b[0][0] + b[1][1] + b[2][2] - dot(axis, through)
    if sine == 0.0 and cosine == 0.0:
        return 0.0
    return math.atan2(sine, cosine)


@kernel
def after_rotation(b: Columns, rotation: Quat) -> Columns:
    """Return the sum of pairs after the current vectors were rotated."""
    x = rotate_inverse(rotation, (1.0, 0.0, 0.0))
    y = rotate_inverse(rotation, (0.0, 1.0, 0.0))
    z = rotate_inverse(rotation, (0.0, 0.0, 1.0))
    return (
        add(add(scale(b[0], x[0]), scale(b[1], x[1])), scale(b[2], x[2])),
        add(add(scale(b[0], y[0]), scale(b[1], y[1])), scale(b[2], y[2])),
        add(add(scale(b[0], z[0]), scale(b[1], z[1])), scale(b[2], z[2])),
    )


@kernel
def rotate_joint(t: int, j: int, problem: Problem, state: State, rotation: Quat, b: Columns) -> Quat:
    """Rotate a joint as its kind and limit allow; return the rotation in the world that was made.

    Balls take `rotation`; axes the best angle for the pairs `b`. `world` of the joint's parent must be up to date.
    """
    kind, parent = problem.joints[j]["kind"], problem.joints[j]["parent"]
    above = quat_at(state.world, t, parent) if parent >= 0 else (1.0, 0.0, 0.0, 0.0)
    local = quat_at(state.rotations, t, j)
    world = mul(above, local)
    requested = local
    if kind in (BALL, FREE):
        requested = mul(conj(above), mul(rotation, world))
    elif kind == HINGE:
        axis = axis_of(problem.joints, j)
        requested = mul(local, axis_angle(axis, best_angle(b, rotate(world, axis))))
    elif kind == HINGE_TWIST:
        along = twist_axis_of(problem.joints, j)
        twisted = twist_angle(mul(conj(rest_of(problem.joints, j)), local), along)
        axis = rotate(axis_angle(along, -twisted), axis_of(problem.joints, j))  # the twist has rotated it
        flexed = mul(local, axis_angle(axis, best_angle(b, rotate(world, axis))))
        b = after_rotation(b, mul(mul(above, flexed), conj(world)))
        straight = mul(above, flexed)
        flexion = mul(flexed, axis_angle(along, -twisted))
        requested = mul(flexion, axis_angle(along, twisted + best_angle(b, rotate(straight, along))))
    clamped = unit_quat(guarded(t, j, problem, state, requested))
    set_quat(state.rotations, t, j, clamped)
    now = mul(above, clamped)
    set_quat(state.world, t, j, now)
    return mul(now, conj(world))


@kernel
def ccd_sweep(t: int, i: int, e: int, problem: Problem, state: State, frames: Frames) -> None:
    """Rotate the joints of one effector's chain once, from the end to the base; positions above them are current."""
    one = problem.effectors[e]
    goal, tip = vec_at(frames.targets, i, e), effector_position(t, e, problem, state)
    orientation = quat_at(state.world, t, one["joint"])
    for k in range(one["first"], one["last"]):
        j = problem.links[k]
        position = vec_at(state.positions, t, j)
        if problem.joints[j]["kind"] == SLIDE:
            along = rotate(quat_at(state.world, t, j), axis_of(problem.joints, j))
            tip = add(tip, slide_joint(t, j, problem, state, dot(sub(goal, tip), along)))
            continue
        arm, wish = sub(tip, position), sub(goal, position)
        far = norm(wish)
        most = problem.settings[0]["max_error"]
        wish = scale(unit(wish), min(far, most))
        b = with_pair(no_columns(), arm, wish)
        rotation = between(arm, wish)
        if one["oriented"]:
            facing = quat_at(frames.orientations, i, e)
            size = problem.settings[0]["rotation_length"] ** 2
            for c in range(3):
                axis = basis(c)
                b = with_pair(b, scale(rotate(orientation, axis), size), rotate(facing, axis))
            rotation = nearest_rotation(b)
        done = rotate_joint(t, j, problem, state, rotation, b)
        tip = add(position, rotate(done, arm))
        orientation = mul(done, orientation)


@kernel
def inward_pass(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Request where every joint would have to be, from the effectors to the root (FABRIK's forward pass)."""
    count = problem.joints.shape[0]
    for j in range(count):
        for k in range(4):
            state.wish[t, j, k] = 0.0
    for e in range(problem.effectors.shape[0]):
        one = problem.effectors[e]
        j = one["joint"]
        orientation = quat_at(frames.orientations, i, e) if one["oriented"] else quat_at(state.world, t, j)
        add_vote(t, j, sub(vec_at(frames.targets, i, e), rotate(orientation, vec_from(one["point"]))), state)
    for j in range(count - 1, 0, -1):
        upper = problem.above[j]
        if upper < 0:
            continue
        votes = state.wish[t, j, 3]
        for k in range(3):
            state.wish[t, j, k] /= votes
        wish = vec_at(state.wish, t, j)
        back = unit(sub(vec_at(state.positions, t, upper), wish))
        add_vote(t, upper, add(wish, scale(back, norm(bone_to(t, j, upper, problem, state)))), state)
    if state.wish[t, 0, 3] > 0.0:
        for k in range(3):
            state.wish[t, 0, k] /= state.wish[t, 0, 3]


@kernel
def bone_to(t: int, j: int, upper: int, problem: Problem, state: State) -> Vec3:
    """From joint `upper` to joint j below it [m], in upper's frame, through joints between that do not rotate."""
    bone, parent = offset_now(t, j, problem, state), problem.joints[j]["parent"]
    while parent != upper and parent > 0:
        bone = add(rotate(quat_at(state.rotations, t, parent), bone), offset_now(t, parent, problem, state))
        parent = problem.joints[parent]["parent"]
    return bone


@kernel
def orientation_of(t: int, j: int, problem: Problem, state: State) -> Quat:
    """Return the orientation of joint j in the world, when all joints down to the one above it are up to date."""
    q, parent = quat_at(state.rotations, t, j), problem.joints[j]["parent"]
    while parent != problem.above[j] and parent > 0:
        q = mul(quat_at(state.rotations, t, parent), q)
        parent = problem.joints[parent]["parent"]
    return mul(quat_at(state.world, t, parent), q)


@kernel
def add_vote(t: int, j: int, position: Vec3, state: State) -> None:
    """Add a request for where joint j should be."""
    for k in range(3):
        state.wish[t, j, k] += position[k]
    state.wish[t, j, 3] += 1.0


@kernel
def outward_pass(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Rotate the joints from the root on so that the next ones come near their requested positions (FABRIK)."""
    count = problem.joints.shape[0]
    if problem.joints[0]["kind"] == FREE and problem.active[0] and frames.roots.shape[0] == 0:
        for k in range(3):
            state.translation[t, k] = state.wish[t, 0, k]
    for j in range(count):
        parent = problem.joints[j]["parent"]
        above = quat_at(state.world, t, parent) if parent >= 0 else (1.0, 0.0, 0.0, 0.0)
        for k in range(3):
            state.positions[t, j, k] = state.translation[t, k]
        if parent >= 0:
            position = add(vec_at(state.positions, t, parent), rotate(above, offset_now(t, j, problem, state)))
            for k in range(3):
                state.positions[t, j, k] = position[k]
        set_quat(state.world, t, j, mul(above, quat_at(state.rotations, t, j)))
        if problem.rotates[j] and (j == 0 or problem.above[j] >= 0):
            rotate_towards(t, i, j, problem, state, frames)


@kernel
def rotate_towards(t: int, i: int, j: int, problem: Problem, state: State, frames: Frames) -> None:
    """Rotate a joint so that its children, and effectors on it, come nearest to their requested positions."""
    here, world = vec_at(state.positions, t, j), quat_at(state.world, t, j)
    b, pairs, child, first, last = no_columns(), 0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for c in range(j + 1, problem.joints.shape[0]):
        if problem.above[c] == j:
            first, last = rotate(world, bone_to(t, c, j, problem, state)), sub(vec_at(state.wish, t, c), here)
            if norm(first) > 0.0:
                b, pairs, child = with_pair(b, first, scale(unit(last), norm(first))), pairs + 1, c
    for e in range(problem.effectors.shape[0]):
        one = problem.effectors[e]
        if one["joint"] != j:
            continue
        point = rotate(world, vec_from(one["point"]))
        if norm(point) > 0.0:
            first, last = point, sub(vec_at(frames.targets, i, e), here)
            b, pairs, child = with_pair(b, first, scale(unit(last), norm(first))), pairs + 1, -1
        if one["oriented"]:
            facing, size = quat_at(frames.orientations, i, e), problem.settings[0]["rotation_length"] ** 2
            for c in range(3):
                axis = basis(c)
                b = with_pair(b, scale(rotate(world, axis), size), rotate(facing, axis))
            pairs += 3
    if pairs == 0:
        return
    rotation = nearest_rotation(b)
    if pairs == 1:
        rotation = between(first, last)  # the smallest rotation that does
        next_one = hinge_child(child, problem)
        if next_one >= 0:
            rotation = rotation_with_hinge(t, child, next_one, problem, state, first, here)
    rotate_joint(t, j, problem, state, rotation, b)


@kernel
def bending_side(t: int, c: int, problem: Problem, state: State) -> float:
    """1 or -1 for a hinge whose limit lets it bend to that side alone, 0 for one that bends to both."""
    rest, axis = rest_of(problem.joints, c), axis_of(problem.joints, c)
    plus, minus = mul(rest, axis_angle(axis, BENT)), mul(rest, axis_angle(axis, -BENT))
    up, down = guarded(t, c, problem, state, plus) == plus, guarded(t, c, problem, state, minus) == minus
    return 0.0 if up == down else 1.0 if up else -1.0


@kernel
def hinge_child(c: int, problem: Problem) -> int:
    """The joint that hinge c carries towards an effector, or -1; also -1 when c is no hinge."""
    if c < 0 or problem.joints[c]["kind"] not in (HINGE, HINGE_TWIST):
        return -1
    for g in range(c + 1, problem.joints.shape[0]):
        if problem.above[g] == c:
            return g
    return -1


@kernel
def rotation_with_hinge(t: int, c: int, g: int, problem: Problem, state: State, bone: Vec3, here: Vec3) -> Quat:
    """The rotation of a joint at `here` whose only child c is a hinge that carries g: a hinge cannot leave its plane.

    The bone goes to where c is requested, and about it so far that the hinge bends towards where g is. Where the
    hinge would have to bend the wrong way, c is requested on the other side of the line to g.
    """
    end = sub(vec_at(state.wish, t, g), here)
    side = bending_side(t, c, problem, state)
    rotation = between(bone, sub(vec_at(state.wish, t, c), here))
    for attempt in range(2):
        bone_goal = sub(vec_at(state.wish, t, c), here)
        along, rotation = unit(bone_goal), between(bone, bone_goal)
        axis = rotate(rotation, rotate(orientation_of(t, c, problem, state), axis_of(problem.joints, c)))
        axis = sub(axis, scale(along, dot(axis, along)))
        normal = cross(along, unit(sub(end, bone_goal)))
        if norm(normal) < STRAIGHT or norm(axis) < STRAIGHT:
            return rotation
        if side != 0.0 and attempt == 0 and side * dot(normal, axis) < 0.0:
            line = unit(end)
            twice = 2.0 * dot(bone_goal, line)
            for k in range(3):
                state.wish[t, c, k] = here[k] + twice * line[k] - bone_goal[k]
            continue
        if side < 0.0 or (side == 0.0 and dot(normal, axis) < 0.0):
            normal = scale(normal, -1.0)
        return mul(axis_angle(along, math.atan2(dot(along, cross(axis, normal)), dot(axis, normal))), rotation)
    return rotation

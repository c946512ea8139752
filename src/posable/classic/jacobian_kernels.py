"""One step of each method that inverts the Jacobian (Buss and Kim 2005 compare them; Unzueta et al. 2008, section 9).

The Jacobian stacks three rows for each effector's position and three more, as long as `rotation_length` [m], for its
orientation; DoF are those of the skeleton's list, with body angular velocities for balls (specification reconstruct,
erratum 21). An error counts at most `max_error` [m] (Buss and Kim's clamp), so any target is finite here.

Prioritised IK (Baerlocher and Boulic 2004) meets its levels in their order: each moves only in what the levels above
leave free, a projector that loses the singular directions of every level in turn. Each level is damped by Maciejewski's
rule. Limits are inequalities: a step that takes a joint outside is replaced by the one that takes it to the boundary,
the joint's DoF are locked there, and everything is solved again with what is left, until no joint leaves its limit.
What all levels leave free is drawn towards a relaxed posture: the optimisation term.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats
from ..math.linear import cholesky, cholesky_solve, svd_rows
from ..math.quaternion import axis_angle, exp, mul
from ..math.vector import norm, scale, sub
from ..skeleton.dofs import BALL, DOF_COUNT, FREE, HINGE
from ..skeleton.forward import axis_of, jacobian_row, quat_at, vec_at, vec_from
from .model import DLS, DLS_SVD, PSEUDOINVERSE, SDLS, TRANSPOSE, Frames, Problem, State
from .motion_kernels import effector_position, guarded, rotation_to, steps_between

TINY = 1e-12  # singular values below this part of the largest are rounding
RANK = 1e-4  # of the largest singular value: a direction below it is left to the levels below
POWER_STEPS = 8  # of the inverse iteration that estimates the smallest singular value


@kernel
def stack_rows(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """The Jacobian and the errors of all effectors."""
    settings = problem.settings[0]
    dofs = state.jacobian.shape[2]
    for e in range(problem.effectors.shape[0]):
        one = problem.effectors[e]
        for k in range(6):
            for d in range(dofs):
                state.one[t, k, d] = 0.0
        point = vec_from(one["point"])
        jacobian_row(t, problem.joints, state.rotations, state.positions, state.world, one["joint"], point, state.one)
        row, weight = one["row"], one["weight"]
        miss = sub(vec_at(frames.targets, i, e), effector_position(t, e, problem, state))
        away = norm(miss)
        if away > settings["max_error"]:
            miss = scale(scale(miss, 1.0 / away), settings["max_error"])
        for k in range(3):
            state.error[t, row + k] = weight * miss[k]
            for d in range(dofs):
                state.jacobian[t, row + k, d] = weight * state.one[t, k, d] * problem.active[d]
        if one["oriented"]:
            rotation = rotation_to(quat_at(frames.orientations, i, e), quat_at(state.world, t, one["joint"]))
            length = weight * settings["rotation_length"]
            for k in range(3):
                state.error[t, row + 3 + k] = length * rotation[k]
                for d in range(dofs):
                    state.jacobian[t, row + 3 + k, d] = length * state.one[t, 3 + k, d] * problem.active[d]


@kernel
def jacobian_step(t: int, problem: Problem, state: State) -> None:
    """Fill `steps` by the method of the settings, from the stacked rows; the largest step is `max_step`."""
    method = problem.settings[0]["method"]
    if method == TRANSPOSE:
        transpose_step(t, problem, state)
    elif method == DLS:
        damped_step(t, problem, state)
    else:
        rows, dofs = problem.settings[0]["rows"], state.steps.shape[1]
        for r in range(rows):
            for d in range(dofs):
                state.rows[t, r, d] = state.jacobian[t, r, d]
        svd_rows(state.rows[t], rows, dofs, state.left[t], state.values[t])
        if method == PSEUDOINVERSE:
            inverse_step(t, problem, state, 0.0, problem.settings[0]["threshold"])
        elif method == DLS_SVD:
            inverse_step(t, problem, state, damping_of(t, problem, state), TINY)
        elif method == SDLS:
            selective_step(t, problem, state)
    limit_steps(t, problem, state)


@kernel
def limit_steps(t: int, problem: Problem, state: State) -> None:
    """Shorten all steps alike until the largest is at most `max_step` [rad]."""
    largest, most = 0.0, problem.settings[0]["max_step"]
    for d in range(state.steps.shape[1]):
        largest = max(largest, abs(state.steps[t, d]))
    if largest > most:
        for d in range(state.steps.shape[1]):
            state.steps[t, d] *= most / largest


@kernel
def transpose_step(t: int, problem: Problem, state: State) -> None:
    """a J^T e, with a the best along the way: <e, J J^T e> / |J J^T e|^2 (Buss and Kim 2005, Eq. 7)."""
    rows, dofs = problem.settings[0]["rows"], state.steps.shape[1]
    for d in range(dofs):
        state.steps[t, d] = 0.0
        for r in range(rows):
            state.steps[t, d] += state.jacobian[t, r, d] * state.error[t, r]
    along, square = 0.0, 0.0
    for r in range(rows):
        moved = 0.0
        for d in range(dofs):
            moved += state.jacobian[t, r, d] * state.steps[t, d]
        along += moved * state.error[t, r]
        square += moved * moved
    gain = along / square if square > 0.0 else 0.0
    for d in range(dofs):
        state.steps[t, d] *= gain


@kernel
def damped_step(t: int, problem: Problem, state: State) -> None:
    """J^T (J J^T + damping^2 I)^-1 e (Wampler 1986; Nakamura and Hanafusa 1986), by Cholesky."""
    rows, dofs = problem.settings[0]["rows"], state.steps.shape[1]
    largest = 0.0
    for r in range(rows):
        for c in range(r + 1):
            inner = 0.0
            for d in range(dofs):
                inner += state.jacobian[t, r, d] * state.jacobian[t, c, d]
            state.rows[t, r, c] = inner
            state.rows[t, c, r] = inner
        largest = max(largest, state.rows[t, r, r])
    square = problem.settings[0]["damping"] ** 2
    if problem.settings[0]["adaptive"]:
        smallest = smallest_singular_value(t, rows, largest, state)
        square = maciejewski(smallest, error_length(t, rows, state) / problem.settings[0]["damping"]) ** 2
    square = max(square, 1e-14 * largest)  # singular rows without damping: the least that can be solved
    copy_square(t, rows, square, state)
    clear_steps(t, state)
    if not cholesky(state.left[t], rows):
        return
    for r in range(rows):
        state.vector[t, r] = state.error[t, r]
    cholesky_solve(state.left[t], rows, state.vector[t])
    for d in range(dofs):
        for r in range(rows):
            state.steps[t, d] += state.jacobian[t, r, d] * state.vector[t, r]


@kernel
def copy_square(t: int, rows: int, square: float, state: State) -> None:
    """J J^T, in `rows`, with `square` added to its diagonal, into `left`."""
    for r in range(rows):
        for c in range(rows):
            state.left[t, r, c] = state.rows[t, r, c]
        state.left[t, r, r] += square


@kernel
def smallest_singular_value(t: int, rows: int, largest: float, state: State) -> float:
    """An estimate by inverse iteration on J J^T, as Maciejewski and Klein 1988 have it; J J^T is in `rows`."""
    shift = max(1e-12 * largest, 1e-300)
    copy_square(t, rows, shift, state)
    if not cholesky(state.left[t], rows):
        return 0.0
    for r in range(rows):
        state.vector[t, r] = 1.0 + 0.1 * r
    square = 0.0
    for _ in range(POWER_STEPS):
        length = 0.0
        for r in range(rows):
            length += state.vector[t, r] ** 2
        length = math.sqrt(length)
        for r in range(rows):
            state.vector[t, r] /= length
        cholesky_solve(state.left[t], rows, state.vector[t])
        grown = 0.0
        for r in range(rows):
            grown += state.vector[t, r] ** 2
        square = 1.0 / math.sqrt(grown) - shift
    return math.sqrt(max(square, 0.0))


@kernel
def error_length(t: int, rows: int, state: State) -> float:
    """The length of the stacked errors."""
    square = 0.0
    for r in range(rows):
        square += state.error[t, r] ** 2
    return math.sqrt(square)


@kernel
def maciejewski(smallest: float, ratio: float) -> float:
    """The least damping that keeps a step short (Maciejewski 1990): `ratio` is the error over the longest step."""
    if smallest >= ratio:
        return 0.0
    if smallest >= 0.5 * ratio:
        return math.sqrt(smallest * (ratio - smallest))
    return 0.5 * ratio


@kernel
def clear_steps(t: int, state: State) -> None:
    """Set all steps to 0."""
    for d in range(state.steps.shape[1]):
        state.steps[t, d] = 0.0


@kernel
def largest_value(t: int, rows: int, state: State) -> float:
    """Return the largest singular value."""
    largest = 0.0
    for r in range(rows):
        largest = max(largest, state.values[t, r])
    return largest


@kernel
def smallest_above(t: int, rows: int, floor: float, state: State) -> float:
    """Return the smallest singular value above a floor; infinite without any."""
    smallest = math.inf
    for r in range(rows):
        if state.values[t, r] > floor:
            smallest = min(smallest, state.values[t, r])
    return smallest


@kernel
def damping_of(t: int, problem: Problem, state: State) -> float:
    """Return the constant damping, or Maciejewski's from the smallest singular value."""
    settings = problem.settings[0]
    if not settings["adaptive"]:
        return settings["damping"]  # type: ignore[no-any-return]
    rows = settings["rows"]
    smallest = smallest_above(t, rows, TINY * largest_value(t, rows, state), state)
    return maciejewski(smallest, error_length(t, rows, state) / settings["damping"])


@kernel
def add_inverse(t: int, k: int, rows: int, damping: float, residual: Floats, state: State) -> None:
    """Add w_k s_k / (s_k^2 + damping^2) u_k.r for one singular value and a residual r (rows,)."""
    s, inner = state.values[t, k], 0.0
    for r in range(rows):
        inner += state.left[t, r, k] * residual[r]
    gain = inner / (s * s + damping * damping)
    for d in range(state.steps.shape[1]):
        state.steps[t, d] += gain * state.rows[t, k, d]  # these rows carry the factor s_k


@kernel
def inverse_step(t: int, problem: Problem, state: State, damping: float, threshold: float) -> None:
    """Sum `add_inverse` over the singular values above `threshold` of the largest."""
    rows = problem.settings[0]["rows"]
    floor = threshold * largest_value(t, rows, state)
    clear_steps(t, state)
    for k in range(rows):
        if state.values[t, k] > floor:
            add_inverse(t, k, rows, damping, state.error[t], state)


@kernel
def selective_step(t: int, problem: Problem, state: State) -> None:
    """Selectively damped least squares (Buss and Kim 2005, section 4): each singular vector is limited by itself.

    An effector with an orientation counts as two.
    """
    rows, dofs, most = problem.settings[0]["rows"], state.steps.shape[1], problem.settings[0]["max_step"]
    floor = TINY * largest_value(t, rows, state)
    clear_steps(t, state)
    for k in range(rows):
        s = state.values[t, k]
        if s <= floor:
            continue
        inner, sizes, moved = 0.0, 0.0, 0.0
        for r in range(0, rows, 3):
            part = 0.0
            for c in range(r, r + 3):
                inner += state.left[t, c, k] * state.error[t, c]
                part += state.left[t, c, k] ** 2
            sizes += math.sqrt(part)
        for d in range(dofs):
            reach = 0.0
            for r in range(0, rows, 3):
                part = 0.0
                for c in range(r, r + 3):
                    part += state.jacobian[t, c, d] ** 2
                reach += math.sqrt(part)
            moved += abs(state.rows[t, k, d]) / s * reach
        moved /= s
        allowed = most * min(1.0, sizes / moved) if moved > 0.0 else most
        gain, top = inner / (s * s), 0.0
        for d in range(dofs):
            top = max(top, abs(gain * state.rows[t, k, d]))
        if top > allowed:
            gain *= allowed / top
        for d in range(dofs):
            state.steps[t, d] += gain * state.rows[t, k, d]


@kernel
def priority_step(t: int, problem: Problem, state: State, draw: bool) -> None:
    """Fill `steps` from the stacked rows; `draw` also towards the relaxed posture."""
    dofs = state.steps.shape[1]
    for d in range(dofs):
        state.locked[t, d] = 0
        state.limit_steps[t, d] = 0.0
    for _ in range(problem.joints.shape[0] + 1):  # each round locks a joint, or is the last
        levels_step(t, problem, state, draw)
        if not lock_joints(t, problem, state):
            break
    limit_steps(t, problem, state)


@kernel
def levels_step(t: int, problem: Problem, state: State, draw: bool) -> None:
    """All levels and the optimisation term, around the DoF that limits have locked."""
    dofs = state.steps.shape[1]
    for d in range(dofs):
        state.steps[t, d] = state.limit_steps[t, d]
        for c in range(dofs):
            state.projector[t, d, c] = 0.0
        if problem.active[d] and not state.locked[t, d]:
            state.projector[t, d, d] = 1.0
    for level in range(1, problem.settings[0]["levels"] + 1):
        rows = gather_level(t, level, problem, state)
        svd_rows(state.rows[t], rows, dofs, state.left[t], state.values[t])
        add_level(t, rows, problem, state)
    if draw:
        add_attraction(t, problem, state)


@kernel
def gather_level(t: int, level: int, problem: Problem, state: State) -> int:
    """The level's projected Jacobian into `rows` and what is left of its error into `vector`; how many rows."""
    dofs, count = state.steps.shape[1], 0
    for e in range(problem.effectors.shape[0]):
        one = problem.effectors[e]
        if one["level"] != level:
            continue
        for k in range(6 if one["oriented"] else 3):
            r = one["row"] + k
            left = state.error[t, r]
            for d in range(dofs):
                left -= state.jacobian[t, r, d] * state.steps[t, d]
                inner = 0.0
                for c in range(dofs):
                    inner += state.jacobian[t, r, c] * state.projector[t, c, d]
                state.rows[t, count, d] = inner
            state.vector[t, count] = left
            count += 1
    return count


@kernel
def add_level(t: int, rows: int, problem: Problem, state: State) -> None:
    """Move by the level's damped inverse and take its directions out of the projector."""
    dofs = state.steps.shape[1]
    whole, square = 0.0, 0.0
    for r in range(problem.settings[0]["rows"]):
        for d in range(dofs):
            whole = max(whole, abs(state.jacobian[t, r, d]))
    for k in range(rows):
        square += state.vector[t, k] ** 2
    # What the levels above have taken leaves rounding, not directions.
    floor = RANK * max(largest_value(t, rows, state), RANK * whole)
    smallest = smallest_above(t, rows, floor, state)
    damping = maciejewski(smallest, math.sqrt(square) / problem.settings[0]["damping"])
    for k in range(rows):
        s = state.values[t, k]
        if s <= floor:
            continue
        add_inverse(t, k, rows, damping, state.vector[t], state)
        for d in range(dofs):
            along = state.rows[t, k, d] / (s * s)
            for c in range(dofs):
                state.projector[t, d, c] -= along * state.rows[t, k, c]


@kernel
def add_attraction(t: int, problem: Problem, state: State) -> None:
    """Draw what is left free towards the relaxed posture, by the fraction `attraction`."""
    dofs, gain = state.steps.shape[1], problem.settings[0]["attraction"]
    for d in range(dofs):
        state.one[t, 0, d] = 0.0
    for j in range(problem.joints.shape[0]):
        if not problem.rotates[j]:
            continue
        goal = quat_at(problem.relaxed, 0, j) if problem.relaxed.shape[0] > 0 else quat_at(state.begin, t, j)
        displacement = steps_between(j, problem, quat_at(state.rotations, t, j), goal)
        first = problem.joints[j]["dof"] + (3 if problem.joints[j]["kind"] == FREE else 0)
        for k in range(min(DOF_COUNT[problem.joints[j]["kind"]], 3)):
            state.one[t, 0, first + k] = gain * displacement[k]
    for d in range(dofs):
        for c in range(dofs):
            state.steps[t, d] += state.projector[t, d, c] * state.one[t, 0, c]


@kernel
def lock_joints(t: int, problem: Problem, state: State) -> bool:
    """Lock the joints whose step leaves their limit at its boundary; whether there were any."""
    found = False
    for j in range(problem.joints.shape[0]):
        kind, d = problem.joints[j]["kind"], problem.joints[j]["dof"]
        if problem.guards[j]["row"] < 0 or not problem.rotates[j] or kind not in (BALL, HINGE) or state.locked[t, d]:
            continue
        q = quat_at(state.rotations, t, j)
        if kind == BALL:
            moved = mul(q, exp((state.steps[t, d], state.steps[t, d + 1], state.steps[t, d + 2])))
        else:
            moved = mul(q, axis_angle(axis_of(problem.joints, j), state.steps[t, d]))
        inside = guarded(t, j, problem, state, moved)
        if inside == moved:
            continue
        found = True
        displacement = steps_between(j, problem, q, inside)
        for k in range(DOF_COUNT[kind]):
            state.locked[t, d + k] = 1
            state.limit_steps[t, d + k] = displacement[k]
    return found

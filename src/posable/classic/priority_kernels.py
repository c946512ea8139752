"""One step of prioritised IK (Baerlocher and Boulic 2004; Unzueta et al. 2008, section 9).

Levels are met in their order: each moves only in what the levels above leave free, a projector that loses the
singular directions of every level in turn. Each level is damped by Maciejewski's rule. Limits are inequalities: a step
that takes a joint outside is replaced by the one that takes it to the boundary, the joint's DoF are locked there, and
everything is solved again with what is left, until no joint leaves its limit. What all levels leave free is drawn
towards a relaxed posture: the optimisation term.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..math.linear import svd_rows
from ..math.quaternion import axis_angle, exp, mul
from ..skeleton.dofs import BALL, DOF_COUNT, FREE, HINGE
from ..skeleton.forward import axis_of, quat_at
from .jacobian_kernels import limit_steps, maciejewski
from .model import Problem, State
from .motion_kernels import guarded, steps_between

RANK = 1e-4  # of the largest singular value: a direction below it is left to the levels below


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
    whole, largest, smallest, square = 0.0, 0.0, math.inf, 0.0
    for r in range(problem.settings[0]["rows"]):
        for d in range(dofs):
            whole = max(whole, abs(state.jacobian[t, r, d]))
    for k in range(rows):
        largest = max(largest, state.values[t, k])
        square += state.vector[t, k] ** 2
    floor = RANK * max(largest, RANK * whole)  # what the levels above have taken leaves rounding, not directions
    for k in range(rows):
        if state.values[t, k] > floor:
            smallest = min(smallest, state.values[t, k])
    damping = maciejewski(smallest, math.sqrt(square) / problem.settings[0]["damping"])
    for k in range(rows):
        s = state.values[t, k]
        if s <= floor:
            continue
        inner = 0.0
        for r in range(rows):
            inner += state.left[t, r, k] * state.vector[t, r]
        gain = inner / (s * s + damping * damping)
        for d in range(dofs):
            state.steps[t, d] += gain * state.rows[t, k, d]
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

"""Kernels that bring parts of a body to their goals by weighted, damped steps, inside the joints' limits.

One iteration is dtheta = V J^T (J V J^T + Lambda)^-1 r (Komura et al. 2004, Eq. 2, with the damping of `specs/edit.md`,
section 4): r is what the parts lack, Lambda how soft each goal is. Steps are scaled so that no DoF turns by more than
0.15 rad. Joints are kept in their bounds after each (`edge_kernels`).
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
from .edge_kernels import ease_to_edges, from_vectors, hold_start, keep_in_boxes, keep_in_shapes
from .model import Bodies, Rig, Scratch

MOST_TURN = 0.15  # [rad], [m] a DoF moves in one iteration
NOWHERE = (0.0, 0.0, 0.0)


@kernel
def goal_place(goal: Any) -> Vec3:
    """Where a part shall be."""
    return (goal["x"], goal["y"], goal["z"])


@kernel
def goal_turn(goal: Any) -> Quat:
    """How it shall be turned."""
    return (goal["qw"], goal["qx"], goal["qy"], goal["qz"])


@kernel
def set_goal(goal: Any, place: Vec3, turn: Quat) -> None:
    """Give a part a place and a turn."""
    goal["x"], goal["y"], goal["z"] = place
    goal["qw"], goal["qx"], goal["qy"], goal["qz"] = turn


@kernel
def lacking(i: int, goal: Any, work: Scratch) -> tuple[Vec3, Vec3]:
    """How far a part is from its goal: the way there [m] and the turn, as a rotation vector in the world."""
    place, wanted = vec_at(work.positions, i, goal["joint"]), goal_place(goal)
    turn = log(mul(goal_turn(goal), conj(quat_at(work.orientations, i, goal["joint"]))))
    return (wanted[0] - place[0], wanted[1] - place[1], wanted[2] - place[2]), turn


@kernel
def stack(i: int, rig: Rig, goals: Records, rotations: Floats, work: Scratch) -> int:
    """Fill J^T into `wide`, what lacks into vec[0], the softness into vec[1]; the number of rows."""
    rows = 0
    for g in range(goals.shape[0]):
        goal = goals[g]
        if goal["place"] < 0.0 and goal["turn"] < 0.0:
            continue
        for k in range(6):
            for d in range(work.full.shape[2]):
                work.full[i, k, d] = 0.0
        jacobian_row(i, rig.joints, rotations, work.positions, work.orientations, goal["joint"], NOWHERE, work.full)
        place, turn = lacking(i, goal, work)
        for half in range(2):
            soft = goal["place"] if half == 0 else goal["turn"]
            if soft < 0.0:
                continue
            lack = place if half == 0 else turn
            for k in range(3):
                work.vec[i, 0, rows] = lack[k]
                work.vec[i, 1, rows] = soft * soft
                for d in range(rig.dofs.shape[0]):
                    work.wide[i, d, rows] = work.full[i, 3 * half + k, rig.dofs[d]]
                rows += 1
    return rows


@kernel
def place_frames(i: int, rig: Rig, bodies: Bodies, work: Scratch) -> None:
    """Forward kinematics of row i, into `work`."""
    forward_row(i, rig.joints, bodies.translation, bodies.rotations, bodies.offsets, work.positions, work.orientations)


@kernel
def weigh(i: int, rows: int, sweeps: int, rig: Rig, boxes: Records, rotations: Floats, work: Scratch) -> float:
    """Fill `steps` with the weighted, damped change of the DoF for what lacks; vec[2] holds the inverse weights.

    Returns the largest change [rad], [m]; more than `MOST_TURN` is scaled down to it. Each further sweep asks again for
    what damping has left of it: with y = (J V J^T + Lambda)^-1 r that is Lambda y.
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
    if largest > MOST_TURN:
        for d in range(n):
            work.steps[i, rig.dofs[d]] *= MOST_TURN / largest
    from_vectors(i, rig.dofs, boxes, rotations, work)
    return largest


@kernel
def missed(i: int, goals: Records, work: Scratch) -> float:
    """How far the worst of the kept goals is from its place [m]."""
    worst = 0.0
    for g in range(goals.shape[0]):
        if goals[g]["kept"] and goals[g]["place"] >= 0.0:
            worst = max(worst, norm(lacking(i, goals[g], work)[0]))
    return worst


@kernel
def keep_inside(i: int, rig: Rig, boxes: Records, shapes: Records, bodies: Bodies, work: Scratch) -> bool:
    """Put joints of row i that left their box or shape back on its edge, and place its frames; whether any had left."""
    any_left = keep_in_boxes(i, rig.joints, boxes, bodies.rotations)
    place_frames(i, rig, bodies, work)
    if keep_in_shapes(i, rig, shapes, bodies.rotations, work):
        place_frames(i, rig, bodies, work)
        any_left = True
    return any_left


@kernel
def pull(
    i: int,
    rig: Rig,
    goals: Records,
    boxes: Records,
    shapes: Records,
    least: int,
    most: int,
    close: float,
    bodies: Bodies,
    work: Scratch,
) -> tuple[int, bool, bool]:
    """Bring row i into its limits and to its goals (G,), from inverse weights in vec[2]; leaves its frames in `work`.

    At least `least` and at most `most` iterations, until what must be kept is within `close` [m]. Returns the number of
    iterations, and whether the edge of a box or a shape held a joint back at any time, and in the end.
    """
    ever, count = False, 0
    while True:  # each kernel is called from one place only: the compiler copies it to every place
        held = keep_inside(i, rig, boxes, shapes, bodies, work)
        ever = ever or held
        if count >= most or (count >= least and missed(i, goals, work) <= close):
            return count, ever, held
        rows = stack(i, rig, goals, bodies.rotations, work)
        weigh(i, rows, 1, rig, boxes, bodies.rotations, work)
        integrate_row(i, rig.joints, work.steps, bodies.translation, bodies.rotations, bodies.offsets)
        count += 1


@kernel
def inverse_weights(row: Floats, other: Floats, share: float, v: Floats) -> None:
    """v = exp of two rows of logarithms blended, times one number: its mean is 1. Below -100 is locked: 0."""
    total, count = 0.0, 0
    for k in range(row.shape[0]):
        if row[k] < -100.0 or other[k] < -100.0:
            v[k] = 0.0
            continue
        v[k] = math.exp(row[k] + share * (other[k] - row[k]))
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
    most: int,
    source: Floats,
    bodies: Bodies,
    away: Floats,
    limited: Ints,
    work: Scratch,
) -> None:
    """Bring each of n poses to its goals (N, G) in place; logs (N, n) are their weights, away (N, G) what is left [m].

    Boxes (N, B) are widened to hold the rotations `source` (N, J, 4), shapes (N, S) must be already; a pose that lies
    outside of them is brought inside first. A row that is inside and none of whose goals asks for anything keeps its
    pose, bit for bit. limited (N,) is 1 where limits held a joint back in the last iteration.
    """
    for i in prange(n):
        asked = False
        for g in range(goals.shape[1]):
            asked = asked or goals[i, g]["place"] >= 0.0 or goals[i, g]["turn"] >= 0.0
        hold_start(i, rig.joints, boxes[i], source)
        inverse_weights(logs[i], logs[i], 0.0, work.vec[i, 2])
        count = most if asked else 0
        told = pull(i, rig, goals[i], boxes[i], shapes[i], count, count, 0.0, bodies, work)
        limited[i] = 1 if told[2] else 0
        for g in range(goals.shape[1]):
            away[i, g] = norm(lacking(i, goals[i, g], work)[0]) if asked and goals[i, g]["place"] >= 0.0 else 0.0

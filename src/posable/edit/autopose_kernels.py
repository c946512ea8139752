"""Kernels of `AutoPose`: what the network says of few parts, and the pose that is nearest to it and to how it was.

`settle_row` minimises, by Gauss and Newton's method, the sum of

- half the square of how far each part is from where people would have it, over the square of its softness;
- for each joint (1 - cos a) / s^2, with a its angle from the pose before any part was dragged and s its spread: as half
  the square of the angle for small ones, and smooth where it is a half turn;
- for each joint that is c [rad] outside its limits, about `STIFF` c^2 / 2;
- for each target a cost that grows with its distance r by `PULL` (1 + r / `FAR`), from r = 0 on: so it is met, but for
  hundredths of a millimetre, if people and limits let it be; if not, it pulls no harder than that.

All of it is continuous, and with spreads for all joints it has one minimum near the pose that it starts from: a small
change of the targets is a small change of the pose. With V the diagonal of s^2 a step is

    d0 + V J^T (J V J^T + Lambda)^-1 (r - J d0)

where d0 is the step that the joints alone would take, r the errors of parts, targets and limits, J their Jacobian and
Lambda the squares of their softness, of a target r / (`PULL` (1 + r / `FAR`)) (iteratively reweighted least squares).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Records, Vec3
from ..limits.kernels import clamp_widened
from ..math.linear import cholesky_floored, cholesky_solve, weighted_gram
from ..math.quaternion import conj, log, mul
from ..math.vector import add, dot, norm, scale, sub, unit
from ..reconstruct.packed import HEAD, HIPS, Figure, given
from ..reconstruct.packed import Rows as Tracked
from ..reconstruct.prior_kernels import (
    PREDICTED,
    Network,
    Prediction,
    evaluate,
    frame_of_known,
    write_features,
)
from ..reconstruct.prior_layout import END_POSITIONS, ERRORS, MIDS, TO_HEAD
from ..reconstruct.prior_spine import bend_of, chain_bends, pelvis_said, said_in_world
from ..reconstruct.track_state import take_inputs
from ..skeleton.forward import axis_of, quat_at, quat_from, vec_at, vec_from
from .model import Rig, Rows, Scratch
from .pull_kernels import integrate, stack_goals, update_frames

PULL, ROTATE = 400.0, 100.0  # of targets: a metre of a part, or a radian, that is as far as people have it
STANDING = 0.3  # of that, feet that stand
GROWS = 12  # iterations in which it grows to that from a fraction, so that what people do leads
FAR = 0.3  # [m], [rad]: how far a target is that pulls twice as hard as one that is nearly met
CLOSEST = 1e-3  # softness of a target that is met
STIFF, SOFT_EDGE = 6000.0, 0.01  # of limits; [rad] outside of them: where they are half as stiff
HARD, HARDENS = 300.0, 10  # how much stiffer in the end; in the last so many iterations
OUTSIDE, CORNER = 1e-9, 0.9  # [rad]; cosine between two ways back that are of different limits
MOST = 0.3  # [rad], [m] that a DoF moves in one iteration
FACING = 25.0  # how much more than in a track X of the pelvis before decides the network's frame

# First columns of what the network says of a row:
POINTS, TRUNK, EXPECTED, SAID = 0, 30, 42, 47


class Anchors(NamedTuple):
    """The pose that joints are drawn back to, and how much."""

    rotations: Floats
    """(N, J, 4) local."""
    spread: Floats
    """(n,) of the edited DoF [rad], [m]."""
    joints: Ints
    """(A, 3) joints that are drawn back: joint, first of its DoF among the edited ones, how many it has."""


@kernel
def predict_row(i: int, t: int, figure: Figure, net: Network, memory: Records, rows: Tracked, out: Floats) -> None:
    """Write what the network says of row i, in the world: positions [m] of hips, head, elbows, knees, hands and feet,
    canonical orientations of hips, chest and head, and the errors that it expects, in heights: of all, arms and legs.
    """
    work, tall = rows.work[t], figure.stance[0]["joint_height"]
    take_inputs(i, t, figure, rows, memory, 0.0)
    x, y, _ = frame_of_known(i, figure, rows, (FACING, 0.0, 0.0))
    prediction = Prediction(x, y, work)
    write_features(i, t, net, figure, memory, rows, prediction)
    evaluate(net, work)
    chain_bends(work)
    chord = scale(said_in_world(prediction, TO_HEAD), tall)
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    if not given(i, rows, HIPS):
        hips = sub(head, chord)
    elif not given(i, rows, HEAD):
        head = add(hips, chord)
    put(out, i, POINTS, hips)
    put(out, i, POINTS + 3, head)
    for k in range(4):
        mid, end = said_in_world(prediction, MIDS + 3 * k), said_in_world(prediction, END_POSITIONS + 3 * k)
        put(out, i, POINTS + 6 + 3 * k, add(hips, scale(mid, tall)))
        put(out, i, POINTS + 18 + 3 * k, add(hips, scale(end, tall)))
    pelvis = pelvis_said(prediction)
    for k in range(3):
        q = mul(pelvis, bend_of(work, 3 * k))
        for c in range(4):
            out[i, TRUNK + 4 * k + c] = q[c]
    for k in range(5):
        out[i, EXPECTED + k] = math.exp(min(work[PREDICTED + ERRORS + k], 0.0))


@kernel
def put(out: Floats, i: int, at: int, v: Vec3) -> None:
    """Write a vector into row i."""
    for c in range(3):
        out[i, at + c] = v[c]


@batch(rows=64)
def predict_rows(n: int, figure: Figure, net: Network, memory: Records, rows: Tracked, out: Floats) -> None:
    """Call `predict_row` for n rows, each a track of one frame."""
    frames = rows.points.shape[0] // n
    for t in prange(n):
        for f in range(frames):
            predict_row(t * frames + f, t, figure, net, memory, rows, out)


@kernel
def settle_row(
    i: int, rig: Rig, rows: Rows, anchors: Anchors, first: float, iterations: int, edges: Floats, work: Scratch
) -> None:
    """Move row i to the pose of least cost near it, in place."""
    for k in range(iterations):
        update_frames(i, rig, rows, work)
        count = stack_goals(i, rig, rows, work)
        soften_targets(i, first ** max(0.0, 1.0 - k / GROWS), rows, work)
        draw_back(i, rig, rows, anchors, work)
        stiff = STIFF * HARD ** max(0.0, 1.0 - (iterations - 1 - k) / HARDENS)
        settle_step(i, stack_limits(i, count, stiff, rig, rows, edges, work), rig, rows, work)
        release_limits(i, count, rows, edges, work)
        integrate(i, rig, rows, work)
    update_frames(i, rig, rows, work)


@kernel
def soften_targets(i: int, pull: float, rows: Rows, work: Scratch) -> None:
    """Fill in the damping of targets: that of the force with which they pull."""
    row = 0
    for g in range(rows.goals.shape[1]):
        goal = rows.goals[i, g]
        for half in range(2):
            soft = goal["position_softness"] if half == 0 else goal["orientation_softness"]
            if soft < 0.0:
                continue
            if goal["fixed"] != 0:
                strength = (PULL if half == 0 else ROTATE) * (pull if goal["fixed"] == 1 else STANDING)
                error = norm((work.errors[i, row], work.errors[i, row + 1], work.errors[i, row + 2]))
                softened = error / (strength * (1.0 + error / FAR))
                for k in range(3):
                    work.damping[i, row + k] = max(softened, CLOSEST * CLOSEST)
            row += 3


@kernel
def draw_back(i: int, rig: Rig, rows: Rows, anchors: Anchors, work: Scratch) -> None:
    """Fill in V, and d0 in `half_steps`: the steps towards the anchors."""
    for d in range(rig.dofs.shape[0]):
        work.eased[i, d] = anchors.spread[d] * anchors.spread[d]
        work.half_steps[i, d] = 0.0
    for a in range(anchors.joints.shape[0]):
        j, first = anchors.joints[a, 0], anchors.joints[a, 1]
        w, x, y, z = mul(conj(quat_at(rows.rotations, i, j)), quat_at(anchors.rotations, i, j))
        back = (2.0 * w * x, 2.0 * w * y, 2.0 * w * z)
        if anchors.joints[a, 2] == 3:
            for k in range(3):
                work.half_steps[i, first + k] = back[k]
        elif anchors.joints[a, 2] == 1:
            work.half_steps[i, first] = dot(back, axis_of(rig.joints, j))


@kernel
def stack_limits(i: int, count: int, stiff: float, rig: Rig, rows: Rows, edges: Floats, work: Scratch) -> int:
    """Stack a row for each joint that is outside of its limits, or is held at them: along the shortest way back.

    Without those that are held, a joint that is pushed against its limit would go in and out of it for ever; one in a
    corner of its limits is held at two of them. Returns the number of rows.
    """
    for s in range(rows.shapes.shape[1]):
        shape = rows.shapes[i, s]
        back = path_inside(i, shape, rig, rows, work)
        far = norm(back)
        if far >= OUTSIDE:
            n = unit(back)
            if edges[i, s, 0, 3] > 0.0 and dot(n, vec_at(edges[i], s, 0)) < CORNER:
                for k in range(4):
                    edges[i, s, 1, k] = edges[i, s, 0, k]
            edges[i, s, 0, 0], edges[i, s, 0, 1], edges[i, s, 0, 2] = n
            edges[i, s, 0, 3] = (far + SOFT_EDGE) / (stiff * far)
        for side in range(2):
            if edges[i, s, side, 3] == 0.0:
                continue
            n = vec_at(edges[i], s, side)
            for d in range(rig.dofs.shape[0]):
                work.transposed[i, d, count] = 0.0
            for k in range(shape["dofs"]):
                axis = n[k] if shape["dofs"] == 3 else dot(n, axis_of(rig.joints, shape["joint"]))
                work.transposed[i, shape["first"] + k, count] = axis
            work.errors[i, count] = dot(n, back) if side == 0 else 0.0
            work.damping[i, count] = edges[i, s, side, 3]
            count += 1
    return count


@kernel
def release_limits(i: int, count: int, rows: Rows, edges: Floats, work: Scratch) -> None:
    """No longer hold joints at their limits that want to go back, from the multipliers of the rows after `count`."""
    for s in range(rows.shapes.shape[1]):
        for side in range(2):
            if edges[i, s, side, 3] > 0.0:
                if work.errors[i, count] < 0.0:
                    edges[i, s, side, 3] = 0.0
                count += 1


@kernel
def path_inside(i: int, shape: Any, rig: Rig, rows: Rows, work: Scratch) -> Vec3:
    """Return the rotation vector, in a joint's own frame [rad], that brings it inside its limits."""
    j, neutral, above_neutral = shape["joint"], quat_from(shape["neutral"]), quat_from(shape["above_neutral"])
    above = quat_at(work.orientations, i, shape["above"])
    world = quat_at(work.orientations, i, j)
    q = mul(mul(above_neutral, conj(above)), mul(world, conj(neutral)))
    clamped = clamp_widened(rig.limits[shape["row"]], rig.curves, q, vec_from(shape["slack"]))
    if clamped == q:
        return (0.0, 0.0, 0.0)
    own = mul(above, mul(mul(conj(above_neutral), clamped), neutral))
    return log(mul(conj(world), own))


@kernel
def settle_step(i: int, count: int, rig: Rig, rows: Rows, work: Scratch) -> None:
    """Fill in the steps of all DoF for so many stacked errors, none longer than `MOST`."""
    n = rig.dofs.shape[0]
    weighted_gram(work.transposed[i], work.eased[i], count, n, work.gram[i])
    for a in range(count):
        work.gram[i, a, a] += work.damping[i, a]
        for d in range(n):
            work.errors[i, a] -= work.transposed[i, d, a] * work.half_steps[i, d]
    cholesky_floored(work.gram[i], count)
    cholesky_solve(work.gram[i], count, work.errors[i])
    largest = 0.0
    for d in range(n):
        s = 0.0
        for a in range(count):
            s += work.transposed[i, d, a] * work.errors[i, a]
        s = work.half_steps[i, d] + s * work.eased[i, d]
        work.steps[i, rig.dofs[d]] = s
        largest = max(largest, abs(s))
    if largest > MOST:
        for d in range(n):
            work.steps[i, rig.dofs[d]] *= MOST / largest


@batch(rows=32)
def settle_rows(
    n: int, rig: Rig, rows: Rows, anchors: Anchors, first: float, iterations: int, edges: Floats, work: Scratch
) -> None:
    """Call `settle_row` for n rows."""
    for i in prange(n):
        settle_row(i, rig, rows, anchors, first, iterations, edges, work)

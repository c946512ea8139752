"""The loop around the methods: steps until the effectors are on their targets, nothing improves, or a limit is met.

Stop rules are those of Unzueta et al. 2008, section 9, by default: an error below 1 cm, one that no longer improves by
1 mm, or 20 iterations. The best pose met is returned.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.extent import in_extent, vec_in_extent
from ..compute.types import Floats, Vec3
from ..compute.verdict import INVALID, LIMITS, REACHED, verdict
from ..math.quaternion import between, mul, unit_quat
from ..math.vector import add, any_perpendicular, norm, reject, scale, sub, unit
from ..reconstruct.packed import HEAD, HIPS, LEFT_FOOT, LEFT_HAND, RIGHT_FOOT, RIGHT_HAND
from ..reconstruct.spine import NO_DIRECTION, about_y
from ..skeleton.forward import forward_row, integrate_row, quat_at, set_quat, vec_at
from .chain_kernels import ccd_sweep, inward_pass, outward_pass
from .jacobian_kernels import jacobian_step, priority_step, stack_rows
from .model import CCD, EXHAUSTED, FABRIK, PIK, STALLED, WITHIN, Frames, Problem, State
from .motion_kernels import at_limits, better, clamp_limits, copy_pose, forward, measure, restore_best, store_best


@kernel
def valid_row(i: int, problem: Problem, frames: Frames) -> bool:
    """Return whether all input of a frame is finite, and orientations are rotations."""
    for e in range(frames.targets.shape[1]):
        if not vec_in_extent(vec_at(frames.targets, i, e)):
            return False
        if problem.effectors[e]["oriented"]:
            square = 0.0
            for k in range(4):
                square += frames.orientations[i, e, k] ** 2
            if not 1e-200 < square < 1e200:
                return False
    if frames.roots.shape[0] > 0:
        for k in range(7):
            if not in_extent(frames.roots[i, k]):
                return False
    return True


@kernel
def restart(t: int, s: int, problem: Problem, state: State, frames: Frames) -> None:
    """Set a track's pose to row s of the starts."""
    for k in range(3):
        state.translation[t, k] = frames.start_translation[s, k]
    for j in range(problem.joints.shape[0]):
        set_quat(state.rotations, t, j, unit_quat(quat_at(frames.starts, s, j)))
        if state.offsets.shape[0] > 0:
            for k in range(3):
                state.offsets[t, j, k] = frames.shifts[s, j, k]


@kernel
def begin_frame(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Put the root where the frame has it, and remember where the joints start from."""
    if frames.roots.shape[0] > 0:
        root = (frames.roots[i, 3], frames.roots[i, 4], frames.roots[i, 5], frames.roots[i, 6])
        set_quat(state.rotations, t, 0, root)
        for k in range(3):
            state.translation[t, k] = frames.roots[i, k]
    for j in range(problem.joints.shape[0]):
        set_quat(state.begin, t, j, quat_at(state.rotations, t, j))
    for e in range(problem.effectors.shape[0]):
        if problem.effectors[e]["oriented"]:
            set_quat(frames.orientations, i, e, unit_quat(quat_at(frames.orientations, i, e)))


@kernel
def descend(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Iterate one frame, all effectors together."""
    settings = problem.settings[0]
    forward(t, i, problem, state, frames)
    error, level = measure(t, i, problem, state, frames)
    store_best(t, i, problem, state, frames)
    stopped, done = EXHAUSTED, 0
    draws = settings["method"] == PIK and settings["attraction"] > 0.0
    for _ in range(settings["iterations"]):
        if level == 0 and not draws:
            stopped = WITHIN
            break
        done += 1
        moved = step(t, i, problem, state, frames)
        clamp_limits(t, problem, state)
        forward(t, i, problem, state, frames)
        before, on = error, level
        error, level = measure(t, i, problem, state, frames)
        if better(t, i, problem, state, frames) or (draws and level == 0):
            store_best(t, i, problem, state, frames)
        if draws and moved >= settings["settled"]:
            continue
        if level == 0:
            stopped = WITHIN
            break
        if level == on and before - error < settings["improvement"]:
            stopped = STALLED
            break
    restore_best(t, state)
    frames.iterations[i], frames.stopped[i] = done, stopped


@kernel
def step(t: int, i: int, problem: Problem, state: State, frames: Frames) -> float:
    """One step of a method that moves all joints; the largest DoF step [rad], 0 where it has none."""
    method = problem.settings[0]["method"]
    if method == FABRIK:
        inward_pass(t, i, problem, state, frames)
        outward_pass(t, i, problem, state, frames)
        return 0.0
    stack_rows(t, i, problem, state, frames)
    if method == PIK:
        priority_step(t, problem, state, problem.settings[0]["attraction"] > 0.0)
    else:
        jacobian_step(t, problem, state)
    integrate_row(t, problem.joints, state.steps, state.translation, state.rotations, state.offsets)
    largest = 0.0
    for d in range(state.steps.shape[1]):
        largest = max(largest, abs(state.steps[t, d]))
    return largest


@kernel
def descend_chains(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """CCD: the effectors' chains one after the other, each until it stops."""
    settings = problem.settings[0]
    frames.iterations[i], frames.stopped[i] = 0, WITHIN
    for e in range(problem.effectors.shape[0]):
        forward(t, i, problem, state, frames)
        measure(t, i, problem, state, frames)
        store_best(t, i, problem, state, frames)
        error = frames.position_error[i, e] + settings["rotation_length"] * frames.orientation_error[i, e]
        best, stopped = error, EXHAUSTED
        for done in range(settings["iterations"] + 1):
            if (
                frames.position_error[i, e] <= settings["tolerance"]
                and frames.orientation_error[i, e] <= settings["orientation_tolerance"]
            ):
                stopped = WITHIN
                break
            if done == settings["iterations"]:
                break
            frames.iterations[i] += 1
            ccd_sweep(t, i, e, problem, state, frames)
            forward(t, i, problem, state, frames)
            measure(t, i, problem, state, frames)
            before = error
            error = frames.position_error[i, e] + settings["rotation_length"] * frames.orientation_error[i, e]
            if error < best:
                best = error
                store_best(t, i, problem, state, frames)
            if before - error < settings["improvement"]:
                stopped = STALLED
                break
        restore_best(t, state)
        frames.stopped[i] = max(frames.stopped[i], stopped)


@kernel
def finish_frame(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Measure the answer and write it out."""
    forward_row(t, problem.joints, state.translation, state.rotations, state.offsets, state.positions, state.world)
    measure(t, i, problem, state, frames)
    settings, position_error, orientation_error = problem.settings[0], 0.0, 0.0
    for e in range(problem.effectors.shape[0]):
        position_error = max(position_error, frames.position_error[i, e])
        orientation_error = max(orientation_error, frames.orientation_error[i, e])
    status = verdict(
        REACHED, position_error, settings["tolerance"], orientation_error, settings["orientation_tolerance"], 0.0
    )
    if status != REACHED and at_limits(t, problem, state):
        status = LIMITS
    frames.status[i] = status
    write_frame(t, i, state, frames)


@kernel
def write_frame(t: int, i: int, state: State, frames: Frames) -> None:
    """Write the pose of a track into row i."""
    now, found = state.rotations, frames.rotations
    copy_pose(t, state.translation, now, state.offsets, i, frames.translation, found, frames.offsets)


@kernel
def invalidate_frame(t: int, i: int, problem: Problem, state: State, frames: Frames) -> None:
    """Leave the pose as it was where an input is not finite: INVALID."""
    write_frame(t, i, state, frames)
    for e in range(problem.effectors.shape[0]):
        frames.position_error[i, e], frames.orientation_error[i, e] = math.inf, math.inf
    frames.status[i], frames.iterations[i], frames.stopped[i] = INVALID, 0, STALLED


@kernel
def solve_row(t: int, i: int, first: bool, problem: Problem, state: State, frames: Frames) -> None:
    """One frame of a track: from its start, or from the frame before."""
    starts = frames.starts.shape[0]
    s = 0 if starts == 1 else i if starts == frames.targets.shape[0] else t
    if first or problem.settings[0]["fresh"] > 0:
        restart(t, s, problem, state, frames)
    if not valid_row(i, problem, frames):
        invalidate_frame(t, i, problem, state, frames)
        return
    begin_frame(t, i, problem, state, frames)
    if problem.settings[0]["method"] == CCD:
        descend_chains(t, i, problem, state, frames)
    else:
        descend(t, i, problem, state, frames)
    finish_frame(t, i, problem, state, frames)


@batch(rows=64)
def solve_rows(n: int, problem: Problem, state: State, frames: Frames) -> None:
    """n tracks of equal length, one after the other in the rows; poses alone are tracks of one frame."""
    length = frames.targets.shape[0] // n
    for t in prange(n):
        track = int(np.int64(t))  # a parallel loop counts without a sign
        for f in range(length):
            solve_row(track, track * length + f, f == 0, problem, state, frames)


@kernel
def pelvis_row(i: int, weights: Floats, before: Vec3, points: Floats, out: Floats) -> Vec3:
    """The pelvis as Sequential IK estimates it from six points alone, into row i; its X, which the next frame needs."""
    for m in range(6):
        if not vec_in_extent(vec_at(points, i, m)):
            for q in range(4):
                out[i, q] = math.nan
            return before
    y = unit(sub(vec_at(points, i, HEAD), vec_at(points, i, HIPS)))
    if norm(y) < 0.5:
        y = (0.0, 1.0, 0.0)
    a = unit(reject(sub(vec_at(points, i, LEFT_HAND), vec_at(points, i, RIGHT_HAND)), y))
    b = unit(reject(sub(vec_at(points, i, LEFT_FOOT), vec_at(points, i, RIGHT_FOOT)), y))
    c = unit(reject(before, y))
    w = (weights[0], weights[1], weights[2])
    if norm(before) < 0.5:
        w = (1.0, 1.0, 0.0)  # the first frame has no frame before
    x = reject(add(add(scale(a, w[0]), scale(b, w[1])), scale(c, w[2])), y)
    if norm(x) < NO_DIRECTION:
        x = c if norm(c) > 0.5 else reject((1.0, 0.0, 0.0), y)  # facing +Z
        if norm(x) < NO_DIRECTION:
            x = any_perpendicular(y)
    x = unit(x)
    orientation = mul(between((0.0, 1.0, 0.0), y), about_y(x, y))
    for k in range(4):
        out[i, k] = orientation[k]
    return x


@batch
def pelvis_rows(n: int, weights: Floats, points: Floats, out: Floats) -> None:
    """Orientations (N, 4) of the pelvis for n tracks of equal length of points (N, 6, 3); NaN where points are."""
    length = points.shape[0] // n
    for t in prange(n):
        x = (0.0, 0.0, 0.0)
        for f in range(length):
            x = pelvis_row(t * length + f, weights, x, points, out)

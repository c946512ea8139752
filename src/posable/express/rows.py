"""Batches of solves: tracks of targets, each continuing from its past; on one core, on many, or on a GPU."""

from __future__ import annotations

import math

from ..compute import Status, batch, kernel, prange
from ..compute.types import Floats, Ints, Quat, Records
from ..compute.verdict import verdict
from ..math.quaternion import mul, unit_quat
from .best import limits_into, search
from .kernels import (
    TWO_PI,
    clamped,
    cosine,
    forward,
    orientation_score,
    posture_error,
    product,
    quat_in,
    relative,
    wrapped,
)
from .model import BEST, CCD, ERIK, FOUND, HIGH, LOW, POSTURE, SHAPE, TWISTER
from .phases import solve_erik

UNREACHABLE, LIMITS, INVALID = int(Status.UNREACHABLE), int(Status.LIMITS), int(Status.INVALID)


@kernel
def evaluate(
    joints: Records, settings: Records, target: Quat, angles: Floats, frames: Floats, work: Floats
) -> tuple[float, float, float]:
    """Return (error, orientation score, posture error) of angles, from their forward kinematics."""
    off = orientation_score(settings, target, forward(joints, angles, frames, 0))
    shape = posture_error(joints, settings, work[POSTURE], work[SHAPE], angles)
    return off + settings[0]["posture"] * shape, off, shape


@kernel
def set_free_roll(joints: Records, target: Quat, work: Floats) -> None:
    """Set the best angle of a last joint that twists without ends (a free roll), whatever the method left."""
    k = joints.shape[0] - 1
    if joints[k]["kind"] == TWISTER and math.isinf(work[LOW, k]) and math.isinf(work[HIGH, k]):
        off = relative(product(joints, work[FOUND], 0, k + 1), target)
        if off[0] != 0.0 or off[2] != 0.0:
            a = work[FOUND, k] + joints[k]["ay"] * 2.0 * math.atan2(off[2], off[0])
            work[FOUND, k] = wrapped(-math.inf, math.inf, a)


@kernel
def is_valid(targets: Floats, postures: Floats, i: int, count: int) -> bool:
    """Return whether row i is a target at all."""
    length = 0.0
    for c in range(4):
        if not math.isfinite(targets[i, c]):
            return False
        length = max(length, abs(targets[i, c]))
    for k in range(count):
        if not math.isfinite(postures[i, k]):
            return False
    return length > 0.0


@kernel
def nearest_equivalent(low: float, high: float, a: float, before: float) -> float:
    """Return the equivalent angle nearest to the one before, inside the limits."""
    b = a + TWO_PI * round((before - a) / TWO_PI)
    return b if low <= b <= high else a


@kernel
def cause_of(joints: Records, settings: Records, off: float, angles: Floats, work: Floats) -> int:
    """Return why angles miss the target: LIMITS where the orientation is off and a joint is at a limit."""
    if off > settings[0]["aimed"]:
        for k in range(joints.shape[0]):
            if angles[k] <= work[LOW, k] or angles[k] >= work[HIGH, k]:
                return LIMITS
    return UNREACHABLE


@kernel
def solve_row(
    i: int,
    joints: Records,
    settings: Records,
    triples: Ints,
    mirrors: Ints,
    ends: Floats,
    max_step: float,
    postures: Floats,
    targets: Floats,
    before: Floats,
    box: Floats,
    angles: Floats,
    report: Records,
    frames: Floats,
    work: Floats,
) -> None:
    """Solve row i, after the angles `before` (NaN: none)."""
    count = joints.shape[0]
    limits_into(joints, box, i, work)
    past = not math.isnan(before[0])
    if not is_valid(targets, postures, i, count):
        for k in range(count):
            angles[i, k] = before[k] if past else clamped(work[LOW, k], work[HIGH, k], 0.0)
        report[i]["error"] = report[i]["orientation"] = report[i]["posture"] = math.inf
        report[i]["iterations"], report[i]["status"] = 0, INVALID
        return
    target = unit_quat(mul(mul(quat_in(ends, 0), unit_quat(quat_in(targets, i))), quat_in(ends, 1)))
    for k in range(count):
        work[POSTURE, k] = wrapped(-math.inf, math.inf, postures[i, k])
        work[SHAPE, k] = cosine(joints, k, work[POSTURE, k])
    tried, early = 0, settings[0]["stop_at_threshold"] != 0 and settings[0]["method"] == BEST
    while True:
        if settings[0]["method"] in (ERIK, CCD):
            tried = solve_erik(joints, settings, target, frames, work)
        else:
            tried += search(i, joints, settings, target, triples, mirrors, max_step, early, before, box, frames, work)
        set_free_roll(joints, target, work)
        # A small error may still be one of aim: then nothing is saved.
        if (
            not early
            or orientation_score(settings, target, forward(joints, work[FOUND], frames, 0)) <= settings[0]["aimed"]
        ):
            break
        early = False
    for k in range(count):
        a = work[FOUND, k]
        angles[i, k] = nearest_equivalent(work[LOW, k], work[HIGH, k], a, before[k]) if past else a
    error, off, shape = evaluate(joints, settings, target, angles[i], frames, work)
    report[i]["error"], report[i]["orientation"], report[i]["posture"] = error, off, shape
    report[i]["iterations"] = tried
    cause = cause_of(joints, settings, off, angles[i], work)
    report[i]["status"] = verdict(cause, 0.0, 0.0, off, settings[0]["aimed"], 0.0)


@batch(rows=64, scratch=("frames", "work"), whole=True, registers=128)
def solve_rows(
    n: int,
    length: int,
    joints: Records,
    settings: Records,
    triples: Ints,
    mirrors: Ints,
    ends: Floats,
    max_step: float,
    postures: Floats,
    targets: Floats,
    before: Floats,
    box: Floats,
    angles: Floats,
    report: Records,
    frames: Floats,
    work: Floats,
) -> None:
    """Solve n tracks of `length` rows: each row continues from the one before, the first from `before` (n, M)."""
    for i in prange(n):
        for row in range(i * length, (i + 1) * length):
            past = before[i] if row == i * length else angles[row - 1]
            solve_row(
                row,
                joints,
                settings,
                triples,
                mirrors,
                ends,
                max_step,
                postures,
                targets,
                past,
                box,
                angles,
                report,
                frames[i],
                work[i],
            )


@batch
def clip_rows(n: int, lower: Floats, upper: Floats, values: Floats, out: Floats) -> None:
    """Clip values (n, N) to limits; what is no number becomes 0 first."""
    for i in prange(n):
        for k in range(lower.shape[0]):
            a = values[i, k]
            out[i, k] = min(max(0.0 if math.isnan(a) else a, lower[k]), upper[k])

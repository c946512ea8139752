"""The stronger solver (specification express, section 8): closed forms, mirrored bends, and a search around the best.

The posture error does not see the sign of a bend, so every pattern of mirrored bends holds the posture; for each, three
joints meet the orientation in closed form, the cheapest for the posture first. The best few candidates are refined by
moving the other joints; then once more from what simplified ERIK finds, out of the trap where a bend of 90 degrees
hides the joints before it. Where a previous answer is at hand the same search runs first inside a box around it, and
another branch is taken only when that is not good enough and the other is clearly better.

Everything is one loop over stages and their starts with a single call that completes a candidate and one that refines
it: compiled code is inlined where it is called, and a GPU's assembler takes minutes over many copies.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Ints, Quat, Records
from .completion import refine, try_three
from .kernels import clamped, copy, forward, orientation_score, wrapped
from .model import FOUND, HIGH, LOW, NOTES, POSTURE, PROBE, SIMPLE, STARTS, TOP, TRACED, TRIAL, TWISTER
from .phases import solve_simple

PERFECT = 1e-7  # nothing to gain below
WORTH_IT = 1e-3  # an error above which another start may pay
FIRST_STEP, ROUGH_STEP, LAST_STEP = 0.3, 0.03, 0.003  # [rad]
NEAR_STEP = 0.06  # [rad], around a previous answer
FEW = 4  # triples that are completed where a free joint is moved
SAMPLES = 4  # angles in its range at which it is tried
NEAR, WIDE, AGAIN = range(3)  # the stages: around the answer before, every pattern, from simplified ERIK


@kernel
def mirrored(joints: Records, work: Floats, mirrors: Ints, mask: int, angles: Floats) -> bool:
    """The posture with the bends of a pattern mirrored, inside the limits; False where a mirrored one is not."""
    for k in range(joints.shape[0]):
        angles[k] = clamped(work[LOW, k], work[HIGH, k], work[POSTURE, k])
    for m in range(mirrors.shape[0]):
        if mask >> m & 1:
            k = mirrors[m]
            a = wrapped(work[LOW, k], work[HIGH, k], 2.0 * joints[k]["phi"] - work[POSTURE, k])
            if a < work[LOW, k] or a > work[HIGH, k] or abs(a - angles[k]) < 1e-9:
                return False
            angles[k] = a
    return True


@kernel
def free_joint(joints: Records, triples: Ints, number: int) -> int:
    """The joint of this number among those that cost nothing and do not close the first triple; -1 past the last."""
    for k in range(joints.shape[0]):
        if joints[k]["weight"] == 0.0 and k != triples[0, 0] and k != triples[0, 2]:
            if number == 0:
                return k
            number -= 1
    return -1


@kernel
def near_start(joints: Records, settings: Records, before: Floats, towards: bool, work: Floats) -> None:
    """The angles before into TRIAL; or each bend towards the nearer of the two angles with the posture's cosine."""
    for k in range(joints.shape[0]):
        low, high, a = work[LOW, k], work[HIGH, k], before[k]
        if towards and joints[k]["weight"] > 0.0:
            a = wrapped(low, high, work[POSTURE, k])
            b = wrapped(low, high, 2.0 * joints[k]["phi"] - work[POSTURE, k])
            if not settings[0]["signed"] and abs(b - before[k]) < abs(a - before[k]):
                a = b
        work[TRIAL, k] = min(high, max(low, a))


@kernel
def next_start(
    joints: Records,
    settings: Records,
    triples: Ints,
    mirrors: Ints,
    stage: int,
    number: int,
    before: Floats,
    work: Floats,
) -> int:
    """A start of a stage into TRIAL; how many triples to complete from it, 0 to skip it, -1 past the last.

    The wide stage has the patterns of mirrored bends, then the same with joints that cost nothing (twisters inside the
    chain) elsewhere than the posture has them.
    """
    every = int(triples.shape[0])
    if stage == NEAR:
        near_start(joints, settings, before, number == 1, work)
        return every if number < 2 else -1
    if stage == AGAIN:
        copy(work[FOUND], work[TRIAL], joints.shape[0])
        return every if number < 1 else -1
    patterns = 1 if settings[0]["signed"] else 1 << mirrors.shape[0]
    k = -1
    if number >= patterns:
        k = free_joint(joints, triples, (number - patterns) // (SAMPLES * patterns))
        if k < 0:
            return -1
    if not mirrored(joints, work, mirrors, number % patterns, work[TRIAL]):
        return 0
    if k < 0:
        return every
    low, high = max(work[LOW, k], -math.pi), min(work[HIGH, k], math.pi)
    sample = ((number - patterns) // patterns) % SAMPLES
    work[TRIAL, k] = low + (sample + 0.5) / SAMPLES * (high - low)
    return FEW


@kernel
def note(work: Floats, angles: Floats, count: int, cost: float, triple: int) -> None:
    """Keep a candidate among the best few."""
    worst = 0
    for s in range(1, STARTS):
        if work[NOTES, s] > work[NOTES, worst]:
            worst = s
    if cost < work[NOTES, worst]:
        work[NOTES, worst] = cost
        work[NOTES, STARTS + worst] = triple
        copy(angles, work[TOP + worst], count)


@kernel
def complete_all(joints: Records, settings: Records, target: Quat, triples: Ints, most: int, work: Floats) -> float:
    """Complete the first `most` triples from TRIAL and note what they cost; the least."""
    count, least, probe = joints.shape[0], math.inf, work[PROBE]
    for t in range(min(most, triples.shape[0])):
        copy(work[TRIAL], probe, count)
        limit = 0.0
        for s in range(STARTS):
            limit = max(limit, work[NOTES, s])
        cost = try_three(
            joints, settings, target, triples[t, 0], triples[t, 1], triples[t, 2], False, limit, probe, work
        )
        if cost < limit:
            note(work, probe, count, cost, t)
            least = min(least, cost)
            if least < PERFECT:
                break
    return least


@kernel
def settle(
    joints: Records,
    settings: Records,
    target: Quat,
    triples: Ints,
    step: float,
    enough: float,
    frames: Floats,
    work: Floats,
) -> float:
    """Refine the candidates that were noted roughly, and the best of those finely into FOUND; its error.

    At last, where three joints do not meet the target, orientation is traded against posture.
    """
    count, best, triple = joints.shape[0], math.inf, 0
    for candidate in range(STARTS + 2):
        row, t, cost, first, last = FOUND, triple, best, ROUGH_STEP, LAST_STEP
        if candidate < STARTS:
            s = 0
            for other in range(1, STARTS):
                if work[NOTES, other] < work[NOTES, s]:
                    s = other
            row, t, cost, first, last = TOP + s, int(work[NOTES, STARTS + s]), work[NOTES, s], step, ROUGH_STEP
            work[NOTES, s] = math.inf
        if math.isinf(cost) or best <= enough:
            continue
        fixed = candidate == STARTS + 1
        if fixed:
            if orientation_score(settings, target, forward(joints, work[FOUND], frames, 0)) <= 1e-4:
                continue
            t, first = 0, step
        if cost > enough:
            cost = refine(joints, settings, target, triples, t, fixed, cost, first, last, work[row], work)
        if cost < best:
            best, triple = cost, t
            if row != FOUND:
                copy(work[row], work[FOUND], count)
    return best


@kernel
def box_around(joints: Records, before: Floats, max_step: float, work: Floats) -> None:
    """Narrow the limits to what a frame may change; but a roll that is free is what the other joints make it."""
    count = joints.shape[0]
    for k in range(count):
        low, high = work[LOW, k], work[HIGH, k]
        if k == count - 1 and joints[k]["kind"] == TWISTER and math.isinf(low) and math.isinf(high):
            continue
        work[LOW, k] = min(high, max(low, before[k] - max_step))
        work[HIGH, k] = max(low, min(high, before[k] + max_step))


@kernel
def limits_into(joints: Records, box: Floats, i: int, work: Floats) -> None:
    """The limits of row i: the chain's, or those given for it."""
    for k in range(joints.shape[0]):
        if box.shape[0] > 0:
            work[LOW, k], work[HIGH, k] = box[i, 0, k], box[i, 1, k]
        else:
            work[LOW, k], work[HIGH, k] = joints[k]["low"], joints[k]["high"]


@kernel
def search_stage(
    joints: Records,
    settings: Records,
    target: Quat,
    triples: Ints,
    mirrors: Ints,
    stage: int,
    early: bool,
    before: Floats,
    frames: Floats,
    work: Floats,
) -> tuple[float, int]:
    """(error of the best angles of a stage, which are in KEPT; how many starts it tried)."""
    for s in range(STARTS):
        work[NOTES, s] = math.inf
    enough = settings[0]["threshold"] if early else PERFECT
    number, tried = 0, 0
    while True:
        most = next_start(joints, settings, triples, mirrors, stage, number, before, work)
        if most < 0:
            break
        number += 1
        if most > 0:
            tried += 1
            if complete_all(joints, settings, target, triples, most, work) <= enough:
                break
    step = NEAR_STEP if stage == NEAR else FIRST_STEP
    return settle(joints, settings, target, triples, step, enough, frames, work), tried


@kernel
def search(
    i: int,
    joints: Records,
    settings: Records,
    target: Quat,
    triples: Ints,
    mirrors: Ints,
    max_step: float,
    early: bool,
    before: Floats,
    box: Floats,
    frames: Floats,
    work: Floats,
) -> int:
    """Put the best angles for a target and a posture into FOUND, continuing from those before (NaN: none).

    Returns:
        How many starts were tried; `early` stops at the threshold.
    """
    count, best, bar, tried = joints.shape[0], math.inf, math.inf, 0
    simple = settings[0]["method"] == SIMPLE
    for stage in range(NEAR, AGAIN + 1):
        if (stage == NEAR and math.isnan(before[0])) or (simple and stage < AGAIN):
            continue
        if stage == NEAR:
            box_around(joints, before, max_step, work)
        if stage == AGAIN:
            solve_simple(joints, settings, target, frames, work)
            if simple:
                return 1
        error, starts = search_stage(joints, settings, target, triples, mirrors, stage, early, before, frames, work)
        tried += starts
        if stage == NEAR:
            limits_into(joints, box, i, work)
        if error < bar:
            best = error
            # To leave the branch of the answers before, another must be clearly better.
            bar = best - settings[0]["gain"] if stage == NEAR else best
            copy(work[FOUND], work[TRACED], count)
        good = settings[0]["threshold"] if stage == NEAR or early else WORTH_IT
        if best <= good:
            break
    copy(work[TRACED], work[FOUND], count)
    return tried

"""The search for how much of a behaviour a body takes, as a machine of small steps: it proposes an adjustment of the
weight, is told whether the body stands there and what its arms lack, and proposes the next.

A machine, so that the body's kernel has one place where a posture is tried (it is long, and each place is compiled).

Adjustments go from -1 (nothing of the behaviour) over 0 (what the distance asks for) to 1 (all of it). Where the body
does not stand, the largest one below at which it does; where an arm is too short, the smallest one above at which it is
not, or else the one that lacks least: what is just in reach and what is just out of it have the same body. Steps first,
then bisection to the edge, or golden section to the bottom of the valley: the body moves evenly as targets do.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel

STEPS, BISECTIONS = 8, 20
STRETCHED = 1e-9  # [m]: an arm whose target is this much beyond its length is too short
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))

FIRST, LOWER, LOWER_EDGE, RAISE, VALLEY, RAISE_EDGE, SETTLED = range(7)

Adjusting: TypeAlias = tuple[int, float, int, float, float, float, float]
# stage; adjustment proposed; steps done in this stage; LOWER: where it began; the best one so far and what it lacks
# (edges: the last one that will do); the last one that will not do, or the valley's low end; the valley's high end.


@kernel
def first_adjustment(x: float) -> Adjusting:
    """The machine, proposing x."""
    return (FIRST, x, 0, x, math.inf, x, x)


@kernel
def next_adjustment(state: Adjusting, stands: bool, lack: float, extend: bool) -> Adjusting:
    """The machine after the body at its proposal was tried; SETTLED when that, or the next one, is the answer.

    Args:
        state: the machine.
        stands: whether the feet are held and nothing touches.
        lack: what the arms are too short by [m].
        extend: whether more of the behaviour may be taken than the distance asks for.
    """
    stage, x, count, best, least, low, high = state
    lack = lack if stands else math.inf
    if stage == FIRST:
        if not stands:
            return (LOWER, x - (1.0 + x) / STEPS, 1, x, 0.0, x, 0.0)
        if extend and x == 0.0 and lack > STRETCHED:
            return (RAISE, 1.0 / STEPS, 1, 0.0, lack, 0.0, 0.0)
        return (SETTLED, x, 0, x, lack, x, x)
    if stage == LOWER:
        if stands:
            return _halve(LOWER_EDGE, x, low, 0)
        if count + 1 == STEPS:
            return _halve(LOWER_EDGE, -1.0, x, 0)
        return (LOWER, best - (1.0 + best) * (count + 1) / STEPS, count + 1, best, 0.0, x, 0.0)
    if stage == LOWER_EDGE:
        return _halve(stage, x if stands else best, low if stands else x, count + 1)
    if lack <= STRETCHED:
        return _halve(RAISE_EDGE, x, low, count + 1 if stage == RAISE_EDGE else 0)
    if stage == RAISE_EDGE:
        return _halve(stage, best, x, count + 1)
    if stage == VALLEY:
        return _narrow(state, lack)
    if lack < least:
        best, least = x, lack
    if lack < math.inf and count < STEPS:
        return (RAISE, (count + 1) / STEPS, count + 1, best, least, x, 0.0)
    low, high = max(0.0, best - 1.0 / STEPS), min(1.0, best + 1.0 / STEPS)
    inner = low + GOLDEN * (high - low)
    return (VALLEY, inner, 0, inner, math.inf, low, high)


@kernel
def _halve(stage: int, good: float, bad: float, count: int) -> Adjusting:
    """Bisection between an adjustment that will do and one that will not."""
    if count == BISECTIONS:
        return (SETTLED, good, count, good, 0.0, bad, good)
    return (stage, 0.5 * (good + bad), count, good, 0.0, bad, good)


@kernel
def _narrow(state: Adjusting, lack: float) -> Adjusting:
    """Golden section: of two points inside, the lower one stays, and its mirror image is tried next."""
    stage, x, count, best, least, low, high = state
    if count == 0:
        best, least = x, lack
    else:
        left, at_left, right, at_right = best, least, x, lack
        if x < best:
            left, at_left, right, at_right = x, lack, best, least
        if at_left <= at_right:
            high, best, least = right, left, at_left
        else:
            low, best, least = left, right, at_right
    if count + 1 >= BISECTIONS:
        settled = best if least < math.inf else low  # the low end stands
        return (SETTLED, settled, count, settled, least, low, high)
    return (stage, low + high - best, count + 1, best, least, low, high)

"""The line search for the weight of a behaviour, as a state machine: it proposes an adjustment of the weight, takes
whether the body stands there and what its arms lack, and proposes the next.

A state machine, so that the body's kernel calls the trial of a posture once (it is long, and each call is compiled).

Adjustments go from -1 (nothing of the behaviour) over 0 (what the distance requests) to 1 (all of it). Where the body
does not stand, the largest one below at which it does; where an arm is too short, the smallest one above at which it is
not, or else the one that lacks least: targets just in reach and just out of it have the same body. Steps first, then
bisection to the edge, or golden-section search to the bottom of the valley: the body moves evenly as targets do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..compute import Status, kernel
from ..compute.types import Bools
from ..skeleton import Frames

if TYPE_CHECKING:
    from ..body.collision.clearance import Clearance
    from ..collision import Scene
    from .packed import Rows

STEPS, BISECTIONS = 8, 20
STRETCHED = 1e-9  # [m]: an arm whose target is this much beyond its length is too short
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))

FIRST, LOWER, LOWER_EDGE, RAISE, VALLEY, RAISE_EDGE, SETTLED = range(7)

Adjusting: TypeAlias = tuple[int, float, int, float, float, float, float]
# stage; adjustment proposed; steps done in this stage; LOWER: where it began; the best one so far and what it lacks
# (edges: the last feasible one); the last infeasible one, or the valley's low end; the valley's high end.


@kernel
def first_adjustment(x: float) -> Adjusting:
    """Return the machine that proposes x."""
    return (FIRST, x, 0, x, math.inf, x, x)


@kernel
def next_adjustment(state: Adjusting, stands: bool, lack: float, extend: bool) -> Adjusting:
    """Return the machine after the body at its proposal was tried; SETTLED when that, or the next one, is the result.

    Args:
        state: the machine.
        stands: whether the feet are fixed and nothing touches.
        lack: how much the arms are too short [m].
        extend: whether more of the behaviour may be taken than the distance requests.
    """
    stage, x, count, best, smallest, low, high = state
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
    if lack < smallest:
        best, smallest = x, lack
    if lack < math.inf and count < STEPS:
        return (RAISE, (count + 1) / STEPS, count + 1, best, smallest, x, 0.0)
    low, high = max(0.0, best - 1.0 / STEPS), min(1.0, best + 1.0 / STEPS)
    inner = low + GOLDEN * (high - low)
    return (VALLEY, inner, 0, inner, math.inf, low, high)


@kernel
def _halve(stage: int, good: float, bad: float, count: int) -> Adjusting:
    """Bisect between an adjustment that is feasible and one that is not."""
    if count == BISECTIONS:
        return (SETTLED, good, count, good, 0.0, bad, good)
    return (stage, 0.5 * (good + bad), count, good, 0.0, bad, good)


@kernel
def _narrow(state: Adjusting, lack: float) -> Adjusting:
    """Do a step of golden-section search: of two points inside, the lower one stays, and its mirror image is next."""
    stage, x, count, best, smallest, low, high = state
    if count == 0:
        best, smallest = x, lack
    else:
        left, at_left, right, at_right = best, smallest, x, lack
        if x < best:
            left, at_left, right, at_right = x, lack, best, smallest
        if at_left <= at_right:
            high, best, smallest = right, left, at_left
        else:
            low, best, smallest = left, right, at_right
    if count + 1 >= BISECTIONS:
        settled = best if smallest < math.inf else low  # the low end stands
        return (SETTLED, settled, count, settled, smallest, low, high)
    return (stage, low + high - best, count + 1, best, smallest, low, high)


def lower_out_of_meshes(
    rows: Rows, bend: Callable[[int, float], Rows], clear: Clearance, scene: Scene, margin: float
) -> None:
    """Lower the weight of rows whose bent body touches a mesh that it did not touch at the start, to the edge.

    The kernel's own search, with verdicts from Python, since only Python can test meshes, a pose at a time.

    Args:
        rows: bent already; changed in place.
        bend: returns one row of them at another adjustment of its weight.
        clear: the parts of the body that count.
        scene: its meshes.
        margin: to stay away from them [m].
    """

    def touches(some: Rows, which: int, where: Bools) -> Bools:
        """Return whether (n,) the body of the start (0) or of the solution (1) touches a mesh."""
        frames = Frames(clear.body.skeleton, some.positions[which], some.orientations[which])
        return clear.touches_meshes(frames, scene, margin, where)

    result = rows.result
    hit = touches(rows, 1, result["status"] == Status.REACHED)
    hit &= ~touches(rows, 0, hit)
    for i in np.flatnonzero(hit).tolist():
        state = next_adjustment(first_adjustment(float(result["adjustment"][i])), False, 0.0, False)
        while state[0] != SETTLED:
            tried = bend(i, state[1])
            result["tried"][i] += 1
            state = next_adjustment(state, not touches(tried, 1, np.ones(1, np.bool_))[0], 0.0, False)
        found = bend(i, state[1])
        for name in ("translation", "rotations", "positions", "orientations"):
            getattr(rows, name)[1, i] = getattr(found, name)[1, 0]
        for name in ("adjustment", "weight"):
            result[name][i] = found.result[name][0]
        result["reason"][i] = Status.COLLISION

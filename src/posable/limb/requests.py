"""Targets as they were requested and as a limb solves them: softened, with searches inside a range, judged afterwards.

All of it is done row by row where the targets lie, on the CPU or on a GPU.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import Floats, Records
from ..math.vector import norm, sub
from .kernels import forward
from .range.kernels import nearest_inside
from .range.locate import STRAIGHT, Packed, bend_radius, direction_of, spans
from .solve import INVALID, POSITION_TOLERANCE, REACHED

WHOLE = math.pi - 1e-9  # [rad] half a width of swivels that is all of them
NEAREST = 1e-3  # of the limb's length: nearer to its base the end has no direction


@kernel
def row_of(i: int, count: int) -> int:
    """Return which of `count` rows belongs to target i: its own, or the one that all targets share."""
    return int(np.int64(i)) if count > 1 else 0  # a parallel loop counts without a sign


@batch
def soften_rows(n: int, positions: Floats, length: float, softness: float, out: Floats) -> None:
    """Draw targets (N, 3) in near full stretch: distances beyond length - softness approach length and never get
    there.
    """
    begin = length - min(softness, 0.5 * length)
    for i in prange(n):
        x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
        distance, scale = norm((x, y, z)), 1.0
        if distance > begin:
            drawn = begin - (length - begin) * math.expm1(-(distance - begin) / (length - begin))
            scale = drawn / distance
        out[i, 0], out[i, 1], out[i, 2] = x * scale, y * scale, z * scale


@batch
def search_inside_rows(
    n: int, learned: Packed, positions: Floats, swivels: Floats, limb: Records, model: Records
) -> None:
    """Fill models (N,) of limbs whose search keeps to the swivels of a range, around the swivel that it begins from."""
    for i in prange(n):
        model[i] = limb[row_of(i, limb.shape[0])]
        p, start = (positions[i, 0], positions[i, 1], positions[i, 2]), swivels[row_of(i, swivels.shape[0])]
        head, points, faces, _, _ = learned
        reach = norm(p) / (head[0]["upper"] + head[0]["lower"])
        if not (vec_in_extent(p) and math.isfinite(start) and reach > NEAREST):
            continue
        _, face, w = nearest_inside(learned, direction_of(head, p, math.inf))
        _, _, mid, half = spans(points, faces, face, w)
        if half < WHOLE and bend_radius(head, min(reach, 1.0)) >= STRAIGHT:
            away = (start - mid + math.pi) % (2.0 * math.pi) - math.pi
            low, high = start - (away + half), start + (half - away)
            if model[i]["low"] <= start <= model[i]["high"]:  # the search's own bounds hold there
                low, high = max(low, model[i]["low"]), min(high, model[i]["high"])
            model[i]["low"], model[i]["high"] = low, high


@batch
def measure_rows(
    n: int, limb: Records, values: Floats, goals: Floats, positions: Floats, cause: int, report: Records
) -> None:
    """Measure errors from the goals (N, 3) that were requested, where the range or the softness has moved them.

    What is not within the tolerance of its goal has the status `cause`.
    """
    for i in prange(n):
        goal = (goals[i, 0], goals[i, 1], goals[i, 2])
        moved = norm(sub(goal, (positions[i, 0], positions[i, 1], positions[i, 2]))) > 0.0
        if not moved or report[i]["status"] == INVALID:
            continue
        v = (values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4], values[i, 5], values[i, 6])
        error = norm(sub(forward(limb[row_of(i, limb.shape[0])], v)[1], goal))
        report[i]["position_error"] = error
        if error > POSITION_TOLERANCE and report[i]["status"] == REACHED:
            report[i]["status"] = cause

"""Kernels for contacts of a bent body: the pairs of its volumes that touch, and its volumes in the scene.

Possible contacts are numbered as in `collision.bodies`: the pairs first, then each volume of `Body.outside` against
each obstacle. What touches at the start may go on touching, no deeper than it did: somebody who sits touches the chair,
and may lean, not sink into it.
"""

from __future__ import annotations

import math
from typing import Any

from ..collision.bodies import balls_near, place_balls, placed_at
from ..collision.kernels import apart, placed_ball_far, shape_of, shapes_gap
from ..compute import kernel
from ..skeleton.forward import vec_at
from .packed import Body, Rows

SINK = 1e-5  # [m] by which a contact of the start may deepen: more than rounding, less than anybody sees


@kernel
def legs_of(contact: int, body: Body) -> int:
    """Return the bits of `Body.legs` of the two parts of a contact."""
    own = body.pairs.shape[0]
    if contact < own:
        return int(body.legs[body.pairs[contact, 0]] | body.legs[body.pairs[contact, 1]])
    return int(body.legs[body.outside[(contact - own) // body.around.shape[0]]])


@kernel
def forget_contacts(i: int, rows: Rows) -> None:
    """Forget what is known of the contacts of the starting pose of row i."""
    for k in range(rows.gaps.shape[1]):
        rows.gaps[i, k] = math.nan


@kernel
def first_contact(i: int, options: Any, body: Body, rows: Rows, legs: int) -> int:
    """Return the first contact of the solution that is nearer than it may be, or -1.

    Args:
        i: which row.
        options: margin and softness.
        body: volumes, pairs and obstacles.
        rows: the joints of the starting pose and of the solution, and what is known of contacts of the start.
        legs: bits of `Body.legs`: only contacts of these; 0 for all.
    """
    place_balls(i, body.volumes, rows.positions[1], rows.orientations[1], rows.balls)
    own, count = body.pairs.shape[0], body.around.shape[0]
    for k in range(own + body.outside.shape[0] * count):
        if legs != 0 and legs_of(k, body) & legs == 0:
            continue
        near = options["margin"] - options["softness"]
        if k < own:
            far = not balls_near(rows.balls, i, body.pairs[k, 0], body.pairs[k, 1], near)
        else:
            obstacle, one = body.around[(k - own) % count], body.outside[(k - own) // count]
            near = options["margin"] - obstacle["softness"]
            far = placed_ball_far(vec_at(rows.balls, i, one), rows.balls[i, one, 3] + near, obstacle)
        if not far and contact_gap(i, k, body, rows, 1, near) < near:
            if math.isnan(rows.gaps[i, k]):
                gap = contact_gap(i, k, body, rows, 0, math.nan)
                rows.gaps[i, k] = gap - SINK if gap < near else math.inf
            # What did not touch at the start may not touch now.
            if rows.gaps[i, k] == math.inf or contact_gap(i, k, body, rows, 1, rows.gaps[i, k]) < rows.gaps[i, k]:
                return k
    return -1


@kernel
def contact_gap(i: int, k: int, body: Body, rows: Rows, pose: int, stop: float) -> float:
    """Return how near [m] the two of contact k are, in the starting pose (0) or in the solution (1).

    With `stop` a number, it is as exact as is needed to know on which side of `stop` it lies; NaN: exact.
    """
    positions, orientations = rows.positions[pose], rows.orientations[pose]
    own, count = body.pairs.shape[0], body.around.shape[0]
    one = body.pairs[k, 0] if k < own else body.outside[(k - own) // count]
    other = (
        placed_at(i, body.volumes[body.pairs[k, 1]], positions, orientations)
        if k < own
        else shape_of(body.around[(k - own) % count])
    )
    shape = placed_at(i, body.volumes[one], positions, orientations)
    if apart(shape, other, stop):
        return math.inf
    gap, _ = shapes_gap(shape, other, stop)
    return gap

"""Kernels for contacts of a bent body: the pairs of its volumes that touch, and its volumes in the scene.

Possible contacts are numbered as in `collision.bodies`: the pairs first, then each volume of `Body.outside` against
each obstacle. What touches at the start may go on touching, no deeper than it did: somebody who sits touches the chair,
and may lean, not sink into it.
"""

from __future__ import annotations

import math
from typing import Any

from ..collision.bodies import balls_near, place_balls, placed_at
from ..collision.kernels import placed_ball_far, shape_of, shapes_gap
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
def note_contacts(i: int, options: Any, body: Body, rows: Rows) -> None:
    """Fill row i of `Rows.gaps`: how near [m] each contact of the starting pose may come; infinite where none is."""
    for k in range(rows.gaps.shape[1]):
        rows.gaps[i, k] = math.inf
    first_contact(i, options, body, rows, 0, True)


@kernel
def first_contact(i: int, options: Any, body: Body, rows: Rows, legs: int, noting: bool) -> int:
    """Return the first contact of the solution that is nearer than it may be, or -1.

    Args:
        i: which row.
        options: margin and softness.
        body: volumes, pairs and obstacles.
        rows: the joints of the solution, and what contacts of the start allow.
        legs: bits of `Body.legs`: only contacts of these; 0 for all.
        noting: write down the contacts instead, and return -1.
    """
    positions, orientations, balls = rows.positions[1], rows.orientations[1], rows.balls
    place_balls(i, body.volumes, positions, orientations, balls)
    own, count = body.pairs.shape[0], body.around.shape[0]
    for k in range(own + body.outside.shape[0] * count):
        if legs != 0 and legs_of(k, body) & legs == 0:
            continue
        one, near = 0, options["margin"] - options["softness"]
        if k < own:
            one = body.pairs[k, 0]
            near = min(near, rows.gaps[i, k])
            far = not balls_near(balls, i, one, body.pairs[k, 1], near)
        else:
            obstacle = body.around[(k - own) % count]
            one, near = body.outside[(k - own) // count], options["margin"] - obstacle["softness"]
            near = min(near, rows.gaps[i, k])
            far = placed_ball_far(vec_at(balls, i, one), balls[i, one, 3] + near, obstacle)
        if far:
            continue
        other = (
            shape_of(body.around[(k - own) % count])
            if k >= own
            else placed_at(i, body.volumes[body.pairs[k, 1]], positions, orientations)
        )
        gap, _ = shapes_gap(placed_at(i, body.volumes[one], positions, orientations), other, math.nan)
        if gap < near:
            if not noting:
                return k
            rows.gaps[i, k] = gap - SINK
    return -1

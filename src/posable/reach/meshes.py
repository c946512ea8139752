"""Bending bodies out of meshes, which only Python can ask about: a pose at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..body.collision.clearance import Clearance
from ..compute import Status
from ..compute.types import Bools
from ..skeleton import Frames
from .model import Rows
from .weight_search import SETTLED, first_adjustment, next_adjustment

if TYPE_CHECKING:
    from ..collision import Scene


def keep_out_of_meshes(
    rows: Rows, bent: Callable[[int, float], Rows], clear: Clearance, scene: Scene, margin: float
) -> None:
    """Lower the weight of rows whose bent body touches a mesh that it did not touch at the start, to the edge.

    The kernel's own search for the weight (`adjusting`), with Python giving the verdicts.

    Args:
        rows: bent already; changed in place.
        bent: one row of them at another adjustment of its weight.
        clear: the parts of the body that count.
        scene: whose meshes.
        margin: to keep away from them [m].
    """

    def touching(some: Rows, which: int, where: Bools) -> Bools:
        """(n,) whether the body of the start (0) or of the answer (1) touches a mesh."""
        frames = Frames(clear.body.skeleton, some.positions[which], some.orientations[which])
        return clear.touches_meshes(frames, scene, margin, where)

    hit = touching(rows, 1, rows.told["status"] == Status.REACHED)
    hit &= ~touching(rows, 0, hit)
    for i in np.flatnonzero(hit).tolist():
        state = next_adjustment(first_adjustment(float(rows.told["adjustment"][i])), False, 0.0, False)
        while state[0] != SETTLED:
            tried = bent(i, state[1])
            rows.told["tried"][i] += 1
            state = next_adjustment(state, not touching(tried, 1, np.ones(1, np.bool_))[0], 0.0, False)
        _take(rows, i, bent(i, state[1]))


def _take(rows: Rows, i: int, other: Rows) -> None:
    """Row i becomes what another call found."""
    for name in ("translation", "rotations", "positions", "orientations"):
        getattr(rows, name)[1, i] = getattr(other, name)[1, 0]
    for name in ("adjustment", "weight"):
        rows.told[name][i] = other.told[name][0]
    rows.told["reason"][i] = Status.COLLISION

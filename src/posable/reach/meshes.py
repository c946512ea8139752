"""Bending bodies out of meshes, which only Python can ask about: a pose at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import Status
from ..skeleton import Frames, Pose
from .model import Rows

if TYPE_CHECKING:
    from .reacher import Reacher
    from .stream import Shares

STEPS, BISECTIONS = 8, 10


def keep_out_of_meshes(
    reacher: Reacher,
    rows: Rows,
    shape: tuple[int, ...],
    start: Pose,
    targets: tuple[Any, Any],
    weight: float | Shares | None,
    block: slice,
) -> None:
    """Lower the weight of rows whose bent body touches a mesh that it did not touch at the start, to the edge."""
    touching = _touching(reacher, rows, 1) & ~_touching(reacher, rows, 0)
    for i in np.flatnonzero(touching & (rows.told["status"] == Status.REACHED)).tolist():
        at = slice(block.start + i, block.start + i + 1)

        def bent(x: float, at: slice = at) -> Rows:
            return reacher._bend(shape, start, targets, weight, at, most=x)

        used = float(rows.told["adjustment"][i])
        good, bad, kept = -1.0, used, None
        for k in range(1, STEPS):
            x = used + (-1.0 - used) * k / STEPS
            tried = bent(x)
            if not _touching(reacher, tried, 1)[0]:
                good, kept = x, tried
                break
            bad = x
        for _ in range(BISECTIONS):
            x = 0.5 * (good + bad)
            tried = bent(x)
            if _touching(reacher, tried, 1)[0]:
                bad = x
            else:
                good, kept = x, tried
        _take(rows, i, bent(good) if kept is None else kept)


def _touching(reacher: Reacher, rows: Rows, which: int) -> Any:
    """(n,) whether the body of the start (0) or of the answer (1) touches a mesh."""
    clear, scene = reacher._clearance, reacher.scene
    assert clear is not None and scene is not None
    frames = Frames(reacher.body.skeleton, rows.positions[which], rows.orientations[which])
    return clear.touches_meshes(frames, scene, reacher.margin)


def _take(rows: Rows, i: int, other: Rows) -> None:
    """Row i becomes what another call found."""
    for name in ("translation", "rotations", "positions", "orientations"):
        getattr(rows, name)[1, i] = getattr(other, name)[1, 0]
    for name in ("adjustment", "weight"):
        rows.told[name][i] = other.told[name][0]
    rows.told["reason"][i] = Status.COLLISION
    rows.told["tried"][i] += STEPS + BISECTIONS

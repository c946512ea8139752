"""What a solver of chains is given and gives back, as rows: shapes checked, leading axes broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compute import PosableError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Ints, Records
from .answers import shaped, statuses


def unit_rows(vectors: Floats) -> Floats:
    """Vectors (..., 3) of length 1; zero stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0.0, length, 1.0))


def rows_of(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Values broadcast to the batch's shape, as contiguous rows."""
    last = values.shape[-1]
    if values.shape[:-1] != shape:
        values = np.broadcast_to(values, (*shape, last)).copy()  # kernels are compiled for arrays one may write to
    values = np.ascontiguousarray(values).reshape(-1, last)
    return values if values.flags.writeable else values.copy()


def reported(report: Records, shape: tuple[int, ...]) -> dict[str, Any]:
    """The fields of an answer that are told by the kernels."""
    status: Ints = report["status"]
    return {
        "error": shaped(report["error"], shape),
        "orientation_error": shaped(report["orientation"], shape),
        "posture_error": shaped(report["posture"], shape),
        "iterations": shaped(report["iterations"], shape),
        "status": statuses(status, shape),
    }


def one_of(orientation: ArrayLike | None, direction: ArrayLike | None, look_at: ArrayLike | None) -> tuple[str, Floats]:
    """(which, the array) of the one kind of target that is given."""
    given = {"orientation": orientation, "direction": direction, "look_at": look_at}
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) != 1:
        raise PosableError(f"expected one of orientation, direction or look_at; got {', '.join(named) or 'none'}")
    kind, value = next(iter(named.items()))
    return kind, floats(value, kind, 4 if kind == "orientation" else 3)

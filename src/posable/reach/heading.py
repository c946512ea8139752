"""Which way a body faces: behaviours are seen from there, wherever it stands."""

from __future__ import annotations

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Quat
from ..math.quaternion import unit_quat


def heading(hips: Floats) -> Floats:
    """(..., 4): `facing` of the hips' canonical orientations (..., 4)."""
    rows = np.ascontiguousarray(hips, dtype=np.float64).reshape(-1, 4)
    out = np.empty(rows.shape)
    facing_rows(len(rows), rows, out)
    return out.reshape(hips.shape)


@kernel
def facing(hips: Quat) -> Quat:
    """The turn about the vertical that is in the hips' canonical orientation; none where they stand on their head."""
    return unit_quat((hips[0], 0.0, hips[2], 0.0))


@batch
def facing_rows(n: int, hips: Floats, out: Floats) -> None:
    """`facing` over a batch."""
    for i in prange(n):
        q = facing((hips[i, 0], hips[i, 1], hips[i, 2], hips[i, 3]))
        for k in range(4):
            out[i, k] = q[k]

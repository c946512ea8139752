"""Polygons of meshes as triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compute.types import Ints


def fans(sizes: Ints, corners: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Return the triangles (T, 3) of polygons as fans, and the polygon (T,) that each is of.

    Args:
        sizes: (P,) corners of each polygon.
        corners: (C,) their vertices, one polygon after the other; those behind the last polygon count for none.
    """
    starts = np.cumsum(sizes) - sizes
    counts = np.maximum(sizes - 2, 0)  # triangles of each
    owners = np.repeat(np.arange(len(sizes)), counts)
    step = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = starts[owners]
    picked = np.stack([first, first + step + 1, first + step + 2], axis=-1).reshape(-1, 3)
    return corners[picked].astype(np.int32).reshape(-1, 3), owners

"""Laying the inside and the outside of a range out on one disc, rim on rim, so that one can be folded over the other.

Both are discs of triangles with the same boundary. Its corners go to a regular polygon, every other point to the mean
of its neighbours (Tutte 1963: no triangle turns over as long as the rim is convex). A direction outside then has a
place on the disc, and the direction inside at the same place varies continuously with it.
"""

from __future__ import annotations

import math

import numpy as np

from ...compute.types import Bools, Floats, Ints
from ..sphere import SphereMesh


def lay_out(mesh: SphereMesh, valid: Bools, loop: Ints) -> Floats:
    """(V, 2): the place of each point on the unit disc; inside and outside cover it once each."""
    places = np.zeros((len(mesh.points), 2))
    angle = 2.0 * math.pi * np.arange(len(loop)) / len(loop)
    places[loop] = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for side in (mesh.triangles[valid], mesh.triangles[~valid]):
        _relax(side, loop, places)
    return places


def _relax(triangles: Ints, loop: Ints, places: Floats) -> None:
    """Put the points of some triangles that are not on the rim to the mean of their neighbours."""
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    inner = np.setdiff1d(triangles, loop)
    if not len(inner):
        return
    count = len(places)
    pairs = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    laplacian = (diags_array(np.asarray(graph.sum(axis=1)).ravel()) - graph).tocsr()
    rest = places.copy()
    rest[inner] = 0.0
    solved = spsolve(laplacian[inner][:, inner].tocsc(), -(laplacian[inner] @ rest))
    places[inner] = solved.reshape(-1, 2)

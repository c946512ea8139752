"""Learning a table of swivels from examples: one smooth field over directions and distances.

A swivel is a unit vector. At V directions and K distances the table has one each; between them a position's swivel is
the weighted sum of those around it. Their values are the field that has the smallest sum of distances to the examples
(so half of them lie to either side: a median, which a few bad frames do not move) plus `smooth` times the squared
differences between neighbours. Where there are no examples the field continues what is around as evenly as it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compute.types import Floats, Ints
from ..range.fit import Examples, Progress
from ..range.locate import locate_rows
from ..range.model import mesh_rows
from ..sphere import SphereMesh, sphere_mesh

ROUNDS = 8  # of reweighting, by which least squares become a median
NEAREST = 0.05  # an example this near to the field counts no more for being nearer


def learn_swivels(
    examples: Examples, directions: int, layers: Floats, smooth: float, progress: Progress | None = None
) -> Floats:
    """(V, K) swivels [rad] at V directions and the distances `layers` (K,) over the limb's length."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    mesh = sphere_mesh(directions)
    columns, weights = _places(examples, mesh, layers)
    count, cells = len(columns), directions * len(layers)
    rows = np.repeat(np.arange(count), columns.shape[1])
    spread = coo_array((weights.ravel(), (rows, columns.ravel())), shape=(count, cells)).tocsr()
    turn = examples.swivel[examples.bent]
    wanted = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    even = smooth * _unevenness(mesh, len(layers))
    say = np.ones(count)
    field = np.zeros((cells, 2))
    for k in range(ROUNDS):
        heard = spread.multiply(say[:, None]).tocsr()
        field = spsolve((heard.T @ spread + even).tocsc(), heard.T @ wanted)
        say = 1.0 / np.maximum(np.linalg.norm(spread @ field - wanted, axis=-1), NEAREST)
        if progress is not None:
            progress((k + 1) / ROUNDS)
    return np.arctan2(field[:, 1], field[:, 0]).reshape(directions, len(layers))


def _places(examples: Examples, mesh: SphereMesh, layers: Floats) -> tuple[Ints, Floats]:
    """(N, 6) cells around each bent example, and their weights, which sum up to 1."""
    n, reach = examples.direction[examples.bent], examples.distance[examples.bent]
    face = np.empty(len(n), np.int64)
    locate_rows(len(n), *mesh_rows(mesh), np.ascontiguousarray(n), face)
    corners = mesh.triangles[face]
    a, b, c = (mesh.points[corners[:, k]] for k in range(3))
    share = np.stack([np.einsum("ij,ij->i", n, np.cross(*pair)) for pair in ((b, c), (c, a), (a, b))], axis=-1)
    share /= share.sum(axis=-1, keepdims=True)
    last = len(layers) - 1
    below = np.clip(np.searchsorted(layers, reach, side="right") - 1, 0, max(last - 1, 0))
    above = np.minimum(below + 1, last)
    gap = np.where(above > below, layers[above] - layers[below], 1.0)
    t = np.clip((reach - layers[below]) / gap, 0.0, 1.0)[:, None]
    cells = np.concatenate([corners * len(layers) + below[:, None], corners * len(layers) + above[:, None]], axis=-1)
    return cells, np.concatenate([share * (1.0 - t), share * t], axis=-1)


def _unevenness(mesh: SphereMesh, layers: int) -> Any:
    """The matrix whose quadratic form is the sum of squared differences between neighbouring cells."""
    from scipy.sparse import coo_array, diags_array

    sides = np.concatenate([mesh.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    sides = sides[sides[:, 0] < sides[:, 1]]
    around = (sides[:, None, :] * layers + np.arange(layers)[None, :, None]).reshape(-1, 2)
    first = (np.arange(len(mesh.points))[:, None] * layers + np.arange(layers - 1)).ravel()
    pairs = np.concatenate([around, np.stack([first, first + 1], axis=-1)])
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    count = len(mesh.points) * layers
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    return diags_array(np.asarray(graph.sum(axis=1)).ravel()) - graph

"""Preferred swivels in kernels, by the sensorimotor model or from a table, and how a table is learned from examples.

The sensorimotor model (Soechting and Flanders 1989, which Kallmann 2008 cites for the initial swivel) gives the
upper arm's elevation and yaw as linear functions of the target's distance, azimuth and elevation seen from the
shoulder. `preferred.Sensorimotor` says what of it was checked, and what was decided here.

A table is one smooth field over directions and distances. A swivel is a unit vector; at V directions and K distances
the table has one each, and between them a position's swivel is the weighted sum of those around it. They are the field
with the smallest sum of distances to the examples (so half of them lie to either side: a median, which a few bad frames
do not move) plus `smooth` times the squared differences between neighbours. Where there are no examples the field
continues what is around as evenly as it can.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Ints, Records, Vec3
from ...math.angles import wrap_angle
from ...math.vector import dot, norm
from ..kernels import reach_of
from ..range.fit import Examples, Progress
from ..range.locate import direction_of, locate, locate_rows
from ..range.model import mesh_rows
from ..range.sphere import SphereMesh, sphere_mesh

TYPICAL_REACH = 70.0  # [cm] from shoulder to the pen's tip of the people measured: 30 for the upper arm, 40 beyond it
DEGREE = math.pi / 180.0
IN_FRONT = 0.3  # forward part of the target's direction from which on the model counts fully; from 0 on it fades in
OWN_WEIGHT = 0.1  # of the limb's own preferred swivel; the model's weight is the sine of its angle
ROUNDS = 8  # of iterative reweighting, by which least squares become a median
NEAREST = 0.05  # an example this near to the field counts no more for being nearer


@kernel
def swivel_at(limb: Any, angle: float) -> float:
    """Return the swivel in [-pi, pi) [rad] of an angle measured from the limb's reference."""
    return wrap_angle((angle - limb["offset"]) * limb["sign"])


@kernel
def upper_arm(limb: Any, target: Vec3) -> Vec3:
    """Return the direction of the upper arm by the sensorimotor model, in the limb's frame; the target [m] is not 0."""
    # The limb's x points forward on a right arm and back on a left one; its pole is in front of both.
    front = math.copysign(1.0, limb["px"])
    x, y, z = front * target[0], target[1], target[2]
    distance = min(norm(target) / (limb["upper"] + limb["lower"]), 1.0) * TYPICAL_REACH
    azimuth = math.atan2(z, x) / DEGREE
    elevation = math.atan2(y, math.hypot(x, z)) / DEGREE
    raised = (-4.0 + 1.10 * distance + 0.90 * elevation) * DEGREE  # from hanging down
    yaw = (13.2 + 0.86 * azimuth + 0.11 * elevation) * DEGREE  # from straight ahead, outwards
    return (front * math.sin(raised) * math.cos(yaw), -math.cos(raised), math.sin(raised) * math.sin(yaw))


@kernel
def sensorimotor_swivel(limb: Any, target: Vec3) -> float:
    """Return the swivel [rad] of the sensorimotor model, drawn to the limb's own preferred one where it says little.

    It says little where the upper arm points along the line to the target, and it was measured in front of the body
    only: beside and behind, where an azimuth winds around the vertical, it fades out. So the swivel is continuous.
    """
    if not (math.isfinite(norm(target)) and norm(target) > 0.0):
        return float(limb["preferred"])
    _, n, u, v, _, _, _ = reach_of(limb, target)
    elbow = upper_arm(limb, target)
    weight = min(max(math.copysign(1.0, limb["px"]) * n[0] / IN_FRONT, 0.0), 1.0)
    own = limb["sign"] * limb["preferred"] + limb["offset"]
    rest = OWN_WEIGHT + 1.0 - weight
    x = weight * dot(elbow, u) + rest * math.cos(own)
    return swivel_at(limb, math.atan2(weight * dot(elbow, v) + rest * math.sin(own), x))


@kernel
def table_swivel(
    head: Records, points: Records, faces: Records, index: Ints, cells: Floats, layers: Floats, position: Vec3
) -> float:
    """Return the swivel [rad] of a table at a position [m]: linear between a triangle's corners and two distances.

    `cells` (V, K, 2) has the swivels at V directions and K distances as cosine and sine, `layers` (K,) the distances.
    """
    distance = norm(position)
    if not math.isfinite(distance):
        return 0.0
    face, w = locate(head, points, faces, index, direction_of(head, position, distance))
    reach = distance / (head[0]["upper"] + head[0]["lower"])
    last = layers.shape[0] - 1
    k = 0
    while k < last - 1 and reach > layers[k + 1]:
        k += 1
    t = 0.0
    if last > 0:
        t = min(max((reach - layers[k]) / (layers[k + 1] - layers[k]), 0.0), 1.0)
    x, y = 0.0, 0.0
    for corner, weight in ((faces[face]["a"], w[0]), (faces[face]["b"], w[1]), (faces[face]["c"], w[2])):
        below, above = weight * (1.0 - t), weight * t
        x += below * cells[corner, k, 0] + above * cells[corner, min(k + 1, last), 0]
        y += below * cells[corner, k, 1] + above * cells[corner, min(k + 1, last), 1]
    return math.atan2(y, x)


@batch(rows=4096)
def sensorimotor_swivels(n: int, limb: Records, positions: Floats, out: Floats) -> None:
    """Fill `out` (N,) with `sensorimotor_swivel` of positions (N, 3)."""
    for i in prange(n):
        out[i] = sensorimotor_swivel(limb[i % limb.shape[0]], (positions[i, 0], positions[i, 1], positions[i, 2]))


@batch(rows=4096)
def table_swivels(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    index: Ints,
    cells: Floats,
    layers: Floats,
    positions: Floats,
    out: Floats,
) -> None:
    """Fill `out` (N,) with `table_swivel` of positions (N, 3)."""
    for i in prange(n):
        position = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i] = table_swivel(head, points, faces, index, cells, layers, position)


def learn_swivels(
    examples: Examples, directions: int, layers: Floats, smooth: float, progress: Progress | None = None
) -> Floats:
    """Return (V, K) swivels [rad] at V directions and the distances `layers` (K,) over the limb's length.

    The median field, by iteratively reweighted least squares.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    mesh = sphere_mesh(directions)
    columns, shape_weights = _cells(examples, mesh, layers)
    count, cells = len(columns), directions * len(layers)
    rows = np.repeat(np.arange(count), columns.shape[1])
    spread = coo_array((shape_weights.ravel(), (rows, columns.ravel())), shape=(count, cells)).tocsr()
    swivel = examples.swivel[examples.bent]
    target = np.stack([np.cos(swivel), np.sin(swivel)], axis=-1)
    even = smooth * _unevenness(mesh, len(layers))
    weight = np.ones(count)
    field = np.zeros((cells, 2))
    for k in range(ROUNDS):
        weighted = spread.multiply(weight[:, None]).tocsr()
        field = spsolve((weighted.T @ spread + even).tocsc(), weighted.T @ target)
        weight = 1.0 / np.maximum(np.linalg.norm(spread @ field - target, axis=-1), NEAREST)
        if progress is not None:
            progress((k + 1) / ROUNDS)
    return np.arctan2(field[:, 1], field[:, 0]).reshape(directions, len(layers))


def _cells(examples: Examples, mesh: SphereMesh, layers: Floats) -> tuple[Ints, Floats]:
    """Return (N, 6) cells around each bent example, and their weights, which sum up to 1."""
    n, reach = examples.direction[examples.bent], examples.distance[examples.bent]
    face = np.empty(len(n), np.int64)
    locate_rows(len(n), *mesh_rows(mesh), np.ascontiguousarray(n), face)
    corners = mesh.triangles[face]
    a, b, c = (mesh.points[corners[:, k]] for k in range(3))
    corner = np.stack([np.einsum("ij,ij->i", n, np.cross(*pair)) for pair in ((b, c), (c, a), (a, b))], axis=-1)
    corner /= corner.sum(axis=-1, keepdims=True)
    last = len(layers) - 1
    below = np.clip(np.searchsorted(layers, reach, side="right") - 1, 0, max(last - 1, 0))
    above = np.minimum(below + 1, last)
    gap = np.where(above > below, layers[above] - layers[below], 1.0)
    t = np.clip((reach - layers[below]) / gap, 0.0, 1.0)[:, None]
    cells = np.concatenate([corners * len(layers) + below[:, None], corners * len(layers) + above[:, None]], axis=-1)
    return cells, np.concatenate([corner * (1.0 - t), corner * t], axis=-1)


def _unevenness(mesh: SphereMesh, layers: int) -> Any:
    """Return the matrix whose quadratic form is the sum of squared differences between neighbouring cells."""
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

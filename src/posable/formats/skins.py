"""Skins: meshes bound to joints, from what a file says of weights and of where joints were when they were bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compute.types import Floats, Ints
from ..skeleton import Frames, SkinnedMesh
from .trees import split_matrices

WIDEST = 8
"""Joints that carry a vertex; of more the heaviest are taken."""


def bound_mesh(
    name: str,
    vertices: Floats,
    faces: NDArray[np.int32],
    carried: tuple[NDArray[np.int32], Floats],
    rest: Frames,
    bound: Ints,
    binds: Floats,
    colours: NDArray[np.uint8],
    *,
    mirrored: bool = False,
) -> SkinnedMesh:
    """Return a mesh as it was bound to joints.

    Args:
        name: of the mesh.
        vertices: (V, 3) [m] in the world, at binding.
        faces: (T, 3).
        carried: (V, K) joints and (V, K) their weights.
        rest: of all joints; those that are not bound are taken to have been there.
        bound: (B,) joints.
        binds: (B, 4, 4) where these were at binding, in the world.
        colours: (V, 4), or no rows.
        mirrored: whether what led to the world turns faces inside out.
    """
    positions, orientations = rest.positions.copy(), rest.orientations.copy()
    positions[bound], orientations[bound] = binds[:, :3, 3], split_matrices(binds[:, :3, :3])[1]
    faces = faces[:, ::-1].copy() if mirrored else faces
    return SkinnedMesh(name, vertices, faces, *carried, positions, orientations, colours)


def heaviest(
    vertex: Ints, joint: Ints, weight: Floats, count: int, otherwise: int | Ints
) -> tuple[NDArray[np.int32], Floats]:
    """Return the joints (V, K) that carry each vertex, the heaviest first, and their weights (V, K), which sum to 1.

    Args:
        vertex: (N,) which vertex, and
        joint: (N,) which joint carries it,
        weight: (N,) how much; what is not above 0, or names no vertex, does not count.
        count: of the vertices.
        otherwise: the joint, or (V,) joints, on which vertices are that nothing carries.
    """
    good = (vertex >= 0) & (vertex < count) & (weight > 0.0)
    vertex, weight, joint = vertex[good], weight[good], joint[good]
    order = np.lexsort((-weight, vertex))
    vertex, weight, joint = vertex[order], weight[order], joint[order]
    rank = np.arange(len(vertex)) - np.searchsorted(vertex, vertex, side="left")
    few = rank < WIDEST
    vertex, weight, joint, rank = vertex[few], weight[few], joint[few], rank[few]
    width = int(rank.max(initial=0)) + 1
    joints, weights = np.empty((count, width), np.int32), np.zeros((count, width))
    joints[:] = np.broadcast_to(otherwise, count)[:, None]
    joints[vertex, rank], weights[vertex, rank] = joint, weight
    weights[weights.sum(axis=1) <= 0.0, 0] = 1.0
    return joints, weights / weights.sum(axis=1, keepdims=True)

"""How the vertices of a body follow its joints."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import math as pm
from ...compute.types import Floats, Ints
from ...skeleton import Frames, Skeleton, SkinnedMesh


class Skin:
    """Linear blend skinning as one sparse product.

    A vertex is the sum over its joints of `weight * (R v + t)`, which is linear in the joints' matrices: a sparse
    matrix with rows `weight * (v, 1)`, made once, times the matrices stacked on each other.

    Args:
        vertices: (V, 3) [m], in the frames of their joints.
        joints: (V, K) columns of the stacked matrices; K joints a vertex.
        weights: (V, K) their shares.
        count: how many matrices are stacked.
    """

    side: Literal["front", "double"] = "front"

    def __init__(self, vertices: Floats, joints: Ints, weights: Floats, count: int) -> None:
        spread = np.concatenate([vertices, np.ones((len(joints), 1))], axis=1)
        self._carried = (joints, weights)
        self._blend = _blend(weights[:, :, None] * spread[:, None, :], joints, count)
        self._binds: list[tuple[Floats, Floats]] = []

    @classmethod
    def of_volumes(cls, vertices: Floats, joints: Ints, skeleton: Skeleton) -> Skin:
        """Vertices (V, 3), each rigid with its joint (V,), except that one along a bone stretches as the bone does.

        A vertex v at a share s of the bone d to the joint's only child, which is at c, is at R v + t + s (c - t - R d):
        the same as R v + t, until the child is not where the skeleton has it.
        """
        only = np.array([kids[0] if len(kids := skeleton.children(j)) == 1 else -1 for j in range(len(skeleton))])
        child = only[joints]
        bone = np.where(child[:, None] >= 0, skeleton.offsets[child], 0.0)
        long = np.einsum("vi,vi->v", bone, bone)
        share = np.clip(np.einsum("vi,vi->v", vertices, bone) / np.where(long > 1e-9, long, 1.0), 0.0, 1.0)[:, None]
        skin = cls(vertices, joints[:, None], np.ones((len(joints), 1)), len(skeleton))
        values = np.zeros((len(joints), 2, 4))
        values[:, 0] = np.concatenate([vertices - share * bone, 1.0 - share], axis=1)
        values[:, 1, 3:] = share
        skin._blend = _blend(values, np.stack([joints, np.maximum(child, 0)], axis=1), len(skeleton))
        return skin

    @classmethod
    def of_meshes(cls, meshes: tuple[SkinnedMesh, ...]) -> Skin:
        """All meshes of a character as one; meshes that were bound in one pose share its matrices."""
        binds: list[tuple[Floats, Floats]] = []
        joints, widest = [], max(mesh.joints.shape[1] for mesh in meshes)
        for mesh in meshes:
            bind = (mesh.bind_positions, mesh.bind_orientations)
            alike = [k for k, known in enumerate(binds) if all(np.array_equal(a, b) for a, b in zip(known, bind))]
            if not alike:
                binds.append(bind)
            at = (alike or [len(binds) - 1])[0] * len(bind[0])
            joints.append(np.pad(mesh.joints + at, ((0, 0), (0, widest - mesh.joints.shape[1]))))
        weights = [np.pad(mesh.weights, ((0, 0), (0, widest - mesh.weights.shape[1]))) for mesh in meshes]
        vertices = np.concatenate([mesh.vertices for mesh in meshes])
        skin = cls(vertices, np.concatenate(joints), np.concatenate(weights), sum(len(bind[0]) for bind in binds))
        skin._binds = binds
        skin.side = "double"  # files are careless about which side of a face is outside
        return skin

    def shares(self, count: int) -> csr_array:
        """(V, J): how much of each vertex each of `count` joints carries."""
        joints, weights = self._carried
        rows = np.broadcast_to(np.arange(len(joints))[:, None], joints.shape)
        return csr_array((weights.ravel(), (rows.ravel(), joints.ravel() % count)), shape=(len(joints), count))

    def posed(self, frames: Frames) -> NDArray[np.float32]:
        """(V, 3) [m]: the vertices where the joints of one pose carry them."""
        stacked = []
        for place, turned in self._binds or [(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))]:
            turn = pm.multiply(frames.orientations, pm.conjugate(turned))
            shift = frames.positions - pm.rotate(turn, place)
            stacked.append(np.concatenate([pm.to_matrix(turn).swapaxes(-1, -2), shift[:, None]], axis=1))
        posed: Floats = self._blend @ np.concatenate(stacked).reshape(-1, 3)
        return posed.astype(np.float32)


def _blend(values: Floats, joints: Ints, count: int) -> csr_array:
    """The sparse matrix (V, 4 * count) with rows of values (V, K, 4) at K joints (V, K)."""
    columns = 4 * joints[:, :, None].astype(np.int64) + np.arange(4)
    rows = np.broadcast_to(np.arange(len(joints))[:, None, None], columns.shape)
    blend = csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(len(joints), 4 * count))
    blend.eliminate_zeros()
    return blend


def inset(vertices: Floats, faces: Ints, depth: float) -> Floats:
    """(V, 3) [m]: the vertices of a closed surface moved inwards by a depth [m], whichever way its faces are wound."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    normals = np.zeros(vertices.shape)
    for k in range(3):
        np.add.at(normals, faces[:, k], across)
    outwards = np.sign(np.einsum("ti,ti->", a - vertices.mean(axis=0), across))
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    moved: Floats = vertices - depth * outwards * normals / np.maximum(lengths, 1e-12)
    return moved

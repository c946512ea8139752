"""`Character`: the skinned meshes of a skeleton; how their vertices follow the joints, and bones where there are none.

Everything that is drawn or written of a skinned body comes through here: the pictures of `render`, the meshes of glTF
files, and the bodies of the studio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from .skeleton import Frames, Skeleton

# Octahedral bones, where a skeleton has no mesh.
COLOUR = (178, 190, 208, 255)  # sRGB
SHORTEST = 1e-4  # [m]: shorter bones are not drawn
LONE_BONE = 0.1  # [m], for a skeleton without any
GIRTH = 0.09  # of the longest bone, in lengths; shorter ones are stouter, so that a spine can be seen
STOUTEST = 0.25
BONES = "bones"  # the name of their mesh


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """A triangle mesh bound to the joints of a skeleton, deformed by linear blend skinning."""

    name: str
    vertices: Floats
    """(V, 3) [m], in the world of the skeleton at the moment of binding."""
    faces: NDArray[np.int32]
    """(T, 3) indices into the vertices, counter-clockwise from outside."""
    joints: NDArray[np.int32]
    """(V, K) indices of the joints that carry a vertex."""
    weights: Floats
    """(V, K) their weights; each row sums to 1."""
    bind_positions: Floats
    """(J, 3) [m] positions of all joints of the skeleton at the moment of binding."""
    bind_orientations: Floats
    """(J, 4) their orientations."""
    colours: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 4), np.uint8))
    """(V, 4) RGBA, or no rows where the file has none."""
    smooth: bool = True
    """Whether vertices at one position look like one, as at the seams of a file; else they are an edge."""

    def __repr__(self) -> str:
        return f"SkinnedMesh({self.name[:40]!r}, {len(self.vertices)} vertices, {len(self.faces)} triangles)"

    def posed(self, frames: Frames) -> Floats:
        """Return (..., V, 3) [m]: the vertices where the joints of `frames` carry them, by linear blend skinning."""
        return self._skinning.posed(frames)

    @cached_property
    def _skinning(self) -> Skinning:
        return Skinning.of_meshes((self,))

    def scaled(self, factor: float) -> SkinnedMesh:
        """The same mesh on a skeleton scaled by `factor`."""
        return replace(self, vertices=self.vertices * factor, bind_positions=self.bind_positions * factor)


@dataclass(frozen=True, eq=False)
class Character:
    """The look of a skeleton, and its file. It hangs on the skeleton, so any motion made on it keeps the look."""

    meshes: Sequence[SkinnedMesh] = ()
    """A robot's are made when they are first looked at."""
    roles: Mapping[str, str] | None = None
    """Body part to joint name, where the file itself says who is who (VRM)."""
    source: Any = None
    """What the format that read the file needs to write it back unchanged but for its motion."""

    def __repr__(self) -> str:
        names = ", ".join(repr(mesh.name[:40]) for mesh in self.meshes[:3]) + (", ..." if len(self.meshes) > 3 else "")
        return f"Character({len(self.meshes)} meshes{': ' if names else ''}{names}; {len(self.roles or ())} roles)"

    def scaled(self, factor: float) -> Character:
        """The same look on a skeleton scaled by `factor`; the file's own document keeps its size and is let go."""
        return replace(self, meshes=tuple(mesh.scaled(factor) for mesh in self.meshes), source=None)


class Skinning:
    """Linear blend skinning as one sparse product.

    A vertex is the sum over its joints of `weight * (R v + t)`, which is linear in the joints' matrices: a sparse
    matrix with rows `weight * (v, 1)`, made once, times the matrices stacked on each other.

    Args:
        vertices: (V, 3) [m], in the frames of their joints.
        joints: (V, K) indices of the stacked matrices; K joints a vertex.
        weights: (V, K); each row sums to 1.
        count: how many matrices are stacked.
        binds: positions (J, 3) [m] and orientations (J, 4) of the joints at binding, for each pose in which vertices
            were bound, J matrices each; without any, vertices are in their joints' frames.
    """

    def __init__(
        self,
        vertices: Floats,
        joints: Ints,
        weights: Floats,
        count: int,
        binds: Sequence[tuple[Floats, Floats]] = (),
    ) -> None:
        homogeneous = np.concatenate([vertices, np.ones((len(joints), 1))], axis=1)
        self._joints, self._weights, self._binds = joints, weights, binds
        self._blend = _blend(weights[:, :, None] * homogeneous[:, None, :], joints, count)

    @classmethod
    def rigid(cls, vertices: Floats, joints: Ints, skeleton: Skeleton) -> Skinning:
        """Bind vertices (V, 3), each rigid with its joint (V,), but those along a bone stretch as it does."""
        return cls.along_bones(vertices[:, None], joints[:, None], np.ones((len(joints), 1)), skeleton)

    @classmethod
    def along_bones(cls, vertices: Floats, joints: Ints, weights: Floats, skeleton: Skeleton) -> Skinning:
        """Bind vertices to joints (V, K) by weights (V, K); those along a bone stretch as it does.

        A vertex v (V, K, 3), in its joint's frame, at a fraction s of the bone d to the joint's only child, which is at
        c, is carried to R v + t + s (c - t - R d): the same as R v + t, until the child is not where the skeleton has
        it.
        """
        only = np.array([kids[0] if len(kids := skeleton.children(j)) == 1 else -1 for j in range(len(skeleton))])
        child = only[joints]
        bone = np.where(child[..., None] >= 0, skeleton.offsets[child], 0.0)
        squared = np.einsum("vki,vki->vk", bone, bone)
        along = np.einsum("vki,vki->vk", vertices, bone) / np.where(squared > 1e-9, squared, 1.0)
        fraction = np.clip(along, 0.0, 1.0)[..., None]
        skinning = cls(vertices[:, 0], joints, weights, len(skeleton))
        rows = np.zeros((*joints.shape, 2, 4))
        rows[:, :, 0] = weights[..., None] * np.concatenate([vertices - fraction * bone, 1.0 - fraction], axis=-1)
        rows[:, :, 1, 3:] = weights[..., None] * fraction
        carriers = np.stack([joints, np.maximum(child, 0)], axis=-1)
        skinning._blend = _blend(rows.reshape(len(joints), -1, 4), carriers.reshape(len(joints), -1), len(skeleton))
        return skinning

    @classmethod
    def of_meshes(cls, meshes: Sequence[SkinnedMesh]) -> Skinning:
        """Bind all meshes of a character as one; meshes that were bound in one pose share its matrices."""
        binds: list[tuple[Floats, Floats]] = []
        joints, widest = [], max(mesh.joints.shape[1] for mesh in meshes)
        for mesh in meshes:
            bind = (mesh.bind_positions, mesh.bind_orientations)
            alike = [k for k, known in enumerate(binds) if all(np.array_equal(a, b) for a, b in zip(known, bind))]
            if not alike:
                binds.append(bind)
            first = (alike or [len(binds) - 1])[0] * len(bind[0])
            joints.append(np.pad(mesh.joints + first, ((0, 0), (0, widest - mesh.joints.shape[1]))))
        weights = [np.pad(mesh.weights, ((0, 0), (0, widest - mesh.weights.shape[1]))) for mesh in meshes]
        vertices = np.concatenate([mesh.vertices for mesh in meshes])
        count = sum(len(positions) for positions, _ in binds)
        return cls(vertices, np.concatenate(joints), np.concatenate(weights), count, binds)

    def joint_weights(self, count: int) -> csr_array[Any]:
        """Return (V, J): the weight of each of `count` joints on each vertex."""
        from scipy.sparse import csr_array

        joints, weights = self._joints, self._weights
        rows = np.broadcast_to(np.arange(len(joints))[:, None], joints.shape)
        return csr_array((weights.ravel(), (rows.ravel(), joints.ravel() % count)), shape=(len(joints), count))

    def posed(self, frames: Frames) -> Floats:
        """Return (..., V, 3) [m]: the vertices where the joints of `frames` carry them."""
        stacked = []
        for position, orientation in self._binds or [(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))]:
            rotation = pm.multiply(frames.orientations, pm.conjugate(orientation))
            translation = frames.positions - pm.rotate(rotation, position)
            matrices = [pm.to_matrix(rotation).swapaxes(-1, -2), translation[..., None, :]]
            stacked.append(np.concatenate(matrices, axis=-2))  # (..., J, 4, 3)
        columns = np.concatenate(stacked, axis=-3)
        batch = columns.shape[:-3]
        flat = np.moveaxis(columns.reshape(*batch, -1, 3), -2, 0).reshape(-1, 3 * int(np.prod(batch)))
        moved: Floats = np.moveaxis((self._blend @ flat).reshape(-1, *batch, 3), 0, -2)
        return moved


def vertex_normals(vertices: Floats, faces: Ints, *, merge: bool = False) -> Floats:
    """Return unit normals (V, 3), each triangle weighted by its area; zero where no triangle has one.

    Args:
        vertices: (V, 3) [m].
        faces: (T, 3).
        merge: have vertices at one position share their normal, so that the seams of a file do not show.
    """
    same = np.arange(len(vertices))
    if merge:
        same = np.unique(np.round(vertices, 6), axis=0, return_inverse=True)[1].reshape(-1)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.zeros((len(vertices), 3))
    for k in range(3):
        np.add.at(total, same[faces[:, k]], across)
    normals = total[same]
    # Triangles of a drawing may be thousandths of a millimetre long: their normals are as good as others.
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.asarray(np.where(lengths > 1e-60, normals / np.maximum(lengths, 1e-60), 0.0))


def _blend(rows: Floats, joints: Ints, count: int) -> csr_array[Any]:
    """Return the sparse matrix (V, 4 * count) with rows of values (V, K, 4) at K joints (V, K)."""
    from scipy.sparse import csr_array

    columns = 4 * joints[:, :, None].astype(np.int64) + np.arange(4)
    vertex = np.broadcast_to(np.arange(len(joints))[:, None, None], columns.shape)
    blend = csr_array((rows.ravel(), (vertex.ravel(), columns.ravel())), shape=(len(joints), 4 * count))
    blend.eliminate_zeros()
    return blend


def octahedron(waist: float, base: float = 0.0) -> tuple[Floats, Ints]:
    """Return corners (6, 3) and faces (8, 3) of a bone along +Z, of length 1 and half-width 1.

    Args:
        waist: where along the bone it is widest, from 0 to 1.
        base: where it begins: 0 at its joint, -1 for a knob around it.
    """
    ring = [[1.0, 0.0, waist], [0.0, 1.0, waist], [-1.0, 0.0, waist], [0.0, -1.0, waist]]
    sides = [(k, k % 4 + 1) for k in range(1, 5)]
    faces = [*((0, b, a) for a, b in sides), *((5, a, b) for a, b in sides)]
    return np.array([[0.0, 0.0, base], *ring, [0.0, 0.0, 1.0]]), np.array(faces)


def bone_starts(skeleton: Skeleton) -> Ints:
    """Return (B,) the joint at which each bone starts: a bone to each joint but the root, then to each end site."""
    return np.concatenate([skeleton.parents[1:], skeleton.end_parents]).astype(np.int64)


def bone_mesh(skeleton: Skeleton, rest: Frames) -> SkinnedMesh:
    """Return the bones of a skeleton at rest, each carried whole by the joint it starts at."""
    starts = bone_starts(skeleton).tolist()
    spans = np.concatenate([rest.positions[1:], rest.ends]) - rest.positions[starts].reshape(-1, 3)
    bones = [(start, span) for start, span in zip(starts, spans) if np.linalg.norm(span) > SHORTEST]
    bones = bones or [(0, np.array([0.0, LONE_BONE, 0.0]))]
    outline, faces = octahedron(0.1)
    corners = outline[faces.reshape(-1)]  # three own corners a face, so that faces look flat
    longest = max(float(np.linalg.norm(span)) for _, span in bones)
    vertices, joints = [], []
    for start, span in bones:
        length = float(np.linalg.norm(span))
        girth = min(GIRTH * np.sqrt(length * longest), STOUTEST * length)
        rotation = pm.between([0.0, 0.0, 1.0], span / length)
        vertices.append(rest.positions[start] + pm.rotate(rotation, corners * [girth, girth, length]))
        joints.append(np.full((len(corners), 1), start, dtype=np.int32))
    count = len(bones) * len(corners)
    return SkinnedMesh(
        name=BONES,
        vertices=np.concatenate(vertices),
        faces=np.arange(count, dtype=np.int32).reshape(-1, 3),
        joints=np.concatenate(joints),
        weights=np.ones((count, 1)),
        bind_positions=rest.positions,
        bind_orientations=rest.orientations,
        colours=np.tile(np.array(COLOUR, np.uint8), (count, 1)),
    )

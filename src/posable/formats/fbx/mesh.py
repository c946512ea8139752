"""Meshes of an FBX document, and the skins that bind their vertices to models.

A cluster of a skin names a model, vertices with weights, where the model was when it was bound (`TransformLink`), and
where the mesh lay in it then (`Transform`). The first gives the bind pose, both together bring vertices into the world.
A mesh without a skin that hangs on a joint is bound to that joint alone. Of materials the diffuse colour is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import math as pm
from ...compute.types import Floats, Ints
from ...skeleton import Frames, SkinnedMesh
from ..gltf.mesh import to_srgb
from ..polygons import fans
from ..skins import WIDEST, bound_mesh, heaviest
from .document import Document, FbxObject
from .models import ORDERS, ModelTree, euler_rotations

MAX_MESHES = 1000
VERTEX, CORNER, WEIGHT, BOUND_JOINT = 250, 60, 60, 60  # bytes of memory that are counted for each


@dataclass(frozen=True, eq=False)
class Cluster:
    """The part of a skin that one model moves."""

    node: int
    indices: Ints
    weights: Floats
    link: Floats
    """(4, 4) where the model was at binding, in the file's world."""
    transform: Floats
    """(4, 4) where the mesh lay in it."""


@dataclass(frozen=True, eq=False)
class Skin:
    """The clusters of a skin, and the geometry and the model that shows it."""

    geometry: FbxObject
    node: int
    clusters: tuple[Cluster, ...]


def read_skins(document: Document, tree: ModelTree) -> list[Skin]:
    """Every mesh that a model shows, with the clusters of its skin; without, where it has none."""
    found = []
    for geometry in document.of_kind("Geometry", "Mesh"):
        shown = [tree.index[model.number] for model, _ in document.holders(geometry, "Model")]
        skins = [skin for skin, _ in document.on(geometry, "Deformer") if skin.sort == "Skin"]
        clusters = [_read_cluster(document, tree, one) for skin in skins for one, _ in document.on(skin, "Deformer")]
        if shown:
            found.append(Skin(geometry, shown[0], tuple(cluster for cluster in clusters if cluster is not None)))
    return found


def _read_cluster(document: Document, tree: ModelTree, item: FbxObject) -> Cluster | None:
    models = [tree.index[model.number] for model, _ in document.on(item, "Model")]
    if item.sort != "Cluster" or not models:
        return None
    indices, weights = item.record.array_of("Indexes", "l"), item.record.array_of("Weights", "d")
    link, transform = (_matrix(item, name) for name in ("TransformLink", "Transform"))
    if link is None or transform is None:
        return None
    indices = np.empty(0, np.int64) if indices is None or weights is None else indices
    weights = np.empty(0) if weights is None else weights
    if len(indices) != len(weights):
        item.record.fail(f"has {len(weights)} weights for {len(indices)} vertices")
    document.source.take(8 * len(weights), item.record.where)
    weights = np.where(np.isfinite(weights), weights, 0.0)
    return Cluster(models[0], indices, weights, link, transform)


def _matrix(item: FbxObject, name: str) -> Floats | None:
    """A matrix as columns of numbers; None where there is none that can be inverted."""
    numbers = item.record.array_of(name, "d")
    if numbers is None or len(numbers) != 16 or not np.isfinite(numbers).all() or np.abs(numbers).max() > 1e12:
        return None
    made = np.asarray(numbers, dtype=np.float64).reshape(4, 4).T
    return made if abs(np.linalg.det(made[:3, :3])) > 1e-12 else None


def bind_poses(document: Document, tree: ModelTree, skins: list[Skin]) -> dict[int, Floats]:
    """Where models were when they were bound, (4, 4) in the file's world: as skins say, else the file's bind pose."""
    found: dict[int, Floats] = {}
    for skin in sorted(skins, key=lambda skin: -len(skin.clusters)):
        for cluster in skin.clusters:
            found.setdefault(cluster.node, cluster.link)
    for pose in document.of_kind("Pose", "BindPose"):
        for entry in pose.record.all("PoseNode"):
            node, matrix = entry.first("Node"), entry.array_of("Matrix", "d")
            index = tree.index.get(node.integer(0)) if node is not None else None
            if index is None or matrix is None or len(matrix) != 16 or not np.isfinite(matrix).all():
                continue
            made = np.asarray(matrix, dtype=np.float64).reshape(4, 4).T
            if np.abs(made).max() < 1e12 and abs(np.linalg.det(made[:3, :3])) > 1e-12:
                found.setdefault(index, made)
    return found


class MeshReader:
    """Reads the meshes that the joints of a skeleton carry.

    Args:
        document: the file.
        tree: its models.
        joints: the models that are joints.
        to_ours: (4, 4) from the file's world to ours, with the length of its unit.
        worlds: (N, 4, 4) of all models at rest, in the file's world.
    """

    def __init__(self, document: Document, tree: ModelTree, joints: list[int], to_ours: Floats, worlds: Floats) -> None:
        self.document, self.tree, self.to_ours, self.worlds = document, tree, to_ours, worlds
        self.joint_of = {node: j for j, node in enumerate(joints)}
        self.notes: list[str] = []

    def read(self, skins: list[Skin], rest: Frames) -> tuple[SkinnedMesh, ...]:
        """Every mesh that a joint moves; others are left out and noted."""
        found: list[SkinnedMesh] = []
        for skin in skins:
            name = self.tree.name(skin.node)
            if len(found) >= MAX_MESHES:
                self.notes.append(f"the file has too many meshes; those from {name[:60]!r} on are not shown")
                break
            carrier = self._carrier(skin.node)
            clusters = [one for one in skin.clusters if one.node in self.joint_of]
            if not clusters and carrier < 0:
                self.notes.append(f"the mesh {name[:60]!r} hangs on no joint and is not shown")
                continue
            mesh = self._mesh(name, skin, clusters, carrier, rest)
            if mesh is not None:
                found.append(mesh)
        return tuple(found)

    def _carrier(self, node: int) -> int:
        """The nearest joint at or above a model; -1: none."""
        while node >= 0 and node not in self.joint_of:
            node = self.tree.parents[node]
        return self.joint_of.get(node, -1)

    def _mesh(self, name: str, skin: Skin, clusters: list[Cluster], carrier: int, rest: Frames) -> SkinnedMesh | None:
        record, source = skin.geometry.record, self.document.source
        numbers, corners = record.array_of("Vertices", "d"), record.array_of("PolygonVertexIndex", "l")
        if numbers is None or corners is None or not len(corners) or len(numbers) % 3:
            return None
        count = len(numbers) // 3
        source.take(VERTEX * count + CORNER * len(corners) + BOUND_JOINT * len(self.joint_of), record.where)
        polygon = np.where(corners < 0, -corners.astype(np.int64) - 1, corners.astype(np.int64))
        if len(polygon) and (polygon.max() >= count or polygon.min() < 0):
            record.fail(f"names vertex {polygon.max()} of {count}")
        faces, owners = fans(np.diff(np.flatnonzero(corners < 0), prepend=-1), polygon)
        to_world = clusters[0].link @ clusters[0].transform if clusters else self.worlds[skin.node]
        to_world = self.to_ours @ to_world @ self._geometric(skin.node)
        vertices = np.asarray(numbers, dtype=np.float64).reshape(-1, 3) @ to_world[:3, :3].T + to_world[:3, 3]
        if not np.isfinite(vertices).all():
            self.notes.append(f"the mesh {name[:60]!r} has vertices that are not finite, and is not shown")
            return None
        if clusters:
            bound = np.array([self.joint_of[cluster.node] for cluster in clusters])
            binds = self.to_ours @ np.array([cluster.link for cluster in clusters])
            carried = self._weights(clusters, count, max(carrier, 0))
        else:
            bound, binds = np.zeros(0, np.int64), np.zeros((0, 4, 4))
            carried = np.full((count, 1), carrier, np.int32), np.ones((count, 1))
        mirrored = bool(np.linalg.det(to_world[:3, :3]) < 0)
        colours = self._colours(skin, owners, faces, count)
        return bound_mesh(name, vertices, faces, carried, rest, bound, binds, colours, mirrored=mirrored)

    def _geometric(self, node: int) -> Floats:
        """(4, 4) the transform that moves a model's geometry and none of what hangs on it."""
        model = self.tree.models[node]
        made = np.eye(4)
        rotation = pm.to_matrix(euler_rotations(model.numbers("GeometricRotation", (0.0, 0.0, 0.0)), ORDERS[0]))
        made[:3, :3] = rotation * model.numbers("GeometricScaling", (1.0, 1.0, 1.0))
        made[:3, 3] = model.numbers("GeometricTranslation", (0.0, 0.0, 0.0))
        return made

    def _weights(self, clusters: list[Cluster], count: int, carrier: int) -> tuple[NDArray[np.int32], Floats]:
        """(V, K) joints and their weights: those that clusters name, the heaviest first; others on the carrier."""
        total = sum(len(cluster.indices) for cluster in clusters)
        self.document.source.take(WEIGHT * total + (WEIGHT // 4) * WIDEST * count, "Deformer")
        vertex = np.concatenate([cluster.indices for cluster in clusters]).astype(np.int64)
        weight = np.concatenate([cluster.weights for cluster in clusters]).astype(np.float64)
        joint = np.repeat([self.joint_of[one.node] for one in clusters], [len(one.indices) for one in clusters])
        return heaviest(vertex, joint, weight, count, carrier)

    def _colours(self, skin: Skin, owners: Ints, faces: NDArray[np.int32], count: int) -> NDArray[np.uint8]:
        """(V, 4) the diffuse colours of materials, at a vertex that of the last triangle there."""
        materials = [one for one, _ in self.document.on(self.tree.models[skin.node], "Material")]
        layer = skin.geometry.record.first("LayerElementMaterial")
        if not materials:
            return np.empty((0, 4), np.uint8)
        table = np.ones((len(materials), 4))
        for k, material in enumerate(materials):
            table[k, :3] = np.clip(material.numbers("DiffuseColor", (0.8, 0.8, 0.8)), 0.0, 1.0)
        if any(self.document.on(material, "Texture") for material in materials):
            note = "textures are not shown; plain colours are"
            self.notes += [] if note in self.notes else [note]
        which = layer.array_of("Materials", "l") if layer is not None else None
        chosen = np.zeros(count, np.int64)
        if which is not None and len(which):
            each = np.clip(which, 0, len(materials) - 1)
            by_face = each[np.minimum(owners, len(each) - 1)] if len(each) > 1 else np.full(len(owners), each[0])
            chosen[faces.reshape(-1)] = np.repeat(by_face, 3)
        return to_srgb(table)[chosen]

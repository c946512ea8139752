"""Meshes of a glTF document as `SkinnedMesh`es on a skeleton's joints.

A skin moves a vertex v to the weighted sum of `W_j(t) B_j v`, with joint j's world matrix and its inverse bind matrix.
Ours moves it by rigid motions from a bind pose. They are the same for the bind pose `G inv(B_j)`, whatever matrix G is;
we take `G = W_0(rest) B_0`, which makes the bind pose the rest pose in files where it is that. A mesh without a skin
that hangs on a joint (a helmet, a sword) is bound to that joint alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import math as pm
from ...compute.types import Floats
from ...skeleton import Frames, SkinnedMesh
from .accessors import Accessors
from .checked_json import JsonObject
from .colour import Colours
from .document import Document
from .nodes import Folded, NodeTree, mark, split_matrix

TRIANGLES, STRIP, FAN = 4, 5, 6
MAX_MESHES = 1000
FREE_VERTICES = 2_000_000  # that any file may show; nodes may repeat a mesh, so a small file could ask for any number


@dataclass(frozen=True)
class Primitive:
    """The triangles of one material: vertices in the mesh's own frame, joints as indices into the skin's list."""

    vertices: Floats
    faces: NDArray[np.int32]
    joints: NDArray[np.int32] | None
    weights: Floats | None
    colours: NDArray[np.uint8]


@dataclass(frozen=True)
class Bind:
    """A skin at the moment of binding: our joints of its own (S,), the matrix G, and all joints' frames (J, ...)."""

    joints: NDArray[np.int32]
    to_world: Floats
    positions: Floats
    orientations: Floats
    exact: bool


class MeshReader:
    """Reads the meshes that the joints of a skeleton carry, at its rest pose."""

    def __init__(self, document: Document, accessors: Accessors, tree: NodeTree, joints: list[int]) -> None:
        self.document, self.accessors, self.tree, self.joints = document, accessors, tree, joints
        self.joint_of = {node: j for j, node in enumerate(joints)}
        self.meshes = document.root.items("meshes")
        self.skins = document.root.items("skins")
        self.colours = Colours(document, accessors)
        self.primitives: dict[int, list[Primitive]] = {}
        self.binds: dict[int, Bind] = {}
        self.copied = 0
        self.notes: list[str] = []

    def read(self, folded: Folded, rest: Frames) -> tuple[SkinnedMesh, ...]:
        """Every mesh that a joint moves; others (a floor, a light's shade) are left out and reported."""
        worlds = _matrices(rest.orientations, rest.positions, folded.scale)
        carriers, transforms = self._carried(worlds)
        found: list[SkinnedMesh] = []
        for node in self.tree.order:
            entry = self.tree.objects[node]
            index = entry.index("mesh", len(self.meshes), "meshes")
            if index is None or mark(entry).has("bones"):
                continue
            skin = entry.index("skin", len(self.skins), "skins")
            carrier = carriers[node]
            name = self.tree.name(node)
            if skin is None and carrier < 0:
                self.notes.append(f"the mesh {name!r} hangs on no joint and is not shown")
                continue
            if index not in self.primitives:
                self.primitives[index] = self._primitives(self.meshes[index])
            primitives = self.primitives[index]
            self.copied += sum(len(primitive.vertices) for primitive in primitives) + len(self.joints)
            if self.copied > FREE_VERTICES + self.accessors.numbers or len(found) >= MAX_MESHES:
                self.notes.append(
                    f"the file has too many meshes, or copies of one; those from {name!r} on are not shown"
                )
                break
            if not primitives:
                continue
            if skin is not None:
                mesh = self._skinned(name, primitives, skin, worlds, rest)
            else:
                mesh = self._rigid(name, primitives, carrier, transforms[node], rest)
            if mesh is not None and _is_finite(mesh):
                found.append(mesh)
        self.notes += self.colours.notes
        return tuple(found)

    def _carried(self, worlds: Floats) -> tuple[list[int], dict[int, Floats]]:
        """For each node the nearest joint at or above it (-1: none), and the world matrices of those that have one."""
        tree = self.tree
        carriers = [-1] * len(tree.objects)
        transforms: dict[int, Floats] = {}
        relative = _matrices(tree.rotation, tree.translation, tree.scale)
        for node in tree.order:
            above = tree.parents[node]
            if node in self.joint_of:
                carriers[node] = self.joint_of[node]
                transforms[node] = worlds[carriers[node]]
            elif above >= 0 and carriers[above] >= 0:
                carriers[node] = carriers[above]
                transforms[node] = transforms[above] @ relative[node]
        return carriers, transforms

    def _skinned(
        self, name: str, primitives: list[Primitive], index: int, worlds: Floats, rest: Frames
    ) -> SkinnedMesh | None:
        skin = self.skins[index]
        nodes = skin.indices("joints", len(self.tree.objects), "nodes")
        if not nodes or any(node not in self.joint_of for node in nodes):
            self.notes.append(f"the mesh {name!r} is moved by joints that were left out, and is not shown")
            return None
        if index not in self.binds:
            self.binds[index] = self._bind(skin, nodes, worlds, rest)
        bind = self.binds[index]
        if not bind.exact:
            self.notes.append(f"the skin of {name!r} scales its joints unevenly; the mesh is shown without that")
        joints, weights = [], []
        for primitive in primitives:
            if primitive.joints is None or primitive.weights is None:
                self.notes.append(f"the mesh {name!r} has a skin and no weights, and is not shown")
                return None
            if primitive.joints.max(initial=0) >= len(nodes):
                most = primitive.joints.max()
                skin.fail(f"has {len(nodes)} joints; a vertex of {name!r} names joint {most}", "joints")
            joints.append(bind.joints[primitive.joints])
            weights.append(primitive.weights)
        return _merged(name, primitives, bind.to_world, joints, weights, bind.positions, bind.orientations)

    def _bind(self, skin: JsonObject, nodes: list[int], worlds: Floats, rest: Frames) -> Bind:
        """The bind pose of a skin, as rigid frames of all joints (those it does not move: at rest)."""
        where = np.array([self.joint_of[node] for node in nodes], dtype=np.int32)
        inverse = self._inverse_binds(skin, len(nodes))
        to_world = worlds[where[0]] @ inverse[0]
        positions, orientations = rest.positions.copy(), rest.orientations.copy()
        exact = True
        for j, matrix in zip(where, inverse):
            if abs(np.linalg.det(matrix)) < 1e-18:
                exact = False
                continue
            bind = to_world @ np.linalg.inv(matrix)
            scale, rotation, whole = split_matrix(bind[:3, :3])
            own = np.linalg.norm(worlds[j, :3, :3], axis=0)
            positions[j], orientations[j] = bind[:3, 3], rotation
            exact = exact and whole and bool(np.abs(scale - own).max() <= 1e-3 * own.max())
        return Bind(where, to_world, positions, orientations, exact)

    def _rigid(
        self, name: str, primitives: list[Primitive], carrier: int, to_world: Floats, rest: Frames
    ) -> SkinnedMesh:
        joints = [np.full((len(p.vertices), 1), carrier, dtype=np.int32) for p in primitives]
        weights = [np.ones((len(p.vertices), 1)) for p in primitives]
        return _merged(name, primitives, to_world, joints, weights, rest.positions, rest.orientations)

    def _inverse_binds(self, skin: JsonObject, count: int) -> Floats:
        """(count, 4, 4) inverse bind matrices, rows first."""
        index = skin.index("inverseBindMatrices", len(self.accessors), "accessors")
        if index is None:
            return np.tile(np.eye(4), (count, 1, 1))
        flat = self.accessors.floats(index, ("MAT4",), skin, "inverseBindMatrices")
        if len(flat) < count:
            skin.fail(f"has {len(flat)} matrices for {count} joints", "inverseBindMatrices")
        return flat[:count].reshape(count, 4, 4).transpose(0, 2, 1)

    def _primitives(self, mesh: JsonObject) -> list[Primitive]:
        found = []
        for primitive in mesh.items("primitives"):
            if primitive.integer("mode", high=6, default=TRIANGLES) < TRIANGLES:
                continue  # points and lines
            if "KHR_draco_mesh_compression" in primitive.object("extensions").value:
                self.notes.append(f"{primitive.where} is compressed (Draco) and is not shown; it is kept when saved")
                continue
            found.append(self._primitive(primitive))
        return found

    def _primitive(self, primitive: JsonObject) -> Primitive:
        attributes = primitive.object("attributes")

        def attribute(key: str) -> int | None:
            return attributes.index(key, len(self.accessors), "accessors")

        index = attribute("POSITION")
        if index is None:
            attributes.fail("is missing", "POSITION")
        vertices = self.accessors.floats(index, ("VEC3",), attributes, "POSITION")
        faces = self._faces(primitive, len(vertices))
        joints, weights = [], []
        for number in range(4):  # JOINTS_0, JOINTS_1, ...: four joints a vertex each
            at = attribute(f"JOINTS_{number}"), attribute(f"WEIGHTS_{number}")
            if at[0] is None or at[1] is None:
                break
            numbers = self.accessors.array(at[0], ("VEC4",), attributes, f"JOINTS_{number}")
            weight = self.accessors.floats(at[1], ("VEC4",), attributes, f"WEIGHTS_{number}")
            if numbers.dtype.kind != "u" or len(numbers) != len(vertices) or len(weight) != len(vertices):
                attributes.fail(f"does not fit {len(vertices)} vertices", f"JOINTS_{number}")
            joints.append(numbers.astype(np.int32))
            weights.append(np.clip(weight, 0.0, None))
        colours = self.colours.of(primitive, attributes, len(vertices))
        if not joints:
            return Primitive(vertices, faces, None, None, colours)
        every = np.concatenate(weights, axis=1)
        total = every.sum(axis=1, keepdims=True)
        every = np.where(total > 1e-9, every / np.where(total > 1e-9, total, 1.0), np.eye(1, every.shape[1]))
        numbers = np.concatenate(joints, axis=1)
        return Primitive(vertices, faces, np.where(every > 0, numbers, numbers[:, :1]), every, colours)

    def _faces(self, primitive: JsonObject, count: int) -> NDArray[np.int32]:
        index = primitive.index("indices", len(self.accessors), "accessors")
        corners: NDArray[Any] = np.arange(count)
        if index is not None:
            corners = self.accessors.array(index, ("SCALAR",), primitive, "indices")
            if corners.dtype.kind != "u" or corners.max(initial=0) >= count:
                primitive.fail(f"names a vertex that is not among the {count} there are", "indices")
        corners = corners.astype(np.int32)
        mode = primitive.integer("mode", high=6, default=TRIANGLES)
        if mode == TRIANGLES:
            return corners[: len(corners) // 3 * 3].reshape(-1, 3)
        if len(corners) < 3:
            return np.empty((0, 3), np.int32)
        if mode == FAN:
            return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)
        strip = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
        strip[1::2] = strip[1::2, [1, 0, 2]]  # every other triangle of a strip is wound the other way
        return strip


def _matrices(orientations: Floats, positions: Floats, scale: Floats) -> Floats:
    """(J, 4, 4) of rotations, positions and scales."""
    found = np.zeros((len(positions), 4, 4))
    found[:, :3, :3] = pm.to_matrix(orientations) * scale[:, None, :]
    found[:, :3, 3], found[:, 3, 3] = positions, 1.0
    return found


def _is_finite(mesh: SkinnedMesh) -> bool:
    return all(np.isfinite(a).all() for a in (mesh.vertices, mesh.bind_positions, mesh.bind_orientations))


def _merged(
    name: str,
    primitives: list[Primitive],
    to_world: Floats,
    joints: list[NDArray[np.int32]],
    weights: list[Floats],
    positions: Floats,
    orientations: Floats,
) -> SkinnedMesh:
    """One mesh of several primitives: vertices one after the other, joints padded to the widest."""
    width = max(block.shape[1] for block in joints)
    starts = np.cumsum([0, *(len(p.vertices) for p in primitives)])
    vertices = np.concatenate([p.vertices for p in primitives])
    faces = np.concatenate([p.faces + np.int32(start) for p, start in zip(primitives, starts)])
    world = vertices @ to_world[:3, :3].T + to_world[:3, 3]
    if np.linalg.det(to_world[:3, :3]) < 0:
        faces = faces[:, ::-1].copy()  # a mirroring transform has triangles inside out
    return SkinnedMesh(
        name=name,
        vertices=world,
        faces=faces,
        joints=np.concatenate([np.pad(b, ((0, 0), (0, width - b.shape[1])), mode="edge") for b in joints]),
        weights=np.concatenate([np.pad(b, ((0, 0), (0, width - b.shape[1]))) for b in weights]),
        bind_positions=positions,
        bind_orientations=orientations,
        colours=np.concatenate([p.colours for p in primitives]),
    )

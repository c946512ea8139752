"""A new glTF file for a motion: nodes, a skin, a mesh to look at, and the animation.

Many viewers show nothing without a mesh, so a skeleton that has none gets octahedral bones. End sites become leaf
nodes. What glTF has no place for (frame rate, joint kinds, which leaves are end sites) is noted in `extras.posable`;
so are the bones, which are for other programs and not taken for the body's own look when the file is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ... import math as pm
from ...compute.types import Floats
from ...skeleton import Frames, Motion, Skeleton, SkinnedMesh
from ...skeleton.bone_mesh import bone_mesh
from ...skeleton.skinning import vertex_normals
from .accessors import ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER, Packer
from .animation import Tracks
from .colour import from_srgb

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def new_document(motion: Motion) -> tuple[dict[str, Any], bytes]:
    """A document for a motion, and its binary chunk."""
    skeleton = motion.skeleton
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"Posable {__version__}"},
        "scene": 0,
        "nodes": _nodes(skeleton),
        "accessors": [],
        "bufferViews": [],
    }
    binary = bytearray()
    packer = Packer(document["accessors"], document["bufferViews"], binary)
    rest = skeleton.forward(skeleton.rest)
    roots = [0, *_add_meshes(document, packer, skeleton, rest)]
    document["scenes"] = [{"name": motion.name or "motion", "nodes": roots}]
    if len(motion):
        tracks = Tracks(motion, packer)
        pose = motion.pose
        for j in range(len(skeleton)):
            if j == 0:
                tracks.add_translation(0, pose.translation, skeleton.offsets[0], always=True)
            elif pose.offsets is not None:
                tracks.add_translation(j, pose.offsets[:, j], skeleton.offsets[j])
            tracks.add_rotation(j, pose.rotations[:, j], skeleton.rest_rotations[j])
        document["animations"] = [tracks.animation()]
    return document, bytes(binary)


def _nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    """A node a joint, in order, then one an end site."""
    joints = len(skeleton)
    children: list[list[int]] = [[] for _ in range(joints)]
    for j, parent in enumerate(skeleton.parents.tolist()[1:], start=1):
        children[parent].append(j)
    for e, parent in enumerate(skeleton.end_parents.tolist()):
        children[parent].append(joints + e)
    nodes: list[dict[str, Any]] = []
    for j, name in enumerate(skeleton.names):
        node: dict[str, Any] = {"name": name}
        if children[j]:
            node["children"] = children[j]
        if skeleton.offsets[j].any():
            node["translation"] = skeleton.offsets[j].tolist()
        if (skeleton.rest_rotations[j] != IDENTITY).any():
            node["rotation"] = skeleton.rest_rotations[j][[1, 2, 3, 0]].tolist()
        if skeleton.kinds[j] != ("ball" if j else "free"):
            node["extras"] = {"posable": {"kind": skeleton.kinds[j], "axes": skeleton.axes[j].reshape(-1).tolist()}}
        nodes.append(node)
    for name, offset in zip(skeleton.end_names, skeleton.end_offsets):
        nodes.append({"name": name, "translation": offset.tolist(), "extras": {"posable": {"end": name}}})
    return nodes


def _add_meshes(document: dict[str, Any], packer: Packer, skeleton: Skeleton, rest: Frames) -> list[int]:
    """Add the skeleton's own meshes, or bones; the indices of the nodes that carry them."""
    own = skeleton.character.meshes if skeleton.character else ()
    meshes = own or (bone_mesh(skeleton, rest),)
    document |= {"materials": [], "meshes": [], "skins": []}
    skins: dict[bytes, int] = {}
    nodes = []
    for mesh in meshes:
        key = mesh.bind_positions.tobytes() + mesh.bind_orientations.tobytes()
        if key not in skins:
            skins[key] = len(document["skins"])
            inverse = packer.add(_inverse_binds(mesh.bind_positions, mesh.bind_orientations), "MAT4")
            document["skins"].append(
                {"inverseBindMatrices": inverse, "skeleton": 0, "joints": list(range(len(skeleton)))}
            )
        surface = {"metallicFactor": 0.0, "roughnessFactor": 0.8}
        document["materials"].append({"name": mesh.name, "pbrMetallicRoughness": surface})
        primitive = _primitive(packer, mesh, len(skeleton)) | {"material": len(document["materials"]) - 1}
        document["meshes"].append({"name": mesh.name, "primitives": [primitive]})
        nodes.append(len(document["nodes"]))
        node = {"name": mesh.name, "mesh": len(document["meshes"]) - 1, "skin": skins[key]}
        document["nodes"].append(node if own else node | {"extras": {"posable": {"bones": True}}})
    return nodes


def _primitive(packer: Packer, mesh: SkinnedMesh, joints: int) -> dict[str, Any]:
    positions = mesh.vertices.astype(np.float32)
    numbers, weights = _four_joints(mesh.joints, mesh.weights)
    attributes = {
        "POSITION": packer.add(positions, "VEC3", ARRAY_BUFFER, bounds=True),
        "NORMAL": packer.add(_normals(positions, mesh.faces), "VEC3", ARRAY_BUFFER),
        "JOINTS_0": packer.add(numbers.astype(np.uint8 if joints <= 256 else np.uint16), "VEC4", ARRAY_BUFFER),
        "WEIGHTS_0": packer.add(weights.astype(np.float32), "VEC4", ARRAY_BUFFER),
    }
    if len(mesh.colours):
        linear = np.rint(65535 * from_srgb(mesh.colours)).astype(np.uint16)
        attributes["COLOR_0"] = packer.add(linear, "VEC4", ARRAY_BUFFER, normalized=True)
    corners = mesh.faces.reshape(-1).astype(np.uint16 if len(positions) < 65535 else np.uint32)
    return {"attributes": attributes, "indices": packer.add(corners, "SCALAR", ELEMENT_ARRAY_BUFFER)}


def _four_joints(joints: NDArray[Any], weights: Floats) -> tuple[NDArray[Any], Floats]:
    """Return the joints (0 where unused) and the four largest weights of each vertex, which sum to one in float32."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :4]
    largest = np.take_along_axis(weights, order, axis=1)
    largest = largest / largest.sum(axis=1, keepdims=True)
    largest[largest < 1e-6] = 0.0
    largest = np.pad(largest, ((0, 0), (0, 4 - largest.shape[1])))
    largest[:, 0] += 1.0 - largest.astype(np.float32).sum(axis=1)
    numbers = np.pad(np.take_along_axis(joints, order, axis=1), ((0, 0), (0, 4 - order.shape[1])))
    return np.where(largest > 0, numbers, 0), largest


def _normals(vertices: NDArray[np.float32], faces: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return (V, 3) unit normals; up where no triangle has an area."""
    normals = vertex_normals(vertices.astype(np.float64), faces.astype(np.int64))
    unit = np.where(np.linalg.norm(normals, axis=1, keepdims=True) > 0.5, normals, [0.0, 1.0, 0.0])
    return np.asarray(unit, dtype=np.float32)


def _inverse_binds(positions: Floats, orientations: Floats) -> NDArray[np.float32]:
    """(J, 16) inverse bind matrices, columns first."""
    back = pm.conjugate(orientations)
    matrices = np.zeros((len(positions), 4, 4))
    matrices[:, :3, :3] = pm.to_matrix(back)
    matrices[:, :3, 3] = -pm.rotate(back, positions)
    matrices[:, 3, 3] = 1.0
    return matrices.transpose(0, 2, 1).reshape(-1, 16).astype(np.float32)

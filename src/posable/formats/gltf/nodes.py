"""The node tree of a glTF document, and which of its nodes make a skeleton.

A glTF file has no skeleton of its own: skins list the nodes that move their vertices, a VRM file names those that are
parts of a body, and nodes without a role may lie between or above them. Ours is

- the joints of all skins and the bones a VRM file names; without either, the animated nodes; without those, all nodes;
- those of one tree (the one with most of them), with every node between them and their nearest common ancestor.

Nodes above that ancestor (axis conversions, an "Armature" with a scale) are folded into the root. A `Skeleton` knows no
scale: a uniform one is baked into the offsets of the joints below it, any other is applied to the joint's own children
and reported.

Roles are VRM 1's bone names in snake_case. VRM 0 names the joints of a thumb one joint further out (its "proximal" is
VRM 1's "metacarpal"), and its figures face -Z where ours face +Z: such a file is rotated by half a revolution as it is
read, and back as it is written.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from ...compute.types import Floats
from ..trees import Tree, split_matrices, walked
from .checked_json import JsonObject
from .document import Document

MAX_NODES = 50_000
MAX_DEPTH = 12_000  # of nodes below one another
THUMBS = {"thumb_proximal": "thumb_metacarpal", "thumb_intermediate": "thumb_proximal"}  # VRM 0 to VRM 1


@dataclass
class NodeTree(Tree):
    """The nodes of a document; a `matrix` is taken apart."""

    objects: list[JsonObject] = field(default_factory=list)

    def name(self, node: int) -> str:
        """The node's name, or `node_7` where it has none."""
        return self.objects[node].text("name") or f"node_{node}"


def read_nodes(document: Document) -> NodeTree:
    """The node tree of a document; two parents, a circle or a zero rotation are errors."""
    objects = document.root.items("nodes")
    count = len(objects)
    if not 0 < count <= MAX_NODES:
        document.root.fail(f"the file has {count}; a skeleton needs 1 to {MAX_NODES}", "nodes")
    parents = [-1] * count
    children = []
    for node, entry in enumerate(objects):
        children.append(entry.indices("children", count, "nodes"))
        for child in children[node]:
            if parents[child] >= 0 or child == node:
                entry.fail(f"names node {child}, which already is a child of node {max(parents[child], 0)}", "children")
            parents[child] = node
    order, depth = walked(parents, children)
    if max(depth) > MAX_DEPTH:
        objects[depth.index(MAX_DEPTH + 1)].fail(f"lies below more than {MAX_DEPTH} others")
    if len(order) < count:
        objects[min(set(range(count)) - set(order))].fail("is its own ancestor")
    tree = NodeTree(
        parents, children, order, np.zeros((count, 3)), np.zeros((count, 4)), np.ones((count, 3)), objects=objects
    )
    _read_transforms(tree)
    return tree


def _read_transforms(tree: NodeTree) -> None:
    matrices: dict[int, Floats] = {}
    tree.rotation[:, 0] = 1.0
    for node, entry in enumerate(tree.objects):
        if entry.has("matrix"):
            matrices[node] = entry.numbers("matrix", 16, ()).reshape(4, 4).T  # columns come first
            continue
        if entry.has("translation"):
            tree.translation[node] = entry.numbers("translation", 3, ())
        if entry.has("scale"):
            tree.scale[node] = entry.numbers("scale", 3, ())
        if entry.has("rotation"):
            xyzw = entry.numbers("rotation", 4, ())
            length = math.hypot(*xyzw.tolist())
            if not 1e-6 < length < 1e6:
                entry.fail(f"is {xyzw.tolist()}; expected a unit quaternion", "rotation")
            tree.rotation[node] = xyzw[[3, 0, 1, 2]] / length
    if not matrices:
        return
    nodes, stacked = list(matrices), np.array(list(matrices.values()))
    scale, rotation, exact = split_matrices(stacked[:, :3, :3])
    tree.translation[nodes], tree.rotation[nodes], tree.scale[nodes] = stacked[:, :3, 3], rotation, scale
    for k in np.flatnonzero(~exact).tolist():
        where, name = tree.objects[nodes[k]].where, tree.name(nodes[k])
        tree.notes.append(f"{where} ({name[:60]}) has a sheared matrix; its nearest rotation is used")


def skeleton_nodes(document: Document, tree: NodeTree, animated: set[int], roles: dict[str, int]) -> list[int]:
    """The nodes that make the skeleton, the root first and parents before children (see the top of this page).

    The order is that of a skin that lists them all, else the order of the file.
    """
    count = len(tree.objects)
    skins = []
    for entry in document.root.items("skins"):
        skins.append(entry.indices("joints", count, "nodes"))
        if len(skins[-1]) > count:
            entry.fail(f"names {len(skins[-1])} joints, of {count} nodes: some of them several times", "joints")
    named = {joint for skin in skins for joint in skin} | set(roles.values())
    needed = tree.joints_of(named or animated or set(range(count)), bool(named))
    for skin in skins:
        if len(skin) == len(needed) and set(skin) == set(needed) and _parents_first(skin, tree.parents, needed[0]):
            return list(skin)
    return needed


def end_nodes(tree: NodeTree, joints: list[int]) -> list[int]:
    """The leaf nodes that mark where a bone ends: those we marked, and those other programs call so."""
    members = set(joints)
    found = []
    for joint in joints:
        for child in tree.children[joint]:
            entry = tree.objects[child]
            if child in members or tree.children[child] or entry.has("mesh") or entry.has("camera"):
                continue
            marked = "end" in mark(entry).value
            if marked or tree.name(child).lower().endswith(("_end", ".end", "nub")):
                found.append(child)
    return sorted(found)


def mark(entry: JsonObject) -> JsonObject:
    """Return our own members in the `extras` of something we wrote; an empty object elsewhere."""
    extras = entry.value.get("extras")
    ours = extras.get("posable") if isinstance(extras, dict) else None
    return JsonObject(entry.path, ours if isinstance(ours, dict) else {}, f"{entry.where}.extras.posable")


def _parents_first(joints: list[int], parents: list[int], root: int) -> bool:
    seen = set()
    for joint in joints:
        if joint != root and parents[joint] not in seen:
            return False
        seen.add(joint)
    return joints[0] == root


def humanoid_nodes(document: Document) -> dict[str, int]:
    """Role to node index, from the file's humanoid map; empty where it has none."""
    extensions = document.root.object("extensions")
    count = document.count("nodes")
    roles: dict[str, int] = {}
    if extension := next((name for name in ("VRMC_vrm", "VRMC_vrm_animation") if extensions.has(name)), None):
        for name, bone in extensions.object(extension).object("humanoid").object("humanBones").members():
            node = bone.index("node", count, "nodes")
            if node is not None:
                roles[_snake(name)] = node
    elif extensions.has("VRM"):
        for bone in extensions.object("VRM").object("humanoid").items("humanBones"):
            node = bone.index("node", count, "nodes")
            role = _snake(bone.text("bone"))
            for old, new in THUMBS.items():
                if role.endswith(old):
                    role = role.replace(old, new)
                    break
            if node is not None and role:
                roles[role] = node
    return roles


def faces_backwards(document: Document) -> bool:
    """Whether the file is a VRM 0 figure, which faces -Z."""
    extensions = document.root.object("extensions")
    return extensions.has("VRM") and not extensions.has("VRMC_vrm")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()

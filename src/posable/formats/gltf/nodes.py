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
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ... import math as pm
from ...compute.types import Bools, Floats
from .checked_json import JsonObject
from .document import Document

MAX_NODES = 50_000
MAX_DEPTH = 12_000  # of nodes below one another
SCALE_NOISE = 1e-3  # exporters write 1.0000012; a scale this close to uniform is meant to be
THUMBS = {"thumb_proximal": "thumb_metacarpal", "thumb_intermediate": "thumb_proximal"}  # VRM 0 to VRM 1


@dataclass
class NodeTree:
    """The nodes of a document: parents, children and their transforms relative to the parent.

    `translation` (N, 3) in the file's unit, `rotation` (N, 4) wxyz, `scale` (N, 3); a `matrix` is taken apart.
    `order` lists every node after its parent, in the order of the file.
    """

    objects: list[JsonObject]
    parents: list[int]
    children: list[list[int]]
    order: list[int]
    translation: Floats
    rotation: Floats
    scale: Floats
    notes: list[str] = field(default_factory=list)

    def name(self, node: int) -> str:
        """The node's name, or `node_7` where it has none."""
        return self.objects[node].text("name") or f"node_{node}"

    def names(self, nodes: list[int]) -> list[str]:
        """The names of some nodes, made different where the file repeats one."""
        taken: set[str] = set()
        found = []
        for node in nodes:
            name = self.name(node)
            if name in taken:
                name = f"{name}_{node}"
                while name in taken:
                    name += "_"
            taken.add(name)
            found.append(name)
        return found

    def ancestors(self, node: int) -> list[int]:
        """The nodes above a node, outermost first."""
        chain = []
        while (node := self.parents[node]) >= 0:
            chain.append(node)
        return chain[::-1]


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
    order: list[int] = []
    depth = [0] * count
    waiting = [node for node in reversed(range(count)) if parents[node] < 0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        depth[node] = depth[parents[node]] + 1 if parents[node] >= 0 else 0
        waiting.extend(reversed(children[node]))
    if max(depth) > MAX_DEPTH:
        objects[depth.index(MAX_DEPTH + 1)].fail(f"lies below more than {MAX_DEPTH} others")
    if len(order) < count:
        objects[min(set(range(count)) - set(order))].fail("is its own ancestor")
    tree = NodeTree(objects, parents, children, order, np.zeros((count, 3)), np.zeros((count, 4)), np.ones((count, 3)))
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


def split_matrices(matrices: Floats) -> tuple[Floats, Floats, Bools]:
    """(scale (N, 3), rotations wxyz (N, 4), exact (N,)) of 3x3 matrices (N, 3, 3) taken as rotation times scale.

    Where one is not (shear), the rotation is the nearest one. A mirroring matrix gets a negative x scale.
    """
    scale = np.linalg.norm(matrices, axis=1)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(matrices), 1))
    exact = np.count_nonzero(matrices, axis=(1, 2)) <= 3
    regular = np.flatnonzero(((scale > 1e-12) & (scale < 1e30)).all(axis=1))
    if len(regular):
        some, size = matrices[regular], scale[regular]
        size[:, 0] = np.where(np.linalg.det(some / size[:, None]) < 0, -size[:, 0], size[:, 0])
        u, _, vt = np.linalg.svd(some / size[:, None])
        u[:, :, 2] *= np.sign(np.linalg.det(u @ vt))[:, None]
        nearest = u @ vt
        away = np.abs(nearest * size[:, None] - some).max(axis=(1, 2))
        scale[regular], exact[regular] = size, away <= 1e-4 * np.abs(size).max(axis=1)
        rotations[regular] = pm.from_matrix(nearest)
    return scale, rotations, exact


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
    chosen = named or animated or set(range(count))
    top = [0] * count  # the outermost ancestor of each node
    for node in tree.order:
        top[node] = node if tree.parents[node] < 0 else top[tree.parents[node]]
    tops = Counter(top[node] for node in tree.order if node in chosen)
    main = tops.most_common(1)[0][0]
    left_out = tops.total() - tops[main]
    if left_out and named:
        tree.notes.append(f"{left_out} joints are not under {tree.name(main)!r} and were left out")
    below = [int(node in chosen and top[node] == main) for node in range(count)]  # chosen nodes at or below each
    for node in reversed(tree.order):
        if tree.parents[node] >= 0:
            below[tree.parents[node]] += below[node]
    needed = [node for node in tree.order if below[node] and top[node] == main]
    root = [node for node in needed if below[node] == below[main]][-1]
    needed = needed[needed.index(root) :]
    for skin in skins:
        if len(skin) == len(needed) and set(skin) == set(needed) and _parents_first(skin, tree.parents, root):
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


@dataclass(frozen=True)
class Folded:
    """The transforms of a skeleton's joints in our terms, over no axis (the rest pose) or over frames.

    `translation` (..., 3) [m] and `rotations[..., 0, :]` place the root in the world; `offsets` (..., J, 3) [m];
    `scale` (..., J, 3) is the scale that each joint hands to what hangs on it.
    """

    translation: Floats
    rotations: Floats
    offsets: Floats
    scale: Floats


def fold(
    tree: NodeTree,
    joints: list[int],
    world: tuple[Floats, float],
    tracks: dict[tuple[int, str], Floats],
    frames: int | None = None,
) -> Folded:
    """Fold nodes with scales into joints without: `tracks` holds the (F, 3) or (F, 4) transforms that move.

    `world` is a rotation and a scale [m per unit] above everything: VRM 0 files face away, and a file may have another
    unit.
    """
    lead = () if frames is None else (frames,)
    parent_of = {node: j for j, node in enumerate(joints)}
    rotations = np.empty((*lead, len(joints), 4))
    offsets = np.empty((*lead, len(joints), 3))
    scale = np.empty((*lead, len(joints), 3))

    def local(node: int, path: str) -> Floats:
        return np.asarray(tracks.get((node, path), getattr(tree, path)[node]))

    rotation, size = world
    position: Floats = np.zeros(3)
    carried: Floats = np.full(3, size)  # the scale that reaches the next node
    for node in [*tree.ancestors(joints[0]), joints[0]]:
        position = position + pm.rotate(rotation, carried * local(node, "translation"))
        rotation = pm.multiply(rotation, local(node, "rotation"))
        carried = _uniform(carried) * local(node, "scale")
    rotations[..., 0, :], offsets[..., 0, :], scale[..., 0, :] = rotation, position, carried
    for j, node in enumerate(joints[1:], start=1):
        above = scale[..., parent_of[tree.parents[node]], :]
        offsets[..., j, :] = above * local(node, "translation")
        rotations[..., j, :] = local(node, "rotation")
        scale[..., j, :] = _uniform(above) * local(node, "scale")
    return Folded(offsets[..., 0, :].copy(), rotations, offsets, scale)


def uneven(scale: Floats) -> Floats:
    """How far a scale (..., 3) is from a uniform, positive one, relative to its size."""
    size = np.abs(scale).max(axis=-1)
    return np.asarray((scale.max(axis=-1) - scale.min(axis=-1)) / np.where(size > 0, size, 1.0))


def _uniform(scale: Floats) -> Floats:
    """The uniform scale nearest to a scale (..., 3)."""
    return np.asarray(scale.mean(axis=-1, keepdims=True))


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

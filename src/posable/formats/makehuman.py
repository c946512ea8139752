"""MakeHuman rigs: a `.mhskel` file with the base mesh and the weights next to it.

A rig names bones by head and tail; each of those is the mean of some vertices of the base mesh `base.obj`, in
decimetres. We give it in metres, standing on the floor (the mesh's `joint-ground`), with the body alone: helpers for
clothes, hair and teeth and the little cubes at the joints are left out.

Decided: at rest all joints are aligned with the world, as in BVH files; `rotation_plane` and `roll` (the bone axes of
an armature in a modelling program) are not used. A joint of ours sits at a bone's head; the tail of a bone without
children is an end site. A rig other than the default one sums the weights of the default bones it refers to
(`weights_reference`, else `reference`); a default bone that nobody refers to gives its weights to the nearest above it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compute import FormatError, PosableError
from ..compute.files import inside_folder, read_bytes
from ..compute.types import Floats, Ints
from ..skeleton import Character, Motion, Pose, Skeleton, SkinnedMesh, topological_order
from .gltf.checked_json import JsonObject, parse_json
from .obj import read_groups

DECIMETRE = 0.1
SKIN = (222, 178, 152, 255)  # sRGB
MAX_BYTES = 256 * 2**20
MAX_WEIGHTS = 4  # joints a vertex; what renderers take
MAX_BONES = 10_000
FPS = 30.0


def read(path: Path, *, fps: float = FPS) -> Motion:
    """Read a rig as a motion of one frame at rest; `base.obj` and the weights must lie next to it."""
    rig = _json(path)
    bones = _bones(rig)
    names, parents = _sorted(path, bones)
    vertices, faces, ground = read_base_mesh(_next_to(path, "base.obj"))
    means = _means(rig, {bone[end] for bone in bones.values() for end in ("head", "tail")}, vertices)
    heads = np.array([means[bones[name]["head"]] for name in names])
    tails = np.array([means[bones[name]["tail"]] for name in names])
    floor = np.array([0.0, ground, 0.0])
    heads, tails, vertices = (DECIMETRE * (points - floor) for points in (heads, tails, vertices))
    offsets = heads - np.where(np.arange(len(names))[:, None] > 0, heads[np.maximum(parents, 0)], 0.0)
    leaves = sorted(set(range(len(names))) - set(parents))
    joints, weights, notes = _weights(path, rig, bones, names, len(vertices))
    used = np.unique(faces)
    mesh = SkinnedMesh(
        name="body",
        vertices=vertices[used],
        faces=np.searchsorted(used, faces).astype(np.int32),
        joints=joints[used],
        weights=weights[used],
        bind_positions=heads,
        bind_orientations=np.tile([1.0, 0.0, 0.0, 0.0], (len(names), 1)),
        colours=np.tile(np.array(SKIN, np.uint8), (len(used), 1)),
    )
    skeleton = Skeleton(
        names,
        parents,
        offsets,
        end_parents=leaves,
        end_offsets=(tails - heads)[leaves],
        character=Character(meshes=(mesh,)),
    )
    pose = Pose(skeleton.rest.translation[None], skeleton.rest.rotations[None])
    return Motion(skeleton, pose, fps, rig.text("name"), tuple(notes))


def read_base_mesh(path: Path) -> tuple[Floats, Ints, float]:
    """Return (vertices (V, 3) of the whole mesh [dm], triangles (T, 3) of `body`, height of `joint-ground` [dm])."""
    vertices, faces, group, names = read_groups(path, MAX_BYTES)
    body, ground = (
        faces[group == names.index(name)] if name in names else faces[:0] for name in ("body", "joint-ground")
    )
    if not len(body):
        raise FormatError(path, "has no group `body` with faces")
    low = vertices[np.unique(ground), 1].mean() if len(ground) else vertices[np.unique(body), 1].min()
    return vertices, body, float(low)


def _bones(rig: JsonObject) -> dict[str, dict[str, Any]]:
    bones: dict[str, dict[str, Any]] = {}
    for name, entry in rig.object("bones").members():
        parent = entry.text("parent") if entry.has("parent") else ""
        bones[name] = {"parent": parent, "head": entry.text("head"), "tail": entry.text("tail"), "json": entry}
    if not 0 < len(bones) <= MAX_BONES:
        rig.fail(f"has {len(bones)} bones; expected 1 to {MAX_BONES}", "bones")
    for bone in bones.values():
        if bone["parent"] and bone["parent"] not in bones:
            bone["json"].fail(f"is {bone['parent']!r}, which is no bone of this rig", "parent")
    return bones


def _sorted(path: Path, bones: dict[str, dict[str, Any]]) -> tuple[list[str], list[int]]:
    """The bones' names, parents before children, and their parents as indices."""
    names = list(bones)
    index = {name: k for k, name in enumerate(names)}
    parents = [index[bone["parent"]] if bone["parent"] else -1 for bone in bones.values()]
    try:
        order = topological_order(parents)
    except PosableError as error:
        raise FormatError(path, str(error), "bones") from None
    rank = {bone: j for j, bone in enumerate(order)}
    return [names[k] for k in order], [rank[parents[k]] if parents[k] >= 0 else -1 for k in order]


def _means(rig: JsonObject, used: set[str], vertices: Floats) -> dict[str, Floats]:
    """The position (3,) of each joint that bones use, and which many bones may share: the mean of its vertices."""
    joints = rig.object("joints")
    means = {}
    for joint in sorted(used):
        if not joints.has(joint):
            joints.fail(f"has no joint {joint!r}, which a bone names")
        around = joints.indices(joint, len(vertices), "vertices")
        if not around:
            joints.fail("names no vertices", joint)
        means[joint] = np.asarray(vertices[around].mean(axis=0))
    return means


def _weights(
    path: Path, rig: JsonObject, bones: dict[str, dict[str, Any]], names: list[str], count: int
) -> tuple[NDArray[np.int32], Floats, list[str]]:
    """(joints (V, 4), weights (V, 4), notes): the four largest weights of each vertex, summing to one."""
    named = rig.text("weights_file")
    if Path(named).name != named or "\\" in named or ":" in named:
        rig.fail(f"is {named[:80]!r}; expected the name of a file next to the rig", "weights_file")
    table = _json(_next_to(path, named or "default_weights.mhw")).object("weights")
    owners = _owners(path, bones, names)
    pairs: list[tuple[Ints, Ints, Floats]] = []  # vertices, joints, weights
    lost = []
    for bone in table.value:
        joint = owners.get(bone)
        if joint is None:
            lost.append(bone)
            continue
        try:
            rows = np.array(table.value[bone], dtype=np.float64).reshape(-1, 2)
            inside = (rows[:, 0] >= 0) & (rows[:, 0] < count) & (rows[:, 1] >= 0) & (rows[:, 1] < 1e6)
            fits = bool(inside.all()) and bool((rows[:, 0] % 1 == 0).all())
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            table.fail(f"expected pairs of a vertex below {count} and a weight", bone)
        pairs.append((rows[:, 0].astype(np.int64), np.full(len(rows), joint), rows[:, 1]))
    top, largest = _largest(pairs, count, len(names))
    total = largest.sum(axis=1, keepdims=True)
    first = np.eye(1, largest.shape[1])
    largest = np.where(total > 0, largest / np.where(total > 0, total, 1.0), first)  # no weights: the root carries it
    notes = [f"weights of {len(lost)} bones belong to nobody in this rig ({', '.join(lost[:3])})"] if lost else []
    return np.where(total > 0, top, np.zeros_like(top)), largest, notes


def _largest(pairs: list[tuple[Ints, Ints, Floats]], count: int, bones: int) -> tuple[NDArray[np.int32], Floats]:
    """(joints (V, 4), weights (V, 4)) of each vertex, the largest first; a table of all bones could fill the memory."""
    width = min(MAX_WEIGHTS, bones)
    top, largest = np.zeros((count, width), np.int32), np.zeros((count, width))
    if not pairs:
        return top, largest
    vertex, joint, weight = (np.concatenate(column) for column in zip(*pairs, strict=True))
    cells, inverse = np.unique(vertex * bones + joint, return_inverse=True)  # a bone may be there several times
    summed = np.bincount(inverse, weight)
    vertex, joint = np.divmod(cells, bones)
    order = np.lexsort((joint, -summed, vertex))
    vertex, joint, summed = vertex[order], joint[order], summed[order]
    rank = np.arange(len(vertex)) - np.searchsorted(vertex, vertex)
    leading = rank < width
    top[vertex[leading], rank[leading]], largest[vertex[leading], rank[leading]] = joint[leading], summed[leading]
    return top, largest


def _owners(path: Path, bones: dict[str, dict[str, Any]], names: list[str]) -> dict[str, int]:
    """Which joint takes the weights of which bone of the default rig."""
    owners: dict[str, int] = {}
    for j, name in enumerate(names):
        entry = bones[name]["json"]
        key = "weights_reference" if entry.has("weights_reference") else "reference"
        referred = entry.value.get(key) or [name]
        if not isinstance(referred, list) or not all(isinstance(bone, str) for bone in referred):
            entry.fail("expected a list of bone names", key)
        for bone in referred:
            owners.setdefault(bone, j)
    default = path.with_name("default.mhskel")
    if default.is_file() and default != path:
        above = {name: bone["parent"] for name, bone in _bones(_json(_next_to(path, default.name))).items()}
        nobodys: set[str] = set()
        for bone in above:
            passed = []
            chain = bone
            while chain and chain not in owners and chain not in nobodys:
                passed.append(chain)
                nobodys.add(chain)  # until an owner is found; a rig that runs in a circle ends here too
                chain = above[chain]
            if chain in owners:
                nobodys.difference_update(passed)
                owners |= dict.fromkeys(passed, owners[chain])
    return owners


def _next_to(path: Path, name: str) -> Path:
    """The file of this name in the rig's folder; a link that leads out of it is refused."""
    if inside_folder(path.parent, name) is None:
        raise FormatError(path.with_name(name), "leads out of the rig's folder")
    return path.with_name(name)


def _json(path: Path) -> JsonObject:
    return JsonObject(path, parse_json(path, read_bytes(path, MAX_BYTES)))

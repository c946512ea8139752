"""MakeHuman rigs: a `.mhskel` file with the base mesh and the weights beside it.

A rig names bones by head and tail; each of those is the mean of some vertices of the base mesh `base.obj`, in
decimetres. We give it in metres, standing on the floor (the mesh's `joint-ground`), with the body alone: helpers for
clothes, hair and teeth and the little cubes at the joints are left out.

Decided: at rest all joints are aligned with the world, as in BVH files; `rotation_plane` and `roll` (the bone axes of
an armature in a modelling program) are not used. A joint of ours sits at a bone's head; the tail of a bone without
children is an end site. A rig other than the default one sums the weights of the default bones it refers to
(`weights_reference`, else `reference`); a default bone that nobody refers to gives its weights to the nearest above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compute import FormatError, PosableError
from ..compute.types import Floats
from ..skeleton import Character, Motion, Pose, Skeleton, SkinnedMesh, topological_order
from .gltf.checked_json import Place, parse_json

DECIMETRE = 0.1
SKIN = (222, 178, 152, 255)  # sRGB
MOST_BYTES = 256 * 2**20
MOST_WEIGHTS = 4  # joints a vertex; what renderers take
MOST_SHARES = 50_000_000  # vertices times bones
FPS = 30.0


def read(path: Path, options: Mapping[str, Any]) -> Motion:
    """Read a rig as a motion of one frame at rest; `base.obj` and the weights must lie beside it."""
    rig = _json(path)
    bones = _bones(rig)
    names, parents = _sorted(path, bones)
    vertices, faces, ground = read_base_mesh(path.with_name("base.obj"))
    heads = np.array([_mean(rig, bones[name]["head"], vertices) for name in names])
    tails = np.array([_mean(rig, bones[name]["tail"], vertices) for name in names])
    floor = np.array([0.0, ground, 0.0])
    heads, tails, vertices = (DECIMETRE * (places - floor) for places in (heads, tails, vertices))
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
    return Motion(skeleton, pose, float(options.get("fps", FPS)), rig.text("name"), tuple(notes))


def read_base_mesh(path: Path) -> tuple[Floats, NDArray[np.int64], float]:
    """(vertices (V, 3) of the whole mesh [dm], triangles (T, 3) of its group `body`, height of `joint-ground`)."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    grounds: set[int] = set()
    group = ""
    for number, line in enumerate(_text(path).splitlines(), start=1):
        words = line.split()
        if not words or words[0] not in ("v", "f", "g"):
            continue
        try:
            if words[0] == "g":
                group = words[1] if len(words) > 1 else ""
            elif words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
            elif group in ("body", "joint-ground"):
                corners = [int(word.split("/")[0]) - 1 for word in words[1:]]
                if min(corners) < 0 or max(corners) >= len(vertices) or len(corners) < 3:
                    raise ValueError
                if group == "body":
                    faces += [(corners[0], a, b) for a, b in pairwise(corners[1:])]
                else:
                    grounds |= set(corners)
        except ValueError:
            raise FormatError(path, f"cannot read {line[:60]!r}", f"line {number}") from None
    if not faces:
        raise FormatError(path, "has no group `body` with faces")
    places = np.array(vertices, dtype=np.float64) if {len(v) for v in vertices} == {3} else np.full((1, 3), np.nan)
    if not np.isfinite(places).all():
        raise FormatError(path, "has vertices that are not three finite numbers")
    low = places[sorted(grounds), 1].mean() if grounds else places[np.unique(faces), 1].min()
    return places, np.array(faces, dtype=np.int64), float(low)


def _bones(rig: Place) -> dict[str, dict[str, Any]]:
    bones: dict[str, dict[str, Any]] = {}
    for name, place in rig.object("bones").members():
        parent = place.text("parent") if place.has("parent") else ""
        bones[name] = {"parent": parent, "head": place.text("head"), "tail": place.text("tail"), "place": place}
    if not bones:
        rig.fail("is empty", "bones")
    for bone in bones.values():
        if bone["parent"] and bone["parent"] not in bones:
            bone["place"].fail(f"is {bone['parent']!r}, which is no bone of this rig", "parent")
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


def _mean(rig: Place, joint: str, vertices: Floats) -> Floats:
    places = rig.object("joints")
    if not places.has(joint):
        places.fail(f"has no joint {joint!r}, which a bone names")
    around = places.indices(joint, len(vertices), "vertices")
    if not around:
        places.fail("names no vertices", joint)
    return np.asarray(vertices[around].mean(axis=0))


def _weights(
    path: Path, rig: Place, bones: dict[str, dict[str, Any]], names: list[str], count: int
) -> tuple[NDArray[np.int32], Floats, list[str]]:
    """(joints (V, 4), weights (V, 4), notes): the four largest shares of each vertex, summing to one."""
    file = _beside(path, rig.text("weights_file") or "default_weights.mhw", rig)
    table = _json(file).object("weights")
    owners = _owners(path, bones, names)
    if count * len(names) > MOST_SHARES:
        rig.fail(f"{len(names)} bones for a mesh of {count} vertices are too many", "bones")
    dense = np.zeros((count, len(names)))
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
        dense[:, joint] += np.bincount(rows[:, 0].astype(np.int64), rows[:, 1], minlength=count)
    top = np.argsort(-dense, axis=1, kind="stable")[:, :MOST_WEIGHTS].astype(np.int32)
    shares = np.take_along_axis(dense, top, axis=1)
    total = shares.sum(axis=1, keepdims=True)
    first = np.eye(1, shares.shape[1])
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), first)  # no weights: the root carries it
    notes = [f"weights of {len(lost)} bones belong to nobody in this rig ({', '.join(lost[:3])})"] if lost else []
    return np.where(total > 0, top, np.zeros_like(top)), shares, notes


def _owners(path: Path, bones: dict[str, dict[str, Any]], names: list[str]) -> dict[str, int]:
    """Which joint takes the weights of which bone of the default rig."""
    owners: dict[str, int] = {}
    for j, name in enumerate(names):
        place = bones[name]["place"]
        key = "weights_reference" if place.has("weights_reference") else "reference"
        referred = place.value.get(key) or [name]
        if not isinstance(referred, list) or not all(isinstance(bone, str) for bone in referred):
            place.fail("expected a list of bone names", key)
        for bone in referred:
            owners.setdefault(bone, j)
    default = path.with_name("default.mhskel")
    if default.is_file() and default != path:
        above = {name: bone["parent"] for name, bone in _bones(_json(default)).items()}
        for bone in above:
            chain = bone
            for _ in range(len(above)):  # a rig that runs in a circle ends here too
                if not chain or chain in owners:
                    break
                chain = above[chain]
            if chain in owners:
                owners.setdefault(bone, owners[chain])
    return owners


def _beside(path: Path, name: str, rig: Place) -> Path:
    if Path(name).name != name or "\\" in name or ":" in name:
        rig.fail(f"is {name!r}; expected the name of a file beside the rig", "weights_file")
    return path.with_name(name)


def _json(path: Path) -> Place:
    return Place(path, parse_json(path, _text(path).encode()))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(path, f"has {path.stat().st_size} bytes; at most {MOST_BYTES} are read")
        return path.read_text(encoding="utf-8", errors="strict")
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror} (a rig needs it beside it)") from None
    except UnicodeDecodeError as error:
        raise FormatError(path, "is not text in UTF-8", f"byte {error.start}") from None

"""USD in and out: skinned characters and their animation as UsdSkel.

Text (`.usda`) is written by `usd.write`, without any package. Files of every kind (`.usda`, `.usdc`, `.usd`, `.usdz`)
are read with Pixar's library (the extra `usd`), in a process of its own (`usd.extract`): it is C++, and a broken file
shall neither end the interpreter nor fill its memory. Reading gives a `Motion` in metres, Y up, with the joints of the
skeleton that has an animation (the largest of them), and the meshes bound to those joints.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ... import math as pm
from ...compute import FormatError, MissingExtraError, PosableError
from ...compute.types import Floats
from ...skeleton import Character, Motion, Pose, Skeleton, SkinnedMesh
from ..doubts import doubts
from ..gltf.mesh import to_srgb
from ..polygons import fans
from ..skins import bound_mesh, heaviest
from ..trees import Folded, Tree, fold, sampled, scale_notes, split_matrices, walked
from .write import write

__all__ = ["animations", "read", "write"]

PATIENCE, PATIENCE_PER_BYTE = 120.0, 2e-6  # [s] that reading may take, and for each byte of the file
MEMORY, MEMORY_PER_BYTE = 3_000_000_000, 40  # bytes of address space, most of which the library itself maps
UP = {"Y": np.eye(3), "Z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])}


@dataclass
class JointTree(Tree):
    """The joints of a skeleton below the prim that holds them, which is node 0."""

    paths: list[str] = field(default_factory=list)

    def name(self, node: int) -> str:
        """The last part of a joint's path."""
        return self.paths[node].rpartition("/")[2]


class UsdSource:
    """Where a character is from: the names of the file's animations."""

    def __init__(self, facts: dict[str, Any], path: Path, scale: float | None) -> None:
        self.facts, self.path, self.scale = facts, path.absolute(), scale

    def about(self) -> dict[str, Any]:
        """Return what the file says of itself."""
        return {"format": "USD", "unit_m": self.facts["unit"], "axes": f"up {self.facts['up']}"}

    def animations(self) -> list[str]:
        """The names of the animations."""
        return list(self.facts["animations"])

    def motion(self, animation: str | int) -> Motion:
        """Another animation of the file, which is read once more."""
        if not self.path.is_file():
            raise PosableError(f"{self.path.name} is no longer there; open the file once more for {animation!r}")
        return read(self.path, scale=self.scale, animation=animation)


def animations(path: str | PathLike[str]) -> list[str]:
    """The names of a file's animations, in order."""
    with tempfile.TemporaryDirectory(prefix="posable-usd-") as folder:
        return list(_extracted(Path(path), Path(folder), None)["animations"])


@np.errstate(all="ignore")
def read(
    path: Path, *, scale: float | None = None, fps: float | None = None, animation: str | int | None = None
) -> Motion:
    """Read a USD file; the options are those of `posable.load`. Frames are time codes where all samples are."""
    with tempfile.TemporaryDirectory(prefix="posable-usd-") as folder:
        facts = _extracted(path, Path(folder), animation)
        motion = _motion(path, Path(folder), facts, scale)
    return motion if fps is None else _resampled(motion, fps)


def _resampled(motion: Motion, fps: float) -> Motion:
    return motion if len(motion) < 2 else motion.resampled(fps)


def _extracted(path: Path, folder: Path, animation: str | int | None) -> dict[str, Any]:
    """Return what a process of its own finds in the file; what ends that process is an error, too."""
    if importlib.util.find_spec("pxr") is None:
        raise MissingExtraError("reading USD needs the package 'usd-core'; install it with: pip install 'posable[usd]'")
    size = path.stat().st_size
    command = [sys.executable, "-m", "posable.formats.usd.extract", str(path.absolute()), str(folder)]
    command.append("" if animation is None else str(animation))
    limit = MEMORY + MEMORY_PER_BYTE * size
    # The library would make a thread for each core, and look for plug-ins and files where the environment says.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PXR_", "USD_"))}
    environment = inherited | {"PXR_WORK_THREAD_LIMIT": "1", "POSABLE_THREADS": "1", "POSABLE_USD_MEMORY": str(limit)}
    try:
        subprocess.run(
            command, capture_output=True, env=environment, timeout=PATIENCE + PATIENCE_PER_BYTE * size, check=False
        )
    except subprocess.TimeoutExpired:
        raise FormatError(path, "takes usd-core longer than a file of its size may") from None
    answer = folder / "facts.json"
    if not answer.exists():
        raise FormatError(path, "ended the program that reads it (usd-core): it is broken, or asks for too much memory")
    facts: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "refused" in facts:
        raise FormatError(path, facts["refused"], facts["where"] or None)
    return facts


def _motion(path: Path, folder: Path, facts: dict[str, Any], scale: float | None) -> Motion:
    unit = float(facts["unit"]) if scale is None else scale
    if not 1e-9 < unit < 1e9 or facts["up"] not in UP:
        raise FormatError(path, f"has a unit of {unit} m and {facts['up']!r} up; expected a length, and Y or Z")
    rest, above = np.load(folder / "still.npy"), np.load(folder / "above.npy")
    tree, joints = _tree(path, facts, rest, above)
    world = (np.asarray(pm.from_matrix(UP[facts["up"]])), unit)
    still = fold(tree, joints, world, {})
    _check(path, still)
    names = tree.names(joints)
    index = {node: j for j, node in enumerate(joints)}
    parents = [-1, *(index[tree.parents[node]] for node in joints[1:])]
    bare = Skeleton(names, parents, still.offsets, rest_rotations=still.rotations)
    to_ours = np.eye(4)
    to_ours[:3, :3] = UP[facts["up"]] * unit
    meshes, notes = _meshes(facts, folder, joints, to_ours @ above[0].T, bare)
    skeleton = bare.replace(character=Character(meshes=meshes, source=UsdSource(facts, path, scale)))
    if not facts["animation"]:
        pose = Pose(still.translation[None], still.rotations[None])
        notes.append("the skeleton has no animation: one frame at rest")
    else:
        pose, more = _poses(path, folder, tree, joints, world, still, names, above)
        notes += more
    motion = Motion(skeleton, pose, float(facts["fps"]), facts["animation"])
    return motion.replace(notes=tuple([*doubts(motion, unit), *tree.notes, *notes][:20]))


def _tree(path: Path, facts: dict[str, Any], rest: Floats, above: Floats) -> tuple[JointTree, list[int]]:
    """The joints as a tree below the prim that holds them, and the nodes that are joints of ours."""
    parents = [-1, *(parent + 1 for parent in facts["parents"])]
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents[1:], start=1):
        children[parent].append(node)
    order, _ = walked(parents, children)
    local = np.swapaxes(np.concatenate([above[:1], rest]), 1, 2)  # points are rows in USD
    scale, rotations, exact = split_matrices(local[:, :3, :3])
    paths = [*(["Skeleton"]), *facts["joints"]]
    tree = JointTree(parents, children, order, local[:, :3, 3].copy(), rotations, scale, paths=paths)
    for node in np.flatnonzero(~exact)[:3].tolist():
        tree.notes.append(f"{tree.name(node)[:60]!r} has a sheared matrix; its nearest rotation is used")
    return tree, tree.joints_of(set(range(1, len(parents))), False)


def _poses(
    path: Path,
    folder: Path,
    tree: JointTree,
    joints: list[int],
    world: tuple[Floats, float],
    still: Folded,
    names: list[str],
    above: Floats,
) -> tuple[Pose, list[str]]:
    """The poses of all frames, from files that lie on the disk; only what stays is as long as the motion."""
    values = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("translation", "rotation", "scale")]
    if len(above) > 1:
        matrices = np.swapaxes(above, 1, 2)
        size, rotations, _ = split_matrices(matrices[:, :3, :3])
        moving = {"translation": matrices[:, :3, 3], "rotation": rotations, "scale": size}

    def tracks_of(first: int, last: int) -> dict[tuple[int, str], Floats]:
        tracks: dict[tuple[int, str], Floats] = {}
        for path_name, some in zip(("translation", "rotation", "scale"), values):
            block = np.asarray(some[first:last], dtype=np.float64)
            if path_name == "rotation":
                length = np.linalg.norm(block, axis=-1, keepdims=True)
                if not ((length > 1e-6) & (length < 1e6)).all():
                    raise FormatError(path, "has rotations that are no unit quaternions", f"frames {first} to {last}")
                block = block / length
            tracks |= {(j + 1, path_name): block[:, j] for j in range(block.shape[1])}
            if len(above) > 1:
                tracks[0, path_name] = moving[path_name][first:last]
        return tracks

    pose, swing = sampled(tree, joints, world, still, len(values[0]), tracks_of, lambda some: _check(path, some))
    return pose, scale_notes(still, swing, names)


def _check(path: Path, folded: Folded) -> None:
    if not folded.is_finite():
        raise FormatError(path, "its transforms multiply beyond all numbers")


def _meshes(
    facts: dict[str, Any], folder: Path, joints: list[int], to_ours: Floats, skeleton: Skeleton
) -> tuple[tuple[SkinnedMesh, ...], list[str]]:
    found, notes = [], []
    rest = skeleton.forward(skeleton.rest)
    index = {node: j for j, node in enumerate(joints)}
    own = [index[node + 1] for node in range(len(facts["joints"]))]
    for number, about in enumerate(facts["meshes"]):
        part = {
            name: np.load(folder / f"mesh{number}_{name}.npy")
            for name in ("points", "counts", "corners", "joints", "weights", "bind", "geometry")
        }
        count = len(part["points"])
        flat = part["points"] @ part["geometry"][:3, :3] + part["geometry"][3, :3]
        vertices = flat @ to_ours[:3, :3].T + to_ours[:3, 3]
        binds = to_ours @ np.swapaxes(part["bind"], 1, 2)
        corners, counts = part["corners"].astype(np.int64), part["counts"].astype(np.int64)
        fits = (counts >= 0).all() and counts.sum() == len(corners) and (corners >= 0).all() and (corners < count).all()
        if not (fits and np.isfinite(vertices).all() and np.isfinite(binds).all()):
            notes.append(f"the mesh {about['name'][:60]!r} names vertices that are not there, and is not shown")
            continue
        mirrored = about["mirrored"] != (np.linalg.det(to_ours[:3, :3] @ part["geometry"][:3, :3].T) < 0)
        faces, _ = fans(counts, corners)
        colours = np.empty((0, 4), np.uint8)
        if about["colours"]:
            table = np.clip(np.nan_to_num(np.load(folder / f"mesh{number}_colours.npy")), 0.0, 1.0)
            colours = to_srgb(np.concatenate([table, np.ones((count, 1))], axis=1))
        carried = _carried(part["joints"], part["weights"], np.array(own))
        named = about["name"], vertices, faces
        found.append(bound_mesh(*named, carried, rest, np.array(own), binds, colours, mirrored=mirrored))
    return tuple(found), notes


def _carried(numbers: Any, weights: Floats, own: Any) -> tuple[Any, Floats]:
    """(V, K) joints of ours and their weights, from those of the file; a joint that is not there has none."""
    count, width = weights.shape
    counted = np.where(np.isfinite(weights) & (numbers >= 0), weights, 0.0).reshape(-1)
    joint = own[np.maximum(numbers, 0)]
    return heaviest(np.repeat(np.arange(count), width), joint.reshape(-1), counted, count, joint[:, 0])

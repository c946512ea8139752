"""FBX in, with a reader of our own: versions 7.1 to 7.7, binary and text.

Reading gives a `Motion` in metres, Y up: the bones and what skins name (`fbx.models`), one take sampled at even times
(`fbx.takes`, `fbx.curves`), the skinned meshes (`fbx.mesh`). The rest pose is the one in which the character was bound.

The package `ufbx` was tried first and not taken: it states no licence in its wheel, and a broken file ended the
interpreter.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ... import math as pm
from ...compute import FormatError
from ...compute.types import Floats, Ints
from ...skeleton import Character, Motion, Pose, Skeleton
from ..doubts import doubts
from ..trees import COMPONENTWISE, INHERITED, Folded, fold, moves, sampled, scale_notes, split_matrices
from .document import Document, read_document
from .mesh import MeshReader, Skin, bind_poses, read_skins
from .models import ModelTree, joint_nodes, read_models
from .records import MAGIC
from .takes import Take, frame_ticks, read_takes, take_names

__all__ = ["FbxSource", "animations", "read"]

REST_FPS = 30.0  # of the one frame of a file without takes
AXES = "XYZ"
ENDS = ("_end", ".end", "nub", "_end_end")


class FbxSource:
    """The file that a character was read from, for its other takes."""

    def __init__(self, document: Document, unit: float, animation: str) -> None:
        self.document, self.unit, self.animation = document, unit, animation

    def animations(self) -> list[str]:
        """The names of the takes."""
        return take_names(self.document)

    def about(self) -> dict[str, Any]:
        """Return what the file says of itself."""
        document = self.document
        axes = {name: AXES[int(np.argmax(np.abs(row)))] for name, row in zip(("right", "up", "front"), document.axes)}
        signs = {name: "-" if row.min() < 0 else "" for name, row in zip(axes, document.axes)}
        form = "binary" if document.source.data.startswith(MAGIC) else "text"
        return {
            "format": f"FBX {document.version / 1000:.1f}, {form}",
            "unit_m": self.unit,
            "axes": ", ".join(f"{name} {signs[name]}{axis}" for name, axis in axes.items()),
            "stated_fps": document.fps or "",
            "animation": self.animation,
        }

    def motion(self, animation: str | int) -> Motion:
        """Another take, on a skeleton of its own."""
        return _motion(self.document, self.unit, None, animation)


def animations(path: str | PathLike[str]) -> list[str]:
    """The names of a file's takes, in order: what `load(path, animation=...)` takes."""
    return take_names(read_document(Path(path)))


def read(
    path: Path, *, scale: float | None = None, fps: float | None = None, animation: str | int | None = None
) -> Motion:
    """Read an `.fbx` file; the options are those of `posable.load`. Curves are sampled at `fps`."""
    document = read_document(path)
    return _motion(document, document.unit if scale is None else scale, fps, animation)


@np.errstate(all="ignore")  # absurd numbers overflow in between, and are refused where they would stay
def _motion(document: Document, unit: float, fps: float | None, animation: str | int | None) -> Motion:
    tree = read_models(document)
    skins = read_skins(document, tree)
    takes = read_takes(document, tree, animation)
    skinned = {cluster.node for skin in skins for cluster in skin.clusters}
    joints = joint_nodes(tree, skinned, {node for take in takes for node in take.nodes})
    concerned = {*joints, *tree.ancestors(joints[0])}
    take = next((one for one in takes if one.nodes & concerned), takes[0] if takes else None)
    moving = set() if take is None else take.nodes & concerned

    world = (np.asarray(pm.from_matrix(document.axes)), unit)
    ticks, rate = np.empty(0, np.int64), fps or document.fps or REST_FPS
    if take is not None and moving:
        ticks, rate = frame_ticks(document, take, moving, len({*moving, *joints}), fps)
        _settle(tree, take, moving, ticks[:1])
    worlds = _rest_worlds(tree, bind_poses(document, tree, skins))
    to_ours = np.eye(4)
    to_ours[:3, :3] = document.axes * unit
    joints, ends = _without_ends(tree, joints, skins, take)
    rest = _rest(document, worlds, to_ours, tree, joints)
    skeleton = _skeleton(document, tree, joints, ends, to_ours @ worlds, rest)
    reader = MeshReader(document, tree, joints, to_ours, worlds)
    meshes = reader.read(skins, skeleton.forward(skeleton.rest))
    skeleton = skeleton.replace(
        character=Character(meshes=meshes, source=FbxSource(document, unit, take.name if take else ""))
    )
    notes = [*tree.notes, *reader.notes, *_take_notes(document, take, animation)]
    if take is None or not moving:
        stated = fold(tree, joints, world, {})
        _check_finite(document, stated)
        offsets = stated.offsets[None] if moves(rest, stated.offsets[None]) else None
        pose, more = Pose(stated.translation[None], stated.rotations[None], offsets), [_STILL]
        return _noted(Motion(skeleton, pose, rate), unit, [*notes, *more])

    def tracks_of(first: int, last: int) -> dict[tuple[int, str], Floats]:
        tracks: dict[tuple[int, str], Floats] = {}
        for node in moving:
            transform = take.transforms(tree, node, ticks[first:last])
            if transform is not None:
                tracks |= {
                    (node, path): values for path, values in zip(("translation", "rotation", "scale"), transform)
                }
        return tracks

    def check(folded: Folded) -> None:
        _check_finite(document, folded)

    pose, swing = sampled(tree, joints, world, rest, len(ticks), tracks_of, check)
    notes += scale_notes(rest, swing, skeleton.names)
    return _noted(Motion(skeleton, pose, rate, take.name), unit, notes)


_STILL = "the file has no animation of these joints: one frame as it states them"


def _noted(motion: Motion, unit: float, notes: list[str], max_notes: int = 20) -> Motion:
    notes = [*doubts(motion, unit), *notes]
    more = [f"and {len(notes) - max_notes} more"] if len(notes) > max_notes else []
    return motion.replace(notes=(*notes[:max_notes], *more))


def _take_notes(document: Document, take: Take | None, animation: str | int | None) -> list[str]:
    names = take_names(document)
    if take is None or animation is not None or len(names) < 2:
        return []
    others = ", ".join(repr(name[:40]) for name in names[:6]) + (", ..." if len(names) > 6 else "")
    return [f"the file has {len(names)} takes ({others}); {take.name[:40]!r} is the first that moves the body"]


def _settle(tree: ModelTree, take: Take, moving: set[int], ticks: Ints) -> None:
    """Give models the lengths that a take begins with; what they state beside it may be anything.

    Only the pose in which they were bound counts more. Their rotations at rest stay those that they state.
    """
    for node in moving:
        stated = take.stated(tree, node, ticks)
        placed = tree.moved(node, stated["translation"][0], tree.euler[node], stated["scale"][0])
        tree.translation[node], tree.rotation[node], tree.scale[node] = placed


def _rest_worlds(tree: ModelTree, binds: dict[int, Floats]) -> Floats:
    """(N, 4, 4) where all models are at rest, in the file's world: as they were bound, else as they hang on those."""
    rotations = np.asarray(pm.to_matrix(tree.rotation))
    worlds = np.tile(np.eye(4), (len(tree.models), 1, 1))
    taken = np.ones((len(tree.models), 3))  # the scale that each takes from above, which is not its own
    for node in tree.order:
        above, how = tree.parents[node], INHERITED if tree.inherit is None else int(tree.inherit[node])
        local = np.eye(4)
        local[:3, :3], local[:3, 3] = rotations[node] * tree.scale[node], tree.translation[node]
        if node in binds:
            worlds[node] = binds[node]
        elif above < 0 or how == INHERITED:
            worlds[node] = local if above < 0 else worlds[above] @ local
        else:
            scale = np.linalg.norm(worlds[above][:3, :3], axis=0)
            taken[node] = scale if how == COMPONENTWISE else taken[above]
            worlds[node] = worlds[above] @ local
            worlds[node][:3, :3] = (worlds[above][:3, :3] / np.where(scale > 0, scale, 1.0)) @ (
                local[:3, :3] * taken[node]
            )
        if above >= 0 and (node in binds or how == INHERITED):
            taken[node] = np.linalg.norm(worlds[above][:3, :3], axis=0)
    return worlds


def _rest(document: Document, worlds: Floats, to_ours: Floats, tree: ModelTree, joints: list[int]) -> Folded:
    """The rest pose as a skeleton has it: rotations and offsets relative to the parent, without scales."""
    placed = to_ours @ worlds[joints]
    if not np.isfinite(placed).all():
        raise FormatError(document.path, "its transforms multiply beyond all numbers", "Objects")
    scale, orientations, _ = split_matrices(placed[:, :3, :3])
    positions = placed[:, :3, 3]
    index = {node: j for j, node in enumerate(joints)}
    above = [index[tree.parents[node]] for node in joints[1:]]
    offsets, rotations = positions.copy(), orientations.copy()
    inverse = pm.conjugate(orientations[above])
    offsets[1:] = pm.rotate(inverse, positions[1:] - positions[above])
    rotations[1:] = pm.multiply(inverse, orientations[1:])
    return Folded(positions[0], rotations, offsets, scale)


def _without_ends(
    tree: ModelTree, joints: list[int], skins: list[Skin], take: Take | None
) -> tuple[list[int], list[int]]:
    """The joints that are no mere ends of bones, and those that are: leaves called so, which nothing moves or needs."""
    heavy = {one.node for skin in skins for one in skin.clusters if len(one.weights) and one.weights.max() > 0.0}
    animated = set() if take is None else take.nodes
    shown = {skin.node for skin in skins}
    members = set(joints)
    ends = [
        node
        for node in joints[1:]
        if not members.intersection(tree.children[node])
        and node not in heavy | animated | shown
        and tree.name(node).lower().endswith(ENDS)
    ]
    gone = set(ends)
    return [node for node in joints if node not in gone], ends


def _skeleton(
    document: Document, tree: ModelTree, joints: list[int], ends: list[int], placed: Floats, rest: Folded
) -> Skeleton:
    index = {node: j for j, node in enumerate(joints)}
    bare = Skeleton(
        tree.names(joints),
        [-1, *(index[tree.parents[node]] for node in joints[1:])],
        rest.offsets,
        rest_rotations=rest.rotations,
    )
    parents = [index[tree.parents[node]] for node in ends]
    if not ends:
        return bare
    frames = bare.forward(bare.rest)
    reach = placed[ends, :3, 3] - frames.positions[parents]
    return bare.replace(
        end_parents=parents,
        end_offsets=pm.rotate(pm.conjugate(frames.orientations[parents]), reach),
        end_names=[tree.name(node) for node in ends],
    )


def _check_finite(document: Document, folded: Folded) -> None:
    if not folded.is_finite():
        raise FormatError(document.path, "its transforms multiply beyond all numbers", "Objects")

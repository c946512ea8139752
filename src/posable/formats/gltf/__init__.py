"""glTF, GLB and VRM in and out (glTF 2.0; VRM 0 and VRM 1).

Reading gives a `Motion` in metres: the skeleton (`gltf.nodes` decides which nodes make it), one animation sampled at
even times (`gltf.animation`), and a `Character` with the skinned meshes, the humanoid map of a VRM file and the
document itself, so that saving keeps all that Posable does not understand.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import KINDS, Character, Motion, Pose, Skeleton
from ..doubts import doubts
from ..trees import STILL, Folded, fold, sampled, scale_notes
from . import vrma
from .accessors import Accessors
from .animation import animation_names, chosen_animation, frame_times, read_channels
from .checked_json import JsonObject
from .document import Document, read_document, write_document
from .mesh import MeshReader
from .nodes import (
    NodeTree,
    end_nodes,
    faces_backwards,
    humanoid_nodes,
    mark,
    read_nodes,
    skeleton_nodes,
)
from .scene import Scene, scene_of
from .write import GltfSource, edited_document, new_document, on_character

__all__ = ["Scene", "animations", "read", "scene_of", "write"]

SUFFIXES = (".glb", ".gltf", ".vrm", ".vrma")
REST_FPS = 30.0  # of the one frame of a file without animation


def animations(path: str | PathLike[str]) -> list[str]:
    """The names of a file's animations, in order: what `load(path, animation=...)` takes."""
    return animation_names(read_document(Path(path)))


@np.errstate(all="ignore")  # absurd numbers overflow in between, and are refused where they would stay
def read(path: Path, *, scale: float = 1.0, fps: float | None = None, animation: str | int | None = None) -> Motion:
    """Read a `.gltf`, `.glb`, `.vrm` or `.vrma` file; the options are those of `posable.load`.

    Keys are sampled at `fps`. A file without animation gives one frame at rest.
    """
    return _motion(read_document(path), scale, fps, animation)


class GltfFile(GltfSource):
    """The file that a character was read from, with its other animations."""

    def about(self) -> dict[str, Any]:
        """Return what the file says of itself."""
        asset = self.document.root.object("asset")
        return {
            "format": f"glTF {asset.text('version')}",
            "made_by": str(asset.value.get("generator", ""))[:60],
            "unit_m": self.world[1],
        }

    def animations(self) -> list[str]:
        """The names of the animations."""
        return animation_names(self.document)

    def motion(self, animation: str | int) -> Motion:
        """Another animation, on a skeleton of its own."""
        with np.errstate(all="ignore"):
            return _motion(self.document, self.world[1], None, animation)


def _motion(document: Document, scale: float, fps: float | None, animation: str | int | None) -> Motion:
    tree = read_nodes(document)
    accessors = Accessors(document)
    roles = humanoid_nodes(document)
    chosen = chosen_animation(document, animation)
    channels = [] if chosen is None else read_channels(document, accessors, chosen)
    joints = skeleton_nodes(document, tree, {channel.node for channel in channels}, roles)
    rotation = np.array([0.0, 0.0, 1.0, 0.0] if faces_backwards(document) else [1.0, 0.0, 0.0, 0.0])
    world = (rotation, scale)
    still = fold(tree, joints, world, {})
    _check_finite(document.root.item("nodes", joints[0]), still)
    skeleton = _skeleton(document, tree, joints, world, still, roles, accessors)

    concerned = {*joints, *tree.ancestors(joints[0])}
    channels = [channel for channel in channels if channel.node in concerned]
    name = "" if chosen is None else animation_names(document)[chosen]
    notes = list(tree.notes)
    if chosen is None or not channels:
        pose = Pose(skeleton.offsets[None, 0], skeleton.rest_rotations[None])
        motion = Motion(skeleton, pose, fps or REST_FPS, name)
        return motion.replace(
            notes=_few([*doubts(motion, scale), *notes, "the file has no animation: one frame at rest"])
        )
    entry = document.root.item("animations", chosen)
    times, rate = frame_times(channels, entry, fps, max(len(concerned), len(channels)), accessors.budget)

    def tracks_of(first: int, last: int) -> dict[tuple[int, str], Floats]:
        return {(channel.node, channel.path): channel.sample(times[first:last]) for channel in channels}

    noise = 0.0 if mark(entry).has("fps") else STILL
    pose, swing = sampled(
        tree, joints, world, still, len(times), tracks_of, lambda some: _check_finite(entry, some), noise
    )
    if times[0] > 1e-4:
        notes.append(f"the animation starts at {times[0]:.4g} s: that is frame 0")
    notes += scale_notes(still, swing, skeleton.names)
    motion = Motion(skeleton, pose, rate, name)
    return motion.replace(notes=_few([*doubts(motion, scale), *notes]))


def write(
    motion: Motion, path: Path, *, character: str | PathLike[str] | None = None, keep_animations: bool = True
) -> None:
    """Write a `.gltf`, `.glb`, `.vrm` or `.vrma` file, complete in itself; the options are those of `posable.save`.

    A skeleton that was read from such a file is written back into it: only the motion changes. Any other gets
    a new file; what is no VRM file cannot become one, and a `.vrma` is of any person.
    """
    if character is not None:
        wearer = Path(character)
        if wearer.suffix.lower() not in SUFFIXES:
            raise PosableError(f"character={str(wearer)!r}: expected the path of a {', '.join(SUFFIXES)} file")
        motion = on_character(motion, read(wearer).skeleton, wearer)
    own = motion.skeleton.character
    source = own.source if own else None
    own_file = source if isinstance(source, GltfSource) and source.fits(motion.skeleton) else None
    is_animation = own_file is not None and own_file.document.root.object("extensions").has(vrma.EXTENSION)
    if path.suffix.lower() == ".vrma" and not is_animation:
        document, binary = vrma.animation_document(motion)
    elif own_file is not None:
        document, binary = edited_document(motion, own_file, keep=keep_animations)
    else:
        document, binary = new_document(motion)
    extensions = document.get("extensions", {})
    if path.suffix.lower() == ".vrm" and not {"VRM", "VRMC_vrm"} & set(extensions):
        raise PosableError(f"cannot write {str(path)!r}: the motion's character is from no VRM file; write a .glb")
    write_document(path, document, binary)


def _skeleton(
    document: Document,
    tree: NodeTree,
    joints: list[int],
    world: tuple[Floats, float],
    still: Folded,
    roles: dict[str, int],
    accessors: Accessors,
) -> Skeleton:
    index = {node: j for j, node in enumerate(joints)}
    ends = end_nodes(tree, joints)
    end_parents = [index[tree.parents[node]] for node in ends]
    end_names = [mark(tree.objects[node]).text("end") or tree.name(node) for node in ends]
    names = tree.names(joints)
    kinds, axes = _kinds(tree, joints)
    bare = Skeleton(
        names,
        [-1, *(index[tree.parents[node]] for node in joints[1:])],
        still.offsets,
        rest_rotations=still.rotations,
        kinds=kinds,
        axes=axes,
        end_parents=end_parents,
        end_offsets=(still.scale[end_parents] * tree.translation[ends]).reshape(-1, 3),
        end_names=end_names,
    )
    reader = MeshReader(document, accessors, tree, joints)
    meshes = reader.read(still, bare.forward(bare.rest))
    tree.notes += reader.notes
    found = {role: names[index[node]] for role, node in roles.items() if node in index}
    source = GltfFile(document, tuple(joints), world)
    return bare.replace(character=Character(meshes=meshes, roles=found or None, source=source))


def _kinds(tree: NodeTree, joints: list[int]) -> tuple[list[str], Floats]:
    """The kinds and axes (J, 2, 3) of joints, from the marks in files of ours; a free root and balls elsewhere."""
    kinds = ["free", *["ball"] * (len(joints) - 1)]
    axes = np.tile(np.eye(3)[:2], (len(joints), 1, 1))
    for j, node in enumerate(joints):
        ours = mark(tree.objects[node])
        if ours.has("kind"):
            kinds[j] = ours.text("kind")
            if kinds[j] not in KINDS or (kinds[j] == "free" and j > 0):
                ours.fail(f"is {kinds[j]!r}; expected one of {', '.join(KINDS)} (free for the root only)", "kind")
            axes[j] = ours.numbers("axes", 6, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)).reshape(2, 3)
            _check_axes(ours, kinds[j], axes[j])
    return kinds, axes


def _check_axes(ours: JsonObject, kind: str, axes: Floats) -> None:
    lengths = np.linalg.norm(axes, axis=1)
    one, two = kind in ("hinge", "hinge_twist", "slide"), kind == "hinge_twist"
    if (one and lengths[0] < 1e-6) or (two and (lengths[1] < 1e-6 or abs(axes[0] @ axes[1]) > 1e-6)):
        ours.fail(f"are {axes.tolist()}: a {kind} needs an axis (and a twist axis across it)", "axes")


def _few(notes: list[str], max_notes: int = 20) -> tuple[str, ...]:
    return tuple(notes if len(notes) <= max_notes else [*notes[:max_notes], f"and {len(notes) - max_notes} more"])


def _check_finite(entry: JsonObject, folded: Folded) -> None:
    if not folded.is_finite():
        entry.fail("its transforms multiply beyond all numbers")

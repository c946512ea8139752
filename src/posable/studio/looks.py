"""How a body is drawn: nodes of the scene that follow its joints.

What is sent for a frame decides whether 60 Hz hold (see `benchmarks/studio.py`):

- `VolumeLook`: the volumes of a person, one skinned mesh for each tone; two small messages a joint that carries
  volumes, and the browser's graphics card moves the vertices.
- `CharacterLook`: the skinned meshes of a file. They have many bones and colours, and viser draws a mesh in one
  colour, so the vertices are posed here once and sent, one message for each colour.
- `BoneLook`: octahedra and balls, two batched meshes, four messages whatever the number of joints.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import viser
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import math as pm
from ..collision import Volumes
from ..compute.types import Floats, Ints
from ..skeleton import Character, Frames, Pose, SkinnedMesh
from .theme import Rgb

MOST_COLOURS = 8
"""A character is drawn in at most so many colours: each is a mesh of its own."""


class Look(Protocol):
    """Part of a body's appearance."""

    def update(self, frames: Frames) -> None:
        """Follow the joints; `frames` is one pose on the stage."""

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide; below 1 it is seen through."""

    def remove(self) -> None:
        """Take it off the stage."""


class SkinPool:
    """Names for skinned meshes, each used again and again.

    The page of viser 1.1 breaks when a skinned mesh is removed (it looks for a node that has just gone), but not when
    one takes another's place under the same name. So none is ever removed: one that is not needed becomes a hidden
    triangle, and its name is given to the next.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._free: list[str] = []
        self._count = 0

    def add(self, **mesh: Any) -> viser.MeshSkinnedHandle:
        """A skinned mesh; the arguments are those of viser's `add_mesh_skinned`, without a name."""
        if not self._free:
            self._count += 1
            self._free.append(f"/skin{self._count}")
        return self._scene.add_mesh_skinned(self._free.pop(), **mesh)

    def remove(self, handle: viser.MeshSkinnedHandle) -> None:
        """Take a mesh off the stage."""
        self._scene.add_mesh_skinned(
            handle.name,
            vertices=np.eye(3),
            faces=np.array([[0, 1, 2]]),
            bone_wxyzs=((1.0, 0.0, 0.0, 0.0),),
            bone_positions=((0.0, 0.0, 0.0),),
            skin_weights=np.ones((3, 1)),
            visible=False,
        )
        self._free.append(handle.name)


class VolumeLook:
    """The volumes of a body, each rigid with its joint."""

    def __init__(self, pool: SkinPool, volumes: Volumes, start: Frames, tones: tuple[Rgb, ...]):
        self._pool = pool
        meshes = [volumes.mesh(k, _corners(volumes, k)) for k in range(len(volumes))]
        self._parts: list[tuple[viser.MeshSkinnedHandle, Ints]] = []
        for tone in np.unique(volumes.tones):
            of_tone = np.flatnonzero(volumes.tones == tone)
            counts = np.array([len(meshes[k][0]) for k in of_tone])
            joints = np.repeat(volumes.joints[of_tone], counts)
            used, bone = np.unique(joints, return_inverse=True)
            local = np.concatenate([meshes[k][0] for k in of_tone])
            first = np.cumsum(counts) - counts
            handle = pool.add(
                vertices=pm.rotate(start.orientations[joints], local) + start.positions[joints],
                faces=np.concatenate([meshes[k][1] + at for k, at in zip(of_tone, first)]),
                bone_wxyzs=start.orientations[used],
                bone_positions=start.positions[used],
                skin_weights=np.eye(len(used))[bone],
                color=tones[min(int(tone), len(tones) - 1)],
            )
            self._parts.append((handle, used))

    def update(self, frames: Frames) -> None:
        """Move every joint that carries volumes."""
        for handle, used in self._parts:
            for bone, joint in zip(handle.bones, used):
                bone.wxyz = frames.orientations[joint]
                bone.position = frames.positions[joint]

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide."""
        for handle, _ in self._parts:
            _show(handle, visible, opacity)

    def remove(self) -> None:
        """Take the meshes away."""
        for handle, _ in self._parts:
            self._pool.remove(handle)


class CharacterLook:
    """The skinned meshes of a character, posed here by linear blend skinning."""

    def __init__(self, scene: viser.SceneApi, name: str, character: Character, start: Frames, plain: Rgb):
        self._skins = [_Skin(mesh) for mesh in character.meshes]
        self._handles: list[list[tuple[viser.MeshHandle, Ints]]] = []
        for i, (mesh, skin) in enumerate(zip(character.meshes, self._skins)):
            posed = skin.posed(start)
            parts = []
            for k, (colour, faces) in enumerate(_colour_groups(mesh, plain)):
                kept = np.unique(faces)
                handle = scene.add_mesh_simple(
                    f"{name}/mesh{i}/colour{k}",
                    vertices=posed[kept],
                    faces=np.searchsorted(kept, faces),
                    color=colour,
                    side="double",
                )
                parts.append((handle, kept))
            self._handles.append(parts)

    def update(self, frames: Frames) -> None:
        """Pose the vertices and send them."""
        for skin, parts in zip(self._skins, self._handles):
            posed = skin.posed(frames)
            for handle, kept in parts:
                handle.vertices = posed[kept]

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide."""
        for handle, _ in (part for parts in self._handles for part in parts):
            _show(handle, visible, opacity)

    def remove(self) -> None:
        """Take the meshes away."""
        for handle, _ in (part for parts in self._handles for part in parts):
            handle.remove()


class BoneLook:
    """An octahedron from each joint to each of its children and end sites, and a ball at each joint."""

    def __init__(self, scene: viser.SceneApi, name: str, start: Frames, moves: bool, tones: tuple[Rgb, ...]):
        skeleton = start.skeleton
        self._moves = moves  # a file that moves joints changes the bones' lengths
        self._tip = np.flatnonzero(skeleton.parents >= 0)
        self._tail = np.concatenate([skeleton.parents[self._tip], skeleton.end_parents])
        self._turn, lengths = self._shape(start)
        size = max(float(np.ptp(start.positions, axis=0).max(initial=0.0)), float(lengths.max(initial=0.0)), 0.1)
        self._widest = 0.03 * size
        self._bones = scene.add_batched_meshes_simple(
            f"{name}/bones",
            *_octahedron(),
            batched_wxyzs=pm.multiply(start.orientations[self._tail], self._turn),
            batched_positions=start.positions[self._tail],
            batched_scales=self._scales(lengths),
            batched_colors=tones[2],
            flat_shading=True,
            lod="off",
        )
        self._balls = scene.add_batched_meshes_simple(
            f"{name}/balls",
            *_ball(0.009 * size),
            batched_wxyzs=start.orientations,
            batched_positions=start.positions,
            batched_colors=tones[1],
            lod="off",
        )

    def update(self, frames: Frames) -> None:
        """Move bones and balls."""
        if self._moves:
            self._turn, lengths = self._shape(frames)
            self._bones.batched_scales = self._scales(lengths)
        self._bones.batched_wxyzs = pm.multiply(frames.orientations[self._tail], self._turn).astype(np.float32)
        self._bones.batched_positions = frames.positions[self._tail].astype(np.float32)
        self._balls.batched_positions = frames.positions.astype(np.float32)

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide; bones are never seen through."""
        self._bones.visible = self._balls.visible = visible

    def remove(self) -> None:
        """Take them away."""
        self._bones.remove()
        self._balls.remove()

    def _shape(self, frames: Frames) -> tuple[Floats, Floats]:
        """(B, 4) from +Y to each bone in its joint's frame, so that it turns with the joint; (B,) its length [m]."""
        tips = np.concatenate([frames.positions[self._tip], frames.ends])
        bones = pm.rotate(pm.conjugate(frames.orientations[self._tail]), tips - frames.positions[self._tail])
        lengths = np.linalg.norm(bones, axis=-1)
        safe = np.where(lengths[:, None] > 1e-9, bones, [0.0, 1.0, 0.0])
        return pm.between(np.broadcast_to([0.0, 1.0, 0.0], safe.shape), safe), lengths

    def _scales(self, lengths: Floats) -> NDArray[np.float32]:
        width = np.minimum(0.22 * lengths, self._widest)
        return np.stack([width, lengths, width], axis=-1).astype(np.float32)


def volumes_of(body: object) -> Volumes | None:
    """The volumes of a body, or None where it has none."""
    volumes = getattr(body, "volumes", None)
    return volumes if isinstance(volumes, Volumes) and len(volumes) else None


def moves_joints(pose: Pose) -> bool:
    """Whether a motion changes the lengths of bones."""
    return pose.offsets is not None and bool(np.ptp(pose.offsets[:, 1:], axis=0).max(initial=0.0) > 1e-6)


class _Skin:
    """Linear blend skinning as one sparse product: the blended matrix of each vertex is W @ matrices."""

    def __init__(self, mesh: SkinnedMesh) -> None:
        count, most = mesh.joints.shape
        rows = np.repeat(np.arange(count), most)
        shape = (count, len(mesh.bind_positions))
        self._weights = csr_array((mesh.weights.ravel(), (rows, mesh.joints.ravel())), shape=shape)
        self._mesh = mesh

    def posed(self, frames: Frames) -> NDArray[np.float32]:
        turn = pm.multiply(frames.orientations, pm.conjugate(self._mesh.bind_orientations))
        shift = frames.positions - pm.rotate(turn, self._mesh.bind_positions)
        matrices = np.concatenate([pm.to_matrix(turn), shift[..., None]], axis=-1).reshape(-1, 12)
        blended = (self._weights @ matrices).reshape(-1, 3, 4)
        moved: Floats = np.matmul(blended[..., :3], self._mesh.vertices[..., None])[..., 0] + blended[..., 3]
        return moved.astype(np.float32)


def _colour_groups(mesh: SkinnedMesh, plain: Rgb) -> list[tuple[Rgb, Ints]]:
    """The faces (T, 3) of a mesh by colour; colours that are many are gathered into a few."""
    if len(mesh.colours) != len(mesh.vertices):
        return [(plain, np.asarray(mesh.faces, dtype=np.int64))]
    of_face = mesh.colours[mesh.faces][..., :3].astype(np.float64).mean(axis=1)
    colours = np.unique(np.rint(of_face / 8.0) * 8.0, axis=0)
    if len(colours) > MOST_COLOURS:
        from scipy.cluster.vq import kmeans2

        colours, _ = kmeans2(of_face, MOST_COLOURS, minit="++", seed=0)
    nearest = np.argmin(((of_face[:, None] - colours) ** 2).sum(axis=-1), axis=1)
    groups: list[tuple[Rgb, Ints]] = []
    for k in np.unique(nearest):
        red, green, blue = (int(c) for c in np.clip(np.rint(of_face[nearest == k].mean(axis=0)), 0, 255))
        groups.append(((red, green, blue), np.asarray(mesh.faces[nearest == k], dtype=np.int64)))
    return groups


def _corners(volumes: Volumes, k: int) -> int:
    """Corners around a volume, an even number from 8 to 22: what looks round at its size in a window.

    A person is then some 6 000 vertices, which a browser also draws where it has no graphics card.
    """
    return 2 * int(np.clip(3.5 + 60 * volumes.radii[k].max(), 4, 11))


def _octahedron() -> tuple[Floats, Ints]:
    """A bone from the origin to +Y, of length 1 and half-width 1, widest near its joint."""
    belt = 0.16
    corners = [[0, 0, 0], [1, belt, 0], [0, belt, 1], [-1, belt, 0], [0, belt, -1], [0, 1, 0]]
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]]
    return np.array(corners, dtype=np.float64), np.array(faces)


def _ball(radius: float) -> tuple[Floats, Ints]:
    one = Volumes([0], ["ellipsoid"], np.zeros((1, 3)), np.zeros((1, 3)), np.full((1, 3), radius))
    return one.mesh(0, detail=12)


def _show(handle: viser.MeshHandle | viser.MeshSkinnedHandle, visible: bool, opacity: float) -> None:
    handle.visible = visible
    handle.opacity = None if opacity >= 1.0 else opacity

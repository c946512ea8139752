"""How a body is drawn: nodes of the scene that follow its joints.

What is sent for a moment decides whether 60 Hz hold (see `benchmarks/bench_studio.py`). A message costs the server
some 60 µs however small it is, so a body is few nodes:

- `MeshLook`: the volumes of a person or the skinned meshes of a file. The vertices are posed here, by one sparse
  product, and sent: one message a colour, because viser draws a mesh in one colour. (Its skinned meshes take two
  messages a bone, which is six times the time for the built-in figure, and their removal breaks the page of viser 1.1.)
- `BoneLook`: octahedra and balls, two batched meshes, three messages whatever the number of joints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import viser
from numpy.typing import NDArray

from ... import math as pm
from ...collision import Volumes
from ...compute.types import Floats, Ints
from ...skeleton import Character, Frames, Pose
from .paint import Paint, PaintedMesh
from .skin import Skin, inset
from .theme import Rgb, linear

MOST_COLOURS = 10
"""A character is drawn in at most so many colours: each is a mesh of its own."""


class Look(Protocol):
    """Part of a body's appearance."""

    def update(self, frames: Frames) -> None:
        """Follow the joints; `frames` is one pose on the stage."""

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide; below 1 it is seen through."""

    def paint(self, paint: Paint | None) -> None:
        """Have the colours of a paint, or its own again."""

    def remove(self) -> None:
        """Take it off the stage."""


class MeshLook:
    """Triangles that follow the joints, in a few colours; made by `volume_look` and `character_look`.

    Args:
        scene: where they are drawn.
        name: of their node.
        skin: how the vertices follow.
        groups: a colour and the faces (T, 3) that have it, for each colour.
        start: where the joints are at first.
        shadow: whether they cast one.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        skin: Skin,
        groups: list[tuple[Rgb, Ints]],
        start: Frames,
        shadow: bool = True,
    ) -> None:
        self._scene, self._name, self._skin = scene, name, skin
        self._faces = np.concatenate([np.zeros((0, 3), np.int64), *(faces for _, faces in groups)])
        self._parts: list[tuple[viser.MeshHandle, Ints]] = []
        self._painted: PaintedMesh | None = None
        self._shown = (True, 1.0)
        self._posed = posed = skin.posed(start)
        for k, (colour, faces) in enumerate(groups):
            kept = np.unique(faces)
            handle = scene.add_mesh_simple(
                f"{name}/colour{k}",
                vertices=posed[kept],
                faces=np.searchsorted(kept, faces),
                color=colour,
                side=skin.side,
                cast_shadow=shadow,
            )
            self._parts.append((handle, kept))

    def update(self, frames: Frames) -> None:
        """Pose the vertices and send them."""
        self._posed = posed = self._skin.posed(frames)
        if self._painted is not None:
            self._painted.update(posed)
            return
        for handle, kept in self._parts:
            handle.vertices = posed[kept]

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide."""
        self._shown = (visible, opacity)
        for handle, _ in self._parts:
            handle.visible = visible and self._painted is None
            handle.opacity = None if opacity >= 1.0 else opacity
        if self._painted is not None:
            self._painted.show(visible, opacity)

    def paint(self, paint: Paint | None) -> None:
        """Wear the colours of a paint: triangles by the joints that carry them."""
        if paint is not None and self._painted is None:
            shares, name = self._skin.shares(len(paint.carriers)), self._name
            self._painted = PaintedMesh(
                self._scene, name, shares, self._faces, self._posed, paint.carriers, self._skin.side
            )
            self.show(*self._shown)
        elif paint is None and self._painted is not None:
            self._painted.remove()
            self._painted = None
            for handle, kept in self._parts:
                handle.vertices = self._posed[kept]
            self.show(*self._shown)
        if paint is not None and self._painted is not None:
            self._painted.colour(paint)

    def remove(self) -> None:
        """Take the meshes away."""
        for handle, _ in self._parts:
            handle.remove()
        if self._painted is not None:
            self._painted.remove()


def volume_look(
    scene: viser.SceneApi, name: str, volumes: Volumes, start: Frames, tones: tuple[Rgb, ...], depth: float = 0.0
) -> MeshLook:
    """The volumes of a body, carried by their joints, in the colours of their tones; a ghost is `depth` [m] thinner."""
    meshes = [volumes.mesh(k, _corners(volumes, k)) for k in range(len(volumes))]
    if depth:  # but no finger turned inside out
        thin = np.minimum(depth, 0.4 * volumes.radii[:, :2].min(axis=1))
        meshes = [(inset(vertices, faces, float(d)), faces) for (vertices, faces), d in zip(meshes, thin)]
    counts = np.array([len(vertices) for vertices, _ in meshes])
    first = np.cumsum(counts) - counts
    skin = Skin.of_volumes(np.concatenate([v for v, _ in meshes]), np.repeat(volumes.joints, counts), start.skeleton)
    groups = []
    for tone in np.unique(volumes.tones):
        faces = [meshes[k][1] + first[k] for k in np.flatnonzero(volumes.tones == tone)]
        groups.append((tones[min(int(tone), len(tones) - 1)], np.concatenate(faces)))
    return MeshLook(scene, name, skin, groups, start, shadow=not depth)


def character_look(
    scene: viser.SceneApi, name: str, character: Character, start: Frames, plain: Rgb, depth: float = 0.0
) -> MeshLook:
    """The skinned meshes of a character in its own colours, gathered into a few; `plain` where it has none.

    With a `depth` [m] it is a ghost: so much thinner, and all of it plain.
    """
    meshes = character.meshes
    if depth:
        thin = [inset(mesh.vertices, np.asarray(mesh.faces, dtype=np.int64), depth) for mesh in meshes]
        meshes = tuple(replace(mesh, vertices=v, colours=mesh.colours[:0]) for mesh, v in zip(meshes, thin))
    faces, colours, first = [], [], 0
    for mesh in meshes:
        faces.append(np.asarray(mesh.faces, dtype=np.int64) + first)
        given = mesh.colours[mesh.faces][..., :3].astype(np.float64).mean(axis=1) if len(mesh.colours) else plain
        colours.append(np.broadcast_to(np.asarray(given, dtype=np.float64), (len(mesh.faces), 3)))
        first += len(mesh.vertices)
    groups = colour_groups(np.concatenate(faces), np.concatenate(colours))
    return MeshLook(scene, name, Skin.of_meshes(meshes), groups, start, shadow=not depth)


class BoneLook:
    """An octahedron from each joint to each of its children and end sites, and a ball at each joint."""

    def __init__(self, scene: viser.SceneApi, name: str, start: Frames, moves: bool, tones: tuple[Rgb, ...]):
        skeleton = start.skeleton
        self._tones = tones
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

    def paint(self, paint: Paint | None) -> None:
        """Wear the colours of a paint: a bone that of the joint which turns it."""
        joints = None if paint is None else linear(paint.of_joints)
        bones = np.array(self._tones[2], np.uint8) if joints is None else joints[self._tail]
        balls = np.array(self._tones[1], np.uint8) if joints is None else joints
        for handle, colours in ((self._bones, bones), (self._balls, balls)):
            if not np.array_equal(handle.batched_colors, colours):
                handle.batched_colors = colours

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


def colour_groups(faces: Ints, colours: Floats) -> list[tuple[Rgb, Ints]]:
    """Faces (T, 3) by their colours (T, 3), 0 to 255; colours that are many are gathered into a few."""
    if not len(faces):
        return []
    few = np.unique(np.rint(colours / 8.0) * 8.0, axis=0)
    if len(few) > MOST_COLOURS:
        from scipy.cluster.vq import kmeans2

        few, _ = kmeans2(colours, MOST_COLOURS, minit="++", seed=0)
    nearest = np.argmin(((colours[:, None] - few) ** 2).sum(axis=-1), axis=1)
    groups: list[tuple[Rgb, Ints]] = []
    for k in np.unique(nearest):
        red, green, blue = (int(c) for c in np.clip(np.rint(colours[nearest == k].mean(axis=0)), 0, 255))
        groups.append(((red, green, blue), faces[nearest == k]))
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

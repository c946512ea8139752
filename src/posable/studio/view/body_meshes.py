"""How a body is drawn: nodes of the scene that follow its joints.

What is sent for a moment decides whether 60 Hz hold (see `benchmarks/bench_studio.py`). A message costs the server
some 60 µs however small it is, so a body is few nodes:

- `MeshLook`: the skin around the volumes of a person (`skin`), the volumes themselves, or the skinned meshes of a file.
  The vertices are posed here, by one sparse product, and sent: one message a colour, because viser draws a mesh in one
  colour. (Its skinned meshes take two messages a bone, which is six times the time for the built-in figure, and their
  removal breaks the page of viser 1.1.)
- `BoneLook`: octahedra and balls, two batched meshes, three messages whatever the number of joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import viser
from numpy.typing import NDArray

from ... import math as pm
from ...collision import Volumes
from ...compute.types import Floats, Ints
from ...skeleton import Character, Frames, Pose
from ...skeleton.character import Skinning, bone_starts, octahedron, vertex_normals
from ...skeleton.simplify import simplified
from ..widgets.controls import show
from .paint import Paint, carried_groups
from .skin import skin_of
from .theme import Rgb, linear, rgb

if TYPE_CHECKING:
    from ...body import Humanoid

MAX_COLOURS = 10
"""A character is drawn in at most so many colours: each is a mesh of its own."""
MAX_VERTICES = 30_000
"""A character is drawn with about so many vertices: each is sent for every frame, 12 bytes."""
UP = np.array([0.0, 1.0, 0.0])


class Meshes:
    """Triangles of a body in several colours: a mesh for each, because viser draws a mesh in one colour.

    `posed` (V, 3) are the vertices at first [m], `groups` each colour with the faces (T, 3) that have it, and `options`
    those of viser's `add_mesh_simple`.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        posed: NDArray[np.float32],
        groups: Sequence[tuple[Rgb, Ints]],
        **options: Any,
    ) -> None:
        self.parts: list[tuple[viser.MeshHandle, Ints]] = []
        """Each mesh and its vertices (U,) among those of the body."""
        for k, (colour, faces) in enumerate(groups):
            used = np.unique(faces)
            own = np.searchsorted(used, faces)
            handle = scene.add_mesh_simple(f"{name}{k}", posed[used], own, color=colour, **options)
            self.parts.append((handle, used))

    def update(self, posed: NDArray[np.float32]) -> None:
        """Move the vertices (V, 3) [m]."""
        for handle, used in self.parts:
            handle.vertices = posed[used]

    def colour(self, colours: Sequence[Rgb]) -> None:
        """Give each mesh another colour; only what differs is sent."""
        for (handle, _), colour in zip(self.parts, colours):
            show(handle, "color", colour)

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide; below an opacity of 1 it is transparent."""
        for handle, _ in self.parts:
            handle.visible = visible
            handle.opacity = None if opacity >= 1.0 else opacity

    def remove(self) -> None:
        """Remove the meshes."""
        for handle, _ in self.parts:
            handle.remove()


class MeshLook:
    """Triangles that follow the joints by a skinning, in a few colours; made by the functions `..._look` below.

    `groups` are each colour with the faces (T, 3) that have it; `start` are the joints' frames at first.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        skinning: Skinning,
        groups: list[tuple[Rgb, Ints]],
        start: Frames,
        shadow: bool = True,
        side: Literal["front", "double"] = "front",
    ) -> None:
        self._scene, self._name, self._skinning, self._side = scene, name, skinning, side
        self._faces = np.concatenate([np.zeros((0, 3), np.int64), *(faces for _, faces in groups)])
        self._shown = (True, 1.0)
        self.posed = self._pose(start)
        """(V, 3) the vertices where they were drawn last [m]."""
        self.plain = Meshes(scene, f"{name}/colour", self.posed, groups, side=side, cast_shadow=shadow)
        """In its own colours."""
        self.painted: Meshes | None = None
        """In those of a paint, in place of its own."""
        self._blends: list[Ints] = []  # of the painted meshes
        self.owners: Ints = np.asarray(skinning.joint_weights(len(start.skeleton)).argmax(axis=1)).ravel()
        """(V,) the joint that carries each vertex most."""

    def update(self, frames: Frames) -> None:
        """Pose the vertices and send them; `frames` is one pose on the stage."""
        self.posed = self._pose(frames)
        (self.painted or self.plain).update(self.posed)

    def show(self, visible: bool, opacity: float) -> None:
        """Show or hide; below an opacity of 1 it is transparent."""
        self._shown = (visible, opacity)
        self.plain.show(visible and self.painted is None, opacity)
        if self.painted is not None:
            self.painted.show(visible, opacity)

    def paint(self, paint: Paint | None) -> None:
        """Wear the colours of a paint, triangles by the joints that carry them; None gives it its own colours again."""
        if paint is not None and self.painted is not None:
            self.painted.colour([paint.mixed(blend) for blend in self._blends])
        elif paint is not None:
            weights = self._skinning.joint_weights(len(paint.carriers))
            carried = carried_groups(weights, self._faces, paint.carriers)
            self._blends = [blend for blend, _ in carried]
            groups = [(paint.mixed(blend), faces) for blend, faces in carried]
            self.painted = Meshes(self._scene, f"{self._name}/paint", self.posed, groups, side=self._side)
            self.show(*self._shown)
        elif self.painted is not None:
            self.painted.remove()
            self.painted = None
            self.plain.update(self.posed)
            self.show(*self._shown)

    def hit(self, frames: Frames, origin: Floats, direction: Floats) -> tuple[int, float] | None:
        """Return the joint whose surface a ray meets first and how far away that is [m]; None where it meets none.

        Args:
            frames: the pose in which it is met.
            origin: (3,) of the ray [m].
            direction: (3,) of the ray, a unit vector.
        """
        a, b, c = np.moveaxis(self._skinning.posed(frames)[self._faces], 1, 0)
        # Where the ray is in each triangle: Möller and Trumbore 1997, equation 6. From either side: files are careless.
        along, across = b - a, c - a
        normal = np.cross(direction, across)
        volume = np.einsum("ti,ti->t", along, normal)
        inverse = 1.0 / np.where(np.abs(volume) > 1e-15, volume, np.inf)
        offset = origin - a
        crossed = np.cross(offset, along)
        u, v = np.einsum("ti,ti->t", offset, normal) * inverse, crossed @ direction * inverse
        distance = np.einsum("ti,ti->t", crossed, across) * inverse
        met = np.flatnonzero((inverse != 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0))
        if not len(met):
            return None
        first = met[distance[met].argmin()]
        nearest = np.argmax([1.0 - u[first] - v[first], u[first], v[first]])  # of the corners
        return int(self.owners[self._faces[first, nearest]]), float(distance[first])

    def remove(self) -> None:
        """Remove the meshes."""
        self.plain.remove()
        if self.painted is not None:
            self.painted.remove()

    def _pose(self, frames: Frames) -> NDArray[np.float32]:
        return self._skinning.posed(frames).astype(np.float32)


def skin_look(
    scene: viser.SceneApi,
    name: str,
    volumes: Volumes,
    start: Frames,
    tones: tuple[Rgb, ...],
    body: Humanoid | None = None,
    depth: float = 0.0,
) -> MeshLook:
    """Draw one skin around the volumes of a body in the colours of their tones; a ghost is `depth` [m] thinner."""
    skin = skin_of(volumes, start.skeleton, body, depth)
    skinning = Skinning.along_bones(skin.vertices, skin.joints, skin.weights, start.skeleton)
    groups = [(tones[min(int(tone), len(tones) - 1)], skin.faces[skin.tones == tone]) for tone in np.unique(skin.tones)]
    return MeshLook(scene, name, skinning, groups, start, shadow=not depth)


def volume_look(
    scene: viser.SceneApi, name: str, volumes: Volumes, start: Frames, tones: tuple[Rgb, ...], depth: float = 0.0
) -> MeshLook:
    """Draw the volumes of a body as they are, in the colours of their tones; a ghost is `depth` [m] thinner."""
    meshes = [volumes.mesh(k, _corners(volumes, k)) for k in range(len(volumes))]
    if depth:  # but no finger turned inside out
        thin = np.minimum(depth, 0.4 * volumes.radii[:, :2].min(axis=1))
        meshes = [(_inset(vertices, faces, float(d)), faces) for (vertices, faces), d in zip(meshes, thin)]
    counts = np.array([len(vertices) for vertices, _ in meshes])
    first = np.cumsum(counts) - counts
    vertices = np.concatenate([v for v, _ in meshes])
    skinning = Skinning.rigid(vertices, np.repeat(volumes.joints, counts), start.skeleton)
    groups = []
    for tone in np.unique(volumes.tones):
        faces = [meshes[k][1] + first[k] for k in np.flatnonzero(volumes.tones == tone)]
        groups.append((tones[min(int(tone), len(tones) - 1)], np.concatenate(faces)))
    return MeshLook(scene, name, skinning, groups, start, shadow=not depth)


def character_look(
    scene: viser.SceneApi, name: str, character: Character, start: Frames, plain: Rgb, depth: float = 0.0
) -> MeshLook:
    """Draw the skinned meshes of a character in its own colours, gathered into a few; `plain` where it has none.

    With a `depth` [m] it is a ghost: so much thinner, and all of it plain.
    """
    meshes = simplified(character, MAX_VERTICES)
    if depth:
        thin = [_inset(mesh.vertices, np.asarray(mesh.faces, dtype=np.int64), depth) for mesh in meshes]
        meshes = tuple(replace(mesh, vertices=v, colours=mesh.colours[:0]) for mesh, v in zip(meshes, thin))
    faces, colours, first = [], [], 0
    for mesh in meshes:
        faces.append(np.asarray(mesh.faces, dtype=np.int64) + first)
        given = mesh.colours[mesh.faces][..., :3].astype(np.float64).mean(axis=1) if len(mesh.colours) else plain
        colours.append(np.broadcast_to(np.asarray(given, dtype=np.float64), (len(mesh.faces), 3)))
        first += len(mesh.vertices)
    groups = colour_groups(np.concatenate(faces), np.concatenate(colours))
    # Files are careless about which side of a face is outside.
    return MeshLook(scene, name, Skinning.of_meshes(meshes), groups, start, shadow=not depth, side="double")


class BoneLook:
    """An octahedron from each joint to each of its children and end sites, and a ball at each joint."""

    def __init__(self, scene: viser.SceneApi, name: str, start: Frames, stretches: bool, tones: tuple[Rgb, ...]):
        self.node = name  # above its meshes
        self._tones = tones
        self._stretches = stretches  # whether the motion changes the bones' lengths
        self._starts = bone_starts(start.skeleton)
        self._rotations, lengths = self._shape(start)
        size = max(float(np.ptp(start.positions, axis=0).max(initial=0.0)), float(lengths.max(initial=0.0)), 0.1)
        self._widest = 0.03 * size
        corners, faces = octahedron(0.16)
        ball = Volumes([0], ["ellipsoid"], np.zeros((1, 3)), np.zeros((1, 3)), np.full((1, 3), 0.009 * size))
        self._bones = scene.add_batched_meshes_simple(
            f"{name}/bones",
            corners[:, [0, 2, 1]] * [1.0, 1.0, -1.0],  # along +Y
            faces,
            batched_wxyzs=pm.multiply(start.orientations[self._starts], self._rotations),
            batched_positions=start.positions[self._starts],
            batched_scales=self._scales(lengths),
            batched_colors=tones[2],
            flat_shading=True,
            lod="off",
        )
        self._balls = scene.add_batched_meshes_simple(
            f"{name}/balls",
            *ball.mesh(0, detail=12),
            batched_wxyzs=start.orientations,
            batched_positions=start.positions,
            batched_colors=tones[1],
            lod="off",
        )

    def update(self, frames: Frames) -> None:
        """Move bones and balls."""
        if self._stretches:
            self._rotations, lengths = self._shape(frames)
            self._bones.batched_scales = self._scales(lengths)
        rotations = pm.multiply(frames.orientations[self._starts], self._rotations)
        self._bones.batched_wxyzs = rotations.astype(np.float32)
        self._bones.batched_positions = frames.positions[self._starts].astype(np.float32)
        self._balls.batched_positions = frames.positions.astype(np.float32)

    def show(self, visible: bool) -> None:
        """Show or hide; bones are never transparent."""
        self._bones.visible = self._balls.visible = visible

    def paint(self, paint: Paint | None) -> None:
        """Wear the colours of a paint: a bone that of the joint which rotates it."""
        joints = None if paint is None else linear(paint.of_joints)
        bones = np.array(self._tones[2], np.uint8) if joints is None else joints[self._starts]
        balls = np.array(self._tones[1], np.uint8) if joints is None else joints
        for handle, colours in ((self._bones, bones), (self._balls, balls)):
            if not np.array_equal(handle.batched_colors, colours):
                handle.batched_colors = colours

    def remove(self) -> None:
        """Remove bones and balls."""
        self._bones.remove()
        self._balls.remove()

    def _shape(self, frames: Frames) -> tuple[Floats, Floats]:
        """Return (B, 4) from +Y to each bone in its joint's frame, so that it rotates with it; (B,) its length [m]."""
        ends = np.concatenate([frames.positions[1:], frames.ends])
        inverse = pm.conjugate(frames.orientations[self._starts])
        bones = pm.rotate(inverse, ends - frames.positions[self._starts])
        lengths = np.linalg.norm(bones, axis=-1)
        safe = np.where(lengths[:, None] > 1e-9, bones, UP)
        return pm.between(np.broadcast_to(UP, safe.shape), safe), lengths

    def _scales(self, lengths: Floats) -> NDArray[np.float32]:
        width = np.minimum(0.22 * lengths, self._widest)
        return np.stack([width, lengths, width], axis=-1).astype(np.float32)


def volumes_of(body: object) -> Volumes | None:
    """Return the volumes of a body, or None where it has none."""
    volumes = getattr(body, "volumes", None)
    return volumes if isinstance(volumes, Volumes) and len(volumes) else None


def stretches_bones(pose: Pose) -> bool:
    """Return whether the poses of a motion change the lengths of bones."""
    return pose.offsets is not None and bool(np.ptp(pose.offsets[:, 1:], axis=0).max(initial=0.0) > 1e-6)


def colour_groups(faces: Ints, colours: Floats) -> list[tuple[Rgb, Ints]]:
    """Group faces (T, 3) by their colours (T, 3), 0 to 255; many colours are gathered into a few by k-means."""
    if not len(faces):
        return []
    few = np.unique(np.rint(colours / 8.0) * 8.0, axis=0)
    if len(few) > MAX_COLOURS:
        from scipy.cluster.vq import kmeans2

        few, _ = kmeans2(colours, MAX_COLOURS, minit="++", seed=0)
    nearest = np.argmin(((colours[:, None] - few) ** 2).sum(axis=-1), axis=1)
    return [(rgb(colours[nearest == k].mean(axis=0)), faces[nearest == k]) for k in np.unique(nearest)]


def _corners(volumes: Volumes, k: int) -> int:
    """Return the corners around a volume, an even number from 8 to 22: enough to look round at its size in a window.

    A person is then some 6 000 vertices, which a browser also draws where it has no graphics card.
    """
    return 2 * int(np.clip(3.5 + 60 * volumes.radii[k].max(), 4, 11))


def _inset(vertices: Floats, faces: Ints, depth: float) -> Floats:
    """Return (V, 3) [m]: vertices of a closed surface moved inwards by a depth [m], however its faces are wound."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    outwards = np.sign(np.einsum("ti,ti->", a - vertices.mean(axis=0), np.cross(b - a, c - a)))
    moved: Floats = vertices - depth * outwards * vertex_normals(vertices, faces)
    return moved

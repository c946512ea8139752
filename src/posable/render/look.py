"""The meshes drawn for a body: the skinned meshes of its file, a person's volumes, or octahedral bones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..compute import PosableError
from ..compute.types import Floats, Ints
from ..math import rotate
from ..skeleton import Frames, Skeleton
from ..skeleton.bone_mesh import bone_starts, octahedron
from ..skeleton.skinning import vertex_normals
from .raster import Mesh

if TYPE_CHECKING:
    from ..body import Humanoid

BODY, ACCENT, DARK = (0.60, 0.69, 0.78), (0.95, 0.53, 0.35), (0.43, 0.54, 0.66)
PALETTE = (BODY, ACCENT, DARK)
"""sRGB colours of the tones of volumes: most of the body, its joints, and a darker shade for its right limbs."""


class Look(Protocol):
    """Something that can be drawn wherever its joints are."""

    def mesh(self, positions: Floats, orientations: Floats) -> Mesh:
        """Return its triangles in the world, with its joints at positions (J, 3) [m] and orientations (J, 4)."""
        ...


def look_of(skeleton: Skeleton, body: Humanoid | None = None) -> Look:
    """Return the look of a skeleton: its file's meshes, else a person when its joints have roles, else its bones."""
    if skeleton.character is not None and skeleton.character.meshes:
        return SkinnedLook(skeleton)
    if body is None:
        from ..body import Humanoid

        try:
            body = Humanoid(skeleton)
        except PosableError:  # no person: its bones are shown instead
            return bone_look(skeleton)
    return person_look(body)


@dataclass(frozen=True)
class RigidLook:
    """Triangles that each belong to one joint: vertices and normals in joint frames, a joint and a colour each."""

    vertices: Floats
    normals: Floats
    faces: Ints
    joints: Ints
    colours: Floats

    def mesh(self, positions: Floats, orientations: Floats) -> Mesh:
        """Return its triangles in the world, with its joints at positions (J, 3) [m] and orientations (J, 4)."""
        rotation = orientations[self.joints]
        vertices = positions[self.joints] + rotate(rotation, self.vertices)
        return Mesh(vertices, self.faces, rotate(rotation, self.normals), self.colours)


@dataclass(frozen=True)
class SkinnedLook:
    """The meshes of a character's file."""

    skeleton: Skeleton

    def mesh(self, positions: Floats, orientations: Floats) -> Mesh:
        """Return its triangles in the world, with its joints at positions (J, 3) [m] and orientations (J, 4)."""
        character = self.skeleton.character
        assert character is not None
        parts = []
        for skin in character.meshes:
            vertices = skin.posed(Frames(self.skeleton, positions, orientations))
            faces = skin.faces.astype(np.int64)
            colours = skin.colours[:, :3] / 255.0 if len(skin.colours) else np.tile(BODY, (len(vertices), 1))
            parts.append(Mesh(vertices, faces, vertex_normals(vertices, faces, merge=True), colours))
        return Mesh.join(parts)


def person_look(body: Humanoid, detail: int = 24) -> RigidLook:
    """A person's volumes in the colours of their tones."""
    volumes = body.volumes
    mesh = volumes.tessellated(detail)
    palette = np.array(PALETTE)[np.minimum(volumes.tones, len(PALETTE) - 1)]
    return RigidLook(mesh.vertices, mesh.normals, mesh.faces, mesh.joints, palette[mesh.volumes])


def bone_look(skeleton: Skeleton) -> RigidLook:
    """An octahedron from each joint to each of its children and end sites, a small one where it has none."""
    offsets = np.concatenate([skeleton.offsets[1:], skeleton.end_offsets.reshape(-1, 3)])
    starts = list(zip(bone_starts(skeleton).tolist(), offsets))
    size = max((float(np.linalg.norm(v)) for _, v in starts), default=0.1) or 0.1
    carriers = {p for p, v in starts if np.linalg.norm(v) > 0.01 * size}
    # A knob marks what no bone shows: leaves without an end site, and a skeleton of one joint.
    knobs = [j for j in range(len(skeleton)) if j not in carriers]
    parts = [(p, *_octahedron(v)) for p, v in starts if np.linalg.norm(v) > 0.01 * size]
    parts += [(j, *_octahedron(np.array([0.0, 0.08 * size, 0.0]), base=-1.0, girth=0.5)) for j in knobs]
    vertices = np.concatenate([corners.reshape(-1, 3) for _, corners, _ in parts])
    normals = np.concatenate([np.repeat(n, 3, axis=0) for _, _, n in parts])
    joints = np.concatenate([np.full(3 * len(n), j) for j, _, n in parts])
    colours = np.where(np.isin(joints, knobs)[:, None], ACCENT, BODY)
    return RigidLook(vertices, normals, np.arange(len(vertices)).reshape(-1, 3), joints, colours)


def _octahedron(along: Floats, base: float = 0.0, girth: float = 0.11) -> tuple[Floats, Floats]:
    """Return flat triangles (8, 3, 3) and their normals (8, 3) of a bone: thickest at a sixth of its length."""
    length = float(np.linalg.norm(along))
    axis = along / length
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    across *= girth * length / np.linalg.norm(across)
    corners, faces = octahedron(0.16 if base == 0.0 else 0.0, base)
    x, y, z = corners[:, :1], corners[:, 1:2], corners[:, 2:]
    triangles = (x * across + y * np.cross(axis, across) + z * along)[faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return triangles, normals / np.linalg.norm(normals, axis=-1, keepdims=True)

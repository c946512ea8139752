"""The meshes of bodies and obstacles, for a page: what `render.picture` draws, quantised, with few colours."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...collision import Scene, Volumes
from ...compute.types import Floats, Ints
from ...math import rotate
from ...skeleton import Skeleton, SkinnedMesh
from ...skeleton.character import vertex_normals
from ...skeleton.simplify import simplified
from ..bones import volumes_of
from ..colours import PALETTE, Rgb
from .packing import Packer

Whole: TypeAlias = NDArray[np.integer[Any]]
MAX_VERTICES = 100_000
"""A page is made for about so many vertices of a body: it is some 10 bytes each."""
MAX_JOINTS = 4
"""Joints that carry a vertex in the browser."""
TINT = 0.45
"""How much of its colour of the palette a second body with meshes of its own takes on."""


def packed_look(packer: Packer, skeleton: Skeleton, hue: int, *, tinted: bool) -> list[dict[str, Any]]:
    """Store the meshes of a skeleton: those of its file, else a person's volumes, else its bones.

    Args:
        packer: where arrays go.
        skeleton: the body.
        hue: which colours of the palette it wears.
        tinted: whether meshes with colours of their own take on some of the palette's.
    """
    tones = PALETTE[hue % len(PALETTE)]
    if skeleton.character is not None and skeleton.character.meshes:
        return [
            _packed_skin(packer, mesh, tones[0], tinted)
            for mesh in simplified(skeleton.character, MAX_VERTICES)
            if len(mesh.faces)
        ]
    return [_packed_volumes(packer, volumes_of(skeleton), tones)]


def packed_obstacles(packer: Packer, scene: Scene | None) -> list[dict[str, Any]]:
    """Store the obstacles of a scene as triangles in the world; planes, which have no end, are left out."""
    stored = []
    for one in scene.obstacles if scene is not None else ():
        if one.kind == "plane":
            continue
        vertices, faces = _shape(one.kind, one.sizes, one.length) if one.mesh is None else _of_mesh(one.mesh)
        world = one.position + rotate(one.orientation, vertices)
        shape = {"name": one.name, "vertices": packer.array(world.astype(np.float32)), "faces": _faces(packer, faces)}
        stored.append(shape)
    return stored


def _packed_volumes(packer: Packer, volumes: Volumes, tones: tuple[Rgb, Rgb, Rgb]) -> dict[str, Any]:
    """Volumes of a person, finer where they are larger."""
    parts = []
    for detail in (12, 18, 26):
        widest = volumes.radii.max(axis=1)
        chosen = np.digitize(widest, [0.1 * widest.max(), 0.3 * widest.max()]) == (12, 18, 26).index(detail)
        mesh = volumes.tessellated(detail)
        drawn = chosen[mesh.volumes[mesh.faces[:, 0]]]
        used, faces = np.unique(mesh.faces[drawn], return_inverse=True)
        parts.append((mesh, used, faces.reshape(-1, 3)))
    counts = np.cumsum([0, *(len(used) for _, used, _ in parts)])
    return _packed(
        packer,
        np.concatenate([mesh.vertices[used] for mesh, used, _ in parts]),
        np.concatenate([mesh.normals[used] for mesh, used, _ in parts]),
        np.concatenate([faces + first for (_, _, faces), first in zip(parts, counts)]),
        np.concatenate([mesh.joints[used] for mesh, used, _ in parts])[:, None],
        np.array(tones, np.uint8)[
            np.minimum(np.concatenate([volumes.tones[mesh.volumes[used]] for mesh, used, _ in parts]), 2)
        ],
    )


def _packed_skin(packer: Packer, mesh: SkinnedMesh, plain: Rgb, tinted: bool) -> dict[str, Any]:
    """A mesh of a file, with the four joints that carry each vertex most."""
    order = np.argsort(-mesh.weights, axis=1, kind="stable")[:, :MAX_JOINTS]
    joints = np.take_along_axis(mesh.joints, order, axis=1)
    weights = np.take_along_axis(mesh.weights, order, axis=1)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    whole = np.rint(255.0 * weights)
    whole[:, 0] += 255.0 - whole.sum(axis=1)
    colours = mesh.colours[:, :3].astype(np.float64) if len(mesh.colours) else np.tile(plain, (len(joints), 1)) * 1.0
    if tinted:
        colours = (1.0 - TINT) * colours + TINT * np.array(plain)
    colours = 4.0 * np.rint(colours / 4.0)  # few enough to be counted
    normals = vertex_normals(mesh.vertices, mesh.faces.astype(np.int64), merge=mesh.smooth)
    stored = _packed(packer, mesh.vertices, normals, mesh.faces, joints, np.clip(colours, 0, 255).astype(np.uint8))
    bind = np.concatenate([mesh.bind_positions, mesh.bind_orientations], axis=1)
    stored["weights"] = packer.array(whole.astype(np.uint8))
    stored["bind"] = packer.array(bind.astype(np.float32))
    stored["double"] = True  # files are careless about which side of a face is outside
    return stored


def _packed(
    packer: Packer, vertices: Floats, normals: Floats, faces: Whole, joints: Whole, colours: NDArray[np.uint8]
) -> dict[str, Any]:
    step = float(max(np.abs(vertices).max(initial=0.0), 1e-6)) / 32767
    palette, which = np.unique(colours, axis=0, return_inverse=True)
    return {
        "step": step,
        "vertices": packer.array(np.rint(vertices / step).astype(np.int16), by_row=True),
        "normals": packer.array(np.rint(127.0 * normals).astype(np.int8)),
        "faces": _faces(packer, faces),
        "joints": packer.array(_smallest(joints)),
        "palette": packer.array(palette.astype(np.uint8)),
        "colours": packer.array(_smallest(which.reshape(-1))),
    }


def _faces(packer: Packer, faces: Whole) -> dict[str, Any]:
    wide = np.uint16 if faces.max(initial=0) < 65536 else np.uint32
    return packer.array(np.asarray(faces).astype(wide), by_row=True)


def _smallest(values: Whole) -> NDArray[Any]:
    return values.astype(np.uint8 if values.max(initial=0) < 256 else np.uint16)


def _shape(kind: str, sizes: Floats, length: float) -> tuple[Floats, Ints]:
    """Vertices (V, 3) [m] and faces (T, 3) of a box, a sphere, an ellipsoid or a capsule in its own frame."""
    if kind == "box":
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * sizes
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        return corners, np.array([triangle for a, b, c, d in sides for triangle in ((a, b, c), (a, c, d))])
    ends = np.array([[0.0, 0.5 * length, 0.0]])
    if kind == "capsule":
        radii = np.array([[sizes[0], sizes[1], 0.0]])
        return Volumes([0], ["capsule"], -ends, ends, radii).mesh(0, 28)
    radii = np.full((1, 3), sizes[0]) if kind == "sphere" else sizes[None, :3]
    return Volumes([0], ["ellipsoid"], 0.0 * ends, 0.0 * ends, radii).mesh(0, 28)


def _of_mesh(mesh: Any) -> tuple[Floats, Ints]:
    return mesh.vertices, mesh.faces

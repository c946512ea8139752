"""The obstacles of a scene as triangles, for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..collision import Volumes
from ..compute.types import Floats, Ints
from ..math import rotate
from ..skeleton.character import vertex_normals
from .raster import Mesh

if TYPE_CHECKING:
    from ..collision import Scene
    from ..collision.scene import Obstacle

COLOUR = (0.59, 0.53, 0.46)
DETAIL = 24  # corners around what is round
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
"""Corners of the six sides of a box, counter-clockwise from outside."""


def scene_mesh(scene: Scene) -> Mesh | None:
    """Return all obstacles in the world as one mesh; None where there are none to draw.

    Half spaces have no end and are not drawn: a floor is in the picture anyway.
    """
    parts = [_mesh(obstacle) for obstacle in scene.obstacles if obstacle.kind != "plane"]
    return Mesh.join(parts) if parts else None


def _mesh(obstacle: Obstacle) -> Mesh:
    vertices, normals, faces = _shape(obstacle)
    placed = np.asarray(rotate(obstacle.orientation, vertices)) + obstacle.position
    return Mesh(placed, faces, np.asarray(rotate(obstacle.orientation, normals)), np.tile(COLOUR, (len(vertices), 1)))


def _shape(obstacle: Obstacle) -> tuple[Floats, Floats, Ints]:
    """Return (vertices, normals, faces) of an obstacle in its own frame."""
    sizes = obstacle.sizes
    if obstacle.mesh is not None:
        vertices, faces = np.asarray(obstacle.mesh.vertices), np.asarray(obstacle.mesh.faces).astype(np.int64)
        return vertices, vertex_normals(vertices, faces, merge=True), faces
    if obstacle.kind == "box":
        corners = CORNERS[SIDES].reshape(-1, 3)
        outward = np.repeat(CORNERS[SIDES].mean(axis=1), 4, axis=0)
        square = np.array([[0, 1, 2], [0, 2, 3]])
        return corners * sizes, outward, (square + 4 * np.arange(6)[:, None, None]).reshape(-1, 3)
    if obstacle.kind == "ellipsoid":
        volume = Volumes([0], ["ellipsoid"], np.zeros((1, 3)), np.zeros((1, 3)), sizes[None])
    else:
        end = np.array([[0.0, 0.5 * obstacle.length, 0.0]])
        radii = np.array([[sizes[0], sizes[0] if obstacle.kind == "sphere" else sizes[1], 0.0]])
        volume = Volumes([0], ["capsule"], -end, end, radii)
    mesh = volume.tessellated(DETAIL)
    return mesh.vertices, mesh.normals, mesh.faces

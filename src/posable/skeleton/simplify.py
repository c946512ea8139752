"""Meshes with fewer triangles, for where they are sent many times a second: vertices are clustered in cells of a grid.

Drawings of machines have hundreds of thousands of triangles; a browser needs some ten thousand of them. Quadric error
metrics keep shapes better and take seconds; clustering takes milliseconds, and cells are a few millimetres here.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..compute.types import Floats, Ints
from .character import Character, SkinnedMesh, vertex_normals

FINEST = 1000.0  # cells along the longest side, at first
COARSER = 1.25  # from one try to the next


_known: weakref.WeakKeyDictionary[Character, dict[int, Sequence[SkinnedMesh]]] = weakref.WeakKeyDictionary()


def simplified(character: Character, most: int) -> Sequence[SkinnedMesh]:
    """Return the meshes of a character with about `most` vertices together, made once a character."""
    made = _known.setdefault(character, {})
    if most not in made:
        made[most] = fewer_vertices(character.meshes, most)
    return made[most]


def fewer_vertices(meshes: Sequence[SkinnedMesh], most: int) -> Sequence[SkinnedMesh]:
    """Return meshes with about `most` vertices together; as they are where they have no more.

    Vertices in one cell of a grid, on one side of an edge, become one. All meshes share the size of the cells, so that
    large parts and small ones look alike.
    """
    if sum(len(mesh.vertices) for mesh in meshes) <= most:
        return meshes
    low = np.min([mesh.vertices.min(axis=0) for mesh in meshes if len(mesh.vertices)], axis=0)
    high = np.max([mesh.vertices.max(axis=0) for mesh in meshes if len(mesh.vertices)], axis=0)
    cell = max(float((high - low).max()), 1e-9) / FINEST
    sides = [_sides(mesh) for mesh in meshes]
    while True:
        keys = [_keys(mesh, side, low, cell) for mesh, side in zip(meshes, sides)]
        count = sum(len(np.unique(key)) for key in keys)
        if count <= most or cell > float((high - low).max()):
            return [_clustered(mesh, key) for mesh, key in zip(meshes, keys)]
        cell *= COARSER


def _sides(mesh: SkinnedMesh) -> Ints:
    """Return (V,) the side of a cube that each vertex's normal points to, 0 to 5."""
    normals = vertex_normals(mesh.vertices, np.asarray(mesh.faces, dtype=np.int64), merge=mesh.smooth)
    axis = np.argmax(np.abs(normals), axis=1)
    return np.asarray(2 * axis + (normals[np.arange(len(axis)), axis] > 0.0))


def _keys(mesh: SkinnedMesh, sides: Ints, low: Floats, cell: float) -> Ints:
    """Return (V,) numbers that vertices have in common when they are in one cell, on one joint and one side."""
    x, y, z = np.floor((mesh.vertices - low) / cell).astype(np.int64).T
    joint = mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)].astype(np.int64)
    numbers: Ints = (((x * 2048 + y) * 2048 + z) * 8 + sides) * 1024 + joint % 1024
    return numbers


def _clustered(mesh: SkinnedMesh, keys: Ints) -> SkinnedMesh:
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    _, cells = np.unique(keys // (8 * 1024), return_inverse=True)  # both sides of an edge stay at one position
    counts = np.maximum(np.bincount(cells), 1)
    middle = np.stack([np.bincount(cells, mesh.vertices[:, k]) / counts for k in range(3)], axis=1)
    faces = which[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    faces = faces[np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1]]
    return replace(
        mesh,
        vertices=middle[cells[first]],
        faces=faces.astype(np.int32),
        joints=mesh.joints[first],
        weights=mesh.weights[first],
        colours=mesh.colours[first] if len(mesh.colours) else mesh.colours,
    )

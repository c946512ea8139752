"""Evenly spread directions on the unit sphere, the triangles between them, and a grid that finds a triangle quickly.

Fibonacci points and their spherical Delaunay triangulation, which is the convex hull of the points (specification
limb-range, section 2). The hull is of all points, never of some: triangles between reached points alone would span
gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats, Ints

MIN_SAMPLES, MAX_SAMPLES = 50, 30_000  # a hundred thousand take four seconds to triangulate


@dataclass(frozen=True, eq=False)
class SphereMesh:
    """Directions and the triangles between them, seen from outside counter-clockwise."""

    points: Floats
    """(V, 3) unit vectors."""
    triangles: Ints
    """(T, 3)."""
    neighbours: Ints
    """(T, 3): the triangle across the edge that lies opposite to each corner."""

    @property
    def centres(self) -> Floats:
        """(T, 3) unit vectors."""
        middle = self.points[self.triangles].sum(axis=1)
        return np.asarray(middle / np.linalg.norm(middle, axis=-1, keepdims=True))

    @property
    def areas(self) -> Floats:
        """(T,) [sr]: they sum up to the sphere's, 4 pi."""
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        volume = np.einsum("ij,ij->i", a, np.cross(b, c))
        across = 1.0 + (a * b).sum(-1) + (b * c).sum(-1) + (c * a).sum(-1)
        return np.asarray(2.0 * np.arctan2(volume, across))  # Van Oosterom and Strackee 1983


def cell_size(samples: int) -> float:
    """Return the approximate angle [rad] between neighbours among this many directions."""
    return math.sqrt(4.0 * math.pi / samples)


def fibonacci(samples: int) -> Floats:
    """Return (samples, 3) unit vectors, evenly spread: a spiral from +z to -z by the golden angle."""
    i = np.arange(samples)
    z = 1.0 - (2.0 * i + 1.0) / samples
    azimuth = math.pi * (1.0 + math.sqrt(5.0)) * (i + 0.5)
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), z], axis=-1)


@lru_cache(maxsize=8)
def sphere_mesh(samples: int) -> SphereMesh:
    """Return the triangulated Fibonacci sphere (spherical Delaunay), made once for each number of samples."""
    if not MIN_SAMPLES <= samples <= MAX_SAMPLES:
        raise PosableError(f"{samples} samples; expected {MIN_SAMPLES} to {MAX_SAMPLES}")
    from scipy.spatial import ConvexHull

    points = fibonacci(samples)
    hull = ConvexHull(points)
    triangles, neighbours = hull.simplices.astype(np.int64), hull.neighbors.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", a, np.cross(b, c)) < 0.0
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    neighbours[inward] = neighbours[inward][:, [0, 2, 1]]
    for array in (points, triangles, neighbours):
        array.setflags(write=False)
    return SphereMesh(points, triangles, neighbours)


def octahedral_directions(size: int) -> Floats:
    """Return (size * size, 3): the middle of each cell of the octahedral map, as `locate.cell_of` counts them."""
    line = (np.arange(size) + 0.5) / size * 2.0 - 1.0
    v, u = np.meshgrid(line, line, indexing="ij")
    z = 1.0 - np.abs(u) - np.abs(v)
    x = np.where(z >= 0.0, u, (1.0 - np.abs(v)) * np.where(u >= 0.0, 1.0, -1.0))
    y = np.where(z >= 0.0, v, (1.0 - np.abs(u)) * np.where(v >= 0.0, 1.0, -1.0))
    out = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    return np.asarray(out / np.linalg.norm(out, axis=-1, keepdims=True))

"""Poses of limbs to learn ranges from, and a slow NumPy judge that shares no code with the kernels."""

from __future__ import annotations

import math

import numpy as np

from posable.limb import LimbRange
from posable.limb.range.model import to_right
from posable.limb.range.sphere import sphere_mesh

UPPER, LOWER = 0.3, 0.26
POLE = np.array([0.6, -0.5, 0.4]) / math.sqrt(0.77)


def directions(rng: np.random.Generator, count: int, low: float, high: float, axis=POLE) -> np.ndarray:
    """Unit vectors evenly spread between two angles [rad] from an axis."""
    z = rng.uniform(math.cos(high), math.cos(low), count)
    turn, across = rng.uniform(0.0, 2.0 * math.pi, count), np.sqrt(1.0 - z * z)
    x = np.cross(axis, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    y = np.cross(axis, x)
    return z[:, None] * axis + across[:, None] * (np.cos(turn)[:, None] * x + np.sin(turn)[:, None] * y)


def cone(seed: int, count: int, high: float = 40.0, low: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(positions, swivels): within `high` degrees of an axis, 0.5 to 0.9 lengths away, swivels across the wrap."""
    rng = np.random.default_rng(seed)
    n = directions(rng, count, math.radians(low), math.radians(high))
    distance = rng.uniform(0.5, 0.9, count)[:, None] * (UPPER + LOWER)
    return n * distance, np.radians(rng.uniform(170.0, 190.0, count))


def anywhere(seed: int, count: int, length: float = UPPER + LOWER) -> tuple[np.ndarray, np.ndarray]:
    """Positions up to a little beyond a limb's reach, and any swivels."""
    rng = np.random.default_rng(seed)
    n = rng.normal(size=(count, 3))
    n *= (length * rng.uniform(0.0, 1.2, count) / np.linalg.norm(n, axis=1))[:, None]
    return n, rng.uniform(-4.0, 4.0, count)


def judge(found: LimbRange, position: np.ndarray, swivel: float) -> tuple[float, bool]:
    """(angle inside the boundary, negative outside [rad]; whether the pose is inside) by brute force."""
    mesh = sphere_mesh(len(found.table))
    length = found.upper + found.lower
    place = position * to_right(found.name)
    distance = np.linalg.norm(place)
    n = place / distance
    corners = mesh.points[mesh.triangles]
    weights = np.linalg.solve(np.swapaxes(corners, 1, 2), np.broadcast_to(n[:, None], (len(corners), 3, 1)))[..., 0]
    face = int(np.argmax(weights.min(axis=1)))
    edge, nearest = _nearest_boundary(found, mesh, n)
    inside = bool(found.valid[face])
    if not inside:
        if edge > 1e-6:
            return -edge, False
        n = nearest
        weights = np.linalg.solve(np.swapaxes(corners, 1, 2), np.broadcast_to(n[:, None], (len(corners), 3, 1)))[..., 0]
        least = np.where(found.valid, weights.min(axis=1), -np.inf)
        face = int(np.argmax(least))
    w = np.clip(weights[face], 0.0, None)
    w /= w.sum()
    rows = mesh.triangles[face]
    table = found.table
    turning = table.half[rows] < math.pi - 1e-9
    vector = (w * turning * np.exp(1j * table.mid[rows])).sum()
    half = w @ table.half[rows] if abs(vector) > 1e-6 else math.pi
    reach = distance / length
    a, b = found.upper / length, found.lower / length
    along = (a * a - b * b + reach * reach) / (2.0 * reach)
    straight = a * a - along * along < 0.08**2
    ok = w @ table.low[rows] - 1e-9 <= reach <= w @ table.high[rows] + 1e-9
    turned = abs(np.angle(np.exp(1j * (swivel - np.angle(vector))))) <= half + 1e-9
    return edge if inside else -edge, bool(ok and (straight or turned))


def _nearest_boundary(found: LimbRange, mesh, n: np.ndarray) -> tuple[float, np.ndarray]:
    """(angle to the boundary, its nearest point), over every arc."""
    best, place = math.inf, n
    for loop in found.boundary():
        loop = loop * to_right(found.name)
        for a, b in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            m = np.cross(a, b)
            m /= np.linalg.norm(m)
            p = n - (n @ m) * m
            p /= np.linalg.norm(p)
            if np.cross(a, p) @ m < 0.0 or np.cross(p, b) @ m < 0.0:
                p = a if n @ a > n @ b else b
            angle = 2.0 * math.asin(min(np.linalg.norm(n - p) / 2.0, 1.0))
            if angle < best:
                best, place = angle, p
    return best, place

"""Slow, plain versions of the limits, written on their own: scipy rotations, and boundaries scanned point by point."""

import os

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from posable.limits import Cone, Ellipse, Hinge, JointLimit

MIRROR = np.array([1.0, 1.0, -1.0, -1.0])


def random_rotations(count: int, seed: int = 0) -> np.ndarray:
    """Uniform unit quaternions (count, 4); a fiftieth of them where kernels run as plain Python, for coverage."""
    count = count if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" or count < 500 else count // 50
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angles between unit vectors (..., 3)."""
    return 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def rotation_distance(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Angles of the rotations from p to q (..., 4)."""
    return 2.0 * angle(p, q * np.sign(np.sum(p * q, axis=-1, keepdims=True) + 0.5))


def axes(limit: JointLimit) -> np.ndarray:
    """Rows a1, a2, d of the left joint."""
    d, a = np.array(limit.direction), np.array(limit.axis)
    return np.array([a, np.cross(d, a), d])


def bone_and_twist(limit: JointLimit, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bone directions (n, 3) in (a1, a2, d), and twists (n,), of rotations (n, 4) of a left or mirrored joint."""
    q = q * MIRROR if limit.is_mirrored else q
    d = np.array(limit.direction)
    whole = Rotation.from_quat(q, scalar_first=True)
    bone = whole.apply(d)
    axis = np.cross(d, bone)
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    swing = Rotation.from_rotvec(
        np.where(length > 0, axis / np.where(length > 0, length, 1), 0) * angle(d, bone)[:, None]
    )
    twist = (swing.inv() * whole).as_rotvec() @ d
    if limit.turning:  # the swing's axes turn with the twist: seen from them, the bone has not turned
        bone = Rotation.from_rotvec(-twist[:, None] * d).apply(bone)
    return bone @ axes(limit).T, twist


def twist_excess(limit: JointLimit, twist: np.ndarray) -> np.ndarray:
    """How far twists lie from the interval, by looking one turn to either side."""
    if limit.twist is None:
        return np.zeros_like(twist)
    turns = twist[:, None] + 2 * np.pi * np.arange(-2, 3)
    return np.maximum(np.maximum(limit.twist.low - turns, turns - limit.twist.high), 0).min(axis=1)


def cone_limit(cone: Cone, theta: np.ndarray) -> np.ndarray:
    """The cone's spline from scipy, with the end slopes of Eq. 3."""
    t, p = np.array(cone.theta), np.array(cone.psi)
    end = 0.5 * ((p[1] - p[0]) / (t[1] - t[0]) + (p[-1] - p[-2]) / (t[-1] - t[-2]))
    return CubicSpline(t, p, bc_type=((1, end), (1, end)))(theta)


def swing_inside(shape: Hinge | Ellipse | Cone, bone: np.ndarray) -> np.ndarray:
    """Whether bones (n, 3) in (a1, a2, d) lie inside."""
    x, y, z = bone.T
    psi = np.arctan2(np.hypot(x, y), z)
    if isinstance(shape, Cone):
        return psi <= cone_limit(shape, np.arctan2(x, y))
    if isinstance(shape, Ellipse):
        s = np.cross([0.0, 0.0, 1.0], bone)[:, :2]
        s *= (psi / np.maximum(np.linalg.norm(s, axis=1), 1e-300))[:, None]
        return (((s - shape.centre) / shape.radii) ** 2).sum(axis=1) <= 1
    turned = np.arctan2(-y, z)
    turned = np.stack([turned + k * 2 * np.pi for k in (-1, 0, 1)])
    return ((turned >= shape.low) & (turned <= shape.high)).any(axis=0) & (
        np.abs(np.arcsin(np.clip(x, -1, 1))) <= shape.slack
    )


def boundary(shape: Hinge | Ellipse | Cone, count: int) -> np.ndarray:
    """Points (m, 3) all along the boundary."""
    t = np.linspace(-np.pi, np.pi, count)
    if isinstance(shape, Cone):
        psi = np.minimum(cone_limit(shape, t), np.pi)
        return np.stack([np.sin(psi) * np.sin(t), np.sin(psi) * np.cos(t), np.cos(psi)], -1)
    if isinstance(shape, Ellipse):
        s = np.stack([np.cos(t), np.sin(t)], -1) * shape.radii + shape.centre
        return Rotation.from_rotvec(np.pad(s, ((0, 0), (0, 1)))).apply([0.0, 0.0, 1.0])
    along = np.linspace(shape.low, shape.high, count)
    across = np.linspace(-shape.slack, shape.slack, count)
    longitude = np.concatenate([along, along, np.full(count, shape.low), np.full(count, shape.high)])
    latitude = np.concatenate([np.full(count, -shape.slack), np.full(count, shape.slack), across, across])
    return np.stack([np.sin(latitude), -np.cos(latitude) * np.sin(longitude), np.cos(latitude) * np.cos(longitude)], -1)


def swing_excess(shape: Hinge | Ellipse | Cone | None, bone: np.ndarray, count: int = 2001) -> np.ndarray:
    """How far bones lie outside, by brute force."""
    if shape is None:
        return np.zeros(len(bone))
    edge = boundary(shape, count)
    nearest = np.array([angle(edge, b).min() for b in bone])
    return np.where(swing_inside(shape, bone), 0.0, nearest)

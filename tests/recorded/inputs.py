"""What the recorded calls are given: the built-in figure, its motions, and numbers drawn with a fixed seed."""

from functools import cache

import numpy as np

import posable as ps

MARKED = {"hips", "head", "left_hand", "right_hand", "left_foot", "right_foot"}


@cache
def body() -> ps.Humanoid:
    """The built-in figure."""
    return ps.figure()


@cache
def child() -> ps.Humanoid:
    """A small figure with other proportions."""
    return ps.figure(1.3, thigh=0.28, upper_arm=0.27)


@cache
def sample(name: str, fps: float = 30.0) -> ps.Motion:
    """A built-in motion of the figure."""
    return getattr(ps.samples, name)(body(), fps=fps)


def few(motion: ps.Motion, count: int) -> ps.Pose:
    """Some poses of a motion, evenly spread."""
    return motion.pose[np.linspace(0, len(motion) - 1, count).astype(int)]


def rotations(count: int, seed: int = 0) -> np.ndarray:
    """(count, 4): unit quaternions, evenly distributed."""
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def directions(count: int, seed: int = 0) -> np.ndarray:
    """(count, 3): unit vectors."""
    v = np.random.default_rng([seed, 3]).normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def orientations(pose: ps.Pose, of: ps.Humanoid | None = None) -> dict[str, np.ndarray]:
    """Part to canonical orientation, of the six points' parts."""
    person = body() if of is None else of
    frames = person.skeleton.forward(pose)
    return {role: person.canonical_orientation(frames, person.index(role)) for role in ps.MARKERS}


def room() -> ps.Scene:
    """A scene with one thing of each kind that compiled code knows."""
    scene = ps.Scene().plane("floor").box("table", (1.2, 0.04, 0.8), (0.0, 0.95, 0.75))
    scene.sphere("lamp", 0.12, (-0.45, 1.35, 0.35)).capsule("pole", 0.05, 1.6, (0.55, 1.0, 0.2))
    return scene.ellipsoid("cushion", (0.2, 0.1, 0.15), (-0.4, 1.0, 0.3), (0.9, 0.1, 0.3, 0.2))

"""Octahedral bones: what a skeleton without a mesh looks like in pictures, in glTF files and in the studio."""

from __future__ import annotations

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints
from .character import SkinnedMesh
from .skeleton import Frames, Skeleton

COLOUR = (178, 190, 208, 255)  # sRGB
SHORTEST = 1e-4  # [m]: shorter bones are not drawn
LONE_BONE = 0.1  # [m], for a skeleton without any
GIRTH = 0.09  # of the longest bone, in lengths; shorter ones are stouter, so that a spine can be seen
STOUTEST = 0.25


def octahedron(waist: float, base: float = 0.0) -> tuple[Floats, Ints]:
    """Return corners (6, 3) and faces (8, 3) of a bone along +Z, of length 1 and half-width 1.

    Args:
        waist: where along the bone it is widest, from 0 to 1.
        base: where it begins: 0 at its joint, -1 for a knob around it.
    """
    ring = [[1.0, 0.0, waist], [0.0, 1.0, waist], [-1.0, 0.0, waist], [0.0, -1.0, waist]]
    sides = [(k, k % 4 + 1) for k in range(1, 5)]
    faces = [*((0, b, a) for a, b in sides), *((5, a, b) for a, b in sides)]
    return np.array([[0.0, 0.0, base], *ring, [0.0, 0.0, 1.0]]), np.array(faces)


def bone_starts(skeleton: Skeleton) -> Ints:
    """Return (B,) the joint at which each bone starts: a bone to each joint but the root, then to each end site."""
    return np.concatenate([skeleton.parents[1:], skeleton.end_parents]).astype(np.int64)


def bone_mesh(skeleton: Skeleton, rest: Frames) -> SkinnedMesh:
    """Return the bones of a skeleton at rest, each carried whole by the joint it starts at."""
    starts = bone_starts(skeleton).tolist()
    spans = np.concatenate([rest.positions[1:], rest.ends]) - rest.positions[starts].reshape(-1, 3)
    bones = [(start, span) for start, span in zip(starts, spans) if np.linalg.norm(span) > SHORTEST]
    bones = bones or [(0, np.array([0.0, LONE_BONE, 0.0]))]
    outline, faces = octahedron(0.1)
    corners = outline[faces.reshape(-1)]  # three own corners a face, so that faces look flat
    longest = max(float(np.linalg.norm(span)) for _, span in bones)
    vertices, joints = [], []
    for start, span in bones:
        length = float(np.linalg.norm(span))
        girth = min(GIRTH * np.sqrt(length * longest), STOUTEST * length)
        rotation = pm.between([0.0, 0.0, 1.0], span / length)
        vertices.append(rest.positions[start] + pm.rotate(rotation, corners * [girth, girth, length]))
        joints.append(np.full((len(corners), 1), start, dtype=np.int32))
    count = len(bones) * len(corners)
    return SkinnedMesh(
        name="bones",
        vertices=np.concatenate(vertices),
        faces=np.arange(count, dtype=np.int32).reshape(-1, 3),
        joints=np.concatenate(joints),
        weights=np.ones((count, 1)),
        bind_positions=rest.positions,
        bind_orientations=rest.orientations,
        colours=np.tile(np.array(COLOUR, np.uint8), (count, 1)),
    )

"""A mesh for a skeleton that has none: an octahedral bone from each joint to each of its children and end sites."""

from __future__ import annotations

import numpy as np

from ... import math as pm
from ...skeleton import Frames, Skeleton, SkinnedMesh

# A bone of unit length and girth along z, as modelling programs draw it: widest at a tenth of its length.
OUTLINE = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1], [-1, 0, 1], [0, -1, 1], [0, 0, 10]]) * [1.0, 1.0, 0.1]
SIDES = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 1, 4), (5, 1, 2), (5, 2, 3), (5, 3, 4), (5, 4, 1)]
COLOUR = (178, 190, 208, 255)  # sRGB
SHORTEST = 1e-4  # [m]: shorter bones are not drawn
LONE_BONE = 0.1  # [m], for a skeleton without any
GIRTH = 0.09  # of the longest bone, in lengths; shorter ones are stouter, so that a spine can be seen
STOUTEST = 0.25


def bone_mesh(skeleton: Skeleton, rest: Frames) -> SkinnedMesh:
    """The bones of a skeleton at rest, each carried whole by the joint it starts at."""
    starts = [*skeleton.parents.tolist()[1:], *skeleton.end_parents.tolist()]
    tips = np.concatenate([rest.positions[1:], rest.ends])
    spans = tips - rest.positions[starts].reshape(-1, 3)
    bones = [(start, span) for start, span in zip(starts, spans) if np.linalg.norm(span) > SHORTEST]
    bones = bones or [(0, np.array([0.0, LONE_BONE, 0.0]))]
    corners = OUTLINE[np.array(SIDES).reshape(-1)]  # three own corners a side, so that sides look flat
    longest = max(float(np.linalg.norm(span)) for _, span in bones)
    vertices, joints = [], []
    for start, span in bones:
        length = float(np.linalg.norm(span))
        girth = min(GIRTH * np.sqrt(length * longest), STOUTEST * length)
        turn = pm.between([0.0, 0.0, 1.0], span / length)
        vertices.append(rest.positions[start] + pm.rotate(turn, corners * [girth, girth, length]))
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

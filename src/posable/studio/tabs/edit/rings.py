"""Rings around parts of a body, wide enough to be seen around whatever it wears: on the ground, or as a bracelet."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....skeleton import Frames, SkinnedMesh
from ....skeleton.skinning import Skinning
from ...view.body_meshes import volumes_of

if TYPE_CHECKING:
    from ....body import Humanoid

AROUND = 40
"""Corners of a ring."""
MOST_POINTS = 300
"""Of the surface of a part, which tell how wide it is."""


class Rings:
    """Rings (A, 3) around parts of bodies; what they must go around is found once a body and part."""

    def __init__(self) -> None:
        self._skins: weakref.WeakKeyDictionary[Humanoid, dict[tuple[int, bool], Skinning | None]] = (
            weakref.WeakKeyDictionary()
        )

    def bracelet(self, body: Humanoid, frames: Frames, joint: int) -> Floats:
        """A ring around a joint, across the bone that leads to it; `frames` are those of one pose."""
        parent, up = int(body.skeleton.parents[joint]), np.array([0.0, 1.0, 0.0])
        way = frames.positions[joint] - frames.positions[parent] if parent >= 0 else up
        length = float(np.linalg.norm(way))
        along = way / length if length > 1e-6 else up
        around = self._surface(body, frames, joint, below=False) - frames.positions[joint]
        near = around[np.abs(around @ along) < 0.03 * body.joint_height]
        radius = 0.032 * body.joint_height
        if len(near):
            radius = max(radius, 1.12 * float(np.linalg.norm(near - np.outer(near @ along, along), axis=-1).max()))
        ring = _circle()[:, [0, 2, 1]] * radius
        circle: Floats = frames.positions[joint] + pm.rotate(pm.between(up, along), ring)
        return circle

    def footprint(self, body: Humanoid, frames: Frames, joint: int) -> Floats:
        """A ring on the ground around a foot and all that hangs on it; `frames` are those of one pose."""
        skeleton = body.skeleton
        below = [j for j in range(len(skeleton)) if joint in skeleton.path(j)]
        bones = np.concatenate([frames.positions[below], frames.ends[np.isin(skeleton.end_parents, below)]])
        points = np.concatenate([bones, self._surface(body, frames, joint, below=True)])
        flat, low = points[:, [0, 2]], float(points[:, 1].min())
        ahead = flat[int(np.argmax(np.linalg.norm(flat - flat[0], axis=-1)))] - flat[0]
        length = float(np.linalg.norm(ahead))
        ahead = ahead / length if length > 1e-6 else np.array([0.0, 1.0])
        axes = np.stack([ahead, [-ahead[1], ahead[0]]])
        seen = flat @ axes.T
        middle, half = 0.5 * (seen.min(axis=0) + seen.max(axis=0)), 0.5 * np.ptp(seen, axis=0)
        ring = (middle + _circle()[:, :2] * (1.2 * half + 0.025 * body.joint_height)) @ axes
        height = 0.004 * body.joint_height if abs(low) < 0.1 * body.joint_height else low
        return np.stack([ring[:, 0], np.full(AROUND, height), ring[:, 1]], axis=-1)

    def _surface(self, body: Humanoid, frames: Frames, joint: int, below: bool) -> Floats:
        """(N, 3): points of what a joint carries [m], and what hangs on it, or what it hangs on; none of bare bones."""
        known = self._skins.setdefault(body, {})
        if (joint, below) not in known:
            hanging = [j for j in range(len(body.skeleton)) if joint in body.skeleton.path(j)]
            own = hanging if below else [joint, int(body.skeleton.parents[joint])]
            known[joint, below] = _skin_of(body, own)
        skin = known[joint, below]
        return np.zeros((0, 3)) if skin is None else skin.posed(frames).astype(np.float64)


def _skin_of(body: Humanoid, joints: list[int]) -> Skinning | None:
    """Some of the surface that some joints carry: of the character's meshes, else of the body's volumes."""
    character, volumes = body.skeleton.character, volumes_of(body)
    if character is not None and character.meshes:
        meshes = [_part(mesh, joints) for mesh in character.meshes]
        meshes = [mesh for mesh in meshes if len(mesh.vertices)]
        return Skinning.of_meshes(tuple(meshes)) if meshes else None
    own = [] if volumes is None else [k for k in range(len(volumes)) if volumes.joints[k] in joints]
    if volumes is None or not own:
        return None
    vertices = [volumes.mesh(k, 8)[0] for k in own]
    carried = np.repeat(volumes.joints[own], [len(points) for points in vertices])
    return Skinning.rigid(np.concatenate(vertices), carried, body.skeleton)


def _part(mesh: SkinnedMesh, joints: list[int]) -> SkinnedMesh:
    """The vertices of a mesh that some joints carry more than others do, not too many."""
    most = np.take_along_axis(mesh.joints, mesh.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    rows = np.flatnonzero(np.isin(most, joints))
    rows = rows[:: max(1, len(rows) // MOST_POINTS)]
    return replace(mesh, vertices=mesh.vertices[rows], joints=mesh.joints[rows], weights=mesh.weights[rows])


def _circle() -> Floats:
    """(A, 3): a circle of radius 1 about z."""
    angles = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles), np.zeros(AROUND)], axis=-1)

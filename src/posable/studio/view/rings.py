"""Rings around parts of a body that are in contact or pinned.

They are wide enough to be seen around whatever the body wears: on the ground around a foot, as a bracelet around
anything else.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ... import math as pm
from ...compute.types import Floats
from ...edit.clip import joint_of
from ...edit.contacts import GROUND, Contact
from ...skeleton import Frames, SkinnedMesh
from ...skeleton.character import Skinning
from ..widgets.controls import show
from .body_meshes import volumes_of
from .points import add_segments
from .theme import Rgb, linear

if TYPE_CHECKING:
    from ...body import Humanoid
    from ..core.session import Session

CORNERS = 40
"""Corners of a ring."""
MAX_RINGS = 48
"""Rings that are drawn; those that are not needed lie on the last."""
MAX_POINTS = 300
"""Points of a part's surface from which its width is measured."""
CONTACT: Rgb = (18, 150, 62)
PINNED: Rgb = (200, 30, 110)


class Rings:
    """Rings in the scene around parts of a body, `name` among a tab's nodes.

    The surface that a ring goes around is found once for a body and part.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._server = session.server
        self._skins: weakref.WeakKeyDictionary[Humanoid, dict[tuple[int, bool], Skinning | None]] = (
            weakref.WeakKeyDictionary()
        )
        self._rings = add_segments(session.scene, f"/world/{name}/rings", MAX_RINGS * CORNERS, 5.0)

    def draw(self, body: Humanoid, frames: Frames, pins: Iterable[str], contacts: Iterable[Contact] = ()) -> None:
        """Draw rings around pinned parts and around contacts; `frames` are those of the joints on the stage."""
        rings = [(self.bracelet(body, frames, joint_of(body, pin)), PINNED) for pin in pins]
        for contact in contacts:
            ring = self.footprint if contact.on == GROUND else self.bracelet
            rings.append((ring(body, frames, joint_of(body, contact.part)), CONTACT))
        show(self._rings, "visible", bool(rings))
        if rings:
            rows = np.minimum(np.arange(MAX_RINGS), len(rings) - 1)
            corners = np.stack([ring for ring, _ in rings])
            segments = np.stack([corners, np.roll(corners, 1, axis=1)], axis=2)[rows]
            colours = linear([colour for _, colour in rings])[rows]
            with self._server.atomic():
                self._rings.points = segments.reshape(-1, 2, 3).astype(np.float32)
                self._rings.colors = np.repeat(colours, 2 * CORNERS, axis=0).reshape(-1, 2, 3)

    def hide(self) -> None:
        """Show nothing."""
        show(self._rings, "visible", False)

    def remove(self) -> None:
        """Take the rings off the scene."""
        self._rings.remove()

    def bracelet(self, body: Humanoid, frames: Frames, joint: int) -> Floats:
        """Return a ring (A, 3) [m] around a joint, across the bone that leads to it; `frames` are those of one pose."""
        parent, up = int(body.skeleton.parents[joint]), np.array([0.0, 1.0, 0.0])
        bone = frames.positions[joint] - frames.positions[parent] if parent >= 0 else up
        length = float(np.linalg.norm(bone))
        axis = bone / length if length > 1e-6 else up
        surface = self._surface(body, frames, joint, below=False) - frames.positions[joint]
        near = surface[np.abs(surface @ axis) < 0.03 * body.joint_height]
        radius = 0.032 * body.joint_height
        if len(near):
            radius = max(radius, 1.12 * float(np.linalg.norm(near - np.outer(near @ axis, axis), axis=-1).max()))
        ring = np.insert(radius * _circle(), 1, 0.0, axis=-1)
        circle: Floats = frames.positions[joint] + pm.rotate(pm.between(up, axis), ring)
        return circle

    def footprint(self, body: Humanoid, frames: Frames, joint: int) -> Floats:
        """Return a ring (A, 3) [m] on the ground around a foot and all its descendants; `frames` are of one pose."""
        skeleton = body.skeleton
        below = _descendants(body, joint)
        bones = np.concatenate([frames.positions[below], frames.ends[np.isin(skeleton.end_parents, below)]])
        points = np.concatenate([bones, self._surface(body, frames, joint, below=True)])
        flat, low = points[:, [0, 2]], float(points[:, 1].min())
        ahead = flat[int(np.argmax(np.linalg.norm(flat - flat[0], axis=-1)))] - flat[0]
        length = float(np.linalg.norm(ahead))
        ahead = ahead / length if length > 1e-6 else np.array([0.0, 1.0])
        axes = np.stack([ahead, [-ahead[1], ahead[0]]])
        along = flat @ axes.T
        middle, half = 0.5 * (along.min(axis=0) + along.max(axis=0)), 0.5 * np.ptp(along, axis=0)
        ring = (middle + _circle() * (1.2 * half + 0.025 * body.joint_height)) @ axes
        return np.insert(ring, 1, 0.004 * body.joint_height if abs(low) < 0.1 * body.joint_height else low, axis=-1)

    def _surface(self, body: Humanoid, frames: Frames, joint: int, below: bool) -> Floats:
        """Return (N, 3) points [m] of the surface of a joint and its descendants, or its parent; none of bare bones."""
        known = self._skins.setdefault(body, {})
        if (joint, below) not in known:
            own = _descendants(body, joint) if below else [joint, int(body.skeleton.parents[joint])]
            known[joint, below] = _skin_of(body, own)
        skin = known[joint, below]
        return np.zeros((0, 3)) if skin is None else skin.posed(frames).astype(np.float64)


def _descendants(body: Humanoid, joint: int) -> list[int]:
    """Return a joint and all joints below it."""
    return [other for other in range(len(body.skeleton)) if joint in body.skeleton.path(other)]


def _skin_of(body: Humanoid, joints: list[int]) -> Skinning | None:
    """Return some of the surface of some joints: of the character's meshes, else of the body's volumes."""
    character, volumes = body.skeleton.character, volumes_of(body)
    if character is not None and character.meshes:
        meshes = [_part(mesh, joints) for mesh in character.meshes]
        meshes = [mesh for mesh in meshes if len(mesh.vertices)]
        return Skinning.of_meshes(tuple(meshes)) if meshes else None
    own = [] if volumes is None else [k for k in range(len(volumes)) if volumes.joints[k] in joints]
    if volumes is None or not own:
        return None
    vertices = [volumes.mesh(k, 8)[0] for k in own]
    joint_of_vertex = np.repeat(volumes.joints[own], [len(points) for points in vertices])
    return Skinning.rigid(np.concatenate(vertices), joint_of_vertex, body.skeleton)


def _part(mesh: SkinnedMesh, joints: list[int]) -> SkinnedMesh:
    """Return the vertices of a mesh that are mainly skinned to some joints, not too many."""
    main = np.take_along_axis(mesh.joints, mesh.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    rows = np.flatnonzero(np.isin(main, joints))
    rows = rows[:: max(1, len(rows) // MAX_POINTS)]
    return replace(mesh, vertices=mesh.vertices[rows], joints=mesh.joints[rows], weights=mesh.weights[rows])


def _circle() -> Floats:
    """Return (A, 2): the corners of a circle of radius 1."""
    angles = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

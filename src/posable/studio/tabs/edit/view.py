"""The view of an edited motion: it, the original or both, ghosts of the original, weights as colours, rings and balls.

Rings are around parts in contact or pinned, wide enough to be seen around whatever the body wears: on the ground around
a foot, as a bracelet around anything else. Balls are at marked targets.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats
from ....edit import MotionEditor
from ....edit.clip import joint_of
from ....edit.contacts import GROUND
from ....skeleton import Frames, Motion, SkinnedMesh
from ....skeleton.character import Skinning
from ...core.actor import Actor
from ...core.session import Session
from ...view.body_meshes import volumes_of
from ...view.paint import Paint, scale_legend
from ...view.points import PointCloud, add_segments
from ...view.theme import Rgb, linear
from ...widgets.controls import assign, redraw_on_update, show

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import EditTab

EDITED, ORIGINAL, ADJACENT = "edited", "original", "side by side"
FADE = 0.6
"""Opacity of a ghost, as a fraction of that of the one nearer in time."""
CORNERS = 40
"""Corners of a ring."""
MAX_RINGS = 48
"""Rings that are drawn; those that are not needed lie on the last."""
MAX_POINTS = 300
"""Points of a part's surface from which its width is measured."""
CONTACT: Rgb = (18, 150, 62)
PINNED: Rgb = (200, 30, 110)
MARKED: Rgb = (122, 63, 176)
OTHER_FRAME: Rgb = (176, 146, 204)
"""Colour of marks at other frames."""


class EditView:
    """A list and a folder of the panel, and the key C."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._painted: Actor | None = None
        self.ghosts: dict[int, Actor] = {}
        """Bodies of the original by how many frames later they are."""
        self.twin: Actor | None = None
        """The original next to the edited body, which is no ghost."""
        gui = session.gui
        hint = "Show the edited motion, the original, or both side by side; the key C switches between them"
        self.shown = gui.add_dropdown("Compare", (EDITED, ORIGINAL, ADJACENT), hint=hint)
        with gui.add_folder("What is shown", expand_by_default=False):
            hint = "The original over the edited motion, transparent"
            self.onion = gui.add_checkbox("Onion skin", False, hint=hint)
            hint = "How many ghosts of the original are shown before this moment, and as many after it"
            self.around = gui.add_slider("Ghosts around", min=0, max=3, step=1, initial_value=0, hint=hint)
            hint = "From one ghost to the next"
            self.apart = gui.add_slider("Frames apart", min=1, max=30, step=1, initial_value=8, hint=hint)
            hint = "Colours show how readily this person moves each joint at this frame"
            self.weights = gui.add_checkbox("Weights", False, hint=hint)
            self._legend = gui.add_html(scale_legend("hardly moves", "moves readily"))
            self.contacts = gui.add_checkbox("Contacts", True, hint="Green rings around contacts at this frame")
        redraw_on_update(session, self.shown, self.onion, self.around, self.apart, self.weights, self.contacts)
        self._command = gui.add_command("Compare with the original", hotkey="C", icon=viser.Icon.ARROWS_EXCHANGE)
        self._command.on_trigger(session.guarded(lambda _: self.toggle()))

    @property
    def original(self) -> bool:
        """Whether the original is shown in place of the edited motion."""
        return bool(self.shown.value == ORIGINAL)

    def toggle(self) -> None:
        """Switch from the edited motion to the original, or back."""
        with self._session.lock:
            assign(self.shown, EDITED if self.original else ORIGINAL)
            self._session.changed("pose")

    def draw(self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float, frame: int) -> None:
        """Show ghosts and colours as the controls have them."""
        count, apart = int(self.around.value), int(self.apart.value)
        later = ((0,) if self.onion.value else ()) + tuple(apart * k for k in range(-count, count + 1) if k)
        self._draw_ghosts(actor, body, editor.original, time, later)
        self._draw_twin(actor, body, editor.original)
        show(self._legend, "visible", bool(self.weights.value))
        show(self.apart, "visible", bool(count))
        if self._painted is not actor or not self.weights.value:
            self._unpaint()
        if self.weights.value:
            paint = Paint.of_fractions(editor.mobility[frame], body.skeleton.parents)
            self._session.stage.paint(actor, paint)
            self._painted = actor

    def hide(self) -> None:
        """Show the motion as it is."""
        for later in list(self.ghosts):
            self._session.remove_extra(self.ghosts.pop(later))
        if self.twin is not None:
            self._session.remove_extra(self.twin)
            self.twin = None
        self._unpaint()
        show(self._legend, "visible", bool(self.weights.value))

    def remove(self) -> None:
        """Take everything away."""
        self.hide()
        self._command.remove()

    def _unpaint(self) -> None:
        if self._painted is not None:
            self._session.stage.paint(self._painted, None)
            self._painted = None

    def _draw_ghosts(
        self, actor: Actor, body: Humanoid, original: Motion, time: float, frames: tuple[int, ...]
    ) -> None:
        """Show a ghost of the original for each number of frames later; below 0: earlier."""
        for later, ghost in list(self.ghosts.items()):
            if later not in frames or ghost.motion is not original:
                self._session.remove_extra(self.ghosts.pop(later))
        steps = sorted({abs(later) for later in frames} - {0})
        for later in frames:
            if later not in self.ghosts:
                opacity = FADE ** (1 + steps.index(abs(later))) if later else 1.0
                self.ghosts[later] = Actor(original, body, f"{actor.name} original", ghost=True, opacity=opacity)
                self._session.add_extra(self.ghosts[later])
            ghost = self.ghosts[later]
            ghost.position = actor.position
            if later:
                ghost.pose_override = original.at(float(np.clip(time + later / original.fps, 0.0, original.duration)))

    def _draw_twin(self, actor: Actor, body: Humanoid, original: Motion) -> None:
        adjacent = self.shown.value == ADJACENT
        if self.twin is not None and (not adjacent or self.twin.motion is not original):
            self._session.remove_extra(self.twin)
            self.twin = None
            self._session.stage.frame(self._session.shown)
        if adjacent and self.twin is None:
            position = actor.position + self._session.free_offset(actor)
            self.twin = Actor(original, body, f"{actor.name} original", position=position)
            self._session.add_extra(self.twin)
            self._session.stage.frame(self._session.shown)


class EditRings:
    """Rings and balls in the scene for the pins, contacts and marks of a tab.

    The surface that a ring goes around is found once for a body and part.
    """

    def __init__(self, tab: EditTab) -> None:
        self._tab, session = tab, tab.session
        self._skins: weakref.WeakKeyDictionary[Humanoid, dict[tuple[int, bool], Skinning | None]] = (
            weakref.WeakKeyDictionary()
        )
        self._rings = add_segments(session.scene, "/world/edit/rings", MAX_RINGS * CORNERS, 5.0)
        self._balls = PointCloud(session.server, "/world/edit/marks")

    def draw(self, editor: MotionEditor, actor: Actor, frames: Frames, frame: int) -> None:
        """Draw the rings and balls of a frame; `frames` are those of the actor's joints on the stage."""
        body = editor.body
        rings = [(self.bracelet(body, frames, joint_of(body, pin)), PINNED) for pin in self._tab.pins.parts]
        for contact in editor.contacts if self._tab.view.contacts.value else ():
            if contact.first <= frame <= contact.last:
                ring = self.footprint if contact.on == GROUND else self.bracelet
                rings.append((ring(body, frames, joint_of(body, contact.part)), CONTACT))
        show(self._rings, "visible", bool(rings))
        if rings:
            rows = np.minimum(np.arange(MAX_RINGS), len(rings) - 1)
            corners = np.stack([ring for ring, _ in rings])
            segments = np.stack([corners, np.roll(corners, 1, axis=1)], axis=2)[rows]
            colours = linear([colour for _, colour in rings])[rows]
            with self._tab.session.server.atomic():
                self._rings.points = segments.reshape(-1, 2, 3).astype(np.float32)
                self._rings.colors = np.repeat(colours, 2 * CORNERS, axis=0).reshape(-1, 2, 3)
        marks = self._tab.warp.marks
        points = np.array([mark.target + actor.position for mark in marks]).reshape(-1, 3)
        tones = [MARKED if mark.frame == frame else OTHER_FRAME for mark in marks]
        self._balls.draw(points, tones, 0.028 * body.joint_height)

    def hide(self) -> None:
        """Show nothing."""
        show(self._rings, "visible", False)
        self._balls.hide()

    def remove(self) -> None:
        """Take the rings and balls off the scene."""
        self._rings.remove()
        self._balls.remove()

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

"""What the edit tab shows around the body: what touches, what is pinned, where marks are; and the weights as colours.

Things that touch and pins are rings wide enough to be seen around the part: on the ground around a foot, as a bracelet
around anything else.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints
from ..edit import MotionEditor
from ..edit.contacts import GROUND
from ..edit.parts import joint_of
from ..skeleton import Frames
from .edit_warp import Mark
from .looks import volumes_of
from .paint import Paint
from .session import Session
from .theme import Rgb

if TYPE_CHECKING:
    from ..body import Humanoid

MOST = 48
"""Rings, and balls, at most; those that are not needed lie on the first."""
AROUND = 40
"""Corners of a ring."""
SCALE: tuple[Rgb, ...] = ((44, 38, 92), (42, 92, 142), (48, 152, 146), (150, 200, 112), (252, 230, 150))
"""Colours of joints from the one that moves least to the one that moves most."""
TOUCHES: Rgb = (2, 86, 14)
PINNED: Rgb = (150, 3, 40)
"""Of lines, whose colours viser takes for linear light: they are seen lighter."""
MARKED: Rgb = (122, 63, 176)
OTHERS: Rgb = (176, 146, 204)
"""Marks of other frames."""


class EditMarks:
    """Rings and balls in the scene."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rings = session.scene.add_line_segments(
            "/world/edit/holds",
            np.zeros((MOST * AROUND, 2, 3), dtype=np.float32),
            np.zeros((MOST * AROUND, 2, 3), dtype=np.uint8),
            thickness=5.0,
            thickness_units="screen",
            visible=False,
        )
        self._balls = session.scene.add_point_cloud(
            "/world/edit/marks",
            np.zeros((MOST, 3), dtype=np.float32),
            np.zeros((MOST, 3), dtype=np.uint8),
            point_shape="circle",
            precision="float32",
            point_shading="flat",
            visible=False,
        )

    def draw(
        self,
        editor: MotionEditor,
        frames: Frames,
        frame: int,
        pins: Iterable[str],
        contacts: bool,
        marks: Iterable[Mark],
        place: Floats,
    ) -> None:
        """Show what is asked for.

        Args:
            editor: of the motion.
            frames: of the joints on the stage.
            frame: which is shown.
            pins: parts that are pinned.
            contacts: whether what touches is marked.
            marks: places to warp through.
            place: (3,) of the track on the stage [m].
        """
        body = editor.body
        rings = [(_bracelet(body, frames, joint_of(body, pin)), PINNED) for pin in pins]
        for contact in editor.contacts if contacts else ():
            if contact.first <= frame <= contact.last:
                joint = joint_of(body, contact.part)
                ground = contact.on == GROUND
                rings.append(((_footprint if ground else _bracelet)(body, frames, joint), TOUCHES))
        self._put_rings(rings[:MOST])
        places = [(mark.target + place, MARKED if mark.frame == frame else OTHERS) for mark in marks]
        self._put_balls(places[:MOST], 0.028 * body.height)

    def hide(self) -> None:
        """Show nothing."""
        for node in (self._rings, self._balls):
            if node.visible:
                node.visible = False

    def remove(self) -> None:
        """Take them off the scene."""
        self._rings.remove()
        self._balls.remove()

    def _put_rings(self, rings: list[tuple[Floats, Rgb]]) -> None:
        if self._rings.visible != bool(rings):
            self._rings.visible = bool(rings)
        if rings:
            rows = np.minimum(np.arange(MOST), len(rings) - 1)
            corners = np.stack([ring for ring, _ in rings])
            segments = np.stack([corners, np.roll(corners, 1, axis=1)], axis=2)[rows]
            colours = np.array([colour for _, colour in rings], dtype=np.uint8)[rows]
            with self._session.server.atomic():
                self._rings.points = segments.reshape(-1, 2, 3).astype(np.float32)
                self._rings.colors = np.repeat(colours, 2 * AROUND, axis=0).reshape(-1, 2, 3)

    def _put_balls(self, balls: list[tuple[Floats, Rgb]], size: float) -> None:
        if self._balls.visible != bool(balls):
            self._balls.visible = bool(balls)
        if balls:
            rows = np.minimum(np.arange(MOST), len(balls) - 1)
            with self._session.server.atomic():
                self._balls.points = np.array([at for at, _ in balls], dtype=np.float32)[rows]
                self._balls.colors = np.array([colour for _, colour in balls], dtype=np.uint8)[rows]
                if not np.isclose(self._balls.point_size, size):
                    self._balls.point_size = size


class WeightColours:
    """The weights of an editor as a paint of its body."""

    def __init__(self) -> None:
        self._ease: weakref.WeakKeyDictionary[MotionEditor, Floats] = weakref.WeakKeyDictionary()

    def ease(self, editor: MotionEditor, frame: int) -> Floats:
        """(J,) from 0 to 1: how readily each joint turns at a frame, the least and the most of it; NaN: not edited.

        The inverse weights of a joint's rotations, their geometric mean, ranked by its logarithm. (Those of the root's
        way are metres and not radians, and cannot be compared.)
        """
        found = self._ease.get(editor)
        if found is None:
            parts, dofs = editor.clip.parts, editor.body.skeleton.dofs
            joints = dofs.joint[parts.dofs]
            turns = parts.free & (np.array(dofs.kind)[parts.dofs] == "rotation")
            found = np.full((len(editor.clip), len(editor.body.skeleton)), np.nan)
            for joint in np.unique(joints[turns]):
                found[:, joint] = editor.logs[:, turns & (joints == joint)].mean(axis=1)
            low, high = np.nanmin(found, axis=1, keepdims=True), np.nanmax(found, axis=1, keepdims=True)
            found = (found - low) / np.maximum(high - low, 1e-9)
            self._ease[editor] = found
        now: Floats = found[frame]
        return now

    def paint(self, editor: MotionEditor, frame: int) -> Paint:
        """The body's colours at a frame: what an edit leaves alone has the colour of what carries it."""
        ease = self.ease(editor, frame)
        at = np.linspace(0.0, 1.0, len(SCALE))
        colours = np.stack([np.interp(ease, at, [stop[k] for stop in SCALE]) for k in range(3)], axis=-1)
        return Paint(carriers(editor.body.skeleton.parents, np.isfinite(ease)), colours)


def carriers(parents: Ints, known: Floats) -> Ints:
    """(J,): each joint that is known (J,) itself, others the nearest known above; else the first that is known."""
    found = np.arange(len(parents))
    first = int(np.argmax(known))
    for joint, parent in enumerate(parents):
        if not known[joint]:
            found[joint] = found[parent] if parent >= 0 else first
    return found


def legend() -> str:
    """What the colours of the weights mean, as HTML."""
    stops = ", ".join(f"rgb{stop}" for stop in SCALE)
    return (
        '<div style="padding: 0 0.75em 0.5em; font-size: 0.75em; color: #444">'
        f'<div style="height: 0.8em; border-radius: 2px; background: linear-gradient(to right, {stops})"></div>'
        '<div style="display: flex; justify-content: space-between"><span>dark: hardly moves</span>'
        "<span>light: moves readily</span></div></div>"
    )


def _bracelet(body: Humanoid, frames: Frames, joint: int) -> Floats:
    """(A, 3): a ring around a joint, across the bone that leads to it."""
    parent = int(body.skeleton.parents[joint])
    way = frames.positions[joint] - frames.positions[parent] if parent >= 0 else np.array([0.0, 1.0, 0.0])
    length = float(np.linalg.norm(way))
    along = way / length if length > 1e-6 else np.array([0.0, 1.0, 0.0])
    turn = pm.between(np.array([0.0, 1.0, 0.0]), along)
    volumes, wide = volumes_of(body), 0.032 * body.height
    if volumes is not None and (volumes.joints == joint).any():
        wide = max(wide, 1.25 * float(volumes.radii[volumes.joints == joint].max(initial=0.0)))
    angles = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    ring = np.stack([np.cos(angles), np.zeros(AROUND), np.sin(angles)], axis=-1)
    circle: Floats = frames.positions[joint] + min(wide, 0.14 * body.height) * pm.rotate(turn, ring)
    return circle


def _footprint(body: Humanoid, frames: Frames, joint: int) -> Floats:
    """(A, 3): a ring on the ground around a foot."""
    skeleton = body.skeleton
    below = [j for j in range(len(skeleton)) if joint in skeleton.path(j)]
    points = np.concatenate([frames.positions[below], frames.ends[np.isin(skeleton.end_parents, below)]])
    flat, low = points[:, [0, 2]], float(points[:, 1].min())
    middle = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
    ahead = flat[int(np.argmax(np.linalg.norm(flat - flat[0], axis=-1)))] - flat[0]
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 1e-6 else np.array([0.0, 1.0])
    angles = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    long, wide = 0.5 * length + 0.055 * body.height, 0.05 * body.height
    across = np.array([-ahead[1], ahead[0]])
    ring = middle + np.outer(long * np.cos(angles), ahead) + np.outer(wide * np.sin(angles), across)
    height = 0.004 * body.height if abs(low) < 0.15 * body.height else low
    return np.stack([ring[:, 0], np.full(AROUND, height), ring[:, 1]], axis=-1)

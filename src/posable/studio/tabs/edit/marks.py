"""What the edit tab shows around the body: what touches, what is pinned, where marks are; and the weights as colours.

Things that touch and pins are rings wide enough to be seen around the part: on the ground around a foot, as a bracelet
around anything else.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

import numpy as np

from ....compute.types import Floats, Ints
from ....edit import MotionEditor
from ....edit.contacts import GROUND
from ....edit.parts import joint_of
from ....skeleton import Frames
from ...core.session import Session
from ...view.paint import Paint
from ...view.theme import Rgb, linear
from .rings import AROUND, Rings
from .warp import Mark

MOST = 48
"""Rings, and balls, at most; those that are not needed lie on the first."""
SCALE: tuple[Rgb, ...] = ((44, 38, 92), (42, 92, 142), (48, 152, 146), (150, 200, 112), (252, 230, 150))
"""Colours of joints from the one that moves least to the one that moves most."""
TOUCHES: Rgb = (18, 150, 62)
PINNED: Rgb = (200, 30, 110)
MARKED: Rgb = (122, 63, 176)
OTHERS: Rgb = (176, 146, 204)
"""Marks of other frames."""


class EditMarks:
    """Rings and balls in the scene."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._around = Rings()
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
            place: (3,) of the actor on the stage [m].
        """
        body = editor.body
        rings = [(self._around.bracelet(body, frames, joint_of(body, pin)), PINNED) for pin in pins]
        for contact in editor.contacts if contacts else ():
            if contact.first <= frame <= contact.last:
                joint = joint_of(body, contact.part)
                around = self._around.footprint if contact.on == GROUND else self._around.bracelet
                rings.append((around(body, frames, joint), TOUCHES))
        self._put_rings(rings[:MOST])
        places = [(mark.target + place, MARKED if mark.frame == frame else OTHERS) for mark in marks]
        self._put_balls(places[:MOST], 0.028 * body.joint_height)

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
            colours = linear([colour for _, colour in rings])[rows]
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

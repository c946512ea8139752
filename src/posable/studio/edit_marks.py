"""What the edit tab shows on the body: how readily joints move, what touches, what is pinned."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

import numpy as np

from ..compute.types import Floats
from ..edit import MotionEditor
from ..edit.parts import joint_of
from .session import Session
from .theme import Rgb

MOST = 96
"""Points of a cloud; those that are not needed lie on the first."""
STIFF, READY = (46, 104, 190), (232, 112, 32)
"""Colours of the joint that moves least and of the one that moves most."""
TOUCHES: Rgb = (22, 140, 52)
PINNED: Rgb = (190, 30, 90)


class EditMarks:
    """Balls in the scene."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clouds = {
            name: session.scene.add_point_cloud(
                f"/world/edit/{name}",
                np.zeros((MOST, 3), dtype=np.float32),
                np.zeros((MOST, 3), dtype=np.uint8),
                point_shape="circle",
                precision="float32",
                point_shading="flat",
                visible=False,
            )
            for name in ("weights", "holds")
        }
        self._ease: weakref.WeakKeyDictionary[MotionEditor, Floats] = weakref.WeakKeyDictionary()

    def ease(self, editor: MotionEditor, frame: int) -> Floats:
        """(J,) from 0 to 1: how readily each joint moves at a frame, the least and the most of it; NaN: not edited.

        The inverse weights of a joint's DoF, their geometric mean, ranked by its logarithm.
        """
        found = self._ease.get(editor)
        if found is None:
            parts, count = editor.clip.parts, len(editor.body.skeleton)
            joints = editor.body.skeleton.dofs.joint[parts.dofs]
            found = np.full((len(editor.clip), count), np.nan)
            for joint in np.unique(joints):
                columns = parts.free & (joints == joint)
                if columns.any():
                    found[:, joint] = editor.logs[:, columns].mean(axis=1)
            low, high = np.nanmin(found, axis=1, keepdims=True), np.nanmax(found, axis=1, keepdims=True)
            found = (found - low) / np.maximum(high - low, 1e-9)
            self._ease[editor] = found
        now: Floats = found[frame]
        return now

    def draw(
        self, editor: MotionEditor, places: Floats, frame: int, pins: Iterable[str], weights: bool, contacts: bool
    ) -> None:
        """Show what is asked for.

        Args:
            editor: of the motion.
            places: (J, 3) of the joints on the stage [m].
            frame: which is shown.
            pins: parts that are pinned.
            weights: whether the joints wear the colours of their weights.
            contacts: whether what touches is marked.
        """
        ease = self.ease(editor, frame) if weights else np.full(len(places), np.nan)
        known = np.flatnonzero(np.isfinite(ease))
        colours = np.outer(1.0 - ease[known], STIFF) + np.outer(ease[known], READY)
        self._put("weights", places[known], colours, 0.03 * editor.body.height)
        held = {joint_of(editor.body, pin): PINNED for pin in pins}
        if contacts:
            for contact in editor.contacts:
                if contact.first <= frame <= contact.last:
                    held.setdefault(joint_of(editor.body, contact.part), TOUCHES)
        self._put("holds", places[list(held)], np.array(list(held.values())), 0.034 * editor.body.height)

    def hide(self) -> None:
        """Show nothing."""
        for cloud in self._clouds.values():
            if cloud.visible:
                cloud.visible = False

    def remove(self) -> None:
        """Take them off the scene."""
        for cloud in self._clouds.values():
            cloud.remove()

    def _put(self, name: str, places: Floats, colours: Floats, size: float) -> None:
        cloud, count = self._clouds[name], min(len(places), MOST)
        if cloud.visible != bool(count):
            cloud.visible = bool(count)
        if count:
            rows = np.minimum(np.arange(MOST), count - 1)
            with self._session.server.atomic():
                cloud.points = places[rows].astype(np.float32)
                cloud.colors = np.asarray(colours)[rows].astype(np.uint8)
                if not np.isclose(cloud.point_size, size):
                    cloud.point_size = size

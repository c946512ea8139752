"""The six points of the reconstruct tab: shown, dragged while the motion is paused, untracked for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....body import MARKERS
from ....compute.types import ArrayLike, Bools, Floats
from ...core.actor import Actor
from ...core.session import Session
from ...view.points import PointCloud
from ...view.theme import Rgb
from ...widgets.controls import NEAR, DragHandle, Follower, redraw_on_update

if TYPE_CHECKING:
    from ....body import Humanoid

REACHED: Rgb = (22, 140, 52)
MISSED: Rgb = (224, 122, 0)
UNTRACKED: Rgb = (150, 155, 160)
VISIBLY_APART = 1e-3
"""A point looks reached when its joint is nearer than this [m]."""


@dataclass(frozen=True, eq=False)
class Dragged:
    """Points that were dragged, at one time of the motion."""

    time: float
    positions: Mapping[int, Floats] = field(default_factory=dict)
    """Index of `MARKERS` to (3,) in the actor's world [m]."""


class ReconstructPoints:
    """Points and handles in the scene; checkboxes that make points untracked between two times."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._now = Dragged(-1.0)
        self._before: Dragged | None = None  # at the start of a drag
        self._offset: Floats = np.zeros(3)  # from the actor's world to where the points are drawn on the stage [m]
        self._cloud = PointCloud(session.server, "/world/reconstruct/points")
        self.handles = {
            role: DragHandle(
                session, f"reconstruct_{role}", partial(self.drag, role), self.drop, disable_rotations=True
            )
            for role in MARKERS
        }

    def add_controls(self) -> None:
        """Add the controls that say which points are untracked, and when."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("Lost trackers", expand_by_default=False):
            self._boxes = [gui.add_checkbox(role.replace("_", " ").capitalize(), False) for role in MARKERS]
            redraw_on_update(session, *self._boxes)
            hint = "Between these times the points are missing: their coordinates are NaN"
            when = gui.add_multi_slider("When [%]", min=0, max=100, step=1, initial_value=(40, 60), hint=hint)
            self._when = Follower(session, when, lambda _: session.changed("pose"))

    @property
    def untracked(self) -> tuple[bool, ...]:
        """Which of `MARKERS` are untracked for a while."""
        return tuple(bool(box.value) for box in self._boxes)

    @property
    def when(self) -> tuple[float, float]:
        """Start and end of that while, as fractions of the motion."""
        low, high = self._when.control.value
        return low / 100.0, high / 100.0

    def of_motion(self, actor: Actor, body: Humanoid) -> Floats:
        """Return (F, 6, 3) [m]: the points of a motion, NaN where they are untracked."""
        points = body.markers(actor.motion.pose)
        points[self._untracked_at(np.arange(len(points)) / max(len(points) - 1, 1))] = np.nan
        return points

    def at(self, actor: Actor, body: Humanoid, time: float) -> Floats:
        """Return (6, 3) [m] in the actor's world: the points at a time [s], as dragged there; NaN where untracked."""
        points = body.markers(actor.motion.at(time))
        duration = actor.motion.duration
        points[self._untracked_at(np.array(time / duration if duration > 0.0 else 0.0))] = np.nan
        for k, position in self.dragged(time).items():
            points[k] = position
        return points

    def dragged(self, time: float) -> Mapping[int, Floats]:
        """Return the points that were dragged at a time of the motion [s], and their positions."""
        return self._now.positions if abs(self._now.time - time) < 1e-9 else {}

    def drag(self, role: str, position: ArrayLike, _orientation: ArrayLike | None = None) -> None:
        """Drag a point to a position on the stage (3,) [m]; `drop` makes it a step to undo."""
        session = self._session
        with session.lock:
            actor, body = session.active, session.body
            if actor is None or body is None:
                return
            session.clock.pause()
            k, target = MARKERS.index(role), np.array(position, dtype=np.float64) - self._offset
            if np.allclose(self.at(actor, body, session.time)[k], target, rtol=0.0, atol=NEAR):
                return  # a click, or a message that arrives after the end of the drag
            self._before = self._before or self._now
            self._now = Dragged(session.time, {**self.dragged(session.time), k: target})
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: it can be undone in one step."""
        with self._session.lock:
            before, after, self._before = self._before, self._now, None
            if before is not None:
                self._session.run("Drag a point", partial(self._set, after), partial(self._set, before))

    def release(self) -> None:
        """Return dragged points to the motion. Can be undone."""
        with self._session.lock:
            if self.dragged(self._session.time):
                free, dragged = Dragged(-1.0), self._now
                self._session.run("Release the points", partial(self._set, free), partial(self._set, dragged))

    def draw(self, body: Humanoid, points: Floats, guessed: Floats, errors: Floats, offset: Floats) -> None:
        """Show the points, and handles while the motion is paused.

        Args:
            body: whose points.
            points: (6, 3) in the actor's world [m], NaN where untracked.
            guessed: (6, 3) where the reconstructed body has them [m]: untracked ones are shown there.
            errors: (6,) distances of the reconstructed body's joints from them [m].
            offset: (3,) position of the reconstructed body's world on the stage [m].
        """
        session, self._offset = self._session, offset
        untracked = np.isnan(points.sum(axis=-1))
        shown = np.where(untracked[:, None], guessed, points) + offset
        reached = (errors < VISIBLY_APART)[:, None]
        colours = np.where(untracked[:, None], UNTRACKED, np.where(reached, REACHED, MISSED))
        self._cloud.draw(shown, colours, 0.034 * body.joint_height)
        for k, handle in enumerate(self.handles.values()):
            visible = not session.clock.playing and not bool(untracked[k])
            handle.show(shown[k], follow=self._before is None, scale=0.075 * body.joint_height, visible=visible)

    def hide(self) -> None:
        """Show nothing."""
        self._cloud.hide()
        for handle in self.handles.values():
            handle.remove()
        self._before = None

    def remove(self) -> None:
        """Take the points off the scene."""
        self.hide()
        self._cloud.remove()

    def _untracked_at(self, fraction: Floats) -> Bools:
        """Return (..., 6): which points are untracked at fractions (...) of the motion."""
        low, high = self.when
        untracked: Bools = ((fraction >= low) & (fraction <= high))[..., None] & np.array(self.untracked)
        return untracked

    def _set(self, dragged: Dragged) -> None:
        self._now, self._before = dragged, None
        self._session.changed("pose")

"""The six points of the reconstruct tab: where they are, dragged while the motion stands still, lost for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....body import MARKERS
from ....compute.types import ArrayLike, Bools, Floats
from ...core.actor import Actor
from ...core.session import Session
from ...view.theme import Rgb
from ...widgets.controls import Follower, assign

if TYPE_CHECKING:
    from ....body import Humanoid

NODE = "/world/reconstruct/points"
MET: Rgb = (22, 140, 52)
MISSED: Rgb = (224, 122, 0)
LOST: Rgb = (150, 155, 160)
CLOSE = 1e-3
"""A point is met, to an eye, when its joint is nearer than this [m]."""


@dataclass(frozen=True, eq=False)
class Dragged:
    """Points that were dragged, at one time of the motion."""

    time: float
    places: Mapping[int, Floats] = field(default_factory=dict)
    """Index of `MARKERS` to (3,) in the actor's world [m]."""


class ReconstructPoints:
    """Balls and handles in the scene; checkboxes that lose points between two times."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._now = Dragged(-1.0)
        self._before: Dragged | None = None  # what a drag began with
        self._base: Floats = np.zeros(3)  # from the actor's world to where the points are drawn on the stage [m]
        self._balls = session.scene.add_point_cloud(
            NODE,
            np.zeros((len(MARKERS), 3), dtype=np.float32),
            np.zeros((len(MARKERS), 3), dtype=np.uint8),
            point_shape="circle",
            precision="float32",
            point_shading="flat",
            visible=False,
        )

    def add_controls(self) -> None:
        """What is lost, and when: here in the panel."""
        session, gui = self._session, self._session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        with gui.add_folder("Lose points", expand_by_default=False):
            self._lose = [gui.add_checkbox(role.replace("_", " ").capitalize(), False) for role in MARKERS]
            for box in self._lose:
                box.on_update(again)
            hint = "Between these times the points are lost: they are no numbers"
            when = gui.add_multi_slider("When [%]", min=0, max=100, step=1, initial_value=(40, 60), hint=hint)
            self._when = Follower(session, when, lambda _: session.changed("pose"))

    @property
    def loses(self) -> tuple[bool, ...]:
        """Which of `MARKERS` are lost for a while."""
        return tuple(bool(box.value) for box in self._lose)

    @property
    def when(self) -> tuple[float, float]:
        """From when to when, as shares of the motion."""
        low, high = self._when.control.value
        return low / 100.0, high / 100.0

    def lose(self, *roles: str, between: tuple[float, float] | None = None) -> None:
        """Lose these points and no others; `between` two shares of the motion."""
        with self._session.lock:
            for role, box in zip(MARKERS, self._lose, strict=True):
                assign(box, role in roles)
            if between is not None:
                self._when.put(tuple(round(100 * share) for share in between))
            self._session.changed("pose")

    def lost(self, frames: int) -> Bools:
        """(F, 6) which points are lost at each frame of a motion."""
        share = np.arange(frames) / max(frames - 1, 1)
        low, high = self.when
        lost: Bools = ((share >= low) & (share <= high))[:, None] & np.array(self.loses)
        return lost

    def of_motion(self, actor: Actor, body: Humanoid) -> Floats:
        """(F, 6, 3) [m]: the points of a motion, NaN where they are lost."""
        points = body.markers(actor.motion.pose)
        points[self.lost(len(points))] = np.nan
        return points

    def at(self, actor: Actor, body: Humanoid, time: float) -> Floats:
        """(6, 3) [m] in the actor's world: the points at a time, as they were dragged there; NaN where lost."""
        points = body.markers(actor.motion.at(time))
        share = time / actor.motion.duration if actor.motion.duration > 0.0 else 0.0
        low, high = self.when
        if low <= share <= high:
            points[np.array(self.loses)] = np.nan
        for k, place in self.dragged(time).items():
            points[k] = place
        return points

    def dragged(self, time: float) -> Mapping[int, Floats]:
        """Which points were dragged, and to where, at a time of the motion."""
        return self._now.places if abs(self._now.time - time) < 1e-9 else {}

    def drag(self, role: str, position: ArrayLike) -> None:
        """Have a point at a place on the stage (3,) [m]; the step to undo is made by `drop`."""
        session = self._session
        with session.lock:
            actor, body = session.active, session.body
            if actor is None or body is None:
                return
            session.clock.pause()
            k, place = MARKERS.index(role), np.array(position, dtype=np.float64) - self._base
            if np.allclose(self.at(actor, body, session.time)[k], place, rtol=0.0, atol=1e-6):
                return  # a click, or a message that comes after the drag's end
            self._before = self._before or self._now
            self._now = Dragged(session.time, {**self.dragged(session.time), k: place})
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: from here it can be undone in one step."""
        with self._session.lock:
            before, after, self._before = self._before, self._now, None
            if before is not None:
                self._session.run("Drag a point", partial(self._put, after), partial(self._put, before))

    def release(self) -> None:
        """Let the points go back to the motion. Can be undone."""
        with self._session.lock:
            if self.dragged(self._session.time):
                self._session.run("Let the points go", partial(self._put, Dragged(-1.0)), partial(self._put, self._now))

    def draw(self, actor: Actor, body: Humanoid, points: Floats, residual: Floats, place: Floats) -> None:
        """Show the points, and handles while the motion stands still.

        Args:
            actor: whose points.
            body: of the actor.
            points: (6, 3) in the actor's world [m]; lost ones are NaN and shown where the motion has them.
            residual: (6,) how far the joints of the reconstructed body are from them [m].
            place: (3,) where the reconstructed body's world lies on the stage [m].
        """
        session, self._base = self._session, place
        lost = np.isnan(points.sum(axis=-1))
        there = np.where(lost[:, None], body.markers(actor.motion.at(session.time)), points) + place
        far = np.where(lost, np.inf, residual)
        colours = np.where(lost[:, None], LOST, np.where((far < CLOSE)[:, None], MET, MISSED))
        with session.server.atomic():
            self._balls.points = there.astype(np.float32)
            self._balls.colors = colours.astype(np.uint8)
            if not np.isclose(self._balls.point_size, 0.034 * body.joint_height):
                self._balls.point_size = 0.034 * body.joint_height
            if not self._balls.visible:
                self._balls.visible = True
        still = not session.clock.playing
        for k, role in enumerate(MARKERS):
            handle = session.gizmos.get(f"reconstruct_{role}")
            if handle is None:
                handle = session.add_gizmo(
                    f"reconstruct_{role}",
                    there[k],
                    scale=0.075 * body.joint_height,
                    disable_rotations=True,
                    disable_sliders=True,
                    depth_test=False,
                )
                handle.on_update(session.guarded(partial(self._moved, role)))
            elif self._before is None and not np.allclose(handle.position, there[k], rtol=0.0, atol=1e-6):
                handle.position = there[k]
            if handle.visible != (still and not lost[k]):
                handle.visible = still and not bool(lost[k])

    def hide(self) -> None:
        """Show nothing."""
        if self._balls.visible:
            self._balls.visible = False
        for role in MARKERS:
            self._session.remove_gizmo(f"reconstruct_{role}")
        self._before = None

    def remove(self) -> None:
        """Take them off the scene."""
        self.hide()
        self._balls.remove()

    def _moved(self, role: str, event: Any) -> None:
        self.drag(role, event.target.position)
        if event.phase == "end":
            self.drop()

    def _put(self, dragged: Dragged) -> None:
        self._now, self._before = dragged, None
        self._session.changed("pose")

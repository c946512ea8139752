"""The original seen through: at the same moment, some frames before and after, or beside the edited body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....skeleton import Motion
from ...core.actor import Actor
from ...core.session import Session

if TYPE_CHECKING:
    from ....body import Humanoid

FAINTER = 0.6
"""So much of a ghost is seen in the one after it."""
ROOM = 0.25
"""Metres between the edited body and the original beside it."""


class EditGhosts:
    """Bodies of the original on the stage, beside those of the motions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.skins: dict[int, Actor] = {}
        """The ghosts by how many frames later they are."""
        self.twin: Actor | None = None
        """The original beside the edited body, which is no ghost."""

    def draw(
        self, actor: Actor, body: Humanoid, original: Motion, time: float, frames: tuple[int, ...], beside: bool
    ) -> None:
        """Have the ghosts that are wanted.

        Args:
            actor: the edited motion.
            body: whose it is.
            original: of the motion.
            time: now [s].
            frames: how many frames later each ghost is; below 0: earlier.
            beside: whether the original stands beside the edited body.
        """
        for later in [
            later for later, skin in self.skins.items() if later not in frames or skin.motion is not original
        ]:
            self._session.remove_extra(self.skins.pop(later))
        steps = sorted({abs(later) for later in frames} - {0})
        for later in frames:
            if later not in self.skins:
                faint = FAINTER ** (1 + steps.index(abs(later))) if later else 1.0
                skin = Actor(
                    original, body, f"{actor.name} original", position=actor.position, ghost=True, opacity=faint
                )
                self.skins[later] = skin
                self._session.add_extra(skin)
            self.skins[later].position = actor.position
            if later:
                then = float(np.clip(time + later / original.fps, 0.0, original.duration))
                self.skins[later].pose_override = original.at(then)
        self._draw_twin(actor, body, original, beside)

    def send_off(self) -> None:
        """Have none."""
        for skin in self.skins.values():
            self._session.remove_extra(skin)
        self.skins = {}
        if self.twin is not None:
            self._session.remove_extra(self.twin)
            self.twin = None

    def _draw_twin(self, actor: Actor, body: Humanoid, original: Motion, beside: bool) -> None:
        if self.twin is not None and (not beside or self.twin.motion is not original):
            self._session.remove_extra(self.twin)
            self.twin = None
            self._session.stage.frame(self._session.shown)
        if beside and self.twin is None:
            place = actor.position + np.array([self._edge() + ROOM - _left(actor), 0.0, 0.0])
            self.twin = Actor(original, body, f"{actor.name} original", position=place)
            self._session.add_extra(self.twin)
            self._session.stage.frame(self._session.shown)

    def _edge(self) -> float:
        """Where the last of the motions on the stage ends [m]."""
        return max(
            float(one.position[0] + one.motion.pose.translation[0, 0] + one.box[1, 0]) for one in self._session.actors
        )


def _left(actor: Actor) -> float:
    return float(actor.position[0] + actor.motion.pose.translation[0, 0] + actor.box[0, 0])

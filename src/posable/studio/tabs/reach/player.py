"""Reach motions in the studio: played where the body stands, and kept as a motion of the stage."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import viser

from ....compute import Status
from ....reach import ReachMotion
from ....skeleton import Motion, Pose
from ...core.session import Session
from ...widgets.status_text import SENTENCES

HOLD = 0.6
"""Seconds that the hand stays on its target."""


class ReachPlayer:
    """Two buttons: play the reach from the starting pose to the targets, and put it on the stage.

    Args:
        session: whose panel.
        make: makes the motion as everything stands now.
    """

    def __init__(self, session: Session, make: Callable[[], ReachMotion]) -> None:
        self._session, self._make = session, make
        self._playing: tuple[Motion, float] | None = None
        play = session.gui.add_button("Play the reach", icon=viser.Icon.PLAYER_PLAY, hint="From the starting pose")
        play.on_click(session.guarded(lambda _: self.play()))
        hint = "As a motion of the stage, which can be played, plotted and saved"
        keep = session.gui.add_button("Keep it as a motion", icon=viser.Icon.MOVIE, hint=hint)
        keep.on_click(session.guarded(lambda _: self.keep()))

    @property
    def playing(self) -> bool:
        """Whether a reach is being shown."""
        return self._playing is not None

    def play(self) -> None:
        """Show the reach, once."""
        with self._session.lock:
            self._playing = (self._made().motion, time.monotonic())
            self._session.animating.add("reach")

    def stop(self) -> None:
        """Show no reach."""
        if self._playing is not None:
            self._playing = None
            self._session.animating.discard("reach")

    def keep(self) -> None:
        """Put the reach on the stage beside the others, from its start. Can be undone."""
        with self._session.lock:
            made, body = self._made(), self._session.body
            self._session.add(made.motion, body=body, name="reach", keep=False)
            self._session.clock.seek(0.0)
            self._session.clock.play()

    def pose(self) -> Pose | None:
        """The pose to show now; None when no reach is played."""
        if self._playing is None:
            return None
        motion, since = self._playing
        now = time.monotonic() - since
        if now > motion.duration:
            self.stop()
            return None
        return motion.at(now)

    def _made(self) -> ReachMotion:
        made = self._make()
        if not np.all(made.ok):
            first = int(np.flatnonzero(~np.asarray(made.ok))[0])
            why = SENTENCES[Status(int(made.status[first]))]
            self._session.notify(f"From {first / made.motion.fps:.2f} s on the hand leaves its path: {why}")
        return made

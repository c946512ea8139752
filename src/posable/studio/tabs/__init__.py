"""Tabs: each job of the studio is one module here.

A tab is a class with a `title`, `build(session)`, `update(time)`, `leave` and `close`. To add a job, write a module
with such a class and name it in `TABS`; nothing else changes.
"""

from __future__ import annotations

from typing import Protocol

from ..core.session import Session
from .behaviours.tab import BehavioursTab
from .live.tab import LiveTab
from .motion.tab import MotionTab
from .play import PlayTab
from .pose.tab import PoseTab
from .robot.tab import RobotTab
from .trackers.tab import TrackersTab


class Tab(Protocol):
    """The interface of a tab; its class is called without arguments."""

    title: str

    def build(self, session: Session) -> None:
        """Store the session and add controls with `session.gui`; called once, inside the tab's page of the panel."""

    def update(self, time: float) -> None:
        """Prepare the moment about to be drawn, at `time` seconds; called up to 60 times a second while things move.

        Only the tab in front is called: `update` shows what the tab puts on the stage, `leave` takes it away.
        """

    def leave(self) -> None:
        """Take away all that is shown on the stage: another tab comes to the front."""

    def close(self) -> None:
        """Remove what was added outside the tab's page (gizmos, nodes of the scene, listeners)."""


TABS: tuple[type[Tab], ...] = (PlayTab, PoseTab, BehavioursTab, TrackersTab, RobotTab, MotionTab, LiveTab)
"""The studio's tabs, from left to right."""

__all__ = ["TABS", "BehavioursTab", "LiveTab", "MotionTab", "PlayTab", "PoseTab", "RobotTab", "Tab", "TrackersTab"]

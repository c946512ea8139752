"""Tabs: each job of the studio is one module here.

A tab is a class with a `title`, `build(session)`, `update(time)` and `close`. To add a job, write a module with such a
class and name it in `TABS`; nothing else changes.
"""

from __future__ import annotations

from typing import Protocol

from ..core.session import Session
from .edit.tab import EditTab
from .express.tab import ExpressTab
from .limb.tab import LimbTab
from .play import PlayTab
from .plot import PlotTab
from .reach.tab import ReachTab
from .reconstruct.tab import ReconstructTab


class Tab(Protocol):
    """The interface of a tab; its class is called without arguments."""

    title: str

    def build(self, session: Session) -> None:
        """Store the session and add controls with `session.gui`; called once, inside the tab's page of the panel."""

    def update(self, time: float) -> None:
        """Prepare the moment about to be drawn, at `time` seconds; called up to 60 times a second while things move."""

    def close(self) -> None:
        """Remove what was added outside the tab's page (gizmos, nodes of the scene, listeners)."""


TABS: tuple[type[Tab], ...] = (PlayTab, LimbTab, ReachTab, ReconstructTab, ExpressTab, EditTab, PlotTab)
"""The studio's tabs, from left to right."""

__all__ = ["TABS", "EditTab", "ExpressTab", "LimbTab", "PlayTab", "PlotTab", "ReachTab", "ReconstructTab", "Tab"]

"""The behaviours tab with the right hand reaching, without a page and in one."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from posable.reach import Behaviour
from posable.skeleton import Pose
from posable.studio import Session, Studio
from posable.studio.tabs.behaviours.tab import NONE, BehavioursTab

LOW = (np.radians(55.0), np.radians(40.0))
"""A swing of the right arm: low, ahead of the side."""


@pytest.fixture
def tab(studio: Studio) -> Iterator[BehavioursTab]:
    """The tab with the right hand reaching as in the example normal."""
    session = studio.session
    tab = next(tab for tab in studio.tabs if isinstance(tab, BehavioursTab))
    if session.active is None or session.active.name != "walk":
        session.open_sample("walk", keep=False)
    session.show_tab(tab.title)
    session.clock.pause()
    session.clock.seek(0.5)
    tab.targets.clear()
    tab.update(session.time)
    tab.choose("right hand")
    tab.keys.begin(*(Behaviour.default(session.body, f"{side}_arm") for side in ("right", "left")))
    tab.update(session.time)
    tab.editor.choose("chest")
    session.history.clear()
    yield tab
    tab.choose(NONE)
    tab.options.obstacle.choose("(none)")
    tab.view.mapping.value = tab.view.outer.value = False


def written(tab: BehavioursTab, folder: Path) -> tuple[str, str]:
    """Both behaviours as their files have them."""
    for side in ("right", "left"):
        tab.keys.behaviours[side].save(folder / f"{side}.json")
    return tuple((folder / f"{side}.json").read_text() for side in ("right", "left"))


def shown(tab: BehavioursTab, session: Session) -> Pose:
    tab.update(session.time)
    return session.active.pose_override

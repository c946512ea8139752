"""The limb tab on a walk that stands still."""

from collections.abc import Iterator

import numpy as np
import pytest

from posable.studio import Session, Studio
from posable.studio.tabs.limb.tab import NONE, LimbTab
from posable.studio.view.obstacle import NOTHING

from ..window import by

PARTS = ("right_hand", "left_hand", "right_foot", "left_foot")
UNUSUAL_OFFSET = by(0.1, 0.25, -0.5)
"""From a walker's left hand: behind the back, where no hand goes."""


def limb_tab(studio: Studio) -> LimbTab:
    return next(tab for tab in studio.tabs if isinstance(tab, LimbTab))


def shown(tab: LimbTab, session: Session, part: str) -> np.ndarray:
    """(3,) where the part is on the stage once this moment is prepared [m]."""
    tab.update(session.time)
    return session.active.frames(session.time).positions[session.body.index(part)]


@pytest.fixture
def tab(studio: Studio) -> Iterator[LimbTab]:
    """The tab with the left hand chosen, on a walk that stands still."""
    session, tab = studio.session, limb_tab(studio)
    session.open_sample("walk", keep=False)
    session.clock.pause()
    session.clock.seek(0.5)
    tab.choose("left_hand")
    tab.update(session.time)  # on a new machine this compiles for minutes, longer than a page is waited for
    session.history.clear()
    yield tab
    tab.choose(NONE)
    tab.obstacle.choose(NOTHING)
    tab.learned.apply(False)
    tab.learned.show(False)

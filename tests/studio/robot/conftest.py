"""The robot tab, without a page and in one."""

from collections.abc import Iterator

import pytest

from posable.studio import Studio
from posable.studio.tabs.robot.tab import BOTH, NONE, RobotTab
from posable.studio.tabs.robot.target import POINT


@pytest.fixture
def tab(studio: Studio) -> Iterator[RobotTab]:
    """The tab with skeleton C on the stage, both methods, and everything else as it begins."""
    tab = next(tab for tab in studio.tabs if isinstance(tab, RobotTab))
    studio.session.show_tab(tab.title)
    tab.choose("C")
    tab._warming.join()  # compiles, where nobody has yet
    yield tab
    with studio.session.lock:
        tab._orbits.value, tab._filtered.value, tab._aim.value = False, False, POINT
        tab.solve_by(BOTH)
        tab.postures.stored = []
        tab.choose(NONE)
        studio.session.history.clear()

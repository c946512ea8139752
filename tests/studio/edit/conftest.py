"""The edit tab on a short walk, without a page and in one."""

from collections.abc import Iterator

import pytest

from posable import samples
from posable.body import figure
from posable.edit import MotionEditor
from posable.studio import Studio
from posable.studio.tabs.edit.options import ANSWERS, OF_BODY
from posable.studio.tabs.edit.tab import NONE, EditTab
from posable.studio.tabs.edit.view import EDITED

from ..window import wait


@pytest.fixture(scope="module")
def studio(studio: Studio) -> Studio:
    """With what the first edits compile compiled already, where nobody waits for it."""
    body = figure()
    editor = MotionEditor(samples.walk(body)[:30], body)
    editor.edit(frame=10, part="left_hand", displacement=(0.0, 0.02, 0.0))
    editor.drag(frame=10, part="left_hand", displacement=(0.0, 0.02, 0.0))
    return studio


@pytest.fixture
def tab(studio: Studio) -> Iterator[EditTab]:
    """The tab on sixty frames of a walk that stand at frame 30, with the left hand in its handle."""
    session = studio.session
    tab = next(tab for tab in studio.tabs if isinstance(tab, EditTab))
    session.open_sample("walk", keep=False)
    session.replace(session.motion[:60], "Cut")
    session.clock.pause()
    session.clock.seek(30 / session.motion.fps)
    tab.choose("left_hand")
    tab.update(session.time)
    wait(lambda: tab.editor is not None, "the weights to be fitted")
    tab.update(session.time)
    session.history.clear()
    yield tab
    with session.lock:
        view, options = tab.view, tab.options
        view.shown.value, view.onion.value, view.weights.value, view.around.value = EDITED, False, False, 0
        options.rotate.value, options.contacts.value, options.spread.value = False, True, 0.5
        options.limits.value, options.mode.value, options.ease.value = OF_BODY, "phase", "cosine"
        options.scope.value = next(iter(ANSWERS))
        tab.warp.marking.value, tab.pins.by_click.value = False, False
        tab.pins.clear()
        tab.choose(NONE)
        tab.update(session.time)

"""Pose and Motion on a short walk, without a page and in one: the left hand selected, in the style of this motion."""

from collections.abc import Iterator

import pytest

from posable import samples
from posable.body import figure
from posable.edit import MotionEditor
from posable.studio import Studio
from posable.studio.tabs.motion.view import EDITED
from posable.studio.tabs.pose.options import BOTH, MOTION, NONE, OF_BODY, SCOPES, WHOLE
from posable.studio.view.obstacle import NOTHING

from ..desk import Desk
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
def answer() -> str:
    """How the body answers, unless a module says otherwise."""
    return MOTION


@pytest.fixture
def tab(studio: Studio, answer: str) -> Iterator[Desk]:
    """Sixty frames of a walk that stand at frame 30, with the left hand in its handle."""
    session, desk = studio.session, Desk(studio)
    desk.show("Pose")
    session.open_sample("walk", keep=False)
    session.replace(session.motion[:60], "Cut")
    session.clock.pause()
    session.clock.seek(30 / session.motion.fps)
    desk.pose.answer_by(answer)
    desk.pose.choose("left_hand")
    desk.update(session.time)
    wait(lambda: session.edits.editor is not None and (answer != MOTION or session.edits.fitted), "the editor")
    desk.update(session.time)
    session.history.clear()
    yield desk
    with session.lock:
        view, options = desk.view, desk.options
        view.shown.value, view.onion.value, view.weights.value, view.around.value = EDITED, False, False, 0
        options.handle.value, options.contacts.value, options.spread.value = BOTH, True, 0.5
        options.limits.value, options.mode.value, options.ease.value = OF_BODY, "phase", "cosine"
        options.scope.value, options.keep_orientation.value = next(iter(SCOPES)), False
        options.answer.value, options.own_weight.value = WHOLE, False
        desk.warp.marking.value, desk.pins.by_click.value = False, False
        desk.pose.show_orbit.value = desk.pose.show_limits.value = False
        desk.pose.learned.apply(False)
        desk.pose.learned.show(False)
        desk.obstacle.choose(NOTHING)
        desk.pins.clear()
        desk.choose(NONE)
        desk.show("Pose")

"""Nothing is held in secret: what a tab puts on the stage goes with it, and a message goes with its cause."""

from collections.abc import Iterator

import numpy as np
import pytest

from posable.compute import PosableError
from posable.studio import Session, Studio
from posable.studio.tabs import BehavioursTab, PoseTab, TrackersTab
from posable.studio.tabs.pose.options import LIMB
from posable.studio.tabs.trackers.tab import ADJACENT

from ..desk import Desk
from ..window import by, wait

NODES = ("/world/pose", "/world/reach", "/world/reconstruct", "/world/motion", "/world/express", "/world/robot")
"""Where tabs draw in the scene."""


@pytest.fixture(scope="module")
def walking() -> Iterator[Studio]:
    with Studio(port=0, open_browser=False) as running:
        running.session.clock.pause()
        yield running


@pytest.fixture
def desk(walking: Studio) -> Desk:
    session = walking.session
    session.show_tab("Play")
    session.open_sample("walk", keep=False)
    session.clock.pause()
    session.clock.seek(0.5)
    session.history.clear()
    return Desk(walking)


def tab_of(desk: Desk, kind: type):
    return next(tab for tab in desk.studio.tabs if isinstance(tab, kind))


def drawn_by_tabs(session: Session) -> list[str]:
    """Names of the nodes of tabs that are visible."""
    nodes = session.scene._handle_from_node_name.items()
    drawn = [name for name, node in nodes if name.startswith(NODES) and name.count("/") > 2 and node.visible]
    return [name for name in drawn if not _hidden(session, name)]


def _hidden(session: Session, name: str) -> bool:
    """Whether a node above is invisible."""
    parts = name.split("/")
    above = ["/".join(parts[:k]) for k in range(3, len(parts))]
    known = session.scene._handle_from_node_name
    return any(one in known and not known[one].visible for one in above)


def is_the_motion(session: Session) -> bool:
    """Whether the body on the stage does at all times what its motion says, and nothing else is there."""
    same = [
        np.array_equal(session.active.pose(time).rotations, session.motion.at(time).rotations)
        for time in (0.0, 0.7, 1.3)
    ]
    return all(same) and session.extras == () and session.gizmos == {} and session.stage.transparent is None


def test_a_hand_that_is_being_dragged_is_let_go_when_its_tab_is_left(desk: Desk):
    session, pose = desk.session, tab_of(desk, PoseTab)
    desk.show("Pose")
    pose.answer_by(LIMB)
    pose.choose("left_hand")
    pose.show_orbit.value = pose.show_limits.value = True
    pose.learned.show(True)
    desk.update(session.time)
    wait(lambda: session.edits.editor is not None, "the editor")
    desk.update(session.time)
    pose.drag(np.array(session.gizmos["pose"].position) + by(0.1, 0.3, 0.2))
    desk.update(session.time)
    assert drawn_by_tabs(session) and not is_the_motion(session)
    for title in session.tabs:
        if title != "Pose":
            desk.show("Pose")
            session.show_tab(title)
            assert is_the_motion(session), title
            assert drawn_by_tabs(session) == [], title
    pose.show_orbit.value = pose.show_limits.value = False
    pose.learned.show(False)
    assert session.edits.entries == ()


def test_a_reach_that_is_designed_is_not_what_is_played_and_a_kept_one_moves(desk: Desk):
    session, tab = desk.session, tab_of(desk, BehavioursTab)
    desk.show("Behaviours")
    tab.choose("right hand")
    desk.update(session.time)
    assert not is_the_motion(session) and drawn_by_tabs(session)
    desk.show("Play")
    assert is_the_motion(session) and drawn_by_tabs(session) == []
    desk.show("Behaviours")
    assert not is_the_motion(session) and "reach_right" in session.gizmos, "it comes back with its tab"
    others = session.actors
    tab.add_to_stage()
    desk.update(session.time)
    assert session.tab == "Play" and session.actors[: len(others)] == others, "the other motions stay"
    assert session.active.name == "reach" and is_the_motion(session)
    moved = session.active.frames(0.0).positions - session.active.frames(0.8 * session.motion.duration).positions
    assert np.abs(moved).max() > 0.1, "it moves when it is played"
    session.clock.pause()
    session.undo()


def test_six_points_go_with_their_tab(desk: Desk):
    session, tab = desk.session, tab_of(desk, TrackersTab)
    session.replace(session.motion[:60], "Cut")
    desk.show("Trackers")
    tab.show(ADJACENT)
    desk.update(session.time)
    wait(lambda: tab.result is not None, "the reconstruction")
    desk.update(session.time)
    assert session.extras and drawn_by_tabs(session)
    desk.show("Play")
    assert is_the_motion(session) and drawn_by_tabs(session) == []
    desk.show("Trackers")
    assert session.extras == (tab.guest,)
    tab.show("(none)")
    session.undo()


def test_only_the_tab_in_front_takes_clicks(desk: Desk):
    session, tab = desk.session, tab_of(desk, BehavioursTab)
    desk.show("Behaviours")
    tab.choose("right hand")
    desk.update(session.time)
    origin = tab.targets.frame("right")[1]
    ahead = origin + by(0.0, 0.0, 3.0) + session.active.position
    desk.show("Play")
    target = tab.targets["right"]
    assert not any(handle(ahead, by(0.0, 0.0, -1.0)) for handle in session.click_handlers)
    assert np.array_equal(tab.targets["right"], target)
    desk.show("Behaviours")
    tab.choose("(none)")


def test_a_tab_that_is_left_for_one_that_does_not_exist_stays(desk: Desk):
    with pytest.raises(PosableError, match="Play, Pose, Behaviours"):
        desk.session.show_tab("Edit")
    assert desk.session.tab == "Play"


def test_an_error_goes_when_something_works_again_and_when_its_tab_is_left(desk: Desk):
    session, event = desk.session, type("Event", (), {"client": object()})()

    def fail(_: object) -> None:
        raise PosableError("the value is 3; expected 4")

    for cure in (lambda: session.guarded(lambda _: None)(event), lambda: session.show_tab("Motion")):
        session.guarded(fail)(event)
        assert session.message == ("error", "the value is 3; expected 4")
        cure()
        assert session.message is None
    session.guarded(fail)(event)
    session.guarded(fail)(event)
    assert session.message is not None, "another failure takes its place"


def test_every_state_of_every_tab_is_left_without_a_trace(desk: Desk):
    """Each tab with everything that it can show switched on, left for each other one."""
    session = desk.session
    for title in session.tabs:
        desk.show(title)
        if title == "Motion":
            desk.view.onion.value, desk.view.around.value, desk.view.weights.value = True, 2, True
            desk.view.shown.value = "original"
            desk.update(session.time)
            wait(lambda: session.edits.fitted, "the weights")
            desk.update(session.time)
            assert session.extras and session.stage._paints
        session.show_tab("Play" if title != "Play" else "Pose")
        assert is_the_motion(session) and session.stage._paints == {} and session.stage.only is None, title
    desk.view.onion.value, desk.view.around.value, desk.view.weights.value = False, 0, False
    desk.view.shown.value = "edited"

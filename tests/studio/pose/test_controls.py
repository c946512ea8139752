"""What else the edit tab does: parts are turned, limits and modes chosen, several places met, bones stretched."""

from types import SimpleNamespace

import numpy as np
import pytest

import posable.math as pm
from posable.compute import PosableError
from posable.edit import MotionEditor, StretchEdit, WarpEdit
from posable.skeleton import Motion
from posable.studio import Session
from posable.studio.tabs.motion.edit_list import CHANGE, REMOVE
from posable.studio.tabs.pose.options import BOTH, LIMITS, limits_of
from posable.studio.widgets.edit_bars import TARGETS

from ..desk import Desk
from ..window import by

TURN = pm.axis_angle(np.array([0.0, 1.0, 0.0]), 0.4)


def place(session: Session, motion: Motion, frame: int, part: str = "left_hand"):
    frames = session.body.skeleton.forward(motion[frame])
    return frames.positions[session.body.index(part)], frames.orientations[session.body.index(part)]


def grip(tab: Desk, session: Session, way, turn=None) -> None:
    """Drag the handle in two messages, as a page sends them; `turn` (4,) where it has rings."""
    start = np.array(session.gizmos["pose"].position)
    for share, phase in ((0.5, "start"), (1.0, "end")):
        turned = (1.0, 0.0, 0.0, 0.0) if turn is None else pm.slerp(np.array([1.0, 0.0, 0.0, 0.0]), turn, share)
        target = SimpleNamespace(position=start + share * way, wxyz=turned, disable_rotations=turn is None)
        tab.handle.receive(SimpleNamespace(target=target, phase=phase))
        tab.update(session.time)


def go_to(tab: Desk, session: Session, frame: int) -> None:
    session.clock.seek(frame / session.motion.fps)
    tab.update(session.time)


def test_a_turned_part_has_the_turn_of_its_handle_and_stays_where_it_is(tab: Desk, session: Session):
    before = session.motion
    tab.options.handle.value = BOTH
    tab.update(session.time)
    assert not session.gizmos["pose"].disable_rotations
    grip(tab, session, by(0.0, 0.0, 0.0), TURN)
    edit = tab.editor.edits[0]
    (was, turned), (now, after) = (place(session, motion, 30) for motion in (before, session.motion))
    assert edit.ok and edit.orientation_error < 5e-3
    assert pm.angle(after, pm.multiply(TURN, turned)) < 5e-3 and np.linalg.norm(now - was) < 1e-3
    assert session.history.undoable == "Rotate the left hand" and "On target" in tab.report.text.content
    tab.update(session.time)
    assert pm.angle(np.array(session.gizmos["pose"].wxyz), np.array([1.0, 0, 0, 0])) < 1e-9, "rings begin anew"
    session.undo()
    tab.update(session.time)
    assert session.motion is before


def test_arrows_pull_a_part_without_turning_it_while_it_is_turned_too(tab: Desk, session: Session):
    before = session.motion
    tab.options.keep_orientation.value = True
    tab.update(session.time)
    grip(tab, session, by(0.0, 0.06, 0.03), np.array([1.0, 0.0, 0.0, 0.0]))
    (was, turned), (now, after) = (place(session, motion, 30) for motion in (before, session.motion))
    assert tab.editor.edits[0].ok and pm.angle(after, turned) < 5e-3
    assert np.linalg.norm(now - was - by(0.0, 0.06, 0.03)) < 1e-3


def test_a_turn_moved_to_other_frames_turns_the_part_as_much_there(tab: Desk, session: Session):
    before = session.motion
    tab.options.handle.value, tab.options.spread.value = BOTH, 0.2
    grip(tab, session, by(0.0, 0.0, 0.0), TURN)
    tab.change(0, 20, 0.2)
    (_, turned), (_, after) = (place(session, motion, 20) for motion in (before, session.motion))
    assert tab.editor.edits[0].ok and pm.angle(after, pm.multiply(TURN, turned)) < 5e-3


@pytest.mark.parametrize("choice", LIMITS)
def test_every_choice_of_limits_is_one_that_an_editor_takes(tab: Desk, session: Session, choice: str):
    before, body = session.motion, session.body
    tab.options.limits.value = choice
    tab.update(session.time)
    grip(tab, session, by(0.0, 0.35, 0.3))
    wanted = MotionEditor(before, body, limits=limits_of(choice, body))
    wanted.__dict__["logs"] = tab.editor.logs  # fitted already
    wanted.edit(frame=30, part="left_hand", displacement=by(0.0, 0.35, 0.3))
    assert np.abs(session.motion.pose.rotations - wanted.motion.pose.rotations).max() < 1e-9


def test_mode_scope_and_ease_reach_the_edit_and_its_ease_can_be_changed(tab: Desk, session: Session):
    tab.options.mode.value, tab.options.scope.value, tab.options.ease.value = "frozen", "arm or leg alone", "linear"
    grip(tab, session, by(0.0, 0.05, 0.0))
    edit = tab.editor.edits[0]
    assert [edit.settings[name] for name in ("mode", "scope", "ease")] == ["frozen", "limb", "linear"]
    assert tab.list._ease.visible and tab.list._ease.value == "linear"
    tab.list._ease.value = "smooth"
    tab.list.press(CHANGE)
    tab.update(session.time)
    assert edit.settings["ease"] == "smooth" and session.history.undoable == "Change edit 1"
    session.undo()
    tab.update(session.time)
    assert tab.editor.edits[0].settings["ease"] == "linear" and tab.list._ease.value == "linear"
    tab.list.press(REMOVE)
    tab.update(session.time)
    assert tab.editor.edits == () and not tab.list._buttons.visible


def marked(tab: Desk, session: Session) -> Motion:
    """The left hand marked 8 cm higher at frame 20 and where it is at frame 40; the motion before."""
    before = session.motion
    tab.warp.marking.value, tab.options.handle.value = BOTH, True
    go_to(tab, session, 20)
    assert session.gizmos["pose"].disable_rotations, "marks are places alone"
    grip(tab, session, by(0.0, 0.08, 0.0))
    assert session.motion is before and len(tab.warp.marks) == 1 and session.active.pose_override is not None
    go_to(tab, session, 40)
    assert session.active.pose_override is None, "a mark is seen at its own frame"
    tab.warp.mark_here()
    tab.update(session.time)
    return before


def test_pulls_leave_marks_and_a_warp_goes_through_them(tab: Desk, session: Session):
    before = marked(tab, session)
    assert [(mark.frame, mark.part) for mark in tab.warp.marks] == [(20, "left_hand"), (40, "left_hand")]
    assert tab.pose._balls.node.visible and len(session.marks.of(TARGETS)) == 2
    assert "frame 20" in tab.warp._text.content and not tab.warp._warp.disabled
    tab.warp.warp()
    tab.update(session.time)
    warped, (edit,) = session.motion, tab.editor.edits
    assert isinstance(edit, WarpEdit) and edit.ok and session.history.undoable == "Warp through 2 targets"
    assert np.linalg.norm(place(session, warped, 20)[0] - place(session, before, 20)[0] - by(0.0, 0.08, 0.0)) < 1e-3
    assert np.linalg.norm(place(session, warped, 40)[0] - place(session, before, 40)[0]) < 1e-3
    assert tab.warp.marks == () and tab.drawn and "warp" in tab.list._list.value
    session.undo()
    tab.update(session.time)
    assert session.motion is before and len(tab.warp.marks) == 2, "an undo has the marks again"
    for count in (1, 0):
        session.undo()
        assert len(tab.warp.marks) == count
    session.redo()
    tab.warp.clear()
    tab.update(session.time)
    assert tab.warp.marks == () and tab.warp._warp.disabled
    with pytest.raises(PosableError, match="no marks"):
        tab.warp.warp()


def test_parts_marked_at_one_frame_hold_while_others_are_pulled(tab: Desk, session: Session):
    marked(tab, session)
    go_to(tab, session, 20)
    grip(tab, session, by(0.0, 0.05, 0.0))  # again: the mark is moved, and there is still one
    assert len(tab.warp.marks) == 2
    hand = tab.warp.marks[0].target
    tab.choose("right_hand")
    tab.update(session.time)
    grip(tab, session, by(0.0, 0.0, 0.05))
    assert tab.warp.parts_at(20) == ("left_hand", "right_hand")
    held = session.body.skeleton.forward(session.active.pose_override).positions[session.body.index("left_hand")]
    assert np.linalg.norm(held - hand) < 2e-3
    tab.warp.marking.value = False
    tab.update(session.time)
    grip(tab, session, by(0.0, 0.01, 0.0))
    assert len(tab.editor.edits) == 1 and len(tab.warp.marks) == 3, "an edit leaves the marks"


def test_the_bar_of_a_warp_is_moved_with_all_its_places_and_stretched(tab: Desk, session: Session):
    before = marked(tab, session)
    tab.options.spread.value = 0.1
    tab.warp.warp()
    tab.update(session.time)
    tab.drag_bar("0:all", 10)
    edit = tab.editor.edits[0]
    assert [frame for frame, _, _ in edit.settings["constraints"]] == [30, 50] and edit.ok
    way = place(session, session.motion, 30)[0] - place(session, before, 30)[0]
    assert np.linalg.norm(way - by(0.0, 0.08, 0.0)) < 1e-3, "it does there what it did"
    assert not tab.list._ease.visible and tab.list._frame.value == 30
    tab.change(0, 59, 0.3)
    assert [frame for frame, _, _ in edit.settings["constraints"]] == [39, 59], "no place leaves the motion"
    assert edit.settings["spread"] == 0.3
    tab.remove(0)
    assert tab.editor.edits == ()


def test_a_bone_is_stretched_for_a_while(tab: Desk, session: Session):
    before = session.motion
    tab.options.spread.value = 0.2
    tab.stretch.stretch(1.25)
    tab.update(session.time)
    edit = tab.editor.edits[0]
    assert isinstance(edit, StretchEdit) and session.history.undoable == "Stretch the bone to the left hand"

    def length(frame: int) -> float:
        places = session.body.skeleton.forward(session.motion[frame]).positions
        joint = session.body.index("left_hand")
        return float(np.linalg.norm(places[joint] - places[session.body.skeleton.parents[joint]]))

    assert length(30) == pytest.approx(1.25 * length(0)) and length(59) == pytest.approx(length(0))
    assert "stretch left hand ×1.25" in tab.list._list.value and tab.drawn
    tab.change(0, 40, 0.2)
    assert length(40) == pytest.approx(1.25 * length(0))
    session.undo()
    session.undo()
    tab.update(session.time)
    assert session.motion is before and tab.editor.edits == ()
    tab.choose("hips")
    with pytest.raises(PosableError, match="root"):
        tab.stretch.stretch(1.1)
    assert session.motion is before and tab.editor.edits == ()

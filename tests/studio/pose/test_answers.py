"""One selection and one handle: what is clicked is selected everywhere, and the body answers as one control says."""

from types import SimpleNamespace

import numpy as np
import pytest

import posable as ps
from posable.compute import Status
from posable.limb import Target
from posable.studio import Session
from posable.studio.tabs.pose.options import ANSWERS, BOTH, LIMB, MORE, MOTION, MOVE, NONE, ROTATE, WHOLE

from ..desk import Desk
from ..window import by, wait


@pytest.fixture
def answer() -> str:
    return WHOLE


def hand(session: Session, motion: ps.Motion, part: str = "left_hand", frame: int = 30) -> np.ndarray:
    return session.body.skeleton.forward(motion[frame]).positions[session.body.index(part)]


def click(session: Session, point: np.ndarray) -> None:
    """Click a point of the stage, from straight ahead."""
    origin = point + session.stage.offset + by(0.0, 0.0, 3.0)
    event = SimpleNamespace(client=object(), ray_origin=origin, ray_direction=(0.0, 0.0, -1.0))
    session.guarded(session._clicked)(event)


def test_a_click_on_a_hand_selects_it_everywhere_and_shows_its_handle(tab: Desk, session: Session):
    tab.choose(NONE)
    tab.show("Play")
    session.clock.play()
    frames, skeleton, wrist = (
        session.active.frames(session.time),
        session.body.skeleton,
        session.body.index("right_hand"),
    )
    fingers = [j for j in range(len(skeleton)) if wrist in skeleton.path(j) and j != wrist]
    click(session, frames.positions[fingers].mean(axis=0))
    assert session.tab == "Pose", "a click on a body leads to where it can be dragged"
    tab.update(session.time)
    assert session.selection.part == "right hand" and tab.part == "right_hand" and not session.clock.playing
    assert str(tab.parts.list.value) == "right hand"
    gizmo = session.gizmos["pose"]
    assert gizmo.visible and not gizmo.disable_axes and not gizmo.disable_rotations
    tab.show("Motion")
    assert str(tab.plot._joint.value) == "right hand"
    tab.show("Pose")
    click(session, by(5.0, 5.0, 0.0))
    tab.update(session.time)
    assert session.selection is None and not session.gizmos["pose"].visible


def test_a_click_selects_what_is_seen_and_not_what_is_behind_it(tab: Desk, session: Session):
    """Along the line from hip to hip one sees the left leg from the left, and the right one from the right."""
    at = session.active.frames(session.time).positions
    left, right = (at[session.body.index(f"{side}_upper_leg")] for side in ("left", "right"))
    across = (left - right) / np.linalg.norm(left - right)
    for side, joint, way in (("left", left, -across), ("right", right, across)):
        eye = joint - 2.0 * way
        found = session.body_at(eye + session.stage.offset, way)
        assert found is not None and side in session.active.part_name(session.active.part_joint(found[1]))
        met = session.stage.hit(session.active, session.time, eye, way)
        assert met is not None and 1.8 < met[1] < 1.98, "the skin, which is before the joint"


def test_a_drag_ends_where_its_handle_goes_as_one_plays_in_the_middle_of_it(tab: Desk, session: Session):
    """A page says nothing more of a handle that it no longer shows: the body would stand as dragged for good."""
    handle, before = session.gizmos["pose"], session.motion
    handle.position = np.array(handle.position) + by(0.0, 0.1, 0.05)
    tab.pose.handle.receive(SimpleNamespace(target=handle, phase="update"))
    session.clock.play()
    tab.update(session.time)
    assert session.history.undoable == "Drag the left hand" and session.motion is not before
    late = np.array(handle.position) + by(0.0, 0.1, 0.0)
    handle.position = late
    tab.pose.handle.receive(SimpleNamespace(target=handle, phase="update"))  # was on its way
    tab.update(session.time)
    assert session.clock.playing and session.active.pose_override is None
    session.clock.pause()
    tab.update(session.time)
    assert handle.visible and not np.allclose(handle.position, late)


def test_a_click_on_a_finger_means_its_hand(tab: Desk, session: Session):
    skeleton, body = session.body.skeleton, session.body
    below = [j for j in range(len(skeleton)) if body.index("left_hand") in skeleton.path(j)]
    for joint in below:
        assert session.active.part_joint(joint) == body.index("left_hand")
    assert session.active.part_joint(body.index("head")) == body.index("head")


def test_the_list_of_parts_has_roles_first_and_joints_behind_more(tab: Desk, session: Session):
    options, body = tab.parts.list.options, session.body
    assert options[:3] == (NONE, "left hand", "right hand") and options[-1] == MORE
    assert {name.replace(" ", "_") for name in options[1:-1]} == set(body.roles)
    tab.parts._chosen(MORE)
    tab.update(session.time)
    assert len(tab.parts.list.options) == 1 + len(body.skeleton) and tab.part == "left_hand"


def test_the_name_of_the_part_stands_clear_of_its_handle(tab: Desk, session: Session):
    session.draw(session.time)
    stage, gizmo = session.stage, session.gizmos["pose"]
    above = np.array(stage._label.position) - stage.offset - np.array(gizmo.position)
    assert stage._label.visible and stage._label.text == "left hand" and not stage._mark.visible
    assert above[1] > 1.05 * gizmo.scale and np.allclose(above[[0, 2]], 0.0)


@pytest.mark.parametrize("part", ["left_hand", "right_hand"])
def test_the_whole_body_answers_in_the_style_of_the_behaviour(tab: Desk, session: Session, part: str):
    tab.choose(part)
    tab.update(session.time)
    before, start = session.motion, hand(session, session.motion, part)
    displacement = by(0.05, -0.35, 0.3)
    tab.drag(start + session.active.position + displacement)
    tab.update(session.time)
    body, side = session.body, part.split("_")[0]
    behaviours = session.behaviours.by_side
    alone = ps.Reacher(body, behaviours["right"], behaviours["left"]).solve(
        **{side: Target(start + displacement)}, start=before[30]
    )
    assert np.allclose(session.pose.rotations, alone.pose.rotations, atol=1e-9)
    tab.drop()
    assert np.linalg.norm(hand(session, session.motion, part) - start - displacement) < 1e-3
    spine = body.index("chest")
    assert np.abs(session.motion.pose.rotations[30, spine] - before.pose.rotations[30, spine]).max() > 0.01
    standing = [c for c in session.edits.editor.contacts if c.on == "ground"]
    feet = body.skeleton.forward(session.motion.pose).positions, body.skeleton.forward(before.pose).positions
    for contact in standing:
        rows, joint = slice(contact.first, contact.last + 1), body.index(contact.part)
        assert np.abs(feet[0][rows, joint] - feet[1][rows, joint]).max() < 5e-3, "feet that stand keep standing"
    assert session.edits.entries[0].settings["part"] == part and session.history.undoable.startswith("Drag the")


@pytest.mark.parametrize("how", ANSWERS[:2])
def test_a_part_that_is_dragged_again_has_one_edit_that_is_met_and_keeps_its_length(
    tab: Desk, session: Session, how: str
):
    """Whatever came between: another part at this frame, an end of its bar that was dragged, another answer."""
    tab.answer_by(how)
    start = hand(session, session.motion)
    for part, displacement in (("left_hand", by(0.1, 0.2, 0.2)), ("head", by(0.05, 0.0, 0.0))):
        tab.choose(part)
        tab.update(session.time)
        tab.drag(hand(session, session.motion, part) + session.active.position + displacement)
        tab.drop()
        tab.update(session.time)
    tab.drag_bar("0:last", -10)
    length = session.edits.entries[0].settings["frames"]
    assert length is not None
    tab.choose("left_hand")
    tab.answer_by(LIMB)
    tab.update(session.time)
    tab.drag(start + session.active.position + by(0.02, 0.15, 0.12))
    tab.update(session.time)
    seen = session.pose
    tab.drop()
    tab.update(session.time)
    edits = session.edits.entries
    assert [edit.settings["part"] for edit in edits] == ["head", "left_hand"] and session.edits.chosen == 1
    assert edits[1].settings["frames"] == length and len(tab.drawn) == 2
    assert np.linalg.norm(hand(session, session.motion) - start - by(0.02, 0.15, 0.12)) < 2e-3
    off = session.body.skeleton.forward(session.motion[30]).positions - session.body.skeleton.forward(seen).positions
    assert np.abs(off).max() < 5e-3, "what was seen during the drag stays"
    tab.options.spread.value = 0.2
    tab.drag(start + session.active.position)
    tab.drop()
    assert edits[1] not in session.edits.entries and session.edits.entries[1].settings["frames"] is None
    assert session.edits.entries[1].settings["spread"] == 0.2, "controls that were changed count"


def test_a_muted_edit_is_left_alone_by_another_drag(tab: Desk, session: Session):
    for _ in range(2):
        tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, 0.1, 0.1))
        tab.drop()
        tab.update(session.time)
        session.edits.mute(len(session.edits.entries) - 1)
        tab.update(session.time)
    assert [edit.muted for edit in session.edits.entries] == [True, True]
    assert session.edits.chosen == 1, "what was chosen stays chosen"


def test_another_style_is_another_answer_and_one_for_both_tabs(tab: Desk, session: Session):
    target = hand(session, session.motion) + session.active.position + by(0.05, -0.4, 0.3)
    tab.drag(target)
    normal = tab.pose._drag.answer.pose
    tab.drop()
    session.undo()
    tab.options.reach_as("tired")
    tab.update(session.time)
    assert session.history.undoable == "Start from tired" and str(tab.options.style.value) == "tired"
    tab.drag(target)
    assert np.abs(tab.pose._drag.answer.pose.rotations - normal.rotations).max() > 0.01
    tab.drop()
    for _ in range(2):
        session.undo()
    tab.update(session.time)
    assert str(tab.options.style.value) == "normal"


@pytest.mark.parametrize("part", ["head", "hips", "left_foot", "right_lower_leg"])
@pytest.mark.parametrize("how", [WHOLE, LIMB])
def test_every_part_answers_every_way_and_says_how_it_went(tab: Desk, session: Session, part: str, how: str):
    tab.pose.answer_by(how)
    tab.choose(part)
    tab.update(session.time)
    start = hand(session, session.motion, part)
    tab.drag(start + session.active.position + by(0.0, -0.03, 0.02))
    tab.update(session.time)
    found = tab.pose._drag.answer
    away = np.linalg.norm(
        session.body.skeleton.forward(found.pose).positions[session.body.index(part)] - start - by(0.0, -0.03, 0.02)
    )
    assert away == pytest.approx(found.position_error, abs=1e-6)
    assert (found.status == Status.REACHED) == (away < 1e-3)
    tab.drop()
    assert len(session.edits.entries) == 1


def test_a_pose_without_a_motion_simply_stays(tab: Desk, session: Session):
    session.replace(session.motion[30:31], "Cut")
    tab.choose("left_hand")
    tab.update(session.time)
    wait(lambda: session.edits.editor is not None, "the editor")
    tab.update(session.time)
    assert not tab.options.spread.visible
    assert "key at" not in tab.pose.report.text.content, "a pose has no frames"
    start = hand(session, session.motion, frame=0)
    tab.drag(start + session.active.position + by(0.0, 0.1, 0.2))
    tab.drop()
    tab.update(session.time)
    assert session.active.pose_override is None and len(session.motion) == 1
    assert "frames" not in tab.pose.report.text.content
    assert np.linalg.norm(hand(session, session.motion, frame=0) - start - by(0.0, 0.1, 0.2)) < 1e-3


def test_keys_choose_the_answer_and_what_the_handle_does(tab: Desk, session: Session):
    tab.pose.answer_by(ANSWERS[0])
    assert tab.pose.answer == LIMB
    tab.pose.handle_does(MOVE)
    tab.update(session.time)
    assert session.gizmos["pose"].disable_rotations and not session.gizmos["pose"].disable_axes
    tab.pose.handle_does(ROTATE)
    tab.update(session.time)
    assert session.gizmos["pose"].disable_axes and not session.gizmos["pose"].disable_rotations
    tab.pose.handle_does(ROTATE)
    assert str(tab.options.handle.value) == BOTH


def test_a_motion_that_is_learned_in_the_background_leaves_the_other_answers_alone(tab: Desk, session: Session):
    session.replace(session.motion[:50], "Cut")
    tab.choose("left_hand")
    tab.update(session.time)
    wait(lambda: session.edits.editor is not None, "the editor")
    tab.update(session.time)
    assert not session.edits.fitted and session.gizmos["pose"].visible
    tab.pose.answer_by(MOTION)
    tab.update(session.time)
    if not session.edits.fitted:
        assert "Learning" in tab.report.text.content and not session.gizmos["pose"].visible
    wait(lambda: session.edits.fitted, "the fit")
    tab.update(session.time)
    assert session.gizmos["pose"].visible


def test_an_edit_is_muted_and_comes_back_as_it_was(tab: Desk, session: Session):
    before = session.motion
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, 0.1, 0.1))
    tab.drop()
    edited = session.motion
    tab.update(session.time)
    assert session.edits.chosen == 0
    tab.show("Motion")
    assert tab.list._buttons.options == ("Change it", "Mute it", "Remove it")
    tab.list.press("Mute it")
    tab.update(session.time)
    assert np.array_equal(session.motion.pose.rotations, before.pose.rotations) and len(session.edits.entries) == 1
    assert any(mark.muted for mark in tab.drawn.values()) and "muted" in str(tab.list._list.value)
    assert session.history.undoable == "Mute edit 1"
    tab.list.press("Unmute it")
    assert np.array_equal(session.motion.pose.rotations, edited.pose.rotations)
    for _ in range(2):
        session.undo()
    assert session.motion is edited and not session.edits.entries[0].muted
    tab.show("Pose")
    tab.pose.remove_edit()
    assert session.edits.entries == () and np.array_equal(session.motion.pose.rotations, before.pose.rotations)

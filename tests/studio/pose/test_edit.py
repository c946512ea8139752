"""The edit tab without a page: what is dragged is what the engine answers, and every step can be taken back."""

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posable.compute import PosableError
from posable.edit import MotionEditor
from posable.formats import load
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session
from posable.studio.tabs.motion.edit_list import CHANGE
from posable.studio.tabs.motion.view import ORIGINAL
from posable.studio.widgets.edit_bars import LANE
from posable.studio.widgets.status_text import SENTENCES

from ..desk import Desk
from ..window import by, wait

WAY = by(0.02, 0.1, 0.05)


def hand(session: Session, motion: Motion, frame: int = 30) -> np.ndarray:
    return session.body.skeleton.forward(motion[frame]).positions[session.body.index("left_hand")]


def pull(tab: Desk, session: Session, way: np.ndarray = WAY) -> None:
    """Drag the handle in three messages, as a page sends them."""
    start = np.array(session.gizmos["pose"].position)
    for share, phase in ((0.4, "start"), (0.8, "update"), (1.0, "end")):
        target = SimpleNamespace(position=start + share * way, wxyz=(1.0, 0.0, 0.0, 0.0), disable_rotations=True)
        tab.handle.receive(SimpleNamespace(target=target, phase=phase))
        tab.update(session.time)


def same(one: Motion, other: Motion) -> bool:
    pairs = ((one.pose.rotations, other.pose.rotations), (one.pose.translation, other.pose.translation))
    return all(np.array_equal(a, b) for a, b in pairs)


def test_a_pulled_hand_becomes_an_edit_of_the_motion_that_can_be_undone_and_redone(tab: Desk, session: Session):
    before = session.motion
    assert np.allclose(session.gizmos["pose"].position, hand(session, before) + session.active.position)
    pull(tab, session)
    assert session.history.undoable == "Drag the left hand" and len(tab.editor.edits) == 1
    wanted = MotionEditor(before, session.body)
    edit = wanted.edit(frame=30, part="left_hand", displacement=WAY, spread=0.5)
    assert np.abs(session.motion.pose.rotations - wanted.motion.pose.rotations).max() < 1e-9
    assert np.linalg.norm(hand(session, session.motion) - hand(session, before) - WAY) < edit.position_error + 1e-6
    after = session.motion
    session.undo()
    tab.update(session.time)
    assert session.motion is before and tab.editor.edits == () and tab.editor.motion is before
    session.redo()
    tab.update(session.time)
    assert session.motion is after and len(tab.editor.edits) == 1 and same(tab.editor.motion, after)


def test_a_part_dragged_again_at_its_frame_changes_its_one_edit(tab: Desk, session: Session):
    original, start = session.motion, hand(session, session.motion)
    pull(tab, session)
    once = session.motion
    pull(tab, session, by(0.0, 0.05, -0.02))
    assert len(tab.editor.edits) == 1 and tab.list.index == 0
    again = MotionEditor(original, session.body)
    again.edit(frame=30, part="left_hand", displacement=WAY + by(0.0, 0.05, -0.02))
    assert np.abs(session.motion.pose.rotations - again.motion.pose.rotations).max() < 1e-6, "as in one drag"
    pull(tab, session, start - hand(session, session.motion))
    assert np.linalg.norm(hand(session, session.motion) - start) < 1e-5
    assert np.abs(session.motion.pose.rotations - original.pose.rotations).max() < 1e-3, "dragged back, it is as it was"
    session.undo()
    session.undo()
    tab.update(session.time)
    assert session.motion is once and same(tab.editor.motion, once) and len(tab.editor.edits) == 1
    session.clock.seek(40 / session.motion.fps)
    tab.update(session.time)
    pull(tab, session)
    assert [edit.settings["frame"] for edit in tab.editor.edits] == [30, 40], "another frame is another edit"


def test_another_thread_never_sees_an_edited_motion_without_its_edits(tab: Desk, session: Session):
    seen: list[int | None] = []
    look = threading.Thread(target=lambda: seen.append(None if tab.editor is None else len(tab.editor.edits)))
    leave = session.subscribe(lambda topic: look.start() if topic == "actors" and look.ident is None else None)
    pull(tab, session)
    leave()
    look.join(30.0)
    assert seen == [1]


def test_the_body_follows_while_the_handle_is_on_its_way(tab: Desk, session: Session):
    before = session.motion
    tab.drag(np.array(session.gizmos["pose"].position) + WAY)
    tab.update(session.time)
    held = session.active.pose_override
    assert held is not None and session.motion is before and session.history.undoable is None
    answer = tab.editor.drag(frame=30, part="left_hand", displacement=WAY)
    assert np.allclose(held.rotations, answer.pose.rotations, atol=1e-9)
    assert SENTENCES[answer.status] in tab.report.text.content
    tab.drop()
    tab.update(session.time)
    assert session.active.pose_override is None


def test_a_click_on_the_handle_changes_nothing(tab: Desk, session: Session):
    before = session.motion
    pull(tab, session, np.zeros(3))
    assert session.motion is before and session.history.undoable is None


def test_edits_are_moved_stretched_and_removed_one_by_one(tab: Desk, session: Session):
    original = session.motion
    pull(tab, session)
    tab.choose("right_hand")
    tab.update(session.time)
    pull(tab, session, by(0.0, 0.0, 0.05))
    assert [edit.settings["frame"] for edit in tab.editor.edits] == [30, 30]
    tab.list.choose(0)
    tab.update(session.time)
    tab.list._frame.value, tab.list._spread.value = 20, 0.2
    tab.list.press(CHANGE)
    tab.update(session.time)
    edit = tab.editor.edits[0]
    assert (edit.settings["frame"], edit.settings["spread"]) == (20, 0.2) and edit.rows.max() <= 32
    assert session.history.undoable == "Change edit 1" and same(session.motion, tab.editor.motion)
    tab.remove(1)
    tab.update(session.time)
    assert len(tab.editor.edits) == 1 and np.array_equal(
        session.motion.pose.rotations[40:], original.pose.rotations[40:]
    )
    for _ in range(2):
        session.undo()
    tab.update(session.time)
    assert [e.settings["frame"] for e in tab.editor.edits] == [30, 30]
    assert len(tab.drawn) == 2
    tab.editor.edits[0].remove()  # an edit that came back belongs to its editor again
    assert len(tab.editor.edits) == 1


@pytest.mark.parametrize(
    ("key", "frames", "shift", "wanted"),
    [
        ("0:all", 20, False, (50, 0.5, None)),
        ("0:all", 0.2, False, (30, 0.5, None)),
        ("0:last", -10, False, (30, 0.5, (1, 49))),
        ("0:first", 10, False, (30, 0.5, (11, 59))),
        ("0:last", -55, False, (30, 0.5, (1, 30))),
        ("0:first", 10, True, (30, 0.5 - 10 / 60, None)),
        ("0:last", -10, True, (30, 0.5 - 10 / 60, None)),
    ],
)
def test_a_bar_is_moved_by_its_middle_and_made_longer_by_an_end_or_with_shift_by_both(
    tab: Desk, session: Session, key, frames, shift, wanted
):
    pull(tab, session)
    session.marks.choose(LANE, "0")
    assert session.history.undoable == "Drag the left hand", "a bar that is pressed changes nothing"
    tab.drag_bar(key, frames, shift)
    settings = tab.editor.edits[0].settings
    assert np.allclose((settings["frame"], settings["spread"]), wanted[:2]) and settings["frames"] == wanted[2]
    assert tab.list.index == 0
    tab.drag_bar("7:all", 5)
    tab.drag_bar("none:all", 5)
    assert tab.editor.edits[0].settings == settings


def test_pinned_parts_stay_and_are_toggled_by_clicks_on_the_body(tab: Desk, session: Session):
    body = session.body
    tab.pins.by_click.value = True
    head = session.active.frames(session.time).positions[body.index("head")]
    assert tab.pins.clicked(head + by(0.0, 0.05, 3.0), by(0.0, 0.0, -1.0)) and tab.pins.parts == ("head",)
    tab.update(session.time)
    assert "head" in tab.pins.text.content
    pull(tab, session, by(0.0, 0.04, 0.02))
    answer = tab.editor.edits[0].answer
    assert tab.editor.edits[0].settings["pins"] == ("head",) and float(answer.slid) < 1e-3
    assert tab.pins.clicked(head + by(0.0, 0.05, 3.0), by(0.0, 0.0, -1.0)) and tab.pins.parts == ()


def test_the_original_is_seen_through_or_instead(tab: Desk, session: Session):
    original = session.motion
    pull(tab, session)
    tab.show("Motion")
    tab.view.onion.value = True
    tab.update(session.time)
    assert tab.view.ghosts[0] in session.extras and tab.view.ghosts[0].ghost
    assert tab.view.ghosts[0].motion is original
    tab.view.shown.value = ORIGINAL
    tab.update(session.time)
    assert np.array_equal(session.pose.rotations, original.at(session.time).rotations)
    assert "pose" not in session.gizmos
    tab.show("Pose")
    assert session.extras == () and session.active.pose_override is None and session.gizmos["pose"].visible


def test_any_part_is_chosen_by_a_click(tab: Desk, session: Session):
    session.select(session.active, session.body.index("head"))
    assert tab.part == "head"
    with pytest.raises(PosableError, match="tail"):
        tab.choose("tail")


@pytest.mark.parametrize("suffix", ["bvh", "npz", "glb"])
def test_the_edited_motion_is_saved_and_comes_back(tab: Desk, session: Session, tmp_path: Path, suffix: str):
    pull(tab, session)
    tab.files.save(str(tmp_path / f"edited.{suffix}"))
    back = load(tmp_path / f"edited.{suffix}")
    there = session.body.skeleton.forward(session.motion.pose).positions
    here = back.skeleton.forward(back.pose).positions[:, [back.skeleton.index(n) for n in session.body.skeleton.names]]
    assert np.abs(here - there).max() < 1e-4


def test_an_edit_keeps_the_body_that_is_seen_and_the_camera(tab: Desk, session: Session, monkeypatch):
    monkeypatch.setattr(session.stage, "frame", lambda *_: pytest.fail("the camera was moved"))
    looks = session.stage._looks[session.active]
    pull(tab, session)
    assert session.stage._looks[session.active] is looks
    session.undo()
    assert session.stage._looks[session.active] is looks and len(session.stage._looks) == 1


def test_without_a_person_there_is_nothing_to_pull(tab: Desk, session: Session):
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    tab.update(session.time)
    assert tab.part is None and "person" in tab.report.text.content and not session.gizmos["pose"].visible
    session.undo()


def test_a_motion_that_cannot_be_edited_is_told_and_the_studio_goes_on(tab: Desk, session: Session, monkeypatch):
    def broken(*_, **__):
        raise PosableError("this body has three heads")

    monkeypatch.setattr("posable.studio.core.edits.MotionEditor", broken)
    session.replace(session.motion[:50], "Cut")
    tab.update(session.time)
    wait(lambda: session.edits.failure is not None, "the error")
    tab.update(session.time)
    assert "three heads" in tab.report.text.content and not session.gizmos["pose"].visible
    session.undo()
    tab.update(session.time)
    assert "three heads" not in tab.report.text.content, "it goes with its cause"

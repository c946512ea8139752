"""The edit tab: lists of edits in files, and edits that begin and end where they are told."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posable.compute import PosableError
from posable.edit import MotionEditor
from posable.edit.edit_list import MAX_BYTES, load_edits, make_edits
from posable.skeleton import Motion
from posable.studio import Session
from posable.studio.tabs.motion.edit_list import CHANGE, MAX_EDITS
from posable.studio.tabs.pose.options import NONE

from ..desk import Desk
from ..window import by, wait

HAND = {"frame": 20, "part": "left_hand", "displacement": [0, 0.06, 0.02], "frames": [15, 45]}
HEAD = {"frame": 30, "part": "head", "displacement": [0.02, 0, 0], "spread": 0.2, "ease": "smooth"}
ARM = {"stretch": {"left_hand": 1.2}, "frame": 40, "frames": [38, 59]}


def listed(*rows: object) -> bytes:
    return json.dumps({"posable": "edits", "version": 1, "edits": rows}).encode()


def sent(*rows: object, name: str = "mine.json") -> SimpleNamespace:
    """What a browser sends."""
    return SimpleNamespace(name=name, content=listed(*rows))


def bar(tab: Desk, index: int) -> tuple[float, float]:
    """Where a bar begins and ends [frames]."""
    return tab.drawn[str(index)].first, tab.drawn[str(index)].last


def test_a_list_is_one_step_whose_edits_are_bars_over_their_true_frames(tab: Desk, session: Session):
    before = session.motion
    tab.file.load_upload(sent(HAND, HEAD, ARM))
    tab.update(session.time)
    assert session.history.undoable == "Load 3 edits of mine" and len(tab.editor.edits) == 3
    wanted = MotionEditor(before, session.body)
    wanted.__dict__["logs"] = tab.editor.logs  # fitted already
    make_edits(wanted, [HAND, HEAD, ARM])
    assert np.array_equal(session.motion.pose.rotations, wanted.motion.pose.rotations)
    assert len(tab.drawn) == 3
    for index, ends in enumerate(((15, 45), (19, 41), (38, 59))):
        assert bar(tab, index) == pytest.approx(ends, abs=0.05)
    after = session.motion
    session.undo()
    tab.update(session.time)
    assert session.motion is before and tab.editor.edits == () and not tab.drawn
    session.redo()
    tab.update(session.time)
    assert session.motion is after and len(tab.editor.edits) == 3
    tab.file.load_upload(sent(HEAD))
    assert len(tab.editor.edits) == 4 and session.history.undoable == "Load 1 edit of mine", "it adds to what is there"


def test_saved_edits_come_back_as_the_same_motion(tab: Desk, session: Session, tmp_path: Path):
    before = session.motion
    with pytest.raises(PosableError, match="no edits to save"):
        tab.file.save(str(tmp_path / "edits.json"))
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.02, 0.1, 0.05))
    tab.drop()
    tab.change(0, 25, 0.5, "linear", (20, 50))
    tab.stretch.stretch(1.1)
    after = session.motion
    tab.file.save(str(tmp_path / "edits.json"))
    assert session.message == ("note", f"Saved {tmp_path / 'edits.json'}")
    for _ in range(3):
        session.undo()
    assert session.motion is before
    tab.file.load(str(tmp_path / "edits.json"))
    assert np.array_equal(session.motion.pose.rotations, after.pose.rotations)
    assert np.array_equal(session.motion.pose.offsets, after.pose.offsets)
    downloads = []
    client = SimpleNamespace(send_file_download=lambda name, content, **_: downloads.append((name, content)))
    tab.file._download(SimpleNamespace(client=client))
    assert downloads == [("edits.json", (tmp_path / "edits.json").read_bytes())]
    assert load_edits(tmp_path / "edits.json")[0]["frames"] == [20, 50]


WRONG = (
    (
        listed(HAND, {**HEAD, "frame": 300}),
        "edit 2 of the list: frame 300 does not exist; there are frames 0 to 59",
    ),
    (listed(HAND, {**HEAD, "part": "tail"}), "edit 2 of the list: unknown part of this body 'tail'"),
    (listed(HAND, {**HAND, "frames": [30, 45]}), "frame 20 between them"),
    (listed({**HAND, "frames": [1, 2, 3]}), "2 numbers"),
    (listed({**HEAD, "colour": "red"}), "'colour'"),
    (listed(*[HEAD] * (MAX_EDITS + 1)), f"the studio takes {MAX_EDITS}"),
    (listed({"warp": [{"frame": 1, "part": "head", "target": [0, 1, 0]}] * 300}), f"takes {MAX_EDITS}"),
    (b"", "is empty; expected a list of edits"),
    (b"[" * 100_000, "expected a list of edits"),
    (bytes(range(256)), "expected a list of edits"),
    (b" " * (MAX_BYTES + 1), "at most"),
)
"""What a browser may send, and what is told."""


def test_a_list_that_is_wrong_is_told_and_leaves_everything_as_it_was(tab: Desk, session: Session):
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.02, 0.1, 0.05))
    tab.drop()
    before, edits = session.motion, tab.editor.edits
    for content, told in WRONG:
        with pytest.raises(PosableError) as error:
            tab.file.load_upload(SimpleNamespace(name="../../wrong.json", content=content))
        assert str(error.value).startswith("wrong.json") and told in str(error.value)
        assert "posable-upload" not in str(error.value)
        assert session.motion is before and tab.editor.edits == edits and tab.editor.motion is before
        assert session.history.undoable == "Drag the left hand"


def test_files_by_path_are_for_this_machine_only(tab: Desk, session: Session, tmp_path: Path):
    with pytest.raises(PosableError, match=r"known: \.json"):
        tab.file.load_upload(sent(HEAD, name="mine.exe"))
    session.paths = False
    try:
        for refused in (tab.file.save, tab.file.load):
            with pytest.raises(PosableError, match="upload or download the file"):
                refused(str(tmp_path / "edits.json"))
    finally:
        session.paths = True


def test_a_list_may_be_loaded_before_anything_was_chosen(tab: Desk, session: Session):
    tab.choose(NONE)
    session.open_sample("walk", keep=False)
    session.replace(session.motion[:50], "Cut")
    tab.update(session.time)
    assert tab.part is None and tab.editor is None
    tab.file.load_upload(sent(HEAD))
    assert session.history.undoable == "Cut"
    tab.update(session.time)
    wait(lambda: tab.editor is not None and len(tab.editor.edits) == 1, "the edits to be made")
    assert session.history.undoable == "Load 1 edit of mine"
    session.replace(session.motion[:40], "Cut")
    tab.file.load_upload(sent({**HEAD, "frame": 45}))
    tab.update(session.time)
    wait(lambda: session.message is not None and "frame 45" in session.message[1], "the error")
    assert len(session.motion) == 40 and session.history.undoable == "Cut"
    session.replace(session.motion[:30], "Cut")
    tab.file.load_upload(sent(HEAD))
    session.undo()
    assert session.message == ("error", "mine.json was not loaded, because another motion came first; load it again")


def test_a_range_is_kept_when_its_bar_is_moved_and_each_end_is_moved_alone(tab: Desk, session: Session):
    tab.file.load_upload(sent(HAND))
    tab.update(session.time)

    def settings() -> tuple[int, tuple[int, int]]:
        return tab.editor.edits[0].settings["frame"], tab.editor.edits[0].settings["frames"]

    tab.drag_bar("0:all", 5)
    assert settings() == (25, (20, 50)) and bar(tab, 0) == pytest.approx((20, 50), abs=0.05)
    tab.drag_bar("0:all", 40)
    assert settings() == (34, (29, 59)), "all of it stays in the motion"
    tab.drag_bar("0:first", -19)
    assert settings() == (34, (10, 59))
    tab.drag_bar("0:last", -5, shift=True)
    assert settings() == (34, (15, 54)), "both ends go the opposite way"
    tab.drag_bar("0:first", 50)
    assert settings() == (34, (34, 54)), "no end passes the frame"
    rows = tab.editor.edits[0].rows
    tab.show("Motion")
    assert (rows[0], rows[-1]) == (34, 54) and "frames 34 to 54" in tab.motion.report.content
    for _ in range(5):
        session.undo()
    tab.update(session.time)
    assert settings() == (20, (15, 45)) and bar(tab, 0) == pytest.approx((15, 45), abs=0.05)


def test_the_panel_says_where_an_edit_begins_and_ends(tab: Desk, session: Session):
    tab.options.spread.value = 0.2
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, 0.06, 0.02))
    tab.drop()
    tab.update(session.time)
    panel = tab.list
    assert panel._spread.visible and panel._separate.visible and not panel._range.visible and not panel._separate.value
    panel._separate.value = True
    tab.update(session.time)
    assert panel._range.visible and not panel._spread.visible and tuple(panel._range.value) == (19, 41)
    panel._range.value = (25, 58)
    panel.press(CHANGE)
    tab.update(session.time)
    edit = tab.editor.edits[0]
    assert edit.settings["frames"] == (25, 58) and (edit.rows[0], edit.rows[-1]) == (25, 58)
    panel._frame.value = 10
    with pytest.raises(PosableError, match="frame 10 between them"):
        panel.press(CHANGE)
    assert edit.settings["frame"] == 30 and session.history.undoable == "Change edit 1"
    panel._frame.value, panel._separate.value = 40, False
    panel.press(CHANGE)
    tab.update(session.time)
    edit = tab.editor.edits[0]
    assert edit.settings["frames"] is None and (edit.rows[0], edit.rows[-1]) == (29, 51) and panel._spread.visible
    session.undo()
    tab.update(session.time)
    assert panel._separate.value and tuple(panel._range.value) == (25, 58)
    tab.file.load_upload(sent({"warp": [{"frame": 30, "part": "head", "target": [0, 1.6, 0.5]}], "spread": 0.2}))
    tab.update(session.time)
    assert panel._spread.visible and not panel._separate.visible and not panel._range.visible, "a warp has no range"


def test_an_edit_with_a_target_does_elsewhere_what_it_did(tab: Desk, session: Session):
    before, body = session.motion, session.body

    def place(motion: Motion, frame: int) -> np.ndarray:
        return body.skeleton.forward(motion[frame]).positions[body.index("left_hand")]

    target = (place(before, 30) + by(0.0, 0.05, 0.0)).tolist()
    tab.file.load_upload(sent({"frame": 30, "part": "left_hand", "target": target, "spread": 0.2}))
    tab.update(session.time)
    tab.drag_bar("0:all", 15)
    moved = place(session.motion, 45) - place(before, 45)
    assert tab.editor.edits[0].ok and np.allclose(moved, (0.0, 0.05, 0.0), atol=1e-3)


def test_the_chosen_edit_of_many_is_always_drawn(tab: Desk, session: Session):
    nothing = {"frame": 30, "part": "head", "displacement": [0, 0, 0], "spread": 0.1}
    tab.file.load_upload(sent(*[nothing] * 20))
    tab.update(session.time)
    assert "19" in tab.drawn and "3" not in tab.drawn
    tab.list.choose(3)
    tab.update(session.time)
    assert "3" in tab.drawn and tab.drawn["3"].chosen
    assert bar(tab, 3) == pytest.approx((25, 35), abs=0.05), "one that changes nothing has its place, too"
    tab.show("Motion")
    assert "no frame changed" in tab.motion.report.content

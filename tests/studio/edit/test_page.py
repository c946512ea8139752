"""The edit tab in a page: a drag, an undo, a save, and the file read back."""

import io
import json
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.edit.edit_list import load_edits
from posable.formats import load
from posable.studio import Session
from posable.studio.tabs.edit.tab import EditTab

from ..window import PICTURES, RENEW, SIZE, Window, by, choose, drag_arrow, drag_ring, settled, wait

PICTURE, WEIGHTS = PICTURES / "studio-edit.png", PICTURES / "studio-edit-weights.png"


def test_a_hand_is_pulled_undone_redone_and_saved_on_the_page(
    window: Window, tab: EditTab, session: Session, tmp_path: Path
):
    page, body, before = window.page, session.body, session.motion
    choose(window, "Drag", "right hand")
    wait(lambda: tab.part == "right_hand", "the part")
    wait(lambda: not session.stale(session.time) and "/world/gizmo/edit" in window.nodes(), "the handle")
    settled(window)
    start = np.array(session.gizmos["edit"].position)
    drag_arrow(window, start + session.stage.offset, 0.12 * body.joint_height)
    wait(lambda: session.history.undoable == "Drag the right hand", "the drag to end")
    joint, edited = body.index("right_hand"), session.motion
    there, here = (body.skeleton.forward(motion[30]).positions[joint] for motion in (before, edited))
    assert here[1] > there[1] + 0.02
    page.locator("svg.edits rect.edit").wait_for()
    if RENEW:
        renew_pictures(window, tab, session)
    window.press("Undo")
    wait(lambda: session.motion is before and tab.editor.edits == (), "the motion as it was")
    page.locator("svg.edits rect.edit").wait_for(state="detached")
    window.press("Redo")
    wait(lambda: session.motion is edited, "the edit again")
    page.get_by_text("Edited motion to a file").click()
    field = window.field("Edited file").first
    field.fill(str(tmp_path / "edited.npz"))
    field.blur()
    window.press("Save the edited motion")
    wait((tmp_path / "edited.npz").exists, "the file")
    back = load(tmp_path / "edited.npz")
    assert np.allclose(back.pose.rotations, edited.pose.rotations, atol=1e-7)
    page.get_by_text("Edited motion to a file").click()


def test_a_hand_is_turned_by_a_ring_and_warped_through_marks_on_the_page(
    window: Window, tab: EditTab, session: Session
):
    body, before = session.body, session.motion
    window.field("Rotate it too").check()
    wait(lambda: not session.gizmos["edit"].disable_rotations and not session.stale(session.time), "the rings")
    settled(window)
    at = np.array(session.gizmos["edit"].position) + session.stage.offset
    drag_ring(window, at, np.array([1.0, 0.0, 0.0, 0.0]), 0.16 * body.joint_height, 2)
    wait(lambda: session.history.undoable == "Drag and rotate the left hand", "the turn to end")
    joint = body.index("left_hand")
    was, now = (body.skeleton.forward(motion[30]) for motion in (before, session.motion))
    assert pm.angle(was.orientations[joint], now.orientations[joint]) > 0.1
    assert np.linalg.norm(was.positions[joint] - now.positions[joint]) < 2e-3
    turned = session.motion
    window.page.get_by_text("Warp through several targets").click()
    window.field("Leave marks").check()
    for frame in (20, 40):
        session.clock.seek(frame / turned.fps)
        wait(lambda: not session.stale(session.time), "the frame")
        settled(window)
        at = np.array(session.gizmos["edit"].position) + session.stage.offset
        drag_arrow(window, at, 0.12 * body.joint_height)
        wait(lambda frame=frame: tab.warp.parts_at(frame) == ("left_hand",), "the mark")
    assert session.motion is turned
    window.press("Warp through the marks")
    wait(lambda: session.history.undoable == "Warp through 2 targets", "the warp")
    for mark_frame in (20, 40):
        was, now = (body.skeleton.forward(motion[mark_frame]).positions[joint] for motion in (turned, session.motion))
        assert now[1] > was[1] + 0.02
    window.page.locator("svg.edits rect.edit").nth(1).wait_for()
    window.page.get_by_text("Warp through several targets").click()


def test_a_bar_is_moved_and_stretched_on_the_page(window: Window, tab: EditTab, session: Session):
    tab.options.spread.value = 0.2
    tab.drag(np.array(session.gizmos["edit"].position) + by(0.0, 0.1, 0.0))
    tab.drop()
    bar = window.page.locator("svg.edits rect.edit")
    bar.wait_for()
    drag_bar(window, bar, 0.5, -0.25)
    wait(lambda: session.history.undoable == "Change edit 1", "the bar to be moved")
    frame, moved, (first, *_, last) = tab.editor.edits[0].settings["frame"], session.motion, tab.editor.edits[0].rows
    assert frame < 28 and tab.editor.edits[0].settings["spread"] == 0.2
    wait(lambda: not session.stale(session.time), "the bar to be drawn")
    window.page.wait_for_timeout(500)
    was, under_way = drag_bar(window, bar, 1.0, 0.25)
    assert abs(under_way["x"] - was["x"]) < 1.0 and under_way["width"] > 1.15 * was["width"], "it follows the pointer"
    wait(lambda: session.motion is not moved, "the end to be moved")
    edit, stretched = tab.editor.edits[0], session.motion
    assert edit.settings["frame"] == frame and edit.rows[0] == first and edit.rows[-1] > last + 2
    assert edit.settings["frames"] == (first, edit.rows[-1])
    wait(lambda: not session.stale(session.time), "the bar to be drawn")
    window.page.wait_for_timeout(500)
    first, last = edit.settings["frames"]
    window.page.keyboard.down("Shift")
    was, under_way = drag_bar(window, bar, 0.0, -0.1)
    window.page.keyboard.up("Shift")
    assert under_way["x"] < was["x"] - 2.0 and under_way["width"] > 1.15 * was["width"], "both ends do"
    wait(lambda: session.motion is not stretched, "both ends to be moved")
    assert edit.settings["frames"][0] < first and edit.settings["frames"][1] > last
    for _ in range(2):
        window.press("Undo")
    wait(lambda: tab.editor.edits[0].settings["frames"] is None, "the bar as it was")


def drag_bar(window: Window, bar, grip: float, way: float):
    """Take a bar at a share of its length and drag it by a share of its length; its boxes before and under way."""
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    y = box["y"] + box["height"] / 2
    window.page.mouse.move(box["x"] + grip * box["width"], y)
    window.page.mouse.down()
    window.page.mouse.move(box["x"] + (grip + way) * box["width"], y, steps=4)
    window.page.wait_for_timeout(300)
    under_way = bar.bounding_box()
    window.page.mouse.up()
    return box, under_way


def test_a_list_of_edits_is_uploaded_undone_changed_saved_and_read_back_on_the_page(
    window: Window, tab: EditTab, session: Session, tmp_path: Path
):
    page, before, listed, wrong = window.page, session.motion, tmp_path / "mine.json", tmp_path / "wrong.json"
    rows = [
        {"frame": 20, "part": "left_hand", "displacement": [0, 0.06, 0.02], "frames": [15, 45]},
        {"frame": 30, "part": "head", "displacement": [0.02, 0, 0], "spread": 0.2},
    ]
    for path, given in ((listed, rows), (wrong, [*rows, {**rows[1], "part": "tail"}])):
        path.write_text(json.dumps({"posable": "edits", "version": 1, "edits": given}))
    page.get_by_text("Edits to a file").click()
    upload(window, wrong)
    page.get_by_text("edit 3 of the list: unknown part of this body 'tail'").first.wait_for()
    assert session.motion is before and tab.editor.edits == ()
    window.dismiss()
    upload(window, listed)
    wait(lambda: session.history.undoable == "Load 2 edits of mine", "the list")
    bars = page.locator("svg.edits rect.edit")
    bars.nth(1).wait_for()
    rail, first = (box.bounding_box() for box in (page.locator("svg.edits > rect").first, bars.first))
    begin, end = ((x - rail["x"]) / rail["width"] * 59 for x in (first["x"], first["x"] + first["width"]))
    assert abs(begin - 15) < 0.5 and abs(end - 45) < 0.5, "a bar is drawn over its true frames"
    window.press("Undo")
    wait(lambda: session.motion is before and tab.editor.edits == (), "all of it to be taken back")
    bars.first.wait_for(state="detached")
    window.press("Redo")
    bars.nth(1).wait_for()
    choose(window, "Edit", "1: left hand, frame 20")
    wait(lambda: window.field("Separate ends").is_checked(), "the chosen edit's controls")
    last = window.field("From, to frame").nth(1)
    wait(lambda: last.input_value() == "45", "its last frame")
    last.fill("55")
    last.press("Enter")
    wait(lambda: tuple(tab.list._range.value) == (15, 55), "the last frame")
    window.press("Change it")
    wait(lambda: session.history.undoable == "Change edit 1", "the change")
    edited = session.motion
    field = window.field("Edits file").first
    field.fill(str(tmp_path / "saved.json"))
    field.blur()
    window.press("Save the edits")
    wait((tmp_path / "saved.json").exists, "the file")
    with page.expect_download() as sent:
        window.press("Download the edits")
    assert sent.value.path().read_bytes() == (tmp_path / "saved.json").read_bytes()
    back = load_edits(tmp_path / "saved.json")
    assert [(row["frame"], row["part"], row.get("frames")) for row in back] == [
        (20, "left_hand", [15, 55]),
        (30, "head", None),
    ]
    for _ in range(2):
        window.press("Undo")
    wait(lambda: session.motion is before, "the motion as it was")
    window.press("Load the edits")
    wait(lambda: session.history.undoable == "Load 2 edits of saved", "the saved list")
    assert np.array_equal(session.motion.pose.rotations, edited.pose.rotations)
    page.get_by_text("Edits to a file").click()


def upload(window: Window, path: Path) -> None:
    with window.page.expect_file_chooser() as chooser:
        window.press("Upload edits")
    chooser.value.set_files(path)


def renew_pictures(window: Window, tab: EditTab, session: Session) -> None:
    """The pictures of docs/studio.md: a pulled hand, the original seen through, contacts and bars; and the weights."""
    page, view = window.page, tab.view
    session.stage.shadows = True
    tab.options.spread.value = 0.25
    session.clock.seek(20 / session.motion.fps)
    tab.choose("left_hand")
    tab.update(session.time)
    tab.drag(np.array(session.gizmos["edit"].position) + by(0.12, 0.3, 0.2))
    tab.drop()
    tab.change(1, 20, 0.25, None, (12, 44))
    view.onion.value, tab.options.rotate.value = True, True
    session.changed("pose")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.mouse.move(500, 30)
    take(window, PICTURE, lambda: view.ghosts)
    view.onion.value, view.weights.value, tab.options.rotate.value = False, True, False
    session.changed("pose")
    page.get_by_text("What is shown").click()
    take(window, WEIGHTS, lambda: session.stage._paints)
    page.get_by_text("What is shown").click()
    page.set_viewport_size(SIZE)
    session.stage.shadows, view.weights.value = False, False
    tab.choose("right_hand")
    for _ in range(2):
        session.undo()
    session.clock.seek(30 / session.motion.fps)


def take(window: Window, path: Path, there) -> None:
    """A picture of the page, once something is there and stands still."""
    from PIL import Image

    wait(lambda: there() and not window.session.stale(window.session.time), "what is to be seen")
    settled(window)
    window.page.wait_for_timeout(3000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(path, optimize=True)

"""The edit tab in a page: a drag, an undo, a save, and the file read back."""

import io
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.formats import load
from posable.studio import Session
from posable.studio.tabs.edit import EditTab

from ..window import PICTURES, RENEW, SIZE, Window, by, choose, drag_arrow, drag_ring, settled, wait

PICTURE, WEIGHTS = PICTURES / "studio-edit.png", PICTURES / "studio-edit-weights.png"


def test_a_hand_is_pulled_undone_redone_and_saved_on_the_page(
    window: Window, tab: EditTab, session: Session, tmp_path: Path
):
    page, body, before = window.page, session.body, session.motion
    choose(window, "Pull", "right hand")
    wait(lambda: tab.part == "right_hand", "the part")
    wait(lambda: not session.stale(session.time) and "/world/gizmo/edit" in window.nodes(), "the handle")
    settled(window)
    start = np.array(session.gizmos["edit"].position)
    drag_arrow(window, start + session.stage.offset, 0.12 * body.height)
    wait(lambda: session.history.undoable == "Pull the right hand", "the drag to end")
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
    window.field("Turn it too").check()
    wait(lambda: not session.gizmos["edit"].disable_rotations and not session.stale(session.time), "the rings")
    settled(window)
    at = np.array(session.gizmos["edit"].position) + session.stage.offset
    drag_ring(window, at, np.array([1.0, 0.0, 0.0, 0.0]), 0.16 * body.height, 2)
    wait(lambda: session.history.undoable == "Pull and turn the left hand", "the turn to end")
    joint = body.index("left_hand")
    was, now = (body.skeleton.forward(motion[30]) for motion in (before, session.motion))
    assert pm.angle(was.orientations[joint], now.orientations[joint]) > 0.1
    assert np.linalg.norm(was.positions[joint] - now.positions[joint]) < 2e-3
    turned = session.motion
    window.page.get_by_text("Warp through several places").click()
    window.field("Leave marks").check()
    for frame in (20, 40):
        session.clock.seek(frame / turned.fps)
        wait(lambda: not session.stale(session.time), "the frame")
        settled(window)
        at = np.array(session.gizmos["edit"].position) + session.stage.offset
        drag_arrow(window, at, 0.12 * body.height)
        wait(lambda frame=frame: tab.warp.parts_at(frame) == ("left_hand",), "the mark")
    assert session.motion is turned
    window.press("Warp through the marks")
    wait(lambda: session.history.undoable == "Warp through 2 places", "the warp")
    for mark_frame in (20, 40):
        was, now = (body.skeleton.forward(motion[mark_frame]).positions[joint] for motion in (turned, session.motion))
        assert now[1] > was[1] + 0.02
    window.page.locator("svg.edits rect.edit").nth(1).wait_for()
    window.page.get_by_text("Warp through several places").click()


def test_a_bar_is_moved_and_stretched_on_the_page(window: Window, tab: EditTab, session: Session):
    tab.options.spread.value = 0.2
    tab.drag(np.array(session.gizmos["edit"].position) + by(0.0, 0.1, 0.0))
    tab.drop()
    bar = window.page.locator("svg.edits rect.edit")
    bar.wait_for()
    drag_bar(window, bar, 0.5, -0.25)
    wait(lambda: session.history.undoable == "Change edit 1", "the bar to be moved")
    frame, moved = tab.editor.edits[0].settings["frame"], session.motion
    assert frame < 28 and tab.editor.edits[0].settings["spread"] == 0.2
    wait(lambda: not session.stale(session.time), "the bar to be drawn")
    window.page.wait_for_timeout(500)
    drag_bar(window, bar, 1.0, 0.25)
    wait(lambda: session.motion is not moved, "the bar to be stretched")
    assert tab.editor.edits[0].settings["spread"] > 0.22 and tab.editor.edits[0].settings["frame"] == frame
    window.press("Undo")
    wait(lambda: tab.editor.edits[0].settings["spread"] == 0.2, "the bar as it was")


def drag_bar(window: Window, bar, grip: float, way: float) -> None:
    """Take a bar at a share of its length and drag it by a share of its length."""
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    y = box["y"] + box["height"] / 2
    window.page.mouse.move(box["x"] + grip * box["width"], y)
    window.page.mouse.down()
    window.page.mouse.move(box["x"] + (grip + way) * box["width"], y, steps=4)
    window.page.wait_for_timeout(300)
    window.page.mouse.up()


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
    view.onion.value, tab.options.turn.value = True, True
    session.changed("pose")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.mouse.move(500, 30)
    take(window, PICTURE, lambda: view.ghosts.skins)
    view.onion.value, view.weights.value, tab.options.turn.value = False, True, False
    session.changed("pose")
    page.get_by_text("What is seen").click()
    take(window, WEIGHTS, lambda: session.stage._paints)
    page.get_by_text("What is seen").click()
    page.set_viewport_size(SIZE)
    session.stage.shadows, view.weights.value = False, False
    tab.choose("right_hand")
    session.undo()
    session.clock.seek(30 / session.motion.fps)


def take(window: Window, path: Path, there) -> None:
    """A picture of the page, once something is there and stands still."""
    from PIL import Image

    wait(lambda: there() and not window.session.stale(window.session.time), "what is to be seen")
    settled(window)
    window.page.wait_for_timeout(3000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(path, optimize=True)

"""The trackers tab in a page: a file, both bodies, methods, a lost point, a dragged point, saved and read back."""

import io
from pathlib import Path

import numpy as np

from posable.body import MARKERS
from posable.compute import Status
from posable.formats import load, save
from posable.studio import Session
from posable.studio.tabs.trackers.tab import ADJACENT, NAMES, NONE, OVER, TrackersTab

from ..window import PICTURES, RENEW, SIZE, Window, choose, differing, drag_arrow, settled, wait
from .conftest import FREE

PICTURE = PICTURES / "studio-trackers.png"


def test_a_motion_is_loaded_reconstructed_beside_itself_compared_and_saved(
    window: Window, tab: TrackersTab, session: Session, tmp_path: Path
):
    page = window.page
    save(session.motion, tmp_path / "mine.bvh")
    page.get_by_role("tab", name="Play").click()
    wait(lambda: session.tab == "Play", "the tab")
    page.get_by_text("Open by path").click()
    window.field("File").first.fill(str(tmp_path / "mine.bvh"))
    window.field("Keep the others").first.uncheck()
    window.press("Load the motion")
    wait(lambda: session.active is not None and session.active.name == "mine", "the file")
    wait(lambda: session.clock.playing, "it to play")
    session.clock.pause()
    window.field("Keep the others").first.check()
    page.get_by_text("Open by path").click()
    page.get_by_role("tab", name="Trackers").click()
    alone, bodies = settled(window), {name for name in window.nodes() if name.startswith("/body")}
    choose(window, "Body", ADJACENT)
    wait(lambda: tab.result is not None, "the motion to be reconstructed")
    wait(lambda: {name for name in window.nodes() if name.startswith("/body")} - bodies, "the reconstructed body")
    assert differing(alone, settled(window)) > 0.01, "two bodies"
    page.locator(".uplot canvas").first.wait_for()
    page.get_by_text("Numbers", exact=True).click()
    page.get_by_text("whole motion").wait_for()
    page.get_by_text(f"{100 * tab.result.overall:.2f} %").first.wait_for()
    choose(window, "Method", FREE)
    wait(lambda: tab.method == FREE and tab.result is not None, "the other method")
    wait(lambda: tab.report.plot.labels == (NAMES["sik"], FREE), "a line for each")
    choose(window, "Method", NAMES["sik"])
    choose(window, "Body", OVER)
    wait(lambda: tab.guest is not None and tab.guest.ghost and tab.result is not None, "the body over the original")
    page.get_by_text("Reconstructed motion to a file").click()
    field = window.field("Reconstructed file").first
    field.fill(str(tmp_path / "reconstructed.npz"))
    field.blur()
    window.press("Save the reconstructed motion")
    wait((tmp_path / "reconstructed.npz").exists, "the file")
    back = load(tmp_path / "reconstructed.npz")
    assert np.allclose(back.pose.rotations, tab.result.motion.pose.rotations, atol=1e-7)
    with page.expect_download() as sent:
        window.press("Download the reconstructed motion")
    assert sent.value.suggested_filename == "reconstructed.npz"
    page.get_by_text("Reconstructed motion to a file").click()


def test_a_point_is_untracked_for_a_while_on_the_page(window: Window, tab: TrackersTab, session: Session):
    page = window.page
    session.clock.seek(0.5)
    tab.show(OVER)
    wait(
        lambda: tab.result is not None and "/world/reconstruct/points" in window.nodes(),
        "the motion to be reconstructed",
    )
    page.get_by_text("All six points are met").first.wait_for()
    page.get_by_text("Lost trackers").click()
    window.field("Head").first.click()
    wait(lambda: tab.points.untracked == tuple(role == "head" for role in MARKERS), "the head to be untracked")
    wait(lambda: tab.result is not None and tab.status == Status.INVALID, "the motion without it")
    page.get_by_text("Lost: head, guessed").wait_for()
    window.field("Head").first.click()
    wait(lambda: tab.status == Status.REACHED, "the head to be tracked")
    page.get_by_text("Lost trackers").click()


def test_a_point_is_dragged_and_the_body_follows(window: Window, tab: TrackersTab, session: Session):
    tab.show(ADJACENT)
    wait(lambda: tab.result is not None and "/world/gizmo/reconstruct_right_hand" in window.nodes(), "the handles")
    settled(window)
    if RENEW:
        renew_picture(window, tab, session)
    handle, body = session.gizmos["reconstruct_right_hand"], session.body
    before = np.array(handle.position)
    drag_arrow(window, before + session.stage.offset, 0.075 * body.joint_height)
    wait(lambda: session.history.undoable == "Drag a point", "the drag to end")
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    there = np.array(session.gizmos["reconstruct_right_hand"].position)
    assert there[1] > before[1] + 0.02
    hand = tab.guest.frames(session.time).positions[body.index("right_hand")]
    assert np.linalg.norm(hand - there) < 1e-5 + tab.marker_errors[MARKERS.index("right_hand")]
    window.press("Release the points")
    wait(
        lambda: np.allclose(session.gizmos["reconstruct_right_hand"].position, before, atol=1e-5),
        "the point to go back",
    )
    choose(window, "Body", NONE)
    wait(lambda: tab.guest is None and "/world/gizmo/reconstruct_right_hand" not in window.nodes(), "all of it to go")


def renew_picture(window: Window, tab: TrackersTab, session: Session) -> None:
    """The picture of docs/studio.md: the walk and its reconstructed twin beside it, with the plot."""
    window.forget_messages()
    from PIL import Image

    session.stage.shadows = True
    window.page.set_viewport_size({"width": 1280, "height": 800})
    session.stage.frame(session.shown)
    window.page.mouse.move(500, 30)
    window.dismiss()
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    window.page.wait_for_timeout(6000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(PICTURE, optimize=True)
    session.stage.shadows = False
    window.page.set_viewport_size(SIZE)
    session.stage.frame(session.shown)
    settled(window)

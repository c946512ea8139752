"""The limb tab in a page, as a user has it."""

import io
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.formats import load
from posable.studio import Session
from posable.studio.tabs.limb.tab import NONE, LimbTab
from posable.studio.view.obstacle import KINDS, NAME, NOTHING

from ..window import PICTURES, RENEW, SIZE, Window, by, choose, drag_arrow, on_screen, wait
from .conftest import UNUSUAL_OFFSET

PICTURE = PICTURES / "studio-limb.png"


def test_dragging_the_handle_on_the_page_moves_the_hand(window: Window, tab: LimbTab, session: Session):
    tab.choose(NONE)
    choose(window, "Part", "left hand")
    wait(lambda: tab.part == "left_hand" and "limb" in session.gizmos, "the handle")
    wait(lambda: "/world/gizmo/limb" in window.nodes() and "/world/limb/orbit" in window.nodes(), "the orbit")
    window.page.get_by_text("Drag the handle at the left hand.").wait_for()
    before = session.active.frames(session.time).positions[session.body.index("left_hand")]
    drag_arrow(
        window, np.array(session.gizmos["limb"].position) + session.stage.offset, 0.16 * session.body.joint_height
    )
    wait(lambda: session.history.undoable == "Place the left hand", "the drag to end")
    handle = np.array(session.gizmos["limb"].position)
    assert handle[1] > before[1] + 0.02
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    hand = session.active.frames(session.time).positions[session.body.index("left_hand")]
    assert np.linalg.norm(hand - handle) < 1e-6 + float(tab.placement.position_error)
    window.page.get_by_text(tab.placement.status.name).wait_for()
    window.page.get_by_text("swivel ").first.wait_for()
    if RENEW:
        _renew_picture(window, tab, session)
    window.press("Undo")
    wait(lambda: session.active.pose_override is None, "the motion again")


def test_the_page_shows_the_limits_and_moves_the_point_on_them(window: Window, tab: LimbTab, session: Session):
    point = window.page.locator('svg.limits circle.now[data-joint="shoulder"]')
    point.wait_for()
    before = point.get_attribute("cy")
    tab.drag(np.array(session.gizmos["limb"].position) + by(0.0, 0.25, 0.25))
    wait(lambda: point.get_attribute("cy") != before, "the point on the swing plane to move")
    assert window.page.get_by_text("elbow bend").is_visible()


def test_the_page_shows_what_people_do_and_keeps_to_it(window: Window, tab: LimbTab, session: Session):
    hand = np.array(session.gizmos["limb"].position)
    tab.drag(hand + UNUSUAL_OFFSET)
    window.field("What people do").first.click()
    wait(lambda: "/world/limb/range/rim" in window.nodes(), "the range in the scene")
    window.page.get_by_text("people do not do this").wait_for()
    window.field("Keep to it").first.click()
    window.page.get_by_text("the range changed the").wait_for()
    window.page.get_by_text("unusual").wait_for()
    window.field("What people do").first.click()
    wait(lambda: not tab.learned._node.visible, "the range to be hidden")


def test_obstacles_are_put_exchanged_and_taken_away_on_the_page(window: Window, tab: LimbTab, session: Session):
    for kind in KINDS:
        choose(window, "Obstacle", kind)
        wait(lambda: NAME in tab.obstacle.scene and tab.obstacle.scene[NAME].kind == kind, f"the {kind}")  # noqa: B023
        wait(lambda: f"/world/gizmo/{NAME}/shape" in window.nodes(), "the obstacle")
    choose(window, "Obstacle", NOTHING)
    wait(lambda: f"/world/gizmo/{NAME}/shape" not in window.nodes(), "the obstacle to go")
    assert len(tab.obstacle.scene) == 0


def test_an_obstacle_is_moved_and_rotated_by_its_handle(window: Window, tab: LimbTab, session: Session):
    tab.choose(NONE)
    choose(window, "Obstacle", "box")
    wait(lambda: f"/world/gizmo/{NAME}/shape" in window.nodes(), "the obstacle")
    before, size = tab.obstacle.now, 0.13 * session.body.joint_height
    place = np.array(session.gizmos[NAME].position) + session.stage.offset
    drag_arrow(window, place, size)
    wait(lambda: session.history.undoable == "Move the box", "the drag to end")
    assert tab.obstacle.now.position[1] > before.position[1] + 0.02
    window.press("Undo")
    wait(lambda: np.allclose(tab.obstacle.now.position, before.position), "the box where it was")
    # Between two arrows is the arc that turns about the third.
    ends = [by(*(0.6 * size * np.array([np.cos(a), np.sin(a), 0.0]))) for a in np.radians([45.0, 85.0])]
    start, end = (on_screen(window, place + way) for way in ends)
    window.page.mouse.move(*start)
    window.page.wait_for_timeout(1000)
    window.page.mouse.down()
    window.page.wait_for_timeout(500)
    window.page.mouse.move(*end, steps=6)
    window.page.wait_for_timeout(500)
    window.page.mouse.up()
    wait(lambda: pm.angle(tab.obstacle.now.orientation, before.orientation) > 0.2, "the box to turn")
    assert np.allclose(tab.obstacle.now.position, before.position, atol=1e-6)


def test_a_pose_is_saved_and_loaded_on_the_page(window: Window, tab: LimbTab, session: Session, tmp_path: Path):
    page = window.page
    tab.drag(np.array(session.gizmos["limb"].position) + by(0.0, 0.2, 0.2))
    tab.drop()
    tab.update(session.time)
    placed = session.active.pose_override
    page.get_by_text("Pose to a file").click()
    field = window.field("Pose file").first
    field.fill(str(tmp_path / "mine.npz"))
    field.blur()
    window.press("Save the pose")
    wait((tmp_path / "mine.npz").exists, "the file")
    window.press("Back to the motion")
    wait(lambda: session.active.pose_override is None, "the motion again")
    window.press("Load the pose")
    wait(lambda: session.history.undoable == "Set the pose of mine", "the pose")
    wait(lambda: session.active.pose_override is not None, "the pose to be shown")
    assert np.allclose(session.active.pose_override.rotations, placed.rotations, atol=1e-9)
    with page.expect_download() as sent:
        window.press("Download the pose")
    got = load(sent.value.path().rename(tmp_path / "got.npz"))
    assert np.allclose(got.pose.rotations[0], placed.rotations, atol=1e-9)
    window.press("Back to the motion")
    with page.expect_file_chooser() as chooser:
        window.press("Upload a pose")
    chooser.value.set_files(tmp_path / "got.npz")
    wait(lambda: session.history.undoable == "Set the pose of got", "the uploaded pose")
    window.dismiss()


def _renew_picture(window: Window, tab: LimbTab, session: Session) -> None:
    """The picture of docs/studio.md: what people do, and a capsule near the arm."""
    from PIL import Image

    hand = np.array(session.gizmos["limb"].position)
    tab.drag(hand + by(0.02, 0.12, 0.1))
    tab.drop()
    tab.obstacle.choose("capsule")
    tab.obstacle.move(hand + by(-0.25, 0.1, 0.1), pm.axis_angle([0.0, 0.0, 1.0], 0.5))
    tab.obstacle.drop()
    tab.learned.show(True)
    window.page.set_viewport_size({"width": 1280, "height": 800})
    window.page.mouse.move(500, 30)
    wait(lambda: "/world/limb/range/rim" in window.nodes() and not session.stale(session.time), "the range")
    window.page.wait_for_timeout(5000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(PICTURE, optimize=True)
    window.page.set_viewport_size(SIZE)
    tab.learned.show(False)
    for _ in range(3):
        session.undo()

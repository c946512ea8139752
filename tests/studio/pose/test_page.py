"""Pose and Motion in a page: a click, a drag, an undo, a save, and the file read back."""

import io
import json
import os
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.edit.edit_list import load_edits
from posable.formats import load
from posable.studio import Session
from posable.studio.tabs.pose.options import LIMB, MOTION, NONE, PEOPLE, WHOLE
from posable.studio.view.obstacle import KINDS, NAME, NOTHING

from ..desk import Desk
from ..window import PICTURES, RENEW, SIZE, Window, by, choose, drag_arrow, drag_ring, on_screen, settled, wait

PICTURE, LIMB_PICTURE = PICTURES / "studio-pose.png", PICTURES / "studio-limb.png"
MOTION_PICTURE, WEIGHTS = PICTURES / "studio-motion.png", PICTURES / "studio-weights.png"
SIZE_OF_HANDLE = 0.16


def handle_at(window: Window, session: Session) -> np.ndarray:
    """(3,) where the handle is in the scene, once it is there and drawn."""
    wait(lambda: not session.stale(session.time) and "/world/gizmo/pose" in window.nodes(), "the handle")
    settled(window)
    return np.array(session.gizmos["pose"].position) + session.stage.offset


def test_a_hand_is_clicked_dragged_kept_played_and_saved(window: Window, tab: Desk, session: Session, tmp_path: Path):
    """The first minute of somebody who has read nothing."""
    page, body, before = window.page, session.body, session.motion
    tab.pose.answer_by(WHOLE)
    tab.choose(NONE)
    page.get_by_role("tab", name="Play").click()
    wait(lambda: session.tab == "Play", "the tab")
    settled(window)
    wrist = body.index("left_hand")
    fingers = [j for j in range(len(body.skeleton)) if wrist in body.skeleton.path(j) and j != wrist]
    hand = session.active.frames(session.time).positions[fingers].mean(axis=0)
    page.mouse.click(*on_screen(window, hand + session.stage.offset))
    wait(lambda: session.tab == "Pose" and tab.part == "left_hand", "the hand to be selected")
    wait(lambda: window.field("Part").first.input_value() == "left hand", "its name in the panel")
    drag_arrow(window, handle_at(window, session), SIZE_OF_HANDLE * body.joint_height)
    wait(lambda: session.history.undoable == "Drag the left hand", "the drag to end")
    edited = session.motion
    there, here = (body.skeleton.forward(motion[30]).positions[wrist] for motion in (before, edited))
    assert here[1] > there[1] + 0.02
    page.locator('.stage-mark[title^="Edits:"]').wait_for()
    page.get_by_text("On target").first.wait_for()
    page.get_by_role("tab", name="Play").click()
    wait(lambda: "/world/gizmo/pose" not in window.nodes(), "the handle to go with its tab")
    window.press("Play")
    wait(lambda: session.clock.playing, "it to play")
    window.press("Pause")
    wait(lambda: not session.clock.playing, "it to stop")
    window.press("Undo")
    wait(lambda: session.motion is before and tab.editor.edits == (), "the motion as it was")
    page.locator('.stage-mark[title^="Edits:"]').wait_for(state="detached")
    window.press("Redo")
    wait(lambda: session.motion is edited, "the edit again")
    page.get_by_text("Save", exact=True).first.click()
    field = window.field("File").last
    field.fill(str(tmp_path / "mine.npz"))
    field.blur()
    window.press("Save the motion")
    wait((tmp_path / "mine.npz").exists, "the file")
    assert np.allclose(load(tmp_path / "mine.npz").pose.rotations, edited.pose.rotations, atol=1e-7)
    page.get_by_text("Save", exact=True).first.click()


def test_the_pictures_of_the_docs_are_of_this_studio(window: Window, tab: Desk, session: Session):
    """Renewed with POSABLE_UPDATE_PICTURES=1."""
    if RENEW:
        renew_pictures(window, tab, session)
    for picture in (PICTURE, LIMB_PICTURE, MOTION_PICTURE, WEIGHTS):
        assert picture.exists() and picture.stat().st_size < 500_000


def test_the_range_of_an_arm_is_seen_and_an_obstacle_is_put_in_its_way(window: Window, tab: Desk, session: Session):
    page = window.page
    tab.pose.answer_by(LIMB)
    page.get_by_text("Range of an arm or leg").click()
    for box in ("Where the elbow can go", "Limits of its joints", "What people do"):
        window.field(box).first.click()
    wait(lambda: {"/world/pose/orbit", "/world/pose/range/rim"} <= set(window.nodes()), "orbit and range")
    point = page.locator('svg.limits circle.now[data-joint="shoulder"]')
    point.wait_for()
    before = point.get_attribute("cy")
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, 0.25, 0.25))
    wait(lambda: point.get_attribute("cy") != before, "the point on the swing plane to move")
    page.get_by_text("beyond a joint's limit").wait_for()
    tab.drop()
    for box in ("Where the elbow can go", "Limits of its joints", "What people do"):
        window.field(box).first.click()
    page.get_by_text("Range of an arm or leg").click()
    page.get_by_text("Obstacle", exact=True).first.click()
    for kind in KINDS:
        choose(window, "Obstacle", kind)
        wait(lambda: NAME in tab.obstacle.scene and tab.obstacle.scene[NAME].kind == kind, f"the {kind}")  # noqa: B023
        wait(lambda: f"/world/gizmo/{NAME}/shape" in window.nodes(), "the obstacle")
    tab.choose(NONE)
    wait(lambda: not session.gizmos["pose"].visible, "the hand's handle to go")
    place, size = np.array(session.gizmos[NAME].position) + session.stage.offset, 0.13 * session.body.joint_height
    height = tab.obstacle.now.position[1]
    settled(window)
    drag_arrow(window, place, size)
    wait(lambda: session.history.undoable == "Move the capsule", "the drag to end")
    assert tab.obstacle.now.position[1] > height + 0.02
    choose(window, "Obstacle", NOTHING)
    wait(lambda: f"/world/gizmo/{NAME}/shape" not in window.nodes(), "the obstacle to go")
    page.get_by_text("Obstacle", exact=True).first.click()


def test_a_pose_is_saved_and_loaded_on_the_page(window: Window, tab: Desk, session: Session, tmp_path: Path):
    page, posed = window.page, session.pose
    page.get_by_text("Pose to a file").click()
    field = window.field("Pose file").first
    field.fill(str(tmp_path / "mine.npz"))
    field.blur()
    window.press("Save the pose")
    wait((tmp_path / "mine.npz").exists, "the file")
    session.clock.seek(50 / session.motion.fps)
    window.press("Load the pose")
    wait(lambda: session.history.undoable == "Set the pose of mine", "the pose")
    assert np.allclose(session.motion[50].rotations, posed.rotations, atol=1e-6)
    with page.expect_download() as sent:
        window.press("Download the pose")
    got = sent.value.path().rename(tmp_path / "got.npz")
    with page.expect_file_chooser() as chooser:
        window.press("Upload a pose")
    chooser.value.set_files(got)
    wait(lambda: session.history.undoable == "Set the pose of got", "the uploaded pose")
    page.get_by_text("Pose to a file").click()
    window.dismiss()


def test_a_hand_is_turned_by_a_ring_and_warped_through_marks_on_the_page(window: Window, tab: Desk, session: Session):
    body, before = session.body, session.motion
    at = handle_at(window, session)
    drag_ring(window, at, np.array([1.0, 0.0, 0.0, 0.0]), SIZE_OF_HANDLE * body.joint_height, 2)
    wait(lambda: session.history.undoable == "Rotate the left hand", "the turn to end")
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
        at = np.array(session.gizmos["pose"].position) + session.stage.offset
        drag_arrow(window, at, SIZE_OF_HANDLE * body.joint_height)
        wait(lambda frame=frame: tab.warp.parts_at(frame) == ("left_hand",), "the mark")
    assert session.motion is turned
    window.press("Warp through the marks")
    wait(lambda: session.history.undoable == "Warp through 2 targets", "the warp")
    for mark_frame in (20, 40):
        was, now = (body.skeleton.forward(motion[mark_frame]).positions[joint] for motion in (turned, session.motion))
        assert now[1] > was[1] + 0.02
    window.page.locator('.stage-mark[title^="Edits:"]').nth(1).wait_for()
    window.page.get_by_text("Warp through several targets").click()


def test_a_bar_is_moved_and_stretched_on_the_page(window: Window, tab: Desk, session: Session):
    tab.options.spread.value = 0.2
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, 0.1, 0.0))
    tab.drop()
    bar = window.page.locator('.stage-mark[title^="Edits:"]')
    bar.wait_for()
    drag_bar(window, bar, 0.5, -0.25)
    wait(lambda: session.history.undoable == "Change edit 1", "the bar to be moved")
    frame, moved, (first, *_, last) = tab.editor.edits[0].settings["frame"], session.motion, tab.editor.edits[0].rows
    assert frame < 28 and tab.editor.edits[0].settings["spread"] == 0.2
    was, under_way = drag_bar(window, bar, 1.0, 0.25)
    assert abs(under_way["x"] - was["x"]) < 1.0 and under_way["width"] > 1.15 * was["width"], "it follows the pointer"
    wait(lambda: session.motion is not moved, "the end to be moved")
    edit, stretched = tab.editor.edits[0], session.motion
    assert edit.settings["frame"] == frame and edit.rows[0] == first and edit.rows[-1] > last + 2
    assert edit.settings["frames"] == (first, edit.rows[-1])
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
    wait(lambda: not window.session.stale(window.session.time), "the bar to be drawn")  # it is another element then
    window.drawn()
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    y = box["y"] + box["height"] / 2
    start = box["x"] + min(max(grip * box["width"], 2.0), box["width"] - 2.0)  # an end is gripped just inside of it
    window.page.mouse.move(start, y)
    window.page.mouse.down()
    window.page.mouse.move(start + way * box["width"], y, steps=4)
    window.drawn()
    under_way = bar.bounding_box()
    window.page.mouse.up()
    return box, under_way


def test_a_list_of_edits_is_uploaded_undone_changed_saved_and_read_back_on_the_page(
    window: Window, tab: Desk, session: Session, tmp_path: Path
):
    page, before, listed, wrong = window.page, session.motion, tmp_path / "mine.json", tmp_path / "wrong.json"
    rows = [
        {"frame": 20, "part": "left_hand", "displacement": [0, 0.06, 0.02], "frames": [15, 45]},
        {"frame": 30, "part": "head", "displacement": [0.02, 0, 0], "spread": 0.2},
    ]
    for path, given in ((listed, rows), (wrong, [*rows, {**rows[1], "part": "tail"}])):
        path.write_text(json.dumps({"posable": "edits", "version": 1, "edits": given}))
    page.get_by_role("tab", name="Motion").click()
    wait(lambda: session.tab == "Motion", "the tab")
    page.get_by_text("Edits to a file").click()
    upload(window, wrong)
    page.get_by_text("edit 3 of the list: unknown part of this body 'tail'").first.wait_for()
    assert session.motion is before and tab.editor.edits == ()
    window.dismiss()
    upload(window, listed)
    wait(lambda: session.history.undoable == "Load 2 edits of mine", "the list")
    bars = page.locator('.stage-mark[title^="Edits:"]')
    bars.nth(1).wait_for()
    one, other = (bars.nth(k).bounding_box() for k in (0, 1))
    frame = one["width"] / (45 - 15)
    assert abs((other["x"] - one["x"]) / frame - 4) < 0.5, "bars are drawn over their true frames"
    assert abs(other["width"] / frame - (41 - 19)) < 0.5
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


def renew_pictures(window: Window, tab: Desk, session: Session) -> None:
    """The pictures of docs/studio.md: the whole body, a limb with its range, the edits of a motion, its weights."""
    page, view, pose = window.page, tab.view, tab.pose
    window.forget_messages()
    session.stage.shadows = True
    page.set_viewport_size({"width": 1280, "height": 800})
    page.mouse.move(500, 30)
    pose.answer_by(WHOLE)
    tab.choose("right_hand")
    tab.update(session.time)
    tab.drag(np.array(session.gizmos["pose"].position) + by(-0.12, -0.3, 0.45))
    tab.drop()
    take(window, PICTURE, lambda: session.edits.entries)
    session.undo()
    pose.answer_by(LIMB)
    tab.choose("left_hand")
    pose.show_orbit.value = pose.show_limits.value = True
    pose.learned.show(True)
    page.get_by_text("Range of an arm or leg").click()
    tab.update(session.time)
    hand = np.array(session.gizmos["pose"].position)
    tab.obstacle.choose("capsule")
    tab.obstacle.move(hand + by(-0.25, 0.1, 0.1), pm.axis_angle([0.0, 0.0, 1.0], 0.5))
    tab.obstacle.drop()
    tab.drag(hand + by(0.02, 0.12, 0.1))
    tab.drop()
    take(window, LIMB_PICTURE, lambda: "/world/pose/range/rim" in window.nodes())
    page.get_by_text("Range of an arm or leg").click()
    pose.show_orbit.value = pose.show_limits.value = False
    pose.learned.show(False)
    tab.obstacle.choose(NOTHING)
    session.edits.change(0, 30, 0.3)
    session.clock.seek(20 / session.motion.fps)
    pose.answer_by(MOTION)
    tab.choose("head")
    tab.update(session.time)
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.0, -0.12, 0.08))
    tab.drop()
    tab.show("Motion")
    view.onion.value = True
    session.changed("pose")
    take(window, MOTION_PICTURE, lambda: view.ghosts)
    view.onion.value, view.weights.value = False, True
    session.changed("pose")
    page.get_by_text("What is shown").click()
    take(window, WEIGHTS, lambda: session.stage._paints)
    page.get_by_text("What is shown").click()
    page.set_viewport_size(SIZE)
    session.stage.shadows, view.weights.value = False, False


def take(window: Window, path: Path, there) -> None:
    """A picture of the page, once something is there and stands still."""
    from PIL import Image

    wait(lambda: there() and not window.session.stale(window.session.time), "what is to be seen")
    settled(window)
    window.dismiss()
    window.page.wait_for_timeout(4000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(path, optimize=True)


def test_a_head_and_a_hand_are_dragged_as_people_do_and_released_on_the_page(
    window: Window, tab: Desk, session: Session
):
    page, body, before = window.page, session.body, session.motion

    def at(part: str) -> np.ndarray:
        """Where a part is at frame 30, by forward kinematics alone."""
        return body.skeleton.forward(session.motion[30]).positions[body.index(part)]

    page.mouse.move(SIZE["width"] * 0.4, SIZE["height"] * 0.4)
    page.keyboard.press("4")
    wait(lambda: tab.pose.answer == PEOPLE, "the answer")
    for part in ("head", "left_hand"):
        tab.choose(part)
        start = at(part)
        drag_arrow(window, handle_at(window, session), SIZE_OF_HANDLE * body.joint_height)
        label = part.replace("_", " ")
        wait(lambda: session.history.undoable == f"Drag the {label}", "the drag to end")  # noqa: B023
        assert at(part)[1] != start[1]
    head, hand = at("head"), at("left_hand")
    assert tab.pose.touched.parts == ("head", "left_hand")
    page.get_by_text("Parts that you dragged").click()
    page.get_by_text("Here: head, left hand.").wait_for()
    if folder := os.environ.get("POSABLE_LOOK"):
        page.screenshot(path=f"{folder}/people.png")
    window.press("Release this part")
    wait(lambda: tab.pose.touched.parts == ("head",), "the hand to be released")
    page.get_by_text("Here: head.").wait_for()
    assert np.linalg.norm(at("head") - head) < 1e-5 and np.linalg.norm(at("left_hand") - hand) > 1e-3
    window.press("Undo")
    wait(lambda: tab.pose.touched.parts == ("head", "left_hand"), "the hand to be where it was put")
    assert np.linalg.norm(at("left_hand") - hand) < 1e-5
    window.press("Redo")
    wait(lambda: tab.pose.touched.parts == ("head",), "the hand to be released again")
    window.press("Release all")
    wait(lambda: tab.pose.touched.parts == (), "everything to be released")
    there, here = (body.skeleton.forward(motion[30]).positions for motion in (before, session.motion))
    assert np.linalg.norm(there - here, axis=-1).max() < 1e-5
    page.get_by_text("Parts that you dragged").click()
    tab.pose.answer_by(WHOLE)

"""The behaviours tab in a page, as an artist has it."""

import io
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.studio import Session
from posable.studio.core.actor import canonical_orientation
from posable.studio.tabs.behaviours.swing_plane import Stroke, direction_of
from posable.studio.tabs.behaviours.tab import NONE, BehavioursTab
from posable.studio.widgets.status_text import SENTENCES

from ..window import PICTURES, RENEW, SIZE, Window, choose, drag_arrow, drag_ring, on_screen, wait
from .conftest import LOW, written

PICTURE = PICTURES / "studio-behaviours.png"


def renew_picture(window: Window, tab: BehavioursTab, session: Session) -> None:
    """The picture of docs/studio.md: a key of the normal behaviour, low and ahead, seen from the arm's side."""
    window.forget_messages()
    from PIL import Image

    key = next(key.id for key in tab.keys.behaviour.keys if key.name == "low ahead")
    tab.keys.choose(key)
    tab.editor.choose("chest")
    session.stage.shadows = True
    window.page.set_viewport_size({"width": 1280, "height": 800})
    session.stage.frame(session.actors)
    window.page.wait_for_timeout(2000)
    tab.face(window.client)
    camera = window.client.camera
    camera.position = np.array(camera.look_at) + 1.35 * (np.array(camera.position) - np.array(camera.look_at))
    window.field("Hand").first.scroll_into_view_if_needed()
    window.page.mouse.move(500, 30)
    window.dismiss()
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    window.page.wait_for_timeout(5000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(PICTURE, optimize=True)
    session.stage.shadows = False
    window.page.set_viewport_size(SIZE)
    session.stage.frame(session.actors)


# In one piece: the plane is drawn anew with each change, and one that was found a moment ago is gone.
ON_PLANE = """p => {
    const plane = document.querySelector("svg.swing-plane");
    plane.scrollIntoView({block: "nearest", behavior: "instant"});
    const q = new DOMPoint(...p).matrixTransform(plane.getScreenCTM());
    return [q.x, q.y];
}"""


def on_plane(window: Window, swing: tuple[float, float]) -> tuple[float, float]:
    """Where a swing [rad] is on the page [pixels]."""
    window.page.locator("svg.swing-plane").wait_for()
    place = window.page.evaluate(ON_PLANE, [float(np.degrees(swing[1])), float(np.degrees(swing[0]))])
    return place[0], place[1]


def test_a_whole_edit_on_the_page_is_saved_and_comes_back_to_the_last_bit(
    window: Window, tab: BehavioursTab, session: Session, tmp_path: Path
):
    page = window.page
    tab.choose(NONE)
    choose(window, "Hand", "right hand")
    page.locator("svg.swing-plane").wait_for()
    page.mouse.click(*on_plane(window, LOW))
    wait(lambda: np.allclose(tab.targets.swing(tab.side), LOW, atol=0.03), "the target to be in that direction")
    window.press("Add")
    wait(lambda: tab.keys.chosen is not None and not tab.keys.behaviour.key(tab.keys.chosen).outer, "the key")
    key = tab.keys.chosen
    page.locator(f'svg.swing-plane .key[data-key="{key}"]').wait_for()
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    before = session.active.pose_override
    slider = window.field("Forward [°]", ".mantine-Slider-track").first
    slider.scroll_into_view_if_needed()
    window.drag(slider, 0.8)
    wait(lambda: session.history.undoable == "Rotate the chest", "the chest to turn")
    wait(lambda: not np.allclose(session.active.pose_override.rotations, before.rotations), "the body to change")
    start, end = on_plane(window, LOW), on_plane(window, (LOW[0] - 0.5, LOW[1]))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    wait(lambda: np.allclose(tab.keys.behaviour.key(key).at, (LOW[0] - 0.5, LOW[1]), atol=0.04), "the key to move")
    made = written(tab, tmp_path)
    page.get_by_text("Behaviour to a file").click()
    field = window.field("Behaviour file").first
    field.fill(str(tmp_path / "mine.json"))
    field.blur()
    window.press("Save the behaviour")
    wait((tmp_path / "mine.json").exists, "the file")
    assert (tmp_path / "mine.json").read_text() == made[0]
    window.press("Undo")
    wait(lambda: session.history.redoable == "Move the key", "the key to go back")
    window.press("Undo")
    wait(lambda: session.history.redoable == "Rotate the chest", "the chest to turn back")
    assert tab.keys.behaviour.key(key).posture is None, "the key follows the field again"
    window.press("Load the behaviour")
    wait(lambda: session.history.undoable == "Load mine", "the behaviour")
    assert written(tab, tmp_path) == made
    with page.expect_download() as sent:
        window.press("Download the behaviour")
    got = sent.value.path().rename(tmp_path / "got.json")
    assert got.read_text() == made[0]
    choose(window, "Example", "tired")
    wait(lambda: tab.keys.behaviour.name == "tired", "the example")
    with page.expect_file_chooser() as chooser:
        window.press("Upload a behaviour")
    chooser.value.set_files(got)
    wait(lambda: session.history.undoable == "Load got", "the uploaded behaviour")
    assert written(tab, tmp_path)[0] == made[0]
    page.get_by_text("Behaviour to a file").click()
    window.dismiss()


def test_the_target_is_dragged_and_the_body_goes_with_it(window: Window, tab: BehavioursTab, session: Session):
    page = window.page
    if RENEW:
        renew_picture(window, tab, session)
        tab.targets.clear()
        tab.choose("right hand")
    wait(lambda: "/world/gizmo/reach_right" in window.nodes() and "/world/reach/rim" in window.nodes(), "the scene")
    before, cross = tab.targets["right"], page.locator("svg.swing-plane .target circle")
    place = cross.get_attribute("cy")
    drag_arrow(window, before + session.active.position + session.stage.offset, 0.14 * session.body.joint_height)
    wait(lambda: tab.targets["right"][1] > before[1] + 0.02, "the target to move")
    wait(lambda: cross.get_attribute("cy") != place, "the cross on the plane to move")
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    page.get_by_text(SENTENCES[tab.solution.status]).first.wait_for()
    page.get_by_text("weight").first.wait_for()


def test_the_map_and_the_outer_keys_are_shown_on_the_page(window: Window, tab: BehavioursTab):
    page = window.page
    assert page.locator("svg.swing-plane rect[data-key]").count() == 0
    window.field("Outer keys").first.click()
    wait(lambda: page.locator("svg.swing-plane rect[data-key]").count() == 4, "the outer keys")
    window.field("Where it fails").first.click()
    wait(lambda: tab.map is not None, "the map")
    wait(lambda: page.locator("svg.swing-plane .map circle").count() == len(tab.map[0]), "a dot for each swing")
    wait(lambda: page.get_by_text("reached").count() >= 1, "what the colours mean")
    window.field("Where it fails").first.click()
    wait(lambda: page.locator("svg.swing-plane .map circle").count() == 0, "the dots to go")
    window.field("Outer keys").first.click()


def test_a_ball_on_the_sphere_chooses_its_key(window: Window, tab: BehavioursTab, session: Session):
    at = (np.radians(10.0), np.radians(75.0))
    tab.keys.stroke(Stroke(1, True, None, at, at))
    key = tab.keys.add()
    tab.keys.stroke(Stroke(2, True, None, LOW, LOW))
    assert tab.keys.chosen is None
    wait(lambda: f"/world/reach/key{key}" in window.nodes() and not session.stale(session.time), "the ball")
    turned, origin = tab.targets.frame("right")
    far = np.linalg.norm(tab.targets["right"] - origin)
    ball = origin + far * pm.rotate(turned, direction_of(at)) + session.active.position + session.stage.offset
    window.page.mouse.move(*on_screen(window, ball))
    window.drawn()
    window.page.mouse.click(*on_screen(window, ball))
    wait(lambda: tab.keys.chosen == key, "the key to be chosen")


def test_a_click_on_the_sphere_has_the_target_there(window: Window, tab: BehavioursTab, session: Session):
    tab.keys.aim(LOW)
    wait(lambda: "/world/reach/shell" in window.nodes() and not session.stale(session.time), "the sphere")
    turned, origin = tab.targets.frame("right")
    far = tab.targets.distance("right")
    at = (np.radians(-35.0), np.radians(20.0))
    place = origin + far * pm.rotate(turned, direction_of(at)) + session.active.position + session.stage.offset
    window.page.mouse.click(*on_screen(window, place))
    wait(lambda: not np.allclose(tab.targets.swing("right"), LOW), "the target to move")
    turned, origin = tab.targets.frame("right")
    eye = np.array(window.client.camera.position) - session.active.position - session.stage.offset
    way, there = place - session.active.position - session.stage.offset - eye, tab.targets["right"] - eye
    assert np.linalg.norm(np.cross(way, there)) < 0.02 * np.linalg.norm(way) * np.linalg.norm(there), (
        "under the pointer"
    )
    assert np.isclose(tab.targets.distance("right"), far) and tab.keys.chosen is None


def test_the_rings_are_wherever_a_joint_is_chosen(window: Window, tab: BehavioursTab, session: Session):
    tab.keys.aim(LOW)
    tab.keys.add()
    for part in ("spine", "hips", "chest", "neck", "hips", "upper_chest"):
        tab.editor.choose(part)

        def there() -> bool:
            handle = tab.joint.handle.gizmo
            place = None if handle is None else window.position_of(handle.name)
            return place is not None and np.allclose(place, handle.position, atol=1e-5)

        wait(lambda part=part: tab.joint.part == part and there(), f"the rings at the {part}")
        tab.keys.aim(LOW)
        tab.keys.choose(tab.keys.behaviour.keys[-1].id)  # away and back, perhaps while the page is drawn
    window.field("Handle").first.click()
    wait(lambda: "/world/gizmo/reach_joint" not in window.nodes(), "the rings to go")
    window.field("Handle").first.click()
    wait(lambda: "/world/gizmo/reach_joint" in window.nodes(), "the rings to come back")


def test_a_ring_is_dragged_and_the_joint_turns_with_it(window: Window, tab: BehavioursTab, session: Session):
    tab.keys.aim(LOW)
    tab.keys.add()
    tab.editor.choose("chest")
    wait(lambda: tab.joint.part == "chest" and "/world/gizmo/reach_joint" in window.nodes(), "the rings")
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    handle, body = tab.joint.handle.gizmo, session.body
    before, turned = tab.keys.behaviour.posture(tab.keys.chosen).rotation("chest"), np.array(handle.wxyz)
    drag_ring(window, np.array(handle.position) + session.stage.offset, turned, 0.13 * body.joint_height, axis=2)
    wait(lambda: session.history.undoable == "Rotate the chest", "the chest to turn")

    def together() -> bool:
        now = canonical_orientation(body, "chest", session.active.pose_override)
        return not session.stale(session.time) and bool(pm.angle(now, np.array(tab.joint.handle.gizmo.wxyz)) < 1e-3)

    wait(together, "the rings to be as the chest is")
    after = tab.keys.behaviour.posture(tab.keys.chosen).rotation("chest")
    turn = pm.log(pm.multiply(pm.conjugate(before), after))
    assert turn[2] > np.radians(8.0) and np.abs(turn[:2]).max() < 0.1 * turn[2], "about the ring's axis"
    assert session.undo() == "Rotate the chest" and session.history.undoable == "Add a key", "one step"


def test_a_reach_is_played_on_the_page_and_seen_from_the_arms_side(
    window: Window, tab: BehavioursTab, session: Session
):
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    tab.keys.add()
    tab.motion()  # compiled before anybody waits for it
    window.press("Play the reach")
    wait(lambda: tab.playing, "the reach")
    wait(lambda: not tab.playing, "the end of the reach")
    window.press("Look from that side")
    wait(lambda: window.camera()[0] < 0.0, "the camera on the right of the body")

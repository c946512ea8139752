"""The reach tab: keys on the swing plane, postures, undo, files; from Python, and in a page as an artist has it."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import PosableError
from posable.limb import Target
from posable.reach import Behaviour, Posture, Reacher
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session, Studio
from posable.studio.goals import canonical_orientation
from posable.studio.swing_plane import MARK, Stroke, direction_of, read_stroke, swing_of
from posable.studio.tabs.reach import NONE, ReachTab

from .test_browser import PICTURE as STUDIO_PICTURE
from .test_browser import SIZE, Window, wait
from .test_limb_controls import choose, drag_arrow, on_screen
from .test_limb_tab import by

PICTURE = STUDIO_PICTURE.with_name("studio-reach.png")
LOW = (np.radians(55.0), np.radians(40.0))
"""A swing of the right arm: low, ahead of the side."""


@pytest.fixture
def tab(studio: Studio) -> Iterator[ReachTab]:
    """The tab with the right hand reaching as in the example normal."""
    session = studio.session
    tab = next(tab for tab in studio.tabs if isinstance(tab, ReachTab))
    if session.active is None or session.active.name != "walk":
        session.open_sample("walk", keep=False)
    session.clock.pause()
    session.clock.seek(0.5)
    tab.targets.clear()
    tab.choose("right hand")
    tab.behaviours.begin(*(Behaviour.default(session.body, f"{side}_arm") for side in ("right", "left")))
    tab.update(session.time)
    tab.editor.choose("chest")
    session.history.clear()
    yield tab
    tab.choose(NONE)
    tab.options.obstacle.choose("(none)")
    tab.view.show(map=False, outer=False)


@pytest.fixture(scope="module")
def opened(browser, studio: Studio) -> Iterator[Window]:
    window = Window(browser, studio)
    window.page.get_by_role("tab", name="Reach").click()
    yield window
    window.context.close()


@pytest.fixture
def window(opened: Window, tab: ReachTab) -> Iterator[Window]:
    yield opened
    assert opened.errors == []


def written(tab: ReachTab, folder: Path) -> tuple[str, str]:
    """Both behaviours as their files have them."""
    for side in ("right", "left"):
        tab.behaviours[side].save(folder / f"{side}.json")
    return tuple((folder / f"{side}.json").read_text() for side in ("right", "left"))


def shown(tab: ReachTab, session: Session) -> Pose:
    tab.update(session.time)
    return session.active.held


# The plane.


def test_a_swing_and_its_direction_are_one():
    swings = np.random.default_rng(0).uniform(-2.1, 2.1, (5000, 2))
    assert np.allclose(swing_of(direction_of(swings)), swings, atol=1e-9)
    assert np.allclose(direction_of([np.pi / 2, 0.0]), [0.0, -1.0, 0.0], atol=1e-12), "an arm that hangs"


@given(st.text(max_size=40))
def test_what_is_no_stroke_is_not_taken_for_one(text: str):
    assert read_stroke(text) is None
    stroke = read_stroke(f"{MARK}{text}")
    assert stroke is None or np.isfinite(stroke.now).all()


@pytest.mark.parametrize("words", ["1 2 down - nan 0 0 0", "1 2 down x 0 0 0 0", "1 2 down - 0 0 0 inf", "1 2 up", ""])
def test_a_broken_stroke_is_left_alone(words: str):
    assert read_stroke(MARK + words) is None


def test_a_press_on_the_plane_has_the_hand_there_at_the_same_distance(tab: ReachTab, session: Session):
    origin = tab.targets.frame("right")[1]
    far = np.linalg.norm(tab.targets["right"] - origin)
    tab.stroke(Stroke(1, 1, False, None, LOW, LOW))
    pose = shown(tab, session)
    turned, origin = tab.targets.frame("right")
    way = pm.rotate(pm.conjugate(turned), tab.targets["right"] - origin)
    assert np.allclose(swing_of(way), LOW) and np.isclose(np.linalg.norm(way), far)
    if tab.answer.ok:
        hand = session.body.skeleton.forward(pose).positions[session.body.index("right_hand")]
        assert np.linalg.norm(hand - tab.targets["right"]) < 1e-9


# Keys.


def test_a_key_that_is_edited_is_shown_as_it_is(tab: ReachTab, session: Session):
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    tab.add_key()
    before = shown(tab, session)
    tab.editor.turn("chest", pm.axis_angle([1.0, 0.0, 0.0], 0.3), None)
    tab.editor.shift(np.array([0.0, -0.1, 0.05]), None)
    pose = shown(tab, session)
    key, start = tab.behaviour.key(tab.key), tab.options.start(session.active, session.body, session.time)
    assert np.allclose(key.at, LOW) and not np.allclose(pose.rotations, before.rotations)
    assert float(tab.answer.weight) == 1.0 and not tab.answer.lowered
    taken = Posture.of(session.body, pose, start, key.posture.parts)
    assert np.allclose(taken.rotations, key.posture.rotations, atol=1e-9)
    assert np.allclose(taken.hips, key.posture.hips, atol=1e-9)


def test_a_key_changes_nothing_until_it_is_edited(tab: ReachTab, session: Session):
    probes = np.random.default_rng(1).uniform(-1.0, 1.0, (200, 2))
    before = tab.behaviour.blend(probes)
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    tab.add_key()
    after = tab.behaviour.blend(probes)
    assert np.array_equal(before.rotations, after.rotations) and np.array_equal(before.hips, after.hips)


def test_each_edit_is_undone_and_done_again_to_the_last_bit(tab: ReachTab, session: Session, tmp_path: Path):
    states, labels = [written(tab, tmp_path)], []

    def did(label: str) -> None:
        states.append(written(tab, tmp_path))
        labels.append(label)
        assert session.history.undoable == label and states[-1] != states[-2]

    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    first = tab.add_key()
    did("Add a key")
    for angle in (0.1, 0.2, 0.3):  # a slider on its way is one step
        tab.editor.turn("chest", pm.axis_angle([1.0, 0.0, 0.0], angle), 0)
    did("Turn the chest")
    tab.editor.shift(np.array([0.0, -0.1, 0.0]), 1)
    did("Shift the hips")
    for k in range(1, 4):  # and so is a key
        here = (LOW[0] - 0.1 * k, LOW[1])
        tab.stroke(Stroke(2, k, k == 3, first, LOW, here))
    assert np.allclose(tab.behaviour.key(first).at, here)
    did("Move the key")
    copy = tab.copy_key()
    assert tab.key == copy != first
    did("Copy the key")
    tab.choose_key(first)
    tab.remove_key()
    assert tab.key is None
    did("Remove the key")
    with session.lock:  # the studio's own loop shows the behaviour as it is meanwhile
        tab.files.show()
        tab.files._blend.value, tab.files._k.value = "smooth", 0.5
        tab.files._styled()
    assert tab.behaviour.blending == "smooth" and tab.behaviour.weight.k == 0.5
    did("Restyle the behaviour")
    tab.mirror()
    did("Mirror to the left arm")
    tab.start_from("tired")
    did("Start from tired")
    for state, label in zip(states[-2::-1], labels[::-1], strict=True):
        assert session.undo() == label
        assert written(tab, tmp_path) == state
        shown(tab, session)
    for state in states[1:]:
        session.redo()
        assert written(tab, tmp_path) == state


def test_keys_stay_inside_the_ellipse_and_outer_keys_where_they_are(tab: ReachTab, session: Session):
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    key = tab.add_key()
    tab.stroke(Stroke(2, 1, True, key, LOW, (LOW[0], 2.6)))
    at, ellipse = np.array(tab.behaviour.key(key).at), tab.behaviour.ellipse
    share = np.linalg.norm((at - ellipse.centre) / np.array(ellipse.radii))
    assert 0.999 < share <= 1.0
    outer = tab.behaviour.keys[0]
    tab.stroke(Stroke(3, 1, True, outer.id, outer.at, LOW))
    assert tab.behaviour.key(outer.id).at == outer.at and tab.key == outer.id
    with pytest.raises(PosableError, match="outer"):
        tab.remove_key()


def test_sliders_keep_joints_inside_the_limits_and_turn_one_way_each(tab: ReachTab, session: Session):
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    key = tab.add_key()
    shown(tab, session)
    rng = np.random.default_rng(2)
    limits = session.body.limits
    for part in tab.behaviour.parts:
        tab.editor.choose(part)
        for _ in range(3):
            tab.editor.turn(part, pm.exp(rng.uniform(-1.5, 1.5, 3)), None)
            assert limits.contains(part, tab.behaviour.posture(key).rotation(part), tolerance=1e-7)
            shown(tab, session)
            for slider in tab.editor._turns:
                assert slider.min <= slider.value <= slider.max
    tab.editor.choose("chest")
    tab.editor._tool("Straight")
    shown(tab, session)
    with session.lock:  # the studio's own loop shows the key's posture in the sliders meanwhile
        tab.editor._turns[0].value = 12
        tab.editor._turned(0)
    assert pm.angle(tab.behaviour.posture(key).rotation("chest"), pm.exp([np.radians(12.0), 0.0, 0.0])) < 1e-9


def test_tools_without_a_key_say_what_to_do(tab: ReachTab):
    for tool in (tab.copy_key, tab.remove_key):
        with pytest.raises(PosableError, match="choose a key"):
            tool()
    tab.choose(NONE)
    with pytest.raises(PosableError, match="choose a hand"):
        tab.add_key()


# Reaching.


def test_the_map_says_of_each_swing_what_a_single_reach_says(tab: ReachTab, session: Session):
    tab.view.show(map=True)
    shown(tab, session)
    swings, status = tab.map
    assert len(swings) > 200 and len(np.unique(status)) > 1
    start = tab.options.start(session.active, session.body, session.time)
    reacher = Reacher(session.body, right=tab.behaviours["right"])
    turned, origin = tab.targets.frame("right")
    far = np.linalg.norm(tab.targets["right"] - origin)
    for k in np.random.default_rng(3).integers(0, len(swings), 40):
        place = origin + far * pm.rotate(turned, direction_of(swings[k]))
        assert reacher.solve(right=Target(place), start=start).status == status[k]


def test_dragging_the_target_lets_the_key_go_and_both_hands_reach(tab: ReachTab, session: Session):
    tab.choose_key(tab.behaviour.keys[0].id)
    shown(tab, session)
    assert tab.weight == 1.0
    place = tab.targets["right"] + session.active.place + by(0.05, 0.1, 0.0)
    tab.targets.drag("right", place)
    assert tab.key is None and tab.weight is None
    tab.choose("both hands")
    shown(tab, session)
    assert tab.answer.right is not None and tab.answer.left is not None
    assert "right hand" in tab._told_now.content and "left hand" in tab._told_now.content
    tab.edit_side("left")
    shown(tab, session)
    assert tab.behaviour.limb == "left_arm"


def test_an_obstacle_in_the_body_lowers_the_weight_and_it_is_told(tab: ReachTab, session: Session):
    tab.choose_key(tab.behaviour.keys[1].id)
    shown(tab, session)
    chest = session.body.skeleton.forward(tab.answer.pose).positions[session.body.index("head")]
    tab.options.obstacle.choose("sphere")
    tab.options.obstacle.move(chest + session.active.place + by(0.0, 0.0, 0.05))
    shown(tab, session)
    assert tab.answer.lowered and float(tab.answer.weight) < 1.0
    assert "lowered" in tab._told_now.content


def test_the_motion_comes_back_when_no_hand_reaches(tab: ReachTab, session: Session):
    assert shown(tab, session) is not None
    tab.choose(NONE)
    assert shown(tab, session) is None and not any(name.startswith("reach") for name in session.gizmos)
    tab.choose("left hand")
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    assert shown(tab, session) is None
    session.undo()
    assert shown(tab, session) is not None


def test_the_handle_at_a_joint_turns_it_and_shifts_the_hips(tab: ReachTab, session: Session):
    body, track = session.body, session.active
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    tab.add_key()
    for part in ("spine", "chest", "neck"):
        tab.editor.choose(part)
        pose = shown(tab, session)
        handle = tab.joint.gizmo
        assert np.allclose(handle.position, body.skeleton.forward(pose).positions[body.index(part)] + track.place)
        wanted = pm.multiply(pm.axis_angle([1.0, 0.0, 0.0], 0.1), np.array(handle.wxyz))
        tab.joint.put(np.array(handle.position), wanted)
        pose = shown(tab, session)
        assert pm.angle(canonical_orientation(body, part, pose), wanted) < 1e-7
    tab.editor.choose("hips")
    shown(tab, session)
    wanted = np.array(tab.joint.gizmo.position) + by(0.03, -0.08, 0.02)
    tab.joint.put(wanted, np.array(tab.joint.gizmo.wxyz))
    pose = shown(tab, session)
    assert np.allclose(body.skeleton.forward(pose).positions[body.index("hips")] + track.place, wanted, atol=1e-7)
    assert session.history.undoable == "Shift the hips"
    before = tab.behaviour.posture(tab.key).hips
    for k, phase in enumerate(("start", "update", "end", "update")):  # the last one comes late and changes nothing
        shown(tab, session)
        handle = tab.joint.gizmo
        moved = SimpleNamespace(position=wanted + by(0.0, -0.01 * min(k, 2), 0.0), wxyz=handle.wxyz)
        tab.joint._dragged(SimpleNamespace(target=moved if k < 3 else handle, phase=phase))
    shown(tab, session)
    assert np.allclose(tab.behaviour.posture(tab.key).hips - before, [0.0, -0.02 / body.leg_length, 0.0], atol=1e-7)
    session.undo()
    assert np.allclose(tab.behaviour.posture(tab.key).hips, before), "one step for the whole drag"
    tab.stroke(Stroke(2, 1, True, None, LOW, LOW))
    shown(tab, session)
    assert tab.joint.gizmo is None


def test_a_key_with_its_own_elbow_has_the_elbow_there(tab: ReachTab, session: Session):
    at = (np.radians(15.0), np.radians(60.0))
    tab.stroke(Stroke(1, 1, True, None, at, at))
    tab.add_key()
    for degrees in (20.0, 45.0):
        tab.editor.bend_elbow(degrees)
        shown(tab, session)
        assert tab.answer.ok and np.isclose(np.degrees(float(tab.answer.right.swivel)), degrees, atol=1e-6)
    tab.editor.rename("<b>low</b>")
    shown(tab, session)
    assert tab.behaviour.key(tab.key).name == "<b>low</b>" and "low" not in tab.editor._title.content
    assert session.undo() == "Name the key"
    assert session.undo() == "Place the elbow" and tab.behaviour.key(tab.key).search is None


def test_every_key_of_the_normal_example_is_shown_with_the_hand_on_its_target(tab: ReachTab, session: Session):
    for key in tab.behaviour.keys:
        tab.choose_key(key.id)
        shown(tab, session)
        assert np.allclose(tab.targets.swing("right"), key.at, atol=1e-9)
        assert tab.answer.ok or key.outer, f"{key.name}: {tab._told_now.content}"


def test_a_reach_is_played_from_the_start_to_the_target_and_kept(tab: ReachTab, session: Session):
    start = tab.options.start(session.active, session.body, session.time)
    made = tab.motion()
    assert np.allclose(made.motion[0].rotations, start.rotations) and made.ok.all()
    last = session.body.skeleton.forward(made.motion[len(made.motion) - 1]).positions
    assert np.linalg.norm(last[session.body.index("right_hand")] - tab.targets["right"]) < 1e-9
    tab.player.play()
    assert session.moving
    wait(lambda: not tab.player.playing, "the reach to end")
    assert not session.moving and np.allclose(shown(tab, session).rotations, tab.answer.pose.rotations)
    tab.player.keep()
    assert session.active.name == "reach" and len(session.motion) == len(made.motion)
    tab.choose(NONE)
    assert session.undo() == "Open reach"
    session.clock.pause()


def test_targets_go_with_somebody_who_stands_and_stay_for_somebody_who_moves(tab: ReachTab, session: Session):
    before, swing = tab.targets["right"], tab.targets.swing("right")
    session.clock.seek(1.5)
    shown(tab, session)
    assert not np.allclose(tab.targets["right"], before) and np.allclose(tab.targets.swing("right"), swing)
    tab.options._start.value = "as in the motion"
    shown(tab, session)
    there = tab.targets["right"]
    session.clock.seek(0.5)
    shown(tab, session)
    assert np.array_equal(tab.targets["right"], there)
    tab.options._start.value = "standing"


# Files.


def test_what_is_no_behaviour_is_told_and_changes_nothing(tab: ReachTab, session: Session, tmp_path: Path):
    before = written(tab, tmp_path)
    with pytest.raises(PosableError, match="json"):
        tab.files.load_upload(SimpleNamespace(name="b.exe", content=b""))
    with pytest.raises(PosableError, match=r"^mine.json"):
        tab.files.load_upload(SimpleNamespace(name="../mine.json", content=b"{"))
    with pytest.raises(PosableError):
        tab.files.load(str(tmp_path / "none.json"))
    with pytest.raises(PosableError):
        tab.files.save(str(tmp_path / "no" / "such" / "folder" / "b.json"))
    Behaviour("right_arm", ["chest"], blend="around").save(tmp_path / "around.json")
    with pytest.raises(PosableError, match="around the shoulder"):
        tab.files.load(str(tmp_path / "around.json"))
    session.paths = False
    try:
        with pytest.raises(PosableError, match="other machines"):
            tab.files.load(str(tmp_path / "right.json"))
    finally:
        session.paths = True
    assert written(tab, tmp_path) == before and session.history.undoable is None


def test_a_file_of_the_other_arm_becomes_that_arms(tab: ReachTab, session: Session, tmp_path: Path):
    Behaviour.example("energetic", "left_arm", session.body).save(tmp_path / "left_one.json")
    tab.files.load(str(tmp_path / "left_one.json"))
    assert tab.side == "left" and tab.behaviours["left"].name == "energetic"
    shown(tab, session)
    assert tab.answer.left is not None


# In a browser.


def renew_picture(window: Window, tab: ReachTab, session: Session) -> None:
    """The picture of docs/studio.md: a key of the normal behaviour, low and ahead, seen from the arm's side."""
    from PIL import Image

    key = next(key.id for key in tab.behaviour.keys if key.name == "low ahead")
    tab.choose_key(key)
    tab.editor.choose("chest")
    session.stage.shadows = True
    window.page.set_viewport_size({"width": 1280, "height": 800})
    session.stage.frame(session.tracks)
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
    session.stage.frame(session.tracks)


def on_plane(window: Window, swing: tuple[float, float]) -> tuple[float, float]:
    """Where a swing [rad] is on the page [pixels]."""
    window.page.locator("svg.swing-plane").scroll_into_view_if_needed()
    place = window.page.locator("svg.swing-plane").evaluate(
        "(s, p) => { const q = new DOMPoint(...p).matrixTransform(s.getScreenCTM()); return [q.x, q.y]; }",
        [float(np.degrees(swing[1])), float(np.degrees(swing[0]))],
    )
    return place[0], place[1]


def test_a_whole_edit_on_the_page_is_saved_and_comes_back_to_the_last_bit(
    window: Window, tab: ReachTab, session: Session, tmp_path: Path
):
    page = window.page
    tab.choose(NONE)
    choose(window, "Hand", "right hand")
    page.locator("svg.swing-plane").wait_for()
    page.mouse.click(*on_plane(window, LOW))
    wait(lambda: np.allclose(tab.targets.swing(tab.side), LOW, atol=0.03), "the target to be in that direction")
    window.press("Add")
    wait(lambda: tab.key is not None and not tab.behaviour.key(tab.key).outer, "the key")
    key = tab.key
    page.locator(f'svg.swing-plane .key[data-key="{key}"]').wait_for()
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    before = session.active.held
    slider = window.field("Forward [°]", ".mantine-Slider-track").first
    slider.scroll_into_view_if_needed()
    window.drag(slider, 0.8)
    wait(lambda: session.history.undoable == "Turn the chest", "the chest to turn")
    wait(lambda: not np.allclose(session.active.held.rotations, before.rotations), "the body to change")
    start, end = on_plane(window, LOW), on_plane(window, (LOW[0] - 0.5, LOW[1]))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    wait(lambda: np.allclose(tab.behaviour.key(key).at, (LOW[0] - 0.5, LOW[1]), atol=0.04), "the key to move")
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
    wait(lambda: session.history.redoable == "Turn the chest", "the chest to turn back")
    assert tab.behaviour.key(key).posture is None, "the key follows the field again"
    window.press("Load the behaviour")
    wait(lambda: session.history.undoable == "Load mine", "the behaviour")
    assert written(tab, tmp_path) == made
    with page.expect_download() as sent:
        window.press("Download the behaviour")
    got = sent.value.path().rename(tmp_path / "got.json")
    assert got.read_text() == made[0]
    choose(window, "Example", "tired")
    wait(lambda: tab.behaviour.name == "tired", "the example")
    with page.expect_file_chooser() as chooser:
        window.press("Upload a behaviour")
    chooser.value.set_files(got)
    wait(lambda: session.history.undoable == "Load got", "the uploaded behaviour")
    assert written(tab, tmp_path)[0] == made[0]
    page.get_by_text("Behaviour to a file").click()
    window.dismiss()


def test_the_target_is_dragged_and_the_body_goes_with_it(window: Window, tab: ReachTab, session: Session):
    page = window.page
    if os.environ.get("POSABLE_UPDATE_PICTURES") == "1":
        renew_picture(window, tab, session)
        tab.targets.clear()
        tab.choose("right hand")
    wait(lambda: "/world/gizmo/reach_right" in window.nodes() and "/world/reach/rim" in window.nodes(), "the scene")
    before, cross = tab.targets["right"], page.locator("svg.swing-plane .target circle")
    place = cross.get_attribute("cy")
    drag_arrow(window, before + session.active.place + session.stage.offset, 0.14 * session.body.height)
    wait(lambda: tab.targets["right"][1] > before[1] + 0.02, "the target to move")
    wait(lambda: cross.get_attribute("cy") != place, "the cross on the plane to move")
    wait(lambda: not session.stale(session.time), "the moment to be drawn")
    page.get_by_text(tab.answer.status.name).wait_for()
    page.get_by_text("weight").first.wait_for()


def test_the_map_and_the_outer_keys_are_shown_on_the_page(window: Window, tab: ReachTab):
    page = window.page
    assert page.locator("svg.swing-plane rect[data-key]").count() == 0
    window.field("Outer keys").first.click()
    wait(lambda: page.locator("svg.swing-plane rect[data-key]").count() == 4, "the outer keys")
    window.field("Where it fails").first.click()
    wait(lambda: tab.map is not None, "the map")
    wait(lambda: page.locator("svg.swing-plane .map circle").count() == len(tab.map[0]), "a dot for each swing")
    assert page.get_by_text("reached").count() >= 1
    window.field("Where it fails").first.click()
    wait(lambda: page.locator("svg.swing-plane .map circle").count() == 0, "the dots to go")
    window.field("Outer keys").first.click()


def test_a_ball_on_the_sphere_chooses_its_key(window: Window, tab: ReachTab, session: Session):
    at = (np.radians(10.0), np.radians(75.0))
    tab.stroke(Stroke(1, 1, True, None, at, at))
    key = tab.add_key()
    tab.stroke(Stroke(2, 1, True, None, LOW, LOW))
    assert tab.key is None
    wait(lambda: f"/world/reach/key{key}" in window.nodes() and not session.stale(session.time), "the ball")
    turned, origin = tab.targets.frame("right")
    far = np.linalg.norm(tab.targets["right"] - origin)
    ball = origin + far * pm.rotate(turned, direction_of(at)) + session.active.place + session.stage.offset
    window.page.mouse.move(*on_screen(window, ball))
    window.page.wait_for_timeout(1000)
    window.page.mouse.click(*on_screen(window, ball))
    wait(lambda: tab.key == key, "the key to be chosen")


def test_a_reach_is_played_on_the_page_and_seen_from_the_arms_side(window: Window, tab: ReachTab, session: Session):
    tab.stroke(Stroke(1, 1, True, None, LOW, LOW))
    tab.add_key()
    window.press("Play the reach")
    wait(lambda: tab.player.playing, "the reach")
    wait(lambda: not tab.player.playing, "the end of the reach")
    window.press("Look from that side")
    wait(lambda: window.camera()[0] < 0.0, "the camera on the right of the body")

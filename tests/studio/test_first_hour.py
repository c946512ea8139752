"""The first hour in a real browser: what a new user tries in each tab, and what once drove people away.

One studio and one page serve all tests. The stage is drawn with a tenth of the pixels: what is looked at here is the
panel, the timeline, and where things are.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from posable.formats import load
from posable.skeleton import Motion
from posable.studio import Session, Studio
from posable.studio.tabs.pose.options import ANSWERS, LIMB, MOVE, NONE, ROTATE, WHOLE
from posable.studio.tabs.trackers.tab import OVER, TrackersTab

from .desk import Desk
from .window import Window, by, choose, drag_arrow, on_screen, wait

TITLES = ("Play", "Pose", "Behaviours", "Trackers", "Robot", "Motion", "Live")


@pytest.fixture(scope="module")
def opened(browser, studio: Studio) -> Iterator[Window]:
    window = Window(browser, studio, {"width": 1280, "height": 860}, resolution=0.1)
    yield window
    window.context.close()


@pytest.fixture(scope="module")
def whole_desk(studio: Studio) -> Desk:
    return Desk(studio)


@pytest.fixture
def desk(whole_desk: Desk) -> Desk:
    return whole_desk


@pytest.fixture
def window(opened: Window, session: Session, desk: Desk) -> Iterator[Window]:
    """The page on the walk, standing half a second from its start; nothing selected, no edits."""
    session.clock.pause()
    session.open_sample("walk", keep=False)
    session.history.clear()
    session.select(None)
    session.clock.seek(0.5)
    session.show_tab("Play")
    desk.pose.answer_by(WHOLE)
    opened.dismiss()
    opened.errors.clear()
    yield opened
    assert opened.errors == []


def go(window: Window, title: str) -> None:
    """Press a tab, and wait until it is in front and drawn."""
    window.page.get_by_role("tab", name=title, exact=True).click()
    wait(lambda: window.session.tab == title and not window.session.stale(window.session.time), f"the tab {title}")
    window.page.locator(f'[role=tab][aria-selected=true]:text-is("{title}")').wait_for()


def in_field(window: Window, label: str, value: str) -> None:
    wait(lambda: window.field(label).first.input_value() == value, f"{value} of {label}")


def dragged(desk: Desk, part: str, way: np.ndarray) -> Motion:
    """Drag a part by a way (3,) [m] and drop it; the motion before it."""
    before = desk.session.motion
    desk.show("Pose")
    desk.choose(part)
    wait(lambda: desk.session.edits.editor is not None, "the editor")
    desk.update(desk.session.time)
    desk.drag(np.array(desk.session.gizmos["pose"].position) + way)
    desk.drop()
    desk.update(desk.session.time)
    return before


SAID = """() => document.querySelector('[role=tablist]').closest('.mantine-ScrollArea-viewport').textContent + ' ' +
    [...document.querySelectorAll('input[aria-haspopup=listbox]')].map(one => one.value).join(' ')"""
"""All that the panel says, also in folders that are closed, and what its lists show."""


def test_tabs_and_controls_are_called_as_people_call_them(window: Window, session: Session):
    assert session.tabs == TITLES
    said, page = "", window.page
    for title in TITLES:
        go(window, title)
        said += page.evaluate(SAID)
    go(window, "Trackers")
    window.field("Method").first.click()
    methods = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    assert "Sequential IK with learned prior" in methods and not any("_" in name for name in methods)
    assert "Body answers" in said
    for word in ("residual", "tests", "sik_prior", "Mukai", "Komura", "viser", "HumanoidRoot", "l_wrist"):
        assert word not in said, f"{word!r} is no word of the trade"


def test_keys_choose_the_answer_turn_the_handle_and_remove_an_edit(window: Window, session: Session, desk: Desk):
    before, page = dragged(desk, "left_hand", by(0.0, 0.15, 0.05)), window.page
    assert session.motion is not before
    in_field(window, "Part", "left hand")
    for k, answer in enumerate(ANSWERS):
        page.keyboard.press(str(k + 1))
        in_field(window, "Body answers", answer)
    for key, does in (("g", MOVE), ("r", ROTATE), ("r", "Move and turn")):
        page.keyboard.press(key)
        in_field(window, "Handle", does)
    page.locator('.stage-mark[title^="Edits:"]').wait_for()
    page.keyboard.press("Delete")
    page.locator('.stage-mark[title^="Edits:"]').wait_for(state="detached")
    wait(lambda: desk.editor.edits == () and np.array_equal(session.motion.pose.rotations, before.pose.rotations), "it")


def test_the_name_of_a_part_stands_beside_it_and_covers_no_handle(window: Window, session: Session, desk: Desk):
    go(window, "Pose")
    for part in ("left_hand", "head", "right_foot", "hips"):
        desk.choose(part)
        wait(lambda: not session.stale(session.time) and "/world/gizmo/pose" in window.nodes(), "the handle")
        gizmo, label = session.gizmos["pose"], session.stage._label
        wait(lambda part=part: label.visible and label.text == part.replace("_", " "), "the name")  # noqa: B023
        at = np.array(gizmo.position) + session.stage.offset
        middle, name = on_screen(window, at), on_screen(window, np.array(label.position))
        arrow = on_screen(window, at + by(0.0, gizmo.scale, 0.0))
        assert name[1] < arrow[1], "its foot is above the tip of the arrow that points up"
        assert abs(name[0] - middle[0]) < 20 and middle[1] - name[1] < 3 * (middle[1] - arrow[1]), "and near"
    desk.choose(NONE)


def test_no_field_moves_while_a_part_is_dragged_to_where_it_cannot_be(window: Window, session: Session, desk: Desk):
    go(window, "Pose")
    desk.choose("right_hand")
    desk.update(session.time)
    places, start = [], np.array(session.gizmos["pose"].position)
    labels = window.page.locator("label").filter(visible=True)
    for way in (by(0.0, 0.0, 0.0), by(0.0, 0.1, 0.0), by(0.0, 3.0, 0.0), by(0.0, 0.0, -0.4), by(0.1, -0.3, 0.2)):
        desk.drag(start + way)
        wait(lambda: not session.stale(session.time), "the drag to be drawn")
        told = desk.pose.report.text.content.partition("<i")[0].replace("**", "").partition(">")[2].partition("<")[0]
        if told:
            window.page.get_by_text(told).first.wait_for()
        places.append({label.inner_text(): label.bounding_box()["y"] for label in labels.all()})
        assert places[-1] == pytest.approx(places[0], abs=0.5), f"after {told!r}"
    assert len(places[0]) > 3
    desk.drop()


def test_an_edit_is_muted_and_unmuted_on_the_page(window: Window, session: Session, desk: Desk):
    before = dragged(desk, "left_hand", by(0.0, 0.2, 0.1))
    edited = session.motion
    go(window, "Motion")
    choose(window, "Edit", window_entry(desk))
    window.press("Mute it")
    window.page.locator(".stage-mark.muted").wait_for()
    wait(lambda: np.allclose(session.motion.pose.rotations, before.pose.rotations, atol=1e-12), "the motion without it")
    window.press("Unmute it")
    window.page.locator(".stage-mark.muted").wait_for(state="detached")
    wait(lambda: np.allclose(session.motion.pose.rotations, edited.pose.rotations, atol=1e-12), "the edit again")


def window_entry(desk: Desk) -> str:
    """How the list calls the first edit."""
    wait(lambda: len(desk.list._list.options) > 1, "the edit in the list")
    return str(desk.list._list.options[1])


def test_a_reach_is_refused_without_a_hand_and_kept_beside_the_others_as_a_motion_that_moves(
    window: Window, session: Session
):
    go(window, "Behaviours")
    keep = window.page.get_by_role("button", name="Keep it as a motion")
    wait(keep.is_disabled, "nothing to keep while no hand reaches")
    choose(window, "Hand", "right hand")
    wait(keep.is_enabled, "the button")
    keep.click()
    wait(lambda: [actor.name for actor in session.actors] == ["walk", "reach"] and session.tab == "Play", "the reach")
    wait(lambda: session.clock.playing, "it to play")
    session.clock.pause()
    body, first, last = session.active, *(session.active.frames(t).positions for t in (0.0, session.clock.duration))
    assert np.abs(first - last).max() > 0.2, "a reach that is kept moves"
    assert all(actor.pose_override is None for actor in session.actors) and session.gizmos == {}, "and nothing stays"
    assert body.name == "reach"
    in_field(window, "Motion", "reach")


def test_a_point_is_dragged_while_another_is_lost_and_the_body_stays_on_the_floor(
    window: Window, session: Session, studio: Studio
):
    session.replace(session.motion[:60], "Cut")
    session.clock.seek(0.5 * session.clock.duration)
    go(window, "Trackers")
    tab = next(tab for tab in studio.tabs if isinstance(tab, TrackersTab))
    release = window.page.get_by_role("button", name="Release the points")
    wait(release.is_disabled, "nothing to release while nothing is reconstructed")
    choose(window, "Body", OVER)
    window.page.get_by_text("Lost trackers").click()
    window.field("Head").first.click()
    window.page.get_by_text("Lost: head, guessed").wait_for()
    wait(lambda: tab.result is not None and "/world/gizmo/reconstruct_right_hand" in window.nodes(), "the handles")
    handle = np.array(session.gizmos["reconstruct_right_hand"].position)
    drag_arrow(window, handle + session.stage.offset, 0.075 * session.body.joint_height)
    wait(lambda: session.history.undoable == "Drag a point", "the drag to end")
    wait(lambda: not session.stale(session.time), "the body to follow")
    posed = tab.guest.frames(session.time).positions
    assert posed[:, 1].min() > -0.1 and posed[session.body.index("head"), 1] > 1.2, (
        "NaN is not solved as if it were one"
    )
    assert posed[session.body.index("right_hand"), 1] > handle[1] + 0.02
    window.field("Head").first.click()
    window.page.get_by_text("Lost trackers").click()
    choose(window, "Body", NONE)


def test_a_character_lists_its_animations_takes_a_motion_and_is_saved_as_what_it_is(
    window: Window, session: Session, data_dir: Path, tmp_path: Path
):
    file, page = data_dir / "characters" / "KayKit_Knight.glb", window.page
    if not file.exists():
        pytest.skip(f"no {file.name} in the data")
    with page.expect_file_chooser() as chooser:
        window.press("Open a file…")
    chooser.value.set_files(str(file))
    wait(lambda: [actor.name for actor in session.actors] == ["walk", "KayKit_Knight"], "the knight beside the walk")
    session.clock.pause()
    window.field("Animation").first.click()
    assert page.get_by_role("option").count() == 76
    page.keyboard.press("Escape")
    choose(window, "Animation", "Walking_A")
    wait(lambda: session.motion.name == "Walking_A", "the animation")
    window.press("Match sizes")

    def heights() -> list[float]:
        return [float(np.ptp(actor.box[:, 1])) for actor in session.actors]

    wait(lambda: session.history.undoable == "Match the sizes", "the sizes")
    assert abs(heights()[0] / heights()[1] - 1.0) < 0.02
    names = [node for node in window.nodes() if node.startswith("/names/")]
    assert len(names) >= 2, "each has its name over its head"
    session.activate(session.actors[0])
    go(window, "Motion")
    choose(window, "Character", "KayKit_Knight")
    window.press("Put the motion on it")
    wait(lambda: session.motion is not None and session.motion.name == "walk on KayKit_Knight", "the knight to walk")
    session.clock.pause()
    assert [actor.name for actor in session.actors] == ["walk", "KayKit_Knight"]
    with page.expect_download() as sent:
        page.keyboard.press("Control+s")
    assert sent.value.suggested_filename.endswith(".glb"), "what has a skin is saved with it"
    sent.value.save_as(tmp_path / "saved.glb")
    saved = load(tmp_path / "saved.glb")
    assert len(saved) == len(session.motion) and saved.skeleton.character is not None
    go(window, "Play")
    page.get_by_text("Save", exact=True).first.click()
    wait(lambda: window.field("File").last.input_value() == "KayKit_Knight.glb", "the name of the file")
    page.get_by_text("Save", exact=True).first.click()


def test_a_capture_is_opened_without_the_pose_that_was_never_captured(window: Window, session: Session, cmu: Path):
    clip = sorted(cmu.glob("*.bvh"), key=lambda path: path.stat().st_size)[0]
    whole = load(clip)
    with window.page.expect_file_chooser() as chooser:
        window.press("Open a file…")
    chooser.value.set_files(str(clip))
    wait(lambda: session.active.name == clip.stem, "the clip")
    session.clock.pause()
    assert len(session.motion) == len(whole) - 1
    window.press("Messages")
    window.page.locator("#stage-sheet li", has_text="T-pose").wait_for()
    window.press("Close")


def test_a_video_of_what_the_timeline_shows_is_downloaded(window: Window, session: Session, tmp_path: Path):
    from PIL import Image

    session.add(session.motion[:6], keep=False)
    window.press("Video")
    with window.page.expect_download() as sent:
        window.page.locator("#stage-sheet").get_by_role("button", name="GIF").first.click()
    sent.value.save_as(tmp_path / "walk.gif")
    with Image.open(tmp_path / "walk.gif") as video:
        assert video.is_animated and max(video.size) <= 720


def test_a_standing_foot_has_its_shadow_of_contact_and_a_lifted_one_has_none(window: Window, session: Session):
    """The dark patches of the floor: each lies below a foot that is near the ground, none below one that hovers."""
    session.stage.shadows = True
    session.clock.seek(1.0)
    wait(lambda: not session.stale(session.time), "the moment")
    patches = session.stage._floor._patches
    node = patches.name
    wait(lambda: node in window.nodes(), "the patches in the page")
    standing = np.array(patches.batched_positions)[np.array(patches.batched_scales)[:, 0] > 1e-3]
    positions = session.active.frames(session.time).positions + session.stage.offset
    low = {side: positions[session.body.index(f"{side}_toes")][1] for side in ("left", "right")}
    lowest, highest = min(low, key=low.get), max(low, key=low.get)
    below = [
        np.abs(standing[:, [0, 2]] - positions[session.body.index(f"{side}_toes")][[0, 2]]).max(axis=1).min()
        for side in (lowest, highest)
    ]
    assert below[0] < 0.15, "the foot that stands has one"
    assert low[highest] < 0.06 or below[1] > 0.1, "the other, where it is in the air, has none"
    session.stage.shadows = False


ROOM = """() => [...document.querySelectorAll('.uplot')].filter(one => one.offsetParent).flatMap(plot => {
  const room = plot.parentElement.parentElement.getBoundingClientRect();
  return [plot, ...plot.querySelectorAll('.u-legend, .u-legend .u-series, canvas')].map(e => e.getBoundingClientRect())
    .filter(box => box.width && (box.left < room.left - 1 || box.right > room.right + 1))
    .map(box => `${box.left} to ${box.right} of ${room.left} to ${room.right}`);
})"""
"""What of a plot, its legend and the ticks that its canvas has, is outside of its box."""
TICKS = """() => [...document.querySelectorAll('.uplot canvas')].filter(one => one.offsetParent).map(canvas => {
  const pen = canvas.getContext('2d'), { width, height } = canvas, edge = 2;
  const inked = (x, y, w, h) => pen.getImageData(x, y, w, h).data.some((value, k) => k % 4 === 3 && value > 60);
  return [inked(0, 0, edge, height), inked(width - edge, 0, edge, height), inked(0, height - edge, width, edge)];
})"""
"""Whether something is drawn at the left, right and lower edge of each plot: there it would be cut."""


def test_plots_have_room_for_their_ticks_and_legends(window: Window, session: Session):
    go(window, "Motion")
    window.page.get_by_text("Joints over time").click()
    window.page.locator(".uplot canvas").first.wait_for()
    in_field(window, "Part", "left hand")
    for quantity in ("height [m]", "rotation from rest [°]"):
        choose(window, "Show", quantity)
        wait(lambda: not session.stale(session.time), "the plot")
        wait(lambda: window.page.evaluate(ROOM) == [], lambda: f"room for {window.page.evaluate(ROOM)}")
        wait(lambda: window.page.evaluate(TICKS) == [[False] * 3], lambda: f"ticks: {window.page.evaluate(TICKS)}")
    assert window.page.locator(".u-legend").first.inner_text().count("hand") == 2
    window.page.get_by_text("Joints over time").click()


def test_a_pose_without_a_motion_simply_stays_as_it_was_dragged(window: Window, session: Session, desk: Desk):
    session.add(session.motion[:1], keep=False)
    desk.pose.answer_by(LIMB)
    dragged(desk, "left_hand", by(0.0, 0.2, 0.1))
    hand = session.motion.skeleton.forward(session.motion.pose).positions[0, session.body.index("left_hand")]
    target = np.array(session.gizmos["pose"].position) - session.active.position
    go(window, "Play")
    wait(lambda: session.active.pose_override is None, "nothing to be held")
    assert np.allclose(hand, target, atol=2e-3)

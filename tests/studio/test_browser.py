"""The studio in a real browser: what a user sees and presses.

Pages are drawn in software here, a few frames a second on a busy machine, so nothing waits for a time: a test waits
until what it expects is there. POSABLE_UPDATE_PICTURES=1 renews the README's picture.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from posable.formats import load, save
from posable.skeleton import Motion
from posable.studio import TABS, Session, Studio

from ..formats.test_fbx import DATA as FBX_FILES
from .window import PICTURES, RENEW, ROOT, SIZE, Window, differing, settled, wait

PICTURE = PICTURES / "studio.png"


@pytest.fixture(scope="module")
def opened(browser, studio: Studio) -> Iterator[Window]:
    window = Window(browser, studio, resolution=1.0 if RENEW else 0.4)
    yield window
    window.context.close()


@pytest.fixture
def window(opened: Window, studio: Studio) -> Iterator[Window]:
    """The window with the walk standing at its start."""
    session = studio.session
    session.clock.pause()
    session.set_look("body")
    session.arrange("beside")
    session.open_sample("walk", keep=False)
    session.history.clear()
    session.select(None)
    session.clock.loop, session.clock.speed = True, 1.0
    session.clock.seek(0.0)
    session.show_tab("Play")
    opened.dismiss()
    opened.errors.clear()
    yield opened
    assert opened.errors == []


def test_the_page_loads_without_an_error_and_without_the_internet(opened: Window, studio: Studio):
    assert opened.page.title() == "Posable studio"
    assert opened.errors == []
    elsewhere = [url for url in opened.requests if not url.startswith((studio.url, "data:", "blob:"))]
    assert elsewhere == []
    assert opened.page.get_by_text("viser").filter(visible=True).count() == 0
    developers = opened.page.locator(".tabler-icon-adjustments")
    assert developers.filter(visible=True).count() == 0, "the viewer's own page for developers"


def test_the_tabs_stand_in_one_row_of_the_panel(opened: Window, studio: Studio):
    boxes = [opened.page.get_by_role("tab", name=tab.title, exact=True).bounding_box() for tab in studio.tabs]
    assert len(boxes) == len(TABS) and len({box["y"] for box in boxes}) == 1


def test_the_readme_picture_is_a_screenshot_of_this_studio(window: Window, session: Session):
    """Renewed with POSABLE_UPDATE_PICTURES=1."""
    from PIL import Image

    if RENEW:
        session.clock.seek(_best_moment(session))
        session.stage.shadows = True
        assert session.message is None, "a picture without the traces of other tests: this one comes early"
        window.page.set_viewport_size({"width": 1280, "height": 720})
        session.stage.frame(session.actors)
        settled(window)
        window.page.mouse.move(500, 30)
        shot = Image.open(io.BytesIO(window.page.screenshot())).convert("RGB")
        window.page.set_viewport_size(SIZE)
        session.stage.shadows = False
        PICTURE.parent.mkdir(exist_ok=True)
        shot.save(PICTURE, optimize=True)
    assert PICTURE.exists(), "run once with POSABLE_UPDATE_PICTURES=1"
    assert PICTURE.stat().st_size < 400_000
    assert Image.open(PICTURE).size == (1280, 720)


def _best_moment(session: Session) -> float:
    """The moment of the walk at which the feet are farthest apart, in the middle of the motion."""
    motion, body = session.motion, session.body
    positions = motion.skeleton.forward(motion.pose).positions
    apart = np.linalg.norm(positions[:, body.index("left_foot")] - positions[:, body.index("right_foot")], axis=-1)
    half = len(motion) // 2
    return float(half + np.argmax(apart[half : half + 70])) / motion.fps


def test_the_figure_is_on_the_screen(window: Window, session: Session):
    settled(window)
    with_body = window.screen()
    session.close_actor(session.actors[0])
    settled(window)
    without = window.screen()
    changed = np.abs(with_body - without).max(axis=-1) > 24
    assert changed.mean() > 0.02
    rows, columns = np.nonzero(changed)
    height, width = changed.shape
    assert np.ptp(rows) > 0.4 * height, "the figure should be large"
    assert rows.min() > 4 and columns.min() > 4 and columns.max() < width - 4, "the figure should be in full view"
    assert rows.max() < height - 2, "the feet should be above the timeline"
    middle = np.median(columns)
    assert 0.35 * width < middle < 0.65 * width, "the figure should be in the middle"
    colour = np.median(with_body[changed], axis=0)
    assert colour[2] > colour[0] + 15, "the figure is sky-coloured"


def test_play_moves_the_figure_and_pause_stops_it(window: Window, session: Session):
    before = settled(window)
    window.press("Play")
    wait(lambda: session.clock.playing, "the clock to run")
    wait(lambda: differing(before, window.picture()) > 0.005, "the figure to move")
    window.press("Pause")
    wait(lambda: not session.clock.playing, "the clock to stop")
    window.page.get_by_role("button", name="Play", exact=True).wait_for()
    settled(window)


def test_the_slider_scrubs(window: Window, session: Session):
    before = settled(window)
    window.drag(window.page.get_by_role("slider", name="Time"), 0.25)
    quarter = session.clock.duration / 4
    wait(lambda: abs(session.time - quarter) < 0.1 * session.clock.duration, "the time to follow the slider")
    assert not session.clock.playing
    wait(lambda: differing(before, window.picture()) > 0.005, "the figure to follow")


def test_stepping_goes_frame_by_frame(window: Window, session: Session):
    for _ in range(3):
        frame = round(session.time * session.motion.fps)
        window.press("Forward")
        wait(lambda frame=frame: round(session.time * session.motion.fps) == frame + 1, "one frame forward")
    window.press("Back")
    wait(lambda: round(session.time * session.motion.fps) == 2, "one frame back")
    window.press("End")
    wait(lambda: session.time == session.clock.duration, "the end")
    window.press("Start")
    wait(lambda: session.time == 0.0, "the start")


def test_speed_and_loop_are_buttons(window: Window, session: Session):
    window.press("Slower")
    wait(lambda: session.clock.speed == 0.5, "half speed")
    window.page.get_by_text("0.5× speed").wait_for()
    window.press("Loop on")
    wait(lambda: not session.clock.loop, "no loop")
    window.page.get_by_role("button", name="Loop off").wait_for()


def test_space_plays_and_control_z_undoes(window: Window, session: Session):
    window.page.mouse.click(60, 60)
    window.page.keyboard.press("Space")
    wait(lambda: session.clock.playing, "space to play")
    window.page.keyboard.press("Space")
    wait(lambda: not session.clock.playing, "space to pause")
    session.open_sample("walk")
    window.page.keyboard.press("Control+z")
    wait(lambda: len(session.actors) == 1, "the undo")
    for again in ("Control+Shift+z", "Control+y"):
        window.page.keyboard.press(again)
        wait(lambda: len(session.actors) == 2, "the redo")
        window.page.keyboard.press("Control+z")
        wait(lambda: len(session.actors) == 1, "the undo")


def test_a_file_is_opened_by_path(window: Window, session: Session, tmp_path: Path):
    path = tmp_path / "shorter.bvh"
    save(session.motion[:40], path)
    window.page.get_by_text("Open by path").click()
    window.field("File").first.fill(str(path))
    window.press("Load the motion")
    wait(lambda: session.active is not None and session.active.name == "shorter", "the file")
    window.page.get_by_text("40 frames at").wait_for()
    assert len(session.actors) == 2, "the walk stays open"
    window.press("Undo")
    wait(lambda: session.active is not None and session.active.name == "walk", "the walk again")
    window.page.get_by_text("Open by path").click()


def test_a_file_is_uploaded_and_one_that_cannot_be_read_is_reported(window: Window, session: Session, tmp_path: Path):
    good, bad = tmp_path / "sent.npz", tmp_path / "bad.bvh"
    save(session.motion[:25], good)
    bad.write_text("HIERARCHY\nROOT Hips\n{\n  OFSET 0 0 0\n")
    for path in (bad, good):
        with window.page.expect_file_chooser() as chooser:
            window.press("Open a file…")
        chooser.value.set_files(str(path))
        if path is bad:
            window.page.get_by_text("bad.bvh").first.wait_for()
            assert "Traceback" not in window.page.content()
            assert session.active.name == "walk"
    wait(lambda: session.active.name == "sent" and len(session.motion) == 25, "the upload")


def test_a_character_of_fbx_is_uploaded_with_its_takes(window: Window, session: Session):
    with window.page.expect_file_chooser() as chooser:
        window.press("Open a file…")
    chooser.value.set_files(str(FBX_FILES / "blender_default.fbx"))
    wait(lambda: session.active.name == "blender_default", "the upload")
    window.page.get_by_text("9 frames at").wait_for()
    shown = window.page.get_by_role("combobox", name="Animation")
    wait(lambda: shown.input_value() == "Person|Turn", "the take")
    window.press("Undo")
    wait(lambda: session.active.name == "walk", "the walk again")


def test_a_motion_is_downloaded(window: Window, session: Session, tmp_path: Path):
    window.page.get_by_text("Save", exact=True).first.click()
    with window.page.expect_download() as download:
        window.press("Download the motion")
    assert download.value.suggested_filename == "walk.bvh"
    target = tmp_path / "walk.bvh"
    download.value.save_as(target)
    assert len(load(target)) == len(session.motion)
    window.page.get_by_text("Save", exact=True).first.click()


def test_a_plot_shows(window: Window, session: Session):
    window.page.get_by_role("tab", name="Motion").click()
    window.page.get_by_text("Joints over time").click()
    canvas = window.page.locator(".uplot canvas").first
    canvas.wait_for()

    def inked() -> bool:
        from PIL import Image

        shot = np.asarray(Image.open(io.BytesIO(canvas.screenshot())).convert("RGB"), dtype=int)
        strong = np.ptp(shot, axis=-1) > 60  # coloured lines, not grey axes
        return bool(strong.mean() > 0.003)

    wait(inked, "coloured lines")
    window.press("Clear")
    window.page.locator(".uplot").wait_for(state="detached")
    window.page.get_by_text("Joints over time").click()


def test_a_click_on_the_body_names_the_joint(window: Window, session: Session):
    settled(window)
    window.page.mouse.click((SIZE["width"] - 320) / 2, 0.4 * SIZE["height"])
    wait(lambda: session.selection is not None and session.tab == "Pose", "a part to be selected, in the tab for it")
    name = session.selection.part
    wait(lambda: window.field("Part").first.input_value() == name, "its name in the panel")
    window.page.mouse.click(40, 300)  # the air, clear of notices
    wait(lambda: session.selection is None, "the selection to go")


def test_two_motions_next_to_and_over_each_other(window: Window, session: Session):
    alone = settled(window)
    session.open_sample("walk")
    beside = settled(window)
    assert differing(alone, beside) > 0.02
    session.arrange("over")
    over = settled(window)
    assert differing(beside, over) > 0.02
    window.press("Close it")
    wait(lambda: len(session.actors) == 1, "one to be closed")


def test_looks_can_be_changed_again_and_again(window: Window, session: Session):
    pictures = {}
    for look in ("bones", "both", "body"):
        session.set_look(look)
        pictures[look] = settled(window)
    assert differing(pictures["bones"], pictures["body"]) > 0.01
    assert differing(pictures["both"], pictures["body"]) > 0.01


def test_opening_and_undoing_many_times_does_not_break_the_page(window: Window, session: Session):
    before = settled(window)
    for _ in range(4):
        session.open_sample("walk", keep=False)
        session.add(session.motion, body=session.body)
        session.undo()
        session.undo()

    def same() -> bool:
        session.clock.seek(0.0)
        return differing(before, window.picture()) < 0.002

    wait(same, "the same picture again")


def test_a_second_window_has_its_own_camera_and_the_same_clock(browser, window: Window, studio: Studio):
    session = studio.session
    session.clock.seek(1.0)
    first = settled(window)
    second = Window(browser, studio, resolution=0.4)
    assert differing(first, settled(second)) < 0.02, "a window that comes later sees the present moment"
    window.page.get_by_role("tab", name="Motion").click()
    second.page.locator('[role=tab][aria-selected=true]:text-is("Motion")').wait_for()
    position = window.camera()
    second.page.mouse.move(300, 200)
    second.page.mouse.down()
    second.page.mouse.move(480, 260, steps=6)
    second.page.mouse.up()
    wait(lambda: np.linalg.norm(np.subtract(second.camera(), position)) > 0.3, "the second camera to move")
    assert np.linalg.norm(np.subtract(window.camera(), position)) < 1e-3
    second.press("Play")
    window.page.get_by_role("button", name="Pause", exact=True).wait_for()
    window.press("Pause")
    wait(lambda: not session.clock.playing, "the clock to stop")
    second.page.get_by_role("button", name="Play", exact=True).wait_for()
    assert second.errors == []
    second.context.close()
    wait(lambda: len(session.server.get_clients()) == 1, "the second window to be gone")


@pytest.mark.parametrize("name", ["CesiumMan.glb", "KayKit_Knight.glb"])
def test_a_skinned_character_is_on_the_screen(window: Window, session: Session, data_dir: Path, name: str):
    found = sorted((data_dir / "characters").rglob(name))
    if not found:
        pytest.skip(f"no {name} in the data")
    session.open(found[0], keep=False)
    with_body = settled(window)
    session.close_actor(session.actors[0])
    assert differing(with_body, settled(window)) > 0.02


def test_a_joint_name_from_a_file_cannot_put_a_program_into_the_page(window: Window, session: Session):
    motion: Motion = session.motion
    evil = "<img src=x onerror=window.hacked=1>"
    names = [evil, *motion.skeleton.names[1:]]
    session.add(motion.replace(skeleton=motion.skeleton.replace(names=names)), name=evil, keep=False)
    session.select(session.actors[0], 0)
    session.show_error(f"cannot read {evil}")
    window.page.get_by_text("cannot read").first.wait_for()
    for tab in ("Pose", "Motion"):
        window.page.get_by_role("tab", name=tab, exact=True).click()
        wait(lambda tab=tab: session.tab == tab, "the tab")
        settled(window)
    assert window.page.evaluate("window.hacked") is None


def test_the_tab_of_the_docs_works_and_closing_leaves_the_page_in_peace(browser):
    """The example in docs/studio.md is run as it is written."""
    text = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "class LeanTab" in block)
    names: dict[str, object] = {}
    exec(compile(code.split("\nStudio(")[0], "docs/studio.md", "exec"), names)
    with Studio(port=0, open_browser=False, tabs=[names["LeanTab"]]) as studio:
        session = studio.session
        session.clock.pause()
        session.clock.seek(0.0)
        session.stage.shadows = False
        window = Window(browser, studio, resolution=0.4)
        before = settled(window)
        upright = session.pose.rotations.copy()
        window.drag(window.field("Lean [°]", ".mantine-Slider-track"), 0.95)
        wait(lambda: np.abs(session.pose.rotations - upright).max() > 0.05, "the body to lean")
        wait(lambda: differing(before, window.picture()) > 0.005, "the leaning body on the screen")
        window.press("Straighten up")
        wait(lambda: np.abs(session.pose.rotations - upright).max() < 1e-12, "the body to straighten up")
        assert window.errors == []
    window.page.locator("svg.tabler-icon-cloud-check").wait_for(state="detached")  # it has seen that nobody answers
    assert [error for error in window.errors if "WebSocket" not in error] == []
    assert window.page.get_by_text("Timeline").count() == 1, "the page waits for the studio to come back"
    window.context.close()

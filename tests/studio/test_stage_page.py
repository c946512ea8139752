"""The page's own controls in a real browser: timeline, keys, help, views, messages, layout.

Pictures of all tabs at two sizes are left in build/studio, to be looked at; POSABLE_SHOTS names another folder, and has
them at four thousand pixels, too.
"""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from posable.formats import load, save
from posable.studio import Session, Studio
from posable.studio.core.marks import Mark

from ..formats.test_fbx import DATA as FBX_FILES
from .window import FEW, PATIENCE, ROOT, SIZE, Window, differing, on_screen, settled, wait

SIZES = ((1024, 640), (1440, 900), (3840, 2160))
SHOTS = os.environ.get("POSABLE_SHOTS")
PICTURES = Path(SHOTS) if SHOTS else ROOT / "build" / "studio"


@pytest.fixture(scope="module")
def opened(browser, studio: Studio) -> Iterator[Window]:
    window = Window(browser, studio, resolution=1.0 if SHOTS else FEW)
    yield window
    window.context.close()


@pytest.fixture
def window(opened: Window, session: Session) -> Iterator[Window]:
    """The window on the walk, standing at its start, nothing selected."""
    session.clock.pause()
    session.open_sample("walk", keep=False)
    session.history.clear()
    session.select(None)
    session.clock.seek(0.0)
    opened.page.get_by_role("tab", name="Play").click()
    opened.page.keyboard.press("Escape")
    opened.dismiss()
    opened.errors.clear()
    yield opened
    assert opened.errors == []


def test_what_a_browser_remembers_that_the_sentences_were_read_and_that_it_is_dark(browser, studio: Studio):
    """Three sentences stand on the stage until the first key, and never again; a dark page is dark the next time."""
    context = browser.new_context(viewport=SIZE)
    page, session = context.new_page(), studio.session
    page.goto(f"{studio.url}/?fixedDpr=0.1")
    hint = page.locator("#stage-hint")
    hint.wait_for(timeout=60_000)
    assert hint.locator("p").count() == 3
    page.keyboard.press("Shift")
    hint.wait_for(state="hidden")
    page.get_by_role("button", name="Dark").click()
    wait(lambda: session.stage.dark, "the dark stage")
    wait(lambda: page.evaluate("document.documentElement.dataset.mantineColorScheme") == "dark", "the dark panel")
    client = session.server.get_clients()[max(session.server.get_clients())]

    def sky() -> float:
        return float(client.get_render(60, 80, transport_format="png", timeout=PATIENCE)[..., :3].mean())

    wait(lambda: sky() < 110, "the dark sky")
    session.page.receive(client, "dark", False)
    page.reload()
    wait(lambda: session.stage.dark, "the page to ask for it again")
    page.get_by_role("button", name="Messages").wait_for()
    assert not hint.is_visible()
    page.get_by_role("button", name="Dark").click()
    wait(lambda: not session.stage.dark, "the light stage")
    context.close()


def test_h_lists_every_key_that_is_bound(window: Window, session: Session):
    unbind = session.keys.bind("delete", "Remove the edit", lambda _: None, group="Posing")
    window.page.keyboard.press("h")
    window.page.locator("#stage-sheet kbd").first.wait_for()
    wait(
        lambda: window.page.locator("#stage-sheet kbd").all_inner_texts() == [key.shown for key in session.keys.bound],
        "all keys in the help",
    )
    assert "Remove the edit" in window.page.locator("#stage-sheet").inner_text()
    window.page.keyboard.press("Escape")
    window.page.locator("#stage-sheet").wait_for(state="hidden")
    unbind()


def test_arrows_step_and_leave_the_camera_alone(window: Window, session: Session):
    window.page.mouse.click(60, 60)  # on the stage: viser's camera hears no keys while a tab has the focus
    settled(window)
    before = window.camera()
    for frame in (1, 2, 3):
        window.page.keyboard.press("ArrowRight", delay=700)
        wait(lambda frame=frame: round(session.time * session.motion.fps) == frame, "a frame forward")
    window.drawn()
    np.testing.assert_allclose(window.camera(), before, atol=1e-6)


def test_keys_that_are_written_into_a_field_stay_there(window: Window, session: Session):
    window.page.get_by_text("Open by path").click()
    field = window.field("File").first
    field.click()
    field.press_sequentially("h f l.bvh")
    assert field.input_value() == "h f l.bvh"
    assert not session.clock.playing and session.clock.loop and not window.page.locator("#stage-sheet").is_visible()
    field.fill("")
    window.page.get_by_text("Open by path").click()
    window.page.mouse.click(300, 60)


def test_f_comes_close_to_what_is_selected_and_goes_back_to_all(window: Window, session: Session):
    def distance() -> float:
        hand = session.active.frames(session.time).positions[session.body.index("left_hand")] + session.stage.offset
        return float(np.linalg.norm(np.subtract(window.camera(), hand)))

    window.page.keyboard.press("f")
    wait(lambda: distance() > 3.0, "everything")
    far = distance()
    session.select(session.active, session.body.index("left_hand"))
    window.page.keyboard.press("f")
    wait(lambda: distance() < 0.5 * far, "the hand from near")
    look_at = np.array(window.client.camera.look_at)
    hand = session.active.frames(session.time).positions[session.body.index("left_hand")] + session.stage.offset
    np.testing.assert_allclose(look_at, hand, atol=1e-3)


def test_views_show_the_body_from_its_sides(window: Window, session: Session):
    def direction() -> np.ndarray:
        away = np.subtract(window.client.camera.position, window.client.camera.look_at)
        return away / np.linalg.norm(away)

    # The walk goes along +z, its left is +x.
    for view, axis, least in (("Front", 2, 0.9), ("Side", 0, 0.9), ("Top", 1, 0.99)):
        window.press(view)
        wait(lambda axis=axis, least=least: direction()[axis] > least, f"the view {view}")
    window.press("Three-quarter")
    wait(lambda: direction()[[0, 2]].min() > 0.3, "the view from between")
    window.press("Follow")
    wait(lambda: not session.stage.following, "the camera to let go")
    window.press("Follow")
    wait(lambda: session.stage.following, "the camera to follow")


def test_the_timeline_zooms_and_its_marks_are_dragged(window: Window, session: Session):
    moved: list[tuple[object, ...]] = []
    session.marks.put("Bars", [Mark(60, 120, "hand", name="one")], moved=lambda *how: moved.append(how))
    mark, tracks = window.page.locator('.stage-mark[data-key="one"]'), window.page.get_by_role("slider", name="Time")
    mark.wait_for()
    before, room = mark.bounding_box(), tracks.bounding_box()
    frames = session.clock.duration * session.motion.fps
    assert abs(before["width"] - 60 / frames * room["width"]) < 1.0
    assert abs(before["x"] - room["x"] - 60 / frames * room["width"]) < 1.0
    middle = (before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
    window.page.mouse.move(*middle)
    window.page.mouse.wheel(0, -300)
    wait(lambda: mark.bounding_box()["width"] > 1.5 * before["width"], "the timeline to zoom in")
    factor = mark.bounding_box()["width"] / before["width"]
    window.page.mouse.down()
    window.page.mouse.move(middle[0] + 80, middle[1], steps=4)
    window.page.mouse.up()
    wait(lambda: moved, "the mark to be moved")
    assert moved == [("one", "all", round(80 / (room["width"] / frames * factor)), False)]
    assert session.time == 0.0, "whoever drags a mark does not scrub"
    window.press("Whole motion")
    wait(lambda: abs(mark.bounding_box()["width"] - before["width"]) < 1.0, "all of it")
    edits = [Mark(60, 120, f"edit {k}", name=f"{k}") for k in range(3)]
    session.marks.put("Bars", edits, moved=lambda *how: None)  # at the same frames, so each on a row of its own
    for foot in ("Left foot", "Right foot"):
        session.marks.put(foot, [Mark(10, 80, foot)], order=10.0)
    window.page.locator('.stage-mark[data-key="2"]').wait_for()
    bars = window.page.locator(".stage-mark:not(.still)")
    heights = [bar.bounding_box()["height"] for bar in bars.all()]
    assert len(heights) == 3 and min(heights) >= 11, "names of edits can be read; lanes that nobody grips give way"
    bottom = max(bar.bounding_box()["y"] + bar.bounding_box()["height"] for bar in window.page.locator(".still").all())
    assert bottom <= room["y"] + room["height"], "and all of it fits"
    for lane in ("Bars", "Left foot", "Right foot"):
        session.marks.put(lane, ())
    mark.wait_for(state="detached")
    bars.first.wait_for(state="detached")


def test_the_cursor_follows_the_clock_while_it_plays(window: Window, session: Session):
    window.press("Play")
    wait(lambda: session.time > 1.0, "the clock")
    before = session.time
    shown = float(window.page.locator(".now").inner_text().split(" s")[0])
    after = session.time
    assert before - 0.3 < shown < after + 0.3 or after < before, "it may have begun anew meanwhile"
    window.press("Pause")
    wait(lambda: not session.clock.playing, "the clock to stop")
    wait(lambda: window.page.locator(".now").inner_text().startswith(f"{session.time:.2f} s"), "the same time")


def test_a_long_message_can_be_read_again_and_moves_no_panel(window: Window, session: Session):
    fields = window.page.get_by_text("Built-in")
    before = fields.bounding_box()
    text = "the file could not be read " + "for a reason that takes a while to tell " * 8
    session.show_error(text)
    window.page.locator(".notice.error").wait_for()
    assert fields.bounding_box() == before
    window.dismiss()
    window.press("Messages")
    assert text.strip() in window.page.locator("#stage-sheet li").first.inner_text()
    window.press("Close")
    session.open_sample("walk", keep=False)
    window.press("Loop on")  # something that works
    window.page.locator(".notice.error").wait_for(state="detached")
    assert window.page.locator(".notice").inner_text() == "", "an error goes with its cause, also from the bar"
    window.press("Loop off")


def test_what_is_compiled_is_said_over_the_stage(window: Window, session: Session):
    session.progress.show("test", "Kernels are being compiled", 0.25)
    banner = window.page.locator("#stage-progress")
    banner.wait_for()
    outer, inner = banner.locator(".bar").bounding_box(), banner.locator(".bar i").bounding_box()
    assert abs(inner["width"] / outer["width"] - 0.25) < 0.02
    box = banner.bounding_box()
    assert 0.3 * SIZE["width"] < box["x"] + box["width"] / 2 < 0.7 * SIZE["width"] and box["y"] < 100
    canvas = window.page.locator("canvas").first.bounding_box()
    assert box["x"] + box["width"] < canvas["x"] + canvas["width"], "clear of the panel"
    session.show_error("something went wrong")
    window.page.locator(".mantine-Notification-root").first.wait_for()
    notices = window.page.locator(".mantine-Notification-root").all()
    assert max(one.bounding_box()["x"] + one.bounding_box()["width"] for one in notices) < box["x"], "clear of notices"
    session.progress.hide("test")
    banner.wait_for(state="hidden")


def test_a_picture_of_the_stage_is_downloaded(window: Window, session: Session, tmp_path: Path):
    from PIL import Image

    with window.page.expect_download() as download:
        window.press("Picture")
    download.value.save_as(tmp_path / "picture.png")
    picture = Image.open(tmp_path / "picture.png").convert("RGB")
    canvas = window.page.locator("canvas").first.bounding_box()
    assert download.value.suggested_filename == "walk.png"
    assert picture.size == (round(canvas["width"]), round(canvas["height"]))
    assert np.asarray(picture).std() > 5, "something is on it"


def test_a_video_is_of_what_this_window_sees_from_its_own_camera(
    browser, window: Window, studio: Studio, session: Session, tmp_path: Path
):
    from PIL import Image

    session.add(session.motion[:13], body=session.body, keep=False)  # five pictures of a GIF
    other = Window(browser, studio, resolution=FEW)
    films = {}
    for view, seen_by in (("Front", other), ("Side", window)):
        seen_by.press(view)
        settled(seen_by)
        still = seen_by.picture()
        seen_by.press("Video")
        with seen_by.page.expect_download() as download:
            seen_by.page.get_by_role("button", name="GIF").click()
        assert download.value.suggested_filename.endswith(".gif")
        download.value.save_as(tmp_path / f"{view}.gif")
        film = Image.open(tmp_path / f"{view}.gif")
        pictures = []
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB").resize(still.shape[1::-1]), int))
        assert len(pictures) == 5
        assert np.abs(pictures[0] - still).mean() < 12, "the first picture is the moment it begins with"
        assert differing(pictures[0], pictures[-1]) > 0.003, "the body moves"
        films[view] = pictures
    assert differing(films["Front"][0], films["Side"][0]) > 0.02, "each window has its own camera"
    assert session.time == 0.0 and not session.clock.playing
    other.context.close()


DROP = """([x, y, files]) => {
  const data = new DataTransfer();
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  for (const [name, text] of files) data.items.add(new File([bytes(text)], name));
  const fire = (type) => document.elementFromPoint(x, y).dispatchEvent(new DragEvent(
    type, { bubbles: true, cancelable: true, dataTransfer: data, clientX: x, clientY: y }));
  fire("dragover");
  const shown = !document.querySelector("#stage-drop").hidden;
  return [shown, fire("drop"), document.querySelector("#stage-drop").hidden];
}"""
"""Drags files over a point of the page and drops them; returns what was seen, whether the browser would take them."""


def test_files_dropped_on_the_page_open_and_a_motion_dropped_on_a_body_is_put_on_it(
    window: Window, session: Session, tmp_path: Path
):
    walk = session.active
    for name, frames in (("one", 30), ("two", 40)):
        save(session.motion[:frames], tmp_path / f"{name}.bvh")
    one, two = ([file.name, in_letters(file.read_bytes())] for file in sorted(tmp_path.glob("*.bvh")))
    bad = ["bad.bvh", in_letters(b"HIERARCHY")]
    # The second of three cannot be read: it is reported, and the third comes all the same.
    assert window.page.evaluate(DROP, [40, 40, [one, bad, two]]) == [True, False, True]
    wait(lambda: [actor.name for actor in session.actors] == ["walk", "one", "two"], "the files")
    assert any(message["kind"] == "error" and "bad.bvh" in message["text"] for message in session._messages)
    panel = window.page.get_by_role("tab", name="Play", exact=True).bounding_box()
    assert window.page.evaluate(DROP, [panel["x"] + 5, panel["y"] + 5, [one]])[1] is False, "nothing leaves the page"
    wait(lambda: len(session.actors) == 4, "a file that fell on the panel")
    for _ in range(3):
        session.undo()
    session.clock.pause()
    session.clock.seek(0.0)
    settled(window)
    hips = walk.frames(0.0).positions[walk.body.index("hips")] + session.stage.offset
    x, y = on_screen(window, hips)
    assert window.page.evaluate(DROP, [float(x), float(y), [one]])[1] is False
    wait(lambda: session.motion is not None and session.motion.name == "one on walk", "the motion on the body")
    assert len(session.actors) == 1 and len(session.motion) == 30
    with window.page.expect_download() as download:
        window.page.keyboard.press("Control+s")
    download.value.save_as(tmp_path / "saved.bvh")
    assert download.value.suggested_filename == "walk.bvh" and len(load(tmp_path / "saved.bvh")) == 30
    with window.page.expect_download():
        window.press("Save")
    session.open_sample("walk", keep=False)


def test_files_of_other_programs_are_dropped_on_the_page(window: Window, session: Session, tmp_path: Path):
    """Binary files of each kind, in one drop, more than one part of an upload each."""
    ours = session.motion[:25]
    for name in ("own.glb", "own.npz"):
        save(ours, tmp_path / name)
    save(ours, tmp_path / "amass.npz", layout="amass")
    save(ours, tmp_path / "own.vrma")
    paths = [FBX_FILES / "blender_default.fbx", *sorted(tmp_path.iterdir())]
    files = [[path.name, in_letters(path.read_bytes())] for path in paths]
    assert window.page.evaluate(DROP, [40, 40, files]) == [True, False, True]
    names = ["walk", "blender_default", "amass", "own", "own", "own"]
    wait(lambda: [actor.name.split(" ")[0] for actor in session.actors] == names, "the files")
    assert all(actor.motion.pose.is_finite() for actor in session.actors)
    assert len(session.actors[1].motion) == 9 and len(session.actors[-1].motion) == 25
    if SHOTS or os.environ.get("POSABLE_SHOWN"):
        PICTURES.mkdir(parents=True, exist_ok=True)
        window.drawn(10)
        window.page.screenshot(path=PICTURES / "dropped.png")
    for _ in files:
        session.undo()


def in_letters(content: bytes) -> str:
    """The bytes of a file as the page takes them."""
    return base64.b64encode(content).decode()


def look_at_all_tabs(window: Window, size: tuple[int, int], folder: Path | None) -> None:
    """In every tab no field reaches beyond its panel or below its scroll bar, and the bars fit the window.

    A picture of each is left in a folder, to be looked at.
    """
    page, session = window.page, window.session
    page.set_viewport_size({"width": size[0], "height": size[1]})
    wait(lambda: page.locator("#stage-timeline").bounding_box()["width"] == size[0], "the window to be as large")
    timeline = page.locator("#stage-timeline").bounding_box()
    assert (timeline["x"], timeline["width"]) == (0, size[0])
    assert timeline["y"] + timeline["height"] == size[1]
    assert page.locator("svg.tabler-icon-adjustments").filter(visible=True).count() == 0, "viser's own settings"
    window.drag(page.get_by_role("slider", name="Time"), 0.6)
    wait(lambda: abs(session.time / session.clock.duration - 0.6) < 0.01, "the time where the pointer is")
    for title in session.tabs:
        page.get_by_role("tab", name=title, exact=True).click()
        wait(lambda title=title: session.tab == title and not session.stale(session.time), f"the tab {title}")
        page.locator(f'[role=tab][aria-selected=true]:text-is("{title}")').wait_for()
        wait(lambda: page.evaluate(CLIPPED) == [], lambda title=title: f"{title} without {page.evaluate(CLIPPED)}")
        assert page.evaluate(PRIMARY) <= 1, f"one primary button in {title}"
        if title == "Pose":
            wait(lambda: page.locator("p:has(> .stage-report)").count() > 0, "the report")
            assert page.evaluate(REPORT) >= 1.99, "a report of one line is as high as one of two: no field jumps"
        if folder is not None:
            page.screenshot(path=folder / f"{title.lower()}-{size[0]}.png", timeout=120_000)
    page.get_by_role("tab", name=session.tabs[0], exact=True).click()


def test_nothing_is_clipped_in_a_small_window_and_in_a_usual_one(window: Window):
    PICTURES.mkdir(parents=True, exist_ok=True)
    for size in SIZES[:2]:
        look_at_all_tabs(window, size, PICTURES)
    window.page.set_viewport_size({"width": 640, "height": 420})  # as small as a note
    wait(lambda: window.page.evaluate(BESIDE), "the bar over the stage to be clear of the panel")
    window.page.set_viewport_size(SIZE)


def test_nothing_is_clipped_on_a_large_screen(browser, window: Window, studio: Studio):
    # What is on the stage does not matter here, and drawing it in software at four thousand pixels takes a minute.
    large = Window(browser, studio, SIZE, resolution=1.0 if SHOTS else 0.1)
    look_at_all_tabs(large, SIZES[2], PICTURES if SHOTS else None)
    assert large.errors == []
    large.context.close()


PRIMARY = """() => document.querySelectorAll(
    'button[data-block]:not([style*="--mantine-color-gray-filled)"]):not([data-variant])').length"""
"""How many buttons of the panel are filled with the studio's colour."""
BESIDE = """() => document.querySelector('#stage-tools').getBoundingClientRect().right
    <= document.querySelector('.posable-tabs').getBoundingClientRect().left"""
REPORT = """() => {
  const shown = [...document.querySelectorAll('p:has(> .stage-report)')].find((one) => one.clientHeight);
  const short = shown.cloneNode(true), style = getComputedStyle(shown);
  short.replaceChildren('On target', short.querySelector('.stage-report'));
  shown.after(short);
  const lines = short.getBoundingClientRect().height / parseFloat(style.lineHeight);
  short.remove();
  return lines;
}"""
"""How many lines high the report of a drag is when it says two words."""
CLIPPED = """() => {
  const found = [];
  const bars = [...document.querySelectorAll('.mantine-ScrollArea-scrollbar')].map(bar => bar.getBoundingClientRect())
    .filter(bar => bar.height > 0 && bar.width > 0 && bar.height > bar.width);
  const selector = 'input, button, label, .mantine-Slider-root, .uplot, svg[viewBox], #stage-tools, ' +
    '.stage-controls > *';
  for (const element of document.querySelectorAll(selector)) {
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest('.mantine-ScrollArea-scrollbar, .mantine-Notification-root')) continue;
    const name = `${element.tagName} ${element.textContent.slice(0, 30)} ${box.left}-${box.right}`;
    if (box.right > innerWidth + 0.5 || box.left < -0.5) found.push(`beyond the window: ${name}`);
    for (const bar of bars)
      if (box.right > bar.left + 1 && box.left < bar.left && box.bottom > bar.top && box.top < bar.bottom)
        found.push(`below the scroll bar: ${name}`);
  }
  const pen = document.createElement('canvas').getContext('2d');
  for (const list of document.querySelectorAll('input[aria-haspopup=listbox]')) {
    const style = getComputedStyle(list), box = list.getBoundingClientRect();
    if (!box.width) continue;
    pen.font = style.font;
    pen.letterSpacing = style.letterSpacing;
    const room = list.parentElement.querySelector('[data-position=right]')?.getBoundingClientRect().left ?? box.right;
    const end = box.left + parseFloat(style.paddingLeft) + pen.measureText(list.value).width;
    if (end > room + 2) found.push(`the choice does not fit its field: ${list.value}`);
  }
  const controls = document.querySelector('.stage-controls');
  if (controls.scrollWidth > controls.clientWidth) found.push('the bar of the timeline is too narrow');
  return found;
}"""

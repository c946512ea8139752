"""A motion that plays: the page in a real browser without a network, judged by its joints and by what is seen."""

import hashlib
import io
import json
import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, PosableError
from posable.render import Player
from posable.render.player import script
from posable.skeleton import Motion, Pose, Skeleton

ROOT = Path(__file__).resolve().parents[2]
PLAYER = "document.querySelector('posable-player')"
HOSTILE = "</title>\"></script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
READY = "customElements.whenDefined('posable-player').then(() => Promise.all(posable.players.map(p => p.ready)))"


class Page:
    """A page in a browser that has no network, and everything that went wrong in it."""

    def __init__(self, page) -> None:
        self.page, self.errors, self.asked = page, [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None)
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        self.page.evaluate(READY)

    def state(self) -> dict:
        return self.page.evaluate(f"{PLAYER}.state")

    def seek(self, frame: int) -> None:
        """Drag the slider of frames there, as far as the page can tell, and wait until it is drawn."""
        self.page.evaluate(
            f"frame => {{ const s = {PLAYER}.scrub; s.value = frame; s.dispatchEvent(new Event('input')); }}", frame
        )
        self.settle()

    def settle(self) -> None:
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def joints(self, body: int = 0) -> np.ndarray:
        return np.array([row[1:] for row in self.page.evaluate(f"k => {PLAYER}.joints(k)", body)], dtype=float)

    def picture(self) -> np.ndarray:
        """(H, W, 3) 0 to 1."""
        return matplotlib.image.imread(io.BytesIO(self.page.screenshot()))[..., :3]


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens what a player, a motion or a page is, offline; nothing may go wrong in it."""
    pages = []

    @contextmanager
    def windows(width: int, height: int, scheme: str) -> Iterator[Page]:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_offline(True)
        yield Page(context.new_page())
        context.close()

    held = []

    def open_page(player: Player | Path, width: int = 640, height: int = 420, scheme: str = "light") -> Page:
        path = player if isinstance(player, Path) else tmp_path / f"page{len(pages)}.html"
        if isinstance(player, Player):
            player.save(path)
        held.append(windows(width, height, scheme))
        page = held[-1].__enter__()
        pages.append((page, path))
        page.open(path)
        return page

    yield open_page
    for page, path in pages:
        assert page.errors == []
        assert set(page.asked) <= {path.as_uri()} | {
            url for url in page.asked if url.startswith(("data:", "blob:", "about:"))
        }
    for one in held:
        one.__exit__(None, None, None)


def robot(data_dir: Path) -> Motion:
    """A second of an arm of seven joints, each on its own path."""
    rest = ps.load(data_dir / "robots" / "panda.urdf")
    skeleton = rest.skeleton
    waves = 0.4 * np.sin(np.linspace(0, 2 * np.pi, 30)[:, None] + np.arange(len(skeleton.dofs)))
    return Motion(skeleton, skeleton.from_values(waves), 30.0, "panda")


def assert_joints(page: Page, motion: Motion, frame: int, body: int = 0) -> None:
    page.seek(frame)
    assert page.state()["frame"] == frame
    expected = motion.skeleton.forward(motion.pose[frame]).positions
    np.testing.assert_allclose(page.joints(body), expected, atol=1e-3)


def test_a_page_plays_offline_and_scrubs_to_the_joints_of_the_motion(opened, tmp_path):
    walk = ps.samples.walk(duration=5.0)
    ps.save(walk, tmp_path / "walk.html")
    assert (tmp_path / "walk.html").stat().st_size < 700_000
    page = opened(tmp_path / "walk.html")
    assert page.page.title() == "walk"
    state = page.state()
    assert state["playing"] and state["frames"] == len(walk)
    for _ in range(3):  # it goes on by itself, however slowly this machine draws
        page.page.evaluate(
            f"new Promise(done => {{ const p = {PLAYER}, from = p.state.time;"
            "(function look() { p.state.time > from ? done() : requestAnimationFrame(look) })() })"
        )
    for frame in (0, 1, 77, 150, len(walk) - 1):
        assert_joints(page, walk, frame)
    assert not page.state()["playing"]


def test_the_body_is_seen_where_it_is_and_moves(opened):
    walk = ps.samples.walk(duration=2.0)
    page = opened(Player(walk))
    page.seek(0)
    first = page.picture()
    page.seek(30)
    second = page.picture()
    changed = np.abs(first - second).max(axis=-1) > 0.1
    assert 0.005 < changed.mean() < 0.6
    # The body is in the middle third of the window, above the bar: the corners are sky and floor.
    rows, columns = np.nonzero(np.abs(first - first[:, :1]).max(axis=-1) > 0.25)
    inside = rows < 340
    assert 180 < columns[inside].mean() < 460
    assert rows[inside].min() < 130 and rows[inside].max() > 260


def test_between_frames_a_page_interpolates_as_a_motion_does(opened):
    walk = ps.samples.walk(duration=1.0)[::6]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(walk), len(walk.skeleton), 1))
    page = opened(
        Player(walk.replace(pose=walk.pose.replace(rotations=signs * walk.pose.rotations)))
    )  # the same motion
    page.page.evaluate(f"{PLAYER}.pause(); {PLAYER}.seek(2.5)")
    page.settle()
    expected = walk.skeleton.forward(walk.at(2.5 / walk.fps)).positions
    np.testing.assert_allclose(page.joints(), expected, atol=1e-3)


def test_it_begins_again_after_the_last_frame(opened):
    page = opened(Player(ps.samples.walk(duration=0.5)))
    page.seek(25)
    page.page.keyboard.press("Space")
    page.page.evaluate(
        f"new Promise(done => {{ const p = {PLAYER}; let end = false; (function look() {{"
        "end ||= p.state.frame === 30; end && p.state.frame < 20 ? done() : requestAnimationFrame(look) })() })"
    )
    assert page.state()["playing"]


def test_keys_play_and_step_and_the_button_says_what_it_does(opened):
    page = opened(Player(ps.samples.walk(duration=2.0)))
    page.page.keyboard.press("Space")
    page.settle()
    assert not page.state()["playing"]
    frame = page.state()["frame"]
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowLeft")
    assert page.state()["frame"] == frame + 1
    page.page.keyboard.press("Shift+ArrowRight")
    assert page.state()["frame"] == frame + 11
    page.page.keyboard.press("Home")
    assert page.state()["frame"] == 0
    page.page.keyboard.press("End")
    assert page.state()["frame"] == 120
    page.page.get_by_role("button", name="Play (space)").click()
    assert page.state()["playing"]
    page.page.get_by_role("button", name="Pause (space)").click()
    assert not page.state()["playing"]


def test_dragging_on_the_stage_orbits_and_f_goes_back(opened):
    page = opened(Player(ps.samples.walk(duration=1.0)[:1]))
    before = page.picture()
    page.page.mouse.move(320, 150)
    page.page.mouse.down()
    page.page.mouse.move(500, 170, steps=4)
    page.page.mouse.up()
    page.settle()
    orbited = page.picture()
    assert (np.abs(before - orbited).max(axis=-1) > 0.1).mean() > 0.02
    page.page.keyboard.press("f")
    page.settle()
    assert (np.abs(before - page.picture()).max(axis=-1) > 0.1).mean() < 0.002


def test_two_motions_are_compared_by_a_slider(opened):
    walk = ps.samples.walk(duration=2.0)
    moved = walk.replace(pose=walk.pose.replace(translation=walk.pose.translation + np.array([0.4, 0, 0])))
    page = opened(Player(walk, moved, names=["before", "after"]))
    page.seek(40)
    slider = page.page.get_by_role("slider", name="Compare")
    seen = {}
    for value in (0, 50, 100):
        slider.fill(str(value))
        page.settle()
        seen[value] = page.picture()
        opacities = [body["opacity"] for body in page.state()["bodies"]]
        assert opacities == [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]][value // 50]
    # Sky blue for the first, clay for the second: only one is seen at each end of the slider, both in the middle.
    blue, clay = (
        {value: int((sign * (image[:310, :, 0] - image[:310, :, 2]) > 0.12).sum()) for value, image in seen.items()}
        for sign in (-1, 1)
    )
    assert blue[0] > 1000 and blue[50] > 1000 and blue[100] < 200
    assert clay[100] > 1000 and clay[50] > 1000 and clay[0] < 500
    assert_joints(page, walk, 60)
    assert_joints(page, moved, 60, body=1)


def test_several_bodies_stand_side_by_side_and_points_and_obstacles_are_seen(opened):
    bodies = [ps.samples.walk(ps.figure(height=h), duration=1.0) for h in (1.4, 1.7, 2.0)]
    plain = opened(Player(*bodies))
    scene = ps.Scene().box("table", size=(0.8, 0.05, 0.6), position=(0, 0.8, 0.6)).sphere("ball", 0.2, (0.5, 1.9, 0.0))
    scene.capsule("post", 0.1, 0.9, (-0.9, 0.5, 0.3)).plane("floor")
    points = np.array([[0.0, 2.0, 0.0], [np.nan, 0.0, 0.0]])
    full = opened(Player(*bodies, scene=scene, points=points))
    for page in (plain, full):
        page.seek(10)
        for k, motion in enumerate(bodies):
            np.testing.assert_allclose(page.joints(k), motion.skeleton.forward(motion.pose[10]).positions, atol=1e-3)
    assert (np.abs(plain.picture() - full.picture()).max(axis=-1) > 0.1).mean() > 0.01
    assert full.page.get_by_role("slider", name="Compare").count() == 0


def test_names_from_files_are_text_and_nothing_else(opened, tmp_path):
    skeleton = Skeleton([HOSTILE, "b", "c"], [-1, 0, 1], [[0, 0.2, 0], [0, 0.4, 0], [0.3, 0.1, 0]])
    motion = Motion(skeleton, Pose.stack([skeleton.rest] * 3), 30.0, HOSTILE)
    page = opened(Player(motion, motion, names=[HOSTILE, 'b"><script>window.broken=1</script>'], title=HOSTILE))
    assert page.page.evaluate("window.broken") is None
    assert page.page.title() == HOSTILE
    assert page.page.evaluate(f"{PLAYER}.joints()")[0][0] == HOSTILE
    assert HOSTILE in page.page.evaluate(f"{PLAYER}.shadowRoot.textContent")
    assert page.page.evaluate("document.querySelectorAll('img').length") == 0
    framed = tmp_path / "framed.html"
    framed.write_text(f"<!doctype html><meta charset=utf-8>{motion._repr_html_()}", encoding="utf-8")
    outside = page.page.context.new_page()
    outside.goto(framed.as_uri())
    assert outside.evaluate("window.broken") is None
    assert outside.locator("iframe").count() == 1 and outside.locator("img").count() == 0


@pytest.mark.parametrize("frames", [0, 1])
def test_a_motion_of_no_frame_or_one_stands_still(opened, frames):
    body = ps.figure()
    page = opened(Player(Motion(body.skeleton, Pose.stack([body.neutral_pose])[:frames], 30.0, "still")))
    state = page.state()
    assert not state["playing"] and state["frames"] == frames
    page.page.keyboard.press("Space")
    page.page.keyboard.press("ArrowRight")
    page.settle()
    assert page.state()["time"] == 0 and not page.state()["playing"]
    pose = body.neutral_pose if frames else body.skeleton.rest
    np.testing.assert_allclose(page.joints(), body.skeleton.forward(pose).positions, atol=1e-3)
    assert page.page.get_by_role("button", name="Play (space)").is_disabled()
    assert (page.page.get_by_text("no frames").count() > 0) == (frames == 0)
    picture = page.picture()
    assert (np.abs(picture - picture[:, :1]).max(axis=-1) > 0.25).mean() > 0.01


def test_a_frame_without_numbers_is_not_drawn(opened):
    walk = ps.samples.walk(duration=1.0)
    rotations = walk.pose.rotations.copy()
    rotations[20, 3] = np.nan
    page = opened(Player(walk.replace(pose=walk.pose.replace(rotations=rotations))))
    assert_joints(page, walk, 19)
    shown = page.picture()
    page.seek(20)
    assert np.isnan(page.joints()).any()
    assert (np.abs(shown - page.picture()).max(axis=-1) > 0.2).mean() > 0.01
    assert_joints(page, walk, 21)


def test_a_robot_plays(opened, data_dir):
    motion = robot(data_dir)
    page = opened(Player(motion))
    for frame in (0, 11, 29):
        assert_joints(page, motion, frame)
    picture = page.picture()
    assert (np.abs(picture - picture[:, :1]).max(axis=-1) > 0.25).mean() > 0.01


@pytest.mark.parametrize("name", ["CesiumMan.glb", "KayKit_Knight.glb"])
def test_a_character_plays_in_its_own_mesh(opened, data_dir, name):
    motion = ps.load(data_dir / "characters" / name)
    page = opened(Player(motion))
    assert_joints(page, motion, len(motion) // 2)
    # The vertices that the graphics card gets, against linear blend skinning by NumPy.
    mesh = max(motion.skeleton.character.meshes, key=lambda one: len(one.vertices))
    k = [m.name for m in motion.skeleton.character.meshes if len(m.faces)].index(mesh.name)
    drawn = page.page.evaluate(
        f"""k => {{ const m = {PLAYER}.stage.bodies[0].meshes[k]; const v = m.position.clone();
        return [...Array(m.geometry.attributes.position.count).keys()].filter(i => i % 7 == 0).map(i => {{
          v.fromBufferAttribute(m.geometry.attributes.position, i); m.applyBoneTransform(i, v); return v.toArray();
        }}) }}""",
        k,
    )
    expected = mesh.posed(motion.skeleton.forward(motion.pose[len(motion) // 2]))[::7]
    np.testing.assert_allclose(np.array(drawn), expected, atol=0.01 * np.ptp(expected[:, 1]))


def test_a_page_is_dark_where_the_reader_asks_and_fits_a_narrow_window(opened):
    walk = ps.samples.walk(duration=1.0)
    light, dark = (opened(Player(walk), scheme=scheme) for scheme in ("light", "dark"))
    for page in (light, dark):
        page.seek(10)
    assert light.picture()[0].mean() > 0.7 and dark.picture()[0].mean() < 0.3
    narrow = opened(Player(walk, walk, names=["a rather long name of a motion", "another"]), width=280, height=320)
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 280
    for box in (
        narrow.page.get_by_role("button", name=re.compile("space")).bounding_box(),
        narrow.page.get_by_role("slider", name="Frame").bounding_box(),
    ):
        assert box["x"] >= 0 and box["x"] + box["width"] <= 280 and box["y"] + box["height"] <= 320


def test_players_of_one_page_share_the_script_and_one_context(opened, tmp_path):
    walk = ps.samples.walk(duration=1.0)
    (tmp_path / "many.html").write_text(
        "<!doctype html><meta charset=utf-8><body>"
        + "".join(f"<div style='width:300px'>{Player(walk, frame=k).element(autoplay=False)}</div>" for k in range(20))
        + f"<script>{script()}</script>",
        encoding="utf-8",
    )
    page = opened(tmp_path / "many.html", width=700, height=600)
    assert page.page.evaluate("posable.players.map(p => p.state.frame)") == list(range(20))
    page.page.evaluate("posable.players[19].scrollIntoView()")
    page.page.wait_for_function(  # drawn as soon as it is seen, however busy the machine is
        "(() => { const c = posable.players[19].canvas, copy = new OffscreenCanvas(c.width, c.height).getContext('2d', "
        "{ willReadFrequently: true }); copy.drawImage(c, 0, 0); "
        "return copy.getImageData(0, 0, c.width, c.height).data.some(v => v > 0) })()"
    )


def test_a_notebook_shows_a_motion_without_a_kernel(opened, tmp_path):
    walk = ps.samples.walk(duration=1.0)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{walk._repr_html_()}", encoding="utf-8")
    page = opened(Player(walk))  # the fixture's way of opening waits for a player; the frame's is inside
    page.page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.page.frames[1]
    frame.evaluate(READY)
    frame.evaluate(f"{PLAYER}.pause(); {PLAYER}.seek(30)")
    frame.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    joints = np.array([row[1:] for row in frame.evaluate(f"{PLAYER}.joints()")])
    np.testing.assert_allclose(joints, walk.skeleton.forward(walk.pose[30]).positions, atol=1e-3)
    page.asked.clear()


def test_a_notebook_shows_a_long_motion_in_few_frames(monkeypatch):
    shown = []
    monkeypatch.setattr(Player, "_repr_html_", lambda self: shown.extend(self.motions) or "")
    walk = ps.samples.walk(duration=1.0)
    still = walk.pose.rotations[np.zeros(9000, int)]
    long = walk.replace(pose=Pose(np.zeros((9000, 3)), still))
    long._repr_html_()
    walk._repr_html_()
    assert len(shown[0]) <= 3600 and abs(shown[0].duration - long.duration) < 0.1
    assert shown[1] is walk


def test_show_displays_in_a_notebook_and_opens_a_browser_elsewhere(monkeypatch):
    walk = ps.samples.walk(duration=1.0)
    urls = []
    monkeypatch.setattr("webbrowser.open", lambda url: urls.append(url) or True)
    walk.show(walk, names=["a", "b"])
    assert Path(urls[0].removeprefix("file://")).read_text(encoding="utf-8").startswith("<!doctype html>")
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    with pytest.raises(PosableError, match=r"no browser .*motion\.html"):
        walk.show()
    shown = []
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    walk.show()
    assert isinstance(shown[0], Player) and "<iframe" in shown[0]._repr_html_()


def test_a_page_is_written_and_never_read(tmp_path):
    ps.save(ps.samples.walk(duration=0.5), tmp_path / "walk.html")
    with pytest.raises(FormatError, match=r"written only; known: .*\.bvh"):
        ps.load(tmp_path / "walk.html")
    with pytest.raises(PosableError, match=r"\.html"):
        Player(ps.samples.walk(duration=0.5)).save(tmp_path / "walk.pdf")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "needs a motion"),
        (("walk",), {}, "motion 0"),
        ((None,), {"names": ["a", "b"]}, "2 names for 1 motions"),
        ((None,), {"points": np.zeros((3, 2))}, r"points have shape \(3, 2\)"),
        ((None,), {"view": "above"}, "unknown view"),
    ],
)
def test_mistakes_are_named(arguments, options, message):
    motion = ps.samples.walk(duration=0.2)
    with pytest.raises(PosableError, match=message):
        Player(*(motion if one is None else one for one in arguments), **options)


def test_the_script_is_made_of_the_sources_beside_it_and_names_its_parts():
    folder = ROOT / "tools" / "player"
    digest = hashlib.sha256()
    for path in [*sorted((folder / "source").iterdir(), key=lambda path: path.name), folder / "build.mjs"]:
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    opening = script().splitlines()[0]
    assert digest.hexdigest()[:16] in opening, (
        "the player's sources changed: cd tools/player && npm ci && node build.mjs"
    )
    assert f"three.js {json.loads((folder / 'package.json').read_text())['dependencies']['three']} (MIT" in opening
    assert (ROOT / "src" / "posable" / "assets" / "THREE-LICENSE").read_text(encoding="utf-8").startswith("The MIT")
    assert len(script()) < 460_000

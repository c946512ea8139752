"""Films, judged by what reads them: ffmpeg, Pillow, and the pixels of bodies."""

import contextlib
import sys

import numpy as np
import pytest

import posable as ps
from posable.compute import MissingExtraError, PosableError
from posable.render import film
from posable.skeleton import Motion, Pose

SMALL = {"size": (96, 64), "samples": 1, "workers": 1}


@pytest.fixture(scope="module")
def walk():
    return ps.samples.walk(duration=1.0)


def pictures_of(path):
    """All pictures of a film (N, H, W, 3), by ffmpeg or Pillow."""
    if path.suffix == ".mp4":
        ffmpeg = pytest.importorskip("imageio_ffmpeg")
        reader = ffmpeg.read_frames(str(path))
        width, height = next(reader)["size"]
        return np.array([np.frombuffer(data, np.uint8).reshape(height, width, 3) for data in reader])
    Image = pytest.importorskip("PIL.Image")
    if path.is_dir():
        return np.array([np.asarray(Image.open(name).convert("RGB")) for name in sorted(path.iterdir())])
    with Image.open(path) as opened:
        frames = []
        for k in range(getattr(opened, "n_frames", 1)):
            opened.seek(k)
            frames.append(np.asarray(opened.convert("RGB")))
    return np.array(frames)


def figure_in(picture):
    """(H, W) where a body is: what is neither white room nor grey floor nor its bluish shadow."""
    colours = picture.astype(float)
    return (np.ptp(colours, axis=-1) > 28.0) | (colours.max(axis=-1) < 90.0)


def middle_of(picture):
    rows, columns = np.nonzero(figure_in(picture))
    return columns.mean() / picture.shape[1], rows.mean() / picture.shape[0]


@pytest.mark.parametrize("name", ["walk.gif", "walk.mp4", "walk"])
def test_a_film_has_the_frames_of_the_motion_at_its_own_rate(walk, tmp_path, name):
    if name.endswith("mp4"):
        pytest.importorskip("imageio_ffmpeg")
    seen = []
    count = film(walk, tmp_path / name, fps=10, progress=lambda *now: seen.append(now), **SMALL)
    found = pictures_of(tmp_path / name)
    assert count == len(found) == 11 and seen == [(k, 11) for k in range(1, 12)]
    assert found.shape[1:] == (64, 96, 3)
    assert all(0.01 < figure_in(picture).mean() < 0.5 for picture in found)
    assert [path.name for path in tmp_path.iterdir()] == [name]  # nothing of the making is left


def test_an_mp4_says_its_rate_and_length_to_ffmpeg(walk, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    film(walk, tmp_path / "a.mp4", fps=20, size=(97, 65), samples=1, workers=1)
    meta = next(ffmpeg.read_frames(str(tmp_path / "a.mp4")))
    assert meta["size"] == (96, 64) and meta["fps"] == 20
    assert ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))[0] == 21


def test_a_gif_shows_what_the_pictures_show_and_lasts_as_long(walk, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    film(walk, tmp_path / "a.gif", fps=15, **SMALL)
    film(walk, tmp_path / "a", fps=15, **SMALL)
    one, other = pictures_of(tmp_path / "a.gif"), pictures_of(tmp_path / "a")
    assert np.abs(one.astype(int) - other.astype(int)).mean() < 4.0  # 255 colours
    assert np.abs(one.astype(int) - other.astype(int)).max(axis=(1, 2, 3)).max() < 90
    with Image.open(tmp_path / "a.gif") as opened:
        lasting = 0
        for k in range(opened.n_frames):
            opened.seek(k)
            lasting += opened.info["duration"]
        assert opened.info["loop"] == 0
    assert abs(lasting - 1000 * 16 / 15) <= 10


def test_pictures_do_not_depend_on_how_many_processes_draw(walk, tmp_path):
    film(walk, tmp_path / "one", fps=8, **SMALL)
    film(walk, tmp_path / "two", fps=8, **(SMALL | {"workers": 2}))
    assert (pictures_of(tmp_path / "one") == pictures_of(tmp_path / "two")).all()


def ran(speed, frames=31, sideways=False):
    """A figure at rest that is moved along [m/s]."""
    body = ps.figure()
    still = np.repeat(body.skeleton.rest.rotations[None], frames, axis=0)
    along = np.arange(frames)[:, None] / 30.0 * speed * np.array([1.0, 0.0, 0.0] if sideways else [0.0, 0.0, 1.0])
    return Motion(body.skeleton, Pose(body.skeleton.rest.translation + along, still), 30.0)


def test_a_camera_that_follows_keeps_the_body_in_the_middle_and_one_that_stands_does_not(tmp_path):
    moving = ran(6.0, sideways=True)
    middles = {}
    for camera in ("follow", "fixed", "framed"):
        film(moving, tmp_path / camera, camera=camera, view="front", fps=5, **SMALL)
        middles[camera] = pictures_of(tmp_path / camera)
    followed = [middle_of(picture)[0] for picture in middles["follow"]]
    assert np.ptp(followed) < 0.1 and abs(np.mean(followed) - 0.5) < 0.1
    framed = [middle_of(picture)[0] for picture in middles["framed"]]
    assert np.ptp(framed) > 0.5 and np.all(np.diff(framed) > 0)  # from one side to the other
    for picture in (*middles["framed"], *middles["follow"]):
        inside = figure_in(picture)
        assert not (inside[0].any() or inside[-1].any() or inside[:, 0].any() or inside[:, -1].any())
    first, last = middles["fixed"][0], middles["fixed"][-1]
    assert figure_in(first).sum() > 2 * figure_in(middles["framed"][0]).sum()  # near, and it goes out of the picture
    assert figure_in(last).sum() < 0.2 * figure_in(first).sum()


def test_a_body_that_comes_near_is_still_in_sight(tmp_path):
    film(ran(30.0), tmp_path / "near", camera="framed", view="front", fps=3, **(SMALL | {"size": (160, 160)}))
    found = [figure_in(picture) for picture in pictures_of(tmp_path / "near")]
    tall = [np.ptp(np.nonzero(inside)[0]) for inside in found]
    assert tall[-1] > 1.5 * tall[0]  # it comes from far to near
    for inside in found:
        assert not (inside[0].any() or inside[-1].any() or inside[:, 0].any() or inside[:, -1].any())


def test_an_orbit_sees_the_front_then_the_side_then_the_back(tmp_path):
    still = ran(0.0, frames=31)
    film(still, tmp_path / "orbit", camera="orbit", view="front", fps=8, **SMALL)
    found = pictures_of(tmp_path / "orbit")
    widths = [np.ptp(np.nonzero(figure_in(found[k]))[1]) for k in (0, len(found) // 4, len(found) // 2)]
    assert widths[1] < 0.75 * widths[0] and widths[2] > 0.9 * widths[0]


def test_two_motions_stand_side_by_side_at_one_scale_and_the_shorter_one_waits(walk, tmp_path):
    small = ps.samples.walk(ps.figure(1.2), duration=0.5)
    film([walk, small], tmp_path / "two", camera="framed", fps=10, size=(160, 80), samples=1, workers=1)
    found = pictures_of(tmp_path / "two")
    assert len(found) == 11
    halves = found[:, :, :80], found[:, :, 80:]
    tall = [np.mean([np.ptp(np.nonzero(figure_in(p))[0]) for p in half]) for half in halves]
    assert tall[1] / tall[0] == pytest.approx(1.2 / 1.75, abs=0.15)
    assert (halves[1][6] == halves[1][-1]).all() and (halves[0][6] != halves[0][-1]).any()


def test_one_picture_shows_moments_of_the_motion(walk, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    film(walk, tmp_path / "sheet.png", frames=5, **SMALL)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert sheet.shape[0] % 64 == 0 and sheet.shape[1] % 96 == 0
    cells = sheet.reshape(sheet.shape[0] // 64, 64, -1, 96, 3).swapaxes(1, 2).reshape(-1, 64, 96, 3)
    assert [bool(figure_in(cell).any()) for cell in cells] == [True] * 5 + [False] * (len(cells) - 5)


def test_a_character_is_drawn_with_its_meshes(data_dir, tmp_path):
    fox = ps.load(data_dir / "characters" / "Fox.glb", scale=0.01)[:3]
    film(fox, tmp_path / "fox", view="side", fps=10, **SMALL)
    assert figure_in(pictures_of(tmp_path / "fox")[0]).mean() > 0.01


def test_memory_does_not_follow_the_length_of_the_motion(walk, tmp_path, monkeypatch):
    alive, most = [0], [0]

    def counted(*arguments):
        alive[0] += 1
        most[0] = max(most[0], alive[0])
        return np.zeros((64, 96, 3), np.uint8)

    monkeypatch.setattr(sys.modules["posable.render.film"], "_picture", counted)
    monkeypatch.setattr(
        sys.modules["posable.render.film"], "save_picture", lambda picture, path: alive.__setitem__(0, alive[0] - 1)
    )
    assert film(walk, tmp_path / "many", fps=200, **SMALL) == 201
    assert most[0] == 1


def test_nothing_is_left_of_a_film_that_fails(walk, tmp_path, monkeypatch):
    def failing(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.modules["posable.render.film"], "_picture", failing)
    for name in ("a", "a.gif", "a.png"):
        with pytest.raises(OSError, match="No space"):
            film(walk, tmp_path / name, fps=4, **SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.avi", {}, r"a film is \.mp4, \.gif, \.png"),
        ("a.gif", {"camera": "drone"}, "camera"),
        ("a.gif", {"size": (5, 5)}, "16 to 4096"),
        ("a.gif", {"samples": 9}, "1 to 4"),
        ("a.gif", {"fps": 0}, "fps=0"),
        ("a.gif", {"fps": 1000}, "fps=1000"),
        ("a.gif", {"workers": 0}, "workers=0"),
        ("a.png", {"frames": 0}, "frames=0"),
        ("none/a.gif", {}, "does not exist"),
        ("none/a", {}, "does not exist"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_drawn(walk, tmp_path, name, options, said):
    with pytest.raises(PosableError, match=said):
        film(walk, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_with_something_in_it_is_refused(walk, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(PosableError, match="new or an empty folder"):
        film(walk, tmp_path / "full", **SMALL)
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_without_the_extra_the_error_says_which_to_install(walk, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtraError, match=r"posable\[video\]"):
        film(walk, tmp_path / "a.mp4")


def test_the_command_makes_films(walk, tmp_path, capsys):
    from posable.cli.app import app

    ps.save(walk, tmp_path / "walk.glb")
    small = ["--size", "96x64", "--workers", "1", "--rate", "5"]
    for words, made in (
        (["walk.glb", "a.gif", "--camera", "orbit"], "a.gif"),
        (["walk.glb", "two", "--second", f"{tmp_path}/walk.glb", "--camera", "framed"], "two"),
        (["walk.glb", "a.png", "--moments", "3", "--angle", "side"], "a.png"),
    ):
        with pytest.raises(SystemExit) as ended, contextlib.chdir(tmp_path):
            app(["render", *words, *small])
        assert ended.value.code == 0 and (tmp_path / made).exists()
    assert "two: 6 frames of walk.glb and walk.glb" in capsys.readouterr().out

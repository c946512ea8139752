"""`posable reconstruct` as a person meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.reconstruct.pipeline import body_for, character_of, load_points

ROOT = Path(__file__).resolve().parents[2]


def markers(motion: ps.Motion) -> np.ndarray:
    """(F, 6, 3) where the six points of a motion of any body are."""
    return ps.Humanoid(motion.skeleton).markers(motion.pose)


def written(points: np.ndarray, path: Path, fps: float | None = 60.0, names=ps.MARKERS, scale: float = 1.0) -> Path:
    """Points as a CSV; NaN as an empty cell."""
    head = [f"{name}_{axis}" for name in names for axis in "xyz"]
    lines = [",".join(head if fps is None else ["time", *head])]
    for k, row in enumerate(points):
        cells = ["" if np.isnan(value) else repr(float(value / scale)) for value in row.ravel()]
        lines.append(",".join(cells if fps is None else [repr(k / fps), *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def walk() -> ps.Motion:
    return ps.samples.walk(ps.figure(height=1.6), duration=1.0)


def test_it_has_help_with_an_example(posable):
    code, out, _ = posable("reconstruct", "--help")
    assert code == 0 and "Usage" in out and "Example: posable reconstruct" in out


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_a_motion_is_reconstructed_on_its_own_body_from_its_six_points(
    posable, walk: ps.Motion, tmp_path: Path, suffix: str
):
    ps.save(walk, tmp_path / f"walk{suffix}")
    file = tmp_path / f"out{suffix}"
    code, out, _ = posable("reconstruct", tmp_path / f"walk{suffix}", file, "--json", "-")
    assert code == 0
    told = json.loads(out)
    found, given = ps.load(file), ps.load(tmp_path / f"walk{suffix}")
    assert told["frames"] == len(found) == len(walk) and told["bytes"] == file.stat().st_size
    expected = ps.SequentialIK(ps.Humanoid(given.skeleton)).track(markers(given), fps=given.fps)
    near = {".npz": 1e-12, ".bvh": 1e-4, ".glb": 1e-4}[suffix]  # what each format keeps of a number
    assert np.abs(markers(found) - markers(expected.motion)).max() < near
    assert told["frames_reached"] == int(expected.ok.sum())
    assert told["worst_error_mm"] == pytest.approx(1000 * expected.marker_errors.max(), abs=1e-3)


def test_points_of_a_csv_become_a_motion_of_a_figure_of_their_size(posable, walk: ps.Motion, tmp_path: Path):
    points = markers(walk)
    csv = written(points, tmp_path / "points.csv")
    code, out, _ = posable("reconstruct", csv, tmp_path / "out.npz", "--json", "-")
    assert code == 0
    told, motion = json.loads(out), ps.load(tmp_path / "out.npz")
    assert motion.fps == pytest.approx(60) and len(motion) == len(walk)
    assert ps.Humanoid(motion.skeleton).height == pytest.approx(ps.figure(height=1.6).height, rel=0.05)
    assert told["points_lost"] == told["frames_with_lost_points"] == 0
    assert np.linalg.norm(markers(motion) - points, axis=-1).mean() < 0.02
    exact = tmp_path / "exact.npz"
    assert posable("reconstruct", csv, exact, "--height", 1.6, "--no-fit")[0] == 0
    expected = ps.SequentialIK(ps.figure(height=1.6)).track(points, fps=60)
    np.testing.assert_allclose(markers(ps.load(exact)), markers(expected.motion), atol=1e-9)


def test_units_axes_rates_names_and_separators_are_understood(posable, walk: ps.Motion, tmp_path: Path):
    points = markers(walk)[:10]
    plain = written(points, tmp_path / "m.csv", fps=None)
    usual = ("--fps", 60, "--height", 1.6)
    assert posable("reconstruct", plain, tmp_path / "m.npz", *usual)[0] == 0
    expected = markers(ps.load(tmp_path / "m.npz"))
    other = written(points, tmp_path / "cm.csv", scale=0.01)
    turned = written(points[..., [0, 2, 1]] * (1, -1, 1), tmp_path / "z.csv")
    named = tmp_path / "names.csv"
    text = plain.read_text().replace(",", ";").replace("hips_", "Pelvis.").replace("left_hand_x", "Left Wrist X")
    named.write_text(text)
    for csv, options in ((other, ("--units", "cm")), (turned, ("--up", "z")), (named, ("--fps", 60))):
        code, _, err = posable("reconstruct", csv, tmp_path / "other.npz", "--height", 1.6, *options)
        assert code == 0, err
        np.testing.assert_allclose(markers(ps.load(tmp_path / "other.npz")), expected, atol=1e-9)


def test_lost_points_are_told_and_the_motion_stays_finite(posable, walk: ps.Motion, tmp_path: Path):
    points = markers(walk).copy()
    points[20:26, 2] = np.nan
    points[40, 0, 1] = np.nan
    code, out, _ = posable("reconstruct", written(points, tmp_path / "a.csv"), tmp_path / "a.npz", "--json", "-")
    assert code == 0
    told = json.loads(out)
    assert told["points_lost"] == 7
    motion = ps.load(tmp_path / "a.npz")
    assert len(motion) == len(walk) and motion.pose.is_finite()


def test_points_more_or_fewer_than_six_are_taken_as_the_columns_say(posable, walk: ps.Motion, tmp_path: Path):
    body = ps.Humanoid(walk.skeleton)
    places = walk.skeleton.forward(walk.pose).positions
    for names in (("head", "left_hand", "right_hand"), (*ps.MARKERS, "left_lower_arm", "right_lower_leg", "chest")):
        points = places[:, [body.index(name) for name in names]]
        csv = written(points, tmp_path / "a.csv", names=names)
        code, out, err = posable("reconstruct", csv, tmp_path / "a.npz", "--height", 1.6, "--no-fit", "--json", "-")
        assert code == 0 and json.loads(out)["points"] == list(names), err
        expected = ps.SequentialIK(ps.figure(height=1.6), markers=names).track(points, fps=60).motion
        np.testing.assert_allclose(ps.load(tmp_path / "a.npz").pose.rotations, expected.pose.rotations, atol=1e-9)
        ps.save(walk, tmp_path / "walk.npz")
        options = ("--markers", ",".join(names))
        assert posable("reconstruct", tmp_path / "walk.npz", tmp_path / "b.npz", *options)[0] == 0
        np.testing.assert_allclose(ps.load(tmp_path / "b.npz").pose.rotations, expected.pose.rotations, atol=1e-9)
    assert posable("reconstruct", csv, tmp_path / "c.npz")[0] == 0
    tall = ps.Humanoid(ps.load(tmp_path / "c.npz").skeleton).height
    assert tall == pytest.approx(ps.figure(height=1.6).height, rel=0.05)


def test_orientations_are_taken_from_columns_and_from_a_motion(posable, walk: ps.Motion, tmp_path: Path):
    body = ps.Humanoid(walk.skeleton)
    frames = walk.skeleton.forward(walk.pose)
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in ("head", "left_hand")}
    expected = ps.SequentialIK(body).track(markers(walk), fps=walk.fps, orientations=turns).motion
    ps.save(walk, tmp_path / "walk.npz")
    options = ("--orientations", "head,left_hand")
    assert posable("reconstruct", tmp_path / "walk.npz", tmp_path / "a.npz", *options)[0] == 0
    np.testing.assert_allclose(ps.load(tmp_path / "a.npz").pose.rotations, expected.pose.rotations, atol=1e-9)
    flat = {"y": markers(walk), "z": markers(walk)[..., [0, 2, 1]] * (1, -1, 1)}
    for up, points in flat.items():
        # In a world with Z up the axes of a turn change, not its angle; who stands neutrally is turned by nothing.
        given = {role: q if up == "y" else q[:, [0, 1, 3, 2]] * (1, 1, -1, 1) for role, q in turns.items()}
        lines = written(points, tmp_path / "a.csv").read_text().splitlines()
        lines[0] += "".join(f",{role}_q{part}" for role in given for part in "wxyz")
        for k in range(len(walk)):
            lines[k + 1] += "".join(f",{value!r}" for q in given.values() for value in q[k].tolist())
        (tmp_path / "a.csv").write_text("\n".join(lines))
        options = ("--height", 1.6, "--no-fit", "--up", up)
        assert posable("reconstruct", tmp_path / "a.csv", tmp_path / "b.npz", *options)[0] == 0
        np.testing.assert_allclose(ps.load(tmp_path / "b.npz").pose.rotations, expected.pose.rotations, atol=1e-7)


def test_trackers_that_are_not_on_the_joints_are_calibrated(posable, walk: ps.Motion, tmp_path: Path):
    body = ps.Humanoid(walk.skeleton)
    frames = walk.skeleton.forward(walk.pose)
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in ps.MARKERS}
    offsets = np.random.default_rng([3, 1]).uniform(-0.08, 0.08, (6, 3))
    worn = ps.Calibration(ps.MARKERS, offsets, np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)))
    worn.save(tmp_path / "me.json")
    points, turned = worn.trackers(markers(walk), turns)
    lines = written(points, tmp_path / "a.csv").read_text().splitlines()
    lines[0] += "".join(f",{role}_q{part}" for role in turned for part in "wxyz")
    for k in range(len(walk)):
        lines[k + 1] += "".join(f",{value!r}" for q in turned.values() for value in q[k].tolist())
    (tmp_path / "a.csv").write_text("\n".join(lines))
    options = ("--height", 1.6, "--no-fit", "--calibration", tmp_path / "me.json")
    code, _, err = posable("reconstruct", tmp_path / "a.csv", tmp_path / "a.npz", *options)
    assert code == 0, err
    expected = ps.SequentialIK(body).track(markers(walk), fps=walk.fps, orientations=turns).motion
    np.testing.assert_allclose(markers(ps.load(tmp_path / "a.npz")), markers(expected), atol=1e-6)
    assert posable("reconstruct", tmp_path / "a.csv", tmp_path / "b.npz", *options[3:])[0] == 0
    tall = ps.Humanoid(ps.load(tmp_path / "b.npz").skeleton).height
    assert tall == pytest.approx(ps.figure(height=1.75).height), "the figure that calibrations are made with"


def test_the_solvers_options_are_handed_on(posable, walk: ps.Motion, tmp_path: Path):
    ps.save(walk, tmp_path / "walk.npz")
    body = ps.Humanoid(walk.skeleton)
    ps.Scene().box("step", (0.4, 0.2, 0.4), (0.0, 0.1, 0.6)).save(tmp_path / "room.json")
    room = ps.Scene.load(tmp_path / "room.json").plane("floor", (0.0, 0.05, 0.0))
    calm = ps.SequentialIK(body)
    for options, expected in (
        (("--smoothing", 0.1), calm.track(markers(walk), fps=walk.fps, smoothing=0.1)),
        (("--lock-feet",), calm.track(markers(walk), fps=walk.fps, lock_feet=True)),
        (("--weights", "0,1,0.5"), ps.SequentialIK(body, (0, 1, 0.5)).track(markers(walk), fps=walk.fps)),
        (
            ("--floor", 0.05, "--scene", tmp_path / "room.json"),
            ps.SequentialIK(body, scene=room).track(markers(walk), fps=walk.fps),
        ),
        (("--method", "sik"), ps.evaluate.find_method("sik")(body, (1, 1, 0)).track(markers(walk), fps=walk.fps)),
    ):
        code, _, err = posable("reconstruct", tmp_path / "walk.npz", tmp_path / "a.npz", *options)
        assert code == 0, err
        found = ps.load(tmp_path / "a.npz").pose.rotations
        np.testing.assert_allclose(found, expected.motion.pose.rotations, atol=1e-9)


def test_a_character_of_the_same_name_in_another_folder_is_another(
    walk: ps.Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    points = load_points(written(markers(walk), tmp_path / "points.csv"))
    heights = []
    for folder, height in (("a", 1.2), ("b", 1.9)):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        ps.save(ps.samples.walk(ps.figure(height=height), duration=0.1), "body.npz")
        os.utime("body.npz", (1e9, 1e9))  # as copies keep the time of the original
        body, _ = body_for(points, None, character_of("body.npz"), None, fit=False)
        heights.append(body.markers(body.neutral_pose)[1, 1])
    assert heights[1] / heights[0] == pytest.approx(1.9 / 1.2)


def test_a_character_is_posed_and_points_are_scaled_to_it(posable, walk: ps.Motion, data_dir: Path, tmp_path: Path):
    csv = written(markers(walk), tmp_path / "a.csv")
    character = data_dir / "characters" / "CesiumMan.glb"
    code, out, _ = posable(
        "reconstruct", csv, tmp_path / "a.glb", "--body", character, "--method", "sik", "--json", "-"
    )
    assert code == 0
    told, motion = json.loads(out), ps.load(tmp_path / "a.glb")
    assert motion.skeleton.character.meshes
    found, given = markers(motion), markers(walk)
    upper, legs = told["points_scaled"]
    assert abs(upper - legs) > 0.1, "this character has short legs"
    feet = slice(4, 6)
    assert np.linalg.norm(found[:, feet] - legs * given[:, feet], axis=-1).max() < 0.02
    assert np.linalg.norm(found[:, 1] - legs * given[:, 0] - upper * (given[:, 1] - given[:, 0]), axis=-1).max() < 0.02


def folder_of(tmp_path: Path) -> Path:
    """Two motions, points, one broken file of each kind, and things that are none."""
    source = tmp_path / "in"
    (source / "deep").mkdir(parents=True)
    for name, motion in (
        ("walk.npz", ps.samples.walk(duration=0.3)),
        ("deep/box.bvh", ps.samples.boxing(duration=0.3)),
    ):
        ps.save(motion, source / name)
    written(markers(ps.samples.dance(duration=0.3)), source / "walk.csv")
    (source / "broken.bvh").write_text("HIERARCHY\nROOT")
    (source / "broken.csv").write_text("hips_x,what\n1,2\n")
    (source / "notes.txt").write_text("nothing to see")
    return source


def test_a_folder_is_done_but_for_what_cannot_be_and_a_second_call_does_the_rest(posable, tmp_path: Path):
    source, target = folder_of(tmp_path), tmp_path / "out"
    code, out, _ = posable("reconstruct", source, target, "--format", "npz", "--workers", 2)
    assert code == 1
    assert "broken.bvh" in out and "broken.csv" in out and "walk_csv.npz" in out and "what" in out
    found = sorted(str(path.relative_to(target)) for path in target.rglob("[!.]*.npz") if ".posable" not in path.parts)
    assert found == ["deep/box.npz", "walk_csv.npz", "walk_npz.npz"]
    (source / "broken.bvh").unlink()
    (source / "broken.csv").unlink()
    (target / "walk_csv.npz").unlink()
    (target / "walk_npz.npz").write_bytes(b"damaged")
    facts = tmp_path / "facts.json"
    code, out, _ = posable("reconstruct", source, target, "--format", "npz", "--workers", 1, "--json", facts)
    assert code == 0 and "walk_csv" in out
    told = json.loads(facts.read_text())
    assert (told["files"], told["done"], told["already_there"], told["failed"]) == (3, 2, 1, 0)
    assert sum(row["frames"] for row in told["rows"]) == told["frames"]
    assert len(ps.load(target / "walk_csv.npz")) and len(ps.load(target / "walk_npz.npz"))


def test_other_options_do_a_folder_again(posable, tmp_path: Path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    ps.save(ps.samples.walk(duration=0.3), source / "walk.npz")
    told = []
    for options in ((), (), ("--method", "sik"), ()):
        out = posable("reconstruct", source, target, "--workers", 1, "--json", "-", *options)[1]
        told.append(json.loads(out))
    assert [one["done"] for one in told] == [1, 0, 1, 1], "the last one finds a file that it did not write"
    assert told[0]["rows"] == told[3]["rows"]


def test_a_folder_interrupted_by_a_kill_ends_with_the_same_files(posable, tmp_path: Path):
    source = tmp_path / "in"
    source.mkdir()
    for k in range(6):
        ps.save(ps.samples.walk(ps.figure(height=1.5 + 0.02 * k), duration=2.0), source / f"{k:02d}.npz")
    target = tmp_path / "out"
    command = [sys.executable, "-m", "posable", "reconstruct", source, target, "--format", "npz", "--workers", "1"]
    driver = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    while not list(target.glob("[!.]*.npz")) and driver.poll() is None:
        time.sleep(0.005)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    code, out, _ = posable("reconstruct", source, target, "--format", "npz", "--workers", 1, "--json", "-")
    told = json.loads(out)
    assert code == 0 and told["files"] == told["done"] + told["already_there"] == 6
    whole = tmp_path / "whole"
    assert posable("reconstruct", source, whole, "--format", "npz", "--workers", 1)[0] == 0
    for k in range(6):
        assert (target / f"{k:02d}.npz").read_bytes() == (whole / f"{k:02d}.npz").read_bytes()


def test_times_that_are_not_even_are_taken_at_an_even_rate(tmp_path: Path, walk: ps.Motion):
    points = markers(walk)
    times = np.arange(len(points)) / 60.0
    uneven = times.copy()
    uneven[1:-1] += np.random.default_rng([7, 0]).uniform(-0.4, 0.4, len(times) - 2) / 60.0
    moved = np.stack([np.interp(uneven, times, column) for column in points.reshape(len(points), -1).T], axis=-1)
    path = written(moved.reshape(points.shape), tmp_path / "a.csv", fps=None)
    lines = path.read_text().splitlines()
    keep = [k for k in range(len(times)) if k not in range(30, 36)]  # six frames never arrived
    path.write_text("\n".join(["time," + lines[0], *(f"{float(uneven[k])!r},{lines[1 + k]}" for k in keep)]))
    found = load_points(path)
    assert found.notes and found.fps == pytest.approx(60, rel=0.05)
    lost = np.isnan(found.positions).any(axis=(1, 2))
    assert 3 <= lost.sum() <= 7
    # Points of a walk move at most 5 m/s, and the interpolation of an interpolation is good to a part of a frame.
    at = np.arange(len(found.positions)) / found.fps
    for k in np.flatnonzero(~lost):
        expected = [np.interp(at[k], times, column) for column in points.reshape(len(points), -1).T]
        assert np.abs(found.positions[k].ravel() - expected).max() < 5.0 / 60.0 * 0.5


def test_even_times_keep_the_points_exactly(tmp_path: Path, walk: ps.Motion):
    points = markers(walk)
    found = load_points(written(points, tmp_path / "a.csv"))
    np.testing.assert_array_equal(found.of(ps.MARKERS), points)
    assert found.fps == pytest.approx(60) and not found.notes


HEAD = ",".join(f"{name}_{axis}" for name in ps.MARKERS for axis in "xyz")
ROW = ",".join(["0.5"] * 18)


FILES = {
    "short": f"{HEAD}\n{ROW}\n1,2\n",
    "word": f"{HEAD}\n{ROW.replace('0.5', 'up', 1)}\n",
    "infinite": f"{HEAD}\n{ROW.replace('0.5', 'inf', 1)}\n",
    "column": f"{HEAD},nose_x\n",
    "twice": f"{HEAD},head_x\n",
    "lacks": HEAD.replace("head_z", "frame") + "\n",
    "none": "time,hips_x,hips_y,hips_z\n",
    "empty": f"{HEAD}\n",
    "nothing": "",
    "rate": f"{HEAD}\n{ROW}\n",
    "back": f"time,{HEAD}\n1,{ROW}\n0,{ROW}\n",
    "jump": f"time,{HEAD}\n0,{ROW}\n1,{ROW}\n2,{ROW}\n1e9,{ROW}\n",
    "still": f"time,{HEAD}\n0,{ROW}\n1,{ROW}\n",
    "unseen": f"time,{HEAD}\n0,{',' * 17}\n1,{',' * 17}\n",
    "turned": f"{HEAD},head_qw,head_qx,head_qy\n",
    "elbow": f"{HEAD},left_lower_arm_qw\n",
    "binary": "\udcff\udcfe",
}
"""Points as strangers write them, by what is wrong."""
MISTAKES = (
    ("short.csv", (), "line 3"),
    ("word.csv", (), "'up'"),
    ("infinite.csv", (), "'inf'"),
    ("column.csv", (), "nose_x"),
    ("twice.csv", (), "head_x twice"),
    ("lacks.csv", (), "lacks head_z"),
    ("none.csv", (), "no frames"),
    ("empty.csv", (), "no frames"),
    ("nothing.csv", (), "lacks"),
    ("rate.csv", (), "give --fps"),
    ("rate.csv", ("--fps", 0), "--fps 0: expected"),
    ("rate.csv", ("--fps", 60, "--units", "yard"), "yard"),
    ("rate.csv", ("--fps", 60, "--up", "x"), "'x'"),
    ("rate.csv", ("--fps", 60, "--first-frame", 5), "has 1 frames; --first-frame 5"),
    ("rate.csv", ("--fps", 60, "--first-frame", -1), "has 1 frames; --first-frame -1"),
    ("walk.npz", ("--first-frame", 99999), "--first-frame 99999: the file has"),
    ("back.csv", (), "line 3"),
    ("jump.csv", (), "line 5"),
    ("still.csv", (), "how large"),
    ("unseen.csv", (), "how large"),
    ("turned.csv", (), "lacks head_qz"),
    ("elbow.csv", (), "lower_arm_qw"),
    ("walk.npz", ("--markers", "left_hand"), "hips or the head"),
    ("walk.npz", ("--markers", "hips,nose"), "nose"),
    ("walk.npz", ("--orientations", "left_toes"), "left_toes"),
    ("walk.npz", ("--smoothing", -1), "-1"),
    ("walk.npz", ("--floor", 0, "--method", "sik"), "--floor is not for --method sik"),
    ("walk.npz", ("--lock-feet", "--method", "sik"), "--lock-feet is not for --method sik"),
    ("walk.npz", ("--scene", "no.json"), "no.json"),
    ("binary.csv", (), "not text"),
    ("nowhere.csv", (), "no such file"),
    ("walk.npz", ("--weights", "1,2"), "expected three numbers"),
    ("walk.npz", ("--weights", "0,0,0"), "weights are"),
    ("walk.npz", ("--method", "magic"), "magic"),
    ("walk.npz", ("--height", -1), "-1"),
    ("walk.npz", ("--body", "nobody.glb"), "nobody.glb"),
    ("empty", (), "no files in"),
)
"""A file, options, and what the error says."""
WRONG_USAGE = {
    "--markers",
    "--orientations",
    "--smoothing",
    "--floor",
    "--lock-feet",
    "--weights",
    "--method",
    "--height",
}
"""Options whose values are wrong here whatever the file holds: exit code 2."""


@pytest.fixture(scope="module")
def mistaken(walk: ps.Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of these, a motion and an empty folder."""
    folder = tmp_path_factory.mktemp("mistaken")
    for name, text in FILES.items():
        (folder / f"{name}.csv").write_text(text, errors="surrogateescape")
    ps.save(walk, folder / "walk.npz")
    (folder / "empty").mkdir()
    return folder


@pytest.mark.parametrize(("source", "options", "says"), MISTAKES)
def test_mistakes_are_told_in_one_line_and_nothing_is_written(
    posable, mistaken: Path, tmp_path: Path, source, options, says
):
    code, _, err = posable("reconstruct", mistaken / source, tmp_path / "out.npz", *options)
    lines = [line for line in err.splitlines() if "kernels" not in line]  # a new machine tells that it compiles
    wrong = {"--units", "--up"} & set(options) or 0 in options or ("walk.npz" in source and WRONG_USAGE & set(options))
    assert code == (2 if wrong else 1), err
    assert len(lines) == 1 and says in lines[0], err
    assert not list(tmp_path.iterdir())


def test_outputs_that_cannot_be_are_told_in_one_line(posable, mistaken: Path, tmp_path: Path):
    walking = mistaken / "walk.npz"
    for args, says in (
        ((walking, walking), "OUTPUT is INPUT"),
        ((mistaken, walking), "is a file"),
        ((mistaken, tmp_path / "made", "--format", "mov"), "mov"),
        ((mistaken, tmp_path / "made", "--engine", "spark://a:1"), "spark"),
        ((walking, tmp_path / "out.mov"), ".mov"),
    ):
        code, _, err = posable("reconstruct", *args)
        assert code == 2 and says in err and err.count("\n") == 1, (args, err)
    assert posable("reconstruct", walking, tmp_path / "out.npz", "--body", walking, "--height", 2)[0] == 2
    assert not list(tmp_path.glob("out.*")) and not list((mistaken / "empty").iterdir())

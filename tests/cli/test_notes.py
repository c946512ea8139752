"""What every command says of what it reads, and of positions in another unit."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    walk = ps.samples.walk(duration=0.4)
    ps.save(walk, folder / "walk.npz")
    ps.save(walk, folder / "walk.bvh", scale=0.01)
    lines = (folder / "walk.bvh").read_text().splitlines()
    (folder / "giant.bvh").write_text("\n".join(["HIERARCHY", *lines[1:]]))  # without the mark that tells the unit
    (folder / "points.csv").write_text(
        "\n".join(
            [",".join(f"{name}_{axis}" for name in ps.MARKERS for axis in "xyz")]
            + [",".join(map(repr, (100 * row).ravel().tolist())) for row in ps.figure().markers(walk.pose)]
        )
    )
    return folder


GIANT = "giant.bvh: its joints span 17"


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "giant.bvh", "OUT"],
        ["view", "giant.bvh", "--picture", "OUT.png", "--frames", "1"],
        ["retarget", "giant.bvh", "OUT"],
        ["retarget", "walk.npz", "OUT", "--body", "giant.bvh"],
        ["edit", "giant.bvh", "OUT", "--frame", "3", "--by", "0,1,0", "--weights", "identity"],
        ["range", "check", "right_arm", "giant.bvh", "giant.bvh"],
        ["range", "correct", "right_arm", "giant.bvh", "OUT"],
        ["reach", "OUT", "--body", "giant.bvh", "--to", "-30,120,40", "--fps", "2", "--duration", "1"],
        ["reconstruct", "giant.bvh", "OUT"],
        ["reconstruct", "walk.npz", "OUT", "--body", "giant.bvh"],
        ["evaluate", "reconstruct", "giant.bvh", "--workers", "1"],
    ],
    ids=" ".join,
)
def test_every_command_says_once_that_a_file_is_of_a_giant(posable, files: Path, tmp_path: Path, words):
    args = [files / word if (files / word).is_file() else word.replace("OUT", str(tmp_path / "out")) for word in words]
    args = [f"{arg}.npz" if arg == str(tmp_path / "out") else arg for arg in args]
    code, _, err = posable(*args)
    told = [line for line in err.splitlines() if line.startswith("note: ")]
    assert code == 0 and len(told) == 1, err
    assert "giant" in told[0] and "--scale 0.01 (centimetres)" in told[0]


def test_a_repair_is_said_and_info_says_it_among_its_facts(posable, data_dir: Path, tmp_path: Path):
    clip = data_dir / "cmu" / "09_01.bvh"
    code, _, err = posable("convert", clip, tmp_path / "a.npz")
    assert code == 0 and err == f"note: {clip.name}: {err.split(': ', 2)[2]}" and "--repair cmu mends it" in err
    code, out, err = posable("info", clip)
    assert code == 0 and err == "" and "--repair cmu mends it" in out
    code, _, err = posable("convert", clip, tmp_path / "a.npz", "--repair", "cmu")
    assert code == 0 and "thorax" in err and "--first-frame 1 drops it" in err
    code, _, err = posable("convert", clip, tmp_path / "a.npz", "--repair", "cmu", "--first-frame", 1)
    assert code == 0 and "thorax" in err and "T-pose" not in err, "it was dropped"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["edit", "--frame", "3", "--to", "-30,120,50"], "if these are centimetres, write -0.3,1.2,0.5"),
        (["edit", "--frame", "3", "--to", "300,1200,500"], "if these are millimetres, write 0.3,1.2,0.5"),
        (["edit", "--frame", "3", "--by", "0,20,10"], "if these are centimetres, write 0,0.2,0.1"),
        (["edit", "--frame", "3", "--by", "0,900000,0"], "positions are in metres"),
        (["edit", "--edits", "far.json"], "if these are centimetres, write 0.2,1.1,0.3"),
        (["reach", "--to", "-12,47,20"], "if these are inches, write -0.3048,1.194,0.508"),
        (["reach", "--to", "-30,120,50"], "if these are centimetres, write -0.3,1.2,0.5"),
        (["reach", "--targets", "far.csv"], "if these are centimetres, write 0.3,1.3,0.4"),
    ],
)
def test_a_target_far_outside_the_figure_is_refused_with_the_likely_unit(posable, files, tmp_path, words, says):
    edits = [{"warp": [{"frame": 3, "part": "left_hand", "target": [20, 110, 30]}]}]
    (files / "far.json").write_text(json.dumps({"posable": "edits", "version": 1, "edits": edits}))
    (files / "far.csv").write_text("x,y,z,hand\n-0.3,1.2,0.4,right\n30,130,40,left\n")
    out = tmp_path / "out.npz"
    first = [words[0], *([files / "walk.npz"] if words[0] == "edit" else []), out]
    code, _, err = posable(*first, *(files / word if word.startswith("far.") else word for word in words[1:]))
    assert code == 1 and says in err and " m tall" in err and err.count("\n") == 1, err
    assert not out.exists()


@pytest.mark.parametrize("by", [(0.0, 5.0, 0.0), (0.3, 0.0, 0.0)])
def test_a_way_that_may_be_meant_is_gone_and_said_where_it_is_long(posable, files, tmp_path, by):
    words = ("--frame", 3, "--by", ",".join(map(str, by)), "--weights", "identity", "--json", "-")
    code, out, err = posable("edit", files / "walk.npz", tmp_path / "a.npz", *words)
    assert code == 0 and ("if these are centimetres, write 0,0.05,0" in err) == (by[1] == 5.0)
    row = json.loads(out)["edits"][0]
    body, moved, before = ps.figure(), ps.load(tmp_path / "a.npz"), ps.load(files / "walk.npz")
    hands = [body.skeleton.forward(one[3]).positions[body.index("left_hand")] for one in (before, moved)]
    away = 1000 * np.linalg.norm(hands[0] + by - hands[1])
    assert row["position_error_mm"] == pytest.approx(away, abs=1e-3)
    assert (row["status"] == "reached") <= (away < 1.0)


def test_points_in_centimetres_are_refused_with_their_unit(posable, files, tmp_path):
    code, _, err = posable("reconstruct", files / "points.csv", tmp_path / "a.npz", "--fps", 60)
    assert code == 1 and "--units cm would make it 1.7" in err and not list(tmp_path.iterdir())


def test_points_far_away_are_said_to_be_in_metres(posable, tmp_path):
    (tmp_path / "a.csv").write_text("x,y,z\n3000,12000,5000\n")
    code, _, err = posable("express", "C", tmp_path / "a.csv", tmp_path / "b.csv")
    assert code == 0 and "positions are in metres" in err
    (tmp_path / "a.csv").write_text("x,y,z\n0.3,1.2,0.5\n")
    assert posable("express", "C", tmp_path / "a.csv", tmp_path / "b.csv")[2] == ""

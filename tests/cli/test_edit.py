"""`posable edit` and `posable retarget` as a person meets them."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    body = ps.figure()
    file = tmp_path_factory.mktemp("edit") / "walk.npz"
    ps.save(ps.samples.walk(body)[:60], file)
    return file


def position_of(motion: ps.Motion, part: str, frame: int) -> np.ndarray:
    body = ps.Humanoid(motion.skeleton)
    return body.skeleton.forward(motion[frame]).positions[body.index(part)]


@pytest.mark.parametrize("command", ["edit", "retarget"])
def test_they_have_help_with_an_example(posable, command):
    code, out, _ = posable(command, "--help")
    assert code == 0 and "Usage" in out and f"Example: posable {command}" in out


def test_a_hand_is_dragged_and_the_file_written(posable, walk, tmp_path):
    file, listed = tmp_path / "out.npz", tmp_path / "edits.json"
    words = ("--frame", 30, "--part", "left_hand", "--by", "0,0.1,0.05", "--spread", 0.3)
    code, out, _ = posable("edit", walk, file, *words, "--save-edits", listed, "--json", "-")
    assert code == 0
    facts = json.loads(out)
    assert (
        facts["edits"][0]["status"] == "reached" and facts["weights_leave_unexplained"] < facts["pseudo_inverse_leaves"]
    )
    moved = position_of(ps.load(file), "left_hand", 30) - position_of(ps.load(walk), "left_hand", 30)
    np.testing.assert_allclose(moved, (0.0, 0.1, 0.05), atol=1e-3)
    again = tmp_path / "again.npz"
    code, out, _ = posable("edit", walk, again, "--edits", listed)
    assert code == 0 and "reached" in out
    np.testing.assert_array_equal(ps.load(again).pose.rotations, ps.load(file).pose.rotations)


def test_only_the_frames_that_are_given_change(posable, walk, tmp_path):
    file = tmp_path / "out.npz"
    code, _, _ = posable("edit", walk, file, "--frame", 30, "--by", "0,0.1,0", "--frames", "26,40")
    before, after = ps.load(walk).pose.rotations, ps.load(file).pose.rotations
    changed = np.flatnonzero((before != after).any(axis=(1, 2)))
    assert code == 0 and changed[0] >= 26 and changed[-1] <= 40 and 30 in changed


def test_a_list_has_edits_warps_and_stretches(posable, walk, tmp_path):
    motion = ps.load(walk)
    target = (position_of(motion, "right_hand", 20) + np.array([0.0, 0.05, 0.0])).tolist()
    rows = [
        {"frame": 30, "part": "head", "displacement": [0.0, 0.0, 0.03], "ease": "smooth", "frames": [15, 45]},
        {"warp": [{"frame": 20, "part": "right_hand", "target": target}], "spread": 0.2},
        {"stretch": {"left_hand": 1.1}, "frame": 40, "spread": 0.1},
    ]
    listed = tmp_path / "edits.json"
    listed.write_text(json.dumps({"posable": "edits", "version": 1, "edits": rows}))
    code, out, _ = posable("edit", walk, tmp_path / "out.npz", "--edits", listed, "--json", "-")
    assert code == 0
    assert [row["edit"] for row in json.loads(out)["edits"]] == ["drag", "warp", "stretch"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("[]", "1 to"),
        ('[{"part": "head"}]', "lacks frame"),
        ('[{"frame": 1, "part": "head", "colour": 3}]', "colour"),
        ('[{"frame": 1.5, "part": "head", "displacement": [0, 0, 0]}]', "frame is 1.5"),
        ('[{"frame": 1, "part": "head", "displacement": [0, 0]}]', "3 numbers"),
        ('[{"frame": 1, "part": "head", "displacement": [0, 0, "x"]}]', "3 numbers"),
        ('[{"warp": [{"frame": 1}]}]', "frame, part and target"),
        ('[{"stretch": 3, "frame": 1}]', "parts and factors"),
        ("[3]", "expected an object"),
        ("[" * 2000, "nested too deeply; expected a list of edits"),
    ],
)
def test_a_wrong_list_is_refused_with_its_position(posable, walk, tmp_path, rows, message):
    listed = tmp_path / "edits.json"
    listed.write_text(f'{{"posable": "edits", "version": 1, "edits": {rows}}}')
    code, _, err = posable("edit", walk, tmp_path / "out.npz", "--edits", listed)
    assert code == 1 and message in err and "edits.json" in err and not (tmp_path / "out.npz").exists()


def test_an_empty_list_is_refused_in_plain_words(posable, walk, tmp_path):
    listed = tmp_path / "edits.json"
    listed.write_text("")
    code, _, err = posable("edit", walk, tmp_path / "out.npz", "--edits", listed)
    assert code == 1 and "edits.json: is empty; expected a list of edits" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to edit"),
        (("--frame", 3), "--by"),
        (("--frame", 3, "--by", "1,2"), "x,y,z"),
        (("--frame", 300, "--by", "0,0.1,0"), "frames 0 to 59"),
        (("--frame", 3, "--by", "0,0.1,0", "--frames", "2"), "--frames 2"),
        (("--frame", 3, "--by", "0,0.1,0", "--frames", "10,20"), "frame"),
        (("--frame", 3, "--by", "0,0.1,0", "--part", "tail"), "tail"),
        (("--frame", 3, "--by", "0,0.1,0", "--limits", "soft"), "limits"),
    ],
)
def test_wrong_words_are_refused(posable, walk, tmp_path, words, message):
    code, _, err = posable("edit", walk, tmp_path / "out.npz", *words)
    assert code == 1 and message in err and "Traceback" not in err


def test_a_motion_is_put_on_another_body(posable, walk, tmp_path):
    file = tmp_path / "tall.glb"
    code, out, _ = posable("retarget", walk, file, "--height", 2.0, "--json", "-")
    assert code == 0
    facts = json.loads(out)
    assert facts["leg_ratio"] == pytest.approx(2.0 / 1.75, rel=1e-3) and facts["feet_slide_mm"] < 1.0
    assert len(ps.load(file)) == 60 and {row["part"] for row in facts["parts"]} >= {"left_foot", "right_hand"}
    code, out, _ = posable("retarget", walk, tmp_path / "same.npz", "--limits", "none")
    assert code == 0 and "leg ratio" in out and "frames limited" in out
    code, _, err = posable("retarget", walk, tmp_path / "other.npz", "--limits", "soft")
    assert code == 1 and "clip" in err and not (tmp_path / "other.npz").exists()

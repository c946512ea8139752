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
    assert code == 0 and "the left hand is on target" in out
    np.testing.assert_array_equal(ps.load(again).pose.rotations, ps.load(file).pose.rotations)


def test_only_the_frames_that_are_given_change(posable, walk, tmp_path):
    file = tmp_path / "out.npz"
    code, _, _ = posable("edit", walk, file, "--frame", 30, "--by", "0,0.1,0", "--frames", "26,40")
    before, after = ps.load(walk).pose.rotations, ps.load(file).pose.rotations
    changed = np.flatnonzero((before != after).any(axis=(1, 2)))
    assert code == 0 and changed[0] >= 26 and changed[-1] <= 40 and 30 in changed


def test_pins_hold_over_their_frames_and_a_scope_leaves_the_rest_alone(posable, walk, tmp_path):
    file, words = tmp_path / "out.npz", ("--frame", 30, "--part", "left_hand", "--by", "0,0.15,0.1", "--scope")
    pins = ("--pin", "head", "--pin", "right_hand:20-40")
    code, _, _ = posable("edit", walk, file, *words, "whole", *pins)
    before, after = ps.load(walk), ps.load(file)
    assert code == 0
    for part, frames in (("head", range(60)), ("right_hand", range(20, 41))):
        moved = [position_of(after, part, frame) - position_of(before, part, frame) for frame in frames]
        assert np.linalg.norm(moved, axis=-1).max() < 1e-3
    posable("edit", walk, tmp_path / "arm.npz", *words, "limb")
    body, alone = ps.Humanoid(before.skeleton), ps.load(tmp_path / "arm.npz")
    arm = [body.index(role) for role in ("left_upper_arm", "left_lower_arm", "left_hand")]
    others = np.setdiff1d(np.arange(len(body.skeleton)), arm)
    np.testing.assert_array_equal(alone.pose.rotations[:, others], before.pose.rotations[:, others])
    assert (alone.pose.rotations[:, arm] != before.pose.rotations[:, arm]).any()
    for wrong, message in (("head:x", "head:40-60"), ("head:40-20", "before it begins"), ("head:0-99", "0 to 59")):
        code, _, err = posable("edit", walk, tmp_path / "wrong.npz", *words, "auto", "--pin", wrong)
        assert code != 0 and message in err and not (tmp_path / "wrong.npz").exists()
    code, _, err = posable("edit", walk, tmp_path / "wrong.npz", *words, "arm")
    assert code != 0 and "limb" in err


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
    told = json.loads(out)["edits"]
    assert [row["edit"] for row in told] == ["drag", "warp", "stretch"]
    # What is said is true of the file, and frames that no edit covers are as they were.
    after = ps.load(tmp_path / "out.npz")
    away = np.linalg.norm(position_of(after, "right_hand", 20) - target)
    assert (told[1]["status"] == "reached") == (away < 1e-3) and away < 0.03
    lowered = position_of(after, "head", 30) - position_of(motion, "head", 30)
    assert np.linalg.norm(lowered - (0.0, 0.0, 0.03)) < 0.02
    arm = [
        np.linalg.norm(position_of(one, "left_hand", 40) - position_of(one, "left_lower_arm", 40))
        for one in (motion, after)
    ]
    assert arm[1] / arm[0] == pytest.approx(1.1, abs=1e-6)
    np.testing.assert_array_equal(after.pose.rotations[:8], motion.pose.rotations[:8])


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
    # What depends on the motion is a failure of the job; what can never be is a wrong command line.
    depends = "frames 0 to 59" in message or message in ("frame", "tail")
    assert code == (1 if depends else 2) and message in err and "Traceback" not in err


def test_a_motion_is_put_on_another_body(posable, walk, tmp_path):
    file = tmp_path / "tall.glb"
    code, out, _ = posable("retarget", walk, file, "--height", 2.0, "--json", "-")
    assert code == 0
    facts = json.loads(out)
    assert facts["leg_ratio"] == pytest.approx(2.0 / 1.75, rel=1e-3) and facts["feet_slide_mm"] < 1.0
    assert len(ps.load(file)) == 60 and {row["part"] for row in facts["parts"]} >= {"left_foot", "right_hand"}
    tall = ps.Humanoid(ps.load(file).skeleton)
    assert tall.height == pytest.approx(2.0, rel=1e-3)
    strides = [
        np.ptp([position_of(m, "left_foot", k) for k in range(60)], axis=0)[2] for m in (ps.load(walk), ps.load(file))
    ]
    assert strides[1] / strides[0] == pytest.approx(facts["leg_ratio"], rel=0.02)
    code, out, _ = posable("retarget", walk, tmp_path / "same.npz", "--limits", "none")
    assert code == 0 and "60 frames, hands and feet where they belong" in out and "leg ratio" not in out
    code, out, _ = posable("retarget", walk, tmp_path / "same.npz", "--limits", "none", "--verbose")
    assert code == 0 and "leg ratio" in out and "frames limited" in out
    code, _, err = posable("retarget", walk, tmp_path / "other.npz", "--limits", "soft")
    assert code == 2 and "clip" in err and not (tmp_path / "other.npz").exists()


def test_pins_of_some_frames_and_empty_settings_are_taken(posable, walk, tmp_path):
    words = ("--frame", 30, "--part", "left_hand", "--by", "0,0.05,0", "--pin", "right_hand", "--pin", "head:25-35")
    listed = tmp_path / "edits.json"
    code, _, err = posable("edit", walk, tmp_path / "a.npz", *words, "--weights", "identity", "--save-edits", listed)
    assert code == 0, err
    document = json.loads(listed.read_text())
    assert document["edits"][0]["pins"] == ["right_hand", ["head", 25, 35]]
    document["edits"][0] |= {"mode": None, "ease": None, "frames": None}
    document["edits"].append({"frame": 40, "part": "head", "displacement": [0, 0.01, 0], "pins": None})
    listed.write_text(json.dumps(document))
    code, out, err = posable(
        "edit", walk, tmp_path / "b.npz", "--edits", listed, "--weights", "identity", "--json", "-"
    )
    assert code == 0 and len(json.loads(out)["edits"]) == 2, err

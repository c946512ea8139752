"""Sentences that sum up are true: what they say is computed again from the file that was written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import posable as ps

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sentences") / "walk.npz"
    ps.save(ps.samples.walk(duration=0.8), file)
    return file


def position(file: Path, frame: int, part: str) -> np.ndarray:
    motion = ps.load(file)
    body = ps.Humanoid(motion.skeleton)
    return body.skeleton.forward(motion[frame]).positions[body.index(part)]


def listed(folder: Path, *edits: dict) -> Path:
    file = folder / "edits.json"
    file.write_text(json.dumps({"posable": "edits", "version": 1, "edits": edits}))
    return file


EDIT = ("--weights", "identity")
HAND = {"frame": 20, "part": "left_hand", "displacement": [0, 0.1, 0.05]}


def test_a_part_that_a_later_edit_moves_away_is_not_said_to_be_on_target(posable, walk, tmp_path):
    out = tmp_path / "a.npz"
    edits = listed(tmp_path, HAND, {"frame": 20, "part": "hips", "displacement": [0.05, -0.05, 0]})
    code, text, err = posable("edit", walk, out, "--edits", edits, *EDIT, "--strict")
    wanted = position(walk, 20, "left_hand") + HAND["displacement"]
    away = float(np.linalg.norm(position(out, 20, "left_hand") - wanted))
    number, unit = re.search(
        r"the left hand is ([\d.]+) (\w+) from its target at frame 20 \(a later edit", text
    ).groups()
    assert code == 3 and away > 0.005, err
    assert float(number) * UNITS[unit] == pytest.approx(away, rel=0.06)


def test_two_edits_of_one_part_at_one_frame_add_up_and_are_met(posable, walk, tmp_path):
    out = tmp_path / "a.npz"
    code, text, err = posable("edit", walk, out, "--edits", listed(tmp_path, HAND, HAND), *EDIT, "--strict")
    assert code == 0 and "all 2 edits are met" in text, err
    wanted = position(walk, 20, "left_hand") + 2.0 * np.array(HAND["displacement"])
    assert np.linalg.norm(position(out, 20, "left_hand") - wanted) < 1e-3


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"key": {"neck": [0, 0.2, 0]}, "frame": 20}, "frame 20 has its new pose; frames "),
        ({"key": {"vc7": [0, 0.2, 0]}, "frame": 20}, "frame 20 has its new pose; frames "),
        ({"key": {"neck": [0, 0.2, 0]}, "frame": 20, "muted": True}, "muted, so nothing changed"),
        ({"stretch": {"left_lower_arm": 1.1}, "frame": 20}, "bones have their new lengths at frame 20"),
        ({"warp": [{"frame": 20, "part": "right_hand", "target": "HERE"}]}, "every part is on its target; frames "),
    ],
)
def test_every_kind_of_edit_of_a_list_is_made_and_summed_up(posable, walk, tmp_path, edit, says):
    if "warp" in edit:
        target = position(walk, 20, "right_hand") + np.array([0.0, 0.03, 0.02])
        edit = {"warp": [{"frame": 20, "part": "right_hand", "target": target.tolist()}]}
    code, text, err = posable("edit", walk, tmp_path / "a.npz", "--edits", listed(tmp_path, edit), *EDIT)
    assert code == 0 and says in text and "several" not in text, err + text
    before, after = ps.load(walk), ps.load(tmp_path / "a.npz")
    changed = np.flatnonzero((before.pose.rotations != after.pose.rotations).any(axis=(1, 2)))
    assert bool(len(changed)) == (not edit.get("muted")) or "stretch" in edit
    if "key" in edit and not edit.get("muted"):
        first, last = map(int, re.search(r"frames (\d+) to (\d+) changed", text).groups())
        assert first <= changed[0] <= 20 <= changed[-1] <= last


def test_an_edit_without_time_to_fade_is_said_to_jerk_and_not_to_miss(posable, walk, tmp_path):
    words = ("edit", walk, tmp_path / "a.npz", "--frame", 20, "--by", "0,0.15,0", "--spread", 0, *EDIT)
    _, text, _ = posable(*words)
    assert "0 mm from its target" not in text and "jerks at frame 20" in text


def test_limits_and_margins_are_not_counted_as_frames_brought_inside_a_range(posable, walk, tmp_path):
    out = tmp_path / "a.npz"
    facts = json.loads(posable("range", "check", "right_arm", walk, "--json", "-")[1])
    outside = facts["files"][0]["outside"]
    _, text, _ = posable("range", "correct", "right_arm", walk, out, "--margin", 15)
    changed = int((ps.load(walk).pose.rotations != ps.load(out).pose.rotations).any(axis=(1, 2)).sum())
    assert changed > outside, "else the margin asks for nothing here"
    assert f"; {changed} changed, also for a margin" in text
    brought = re.search(r"(\d+) of 49 frames brought", text)
    assert (int(brought[1]) if brought else 0) == outside


def test_a_retargeted_motion_says_which_of_its_parts_are_wrong_and_by_how_much(posable, data_dir, tmp_path):
    knight = data_dir / "characters" / "KayKit_Knight.glb"
    box = tmp_path / "box.npz"
    ps.save(ps.samples.boxing(duration=0.5), box)
    code, text, _ = posable("retarget", box, tmp_path / "a.glb", "--body", knight, "--json", tmp_path / "f.json")
    facts = json.loads((tmp_path / "f.json").read_text())
    wrong = {part["part"]: part["max_error_mm"] for part in facts["parts"]}
    assert code == 0 and ("off its position" in text) == (max(wrong.values()) > 1.0), text
    assert ("an arm is in the body" in text) == (facts["frames_arms_in_body"] > 0) and facts["frames_arms_in_body"] > 0


def test_points_a_few_millimetres_off_are_not_summed_up_as_none_met(posable, walk, tmp_path):
    body = ps.figure()
    points = body.markers(ps.load(walk).pose) + np.array([0.0, 0.0, 0.0])
    points[:, 1] += [0.0, 0.004, 0.0]  # the head, off what the neck allows
    names = [f"{role}_{axis}" for role in ps.MARKERS for axis in "xyz"]
    rows = [",".join(map(repr, row.ravel().tolist())) for row in points]
    (tmp_path / "p.csv").write_text("\n".join([",".join(names), *rows]))
    words = ("reconstruct", tmp_path / "p.csv", tmp_path / "a.npz", "--fps", 60, "--height", 1.75, "--no-fit")
    code, text, err = posable(*words)
    motion = ps.load(tmp_path / "a.npz")
    made = ps.Humanoid(motion.skeleton).markers(motion.pose)
    away = np.linalg.norm(made - points, axis=-1).max(axis=1)
    found = re.search(r"([\d.]+) (\w+) off on average, up to ([\d.]+) (\w+)", text)
    assert code == 0 and found, text + err
    assert float(found[1]) * UNITS[found[2]] == pytest.approx(away.mean(), rel=0.06)
    assert float(found[3]) * UNITS[found[4]] == pytest.approx(away.max(), rel=0.06)


def test_a_character_lists_its_animations(posable, data_dir):
    out = posable("info", data_dir / "characters" / "KayKit_Knight.glb", "--json", "-")[1]
    assert len(json.loads(out)["animations"]) == 76 and "Walking_A" in json.loads(out)["animations"]


def test_a_folder_is_named_as_it_was_typed_and_is_not_met_where_a_file_failed(posable, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("clips").mkdir()
    ps.save(ps.samples.walk(duration=0.1), "clips/a.npz")
    Path("clips/b.bvh").write_text("broken")
    code, out, _ = posable("convert", "clips", "out", "--workers", 1, "--json", "-")
    facts = json.loads(out)
    assert code == 1 and facts["summary"] == "out: 1 file converted, 1 failed" and facts["met"] is False

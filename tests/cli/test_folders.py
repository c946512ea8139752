"""Folders for `convert`, `retarget` and `edit`: all files but the broken ones; interrupted, they go on."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import posable as ps

ROOT = Path(__file__).resolve().parents[2]
JOBS = {
    "convert": ("--format", "glb"),
    "retarget": ("--format", "npz", "--height", 1.6),
    "edit": ("--format", "npz", "--frame", 8, "--by", "0,0.05,0", "--weights", "identity"),
}


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Two motions, one deeper, one of the same name with another suffix, one broken, and what is none."""
    folder = tmp_path / "clips"
    (folder / "deep").mkdir(parents=True)
    ps.save(ps.samples.walk(duration=0.3), folder / "walk.npz")
    ps.save(ps.samples.walk(duration=0.3), folder / "walk.bvh")
    ps.save(ps.samples.boxing(duration=0.3), folder / "deep" / "box.npz")
    (folder / "broken.bvh").write_text("HIERARCHY [0]")
    (folder / "notes.txt").write_text("nothing")
    (folder / ".hidden.bvh").write_text("nothing")
    return folder


def made(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*") if ".posable" not in path.parts)


@pytest.mark.parametrize("command", JOBS)
def test_a_folder_is_done_but_for_what_is_broken_and_a_second_call_does_the_rest(posable, clips, tmp_path, command):
    out, options = tmp_path / "out", (*JOBS[command], "--workers", 2)
    suffix = options[1]
    code, text, _ = posable(command, clips, out, *options)
    assert code == 1 and "3 files" in text and "1 failed" in text
    (line,) = [line for line in text.splitlines() if line.startswith("broken.bvh")]
    assert "Error: " not in line and str(clips) not in line, "in plain words, and the file once"
    assert made(out) == [f"deep/box.{suffix}", f"walk_bvh.{suffix}", f"walk_npz.{suffix}"]
    alone = tmp_path / f"alone.{suffix}"
    assert posable(command, clips / "walk.npz", alone, *options)[0] == 0
    one, other = ps.load(out / f"walk_npz.{suffix}"), ps.load(alone)
    np.testing.assert_array_equal(one.pose.rotations, other.pose.rotations)
    (clips / "broken.bvh").unlink()
    (out / f"walk_bvh.{suffix}").unlink()
    (out / f"walk_npz.{suffix}").write_bytes(b"damaged")
    code, text, _ = posable(command, clips, out, *options, "--json", "-")
    facts = json.loads(text)
    assert code == 0 and (facts["files"], facts["done"], facts["already_there"], facts["failed"]) == (3, 2, 1, 0)
    assert len(ps.load(out / f"walk_npz.{suffix}")) == 19


def test_other_settings_do_a_folder_again(posable, clips, tmp_path):
    (clips / "broken.bvh").unlink()
    told = []
    for height in (1.6, 1.6, 1.9):
        words = ("retarget", clips, tmp_path / "out", "--height", height, "--workers", 1, "--json", "-")
        told.append(json.loads(posable(*words)[1]))
    assert [one["done"] for one in told] == [3, 0, 3]
    tall = ps.Humanoid(ps.load(tmp_path / "out" / "walk_npz.bvh").skeleton)
    assert tall.height == pytest.approx(1.9, rel=1e-3)


def test_a_folder_in_which_a_target_is_missed_says_which_file(posable, clips, tmp_path):
    (clips / "broken.bvh").unlink()
    words = ("--frame", 8, "--by", "0,1.5,0", "--weights", "identity", "--workers", 1)
    code, text, _ = posable("edit", clips, tmp_path / "out", *words, "--strict")
    assert code == 3 and "not met in 3 files: " in text and "walk_bvh.bvh (edited, but the left hand is" in text


def test_an_edit_list_is_taken_and_one_that_changes_does_the_folder_again(posable, clips, tmp_path):
    (clips / "broken.bvh").unlink()
    listed = tmp_path / "edits.json"
    told = []
    for up in (0.02, 0.02, 0.04):
        rows = [{"frame": 8, "part": "head", "displacement": [0, 0, up]}]
        if not told or up == 0.04:
            listed.write_text(json.dumps({"posable": "edits", "version": 1, "edits": rows}))
        words = ("edit", clips, tmp_path / "out", "--edits", listed, "--weights", "identity", "--workers", 1)
        told.append(json.loads(posable(*words, "--json", "-")[1])["done"])
    assert told == [3, 0, 3]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("convert", "CLIPS", "OUT", "--format", "mov"), 2, "--format mov"),
        (("convert", "CLIPS", "OUT", "--workers", "0"), 2, "workers is 0"),
        (("convert", "CLIPS", "CLIPS"), 2, "OUTPUT is INPUT"),
        (("convert", "EMPTY", "OUT"), 1, "no files in"),
        (("convert", "NOWHERE", "OUT"), 1, "no such file or folder"),
        (("retarget", "CLIPS", "FILE"), 2, "is a folder and needs one"),
        (("edit", "CLIPS", "OUT", "--frame", "3", "--by", "0,0,0", "--cache", "c.npz"), 2, "--cache is for one file"),
        (("retarget", "CLIPS", "OUT", "--body", "BROKEN"), 1, "broken.bvh"),
    ],
)
def test_mistakes_come_before_any_work(posable, clips, tmp_path, words, code, says):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.npz").touch()
    names = {"CLIPS": clips, "OUT": tmp_path / "out", "EMPTY": tmp_path / "empty", "NOWHERE": tmp_path / "nowhere"}
    names |= {"FILE": tmp_path / "file.npz", "BROKEN": clips / "broken.bvh"}
    ended, _, err = posable(*(names.get(word, word) for word in words))
    assert ended == code and says in err and err.count("\n") == 1, err
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(posable, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for k in range(12):
        ps.save(ps.samples.walk(ps.figure(height=1.5 + 0.02 * k), duration=3.0), source / f"{k:02d}.npz")
    words = ["retarget", str(source), str(out), "--format", "npz", "--workers", "2"]
    # Where tests run in the background of a shell, SIGINT is ignored, by the processes they start too.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; from posable.cli import main; main()", *words]
    job = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not list(out.glob(".posable/*/*/[!.]*.npz")) and job.poll() is None:
        time.sleep(0.01)
    assert job.poll() is None, "it ended before it could be stopped"
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=120)
    assert job.returncode == 130 and "Traceback" not in err
    found = re.search(r"posable: stopped; (\d+) of 12 done and kept; the same command goes on", err)
    assert found and int(found[1]) >= 1, err
    code, text, _ = posable(*words, "--json", "-")
    facts = json.loads(text)
    assert code == 0 and facts["done"] + facts["already_there"] == 12 and facts["already_there"] >= int(found[1])

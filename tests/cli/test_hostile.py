"""Commands as a clumsy person calls them: a failure is one sentence that names the value, and leaves nothing behind."""

import json
import os
from pathlib import Path

import pytest

import posable as ps


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    walk = ps.samples.walk(duration=0.2)
    for name, motion in (("walk.npz", walk), ("walk.bvh", walk), ("none.npz", walk[:0])):
        ps.save(motion, folder / name)
    (folder / "clips").mkdir()
    ps.save(walk, folder / "clips" / "walk.npz")
    (folder / "folder").mkdir()
    (folder / "empty.bvh").touch()
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.npz")
    (folder / "garbage.npz").write_bytes(bytes(range(256)))
    (folder / "points.csv").write_text("x,y,z\n0.1,0.5,0.4\n")
    (folder / "huge.csv").write_text("x,y,z\n1e300,0,0\n")
    (folder / "text.json").write_text("hello")
    return folder


FAILED = (
    ("info empty.bvh", "is empty"),
    ("info folder", "is a folder"),
    ("info walk.bvh --first-frame -1", "--first-frame -1: the file has 13 frames"),
    ("info walk.bvh --first-frame 13", "--first-frame 13: the file has 13 frames; give a whole number from 0 to 12"),
    ("info walk.bvh --json no/where.json", "the folder 'no' does not exist"),
    ("convert walk.bvh a.npz --first-frame 99", "the file has 13 frames"),
    ("convert walk.bvh a.npz --json folder", "it is a folder"),
    ("convert walk.bvh a.npz --json /dev/stdout", "'/dev/stdout': it is not a regular file"),
    ("convert walk.bvh a.npz --json pipe", "'pipe': it is not a regular file"),
    ("convert walk.bvh pipe.npz", "it is not a regular file"),
    ("info pipe.npz", "is not a regular file"),
    ("view none.npz --picture a.png", "no frames"),
    ("reach a.npz --to -0.3,1.2,0.4 --body PANDA", "this robot has no two legs"),
    ("reach a.npz --to -0.3,1.2,0.4 --start walk.npz --frame 13", "frame 13"),
    ("reach a.npz --targets huge.csv", "the target 1e+300,0,0 is inf m from the right hand"),
    ("edit walk.npz a.npz --frame 13 --by 0,0.1,0", "frame 13 does not exist; there are frames 0 to 12"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --part LeftWrist", "did you mean 'l_wrist' or 'left_hand'?"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --pin nose", "'nose'"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --pin head:2-99", "99"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --pin nose:2-5", "'nose'"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --spread nan", "spread is nan"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --frames 5,12", "frame 3 between them"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --cache no/where.npz", "the folder 'no' does not exist"),
    ("edit PANDA a.npz --frame 0 --by 0,0.1,0", "`posable info panda.urdf --joints` lists its joints"),
    ("edit none.npz a.npz --frame 0 --by 0,0.1,0", "no frames"),
    ("retarget walk.npz a.npz --body PANDA", "panda.urdf"),
    ("range correct right_arm PANDA a.npz", "panda.urdf"),
    ("express C nowhere.csv a.csv", "nowhere.csv"),
    ("evaluate express --skeleton C --plots walk.bvh", "is a file; give a folder"),
    ("reconstruct clips out --scene text.json", "text.json"),
    ("reconstruct clips out --body garbage.npz", "garbage.npz"),
    ("reconstruct walk.npz a.npz --floor 90", "the floor at 90 m is above every point; heights are in metres"),
    ("reconstruct walk.npz a.npz --first-frame 13", "the file has 13 frames"),
)
"""A command, and what it says: the job failed, because of a file."""
WRONG_USAGE = (
    ("express C points.csv points.csv", "OUTPUT is INPUT"),
    ("info walk.bvh --up x", "up axis 'x'"),
    ("info walk.bvh --json walk.bvh", "--json and FILE are the same file"),
    ("convert walk.bvh a.npz --json a.npz", "--json and OUTPUT are the same file"),
    ("convert walk.bvh a.npz --resample nan", "--resample nan: expected frames a second"),
    ("convert clips out --resample 0", "--resample 0: expected frames a second"),
    ("convert clips out --scale 0", "--scale 0: expected"),
    ("convert clips clips/out", "lies in 'clips'"),
    ("convert walk.bvh a.xyz", "unknown suffix '.xyz'"),
    ("data fetch 09_1 --to made/here", "did you mean '09_01'?"),
    ("studio --port 99999", "--port 99999"),
    ("reach a.npz --to -0.3,1.2,0.4 --frame 3", "--frame 3 is a frame of --start"),
    ("reach a.npz --to -0.3,1.2,0.4 --scale 3", "--scale is about a file that is read; give --body FILE"),
    ("reach a.npz --to -0.3,1.2,0.4 --roles left_hand=foo", "--roles is about a file that is read"),
    ("edit walk.npz a.npz --edits edits.json --by 0,0.1,0", "--by needs --frame"),
    ("range fit walk.npz a.npz --harmonics 30", "--harmonics 30: expected 1 to 12"),
    ("range fit walk.npz a.npz --trim 2", "--trim 2"),
    ("range fit walk.npz a.npz --max-poses 0", "--max-poses 0"),
    ("express YXXZY points.csv a.csv --limits 1,-1", "low <= high"),
    ("reconstruct walk.npz a.npz --units cm", "--units cm is not for a motion"),
    ("reconstruct walk.npz a.npz --units yard", "'yard'"),
    ("view walk.bvh --picture a.png --angle nonsense", "nonsense"),
    ("reach a.npz --to -0.3,1.2,0.4 --hand LeftWrist", "LeftWrist"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --ease bouncy", "unknown ease 'bouncy'"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --mode fast", "unknown mode 'fast'"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --scope knee", "unknown scope 'knee'"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --save-edits walk.npz", "--save-edits and FILE are the same file"),
    ("edit walk.npz a.npz --frame 3 --by 0,0.1,0 --save-edits e.json --json e.json", "are the same file"),
    ("retarget walk.npz a.npz --height 175", "175 cm are 1.75"),
    ("retarget walk.npz a.npz --body walk.bvh --height 1.8", "not both"),
    ("range fit walk.npz walk.npz", "OUTPUT is INPUT"),
    ("range fit walk.npz a.bvh", "a range is written as .npz"),
    ("range fit walk.npz a.npz --harmonics 0", "--harmonics 0"),
    ("range fit walk.npz a.npz --seed -1", "--seed -1"),
    ("range fit walk.npz a.npz --limb RightWrist", "did you mean 'right_arm'?"),
    ("range correct right_arm walk.npz a.npz --margin 400", "--margin 400: expected degrees, from 0 to below 90"),
    ("range correct right_arm walk.npz a.npz --margin nan", "--margin nan"),
    ("range show right_arm --picture a.jpg", ".png"),
    ("express C points.csv a.csv --base foo", "--base foo is for a robot's file (.urdf, .xml)"),
    ("express C points.csv a.csv --limits 0,1", "has limits of its own"),
    ("express C points.csv a.csv --fps 1e308", "--fps 1e+308"),
    ("express  points.csv a.csv --fps 60", "expected a letter of A to G"),
    ("express C points.csv a.csv --json points.csv", "--json and TARGETS are the same file"),
    ("evaluate express --skeleton C --engine nonsense --store st --plots pl", "engine is 'nonsense'"),
    ("evaluate express --skeleton C --samples 9999999999999", "at most 1000000000"),
    ("evaluate express --skeleton G --sweep 1000,1000", "at most 1000000000"),
    ("evaluate reconstruct walk.npz --engine nonsense --store st --plots pl", "engine is 'nonsense'"),
    ("evaluate reconstruct walk.npz --workers 0 --plots pl", "workers is 0"),
    ("evaluate reconstruct walk.npz --method magic --plots pl --store st", "magic"),
    ("reconstruct clips out --engine nonsense", "engine is 'nonsense'"),
    ("reconstruct clips out --workers 0", "workers is 0"),
    ("reconstruct clips out --markers hips,LeftWrist", "did you mean 'left_hand'?"),
    ("reconstruct clips out --height 175", "175"),
    ("reconstruct clips walk.npz", "is a file"),
    ("reconstruct walk.npz a.npz --floor nan", "nan"),
    ("reconstruct walk.npz a.npz --smoothing 1e9", "smoothing is 1000000000.0 s; expected 0 to 60, or None"),
    ("reconstruct walk.npz a.npz --engine nonsense", "engine is 'nonsense'"),
)
"""The same: the command line was wrong, whatever the files hold."""
MISTAKES = [(*row, 1) for row in FAILED] + [(*row, 2) for row in WRONG_USAGE]


@pytest.mark.parametrize(("command", "says", "ended"), MISTAKES, ids=[command for command, _, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    posable, files, data_dir, monkeypatch, command, says, ended
):
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() if path.is_file() else b"" for path in files.rglob("*")}
    words = [str(data_dir / "robots" / "panda.urdf") if word == "PANDA" else word for word in command.split(" ")]
    code, out, err = posable(*words)
    lines = [line for line in err.splitlines() if "kernels" not in line and not line.startswith("note: panda.urdf")]
    assert code == ended and out == "" and len(lines) == 1 and lines[0].startswith("posable: "), (code, out, err)
    assert says in lines[0], err
    assert {path: path.read_bytes() if path.is_file() else b"" for path in files.rglob("*")} == before


def test_clips_that_cannot_be_measured_are_listed_and_fail(posable, files, monkeypatch):
    monkeypatch.chdir(files)
    code, out, _ = posable("evaluate", "reconstruct", "none.npz", "--workers", 1)
    assert code == 1 and "has no frames" in out


def test_a_picture_says_how_many_frames_it_has(posable, files, tmp_path):
    code, out, _ = posable("view", files / "walk.npz", "--picture", tmp_path / "a.png", "--frames", 1000)
    assert code == 0 and "13 frames of walk.npz" in out


def test_numbers_that_are_not_finite_are_null_in_json(posable, files, tmp_path):
    (tmp_path / "a.csv").write_text("x,y,z\n,,\n")
    code, out, err = posable("express", "C", tmp_path / "a.csv", tmp_path / "b.json", "--json", "-")
    assert code == 0, err
    facts = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert facts["frames_without_target"] == 1 and facts["reached"] == 0.0 and facts["worst_aim_degrees"] is None
    text = (tmp_path / "b.json").read_text()
    written = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert written["aim_degrees"] == [None]

"""How commands end: one sentence, the numbers where they are asked for, an exit code; and what help says."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import posable as ps
from posable.cli.app import app
from posable.cli.ending import length, listed


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("ending") / "walk.npz"
    ps.save(ps.samples.walk(duration=0.4), file)
    return file


def hand(motion: ps.Motion, part: str) -> np.ndarray:
    body = ps.Humanoid(motion.skeleton)
    return body.skeleton.forward(motion.pose).positions[:, body.index(part)]


COMMANDS = {
    "reach OUT.npz --to -0.3,1.2,0.5 --fps 20": "reached; 22 frames, all met",
    "convert WALK OUT.bvh": "25 frames at 60 a second",
    "retarget WALK OUT.npz --height 1.6": "25 frames, hands and feet where they belong",
    "edit WALK OUT.npz --frame 12 --by 0,0.05,0 --weights identity": "the left hand is on target",
    "reconstruct WALK OUT.npz": "25 frames from 6 points, all met",
    "angles WALK OUT.csv --part left_knee": "left_lower_leg.flexion from ",
    "plot WALK OUT.png": "4 angles over 25 frames",
    "range show left_leg": "the range of a left leg, learned from ",
    "range check left_leg WALK": "inside its range in all 25 frames",
    "range correct left_leg WALK OUT.npz": "all 25 frames were inside the range",
    "express C POINTS OUT.csv": "aims within 1 degree in its frame",
    "evaluate reconstruct WALK --workers 1": "1 clip measured",
    "info WALK": "walk.npz: a person, 25 frames at 60 a second",
    "data list": "of the CMU database and 4 robots",
}
"""Every command that ends, and what it says in one sentence."""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_sums_up_in_one_sentence_that_json_has_too(posable, walk, tmp_path, command):
    (tmp_path / "points.csv").write_text("x,y,z\n0.1,1.9,0.4\n")
    names = {"WALK": walk, "POINTS": tmp_path / "points.csv"}
    words = [names.get(word, tmp_path / word if word.startswith("OUT") else word) for word in command.split()]
    code, out, err = posable(*words)
    assert code == 0 and COMMANDS[command] in out, err
    assert not re.search(r"\b[0-9a-f]{16}", out.replace(str(tmp_path), "")), "no hashes"
    code, out, err = posable(*words, "--json", "-")
    facts = json.loads(out)
    assert code == 0 and COMMANDS[command] in facts["summary"] and facts["met"] is True, err


def test_short_commands_print_nothing_but_the_sentence(posable, walk, tmp_path):
    for words in (("retarget", walk, tmp_path / "a.npz"), ("reach", tmp_path / "b.npz", "--to", "-0.3,1.2,0.5")):
        code, out, err = posable(*words)
        assert code == 0 and err == "" and out.count("\n") == 1
        assert posable(*words, "-v")[1].count("\n") > 5


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("-0.3,1.2,0.5", "reached; "),
        ("-0.3,1.3,2", r"stopped [\d.]+ (c?m) short: out of reach from frame \d+ on"),
    ],
)
def test_a_reach_says_how_far_it_came_and_from_where_on_it_did_not(posable, tmp_path, to, says):
    out = tmp_path / "a.npz"
    code, text, _ = posable("reach", out, "--to", to)
    assert code == 0 and re.search(says, text), text
    motion, target = ps.load(out), np.array([float(x) for x in to.split(",")])
    away = np.linalg.norm(hand(motion, "right_hand")[-1] - target)
    strict = posable("reach", out, "--to", to, "--strict")[0]
    assert strict == (0 if away < 1e-6 else 3), "the exit code says so, and the file is written"
    if away > 1e-6:
        number, unit = re.search(r"stopped ([\d.]+) (\w+) short", text).groups()
        assert float(number) * {"m": 1.0, "cm": 0.01}[unit] == pytest.approx(away, rel=0.05)
        # The hand goes straight until the frame that is named, and no longer after it.
        since = int(re.search(r"from frame (\d+)", text)[1])
        path = hand(motion, "right_hand")
        ahead = (target - path[0]) / np.linalg.norm(target - path[0])
        off = np.linalg.norm(path - path[0] - ((path - path[0]) @ ahead)[:, None] * ahead, axis=-1)
        assert off[:since].max() < 1e-9 and since > 10


def test_the_first_command_of_the_readme_reaches_in_every_frame(posable, tmp_path):
    code, out, _ = posable("reach", tmp_path / "grasp.glb", "--to", "-0.3,0.5,0.6", "--strict")
    assert code == 0 and "reached; 71 frames, all met" in out


def test_what_touches_is_named_with_both_parts(posable, tmp_path):
    ps.Scene().box("crate", (0.4, 0.4, 0.4), (-0.3, 1.2, 0.5)).save(tmp_path / "room.json")
    words = ("reach", tmp_path / "a.npz", "--to", "-0.3,1.2,0.5", "--scene", tmp_path / "room.json")
    code, out, _ = posable(*words, "--strict")
    assert code == 3 and re.search(r"right [\w ]+ touches crate from frame \d+ on", out), out


def test_what_touches_on_the_way_is_said_though_the_target_is_reached(posable, tmp_path):
    code, out, _ = posable("reach", tmp_path / "a.npz", "--to", "0.2,0.6,0.6", "--strict")
    assert code == 3 and "reached, but on the way from frame" in out and " at right " in out, out


def test_both_hands_reach_at_once(posable, tmp_path):
    right, left = (-0.25, 1.1, 0.45), (0.2, 1.2, 0.5)
    words = ("reach", tmp_path / "a.npz", "--to", ",".join(map(str, right)), "--other-to", ",".join(map(str, left)))
    code, out, err = posable(*words, "--hand", "right")
    assert code == 0 and "reached" in out, err
    motion = ps.load(tmp_path / "a.npz")
    for part, target in (("right_hand", right), ("left_hand", left)):
        path = hand(motion, part)
        assert np.linalg.norm(path[-1] - target) < 1e-9 and np.linalg.norm(path[-2] - target) > 1e-9, "together"
    (tmp_path / "both.csv").write_text(
        f"x,y,z,hand,together\n{right[0]},{right[1]},{right[2]},right,\n{left[0]},{left[1]},{left[2]},left,yes\n"
    )
    code, _, err = posable("reach", tmp_path / "b.npz", "--targets", tmp_path / "both.csv")
    assert code == 0, err
    np.testing.assert_array_equal(ps.load(tmp_path / "b.npz").pose.rotations, motion.pose.rotations)
    code, _, err = posable(*words, "--other-to", "0,1,1")
    assert code == 2 and "2 times --other-to and 1 times --to" in err


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("right,yes", "the target before it"),
        ("right,no\n0,1,0.4,right,yes", "the target before it"),
        ("right,no\n0,1,0.4,left,maybe", "together is 'maybe'"),
    ],
)
def test_targets_that_cannot_be_together_are_refused(posable, tmp_path, rows, says):
    (tmp_path / "both.csv").write_text(f"x,y,z,hand,together\n0,1,0.4,{rows}\n")
    code, _, err = posable("reach", tmp_path / "b.npz", "--targets", tmp_path / "both.csv")
    assert code == 1 and says in err and not (tmp_path / "b.npz").exists()


def test_retarget_repeats_what_info_knows_of_a_file(posable, data_dir, tmp_path):
    code, out, _ = posable("retarget", data_dir / "cmu" / "09_01.bvh", tmp_path / "a.npz", "--strict")
    assert code == 3 and "09_01.bvh is 17.7 times as large as the body" in out and "--repair cmu mends it" in out
    words = ("--repair", "cmu", "--first-frame", 1, "--strict")
    code, out, _ = posable("retarget", data_dir / "cmu" / "09_01.bvh", tmp_path / "a.npz", *words)
    assert "as large as" not in out


def test_a_character_with_another_skeleton_is_pointed_to_retarget(posable, walk, data_dir, tmp_path):
    character = data_dir / "characters" / "CesiumMan.glb"
    code, _, err = posable("convert", walk, tmp_path / "a.glb", "--character", character)
    said = "`posable retarget walk.npz a.glb --body CesiumMan.glb` puts a motion on another skeleton"
    assert code == 1 and said in err and not (tmp_path / "a.glb").exists()
    assert posable("retarget", walk, tmp_path / "a.glb", "--body", character)[0] == 0


@pytest.mark.parametrize(
    ("metres", "text"), [(0.0003, "0.3 mm"), (0.0999, "10 cm"), (0.12, "12 cm"), (0.998, "0.998 m"), (1.664, "1.66 m")]
)
def test_lengths_are_written_as_people_say_them(metres, text):
    assert length(metres) == text


def test_lists_are_written_as_people_say_them():
    assert [listed(list("abcde")[:count]) for count in range(6)] == [
        *("", "a", "a and b", "a, b and c", "a, b, c and 1 more", "a, b, c and 2 more")
    ]


def test_the_command_alone_says_where_to_begin(posable):
    code, out, err = posable()
    assert code == 0 and err == ""
    for line in ("posable studio", "posable reach grasp.glb --to", "posable --help"):
        assert line in out
    named = set(re.findall(r"^  posable (\w+)", out, re.M))
    assert named <= set(typer.main.get_command(app).commands), "only commands that exist"


def every_command() -> list[list[str]]:
    """The words of every command and group."""
    found, waiting = [], [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        found.append(words)
        waiting += [([*words, name], one) for name, one in getattr(command, "commands", {}).items()]
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help_has_an_example_and_types_as_people_write_them(posable, words):
    code, out, _ = posable(*words, "--help", columns=200)
    assert code == 0 and "Example: posable" in out
    for word in ("<str>", "<float>", "<int>", "<bool>", "<path>", "TEXT", "FLOAT", "INTEGER"):
        assert word not in out, word
    for line in re.findall(r"Example: (posable .*?)\s*$", out, re.M):
        name = line.split()[1] if not words or line.split()[1] == words[0] else None
        assert name in typer.main.get_command(app).commands, line


@pytest.mark.parametrize("columns", [100, 200])
def test_help_wraps_with_the_terminal(posable, columns):
    out = posable("reconstruct", "--help", columns=columns)[1]
    text = out[out.index("A CSV has a line") : out.index("─ Arguments")]
    lines = [line.rstrip() for line in text.splitlines() if line.strip(" ╭")]
    words = " ".join(lines).split()
    for line, after in itertools.pairwise(lines):
        assert len(line) + 1 + len(after.split()[0]) > columns - 4, "a line ends where the next word does not fit"
    assert "reported while the rest is done." in " ".join(words)


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help_in_a_narrow_terminal_cuts_no_name_short(posable, words):
    code, out, _ = posable(*words, "--help", columns=40)
    wide = posable(*words, "--help", columns=200)[1]
    assert code == 0 and "\u2026" not in out
    for option in set(re.findall(r"--[a-z][a-z-]+", wide)):
        assert option in out, option
    assert max(len(line) for line in out.splitlines() if " " in line.strip()) <= 40


WAITS = """
import time
from posable.cli import app
from posable.compute import atomic_write

@app.app.command()
def wait() -> None:
    with atomic_write("whole.txt") as half:
        half.write_text("half")
        print("writing", flush=True)
        time.sleep(100)

app.run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_command_that_is_terminated_leaves_nothing_half_written(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", WAITS, "wait"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "writing\n"
    assert list(tmp_path.iterdir())
    child.terminate()
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in err
    assert not list(tmp_path.iterdir())

"""`posable reach` as a person meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps


def hand(motion: ps.Motion, part: str = "right_hand") -> np.ndarray:
    """(F, 3) where a hand is in a motion of any body."""
    body = ps.Humanoid(motion.skeleton)
    return body.skeleton.forward(motion.pose).positions[:, body.index(part)]


def test_it_has_help_with_an_example(posable):
    code, out, _ = posable("reach", "--help")
    assert code == 0 and "Usage" in out and "Example: posable reach" in out


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_the_hand_goes_through_its_targets_in_the_file_written(posable, tmp_path: Path, suffix: str):
    file = tmp_path / f"reach{suffix}"
    goals = [(-0.3, 1.2, 0.5), (-0.2, 0.9, 0.45)]
    words = [word for goal in goals for word in ("--to", ",".join(map(str, goal)))]
    code, out, _ = posable("reach", file, *words, "--hold", 0.2, "--fps", 30, "--json", "-")
    assert code == 0
    told = json.loads(out)
    motion = ps.load(file)
    assert told["frames"] == len(motion) and motion.fps == pytest.approx(30, rel=1e-4)
    assert told["frames_off_the_path"] == 0 and told["bytes"] == file.stat().st_size
    near = {".npz": 1e-9, ".bvh": 1e-4, ".glb": 1e-4}[suffix]  # what each format keeps of a number
    for goal, row in zip(goals, told["targets"], strict=True):
        assert row["status"] == "reached"
        frame = round(row["arrives_s"] * 30)
        assert np.linalg.norm(hand(motion)[frame : frame + 7] - goal, axis=-1).max() < near


def test_one_sentence_sums_up_and_every_number_is_written_as_json(posable, tmp_path: Path):
    facts = tmp_path / "facts.json"
    far = ("reach", tmp_path / "far.npz", "--to", "-0.3,1.3,2.5", "--fps", 10)
    code, out, _ = posable(*far, "--json", facts)
    assert code == 0 and out.count("\n") == 1 and out.startswith(str(tmp_path / "far.npz"))
    code, out, _ = posable(*far, "--verbose")
    assert code == 0 and "unreachable" in out and "-0.3 1.3 2.5" in out
    told = json.loads(facts.read_text())
    assert told["targets"][0]["status"] == "unreachable" and told["first_of_them_at_seconds"] > 0


CSV = "x, y, z, hand, hold\n-0.3, 1.2, 0.5, right, 0.1\n0.3, 1.3, 0.4, left, \n"
JSON = '[{"x": -0.3, "y": 1.2, "z": 0.5, "hand": "right", "hold": 0.1}, {"x": 0.3, "y": 1.3, "z": 0.4, "hand": "left"}]'


@pytest.mark.parametrize(("name", "text"), [("goals.csv", CSV), ("goals.json", JSON)])
def test_targets_come_from_a_file_for_either_hand(posable, tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    file = tmp_path / "both.npz"
    code, out, _ = posable("reach", file, "--targets", tmp_path / name, "--duration", 0.5, "--fps", 20, "--json", "-")
    assert code == 0
    motion = ps.load(file)
    assert len(motion) == 1 + 10 + 2 + 10
    assert [row["hand"] for row in json.loads(out)["targets"]] == ["right", "left"]
    assert np.linalg.norm(hand(motion)[10:] - (-0.3, 1.2, 0.5), axis=-1).max() < 1e-9
    assert np.linalg.norm(hand(motion, "left_hand")[-1] - (0.3, 1.3, 0.4)) < 1e-9


def test_an_orientation_is_written_as_four_numbers_more(posable, tmp_path: Path):
    turn = "0.76,-0.65,0,0"  # pointing ahead
    code, out, _ = posable("reach", tmp_path / "a.npz", "--to", f"-0.25,1.25,0.5,{turn}", "--fps", 20, "--json", "-")
    assert code == 0 and json.loads(out)["targets"][0]["status"] == "reached"
    (tmp_path / "a.csv").write_text(f"x,y,z,qw,qx,qy,qz\n-0.25,1.25,0.5,{turn}\n")
    code, _, _ = posable("reach", tmp_path / "b.npz", "--targets", tmp_path / "a.csv", "--fps", 20)
    assert code == 0
    first, second = (ps.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.testing.assert_array_equal(first.pose.rotations, second.pose.rotations)


def test_it_begins_in_a_frame_of_a_motion_of_the_same_or_another_body(posable, tmp_path: Path):
    dance = ps.samples.dance(ps.figure(height=1.6), duration=2.0)
    ps.save(dance, tmp_path / "dance.npz")
    ps.save(ps.samples.walk(ps.figure(height=1.9), duration=0.1), tmp_path / "tall.npz")
    begin = ("--start", tmp_path / "dance.npz", "--frame", -1, "--to=-0.3,1.1,0.4", "--fps", 10)
    assert posable("reach", tmp_path / "a.npz", *begin)[0] == 0
    np.testing.assert_allclose(ps.load(tmp_path / "a.npz").pose.rotations[0], dance[-1].rotations, atol=1e-12)
    assert posable("reach", tmp_path / "b.npz", "--body", tmp_path / "tall.npz", *begin)[0] == 0
    other = ps.load(tmp_path / "b.npz")
    tall = ps.Humanoid(other.skeleton)
    assert tall.height == pytest.approx(ps.figure(height=1.9).height)
    posture = ps.Humanoid(dance.skeleton).canonical(dance[-1])
    np.testing.assert_allclose(tall.canonical(other[0]).rotation("chest"), posture.rotation("chest"), atol=1e-6)


def test_a_character_keeps_its_skin(posable, data_dir: Path, tmp_path: Path):
    character = data_dir / "characters" / "CesiumMan.glb"
    code, out, _ = posable("reach", tmp_path / "a.glb", "--body", character, "--to", "-0.3,1,0.3", "--json", "-")
    assert code == 0 and json.loads(out)["targets"][0]["status"] == "reached"
    motion = ps.load(tmp_path / "a.glb")
    assert motion.skeleton.character.meshes
    assert np.linalg.norm(hand(motion)[-1] - (-0.3, 1.0, 0.3)) < 1e-4


def test_behaviours_come_by_name_or_from_a_file_for_either_hand(posable, tmp_path: Path):
    ps.Behaviour.example("tired").save(tmp_path / "mine.json")
    low = ("--to", "0.3,0.7,0.4", "--hand", "left", "--fps", 10, "--duration", 0.5)
    for name, behaviour in (("a", "tired"), ("b", tmp_path / "mine.json"), ("c", "normal")):
        assert posable("reach", tmp_path / f"{name}.npz", "--behaviour", behaviour, *low)[0] == 0
    a, b, c = (ps.load(tmp_path / f"{name}.npz").pose for name in "abc")
    np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-9)
    assert np.abs(a.rotations - c.rotations).max() > 0.01


def test_durations_come_from_a_speed_or_fitts_law(posable, tmp_path: Path):
    seconds = {}
    for name, options in {"usual": (), "fast": ("--speed", 1.2), "small": ("--width", 0.01)}.items():
        options = (*options, "--to", "-0.3,1.2,0.5", "--fps", 50, "--json", "-")
        seconds[name] = json.loads(posable("reach", tmp_path / "a.npz", *options)[1])["seconds"]
    assert seconds["fast"] == pytest.approx(0.5 * seconds["usual"], abs=0.021)
    assert seconds["small"] == pytest.approx(0.1 + 0.1 * np.log2(2 * 0.6 * seconds["usual"] / 0.01), abs=0.021)


def test_mistakes_are_told_in_one_line_and_nothing_is_written(posable, tmp_path: Path):
    out = tmp_path / "out.bvh"
    files = {
        "short.csv": "x,y,z\n1,2\n",
        "word.csv": "x,y,z\n1,2,up\n",
        "turned.csv": "x,y,z,qw\n1,2,3,1\n",
        "column.csv": "x,y,z,speed\n1,2,3,4\n",
        "empty.csv": "x,y,z\n",
        "hand.json": '[{"x": 1, "y": 2, "z": 3, "hand": "both"}]',
        "broken.json": '[{"x": 1,',
        "nothing.json": "\n",
        "nested.json": '[{"x": [1]}]',
        "targets.txt": "1 2 3",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ps.save(ps.samples.walk(duration=0.1), tmp_path / "walk.npz")
    to = ("--to", "-0.3,1.2,0.5")
    for args, says in (
        ((), "nothing to reach"),
        (("--to", "1,2"), "expected x,y,z"),
        (("--to", "1,2,nan"), "expected x,y,z"),
        ((*to, "--hand", "both"), "'right', 'left'"),
        ((*to, "--behaviour", "angry"), "angry"),
        ((*to, "--duration", -1), "takes -1.0 s"),
        ((*to, "--duration", 1, "--width", 0.1), "not both"),
        ((*to, "--speed", 0), "--speed is 0.0"),
        ((*to, "--hold", -1), "hold is -1.0"),
        ((*to, "--fps", 0), "fps is 0.0"),
        ((*to, "--gaze", 2), "gaze is 2.0"),
        ((*to, "--start", tmp_path / "walk.npz", "--frame", 99), "frame 99"),
        ((*to, "--body", tmp_path / "nobody.bvh"), "no such file"),
        (("--targets", tmp_path / "nowhere.csv"), "nowhere.csv"),
        (("--targets", tmp_path / "short.csv"), "line 2"),
        (("--targets", tmp_path / "word.csv"), "'up'"),
        (("--targets", tmp_path / "turned.csv"), "lacks qx, qy, qz"),
        (("--targets", tmp_path / "column.csv"), "speed"),
        (("--targets", tmp_path / "empty.csv"), "no targets"),
        (("--targets", tmp_path / "hand.json"), "both"),
        (("--targets", tmp_path / "broken.json"), "ends too early; expected a JSON list"),
        (("--targets", tmp_path / "nothing.json"), "is empty; expected a JSON list of targets"),
        (("--targets", tmp_path / "nested.json"), "[0]"),
        (("--targets", tmp_path / "targets.txt"), ".csv"),
    ):
        code, _, err = posable("reach", out, *args)
        from_file = "--targets" in args or says in ("frame 99", "no such file")
        assert code == (1 if from_file else 2) and says in err and err.count("\n") == 1, (args, err)
        assert not out.exists()
    code, _, err = posable("reach", tmp_path / "out.mov", *to)
    assert code == 2 and ".mov" in err


CRATE = {"kind": "box", "name": "crate", "size": [0.4, 0.4, 0.4], "position": [-0.3, 1.2, 0.5]}
CUP = {"kind": "sphere", "name": "cup", "radius": 0.04, "position": [-0.3, 1.2, 0.57]}


def scene_file(folder: Path, obstacle: dict) -> Path:
    file = folder / "scene.json"
    file.write_text(json.dumps({"format": "posable-scene/1", "obstacles": [obstacle]}))
    return file


@pytest.mark.parametrize(("obstacle", "touched"), [(CRATE, "collision"), (CUP, "reached")])
def test_a_scene_is_kept_out_of_but_for_what_the_hand_may_touch(posable, tmp_path: Path, obstacle: dict, touched: str):
    words = ("reach", tmp_path / "a.npz", "--to", "-0.3,1.2,0.5", "--fps", 10, "--json", "-")
    scene = ("--scene", scene_file(tmp_path, obstacle))
    told = [
        json.loads(posable(*words, *more)[1])["targets"][0]["status"]
        for more in ((), scene, (*scene, "--allowed-contact", obstacle["name"]))
    ]
    assert told == ["reached", "collision", touched]  # a forearm may not be in the crate


@pytest.mark.parametrize(
    ("obstacle", "more", "told"),
    [
        (CRATE, ("--allowed-contact", "cup"), "--scene"),
        ({**CRATE, "size": [1, 1]}, ("--scene", "scene.json"), "obstacles[0].size"),
        (CRATE, ("--scene", "scene.json", "--allowed-contact", "mug"), "crate"),
        (CRATE, ("--scene", "missing.json"), "missing.json"),
    ],
)
def test_a_scene_that_cannot_be_meant_is_told(posable, tmp_path: Path, monkeypatch, obstacle, more, told):
    monkeypatch.chdir(tmp_path)
    scene_file(tmp_path, obstacle)
    code, out, err = posable("reach", tmp_path / "out.npz", "--to", "-0.3,1.2,0.5", *more)
    assert code != 0 and told in out + err and not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize(("text", "least"), [("fist", 1.0), ("ball:0.03", 0.4)])
def test_the_hand_that_reaches_takes_a_shape_on_its_way(posable, tmp_path: Path, text: str, least: float):
    file = tmp_path / "fist.glb"
    code, _, _ = posable("reach", file, "--to", "0.3,1.2,0.45", "--hand", "left", "--fps", 30, "--hand-shape", text)
    assert code == 0
    motion = ps.load(file)
    body = ps.Humanoid(motion.skeleton)
    bends = {
        side: ps.math.angle(ps.HandShape.of(body, motion.pose, side).rotations, [1.0, 0.0, 0.0, 0.0])[:, 6]
        for side in ("left", "right")
    }
    assert bends["left"][0] < 0.01 and bends["left"][-1] > least and np.abs(np.diff(bends["left"])).max() < 0.3
    assert bends["right"].max() < 0.01


@pytest.mark.parametrize("text", ["fists", "ball:x", "ball:-1", "cube:0.1", "ball:nan", ""])
def test_a_shape_of_a_hand_that_cannot_be_meant_is_a_sentence(posable, tmp_path: Path, text: str):
    code, _, err = posable("reach", tmp_path / "out.glb", "--to", "0.3,1.2,0.45", "--hand-shape", text)
    assert code != 0 and len(err.strip().splitlines()) == 1 and not (tmp_path / "out.glb").exists()

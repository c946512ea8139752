"""The command line as a person and a script meet it: output, files, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.text import Text

import posable as ps
from posable.cli.app import app


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.bvh"
    ps.save(ps.samples.walk(duration=0.5), path)
    return path


@pytest.mark.parametrize(
    "command", [[], ["info"], ["view"], ["convert"], ["data", "list"], ["data", "fetch"], ["bench"], ["studio"]]
)
def test_every_command_has_help_with_an_example(posable, command: list[str]):
    code, out, _ = posable(*command, "--help")
    assert code == 0
    assert "Usage" in out
    if command:
        assert "Example: posable" in out


def test_no_help_loses_words_in_brackets():
    """`rich` reads "[degrees]" as a style and shows nothing of it."""
    commands = [typer.main.get_command(app)]
    texts = []
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        texts += [
            command.help or "",
            command.epilog or "",
            *(getattr(one, "help", None) or "" for one in command.params),
        ]
    assert len(texts) > 100
    for text in texts:
        assert Text.from_markup(text).plain == text


def test_the_version_is_told(posable):
    assert posable("--version")[:2] == (0, f"posable {ps.__version__}\n")


def test_info_says_what_of_a_robot_was_taken_for_what(posable, data_dir: Path, tmp_path: Path):
    robot = data_dir / "robots" / "mjcf" / "t1" / "t1_mjx_feetonly.xml"
    _, said, _ = posable("info", robot, "--json", tmp_path / "t1.json")
    for words in ("a humanoid robot", "left_lower_arm: Left_Elbow_Yaw", "no wrists", "0.223 x 0.100 m"):
        assert words in said
    facts = json.loads((tmp_path / "t1.json").read_text())
    assert facts["body"]["hips"] == "Waist"
    assert facts["body"]["head"] == "AAHead_yaw, Head_pitch"
    _, pepper, _ = posable("info", data_dir / "robots" / "pepper.urdf")
    assert "not recognised" in pepper
    assert "no two legs" in pepper


def test_info_tells_what_is_in_a_file_and_writes_the_same_as_json(posable, walk: Path, tmp_path: Path):
    facts = tmp_path / "facts.json"
    code, out, _ = posable("info", walk, "--joints", "--json", facts)
    assert code == 0
    told = json.loads(facts.read_text())
    motion = ps.load(walk)
    assert told["frames"] == len(motion) and told["joints"] == len(motion.skeleton)
    assert told["fps"] == pytest.approx(motion.fps)
    assert told["body"]["left_hand"] in motion.skeleton.names
    assert str(len(motion)) in out and "left_hand" in out
    assert all(name in out for name in motion.skeleton.names)


def test_json_can_go_to_the_terminal_alone(posable, walk: Path):
    code, out, _ = posable("info", walk, "--json", "-")
    assert code == 0
    assert json.loads(out)["file"] == str(walk)


def test_convert_puts_a_motion_on_a_character(posable, data_dir: Path, tmp_path: Path):
    character = data_dir / "characters" / "CesiumMan.glb"
    bare, worn = tmp_path / "bare.npz", tmp_path / "worn.glb"
    assert posable("convert", character, bare)[0] == 0
    assert posable("convert", bare, worn, "--character", character)[0] == 0
    assert ps.load(worn).skeleton.character.meshes and ps.load(bare).skeleton.character is None


def test_convert_keeps_the_motion(posable, walk: Path, tmp_path: Path):
    there, back = tmp_path / "walk.glb", tmp_path / "back.bvh"
    assert posable("convert", walk, there)[0] == 0
    assert posable("convert", there, back)[0] == 0
    first, second = ps.load(walk), ps.load(back)
    assert len(first) == len(second) and first.fps == pytest.approx(second.fps)
    names = [name for name in first.skeleton.names if name in second.skeleton.names]
    assert len(names) == len(first.skeleton)
    a = first.skeleton.forward(first.pose).positions
    b = second.skeleton.forward(second.pose).positions[
        :, [second.skeleton.index(name) for name in first.skeleton.names]
    ]
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_convert_can_resample_and_cut(posable, walk: Path, tmp_path: Path):
    out = tmp_path / "slow.npz"
    code, text, _ = posable("convert", walk, out, "--first-frame", 5, "--resample", 15, "--json", "-")
    assert code == 0
    facts = json.loads(text)
    assert facts["fps"] == 15
    assert facts["frames"] == len(ps.load(out)) == int((len(ps.load(walk)) - 6) / 60 * 15 + 1e-6) + 1


def test_a_picture_can_be_drawn_without_a_screen(posable, walk: Path, tmp_path: Path):
    picture = tmp_path / "walk.png"
    code, _, _ = posable("view", walk, "--picture", picture, "--frames", 3)
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["info", "nowhere.bvh"], 1, "no such file"),
        (["info", "notes.txt"], 1, "unknown suffix '.txt'"),
        (["info", "."], 1, "is a folder"),
        (["info", "empty.glb"], 1, "is empty"),
        (["convert", "WALK", "out.xyz"], 2, "known: .bvh, .npz, .glb, .gltf, .vrm"),
        (["convert", "WALK", "WALK"], 2, "OUTPUT is INPUT"),
        (["convert", "WALK", "out.glb", "--scale", "1e300"], 2, "--scale 1e+300"),
        (["convert", "WALK", "out.glb", "--resample", "1e300"], 2, "at most 100000"),
        (["convert", "WALK", "out.bvh", "--character", "a.glb"], 1, "option --character a.glb is not for saving BVH"),
        (["view", "WALK", "--picture", "no/where.png"], 1, "does not exist"),
        (["view", "WALK", "--picture", "walk.jpg"], 2, "walk.jpg"),
        (["studio", "nowhere.bvh"], 1, "no such file"),
        (["convert", "WALK", "out.amc"], 2, "read only"),
        (["convert", "WALK", "no/where/out.bvh"], 1, "does not exist"),
        (["info", "WALK", "--repair", "cmu"], 1, "cmu"),
        (["info", "WALK", "--animation", "Run"], 2, "animation"),
        (["info", "WALK", "--fps", "-3"], 2, "fps"),
        (["info"], 2, "FILE"),
        (["info", "WALK", "--nonsense"], 2, "nonsense"),
        (["dance"], 2, "dance"),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(posable, walk: Path, tmp_path, monkeypatch, args, code, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.glb").touch()
    ended, _, err = posable(*(str(walk) if arg == "WALK" else arg for arg in args))
    assert ended == code
    assert says in err
    assert "Traceback" not in err
    if "Usage: " not in err:  # typer's own
        assert err.startswith("posable: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    "job",
    [
        ["reach", "OUT", "--to", "-0.3,1.2,0.4"],
        ["edit", "WALK", "OUT", "--frame", "3", "--by", "0,0.1,0"],
        ["retarget", "WALK", "OUT"],
        ["range", "correct", "right_arm", "WALK", "OUT"],
        ["reconstruct", "WALK", "OUT"],
        ["express", "C", "targets.csv", "OUT"],
    ],
)
@pytest.mark.parametrize("out", ["no/where/out.bvh", "out.xyz", ".", "WALK"])
def test_a_long_job_refuses_its_output_before_it_reads_anything(posable, walk, tmp_path, monkeypatch, job, out):
    if out == "WALK" and "WALK" not in job:
        pytest.skip("it reads no such file")
    before = walk.read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("posable.formats.bvh.read", lambda *_: pytest.fail("it was read"))
    code, _, err = posable(*({"WALK": walk, "OUT": walk if out == "WALK" else out}.get(arg, arg) for arg in job))
    assert code in (1, 2) and err.startswith("posable: ") and err.count("\n") == 1
    assert walk.read_bytes() == before


def test_what_is_piped_is_not_broken_into_lines(walk: Path, tmp_path: Path):
    deep = tmp_path / ("folder " * 20) / "walk.bvh"
    deep.parent.mkdir()
    deep.write_bytes(walk.read_bytes())
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "posable", "info", deep],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    assert str(deep) in done.stdout


def test_a_broken_file_is_told_with_its_place(posable, walk: Path):
    lines = walk.read_text().splitlines()
    walk.write_text("\n".join(lines[:-3]))
    code, _, err = posable("info", walk)
    assert code == 1
    assert str(walk) in err and "line" in err and "Frames:" in err


def test_data_can_be_listed_and_fetched_from_the_mirror(posable, data_dir: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("POSABLE_DATA", str(data_dir))
    code, out, _ = posable("data", "list")
    assert code == 0 and "17_10" in out and "boxing" in out
    code, out, _ = posable("data", "fetch", "09_01", "--to", tmp_path, "--json", "-")
    assert code == 0
    (path,) = json.loads(out)["paths"]
    assert Path(path).parent == tmp_path
    assert Path(path).read_bytes() == (data_dir / "cmu" / "09_01.bvh").read_bytes()
    code, _, err = posable("data", "fetch", "09_99", "--to", tmp_path)
    assert code == 2 and "09_99" in err and "09_01" in err


def test_bench_measures_solvers_compares_with_the_record_and_replaces_it(posable, tmp_path, monkeypatch):
    from posable.evaluate import speed

    monkeypatch.chdir(tmp_path)
    few = ("bench", "swivel", "six", "--seconds", 0.01, "--passes", 1)
    code, out, _ = posable(*few, "--record", "speed.json", "--plot", "speed.png", "--json", "-")
    facts = json.loads(out)
    assert code == 0 and [row["case"] for row in facts["rows"]] == ["swivel", "six"] and facts["changes"] == []
    assert Path("speed.png").read_bytes().startswith(b"\x89PNG")
    first = speed.read_run("speed.json")
    assert all(row.one[0] > row.core[0] > 0.0 and row.done == 1.0 for row in first.rows)
    # A record in which one call took a hundredth: now it is slower, whatever the noise.
    facts = json.loads(Path("speed.json").read_text())
    facts["rows"][0]["one"] = [0.01 * time for time in facts["rows"][0]["one"]]
    Path("speed.json").write_text(json.dumps(facts))
    code, out, _ = posable(*few, "--record", "speed.json", "--strict")
    assert code == 3 and "slower: an arm, its swivel given (posable, one call" in out
    assert json.loads(Path("speed.json").read_text()) == facts, "with --strict the record stays"
    code, out, _ = posable(*few, "--against", "speed.json")
    assert code == 0 and "slower: an arm, its swivel given" in out


def test_bench_refuses_cases_and_records_that_are_none(posable, tmp_path):
    code, _, err = posable("bench", "lim")
    assert code == 2 and "limb" in err
    (tmp_path / "no.json").write_text("{}")
    code, _, err = posable("bench", "limb", "--against", tmp_path / "no.json")
    assert code == 1 and "no.json" in err and "Traceback" not in err


def test_a_reader_that_stops_early_is_no_failure(walk: Path):
    command = [sys.executable, "-m", "posable", "info", str(walk), "--joints"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    job.stdout.close()  # as `| true` does
    assert b"Traceback" not in job.stderr.read()
    assert job.wait() == 0


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        ("studio", "typer", "studio"),
        ("studio", "viser", "studio"),
        ("view a.bvh", "viser", "studio"),
        ("info a", "typer", "cli"),
    ],
)
def test_one_sentence_says_what_to_install(command, missing, extra, monkeypatch, capsys):
    """Also to somebody who runs the studio from an install without extras: all that it needs is named at once."""
    from posable.cli import main

    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr("sys.argv", ["posable", *command.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    assert stop.value.code == 1 and out == "" and err.count("\n") == 1 and "Traceback" not in err
    assert f"'{missing}'" in err and f"pip install 'posable[{extra}]'" in err and f"uvx --from '.[{extra}]'" in err


def test_uvx_without_an_extra_runs_the_command_again_with_it(monkeypatch, capsys):
    """`uvx --from . posable studio`: uv made an environment without the studio, and makes one with it."""
    from importlib.metadata import Distribution

    from posable.cli import AGAIN, main

    class Here(Distribution):
        def read_text(self, name: str) -> str | None:
            return '{"dir_info": {}, "url": "file:///clone"}' if name == "direct_url.json" else None

        def locate_file(self, path):
            return path

    ran: list[tuple[list[str], str]] = []
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.setenv("UV", "/bin/uv")
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Here())
    monkeypatch.setattr("os.execve", lambda path, words, environment: ran.append((words, environment[AGAIN])))
    monkeypatch.setattr("sys.argv", ["posable", "studio", "a.bvh"])
    for again in ("", "1"):  # whoever is run again and still lacks something says so
        monkeypatch.setenv(AGAIN, again)
        with pytest.raises(SystemExit):
            main()
    words = ["/bin/uv", "tool", "run", "--from", "posable[studio] @ file:///clone", "posable", "studio", "a.bvh"]
    assert ran == [(words, "1")]
    assert "pip install" in capsys.readouterr().err

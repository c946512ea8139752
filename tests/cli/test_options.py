"""Options of reading that every command takes: `--roles`, `--animation`; and what `express` takes of a robot."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.formats.gltf import animations


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> tuple[Path, str]:
    """A walk of somebody whose joints are called by numbers, and the roles that tell who is who."""
    walk = ps.samples.walk(duration=0.3)
    body = ps.Humanoid(walk.skeleton)
    names = [f"bone{j}" for j in range(len(walk.skeleton))]
    own = walk.skeleton
    kinds = {"kinds": own.kinds, "axes": own.axes, "rest_rotations": own.rest_rotations}
    ends = {"end_parents": own.end_parents, "end_offsets": own.end_offsets}
    skeleton = ps.Skeleton(names, own.parents, own.offsets, **kinds, **ends)
    file = tmp_path_factory.mktemp("odd") / "odd.npz"
    ps.save(ps.Motion(skeleton, walk.pose, walk.fps), file)
    return file, ",".join(f"{role}={names[joint]}" for role, joint in body.roles.items())


COMMANDS = (
    "info ODD",
    "retarget ODD OUT.npz",
    "edit ODD OUT.npz --frame 5 --by 0,0.03,0 --weights identity",
    "reconstruct ODD OUT.npz",
    "reach OUT.npz --body ODD --to -0.3,1.1,0.4 --fps 10",
    "reach OUT.npz --start ODD --to -0.3,1.1,0.4 --fps 10",
    "angles ODD OUT.csv",
    "plot ODD OUT.png",
    "view ODD --picture OUT.png --frames 1",
    "range check left_leg ODD",
    "range correct left_leg ODD OUT.npz",
    "range fit ODD OUT.npz --min-count 1",
    "evaluate reconstruct ODD --workers 1",
    "retarget WALK OUT.npz --body ODD",
    "reconstruct WALK OUT.npz --body ODD",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_roles_tell_who_is_who_wherever_a_body_is_read(posable, odd, tmp_path, command):
    file, roles = odd
    ps.save(ps.samples.walk(duration=0.2), tmp_path / "walk.npz")
    names = {"ODD": file, "WALK": tmp_path / "walk.npz"}
    words = [names.get(word, tmp_path / word if word.startswith("OUT") else word) for word in command.split()]
    code, out, err = posable(*words, "--roles", roles)
    assert code == 0 and "no person" not in out, err
    (tmp_path / "roles.json").write_text(json.dumps(dict(pair.split("=") for pair in roles.split(","))))
    assert posable(*words, "--roles", tmp_path / "roles.json")[0] == 0
    code, out, err = posable(*words)
    if not command.startswith(("info", "view")):
        assert code == 1 and "odd.npz" in err + out


@pytest.mark.parametrize("command", ["studio", "view"])
def test_roles_reach_the_studio(posable, odd, command, monkeypatch):
    from posable.studio import Studio

    file, roles = odd
    bodies = []
    monkeypatch.setattr(Studio, "run", lambda studio: bodies.append(studio.start().session.body) or studio.close())
    code, _, err = posable(command, file, "--roles", roles, "--port", 0, "--no-browser")
    assert code == 0 and {f"{role}=bone{joint}" for role, joint in bodies[0].roles.items()} == {*roles.split(",")}, err
    code, _, err = posable(command, file, "--roles", "left_hand=nobody", "--port", 0, "--no-browser")
    assert code == 2 and "unknown joint 'nobody'" in err and len(bodies) == 1
    code, _, err = posable(command, file, "--roles", "left_hand=bone3", "--port", 0, "--no-browser")
    assert code == 1 and "odd.npz" in err and len(bodies) == 1, "too few are named"


@pytest.mark.parametrize(
    ("roles", "code", "says"),
    [
        ("left_hand", 2, "expected PART=JOINT"),
        ("left_hnd=bone3", 2, "did you mean 'left_hand'"),
        ("left_hand=nobody", 2, "unknown joint 'nobody'"),
        ("nowhere.json", 1, "nowhere.json"),
    ],
)
def test_roles_that_cannot_be_are_refused(posable, odd, tmp_path, roles, code, says):
    for words in (("info", odd[0]), ("angles", odd[0], tmp_path / "a.csv")):
        ended, _, err = posable(*words, "--roles", roles)
        assert ended == code and says in err and err.count("\n") == 1, err


def test_an_animation_is_chosen_wherever_a_file_is_read(posable, data_dir, tmp_path):
    knight = data_dir / "characters" / "KayKit_Knight.glb"
    name = animations(knight)[5]
    frames = len(ps.load(knight, animation=name))
    assert frames != len(ps.load(knight))
    for command in ("convert", "retarget", "reconstruct"):
        code, out, err = posable(command, knight, tmp_path / "a.npz", "--animation", name, "--json", "-")
        assert code == 0 and json.loads(out)["frames"] == frames == len(ps.load(tmp_path / "a.npz")), err
    code, out, err = posable("angles", knight, tmp_path / "a.csv", "--animation", 5, "--json", "-")
    assert code == 0 and json.loads(out)["frames"] == frames, err
    code, out, err = posable("range", "check", "left_leg", knight, "--animation", 5, "--json", "-")
    assert code == 0 and json.loads(out)["files"][0]["frames"] == frames, err
    words = ("--start", knight, "--animation", name, "--frame", frames - 1, "--to", "-0.3,1,0.4", "--fps", 10)
    assert posable("reach", tmp_path / "b.npz", *words)[0] == 0
    code, _, err = posable("info", knight, "--animation", "Flying")
    assert code == 1 and "Flying" in err


def test_an_option_that_only_one_of_two_files_takes_is_for_that_one(posable, data_dir, tmp_path):
    clip, knight = data_dir / "cmu" / "09_01.bvh", data_dir / "characters" / "KayKit_Knight.glb"
    words = ("reach", tmp_path / "a.npz", "--body", knight, "--start", clip, "--repair", "cmu", "--to", "-0.3,1,0.4")
    code, _, err = posable(*words, "--fps", 10)
    assert code == 0, err
    code, _, err = posable("reach", tmp_path / "a.npz", "--body", knight, "--repair", "cmu", "--to", "-0.3,1,0.4")
    assert code == 2 and "--repair cmu is not for glTF files; they take --animation, --scale" in err


def points(path: Path, count: int = 40) -> Path:
    rows = [f"{2.0 * np.sin(k / 4)},1.2,{2.0 * np.cos(k / 4)}" for k in range(count)]
    path.write_text("x,y,z\n" + "\n".join(rows))
    return path


def test_a_robot_keeps_to_the_speeds_of_its_file_by_default(posable, data_dir, tmp_path):
    robot, file = data_dir / "robots" / "panda.urdf", points(tmp_path / "points.csv")
    chain = ps.Chain.from_robot(robot)
    assert chain.speeds.tolist() == [2.175] * 4 + [2.61] * 3, "as the file says, in rad/s"
    fastest = {}
    for words in ((), ("--no-speed-limits",)):
        code, out, err = posable("express", robot, file, tmp_path / "a.csv", "--fps", 10, "--json", "-", *words)
        assert code == 0, err
        table = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)[:, 1:]
        fastest[bool(words)] = (10.0 * np.abs(np.diff(table, axis=0)) / chain.speeds).max()
        facts = json.loads(out)
        assert facts["slowed_to_speed_limits"] == (not words)
    assert fastest[False] <= 1.0 + 1e-9 < fastest[True]


def test_an_axis_that_points_may_be_given(posable, data_dir, tmp_path):
    robot, file = data_dir / "robots" / "panda.urdf", points(tmp_path / "points.csv", 3)
    words = ("express", robot, file, tmp_path / "a.npz", "--no-speed-limits", "--fps", 1)
    for axis in ((1, 0, 0), (0, 0, 1)):
        code, out, err = posable(*words, "--pointing", ",".join(map(str, axis)), "--json", "-")
        assert code == 0 and json.loads(out)["points"] == "as given", err
        motion, chain = ps.load(tmp_path / "a.npz"), ps.Chain.from_robot(robot, pointing=axis)
        frames = chain.forward(chain.read(motion.pose))
        ahead = np.loadtxt(file, delimiter=",", skiprows=1) - frames.positions[:, -1]
        cosine = (ahead * frames.pointing).sum(-1) / np.linalg.norm(ahead, axis=-1)
        assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).max() == pytest.approx(
            json.loads(out)["worst_aim_degrees"], abs=1e-3
        )
    for wrong, says in (("0,0,0", "a direction"), ("1,2", "the axis x,y,z")):
        code, _, err = posable(*words, "--pointing", wrong)
        assert code == 2 and says in err
    code, _, err = posable("express", "C", file, tmp_path / "b.csv", "--pointing", "1,0,0")
    assert code == 2 and "is for a robot's file (.urdf, .xml)" in err


def test_a_scene_is_seen_in_pictures(posable, tmp_path):
    from matplotlib.image import imread

    ps.Scene().box("crate", (0.5, 0.5, 0.5), (0.0, 0.25, 0.8)).save(tmp_path / "room.json")
    ps.save(ps.samples.walk(duration=0.1), tmp_path / "walk.npz")
    for name, more in (("a.png", ()), ("b.png", ("--scene", tmp_path / "room.json"))):
        code, _, err = posable("view", tmp_path / "walk.npz", "--picture", tmp_path / name, "--frames", 1, *more)
        assert code == 0, err
    brown = [((p := imread(tmp_path / name))[..., 0] > p[..., 2] + 0.05).mean() for name in ("a.png", "b.png")]
    assert brown[1] > brown[0] + 0.05
    code, _, err = posable("view", tmp_path / "walk.npz", "--scene", tmp_path / "room.json")
    assert code == 2 and "--picture" in err
    words = ("--to", "-0.3,1.2,0.5", "--fps", 10, "--scene", tmp_path / "room.json", "--picture", tmp_path / "c.png")
    assert posable("reach", tmp_path / "a.npz", *words)[0] == 0 and (tmp_path / "c.png").stat().st_size > 1000

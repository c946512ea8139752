"""`posable retarget --robot` and `posable evaluate retarget` as a person meets them."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import posable as ps

CAPSULE = '<geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.4"/>'
ONE_LEG = f"""<mujoco model="hopper"><worldbody><body name="pelvis"><freejoint/><geom size="0.1"/>
<body name="thigh" pos="0 0 -0.1"><joint name="left_hip" axis="0 1 0"/>{CAPSULE}
<body name="shin" pos="0 0 -0.4"><joint name="left_knee" axis="0 1 0"/>{CAPSULE}
</body></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def g1(data_dir) -> Path:
    return data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml"


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("robots") / "walk.npz"
    ps.save(ps.samples.walk(ps.figure())[:40], file)
    return file


def test_a_walk_becomes_a_csv_of_a_robots_joints_and_one_sentence(posable, walk, g1, tmp_path):
    file = tmp_path / "walk.csv"
    code, out, _ = posable("retarget", walk, file, "--robot", g1)
    assert code == 0
    assert out.startswith(f"{file}: 40 frames on g1_29dof_rev_1_0, ") and len(out.strip().splitlines()) == 1
    rows = np.loadtxt(file, delimiter=",")
    assert rows.shape == (40, 7 + 29) and json.loads(Path(f"{file}.json").read_text())["fps"] == ps.load(walk).fps
    robot = ps.load(file, robot=g1)
    person = ps.load(walk)
    alike = ps.evaluate.evaluate_retarget(person, ps.Humanoid(person.skeleton), robot, ps.Humanoid(robot.skeleton))
    code, out, _ = posable("retarget", walk, tmp_path / "again.csv", "--robot", g1, "--json", "-")
    facts = json.loads(out)
    for name, value in alike.facts().items():
        if name.endswith(("_cm", "_percent", "jumps")):
            assert facts[name] == pytest.approx(value, abs=1e-3), name


def test_a_file_for_mjlab_has_a_frame_for_each_control_step_unless_a_rate_is_given(posable, walk, g1, tmp_path):
    seconds = ps.load(walk).duration
    for words, fps in (((), 50), (("--layout", "beyondmimic", "--resample", 25), 25)):
        file = tmp_path / f"at{fps}.npz"
        code, *_ = posable("retarget", walk, file, "--robot", g1, *words)
        data = np.load(file)
        assert code == 0 and data["fps"].tolist() == [fps]
        assert len(data["joint_pos"]) == int(seconds * fps + 1e-6) + 1


def test_its_measures_are_printed_and_strict_ends_with_3_where_something_is_wrong(
    posable, walk, g1, tmp_path, monkeypatch
):
    code, out, _ = posable("retarget", walk, tmp_path / "walk.npy", "--robot", g1, "--report")
    assert code == 0 and "posture (cm)" in out and "worst slide (mm)" in out
    from posable import robots

    def careless(motion, source, target, **options):
        """Only the posture: nobody places feet."""
        pose = target.pose(source.canonical(motion.pose))
        return SimpleNamespace(motion=ps.Motion(target.skeleton, pose, motion.fps))

    monkeypatch.setattr(robots, "retarget", careless)
    words = ("retarget", walk, tmp_path / "bad.csv", "--robot", g1)
    code, out, _ = posable(*words, "--strict")
    assert code == 3 and "but " in out and ("slides by up to" in out or "under the floor" in out)
    assert (tmp_path / "bad.csv").exists()
    assert posable(*words)[0] == 0


def test_a_folder_is_put_on_a_robot_and_a_second_call_does_nothing(posable, walk, g1, tmp_path):
    clips = tmp_path / "clips"
    clips.mkdir()
    for name in ("a", "b"):
        ps.save(ps.load(walk)[:20], clips / f"{name}.bvh")
    words = ("retarget", clips, tmp_path / "out", "--robot", g1, "--workers", 1)
    code, out, _ = posable(*words, "--report")
    assert code == 0 and "2 files put on the robot" in out and "posture (cm)" in out
    assert sorted(file.name for file in (tmp_path / "out").glob("*.csv")) == ["a.csv", "b.csv"]
    code, out, _ = posable(*words)
    assert code == 0 and "2 already there" in out


def test_what_is_no_robot_or_no_person_is_said_in_one_sentence_and_nothing_is_written(posable, walk, g1, tmp_path):
    hopper, horse, out = tmp_path / "hopper.xml", tmp_path / "horse.bvh", tmp_path / "out.csv"
    hopper.write_text(ONE_LEG)
    legs = [
        f"{side}_{end}_{bone}" for side in ("left", "right") for end in ("fore", "hind") for bone in ("upper", "hoof")
    ]
    parents = [-1, 0, 1, *(k for leg in range(4) for k in (0, 3 + 2 * leg))]
    skeleton = ps.Skeleton(["barrel", "withers", "muzzle", *legs], parents, np.ones((11, 3)) * 0.2)
    still = ps.Pose(np.zeros((3, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 11, 1)))
    ps.save(ps.Motion(skeleton, still, 30.0), horse)
    for words, why in (
        ((walk, out, "--robot", walk), "expected a robot's file, .xml or .urdf"),
        ((walk, out, "--robot", tmp_path / "none.xml"), "no such file"),
        ((walk, out, "--robot", hopper), "hopper.xml"),
        ((horse, out, "--robot", g1), "horse.bvh"),
        ((walk, tmp_path / "out.bvh", "--robot", g1), "not written as .bvh"),
        ((walk, out, "--robot", g1, "--layout", "mjlab"), "--layout mjlab is for .npz files"),
        ((walk, tmp_path / "out.npz", "--robot", g1, "--layout", "lab"), "unknown --layout 'lab'"),
        ((walk, out, "--robot", g1, "--height", 1.5), "not both"),
        ((walk, out, "--robot", g1, "--limits", "none"), "--limits is for people"),
        ((walk, out, "--report"), "--report is for robots"),
    ):
        code, printed, err = posable("retarget", *words)
        assert code in (1, 2) and printed == "" and why in err, words
        assert len(err.strip().splitlines()) == 1, err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["hopper.xml", "horse.bvh"]


def test_what_others_made_of_a_clip_is_measured_too(posable, walk, g1, tmp_path):
    made = tmp_path / "theirs.npy"
    assert posable("retarget", walk, made, "--robot", g1)[0] == 0
    code, out, _ = posable("evaluate", "retarget", walk, "--robot", g1, "--result", made, "--workers", 1)
    assert code == 0 and "posture (cm)" in out and "1 clip measured on g1_29dof_rev_1_0" in out
    code, _, err = posable("evaluate", "retarget", walk)
    assert code == 2 and "give --robot FILE" in err


def test_a_robots_file_becomes_another_one_without_a_simulator(posable, walk, g1, tmp_path):
    made = tmp_path / "made.csv"
    assert posable("retarget", walk, made, "--robot", g1)[0] == 0
    code, out, _ = posable("convert", made, tmp_path / "lab.npz", "--robot", g1, "--layout", "mjlab", "--resample", 50)
    assert code == 0 and np.load(tmp_path / "lab.npz")["body_pos_w"].shape[1] == 30
    code, out, _ = posable("info", made, "--robot", g1)
    assert code == 0 and "40 frames" in out
    code, _, err = posable("convert", made, tmp_path / "lab.npz")
    assert code == 1 and "give" in err and "robot" in err

"""Joint angles: `posable angles`, `posable plot` and `ps.joint_angles`, judged by plain geometry."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
import posable.math as pm

CLIPS = {
    "boxing": lambda data: ps.samples.boxing(duration=1.0),
    "cmu": lambda data: ps.load(data / "cmu" / "09_01.bvh", repair="cmu", first_frame=1),
    "knight": lambda data: ps.load(data / "characters" / "KayKit_Knight.glb"),
    "cesium": lambda data: ps.load(data / "characters" / "CesiumMan.glb"),
}


def bend(motion: ps.Motion, parts: tuple[str, str, str]) -> np.ndarray:
    """(F,) [degrees] between the bones before and after a joint."""
    body = ps.Humanoid(motion.skeleton)
    a, b, c = (motion.skeleton.forward(motion.pose).positions[:, body.index(part)] for part in parts)
    one, other = (b - a) / np.linalg.norm(b - a, axis=-1)[:, None], (c - b) / np.linalg.norm(c - b, axis=-1)[:, None]
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(one - other, axis=-1), np.linalg.norm(one + other, axis=-1)))


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_elbows_and_knees_are_bent_by_the_angle_between_their_bones(data_dir: Path, clip: str, side: str):
    motion = CLIPS[clip](data_dir)
    table = ps.joint_angles(motion)
    for joint, parts in (("elbow", ("upper_arm", "lower_arm", "hand")), ("knee", ("upper_leg", "lower_leg", "foot"))):
        roles = tuple(f"{side}_{part}" for part in parts)
        found = np.degrees(table[f"{side}_{joint}.flexion"])
        np.testing.assert_allclose(found, bend(motion, roles), atol=1e-6)
        np.testing.assert_array_equal(found, np.degrees(table[f"{roles[1]}.flexion"]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_leg_lifted_forward_and_an_arm_to_the_side_have_positive_angles(side: str):
    body = ps.figure()
    mirror = 1.0 if side == "left" else -1.0
    standing = body.canonical(body.neutral_pose)
    rotations = standing.rotations.copy()
    for role, axis, angle in (("upper_leg", (-1, 0, 0), 40.0), ("upper_arm", (0, 0, mirror), 70.0)):
        rotations[standing.roles.index(f"{side}_{role}")] = pm.axis_angle(axis, np.radians(angle))
    pose = body.pose(ps.CanonicalPose(standing.roles, rotations, standing.hips))
    places = body.skeleton.forward(pose).positions
    assert places[body.index(f"{side}_lower_leg"), 2] > 0.2, "the knee is in front"
    assert mirror * places[body.index(f"{side}_lower_arm"), 0] > 0.3, "the elbow is at the side"
    table = ps.joint_angles(ps.Motion(body.skeleton, ps.Pose.stack([pose]), 60.0))
    assert np.degrees(table[f"{side}_hip.flexion"][0]) == pytest.approx(40.0, abs=1e-6)
    assert np.degrees(table[f"{side}_upper_arm.abduction"][0]) == pytest.approx(70.0, abs=1e-6)
    assert np.abs(np.degrees(table[f"{side}_hip.abduction"][0])) < 1e-6


@pytest.mark.parametrize("order", ["ZYX", "XYZ", "YXZ"])
def test_euler_angles_compose_to_the_rotations_of_the_file(data_dir: Path, order: str):
    motion = CLIPS["cmu"](data_dir)
    table = ps.joint_angles(motion, ["LeftArm", "left_elbow", "head"], euler=order)
    body = ps.Humanoid(motion.skeleton)
    for k, joint in enumerate([motion.skeleton.index("LeftArm"), body.index("left_lower_arm"), body.index("head")]):
        angles = table.values[:, 3 * k : 3 * k + 3]
        assert table.names[3 * k] == f"{motion.skeleton.names[joint]}.{order[0].lower()}"
        q = Rotation.from_euler(order, angles).as_quat()[:, [3, 0, 1, 2]]
        assert np.abs((q * motion.pose.rotations[:, joint]).sum(-1)).min() > 1.0 - 1e-12
        assert np.abs(np.diff(angles, axis=0)).max() < 1.0, "continuous"


def test_a_table_is_written_in_degrees_with_a_line_a_frame(posable, tmp_path: Path):
    motion = ps.samples.walk(duration=0.5)
    ps.save(motion, tmp_path / "walk.npz")
    words = ("--part", "left_elbow", "--part", "right_lower_leg")
    code, out, err = posable("angles", tmp_path / "walk.npz", tmp_path / "a.csv", *words, "--json", "-")
    assert code == 0, err
    head, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert head == "time,left_lower_arm.flexion,left_lower_arm.twist,right_lower_leg.flexion"
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    np.testing.assert_allclose(table[:, 0], np.arange(len(motion)) / motion.fps, atol=1e-5)
    np.testing.assert_allclose(table[:, 1], bend(motion, ("left_upper_arm", "left_lower_arm", "left_hand")), atol=1e-3)
    assert not any("e-" in line or "-0," in line for line in lines), (
        "0 where a joint does not move, not a rounding error"
    )
    rows = {row["angle"]: row for row in json.loads(out)["angles"]}
    assert rows["right_lower_leg.flexion"]["max"] == pytest.approx(table[:, 3].max(), abs=1e-2)


def test_angles_of_any_skeleton_are_euler_angles(posable, data_dir: Path, tmp_path: Path):
    robot = data_dir / "robots" / "panda.urdf"
    code, _, err = posable("angles", robot, tmp_path / "a.csv", "--euler", "ZYX")
    assert code == 0 and "panda_joint1.z" in (tmp_path / "a.csv").read_text(), err
    code, _, err = posable("angles", robot, tmp_path / "b.csv")
    assert code == 1 and "--roles PART=JOINT names them" in err and not (tmp_path / "b.csv").exists()


def test_angles_are_drawn_over_time(posable, tmp_path: Path):
    ps.save(ps.samples.walk(duration=0.5), tmp_path / "walk.npz")
    for name, words in (("a.png", ()), ("b.svg", ("--part", "head")), ("c.png", ("--euler", "XYZ", "--part", "head"))):
        code, _, err = posable("plot", tmp_path / "walk.npz", tmp_path / name, *words)
        assert code == 0 and (tmp_path / name).stat().st_size > 5000, err
    from matplotlib.image import imread

    assert imread(tmp_path / "a.png")[..., :3].std() > 0.05


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("angles", "WALK", "OUT.txt"), 2, "written as .csv"),
        (("angles", "WALK", "OUT.csv", "--part", "left_elbw"), 2, "left_lower_arm"),
        (("angles", "WALK", "OUT.csv", "--euler", "XXZ"), 2, "XYZ, XZY"),
        (("angles", "WALK", "WALK"), 2, "OUTPUT is INPUT"),
        (("plot", "WALK", "OUT.txt"), 2, ".png, .svg, .pdf"),
        (("plot", "WALK", "OUT.png", "--euler", "XYZ"), 2, "needs --part"),
        (("angles", "nowhere.bvh", "OUT.csv"), 1, "no such file"),
        (("plot", "NONE", "OUT.png"), 1, "has no frames"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(posable, tmp_path: Path, words, code, says):
    ps.save(ps.samples.walk(duration=0.1), tmp_path / "walk.npz")
    ps.save(ps.samples.walk(duration=0.1)[:0], tmp_path / "none.npz")
    names = {"WALK": tmp_path / "walk.npz", "NONE": tmp_path / "none.npz"}
    made = [names.get(word, tmp_path / word if word.startswith("OUT") else word) for word in words]
    ended, _, err = posable(*made)
    assert ended == code and says in err and err.count("\n") == 1, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.npz", "walk.npz"]


def test_an_unknown_angle_is_answered_with_what_there_is():
    table = ps.joint_angles(ps.samples.walk(duration=0.1))
    with pytest.raises(ps.UnknownNameError, match="left_lower_arm"):
        table["left_elbow.bend"]

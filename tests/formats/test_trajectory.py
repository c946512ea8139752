"""Robots' motions as training pipelines read them: judged by MuJoCo, and by readers written as those programs read."""

import json

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, PosableError
from posable.formats import read_robot
from posable.formats.trajectory import joint_layout
from posable.math import conjugate, rotate
from posable.skeleton.robot import UP

from .example_motions import random_motion

ROBOT = """<mujoco model="little">
  <compiler angle="radian"/>
  <worldbody>
    <body name="pelvis" pos="0 0 0.8">
      <freejoint name="root"/>
      <geom type="sphere" size="0.1"/>
      <body name="left_thigh" pos="0 0.1 -0.05" quat="0.996179 0 -0.0873386 0">
        <joint name="left_hip_pitch" axis="0 1 0" range="-2 2"/>
        <joint name="left_hip_roll" pos="0.01 0 0.02" axis="1 0 0" range="-1 1"/>
        <geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.3"/>
        <body name="left_shin" pos="0 0 -0.35">
          <joint name="left_knee" axis="0 1 0" range="0 2.5" ref="0.2"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.3"/>
          <body name="left_plate" pos="0.02 0 -0.33"><geom type="box" size="0.1 0.05 0.02"/></body>
        </body>
      </body>
      <body name="right_thigh" pos="0 -0.1 -0.05">
        <joint name="right_hip_pitch" axis="0 1 0" range="-2 2"/>
        <geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.3"/>
        <body name="right_shin" pos="0 0 -0.35">
          <joint name="right_slide" type="slide" axis="0 0 1" range="-0.1 0.1"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.3"/>
        </body>
      </body>
      <body name="torso" pos="0 0 0.1">
        <joint name="waist" axis="0 0 1" range="-1 1"/>
        <geom type="sphere" size="0.1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
DEPTH = ["left_hip_pitch", "left_hip_roll", "left_knee", "right_hip_pitch", "right_slide", "waist"]
BREADTH = ["left_hip_pitch", "left_hip_roll", "right_hip_pitch", "waist", "left_knee", "right_slide"]
LAYOUTS = ("mjlab", "beyondmimic", "gmr", "qpos")
FPS = 50.0


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "little.xml"
    path.write_text(ROBOT)
    return path


@pytest.fixture(scope="module")
def motion(robot):
    return wandering(read_robot(robot))


def wandering(skeleton, frames=60, seed=3):
    """A motion of a robot that goes through many postures, the root turning past half a turn."""
    rng = np.random.default_rng(seed)
    phases, times = rng.uniform(0.0, 6.0, len(skeleton.dofs)), np.arange(frames)[:, None] / FPS
    values = 0.4 * np.sin(2.0 * np.pi * rng.uniform(0.3, 1.0, len(skeleton.dofs)) * times + phases)
    for d in np.flatnonzero([kind == "translation" for kind in skeleton.dofs.kind]):
        values[:, d] *= 0.2
    values[:, 4] = np.linspace(0.0, 2.0 * np.pi, frames)
    return ps.Motion(skeleton, skeleton.from_values(values), FPS)


def same_places(one, other):
    frames = [each.skeleton.forward(each.pose) for each in (one, other)]
    return np.abs(frames[0].positions - frames[1].positions).max()


@pytest.mark.parametrize("name,options,near", [
    ("walk.csv", {}, 1e-7),
    ("walk.csv", {"joint_order": "isaac"}, 1e-7),
    ("walk.csv", {"joint_order": "isaac", "header": True}, 1e-7),
    ("walk.npy", {}, 1e-12),
    *[("walk.npz", {"layout": layout}, 1e-5) for layout in LAYOUTS],
])  # fmt: skip
def test_what_was_saved_is_loaded_back_with_its_rate(motion, robot, tmp_path, name, options, near):
    ps.save(motion, tmp_path / name, **options)
    back = ps.load(tmp_path / name, robot=robot)
    assert same_places(motion, back) < near
    assert back.fps == FPS and back.notes == () and back.skeleton.robot.name == "little"
    assert same_places(motion, ps.load(tmp_path / name, robot=motion.skeleton)) < near


def test_joints_are_depth_first_as_in_mujoco_or_breadth_first_as_in_isaac(motion, tmp_path):
    assert list(joint_layout(motion.skeleton).joint_names) == DEPTH
    assert list(joint_layout(motion.skeleton, "isaac").joint_names) == BREADTH
    ps.save(motion, tmp_path / "a.npz", layout="mjlab")
    ps.save(motion, tmp_path / "b.npz", layout="beyondmimic")
    mjlab, isaac = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert list(mjlab["joint_names"]) == DEPTH and list(isaac["joint_names"]) == BREADTH
    # A link that cannot move is a body of MuJoCo, and a part of the one above it in Isaac.
    assert "left_plate" in mjlab["body_names"] and "left_plate" not in isaac["body_names"]
    columns = [DEPTH.index(name) for name in BREADTH]
    assert np.array_equal(mjlab["joint_pos"][:, columns], isaac["joint_pos"])


def test_the_csv_is_nothing_but_numbers_which_loadtxt_reads(motion, tmp_path):
    ps.save(motion, tmp_path / "walk.csv")
    rows = np.loadtxt(tmp_path / "walk.csv", delimiter=",")  # as csv_to_npz of BeyondMimic and mjlab do
    assert rows.shape == (len(motion), 7 + len(DEPTH))
    up = np.array(UP["y"])
    assert np.allclose(rotate(up, rows[:, :3]), motion.pose.translation, atol=1e-8)
    wxyz = rows[:, [6, 3, 4, 5]]
    assert np.allclose(np.linalg.norm(wxyz, axis=1), 1.0, atol=1e-8)
    assert (np.einsum("ij,ij->i", wxyz[1:], wxyz[:-1]) > 0.0).all()  # never the long way round between two frames
    beside = json.loads((tmp_path / "walk.csv.json").read_text())
    assert beside["fps"] == FPS and beside["order"] == "mujoco" and beside["columns"][7:] == DEPTH


class MotionLoader:
    """Reads what mjlab and BeyondMimic train on, as both do: by these names, and nothing else."""

    def __init__(self, path):
        data = np.load(path)
        self.fps = data["fps"]
        for name in ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"):
            setattr(self, name, np.asarray(data[name], dtype=np.float32))


@pytest.mark.parametrize("layout", ["mjlab", "beyondmimic"])
def test_mujoco_puts_the_bodies_where_an_archive_for_training_says_and_moves_them_so(motion, robot, tmp_path, layout):
    mujoco = pytest.importorskip("mujoco")
    ps.save(motion, tmp_path / "walk.npz", layout=layout)
    ps.save(motion, tmp_path / "qpos.npz", layout="qpos")
    read, state = MotionLoader(tmp_path / "walk.npz"), np.load(tmp_path / "qpos.npz")
    names = np.load(tmp_path / "walk.npz")["body_names"].tolist()
    model = mujoco.MjModel.from_xml_path(str(robot))
    data = mujoco.MjData(model)
    if layout == "mjlab":
        assert names == [model.body(b).name for b in range(1, model.nbody)]
        assert [model.joint(j).name for j in range(1, model.njnt)] == DEPTH
    bodies = [model.body(name).id for name in names]
    assert read.fps.tolist() == [50]
    for frame in range(len(motion)):
        data.qpos[:], data.qvel[:] = state["qpos"][frame], state["qvel"][frame]
        mujoco.mj_forward(model, data)
        assert np.allclose(data.xpos[bodies], read.body_pos_w[frame], atol=1e-6)
        dots = (data.xquat[bodies] * read.body_quat_w[frame]).sum(axis=-1)
        assert np.allclose(np.abs(dots), 1.0, atol=1e-6)
        for k, body in enumerate(bodies):
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            assert np.allclose(velocity[3:], read.body_lin_vel_w[frame, k], atol=1e-5)
            assert np.allclose(velocity[:3], read.body_ang_vel_w[frame, k], atol=1e-5)


def test_velocities_are_the_documented_differences_of_what_is_in_the_file(motion, tmp_path):
    ps.save(motion, tmp_path / "walk.npz", layout="mjlab")
    read = MotionLoader(tmp_path / "walk.npz")
    assert np.allclose(np.gradient(read.joint_pos, 1.0 / FPS, axis=0), read.joint_vel, atol=1e-4)
    # Velocities of bodies come from the joints': to the second order they are what their positions do.
    moved = (read.body_pos_w[2:] - read.body_pos_w[:-2]) * (0.5 * FPS)
    assert np.abs(moved - read.body_lin_vel_w[1:-1]).max() < 0.02 * np.abs(moved).max()


def test_an_archive_as_gmr_has_it_under_its_names(motion, tmp_path):
    ps.save(motion, tmp_path / "walk.npz", layout="gmr")
    data = np.load(tmp_path / "walk.npz")
    assert float(data["fps"]) == FPS
    up, frames = np.array(UP["y"]), motion.skeleton.forward(motion.pose)
    wxyz = np.roll(data["root_rot"], 1, axis=1)
    for k, name in enumerate(data["link_body_list"].tolist()):
        joint = motion.skeleton.robot.joint(name)
        placed = data["root_pos"] + rotate(wxyz, data["local_body_pos"][:, k])
        assert np.allclose(rotate(up, placed), frames.positions[:, joint], atol=1e-6)
    assert data["dof_pos"].shape == (len(motion), len(DEPTH))
    # The knee of this robot is called 0.2 where it is at rest.
    rest = ps.Motion(motion.skeleton, motion.skeleton.from_values(np.zeros((1, len(motion.skeleton.dofs)))), FPS)
    ps.save(rest, tmp_path / "rest.npz", layout="gmr")
    assert np.load(tmp_path / "rest.npz")["dof_pos"][0].tolist() == [0.0, 0.0, 0.2, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("layout", ["mjlab", "beyondmimic"])
def test_an_archive_that_names_no_order_is_read_in_the_one_that_its_bodies_are_in(tmp_path, layout, merged):
    # Without the plate, which cannot move, there are as many bodies in both orders, and only their places tell.
    plate = '<body name="left_plate" pos="0.02 0 -0.33"><geom type="box" size="0.1 0.05 0.02"/></body>'
    (tmp_path / "robot.xml").write_text(ROBOT.replace(plate, "") if merged else ROBOT)
    skeleton = read_robot(tmp_path / "robot.xml")
    motion = wandering(skeleton)
    ps.save(motion, tmp_path / "named.npz", layout=layout)
    data = dict(np.load(tmp_path / "named.npz"))
    foreign = {
        name: data[name] for name in data if not name.endswith("_names") and name not in ("joint_order", "robot")
    }
    np.savez(tmp_path / "less.npz", **foreign | {"body_pos_w": foreign["body_pos_w"][:, :3]})
    with pytest.raises(FormatError, match="body_pos_w has shape"):
        ps.load(tmp_path / "less.npz", robot=skeleton)
    np.savez(tmp_path / "foreign.npz", **foreign)
    back = ps.load(tmp_path / "foreign.npz", robot=skeleton)
    assert same_places(motion, back) < 1e-5
    assert any("names no order" in note for note in back.notes)


def test_an_archive_of_another_robot_is_refused(motion, robot, tmp_path):
    ps.save(motion, tmp_path / "walk.npz", layout="mjlab")
    longer = tmp_path / "longer.xml"
    longer.write_text(ROBOT.replace('name="left_shin" pos="0 0 -0.35"', 'name="left_shin" pos="0 0 -0.45"'))
    with pytest.raises(FormatError, match="it is another robot's"):
        ps.load(tmp_path / "walk.npz", robot=longer)


def test_a_file_of_numbers_without_its_robot_says_what_to_give(motion, tmp_path):
    for name, options in (("walk.csv", {}), ("walk.npy", {}), *((f"{k}.npz", {"layout": k}) for k in LAYOUTS)):
        ps.save(motion, tmp_path / name, **options)
        with pytest.raises(FormatError, match="not the robot; give robot="):
            ps.load(tmp_path / name)


def test_a_persons_motion_is_not_written_as_a_robots(tmp_path):
    for name, options in (("a.csv", {}), ("a.npy", {}), ("a.npz", {"layout": "mjlab"})):
        with pytest.raises(PosableError, match="is no robot's"):
            ps.save(random_motion(3), tmp_path / name, **options)
    with pytest.raises(PosableError, match="unknown layout 'isaac'"):
        ps.save(random_motion(3), tmp_path / "a.npz", layout="isaac")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text,problem", [
    ("1,2,3\n", "has 3 numbers; 'little' needs 13: 7 of the root and 6 joints"),
    ("", "is empty"),
    ("\n\n", "has no frames"),
    ("0,0,1,0,0,0,0,0,0,0,0,0,0\n", "frame 0 has a root quaternion of length zero"),
    ("0,0,1,0,0,0,1,0,0,0,0,0,0\n0,0,1,0,0,0,1,0,0,x,0,0,0\n", "line 2: 'x' is no number"),
    ("0,0,1,0,0,0,1,0,0,nan,0,0,0\n", "line 1: 'nan': expected metres or radians"),
    ("0,0,1e300,0,0,0,1,0,0,0,0,0,0\n", "line 1: '1e300': expected metres or radians"),
    ("a,b\n1,2\n", "line 1: lacks the columns root_x, root_y, root_z, root_qx, root_qy, ..."),
])  # fmt: skip
def test_a_broken_csv_is_said_to_be_broken_where(robot, tmp_path, text, problem):
    path = tmp_path / "walk.csv"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        ps.load(path, robot=robot)
    assert problem in str(caught.value)


def test_a_csv_without_anything_beside_it_is_taken_at_30_frames_a_second_and_says_so(motion, robot, tmp_path):
    ps.save(motion, tmp_path / "walk.csv")
    (tmp_path / "walk.csv.json").unlink()
    back = ps.load(tmp_path / "walk.csv", robot=robot)
    assert back.fps == 30.0 and any("30 frames a second" in note for note in back.notes)
    assert ps.load(tmp_path / "walk.csv", robot=robot, fps=50.0).fps == 50.0


def test_an_archive_with_pickled_objects_is_never_unpickled(robot, tmp_path):
    np.savez(tmp_path / "walk.npz", dof_pos=np.array([{"a": 1}], dtype=object), root_pos=np.zeros((1, 3)))
    with pytest.raises(FormatError):
        ps.load(tmp_path / "walk.npz", robot=robot)
    np.save(tmp_path / "walk.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(FormatError, match="is no plain NumPy array"):
        ps.load(tmp_path / "walk.npy", robot=robot)


@pytest.mark.parametrize("frames", [1, 2])
def test_a_motion_of_one_or_two_frames_has_velocities_too(motion, robot, tmp_path, frames):
    short = motion[:frames]
    for layout in LAYOUTS:
        ps.save(short, tmp_path / f"{layout}.npz", layout=layout)
        assert same_places(short, ps.load(tmp_path / f"{layout}.npz", robot=robot)) < 1e-5
    velocities = np.load(tmp_path / "mjlab.npz")["body_lin_vel_w"]
    assert np.isfinite(velocities).all() and (frames > 1) == bool(np.abs(velocities).max() > 0.0)


def test_angles_beyond_half_a_turn_are_written_as_the_motor_counts_them(tmp_path):
    path = tmp_path / "far.xml"
    path.write_text(ROBOT.replace('axis="0 1 0" range="0 2.5" ref="0.2"', 'axis="0 1 0" range="-0.5 4.5"')
                    .replace('name="waist" axis="0 0 1" range="-1 1"', 'name="waist" axis="0 0 1"'))  # fmt: skip
    skeleton = read_robot(path)
    values = np.zeros((30, len(skeleton.dofs)))
    knee, waist = (skeleton.dofs.names.index(f"{name}.angle") for name in ("left_knee", "waist"))
    values[:, knee], values[:, waist] = np.linspace(-0.4, 4.4, 30), np.linspace(0.0, 9.0, 30)
    ps.save(ps.Motion(skeleton, skeleton.from_values(values), FPS), tmp_path / "far.npy")
    written = np.load(tmp_path / "far.npy")[:, 7:]
    assert np.allclose(written[:, DEPTH.index("left_knee")], values[:, knee], atol=1e-9)
    assert np.allclose(written[:, DEPTH.index("waist")], values[:, waist], atol=1e-9)


def test_a_robot_that_keeps_its_own_axes_makes_the_same_files(motion, robot, tmp_path):
    own = read_robot(robot, up="z")
    back = conjugate(UP["y"])
    rotations = motion.pose.rotations.copy()
    rotations[:, 0] = ps.math.multiply(back, rotations[:, 0])
    pose = ps.Pose(rotate(back, motion.pose.translation), rotations, motion.pose.offsets)
    ps.save(motion, tmp_path / "a.npy")
    ps.save(ps.Motion(own, pose, FPS), tmp_path / "b.npy")
    assert np.allclose(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"), atol=1e-12)

"""Measures of robots' motions: what they say of motions whose faults are known, and beside MuJoCo."""

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError, ShapeError
from posable.evaluate import evaluate_retarget, retarget_table
from posable.evaluate.robots import key_points
from posable.evaluate.robots.footing import foot_contacts, stands
from posable.evaluate.robots.motors import joint_rates
from posable.evaluate.robots.touching import self_depths
from posable.formats import read_robot
from posable.formats.trajectory import robot_values

FPS = 60.0


@pytest.fixture(scope="module")
def g1(data_dir):
    path = data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml"
    return path, ps.Humanoid(read_robot(path))


@pytest.fixture(scope="module")
def walk():
    person = ps.figure()
    return ps.samples.walk(person)[:90], person


def posture_on(walk, body):
    """The person's posture on the robot, nearest in its limits: no feet are placed, nothing keeps apart."""
    motion, person = walk
    return ps.Motion(body.skeleton, body.pose(person.canonical(motion.pose)), motion.fps)


def test_a_robot_that_takes_the_persons_directions_has_no_posture_error(walk, g1):
    motion, person = walk
    body = g1[1]
    found = evaluate_retarget(motion, person, posture_on(walk, body), body)
    assert found.key_points == tuple(
        f"{side}_{part}" for part in ("knee", "ankle", "elbow", "wrist") for side in ("left", "right")
    )
    # Offsets between the axes of a hip and the limits of an ankle leave a centimetre.
    assert found.posture_errors.mean() < 0.012 and found.posture_errors.max() < 0.05
    assert found.scaled_errors.mean() > 2.0 * found.posture_errors.mean(), "the robot's own proportions count there"


def test_where_the_root_is_does_not_count_and_a_bent_elbow_counts_by_its_own_length(walk, g1):
    motion, person = walk
    body = g1[1]
    robot = posture_on(walk, body)
    before = evaluate_retarget(motion, person, robot, body)
    moved = robot.pose.rotations.copy()
    moved[:, 0] = ps.math.multiply(ps.math.axis_angle((0.0, 1.0, 0.0), 1.0), moved[:, 0])
    away = robot.replace(pose=ps.Pose(robot.pose.translation + 3.0, moved, robot.pose.offsets))
    assert np.allclose(evaluate_retarget(motion, person, away, body).posture_errors, before.posture_errors, atol=1e-9)
    values = body.skeleton.values(robot.pose)
    elbow = body.skeleton.dofs.names.index("left_elbow_joint.angle")
    values[:, elbow] += 0.5
    bent = robot.replace(pose=body.skeleton.from_values(values))
    after = evaluate_retarget(motion, person, bent, body)
    changed = np.abs(after.posture_errors - before.posture_errors).max(axis=0)
    wrist = after.key_points.index("left_wrist")
    forearm = body.robot_parts.limbs["left_arm"].lengths[1]
    assert changed[wrist] == pytest.approx(2.0 * forearm * np.sin(0.25), rel=0.15)
    assert np.delete(changed, wrist).max() < 1e-9


def test_a_person_measured_against_itself_has_no_error(walk):
    motion, person = walk
    points, standing = key_points.points_of(person, motion.pose), key_points.standing_points(person)
    posed = key_points.posture_points(points, standing, standing)
    for name in ("left_knee", "right_ankle"):
        assert np.allclose(posed[name], points[name], atol=0.02), name  # hips of people are as wide as they are
    assert key_points.leg_length(standing) == pytest.approx(person.leg_length, rel=0.02)


def test_a_foot_is_in_contact_while_its_toe_is_low_and_slow(walk):
    motion, person = walk
    found = stands(motion, person)
    toes = person.skeleton.forward(motion.pose).positions[:, [person.roles["left_toes"], person.roles["right_toes"]]]
    height = toes[..., 1] - toes[..., 1].min() + 0.02
    speed = np.linalg.norm(np.gradient(toes, 1.0 / motion.fps, axis=0), axis=-1)
    for k in (0, 1):
        assert found[:, k].any() and not found[:, k].all(), "a walk has both"
        assert np.array_equal(found[:, k], [h < 0.06 and v < 0.25 for h, v in zip(height[:, k], speed[:, k])])


def test_slide_is_the_widest_distance_in_a_contact_and_short_contacts_are_left_out():
    standing = np.zeros((100, 2), np.bool_)
    standing[10:50, 0], standing[60:63, 0], standing[20:90, 1] = True, True, True
    tips, heights = np.zeros((100, 2, 3)), np.zeros((100, 2))
    tips[:, 0, 0] = 0.001 * np.arange(100)
    tips[:, 0, 1] = 0.3  # how high the tip is is no slide
    around = np.linspace(0.0, 2.0 * np.pi, 70)
    tips[20:90, 1] = 0.02 * np.stack([np.cos(around), 0.0 * around, np.sin(around)], axis=-1)
    heights[30, 0], heights[40, 0], heights[5, 1] = -0.004, 0.011, -1.0
    one, other = foot_contacts(standing, FPS, tips, heights)
    assert (one.side, one.first, one.last, other.side) == ("left", 10, 49, "right")
    assert one.slide == pytest.approx(0.039) and other.slide == pytest.approx(0.04, rel=1e-3)
    assert (one.penetration, one.height, other.penetration) == (0.004, 0.011, 0.0)


def test_limits_speeds_and_jumps_are_what_the_values_say(g1):
    body = g1[1]
    skeleton, robot = body.skeleton, body.robot
    values = np.zeros((50, len(skeleton.dofs)))
    knee = skeleton.dofs.names.index("left_knee_joint.angle")
    values[:, knee] = 0.5 + 0.01 * np.arange(50)
    values[30:, knee] += 0.5  # a jump
    values[40, knee + 1] = robot.upper[knee + 1] + 0.1
    rates = joint_rates(ps.Motion(skeleton, skeleton.from_values(values), FPS))
    column = rates.dofs.tolist().index(knee)
    assert rates.excess[40, column + 1] == pytest.approx(0.1) and (rates.excess > 0.0).sum() == 1
    assert np.argwhere(rates.jumps[:, column]).ravel().tolist() == [29]
    assert rates.speeds[10, column] == pytest.approx(0.01 * FPS) and rates.speeds[29, column] == pytest.approx(
        0.51 * FPS
    )
    assert rates.accelerations[28, column] == pytest.approx(0.5 * FPS**2, rel=1e-6)
    assert not rates.too_fast.any(), "its file names no speeds"


def test_mujoco_finds_the_same_depths(g1):
    mujoco = pytest.importorskip("mujoco")
    path, body = g1
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    robot, rng = body.robot, np.random.default_rng(5)
    lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    values = 0.5 * rng.uniform(lower, upper, (200, len(lower)))
    values[:, :6] = 0.0
    motion = ps.Motion(body.skeleton, body.skeleton.from_values(values), FPS)
    depths, between = self_depths(motion)
    qpos = robot_values(motion).qpos
    for frame in range(len(motion)):
        data.qpos[:] = qpos[frame]
        mujoco.mj_forward(model, data)
        theirs = [(contact.dist, contact.geom) for contact in data.contact]
        deepest = -min((dist for dist, _ in theirs), default=0.0)
        if max(deepest, depths[frame]) > 0.002:
            assert depths[frame] == pytest.approx(deepest, abs=2e-4), frame
            named = {frozenset(model.body(model.geom_bodyid[geom]).name for geom in pair) for dist, pair in theirs
                     if dist < -deepest + 1e-4}  # fmt: skip
            assert frozenset(between[frame]) in named
    assert (depths > 0.005).sum() > 20, "postures that touch were among them"


def test_nothing_touches_as_the_robot_stands(g1):
    body = g1[1]
    rest = np.zeros((1, len(body.skeleton.dofs)))
    depths, _ = self_depths(ps.Motion(body.skeleton, body.skeleton.from_values(rest), FPS))
    assert depths[0] < 0.0


def test_motions_that_do_not_belong_together_are_refused(walk, g1):
    motion, person = walk
    body = g1[1]
    robot = posture_on(walk, body)
    with pytest.raises(ShapeError, match=r"90 frames at .* and the robot's 80 frames"):
        evaluate_retarget(motion, person, robot[:80], body)
    with pytest.raises(PosableError, match="is no robot"):
        evaluate_retarget(motion, person, motion, person)


def test_the_table_has_a_row_for_each_motion_and_of_one_a_row_for_each_measure(walk, g1):
    motion, person = walk
    body = g1[1]
    facts = evaluate_retarget(motion, person, posture_on(walk, body), body, seconds=0.009).facts()
    assert facts["frames"] == 90 and facts["microseconds_a_frame"] == 100.0
    rows = retarget_table([{"clip": "walk", **facts}, {"clip": "again", **facts}])
    assert [row["clip"] for row in rows] == ["walk", "again"] and rows[0]["µs a frame"] == "100"
    single = retarget_table([facts])
    assert {row["measure"] for row in single} >= {"posture (cm)", "slide (mm)", "jumps"}

"""The measures of a reconstructed motion."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.evaluate.measures import (
    accelerations,
    jitter,
    local_rotations,
    orientation_errors,
    position_errors,
    root_mean_square,
    scored_joints,
)
from tests.body.bodies import file_body, random_pose


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def test_the_cmu_rig_has_the_papers_22_joints(data_dir):
    scored = scored_joints(file_body(data_dir, "CMU"))
    assert len(scored.joints) == 22
    names = file_body(data_dir, "CMU").skeleton.names
    sided = ("Shoulder", "Arm", "ForeArm", "FingerBase", "UpLeg", "Leg", "Foot")
    expected = ["Hips", "Hips", "LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head"]
    expected += [side + part for side in ("Left", "Right") for part in sided]
    assert [names[j] for j in scored.joints] == expected
    above = dict(zip(scored.names, (scored.names[p] if p >= 0 else "" for p in scored.parents)))
    assert above["hips"] == "" and above["sacroiliac"] == "hips" and above["LowerBack"] == "hips"
    assert above["left_shoulder"] == above["right_shoulder"] == "Spine1" and above["Neck"] == "Spine1"
    assert above["left_upper_leg"] == "sacroiliac" and above["right_hand"] == "right_lower_arm"


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM", "CesiumMan"])
def test_every_scored_joint_hangs_on_one_above_it(name, data_dir):
    scored = scored_joints(file_body(data_dir, name))
    assert (scored.parents < np.arange(len(scored.joints))).all()
    assert len(scored.names) == len(set(scored.names)) == len(scored.joints)


def test_a_motion_is_no_error_from_itself(body):
    motion = ps.samples.walk(body)
    frames, scored = body.skeleton.forward(motion.pose), scored_joints(body)
    places, turns = frames.positions[:, scored.joints], local_rotations(frames, scored)
    assert root_mean_square(position_errors(places, places, body.joint_height)) == 0.0
    assert root_mean_square(orientation_errors(turns, turns)) < 1e-7
    assert jitter(places, places, motion.fps) == 0.0


def test_the_position_error_is_the_papers_formula():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 50, 22, 3))
    total = 0.0
    for t in range(50):
        mean = sum(np.linalg.norm(one[t, j] - other[t, j]) / 1.6 for j in range(22)) / 22
        total += mean**2
    assert root_mean_square(position_errors(one, other, 1.6)) == pytest.approx(np.sqrt(total / 50), rel=1e-12)


def test_the_orientation_error_is_the_angle_of_the_rotation_between():
    rng = np.random.default_rng(1)
    turns, axis = pm.normalize(rng.normal(size=(2000, 22, 4))), rng.normal(size=(2000, 22, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    angles = rng.uniform(0.0, np.pi, (2000, 22))
    found = orientation_errors(turns, pm.multiply(turns, pm.axis_angle(axis, angles)))
    np.testing.assert_allclose(found, angles, atol=1e-7)
    np.testing.assert_allclose(orientation_errors(turns, -turns), 0.0, atol=1e-7)


def test_turning_the_whole_body_changes_only_the_root(body):
    pose, scored = random_pose(body.skeleton, np.random.default_rng(2), (40,)), scored_joints(body)
    rotations = pose.rotations.copy()
    rotations[:, 0] = pm.multiply(pm.axis_angle([0.0, 1.0, 0.0], 0.7), rotations[:, 0])
    turned = ps.Pose(pose.translation, rotations)
    one, other = (local_rotations(body.skeleton.forward(p), scored) for p in (pose, turned))
    found = orientation_errors(one, other)
    np.testing.assert_allclose(found[:, 0], 0.7, atol=1e-9)
    np.testing.assert_allclose(found[:, 1:], 0.0, atol=1e-7)


def test_acceleration_is_that_of_a_falling_body():
    t = np.arange(20) / 60.0
    falling = np.zeros((20, 3, 3))
    falling[:, :, 1] = (-0.5 * 9.81 * t * t)[:, None]
    np.testing.assert_allclose(accelerations(falling, 60.0), 9.81, rtol=1e-9)
    assert jitter(np.zeros_like(falling), falling, 60.0) == pytest.approx(9.81)
    assert jitter(falling[:2], falling[:2], 60.0) == 0.0


def test_shapes_that_differ_are_refused():
    with pytest.raises(ps.ShapeError, match="same"):
        position_errors(np.zeros((3, 22, 3)), np.zeros((4, 22, 3)), 1.0)

"""Streams: the same numbers as a motion at once, and a robot that comes to rest when nobody speaks to it."""

import numpy as np
import pytest

import posable as ps


@pytest.mark.parametrize("lookahead", [0, 1, 2])
def test_a_stream_gives_what_a_motion_at_once_does_to_the_last_bit(lookahead, walk, person, robot):
    at_once = ps.retarget(walk[:60], person, robot, lookahead=lookahead)
    stream = ps.Retargeter(person, robot).stream(walk.fps, lookahead)
    frames = [frame for row in range(60) if (frame := stream.step(walk.pose[row])) is not None]
    assert len(frames) == 60 - lookahead
    for frame, values in zip(frames, at_once.values, strict=False):
        assert (frame.values == values).all()
        assert frame.status == ps.Status.REACHED


@pytest.mark.parametrize("lookahead", [0, 2])
def test_a_robot_comes_to_rest_within_limits_when_no_pose_comes(lookahead, walk, person, robot):
    stream = ps.Retargeter(person, robot).stream(walk.fps, lookahead)
    values = [f.values for row in range(70) if (f := stream.step(walk.pose[row])) is not None]
    tail = [stream.step(None) for _ in range(90)]
    assert all(frame.status == ps.Status.INVALID for frame in tail)
    made = np.array([*values, *(frame.values for frame in tail)])
    steps = np.abs(np.diff(made[:, 6:], axis=0))
    assert (steps * walk.fps).max() <= 20.0
    assert np.maximum(made - robot.robot.upper, robot.robot.lower - made)[:, 6:].max() <= 1e-9
    assert np.abs(np.diff(made, axis=0))[-1].max() < 1e-3


def bad_poses(pose):
    """Poses that are none, by what is wrong with them."""
    joints = len(pose.rotations)
    still = np.tile(pose.translation * 0.0, (joints, 1))
    yield "far away", ps.Pose(np.array([0.0, 1e7, 0.0]), pose.rotations)
    yield "beyond all numbers", ps.Pose(np.full(3, 1e308), pose.rotations)
    yield "infinite", ps.Pose(np.full(3, -np.inf), pose.rotations)
    for value in (np.nan, np.inf, 1e308, 2e6):
        yield f"offsets of {value}", ps.Pose(pose.translation, pose.rotations, still + value)
    for value in (np.nan, 0.0, 1e-320, 1e200, 1e308):
        yield f"rotations of {value}", ps.Pose(pose.translation, np.full((joints, 4), value))


@pytest.mark.filterwarnings("error")
def test_no_pose_poisons_those_that_come_after_it(walk, person, robot):
    retargeter = ps.Retargeter(person, robot)
    calm = retargeter.stream(walk.fps)
    expected = [calm.step(pose) for pose in (walk.pose[0], walk.pose[0], walk.pose[1])]
    for why, bad in bad_poses(walk.pose[0]):
        stream = retargeter.stream(walk.fps)
        frames = [stream.step(pose) for pose in (walk.pose[0], bad, walk.pose[1])]
        assert [frame.status.name for frame in frames] == ["REACHED", "INVALID", "REACHED"], why
        for frame, want in zip(frames, expected, strict=True):
            np.testing.assert_array_equal(frame.values, want.values, err_msg=why)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lookahead", [None, 0])
def test_no_frame_of_a_motion_poisons_the_others(lookahead, walk, person, robot):
    for why, bad in bad_poses(walk.pose[0]):
        translation, rotations = walk.pose.translation[:8].copy(), walk.pose.rotations[:8].copy()
        offsets = None
        if bad.offsets is not None:
            offsets = np.tile(person.skeleton.offsets, (8, 1, 1))
            offsets[4] = bad.offsets
        translation[4], rotations[4] = bad.translation, bad.rotations
        motion = ps.Motion(person.skeleton, ps.Pose(translation, rotations, offsets), walk.fps)
        made = ps.retarget(motion, person, robot, lookahead=lookahead)
        assert np.flatnonzero(made.status == ps.Status.INVALID).tolist() == [4], why
        assert np.isfinite(made.values).all() and made.motion.pose.is_finite(), why


def test_a_motion_without_frames_has_none_on_a_robot(walk, person, robot):
    for lookahead in (None, 0, 2):
        made = ps.retarget(walk[:0], person, robot, lookahead=lookahead)
        assert len(made.motion) == 0 and made.values.shape == (0, len(robot.skeleton.dofs))


def test_wrong_arguments_of_streams_are_named(walk, person, robot):
    with pytest.raises(ps.PosableError, match=r"target is .*no robot"):
        ps.Retargeter(person, person)
    for hands in (1e308, -1.0, np.nan, "x"):
        with pytest.raises(ps.PosableError, match="hands is"):
            ps.Retargeter(person, robot, hands=hands)
    with pytest.raises(ps.ShapeError, match="3 joints, the source"):
        ps.Retargeter(person, robot).stream(30.0).step(ps.Pose(np.zeros(3), np.tile([1.0, 0, 0, 0], (3, 1))))


def test_a_bad_pose_is_passed_over(walk, person, robot):
    stream = ps.Retargeter(person, robot).stream(walk.fps)
    assert stream.step(None) is None
    stream.step(walk.pose[0])
    bad = ps.Pose(np.full(3, np.nan), walk.pose.rotations[1])
    frame = stream.step(bad)
    assert frame.status == ps.Status.INVALID and np.isfinite(frame.values).all()
    assert stream.step(walk.pose[1]).status == ps.Status.REACHED


def test_standing_feet_of_a_stream_stay_where_they_are(walk, person, robot):
    solution = ps.retarget(walk, person, robot, lookahead=2)
    assert np.percentile(solution.slid, 95) < 2e-3
    assert np.percentile(solution.sunk, 95) < 2e-3


@pytest.mark.parametrize("fps", [0.0, -1.0, np.inf, np.nan, 5e-324, 1e308, "x"])
def test_a_rate_that_is_none_is_said(fps, person, robot):
    with pytest.raises(ps.PosableError, match="fps is"):
        ps.Retargeter(person, robot).stream(fps)


def test_a_batch_of_poses_is_refused(walk, person, robot):
    with pytest.raises(ps.ShapeError, match="expected one pose"):
        ps.Retargeter(person, robot).stream(30.0).step(walk.pose[:3])

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


@pytest.mark.parametrize("fps", [0.0, -1.0, np.inf, np.nan])
def test_a_rate_that_is_none_is_said(fps, person, robot):
    with pytest.raises(ps.PosableError, match="fps is"):
        ps.Retargeter(person, robot).stream(fps)


def test_a_batch_of_poses_is_refused(walk, person, robot):
    with pytest.raises(ps.ShapeError, match="expected one pose"):
        ps.Retargeter(person, robot).stream(30.0).step(walk.pose[:3])

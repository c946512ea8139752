"""Targets that move: answers continue from frame to frame, and leap no more often than they must."""

import numpy as np
import pytest

import posable.math as pm
from posable.compute import PosableError, Status
from posable.express import ERIK, SKELETONS, Chain
from posable.skeleton import Motion

from .cases import sample

FRAMES = 90


def paths(name, tracks, seed=3):
    """Targets that turn by 1 degree a frame about axes of their own."""
    chain, postures, starts = sample(name, tracks, seed)
    axes = np.random.default_rng(seed).normal(size=(tracks, 1, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    turns = pm.axis_angle(axes, np.radians(np.arange(FRAMES)))
    return chain, np.repeat(postures[:, None], FRAMES, axis=1), pm.multiply(turns, starts[:, None])


def jumps(answer):
    return (np.abs(np.diff(answer.angles, axis=-2)) > np.radians(10)).any(axis=-1).mean()


@pytest.mark.parametrize("name", SKELETONS)
def test_best_jumps_no_more_often_than_erik_and_has_less_error(name):
    chain, postures, targets = paths(name, 25)
    best, erik = (ERIK(chain, method).track(postures, targets) for method in ("best", "erik"))
    assert jumps(best) <= jumps(erik)
    assert best.error.mean() < erik.error.mean()
    assert (best.angles >= chain.lower).all() and (best.angles <= chain.upper).all()


def test_a_leap_is_flagged_and_nothing_else_is():
    chain, postures, targets = paths("C", 20)
    answer = ERIK(chain, speed=8.0).track(postures, targets, fps=60)
    far = (np.abs(np.diff(answer.angles, axis=-2)) > 8.0 / 60 + 1e-9).any(axis=-1)
    np.testing.assert_array_equal(answer.jumped[:, 1:], far)
    assert not answer.jumped[:, 0].any()


def test_a_stream_gives_what_a_track_gives():
    chain, postures, targets = paths("E", 1)
    solver = ERIK(chain)
    track, stream = solver.track(postures[0], targets[0], fps=60), solver.stream(fps=60)
    for f in range(FRAMES):
        np.testing.assert_array_equal(stream.step(postures[0, f], targets[0, f]).angles, track.angles[f])
    stream.reset()
    np.testing.assert_array_equal(stream.step(postures[0, 0], targets[0, 0], dt=0.5).angles, track.angles[0])
    with pytest.raises(PosableError, match="dt is 0"):
        stream.step(postures[0, 0], targets[0, 0], dt=0.0)


def test_a_gap_in_the_targets_is_held_through():
    chain, postures, targets = paths("C", 1)
    targets[0, 30:35] = np.nan
    answer = ERIK(chain).track(postures[0], targets[0])
    assert (answer.status[30:35] == Status.INVALID).all()
    np.testing.assert_array_equal(answer.angles[30:35], np.repeat(answer.angles[29:30], 5, axis=0))


def test_an_animated_posture_is_warped_to_the_target():
    chain = SKELETONS["G"]
    time = np.arange(120) / 60
    swing = np.stack([0.5 * np.sin(2 * np.pi * (0.5 + 0.1 * k) * time) for k in range(8)], axis=-1)
    motion = Motion(chain.skeleton, chain.pose(swing), 60.0)
    target = pm.axis_angle((1.0, 0.0, 0.0), 0.9)
    answer = ERIK(chain).track(motion, np.broadcast_to(target, (120, 4)), fps=60)
    assert answer.orientation_score.max() < 0.04 and answer.posture_error.mean() < 0.05
    assert len(answer.motion) == 120 and not answer.jumped.any()


def test_a_joint_without_ends_turns_on():
    chain = Chain.from_axes("YXXZY", limits=[(-np.inf, np.inf), *[(-2.0, 2.0)] * 3, (-np.inf, np.inf)])
    turns = pm.multiply(pm.axis_angle((0.0, 1.0, 0.0), np.radians(3.0 * np.arange(300))), pm.axis_angle((1, 0, 0), 1.0))
    answer = ERIK(chain).track(np.array([0, 0.4, 0.3, 0.2, 0]), turns)
    assert not answer.jumped.any()
    assert abs(answer.angles[-1, 0] - answer.angles[0, 0]) > 4 * np.pi


def test_a_moving_point_is_followed():
    chain = Chain.from_axes("YXXZY", [0.1, 0.3, 0.3, 0.2, 0.2], (-2.5, 2.5))
    time = np.linspace(-1.5, 1.5, 100)  # past the front: behind it, a limit of the pan is in the way
    points = np.stack([2 * np.sin(time), 1 + 0.3 * np.cos(2 * time), 2 * np.cos(time)], axis=-1)
    answer = ERIK(chain).track(np.array([0, 0.5, -0.7, 0.3, 0]), look_at=points)
    frames = chain.forward(answer.angles)
    away = points - frames.positions[:, -1]
    cosine = (away * frames.pointing).sum(-1) / np.linalg.norm(away, axis=-1)
    assert cosine.min() > 0.999 and not answer.jumped.any()


def test_a_track_without_frames_that_has_a_start_is_a_track_without_frames():
    chain = SKELETONS["C"]
    for kind, width in (("orientations", 4), ("directions", 3), ("look_at", 3)):
        track = ERIK(chain).track(chain.zero, **{kind: np.zeros((2, 0, width))}, start=np.zeros((2, 5)))
        assert track.angles.shape == (2, 0, 5) and track.ok.shape == (2, 0)

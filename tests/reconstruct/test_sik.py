"""A whole body from six points."""

import math

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.reconstruct import SequentialIK
from tests.body.bodies import file_body

CLIPS = {"17_10": (1, 1, 0), "90_05": (1, 1, 0), "01_03": (0.1, 0.1, 1)}
SIDED = ("Shoulder", "Arm", "ForeArm", "FingerBase", "UpLeg", "Leg", "Foot")
SCORED = ["Hips", "Hips", "LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head"]
SCORED += [side + part for side in ("Left", "Right") for part in SIDED]


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def solver(body):
    return SequentialIK(body, prior=None)


@pytest.fixture(scope="module")
def points(body):
    return np.concatenate([body.markers(motion(body).pose) for motion in (ps.samples.walk, ps.samples.dance)])


def turned(points, q, shift=(0.0, 0.0, 0.0)):
    return pm.rotate(q, points) + np.asarray(shift)


def random_points(count, seed):
    rng = np.random.default_rng(seed)
    base = np.array([[0, 1, 0], [0, 1.55, 0], [0.4, 1, 0.2], [-0.4, 1, 0.2], [0.12, 0.1, 0], [-0.12, 0.1, 0]])
    return base + rng.normal(size=(count, 6, 3)) * rng.uniform(0.02, 0.6, (count, 1, 1))


def test_points_of_a_body_are_met(body, solver, points):
    answer = solver.solve(points)
    assert answer.ok.mean() > 0.9
    found = body.markers(answer.pose)
    np.testing.assert_allclose(np.linalg.norm(found - points, axis=-1), answer.marker_errors, atol=1e-9)
    assert answer.marker_errors[answer.ok].max() < 1e-6


def test_the_neutral_body_comes_back_from_its_points(body, solver):
    answer = solver.solve(body.markers(body.neutral_pose))
    assert answer.ok
    frames = body.skeleton.forward(answer.pose), body.skeleton.forward(body.neutral_pose)
    joints = list(body.roles.values())
    assert np.linalg.norm(frames[0].positions[joints] - frames[1].positions[joints], axis=-1).max() < 0.02


@pytest.mark.parametrize("clip", CLIPS)
def test_the_papers_clips_are_reconstructed_as_well_as_it_says(clip, cmu):
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)
    body = ps.Humanoid(motion.skeleton)
    reconstructed = (
        SequentialIK(body, CLIPS[clip], prior=None, elbows_out=False, limit_rates=False)
        .track(body.markers(motion.pose), fps=motion.fps)
        .motion
    )
    joints = [motion.skeleton.index(name) for name in SCORED]
    one, other = (motion.skeleton.forward(m.pose).positions[:, joints] for m in (motion, reconstructed))
    error = np.linalg.norm(one - other, axis=-1).mean(axis=-1) / body.joint_height
    measured = {"17_10": 0.0265, "90_05": 0.0207, "01_03": 0.0237}[clip]  # specification reconstruct, section 6
    assert math.sqrt((error**2).mean()) == pytest.approx(measured, abs=0.0004)


def test_limits_hold_whatever_the_points(body, solver):
    points = random_points(3000, 0)
    answer = solver.solve(points)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    posture = body.canonical(answer.pose)
    roles = [role for role in posture.roles if role in body.limits]
    rows = [posture.roles.index(role) for role in roles]
    assert body.limits.contains(roles, posture.rotations[..., rows, :], 1e-6).all()
    assert ((answer.marker_errors < 1e-6).all(axis=-1) == answer.ok).all()


def test_hostile_points_give_a_finite_body_and_a_true_status(body, solver):
    points = random_points(40, 1)
    points[0], points[1] = 0.0, points[1, :1]
    points[2, 3], points[3, 0, 1], points[4] = np.nan, np.inf, 1e6
    points[5, 1] = points[5, 0]
    answer = solver.solve(points)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert (answer.status[[2, 3]] == ps.Status.INVALID).all()
    assert not (answer.status[[0, 1, 4, 5, *range(6, 40)]] == ps.Status.INVALID).any()
    clean = solver.solve(points[6:])
    np.testing.assert_array_equal(clean.pose.rotations, answer.pose.rotations[6:])


def test_points_moved_and_turned_give_the_same_body_moved_and_turned(body, solver, points):
    turn = pm.normalize(np.array([0.4, 0.3, -0.7, 0.5]))
    shift = np.array([3.0, -1.0, 2.0])
    some = points[::7]
    here, there = solver.solve(some), solver.solve(turned(some, turn, shift))
    one = turned(body.skeleton.forward(here.pose).positions, turn, shift)
    np.testing.assert_allclose(body.skeleton.forward(there.pose).positions, one, atol=1e-6)


def test_mirrored_points_give_a_mirrored_body(body, solver, points):
    some = points[::7]
    mirrored = some[:, [0, 1, 3, 2, 5, 4]] * [-1.0, 1.0, 1.0]
    one, other = solver.solve(some), solver.solve(mirrored)
    expected = body.markers(body.mirrored(one.pose))
    np.testing.assert_allclose(body.markers(other.pose), expected, atol=1e-6)
    elbows = [body.index(role) for role in ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")]
    a = body.skeleton.forward(other.pose).positions[:, elbows]
    b = body.skeleton.forward(one.pose).positions[:, [elbows[k] for k in (1, 0, 3, 2)]] * [-1.0, 1.0, 1.0]
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM", "CesiumMan", "RiggedFigure"])
def test_it_works_on_other_bodies(name, body, data_dir):
    other = file_body(data_dir, name)
    points = other.markers(other.pose(body.canonical(ps.samples.dance(body).pose)))
    answer = SequentialIK(other, prior=None).solve(points)
    assert np.isfinite(answer.pose.rotations).all()
    assert answer.ok.mean() > 0.8
    assert answer.marker_errors.max() < 0.1 * other.joint_height


@pytest.mark.parametrize("height", [0.5, 1.0, 3.0])
def test_size_does_not_matter(height, points):
    small, usual = ps.figure(height), ps.figure(1.75)
    scale = height / 1.75
    some = points[::11]
    one = SequentialIK(small, prior=None).solve(some * scale)
    other = SequentialIK(usual, prior=None).solve(some)
    np.testing.assert_allclose(
        small.skeleton.forward(one.pose).positions / scale, usual.skeleton.forward(other.pose).positions, atol=1e-6
    )


def test_tracking_with_no_memory_is_solving_frame_by_frame(body, solver, points):
    motion = solver.track(points[:60], fps=30.0)
    np.testing.assert_allclose(motion.motion.pose.rotations, solver.solve(points[:60]).pose.rotations, atol=1e-12)
    assert motion.motion.fps == 30.0 and motion.marker_errors.shape == (60, 6)


def test_memory_makes_the_pelvis_calm(body, points):
    noisy = points[:120] + np.random.default_rng(3).normal(size=(120, 6, 3)) * 0.01
    hips = body.index("hips")

    def jitter(weights):
        turns = SequentialIK(body, weights, prior=None).track(noisy).motion.pose.rotations[:, hips]
        left = pm.rotate(turns, [1.0, 0.0, 0.0])
        return np.linalg.norm(np.diff(left, axis=0), axis=-1).mean()

    assert jitter((0.1, 0.1, 1.0)) < 0.7 * jitter((1.0, 1.0, 0.0))


def test_wrong_calls_say_what_is_wrong(body, solver):
    with pytest.raises(ps.ShapeError, match=r"\(6, 3\)|6, 3"):
        solver.solve(np.zeros((5, 3)))
    with pytest.raises(ps.PosableError, match="weights"):
        SequentialIK(body, (0, 0, 0))
    with pytest.raises(ps.ShapeError):
        solver.track(np.zeros((6, 3)))
    with pytest.raises(ps.PosableError, match="one track"):
        solver.track(np.zeros((2, 2, 6, 3)), lock_feet=True)
    assert solver.track(np.zeros((2, 2, 6, 3))).pose.shape == (2, 2)
    assert len(solver.track(np.zeros((0, 6, 3))).motion) == 0

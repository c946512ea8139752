"""Bodies over time: lost points, calm elbows and pelvises, streams."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.reconstruct import SequentialIK
from tests.reconstruct.test_inputs import HEAD_AND_HANDS, inside_limits, orientations_of, points_of

FPS = 60.0


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def solver(body):
    return SequentialIK(body, prior=None)


@pytest.fixture(scope="module")
def walk(body):
    return ps.samples.walk(body)


def with_gaps(points, seed, gaps=6, longest=40):
    """Points lost for some frames each, never in the first one."""
    rng = np.random.default_rng(seed)
    out = points.copy()
    for _ in range(gaps):
        first, many = rng.integers(1, len(points) - 2), rng.integers(1, longest)
        out[first : first + many, rng.integers(points.shape[1])] = rng.choice([np.nan, np.inf])
    return out


def fastest(body, motion):
    """The furthest that any part moves in one frame [m]."""
    places = body.skeleton.forward(motion.pose).positions
    return np.linalg.norm(np.diff(places, axis=0), axis=-1).max()


@pytest.mark.parametrize("seed", range(8))
def test_lost_points_are_bridged_flagged_and_nothing_pops(seed, body, solver, walk):
    points = body.markers(walk.pose)
    given = with_gaps(points, seed)
    answer = solver.track(given, fps=walk.fps)
    lost = ~np.isfinite(given).all(axis=-1)
    np.testing.assert_array_equal(answer.lost, lost)
    np.testing.assert_array_equal(answer.status == ps.Status.INVALID, lost.any(axis=-1))
    assert np.isinf(answer.marker_errors[lost]).all() and np.isfinite(answer.marker_errors[~lost]).all()
    assert np.isfinite(answer.motion.pose.rotations).all() and inside_limits(body, answer.motion.pose)
    whole = solver.track(points, fps=walk.fps)
    assert fastest(body, answer.motion) < 2.0 * fastest(body, whole.motion) + 0.03
    off = np.linalg.norm(body.markers(answer.motion.pose) - points, axis=-1)
    assert off.max() < 0.8  # half a stride


def test_a_short_gap_is_hardly_seen(body, solver, walk):
    points = body.markers(walk.pose)
    given = points.copy()
    given[40:46, 2] = np.nan
    off = np.linalg.norm(body.markers(solver.track(given, fps=walk.fps).motion.pose) - points, axis=-1)
    assert off.max() < 0.15
    np.testing.assert_array_less(off[46 + 20 :], 1e-6)


def test_a_lost_hand_goes_along_with_a_body_that_walks_and_turns(body, solver):
    points = np.repeat(body.markers(body.neutral_pose)[None], 120, axis=0)
    turn = pm.axis_angle([0.0, 1.0, 0.0], np.linspace(0.0, 2.0, 120))[:, None]
    points = pm.rotate(turn, points) + np.linspace(0.0, 1.0, 120)[:, None, None] * [0.0, 0.0, 1.5]
    given = points.copy()
    given[10:, 3] = np.nan
    off = np.linalg.norm(body.markers(solver.track(given).motion.pose) - points, axis=-1)
    assert off[:, 3].max() < 0.05


def test_points_lost_from_the_first_frame_on_are_guessed(body, solver, walk):
    points = body.markers(walk.pose)
    points[:30, 2:] = np.nan
    answer = solver.track(points, fps=walk.fps)
    assert (answer.status[:30] == ps.Status.INVALID).all()
    hips = np.linalg.norm(body.markers(answer.motion.pose)[:, :2] - points[:, :2], axis=-1)
    assert hips.max() < 0.02
    assert fastest(body, answer.motion) < 0.12
    points[:30] = np.nan
    answer = solver.track(points, fps=walk.fps)
    np.testing.assert_array_equal(answer.motion.pose.rotations[:30], np.tile(body.neutral_pose.rotations, (30, 1, 1)))
    assert (answer.status[:30] == ps.Status.INVALID).all() and answer.ok[40:].any()


def test_everything_lost_holds_the_body(body, solver, walk):
    points = body.markers(walk.pose)
    points[50:] = np.nan
    answer = solver.track(points, fps=walk.fps)
    assert (answer.status[50:] == ps.Status.INVALID).all()
    places = body.skeleton.forward(answer.motion.pose).positions
    np.testing.assert_allclose(places[-1], places[-2], atol=1e-3)
    assert fastest(body, answer.motion[49:]) < 0.1


@pytest.mark.parametrize("markers", [ps.MARKERS, HEAD_AND_HANDS])
def test_a_stream_gives_what_a_track_gives(markers, body, walk):
    solver = SequentialIK(body, (0.1, 0.1, 1.0), markers=markers)
    points = with_gaps(points_of(body, walk.pose, markers), 3)
    turns = orientations_of(body, walk.pose, ("head", "left_hand"))
    turns["head"][20:30] = np.nan
    tracked = solver.track(points, fps=walk.fps, orientations=turns)
    stream = solver.stream(fps=walk.fps)
    for again in range(2):
        steps = [stream.step(p, {r: q[k] for r, q in turns.items()}) for k, p in enumerate(points)]
        np.testing.assert_array_equal(np.stack([s.pose.rotations for s in steps]), tracked.motion.pose.rotations)
        np.testing.assert_array_equal(np.stack([s.marker_errors for s in steps]), tracked.marker_errors)
        np.testing.assert_array_equal([int(s.status) for s in steps], tracked.status)
        np.testing.assert_array_equal(np.stack([s.lost for s in steps]), tracked.lost)
        stream.reset()
        assert again or steps[0].pose is not steps[1].pose


@pytest.mark.parametrize("prior", [None, "default"])
def test_a_long_track_in_blocks_is_the_track_in_one(prior, body, walk, monkeypatch):
    """So that it can be stopped between two of them; lost points and memory go on over their ends."""
    solver = SequentialIK(body) if prior else SequentialIK(body, prior=None)
    points = with_gaps(points_of(body, walk.pose, ps.MARKERS), 3)
    turns = orientations_of(body, walk.pose, ("head", "left_hand"))
    whole = solver.track(points, fps=walk.fps, orientations=turns)
    for frames in (1, 37, len(points) - 1):
        monkeypatch.setattr("posable.reconstruct.sik.TRACK_BLOCK", frames)
        parts = solver.track(points, fps=walk.fps, orientations=turns)
        np.testing.assert_array_equal(parts.motion.pose.rotations, whole.motion.pose.rotations)
        np.testing.assert_array_equal(parts.motion.pose.translation, whole.motion.pose.translation)
        np.testing.assert_array_equal(parts.marker_errors, whole.marker_errors)
        np.testing.assert_array_equal(parts.status, whole.status)


def test_the_pelvis_does_not_flip_where_wrists_and_ankles_cancel(body, solver):
    standing = body.markers(body.neutral_pose)
    points = np.repeat(standing[None], 240, axis=0)
    sweep = np.sin(np.linspace(0.0, 6.0 * np.pi, 240)) * 0.02
    points[:, 2:4] = points[:, [3, 2]]  # crossed wrists say the opposite of the ankles
    points[:, 2, 2] += sweep
    points[0] = standing
    hips = body.index("hips")

    def quickest(calm):
        turns = SequentialIK(body, prior=None, limit_rates=calm).track(points, fps=FPS).motion.pose.rotations[:, hips]
        return pm.angle(turns[1:-1], turns[2:]).max()

    assert quickest(True) < 0.25 and quickest(False) > 1.0


def test_an_elbow_does_not_flip_while_its_hand_passes_overhead(body):
    points = np.repeat(body.markers(body.neutral_pose)[None], 120, axis=0)
    shoulder = body.skeleton.forward(body.neutral_pose).positions[body.index("left_upper_arm")]
    angle = np.linspace(-0.3, 0.3, 120)
    reach = 0.8 * body.limb("left_arm").length
    points[:, 2] = shoulder + reach * np.stack([0.02 * np.cos(40 * angle), np.cos(angle), np.sin(angle)], axis=-1)

    def elbow(calm):
        answer = SequentialIK(body, prior=None, limit_rates=calm, limits=None, elbows_out=False).track(points, fps=FPS)
        assert answer.marker_errors[:, 2].max() < 1e-6
        places = points_of(body, answer.motion.pose, ("left_lower_arm",))[:, 0]
        return np.linalg.norm(np.diff(places, axis=0), axis=-1).max()

    assert elbow(True) < 0.5 * elbow(False)
    assert elbow(True) < 0.06


def test_feet_that_nobody_tracks_step_after_the_body_and_stand_in_between(body):
    head = body.markers(body.neutral_pose)[1:4]
    way = np.linspace(0.0, 3.0, 300)[:, None, None] * [0.0, 0.0, 1.0]
    answer = SequentialIK(body, prior=None, markers=HEAD_AND_HANDS).track(head + way, fps=FPS)
    feet = points_of(body, answer.motion.pose, ("left_foot", "right_foot"))
    speed = np.linalg.norm(np.diff(feet, axis=0), axis=-1) * FPS
    assert (speed < 0.4).mean() > 0.4 and speed.max() < 6.0
    assert ((speed < 0.4).any(axis=-1)).mean() > 0.9  # one foot stands nearly always
    assert np.abs(feet[-1, :, 2] - 3.0).max() < 0.5 and feet[..., 1].min() > 0.0
    still = SequentialIK(body, prior=None, markers=HEAD_AND_HANDS).track(np.repeat(head[None], 60, axis=0))
    places = body.skeleton.forward(still.motion.pose).positions
    np.testing.assert_allclose(places, np.broadcast_to(places[:1], places.shape), atol=1e-9)


def test_a_lost_orientation_is_held_and_eased_back(body, solver, walk):
    points = body.markers(walk.pose)
    turns = {"head": np.tile(pm.axis_angle([0.0, 1.0, 0.0], 0.5), (len(points), 1))}
    turns["head"][40:60] = np.nan
    answer = solver.track(points, fps=walk.fps, orientations=turns)
    frames = body.skeleton.forward(answer.motion.pose)
    head = body.canonical_orientation(frames, body.index("head"))
    assert pm.angle(head[1:], head[:-1]).max() < 0.1
    assert np.isnan(answer.marker_orientation_errors["head"][40:60]).all()
    assert answer.marker_orientation_errors["head"][80:].max() < 1e-6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_orientation_that_returns_goes_the_shorter_way(body, sign):
    """Of the two quaternions of a rotation either may be given; the pelvis was lost, and faces elsewhere then."""
    solver, standing = SequentialIK(body, markers=("hips", "head")), body.markers(body.neutral_pose)[:2]
    points, turns = np.repeat(standing[None], 180, axis=0), np.full((180, 4), np.nan)
    turns[:60] = [1.0, 0.0, 0.0, 0.0]
    turns[90:] = sign * pm.axis_angle([0.0, 1.0, 0.0], np.radians(100.0))
    answer = solver.track(points, fps=60.0, orientations={"hips": turns})
    missed = np.degrees(answer.marker_orientation_errors["hips"][90:])
    assert missed.max() < 105.0 and np.diff(missed).max() < 1.0  # it faced 100 degrees elsewhere
    assert missed[45:].max() < 1.0


def test_orientation_errors_of_a_track_are_measured_from_what_was_requested(body, walk):
    points = body.markers(walk.pose[:60])
    turns = orientations_of(body, walk.pose[:60])
    for k, nothing in enumerate(([0.0, 0.0, 0.0, 0.0], [1.0, np.nan, 0.0, 0.0], [1e200, 1e200, 0.0, 0.0])):
        for q in turns.values():
            q[10 + k :: 11] = nothing
    for prior in ("default", None):
        answer = SequentialIK(body, prior=prior).track(points, fps=walk.fps, orientations=turns)
        frames = body.skeleton.forward(answer.motion.pose)
        for role, q in turns.items():
            known = (np.abs(q) <= 1.0).all(axis=-1) & (np.abs(q).max(axis=-1) > 0.1)
            reported = answer.marker_orientation_errors[role]
            there = body.canonical_orientation(frames, body.index(role))
            assert np.isnan(reported[~known]).all() and known.sum() > 30
            np.testing.assert_allclose(reported[known], pm.angle(there, q)[known], atol=1e-6)


def test_orientations_that_a_stream_is_not_given_are_lost_as_those_that_are_nan(body, walk):
    """A person stands still, and trackers stop reporting how they are rotated for some frames."""
    pose = walk.pose[20]
    points, bent = points_of(body, pose, HEAD_AND_HANDS), pm.axis_angle([0.9, 0.3, 0.0], 0.35)
    turns = {role: pm.multiply(q, bent) for role, q in orientations_of(body, pose, HEAD_AND_HANDS).items()}
    missing = {role: np.full(4, np.nan) for role in turns}
    for options in ({"prior": None}, {}):
        solver, found = SequentialIK(body, markers=HEAD_AND_HANDS, **options), []
        for gap in (None, {}, missing):
            stream = solver.stream(fps=FPS, smoothing=None if options else 0.03)
            steps = [stream.step(points, gap if 20 <= k < 40 else turns) for k in range(60)]
            found.append(np.array([step.pose.rotations for step in steps]))
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[2])


def test_a_pose_says_which_of_its_points_was_lost(body, solver, walk):
    points = body.markers(walk.pose[:4])
    points[0, 2], points[1, 5, 1], points[2, 0, 2] = np.nan, np.inf, 2e6
    lost = np.zeros((4, 6), bool)
    lost[0, 2] = lost[1, 5] = lost[2, 0] = True
    answer = solver.solve(points)
    np.testing.assert_array_equal(answer.lost, lost)
    assert (answer.status == ps.Status.INVALID).tolist() == [True, True, True, False]
    np.testing.assert_array_equal(solver.solve(points[0]).lost, lost[0])


def jitter(points):
    return np.linalg.norm(np.diff(points, 2, axis=0), axis=-1).mean()


def test_smoothing_takes_noise_out_without_lag(body, solver, walk):
    points = body.markers(walk.pose)
    noisy = points + np.random.default_rng(1).normal(size=points.shape) * 0.005
    noisy[60:66, 3] = np.nan
    plain, smooth = (solver.track(noisy, fps=walk.fps, smoothing=s) for s in (None, 0.02))
    assert jitter(body.markers(smooth.motion.pose)) < 0.5 * jitter(body.markers(plain.motion.pose))
    np.testing.assert_array_equal(plain.points, noisy)
    np.testing.assert_array_equal(smooth.lost, plain.lost)
    seen = np.isfinite(smooth.points)
    met = np.linalg.norm(body.markers(smooth.motion.pose) - smooth.points, axis=-1)
    np.testing.assert_allclose(met[~smooth.lost], smooth.marker_errors[~smooth.lost], atol=1e-9)
    lags = [np.nanmean(np.abs(np.roll(smooth.points, k, axis=0) - points)[5:-5][seen[5:-5]]) for k in (-1, 0, 1)]
    assert lags[1] == min(lags)
    turns = {"head": pm.normalize(np.random.default_rng(2).normal([1, 0, 0, 0], 0.03, (len(points), 4)))}
    turns["head"][::2] *= -1.0
    told = solver.track(noisy, fps=walk.fps, smoothing=0.05, orientations=turns)
    head = body.canonical_orientation(body.skeleton.forward(told.motion.pose), body.index("head"))
    assert pm.angle(head[30:-30], [1.0, 0.0, 0.0, 0.0]).max() < 0.05


def test_a_smoothing_stream_is_quiet_at_rest_and_quick_in_motion(body, solver, walk):
    still = np.repeat(body.markers(body.neutral_pose)[None], 200, axis=0)
    still = still + np.random.default_rng(3).normal(size=still.shape) * 0.003
    stream = solver.stream(smoothing=0.1)
    steps = np.stack([stream.step(p).points for p in still])
    assert jitter(steps[30:]) < 0.3 * jitter(still[30:])
    points = body.markers(walk.pose)
    stream.reset()
    moving = np.stack([stream.step(p).points for p in points])
    assert np.linalg.norm(moving - points, axis=-1).max() < 0.05


def test_locked_feet_stand_still_and_nothing_pops(body, solver, walk):
    points = body.markers(walk.pose)
    noisy = points + np.random.default_rng(4).normal(size=points.shape) * 0.003
    free, locked = (solver.track(noisy, fps=walk.fps, lock_feet=lock) for lock in (False, True))
    still = [(np.diff(a.points[:, 4:], axis=0) == 0.0).all(axis=-1) for a in (free, locked)]
    assert still[1].mean() > 0.25 and not still[0].any()
    met = np.linalg.norm(body.markers(locked.motion.pose) - locked.points, axis=-1)
    np.testing.assert_allclose(met, locked.marker_errors, atol=1e-9)
    steps = [np.linalg.norm(np.diff(a.points, axis=0), axis=-1).max() for a in (free, locked)]
    assert steps[1] < 1.2 * steps[0]
    assert fastest(body, locked.motion) < 1.6 * fastest(body, free.motion)  # knees of stretched legs are quick
    assert np.linalg.norm(locked.points - noisy, axis=-1).max() < 0.09
    stream = solver.stream(fps=walk.fps, lock_feet=True)
    np.testing.assert_array_equal(np.stack([stream.step(p).points for p in noisy]), locked.points)


def test_wrong_times_say_what_is_wrong(solver, body):
    points = body.markers(body.neutral_pose)
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(ps.PosableError, match="fps"):
            solver.stream(fps=wrong)
        with pytest.raises(ps.PosableError, match="fps"):
            solver.track(points[None], fps=wrong)
        with pytest.raises(ps.PosableError, match="dt"):
            solver.stream().step(points, dt=wrong)
    with pytest.raises(ps.PosableError, match="smoothing"):
        solver.stream(smoothing=-1.0)
    with pytest.raises(ps.ShapeError, match=r"\(6, 3\)"):
        solver.stream().step(points[:5])


def test_a_pelvis_that_only_hands_speak_for_does_not_swing_with_them(body, walk):
    points = points_of(body, walk.pose, HEAD_AND_HANDS)
    truth = orientations_of(body, walk.pose, ("hips",))["hips"]

    def off(solver, **options):
        pose = solver.track(points, fps=walk.fps, **options).motion.pose
        return pm.angle(orientations_of(body, pose, ("hips",))["hips"], truth)[60:].mean()

    calm, wild = (SequentialIK(body, prior=None, markers=HEAD_AND_HANDS, limit_rates=c) for c in (True, False))
    assert off(calm) < 0.6 * off(wild)
    assert off(calm, orientations=orientations_of(body, walk.pose, ("head",))) < 0.3

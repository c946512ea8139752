"""Bodies from six points, and from other trackers, with what was learned of how people move."""

import math
import shutil

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.evaluate import evaluate_clip
from posable.reconstruct import Prior, SequentialIK
from posable.reconstruct.mirrors import mirror_table, mirrored_groups, proportions, weight_count
from posable.reconstruct.prior_layout import ANSWERS, FEATURES, PROPORTIONS, answer_groups, feature_groups
from tests.body.bodies import file_body
from tests.reconstruct.test_inputs import inside_limits
from tests.reconstruct.test_sik import random_points, turned

PAPER = ("17_10", "90_05", "01_03")
OTHERS = ("02_01", "02_04", "02_06", "05_02", "05_12", "13_01", "13_10", "13_26", "13_29", "13_33", "13_39", "16_18")
OTHERS += ("16_35", "49_06", "61_07", "135_04")
"""Clips of subjects that were not learned."""
SWAPPED = [0, 1, 3, 2, 5, 4]


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def solver(body):
    return SequentialIK(body)


@pytest.fixture(scope="module")
def points(body):
    return np.concatenate([body.markers(motion(body).pose) for motion in (ps.samples.walk, ps.samples.dance)])


def places(body, pose):
    return body.skeleton.forward(pose).positions


@pytest.fixture(scope="module")
def errors(cmu):
    """Position and orientation errors of plain Sequential IK and with the prior, one setting for all clips."""
    return {clip: evaluate_clip(cmu / f"{clip}.bvh", ["sik", "sik_prior"], weights=(1, 1, 0))["methods"]
            for clip in (*PAPER, *OTHERS)}  # fmt: skip


@pytest.mark.parametrize(("clips", "most"), [(PAPER, 0.0155), (OTHERS, 0.0140)], ids=["paper", "others"])
def test_people_never_seen_are_reconstructed_to_the_errors_aimed_at(clips, most, errors):
    assert np.mean([errors[clip]["sik_prior"]["position"] for clip in clips]) <= most
    assert np.mean([errors[clip]["sik_prior"]["orientation"] for clip in clips]) <= 0.24


def test_no_clip_is_reconstructed_worse_than_without_nor_less_quietly(errors):
    for clip, told in errors.items():
        assert told["sik_prior"]["position"] < told["sik"]["position"], clip
        assert told["sik_prior"]["jitter"] < 1.1 * told["sik"]["jitter"], clip
        assert told["sik_prior"]["reached"] >= told["sik"]["reached"], clip


def test_feet_are_in_reach_of_a_pelvis_that_the_network_has_turned(errors):
    assert np.mean([errors[clip]["sik_prior"]["reached"] for clip in PAPER]) > 0.99  # 0.84 where nothing tilts it
    assert np.mean([errors[clip]["sik_prior"]["reached"] for clip in OTHERS]) > 0.98


def test_points_are_met_as_without_a_prior(body, solver, points):
    answer, plain = solver.track(points), SequentialIK(body, prior=None).track(points)
    assert plain.ok.all() and answer.ok.mean() > 0.997
    assert answer.marker_errors.max() < 1e-5  # a foot of a straight leg, where bending the spine rotates the pelvis
    found = body.markers(answer.motion.pose)
    np.testing.assert_allclose(np.linalg.norm(found - points, axis=-1), answer.marker_errors, atol=1e-9)


def test_mirrored_points_give_the_mirrored_body(body, solver, points):
    some = points[:90]
    one, other = solver.track(some), solver.track(some[:, SWAPPED] * [-1.0, 1.0, 1.0])
    expected = places(body, body.mirrored(one.motion.pose))
    np.testing.assert_allclose(places(body, other.motion.pose), expected, atol=1e-9)


def some_features(rng, share):
    """Random features of which so many are not known."""
    return rng.normal(size=FEATURES) * (rng.random(FEATURES) < share)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_what_the_network_says_is_mirrored_to_the_last_bit(share):
    from posable.reconstruct import prior_kernels as kernels

    prior, body = Prior.builtin(), ps.figure()
    net = prior.network(body, SequentialIK(body)._figure)
    (to, sign), (out, turn) = mirrored_groups(feature_groups()), mirrored_groups(answer_groups())
    rng = np.random.default_rng(0)
    for _ in range(6):
        work, mirrored = np.zeros(prior.scratch), np.zeros(prior.scratch)
        x = some_features(rng, share)
        work[kernels.FEATURES : kernels.FEATURES + FEATURES] = x
        mirrored[kernels.FEATURES : kernels.FEATURES + FEATURES] = x[to] * sign
        kernels.evaluate(net, work)
        kernels.evaluate(net, mirrored)
        said = work[kernels.PREDICTED : kernels.PREDICTED + len(out)]
        np.testing.assert_allclose(
            mirrored[kernels.PREDICTED : kernels.PREDICTED + len(out)], said[out] * turn, atol=1e-15
        )


@pytest.mark.parametrize("share", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("height", [0.9, 1.75])  # a child's height with a grown-up's measures: unusual proportions, too
def test_the_network_is_what_its_weights_say(share, height):
    from posable.reconstruct import prior_kernels as kernels

    prior, body = Prior.builtin(), ps.figure(height)
    figure = SequentialIK(body)._figure
    x = some_features(np.random.default_rng(1), share)
    x[-PROPORTIONS:] = proportions(body) - prior._centre[-PROPORTIONS:]
    work = np.full(prior.scratch, np.nan)
    work[kernels.FEATURES : kernels.FEATURES + FEATURES] = x
    kernels.evaluate(prior.network(body, figure), work)
    said = work[kernels.PREDICTED : kernels.PREDICTED + ANSWERS]
    sides = basis(mirror_table(*mirrored_groups(feature_groups())), FEATURES) @ x / prior._deviation
    expected = slow_network(prior, sides, mirror_table(*mirrored_groups(answer_groups())))
    np.testing.assert_allclose(said, expected, atol=1e-9)


def basis(table, size):
    rows = np.zeros((len(table), size))
    for k, (one, other, sign, _) in enumerate(table):
        rows[k, int(one)] += 1.0 if one == other else math.sqrt(0.5)
        rows[k, int(other)] += 0.0 if one == other else sign * math.sqrt(0.5)
    return rows


def slow_network(prior, sides, answers):
    """The network once more, with matrices: a dense one of pairs of units, without any use of its symmetry."""

    def take(*shape):
        nonlocal at
        at += int(np.prod(shape))
        return weights[at - int(np.prod(shape)) : at].reshape(shape)

    weights, at = prior._weights.astype(np.float64), 0
    s, a, *hidden, os, oa = prior._sizes.tolist()
    sides[s - PROPORTIONS : s] = np.clip(sides[s - PROPORTIONS : s], -3.0, 3.0)
    sides = np.clip(sides, -5.0, 5.0)
    first = (sides[:s], sides[s:])
    kept, gone = first
    for n in hidden:
        bias, ws, wa = take(n), take(len(kept), n), take(len(gone), n)
        units = np.concatenate([kept @ ws + bias + gone @ wa, kept @ ws + bias - gone @ wa])
        units = 0.5 * units * (1.0 + units / np.sqrt(1.0 + units**2))
        kept, gone = 0.7071 * (units[:n] + units[n:]), 0.7071 * (units[:n] - units[n:])
    bias, ws, wa, skip_s, skip_a = take(os), take(len(kept), os), take(len(gone), oa), take(s, os), take(a, oa)
    out = np.concatenate([kept @ ws + bias + first[0] @ skip_s, gone @ wa + first[1] @ skip_a])
    assert at == len(weights)
    return basis(answers, len(answers)).T @ out


def test_points_moved_and_turned_about_the_vertical_give_the_same_body_there(body, solver, points):
    turn, shift = pm.axis_angle([0.0, 1.0, 0.0], 2.1), np.array([3.0, -1.0, 2.0])
    some = points[:90]
    here, there = solver.track(some), solver.track(turned(some, turn, shift))
    expected = turned(places(body, here.motion.pose), turn, shift)
    np.testing.assert_allclose(places(body, there.motion.pose), expected, atol=1e-7)


def test_limits_hold_whatever_the_points(body, solver):
    points = random_points(3000, 0)
    points[0], points[1, 1], points[2] = 0.0, points[1, 0], 1e6
    answer = solver.solve(points)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert inside_limits(body, answer.pose)
    assert ((answer.marker_errors < 1e-6).all(axis=-1) == answer.ok).all()
    tracked = solver.track(points[:400], fps=60.0).motion.pose
    assert np.isfinite(tracked.rotations).all() and inside_limits(body, tracked)


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM", "CesiumMan", "RiggedFigure"])
def test_it_works_on_other_bodies_and_nearer_to_the_motion_than_without(name, body, data_dir):
    other = file_body(data_dir, name)
    pose = other.pose(body.canonical(ps.samples.dance(body).pose))
    points, truth = other.markers(pose), places(other, pose)
    joints = [other.index(f"{side}_{part}") for side in ("left", "right") for part in ("lower_arm", "lower_leg")]
    answer = SequentialIK(other).track(points)
    assert answer.ok.mean() > 0.8 and answer.marker_errors.max() < 0.1 * other.joint_height
    off = np.linalg.norm(places(other, answer.motion.pose) - truth, axis=-1)[:, joints].mean()
    assert off < 0.15 * other.joint_height


@pytest.mark.parametrize("height", [0.5, 3.0])
def test_size_does_not_matter(height, points):
    small, usual, scale = ps.figure(height), ps.figure(1.75), height / 1.75
    one, other = SequentialIK(small).track(points[:60] * scale), SequentialIK(usual).track(points[:60])
    np.testing.assert_allclose(
        places(small, one.motion.pose) / scale, places(usual, other.motion.pose), atol=1e-6
    )  # fmt: skip


@pytest.mark.parametrize("fps", [25.0, 60.0, 90.0, 240.0])
def test_any_frame_rate_gives_the_same_motion(fps, body, solver):
    walk = ps.samples.walk(body)
    points, at = body.markers(walk.pose), np.arange(len(walk)) / walk.fps
    wanted = np.arange(0.0, at[-1], 1.0 / fps)
    sampled = np.stack([np.interp(wanted, at, line) for line in points.reshape(len(points), -1).T], axis=-1)
    found = places(body, solver.track(sampled.reshape(-1, 6, 3), fps=fps).motion.pose)
    usual = places(body, solver.track(points, fps=walk.fps).motion.pose)
    for when in (1.0, 2.0, 3.0):
        one, other = found[round(when * fps)], usual[round(when * walk.fps)]
        assert np.linalg.norm(one - other, axis=-1).max() < 0.03


def test_a_stream_gives_what_a_track_gives(body, solver, points):
    stream = solver.stream(fps=60.0)
    steps = np.array([stream.step(frame).pose.rotations for frame in points[:80]])
    np.testing.assert_array_equal(steps, solver.track(points[:80], fps=60.0).motion.pose.rotations)


def test_a_body_that_stands_still_stands_still(body, solver, points):
    for k in range(0, len(points), 40):
        found = places(body, solver.track(np.repeat(points[k : k + 1], 80, axis=0)).motion.pose)
        assert np.linalg.norm(found[-1] - found[-2], axis=-1).max() < 1e-6


def test_a_pose_alone_faces_where_a_body_that_stands_so_settles_to(body, solver, points):
    some = points[::20]
    hips = body.index("hips")
    alone = solver.solve(some).pose.rotations[:, hips]
    settled = np.array([solver.track(np.repeat(p[None], 40, axis=0)).motion.pose.rotations[-1, hips] for p in some])
    assert pm.angle(alone, settled).max() < 0.01


def test_a_head_that_leaves_and_comes_back_pulls_the_spine_evenly(body, solver):
    points = np.repeat(body.markers(body.neutral_pose)[None], 200, axis=0)
    points[:, 1, 1] += 0.06 * np.sin(np.linspace(0.0, 2.0 * math.pi, 200))  # shorter and longer than the spine can be
    found = places(body, solver.track(points).motion.pose)
    assert np.linalg.norm(np.diff(found, axis=0), axis=-1).max() < 0.03


def test_orientations_that_are_known_are_kept(body, solver, points):
    pose = ps.samples.dance(body).pose
    frames = body.skeleton.forward(pose)
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in ("hips", "left_hand")}
    answer = solver.track(body.markers(pose), orientations=turns)
    assert answer.marker_orientation_errors["hips"].max() < 1e-6


def test_without_a_prior_nothing_of_it_is_left(body, points):
    plain = SequentialIK(body, prior=None)
    assert plain.prior is None and plain._net.sizes.size == 0
    rows = plain._rows(points[:3], np.empty((0, 13, 4)))
    assert rows.guess.size == 0 and rows.work.size == 0


def test_another_prior_is_read_from_a_file(body, points, tmp_path):
    prior = Prior.builtin()
    prior.save(tmp_path / "mine.npz")
    assert (tmp_path / "mine.npz").stat().st_size < 1_000_000
    again = Prior.load(tmp_path / "mine.npz")
    assert again.origin == prior.origin and {"data", "sha256", "seed", "script"} <= set(prior.origin)
    one, other = SequentialIK(body, prior=tmp_path / "mine.npz"), SequentialIK(body, prior=again)
    a, b = one.solve(points[:5]), other.solve(points[:5])
    np.testing.assert_array_equal(a.pose.rotations, b.pose.rotations)
    np.testing.assert_array_equal(a.pose.rotations, SequentialIK(body).solve(points[:5]).pose.rotations)


def test_broken_priors_are_refused(body, tmp_path):
    prior = Prior.builtin()
    sizes = prior._sizes.tolist()
    with pytest.raises(ps.PosableError, match="prior"):
        SequentialIK(body, prior=3.0)
    with pytest.raises(ps.PosableError, match="weights"):
        Prior(sizes, prior._weights[:-1], prior._centre, prior._deviation)
    with pytest.raises(ps.PosableError, match="sizes"):
        Prior([1, 2, 3], prior._weights, prior._centre, prior._deviation)
    with pytest.raises(ps.PosableError, match="mirror"):
        Prior(prior._sizes, prior._weights, prior._centre + 1.0, prior._deviation)
    assert weight_count(sizes) == len(prior._weights)
    path = tmp_path / "broken.npz"
    prior.save(tmp_path / "whole.npz")
    shutil.copy(tmp_path / "whole.npz", path)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ps.PosableError, match="broken"):
        Prior.load(path)


def test_a_mirror_keeps_or_turns_round_every_feature():
    for to, sign in (mirrored_groups(feature_groups()), mirrored_groups(answer_groups())):
        assert [to[k] for k in to] == list(range(len(to)))
        assert len(mirror_table(to, sign)) == len(to)


@pytest.mark.parametrize(("clip", "weights", "measured"), [("90_05", (1, 1, 0), 0.0230), ("17_10", (1, 1, 0), 0.0249)])
def test_the_paper_to_the_letter_measures_as_the_specification_says(clip, weights, measured, cmu):
    found = evaluate_clip(cmu / f"{clip}.bvh", ["sik_literal"], weights=weights)["methods"]["sik_literal"]
    assert found["position"] == pytest.approx(measured, abs=0.0006)  # specification reconstruct, section 6


def test_the_literal_spine_is_finite_and_inside_its_limits(body):
    answer = SequentialIK(body, paper_spine=True).track(random_points(600, 5), fps=60.0)
    assert np.isfinite(answer.motion.pose.rotations).all() and inside_limits(body, answer.motion.pose)

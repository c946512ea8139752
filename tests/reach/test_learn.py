"""Behaviours learned from motion: what is read, what is learned, what it explains, and that a body reaches with it."""

import numpy as np
import pytest

import posable as ps
from posable import PosableError
from posable.limb import Target
from posable.math import exp, multiply, rotate, slerp
from posable.reach import Behaviour, Posture, Reacher, Weight
from posable.reach.observations import read_reaches
from posable.skeleton import Motion, Pose

INTERPOLATIONS = ("linear", "smooth", "around")
TRUNK = ("hips", "spine", "chest", "upper_chest", "neck", "head")


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def sample(body):
    return ps.samples.reach(body)


@pytest.fixture(scope="module", params=INTERPOLATIONS)
def learned(request, body, sample):
    return Behaviour.fit(body, "right_arm", sample, interpolation=request.param)


def explained(made: Behaviour, reaches) -> np.ndarray:
    """(N, R) degrees between each part and what a behaviour says of it, as a change from standing."""
    if made.interpolation == "around":
        at, u = reaches.positions, np.full(len(reaches.positions), made.weight.k)
    else:
        at, u = made.locate(reaches.positions, 1.0)
    rows = [made.parts.index(part) for part in TRUNK]
    said = slerp([1.0, 0.0, 0.0, 0.0], made.posture_at(at).rotations[:, rows], u[:, None])
    q = multiply(said * [1.0, -1.0, -1.0, -1.0], exp(reaches.rotations))
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0])))


def test_a_learned_behaviour_explains_what_it_was_learned_from(learned, body, sample):
    report = learned.learned
    assert report.orientation_error < (0.4 if learned.interpolation == "around" else 0.62) * report.standing_error
    by_part = {part: (now, still) for part, now, still in report.by_part}
    for part in ("hips", "spine", "chest", "upper_chest"):
        assert by_part[part][0] < (0.25 if learned.interpolation == "around" else 0.6) * by_part[part][1]
    reaches = read_reaches(body, "right_arm", sample, TRUNK)
    told = np.average(explained(learned, reaches), axis=0, weights=reaches.weights)
    assert told == pytest.approx([by_part[part][0] for part in TRUNK], abs=0.6)  # before the arm was brought clear


def test_the_report_counts_every_frame_once(learned, sample):
    (motion,) = learned.learned.motions
    assert motion.frames == len(sample) and motion.used + sum(count for _, count in motion.left_out) == motion.frames
    assert learned.learned.used == motion.used > 100
    text = str(learned.learned)
    assert str(motion.used) in text and "the other hand reaches" in text


def test_a_learned_behaviour_reaches_exactly_with_both_feet_held_inside_the_limits(learned, body):
    rng = np.random.default_rng(3)
    start = body.skeleton.forward(body.neutral_pose).positions
    arm = body.limb("right_arm")
    way = rng.normal(size=(1500, 3))
    goals = start[body.index("right_upper_arm")] + (arm.upper + arm.lower) * rng.uniform(
        0.3, 1.6, (1500, 1)
    ) * way / np.linalg.norm(way, axis=-1, keepdims=True)
    answer = Reacher(body, right=learned).solve(right=Target(goals))
    ok = answer.ok
    assert ok.mean() > 0.3
    there = body.skeleton.forward(answer.pose).positions
    assert np.abs(there[:, body.index("right_hand")] - goals)[ok].max() < 1e-9
    for foot in ("right_foot", "left_foot"):
        assert np.abs(there[:, body.index(foot)] - start[body.index(foot)]).max() < 1e-9
    posture = body.canonical(answer.pose)
    for part in learned.parts:
        if part in body.limits:
            assert body.limits.contains(part, posture.rotation(part), 1e-6).all()
    # Between its keys the free arm may still meet the body: for a tenth of these targets around the shoulder.
    assert answer.lowered.mean() < 0.15


def test_the_body_leans_into_the_learned_reaches_as_the_person_did(body, sample):
    """The low reach of the left hand in the sample: hips far down, trunk bent."""
    made = Behaviour.fit(body, "left_arm", sample, interpolation="around")
    goal = body.skeleton.forward(sample.at(3.15)).positions[body.index("left_hand")]
    answer = Reacher(body, left=made).solve(left=Target(goal))
    assert answer.position_error < 0.08 < Reacher(body, left=made).solve(left=Target(goal), weight=0.0).position_error
    now, then = body.canonical(answer.pose), body.canonical(sample.at(3.15))
    assert now.hips[1] == pytest.approx(then.hips[1], abs=0.06)
    bent = [
        rotate(pose.world()[pose.index("upper_chest")], np.array([0.0, 1.0, 0.0]))[2]  # how far ahead the trunk points
        for pose in (now, then)
    ]
    assert bent[0] > 0.6 * bent[1] > 0.3


def test_learning_is_the_same_every_time_and_differs_with_the_seed(body, sample):
    a, b, c = (Behaviour.fit(body, "right_arm", sample, seed=seed) for seed in (1, 1, 2))
    assert [key.at for key in a.keys] == [key.at for key in b.keys] != [key.at for key in c.keys]
    for one, other in zip(a.keys, b.keys, strict=True):
        assert np.array_equal(one.posture.rotations, other.posture.rotations)


def test_where_and_which_way_somebody_stands_changes_nothing(body, sample):
    """Half of the motion elsewhere, turned by 2 radians: the ground goes along."""
    turn, half = exp([0.0, 2.0, 0.0]), len(sample) // 2
    rotations, places = sample.pose.rotations.copy(), sample.pose.translation.copy()
    rotations[half:, 0] = multiply(turn, rotations[half:, 0])
    places[half:] = rotate(turn, places[half:]) + np.array([3.0, 0.0, -2.0])
    moved = sample.replace(pose=Pose(places, rotations, sample.pose.offsets))
    a, b = (read_reaches(body, "right_arm", each, TRUNK) for each in (sample, moved))
    kept = len(a.weights) - len(b.weights)
    assert 0 <= kept <= 40  # around the leap, feet move
    both = read_reaches(body, "right_arm", moved[half:], TRUNK)
    assert len(both.weights) > 100
    near = np.linalg.norm(b.positions[:, None] - a.positions[None], axis=-1).min(axis=1)
    assert np.quantile(near, 0.99) < 0.02


def test_the_mirrored_motion_teaches_the_other_arm_the_mirror_image(body, sample):
    mirrored = sample.replace(pose=body.mirrored(sample.pose))
    a = read_reaches(body, "right_arm", sample, TRUNK)
    b = read_reaches(body, "left_arm", mirrored, TRUNK)
    assert a.start == b.start and np.abs(a.positions - b.positions * [-1.0, 1.0, 1.0]).max() < 1e-6
    assert np.abs(a.rotations - b.rotations * [1.0, -1.0, -1.0]).max() < 1e-6
    assert np.abs(a.shifts - b.shifts * [-1.0, 1.0, 1.0]).max() < 1e-6


def test_a_motion_of_another_body_teaches_the_same(body, sample):
    tall = ps.figure(height=2.1)
    carried = Motion(tall.skeleton, tall.pose(body.canonical(sample.pose)), sample.fps, "tall")
    a, b = (read_reaches(body, "right_arm", each, TRUNK) for each in (sample, carried))
    assert abs(len(a.weights) - len(b.weights)) < 20
    assert np.degrees(np.abs(np.quantile(np.linalg.norm(a.rotations, axis=-1), [0.5, 0.9], axis=0)
        - np.quantile(np.linalg.norm(b.rotations, axis=-1), [0.5, 0.9], axis=0))).max() < 1.5  # fmt: skip


def test_keys_may_be_counted_or_placed(body, sample):
    assert sum(not key.outer for key in Behaviour.fit(body, "right_arm", sample, keys=5).keys) == 5
    swings = np.radians([[0.0, 40.0], [60.0, 20.0], [-50.0, 30.0]])
    made = Behaviour.fit(body, "right_arm", sample, keys=swings, interpolation="smooth")
    assert np.allclose([key.at for key in made.keys if not key.outer], swings)
    made = Behaviour.fit(
        body, "right_arm", sample, keys=[[0.5, 0.0, 0.5]], interpolation="around", parts=("hips", "spine")
    )
    assert len(made.keys) == 1 and made.parts == ("hips", "spine")


def test_what_cannot_be_learned_from_is_told(body, sample):
    with pytest.raises(PosableError, match="no motion"):
        Behaviour.fit(body, "right_arm", [])
    with pytest.raises(PosableError, match="no frame to learn from"):
        Behaviour.fit(body, "right_arm", ps.samples.run(body))
    with pytest.raises(PosableError, match="right_arm"):
        Behaviour.fit(body, "right_leg", sample)
    with pytest.raises(PosableError, match="did you mean 'interpolation'"):
        Behaviour.fit(body, "right_arm", sample, interpolatoin="smooth")
    with pytest.raises(PosableError, match="tail"):
        Behaviour.fit(body, "right_arm", sample, parts=("tail",))
    for keys in (0, 1000):
        with pytest.raises(PosableError, match="from 1 to 400"):
            Behaviour.fit(body, "right_arm", sample, keys=keys)
    with pytest.raises(PosableError, match="expected"):
        Behaviour.fit(body, "right_arm", sample, keys=[[0.1, 0.2, 0.3]])
    broken = sample.pose.translation.copy()
    broken[7] = np.nan
    with pytest.raises(PosableError, match="not finite"):
        Behaviour.fit(body, "right_arm", sample.replace(pose=sample.pose.replace(translation=broken)))


def test_a_motion_without_reaches_is_told_and_does_no_harm(body, sample):
    both = Behaviour.fit(body, "right_arm", [sample, ps.samples.run(body)])
    assert both.learned.motions[1].used == 0 and both.learned.motions[1].left_out
    alone = Behaviour.fit(body, "right_arm", sample)
    assert [key.at for key in both.keys] == [key.at for key in alone.keys]


def test_progress_goes_from_nothing_to_all(body, sample):
    told = []
    Behaviour.fit(body, "right_arm", [sample, sample], progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0 and len(told) == 3


def test_one_frame_that_only_stands_teaches_to_stand(body):
    one = Motion(body.skeleton, Pose.stack([body.neutral_pose]), 30.0, "stand")
    made = Behaviour.fit(body, "right_arm", one, parts=TRUNK)
    assert made.learned.used == 1
    said = made.posture_at([[0.0, 0.0], [1.0, 0.5]])
    assert np.abs(said.rotations - Posture.neutral(TRUNK).rotations).max() < 1e-9


CLIPS = ("02_06", "80_07", "62_07", "115_06", "13_10", "13_26", "13_29", "79_22")


@pytest.fixture(scope="module")
def captured(cmu, body):
    motions = {clip: ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1) for clip in CLIPS}
    return motions, {clip: read_reaches(body, "right_arm", motion, TRUNK) for clip, motion in motions.items()}


def test_real_reaches_are_found_in_captured_clips(captured):
    _, reaches = captured
    used = {clip: len(each.weights) for clip, each in reaches.items()}
    assert used["02_06"] > 1500 and used["80_07"] > 1000 and used["62_07"] > 600 and used["115_06"] > 200
    assert used["13_10"] < 300 and reaches["13_10"].left_out["the feet move"] > 1500  # he jumps and walks about
    for each in reaches.values():
        assert np.linalg.norm(each.positions, axis=-1).max() < 2.6  # of an arm, from where the shoulder stood


def test_a_clip_that_was_not_learned_from_is_explained_better_than_by_standing_and_by_the_example(captured, body):
    """Leave one clip out; where the arm alone is too short, so that the body has to go along."""
    motions, reaches = captured
    normal = Behaviour.example("normal", "right_arm", body)
    errors = []
    for clip in ("02_06", "115_06", "13_29", "79_22"):
        made = Behaviour.fit(
            body, "right_arm", [motions[other] for other in CLIPS if other != clip], interpolation="around"
        )
        far = np.linalg.norm(reaches[clip].positions, axis=-1) > 1.1
        still = np.degrees(np.linalg.norm(reaches[clip].rotations, axis=-1))
        each = (explained(made, reaches[clip]), explained(normal, reaches[clip]), still)
        errors.append([np.median(degrees[far].mean(axis=-1)) for degrees in each])
    learned, example, still = np.mean(errors, axis=0)
    assert learned < 0.85 * still and learned < example


def test_a_captured_style_can_be_weighed_and_edited_like_any_other(captured, body, tmp_path):
    motions, _ = captured
    made = Behaviour.fit(body, "right_arm", motions["02_06"], weight=Weight("quadratic", 0.4), name="scoop")
    made.save(tmp_path / "scoop.json")
    again = Behaviour.load(tmp_path / "scoop.json")
    key = next(key.id for key in again.keys if not key.outer)
    again.set(key, again.posture(key).shifted((0.0, -0.2, 0.0)))
    assert again.posture_at(again.key(key).at).hips[1] == pytest.approx(-0.2)
    assert again.weight == Weight("quadratic", 0.4)


def test_a_behaviour_no_better_than_standing_says_so(learned, body):
    """Two people who only stand teach nothing; the built-in reaches teach something."""
    still = Motion(body.skeleton, ps.Pose.stack([body.neutral_pose] * 12), 30.0, name="still")
    with pytest.warns(UserWarning, match="no better than standing still"):
        made = ps.Behaviour.fit(body, "right_arm", [still, still])
    assert not made.learned.better_than_standing and "no better" in repr(made.learned)
    report = learned.learned
    assert report.better_than_standing and report.note == "" and report.explained > 0.2

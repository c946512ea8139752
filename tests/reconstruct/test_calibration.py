"""Trackers are not joints: where they sit, and how long the person is."""

import json

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.measures import expected_stature, sole_of
from posable.reconstruct.calibration import PARTS, _named_pose, scaled_body
from posable.skeleton import Pose
from tests.body.bodies import file_body
from tests.reconstruct.test_inputs import orientations_of

WORN = np.array(
    [
        [0.0, 0.03, 0.1],
        [0.0, 0.1, 0.08],
        [0.02, -0.05, 0.03],
        [-0.02, -0.05, 0.03],
        [0.02, 0.04, 0.08],
        [-0.02, 0.04, 0.08],
    ]
)
"""[m] A belt, a headset, watches and trackers on shoes."""


def worn(seed=0):
    """A calibration as it really is: the trackers strapped on anyhow."""
    turns = pm.normalize(np.random.default_rng(seed).normal(size=(6, 4)))
    return ps.Calibration(ps.MARKERS, WORN, turns)


def person_of(body, legs=1.0, trunk=1.0, arms=1.0):
    return scaled_body(body, {"legs": legs, "trunk": trunk, "arms": arms})


def standing(body, pose):
    """The pose with the soles on the floor."""
    places = body.skeleton.forward(pose).positions
    low = min(places[..., body.index(f"{s}_foot"), 1].min() - sole_of(body, s).depth for s in ("left", "right"))
    return Pose(pose.translation - [0.0, low, 0.0], pose.rotations)


def same_turn(a, b, tolerance=1e-6):
    return pm.angle(np.asarray(a), np.asarray(b)).max() < tolerance


@pytest.mark.parametrize("pose", ["neutral", "t"])
@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM"])
def test_offsets_and_turns_are_recovered_from_a_pose_to_half_a_centimetre(name, pose, data_dir):
    body, true = file_body(data_dir, name), worn()
    person = person_of(body, *[1.13] * 3)
    held = standing(person, _named_pose(person, pose))
    parts, turn = orientations_of(person, held), pm.axis_angle([0.0, 1.0, 0.0], 2.2)
    points = pm.rotate(turn, person.markers(held)) + np.array([4.0, 0.0, -1.0])
    reported = true.trackers(points, {role: pm.multiply(turn, q) for role, q in parts.items()})
    found = ps.Calibration.from_pose(body, *reported, pose=pose, height=1.13 * expected_stature(body))
    assert all(found.scales[part] == pytest.approx(1.13, abs=1e-9) for part in PARTS)
    in_world = [pm.rotate(parts[role], WORN[k]) for k, role in enumerate(ps.MARKERS)]
    off = [pm.rotate(parts[role], found.offsets[k]) - in_world[k] for k, role in enumerate(ps.MARKERS)]
    # All trackers a little forward look like a person a little forward: that is not recovered, all else is.
    np.testing.assert_allclose(off, np.tile(-np.mean(in_world, axis=0) * [1.0, 0.0, 1.0], (6, 1)), atol=5e-3)
    assert same_turn(found.rotations, true.rotations, 0.02)


def test_joints_come_back_from_their_trackers_in_motion(data_dir):
    body, true = file_body(data_dir, "CMU"), worn(1)
    motion = ps.load(data_dir / "cmu" / "16_35.bvh", repair="cmu", first_frame=1)
    body = ps.Humanoid(motion.skeleton)
    points, turns = body.markers(motion.pose), orientations_of(body, motion.pose)
    joints, parts = true.apply(*true.trackers(points, turns))
    np.testing.assert_allclose(joints, points, atol=1e-12)
    assert all(same_turn(parts[role], turns[role]) for role in turns)
    lost = {role: q.copy() for role, q in turns.items()}
    lost["head"][3] = np.nan
    reported, reported_turns = true.trackers(points, lost)
    joints, _ = true.apply(reported, reported_turns)
    assert np.isnan(reported[3, 1]).all() and np.isnan(joints[3, 1]).all()


@pytest.mark.parametrize("clip", ["02_01", "16_35", "17_10", "13_26", "61_07", "05_02", "90_05"])
def test_lengths_are_recovered_from_captured_motion_to_three_percent(clip, cmu):
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)[:960]
    person = ps.Humanoid(motion.skeleton)
    body = person_of(person, 1 / 0.93, 1 / 1.04, 1 / 1.04)
    true = worn(2)
    reported = true.trackers(person.markers(motion.pose), orientations_of(person, motion.pose))
    found = ps.Calibration.fit(body, *reported, start=true)
    assert found.scales["legs"] == pytest.approx(0.93, rel=0.03)
    assert found.scales["trunk"] == found.scales["arms"] == pytest.approx(1.04, rel=0.01)
    np.testing.assert_array_equal(found.offsets, true.offsets)
    plain = ps.Calibration.fit(body, person.markers(motion.pose))  # joints themselves, no orientations
    assert plain.scales["trunk"] == pytest.approx(1.04, rel=0.01)
    assert plain.scales["legs"] == pytest.approx(0.93, rel=0.08)


def test_a_calibrated_person_is_reconstructed_better(cmu):
    motion = ps.load(cmu / "16_35.bvh", repair="cmu", first_frame=1)
    person = ps.Humanoid(motion.skeleton)
    body = person_of(person, 1 / 0.93, 1 / 1.04, 1 / 1.04)
    true = worn(3)
    points, turns = person.markers(motion.pose), orientations_of(person, motion.pose)
    reported = true.trackers(points, turns)
    found = ps.Calibration.fit(body, *reported, start=true)
    mine = found.scaled(body)

    def off(reconstructed, body_):
        places = body_.skeleton.forward(reconstructed.motion.pose).positions
        return np.linalg.norm(places - person.skeleton.forward(motion.pose).positions, axis=-1).mean()

    joints, parts = found.apply(*reported)
    good = ps.SequentialIK(mine).track(joints, fps=motion.fps, orientations=parts)
    bad = ps.SequentialIK(body).track(reported[0], fps=motion.fps)
    assert off(good, mine) < 0.4 * off(bad, body)


def test_a_scaled_body_has_the_lengths_and_the_same_canonical_frames(data_dir):
    for name in ("CMU", "MakeHuman", "VRM", "CesiumMan"):
        body = file_body(data_dir, name)
        made = person_of(body, 1.2, 0.9, 1.1)
        assert made.limb("left_leg").length == pytest.approx(1.2 * body.limb("left_leg").length, rel=1e-9)
        assert made.limb("right_arm").length == pytest.approx(1.1 * body.limb("right_arm").length, rel=1e-9)
        assert made.measures["torso"] == pytest.approx(0.9 * body.measures["torso"], rel=1e-6)
        for role in body.roles:
            assert same_turn(made.neutral_orientation(role), body.neutral_orientation(role), 1e-6), (name, role)


def test_a_file_keeps_a_calibration_to_the_last_bit(tmp_path):
    true = worn(4)
    path = tmp_path / "me.json"
    true.save(path)
    again = ps.Calibration.load(path)
    assert again.markers == true.markers and again.scales == true.scales
    np.testing.assert_array_equal(again.offsets, true.offsets)
    np.testing.assert_array_equal(again.rotations, true.rotations)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"trackers": []},
        {"scales": {"legs": 1.0}},
        {"scales": {"legs": -1.0, "trunk": 1.0, "arms": 1.0}},
        {"trackers": [{"part": "tail", "offset": [0, 0, 0], "rotation": [1, 0, 0, 0]}]},
        {"trackers": [{"part": "head", "offset": [0, 0], "rotation": [1, 0, 0, 0]}]},
        {"trackers": [{"part": "head", "offset": [0, 0, 0], "rotation": [0, 0, 0, 0]}]},
    ],
)
def test_a_broken_file_says_what_is_wrong(change, tmp_path):
    path = tmp_path / "me.json"
    worn().save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ps.FormatError, match=r"me\.json"):
        ps.Calibration.load(path)


def test_wrong_calls_say_what_is_wrong():
    body = ps.figure()
    points = body.markers(body.neutral_pose)
    with pytest.raises(ps.PosableError, match="squat"):
        ps.Calibration.from_pose(body, points, pose="squat")
    with pytest.raises(ps.PosableError, match="height"):
        ps.Calibration.from_pose(body, points, height=-1.0)
    with pytest.raises(ps.ShapeError, match="6, 3"):
        ps.Calibration.from_pose(body, points[:5])
    with pytest.raises(ps.PosableError, match="not finite"):
        ps.Calibration.from_pose(body, np.full((6, 3), np.nan))
    with pytest.raises(ps.PosableError, match="y up"):
        ps.Calibration.from_pose(body, points * 1000.0)
    with pytest.raises(ps.PosableError, match="moments"):
        ps.Calibration.fit(body, points)
    with pytest.raises(ps.PosableError, match="hips"):
        ps.Calibration.fit(body, np.tile(points[1:], (20, 1, 1)), markers=ps.MARKERS[1:])

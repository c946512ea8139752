"""Retargeting: another body does the motion, its feet and hands where they belong."""

import numpy as np
import pytest

import posable as ps
from posable.body.measures import sole_of

from .conftest import excess, stiffer

HIPS = ("hips", "left_upper_leg")


def longer(motion, legs, arms):
    """The same rig with other proportions."""
    skeleton = motion.skeleton
    offsets = skeleton.offsets.copy()
    for side in ("Left", "Right"):
        for names, factor in ((("Leg", "Foot"), legs), (("ForeArm", "Hand", "FingerBase"), arms)):
            for name in names:
                offsets[skeleton.index(side + name)] *= factor
    return ps.Humanoid(skeleton.replace(offsets=offsets))


def test_the_same_body_keeps_its_motion(pitch):
    solution = ps.retarget(pitch.motion, pitch.body, pitch.body)
    before, after = (pitch.body.skeleton.forward(m.pose).positions for m in (pitch.motion, solution.motion))
    assert solution.ok.all() and solution.ratio == 1.0 and solution.dropped == solution.added == ()
    assert np.linalg.norm(after - before, axis=-1).max() < 1e-3


def test_shorter_legs_and_longer_arms_reach_their_scaled_positions(case):
    body = longer(case.motion, 0.85, 1.15)
    solution = ps.retarget(case.motion, case.body, body)
    assert np.percentile(solution.part_errors, 95) <= 1e-3 and solution.slid.max() <= 1e-3
    feet = case.positions_of("left_foot")
    lift = sole_of(body, "left").depth - solution.ratio * sole_of(case.body, "left").depth
    found = body.skeleton.forward(solution.motion.pose).positions[:, body.roles["left_foot"]]
    expected = solution.ratio * feet + [0.0, lift, 0.0]
    np.testing.assert_allclose(np.linalg.norm(found - expected, axis=1), solution.part_errors[:, 0], atol=1e-9)
    ratio = body.limb("left_arm").length / case.body.limb("left_arm").length
    assert ratio == pytest.approx(1.15, rel=1e-2)


def test_another_rig_does_the_motion_by_roles_and_says_what_it_lacks(case):
    figure = ps.figure(1.6)
    solution = ps.retarget(case.motion, case.body, figure)
    assert len(solution.motion) == len(case.motion) and solution.motion.skeleton is figure.skeleton
    assert solution.motion.pose.is_finite() and np.median(solution.part_errors) <= 1e-3
    assert solution.slid.max() <= 1e-3
    assert set(solution.dropped) == set(case.body.roles) - set(figure.roles)
    assert "frames" in str(solution)


@pytest.mark.parametrize("name", ["KayKit_Knight.glb", "VRMC_materials_mtoon_UV_Animation_Test.vrm"])
def test_feet_stay_on_the_floor_on_rigs_whose_hips_lie_below_the_legs(name, data_dir):
    body = ps.figure()
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    hips, leg = (character.skeleton.forward(character.neutral_pose).positions[character.roles[r], 1] for r in HIPS)
    assert hips < leg
    solution = ps.retarget(ps.samples.walk(body)[:60], body, character)
    assert solution.part_errors.max() <= 2e-3 and solution.slid.max() <= 1e-3


@pytest.mark.parametrize("height", [1.6, 1.9])
def test_the_other_body_keeps_its_limits_where_the_motion_does(case, height):
    figure = ps.figure(height)
    solution = ps.retarget(case.motion, case.body, figure)
    begun = figure.pose(case.body.canonical(case.motion.pose))
    before, after = (excess(figure, figure.limits, pose) for pose in (begun, solution.motion.pose))
    assert (after <= before + 1e-6).all() and solution.ok.all()
    free = ps.retarget(case.motion, case.body, figure, limits=None)
    assert not free.limited.any()


def test_frames_that_limits_stop_have_that_status(pitch):
    body = longer(pitch.motion, 0.7, 1.3)
    stiff = stiffer(body.limits)
    solution = ps.retarget(pitch.motion, pitch.body, body, limits=stiff)
    before, after = (
        excess(body, stiff, pose) for pose in (body.pose(pitch.body.canonical(pitch.motion.pose)), solution.motion.pose)
    )
    assert (after <= before + 1e-6).all()
    missed = solution.part_errors.max(axis=1) > 1e-3
    assert missed.any() and (solution.status[missed & solution.limited] == ps.Status.LIMITS).all()
    assert "joint limits" in str(solution)


def test_an_offset_does_not_flicker_from_frame_to_frame(pitch):
    body = longer(pitch.motion, 0.9, 1.1)
    solution = ps.retarget(pitch.motion, pitch.body, body)

    def jerk(motion):
        turns = np.diff(motion.pose.rotations, 2, axis=0)
        return np.abs(turns).max()

    assert jerk(solution.motion) <= 1.5 * jerk(pitch.motion)


def test_retargeting_goes_on_from_an_editor_and_refuses_what_it_does_not_know(pitch):
    solution = pitch.editor.retarget(ps.figure(1.9), weights="clip")
    assert solution.motion.pose.is_finite()
    with pytest.raises(ps.UnknownNameError, match="identity"):
        pitch.editor.retarget(ps.figure(), weights="window")

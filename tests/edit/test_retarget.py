"""Retargeting: another body does the motion, its feet and hands where they belong."""

import numpy as np
import pytest

import posable as ps
from posable.body.soles import sole_of

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
    told = ps.retarget(pitch.motion, pitch.body, pitch.body)
    before, after = (pitch.body.skeleton.forward(m.pose).positions for m in (pitch.motion, told.motion))
    assert told.ok.all() and told.ratio == 1.0 and told.dropped == told.added == ()
    assert np.linalg.norm(after - before, axis=-1).max() < 1e-3


def test_shorter_legs_and_longer_arms_reach_their_scaled_places(case):
    body = longer(case.motion, 0.85, 1.15)
    told = ps.retarget(case.motion, case.body, body)
    assert np.percentile(told.residual, 95) <= 1e-3 and told.slid.max() <= 1e-3
    feet = case.places("left_foot")
    lift = sole_of(body, "left").depth - told.ratio * sole_of(case.body, "left").depth
    found = body.skeleton.forward(told.motion.pose).positions[:, body.roles["left_foot"]]
    expected = told.ratio * feet + [0.0, lift, 0.0]
    np.testing.assert_allclose(np.linalg.norm(found - expected, axis=1), told.residual[:, 0], atol=1e-9)
    ratio = body.limb("left_arm").length / case.body.limb("left_arm").length
    assert ratio == pytest.approx(1.15, rel=1e-2)


def test_another_rig_does_the_motion_by_roles_and_says_what_it_lacks(case):
    figure = ps.figure(1.6)
    told = ps.retarget(case.motion, case.body, figure)
    assert len(told.motion) == len(case.motion) and told.motion.skeleton is figure.skeleton
    assert told.motion.pose.is_finite() and np.median(told.residual) <= 1e-3
    assert told.slid.max() <= 1e-3
    assert set(told.dropped) == set(case.body.roles) - set(figure.roles)
    assert "frames" in str(told)


@pytest.mark.parametrize("name", ["KayKit_Knight.glb", "VRMC_materials_mtoon_UV_Animation_Test.vrm"])
def test_feet_stay_on_the_floor_on_rigs_whose_hips_lie_below_the_legs(name, data_dir):
    body = ps.figure()
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    hips, leg = (character.skeleton.forward(character.neutral_pose).positions[character.roles[r], 1] for r in HIPS)
    assert hips < leg
    told = ps.retarget(ps.samples.walk(body)[:60], body, character)
    assert told.residual.max() <= 2e-3 and told.slid.max() <= 1e-3


@pytest.mark.parametrize("height", [1.6, 1.9])
def test_the_other_body_keeps_its_limits_where_the_motion_does(case, height):
    figure = ps.figure(height)
    told = ps.retarget(case.motion, case.body, figure)
    begun = figure.pose(case.body.canonical(case.motion.pose))
    before, after = (excess(figure, figure.limits, pose) for pose in (begun, told.motion.pose))
    assert (after <= before + 1e-6).all() and told.ok.all()
    free = ps.retarget(case.motion, case.body, figure, limits=None)
    assert not free.limited.any()


def test_what_limits_take_from_a_motion_is_told(pitch):
    body = longer(pitch.motion, 0.7, 1.3)
    stiff = stiffer(body.limits)
    told = ps.retarget(pitch.motion, pitch.body, body, limits=stiff)
    before, after = (
        excess(body, stiff, pose) for pose in (body.pose(pitch.body.canonical(pitch.motion.pose)), told.motion.pose)
    )
    assert (after <= before + 1e-6).all()
    missed = told.residual.max(axis=1) > 1e-3
    assert missed.any() and (told.status[missed & told.limited] == ps.Status.LIMITS).all()
    assert "limits of joints" in str(told)


def test_an_offset_does_not_flicker_from_frame_to_frame(pitch):
    body = longer(pitch.motion, 0.9, 1.1)
    told = ps.retarget(pitch.motion, pitch.body, body)

    def jerk(motion):
        turns = np.diff(motion.pose.rotations, 2, axis=0)
        return np.abs(turns).max()

    assert jerk(told.motion) <= 1.5 * jerk(pitch.motion)


def test_retargeting_goes_on_from_an_editor_and_refuses_what_it_does_not_know(pitch):
    told = pitch.editor.retarget(ps.figure(1.9), weights="clip")
    assert told.motion.pose.is_finite()
    with pytest.raises(ps.UnknownNameError, match="identity"):
        pitch.editor.retarget(ps.figure(), weights="window")

"""How fast DoF and parts move: velocities that fit the motion, at any frame rate, with no delay."""

import numpy as np
import pytest

import posable as ps
from posable.edit.clip import dof_rates, edited_dofs, find_parts, joint_of, read_clip, smoothed, stacked_jacobians


def test_jacobians_are_the_derivatives_of_the_parts_positions(pitch):
    body, pose = pitch.body, pitch.motion[40]
    joints, dofs = pitch.clip.parts.joints, pitch.clip.parts.dofs
    jacobian = stacked_jacobians(body, pose.reshape(1), joints, dofs)[0]
    h = 1e-6
    for row, dof in enumerate(dofs):
        step = np.zeros(len(body.skeleton.dofs))
        step[dof] = h
        ahead = body.skeleton.forward(body.skeleton.integrate(pose, step)).positions[joints]
        back = body.skeleton.forward(body.skeleton.integrate(pose, -step)).positions[joints]
        measured = jacobian.reshape(len(joints), 6, -1)[:, :3, row]
        np.testing.assert_allclose((ahead - back) / (2 * h), measured, atol=1e-5 * max(1.0, np.abs(measured).max()))


def test_rates_times_jacobians_are_the_velocities_of_the_parts(case):
    body, smooth = case.body, case.smooth
    rates = dof_rates(body, smooth.pose, smooth.fps)
    joints = [body.roles[part] for part in ("left_hand", "right_foot", "head")]
    jacobian = stacked_jacobians(body, smooth.pose, np.array(joints), np.arange(len(body.skeleton.dofs)))
    predicted = np.einsum("frd,fd->fr", jacobian, rates).reshape(len(smooth), 3, 6)[2:-2, :, :3]
    positions = body.skeleton.forward(smooth.pose).positions[:, joints]
    measured = (positions[3:-1] - positions[1:-3]) * smooth.fps / 2.0
    assert np.median(np.linalg.norm(predicted - measured, axis=-1)) < 0.01 * np.median(
        np.linalg.norm(measured, axis=-1)
    )


def test_smoothing_keeps_slow_motion_where_and_when_it_is():
    body = ps.figure()
    for fps in (24.0, 60.0, 120.0, 240.0):
        seconds = np.arange(int(3 * fps)) / fps
        pose = ps.Pose(np.zeros(3), np.tile(body.skeleton.rest_rotations, (len(seconds), 1, 1)))
        wave = np.stack([np.sin(2 * np.pi * seconds), 0 * seconds, 0 * seconds], axis=1)
        motion = ps.Motion(body.skeleton, ps.Pose(wave, pose.rotations), fps)
        middle = slice(int(fps), int(2 * fps))
        np.testing.assert_allclose(smoothed(motion).translation[middle], wave[middle], atol=2e-3)


def test_smoothing_does_not_mind_which_quaternion_stands_for_a_rotation(pitch):
    flips = np.where(np.random.default_rng(0).uniform(size=(len(pitch.motion), 1, 1)) < 0.5, -1.0, 1.0)
    flipped = pitch.motion.replace(pose=pitch.motion.pose.replace(rotations=pitch.motion.pose.rotations * flips))
    a, b = smoothed(pitch.motion).rotations, smoothed(flipped).rotations
    np.testing.assert_allclose(np.abs((a * b).sum(axis=-1)), 1.0, atol=1e-12)


def test_the_rates_of_a_motion_do_not_depend_on_its_frame_rate(pitch):
    fast = pitch.smooth.resampled(240.0)
    slow, quick = dof_rates(pitch.body, pitch.smooth.pose, 60.0), dof_rates(pitch.body, fast.pose, 240.0)[::4]
    count = min(len(slow), len(quick))
    error = np.linalg.norm(slow[2 : count - 2] - quick[2 : count - 2], axis=1)
    assert np.median(error) < 0.05 * np.median(np.linalg.norm(slow, axis=1))


@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_short_clips_are_read(frames):
    body = ps.figure()
    clip = read_clip(ps.samples.walk(body)[:frames], body)
    assert np.isfinite(clip.rates).all() and clip.rates.shape == (frames, len(clip.parts.dofs))


def test_a_cmu_figure_has_the_papers_joints_and_its_still_axes_are_locked(pitch):
    parts, names = pitch.clip.parts, pitch.clip.parts.names()
    assert not any("Shoulder" in name or "Toe" in name or "Thumb" in name for name in names)
    assert {"Hips.tx", "LowerBack.x", "LeftArm.z", "RightFoot.y", "Head.x"} <= set(names)
    locked = {name for name, free in zip(names, parts.free) if not free}
    assert {"LHipJoint.x", "LeftHand.y", "RightHand.z"} <= locked
    np.testing.assert_array_equal(pitch.clip.rates[:, ~parts.free], 0.0)


def test_a_limb_that_never_moves_can_still_be_dragged():
    body = ps.figure()
    rates = np.zeros((4, len(body.skeleton.dofs)))
    rates[:, body.skeleton.dofs.of(body.roles["left_upper_leg"])] = 1.0
    parts = find_parts(body, rates)
    arm = np.isin(body.skeleton.dofs.joint[parts.dofs], body.roles["left_lower_arm"])
    assert parts.free[arm].all() and not parts.moving[arm].any()


def test_unknown_parts_are_named(pitch):
    with pytest.raises(ps.UnknownNameError, match="left_hand"):
        joint_of(pitch.body, "left_hnad")
    assert len(edited_dofs(pitch.body)) == len(pitch.clip.parts.dofs)


def test_a_motion_without_frames_or_with_broken_numbers_is_refused(pitch):
    with pytest.raises(ps.PosableError, match="no frames"):
        ps.MotionEditor(pitch.motion[:0], pitch.body)
    broken = pitch.motion.pose.translation.copy()
    broken[3] = np.nan
    with pytest.raises(ps.PosableError, match="finite"):
        ps.MotionEditor(pitch.motion.replace(pose=pitch.motion.pose.replace(translation=broken)), pitch.body)

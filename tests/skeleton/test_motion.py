import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import posable.math as pm
from posable.compute import PosableError, ShapeError
from posable.skeleton import Character, Motion, Pose, Skeleton, SkinnedMesh

SKELETON = Skeleton(["hips", "knee"], [-1, 0], [[0, 1, 0], [0, -0.4, 0]])


def motion(frames: int, fps: float = 30.0, moved: bool = False) -> Motion:
    rng = np.random.default_rng(frames)
    rotations = pm.exp(np.cumsum(rng.normal(size=(frames, 2, 3)) * 0.2, axis=0))
    offsets = rng.normal(size=(frames, 2, 3)) if moved else None
    return Motion(SKELETON, Pose(rng.normal(size=(frames, 3)), rotations, offsets), fps)


def test_an_index_gives_a_pose_and_a_slice_a_motion():
    clip = motion(20)
    assert clip[3].shape == ()
    np.testing.assert_array_equal(clip[3].rotations, clip.pose.rotations[3])
    np.testing.assert_array_equal(clip[-1].translation, clip.pose.translation[-1])
    part = clip[5:15]
    assert isinstance(part, Motion) and len(part) == 10 and part.fps == clip.fps
    assert clip[::2].fps == 15 and len(clip[::2]) == 10
    with pytest.raises(PosableError, match="step -1"):
        clip[::-1]


def test_times_and_duration_count_from_the_first_frame():
    clip = motion(31, fps=30)
    assert clip.duration == pytest.approx(1.0)
    assert clip.times[0] == 0 and clip.times[-1] == pytest.approx(1.0)
    assert motion(1).duration == 0 and motion(0).duration == 0


def test_a_pose_between_frames_is_what_scipy_interpolates():
    clip = motion(10, moved=True)
    times = np.linspace(0, clip.duration, 57)
    pose = clip.at(times)
    for j in range(2):
        judge = Slerp(clip.times, Rotation.from_quat(clip.pose.rotations[:, j], scalar_first=True))(times)
        np.testing.assert_allclose(pm.to_matrix(pose.rotations[:, j]), judge.as_matrix(), atol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(pose.translation[:, k], np.interp(times, clip.times, clip.pose.translation[:, k]))
        assert pose.offsets is not None and clip.pose.offsets is not None
        np.testing.assert_allclose(
            pose.offsets[:, 1, k], np.interp(times, clip.times, clip.pose.offsets[:, 1, k]), atol=1e-12
        )


@pytest.mark.parametrize("fps", [24.0, 29.97, 30.0, 120.0, 1 / 0.0083333])
def test_a_frame_s_own_time_gives_that_frame(fps: float):
    clip = motion(200, fps=fps)
    pose = clip.at(clip.times)
    np.testing.assert_allclose(pose.rotations, clip.pose.rotations, atol=1e-14)
    np.testing.assert_array_equal(pose.translation, clip.pose.translation)


def test_time_outside_the_motion_holds_its_first_and_last_frame():
    clip = motion(5)
    np.testing.assert_array_equal(clip.at(-1).translation, clip[0].translation)
    np.testing.assert_array_equal(clip.at(99).translation, clip[4].translation)
    one = motion(1)
    np.testing.assert_array_equal(one.at([0, 0.5, 7]).translation, np.tile(one[0].translation, (3, 1)))
    with pytest.raises(PosableError, match="empty motion"):
        motion(0).at(0)


def test_resampling_to_the_same_rate_changes_nothing_and_up_and_down_comes_back():
    clip = motion(40)
    np.testing.assert_allclose(clip.resampled(30).pose.rotations, clip.pose.rotations, atol=1e-14)
    back = clip.resampled(90).resampled(30)
    assert len(back) == len(clip)
    np.testing.assert_allclose(back.pose.rotations, clip.pose.rotations, atol=1e-12)
    assert len(motion(0).resampled(60)) == 0
    with pytest.raises(PosableError, match="fps"):
        clip.resampled(0)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ShapeError, match=r"\(F,\)"):
        Motion(SKELETON, SKELETON.rest, 30)
    with pytest.raises(ShapeError, match="3 joints"):
        Motion(SKELETON, Pose(np.zeros((2, 3)), np.zeros((2, 3, 4))), 30)
    for fps in (0, -1, np.nan, np.inf):
        with pytest.raises(PosableError, match="fps"):
            motion(3).replace(fps=fps)


def test_poses_stack_index_and_reshape():
    clip = motion(6, moved=True)
    again = Pose.stack([clip[k] for k in range(6)])
    np.testing.assert_array_equal(again.rotations, clip.pose.rotations)
    assert clip.pose.reshape(2, 3)[1, 2].shape == ()
    np.testing.assert_array_equal(clip.pose.reshape(2, 3)[1, 2].translation, clip[5].translation)
    with pytest.raises(ShapeError, match="some poses"):
        Pose.stack([clip[0], motion(3)[0]])
    with pytest.raises(ShapeError, match="no poses"):
        Pose.stack([])
    with pytest.raises(ShapeError, match="translation"):
        Pose(np.zeros((2, 3)), np.zeros((3, 5, 4)))
    with pytest.raises(ShapeError, match="J, 4"):
        Pose(np.zeros(3), np.zeros((5, 3)))
    with pytest.raises(IndexError):
        clip[0][0]
    assert clip.pose.is_finite()
    assert not clip.pose.replace(translation=np.full((6, 3), np.nan)).is_finite()


def test_a_loop_over_a_motion_gives_its_frames():
    clip = motion(7, moved=True)
    frames = list(clip)
    assert len(frames) == 7 and all(pose.shape == () for pose in frames)
    np.testing.assert_array_equal(Pose.stack(frames).rotations, clip.pose.rotations)
    assert list(motion(0)) == []


def test_motions_are_concatenated_frame_after_frame():
    still, moved = motion(4).replace(name="walk", notes=("a", "b")), motion(5, moved=True).replace(notes=("b", "c"))
    whole = Motion.concatenate([still, moved, motion(0)])
    assert (len(whole), whole.fps, whole.name, whole.notes) == (9, 30.0, "walk", ("a", "b", "c"))
    for k, pose in enumerate([*still, *moved]):
        np.testing.assert_array_equal(whole[k].rotations, pose.rotations)
        np.testing.assert_array_equal(whole[k].translation, pose.translation)
        # Where a part moves no joint, the joints stay where the skeleton has them.
        np.testing.assert_array_equal(SKELETON.forward(whole[k]).positions, SKELETON.forward(pose).positions)
    assert Motion.concatenate(iter([still])).pose.offsets is None
    with pytest.raises(PosableError, match="motion 1 has 60 fps, the first 30"):
        Motion.concatenate([still, motion(3, fps=60.0)])
    other = Motion(SKELETON.scaled(1.1), still.pose, 30.0)
    with pytest.raises(PosableError, match="motion 1 has another skeleton"):
        Motion.concatenate([still, other])
    with pytest.raises(PosableError, match="no motions"):
        Motion.concatenate([])


def test_forward_kinematics_takes_a_motion():
    clip = motion(6, moved=True)
    np.testing.assert_array_equal(SKELETON.forward(clip).positions, SKELETON.forward(clip.pose).positions)
    np.testing.assert_array_equal(SKELETON.values(clip), SKELETON.values(clip.pose))
    np.testing.assert_array_equal(SKELETON.jacobian(clip, "knee"), SKELETON.jacobian(clip.pose, "knee"))
    with pytest.raises(PosableError, match="expected a Pose or a Motion"):
        SKELETON.forward(clip.pose.rotations)


def test_what_is_printed_is_one_line():
    clip = motion(7, moved=True)
    assert repr(clip) == "Motion(7 frames at 30 fps, 0.20 s, 2 joints)"
    assert repr(clip.replace(name="walk")) == "Motion('walk', 7 frames at 30 fps, 0.20 s, 2 joints)"
    assert repr(clip.pose) == "Pose((7,) of 2 joints, with offsets)"
    assert repr(motion(3)[0]) == "Pose(2 joints)"
    assert repr(SKELETON.forward(clip)) == "Frames((7,) of 2 joints)"
    assert repr(SKELETON) == "Skeleton(2 joints, 9 DoF, root 'hips')"
    assert repr(SKELETON.dofs) == "Dofs(9 of 2 joints)"
    mesh = SkinnedMesh("skin", *(np.zeros((500, 3)) for _ in range(6)))
    assert repr(mesh) == "SkinnedMesh('skin', 500 vertices, 500 triangles)"
    assert repr(Character((mesh,) * 5, {"hips": "hips"})) == "Character(5 meshes: 'skin', 'skin', 'skin', ...; 1 roles)"


def test_a_single_translation_serves_a_whole_batch():
    pose = Pose([1, 2, 3], np.tile([1.0, 0, 0, 0], (4, 2, 1)))
    assert pose.translation.shape == (4, 3)

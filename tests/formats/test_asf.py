import shutil

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError
from posable.math import rotate

# Joints of the conversion and bones of the original, side by side.
JOINTS = """Hips LHipJoint LeftUpLeg LeftLeg LeftFoot LeftToeBase RHipJoint RightUpLeg RightLeg RightFoot RightToeBase
    LowerBack Spine Spine1 Neck Neck1 Head LeftShoulder LeftArm LeftForeArm LeftHand LeftFingerBase LeftHandIndex1
    LThumb RightShoulder RightArm RightForeArm RightHand RightFingerBase RightHandIndex1 RThumb"""
BONES = """root lhipjoint lfemur ltibia lfoot ltoes rhipjoint rfemur rtibia rfoot rtoes
    lowerback upperback thorax lowerneck upperneck head lclavicle lhumerus lradius lwrist lhand lfingers
    lthumb rclavicle rhumerus rradius rwrist rhand rfingers rthumb"""
PAIRS = dict(zip(JOINTS.split(), BONES.split(), strict=True))

LITTLE_ASF = """# a comment
:version 1.10
:units
  mass 1.0
  length 0.5
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 1 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name upper
     direction 0 1 0
     length 2
     axis 0 0 90 XYZ
     dof rx
     limits (-10 170)
  end
  begin
     name lower
     direction 1 0 0
     length 3
     axis 0 0 0 XYZ
     dof rx ry rz
  end
:hierarchy
  begin
    root upper
    upper lower
  end
"""
LITTLE_AMC = """:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 0 0 0
upper 90
lower 0 0 0
2
root 0 0 0 0 90 0
upper 0
lower 10 20 30
"""


@pytest.fixture
def clip(tmp_path):
    (tmp_path / "07.asf").write_text(LITTLE_ASF)
    path = tmp_path / "07_01.amc"
    path.write_text(LITTLE_AMC)
    return path


@pytest.mark.parametrize("name", ["01_03", "02_01", "02_04", "02_06"])
def test_the_mended_bvh_and_the_original_agree_within_a_hundredth_of_a_millimetre(cmu, name):
    original = ps.load(cmu / "asfamc" / f"{name}.amc")
    mended = ps.load(cmu / f"{name}.bvh", repair="cmu", first_frame=1)
    assert len(original) == len(mended)
    theirs = [original.skeleton.index(bone) for bone in PAIRS.values()]
    ours = [mended.skeleton.index(joint) for joint in PAIRS]
    frames, frames_mended = original.skeleton.forward(original.pose), mended.skeleton.forward(mended.pose)
    apart = np.linalg.norm(frames.positions[:, theirs] - frames_mended.positions[:, ours], axis=-1)
    assert apart.max() < 1e-5  # m
    ends = {original.skeleton.names[p]: e for e, p in enumerate(original.skeleton.end_parents)}
    for e, parent in enumerate(mended.skeleton.end_parents):
        other = ends.pop(PAIRS[mended.skeleton.names[parent]])
        assert np.linalg.norm(frames.ends[:, other] - frames_mended.ends[:, e], axis=-1).max() < 1e-5
    assert not ends


def test_hinges_turn_about_their_axis_only(cmu):
    motion = ps.load(cmu / "asfamc" / "02_01.amc")
    skeleton = motion.skeleton
    assert skeleton.kinds[skeleton.index("ltibia")] == "hinge"
    assert skeleton.kinds[skeleton.index("lhipjoint")] == "fixed"
    for j, kind in enumerate(skeleton.kinds):
        if kind == "hinge":
            axis = skeleton.axes[j, 0]
            assert np.abs(rotate(motion.pose.rotations[:, j], axis) - axis).max() < 1e-12


def test_a_small_pair_of_files_means_what_it_says(clip):
    motion = ps.load(clip)
    inch = 0.0254 / 0.5
    assert motion.skeleton.names == ("root", "upper", "lower")
    assert np.allclose(motion.skeleton.offsets, np.array([[0, 1, 0], [0, 0, 0], [0, 2, 0]]) * inch)
    assert np.allclose(motion.skeleton.end_offsets, np.array([[3, 0, 0]]) * inch)
    assert np.allclose(motion.pose.translation, np.array([[1, 3, 3], [0, 1, 0]]) * inch)
    # The upper bone's own X axis is the world's Y: turning it by 90 degrees takes the lower bone from +X to -Z.
    frames = motion.skeleton.forward(motion.pose)
    assert np.allclose(frames.ends[0, 0] - frames.positions[0, 2], np.array([0, 0, -3]) * inch)
    assert motion.fps == 120
    assert any("120 was assumed" in note for note in motion.notes)


def test_a_skeleton_file_alone_is_its_rest_pose(clip):
    motion = ps.load(clip.with_name("07.asf"))
    assert len(motion) == 1
    assert (motion.pose.rotations == [1, 0, 0, 0]).all()


def test_radians_and_scale_and_rate_are_taken_as_said(clip):
    text = (
        LITTLE_AMC.replace(":DEGREES", ":RADIANS")
        .replace("upper 90", f"upper {np.pi / 2}")
        .replace("0 90 0", "0 1.5707963267948966 0")
    )
    plain = ps.load(clip, scale=1.0, fps=60)
    clip.write_text(text.replace("10 20 30", " ".join(map(str, np.deg2rad([10, 20, 30])))))
    assert np.allclose(ps.load(clip).pose.rotations, plain.pose.rotations, atol=1e-15)
    assert plain.fps == 60
    assert plain.skeleton.offsets[2].tolist() == [0, 2, 0]


def test_the_skeleton_is_found_by_name_by_prefix_or_alone_and_can_be_told(clip, tmp_path):
    asf = tmp_path / "07.asf"
    asf.rename(tmp_path / "07_01.asf")
    assert "07_01.asf" in ps.load(clip).notes[0]
    (tmp_path / "07_01.asf").rename(tmp_path / "only.asf")
    assert "only.asf" in ps.load(clip).notes[0]
    shutil.copy(tmp_path / "only.asf", tmp_path / "other.asf")
    with pytest.raises(FormatError, match=r"looked for 07_01.asf and 07.asf\); give asf="):
        ps.load(clip)
    assert "other.asf" in ps.load(clip, asf=tmp_path / "other.asf").notes[0]
    with pytest.raises(FormatError, match="no such skeleton file"):
        ps.load(clip, asf=tmp_path / "none.asf")


def test_the_rate_of_a_subject_captured_at_60_is_known_on_request(cmu, tmp_path, monkeypatch):
    monkeypatch.delenv("POSABLE_DATA", raising=False)
    shutil.copy(cmu / "asfamc" / "02.asf", tmp_path / "61.asf")
    shutil.copy(cmu / "asfamc" / "02_01.amc", tmp_path / "61_01.amc")
    assert ps.load(tmp_path / "61_01.amc").fps == 120
    assert ps.load(tmp_path / "61_01.amc", repair="cmu").fps == 60


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("upper lower\n", "upper lower\n lower upper\n", "line 33: bone 'upper' has two parents"),
        ("root upper\n    upper lower", "root\n upper lower\n lower upper", "cycle|no tree|root"),
        ("    upper lower\n", "", "'lower' is not in the hierarchy"),
        ("upper lower", "upper lowest", "line 32: the hierarchy names 'lowest'"),
        ("direction 1 0 0", "direction 1 0", "line 24: expected 3 finite numbers"),
        ("direction 1 0 0", "direction 1 0 nan", "line 24: expected 3 finite numbers"),
        ("dof rx ry rz", "dof rx ry l", "line 27: channel 'l'"),
        ("dof rx ry rz", "dof rx rx", "line 27: channel 'rx'"),
        ("name lower", "name upper", "line 28: a bone needs a name of its own"),
        ("axis 0 0 90 XYZ", "axis 0 0 90 XXZ", "line 18: an axis order"),
        ("  length 0.5", "  length 0", "line 5: the unit of length"),
        ("angle deg", "angle grad", "line 6: the unit of angle"),
        (":hierarchy", ":tree", "no section ':hierarchy'"),
        ("     dof rx ry rz\n  end\n:hierarchy", ":hierarchy", "line 27: a bone without 'end'"),
        ("     dof rx ry rz\n  end\n" + LITTLE_ASF.split("  end\n", 2)[2], "", "line 22: the file ends inside a bone"),
    ],
)
def test_a_broken_skeleton_file_is_refused_with_the_place(clip, old, new, message):
    assert old in LITTLE_ASF
    clip.with_name("07.asf").write_text(LITTLE_ASF.replace(old, new))
    with pytest.raises(FormatError, match=message):
        ps.load(clip)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("upper 90\n", "", "line 6: bone 'upper' is missing"),
        ("lower 10 20 30\n", "", "line 9: bone 'lower' is missing"),
        ("upper 90", "upper 90 1", "line 5: bone 'upper' has 1 channels in the skeleton, 2 here"),
        ("upper 90", "upper x", "line 5: expected numbers"),
        ("upper 90", "upper nan", "frame 1: bone 'upper' has a number that is not finite"),
        ("upper 90", "upper 90\nupper 90", "line 6: bone 'upper' stands twice"),
        ("upper 90", "tail 90", "line 5: bone 'tail' is not in the skeleton"),
        ("\n2\n", "\n3\n", "line 7: expected frame 2, found 3"),
        ("1\nroot 1", "root 1", "line 3: expected a frame's number"),
        ("upper 90", "upper 9\0", "byte 52: is not text"),
    ],
)
def test_a_broken_motion_file_is_refused_with_the_place(clip, old, new, message):
    assert old in LITTLE_AMC
    clip.write_text(LITTLE_AMC.replace(old, new))
    with pytest.raises(FormatError, match=message):
        ps.load(clip)


def test_a_motion_file_without_frames_is_an_empty_motion(clip):
    clip.write_text(":FULLY-SPECIFIED\n:DEGREES\n")
    assert len(ps.load(clip)) == 0

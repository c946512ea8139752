import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute import FormatError, PosableError

from .example_motions import LITTLE_BVH, angles_between


@pytest.fixture
def read(tmp_path):
    def _read(text, **options):
        path = tmp_path / "clip.bvh"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ps.load(path, **options)

    return _read


def _same(a, b):
    assert a.skeleton.names == b.skeleton.names
    assert (a.skeleton.offsets == b.skeleton.offsets).all()
    assert (a.skeleton.end_offsets == b.skeleton.end_offsets).all()
    assert (a.pose.translation == b.pose.translation).all()
    assert (a.pose.rotations == b.pose.rotations).all()


def test_a_small_file_is_read_as_it_is_written(read):
    motion = read(LITTLE_BVH)
    assert motion.skeleton.names == ("Hips", "Chest", "Leg")
    assert motion.skeleton.parents.tolist() == [-1, 0, 0]
    assert motion.skeleton.offsets.tolist() == [[0, 1, 0], [0, 0.5, 0], [0.1, -0.4, 0]]
    assert motion.skeleton.end_parents.tolist() == [1, 2, 2]
    assert motion.skeleton.end_offsets.tolist() == [[0, 0.25, 0], [0, -0.3, 0], [0, -0.3, 0.1]]
    assert (len(motion), motion.fps, motion.name, motion.notes) == (2, 30.0, "clip", ())
    assert motion.pose.translation.tolist() == [[0, 1, 0], [1, 2, 3]]
    assert motion.pose.offsets is None
    # Hips turn 90 degrees about Z: the chest, above them, comes to lie along -X.
    assert np.allclose(motion.skeleton.forward(motion.pose).positions[1, 1], [0.5, 2, 3], atol=1e-15)


def test_leg_channels_compose_in_the_order_written(read):
    turned = read(LITTLE_BVH).pose.rotations[1, 2]
    expected = Rotation.from_euler("YZX", [10, 20, 30], degrees=True).as_quat(scalar_first=True)
    assert np.abs(turned - expected).max() < 1e-15


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n\n  \n",
        lambda text: "\ufeff" + text,
        lambda text: text.replace(" ", "\t").replace("End\tSite", "End Site").replace("Frame\tTime", "Frame Time"),
        lambda text: text.replace("\n{", " {").replace("OFFSET", "offset").replace("CHANNELS", "Channels"),
        lambda text: text.replace("HIERARCHY\nROOT", "hierarchy\n\n\nroot").replace("MOTION", "Motion"),
        lambda text: text.replace("Frames: 2", "Frames:2").replace("Frame Time: ", "Frame Time:\t"),
        lambda text: text.replace("1 2 3 90", "1e0 0.2e+1 30E-1 +9.0e1"),
        lambda text: text.replace("1 2 3 90 0 0 ", "1 2 3\n90 0 0\n"),
        lambda text: text.replace("End Site", "End Site tip"),
        lambda text: text.replace("0 90 0 10", "  0\t90   0 10 "),
    ],
)
def test_how_a_file_is_laid_out_does_not_matter(read, rewrite):
    _same(read(rewrite(LITTLE_BVH)), read(LITTLE_BVH))


def test_names_may_have_blanks_and_any_letters(read):
    motion = read(LITTLE_BVH.replace("JOINT Chest", "JOINT Upper  body").replace("JOINT Leg", "JOINT Kneïe"))
    assert motion.skeleton.names == ("Hips", "Upper body", "Kneïe")
    assert read(LITTLE_BVH.replace("Leg", "Kneïe").encode("latin-1")).skeleton.names[2] == "Kneïe"


def test_joints_of_one_name_are_told_apart_and_that_is_noted(read):
    motion = read(LITTLE_BVH.replace("JOINT Leg", "JOINT Chest"))
    assert motion.skeleton.names == ("Hips", "Chest", "Chest.001")
    assert "Chest.001" in motion.notes[0]


CHANNELS = ["Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"]


def test_channels_of_the_root_may_stand_in_any_order(read):
    for order in list(itertools.permutations(CHANNELS))[::7]:
        values = {"Xposition": 1, "Yposition": 2, "Zposition": 3, "Xrotation": 40, "Yrotation": 50, "Zrotation": 60}
        row = " ".join(str(values[channel]) for channel in order)
        joint = f"ROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 6 {' '.join(order)}\n}}"
        motion = read(f"HIERARCHY\n{joint}\nMOTION\nFrames: 1\nFrame Time: 0.5\n{row}\n")
        assert motion.pose.translation.tolist() == [[1, 2, 3]]
        turns = [channel for channel in order if channel.endswith("rotation")]
        angles = [values[channel] for channel in turns]
        expected = Rotation.from_euler("".join(turn[0] for turn in turns), angles, degrees=True)
        assert angles_between(motion.pose.rotations[0], expected.as_quat(scalar_first=True)[None]).max() < 1e-14


def test_positions_of_any_joint_replace_its_offset_axis_by_axis(read):
    text = LITTLE_BVH.replace(
        "0.1 -0.4 0\n\t\tCHANNELS 3 Yrotation Zrotation Xrotation",
        "0.1 -0.4 0\n\t\tCHANNELS 5 Zposition Yrotation Yposition Zrotation Xrotation",
    ).replace("10 20 30", "7 10 8 20 30")
    text = text.replace("0 0 0 0 0 0\n1", "0 0 0 0 0 0 0 0\n1")
    motion = read(text)
    assert motion.pose.offsets[1].tolist() == [[0, 1, 0], [0, 0.5, 0], [0.1, 8, 7]]
    assert motion.pose.offsets[0].tolist()[2] == [0.1, 0, 0]
    assert np.allclose(motion.pose.rotations, read(LITTLE_BVH).pose.rotations)


def test_position_channels_that_say_nothing_new_leave_no_joint_translations(read):
    text = LITTLE_BVH.replace(
        "OFFSET 0 0.5 0\n\t\tCHANNELS 3", "OFFSET 0 0.5 0\n\t\tCHANNELS 6 Xposition Yposition Zposition"
    ).replace("0 1 0 0 0 0 0 0 0 0 0 0", "0 1 0 0 0 0 0 .5 0 0 0 0 0 0 0")
    text = text.replace("1 2 3 90 0 0 0 90 0", "1 2 3 90 0 0 0 .5 0 0 90 0")
    assert read(text).pose.offsets is None


def test_a_root_without_position_channels_stays_at_its_offset(read):
    text = LITTLE_BVH.replace("CHANNELS 6 Xposition Yposition Zposition", "CHANNELS 3").replace("0 1 0 0", "0")
    motion = read(text.replace("1 2 3 90", "90"))
    assert motion.pose.translation.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_joints_without_channels_do_not_turn(read):
    text = LITTLE_BVH.replace("CHANNELS 3 Xrotation Yrotation Zrotation", "CHANNELS 0")
    motion = read(text.replace("0 0 0\n1", "\n1").replace("90 0 0 0 90 0 10", "90 0 0 10"))
    assert (motion.pose.rotations[:, 1] == [1, 0, 0, 0]).all()


def test_a_motion_may_have_no_frames(read):
    text = LITTLE_BVH[: LITTLE_BVH.index("Frames")] + "Frames: 0\nFrame Time: 0.1\n"
    assert len(read(text)) == 0


def test_scale_multiplies_every_length_and_no_angle(read):
    text = LITTLE_BVH.replace("0 0.5 0", "0 50 0")
    plain, scaled = read(text), read(text, scale=0.01)
    assert np.allclose(scaled.skeleton.offsets, plain.skeleton.offsets * 0.01, rtol=1e-15)
    assert np.allclose(scaled.skeleton.end_offsets, plain.skeleton.end_offsets * 0.01, rtol=1e-15)
    assert np.allclose(scaled.pose.translation, plain.pose.translation * 0.01, rtol=1e-15)
    assert (scaled.pose.rotations == plain.pose.rotations).all()


def test_a_giant_is_noted_because_the_file_was_hardly_in_metres(read):
    text = LITTLE_BVH.replace("0 0.5 0", "0 150 0")
    assert "scale=0.01" in read(text).notes[0]
    assert read(text, scale=0.01).notes == ()


@pytest.mark.parametrize(
    ("written", "fps"),
    [
        ("0.0083333", 120.0),
        (".0083333", 120.0),
        ("0.00833333", 120.0),
        ("0.008333334", 120.0),
        ("0.033333", 30.0),
        ("0.0333334", 30.0),
        ("0.0416667", 24.0),
        ("0.04", 25.0),
        ("1", 1.0),
        ("0.5", 2.0),
        ("1.6666667e-02", 1 / 1.6666667e-02),
        ("0.0083", 1 / 0.0083),
        ("0.033", 1 / 0.033),
        ("0.0417083750", 1 / 0.0417083750),
        ("0.033366700", 1 / 0.0333667),
        ("2.5", 0.4),
    ],
)
def test_the_frame_rate_is_whole_where_the_digits_written_mean_it(read, written, fps):
    assert read(LITTLE_BVH.replace("0.033333", written)).fps == fps


@pytest.mark.parametrize("written", ["0", "-0.1", "nan", "inf", "abc", "1e-400", "1_0", "1e-320"])
def test_an_impossible_frame_time_can_be_overridden_but_not_overlooked(read, written):
    text = LITTLE_BVH.replace("0.033333", written)
    with pytest.raises(FormatError, match=r"line 31: 'Frame Time:'.*fps= overrides"):
        read(text)
    assert read(text, fps=25).fps == 25.0


def test_an_unknown_repair_names_the_known_one(read):
    with pytest.raises(PosableError, match="cmu"):
        read(LITTLE_BVH, repair="cmuu")


def test_every_clip_has_the_joints_frames_and_unit_rotations_it_should(cmu):
    for path in sorted(cmu.glob("*.bvh"))[::5]:
        motion = ps.load(path)
        assert len(motion.skeleton) == 31
        assert len(motion.skeleton.end_parents) == 7
        assert len(motion) == int(path.read_text().split("Frames:")[1].split()[0])
        assert motion.fps == 120.0
        assert np.abs(np.linalg.norm(motion.pose.rotations, axis=-1) - 1).max() < 1e-14


def test_a_clip_agrees_with_a_slow_reader_of_its_own(cmu):
    path = cmu / "90_05.bvh"
    motion = ps.load(path)
    numbers = np.loadtxt(path.read_text().split("Frame Time:")[1].splitlines()[1:])
    assert (motion.pose.translation == numbers[:, :3]).all()
    for j in range(31):
        turned = Rotation.from_euler("ZYX", numbers[:, 3 + 3 * j : 6 + 3 * j], degrees=True).as_quat(scalar_first=True)
        assert angles_between(motion.pose.rotations[:, j], turned).max() < 1e-12

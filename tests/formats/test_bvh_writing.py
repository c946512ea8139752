import numpy as np
import pybvh
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable as ps
from posable.compute import PosableError
from posable.formats.bvh.hierarchy import read_unit_mark, unit_mark
from posable.skeleton import Motion, Pose, Skeleton

from .example_motions import angles_between, random_motion, world

ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]


def _there_and_back(motion, folder, **options):
    ps.save(motion, folder / "out.bvh", **options)
    return ps.load(folder / "out.bvh")


def _assert_same_motion(a, b, metres=1e-9, radians=1e-9):
    assert sorted(a.skeleton.names) == sorted(b.skeleton.names)
    positions, orientations = world(a)
    positions_b, orientations_b = world(b, a.skeleton.names)
    assert np.abs(positions - positions_b).max() < metres
    assert angles_between(orientations, orientations_b).max() < radians
    _assert_same_ends(a, b, metres)


def _assert_same_ends(a, b, metres=1e-9):
    """End sites have no name in BVH: each must have its twin in the first frame, which then stays its twin."""
    assert len(a.skeleton.end_parents) == len(b.skeleton.end_parents)
    if len(a.skeleton.end_parents) == 0:
        return
    ends, ends_b = a.skeleton.forward(a.pose).ends, b.skeleton.forward(b.pose).ends
    twins = np.linalg.norm(ends[0, :, None] - ends_b[0, None], axis=-1).argmin(axis=1)
    assert sorted(twins) == list(range(len(twins)))
    assert np.abs(ends - ends_b[:, twins]).max(initial=0) < metres


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read_back(tmp_path, seed, order):
    motion = random_motion(seed)
    again = _there_and_back(motion, tmp_path, order=order)
    _assert_same_motion(motion, again)
    assert again.fps == motion.fps
    assert again.pose.offsets is None
    assert again.notes == ()


def test_joint_translations_are_written_only_where_the_motion_moves_a_joint(tmp_path):
    motion = random_motion(5, moved=True)
    again = _there_and_back(motion, tmp_path)
    _assert_same_motion(motion, again)
    text = (tmp_path / "out.bvh").read_text()
    assert text.count("CHANNELS 6") == 2
    assert text.count("CHANNELS 3") == len(motion.skeleton) - 2
    assert again.pose.offsets is not None


def test_joint_translations_that_move_nothing_are_not_written(tmp_path):
    motion = random_motion(6)
    places = np.tile(motion.skeleton.offsets, (len(motion), 1, 1))
    again = _there_and_back(motion.replace(pose=motion.pose.replace(offsets=places)), tmp_path)
    assert (tmp_path / "out.bvh").read_text().count("CHANNELS 6") == 1
    _assert_same_motion(motion, again)


@pytest.mark.parametrize("moved", [False, True])
def test_rest_rotations_become_offsets_and_every_place_stays(tmp_path, moved):
    motion = random_motion(7, rest=True, moved=moved)
    again = _there_and_back(motion, tmp_path)
    assert np.abs(world(motion)[0] - world(again, motion.skeleton.names)[0]).max() < 1e-9
    rest = motion.skeleton.forward(motion.skeleton.rest).positions
    rest_again = again.skeleton.forward(again.skeleton.rest).positions
    order = [again.skeleton.index(name) for name in motion.skeleton.names]
    assert np.abs(rest - rest_again[order]).max() < 1e-9
    _assert_same_ends(motion, again)


@pytest.mark.parametrize("scale", [0.01, 0.0254, 0.0254 / 0.45, 1000.0, 1 / 3])
def test_a_file_in_another_unit_is_read_back_in_metres_without_being_told(tmp_path, scale):
    motion = random_motion(8, moved=True)
    again = _there_and_back(motion, tmp_path, scale=scale)
    _assert_same_motion(motion, again)
    assert f"{scale:g} m" in again.notes[0]
    told = ps.load(tmp_path / "out.bvh", scale=2 * scale)
    assert np.allclose(told.skeleton.offsets, 2 * again.skeleton.offsets)


@given(st.floats(1e-300, 1e300))
def test_the_mark_of_a_unit_is_blank_and_exact(scale):
    mark = unit_mark(scale)
    assert mark.strip(" \t") == ""
    assert read_unit_mark(mark.encode()) == (None if scale == 1.0 else scale)


@given(st.one_of(st.binary(max_size=60), st.text(" \t", max_size=80).map(str.encode)))
def test_no_blanks_of_others_upset_the_reading_of_a_mark(behind):
    scale = read_unit_mark(behind)
    assert scale is None or (np.isfinite(scale) and scale > 0)


def test_metres_need_no_mark(tmp_path):
    ps.save(random_motion(1), tmp_path / "out.bvh")
    assert (tmp_path / "out.bvh").read_text().startswith("HIERARCHY\nROOT ")


@pytest.mark.parametrize("fps", [24, 25, 30, 60, 120, 23.976, 29.97, 59.94, 0.4, 1 / 3])
def test_the_frame_rate_survives(tmp_path, fps):
    assert _there_and_back(random_motion(1).replace(fps=fps), tmp_path).fps == pytest.approx(fps, rel=1e-15)


@pytest.mark.parametrize("frames", [0, 1])
def test_motions_of_no_frame_or_one_are_motions_too(tmp_path, frames):
    again = _there_and_back(random_motion(9, frames=frames), tmp_path)
    assert len(again) == frames


def test_a_single_joint_is_a_skeleton_too(tmp_path):
    motion = Motion(Skeleton(["only"], [-1], [[0, 1, 0]]), Pose([[1, 2, 3]], [[[0, 1.0, 0, 0]]]), 10)
    _assert_same_motion(motion, _there_and_back(motion, tmp_path))


def test_thousands_of_nested_joints_are_no_problem(tmp_path):
    names = [f"j{k}" for k in range(3000)]
    skeleton = Skeleton(names, np.arange(-1, 2999), np.tile([0, 0.001, 0], (3000, 1)))
    again = _there_and_back(Motion(skeleton, _one(skeleton), 30), tmp_path)
    assert again.skeleton.names == skeleton.names


def _one(skeleton):
    return Pose(skeleton.rest.translation[None], skeleton.rest.rotations[None])


def test_names_are_made_fit_for_the_format(tmp_path):
    names = ["a {b}", "  two   words ", "line\nbreak", "", "twice", "twice "]
    skeleton = Skeleton(names, [-1, 0, 1, 2, 3, 4], np.ones((6, 3)))
    again = _there_and_back(Motion(skeleton, _one(skeleton), 30), tmp_path)
    assert again.skeleton.names == ("a (b)", "two words", "line break", "joint3", "twice", "twice.001")


@pytest.mark.parametrize(
    ("option", "value"), [("order", "XYX"), ("order", "YZ"), ("scale", 0.0), ("scale", float("nan"))]
)
def test_impossible_options_are_refused_by_name(tmp_path, option, value):
    with pytest.raises(PosableError, match=str(value)):
        ps.save(random_motion(1), tmp_path / "out.bvh", **{option: value})
    assert not (tmp_path / "out.bvh").exists()


def test_a_clip_survives_with_all_its_frames(cmu, tmp_path):
    motion = ps.load(cmu / "49_06.bvh", repair="cmu")
    again = _there_and_back(motion, tmp_path)
    _assert_same_motion(motion, again)
    assert again.skeleton.names == motion.skeleton.names
    assert np.abs(again.skeleton.offsets - motion.skeleton.offsets).max() < 1e-14


@pytest.mark.parametrize("source", ["cmu", "random", "rest"])
def test_pybvh_reads_what_we_write_the_same(source, tmp_path, request):
    if source == "cmu":
        motion = ps.load(request.getfixturevalue("cmu") / "90_05.bvh", repair="cmu")[:100]
    else:
        motion = random_motion(12, rest=source == "rest")
    ps.save(motion, tmp_path / "out.bvh")
    theirs = pybvh.read_bvh_file(tmp_path / "out.bvh")
    assert theirs.frame_time == pytest.approx(1 / motion.fps, rel=1e-12)
    places = theirs.node_positions()
    ours = motion.skeleton.forward(motion.pose).positions
    for name in motion.skeleton.names:
        column = [node.name for node in theirs.nodes].index(name)
        assert np.abs(places[:, column] - ours[:, motion.skeleton.index(name)]).max() < 1e-8

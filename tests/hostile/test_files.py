"""Any file is read or refused, with one sentence, in time and memory that follow its size (docs/files.md)."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import posable as ps

from . import all_cases
from .measure import Child, Outcome
from .structures import DRAWN, draw

CASES = all_cases()
FILES, SOAK_FILES = 40, 10**6  # of each kind


@pytest.fixture(scope="module")
def child():
    with Child() as reader:
        yield reader


def check(child, case, folder: Path) -> Outcome:
    path = case.make(folder)
    outcome = child.read(case.reader, path)
    assert not outcome.broken(), f"{case.name}: {outcome.broken()}"
    return outcome


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.large])
def test_a_small_file_cannot_ask_for_much(name, child, tmp_path):
    check(child, CASES[name], tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.large])
def test_a_large_file_takes_what_its_size_allows(name, child, tmp_path):
    check(child, CASES[name], tmp_path)


def measure_drawn(child, kind, seeds, folder: Path, most: int) -> set[str]:
    """Read drawn files; returns the ways in which reading them ended."""
    ended = set()
    for seed in seeds:
        inner = folder / "drawn"
        inner.mkdir()
        reader, path = draw(kind, seed, inner, most)
        outcome = child.read(reader, path)
        assert not outcome.broken(), f"{kind} {seed} with up to {most}: {outcome.broken()}"
        ended.add(outcome.ended)
        shutil.rmtree(inner)
    return ended


@pytest.mark.parametrize("kind", DRAWN)
def test_files_of_drawn_structures_take_what_their_size_allows(kind, child, tmp_path):
    ended = measure_drawn(child, kind, range(FILES), tmp_path, 2000)
    assert ended == {"read", "refused"}  # both happen: the readers are really reached


@pytest.mark.soak
@pytest.mark.parametrize("kind", DRAWN)
def test_a_million_files_of_drawn_structures_take_what_their_size_allows(kind, child, tmp_path, drawn):
    count = drawn(SOAK_FILES)
    large = max(1, count // 1000)
    measure_drawn(child, kind, range(FILES, FILES + count - large), tmp_path, 1000)
    measure_drawn(child, kind, range(SOAK_FILES, SOAK_FILES + large), tmp_path, 50_000)


READ = (
    "urdf_nothing_moves",
    "urdf_one_link",
    "mhskel_the_little_rig_itself",
    "npz_the_little_motion_itself",
    "range_itself",
    "prior_itself",
    "gltf_a_thousand_channels_on_zeros",
    "gltf_a_small_use_of_a_large_buffer",
    "urdf_mimics_of_one_leader",
    "mhskel_bones_that_share_a_large_joint",
)


@pytest.mark.parametrize("name", READ)
def test_an_odd_file_that_asks_for_little_is_read(name, child, tmp_path):
    assert check(child, CASES[name], tmp_path).ended == "read"


def test_a_robot_without_moving_joints_stands(tmp_path):
    motion = ps.load(CASES["urdf_nothing_moves"].make(tmp_path))
    assert len(motion.skeleton.dofs) == 0 and len(motion) == 1 and motion.pose.is_finite()


@pytest.mark.parametrize("size", [1.1e6, 1e19, 3e38, 1e39, 1e300, 1.7e308])
@pytest.mark.filterwarnings("error")
def test_a_skeleton_beyond_the_extent_is_refused_in_a_sentence(size):
    for joint in range(3):
        offsets = np.zeros((3, 3))
        offsets[joint, 1] = size
        with pytest.raises(ps.PosableError, match="offsets has numbers beyond 1e\\+06 m"):
            ps.Skeleton(["a", "b", "c"], [-1, 0, 1], offsets)
    with pytest.raises(ps.PosableError, match="end_offsets has numbers beyond"):
        ps.Skeleton(["a", "b", "c"], [-1, 0, 1], np.zeros((3, 3)), end_parents=[2], end_offsets=[[0, size, 0]])


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".html", ".bvh", ".npz"])
@pytest.mark.filterwarnings("error")
def test_the_largest_skeleton_is_saved_and_comes_back(suffix, tmp_path):
    for joint in range(3):
        offsets = np.zeros((3, 3))
        offsets[joint, 1] = 1e6
        skeleton = ps.Skeleton(["a", "b", "c"], [-1, 0, 1], offsets, end_parents=[2], end_offsets=[[0, 1e6, 0]])
        motion = ps.Motion(skeleton, ps.Pose(np.zeros((2, 3)), np.tile(skeleton.rest.rotations, (2, 1, 1))), 30.0)
        path = tmp_path / f"a{suffix}"
        ps.save(motion, path)
        if suffix != ".html":
            np.testing.assert_allclose(ps.load(path).skeleton.offsets, offsets, rtol=1e-6)


def test_a_file_whose_bones_are_beyond_the_extent_is_refused_with_its_name(tmp_path):
    path = tmp_path / "a.bvh"
    ps.save(ps.samples.walk(ps.figure()), path)
    path.write_text(re.sub(r"OFFSET \S+", "OFFSET 2e6", path.read_text(), count=3))
    with pytest.raises(ps.FormatError, match=r"a\.bvh: .*beyond 1e\+06 m"):
        ps.load(path)

"""Long clips are read, written, shown and put on other bodies in memory that is a small multiple of the motion and of
the file: nothing as large as the motion is made on the way, whatever its length.
"""

import tracemalloc

import numpy as np
import pytest

import posable as ps
from benchmarks.bench_long import boxing_for, write_c3d
from posable.cli.files import _space
from posable.edit import windows
from posable.skeleton import Motion, Pose, Skeleton

from .fbx_files import Scene

FRAMES, JOINTS = 20_000, 12
SPARE = 12_000_000  # bytes: blocks of frames, and what is there for any file


def long_motion():
    skeleton = Skeleton([f"j{j}" for j in range(JOINTS)], range(-1, JOINTS - 1), np.full((JOINTS, 3), 0.1))
    rotations = np.random.default_rng(0).normal(size=(FRAMES, JOINTS, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    return Motion(skeleton, Pose(np.zeros((FRAMES, 3)), rotations), 120.0)


def long_fbx(path):
    rng = np.random.default_rng(0)
    scene = Scene(TimeMode=1)
    times = np.arange(FRAMES) / 120
    _, layer = scene.take("Long", 0.0, times[-1])
    at = 0
    for j in range(JOINTS):
        at = scene.model(f"j{j}", at, LclTranslation=(0.1, 0.1, 0.1))
        scene.animate(layer, at, "Rotation", times, rng.uniform(-90, 90, (FRAMES, 3)))
    return scene.save(path, "packed")


def peak_of(work):
    tracemalloc.start()
    try:
        made = work()
        return tracemalloc.get_traced_memory()[1], made
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", ["bvh", "glb", "npz", "fbx", "usda"])
def test_memory_is_a_small_multiple_of_the_motion_and_its_file(suffix, tmp_path):
    motion, path = long_motion(), tmp_path / f"long.{suffix}"
    size = motion.pose.rotations.nbytes + motion.pose.translation.nbytes
    if suffix == "fbx":
        long_fbx(path)
    else:
        written, _ = peak_of(lambda: ps.save(motion, path))
        assert written < 2 * size + path.stat().st_size + SPARE, f"writing takes {written / size:.1f} motions"
    if suffix == "usda":
        pytest.importorskip("pxr")
    read, back = peak_of(lambda: ps.load(path))
    assert len(back) == FRAMES
    assert read < 3 * size + 2 * path.stat().st_size + SPARE, f"reading takes {read / size:.1f} motions"


def size_of(motion):
    return motion.pose.rotations.nbytes + motion.pose.translation.nbytes


@pytest.fixture(scope="module")
def boxing():
    return boxing_for(2.5)


def test_a_file_of_amass_is_written_and_read_in_as_much_as_it_has(boxing, tmp_path):
    path = tmp_path / "long.npz"
    written, _ = peak_of(lambda: ps.save(boxing, path, layout="amass"))
    rotations = len(boxing) * 156 * 8
    assert written < rotations + 2.5 * SPARE, f"writing takes {written / rotations:.1f} times the rotations"
    read, back = peak_of(lambda: ps.load(path))
    assert len(back) == len(boxing)
    assert read < 1.2 * (size_of(back) + rotations) + SPARE, f"reading takes {read / size_of(back):.1f} motions"


def test_markers_become_a_person_in_a_few_times_the_motion(boxing, tmp_path):
    write_c3d(tmp_path / "long.c3d", boxing)
    read, back = peak_of(lambda: ps.load(tmp_path / "long.c3d"))
    assert len(back) == len(boxing)
    assert read < 6 * size_of(back) + SPARE, f"reading takes {read / size_of(back):.1f} motions"


def test_what_info_tells_of_space_takes_a_block_of_frames(boxing):
    taken, (low, high) = peak_of(lambda: _space(boxing))
    assert taken < SPARE
    positions = boxing.skeleton.forward(boxing.pose).positions
    assert np.array_equal([low, high], [positions.min(axis=(0, 1)), positions.max(axis=(0, 1))])


def test_retargeting_takes_both_motions_and_a_window(monkeypatch):
    monkeypatch.setattr(windows, "WHOLE", 1200)
    monkeypatch.setattr(windows, "LENGTH", 600)
    body, taken = ps.figure(1.9), []
    for minutes in (0.25, 1.5):
        motion = boxing_for(minutes)
        peak, answer = peak_of(lambda motion=motion: ps.retarget(motion, ps.Humanoid(motion.skeleton), body))
        assert len(answer.motion) == len(motion)
        taken.append((peak, size_of(answer.motion)))
    grown, larger = (after - before for before, after in zip(*taken, strict=True))
    assert grown < 1.8 * larger, f"each frame takes {grown / larger:.1f} times what it has"

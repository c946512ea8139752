"""Long clips are read and written in memory that is a small multiple of the motion and of the file."""

import tracemalloc

import numpy as np
import pytest

import posable as ps
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

"""Forward kinematics of a million 31-joint bodies on a GPU beside the CPU; nothing where there is no GPU."""

from __future__ import annotations

import numpy as np

import posable as ps
from posable.compute import cuda
from posable.skeleton.forward import forward_rows

from .harness import Contender, Table, compare

JOINTS = 31
CPU_ROWS = 50_000
GPU_ROWS = 1_000_000


def run() -> list[Table]:
    if not cuda.available():
        print("no GPU here")
        return []
    return [_forward()]


def _forward() -> Table:
    from numba import cuda as gpu

    offsets = np.zeros((JOINTS, 3))
    offsets[1:, 1] = 0.1
    skeleton = ps.Skeleton([f"j{j}" for j in range(JOINTS)], [max(-1, (j - 1) // 2) for j in range(JOINTS)], offsets)
    rng = np.random.default_rng(0)
    rotations = rng.normal(size=(GPU_ROWS, JOINTS, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    pose = ps.Pose(rng.normal(size=(GPU_ROWS, 3)), rotations)
    arrays = [
        gpu.to_device(array) for array in (skeleton.packed, pose.translation, pose.rotations, np.empty((0, 0, 3)))
    ]
    positions = gpu.device_array((GPU_ROWS, JOINTS, 3))
    orientations = gpu.device_array((GPU_ROWS, JOINTS, 4))

    def on_gpu() -> None:
        cuda.launch(forward_rows, GPU_ROWS, *arrays, positions, orientations)
        gpu.synchronize()

    some = pose[:CPU_ROWS]
    on_gpu()
    frames = skeleton.forward(some)
    assert np.allclose(positions[:CPU_ROWS].copy_to_host(), frames.positions, atol=1e-12)
    assert np.allclose(orientations[:CPU_ROWS].copy_to_host(), frames.orientations, atol=1e-12)
    name = gpu.get_current_device().name
    return compare(
        f"{JOINTS}-joint body: {GPU_ROWS:,} poses, each",
        [
            Contender("CPU, all cores", lambda: skeleton.forward(some), CPU_ROWS),
            Contender(name.decode() if isinstance(name, bytes) else str(name), on_gpu, GPU_ROWS, "arrays on the GPU"),
        ],
        unit="ns",
    )

"""A GPU beside the CPU: a million 31-joint bodies posed, and arms solved with their search; and its first answers.

A launch takes code that was compiled ahead of time where that is there (`python -m posable.compute.build --ptx`), else
numba-cuda's. The arrays are numba-cuda's either way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import posable as ps
from posable.compute import Batch, cuda
from posable.limb.solve import solve_rows
from posable.skeleton.forward import forward_rows

from .harness import Contender, Table, compare, fresh_python, table

JOINTS = 31
CPU_ROWS = 50_000
GPU_ROWS = 1_000_000
FEW = 5


def run() -> list[Table]:
    if not cuda.available():
        print("no GPU here")
        return []
    return [_forward(), _arm(), *map(_first_answer, FIRST)]


def first_arm() -> None:
    """Solve an arm on the GPU."""
    arm = ps.figure().limb("right_arm")
    cuda.launch(solve_rows, *_arguments_of(solve_rows, lambda: arm.solve([[0.3, -0.2, 0.2]] * FEW)))


def first_reach() -> None:
    """Reach with a whole body on the GPU."""
    from posable.reach.kernels import reach_rows

    body = ps.figure()
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
    target = ps.Target([[-0.3, 1.2, 0.4]] * FEW)
    cuda.launch(reach_rows, *_arguments_of(reach_rows, lambda: reacher.solve(right=target)))


def first_body() -> None:
    """Reconstruct a body from six points on the GPU."""
    from posable.reconstruct.kernels import reconstruct_rows

    body = ps.figure()
    points, solver = body.markers(ps.samples.walk(body)[:FEW].pose), ps.SequentialIK(body)
    cuda.launch(reconstruct_rows, *_arguments_of(reconstruct_rows, lambda: solver.solve(points)))


FIRST = {"an arm and its search": first_arm, "a whole-body reach": first_reach, "a body from six points": first_body}


def _first_answer(title: str, rounds: int = 3) -> Table:
    """Measure new processes, from their start to an answer that is back on the CPU."""
    code = f"from benchmarks.bench_gpu import {FIRST[title].__name__} as run; run()"
    ways = {
        "compiled ahead of time": ("library", "1", "the driver assembles it"),
        "the same, a second time": ("library", "0", "from the driver's own cache"),
        "numba-cuda": ("jit", "1", "compiles it"),
    }
    samples: dict[str, tuple[list[float], str]] = {}
    for name, (way, uncached, note) in ways.items():
        variables = {"POSABLE_KERNELS": way, "CUDA_CACHE_DISABLE": uncached}
        if uncached == "0":
            fresh_python(code, **variables)  # so that the cache has it
        samples[name] = ([fresh_python(code, **variables)[0] for _ in range(rounds)], note)
    return table(f"Start to the first answer of a GPU: {title}", "s", samples)


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
    return compare(
        f"{JOINTS}-joint body: {GPU_ROWS:,} poses, each",
        [
            Contender("CPU, all cores", lambda: skeleton.forward(some), CPU_ROWS),
            Contender(_name(), on_gpu, GPU_ROWS, "arrays on the GPU"),
        ],
        unit="ns",
    )


def _arm() -> Table:
    """Targets that an arm can reach inside its limits, drawn at random."""
    from numba import cuda as gpu

    arm = ps.figure().limb("right_arm")
    rng = np.random.default_rng(0)
    values = rng.uniform(-1.2, 1.2, (4 * CPU_ROWS, 7))
    values[:, 3] = rng.uniform(0.2, 2.2, len(values))
    frames = arm.forward(values)
    reachable = np.resize(np.flatnonzero(arm.solve(frames.end, frames.orientation).ok), GPU_ROWS)
    hands, turns = frames.end[reachable], frames.orientation[reachable]
    some = (hands[:CPU_ROWS], turns[:CPU_ROWS])
    want = arm.solve(*some)
    n, *arrays = _arguments_of(solve_rows, lambda: arm.solve(hands, turns))

    def on_device(value):
        if isinstance(value, tuple):
            return tuple(map(on_device, value))
        return gpu.to_device(value) if isinstance(value, np.ndarray) else value

    placed = [on_device(array) for array in arrays]

    def on_gpu() -> None:
        cuda.launch(solve_rows, n, *placed)
        gpu.synchronize()

    on_gpu()
    same = [
        np.allclose(got.copy_to_host()[:CPU_ROWS], want.values, atol=1e-9)
        for got in placed
        if getattr(got, "shape", None) == (GPU_ROWS, want.values.shape[-1])
    ]
    assert any(same), "no array of the GPU holds the answers of the CPU"
    return compare(
        f"An arm and its search: {GPU_ROWS:,} reachable targets, each",
        [
            Contender("CPU, all cores", lambda: arm.solve(*some), CPU_ROWS),
            Contender(_name(), on_gpu, GPU_ROWS, "arrays on the GPU"),
        ],
        unit="ns",
    )


def _arguments_of(batch: Batch, call: Callable[[], object]) -> tuple[Any, ...]:
    """What a public call gives to a batch."""
    given: list[tuple[Any, ...]] = []
    run = Batch.__call__

    def recorded(self: Batch, *arguments: Any) -> None:
        if self is batch:
            given.append(arguments)
        run(self, *arguments)

    with mock.patch.object(Batch, "__call__", recorded):
        call()
    return given[0]


def _name() -> str:
    from numba import cuda as gpu

    name = gpu.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)

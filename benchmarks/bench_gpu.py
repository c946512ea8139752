"""Public calls with arrays on a GPU beside the same calls on the CPU, and the first answers of new processes.

Needs a GPU, PyTorch and compiled code (`python -m posable.compute.build --ptx`). A call is timed by events on the
GPU, several calls after each other. `floor` is the time in which the memory of the GPU, as a large copy measures it,
moves what the call reads and writes.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import posable as ps
from posable.compute import cuda

from .harness import Sheet, Table, fresh_python, table

JOINTS = 31
HUMAN = (
    -1,
    0,
    1,
    2,
    3,
    0,
    5,
    6,
    7,
    0,
    9,
    10,
    11,
    12,
    13,
    11,
    15,
    16,
    17,
    18,
    19,
    17,
    11,
    22,
    23,
    24,
    25,
    26,
    24,
    28,
    29,
)
FEW = 5
ROUNDS, CALLS = 7, 3


def run() -> list[Table | Sheet]:
    if not cuda.available():
        print("no GPU here")
        return []
    torch = importlib.import_module("torch")
    bandwidth = _bandwidth(torch)
    rows = [
        _row(name, dtype, bandwidth, *case)
        for dtype in ("float64", "float32")
        for make in (_forward, _limb, _bodies, _erik)
        for name, *case in make(torch, getattr(torch, dtype))
    ]
    gpu = torch.cuda.get_device_name()
    note = f"A copy of 8 GB moves {bandwidth / 1e12:.2f} TB/s there, read and written bytes together."
    return [Sheet(f"Public calls with tensors on one {gpu}", rows, note), *map(_first_answer, FIRST)]


def _row(
    name: str,
    dtype: str,
    bandwidth: float,
    call: Callable[[], object],
    n: int,
    size: int,
    on_cpu: Callable[[], object],
    few: int,
) -> dict[str, str]:
    """Return a row of the sheet; `size` is what the n answers of a call move [bytes], `few` the answers on the CPU."""
    times = timed(call)
    each = statistics.median(times) / n
    started = time.perf_counter()
    on_cpu()
    cpu = (time.perf_counter() - started) / few
    return {
        "": f"{name}, {dtype}",
        "rows": f"{n:,}",
        "ns each": f"{1e9 * each:.3g}",
        "million a second": f"{1e-6 / each:.3g}",
        "quartiles [ns]": " to ".join(f"{1e9 * one / n:.3g}" for one in statistics.quantiles(times, n=4)[::2]),
        "floor [ns]": f"{1e9 * size / n / bandwidth:.3g}",
        "times the floor": f"{each / (size / n / bandwidth):.3g}",
        "CPU, all cores [ns]": f"{1e9 * cpu:.3g}",
    }


def timed(call: Callable[[], object], rounds: int = ROUNDS, calls: int = CALLS) -> list[float]:
    """Return seconds of a call on the GPU, in several rounds of several calls."""
    torch = importlib.import_module("torch")
    call(), call()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        times.append(1e-3 * begin.elapsed_time(end) / calls)
    return times


def _bandwidth(torch: Any) -> float:
    source = torch.empty(500_000_000, dtype=torch.float64, device="cuda").normal_()
    target = torch.empty_like(source)
    return 2.0 * source.nbytes / statistics.median(timed(lambda: target.copy_(source)))


def _forward(torch: Any, dtype: Any, n: int = 1_000_000, few: int = 100_000) -> list[tuple[Any, ...]]:
    offsets = np.zeros((JOINTS, 3))
    offsets[1:, 1] = 0.1
    skeleton = ps.Skeleton([f"j{j}" for j in range(JOINTS)], HUMAN, offsets)
    made = torch.randn((JOINTS, 4, n), dtype=dtype, device="cuda")
    made /= made.norm(dim=1, keepdim=True)
    translation = torch.randn((3, n), dtype=dtype, device="cuda")
    interleaved = ps.Pose(translation.T, made.permute(2, 0, 1))
    usual = ps.Pose(translation.T.contiguous(), made.permute(2, 0, 1).contiguous())
    cpu = ps.Pose(*(one[:few].double().cpu().numpy() for one in (usual.translation, usual.rotations)))
    size = n * (11 * JOINTS + 3) * made.element_size()
    return [
        (
            f"forward kinematics of {JOINTS} joints{how}",
            lambda pose=pose: skeleton.forward(pose),
            n,
            size,
            lambda: skeleton.forward(cpu),
            few,
        )
        for how, pose in ((", rows beside each other", interleaved), (", in C order", usual))
    ]


def _limb(torch: Any, dtype: Any, n: int = 4_000_000, few: int = 100_000) -> list[tuple[Any, ...]]:
    """Targets that an arm can reach inside its limits, as `bench_limb` draws them."""
    arm = ps.figure().limb("right_arm")
    values = np.random.default_rng(0).uniform(-1.2, 1.2, (200_000, 7))
    values[:, 3] = np.abs(values[:, 3]) + 0.2
    frames = arm.forward(values)
    reachable = np.resize(np.flatnonzero(arm.solve(frames.end, frames.orientation).ok), n)
    hands, turns = frames.end[reachable], frames.orientation[reachable]
    free = ps.Limb("right_arm", arm.upper, arm.lower)
    p, q = (torch.tensor(one, dtype=dtype, device="cuda") for one in (hands, turns))
    swivel = torch.zeros(n, dtype=dtype, device="cuda")
    some = hands[:few], turns[:few]
    size = n * (15 * p.element_size() + 48)
    names = "an arm with a given swivel, without limits", "an arm with limits and search"
    return [
        (names[0], lambda: free.solve(p, q, swivel=swivel), n, size, lambda: free.solve(*some, swivel=0.0), few),
        (names[1], lambda: arm.solve(p, q), n, size, lambda: arm.solve(*some), few),
    ]


def _bodies(torch: Any, dtype: Any, n: int = 1 << 18, few: int = 4096) -> list[tuple[Any, ...]]:
    body = ps.figure()
    points = body.markers(ps.samples.walk(body).pose)
    given = torch.tensor(np.resize(points, (n, 6, 3)), dtype=dtype, device="cuda")
    joints = len(body.skeleton)
    size = n * given.element_size() * (18 + 3 + 4 * joints + 7)
    return [
        (
            f"a body from six points, {what}",
            lambda one=one: one.solve(given),
            n,
            size,
            lambda one=one: one.solve(np.resize(points, (few, 6, 3))),
            few,
        )
        for what, one in (("with the prior", ps.SequentialIK(body)), ("without", ps.SequentialIK(body, prior=None)))
    ]


def _erik(torch: Any, dtype: Any, n: int = 1 << 20, few: int = 4096) -> list[tuple[Any, ...]]:
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    rng = np.random.default_rng(0)
    postures, targets = rng.uniform(-1.5, 1.5, (n, 5)), rng.normal(size=(n, 4))
    p, q = (torch.tensor(one, dtype=dtype, device="cuda") for one in (postures, targets))
    size = n * p.element_size() * 17
    return [
        (
            f"ERIK, {what}",
            lambda one=one: one.solve(p, q),
            n,
            size,
            lambda one=one: one.solve(postures[:few], targets[:few]),
            few,
        )
        for what, one in (("best", ps.ERIK(chain)), ("the paper's algorithm", ps.ERIK(chain, method="erik")))
    ]


def first_forward() -> None:
    """Pose bodies on the GPU."""
    torch, skeleton = importlib.import_module("torch"), ps.figure().skeleton
    rotations = torch.tensor(np.tile(skeleton.rest_rotations, (FEW, 1, 1)), device="cuda")
    skeleton.forward(ps.Pose(torch.zeros((FEW, 3), dtype=torch.float64, device="cuda"), rotations)).positions.cpu()


def first_arm() -> None:
    """Solve an arm on the GPU."""
    torch = importlib.import_module("torch")
    hands = torch.tensor([[0.3, -0.2, 0.2]] * FEW, dtype=torch.float64, device="cuda")
    ps.figure().limb("right_arm").solve(hands).values.cpu()


def first_body() -> None:
    """Reconstruct a body from six points on the GPU."""
    torch, body = importlib.import_module("torch"), ps.figure()
    points = torch.tensor(body.markers(ps.samples.walk(body)[:FEW].pose), device="cuda")
    ps.SequentialIK(body).solve(points).pose.rotations.cpu()


FIRST = {"forward kinematics": first_forward, "an arm and its search": first_arm, "a body from six points": first_body}


def _first_answer(title: str, rounds: int = 3) -> Table:
    """Measure new processes, from their start, PyTorch's import and context among it, to an answer back on the CPU."""
    code = f"from benchmarks.bench_gpu import {FIRST[title].__name__} as run; run()"
    samples: dict[str, tuple[list[float], str]] = {}
    for name, (uncached, note) in {
        "a new machine": ("1", "nothing in the driver's own cache"),
        "later": ("0", "what it assembled is in its cache"),
    }.items():
        variables = {"POSABLE_KERNELS": "library", "CUDA_CACHE_DISABLE": uncached}
        if uncached == "0":
            fresh_python(code, **variables)  # so that the cache has it
        samples[name] = ([fresh_python(code, **variables)[0] for _ in range(1 if uncached == "1" else rounds)], note)
    return table(f"Start to the first answer of a GPU: {title}", "s", samples)

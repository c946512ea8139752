"""Whole solvers on a GPU beside the CPU: reaches, limbs inside a learned range, ERIK over time, postures carried over.

Needs a GPU, PyTorch and compiled code (`python -m posable.compute.build --ptx`); timed as `python -m benchmarks gpu`
times. The CPU's column is of all its cores, on fewer rows.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import posable as ps
import posable.math as pm
from posable.compute import cuda

from .bench_gpu import timed
from .harness import Sheet

FRAMES = 30
Case: TypeAlias = "tuple[str, int, Callable[[], object], int, Callable[[], object]]"
# its name, how many answers a call on the GPU gives, that call, and the same two of the CPU


def run() -> list[Sheet]:
    """Measure every case in both dtypes."""
    if not cuda.available():
        print("no GPU here")
        return []
    torch = importlib.import_module("torch")
    rows = []
    for make in (_carried, _reach, _limb, _erik):
        for dtype in ("float64", "float32"):
            for case in make(torch, getattr(torch, dtype)):
                rows.append(_row(dtype, *case))
                print(rows[-1], flush=True)
    return [Sheet(f"Whole solvers with tensors on one {torch.cuda.get_device_name()}", rows)]


def _row(dtype: str, name: str, n: int, call: Callable[[], object], few: int, on_cpu: Callable[[], object]) -> Any:
    times = timed(call, rounds=3, calls=1)
    each = statistics.median(times) / n
    on_cpu()
    began = time.perf_counter()
    on_cpu()
    cpu = (time.perf_counter() - began) / few
    return {
        "": f"{name}, {dtype}",
        "at once": f"{n:,}",
        "ns each": f"{1e9 * each:.3g}",
        "million a second": f"{1e-6 / each:.3g}",
        "CPU, all cores [ns]": f"{1e9 * cpu:.3g}",
    }


def _carried(torch: Any, dtype: Any, n: int = 1 << 19, few: int = 4096) -> list[Case]:
    source, target = ps.figure(height=1.6), ps.figure(height=1.9)
    walk = ps.samples.walk(source).pose
    translation, rotations = (
        np.resize(one, (n, *one.shape[1:])) for one in (np.asarray(walk.translation), np.asarray(walk.rotations))
    )
    pose = ps.Pose(*(torch.tensor(one, dtype=dtype, device="cuda") for one in (translation, rotations)))
    some = ps.Pose(translation[:few], rotations[:few])
    return [
        (
            *("a posture from one body to another", n, lambda: target.pose(source.canonical(pose))),
            *(few, lambda: target.pose(source.canonical(some))),
        )
    ]


def _reach(torch: Any, dtype: Any, n: int = 1 << 16, few: int = 512) -> list[Case]:
    body = ps.figure()
    reacher = ps.Reacher(body, ps.Behaviour.default(body, "right_arm"))
    targets = np.random.default_rng(0).uniform([-0.7, 0.4, 0.1], [0.1, 1.7, 0.8], (n, 3))
    given = torch.tensor(targets, dtype=dtype, device="cuda")
    call = lambda: reacher.solve(given)  # noqa: E731
    return [("a whole-body reach", n, call, few, lambda: reacher.solve(targets[:few]))]


def _limb(torch: Any, dtype: Any, n: int = 1 << 18, few: int = 4096) -> list[Case]:
    arm, known = ps.figure().limb("right_arm"), ps.LimbRange.builtin("right_arm")
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 7))
    values[:, 3] = np.abs(values[:, 3]) + 0.2
    hands = arm.forward(values).end
    given = torch.tensor(hands, dtype=dtype, device="cuda")
    call = lambda: arm.solve(given, limb_range=known)  # noqa: E731
    return [("an arm inside a learned range", n, call, few, lambda: arm.solve(hands[:few], limb_range=known))]


def _erik(torch: Any, dtype: Any, n: int = 1 << 16, few: int = 512) -> list[Case]:
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    erik, rng = ps.ERIK(chain), np.random.default_rng(0)
    postures, points = rng.uniform(-1.2, 1.2, (n, 5)), rng.normal(size=(n, 3)) * 2.0
    starts = pm.normalize(rng.normal(size=(n, 1, 4)))
    targets = np.asarray(pm.multiply(pm.axis_angle([0.3, 0.8, -0.52], np.radians(np.arange(FRAMES))), starts))
    p, x, q = (torch.tensor(one, dtype=dtype, device="cuda") for one in (postures, points, targets))
    return [
        (
            *("ERIK looks at a point", n, lambda: erik.solve(p, look_at=x)),
            *(few, lambda: erik.solve(postures[:few], look_at=points[:few])),
        ),
        (
            *(f"a frame of tracks of ERIK, {n:,} tracks", n * FRAMES, lambda: erik.track(p[:, None], q, fps=60.0)),
            *(few * FRAMES, lambda: erik.track(postures[:few, None], targets[:few], fps=60.0)),
        ),
    ]

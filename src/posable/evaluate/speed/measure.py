"""Timing of the cases, in a process of its own: one call, a batch on one core, and a batch on all of them.

    python -m posable.evaluate.speed.measure '{"cases": ["limb"], "seconds": 0.3, "judge": true}'

A line of JSON for each case. What makes the figures steady while others use the machine:

- One call and one core are processor time: while something else runs, no time passes. All cores are wall-clock time,
  and how much of it the machine took away is measured beside it, `busy`.
- Contenders take turns, sample by sample, so that what slows one slows all.
- Samples are taken until the quartiles of their median lie within half a percent, or the time is over.
- `yardstick` is work that has nothing of this package in it. What it takes says how fast the machine is just now.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np

from ...compute import thread_count, threads
from ...compute.types import Floats
from . import gpu
from .cases import Case, Contender, opened

SAMPLE = 2e-3  # [s]: calls are repeated until a sample takes so long, or the clock's grain would show
INPUTS = 64  # of the calls with one input, so that the mean over easy and hard ones counts
FEWEST, STEADY = 5, 0.005


class Timer:
    """One call that is timed, sample by sample; `units` is how many inputs it solves."""

    def __init__(self, call: Callable[[], object], units: float, clock: Callable[[], float]) -> None:
        self.call, self.units, self.clock = call, units, clock
        self.samples: list[float] = []
        self.processor, self.wall = 0.0, 0.0
        call()  # it may compile, load, or wake threads
        began = time.perf_counter()
        call()
        self.repeats = max(1, math.ceil(SAMPLE / max(time.perf_counter() - began, 1e-8)))

    def sample(self) -> None:
        """Take one more sample [s] of an input."""
        processor, wall, began = time.process_time(), time.perf_counter(), self.clock()
        for _ in range(self.repeats):
            self.call()
        self.samples.append((self.clock() - began) / self.repeats / self.units)
        self.processor += time.process_time() - processor
        self.wall += time.perf_counter() - wall

    def is_done(self, seconds: float) -> bool:
        """Return whether the median is known well enough, or the time is over."""
        if len(self.samples) < FEWEST:
            return False
        first, middle, third = statistics.quantiles(self.samples, n=4)
        return self.wall >= seconds or (third - first) < STEADY * middle * math.sqrt(len(self.samples))

    @property
    def microseconds(self) -> float:
        """The median of the samples, of one input."""
        return 1e6 * statistics.median(self.samples)


def yardstick() -> None:
    """Do work that has nothing of this package in it: Python's, and NumPy's."""
    total = 0
    for k in range(20_000):
        total += k * k % 7
    np.sort(_numbers())


@cache
def _numbers() -> Floats:
    return np.random.default_rng(0).normal(size=20_000)


def measured(name: str, seconds: float, judge: bool) -> dict[str, Any]:
    """Return the times of a case's contenders [µs an input], and what is found of their answers."""
    case = opened(name)
    standard = Timer(yardstick, 1, time.process_time)
    timers = {(one.name, key): timer for one in case.contenders for key, timer in _timers(case, one).items()}
    queue: list[Timer] = [standard, *timers.values()]
    while waiting := [one for one in queue if not one.is_done(seconds)]:
        for timer in waiting:
            timer.sample()
        queue = [*queue[1:], queue[0]]
    rows = []
    for one in case.contenders:
        row: dict[str, Any] = {"case": name, "solver": one.name, "is_peer": one.is_peer, "note": one.note}
        row |= {key: [timer.microseconds] for (solver, key), timer in timers.items() if solver == one.name}
        rows.append(row | (judged(case, one) if judge else {}))
    alone = [timer for (_, key), timer in timers.items() if key not in ("cores", "gpu")]
    busy = max(0.0, 1.0 - sum(one.processor for one in alone) / max(sum(one.wall for one in alone), 1e-9))
    facts = {"case": name, "unit": case.unit, "inputs": case.rows, "rows": rows}
    device = gpu.found()
    named = {"gpu": "" if device is None else device.name}
    return facts | {"yardstick": standard.microseconds, "busy": busy} | named


def judged(case: Case, one: Contender) -> dict[str, Any]:
    """Return how many answers have done their job, by the judge; and how many the solver says have, wrongly or not."""
    if one.judged is None:
        return {}
    answers = one.many() if one.many else [one.one(i) for i in range(case.rows)]
    verdict = one.judged(answers)
    done = np.asarray(verdict.done)
    found: dict[str, Any] = {"done": float(done.mean()), "demand": verdict.text}
    if one.claimed is not None:
        claimed = np.asarray(one.claimed(answers))
        found |= {"claimed": float(claimed.mean()), "wrongly": float((claimed & ~done).mean())}
    return found


def _timers(case: Case, one: Contender) -> dict[str, Timer]:
    """Return what is timed of a contender, by name: one call, a batch on one core, on all."""

    def few() -> None:
        for i in inputs:
            one.one(i)

    began = time.perf_counter()
    one.one(0), one.one(0)
    count = min(case.rows, INPUTS, max(1, int(0.02 / max(0.5 * (time.perf_counter() - began), 1e-7))))
    inputs = range(count)
    with threads(1):
        found = {"one": Timer(_on_one_core(few), len(inputs), time.process_time)}
    many = one.many
    if many is not None:
        found["core"] = Timer(_on_one_core(many), case.rows, time.process_time)
        if thread_count() > 1 and not one.is_peer:
            found["cores"] = Timer(many, case.rows, time.perf_counter)
    device = gpu.found()
    if device is not None and one.gpu is not None:
        found["gpu"] = Timer(_waited_for(one.gpu(device.to_gpu), device), gpu.ROWS, time.perf_counter)
    return found


def _waited_for(call: Callable[[], object], device: gpu.Gpu) -> Callable[[], object]:
    def done() -> None:
        call()
        device.wait()

    return done


def _on_one_core(call: Callable[[], object]) -> Callable[[], object]:
    def alone() -> None:
        with threads(1):
            call()

    return alone


def main() -> None:
    """Measure the cases that the command line names, and print a line for each."""
    job = json.loads(sys.argv[1])
    if job.get("growth"):
        from .growth import floors, growth

        found = {"floors": floors(), "growth": growth()}
        print(msgspec.json.encode(found).decode(), flush=True)
        return
    for name in job["cases"]:
        print(json.dumps(measured(name, job["seconds"], job["judge"])), flush=True)


if __name__ == "__main__":
    main()

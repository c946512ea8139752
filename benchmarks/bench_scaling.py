"""How batches share two cores, told from one: a schedule of rows whose processor times were measured in turn.

Two cores that nobody else uses are rare; processor time is the same on a busy machine. Of every batch that a call runs
the rows' times are taken in 256 parts, five times, the least of each counts; two threads then take its pieces in turn,
with 3 µs a piece and 60 µs for the second thread to wake. What a call does outside of its batches is one thread's.
Memory that both share and cores that get slower together are not in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from posable.compute import Batch, kernels, threads
from posable.compute.types import Floats
from posable.evaluate.speed.cases import CASES

from .harness import Sheet

PIECE, WAKE = 3e-6, 6e-5  # [s]
PARTS, ROUNDS = 256, 5
WORTH = 0.02  # of a call: shorter batches are left as one piece
EQUAL = 8  # pieces, as rows were shared out before


def run() -> list[Sheet]:
    """Return how many times as fast two threads are, of every case that has a batch."""
    rows = [_row(name) for name in CASES if name not in ("classic", "drags", "filter")]
    return [Sheet("Two threads beside one, by schedule", rows)]


def _row(name: str) -> dict[str, str]:
    title, opened = CASES[name]
    many = opened().contenders[0].many
    assert many is not None
    with threads(1):
        many()
        total, batches = min((_recorded(many) for _ in range(3)), key=lambda one: one[0])
        inside = sum(taken for taken, *_ in batches)
        alone = total - inside
        equal = shrinking = 0.0
        for taken, batch, n, arrays in batches:
            if n < batch.rows or taken < WORTH * total:
                equal, shrinking = equal + taken, shrinking + taken
                continue
            cost = _costs(batch, n, arrays)
            cost *= taken / cost.sum()
            tried = min(n // kernels.TRIED, kernels.MOST_ROWS)
            step = min(-(-n // EQUAL), kernels.MOST_ROWS)
            least = int(kernels.SHORTEST * tried / max(cost[:tried].sum(), 1e-9)) + 1
            equal += _makespan(cost, [(k, min(k + step, n)) for k in range(tried, n, step)], tried)
            shrinking += _makespan(cost, kernels._pieces(tried, n, 2, least), tried)
    return {
        "": title,
        "a call, one thread [ms]": f"{1e3 * total:.3g}",
        "outside of batches": f"{100.0 * alone / total:.1f} %",
        "in eight equal pieces": f"{total / (alone + equal):.2f}",
        "in pieces that get smaller": f"{total / (alone + shrinking):.2f}",
    }


def _recorded(call: Callable[[], object]) -> tuple[float, list[tuple[float, Batch, int, tuple[Any, ...]]]]:
    """Return the processor time of a call, and (time, batch, rows, arrays) of its batches."""
    found: list[tuple[float, Batch, int, tuple[Any, ...]]] = []
    plain = Batch.__call__

    def timed(batch: Batch, n: int, *arrays: Any) -> None:
        began = time.process_time()
        plain(batch, n, *arrays)
        found.append((time.process_time() - began, batch, n, arrays))

    Batch.__call__ = timed  # type: ignore[method-assign]
    try:
        began = time.process_time()
        call()
        return time.process_time() - began, found
    finally:
        Batch.__call__ = plain  # type: ignore[method-assign]


def _costs(batch: Batch, n: int, arrays: tuple[Any, ...]) -> Floats:
    """Return the processor time of each row, the same for all rows of a part."""
    part, grain = batch._part, max(1, n // PARTS)
    assert part is not None
    best = np.full(-(-n // grain), np.inf)
    for _ in range(ROUNDS):
        for k, first in enumerate(range(0, n, grain)):
            began = time.process_time_ns()
            part(first, min(first + grain, n), n, arrays)
            best[k] = min(best[k], 1e-9 * (time.process_time_ns() - began))
    return np.repeat(best / grain, grain)[:n]


def _makespan(cost: Floats, pieces: list[tuple[int, int]], tried: int) -> float:
    """Return when the later of two threads has ended."""
    here = float(cost[:tried].sum())
    there = here + WAKE
    for first, last in pieces:
        taken = float(cost[first:last].sum()) + PIECE
        if here <= there:
            here += taken
        else:
            there += taken
    return max(here, there)

"""A whole run: passes in processes of their own, one after the other, and what is suspected measured again."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...compute import PosableError, UnknownNameError, thread_count
from .cases import CASES
from .machine import machine
from .record import TIMES, Change, Row, Run, Series, changes

Replaced = TypeVar("Replaced", Run, Row)
PASSES = 3
AGAIN = 2  # times that what is suspected is measured again

__all__ = ["bench", "confirmed"]


def bench(
    names: Sequence[str] = (),
    *,
    seconds: float = 1.0,
    passes: int = PASSES,
    with_growth: bool = False,
    progress: Callable[[float], None] = lambda done: None,
) -> Run:
    """Measure cases, all of them where none is named.

    Args:
        names: of `CASES`.
        seconds: about how long each time is taken, at most, over all passes; fewer where it is steady before.
        passes: processes, each of which measures every case.
        with_growth: whether to measure too how times grow, and the floors: a minute more.
        progress: called with the fraction done.
    """
    chosen = list(dict.fromkeys(names)) or list(CASES)
    for name in chosen:
        if name not in CASES:
            raise UnknownNameError("case", name, CASES)
    facts = machine()
    steps = passes * len(chosen) + (len(chosen) if with_growth else 0)
    found: list[dict[str, Any]] = []
    for number in range(passes):
        for one in _in_new_process({"cases": chosen, "seconds": seconds / passes, "judge": number == 0}):
            found.append(one)
            progress(len(found) / steps)
    grown: dict[str, Any] = {"floors": [], "growth": []}
    if with_growth:
        (grown,) = _in_new_process({"growth": True})
    progress(1.0)
    return Run(
        machine=facts,
        busy=round(statistics.median(one["busy"] for one in found), 4),
        threads=thread_count(),
        rows=_rows(found),
        floors=[tuple(one) for one in grown["floors"]],
        growth=[Series(**one) for one in grown["growth"]],
        gpu=next((one["gpu"] for one in found), ""),
    )


def confirmed(run: Run, before: Run, *, seconds: float = 1.0, passes: int = PASSES) -> tuple[Run, list[Change]]:
    """Measure again what seems slower than before; return the run with these passes, and what still seems so."""
    suspected = changes(run, before)
    for _ in range(AGAIN):
        names = list(dict.fromkeys(one.case for one in suspected if one.ratio > 1.0))
        if not names:
            break
        run = _joined(run, bench(names, seconds=seconds, passes=passes))
        suspected = changes(run, before)
    return run, suspected


def _joined(run: Run, more: Run) -> Run:
    """Return a run with further passes of some of its cases."""
    new = {(row.case, row.solver): row for row in more.rows}
    rows = []
    for row in run.rows:
        other = new.get((row.case, row.solver))
        times = {key: getattr(row, key) + getattr(other, key) for key in (*TIMES, "yardstick") if other}
        rows.append(_replaced(row, **times))
    return _replaced(run, rows=rows, busy=max(run.busy, more.busy))


def _replaced(struct: Replaced, **fields: Any) -> Replaced:
    return type(struct)(**{name: getattr(struct, name) for name in struct.__struct_fields__} | fields)


def _in_new_process(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a new process measures. Libraries of others have one thread there, as what is timed with them has."""
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    environment = {**os.environ, **single, "POSABLE_THREADS": str(thread_count())}
    command = [sys.executable, "-m", "posable.evaluate.speed.measure", json.dumps(job)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise PosableError(f"measuring {job} ended with {done.returncode}: {last}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the rows of all passes, the times of each in one list."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in found:
        shared = {"title": CASES[one["case"]][0], "unit": one["unit"], "inputs": one["inputs"]}
        for row in one["rows"]:
            merged = rows.setdefault(
                (row["case"], row["solver"]), shared | dict(row) | {key: [] for key in (*TIMES, "yardstick")}
            )
            for key in TIMES:
                merged[key] = merged[key] + row.get(key, [])
            merged["yardstick"] = [*merged["yardstick"], one["yardstick"]]
    return [Row(**row) for row in rows.values()]

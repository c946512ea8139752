"""A run of the measurements as a file, and what became slower since another one.

How a threshold is kept that noise does not cross:

- A run has several passes, each a process of its own with memory laid out anew, minutes apart where there are many
  cases. Each pass gives one median for a time.
- Times are compared as multiples of the yardstick, which takes turns with what is timed: what it takes more now, the
  machine is slower.
- A time is called slower only where *every* pass of now is more than a tenth above *every* pass of before. What is
  suspected is measured again, and stays suspected only where all of the new passes are so, too (`run.confirmed`).
- Wall-clock times, those of all cores, are compared only where both runs had the machine to themselves (`CALM`).
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ...compute import FormatError, atomic_write

MARGIN = 0.1
CALM = 0.05  # of the time the machine may be elsewhere
LARGEST = 20_000_000  # bytes of a file that is read
TIMES = {"one": "one call", "core": "a batch, one core", "cores": "a batch, all cores", "gpu": "a batch, GPU"}

__all__ = ["Change", "Row", "Run", "Series", "changes", "read_run", "write_run"]

Times = Annotated[list[Annotated[float, msgspec.Meta(gt=0.0)]], msgspec.Meta(max_length=1000)]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One solver at one job. Times are microseconds an input, a median for each pass; empty where there is none.

    Attributes:
        case: name of the job.
        title: of the job.
        solver: who did it.
        unit: of an input.
        inputs: how many inputs the batch has.
        one: of one call with one input, processor time.
        core: of a batch on one core, processor time.
        cores: of a batch on all cores, wall-clock time.
        gpu: of a large batch on a GPU, wall-clock time.
        done: fraction of the answers that have done their job, by the judge.
        demand: of the judge.
        claimed: fraction that the solver says have; None where it says nothing.
        wrongly: fraction that it says have, and that have not.
        note: on settings.
        is_peer: whether it is another library.
        yardstick: microseconds of work that has nothing of this package in it, for each pass, in turns with the case.
    """

    case: str
    title: str
    solver: str
    unit: str
    inputs: int
    one: Times
    core: Times = []
    cores: Times = []
    gpu: Times = []
    done: float | None = None
    demand: str = ""
    claimed: float | None = None
    wrongly: float | None = None
    note: str = ""
    is_peer: bool = False
    yardstick: Times = []

    def multiples(self, key: str) -> list[float]:
        """Return a time of each pass as multiples of the yardstick's."""
        return [one / standard for one, standard in zip(getattr(self, key), self.yardstick, strict=False)]

    def middle(self, key: str) -> float | None:
        """Return the median of a time over the passes; None where it was not taken."""
        values: list[float] = getattr(self, key)
        return statistics.median(values) if values else None

    @property
    def scaling(self) -> float | None:
        """How many times as fast a batch is on all cores as on one."""
        core, cores = self.middle("core"), self.middle("cores")
        return core / cores if core and cores else None


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """How a time grows with something: a line of a plot. Times are microseconds, in `unit`."""

    plot: str
    along: str
    unit: str
    name: str
    x: list[float]
    y: list[float]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run found, and where.

    Attributes:
        machine: as `machine.machine` describes it.
        busy: fraction of the time in which the machine did something else, in the middle over the cases.
        threads: how many of them all cores are.
        rows: the solvers.
        floors: what nothing can be faster than: name, value and unit.
        growth: how times grow.
        gpu: which GPU, and the library whose arrays lay there; empty where there was none.
    """

    format: int = 1
    machine: dict[str, Any]
    busy: float
    threads: int
    rows: list[Row]
    floors: list[tuple[str, float, str]] = []
    growth: list[Series] = []
    gpu: str = ""

    @property
    def is_calm(self) -> bool:
        """Whether the machine did nothing else."""
        return self.busy <= CALM

    def is_same_machine(self, other: Run) -> bool:
        """Return whether two runs can be compared: machine, Python and how kernels were compiled are the same."""
        names = ("cpu", "cores", "system", "python", "kernels")
        return all(self.machine.get(name) == other.machine.get(name) for name in names)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A time that is another one than before: `ratio` above 1 is slower. `before` is as of a machine as fast as now."""

    case: str
    title: str
    solver: str
    time: str
    before: float
    now: float
    ratio: float


def changes(now: Run, before: Run) -> list[Change]:
    """Return what became slower (ratio above 1) or faster since another run, beyond what noise does.

    The package's own solvers only, and only where the machine is the same.
    """
    if not now.is_same_machine(before):
        return []
    known = {(row.case, row.solver): row for row in before.rows}
    found = []
    for row in now.rows:
        other = known.get((row.case, row.solver))
        if other is None or row.is_peer or row.inputs != other.inputs:
            continue
        for key, title in TIMES.items():
            if key == "cores" and not (now.is_calm and before.is_calm and now.threads == before.threads):
                continue
            if key == "gpu" and now.gpu != before.gpu:
                continue
            # A GPU is as fast as ever while the machine around it is slow.
            old, new = (one.gpu if key == "gpu" else one.multiples(key) for one in (other, row))
            if old and new and _is_apart(new, old):
                now_takes, ratio = statistics.median(getattr(row, key)), statistics.median(new) / statistics.median(old)
                names = {"case": row.case, "title": row.title, "solver": row.solver, "time": title}
                found.append(Change(**names, before=now_takes / ratio, now=now_takes, ratio=ratio))
    return sorted(found, key=lambda one: -one.ratio)


def _is_apart(new: Sequence[float], old: Sequence[float]) -> bool:
    return min(new) > (1 + MARGIN) * max(old) or (1 + MARGIN) * max(new) < min(old)


def read_run(path: str | os.PathLike[str]) -> Run:
    """Read the file of a run."""
    file = Path(path)
    if file.stat().st_size > LARGEST:
        raise FormatError(file, f"{file.stat().st_size} bytes; the record of a run has at most {LARGEST}")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Run)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FormatError(file, f"no record of `posable bench`: {error}") from None
    if found.format != 1:
        raise FormatError(file, f"has format {found.format}; expected 1")
    return found


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the file of a run."""
    text = msgspec.json.format(msgspec.json.encode(run), indent=1)
    with atomic_write(path) as temporary:
        temporary.write_bytes(text + b"\n")

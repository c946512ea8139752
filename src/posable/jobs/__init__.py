"""One function over many files or blocks: all cores or many machines, restartable, the same results whoever works."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..compute import FormatError, PosableError, checked_keywords, require
from ..compute.arguments import explain_mistakes
from .executors import Executor, Outcome, Task, check_engine, open_executor
from .store import Results, Store, identity_of, key_of

__all__ = ["Failure", "Progress", "Report", "blocks", "check_engine", "run"]

ROUND = 256  # items a worker in one call of joblib, which holds results that nobody has taken yet in memory
SHORT_ROUND = 16  # the same where results come only when the whole call is done
DETAILED = 1000  # failures whose traceback is stored
SHOWN_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class Failure:
    """An item that could not be done."""

    index: int
    item: Any
    error: str
    """In one line: the kind of error and what it said."""
    where: str = field(repr=False)
    """The traceback as text; of the first thousand failures only."""


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    done: int
    """Items that need no more work: computed, found in the store, or failed."""
    total: int | None
    """None where the items are a stream of unknown length."""
    skipped: int
    failed: int
    seconds: float

    @property
    def rate(self) -> float:
        """Items computed a second."""
        return (self.done - self.skipped) / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def fraction(self) -> float:
        """Of the items that are done, 0 to 1; 0 while the number of items is not known."""
        return min(1.0, self.done / self.total) if self.total else float(self.total == 0)


@dataclass(frozen=True)
class Report:
    """The results of a job."""

    results: Sequence[Any]
    """In the order of the items, None where one failed; with a store, each is read when it is accessed."""
    failures: tuple[Failure, ...]
    computed: int
    """Items that were worked on now, with those that failed."""
    skipped: int
    """Items whose result was in the store."""
    seconds: float
    workers: int

    def __repr__(self) -> str:
        counts = f"{self.computed} computed, {self.skipped} skipped, {len(self.failures)} failed"
        return f"Report({len(self.results)} results: {counts}; {self.seconds:.1f} s, {self.workers} workers)"

    @property
    def ok(self) -> bool:
        """Whether every item is done."""
        return not self.failures

    @property
    def rate(self) -> float:
        """Items computed a second."""
        return self.computed / self.seconds if self.seconds > 0.0 else 0.0


@checked_keywords
def run(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    settings: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    check: Callable[[Any, Any], bool] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Call `function(item, **settings)` for every item, and go on where a run before this one was stopped.

    The result of an item depends on nothing but the item and the settings, so it is the same bit for bit whoever
    computes it; a function that draws samples draws sample i from `default_rng([seed, i])`. An item that raises, or
    kills its process, is listed in the report and the others are done.

    Args:
        function: importable, or anything cloudpickle can send.
        items: paths (`pathlib.Path`, files that the workers can open), numbers, text, or lists and dicts of these. May
            be a generator: no more than a few hundred items a worker are looked at ahead.
        settings: further arguments, the same for all: numbers, text, lists, dicts.
        store: a folder for results, a file each. A rerun with the same function and settings computes only
            items that are not there, that changed since, or that failed. Results are then numbers, text, lists, dicts
            and arrays. Without a store they are anything that can be pickled, and are held in memory.
        check: called with an item and its stored result; False where it has to be done again, for functions that
            write files of their own.
        engine: "local", all cores of this machine; "dask://HOST:PORT"; "ray://HOST:PORT"; None, the one
            of a `with joblib.parallel_config(...)` around the call, else local.
        workers: how many processes; None for all cores. 1 works in this process.
        progress: called now and then, from this thread.
    """
    chosen = dict(settings or {})
    with open_executor(engine, workers) as executor:  # before the store: an engine that is not there leaves no folder
        _check_sendable(function)
        results = None if store is None else Store(store, function, chosen)
        job = _Job(results, check, progress, len(items) if isinstance(items, Sized) else None)
        size = max(1, executor.workers) * (ROUND if executor.streams else SHORT_ROUND)
        pending = job.pending(items)
        tasks = list(islice(pending, size))
        if results is not None:
            results.open()
        while tasks:
            job.take(executor, function, chosen, tasks)
            tasks = list(islice(pending, size))
        return job.report(executor.workers)


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """(first, end) of blocks of `size` that cover 0 to `count` - 1: items for jobs over samples instead of files."""
    if count < 0 or size < 1:
        raise PosableError(f"{count} samples in blocks of {size}; expected 0 or more in blocks of 1 or more")
    return [(first, min(first + size, count)) for first in range(0, count, size)]


@dataclass
class _Job:
    """The bookkeeping of one run."""

    store: Store | None
    check: Callable[[Any, Any], bool] | None
    progress: Callable[[Progress], None] | None
    total: int | None
    failures: list[Failure] = field(default_factory=list)
    computed: int = 0
    skipped: int = 0
    began: float = field(default_factory=time.perf_counter)
    shown: float = 0.0

    def __post_init__(self) -> None:
        self.results: Any = [] if self.store is None else Results(self.store)

    def pending(self, items: Iterable[Any]) -> Iterator[Task]:
        """Tasks for the items that have no result yet."""
        for index, item in enumerate(items):
            if self.store is None:
                self.results.append(None)
                yield Task(index, item, None)
                continue
            identity = identity_of(item)
            if self._is_done(item, identity):
                self.results.add(key_of(identity))
                self.skipped += 1
                self.show()
            else:
                self.results.add(None)
                yield Task(index, item, identity)

    def _is_done(self, item: Any, identity: str) -> bool:
        assert self.store is not None
        try:
            result = self.store.get(key_of(identity), identity)
        except FormatError:
            return False
        return self.check is None or bool(self.check(item, result))

    def take(
        self, executor: Executor, function: Callable[..., Any], settings: dict[str, Any], tasks: list[Task]
    ) -> None:
        """Let an executor do tasks, and store their outcomes."""
        by_index = {task.index: task for task in tasks}
        for outcome in executor.outcomes(function, settings, tasks):
            self._record(by_index.pop(outcome.index), outcome)
            self.computed += 1
            self.show()

    def _record(self, task: Task, outcome: Outcome) -> None:
        if outcome.error is not None:
            where = outcome.where if len(self.failures) < DETAILED else ""
            self.failures.append(Failure(task.index, task.item, outcome.error, where))
        elif self.store is None or task.identity is None:
            self.results[task.index] = outcome.result
        else:
            key = key_of(task.identity)
            self.store.put(key, outcome.result)
            self.results.set(task.index, key)

    def show(self, last: bool = False) -> None:
        """Report the progress, not more often than anybody can read."""
        now = time.perf_counter()
        if self.progress is None or (now - self.shown < SHOWN_EVERY and not last):
            return
        self.shown = now
        done = self.computed + self.skipped
        total = done if last else self.total
        self.progress(Progress(done, total, self.skipped, len(self.failures), now - self.began))

    def report(self, workers: int) -> Report:
        """Return the report of the whole run."""
        self.show(last=True)
        self.failures.sort(key=lambda failure: failure.index)
        if self.store is not None:
            self.store.write_failures(
                [{"item": str(one.item), "error": one.error, "where": one.where} for one in self.failures]
            )
        seconds = time.perf_counter() - self.began
        return Report(self.results, tuple(self.failures), self.computed, self.skipped, seconds, workers)


def _check_sendable(function: Callable[..., Any]) -> None:
    """Raise one error before the work instead of one for each item."""
    pickle = require("cloudpickle", "jobs")
    try:
        pickle.dumps(function)
    except Exception as error:
        raise PosableError(f"{function!r} cannot be sent to a worker: {error}") from error


explain_mistakes(__name__)

"""Executors: the cores of this machine, or those of a dask or ray cluster, all through joblib.

`Executor.outcomes` hands tasks out and yields the outcome of each, in any order. When a process dies (killed for
want of memory, a crash in a library), joblib gives up the whole call; here the tasks in flight are done
again, each by itself, so that only one that kills its process every time is lost, and reported.

No process is forked: an OpenMP pool that had started before the fork would hang in the child (specification kernels,
rule 10). joblib's own processes and dask's are started afresh. Each runs compiled code on one thread.
"""

from __future__ import annotations

import math
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..compute import PosableError, number, require, threads
from .store import result_bytes

ENGINES = ("local", "dask://HOST:PORT", "ray://HOST:PORT")
WAIT = 20.0  # seconds for a cluster to answer
WATCH = 0.2  # seconds between two looks of a worker whether its parent is still there
TRACEBACK = 4000  # characters of it that are stored
TRIED = ((1, 5), (1, 6))  # oldest and newest joblib for `dask_backend`
PAUSES = (0.0, 0.5, 2.0)
"""[s] before each try of a task by itself."""


@dataclass(frozen=True)
class Task:
    """One item to work on; with an identity, its result comes back as the file to keep."""

    index: int
    item: Any
    identity: str | None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task: a result, or the error in one line and where it was raised."""

    index: int
    result: Any
    error: str | None = None
    where: str = ""


def work(function: Callable[..., Any], settings: dict[str, Any], task: Task) -> Outcome:
    """Do one task, whatever happens in it."""
    try:
        with threads(1):  # the other cores have work of their own
            result = function(task.item, **settings)
            return Outcome(task.index, result if task.identity is None else result_bytes(task.identity, result))
    except (Exception, SystemExit) as error:  # a library that wants to end the process ends its item
        return Outcome(task.index, None, f"{type(error).__name__}: {error}", traceback.format_exc()[-TRACEBACK:])


class Executor:
    """An open engine. `streams` says whether results come one by one or only when a whole call is done."""

    def __init__(self, config: dict[str, Any], alive: Callable[[], bool] = lambda: True) -> None:
        import joblib

        self._config, self._alive = config, alive
        with joblib.parallel_config(**config):
            backend, _ = joblib.parallel.get_active_backend()
            self.workers = int(joblib.effective_n_jobs(config["n_jobs"]))
        self.streams = bool(getattr(backend, "supports_return_generator", False))
        self._pool: Any = None

    def outcomes(
        self, function: Callable[..., Any], settings: dict[str, Any], tasks: Sequence[Task]
    ) -> Iterator[Outcome]:
        """Yield the outcome of each task, in the order in which they end."""
        import joblib

        call = joblib.delayed(work)
        waiting = deque(tasks)
        while waiting:
            queue = _TaskQueue(waiting, lambda task: call(function, settings, task))
            try:
                for outcome in self._parallel()(queue):
                    queue.done(outcome.index)
                    yield outcome
            except Exception as error:  # not the function's: `work` keeps those
                in_flight = queue.stop()
                self.close()
                self._check_there(error)
                for task in in_flight:
                    yield self._alone(call(function, settings, task), task)

    def _alone(self, call: Any, task: Task) -> Outcome:
        """Do a task by itself. It has failed only when its process dies every time.

        While the processes of a pool that broke still end, a new pool may break with them, whatever it works on.
        """
        for waited in PAUSES:
            time.sleep(waited)
            try:
                (outcome,) = self._parallel(batch_size=1)([call])
                return outcome  # type: ignore[no-any-return]
            except Exception as error:
                self.close()
                self._check_there(error)
                reason = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        return Outcome(task.index, None, f"its process died or could not answer: {reason}")

    def _check_there(self, error: Exception) -> None:
        if not self._alive():
            raise PosableError("the engine is gone; with a store, run it again: what was done is stored") from error

    def close(self) -> None:
        """Let the processes go."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def _parallel(self, **options: Any) -> Any:
        """A joblib call; where results do not stream, calls are short and share processes, which take ray seconds."""
        import joblib

        with joblib.parallel_config(**self._config):
            if self.streams:
                return joblib.Parallel(return_as="generator_unordered", **options)
            if self._pool is None:
                self._pool = joblib.Parallel(return_as="list").__enter__()
            return self._pool


class _TaskQueue:
    """Hands tasks to joblib, whose threads come for them, and knows which are in flight."""

    def __init__(self, waiting: deque[Task], call: Callable[[Task], Any]) -> None:
        self._waiting, self._call = waiting, call
        self._in_flight: dict[int, Task] = {}
        self._lock, self._open = threading.Lock(), True

    def __iter__(self) -> _TaskQueue:
        return self

    def __next__(self) -> Any:
        with self._lock:
            if not self._open or not self._waiting:
                raise StopIteration
            task = self._waiting.popleft()
            self._in_flight[task.index] = task
            return self._call(task)

    def done(self, index: int) -> None:
        """Remove task `index` from those in flight."""
        with self._lock:
            del self._in_flight[index]

    def stop(self) -> list[Task]:
        """Hand out no more tasks, and return those in flight."""
        with self._lock:
            self._open = False
            return list(self._in_flight.values())


def check_engine(engine: str | None, workers: int | None) -> None:
    """Raise where an engine has no such form, or cannot have so many workers; whether it is there is not tried."""
    if workers is not None and not 1 <= number(workers) < math.inf:
        raise PosableError(f"workers is {workers}; expected 1 or more, or None for all cores")
    kind, apart, _ = (engine or "").partition("://")
    if engine is None or engine == "local":
        return
    if kind not in {"dask", "ray"} or not apart:
        raise PosableError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}, or None")
    if workers is not None:
        raise PosableError(f"workers is {workers}, but the cluster at {engine!r} itself decides how many it has")


@contextmanager
def open_executor(engine: str | None, workers: int | None) -> Iterator[Executor]:
    """Open the executor of an engine, for the length of a block."""
    require("joblib", "jobs")
    check_engine(engine, workers)
    with _opened(engine, workers) as executor, closing(executor):
        yield executor


@contextmanager
def _opened(engine: str | None, workers: int | None) -> Iterator[Executor]:
    kind, _, address = (engine or "").partition("://")
    if engine is None or engine == "local":
        yield Executor(_local(workers) if engine == "local" else _from_joblib_block(workers))
        return
    with (_dask if kind == "dask" else _ray)(address) as executor:
        yield executor


def _local(workers: int | None) -> dict[str, Any]:
    watch = {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    return {"backend": "loky", "n_jobs": workers or -1, "inner_max_num_threads": 1, **watch}


def end_with_parent(parent: int) -> None:
    """End this worker soon after the process that it works for has ended, however that was killed.

    joblib's processes wait for more work, and notice only after five minutes that none can come. (On Windows they do.)
    """
    if not hasattr(os, "fork"):
        return  # Windows: a parent that has ended stays the parent

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _from_joblib_block(workers: int | None) -> dict[str, Any]:
    """Return the settings of a `with joblib.parallel_config(...)` block around the call; else all cores."""
    import joblib

    backend, jobs = joblib.parallel.get_active_backend()
    name = type(backend).__name__
    if name == "LokyBackend":
        return _local(workers or (jobs if jobs != 1 else None))
    if name == "MultiprocessingBackend":
        raise PosableError(
            "joblib's multiprocessing backend forks, and compiled code may hang in a forked process; "
            "expected loky, threading, dask or ray"
        )
    chosen = _dask_config(backend.client) if name == "DaskDistributedBackend" else {"backend": backend}
    return {**chosen, "n_jobs": workers or (jobs if jobs != 1 else -1)}


def _dask_config(client: Any) -> dict[str, Any]:
    """Return joblib's settings for a dask cluster: with our backend, or with its own where that was not tried.

    `dask_backend` uses what is private in joblib. With another joblib, or `POSABLE_PLAIN_JOBLIB=1`, a lost cluster is
    noticed as late as joblib notices it; answers are the same.
    """
    import joblib

    version = tuple(int(part) for part in joblib.__version__.split(".")[:2] if part.isdigit())
    if not TRIED[0] <= version <= TRIED[1] or os.environ.get("POSABLE_PLAIN_JOBLIB", "0") != "0":
        return {"backend": "dask", "client": client}
    from .dask_backend import ReportingDaskBackend

    return {"backend": ReportingDaskBackend(client=client, wait_for_workers_timeout=2.0 * WAIT)}


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    distributed = require("distributed", "dask")
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(f"tcp://{address}", timeout=WAIT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        # Left to itself a client that is half made closes when it is collected, and that may be while another one is
        # made: both then wait for one lock, for ever.
        with suppress(Exception):
            client.close(timeout=WAIT)
        raise PosableError(f"no dask scheduler answers at {address!r}: {error}") from error
    with client:
        try:
            yield Executor({**_dask_config(client), "n_jobs": -1}, lambda: client.status == "running")
        except TimeoutError as error:
            raise PosableError(f"the dask scheduler at {address!r} has no workers") from error


@contextmanager
def _ray(address: str) -> Iterator[Executor]:
    ray = require("ray", "ray")
    require("ray.util.joblib", "ray").register_ray()
    if ray.is_initialized():
        yield Executor(_ray_config(ray))
        return
    try:
        ray.init(address=f"ray://{address}" if ":" in address else address or None, logging_level="warning")
    except (ConnectionError, ValueError) as error:
        raise PosableError(f"no ray cluster answers at {address!r}: {error}") from error
    try:
        yield Executor(_ray_config(ray))
    finally:
        ray.shutdown()


def _ray_config(ray: Any) -> dict[str, Any]:
    """With one core, joblib would work in this process instead of on the cluster."""
    return {"backend": "ray", "n_jobs": max(2, int(ray.cluster_resources().get("CPU", 1)))}

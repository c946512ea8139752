"""Threads of a batch: every row once, no more threads than cores whoever calls, and none woken for little work."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from posable.compute import Batch, PosableError, kernels, thread_count, threads


class Recorded:
    """A batch whose rows take time, and what ran which of them, when."""

    def __init__(self, seconds_a_row: float) -> None:
        self.batch = Batch(lambda n: None, rows=1)
        self.batch._part = self.run
        self.seconds = seconds_a_row
        self.pieces: list[tuple[int, int]] = []
        self.by: list[int] = []
        self.at_once: list[int] = []
        self._running, self._lock = 0, threading.Lock()

    def run(self, first: int, last: int, n: int, arrays: tuple) -> None:
        with self._lock:
            self._running += 1
            self.pieces.append((first, last))
            self.by.append(threading.get_ident())
            self.at_once.append(self._running)
        time.sleep(self.seconds * (last - first))
        with self._lock:
            self._running -= 1

    def rows(self) -> np.ndarray:
        """How often each row was run."""
        counts = np.zeros(max(last for _, last in self.pieces), int)
        for first, last in self.pieces:
            counts[first:last] += 1
        return counts


@pytest.fixture
def cores(monkeypatch) -> int:
    """A machine of three cores, whatever this one has."""
    kernels._pool.cache_clear()
    monkeypatch.setenv("POSABLE_THREADS", "3")
    yield 3
    kernels._pool.cache_clear()


@pytest.mark.parametrize("n", [1, 2, 7, 63, 64, 65, 1000, 20_001])
@pytest.mark.parametrize("seconds", [0.0, 1e-5])
def test_every_row_is_run_once(n, seconds, cores):
    one = Recorded(seconds)
    one.batch(n)
    assert len(one.rows()) == n and (one.rows() == 1).all()


def test_much_work_runs_on_every_core_and_little_work_on_one(cores, monkeypatch):
    long, short = Recorded(2e-5), Recorded(2e-5)
    long.batch(5000)
    monkeypatch.setattr(kernels, "WORTH", 100.0)  # [s]
    short.batch(5000)
    assert len(set(long.by)) == cores and max(long.at_once) == cores
    assert set(short.by) == {threading.get_ident()}


def test_the_rows_that_say_how_long_it_takes_are_few(cores):
    """They run before any other thread is awake: two cores could not be 1.8 times as fast if they were many."""
    one = Recorded(1e-5)
    one.batch(6400)
    first, last = one.pieces[0]
    assert first == 0 and last <= 6400 / 50
    one = Recorded(1e-3)
    one.batch(6)
    assert one.pieces[0] == (0, 0), "of six long rows none runs alone"


def test_callers_at_the_same_time_share_the_cores(cores):
    """As in joblib's threading backend, or a dask worker with several threads."""
    long = Recorded(2e-5)
    with ThreadPoolExecutor(cores) as pool:
        for done in [pool.submit(long.batch, 20_000) for _ in range(3 * cores)]:
            done.result()
    assert (long.rows() == 3 * cores).all()
    # A thread that helps stays for the piece that it is at when another caller comes.
    late = sum(count > cores for count in long.at_once)
    assert late <= 0.15 * len(long.at_once), f"{late} of {len(long.at_once)} pieces began on more threads than cores"
    assert kernels._running.callers == kernels._running.helpers == 0


def test_threads_are_counted_down_after_an_error(cores):
    one = Recorded(2e-5)

    def broken(first: int, last: int, n: int, arrays: tuple) -> None:
        if first > 1000:
            raise OSError("broken")
        one.run(first, last, n, arrays)

    one.batch._part = broken
    with pytest.raises(OSError, match="broken"):
        one.batch(5000)
    assert kernels._running.callers == kernels._running.helpers == 0


def test_a_worker_of_a_cluster_keeps_to_its_share(monkeypatch):
    """joblib, dask and ray say in OMP_NUM_THREADS how many threads each of their workers has."""
    monkeypatch.delenv("POSABLE_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = thread_count()
    for share, expected in (("1", 1), ("1,4", 1), ("100000", cores), ("0", cores), ("", cores), ("many", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", share)
        assert thread_count() == expected, share
    monkeypatch.setenv("POSABLE_THREADS", "5")
    assert thread_count() == 5
    with threads(2):
        assert thread_count() == 2
    monkeypatch.setenv("POSABLE_THREADS", "-1")
    with pytest.raises(PosableError, match="POSABLE_THREADS is '-1'"):
        thread_count()


@pytest.mark.parametrize(
    ("text", "expected"), [("max 100000", 8), ("150000 100000", 2), ("20000 100000", 1), ("900000 100000", 8), ("x", 8)]
)
def test_a_container_with_a_quota_has_the_cores_of_its_quota(text, expected, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(kernels.Path, "read_text", lambda *_, **__: text)
    kernels._usable_cores.cache_clear()
    try:
        assert kernels._usable_cores() == expected
    finally:
        kernels._usable_cores.cache_clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_in_the_middle_of_a_batch_can_call_batches(cores):
    one = Recorded(1e-5)
    inside = threading.Thread(target=one.batch, args=(20_000,))
    inside.start()
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        other = Recorded(1e-5)
        other.batch(5000)
        os._exit(0 if len(set(other.by)) > 1 else 1)
    inside.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("least", [1, 40, 10_000])
@pytest.mark.parametrize("n", [17, 528, 100_000])
def test_pieces_have_every_row_once_and_end_together(n, least, count):
    """What is left when the first thread finds nothing more to do is one of the last pieces: a small one."""
    first = n // 64
    pieces = kernels._pieces(first, n, count, least)
    rows = [row for one in pieces for row in range(*one)]
    assert rows == list(range(first, n))
    lengths = [last - first for first, last in pieces]
    assert max(lengths) <= kernels.MOST_ROWS
    if count > 1:
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[-1] <= least and lengths[0] * count <= max(n, least * count)

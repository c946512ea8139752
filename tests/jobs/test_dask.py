"""The same jobs on a real dask cluster, with workers that die."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import dask
import joblib
import pytest
from distributed import Client, LocalCluster

import posable as ps
from posable.jobs import blocks, executors, run
from posable.jobs.store import read_result

from . import jobs
from .test_run import bits


def local_cluster(workers: int) -> LocalCluster:
    """A cluster on this machine. Its loop has ten seconds to start, which a busy machine may not give it at once."""
    for _ in range(2):
        try:
            return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        except AssertionError:
            continue
    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)


@pytest.fixture(scope="module")
def cluster():
    # A task is given up when the second worker dies of it, not the fourth: they take seconds to start again.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        local_cluster(2) as started,
    ):
        yield started


@pytest.fixture
def engine(cluster: LocalCluster) -> str:
    return cluster.scheduler_address.replace("tcp://", "dask://")


def test_a_cluster_gives_the_same_bits_as_one_process(engine: str, tmp_path: Path):
    here = run(jobs.drawn, blocks(30, 2), workers=1)
    there = run(jobs.drawn, blocks(30, 2), store=tmp_path, engine=engine)
    assert there.workers == 2 and there.ok
    assert [bits(one) for one in here.results] == [bits(one) for one in there.results]
    again = run(jobs.drawn, blocks(30, 2), store=tmp_path, workers=1)
    assert again.computed == 0, "a store does not care who worked"


def test_a_joblib_that_was_not_tried_gives_the_same_bits_in_its_plain_way(engine: str, monkeypatch: pytest.MonkeyPatch):
    """Nothing that is private in joblib is even imported then."""
    monkeypatch.setitem(sys.modules, "posable.jobs.dask_backend", None)
    monkeypatch.setattr(executors, "TRIED", ((99, 0), (99, 1)))
    there = run(jobs.drawn, blocks(10, 2), engine=engine)
    here = run(jobs.drawn, blocks(10, 2), workers=1)
    assert there.ok and [bits(one) for one in here.results] == [bits(one) for one in there.results]


def test_a_worker_killed_in_the_middle_loses_nothing(engine: str, tmp_path: Path):
    victims: set[int] = set()

    def kill_one(now) -> None:
        if now.done >= 20 and not victims:
            victims.add(read_result(next(tmp_path.rglob("[!.]*.npz")))[1][0])
            os.kill(next(iter(victims)), signal.SIGKILL)

    report = run(jobs.slow, range(80), store=tmp_path, engine=engine, progress=kill_one)
    assert report.ok and len(victims) == 1
    assert [result[1] for result in report.results] == [k / 7.0 for k in range(80)]
    assert len({result[0] for result in report.results}) >= 2


def test_an_item_that_kills_every_worker_is_told_and_the_others_are_done(engine: str):
    report = run(jobs.deadly, range(12), engine=engine)
    assert [one.item for one in report.failures] == [5, 7]
    assert "KilledWorker" in report.failures[0].error
    assert list(report.results) == [None if k in (5, 7) else k for k in range(12)]


def test_failures_and_blocks_of_the_users_own_work_on_a_cluster(cluster: LocalCluster):
    with Client(cluster), joblib.parallel_config("dask"):
        report = run(jobs.sometimes_wrong, range(7))
    assert report.workers == 2 and [one.index for one in report.failures] == [0, 3, 6]
    assert [result[0] for result in run(jobs.threads, range(3)).results] == [1] * 3


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("posable.jobs.executors.WAIT", 0.5)
    for address in ("127.0.0.1:9", "nowhere", ""):
        with pytest.raises(ps.PosableError, match="no dask scheduler answers"):
            run(jobs.threads, [1], engine=f"dask://{address}")


def test_a_cluster_that_goes_away_is_told_and_what_was_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("posable.jobs.executors.WAIT", 2.0)
    started = local_cluster(1)
    engine = started.scheduler_address.replace("tcp://", "dask://")

    def close() -> None:
        while not len(list(tmp_path.rglob("[!.]*.npz"))):
            time.sleep(0.01)
        started.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(ps.PosableError, match="gone"):
        run(jobs.slow, range(2000), store=tmp_path, engine=engine)  # far more than can be done before it closes
    closing.join()
    report = run(jobs.slow, range(20), store=tmp_path, workers=2)
    assert report.ok and report.skipped > 0

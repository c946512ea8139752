"""Workers of joblib, dask and ray run on no more threads than there are cores, also in tasks that are not ours.

The threads that work are counted by the system, while solvers run in the tasks of a joblib, dask or ray of one's own.
"""

import importlib.util
import os
from pathlib import Path

import joblib
import pytest

from posable.compute import thread_count
from posable.jobs import blocks, run

from . import jobs
from .test_dask import local_cluster
from .test_run import bits

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
SHARE = max(1, CORES // 2)  # of each of two workers


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """The variables that this process was started with are not what is tested."""
    for name in ("POSABLE_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def test_this_process_by_itself_uses_every_core():
    assert thread_count() == CORES
    assert jobs.busy_threads(0) == CORES


def test_a_joblib_of_ones_own_runs_solvers_on_the_share_of_each_worker():
    tasks = [joblib.delayed(jobs.busy_threads)(k) for k in range(4)]
    with joblib.parallel_config("loky", n_jobs=2):
        assert max(joblib.Parallel()(tasks)) <= SHARE


def test_two_threads_of_joblib_and_their_helpers_are_no_more_than_the_cores():
    """In one process: whoever comes second finds the cores taken, and the helpers of the first leave."""
    tasks = [joblib.delayed(jobs.busy_threads)(k) for k in range(2)]
    with joblib.parallel_config("threading", n_jobs=2):
        found = joblib.Parallel()(tasks)
    assert max(found) <= max(2, CORES)


def test_a_dask_of_ones_own_runs_solvers_on_the_share_of_each_worker():
    from distributed import Client

    with local_cluster(2) as cluster, Client(cluster) as client:
        assert max(client.gather(client.map(jobs.busy_threads, range(4), pure=False))) <= SHARE


@pytest.fixture(scope="module")
def ray():
    """A ray of two cores on this machine; it is too large to be one of the tools of development."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed: pip install posable[ray]")
    import ray

    folder = str(Path(__file__).resolve().parents[2])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": folder}},
        object_store_memory=100 * 2**20,
    )
    yield ray
    ray.shutdown()


def test_a_ray_of_ones_own_runs_solvers_on_the_share_of_each_worker(ray):
    remote = ray.remote(num_cpus=1)(jobs.busy_threads)
    assert max(ray.get([remote.remote(k) for k in range(4)])) <= SHARE


def test_jobs_on_ray_give_the_bits_of_one_process_and_keep_to_one_thread(ray, tmp_path):
    here = run(jobs.drawn, blocks(12, 2), workers=1)
    there = run(jobs.drawn, blocks(12, 2), store=tmp_path, engine="ray://auto")
    assert there.ok and there.workers == 2
    assert [bits(one) for one in here.results] == [bits(one) for one in there.results]
    assert max(run(jobs.busy_threads, range(3), engine="ray://auto").results) == 1


def test_failures_on_ray_are_named_and_the_others_are_done(ray):
    report = run(jobs.sometimes_wrong, range(7), engine="ray://auto")
    assert [one.index for one in report.failures] == [0, 3, 6]
    assert list(report.results) == [None if k % 3 == 0 else k * 0.1 for k in range(7)]

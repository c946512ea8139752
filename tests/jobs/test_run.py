"""One function over many items: the same results whoever works, restarts, failures."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import posable as ps
from posable.compute import thread_count
from posable.jobs import Progress, blocks, run
from posable.jobs.executors import Executor

from . import jobs

ROOT = Path(__file__).resolve().parents[2]


def bits(value):
    """A result with the bits of its numbers, so that == sees every one of them, and NaN is itself."""
    if isinstance(value, dict):
        return {name: bits(part) for name, part in value.items()}
    if isinstance(value, list):
        return [bits(part) for part in value]
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    return value.hex() if isinstance(value, float) else value


@pytest.mark.parametrize("kept", [False, True])
def test_results_are_the_same_bit_for_bit_whatever_the_number_of_workers(tmp_path: Path, kept: bool):
    found = []
    for workers in (1, 2, 3):
        store = tmp_path / str(workers) if kept else None
        report = run(jobs.drawn, blocks(50, 3), settings={"seed": 4}, store=store, engine="local", workers=workers)
        assert report.ok and report.workers == workers and report.computed == 17 and report.skipped == 0
        found.append([bits(result) for result in report.results])
    assert found[0] == found[1] == found[2]
    assert [part["first"] for part in report.results] == list(range(0, 50, 3))


def test_bodies_reconstructed_by_other_processes_are_the_same_bit_for_bit(tmp_path: Path):
    paths = []
    for k, make in enumerate((ps.samples.walk, ps.samples.boxing, ps.samples.dance)):
        paths.append(tmp_path / f"{k}.npz")
        ps.save(make(duration=0.5), paths[-1])
    here = run(jobs.reconstructed, paths, workers=1)
    there = run(jobs.reconstructed, paths, store=tmp_path / "store", workers=2)
    assert here.ok and there.ok, (here.failures, there.failures)
    assert [bits(result) for result in here.results] == [bits(result) for result in there.results]


def test_a_sample_is_the_same_however_it_is_cut_into_blocks():
    whole, parts = (run(jobs.drawn, blocks(40, size), settings={"seed": 9}, workers=1).results for size in (40, 7))
    np.testing.assert_array_equal(whole[0]["samples"], np.concatenate([part["samples"] for part in parts]))


def test_blocks_cover_every_sample_once():
    for count, size in ((0, 3), (1, 3), (9, 3), (10, 3), (5, 100)):
        assert [i for first, end in blocks(count, size) for i in range(first, end)] == list(range(count))
    for count, size in ((-1, 3), (3, 0)):
        with pytest.raises(ps.PosableError, match="blocks of"):
            blocks(count, size)


def start_driver(store: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.jobs.jobs", str(store), "report"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_driver_killed_in_the_middle_goes_on_and_ends_with_the_same_bits(tmp_path: Path):
    options = {"settings": {"seed": 3, "wait": 0.04}, "workers": 2}
    store = tmp_path / "store"
    for _ in range(2):
        before = len(list(store.rglob("*.npz")))
        driver = start_driver(store)
        while len(list(store.rglob("*.npz"))) < before + 8 and driver.poll() is None:
            time.sleep(0.01)
        assert driver.poll() is None, "it ended before it could be killed"
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    done = len(list(store.rglob("[!.]*.npz")))
    assert 16 <= done < 60
    out, _ = start_driver(store).communicate(timeout=120)
    assert out.split() == ["report", str(60 - done), str(done)]
    # The driver ran as __main__, so this process asks for a job of its own: the same function by another name.
    fresh = run(jobs.drawn, blocks(120, 2), store=tmp_path / "fresh", **options)
    (folder,) = store.iterdir()
    (other,) = (tmp_path / "fresh").iterdir()
    files = sorted(path.relative_to(other) for path in other.rglob("[!.]*.npz"))
    assert fresh.ok and len(files) == 60
    for file in files:
        assert (folder / file).read_bytes() == (other / file).read_bytes()


def workers_of(parent: int) -> list[int]:
    """Processes that a process has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, above = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended meanwhile
            continue
        if int(above) == parent and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")
def test_workers_end_with_the_process_that_they_work_for_however_it_is_killed(tmp_path: Path):
    driver = start_driver(tmp_path / "store")
    while len(list(tmp_path.rglob("*.npz"))) < 8 and driver.poll() is None:
        time.sleep(0.01)
    workers = workers_of(driver.pid)
    assert len(workers) >= 2 and driver.poll() is None
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    patience = time.monotonic() + 20.0  # they took five minutes
    while (left := [pid for pid in workers if Path(f"/proc/{pid}").exists()]) and time.monotonic() < patience:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_a_rerun_computes_nothing_and_gives_the_same(tmp_path: Path):
    first = run(jobs.drawn, blocks(9, 2), store=tmp_path, workers=1)
    second = run(jobs.drawn, blocks(9, 2), store=tmp_path, workers=2)
    assert (first.computed, first.skipped) == (5, 0) and (second.computed, second.skipped) == (0, 5)
    assert bits(list(first.results)) == bits(list(second.results))


def test_only_what_changed_is_computed_again(tmp_path: Path):
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    for file in files:
        file.write_text(file.stem)
    store = tmp_path / "store"
    assert list(run(jobs.read_text, files, store=store, workers=1).results) == ["a", "b", "c"]
    files[1].write_text("new")
    report = run(jobs.read_text, files, store=store, workers=1)
    assert list(report.results) == ["a", "new", "c"] and (report.computed, report.skipped) == (1, 2)
    os.utime(files[2], ns=(1, 1))
    assert run(jobs.read_text, files, store=store, workers=1).computed == 1


def test_other_settings_are_another_job_in_the_same_store(tmp_path: Path):
    one, other = (run(jobs.drawn, [[0, 3]], settings={"seed": seed}, store=tmp_path, workers=1) for seed in (1, 2))
    assert one.computed == other.computed == 1
    assert bits(one.results[0]) != bits(other.results[0])
    jobs_found = [json.loads(path.read_text()) for path in tmp_path.glob("*/manifest.json")]
    assert sorted(job["settings"]["seed"] for job in jobs_found) == [1, 2]
    assert {job["function"] for job in jobs_found} == {"tests.jobs.jobs:drawn"}


def test_a_function_that_writes_its_own_files_is_asked_whether_they_are_still_there(tmp_path: Path):
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text(file.stem)
    out = tmp_path / "out"
    out.mkdir()
    options = {
        "settings": {"folder": str(out)},
        "store": tmp_path / "store",
        "check": lambda item, result: Path(result).exists(),
        "workers": 1,
    }
    assert run(jobs.copy_to, files, **options).computed == 2
    (out / "a.txt").unlink()
    report = run(jobs.copy_to, files, **options)
    assert (report.computed, report.skipped) == (1, 1) and (out / "a.txt").read_text() == "A"


@pytest.mark.parametrize("workers", [1, 2])
def test_items_that_fail_are_told_with_their_error_and_the_others_are_done(tmp_path: Path, workers: int):
    report = run(jobs.sometimes_wrong, range(10), store=tmp_path, workers=workers)
    assert not report.ok
    assert [(one.index, one.item, one.error) for one in report.failures] == [
        (k, k, f"ValueError: {k} is a multiple of three") for k in (0, 3, 6, 9)
    ]
    assert "sometimes_wrong" in report.failures[0].where
    assert list(report.results) == [None if k % 3 == 0 else k * 0.1 for k in range(10)]
    (written,) = (json.loads(path.read_text()) for path in tmp_path.glob("*/failures.json"))
    assert [one["error"] for one in written] == [one.error for one in report.failures]
    again = run(jobs.sometimes_wrong, range(10), store=tmp_path, workers=workers)
    assert (again.computed, again.skipped, len(again.failures)) == (4, 6, 4)


def test_an_item_that_kills_its_process_every_time_is_told_and_the_others_are_done(tmp_path: Path):
    report = run(jobs.deadly, range(12), store=tmp_path, engine="local", workers=2)
    assert [one.item for one in report.failures] == [5, 7]
    assert "died" in report.failures[0].error and "enough" in report.failures[1].error
    assert list(report.results) == [None if k in (5, 7) else k for k in range(12)]


def test_a_new_pool_that_breaks_along_with_the_old_one_blames_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened, breaks = Executor._parallel, iter([True])

    def opened_too_early(executor: Executor, **options):
        if options and next(breaks, False):
            raise RuntimeError("the processes still end")
        return opened(executor, **options)

    monkeypatch.setattr(Executor, "_parallel", opened_too_early)
    report = run(jobs.deadly, range(12), store=tmp_path, engine="local", workers=2)
    assert next(breaks, None) is None, "no task was done by itself"
    assert [one.item for one in report.failures] == [5, 7]


def test_a_process_that_was_killed_once_costs_nothing(tmp_path: Path):
    report = run(jobs.deadly_once, range(12), settings={"folder": str(tmp_path)}, engine="local", workers=2)
    assert report.ok and list(report.results) == list(range(12))


def test_each_worker_runs_compiled_code_on_one_thread():
    before = thread_count()
    assert [result[0] for result in run(jobs.threads, range(4), workers=2).results] == [1] * 4
    assert run(jobs.threads, [0], workers=1).results[0][0] == 1
    assert thread_count() == before


def test_a_block_of_the_users_own_says_who_works():
    with joblib.parallel_config("threading", n_jobs=2):
        report = run(jobs.threads, range(4))
    assert report.workers == 2 and {result[1] for result in report.results} == {os.getpid()}
    with joblib.parallel_config(n_jobs=2):
        report = run(jobs.threads, range(4))
    assert report.workers == 2 and os.getpid() not in {result[1] for result in report.results}


def test_forked_processes_are_refused():
    with joblib.parallel_config("multiprocessing", n_jobs=2), pytest.raises(ps.PosableError, match="forks"):
        run(jobs.threads, range(4))


def test_progress_is_reported(tmp_path: Path):
    seen: list[Progress] = []
    run(jobs.sometimes_wrong, range(6), store=tmp_path, workers=1, progress=seen.append)
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    last = seen[-1]
    assert (last.done, last.total, last.skipped, last.failed, last.fraction) == (6, 6, 0, 2, 1.0) and last.rate > 0.0
    run(jobs.sometimes_wrong, (k for k in range(6)), store=tmp_path, workers=1, progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].skipped) == (6, 6, 4)
    report = run(jobs.sometimes_wrong, [], progress=seen.append)
    assert report.ok and not report.results and seen[-1].fraction == 1.0
    report = run(jobs.sometimes_wrong, range(6), store=tmp_path, workers=1)
    assert repr(report).startswith("Report(6 results: 2 computed, 4 skipped, 2 failed; ")
    assert "Traceback" in report.failures[0].where and "Traceback" not in repr(report.failures)


def test_a_mistyped_option_is_answered_with_the_nearest_one():
    with pytest.raises(ps.PosableError, match="did you mean 'workers'"):
        run(jobs.threads, range(4), worker=2)


def test_a_stream_of_items_is_not_read_far_ahead():
    taken = 0

    def stream():
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield taken

    ahead = []
    run(jobs.sometimes_wrong, stream(), workers=1, progress=lambda now: ahead.append(taken - now.done))
    assert max(ahead) <= 256


def test_results_in_a_store_are_read_one_at_a_time(tmp_path: Path):
    report = run(jobs.drawn, blocks(8, 2), store=tmp_path, workers=1)
    assert len(report.results) == 4 and report.results[-1]["first"] == 6
    assert [part["first"] for part in report.results[1:3]] == [2, 4]
    for wrong in (4, -5):
        with pytest.raises(IndexError):
            report.results[wrong]


def test_mistakes_are_told_before_any_work(tmp_path: Path):
    import threading

    lock = threading.Lock()
    (tmp_path / "file").write_text("")
    number = 3
    for options, says in (
        ({"engine": "spark://there:1"}, "dask://HOST:PORT"),
        ({"engine": "dask"}, "dask://HOST:PORT"),
        ({"workers": 0}, "workers is 0"),
        ({"engine": "dask://localhost:1", "workers": 2}, "itself decides how many"),
        ({"store": tmp_path / "file"}, "cannot store results"),
        ({"store": tmp_path, "settings": {"seed": {1}}}, "settings['seed'] is a set"),
        ({"store": tmp_path, "settings": {"seed": np.zeros(3)}}, "array"),
        ({"function": lambda item: lock}, "cannot be sent"),
        ({"store": tmp_path, "function": lambda item: number}, "settings="),
        ({"store": tmp_path, "function": print}, "plain function"),
        ({"store": tmp_path, "items": [{1, 2}]}, "an item is a set"),
    ):
        chosen = {"function": jobs.drawn, "items": [(0, 1)], **options}
        with pytest.raises(ps.PosableError) as report:
            run(chosen.pop("function"), chosen.pop("items"), **chosen)
        assert says in str(report.value), (options, report.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "a refused option left a folder behind"


def test_a_result_that_cannot_be_kept_is_a_failure_of_its_item(tmp_path: Path):
    report = run(jobs.odd, [1, 2], store=tmp_path, workers=1)
    assert len(report.failures) == 2 and "['bad'] is a set" in report.failures[0].error
    assert run(jobs.odd, [1], workers=1).results[0]["bad"] == {1}

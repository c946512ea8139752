"""A job that is killed, that shares its folder or that cannot write: complete in the end, the same bits, no half file.

Three kills here, a hundred in `make soak`.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import posable as ps
from posable.jobs import blocks, run

from . import jobs
from .test_run import ROOT, start_driver, workers_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")


def files_of(store: Path) -> dict[str, bytes]:
    """Results of the one job in a store, by their names."""
    (folder,) = store.iterdir()
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("[!.]*.npz")}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> dict[str, bytes]:
    """The results of the driver's job, made by one process that nobody disturbs."""
    store = tmp_path_factory.mktemp("wanted") / "store"
    assert run(jobs.drawn, blocks(120, 2), settings={"seed": 3, "wait": 0.04}, store=store, workers=1).ok
    return files_of(store)


def until(condition, seconds: float) -> bool:
    """Whether a condition came true in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def killed_again_and_again(store: Path, times: int, seed: int, wanted: dict[str, bytes]) -> None:
    """Kill the driver or one of its workers at random moments, and let the last run end."""
    draw = random.Random(seed)
    for k in range(times):
        driver = start_driver(store)
        until(lambda driver=driver: workers_of(driver.pid) or driver.poll() is not None, 60.0)
        time.sleep(draw.uniform(0.0, 1.0))  # the moment of the kill: nothing is waited for
        workers = workers_of(driver.pid)
        if k % 2 == 0 or not workers:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            gone = until(lambda workers=workers: not any(Path(f"/proc/{pid}").exists() for pid in workers), 20.0)
            assert gone, "workers outlive the process that they work for"
        else:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(draw.choice(workers), signal.SIGKILL)
            assert driver.wait(timeout=120) == 0, "a run does not survive the death of a worker"
        assert all(wanted[name] == found for name, found in files_of(store).items()) if store.exists() else True
    assert start_driver(store).wait(timeout=120) == 0
    assert files_of(store) == wanted


def test_kills_at_any_moment_cost_nothing_but_time(tmp_path: Path, wanted):
    killed_again_and_again(tmp_path / "store", 3, 0, wanted)


@pytest.mark.soak
def test_a_hundred_kills_cost_nothing_but_time(tmp_path: Path, wanted, drawn):
    for k in range(drawn(20, each=5)):
        killed_again_and_again(tmp_path / f"store {k}", 5, k, wanted)


def test_two_runs_on_one_folder_at_once_end_with_the_same_bits(tmp_path: Path, wanted):
    drivers = [start_driver(tmp_path / "store") for _ in range(2)]
    assert [driver.wait(timeout=120) for driver in drivers] == [0, 0]
    assert files_of(tmp_path / "store") == wanted
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()], "half a file is left"


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails, as on a full disk
import posable as ps
from tests.jobs import jobs
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    ps.jobs.run(jobs.drawn, ps.jobs.blocks(6, 2), settings={"seed": 3}, store=sys.argv[1], workers=1)
except ps.PosableError as error:
    print(error)
"""


@pytest.mark.parametrize("size", [16, 600])
def test_a_disk_that_is_full_is_one_sentence_and_leaves_no_half_file(tmp_path: Path, size: int):
    store = tmp_path / "store"
    command = [sys.executable, "-c", FULL, str(store), str(size)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "cannot store results" in told and "run it again" in told
    assert not [path for path in store.rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert run(jobs.drawn, blocks(6, 2), settings={"seed": 3}, store=store, workers=1).computed == 3


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_one_sentence(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(ps.PosableError, match="cannot store results"):
        run(jobs.drawn, blocks(6, 2), store=tmp_path / "store", workers=1)

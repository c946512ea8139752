"""Functions for workers to run; they import this module by its name."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import posable as ps


def drawn(block, seed=0, wait=0.0):
    """Samples of a block, sample i from [seed, i], and something of everything a result may be."""
    first, end = block
    samples = np.array([np.random.default_rng([seed, i]).normal(size=4) for i in range(first, end)])
    time.sleep(wait)
    return {"first": first, "samples": samples, "mean": samples.mean(), "odd": [None, True, "é", -0.0, float("nan")]}


def reconstructed(path):
    """Bodies from six points of a file; compiled code of several rooms."""
    motion = ps.load(path)
    body = ps.Humanoid(motion.skeleton)
    result = ps.SequentialIK(body).track(body.markers(motion.pose), fps=motion.fps)
    return {"rotations": result.motion.pose.rotations, "errors": result.marker_errors, "status": result.status}


def sometimes_wrong(number):
    """Raises for every third number."""
    if number % 3 == 0:
        raise ValueError(f"{number} is a multiple of three")
    return number * 0.1


def deadly(number):
    """Kills its process for number 5, wants to end it for 7."""
    time.sleep(0.01)
    # By name, not by what is imported: processes live on, and another test's work may have brought pytest along.
    assert multiprocessing.current_process().name != "MainProcess", "not in the process that runs the tests"
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        sys.exit("enough")
    return number


def deadly_once(number, folder):
    """Kills its process the first time that number 3 is tried."""
    mark = Path(folder) / "tried"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def slow(number):
    """Where it was done, and a number that needs all its digits."""
    time.sleep(0.05)
    return [os.getpid(), number / 7.0]


def threads(_number):
    """How many threads compiled loops would use, and in which process."""
    from posable.compute import thread_count

    return [thread_count(), os.getpid()]


def busy_threads(_number, seconds=0.5):
    """How many threads of this process work while a batch is called again and again, as the system counts them.

    None of `posable.jobs` in it: somebody calls a solver in a task of a cluster's own.
    """
    from posable.math import exp

    vectors = np.random.default_rng(0).normal(size=(100_000, 3))
    exp(vectors)
    before, began = _thread_times(), time.monotonic()
    while time.monotonic() - began < seconds:
        exp(vectors)
    used = [now - before.get(thread, 0.0) for thread, now in _thread_times().items()]
    return sum(one > 0.3 * max(used) for one in used)  # a cluster has threads of its own, for its messages


def _thread_times():
    """Processor time of each thread of this process, in nanoseconds."""
    found = {}
    for path in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            found[path.name] = int((path / "schedstat").read_text().split()[0])
    return found


def read_text(path):
    """The text of a file."""
    return Path(path).read_text()


def copy_to(path, folder):
    """Writes a file of its own."""
    target = Path(folder) / Path(path).name
    target.write_text(Path(path).read_text().upper())
    return str(target)


def odd(number):
    """Gives what no store keeps."""
    return {"fine": 1, "bad": {number}}


if __name__ == "__main__":  # the driver that tests kill
    store, mode = sys.argv[1:]
    told = ps.jobs.run(
        drawn, ps.jobs.blocks(120, 2), settings={"seed": 3, "wait": 0.04}, store=store, engine="local", workers=2
    )
    print(mode, told.computed, told.skipped)

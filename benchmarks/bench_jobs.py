"""The mapper beside a plain loop: what a job costs besides its work, and what many cores give.

Times of all contenders are per item, of the same items; the plain loop uses one core and keeps nothing.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import posable as ps
from posable.evaluate.tasks import reconstruct_file

from .harness import Contender, Table, compare

CLIPS = 24
NOTHING = 2000


def run() -> list[Table]:
    with tempfile.TemporaryDirectory() as scratch:
        return [_clips(Path(scratch)), _nothing(Path(scratch))]


def _clips(scratch: Path) -> Table:
    """Reconstructing clips of four seconds from six points: reading, solving, writing."""
    (scratch / "in").mkdir()
    jobs = []
    for k in range(CLIPS):
        file = scratch / "in" / f"{k:02d}.bvh"
        ps.save(ps.samples.walk(ps.figure(1.5 + 0.01 * k), duration=4.0), file)
        jobs.append({"file": file, "output": str(scratch / f"{k:02d}.npz"), "body": None})

    def mapped(workers: int | None, store: bool) -> None:
        told = ps.jobs.run(
            reconstruct_file, jobs, store=_fresh(scratch) if store else None, engine="local", workers=workers
        )
        assert told.ok, told.failures[0]

    return compare(
        f"Reconstructing {CLIPS} BVH clips of 241 frames, a clip",
        [
            Contender("a plain loop", lambda: [reconstruct_file(job) for job in jobs], CLIPS),
            Contender("jobs.run, one worker", lambda: mapped(1, False), CLIPS),
            Contender("jobs.run, all cores", lambda: mapped(None, False), CLIPS),
            Contender("jobs.run, all cores, with a store", lambda: mapped(None, True), CLIPS),
        ],
        unit="ms",
        seconds=10,
    )


def _nothing(scratch: Path) -> Table:
    """Items that cost nothing: what the mapper itself costs."""
    done = scratch / "done"
    ps.jobs.run(hardly, range(NOTHING), store=done, workers=1)

    def mapped(workers: int | None, store: Path | None) -> None:
        ps.jobs.run(hardly, range(NOTHING), store=store, engine="local", workers=workers)

    return compare(
        f"{NOTHING} items that need no work, an item",
        [
            Contender("a plain loop", lambda: [hardly(k) for k in range(NOTHING)], NOTHING),
            Contender("one worker", lambda: mapped(1, None), NOTHING),
            Contender("all cores", lambda: mapped(None, None), NOTHING),
            Contender("all cores, with a store", lambda: mapped(None, _fresh(scratch)), NOTHING, "a file each"),
            Contender("all of it there already", lambda: mapped(None, done), NOTHING, "each file read and checked"),
        ],
        unit="µs",
        seconds=5,
    )


def hardly(number: int) -> float:
    """Next to no work."""
    return number * 0.5


_stores = itertools.count()


def _fresh(scratch: Path) -> Path:
    return scratch / f"store{next(_stores)}"

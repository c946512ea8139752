"""Memory for a million poses of a 31-joint body: what is kept, and the peak while it is made.

Each measurement is a new process that reports the peak of its own resident memory, less that of the same process with
one pose in place of the million.
"""

from __future__ import annotations

import os

from .harness import Table, fresh_python, table

MILLION = 1_000_000

SETUP = """
import resource, numpy as np, posable as ps
count, joints = {count}, 31
offsets = np.zeros((joints, 3)); offsets[1:, 1] = 0.1
skeleton = ps.Skeleton([f"j{{j}}" for j in range(joints)], range(-1, joints - 1), offsets)
rotations = np.zeros((count, joints, 4)); rotations[..., 0] = 1.0
pose = ps.Pose(np.ones((count, 3)), rotations)
"""
REPORT = "\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"

JOBS = {
    "the poses": ("", "translation and local rotations, float64"),
    "poses and all joints in the world": (
        "frames = skeleton.forward(pose)",
        "a place and an orientation for each joint of each",
    ),
    "one joint only, in blocks of 10,000": (
        "kept = np.empty((count, 3))\n"
        "for i in range(0, count, 10_000):\n"
        "    kept[i : i + 10_000] = skeleton.forward(pose[i : i + 10_000]).positions[:, -1]",
        "how to follow a few joints of many poses",
    ),
}


def run() -> list[Table]:
    # A million poses and their frames take 2.7 GB; on a smaller machine a tenth of it is measured.
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    count = MILLION if pages > 6e9 else MILLION // 10
    samples = {}
    for name, (job, note) in JOBS.items():
        empty = _peak(job, 1)
        samples[name] = ([(_peak(job, count) - empty) * 1024 / count], note)
    floor = 8 * (3 + 31 * 4)
    note = f"A pose of 31 joints is {floor} bytes of numbers; bytes a pose are megabytes a million."
    return [table(f"Peak memory, {count:,} poses of 31 joints", "bytes a pose", samples, note=note)]


def _peak(job: str, count: int) -> float:
    """Peak resident memory [KiB] of a process that does the job."""
    return float(fresh_python(SETUP.format(count=count) + job + REPORT)[1].split()[-1])

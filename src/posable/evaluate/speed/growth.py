"""How times grow with the rows of a batch, the joints of a body and what stands around it; and what the floors are."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ...body import MARKERS
from ...classic import DLS, Effector
from ...collision import Scene
from ...compute import thread_count, threads
from ...express import ERIK, Chain
from ...limb import Target
from ...reach import Behaviour, Reacher
from ...reconstruct import SequentialIK
from ...samples import dance
from ...skeleton import Pose, Skeleton
from .cases import arm_postures, hand_targets, person, random_poses
from .judge import arm_frames
from .record import Series

ROWS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
JOINTS = (4, 8, 16, 32, 64, 128, 256)
BOXES = (0, 1, 4, 16, 64, 256)
COPIED = 64_000_000  # bytes, more than a cache holds
SAMPLES = 7
LONGEST = 1.0  # [s] of one call: a line ends where the next point would take longer

__all__ = ["floors", "growth"]


def growth() -> list[Series]:
    """Return the lines of the plots: along rows of a batch, joints and obstacles, on one core, processor time."""
    with threads(1):
        return [*_rows(), *_joints(), *_obstacles()]


def floors() -> list[tuple[str, float, str]]:
    """Return what nothing on this machine can be faster than: how fast memory is, and what that gives for poses.

    A pose of the figure is read once and its joints are written once; what is written is read before, too, as
    processors do.
    """
    found = []
    joints = len(person().skeleton)
    each = 8 * (3 + 4 * joints + 2 * (3 + 4) * joints)
    for count in sorted({1, thread_count()}):
        bandwidth = _bandwidth(count)
        on = "one core" if count == 1 else f"{count} cores"
        found.append((f"memory read and written, {on}", bandwidth / 1e9, "GB/s"))
        found.append((f"forward kinematics of {joints} joints at that rate, {on}", 1e6 * each / bandwidth, "µs a pose"))
    return found


def _bandwidth(count: int) -> float:
    """Return bytes a second that copying moves, the best of some; by one core in processor time, else wall-clock."""
    source, target = np.ones((count, COPIED // 8)), np.empty((count, COPIED // 8))
    with ThreadPoolExecutor(count) as pool:

        def copy() -> None:
            list(pool.map(np.copyto, target, source))

        copy()
        best = min(_seconds(copy, time.process_time if count == 1 else time.perf_counter) for _ in range(SAMPLES))
    return 3 * source.nbytes / best  # read, read before writing, written


def _rows() -> Iterator[Series]:
    body, motion = person(), dance(person())
    arm, reacher = body.limb("right_arm"), Reacher(body, right=Behaviour.default(body, "right_arm"))
    solver, points = SequentialIK(body), np.resize(body.markers(motion.pose), (ROWS[-1], len(MARKERS), 3))
    end, orientation = arm_frames(arm_postures(ROWS[-1]), arm.upper, arm.lower)
    poses, targets = random_poses(ROWS[-1]), hand_targets(ROWS[-1])
    jobs: dict[str, Callable[[int], object]] = {
        "forward kinematics": lambda n: body.skeleton.forward(poses[:n]),
        "an arm, searched": lambda n: arm.solve(end[:n], orientation[:n]),
        "a whole-body reach": lambda n: reacher.solve(right=Target(targets[:n])),
        "a body from six points": lambda n: solver.solve(points[:n]),
    }
    for name, job in jobs.items():
        yield _line("rows", "rows of a batch, one core", "µs a row", name, ROWS, partial(partial, job), each=True)


def _joints() -> Iterator[Series]:
    def skeleton(count: int) -> Skeleton:
        return Skeleton([f"j{k}" for k in range(count)], range(-1, count - 1), np.full((count, 3), 0.05))

    def forward(count: int) -> Callable[[], Any]:
        chain, rng = skeleton(count), np.random.default_rng(0)
        rotations = rng.normal(size=(256, count, 4))
        poses = Pose(np.zeros((256, 3)), rotations / np.linalg.norm(rotations, axis=-1, keepdims=True))
        return lambda: [chain.forward(poses) for _ in range(4)]

    def damped(count: int) -> Callable[[], Any]:
        chain = skeleton(count)
        solver, target = DLS(chain, [Effector(count - 1)]), np.full((1, 3), 0.03 * count)
        return lambda: solver.solve(target)

    def erik(count: int) -> Callable[[], Any]:
        chain = Chain.from_axes(("YXXZ" * count)[:count])
        solver, rng = ERIK(chain, "erik"), np.random.default_rng(0)
        postures, targets = rng.uniform(-0.5, 0.5, (32, count)), rng.normal(size=(32, 4))
        return lambda: solver.solve(postures, targets)

    jobs = {"forward kinematics, 1024 poses": forward, "damped least squares, one target": damped}
    for name, job in (jobs | {"ERIK, 32 postures": erik}).items():
        counts = JOINTS[:4] if job is erik else JOINTS
        yield _line("joints", "joints, one core", "µs a call", name, counts, job)


def _obstacles() -> Iterator[Series]:
    body = person()
    target = Target(np.array([-0.35, 1.2, 0.45]))

    def scene(count: int) -> Scene:
        rng, made = np.random.default_rng(0), Scene()
        for k in range(count):
            made.box(f"box{k}", (0.1, 0.1, 0.1), tuple(rng.uniform([-2.0, 0.0, 0.9], [2.0, 2.0, 3.0])))
        return made

    def reach(count: int) -> Callable[[], Any]:
        solver = Reacher(body, right=Behaviour.default(body, "right_arm"), scene=scene(count))
        return lambda: solver.solve(right=target)

    def hand(count: int) -> Callable[[], Any]:
        around = scene(count)
        return lambda: body.place(body.neutral_pose, "right_hand", target, scene=around, self_collision=True)

    for name, job in (("a whole-body reach", reach), ("a hand of the body", hand)):
        yield _line("obstacles", "boxes in the scene, one core", "µs a call", name, BOXES, job)


def _line(
    plot: str,
    along: str,
    unit: str,
    name: str,
    counts: tuple[int, ...],
    job: Callable[[int], Callable[[], Any]],
    each: bool = False,
) -> Series:
    """Return a line of a plot: the median time of a job of each size; of an input where `each`."""
    x, y = [], []
    for count in counts:
        call = job(count)
        call()
        once = _seconds(call)
        median = statistics.median(_seconds(call) for _ in range(SAMPLES))
        x.append(float(count))
        y.append(1e6 * median / (count if each else 1))
        if 4.0 * once > LONGEST:
            break
    return Series(plot=plot, along=along, unit=unit, name=name, x=x, y=y)


def _seconds(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of a call, of several where one is too short to be seen."""
    began = clock()
    call()
    once = clock() - began
    repeats = max(1, int(2e-3 / max(once, 1e-7)))
    began = clock()
    for _ in range(repeats):
        call()
    return (clock() - began) / repeats

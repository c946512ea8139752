"""`posable bench`: how fast the solvers are on this machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .output import JsonOption, progress, show_table, write_json

ROUNDS = 7


def bench(
    seconds: Annotated[float, typer.Option(min=0.01, help="About how long each is measured.")] = 1.0,
    json: JsonOption = None,
) -> None:
    """Measure the calls people make most, on the built-in figure: the median of seven rounds, per pose.

    `make bench` in a clone compares with other libraries; this tells what your machine does.
    """
    rows = []
    with progress("measuring") as fraction:
        jobs = _jobs()
        for k, (name, call, poses) in enumerate(jobs):
            rows.append({"call": name, "poses": poses, **_measured(call, poses, seconds)})
            fraction((k + 1) / len(jobs))
    if not write_json(json, {"calls": rows}):
        show_table("", rows)


def _jobs() -> list[tuple[str, Callable[[], Any], int]]:
    """(what is called, the call, how many poses it gives)."""
    import numpy as np

    from .. import samples
    from ..body import figure
    from ..limb import Target
    from ..reach import Behaviour, Reacher
    from ..reconstruct import SequentialIK

    body = figure()
    walk = samples.walk(body)
    pose, target = walk[0], Target(np.array([-0.3, 1.2, 0.4]))
    points, solver = body.markers(walk.pose), SequentialIK(body)
    reacher = Reacher(body, right=Behaviour.default(body, "right_arm"))
    return [
        ("skeleton.forward, one pose", lambda: body.skeleton.forward(pose), 1),
        ("skeleton.forward, a motion", lambda: body.skeleton.forward(walk.pose), len(walk)),
        ("body.place, one hand", lambda: body.place(pose, "right_hand", target), 1),
        ("Reacher.solve, the whole body", lambda: reacher.solve(right=target), 1),
        ("SequentialIK.solve, one pose", lambda: solver.solve(points[0]), 1),
        ("SequentialIK.track, a motion", lambda: solver.track(points, fps=walk.fps), len(walk)),
    ]


def _measured(call: Callable[[], Any], poses: int, seconds: float) -> dict[str, float]:
    """Microseconds a pose, and poses a second; the first call, which may compile, does not count."""
    call()
    began = time.perf_counter()
    call()
    times = max(1, round(seconds / ROUNDS / max(time.perf_counter() - began, 1e-7)))
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            call()
        rounds.append((time.perf_counter() - began) / times / poses)
    middle = statistics.median(rounds)
    return {"microseconds_a_pose": round(1e6 * middle, 3), "poses_a_second": round(1.0 / middle, 1)}

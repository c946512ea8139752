"""One 7-DoF arm beside other libraries: reachable places and orientations of the hand, to the posture that has them.

The arm has the bones of a human one, a shoulder and a wrist of three hinges each and an elbow. Targets are the hands of
random postures inside the human limits, the same for all. Ours keeps the human limits; the others keep those of their
hinges, the box around ours, so they may stand wherever we may and elsewhere too. An answer counts when pinocchio's
forward kinematics finds the hand within 1e-6 m and 1e-6 rad of the target and the posture is inside its limits. The
others are installed apart, since placo asks for an older pinocchio: `make bench-peers`.
"""

from __future__ import annotations

import math
import tempfile
import time
import timeit
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import posable as ps
from posable.jobs.executors import one_thread

from .harness import Contender, Table, table

PEERS = ("eaik", "mink", "pink", "pinocchio", "placo", "roboticstoolbox")
COUNT, ROUNDS, BATCH = 500, 5, 1_000
HELD = 0.3
"""[rad] how the upper arm is turned in the targets of the batches."""
AROUND = ps.limb.Search(math.radians(30), -math.pi, math.pi, step=math.radians(2), growth=0.0)


def run() -> list[Table]:
    if missing := [name for name in PEERS if find_spec(name) is None]:
        print(f"{', '.join(missing)} not installed: make bench-peers")
        return []
    from . import arm

    with one_thread(), tempfile.TemporaryDirectory() as folder:
        one = arm.Arm(Path(folder))
        targets = one.targets(COUNT)
        return [_searched(one, targets), _given(one, targets), _batches(one)]


def _searched(arm, targets) -> Table:
    """From a target to one posture inside the limits."""
    from . import arm_solvers as others
    from .arm import hinges_of, inside

    ours = [_ours("posable", "its default search, swivels from -15° to 130°", targets)]
    ours += [_ours("posable, all the way round", "Search(30°, -180°, 180°, step=2°, growth=0)", targets, AROUND)]
    peers = [
        others.eaik_search(arm, targets),
        others.toolbox(arm, targets, k=0.1, ilimit=15),
        others.placo(arm, targets),
        others.clik(arm, targets),
        others.clik_example(arm, targets),
        others.pink(arm, targets),
        others.mink(arm, targets),
    ]
    times = _times([*ours, *peers])
    samples, always = {}, {}
    for solver, taken in zip([*ours, *peers], times):
        answers = np.array([solver.solve(i) for i in range(len(targets))])
        hinges = hinges_of(answers) if solver in ours else answers
        good = arm.reached(hinges, targets) & inside(hinges)
        if solver in ours:
            good &= arm.human(answers)
        if good.all() and solver not in ours and "EAIK" not in solver.name:
            always[solver.name] = taken
        note = f"{100 * good.mean():.1f} % reached, mean {taken.mean():,.0f} µs; {solver.settings}"
        samples[solver.name] = (taken.tolist(), note)
    fastest = min(always, key=lambda name: float(np.median(always[name])))
    said = f"Of the numerical ones that always succeed, {fastest} is the fastest: {_beside(times[1], always[fastest])}"
    said += f" all the way round. EAIK: {_beside(times[1], times[2])}."
    return table(f"One target, {len(targets)} of them one by one", "µs", samples, note=said)


def _beside(ours: np.ndarray, theirs: np.ndarray) -> str:
    middle, mean = np.median(theirs) / np.median(ours), theirs.mean() / ours.mean()
    return f"it takes {middle:.1f} times ours by the median and {mean:.1f} times by the mean"


def _ours(name: str, settings: str, targets, search: ps.limb.Search | None = None):
    from .arm import LOWER, UPPER
    from .arm_solvers import Solver

    limb = ps.Limb("right_arm", UPPER, LOWER, limits=ps.Limits.human(), search=search)
    places, turns = list(targets.places), list(targets.turns)
    return Solver(name, settings, lambda i: limb.solve(places[i], turns[i]).values)


def _given(arm, targets) -> Table:
    """The arm's one freedom given as well: a single exact solve."""
    from .arm import LOWER, UPPER, hinges_of
    from .arm_solvers import Solver, eaik_held

    limb = ps.Limb("right_arm", UPPER, LOWER)
    places, turns = list(targets.places), list(targets.turns)
    ours = Solver("posable, swivel given", "one posture", lambda i: limb.solve(places[i], turns[i], swivel=0.5).values)
    theirs = eaik_held(arm, targets)
    assert arm.reached(hinges_of(np.array([ours.solve(i) for i in range(len(targets))])), targets).all()
    for i, own in enumerate(targets.hinges):
        assert np.abs(np.sin(0.5 * (theirs.solve(i) - own))).max(axis=-1).min() < 1e-6
    times = _times([ours, theirs])
    samples = {solver.name: (taken.tolist(), solver.settings) for solver, taken in zip((ours, theirs), times)}
    return table("One target and where the elbow goes", "µs", samples)


def _batches(arm) -> Table:
    """All on one core. EAIK holds one angle for a whole batch, so every target has the upper arm turned by it."""
    from eaik.IK_HP import HPRobot

    from .arm import AXES, LOWER, STEPS, UPPER

    targets = arm.targets(BATCH, seed=1, held=HELD)
    places, turns, goals = targets.places, targets.turns, list(targets.matrices)
    robot, free = HPRobot(AXES, STEPS, [(2, HELD)]), ps.Limb("right_arm", UPPER, LOWER)
    swivel = np.full(BATCH, 0.5)
    assert free.solve(places, turns, swivel=swivel).ok.mean() > 0.999
    assert all(len(found.Q) for found in robot.IK_batched(goals, 1))
    told = "IK_batched, one thread; all of up to 8 postures, limits not looked at"
    contenders = [
        Contender("posable, swivel given", lambda: free.solve(places, turns, swivel=swivel), BATCH),
        Contender("EAIK, upper arm's turn given", lambda: robot.IK_batched(goals, 1), BATCH, told),
    ]
    for name, search in (("posable, searched", None), ("posable, all the way round", AROUND)):
        limb = ps.Limb("right_arm", UPPER, LOWER, limits=ps.Limits.human(), search=search)
        found = f"{100 * limb.solve(places, turns).ok.mean():.1f} % reached"
        contenders.append(Contender(name, partial(limb.solve, places, turns), BATCH, found))
    return _batch_table(contenders)


def _batch_table(contenders: Sequence[Contender], rounds: int = 15) -> Table:
    """Neighbours interrupt calls of milliseconds, so processor time counts, and of each round the best of five."""
    samples: dict[str, tuple[list[float], str]] = {one.name: ([], one.note) for one in contenders}
    for one in rounds * list(contenders):
        best = min(timeit.repeat(one.run, timer=time.process_time, number=1, repeat=5))
        samples[one.name][0].append(1e6 * best / one.units)
    return table(f"{BATCH:,} targets in one call on one core, processor time of each", "µs", samples)


def _times(solvers: Sequence) -> list[np.ndarray]:
    """(COUNT,) [µs] for each solver: every target's median over rounds, solvers taking turns round by round."""
    taken = np.zeros((len(solvers), ROUNDS, COUNT))
    for solver in solvers:
        for i in range(20):
            solver.solve(i)
    for turn in range(ROUNDS):
        for k in range(len(solvers)):
            at = (k + turn) % len(solvers)
            solve = solvers[at].solve
            for i in range(COUNT):
                start = time.perf_counter()
                solve(i)
                taken[at, turn, i] = time.perf_counter() - start
    return list(1e6 * np.median(taken, axis=1))

"""Expression while aiming: one call, batches and tracks of ERIK and best on five joints, beside forward kinematics.

The paper: 28 to 74 ms a solution on its skeletons, ERIK 4.5 times as fast as damped least squares.
"""

from __future__ import annotations

import numpy as np

import posable as ps
import posable.math as pm
from posable.evaluate.express import dls, drawn

from .harness import Contender, Table, compare

ROWS = 2000
FRAMES = 600


def run() -> list[Table]:
    return [_single(), _batch(), _track(), _filter()]


def _single() -> Table:
    """Samples of skeleton C one after the other, so that the mean over easy and hard ones counts."""
    chain, postures, targets = drawn("C", 0, 0, 200)
    solvers = {
        "ERIK": ps.ERIK(chain, "erik"),
        "best": ps.ERIK(chain),
        "best, may stop at the threshold": ps.ERIK(chain, stop_at_threshold=True),
        "simple": ps.ERIK(chain, "simple"),
    }

    def each(solver: ps.ERIK) -> None:
        for posture, target in zip(postures, targets):
            solver.solve(posture, target)

    rows = [Contender("forward kinematics of the chain", lambda: [chain.forward(p) for p in postures], len(postures))]
    rows += [Contender(name, lambda s=solver: each(s), len(postures)) for name, solver in solvers.items()]
    return compare("Skeleton C (five joints), one call each, a solution", rows)


def _batch() -> Table:
    chain, postures, targets = drawn("C", 0, 0, ROWS)
    solvers = {"ERIK": ps.ERIK(chain, "erik"), "best": ps.ERIK(chain), "simple": ps.ERIK(chain, "simple")}
    few = postures[:100], targets[:100]
    rows = [Contender("forward kinematics of the chain", lambda: chain.forward(postures), ROWS)]
    rows += [Contender(name, lambda s=solver: s.solve(postures, targets), ROWS) for name, solver in solvers.items()]
    rows.append(Contender("damped least squares, 100 iterations (NumPy)", lambda: dls(chain, *few, 100), len(few[0])))
    return compare(f"Skeleton C, {ROWS} at once, a solution", rows)


def _track() -> Table:
    chain = ps.express.SKELETONS["C"]
    turns = pm.axis_angle((0.3, 0.8, -0.52), np.radians(np.arange(FRAMES)))
    posture = np.array([0.0, 0.6, -0.8, 0.4, 0.0])
    solvers = {"ERIK": ps.ERIK(chain, "erik"), "best": ps.ERIK(chain)}
    angles = solvers["best"].track(posture, turns).angles
    rows = [Contender("forward kinematics of the chain", lambda: chain.forward(angles), FRAMES)]
    rows += [Contender(name, lambda s=solver: s.track(posture, turns), FRAMES) for name, solver in solvers.items()]
    return compare("Skeleton C, a target that turns by a degree a frame, a frame", rows)


def _filter() -> Table:
    signal = np.cumsum(np.random.default_rng(0).normal(0, 0.05, (FRAMES, 5)), axis=0)
    kinds = {kind: ps.MotionFilter(3, 20, 200, kind=kind) for kind in ("nutty", "limits")}
    rows = [Contender(kind, lambda f=f: f.run(signal), FRAMES) for kind, f in kinds.items()]
    return compare("The motion filter on five joints, a frame", rows)

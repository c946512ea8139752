"""Reconstruction of a whole motion from its six points while the page stays responsive; the newest request wins."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....compute.types import Floats, Ints
from ....evaluate.measures import position_errors, root_mean_square, scored_joints
from ....skeleton import Motion
from ...core.actor import Actor
from ...core.worker import Worker

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import ReconstructTab

PROBE = 12
"""Frames that are reconstructed first, twice, to estimate the whole duration; the first time may compile."""


@dataclass(frozen=True, eq=False)
class ReconstructRequest:
    """A motion to reconstruct, and how."""

    actor: Actor
    """Performs the original motion."""
    body: Humanoid
    key: tuple[Any, ...]
    """Method, weights and untracked points: equal for equal requests about an actor."""
    points: Floats
    """(F, 6, 3) [m], NaN where a point is untracked."""
    make: Callable[[], Any]
    """Makes the solver."""


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """A reconstructed motion, and its distance from the original."""

    motion: Motion
    status: Ints
    """(F,) of `Status`."""
    errors: Floats
    """(F,) mean distance of the joints from the original's, in body heights."""
    overall: float
    """The paper's measure: root mean square of `errors`."""
    seconds: float
    """Computing time of the solver's `track`."""


class ReconstructJob(Worker[ReconstructRequest, Reconstructed]):
    """Reconstructs motions from their points."""

    def __init__(self, tab: ReconstructTab) -> None:
        super().__init__(tab.session, "reconstruct")
        self._tab = tab
        self._schedule: tuple[float, float] | None = None  # start and expected duration [s]

    @property
    def progress(self) -> float:
        """The estimated fraction of the work that is done, from 0 to 1."""
        if self._schedule is None:
            return 0.0
        start, duration = self._schedule
        return min((time.monotonic() - start) / max(duration, 1e-6), 0.99)

    def compute(self, request: ReconstructRequest) -> Reconstructed:
        """Reconstruct the motion and compare it with the original."""
        self._schedule = None
        solver, points, fps = request.make(), request.points, request.actor.motion.fps
        solver.solve(points[0])
        for _ in range(2):
            start = time.monotonic()
            solver.track(points[:PROBE], fps=fps)
            per_frame = (time.monotonic() - start) / max(len(points[:PROBE]), 1)
        self._tab.solver_ready(request, solver)  # compiled: the first run of a solver may take a minute
        start = time.monotonic()
        self._schedule = (start, per_frame * len(points))
        solution = solver.track(points, fps=fps)
        seconds = time.monotonic() - start
        body, joints = request.body, scored_joints(request.body).joints
        original, found = (
            body.skeleton.forward(motion.pose).positions[:, joints]
            for motion in (request.actor.motion, solution.motion)
        )
        errors = position_errors(original, found, body.joint_height)
        status = np.asarray(solution.status)
        return Reconstructed(solution.motion, status, errors.mean(axis=-1), root_mean_square(errors), seconds)

    def deliver(self, request: ReconstructRequest, result: Reconstructed | Exception) -> None:
        """Hand the result over."""
        self._tab.reconstructed(request, result)

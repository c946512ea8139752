"""`ReconstructStream`: a body that follows points as they arrive, a `SequentialIK` with a state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..body.roles import MARKERS
from ..compute import PosableError, ShapeError
from ..compute.types import ArrayLike, floats
from ..skeleton import Pose
from .filtering import FootLock, OneEuro, checked_smoothing
from .packed import new_state
from .solutions import ReconstructSolution, reconstruct_solution

if TYPE_CHECKING:
    from .sik import Orientations, SequentialIK


class ReconstructStream:
    """A body over time; made by `SequentialIK.stream`. One stream serves one body, from one thread."""

    def __init__(self, solver: SequentialIK, fps: float, smoothing: float | None, lock_feet: bool) -> None:
        if not (math.isfinite(fps) and fps > 0.0):
            raise PosableError(f"fps is {fps}; expected a number above 0")
        self.solver, self.fps = solver, fps
        count = len(solver.markers)
        points = np.empty((1, count, 3))
        self._plain = solver._rows(points, np.empty((0, 6, 4)))
        self._with_orientations = solver._rows(points, np.empty((1, 6, 4)))
        seconds = checked_smoothing(smoothing)
        self._smooth = None if seconds is None else OneEuro(seconds, solver.body.joint_height)
        self._smooth_orientations = None if seconds is None else OneEuro(seconds, 1.0, quaternions=True)
        self._lock = FootLock(solver.markers, solver.body.leg_length) if lock_feet else None
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next step is as the first."""
        self._memory = new_state(1)
        for part in (self._smooth, self._smooth_orientations, self._lock):
            if part is not None:
                part.reset()

    def step(
        self, points: ArrayLike, orientations: Orientations | None = None, dt: float | None = None
    ) -> ReconstructSolution:
        """The body for the next points.

        Args:
            points: (M, 3) [m] in the order of the solver's `markers`; NaN for one that is lost, which is bridged.
            orientations: role to (4,), as for `SequentialIK.solve`; NaN, or left out, for one that is not known now.
            dt: [s] since the last step; a frame when not given.
        """
        step = 1.0 / self.fps if dt is None else dt
        if not (math.isfinite(step) and step > 0.0):
            raise PosableError(f"dt is {dt} s; expected a number above 0")
        given = floats(points, "points")
        rows = self._with_orientations if orientations else self._plain
        if given.shape != rows.points.shape[1:]:
            raise ShapeError(f"points have shape {given.shape}; expected {rows.points.shape[1:]}")
        if self._smooth is not None:
            given = self._smooth.step(np.where(np.isfinite(given), given, np.nan), step)
        rows.points[0] = given if self._lock is None else self._lock.step(given, step)
        if orientations:
            rotations = self.solver._orientations(orientations, ())
            rows.marker_orientations[:] = (
                rotations if self._smooth_orientations is None else self._smooth_orientations.step(rotations, step)
            )
            rows.missing[:] = np.nan
        self.solver._reconstruct(1, rows, self._memory, step)
        pose = Pose(rows.translation[0].copy(), rows.rotations[0].copy())
        errors = {role: rows.missing[0, MARKERS.index(role)] for role in orientations or ()}
        return reconstruct_solution(pose, rows.status, rows.residual[0].copy(), (), errors, rows.points[0].copy())

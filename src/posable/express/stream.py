"""`ErikStream`: a chain over time, step by step, for targets that arrive one at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError
from ..compute.types import ArrayLike, Floats
from ..skeleton.solution import status_like
from .erik import ERIK
from .solutions import ErikSolution, one_target


class ErikStream:
    """`ERIK` with a state; made by `ERIK.stream`. One stream serves one chain, from one thread."""

    def __init__(self, erik: ERIK, fps: float) -> None:
        if not (math.isfinite(fps) and fps > 0):
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        self.erik, self.fps = erik, float(fps)
        self.angles: Floats | None = None
        """(N,) of the last step, None before the first."""

    def reset(self, angles: ArrayLike | None = None) -> None:
        """Forget the past, or continue from these angles (N,)."""
        self.angles = None if angles is None else self.erik.chain.checked("angles", angles).copy()

    def step(
        self,
        posture: ArrayLike,
        orientation: ArrayLike | None = None,
        dt: float | None = None,
        *,
        direction: ArrayLike | None = None,
        look_at: ArrayLike | None = None,
    ) -> ErikSolution:
        """Return the angles for the next target, `dt` seconds after the last (a frame when not given)."""
        seconds = 1.0 / self.fps if dt is None else float(dt)
        if not (math.isfinite(seconds) and seconds > 0):
            raise PosableError(f"dt is {dt}; expected seconds above 0")
        kind, goal = one_target(orientation, direction, look_at)
        if np.ndim(goal) != 1:
            raise ShapeError(f"the {kind} has shape {np.shape(goal)}; a stream takes one target a step")
        options: dict[str, Any] = {
            {"orientation": "orientations", "direction": "directions"}.get(kind, kind): goal[None]
        }
        track = self.erik.track(posture, fps=1.0 / seconds, start=self.angles, **options)
        solution = ErikSolution(
            chain=track.chain,
            angles=track.angles[0],
            error=track.error[0].item(),
            orientation_score=track.orientation_score[0].item(),
            posture_error=track.posture_error[0].item(),
            iterations=track.iterations[0].item(),
            status=status_like(np.asarray(track.status), ()),
        )
        self.angles = np.array(solution.angles)
        return solution

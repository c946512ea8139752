"""A chain over time, step by step: for targets that come in as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, Status
from ..compute.types import ArrayLike, Floats
from .answers import ErikAnswer
from .erik import ERIK
from .inputs import one_of


class ErikStream:
    """`ERIK` with a memory; made by `ERIK.stream`. One stream serves one chain, from one thread."""

    def __init__(self, erik: ERIK, fps: float) -> None:
        if not (math.isfinite(fps) and fps > 0):
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        self.erik, self.fps = erik, float(fps)
        self.angles: Floats | None = None
        """(N,) of the last step, None before the first."""

    def reset(self, angles: ArrayLike | None = None) -> None:
        """Forget the past, or continue from these angles (N,)."""
        self.angles = None if angles is None else self.erik.chain._checked("angles", angles).copy()

    def step(
        self,
        posture: ArrayLike,
        orientation: ArrayLike | None = None,
        dt: float | None = None,
        *,
        direction: ArrayLike | None = None,
        look_at: ArrayLike | None = None,
    ) -> ErikAnswer:
        """The angles for the next target, `dt` seconds after the last (a frame when not given)."""
        seconds = 1.0 / self.fps if dt is None else float(dt)
        if not (math.isfinite(seconds) and seconds > 0):
            raise PosableError(f"dt is {dt}; expected seconds above 0")
        kind, goal = one_of(orientation, direction, look_at)
        if np.ndim(goal) != 1:
            raise ShapeError(f"the {kind} has shape {np.shape(goal)}; a stream takes one target a step")
        options: dict[str, Any] = {
            {"orientation": "orientations", "direction": "directions"}.get(kind, kind): goal[None]
        }
        told = self.erik.track(posture, fps=1.0 / seconds, start=self.angles, **options)
        answer = ErikAnswer(
            chain=told.chain,
            angles=told.angles[0],
            error=told.error[0].item(),
            orientation_error=told.orientation_error[0].item(),
            posture_error=told.posture_error[0].item(),
            iterations=told.iterations[0].item(),
            status=Status(int(told.status[0])),
        )
        self.angles = np.array(answer.angles)
        return answer

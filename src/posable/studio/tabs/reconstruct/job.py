"""Reconstructing a whole motion from its points while the page goes on: one worker, and the newest question wins."""

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
from ...core.session import Session
from ...core.worker import Worker

if TYPE_CHECKING:
    from ....body import Humanoid

PROBE = 12
"""Frames that are reconstructed first, twice, to tell how long the whole will take; the first time may compile."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be reconstructed, and how."""

    actor: Actor
    """The original."""
    body: Humanoid
    key: tuple[Any, ...]
    """How, and with which points: the same for the same question about an actor."""
    points: Floats
    """(F, 6, 3) [m], NaN where a point is lost."""
    make: Callable[[], Any]
    """Makes the solver."""


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """A motion that was reconstructed, and how far it is from the original."""

    motion: Motion
    status: Ints
    """(F,) of `Status`."""
    errors: Floats
    """(F,) distance of the joints from the original's, mean over them, in heights of the body."""
    overall: float
    """The paper's number: root mean square of `errors`."""
    seconds: float
    """That `track` took."""


class ReconstructJob(Worker[Question, Reconstructed]):
    """Reconstructs motions from their points.

    Args:
        session: told when there is an answer, and kept drawing while there is none.
        ready: called with a question and its solver once that has run: the first time it may compile for a minute.
        done: called with a question and its answer, or with the error that came instead.
    """

    def __init__(
        self,
        session: Session,
        ready: Callable[[Question, Any], None],
        done: Callable[[Question, Reconstructed | Exception], None],
    ) -> None:
        super().__init__(session, "reconstruct")
        self._ready, self._done = ready, done
        self._began: tuple[float, float] | None = None  # when, and how many seconds it will take

    @property
    def share(self) -> float:
        """About how much of it is done, from 0 to 1."""
        if self._began is None:
            return 0.0
        since, lasts = self._began
        return min((time.monotonic() - since) / max(lasts, 1e-6), 0.99)

    def compute(self, question: Question) -> Reconstructed:
        """The motion, reconstructed and compared with the original."""
        self._began = None
        solver, points, fps = question.make(), question.points, question.actor.motion.fps
        solver.solve(points[0])
        for _ in range(2):
            began = time.monotonic()
            solver.track(points[:PROBE], fps=fps)
            each = (time.monotonic() - began) / max(len(points[:PROBE]), 1)
        self._ready(question, solver)
        began = time.monotonic()
        self._began = (began, each * len(points))
        answer = solver.track(points, fps=fps)
        seconds = time.monotonic() - began
        errors = joint_errors(question.body, question.actor.motion, answer.motion)
        return Reconstructed(
            answer.motion, np.asarray(answer.status), errors.mean(axis=-1), root_mean_square(errors), seconds
        )

    def deliver(self, question: Question, answer: Reconstructed | Exception) -> None:
        """Hand it over."""
        self._done(question, answer)


def joint_errors(body: Humanoid, original: Motion, reconstructed: Motion) -> Floats:
    """(F, K) distances of the scored joints, in heights of the body."""
    joints = scored_joints(body).joints
    there, here = (body.skeleton.forward(motion.pose).positions[:, joints] for motion in (original, reconstructed))
    return position_errors(there, here, body.joint_height)

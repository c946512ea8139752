"""Solutions of chains: angles that hold a posture while aiming; and the rows between callers and kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..compute import PosableError
from ..compute.gpu_arrays import GpuArray, contiguous, unwrapped, wrapped
from ..compute.types import ArrayLike, Bools, Floats, Records, floats
from ..skeleton import Motion, Pose, Solution
from ..skeleton.solution import StatusLike, status_like

if TYPE_CHECKING:
    from .chain import Chain


@dataclass(frozen=True, eq=False, repr=False)
class ErikSolution(Solution):
    """Angles that hold a posture while the tip aims, for one target or a batch."""

    chain: Chain
    angles: Floats
    """(..., N) [rad; m for slides], inside the limits."""
    error: Any
    """(...): orientation score + 0.2 posture error (Eq. 19); infinite where the input is INVALID."""
    orientation_score: Any
    """(...): the paper's measure sqrt(2) sin(angle / 4) of the angle to the target (Eq. 20); 0.354 a radian near 0."""
    posture_error: Any
    """(...), unweighted: 0 where every bend is the posture's, at most 1 (Eq. 21)."""
    iterations: Any
    """(...): iterations of `erik`; starts that `best` tried."""
    status: StatusLike
    """REACHED where the tip of these angles is within the solver's tolerance of its target, whatever the posture."""

    @property
    def position_error(self) -> Floats:
        """(...) [m]: 0, since the tip has no target position; infinite where the input is INVALID."""
        error = wrapped(self.error)
        away = np.where(np.isfinite(error), 0.0, np.inf)
        return unwrapped(away.astype(error.floats) if isinstance(error, GpuArray) else away)  # type: ignore[no-any-return]

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad] between the tip and its target: orientation, direction or point looked at."""
        score = floats(self.orientation_score, "orientation_score")
        sine = np.where(np.isfinite(score), score, 0.0) / math.sqrt(2.0)
        angle = 4.0 * np.arcsin(np.where(sine < 1.0, sine, 1.0))
        return unwrapped(np.where(np.isfinite(score), angle, np.inf))  # type: ignore[no-any-return]

    @property
    def pose(self) -> Pose:
        """The pose of the chain's skeleton."""
        return self.chain.pose(self.angles)


@dataclass(frozen=True, eq=False, repr=False)
class ErikMotionSolution(ErikSolution):
    """Angles that follow a moving target, frame after frame: (..., F, N)."""

    _rows: ClassVar[str] = "frames"

    fps: float
    jumped: Bools
    """(..., F): frames in which a joint moved further than the solver's `speed` allows."""

    @property
    def motion(self) -> Motion:
        """The motion of the chain's skeleton, for a single track."""
        return Motion(self.chain.skeleton, self.pose, self.fps)


def solution_fields(report: Records, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields of an `ErikSolution` from the kernels' reports, in the batch's shape."""

    def shaped(values: Any) -> Any:
        if isinstance(values, GpuArray):
            return values.reshape(shape).array
        return values.reshape(shape) if shape else values[0].item()

    return {
        "error": shaped(report["error"]),
        "orientation_score": shaped(report["orientation"]),
        "posture_error": shaped(report["posture"]),
        "iterations": shaped(report["iterations"]),
        "status": status_like(report["status"], shape),
    }


def unit_rows(vectors: Floats) -> Floats:
    """Return vectors or quaternions (..., K) of length 1; zero stays zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(vectors, axis=-1, keepdims=True)
        largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0.0)
    # Squares of huge and tiny numbers are infinite and zero: those are divided by their largest first.
    extreme = np.isfinite(largest) & (largest > 0.0) & ~((length > 1e-150) & (length < 1e150))
    scaled = vectors / np.where(extreme, largest, 1.0)
    length = np.where(extreme, np.linalg.norm(np.where(extreme, scaled, 0.0), axis=-1, keepdims=True), length)
    return np.asarray(scaled / np.where(length > 0.0, length, 1.0))


def rows_of(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return values broadcast to the batch's shape, as contiguous rows that may be written to."""
    last = values.shape[-1]
    if values.shape[:-1] != shape:
        values = np.broadcast_to(values, (*shape, last)).copy()  # kernels are compiled for arrays one may write to
    if isinstance(values, GpuArray):
        return contiguous(values).reshape(-1, last)
    values = np.ascontiguousarray(values).reshape(-1, last)
    return values if values.flags.writeable else values.copy()


def one_target(
    orientation: ArrayLike | None, direction: ArrayLike | None, look_at: ArrayLike | None
) -> tuple[str, Floats]:
    """Return (kind, array) of the one kind of target that is given; raise where none is, or several are."""
    given = {"orientation": orientation, "direction": direction, "look_at": look_at}
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) != 1:
        raise PosableError(f"expected one of orientation, direction or look_at; got {', '.join(named) or 'none'}")
    kind, value = next(iter(named.items()))
    return kind, floats(value, kind, 4 if kind == "orientation" else 3)

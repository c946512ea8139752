"""Solutions of Sequential IK: a pose of one moment, or a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..compute.types import Bools, Floats, Ints
from ..skeleton import Motion, MotionSolution, Pose, PoseSolution
from ..skeleton.solution import status_like


@dataclass(frozen=True, eq=False, repr=False)
class ReconstructSolution(PoseSolution):
    """Bodies from points: REACHED where all points are met within 1e-6 m."""

    marker_errors: Floats
    """(..., M) [m] between each of the solver's `markers` and its point; infinite for a point that is not finite."""
    marker_orientation_errors: Mapping[str, Floats] = field(default_factory=dict)
    """Role to (...) [rad] between the requested orientation and the body's; NaN where none was given."""
    lost: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    """(..., M) which points were not finite."""
    points: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """(..., M, 3) [m] the target points: as given, or filtered where a stream does that."""


@dataclass(frozen=True, eq=False, repr=False)
class ReconstructMotionSolution(MotionSolution):
    """A motion from moving points: REACHED where all points are met within 1e-6 m, INVALID where one was lost."""

    marker_errors: Floats
    """(F, M) [m] between each of the solver's `markers` and its point of `points`; infinite for a lost one."""
    marker_orientation_errors: Mapping[str, Floats]
    """Role to (F,) [rad] between the requested orientation and the body's; NaN where none was given."""
    lost: Bools
    """(F, M) which points were not finite and were bridged."""
    points: Floats
    """(F, M, 3) [m] the target points: as given, or smoothed and with locked feet."""


def reconstruct_solution(
    pose: Pose,
    statuses: Ints,
    marker_errors: Floats,
    shape: tuple[int, ...],
    orientation_errors: Mapping[str, Floats],
    points: Floats,
    lost: Bools | None = None,
) -> ReconstructSolution:
    """Return the solution of rows (N,) in the batch's shape, with the largest error of all markers of each.

    `lost` (..., M) are points that were not finite; None: those whose error is infinite.
    """
    errors = marker_errors.reshape(*shape, marker_errors.shape[-1])
    worst = errors.max(axis=-1) if errors.shape[-1] else np.zeros(shape)
    angles = np.where(worst == np.inf, np.inf, 0.0)
    for angle in orientation_errors.values():
        angles = np.fmax(angles, angle)
    lost = np.isinf(errors) if lost is None else lost
    return ReconstructSolution(
        pose, status_like(statuses, shape), worst, angles, errors, dict(orientation_errors), lost, points
    )


def motion_solution(motion: Motion, frames: ReconstructSolution) -> ReconstructMotionSolution:
    """Return the solution of a motion whose frames were solved one after the other."""
    return ReconstructMotionSolution(
        motion,
        np.asarray(frames.status, dtype=np.int8),
        frames.position_error,
        frames.orientation_error,
        frames.marker_errors,
        frames.marker_orientation_errors,
        frames.lost,
        frames.points,
    )

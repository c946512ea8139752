"""Solutions of Sequential IK: a pose of one moment, or a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..compute.extent import rows_in_extent
from ..compute.gpu_arrays import GpuArray, is_on_gpu, unwrapped, wrapped
from ..compute.types import Bools, Floats, Ints
from ..skeleton import Motion, MotionSolution, Pose, PoseSolution
from ..skeleton.solution import StatusLike, status_like

NO_ERRORS: Mapping[str, Floats] = MappingProxyType({})


class ReconstructSolution(PoseSolution):
    """Bodies from points: REACHED where all points are met within 1e-6 m. Everything but the pose is worked out when it
    is needed, which keeps a single call short.

    Args:
        pose: (...) the bodies.
        statuses: (N,) of all rows.
        marker_errors: (N, M) [m] of the markers.
        points: (..., M, 3) [m] the target points.
        orientation_errors: role to (...) [rad]; default none.
        lost: (..., M) points that were not finite; default None: those that are not, or are beyond the extent.
    """

    def __init__(
        self,
        pose: Pose,
        statuses: Ints,
        marker_errors: Floats,
        points: Floats,
        orientation_errors: Mapping[str, Floats] = NO_ERRORS,
        lost: Bools | None = None,
    ) -> None:
        fields = self.__dict__
        fields["pose"], fields["points"], fields["_status_rows"], fields["_lost"] = pose, points, statuses, lost
        fields["_marker_errors"], fields["marker_orientation_errors"] = marker_errors, orientation_errors

    if TYPE_CHECKING:
        points: Floats
        """(..., M, 3) [m] the target points: as given, or filtered where a stream does that."""
        marker_orientation_errors: Mapping[str, Floats]
        """Role to (...) [rad] between the requested orientation and the body's; NaN where none was given."""
        _status_rows: Ints
        _marker_errors: Floats
        _lost: Bools | None

    @property
    def status(self) -> StatusLike:
        """A `Status`, or an int8 array of them (...)."""
        return status_like(self._status_rows, self.pose.shape)

    @property
    def marker_errors(self) -> Floats:
        """(..., M) [m] between each of the solver's `markers` and its point; infinite for one that is not finite, and
        for all of a row that is answered with the neutral pose.
        """
        return unwrapped(self._marker_errors.reshape(*self.pose.shape, self._marker_errors.shape[-1]))  # type: ignore[no-any-return]

    @property
    def position_error(self) -> Floats:
        """(...) [m]: the largest error of all markers."""
        errors = wrapped(self.marker_errors)
        if isinstance(errors, GpuArray):
            return np.amax(errors, -1).array  # type: ignore[no-any-return]
        return np.asarray(errors.max(axis=-1) if errors.shape[-1] else np.zeros(self.pose.shape))

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: see `Solution`."""
        errors = wrapped(self.marker_errors)
        if isinstance(errors, GpuArray):
            angles = np.where(np.amax(errors, -1) == np.inf, np.inf, 0.0).astype(errors.floats)
            for angle in self.marker_orientation_errors.values():
                angles = np.fmax(angles, wrapped(angle))
            return unwrapped(angles)  # type: ignore[no-any-return]
        angles = np.where(self.marker_errors.max(axis=-1, initial=0.0) == np.inf, np.inf, 0.0)
        for angle in self.marker_orientation_errors.values():
            angles = np.fmax(angles, angle)
        return angles

    @property
    def lost(self) -> Bools:
        """(..., M) which points were not finite, or beyond the extent."""
        return unwrapped(~rows_in_extent(wrapped(self.points))) if self._lost is None else self._lost


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


def motion_solution(motion: Motion, frames: ReconstructSolution) -> ReconstructMotionSolution:
    """Return the solution of a motion whose frames were solved one after the other."""
    return ReconstructMotionSolution(
        motion,
        frames.status if is_on_gpu(frames.status) else np.asarray(frames.status, dtype=np.int8),  # type: ignore[arg-type]
        frames.position_error,
        frames.orientation_error,
        frames.marker_errors,
        frames.marker_orientation_errors,
        frames.lost,
        frames.points,
    )

"""`SequentialIK`: a whole body from six points, in real time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collision.kernels import GROUP, OBSTACLE
from ..collision.volumes import PACKED
from ..compute import PosableError, ShapeError, Status
from ..compute.types import ArrayLike, Floats, Ints
from ..limb.solve import REPORT
from ..skeleton import Motion, Pose
from .kernels import Figure, Rows, rebuild_rows
from .model import LIMBS, trunk_of

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..limits import Limits

BLOCK = 16384  # rows a call of the kernel


@dataclass(frozen=True, eq=False)
class RebuildAnswer:
    """Bodies from six points."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them: REACHED where all six points are met within 1e-6 m."""
    residual: Floats
    """(..., 6) [m] between each of `MARKERS` and its point."""

    @property
    def ok(self) -> Any:
        """Whether all six points are met."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok


@dataclass(frozen=True, eq=False)
class RebuildMotion:
    """A motion from six moving points."""

    motion: Motion
    status: Ints
    """(F,) int8 of `Status`."""
    residual: Floats
    """(F, 6) [m]."""

    @property
    def ok(self) -> Any:
        """(F,) whether all six points are met."""
        return self.status == Status.REACHED


class SequentialIK:
    """Rebuilds bodies from pelvis, head, wrists and ankles (Unzueta et al. 2008). Immutable.

    Args:
        body: whose body; the points are its joints.
        weights: how much wrists, ankles and the frame before say about where the pelvis faces.
        limits: "body": this body's; None: none.
    """

    def __init__(
        self, body: Humanoid, weights: Sequence[float] = (1.0, 1.0, 0.0), limits: Limits | str | None = "body"
    ) -> None:
        given = np.array(weights, dtype=np.float64)
        if given.shape != (3,) or not np.isfinite(given).all() or (given < 0.0).any() or given.sum() == 0.0:
            raise PosableError(f"weights are {weights}; expected three numbers, 0 or more, not all 0")
        self.body, self._weights = body, given
        self._trunk = trunk_of(body, body.limits if isinstance(limits, str) else limits)
        self._figure = _figure(body, limits)

    def solve(self, points: ArrayLike) -> RebuildAnswer:
        """Bodies from points (..., 6, 3) [m] in the world, in the order of `MARKERS`; each has no frame before it."""
        given = _checked(points)
        flat = np.ascontiguousarray(given.reshape(-1, 6, 3))
        parts = [self._rows(flat[first : first + BLOCK]) for first in range(0, max(len(flat), 1), BLOCK)]
        for rows in parts:
            self._rebuild(len(rows.points), rows)
        return self._answer(parts, given.shape[:-2])

    def track(self, points: ArrayLike, fps: float = 60.0) -> RebuildMotion:
        """A motion from points (F, 6, 3), each frame after the one before it."""
        given = _checked(points)
        if given.ndim != 3:
            raise ShapeError(f"points have shape {given.shape}; expected (F, 6, 3)")
        rows = self._rows(np.ascontiguousarray(given))
        self._rebuild(1, rows)
        answer = self._answer([rows], given.shape[:-2])
        return RebuildMotion(Motion(self.body.skeleton, answer.pose, fps), answer.status, answer.residual)

    def _rebuild(self, tracks: int, rows: Rows) -> None:
        """Fill the rows, which are so many tracks of equal length, none with a frame before its first."""
        if len(rows.points):
            rebuild_rows(tracks, self._weights, self._trunk, self._figure, np.zeros((1, 3)), rows)

    def _rows(self, points: Floats) -> Rows:
        n, joints = len(points), len(self.body.skeleton)
        return Rows(
            points,
            np.empty((n, len(self._trunk.slots), 4)),
            np.empty((n, len(self._trunk.offsets) + 2, 4)),
            np.empty((n, 3)),
            np.empty((n, joints, 4)),
            np.empty((n, joints, 3)),
            np.empty((n, joints, 4)),
            np.empty((n, 7)),
            np.empty((0, joints, 3)),
            np.empty((n, 6)),
            np.empty(n, np.int64),
            np.empty((n, 3)),
            np.zeros(n, REPORT),
        )

    def _answer(self, parts: list[Rows], shape: tuple[int, ...]) -> RebuildAnswer:
        def joined(name: str) -> Any:
            return np.concatenate([getattr(rows, name) for rows in parts])

        joints = len(self.body.skeleton)
        pose = Pose(joined("translation").reshape(*shape, 3), joined("rotations").reshape(*shape, joints, 4))
        status = joined("status")
        told: Any = status.reshape(shape).astype(np.int8) if shape else Status(int(status[0]))
        return RebuildAnswer(pose, told, joined("residual").reshape(*shape, 6))


def _figure(body: Humanoid, limits: Limits | str | None) -> Figure:
    limbs = [body.limb(name, limits=limits) for name in LIMBS]
    most = max(len(limb._bones) for limb in limbs)
    bones = np.zeros((4, most, *limbs[0]._bones.shape[1:]))
    for k, limb in enumerate(limbs):
        if len(limb._bones):
            bones[k] = np.resize(limb._bones, bones.shape[1:])
    neutral = body.neutral_pose
    joints, slots, constants = body._driving
    rest = [limb.read(neutral).remainders for limb in limbs]
    return Figure(
        body.skeleton.packed,
        joints,
        np.asarray(body.skeleton.parents),
        slots,
        constants,
        np.ascontiguousarray(neutral.rotations[None]),
        np.concatenate([limb.packed for limb in limbs]),
        np.stack([limb._rows for limb in limbs]),
        limbs[0]._curves,
        bones,
        np.concatenate([limb._place for limb in limbs]),
        np.concatenate([limb._driven for limb in limbs]),
        np.cumsum([0, *(len(limb._driven) for limb in limbs)]),
        np.ascontiguousarray(np.concatenate(rest)[None]),
        np.array([body.roles["hips"], body.roles["head"]]),
        np.array(neutral.translation),
        np.zeros(0, PACKED),
        np.zeros(3, GROUP),
        np.zeros(0, OBSTACLE),
    )


def _checked(points: ArrayLike) -> Floats:
    given = np.asarray(points, dtype=np.float64)
    if given.ndim < 2 or given.shape[-2:] != (6, 3):
        raise ShapeError(f"points have shape {given.shape}; expected (..., 6, 3) in the order of MARKERS")
    return given

"""`IterativeIK` and its methods: iterative inverse kinematics on any skeleton with any effectors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compute import PosableError, ShapeError, expect, number
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records, Vec3, floats
from ..limits import Limits
from ..skeleton import Motion, MotionSolution, Pose, PoseSolution, Skeleton
from ..skeleton.pose import are_poses
from ..skeleton.solution import status_like
from . import model
from .model import (
    SETTINGS,
    Frames,
    Problem,
    State,
    active_dofs,
    packed_effectors,
    rest_guards,
    rotating_joints,
    stacked_rows,
    tree_above,
    usable_links,
)

BLOCK = 1024  # poses a call of the kernel: each has scratch space of its own


@dataclass(frozen=True)
class Effector:
    """A point of the skeleton that has a target."""

    joint: str | int
    """The joint that carries it."""
    point: Vec3 = (0.0, 0.0, 0.0)
    """[m] in the joint's frame."""
    oriented: bool = False
    """Whether the joint's orientation has a target as well."""
    weight: float = 1.0
    """Weight of its error; lower levels of `PIK` give way whatever their weight."""
    level: int = 1
    """Priority for `PIK`: 1 is the highest."""
    base: str | int | None = None
    """For `CCD`: the chain's last joint, counted from the effector; the root when not given."""


@dataclass(frozen=True)
class Stop:
    """When to stop: Unzueta et al. 2008, section 9."""

    tolerance: float = 0.01
    """[m]: the largest position error with status REACHED."""
    improvement: float = 0.001
    """[m]: less than this from one iteration to the next is no progress; below 0, it goes on where it gets worse."""
    iterations: int = 20
    angle: float = 0.01
    """[rad]: the tolerance of orientations."""
    settled: float = 0.01
    """[rad]: with an optimisation term, a step below this has settled."""


@dataclass(frozen=True, eq=False, repr=False)
class IKSolution(PoseSolution):
    """Poses for targets: REACHED where every effector of the returned pose is within the tolerances."""

    effector_errors: Floats
    """(..., E) [m] of each effector."""
    effector_orientation_errors: Floats
    """(..., E) [rad]; 0 for effectors whose orientation is free."""
    iterations: Any
    """(...) how many iterations it took."""
    stalled: Any
    """(...) whether it stopped for want of progress."""


@dataclass(frozen=True, eq=False, repr=False)
class IKMotionSolution(MotionSolution):
    """A motion for moving targets; fields as of `IKSolution`, a row a frame."""

    effector_errors: Floats
    effector_orientation_errors: Floats
    iterations: Ints
    stalled: Any


class IterativeIK:
    """The base of the iterative methods. Immutable.

    Args:
        skeleton: any tree of joints; their kinds say how they move.
        effectors: points with targets.
        limits: joint limits by joint name, as rotations from rest; None does not limit.
        moving: joints that may move; all when not given.
        stop: when to stop.
        rotation_length: length [m] that an orientation error of one radian counts as.
    """

    method: ClassVar[int]

    def __init__(
        self,
        skeleton: Skeleton,
        effectors: Iterable[Effector],
        *,
        limits: Limits | None = None,
        moving: Iterable[str | int] | None = None,
        stop: Stop | None = None,
        rotation_length: float = 0.3,
    ) -> None:
        expect(Skeleton, skeleton, "skeleton", "; that of a body is body.skeleton")
        self.skeleton, self.effectors, self.limits = skeleton, tuple(effectors), limits
        self.stop = stop or Stop()
        if not self.effectors:
            raise PosableError("no effectors; give at least one Effector")
        packed, chains = packed_effectors(skeleton, self.effectors)
        active = active_dofs(skeleton, moving)
        rotates = rotating_joints(skeleton, active)
        guards, limit_rows, curves = rest_guards(skeleton, limits)
        self._problem = Problem(
            joints=skeleton.packed,
            effectors=packed,
            guards=guards,
            limits=limit_rows,
            curves=curves,
            active=active,
            rotates=rotates,
            above=tree_above(skeleton, packed, rotates),
            links=usable_links(chains, packed, rotates),
            relaxed=np.empty((0, len(skeleton), 4)),
            settings=self._settings(packed, rotation_length),
        )

    def _settings(self, effectors: Records, rotation_length: float) -> Records:
        settings, stop = np.zeros(1, SETTINGS), self.stop
        for name in ("tolerance", "angle", "settled"):
            if not number(getattr(stop, name)) >= 0.0:
                raise PosableError(f"{name} is {getattr(stop, name)}; expected 0 or more")
        if not math.isfinite(stop.improvement):
            raise PosableError(f"improvement is {stop.improvement}; expected a number of metres")
        if not (0 <= number(stop.iterations) < 2**31 and 0.0 < number(rotation_length) < math.inf):
            given = f"iterations {stop.iterations}, rotation_length {rotation_length}"
            raise PosableError(f"{given}: expected 0 or more, above 0")
        reach = float(np.linalg.norm(self.skeleton.offsets[1:], axis=-1).sum()) if len(self.skeleton) > 1 else 0.0
        values = {
            "method": self.method,
            "iterations": stop.iterations,
            "rows": stacked_rows(effectors),
            "levels": int(effectors["level"].max()),
            "balance": -1,
            "tolerance": stop.tolerance,
            "orientation_tolerance": stop.angle,
            "improvement": stop.improvement,
            "settled": stop.settled,
            "damping": 1.0,
            "max_step": math.radians(45.0),
            "max_error": max(2.0 * reach, 1.0),
            "rotation_length": rotation_length,
        }
        for name, value in values.items():
            settings[name] = value
        return settings

    def _set(self, **values: float) -> None:
        for name, value in values.items():
            self._problem.settings[name] = value

    def solve(self, targets: ArrayLike, orientations: ArrayLike | None = None, start: Pose | None = None) -> IKSolution:
        """Solve for poses that meet targets (..., E, 3) [m] and, of oriented effectors, orientations (..., E, 4).

        Args:
            targets: in the world, in the order of the effectors.
            orientations: in the world; rows of effectors that are not oriented are not read.
            start: where to start from, one pose or one for each; the rest pose when not given. What is no pose (beyond
                the extent of the world, rotations that are no unit quaternions) makes its rows INVALID.
        """
        positions, rotations = self._checked(targets, orientations)
        shape = positions.shape[:-2]
        flat, rows = positions.reshape(-1, *positions.shape[-2:]), rotations.reshape(-1, *rotations.shape[-2:])
        begun, sound = self._start(start, shape)
        if not sound.all():
            flat = np.where(sound[:, None, None], flat, np.nan)
        frames = self._run(flat, rows, begun, len(flat))
        return self._solution(frames, shape)

    def track(
        self, targets: ArrayLike, orientations: ArrayLike | None = None, start: Pose | None = None, *, fps: float = 60.0
    ) -> IKMotionSolution:
        """Solve for a motion that follows targets (F, E, 3), each frame from the one before it; fps in frames/s."""
        positions, rotations = self._checked(targets, orientations)
        if positions.ndim != 3:
            raise ShapeError(f"targets have shape {positions.shape}; expected (F, {len(self.effectors)}, 3)")
        begun, sound = self._start(start, ())
        if not sound.all():
            positions = positions.copy()
            positions[:1] = np.nan
        solution = self._solution(self._run(positions, rotations, begun, 1), positions.shape[:1])
        return IKMotionSolution(
            Motion(self.skeleton, solution.pose, fps),
            np.asarray(solution.status),
            solution.position_error,
            solution.orientation_error,
            solution.effector_errors,
            solution.effector_orientation_errors,
            solution.iterations,
            solution.stalled,
        )

    def _run(
        self, positions: Floats, rotations: Floats, starts: Pose, tracks: int, roots: Floats | None = None
    ) -> Frames:
        """Solve rows, which are so many tracks of equal length."""
        n, count, effectors = len(positions), len(self.skeleton), len(self.effectors)
        slides = self.skeleton.has_slides
        shifts = np.empty((0, count, 3))
        if slides:
            own = np.broadcast_to(self.skeleton.offsets, (*starts.shape, count, 3))
            shifts = np.ascontiguousarray(own if starts.offsets is None else starts.offsets)
        frames = Frames(
            targets=np.ascontiguousarray(positions),
            orientations=np.array(rotations) if len(rotations) else np.empty((0, effectors, 4)),
            roots=np.empty((0, 7)) if roots is None else roots,
            starts=np.ascontiguousarray(starts.rotations),
            start_translation=np.ascontiguousarray(starts.translation),
            shifts=shifts,
            translation=np.empty((n, 3)),
            rotations=np.empty((n, count, 4)),
            offsets=np.empty((n if slides else 0, count, 3)),
            position_error=np.empty((n, effectors)),
            orientation_error=np.empty((n, effectors)),
            iterations=np.zeros(n, np.int64),
            stopped=np.zeros(n, np.int64),
            status=np.zeros(n, np.int64),
        )
        from .kernels import solve_rows

        for first in range(0, tracks if n else 0, BLOCK):
            many = min(BLOCK, tracks - first)
            block = slice(first * n // tracks, (first + many) * n // tracks)
            columns: Any = (np.ascontiguousarray(array[block] if len(array) == n else array) for array in frames)
            solve_rows(many, self._problem, self._scratch(many), Frames(*columns))
        return frames

    def _scratch(self, n: int) -> State:
        count, dofs, rows = len(self.skeleton), len(self.skeleton.dofs), int(self._problem.settings["rows"][0])
        moved = n if self.skeleton.has_slides else 0
        wide = n if self.method == model.PIK else 0
        return State(
            translation=np.zeros((n, 3)),
            rotations=np.zeros((n, count, 4)),
            offsets=np.zeros((moved, count, 3)),
            positions=np.zeros((n, count, 3)),
            world=np.zeros((n, count, 4)),
            begin=np.zeros((n, count, 4)),
            best_translation=np.zeros((n, 3)),
            best_rotations=np.zeros((n, count, 4)),
            best_offsets=np.zeros((moved, count, 3)),
            best_errors=np.zeros((n, len(self.effectors))),
            one=np.zeros((n, 6, dofs)),
            jacobian=np.zeros((n, rows, dofs)),
            error=np.zeros((n, rows)),
            rows=np.zeros((n, rows, max(dofs, rows))),
            left=np.zeros((n, rows, rows)),
            values=np.zeros((n, rows)),
            vector=np.zeros((n, rows)),
            steps=np.zeros((n, dofs)),
            limit_steps=np.zeros((n, dofs)),
            locked=np.zeros((n, dofs), np.int64),
            projector=np.zeros((wide, dofs, dofs)),
            wish=np.zeros((n, count, 4)),
        )

    def _start(self, start: Pose | None, shape: tuple[int, ...]) -> tuple[Pose, Bools]:
        """Return starts as a batch of one axis, one row or a row a pose, and which are poses; the rest pose for others.

        What starts from no pose is INVALID, like what has no target.
        """
        pose = self.skeleton.rest if start is None else start
        if pose.joint_count != len(self.skeleton):
            raise ShapeError(f"start has {pose.joint_count} joints; the skeleton has {len(self.skeleton)}")
        if pose.shape not in ((), shape):
            raise ShapeError(f"start is a batch of shape {pose.shape}; expected one pose or {shape}")
        flat = pose.reshape(-1) if pose.shape else Pose.stack([pose])
        sound = are_poses(flat)
        if not sound.all():
            rest = self.skeleton.rest
            offsets = None
            if flat.offsets is not None:
                offsets = np.where(sound[:, None, None], flat.offsets, self.skeleton.offsets)
            flat = Pose(
                np.where(sound[:, None], flat.translation, rest.translation),
                np.where(sound[:, None, None], flat.rotations, rest.rotations),
                offsets,
            )
        return flat, sound

    def _checked(self, targets: ArrayLike, orientations: ArrayLike | None) -> tuple[Floats, Floats]:
        count = len(self.effectors)
        positions = floats(targets, "targets", count, 3, hint=", one an effector")
        if not any(effector.oriented for effector in self.effectors):
            return positions, np.empty((0, count, 4))
        if orientations is None:
            raise PosableError("some effectors are oriented; give orientations (..., E, 4)")
        rotations = floats(orientations, "orientations", count, 4)
        try:
            return positions, np.broadcast_to(rotations, (*positions.shape[:-1], 4))
        except ValueError:
            raise ShapeError(
                f"orientations of shape {rotations.shape} do not fit targets of {positions.shape}"
            ) from None

    def _solution(self, frames: Frames, shape: tuple[int, ...]) -> IKSolution:
        """Return the solution of rows in the batch's shape."""
        count, effectors = len(self.skeleton), len(self.effectors)
        offsets = frames.offsets.reshape(*shape, count, 3) if self.skeleton.has_slides else None
        pose = Pose(frames.translation.reshape(*shape, 3), frames.rotations.reshape(*shape, count, 4), offsets)
        stalled = (frames.stopped == model.STALLED).reshape(shape)
        errors = frames.position_error.reshape(*shape, effectors)
        angles = frames.orientation_error.reshape(*shape, effectors)
        return IKSolution(
            pose,
            status_like(frames.status, shape),
            errors.max(axis=-1),
            angles.max(axis=-1),
            errors,
            angles,
            frames.iterations.reshape(shape) if shape else int(frames.iterations[0]),
            stalled if shape else bool(stalled),
        )


class CCD(IterativeIK):
    """Cyclic coordinate descent: each effector's chain by itself, joints rotated one at a time from the end."""

    method = model.CCD


class FABRIK(IterativeIK):
    """Forward and backward reaching (Aristidou and Lasenby 2011) on a tree of real joints; slides keep still."""

    method = model.FABRIK


class JacobianTranspose(IterativeIK):
    """Steps along J^T e (Balestrino et al. 1984; Wolovich and Elliott 1984), at most 30 degrees a step."""

    method = model.TRANSPOSE

    def __init__(self, *args: Any, max_step: float = math.radians(30.0), **options: Any) -> None:
        super().__init__(*args, **options)
        self._set(max_step=_above_zero("max_step", max_step))


class Pseudoinverse(IterativeIK):
    """Steps by the pseudo-inverse (Whitney 1969).

    Args:
        *args: as of `IterativeIK`.
        threshold: singular values below this part of the largest count as zero. Default and `max_step` are those of
            the program by Buss that Unzueta et al. used.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.PSEUDOINVERSE

    def __init__(
        self, *args: Any, threshold: float = 0.01, max_step: float = math.radians(5.0), **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._set(threshold=_zero_or_more("threshold", threshold), max_step=_above_zero("max_step", max_step))


class DLS(IterativeIK):
    """Damped least squares (Wampler 1986; Nakamura and Hanafusa 1986).

    Args:
        *args: as of `IterativeIK`.
        damping: [m] a constant damping; None: the least that keeps steps below `longest` (Maciejewski 1990).
        longest: with Maciejewski's damping: [rad] the longest step of all DoF together.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.DLS

    def __init__(
        self,
        *args: Any,
        damping: float | None = None,
        longest: float = 0.5,
        max_step: float = math.radians(45.0),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        value = _above_zero("longest", longest) if damping is None else _zero_or_more("damping", damping)
        self._set(damping=value, adaptive=damping is None, max_step=_above_zero("max_step", max_step))


class DLSSVD(DLS):
    """The same through the singular values (Maciejewski and Klein 1988), which gives the smallest one exactly."""

    method = model.DLS_SVD


class SDLS(IterativeIK):
    """Selectively damped least squares (Buss and Kim 2005): each singular direction is damped by itself."""

    method = model.SDLS

    def __init__(self, *args: Any, max_step: float = math.radians(45.0), **options: Any) -> None:
        super().__init__(*args, **options)
        self._set(max_step=_above_zero("max_step", max_step))


class PIK(IterativeIK):
    """Prioritised IK (Baerlocher and Boulic 2004): effectors' levels are met in order, as many as there are.

    Args:
        *args: as of `IterativeIK`.
        relaxed: the pose that the optimisation term draws towards in what all levels leave free; the start when None.
        attraction: the fraction of the difference that it draws in one iteration, 0 to 1.
        longest: [rad] the longest step of a level, which sets Maciejewski's damping.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.PIK

    def __init__(
        self,
        *args: Any,
        relaxed: Pose | None = None,
        attraction: float = 0.0,
        longest: float = 0.5,
        max_step: float = math.radians(45.0),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        if not 0.0 <= attraction <= 1.0:
            raise PosableError(f"attraction is {attraction}; expected 0 to 1")
        self._set(attraction=attraction, damping=_above_zero("longest", longest))
        self._set(max_step=_above_zero("max_step", max_step))
        if relaxed is not None:
            self._problem = self._problem._replace(relaxed=np.ascontiguousarray(relaxed.rotations[None]))


def _above_zero(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise PosableError(f"{name} is {value}; expected above 0")
    return value


def _zero_or_more(name: str, value: float) -> float:
    if not (math.isfinite(value) and value >= 0.0):
        raise PosableError(f"{name} is {value}; expected 0 or more")
    return value

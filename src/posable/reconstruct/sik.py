"""`SequentialIK`: a whole body from six points, or from more or fewer; `ReconstructStream`: the same in real time."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.roles import MARKERS
from ..compute import PosableError, ShapeError, UnknownNameError, expect, number
from ..compute.extent import nan_beyond_extent, time_step
from ..compute.gpu_arrays import GpuArray, contiguous, like_array, unwrapped
from ..compute.types import ArrayLike, Floats, Records, floats
from ..skeleton import Motion, Pose
from .filtering import FootLock, OneEuro, checked_smoothing, smoothed, smoothed_orientations, unit_or_nan
from .kernels import reconstruct_rows
from .packed import (
    BETWEEN,
    CHEST,
    CHESTS,
    MAX_JOINTS,
    NO_STATE,
    RESULTS,
    SHOULDERS,
    SLOTS,
    Figure,
    Rows,
    empty_rows,
    new_state,
    pack_figure,
)
from .prior import Prior, no_network, prior_of
from .prior_kernels import ANSWERED, ASK, WHOLE, Network
from .prior_layers import Layers, can_multiply
from .solutions import NO_ERRORS, ReconstructMotionSolution, ReconstructSolution, motion_solution

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene
    from ..limits import Limits

BLOCK, BLOCK_WITH_PRIOR = 16384, 2048  # rows a call of the kernel; a prior needs scratch for each
BLOCK_ON_GPU = 1 << 17  # rows a call of the kernel there: 3.4 GB of scratch with a prior
TRACK_BLOCK = 4096  # frames a call of the kernel of one track
TRACKABLE = (*MARKERS, *BETWEEN, *CHESTS, *SHOULDERS)
"""Parts that may be tracked."""
ORIENTED = TRACKABLE
"""Parts whose orientations may be tracked, too."""
_SLOTS = {role: k for k, role in enumerate((*MARKERS, *BETWEEN, CHESTS[0], *SHOULDERS))} | {CHESTS[1]: CHEST}

Orientations = Mapping[str, ArrayLike]


class SequentialIK:
    """Reconstruct bodies from pelvis, head, wrists and ankles (Unzueta et al. 2008), or other markers. Immutable.

    Args:
        body: whose body; the points are its joints.
        weights: (3,) of wrists, ankles and the frame before in the pelvis' heading, default (1, 1, 0); unused with a
            prior.
        prior: a learned model of how people move: "default" is ours, a path another one; None is the paper's method. It
            predicts the orientations of pelvis, spine, hands and feet, the swivels of elbows and knees, and where hips,
            head, hands and feet are that are not tracked; the points are met all the same.
        limits: "body" (default): the body's own joint limits; None: none; or other ones.
        markers: the tracked parts in the order of the points, default `MARKERS`: any of those six, of elbows and knees
            ("left_lower_arm", "left_lower_leg", ...), "chest" or "upper_chest", and shoulders
            ("left_upper_arm", "right_upper_arm"); at least the hips or the head. Those
            of the six that are not among them are estimated, by the prior or without one simply
            (`posable.reconstruct.untracked`).
        scene: obstacles that arms and legs keep out of, without meshes, taken as they are now; default none. Hands and
            feet stay on their points, except that planes keep them above themselves.
        elbows_out: whether arms swivel out of the rest of the body, and legs out of each other, hands and feet staying
            where they are (the paper's section 8, and what it leaves to the future); default True.
        paper_spine: the paper's spine to the letter, which continues from the frame before by steps of 0.1 and
            0.01 rad, for comparisons and without a prior; default False.
        limit_rates: whether pelvis, elbows and knees rotate at most at 4 pi rad/s from frame to frame, slower where
            wrists and ankles contradict each other: anything faster is a pop, not a person; default True.
    """

    def __init__(
        self,
        body: Humanoid,
        weights: Sequence[float] = (1.0, 1.0, 0.0),
        prior: Prior | str | os.PathLike[str] | None = "default",
        limits: Limits | str | None = "body",
        *,
        markers: Sequence[str] = MARKERS,
        scene: Scene | None = None,
        elbows_out: bool = True,
        limit_rates: bool = True,
        paper_spine: bool = False,
    ) -> None:
        from ..body import Humanoid

        expect(Humanoid, body, "body", ": Humanoid(motion.skeleton)")
        body.require_person("SequentialIK")
        given = np.array(weights, dtype=np.float64)
        if given.shape != (3,) or not np.isfinite(given).all() or (given < 0.0).any() or given.sum() == 0.0:
            raise PosableError(f"weights are {weights}; expected three numbers, 0 or more, not all 0")
        if scene is not None and scene.has_meshes:
            names = ", ".join(obstacle.name for obstacle in scene.meshes)
            raise PosableError(f"the scene has meshes ({names}); expected boxes, spheres, capsules, ellipsoids, planes")
        if paper_spine and len(body.spine) > MAX_JOINTS:
            raise PosableError(f"the spine has {len(body.spine)} joints; paper_spine takes {MAX_JOINTS} at most")
        self.body = body
        self.markers: tuple[str, ...] = _checked_markers(body, markers)
        """The tracked parts, in the order of the points."""
        self._oriented = _oriented(body, self.markers)
        self._figure = pack_figure(
            body,
            limits,
            self.markers,
            scene,
            weights=given,
            elbows_out=elbows_out,
            limit_rates=limit_rates,
            paper_spine=paper_spine,
        )
        self._order = f" in the order of {', '.join(self.markers)}"
        self._obstacles = int(np.diff(self._figure.splits[1]).max()) + len(self._figure.around)
        known = prior_of(prior)
        self.prior: Prior | None = None if paper_spine else known
        """The learned model, or None."""
        self._net = no_network() if self.prior is None else self.prior.network(body, self._figure)
        self._spare: list[Rows] = []
        self._layers: dict[Any, Layers] = {}  # on GPUs, by library and GPU

    def solve(self, points: ArrayLike, orientations: Orientations | None = None) -> ReconstructSolution:
        """Return bodies from points, independent of each other: none has a frame before it.

        Args:
            points: (..., M, 3) [m] in the world, in the order of `markers`. A row with one that is not finite, or
                beyond the extent (`posable.compute.extent`), is INVALID and has the neutral pose.
            orientations: role to (..., 4), of any part that may be a marker: its canonical orientation in the world,
                the identity in the neutral pose (standing, facing +Z, arms hanging, palms in). NaN: not known.
        """
        given = self._checked(points)
        on_gpu = isinstance(given, GpuArray)
        if given.ndim == 2 and not orientations and not on_gpu:
            return self._solve_one(given)
        shape = given.shape[:-2]
        flat = contiguous(given.reshape(-1, *given.shape[-2:]))
        rotations = self._orientations(orientations, shape, given)
        parts = []
        block = BLOCK_ON_GPU if on_gpu else BLOCK if self.prior is None else BLOCK_WITH_PRIOR
        for first in range(0, max(len(flat), 1), block):
            whole = len(flat) <= block
            some = flat if whole else flat[first : first + block]
            rows = self._rows(some, rotations if whole else rotations[first : first + block], len(some))
            self._reconstruct(len(some), rows)
            parts.append(results(rows))
        return self._solution(parts, shape, orientations)

    def _solve_one(self, points: Floats) -> ReconstructSolution:
        """Do `solve` with the points (M, 3) of one body, in rows of an earlier call: making them takes longer."""
        try:
            rows = self._spare.pop()
        except IndexError:
            rows = self._rows(np.empty((1, *points.shape)), np.empty((0, SLOTS, 4)))
        rows.points[0] = points
        self._reconstruct(1, rows)
        solution = one_solution(rows, points)
        self._spare.append(rows)
        return solution

    def track(
        self,
        points: ArrayLike,
        *,
        fps: float = 60.0,
        orientations: Orientations | None = None,
        smoothing: float | None = None,
        lock_feet: bool = False,
    ) -> ReconstructMotionSolution:
        """Return the motion that follows points (F, M, 3), each frame continuing from the one before it.

        Several tracks of equal length (..., F, M, 3) are solved at once, by all cores or on a GPU. Their solution is a
        `ReconstructSolution` with poses (..., F): `Motion(body.skeleton, solution.pose[k], fps)` is one of the motions.

        Args:
            points: (F, M, 3) or (..., F, M, 3) [m], as for `solve`. One that is not finite, or beyond the extent
                (`posable.compute.extent`), is bridged, and its frame INVALID.
            fps: frames a second, default 60.
            orientations: as for `solve`, (F, 4) or (4,) each; default none. A lost one stays constant.
            smoothing: time constant [s] below which points and orientations are smoothed, without lag; default none.
            lock_feet: whether feet that stand are locked where they came to stand; default False.
        """
        given = self._checked(points)
        if given.ndim < 3:
            raise ShapeError(f"points have shape {given.shape}; expected (F, {len(self.markers)}, 3)")
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected a number above 0")
        if given.ndim > 3 or isinstance(given, GpuArray):
            if smoothing is not None or lock_feet:
                raise PosableError("smoothing and lock_feet are for one track (F, M, 3) of the CPU")
            return self._tracks(given, orientations, fps)  # type: ignore[no-any-return]
        requested, rotations = np.ascontiguousarray(given), self._orientations(orientations, given.shape[:1])
        seconds = checked_smoothing(smoothing)
        if seconds is not None:
            requested, rotations = (
                smoothed(nan_beyond_extent(requested), fps, seconds),
                smoothed_orientations(unit_or_nan(rotations), fps, seconds),
            )
        if lock_feet:
            requested = np.array(requested, order="C")
            FootLock(self.markers, self.body.leg_length).step(requested, 1.0 / fps)
        state, parts = new_state(1), []
        for first in range(0, max(len(requested), 1), TRACK_BLOCK):  # so that a long track can be stopped
            block = slice(first, first + TRACK_BLOCK)
            rows = self._rows(requested[block], rotations[block])
            self._reconstruct(1, rows, state, 1.0 / fps)
            parts.append(results(rows))
        frames = self._solution(parts, given.shape[:1], orientations)
        return motion_solution(Motion(self.body.skeleton, frames.pose, fps), frames)

    def _tracks(self, points: Floats, orientations: Orientations | None, fps: float) -> Any:
        """Do `track` for tracks of points (..., F, M, 3), or for one on a GPU."""
        frames, shape = points.shape[-3], points.shape[:-2]
        flat = contiguous(points.reshape(-1, *points.shape[-2:]))
        rotations, parts = self._orientations(orientations, shape, points), []
        block = max(1, (BLOCK_ON_GPU if isinstance(points, GpuArray) else TRACK_BLOCK) // max(frames, 1)) * frames
        for first in range(0, max(len(flat), 1), max(block, 1)):
            whole = len(flat) <= block
            some = flat if whole else flat[first : first + block]
            tracks = len(some) // max(frames, 1)
            rows = self._rows(some, rotations if whole else rotations[first : first + block], tracks)
            self._reconstruct(tracks, rows, new_state(tracks, some), 1.0 / fps)
            parts.append(results(rows))
        found = self._solution(parts, shape, orientations)
        return found if points.ndim > 3 else motion_solution(Motion(self.body.skeleton, found.pose, fps), found)

    def stream(
        self, fps: float = 60.0, *, smoothing: float | None = None, lock_feet: bool = False
    ) -> ReconstructStream:
        """Return a body that follows points as they come, for real time.

        Args:
            fps: frames a second, where `step` gets no time since the last one.
            smoothing: the time constant [s] of a One-Euro filter: what hardly moves is smoothed and lags by about as
                much, what moves fast is not.
            lock_feet: as for `track`.
        """
        return ReconstructStream(self, fps, smoothing, lock_feet)

    def _reconstruct(self, tracks: int, rows: Rows, memory: Records = NO_STATE, dt: float = 0.0) -> None:
        """Fill the rows, which are so many tracks of equal length."""
        if not len(rows.points):
            return
        if self.prior is not None and not len(memory) and can_multiply(rows.points):
            points: Any = rows.points
            key = (points.library, points.device)
            if key not in self._layers:
                self._layers[key] = Layers(self._net, points)
            reconstruct_rows(tracks, self._figure, self._net, memory, dt, ASK, rows)
            self._layers[key].evaluate(rows.work)
            reconstruct_rows(tracks, self._figure, self._net, memory, dt, ANSWERED, rows)
        else:
            reconstruct_rows(tracks, self._figure, self._net, memory, dt, WHOLE, rows)

    def room(self, points: Floats, orientations: Orientations | None) -> tuple[Figure, Network, Rows]:
        """Return what kernels take that ask the network about points (N, M, 3), each row a track of its own."""
        rows = self._rows(points, self._orientations(orientations, points.shape[:1]), len(points))
        return self._figure, self._net, rows

    def _rows(self, points: Floats, rotations: Floats, tracks: int = 1) -> Rows:
        work = (0, 0) if self.prior is None else (tracks, self.prior.scratch)
        return empty_rows(self._figure, points, rotations, self._obstacles, work)

    def _checked(self, points: ArrayLike) -> Floats:
        return floats(points, "points", len(self.markers), 3, hint=self._order)

    def _orientations(self, orientations: Orientations | None, shape: tuple[int, ...], like: Any = None) -> Floats:
        """Return orientations (N, 13, 4), NaN where unknown; or no rows. On a GPU where the array `like` is on one."""
        if not orientations:
            return np.empty((0, SLOTS, 4))
        if isinstance(like, GpuArray):
            return _orientations_on_gpu(orientations, self._oriented, shape, like)  # type: ignore[no-any-return]
        return self._put_orientations(orientations, np.empty((*shape, SLOTS, 4))).reshape(-1, SLOTS, 4)

    def _put_orientations(self, orientations: Orientations, out: Floats) -> Floats:
        """Fill in orientations (..., 13, 4), NaN where unknown."""
        out.fill(np.nan)
        for role, rotation in orientations.items():
            if role not in self._oriented:
                raise UnknownNameError("part whose orientation is taken", role, self._oriented)
            q = floats(rotation, f"orientations of {role!r}")
            try:
                out[..., _SLOTS[role], :] = q
            except ValueError:
                raise ShapeError(
                    f"orientations of {role!r} have shape {q.shape}; expected {(*out.shape[:-2], 4)} for these points"
                ) from None
        return out

    def _solution(
        self, parts: list[Rows], shape: tuple[int, ...], orientations: Orientations | None
    ) -> ReconstructSolution:
        def joined(name: str) -> Any:
            return getattr(parts[0], name) if len(parts) == 1 else np.concatenate([getattr(r, name) for r in parts])

        joints, count = len(self.body.skeleton), len(self.markers)
        translation, rotations = (
            joined("translation").reshape(*shape, 3),
            joined("rotations").reshape(*shape, joints, 4),
        )
        pose = Pose(unwrapped(translation), unwrapped(rotations))
        errors = {}
        if orientations:
            angles = joined("missing").reshape(*shape, SLOTS)
            errors = {role: unwrapped(angles[..., _SLOTS[role]]) for role in orientations}
        points = unwrapped(joined("points").reshape(*shape, count, 3))
        return ReconstructSolution(pose, joined("status"), joined("residual"), points, errors)


class ReconstructStream:
    """A body over time; made by `SequentialIK.stream`. One stream serves one body, from one thread."""

    def __init__(self, solver: SequentialIK, fps: float, smoothing: float | None, lock_feet: bool) -> None:
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected a number above 0")
        self.solver, self.fps = solver, float(fps)
        time_step(None, self.fps)
        points = np.empty((1, len(solver.markers), 3))
        self._plain = solver._rows(points, np.empty((0, SLOTS, 4)))
        self._with_orientations = solver._rows(points, np.empty((1, SLOTS, 4)))
        seconds = checked_smoothing(smoothing)
        self._smooth = None if seconds is None else OneEuro(seconds, solver.body.joint_height)
        self._smooth_orientations = None if seconds is None else OneEuro(seconds, 1.0, quaternions=True)
        self._lock = FootLock(solver.markers, solver.body.leg_length) if lock_feet else None
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next step is as the first."""
        self._memory, self._oriented = new_state(1), False
        for part in (self._smooth, self._smooth_orientations, self._lock):
            if part is not None:
                part.reset()

    def step(
        self, points: ArrayLike, orientations: Orientations | None = None, dt: float | None = None
    ) -> ReconstructSolution:
        """Return the body for the next points.

        Args:
            points: (M, 3) [m] in the order of the solver's `markers`; NaN for one that is lost, which is bridged.
            orientations: role to (4,), as for `SequentialIK.solve`; NaN, or left out, for one that is not known now.
            dt: [s] since the last step; a frame when not given.
        """
        step = time_step(dt, self.fps)
        given = floats(points, "points")
        self._oriented = self._oriented or bool(orientations)
        rows = self._with_orientations if self._oriented else self._plain
        if given.shape != rows.points.shape[1:]:
            raise ShapeError(f"points have shape {given.shape}; expected {rows.points.shape[1:]}")
        if self._smooth is not None:
            given = self._smooth.step(nan_beyond_extent(given), step)
        rows.points[0] = given
        if self._lock is not None:
            self._lock.step(rows.points, step)
        if self._oriented:  # where all are left out, they are lost as single ones are
            rotations = self.solver._put_orientations(orientations or {}, rows.marker_orientations[0])
            if self._smooth_orientations is not None:
                rows.marker_orientations[:] = self._smooth_orientations.step(unit_or_nan(rotations), step)
            rows.missing[:] = np.nan
        self.solver._reconstruct(1, rows, self._memory, step)
        errors = {role: rows.missing[0, _SLOTS[role]] for role in orientations or ()}
        return one_solution(rows, rows.points[0].copy(), errors)


def _orientations_on_gpu(
    orientations: Orientations, allowed: tuple[str, ...], shape: tuple[int, ...], like: Any
) -> Any:
    """Return orientations (N, 13, 4) where the array `like` is, NaN where unknown."""
    for role in orientations:
        if role not in allowed:
            raise UnknownNameError("part whose orientation is taken", role, allowed)
    given, columns = {_SLOTS[role]: role for role in orientations}, []
    for slot in range(SLOTS):
        role = given.get(slot, "")
        q = floats(orientations.get(role, np.full(4, np.nan)), f"orientations of {role!r}", 4)
        try:
            columns.append(np.broadcast_to(like_array(q, like), (*shape, 4)))
        except (ValueError, RuntimeError, TypeError):
            raise ShapeError(
                f"orientations of {role!r} have shape {q.shape}; expected {(*shape, 4)} for these points"
            ) from None
    return contiguous(np.stack(columns, -2).reshape(-1, SLOTS, 4))


def one_solution(
    rows: Rows, points: Floats, orientation_errors: Mapping[str, Floats] = NO_ERRORS
) -> ReconstructSolution:
    """Return the solution of one body, copied out of rows that are used again."""
    pose = Pose(rows.translation[0].copy(), rows.rotations[0].copy())
    return ReconstructSolution(pose, rows.status.copy(), rows.residual.copy(), points, orientation_errors)


def _checked_markers(body: Humanoid, markers: Sequence[str]) -> tuple[str, ...]:
    names = tuple(markers)
    for role in names:
        if role not in TRACKABLE:
            raise UnknownNameError("part that can be tracked", role, TRACKABLE)
        body.index(role)
    if len(set(names)) < len(names) or set(CHESTS) <= set(names):
        raise PosableError(f"markers are {names}; expected each part once, and one of {' and '.join(CHESTS)}")
    if not {"hips", "head"} & set(names):
        raise PosableError(f"markers are {names}; expected the hips or the head among them")
    return names


def results(rows: Rows) -> Rows:
    """Return rows without their scratch, whose memory is given back."""
    return Rows(*(each if name in RESULTS else None for name, each in zip(Rows._fields, rows, strict=True)))  # type: ignore[arg-type]


def _oriented(body: Humanoid, markers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts whose orientations are taken: of the chests the one that is tracked, else that carries arms."""
    tracked = set(CHESTS) & set(markers)
    chests = tracked or {role for role in CHESTS if body.roles.get(role, -1) == list(body.spine)[body.chest]}
    return tuple(role for role in TRACKABLE if role in body.roles and (role not in CHESTS or role in chests))

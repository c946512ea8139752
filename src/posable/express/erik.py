"""`ERIK`: hold an expressive posture while aiming (Ribeiro and Paiva 2019; specification express)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, Status, UnknownNameError, expect, number
from ..compute.extent import time_step
from ..compute.gpu_arrays import (
    GpuArray,
    contiguous,
    empty,
    first_on_gpu,
    full,
    like_array,
    unwrapped,
    wrapped,
    zeros,
)
from ..compute.types import ArrayLike, Bools, Floats, Records
from ..skeleton import Motion, Pose
from ..skeleton.solution import status_like
from .aim import KINDS, AimProblem, TipSettings
from .chain import Chain
from .model import METHODS, REPORT, SCRATCH, SETTINGS, WIDTH, Packed
from .rows import clip_rows, solve_rows
from .solutions import ErikMotionSolution, ErikSolution, one_target, rows_of, solution_fields, unit_rows

BLOCK, BLOCK_ON_GPU = 16384, 1 << 18  # rows a call of the kernel
NO_BOX = np.empty((0, 2, 0))


class ERIK:
    """Solves for angles that point the tip of a chain at a target and keep the shape of a posture. Immutable.

    Args:
        chain: the joints that are solved for.
        method: "best" (default): closed forms and a search, with the smallest error; "erik": the paper's algorithm as
            specified; "simple": its warp and coordinate descent only; "ccd": cyclic coordinate descent from it.
        symmetric: whether the tip may be upside down: half a rotation about its pointing axis costs nothing;
            default True.
        aggravation: ratio of each bend's weight in the posture error to that of the bend before it; default 1.5.
        signed: whether the posture error sees the sign of a bend; default False, as in the paper.
        tolerance: the largest angle between the tip and its target with status REACHED [rad]; default 1 degree.
        threshold: the largest error, aim and posture together, that counts as success in the paper; default 0.04.
            `erik` stops there.
        posture_weight: weight of the posture error in the error; default 0.2.
        stop_at_threshold: whether `best` stops at the threshold too, which is faster; default False.
        speed: largest speed of a joint in `track` [rad/s], default 10, unless only a jump leads to a clearly
            smaller error.
        gain: how much smaller the error must be for `track` to jump; default 0.01.
        iterations: largest number of iterations of `erik`; default 15.
        sweeps: largest number of sweeps of its backward descents, default 10; cyclic coordinate descent takes five
            times as many.
        precision: error of a direction, (1 - cosine) / 2, at which a descent stops; default 0.001.
        disturbance: distance that `erik` keeps from limits, and by which it moves a target that it cannot meet [rad];
            default 0.01.
        offset_trick: whether it moves such targets (NonConvOffsetTrick); default True.
        ccd_trick: whether it falls back on cyclic coordinate descent (NonConvCCDTrick); default True.
    """

    def __init__(
        self,
        chain: Chain,
        method: str = "best",
        *,
        symmetric: bool = True,
        aggravation: float = 1.5,
        signed: bool = False,
        tolerance: float = math.radians(1.0),
        threshold: float = 0.04,
        posture_weight: float = 0.2,
        stop_at_threshold: bool = False,
        speed: float = 10.0,
        gain: float = 0.01,
        iterations: int = 15,
        sweeps: int = 10,
        precision: float = 1e-3,
        disturbance: float = 0.01,
        offset_trick: bool = True,
        ccd_trick: bool = True,
    ) -> None:
        expect(Chain, chain, "chain")
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        numbers = {"aggravation": aggravation, "speed": speed, "precision": precision}
        numbers |= {"iterations": iterations, "sweeps": sweeps}
        for name, value in numbers.items():
            if not 0.0 < number(value) < math.inf:
                raise PosableError(f"{name} is {value}; expected a number above 0")
        for name, value in {
            "tolerance": tolerance,
            "threshold": threshold,
            "posture_weight": posture_weight,
            "gain": gain,
        }.items():
            if not 0.0 <= number(value) < math.inf:
                raise PosableError(f"{name} is {value}; expected 0 or more")
        if not 0.0 <= number(disturbance) < 0.5:
            raise PosableError(f"disturbance is {disturbance}; expected 0 to 0.5 rad")
        self.chain, self.method, self.speed, self.gain = chain, method, float(speed), float(gain)
        self.tolerance = float(tolerance)
        self.aggravation, self.threshold = float(aggravation), float(threshold)
        self.symmetric, self.posture_weight = bool(symmetric), float(posture_weight)
        self._settings = np.zeros(1, SETTINGS)
        for name, value in {
            **{"method": METHODS[method], "symmetric": symmetric, "signed": signed, "iterations": iterations},
            **{
                "sweeps": sweeps,
                "offset": offset_trick,
                "descent": ccd_trick,
                "stop_at_threshold": stop_at_threshold,
                "precision": precision,
            },
            **{"disturbance": disturbance, "threshold": threshold, "posture": posture_weight, "gain": gain},
            "aimed": math.sqrt(2.0) * math.sin(0.25 * min(float(tolerance), math.pi)),
        }.items():
            self._settings[0][name] = value
        self._models: dict[bool, Packed] = {}
        self._problems: dict[str, AimProblem] = {}
        links = [chain.links[k] for k in chain.rotating]
        self._dofs = np.array([link.dof for link in links], dtype=np.int64)
        self._scale = np.array([link.multiplier for link in links])
        self._shift = np.array([link.offset for link in links])
        plain = len(links) == len(chain) >= 3 and (self._dofs == np.arange(len(chain))).all()
        self._plain = bool(plain and (self._scale == 1.0).all() and (self._shift == 0.0).all())

    def solve(
        self,
        posture: ArrayLike | Pose,
        orientation: ArrayLike | None = None,
        *,
        direction: ArrayLike | None = None,
        look_at: ArrayLike | None = None,
    ) -> ErikSolution:
        """Solve for angles that hold postures (..., N) and meet one of the following targets, each row by itself.

        Args:
            posture: (..., N) [rad], which may lie outside the limits; or a pose of the chain's skeleton.
            orientation: (..., 4) of the tip, in the world; default None.
            direction: (..., 3) target of the pointing axis, in the world; default None. The roll is free.
            look_at: (..., 3) [m] a point in the world for the tip to look at; default None. The roll is free.
        """
        requested = self._postures(posture)
        kind, goals = one_target(orientation, direction, look_at)
        if (like := first_on_gpu(requested, goals)) is not None:
            return self._solve_on_gpu(requested, goals, kind, like)
        if kind == "look_at":
            shape = np.broadcast_shapes(requested.shape[:-1], goals.shape[:-1])
            angles, fields = self._look(requested, goals, shape)
            return ErikSolution(self.chain, angles, **fields)
        free = kind == "direction"
        solution = self._solve(requested, self._roll_free(goals) if free else goals, free)
        return self._aimed(solution, requested, goals, kind) if self.method == "best" else solution

    def track(
        self,
        postures: ArrayLike | Pose | Motion,
        orientations: ArrayLike | None = None,
        *,
        fps: float = 60.0,
        directions: ArrayLike | None = None,
        look_at: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> ErikMotionSolution:
        """Solve for angles that follow a moving target, each frame continuing from the one before.

        Args:
            postures: (N,) or (..., F, N), or a motion of the chain's skeleton, which is warped to the target.
            orientations: (..., F, 4) of the tip; default None.
            fps: frames a second, default 60.
            directions: (..., F, 3) of the pointing axis instead, with a free roll; default None.
            look_at: (..., F, 3) [m] points to look at instead, with a free roll; default None.
            start: (..., N) [rad] before the first frame; by default none, and the first frame is free.
        """
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        requested = self._postures(postures.pose if isinstance(postures, Motion) else postures)
        kind, goals = one_target(orientations, directions, look_at)
        shape = np.broadcast_shapes(requested.shape[:-1], goals.shape[:-1])
        if not shape:
            raise ShapeError(
                "a track needs a frame axis: postures (F, N) or targets (F, 4), directions or points (F, 3)"
            )
        past = None if start is None else self.chain.finite("start", start)
        if (like := first_on_gpu(requested, goals, past)) is not None:
            return self._track_on_gpu(requested, goals, kind, like, shape, fps, past)
        before = None if past is None else rows_of(past, shape[:-1])
        options: dict[str, Any] = {"length": shape[-1], "before": before, "max_step": self.speed / fps}
        if kind == "look_at":
            angles, fields = self._look(requested, goals, shape, **options)
        else:
            free = kind == "direction"
            rows = rows_of(requested, shape), rows_of(self._roll_free(goals) if free else goals, shape)
            angles, report = self._run(*rows, free, **options)
            angles, fields = angles.reshape(*shape, len(self.chain)), solution_fields(report, shape)
            if before is None and self.method == "best" and shape[-1] > 0:
                self._open(requested, goals, kind, fps, angles, fields)
        return ErikMotionSolution(self.chain, angles, **fields, fps=fps, jumped=self._jumped(angles, fps))

    def stream(self, fps: float = 60.0) -> ErikStream:
        """Return a solver with a state: `step(posture, orientation, dt)` continues from the step before."""
        return ErikStream(self, fps)

    def _on_gpu(self, requested: Floats, goals: Floats, like: Any) -> tuple[Floats, Floats]:
        """Return postures and targets on the GPU of `like`; raise where the chain or its skeleton needs the CPU."""
        if not self._plain:
            raise PosableError(
                "on a GPU, ERIK takes a chain whose joints all rotate, each by its own motor; other chains need arrays "
                "of the CPU"
            )
        # Rounded once more, the last bit would decide between postures.
        return like_array(requested, like), like_array(goals, like).astype(np.float64)

    def _track_on_gpu(
        self,
        requested: Floats,
        goals: Floats,
        kind: str,
        like: Any,
        shape: tuple[int, ...],
        fps: float,
        past: Floats | None,
    ) -> ErikMotionSolution:
        """Return what `track` does: each track is one thread's."""
        postures, targets = self._on_gpu(requested, goals, like)
        before = None if past is None else rows_of(like_array(past, like), shape[:-1])
        options: dict[str, Any] = {"length": shape[-1], "before": before, "max_step": self.speed / fps}
        if kind == "look_at":
            found, fields = self._look(postures, targets, shape, **options)
        else:
            free = kind == "direction"
            rows = rows_of(postures, shape), rows_of(wrapped(self._roll_free(targets)) if free else targets, shape)
            angles, report = self._run(*rows, free, **options)
            found, fields = angles.reshape(*shape, len(self.chain)), solution_fields(report, shape)
            if before is None and self.method == "best" and shape[-1] > 0:
                found, fields = self._opened_on_gpu(postures, targets, kind, fps, found, fields)
        return ErikMotionSolution(
            self.chain, unwrapped(found), **fields, fps=fps, jumped=unwrapped(self._jumped_on_gpu(found, fps))
        )

    def _opened_on_gpu(
        self, postures: Floats, goals: Floats, kind: str, fps: float, angles: Any, fields: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return tracks (..., F, N) that begin where `solve` reaches their first target, where they missed it.

        Targets of the others are none here, and kernels pass them by.
        """
        shape = angles.shape[:-1]
        requested = rows_of(postures, shape).reshape(*shape, len(self.chain))
        targets = rows_of(goals, shape).reshape(*shape, goals.shape[-1])
        status = wrapped(fields["status"])[..., 0]
        missed = (status == int(Status.UNREACHABLE)) | (status == int(Status.LIMITS))
        first = self.solve(
            unwrapped(requested[..., 0, :]),
            **{kind: unwrapped(np.where(missed[..., None], targets[..., 0, :], np.nan))},
        )
        reached = wrapped(first.status) == int(Status.REACHED)
        rest = None
        if shape[-1] > 1:
            later = np.where(reached[..., None, None], targets[..., 1:, :], np.nan)
            plural: dict[str, Any] = {
                {"orientation": "orientations", "direction": "directions"}[kind]: unwrapped(later)
            }
            rest = self.track(unwrapped(requested[..., 1:, :]), fps=fps, start=first.angles, **plural)

        def joined(name: str, old: Any) -> Any:
            columns = (1,) if name == "angles" else ()
            parts = [wrapped(getattr(first, name)).reshape(*shape[:-1], 1, *(old.shape[-1:] if columns else ()))]
            parts += [] if rest is None else [wrapped(getattr(rest, name))]
            new = np.concatenate(parts, len(shape) - 1)
            return np.where(reached.reshape(*shape[:-1], 1, *columns), new, old)

        made = {name: unwrapped(joined(name, wrapped(values))) for name, values in fields.items()}
        return joined("angles", angles), made

    def _jumped_on_gpu(self, angles: Any, fps: float) -> Any:
        """Return what `_jumped` does."""
        none = full((*angles.shape[:-2], min(angles.shape[-2], 1)), 0.0, angles, np.bool_)
        rounding = 1e-9 if angles.dtype == np.float64 else 1e-6
        steps = np.abs(angles[..., 1:, :] - angles[..., :-1, :]) > self.speed / fps + rounding
        return np.concatenate([none, np.any(steps, -1)], -1)

    def _solve_on_gpu(self, requested: Floats, goals: Floats, kind: str, like: Any) -> ErikSolution:
        """Return what `solve` does. Rows that miss their target are solved once more there; nothing else is."""
        requested, goals = self._on_gpu(requested, goals, like)
        if kind == "look_at":
            angles, fields = self._look(requested, goals, np.broadcast_shapes(requested.shape[:-1], goals.shape[:-1]))
            return ErikSolution(self.chain, unwrapped(angles), **fields)
        free = kind == "direction"
        solution = self._solve(requested, wrapped(self._roll_free(goals)) if free else goals, free)
        if self.method != "best":
            return solution
        shape = solution.angles.shape[:-1]
        rows, status = rows_of(requested, shape), wrapped(solution.status).reshape(-1)
        missed = (status == int(Status.UNREACHABLE)) | (status == int(Status.LIMITS))
        units = rows_of(goals, shape)
        if not free:
            units = wrapped(pm.normalize(unwrapped(units)))
        else:
            units = np.concatenate([units, full((len(units), 1), 0.0, units)], -1)
        # What met its target is no target here, and the kernel passes it by.
        aims = np.where(missed[:, None], units, np.nan)[:, None]
        angles = wrapped(solution.angles).reshape(-1, len(self.chain))
        found, report = self._aim_problem(kind).solve(contiguous(aims), {"tip": rows}, angles[:, None])
        reports = report.reshape(-1)
        better = missed & (reports["status"] == int(Status.REACHED))
        fields = {
            name: unwrapped(
                np.where(better, wrapped(values), wrapped(getattr(solution, name)).reshape(-1)).reshape(shape)
            )
            for name, values in solution_fields(reports, (len(rows),)).items()
        }
        angles = np.where(better[:, None], found, angles)
        return ErikSolution(self.chain, unwrapped(angles.reshape(*shape, len(self.chain))), **fields)

    def _solve(self, requested: Floats, goals: Floats, free: bool) -> ErikSolution:
        shape = np.broadcast_shapes(requested.shape[:-1], goals.shape[:-1])
        angles, report = self._run(rows_of(requested, shape), rows_of(goals, shape), free)
        angles = unwrapped(angles.reshape(*shape, len(self.chain)))
        return ErikSolution(self.chain, angles, **solution_fields(report, shape))

    def _aimed(self, solution: ErikSolution, requested: Floats, goals: Floats, kind: str) -> ErikSolution:
        """Return the solution with rows that miss their target solved once more, where the tip then aims.

        Closed forms trade the target for the posture where three joints do not suffice; here all joints are moved.
        """
        shape, status = np.shape(solution.status), np.atleast_1d(solution.status).reshape(-1)
        missed = np.flatnonzero((status == Status.UNREACHABLE) | (status == Status.LIMITS))
        if not len(missed):
            return solution
        rows = rows_of(requested, shape)[missed]
        aims = np.zeros((len(missed), 1, 4))
        aims[:, 0, : goals.shape[-1]] = unit_rows(rows_of(goals, shape)[missed])
        angles = np.array(solution.angles).reshape(-1, len(self.chain))
        found, report = self._aim_problem(kind).solve(aims, {"tip": rows}, angles[missed, None])
        better = report["status"][:, 0] == Status.REACHED
        angles[missed[better]] = found[better]
        fields: dict[str, Any] = {}
        for name, values in solution_fields(report[:, 0], (len(missed),)).items():
            old = np.array(getattr(solution, name)).reshape(-1)
            old[missed[better]] = np.asarray(values)[better]
            fields[name] = old.reshape(shape) if shape else old[0].item()
        fields["status"] = status_like(np.asarray(fields["status"]).reshape(-1), shape)
        return ErikSolution(self.chain, angles.reshape(*shape, len(self.chain)), **fields)

    def _open(
        self, requested: Floats, goals: Floats, kind: str, fps: float, angles: Floats, fields: dict[str, Any]
    ) -> None:
        """Let tracks (..., F, N) begin where `solve` reaches their first target, where they missed it."""
        shape = angles.shape[:-1]
        missed = (fields["status"][..., 0] == Status.UNREACHABLE) | (fields["status"][..., 0] == Status.LIMITS)
        if not missed.any():
            return
        postures = np.broadcast_to(requested, (*shape, len(self.chain)))[missed]
        targets = np.broadcast_to(goals, (*shape, goals.shape[-1]))[missed]
        first = self.solve(postures[:, 0], **{kind: targets[:, 0]})
        plural: dict[str, Any] = {{"orientation": "orientations", "direction": "directions"}[kind]: targets[:, 1:]}
        rest = self.track(postures[:, 1:], fps=fps, start=first.angles, **plural)
        reached = np.flatnonzero(first.ok)
        for name, values in {"angles": angles, **fields}.items():
            rows = values[missed]
            rows[reached, 0], rows[reached, 1:] = getattr(first, name)[reached], getattr(rest, name)[reached]
            values[missed] = rows

    def _aim_problem(self, kind: str) -> AimProblem:
        if kind not in self._problems:
            self._problems[kind] = AimProblem({"tip": self.chain}, {"tip": KINDS[kind]}, {"tip": self.tip_settings()})
        return self._problems[kind]

    def _run(
        self,
        requested: Floats,
        goals: Floats,
        free: bool,
        *,
        length: int = 1,
        before: Floats | None = None,
        max_step: float = math.inf,
    ) -> tuple[Floats, Records]:
        """Return (values (n, N), reports (n,)) of tracks of `length` rows each, in blocks of rows."""
        model = self._model(free)
        joints, total = len(model.joints), len(requested)
        tracks = total // max(length, 1)
        postures, limits = self._into(requested, joints, free)
        like = first_on_gpu(requested, goals)
        past = full((tracks, joints), np.nan, like)
        if isinstance(before, GpuArray):  # of a plain chain, with one joint more for a free roll
            past = self._into(before, joints, free)[0]
        elif before is not None and tracks > 0:  # tracks without frames have a start too
            past[:, : len(self._dofs)] = self._joint_angles(before)
            past[:, len(self._dofs) :] = 0.0
        angles, report = empty((total, joints), like), zeros((total,), like, REPORT)
        step = max(1, BLOCK // max(length, 1)) if like is None else BLOCK_ON_GPU  # tracks
        width, size = max(joints, WIDTH), min(step, tracks)
        frames = empty((size, 2 * joints, 4), like, np.float64)
        work = empty((size, SCRATCH, width), like, np.float64)
        for first in range(0, tracks, step):
            n = min(step, tracks - first)
            rows = slice(first * length, (first + n) * length)
            solve_rows(
                n,
                length,
                model.joints,
                self._settings,
                model.triples,
                model.mirrors,
                model.ends,
                max_step,
                postures[rows],
                goals[rows],
                past[first : first + n],
                limits[rows] if len(limits) else limits,
                angles[rows],
                report[rows],
                frames,
                work,
            )
        return (angles if self._plain and not free else self._out(angles, requested)), report

    def _into(self, requested: Floats, joints: int, free: bool) -> tuple[Floats, Floats]:
        """Return (postures of the kernels' joints, limits of rows that have their own)."""
        if self._plain and joints == len(self.chain):
            return requested, NO_BOX
        if isinstance(requested, GpuArray):  # of a plain chain, with one joint more for a free roll
            roll = full((len(requested), joints - len(self.chain)), 0.0, requested)
            return np.concatenate([requested, roll], -1), NO_BOX
        rotating = len(self._dofs)
        postures = np.zeros((len(requested), joints))
        postures[:, :rotating] = self._joint_angles(requested)
        shared = self.chain.shared_motors
        if not len(shared):
            return postures, NO_BOX
        model = self._model(free).joints
        limits = np.empty((len(requested), 2, joints))
        limits[:, 0], limits[:, 1] = model["low"], model["high"]
        values = np.clip(np.nan_to_num(requested), self.chain.lower, self.chain.upper)
        limits[:, :, shared] = self._joint_angles(values)[:, None, shared]
        return postures, limits

    def _joint_angles(self, values: Floats) -> Floats:
        """Return values of the chain (n, N) as angles of the joints that rotate."""
        angles: Floats = values[:, self._dofs] * self._scale + self._shift
        return angles

    def _out(self, angles: Floats, requested: Floats) -> Floats:
        """Return the kernels' angles as values of the chain; slides and shared motors keep the posture's."""
        chain = self.chain
        if isinstance(angles, GpuArray):
            return contiguous(angles[:, : len(chain)])
        values = np.clip(np.nan_to_num(requested), chain.lower, chain.upper)
        shared = set(chain.shared_motors.tolist())
        for m, dof in enumerate(self._dofs):
            if m not in shared:
                found = (angles[:, m] - self._shift[m]) / self._scale[m]
                values[:, dof] = np.clip(found, chain.lower[dof], chain.upper[dof])
        return values

    def _model(self, free: bool) -> Packed:
        if free not in self._models:
            self._models[free] = self.chain.packed(self.aggravation, roll_free=free)
        return self._models[free]

    def _postures(self, posture: ArrayLike | Pose) -> Floats:
        if isinstance(posture, Pose):
            return self.chain.read(posture)
        return self.chain.checked("postures", posture)

    def _roll_free(self, directions: Floats) -> Floats:
        """Return (..., 4) some orientation that points there; zero where a direction is zero or not finite."""
        if isinstance(directions, GpuArray):
            found = wrapped(pm.between(self.chain.pointing, unwrapped(directions)))
            fine = np.isfinite(np.sum(directions, -1)) & (np.amax(np.abs(directions), -1) > 0.0)
            return np.where(fine[..., None], found, 0.0)
        orientations = np.asarray(pm.between(np.broadcast_to(self.chain.pointing, directions.shape), directions))
        fine = np.isfinite(directions).all(axis=-1) & (np.abs(directions).max(axis=-1) > 0.0)
        return np.where(fine[..., None], orientations, 0.0)

    def _look(
        self,
        requested: Floats,
        points: Floats,
        shape: tuple[int, ...],
        *,
        length: int = 1,
        before: Floats | None = None,
        max_step: float = math.inf,
    ) -> tuple[Floats, dict[str, Any]]:
        """Return (angles, fields of a solution) that look at points: direction and tip are solved for together.

        The search begins at the posture, and at what the solver finds for the directions to the point from the tip,
        the base and the middle of the chain in that posture, and from where the tip then is.
        """
        chain, rows, goals = self.chain, rows_of(requested, shape), rows_of(points, shape)
        like = first_on_gpu(rows, goals)
        if like is not None:
            rows = rows.astype(np.float64)
            before = None if before is None else before.astype(np.float64)
        clipped = empty(rows.shape, rows)
        clip_rows(len(rows), chain.lower, chain.upper, rows, clipped)
        aims = np.concatenate([goals, full((len(goals), 1), 0.0, goals)], -1)[:, None]
        problem = self._aim_problem("look_at")
        options: dict[str, Any] = {"length": length, "before": before, "max_step": max_step, "gain": self.gain}
        angles, report = clipped, np.zeros((0, 1), REPORT)
        # Mostly what came before leads to the point: then no other start is needed. On a GPU nobody waits to see that.
        if before is not None and like is None:
            angles, report = problem.solve(aims, {"tip": rows}, clipped[:, None], **options)
        if before is None or like is not None or (report["iterations"] != 1).any():
            stations, starts = wrapped(chain.forward(unwrapped(clipped)).positions), [clipped]
            for k, rounds in ((len(chain), 4), (0, 2), (len(chain) // 2, 2)):
                towards = goals - stations[:, k]
                for _ in range(rounds):
                    starts.append(wrapped(self._solve(rows, wrapped(self._roll_free(towards)), True).angles))
                    towards = goals - wrapped(chain.forward(unwrapped(starts[-1])).positions)[:, -1]
            angles, report = problem.solve(aims, {"tip": rows}, np.stack(starts, 1), **options)
        angles, reports = angles.reshape(*shape, len(chain)), report.reshape(-1)
        if like is not None:
            angles, reports.floats = angles.astype(like.floats), like.floats  # type: ignore[attr-defined]
        return angles, solution_fields(reports, shape)

    def tip_settings(self, weight: float = 1.0) -> TipSettings:
        """Return how the tip is judged, for problems with several of them."""
        signed, tolerance = bool(self._settings[0]["signed"]), float(self._settings[0]["aimed"])
        return TipSettings(self.symmetric, tolerance, self.posture_weight, self.aggravation, signed, weight)

    def _jumped(self, angles: Floats, fps: float) -> Bools:
        """Return (..., F): frames in which a joint moved further than the speed allows."""
        jumped = np.zeros(angles.shape[:-1], dtype=np.bool_)
        jumped[..., 1:] = (np.abs(np.diff(angles, axis=-2)) > self.speed / fps + 1e-9).any(axis=-1)
        return jumped


class ErikStream:
    """`ERIK` with a state; made by `ERIK.stream`. One stream serves one chain, from one thread."""

    def __init__(self, erik: ERIK, fps: float) -> None:
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        self.erik, self.fps = erik, float(fps)
        self.angles: Floats | None = None
        """(N,) of the last step, None before the first."""

    def reset(self, angles: ArrayLike | None = None) -> None:
        """Forget the past, or continue from these angles (N,)."""
        self.angles = None if angles is None else self.erik.chain.finite("angles", angles).copy()

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
        seconds = time_step(dt, self.fps)
        kind, goal = one_target(orientation, direction, look_at)
        if np.ndim(goal) != 1:
            raise ShapeError(f"the {kind} has shape {np.shape(goal)}; a stream takes one target a step")
        kinds: dict[str, Any] = {{"orientation": "orientations", "direction": "directions"}.get(kind, kind): goal[None]}
        track = self.erik.track(posture, fps=1.0 / seconds, start=self.angles, **kinds)
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

"""`ERIK`: hold an expressive posture while aiming (Ribeiro and Paiva 2019; specification express)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, UnknownNameError, expect, number
from ..compute.types import ArrayLike, Bools, Floats, Records
from ..skeleton import Motion, Pose
from .answers import ErikAnswer, ErikTrack
from .chain import Chain
from .inputs import one_of, reported, rows_of, unit_rows
from .model import METHODS, REPORT, SCRATCH, SETTINGS, WIDTH, Packed
from .rows import solve_rows

if TYPE_CHECKING:
    from .stream import ErikStream

BLOCK = 16384  # rows a call of the kernel
NO_BOX = np.empty((0, 2, 0))
LEAP = math.radians(10.0)  # a round of looking at a point stays within this of the one before
LOOKS = 20  # how often the direction to a point is taken anew from where the tip has come to
SHRINKS = 0.7  # a round that brings the change to no less than this share of the one before goes too far
LOOKED = 1e-6  # [rad]: until it changes by no more


class ERIK:
    """Finds angles that point the tip of a chain at a target and keep the shape of a posture. Immutable.

    Args:
        chain: whose joints.
        method: "best": closed forms and a search, the least error; "erik": the paper's algorithm as specified;
            "simple": its warp and descent only; "ccd": cyclic coordinate descent from the posture.
        symmetric: whether the tip may be upside down: half a turn about where it points costs nothing.
        aggravation: how much more each bend counts in the posture error than the one before it.
        signed: whether the posture error sees which way a joint bends; the paper's does not.
        threshold: the error that is good enough: status REACHED, and `erik` stops there.
        posture_weight: of the posture error in the error.
        early: whether `best` may stop at the threshold too, which is faster.
        speed: [rad/s] that a joint keeps to in `track`, unless a better answer is out of reach otherwise.
        gain: how much less the error must be for `track` to leap.
        iterations: `erik` takes at most so many.
        sweeps: of its backward descents; CCD takes five times as many.
        precision: of a direction, (1 - cosine) / 2, at which a descent stops.
        disturbance: [rad] by which `erik` keeps off limits and moves a target that it cannot meet.
        offset_trick: whether it does the latter (NonConvOffsetTrick).
        ccd_trick: whether it tries CCD at last (NonConvCCDTrick).
    """

    def __init__(
        self,
        chain: Chain,
        method: str = "best",
        *,
        symmetric: bool = True,
        aggravation: float = 1.5,
        signed: bool = False,
        threshold: float = 0.04,
        posture_weight: float = 0.2,
        early: bool = False,
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
        for name, value in {"threshold": threshold, "posture_weight": posture_weight, "gain": gain}.items():
            if not 0.0 <= number(value) < math.inf:
                raise PosableError(f"{name} is {value}; expected 0 or more")
        if not 0.0 <= number(disturbance) < 0.5:
            raise PosableError(f"disturbance is {disturbance}; expected 0 to 0.5 rad")
        self.chain, self.method, self.speed = chain, method, float(speed)
        self.aggravation, self.threshold = float(aggravation), float(threshold)
        self._settings = np.zeros(1, SETTINGS)
        for name, value in {
            **{"method": METHODS[method], "symmetric": symmetric, "signed": signed, "iterations": iterations},
            **{"sweeps": sweeps, "offset": offset_trick, "descent": ccd_trick, "early": early, "precision": precision},
            **{"disturbance": disturbance, "threshold": threshold, "posture": posture_weight, "gain": gain},
        }.items():
            self._settings[0][name] = value
        self._models: dict[bool, Packed] = {}
        links = [chain.links[k] for k in chain.turning]
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
    ) -> ErikAnswer:
        """Angles for postures (..., N) and one of the following, each frame by itself.

        Args:
            posture: (..., N) [rad], which may lie outside the limits; or a pose of the chain's skeleton.
            orientation: (..., 4) of the tip, in the world.
            direction: (..., 3) where the tip shall point, whatever its roll.
            look_at: (..., 3) [m] a point to look at from the tip, whatever its roll.
        """
        wanted = self._postures(posture)
        kind, goals = one_of(orientation, direction, look_at)
        if kind == "look_at":
            return self._look(wanted, goals)
        if kind == "direction":
            return self._solve(wanted, self._roll_free(goals), True)
        return self._solve(wanted, goals, False)

    def track(
        self,
        postures: ArrayLike | Pose | Motion,
        orientations: ArrayLike | None = None,
        fps: float = 60.0,
        *,
        directions: ArrayLike | None = None,
        look_at: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> ErikTrack:
        """Angles for a moving target, each frame continuing from the one before.

        Args:
            postures: (N,) or (..., F, N), or a motion of the chain's skeleton, which is warped to the target.
            orientations: (..., F, 4) of the tip.
            fps: frames a second.
            directions: (..., F, 3) instead, whatever the roll.
            look_at: (..., F, 3) [m] instead.
            start: (..., N) angles before the first frame, if any.
        """
        if not (math.isfinite(fps) and fps > 0):
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        wanted = self._postures(postures.pose if isinstance(postures, Motion) else postures)
        kind, goals = one_of(orientations, directions, look_at)
        if kind == "look_at":
            return self._follow(wanted, goals, fps, start)
        if kind == "direction":
            return self._track(wanted, self._roll_free(goals), True, fps, start)
        return self._track(wanted, goals, False, fps, start)

    def stream(self, fps: float = 60.0) -> ErikStream:
        """The solver with a memory: `step(posture, orientation, dt)` continues from the step before."""
        from .stream import ErikStream

        return ErikStream(self, fps)

    def _solve(
        self,
        wanted: Floats,
        goals: Floats,
        free: bool,
        *,
        box: Floats | None = None,
        past: Floats | None = None,
        leap: float | None = None,
    ) -> ErikAnswer:
        shape = np.broadcast_shapes(wanted.shape[:-1], goals.shape[:-1])
        rows = rows_of(wanted, shape), rows_of(goals, shape)
        before = None if past is None else rows_of(past, shape)
        angles, report = self._run(*rows, len(rows[0]), 1, free, before, LEAP if leap is None else leap, box)
        return ErikAnswer(self.chain, angles.reshape(*shape, len(self.chain)), **reported(report, shape))

    def _track(self, wanted: Floats, goals: Floats, free: bool, fps: float, start: ArrayLike | None) -> ErikTrack:
        shape = np.broadcast_shapes(wanted.shape[:-1], goals.shape[:-1])
        if not shape:
            raise ShapeError("a track needs a frame axis: postures (F, N) or orientations (F, 4)")
        length, count = shape[-1], len(self.chain)
        tracks = math.prod(shape[:-1])
        before = None if start is None else rows_of(self.chain._checked("start", start), shape[:-1])
        angles, report = self._run(
            rows_of(wanted, shape), rows_of(goals, shape), tracks, length, free, before, self.speed / fps, None
        )
        angles = angles.reshape(*shape, count)
        return ErikTrack(self.chain, angles, **reported(report, shape), fps=fps, jumped=self._jumped(angles, fps))

    def _run(
        self,
        wanted: Floats,
        goals: Floats,
        tracks: int,
        length: int,
        free: bool,
        before: Floats | None,
        leap: float,
        box: Floats | None,
    ) -> tuple[Floats, Records]:
        """(values (n, N), reports (n,)) of so many tracks of equal length, in blocks of rows."""
        model = self._model(free)
        joints, total = len(model.joints), len(wanted)
        postures, limits = self._into(wanted, joints, free, box)
        past = np.full((tracks, joints), np.nan)
        if before is not None:
            past[:, : len(self._dofs)] = self._turned(before)
            past[:, len(self._dofs) :] = 0.0
        angles, report = np.empty((total, joints)), np.zeros(total, REPORT)
        step = max(1, BLOCK // max(length, 1))
        width = max(joints, WIDTH)
        frames, work = np.empty((min(step, tracks), 2 * joints, 4)), np.empty((min(step, tracks), SCRATCH, width))
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
                leap,
                postures[rows],
                goals[rows],
                past[first : first + n],
                limits[rows] if len(limits) else limits,
                angles[rows],
                report[rows],
                frames,
                work,
            )
        return (angles if self._plain and not free else self._out(angles, wanted)), report

    def _into(self, wanted: Floats, joints: int, free: bool, box: Floats | None) -> tuple[Floats, Floats]:
        """(postures of the kernels' joints, limits of rows that have their own)."""
        if self._plain and joints == len(self.chain) and box is None:
            return wanted, NO_BOX
        turning = len(self._dofs)
        postures = np.zeros((len(wanted), joints))
        postures[:, :turning] = self._turned(wanted)
        held = self.chain.held
        if box is None and not len(held):
            return postures, NO_BOX
        model = self._model(free).joints
        limits = np.empty((len(wanted), 2, joints))
        limits[:, 0], limits[:, 1] = model["low"], model["high"]
        if box is not None:
            ends = np.sort(np.stack([self._turned(box[:, 0]), self._turned(box[:, 1])], axis=1), axis=1)
            limits[:, :, :turning] = ends
        if len(held):
            values = np.clip(np.nan_to_num(wanted), self.chain.lower, self.chain.upper)
            limits[:, :, held] = self._turned(values)[:, None, held]
        return postures, limits

    def _turned(self, values: Floats) -> Floats:
        """Values of the chain (n, N) as angles of the joints that turn."""
        turned: Floats = values[:, self._dofs] * self._scale + self._shift
        return turned

    def _out(self, angles: Floats, wanted: Floats) -> Floats:
        """Angles of the kernels as values of the chain; slides and shared motors keep the posture's."""
        chain = self.chain
        values = np.clip(np.nan_to_num(wanted), chain.lower, chain.upper)
        held = set(chain.held.tolist())
        for m, dof in enumerate(self._dofs):
            if m not in held:
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
        return self.chain._checked("postures", posture)

    def _roll_free(self, directions: Floats) -> Floats:
        """(..., 4): some orientation whose tip points there; a direction that is none gives the zero quaternion."""
        turned = np.asarray(pm.between(np.broadcast_to(self.chain.pointing, directions.shape), directions))
        fine = np.isfinite(directions).all(axis=-1) & (np.abs(directions).max(axis=-1) > 0.0)
        return np.where(fine[..., None], turned, 0.0)

    def _look(
        self, wanted: Floats, points: Floats, past: Floats | None = None, leap: float | None = None
    ) -> ErikAnswer:
        """Look at points: solve for the direction from where the tip has come to, until that no longer changes.

        Each round continues from the one before, so that it stays on one branch. Where the tip's own way changes the
        direction as much as the direction moved the tip, as with a point nearby, rounds go a part of the way only.
        """
        chain = self.chain
        shape = np.broadcast_shapes(wanted.shape[:-1], points.shape[:-1])
        here = np.clip(np.nan_to_num(wanted), chain.lower, chain.upper) if past is None else past
        directions = unit_rows(np.broadcast_to(points - chain.forward(here).positions[..., -1, :], (*shape, 3)))
        share, before = np.ones(shape), np.full(shape, np.inf)
        for _ in range(LOOKS):
            answer = self._solve(wanted, self._roll_free(directions), True, past=past, leap=leap)
            past = answer.angles
            with np.errstate(invalid="ignore"):
                ahead = unit_rows(points - chain.forward(past).positions[..., -1, :])
                change = np.linalg.norm(ahead - directions, axis=-1)
                if not (change > LOOKED).any():
                    break
                share, before = np.where(change > SHRINKS * before, 0.5 * share, share), change
                directions = unit_rows(directions + share[..., None] * (ahead - directions))
        return answer

    def _follow(self, wanted: Floats, points: Floats, fps: float, start: ArrayLike | None) -> ErikTrack:
        """Look at moving points, frame after frame."""
        shape = np.broadcast_shapes(wanted.shape[:-1], points.shape[:-1])
        if not shape:
            raise ShapeError("a track needs a frame axis: postures (F, N) or look_at (F, 3)")
        postures = np.broadcast_to(wanted, (*shape, len(self.chain)))
        places = np.broadcast_to(points, (*shape, 3))
        past = None if start is None else self.chain._checked("start", start)
        told: list[ErikAnswer] = []
        for f in range(shape[-1]):
            told.append(self._look(postures[..., f, :], places[..., f, :], past, self.speed / fps))
            past = told[-1].angles
        angles = np.stack([one.angles for one in told], axis=-2)
        columns: dict[str, Any] = {
            name: np.stack([np.asarray(getattr(one, name)) for one in told], axis=-1)
            for name in ("error", "orientation_error", "posture_error", "iterations", "status")
        }
        columns["status"] = columns["status"].astype(np.int8)
        return ErikTrack(chain=self.chain, angles=angles, **columns, fps=fps, jumped=self._jumped(angles, fps))

    def _jumped(self, angles: Floats, fps: float) -> Bools:
        """(..., F): frames in which a joint moved further than the speed allows."""
        jumped = np.zeros(angles.shape[:-1], dtype=np.bool_)
        jumped[..., 1:] = (np.abs(np.diff(angles, axis=-2)) > self.speed / fps + 1e-9).any(axis=-1)
        return jumped

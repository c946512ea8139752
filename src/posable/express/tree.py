"""`Tree`: several end points that share joints (Ribeiro 2019, 6: two arms and a head on one spine).

All end points are aimed at once (`aim`): a shared joint has one value, and a tip whose base another chain moves is
aimed from where it then is. The search begins at each chain's own solution in turn, with the others following it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, expect, number
from ..compute.arguments import explained
from ..compute.extent import time_step
from ..compute.types import ArrayLike, Bools, Floats
from ..skeleton import Motion, Pose, Skeleton, Solution
from ..skeleton.solution import StatusLike, status_like
from .aim import KINDS, AimProblem
from .chain import Chain, Link
from .erik import ERIK
from .solutions import ErikSolution, one_target, rows_of, solution_fields, unit_rows

Targets = Mapping[str, ArrayLike] | None


@dataclass(frozen=True, eq=False, repr=False)
class TreeSolution(Solution):
    """Angles of all chains of a tree, for one set of targets or a batch."""

    skeleton: Skeleton
    chains: Mapping[str, ErikSolution]
    """By end point; shared joints have the same angles in all of them, and errors are those of the whole pose."""
    error: Any
    """(...): the weighted sum of the errors."""
    pose: Pose
    """The pose of the skeleton with all chains."""
    status: StatusLike
    """REACHED where every end point is within its tolerance."""

    @property
    def angles(self) -> dict[str, Floats]:
        """(..., N) by end point."""
        return {name: chain.angles for name, chain in self.chains.items()}

    @property
    def position_error(self) -> Floats:
        """(...) [m]: 0, since end points have no target positions; infinite where an input is INVALID."""
        return np.asarray(np.max([chain.position_error for chain in self.chains.values()], axis=0))

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad] of the worst end point."""
        return np.asarray(np.max([chain.orientation_error for chain in self.chains.values()], axis=0))


@dataclass(frozen=True, eq=False, repr=False)
class TreeMotionSolution(TreeSolution):
    """Angles of all chains of a tree that follow moving targets, frame after frame: (..., F, N)."""

    _rows: ClassVar[str] = "frames"

    fps: float
    jumped: Bools
    """(..., F): frames in which a joint moved further than the solver's `speed` allows."""

    @property
    def motion(self) -> Motion:
        """The motion of the skeleton, for a single track."""
        return Motion(self.skeleton, self.pose, self.fps)


class Tree:
    """Solves several chains of one skeleton together. Immutable.

    Args:
        chains: by the name of their end point, on one skeleton or on equal ones (chains of one robot's file).
        weights: of their errors; 1 where not given.
        **options: for `ERIK`.
    """

    def __init__(self, chains: Mapping[str, Chain], weights: Mapping[str, float] | None = None, **options: Any) -> None:
        expect(Mapping, chains, "chains", ": Tree({name: chain})")
        if not chains:
            raise PosableError("a tree needs at least one chain")
        self.skeleton = next(iter(chains.values())).skeleton
        self.chains: dict[str, Chain] = {}
        for name, chain in chains.items():
            if not chain.skeleton.same_as(self.skeleton):
                raise PosableError(f"the chain {name!r} is one of another skeleton")
            self.chains[name] = chain.on(self.skeleton)
        self._expect_same_axes()
        self.weights = dict.fromkeys(self.chains, 1.0)
        for name, weight in (weights or {}).items():
            if name not in self.chains:
                raise UnknownNameError("end point", name, self.chains)
            if not 0.0 < float(weight) < math.inf:
                raise PosableError(f"the weight of {name!r} is {weight}; expected a number above 0")
            self.weights[name] = float(weight)
        self._solvers = {name: ERIK(chain, **options) for name, chain in self.chains.items()}
        self._problems: dict[tuple[tuple[str, str], ...], AimProblem] = {}

    def _expect_same_axes(self) -> None:
        """Raise where two chains move a joint about different axes: their values could not be of one pose."""
        known: dict[int, tuple[str, list[Link]]] = {}
        for name, chain in self.chains.items():
            for joint in dict.fromkeys(link.joint for link in chain.links):
                links = [link for link in chain.links if link.joint == joint]
                other, theirs = known.setdefault(joint, (name, links))
                if len(links) != len(theirs) or not all(
                    a.slides == b.slides and np.allclose(a.axis, b.axis, atol=1e-9)
                    for a, b in zip(links, theirs, strict=True)
                ):
                    raise PosableError(
                        f"the chains {other!r} and {name!r} move {self.skeleton.names[joint]!r} about different axes; "
                        "make both of them in the same way (from_body or from_skeleton)"
                    )

    def solve(
        self,
        postures: Mapping[str, ArrayLike],
        orientations: Targets = None,
        *,
        directions: Targets = None,
        look_at: Targets = None,
    ) -> TreeSolution:
        """Solve for angles that hold postures and meet a target of each end point that has one.

        Args:
            postures: (..., N) [rad] by end point; the chain's zero where not given.
            orientations: (..., 4) of the tip in the world by end point; default none.
            directions: (..., 3) of the pointing axis in the world by end point, with a free roll; default none.
            look_at: (..., 3) [m] points in the world to look at by end point, with a free roll; default none.
        """
        requested, goals, kinds = self._targets(postures, orientations, directions, look_at)
        shape = np.broadcast_shapes(*(array.shape[:-1] for array in (*goals.values(), *requested.values())))
        return TreeSolution(**self._solved(requested, goals, kinds, shape, 1, None, math.inf))

    def track(
        self,
        postures: Mapping[str, ArrayLike],
        orientations: Targets = None,
        *,
        fps: float = 60.0,
        directions: Targets = None,
        look_at: Targets = None,
        start: Mapping[str, ArrayLike] | None = None,
    ) -> TreeMotionSolution:
        """Solve for angles that follow moving targets, each frame continuing from the one before.

        Args:
            postures: (N,) or (..., F, N) [rad] by end point; the chain's zero where not given.
            orientations: (..., F, 4) of the tip by end point; default none.
            fps: frames a second, default 60.
            directions: (..., F, 3) of the pointing axis by end point, with a free roll; default none.
            look_at: (..., F, 3) [m] points to look at by end point, with a free roll; default none.
            start: (..., N) [rad] by end point before the first frame; by default none, and the first frame is free.
        """
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        requested, goals, kinds = self._targets(postures, orientations, directions, look_at)
        shape = np.broadcast_shapes(*(array.shape[:-1] for array in (*goals.values(), *requested.values())))
        if not shape:
            raise ShapeError(
                "a track needs a frame axis: postures (F, N) or targets (F, 4), directions or points (F, 3)"
            )
        speed = next(iter(self._solvers.values())).speed
        found = self._solved(requested, goals, kinds, shape, shape[-1], start, speed / fps)
        jumped = np.zeros(shape, dtype=np.bool_)
        for chain in found["chains"].values():
            steps = np.abs(np.diff(chain.angles, axis=-2))
            jumped[..., 1:] |= (steps > speed / fps + 1e-9).any(axis=-1)
        return TreeMotionSolution(**found, fps=fps, jumped=jumped)

    def stream(self, fps: float = 60.0) -> TreeStream:
        """Return a solver with a state: each `step` continues from the step before."""
        return TreeStream(self, fps)

    def _targets(
        self, postures: Mapping[str, ArrayLike], orientations: Targets, directions: Targets, look_at: Targets
    ) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, str]]:
        """Return (postures, targets, kinds) by end point, of those that have a target, in the tree's order."""
        given = {"orientation": orientations or {}, "direction": directions or {}, "look_at": look_at or {}}
        for what, names in {"postures": postures, **given}.items():
            expect(Mapping, names, what, ": {end point: values}")
            for name in names:
                if name not in self.chains:
                    raise UnknownNameError("end point", name, self.chains)
        goals, kinds = {}, {}
        for name in self.chains:
            own: dict[str, Any] = {kind: targets[name] for kind, targets in given.items() if name in targets}
            if own:
                try:
                    kinds[name], goals[name] = one_target(**{kind: own.get(kind) for kind in given})
                except PosableError as error:
                    raise type(error)(f"end point {name!r}: {error}") from None
        if not goals:
            raise PosableError(f"no target is given; the end points are {', '.join(map(repr, self.chains))}")
        requested = {
            name: self.chains[name].checked("postures", postures.get(name, self.chains[name].zero)) for name in goals
        }
        return requested, goals, kinds

    def _solved(
        self,
        requested: dict[str, Floats],
        goals: dict[str, Floats],
        kinds: dict[str, str],
        shape: tuple[int, ...],
        length: int,
        start: Mapping[str, ArrayLike] | None,
        max_step: float,
    ) -> dict[str, Any]:
        """Return the fields of a solution in the batch's shape."""
        key = tuple(kinds.items())
        if key not in self._problems:
            chains = {name: self.chains[name] for name in kinds}
            settings = {name: self._solvers[name].tip_settings(self.weights[name]) for name in kinds}
            self._problems[key] = AimProblem(chains, {name: KINDS[kind] for name, kind in key}, settings)
        problem = self._problems[key]
        postures = {name: rows_of(values, shape) for name, values in requested.items()}
        aims = np.zeros((len(next(iter(postures.values()))), len(kinds), 4))
        for t, (name, goal) in enumerate(goals.items()):
            rows = rows_of(goal, shape)
            aims[:, t, : rows.shape[-1]] = rows if kinds[name] == "look_at" else unit_rows(rows)
        before = None if start is None else self._before(problem, start, shape[:-1])
        gain = next(iter(self._solvers.values())).gain
        values, report = problem.solve(
            aims,
            postures,
            self._starts(problem, postures, aims, kinds),
            length=length,
            before=before,
            max_step=max_step,
            gain=gain,
        )
        solutions: dict[str, ErikSolution] = {}
        pose: Pose | None = None
        for t, name in enumerate(kinds):
            angles = values[:, problem.columns[name]].reshape(*shape, len(self.chains[name]))
            solutions[name] = ErikSolution(self.chains[name], angles, **solution_fields(report[:, t], shape))
            pose = self.chains[name].pose(angles, pose)
        total = sum(self.weights[name] * np.asarray(found.error) for name, found in solutions.items())
        return {
            "skeleton": self.skeleton,
            "chains": solutions,
            "error": total if shape else float(np.asarray(total)),
            "pose": pose,
            "status": status_like(report["status"].max(axis=1), shape),
        }

    def _starts(self, problem: AimProblem, postures: dict[str, Floats], aims: Floats, kinds: dict[str, str]) -> Floats:
        """Return (n, S, V): the postures, then each chain's own solution with the others following it."""
        at_postures = np.zeros((len(aims), len(problem.lower)))
        alone = {}
        for t, (name, rows) in enumerate(reversed(postures.items())):
            chain, solver = self.chains[name], self._solvers[name]
            clipped = np.clip(np.nan_to_num(rows), chain.lower, chain.upper)
            at_postures[:, problem.columns[name]] = clipped
            goal = aims[:, len(kinds) - 1 - t]
            if kinds[name] == "orientation":
                alone[name] = solver.solve(rows, goal).angles
            else:
                tip = chain.forward(clipped).positions[:, -1] if kinds[name] == "look_at" else 0.0
                alone[name] = solver.solve(rows, direction=goal[:, :3] - tip).angles
        starts = [np.clip(at_postures, problem.lower, problem.upper)]
        for leader in postures:
            values = at_postures.copy()
            for name in [*(other for other in reversed(postures) if other != leader), leader]:
                values[:, problem.columns[name]] = alone[name]
            starts.append(np.clip(values, problem.lower, problem.upper))
        return np.stack(starts, axis=1)

    def _before(self, problem: AimProblem, start: Mapping[str, ArrayLike], shape: tuple[int, ...]) -> Floats:
        """Return (tracks, V) the values before the first frame, where all chains have them."""
        values = np.zeros((math.prod(shape), len(problem.lower)))
        for name in problem.chains:
            if name not in start:
                raise PosableError(f"start has no angles of {name!r}; expected those of every end point with a target")
            values[:, problem.columns[name]] = rows_of(self.chains[name].finite("start", start[name]), shape)
        return values


@explained
class TreeStream:
    """`Tree` with a state; made by `Tree.stream`. One stream serves one tree, from one thread."""

    def __init__(self, tree: Tree, fps: float) -> None:
        if not 0.0 < number(fps) < math.inf:
            raise PosableError(f"fps is {fps}; expected frames a second above 0")
        self.tree, self.fps = tree, float(fps)
        self.angles: dict[str, Floats] = {}
        """End point to (N,) of the last step; empty before the first."""

    def reset(self) -> None:
        """Forget the past."""
        self.angles = {}

    def step(
        self,
        postures: Mapping[str, ArrayLike],
        orientations: Targets = None,
        dt: float | None = None,
        *,
        directions: Targets = None,
        look_at: Targets = None,
    ) -> TreeSolution:
        """Return the angles for the next targets, `dt` seconds after the last (a frame when not given)."""
        seconds = time_step(dt, self.fps)
        tree = self.tree
        requested, goals, kinds = tree._targets(postures, orientations, directions, look_at)
        for name, goal in goals.items():
            if goal.ndim != 1:
                raise ShapeError(f"the target of {name!r} has shape {goal.shape}; a stream takes one a step")
        speed = next(iter(tree._solvers.values())).speed
        start = self.angles if set(kinds) <= set(self.angles) else None
        solution = TreeSolution(**tree._solved(requested, goals, kinds, (), 1, start, speed * seconds))
        self.angles = {**self.angles, **{name: np.array(one) for name, one in solution.angles.items()}}
        return solution

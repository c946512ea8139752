"""`Tree`: several end points that share joints (Ribeiro 2019, 6: two arms and a head on one spine).

The end points take the lead in turn. The leader's chain is solved as if it were alone; the others are solved with the
joints that they share with it, or with one before them, fixed. Every end point leads once, and the arrangement with the
smallest weighted sum of errors is returned. So no posture is better than what one chain alone could do.

The errors and the status are measured on the pose of the whole skeleton: a chain whose base another chain moves is
judged where it then is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.types import ArrayLike, Floats, floats
from ..compute.verdict import verdict_rows
from ..skeleton import Pose, Skeleton, Solution
from ..skeleton.solution import StatusLike, status_like
from .chain import Chain
from .erik import ERIK
from .solutions import ErikSolution


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
    """REACHED where every end point is within its threshold."""

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


class Tree:
    """Solves several chains of one skeleton together. Immutable.

    Args:
        chains: by the name of their end point, all on one skeleton; those that share a joint have it alike.
        weights: of their errors; 1 where not given.
        **options: for `ERIK`.
    """

    def __init__(self, chains: Mapping[str, Chain], weights: Mapping[str, float] | None = None, **options: Any) -> None:
        if not chains:
            raise PosableError("a tree needs at least one chain")
        self.chains = dict(chains)
        self.skeleton = next(iter(self.chains.values())).skeleton
        for name, chain in self.chains.items():
            if chain.skeleton is not self.skeleton:
                raise PosableError(f"the chain {name!r} is one of another skeleton")
        self.weights = dict.fromkeys(self.chains, 1.0)
        for name, weight in (weights or {}).items():
            if name not in self.chains:
                raise UnknownNameError("end point", name, self.chains)
            self.weights[name] = float(weight)
        self._solvers = {name: ERIK(chain, **options) for name, chain in self.chains.items()}
        self._keys = {name: _keys(chain) for name, chain in self.chains.items()}

    def solve(self, postures: Mapping[str, ArrayLike], orientations: Mapping[str, ArrayLike]) -> TreeSolution:
        """Solve for angles that hold postures and meet orientations.

        Args:
            postures: (..., N) [rad] by end point; the chain's zero where not given.
            orientations: (..., 4) in the world by end point; the same leading axes for all.
        """
        for given in (postures, orientations):
            for name in given:
                if name not in self.chains:
                    raise UnknownNameError("end point", name, self.chains)
        names = [name for name in self.chains if name in orientations]
        if not names:
            raise PosableError(f"no orientation is given; the end points are {', '.join(map(repr, self.chains))}")
        goals = {name: floats(orientations[name], f"the orientation of {name!r}", 4) for name in names}
        requested = {
            name: self.chains[name].checked("postures", postures.get(name, self.chains[name].zero)) for name in names
        }
        shapes = [array.shape[:-1] for array in (*goals.values(), *requested.values())]
        shape = np.broadcast_shapes(*shapes)
        found = [self._arrangement(leader, names, requested, goals, shape) for leader in names]
        chains = found[0] if len(found) == 1 else self._best(found, shape)
        return self._solution(chains, goals, shape)

    def _arrangement(
        self,
        leader: str,
        names: list[str],
        requested: Mapping[str, Floats],
        goals: Mapping[str, Floats],
        shape: tuple[int, ...],
    ) -> dict[str, ErikSolution]:
        """Solve the leader first, then the others in their order with the shared joints fixed."""
        fixed: dict[tuple[int, tuple[float, ...]], Floats] = {}
        found: dict[str, ErikSolution] = {}
        for name in [leader, *(other for other in names if other != leader)]:
            chain, count = self.chains[name], int(np.prod(shape, dtype=np.int64))
            box = np.broadcast_to(np.stack([chain.lower, chain.upper]), (count, 2, len(chain))).copy()
            posture = np.broadcast_to(requested[name], (*shape, len(chain))).copy()
            for d, key in enumerate(self._keys[name]):
                if key in fixed:
                    box[:, :, d] = fixed[key].reshape(-1, 1)
            goal = np.broadcast_to(goals[name], (*shape, 4))
            found[name] = self._solvers[name]._solve(posture, goal, False, box=box)
            for d, key in enumerate(self._keys[name]):
                fixed.setdefault(key, np.asarray(found[name].angles[..., d]))
        return {name: found[name] for name in names}

    def _best(self, found: list[dict[str, ErikSolution]], shape: tuple[int, ...]) -> dict[str, ErikSolution]:
        """Return row by row the arrangement with the smallest weighted error."""
        errors = np.array(
            [sum(self.weights[name] * np.asarray(one.error) for name, one in chains.items()) for chains in found]
        )
        best = errors.argmin(axis=0)
        if not shape:
            return found[int(best)]
        chains = {}
        for name in found[0]:
            alike = [one[name] for one in found]
            columns = [
                _chosen([np.asarray(getattr(one, field)) for one in alike], best)
                for field in ("angles", "error", "orientation_score", "posture_error", "iterations", "status")
            ]
            chains[name] = ErikSolution(self.chains[name], *columns)
        return chains

    def _solution(
        self, chains: dict[str, ErikSolution], goals: Mapping[str, Floats], shape: tuple[int, ...]
    ) -> TreeSolution:
        """Judge every end point by the pose of the whole skeleton."""
        pose: Pose | None = None
        for found in chains.values():
            pose = found.chain.pose(found.angles, pose)
        assert pose is not None
        orientations = self.skeleton.forward(pose).orientations
        count = int(np.prod(shape, dtype=np.int64))
        worst = np.zeros(count, np.int64)
        for name, found in chains.items():
            solver = self._solvers[name]
            score = solver.orientation_score(orientations[..., found.chain.tip, :], goals[name])
            score = np.where(np.isfinite(found.error), score, np.inf)
            error = score + solver.posture_weight * np.asarray(found.posture_error)
            causes = np.broadcast_to(np.asarray(found.status, np.int64), shape).reshape(-1).copy()
            nothing, statuses = np.zeros(count), np.empty(count, np.int64)
            errors = np.ascontiguousarray(np.broadcast_to(error, shape)).reshape(-1)
            verdict_rows(count, causes, nothing, 0.0, errors, solver.threshold, nothing, statuses)
            worst = np.maximum(worst, statuses)
            chains[name] = replace(
                found,
                error=error if shape else float(error),
                orientation_score=score if shape else float(score),
                status=status_like(statuses, shape),
            )
        total = sum(self.weights[name] * np.asarray(found.error) for name, found in chains.items())
        return TreeSolution(
            self.skeleton, chains, total if shape else float(np.asarray(total)), pose, status_like(worst, shape)
        )


def _keys(chain: Chain) -> list[tuple[int, tuple[float, ...]]]:
    """Return for each value of a chain what identifies it in another chain: its joint and axis."""
    keys = []
    for d in range(len(chain)):
        link = next(link for link in chain.links if link.dof == d)
        keys.append((link.joint, tuple(np.round(link.axis, 9).tolist())))
    return keys


def _chosen(arrays: list[Any], best: Any) -> Any:
    stacked = np.stack(arrays)
    index = best.reshape(1, *best.shape, *[1] * (stacked.ndim - 1 - best.ndim))
    return np.take_along_axis(stacked, index, axis=0)[0]

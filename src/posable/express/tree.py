"""`Tree`: several end points that share joints (Ribeiro 2019, 6: two arms and a head on one spine).

What is simple and honest is done: one end point after the other takes the lead. The leader's chain is solved as if it
were alone; the others are solved with the joints that they share with it, or with one before them, held where those put
them. Every end point leads once, and the arrangement with the least sum of weighted errors is kept. So no posture is
better than what one chain alone could do, the first end points pay nothing, and the errors told are those of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..skeleton import Pose, Skeleton
from .answers import ErikAnswer
from .chain import Chain
from .erik import ERIK


@dataclass(frozen=True, eq=False)
class TreeAnswer:
    """Angles of all chains of a tree, for one set of targets or a batch."""

    skeleton: Skeleton
    answers: Mapping[str, ErikAnswer]
    """By end point; shared joints have the same angles in all of them."""
    error: Any
    """(...): the sum of the errors, weighted."""

    @property
    def angles(self) -> dict[str, Floats]:
        """(..., N) by end point."""
        return {name: answer.angles for name, answer in self.answers.items()}

    @property
    def ok(self) -> Any:
        """Whether every end point is within its threshold."""
        return np.all([answer.ok for answer in self.answers.values()], axis=0)

    @property
    def pose(self) -> Pose:
        """The pose of the skeleton with all chains."""
        pose: Pose | None = None
        for answer in self.answers.values():
            pose = answer.chain.pose(answer.angles, pose)
        assert pose is not None
        return pose


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

    def solve(self, postures: Mapping[str, ArrayLike], orientations: Mapping[str, ArrayLike]) -> TreeAnswer:
        """Angles for postures (..., N) and orientations (..., 4), both by end point; the same leading axes for all."""
        for given in (postures, orientations):
            for name in given:
                if name not in self.chains:
                    raise UnknownNameError("end point", name, self.chains)
        names = [name for name in self.chains if name in orientations]
        if not names:
            raise PosableError(f"no orientation is given; the end points are {', '.join(map(repr, self.chains))}")
        goals = {name: floats(orientations[name], f"the orientation of {name!r}", 4) for name in names}
        wanted = {
            name: self.chains[name]._checked("postures", postures.get(name, self.chains[name].zero)) for name in names
        }
        shapes = [array.shape[:-1] for array in (*goals.values(), *wanted.values())]
        shape = np.broadcast_shapes(*shapes)
        found = [self._led(leader, names, wanted, goals, shape) for leader in names]
        return found[0] if len(found) == 1 else self._least(found, shape)

    def _led(
        self,
        leader: str,
        names: list[str],
        wanted: Mapping[str, Floats],
        goals: Mapping[str, Floats],
        shape: tuple[int, ...],
    ) -> TreeAnswer:
        """One arrangement: the leader first, then the others in their order."""
        held: dict[tuple[int, tuple[float, ...]], Floats] = {}
        answers: dict[str, ErikAnswer] = {}
        for name in [leader, *(other for other in names if other != leader)]:
            chain, count = self.chains[name], int(np.prod(shape, dtype=np.int64))
            box = np.broadcast_to(np.stack([chain.lower, chain.upper]), (count, 2, len(chain))).copy()
            posture = np.broadcast_to(wanted[name], (*shape, len(chain))).copy()
            for d, key in enumerate(self._keys[name]):
                if key in held:
                    box[:, :, d] = held[key].reshape(-1, 1)
            goal = np.broadcast_to(goals[name], (*shape, 4))
            answer = self._solvers[name]._solve(posture, goal, False, box=box)
            answers[name] = answer
            for d, key in enumerate(self._keys[name]):
                held.setdefault(key, np.asarray(answer.angles[..., d]))
        error = sum(self.weights[name] * np.asarray(answers[name].error) for name in names)
        return TreeAnswer(self.skeleton, {name: answers[name] for name in names}, error if shape else float(error))

    def _least(self, found: list[TreeAnswer], shape: tuple[int, ...]) -> TreeAnswer:
        """Row by row the arrangement with the least error."""
        errors = np.array([np.asarray(one.error) for one in found])
        if not shape:
            return found[int(errors.argmin())]
        best = errors.argmin(axis=0)
        answers = {}
        for name in found[0].answers:
            alike = [one.answers[name] for one in found]
            columns = [
                _chosen([np.asarray(getattr(one, field)) for one in alike], best)
                for field in ("angles", "error", "orientation_error", "posture_error", "iterations", "status")
            ]
            answers[name] = ErikAnswer(self.chains[name], *columns)
        return TreeAnswer(self.skeleton, answers, errors.min(axis=0))


def _keys(chain: Chain) -> list[tuple[int, tuple[float, ...]]]:
    """For each value of a chain what tells whether another chain has it too: the joint and the axis."""
    keys = []
    for d in range(len(chain)):
        link = next(link for link in chain.links if link.dof == d)
        keys.append((link.joint, tuple(np.round(link.axis, 9).tolist())))
    return keys


def _chosen(arrays: list[Any], best: Any) -> Any:
    stacked = np.stack(arrays)
    index = best.reshape(1, *best.shape, *[1] * (stacked.ndim - 1 - best.ndim))
    return np.take_along_axis(stacked, index, axis=0)[0]

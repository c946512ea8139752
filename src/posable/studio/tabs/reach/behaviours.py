"""The behaviours that the reach tab edits, one for each arm, with each edit a step that can be undone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ....compute.types import ArrayLike, Floats
from ....reach import Behaviour
from ...core.session import Session
from .swings import direction_of, in_space

if TYPE_CHECKING:
    from ....body import Humanoid

SIDES = ("right", "left")
PATIENCE = 1.5
"""Seconds within which further changes by the same slider belong to the same step."""
BESIDE = math.radians(12.0)
"""How far from a key its copy is put [rad]."""

Answer = TypeVar("Answer")


@dataclass
class _Step:
    """A step of the history that may still grow: a slider that is moved on, a key that is dragged on."""

    tag: Hashable
    before: Mapping[str, Behaviour]
    after: Mapping[str, Behaviour]
    when: float


class Behaviours:
    """Two behaviours. They are never changed in place: an edit makes new ones, so that what was is kept for undo.

    Args:
        session: whose history.
        changed: called whenever they are others.
    """

    def __init__(self, session: Session, changed: Callable[[], None]) -> None:
        self._session, self._changed = session, changed
        self._now: Mapping[str, Behaviour] = {}
        self._step: _Step | None = None
        self.leave = session.subscribe(self._told)

    def __getitem__(self, side: str) -> Behaviour:
        return self._now[side]

    def fit(self, body: Humanoid) -> bool:
        """Whether there are any, and a body has all parts that they drive."""
        parts = {part for behaviour in self._now.values() for part in behaviour.parts}
        return bool(self._now) and all(part in body.roles for part in parts)

    def begin(self, right: Behaviour, left: Behaviour) -> None:
        """Have these from the start; nothing to undo."""
        self._now = {"right": right, "left": left}
        self._changed()

    def edit(
        self,
        side: str,
        label: str,
        change: Callable[[Behaviour], Answer],
        *,
        tag: Hashable = None,
        patience: float = math.inf,
    ) -> Answer:
        """Change one of them: `change` gets a copy. Edits of one tag, `patience` seconds apart, are one step."""
        with self._session.lock:
            changed = self._now[side].copy()
            answer = change(changed)
            self._keep(label, {**self._now, side: changed}, None if tag is None else (side, tag), patience)
            return answer

    def add(self, side: str, at: ArrayLike) -> int:
        """Add a key at a swing (2,) [rad], or at a place (3,) [arm lengths] where keys are in space.

        It follows the field until it is changed.
        """
        place = self._inside(side, at)
        return self.edit(side, "Add a key", lambda behaviour: behaviour.add(place))

    def move(self, side: str, key: int, at: ArrayLike, tag: Hashable = None) -> None:
        """Move a key to a swing (2,) [rad]."""
        place = self._inside(side, at)
        self.edit(side, "Move the key", lambda behaviour: behaviour.move(key, place), tag=tag)

    def copy(self, side: str, key: int) -> int:
        """A copy of a key, beside it towards the middle, or towards the shoulder where keys are in space."""
        behaviour = self._now[side]
        if in_space(behaviour):
            nearer = np.asarray(behaviour.key(key).at) * (1.0 - BESIDE)
            return self.edit(side, "Copy the key", lambda one: one.duplicate(key, nearer))
        way = np.array(behaviour.ellipse.centre) - behaviour.key(key).at
        far = float(np.linalg.norm(way))
        way = way / far if far > 1e-6 else np.array([1.0, 0.0])
        place = self._inside(side, behaviour.key(key).at + BESIDE * way)
        return self.edit(side, "Copy the key", lambda one: one.duplicate(key, place))

    def remove(self, side: str, key: int) -> None:
        """Take a key away."""
        self.edit(side, "Remove the key", lambda behaviour: behaviour.remove(key))

    def replace(self, label: str, **by_side: Behaviour) -> None:
        """Have another behaviour for an arm, or for both."""
        with self._session.lock:
            self._keep(label, {**self._now, **by_side}, None, 0.0)

    def _inside(self, side: str, swing: ArrayLike) -> Floats:
        """(2,) the swing, or the nearest one inside of the ellipse; places of keys in space as they are."""
        behaviour = self._now[side]
        if in_space(behaviour):
            return np.asarray(swing, dtype=np.float64)
        centre = np.array(behaviour.ellipse.centre)
        at, _ = behaviour.locate(direction_of(swing), 1.0)
        away = (at - centre) / np.array(behaviour.ellipse.radii)
        # Just inside of the edge, where rounding cannot have it outside; elsewhere the swing itself.
        return np.asarray(centre + (at - centre) * (1.0 - 1e-9) if away @ away > 1.0 - 1e-9 else at)

    def _keep(self, label: str, after: Mapping[str, Behaviour], tag: Hashable, patience: float) -> None:
        step, now = self._step, time.monotonic()
        if tag is not None and step is not None and step.tag == tag and now - step.when < patience:
            step.after, step.when = after, now
            self._put(after)
            return
        step = _Step(tag, self._now, after, now)
        self._session.run(label, lambda: self._put(step.after), lambda: self._put(step.before))
        self._step = step

    def _put(self, behaviours: Mapping[str, Behaviour]) -> None:
        self._now = behaviours
        self._changed()

    def _told(self, topic: str) -> None:
        if topic == "history":  # something else was done, or this was undone: the step has ended
            self._step = None

"""The keys that the reach tab edits: chosen, added, moved and removed, on the plane and on the sphere.

While a key is chosen the target is where the hand comes with all of its posture, which is shown whatever the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....reach import Behaviour, Reacher
from ...core.actor import nearest_joint
from ...core.session import Session
from .behaviours import PATIENCE, SIDES, Behaviours
from .options import ReachOptions
from .sphere import ReachSphere
from .swing_plane import Stroke
from .swings import in_space
from .targets import ReachTargets

if TYPE_CHECKING:
    from ....body import Humanoid

IN_SPACE = (
    "The keys are in space: choose them by their balls or on the plane, which shows their directions. One is added "
    "where the target is; to move one, add it there and remove the old one."
)
"""What is told of a behaviour with keys in space, where dragging on the plane has no meaning."""
ON_BONE = 0.03
"""How near a bone a click means the body and not the sphere before it, as a share of the body's size."""


class ReachKeys:
    """The behaviours of both arms, and the key of one of them that is edited.

    Args:
        session: whose body reaches.
        options: says from which pose and how.
        targets: of the hands.
        sphere: where the keys are drawn.
        hands: tells which hands reach, and of which arm the behaviour is edited.
        turn_to: has the behaviour of this arm edited.
        changed: called when the reach is another one.
    """

    def __init__(
        self,
        session: Session,
        options: ReachOptions,
        targets: ReachTargets,
        sphere: ReachSphere,
        hands: Callable[[], tuple[tuple[str, ...], str]],
        turn_to: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._session, self._options, self._targets, self._sphere = session, options, targets, sphere
        self._hands, self._turn_to, self._changed = hands, turn_to, changed
        self.chosen: int | None = None
        self.behaviours = Behaviours(session, self._kept)
        session.click_handlers.append(self.click)

    def leave(self) -> None:
        """Take no more clicks."""
        self.behaviours.leave()
        self._session.click_handlers.remove(self.click)

    @property
    def side(self) -> str:
        """The arm whose behaviour is edited."""
        return self._hands()[1]

    @property
    def sides(self) -> tuple[str, ...]:
        """The hands that reach."""
        return self._hands()[0]

    @property
    def behaviour(self) -> Behaviour:
        """The behaviour that is edited; as it is now: an edit makes a new one."""
        return self.behaviours[self.side]

    @property
    def edited(self) -> tuple[Humanoid, Behaviour, int] | None:
        """The body, the behaviour and the key that are edited; None while no key is."""
        body = self._session.body
        return None if body is None or self.chosen is None or not self.sides else (body, self.behaviour, self.chosen)

    def reacher(self, body: Humanoid) -> Reacher:
        """The solver with both behaviours."""
        return self._options.reacher(body, self.behaviours["right"], self.behaviours["left"])

    # What a pointer does.

    def choose(self, key: int) -> None:
        """Edit a key."""
        with self._session.lock:
            self.chosen = key
            self._show(self.behaviour.key(key).at)

    def stroke(self, stroke: Stroke) -> None:
        """Do what a pointer on the plane asks for: choose a key, drag it, or put the target elsewhere."""
        with self._session.lock:
            if not self.sides:
                return
            keys = {key.id: key for key in self.behaviour.keys}
            if stroke.key is None or stroke.key not in keys:
                self.aim(stroke.now)
                return
            if stroke.moved and in_space(self.behaviour):
                if stroke.ended:
                    self._session.notify(IN_SPACE)
            elif stroke.moved and not keys[stroke.key].outer:
                self.behaviours.move(self.side, stroke.key, stroke.now, tag=("move", stroke.id))
            self.choose(stroke.key)

    def click(self, origin: Floats, direction: Floats) -> bool:
        """Take a click on the sphere: on a key's ball, or elsewhere to have the target in that direction.

        While a key is edited a click on the body is the body's: it chooses the joint to turn.

        Args:
            origin: (3,) of the ray through the pointer, on the stage [m].
            direction: (3,) of the ray, unit.
        """
        actor = self._session.active
        if actor is None or not self.sides:
            return False
        if (key := self._sphere.key_at(origin, direction)) is not None:
            self.choose(key)
            return True
        near = ON_BONE * float(np.ptp(actor.box, axis=0).max())
        if self.chosen is not None and nearest_joint(actor.frames(self._session.time), origin, direction, near):
            return False
        if (swing := self._sphere.swing_at(origin, direction)) is None:
            return False
        self.aim(swing)
        return True

    def aim(self, swing: ArrayLike) -> None:
        """Let the key go, and have the target in the direction of a swing (2,) [rad], as far away as it is."""
        self._targets.aim(self.side, swing)
        self.chosen = None
        self._changed()

    # Tools.

    def tool(self, which: str) -> None:
        """Do what a button says: "Add", "Copy", "Remove"."""
        {"Add": self.add, "Copy": self.copy, "Remove": self.remove}[which]()

    def add(self) -> int:
        """Add a key where the target is and edit it; it follows the field until it is changed."""
        with self._session.lock:
            if self.side not in self._targets or not self.sides:
                raise PosableError("choose a hand first; the key is added in the direction of its target")
            at = self._targets.place(self.side) if in_space(self.behaviour) else self._targets.swing(self.side)
            self.chosen = self.behaviours.add(self.side, at)
            self._show(at)
            return self.chosen

    def copy(self) -> int:
        """Copy the key that is edited to a place beside it, and edit the copy."""
        with self._session.lock:
            copy = self.behaviours.copy(self.side, self._some_key())
            self.choose(copy)
            return copy

    def remove(self) -> None:
        """Remove the key that is edited."""
        with self._session.lock:
            key, behaviour = self._some_key(), self.behaviour
            if in_space(behaviour) and not any(one.posture for one in behaviour.keys if one.id != key):
                raise PosableError("this is the only key with a posture; without it there is nothing to reach with")
            self.behaviours.remove(self.side, key)

    def change(self, label: str, change: Callable[[Behaviour, int], None], tag: Any, patience: float) -> None:
        """Change the key that is edited: see `Behaviours.edit`."""
        key = self._some_key()
        self.behaviours.edit(self.side, label, lambda one: change(one, key), tag=tag, patience=patience)

    # The whole behaviour.

    def mirror(self) -> None:
        """Give the other arm the mirrored behaviour. Can be undone."""
        with self._session.lock:
            other = SIDES[1 - SIDES.index(self.side)]
            self.behaviours.replace(f"Mirror to the {other} arm", **{other: self.behaviour.mirrored()})
            self._session.notify(f"The {other} arm now reaches like the {self.side} one")

    def take(self, behaviour: Behaviour, name: str) -> None:
        """Have a behaviour for the arm it is made for, and edit it. Can be undone."""
        with self._session.lock:
            if not any(key.posture for key in behaviour.keys):
                raise PosableError(f"{name} has no key with a posture; there is nothing to reach with")
            side = behaviour.limb.split("_")[0]
            self.chosen = None
            self.behaviours.replace(f"Load {name}", **{side: behaviour})
            if side != self.side:
                self._turn_to(side)

    def start_from(self, example: str) -> None:
        """Have an example for both arms. Can be undone."""
        with self._session.lock:
            made = {side: Behaviour.example(example, f"{side}_arm", self._session.body) for side in SIDES}
            self.chosen = None
            self.behaviours.replace(f"Start from {example}", **made)

    def restyle(self, **style: Any) -> None:
        """Change how the edited behaviour blends, how the distance counts, or its name: as `Behaviour.restyle`."""
        self.behaviours.edit(
            self.side, "Restyle the behaviour", lambda one: one.restyle(**style), tag=(*style,), patience=PATIENCE
        )

    def _show(self, at: ArrayLike) -> None:
        """Have the target at a key in space, or in a key's direction where the hand comes with all of its posture."""
        actor, body = self._session.active, self._session.body
        if actor is None or body is None or not self.sides:
            return
        if in_space(self.behaviour):
            self._targets.put(self.side, at)
        else:
            self._targets.aim(self.side, at)
            start = self._options.start(actor, body, self._session.time)
            answer = self.reacher(body).solve(**self._targets.aims(self.sides), start=start, weight=1.0)
            shoulder = body.skeleton.forward(answer.pose).positions[body.index(f"{self.side}_upper_arm")]
            self._targets.reach_out(self.side, at, shoulder)
        self._changed()

    def _some_key(self) -> int:
        if self.chosen is None:
            raise PosableError("choose a key first: click it on the plane, or add one")
        return self.chosen

    def _kept(self) -> None:
        if self.chosen is not None and self.chosen not in [key.id for key in self.behaviour.keys]:
            self.chosen = None
        self._session.changed("pose")

"""Where the hands of the reach tab shall be: targets with handles in the scene, seen from the shoulders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ..limb.learned import limb_frame
from .behaviours import SIDES
from .options import ReachOptions
from .sphere import place_at
from .swings import swing_of

if TYPE_CHECKING:
    from ....body import Humanoid

AHEAD = (math.radians(20.0), math.radians(60.0), 0.85)
"""Where a target is that nobody has moved yet: swing of the right arm [rad], distance [arm lengths]."""

COMFORT = 0.92
"""Share of its length to which an arm is stretched to show a key."""


class ReachTargets:
    """The targets by side, (3,) in the actor's world [m].

    Args:
        session: whose scene.
        options: says in which pose the shoulders are.
        moved: called with the side whose target was moved by its handle.
    """

    def __init__(self, session: Session, options: ReachOptions, moved: Callable[[str], None]) -> None:
        self._session, self._options, self._moved = session, options, moved
        self._at: dict[str, Floats] = {}
        self._ground: Floats | None = None

    def __getitem__(self, side: str) -> Floats:
        return self._at[side]

    def __contains__(self, side: str) -> bool:
        return side in self._at

    def clear(self) -> None:
        """Forget where they are."""
        self._at.clear()
        self._ground = None

    def carry(self, ground: Floats | None) -> None:
        """Have the targets go with somebody who stands somewhere else now: at (3,) on the floor [m]."""
        if ground is not None and self._ground is not None and not np.array_equal(ground, self._ground):
            self._at = {side: place + (ground - self._ground) for side, place in self._at.items()}
        self._ground = ground

    def aims(self, sides: Sequence[str]) -> dict[str, Target]:
        """The targets of some hands, for a solver."""
        return {side: Target(self._at[side]) for side in sides}

    def frame(self, side: str) -> tuple[Floats, Floats]:
        """(orientation (4,), origin (3,) [m]) of an arm's frame in the world where the reach starts."""
        body, start = self._standing()
        return limb_frame(body, f"{side}_arm", start)

    def length(self, side: str) -> float:
        """Of an arm [m]."""
        arm = self._standing()[0].limb(f"{side}_arm")
        return float(arm.upper + arm.lower)

    def distance(self, side: str) -> float:
        """From the shoulder to the target [m]."""
        return float(np.linalg.norm(self._at[side] - self.frame(side)[1]))

    def swing(self, side: str) -> Floats:
        """(2,) the swing [rad] that has an arm point to its target."""
        turned, origin = self.frame(side)
        return swing_of(pm.rotate(pm.conjugate(turned), self._at[side] - origin))

    def place(self, side: str) -> Floats:
        """(3,) where a target is in its arm's frame [arm lengths]."""
        turned, origin = self.frame(side)
        return np.asarray(pm.rotate(pm.conjugate(turned), self._at[side] - origin) / self.length(side))

    def put(self, side: str, place: ArrayLike) -> None:
        """Have a target at a place (3,) of its arm's frame [arm lengths]."""
        turned, origin = self.frame(side)
        lengths = np.asarray(place, dtype=np.float64)
        self._at[side] = origin + self.length(side) * pm.rotate(turned, lengths)

    def aim(self, side: str, swing: ArrayLike) -> None:
        """Put a target into the direction of a swing (2,) [rad], as far away as it is."""
        far = self.distance(side) if side in self._at else AHEAD[2] * self.length(side)
        self._at[side] = place_at(self.frame(side), np.asarray(swing, dtype=np.float64), far)

    def reach_out(self, side: str, swing: ArrayLike, shoulder: Floats) -> None:
        """Put a target into the direction of a swing, as far as the arm comfortably reaches from a moved shoulder.

        Args:
            side: "right" or "left".
            swing: (2,) [rad].
            shoulder: (3,) where the body has it when it goes along [m].
        """
        frame = self.frame(side)
        way = place_at(frame, np.asarray(swing, dtype=np.float64), 1.0) - frame[1]
        off = shoulder - frame[1]
        along, far = float(way @ off), COMFORT * self.length(side)
        beside = float(off @ off) - along**2
        distance = along + math.sqrt(max(far**2 - beside, 0.0))
        self._at[side] = frame[1] + way * max(distance, 0.2 * self.length(side))

    def set_distance(self, side: str, lengths: float) -> bool:
        """Put a target so many arm lengths from the shoulder, in its direction; whether it moved."""
        _, origin = self.frame(side)
        way, length = self._at[side] - origin, self.length(side)
        far = max(float(np.linalg.norm(way)), 1e-9)
        if abs(far / length - lengths) < 0.006:
            return False  # an echo of what the target did
        self._at[side] = origin + way * (lengths * length / far)
        return True

    def drag(self, side: str, position: ArrayLike) -> None:
        """Have a target at a place on the stage (3,) [m]."""
        with self._session.lock:
            actor = self._session.active
            if actor is None or side not in self._at:
                return
            place = np.array(position, dtype=np.float64) - actor.position
            if not np.allclose(place, self._at[side], rtol=0.0, atol=1e-6):  # else a click, or a late message
                self._at[side] = place
                self._moved(side)

    def show(self, sides: Sequence[str]) -> None:
        """Have handles for these hands, and for no others."""
        session, actor, body = self._session, self._session.active, self._session.body
        for side in SIDES:
            name = f"reach_{side}"
            session.remove_gizmo(name)
            if side not in sides or actor is None or body is None:
                continue
            if side not in self._at:
                self.aim(side, (AHEAD[0], AHEAD[1] if side == "right" else -AHEAD[1]))
            place, size = self._at[side] + actor.position, 0.14 * body.joint_height
            handle = session.add_gizmo(name, place, scale=size, disable_rotations=True, depth_test=False)
            handle.on_update(session.guarded(partial(self._dragged, side)))

    def draw(self, actor: Actor) -> None:
        """Have the handles where the targets are."""
        for side, place in self._at.items():
            handle = self._session.gizmos.get(f"reach_{side}")
            if handle is not None and not np.allclose(handle.position, place + actor.position, rtol=0.0, atol=1e-6):
                handle.position = place + actor.position

    def _dragged(self, side: str, event: Any) -> None:
        self.drag(side, event.target.position)

    def _standing(self) -> tuple[Humanoid, Pose]:
        actor, body = self._session.active, self._session.body
        if actor is None or body is None:
            raise PosableError("there is no human body on the stage; open a motion of one first")
        return body, self._options.start(actor, body, self._session.time)

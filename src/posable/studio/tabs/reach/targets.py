"""The targets of the hands in the reach tab: positions with handles in the scene, relative to the shoulders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import Actor
from ...widgets.handle import NEAR, DragHandle
from ..limb.learned import limb_frame
from .swing_plane import position_at, swing_of

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import ReachTab

SIDES = ("right", "left")
AHEAD = (math.radians(20.0), math.radians(60.0), 0.85)
"""A target that nobody has moved yet: swing of the right arm [rad], distance [arm lengths]."""
COMFORT = 0.92
"""Fraction of its length to which an arm is stretched to show a key."""


class ReachTargets:
    """The targets by side, (3,) in the actor's world [m]."""

    def __init__(self, tab: ReachTab) -> None:
        self._tab, self._session = tab, tab.session
        self._at: dict[str, Floats] = {}
        self._ground: Floats | None = None
        self._handles = {
            side: DragHandle(
                tab.session, f"reach_{side}", partial(self.drag, side), disable_rotations=True, disable_sliders=False
            )
            for side in SIDES
        }

    def __getitem__(self, side: str) -> Floats:
        return self._at[side]

    def __contains__(self, side: str) -> bool:
        return side in self._at

    def clear(self) -> None:
        """Forget the targets."""
        self._at.clear()
        self._ground = None

    def carry(self, ground: Floats | None) -> None:
        """Move the targets along with a body that stands at (3,) on the floor [m]; None leaves them in the world."""
        if ground is not None and self._ground is not None and not np.array_equal(ground, self._ground):
            self._at = {side: position + (ground - self._ground) for side, position in self._at.items()}
        self._ground = ground

    def targets(self, sides: Sequence[str]) -> dict[str, Target]:
        """Return the targets of some hands, for a solver."""
        return {side: Target(self._at[side]) for side in sides}

    def frame(self, side: str) -> tuple[Floats, Floats]:
        """Return orientation (4,) and origin (3,) [m] of an arm's frame in the world where the reach starts."""
        body, start = self._starting()
        return limb_frame(body, f"{side}_arm", start)

    def length(self, side: str) -> float:
        """Return the length of an arm [m]."""
        arm = self._starting()[0].limb(f"{side}_arm")
        return float(arm.upper + arm.lower)

    def distance(self, side: str) -> float:
        """Return the distance of the target from the shoulder [m]."""
        return float(np.linalg.norm(self._at[side] - self.frame(side)[1]))

    def swing(self, side: str) -> Floats:
        """Return (2,) the swing [rad] that points an arm to its target."""
        return swing_of(self.in_frame(side))

    def in_frame(self, side: str) -> Floats:
        """Return (3,) the position of a target in its arm's frame [arm lengths]."""
        orientation, origin = self.frame(side)
        return np.asarray(pm.rotate(pm.conjugate(orientation), self._at[side] - origin) / self.length(side))

    def put(self, side: str, position: ArrayLike) -> None:
        """Move a target to a position (3,) in its arm's frame [arm lengths]."""
        orientation, origin = self.frame(side)
        self._at[side] = origin + self.length(side) * pm.rotate(orientation, np.asarray(position, dtype=np.float64))

    def aim(self, side: str, swing: ArrayLike) -> None:
        """Move a target into the direction of a swing (2,) [rad], as far away as it is."""
        distance = self.distance(side) if side in self._at else AHEAD[2] * self.length(side)
        self._at[side] = position_at(self.frame(side), np.asarray(swing, dtype=np.float64), distance)

    def reach_out(self, side: str, swing: ArrayLike, shoulder: Floats) -> None:
        """Move a target into the direction of a swing, as far as the arm comfortably reaches from a moved shoulder.

        Args:
            side: "right" or "left".
            swing: (2,) [rad].
            shoulder: (3,) its position when the body goes along [m].
        """
        frame = self.frame(side)
        direction = position_at(frame, np.asarray(swing, dtype=np.float64), 1.0) - frame[1]
        offset = shoulder - frame[1]
        along, reach = float(direction @ offset), COMFORT * self.length(side)
        across = float(offset @ offset) - along**2
        distance = along + math.sqrt(max(reach**2 - across, 0.0))
        self._at[side] = frame[1] + direction * max(distance, 0.2 * self.length(side))

    def set_distance(self, side: str, lengths: float) -> bool:
        """Move a target to a distance [arm lengths] from the shoulder, in its direction; return whether it moved."""
        origin, length = self.frame(side)[1], self.length(side)
        displacement = self._at[side] - origin
        distance = max(float(np.linalg.norm(displacement)), 1e-9)
        if abs(distance / length - lengths) < 0.006:
            return False  # an echo of what the target did
        self._at[side] = origin + displacement * (lengths * length / distance)
        return True

    def drag(self, side: str, position: ArrayLike, _orientation: ArrayLike | None = None) -> None:
        """Move a target to a position on the stage (3,) [m]."""
        with self._session.lock:
            actor = self._session.active
            if actor is None or side not in self._at:
                return
            target = np.array(position, dtype=np.float64) - actor.position
            if not np.allclose(target, self._at[side], rtol=0.0, atol=NEAR):  # else a click, or a late message
                self._at[side] = target
                self._tab.target_moved(side)

    def show(self, sides: Sequence[str]) -> None:
        """Show handles for these hands, and for no others."""
        actor, body = self._session.active, self._session.body
        for side, handle in self._handles.items():
            handle.remove()
            if side in sides and actor is not None and body is not None:
                if side not in self._at:
                    self.aim(side, (AHEAD[0], AHEAD[1] if side == "right" else -AHEAD[1]))
                handle.show(self._at[side] + actor.position, scale=0.14 * body.joint_height)

    def draw(self, actor: Actor) -> None:
        """Move the handles to the targets."""
        for side, position in self._at.items():
            if self._handles[side].gizmo is not None:
                self._handles[side].show(position + actor.position)

    def _starting(self) -> tuple[Humanoid, Pose]:
        actor, body = self._session.active, self._session.body
        if actor is None or body is None:
            raise PosableError("there is no human body on the stage; open a motion of one first")
        return body, self._tab.options.start(actor, body, self._session.time)

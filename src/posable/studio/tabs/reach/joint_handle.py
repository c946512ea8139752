"""A handle on the joint of a key: rings in the scene that turn it, and arrows that shift the hips."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute.types import Floats
from ....reach import Posture
from ....reach.posture import heading
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...core.session import Session
from .key_editor import KeyEditor

if TYPE_CHECKING:
    from ....body import Humanoid

NAME = "reach_joint"
_drags = count()


@dataclass(frozen=True, eq=False)
class _Held:
    """What a drag begins with: turns and shifts of the handle are added to it."""

    part: str
    position: Floats
    """(3,) of the handle [m]."""
    orientation: Floats
    """(4,) of the handle: the joint's, canonical."""
    above: Floats
    """(4,) of what the joint hangs on, canonical; for the hips, which way the body faced at the start."""
    posture: Posture
    leg_length: float


class JointHandle:
    """Shown while a key is edited, at the joint that the sliders turn.

    Args:
        session: whose scene and panel.
        editor: told what the handle does to the key.
    """

    def __init__(self, session: Session, editor: KeyEditor) -> None:
        self._session, self._editor = session, editor
        self._held: _Held | None = None
        self._drag: int | None = None  # while it is dragged

    def draw(self, actor: Actor, body: Humanoid, pose: Pose, start: Pose, posture: Posture) -> None:
        """Have it at the joint as a pose has it, unless it is being dragged.

        Args:
            actor: whose body.
            body: of the actor.
            pose: that is shown.
            start: from which the body reaches.
            posture: of the key.
        """
        part = self._editor.part
        if part not in posture.parts:
            self.hide()
            return
        changed = self._held is None or self._held.part != part
        if self._drag is not None and not changed:
            return
        place = body.skeleton.forward(pose).positions[body.index(part)] + actor.position
        turned = canonical_orientation(body, part, pose)
        parent = parent_role(part, body.roles)
        facing = heading(canonical_orientation(body, "hips", start))
        above = facing if parent is None else canonical_orientation(body, parent, pose)
        self._held = _Held(part, place, turned, above, posture, body.leg_length)
        handle = self.gizmo
        if handle is None or changed:
            self._add(part, place, turned, body.joint_height)
            return
        if not np.allclose(handle.position, place, rtol=0.0, atol=1e-6):
            handle.position = place
        if pm.angle(np.array(handle.wxyz), turned) > 1e-6:
            handle.wxyz = turned

    @property
    def gizmo(self) -> Any:
        """The handle in the scene; None while there is none."""
        return self._session.gizmos.get(NAME)

    @property
    def part(self) -> str | None:
        """The joint at which it is."""
        return None if self._held is None else self._held.part

    def hide(self) -> None:
        """Take it away."""
        self._held = self._drag = None
        self._session.remove_gizmo(NAME)

    def put(self, position: Floats, orientation: Floats, tag: Any = None) -> None:
        """Turn the joint as far as the handle is turned (4,), or shift the hips as far as it is shifted (3,) [m].

        The key changes by as much as the handle does since it was taken hold of: the body on the stage may show less
        than all of the key, where something keeps it from bending so far.
        """
        with self._session.lock:
            held = self._held
            if held is None:
                return
            if pm.angle(held.orientation, orientation) > 1e-4:
                before, after = (pm.multiply(pm.conjugate(held.above), q) for q in (held.orientation, orientation))
                turn = pm.multiply(after, pm.conjugate(before))
                self._editor.turn(held.part, pm.multiply(turn, held.posture.rotation(held.part)), tag)
            elif held.part == "hips" and _apart(held, position):
                way = pm.rotate(pm.conjugate(held.above), position - held.position)
                self._editor.shift(held.posture.hips + way / held.leg_length, tag)

    def _add(self, part: str, place: Floats, turned: Floats, height: float) -> None:
        handle = self._session.add_gizmo(
            NAME,
            place,
            wxyz=turned,
            scale=(0.2 if part == "hips" else 0.13) * height,
            disable_axes=part != "hips",
            disable_sliders=True,
            depth_test=False,
            opacity=0.7,
        )
        handle.on_update(self._session.guarded(self._dragged))
        self._drag = None

    def _dragged(self, event: Any) -> None:
        with self._session.lock:
            position, orientation = np.array(event.target.position), np.array(event.target.wxyz)
            if self._drag is None:
                held = self._held
                if held is None or not (_apart(held, position) or pm.angle(held.orientation, orientation) > 1e-4):
                    return  # a click, or a message that comes after the drag's end
                self._drag = next(_drags)
            self.put(position, orientation, ("drag", self._drag))
            if event.phase == "end":
                self._drag = None
                self._session.changed("pose")


def _apart(held: _Held, position: Floats) -> bool:
    return float(np.abs(position - held.position).max()) > 1e-6

"""A handle on the joint of a key: rings in the scene that rotate it, and arrows that shift the hips."""

from __future__ import annotations

import math
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
from ...widgets.handle import NEAR, DragHandle
from .key_editor import KeyEditor

if TYPE_CHECKING:
    from ....body import Humanoid
    from ...core.session import Session

_drags = count()


@dataclass(frozen=True, eq=False)
class _Grip:
    """The state in which a drag begins: rotations and shifts of the handle are added to it."""

    part: str
    position: Floats
    """(3,) of the handle [m]."""
    orientation: Floats
    """(4,) of the handle: the joint's, canonical."""
    parent: Floats
    """(4,) of the joint's parent, canonical; for the hips, the heading of the body at the start."""
    posture: Posture
    leg_length: float

    def shifted(self, position: Floats) -> bool:
        """Return whether a position (3,) [m] is another one."""
        return float(np.abs(position - self.position).max()) > NEAR

    def rotated(self, orientation: Floats) -> bool:
        """Return whether an orientation (4,) is another one."""
        return bool(pm.angle(self.orientation, orientation) > 1e-4)


class JointHandle:
    """Shown while a key is edited, at the joint that the sliders rotate.

    Args:
        session: whose scene.
        editor: changes the key as the handle is dragged.
    """

    def __init__(self, session: Session, editor: KeyEditor) -> None:
        self._session, self._editor = session, editor
        self._grip: _Grip | None = None
        self._drag: int | None = None  # during a drag
        self.handle = DragHandle(session, "reach_joint", self._dragged, self._dropped, opacity=0.7)

    @property
    def part(self) -> str | None:
        """The joint at which the handle is."""
        return None if self._grip is None else self._grip.part

    def draw(self, actor: Actor, body: Humanoid, pose: Pose, start: Pose, posture: Posture) -> None:
        """Show the handle at the joint, unless it is being dragged.

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
        if self.part != part:  # another handle, with arrows or without
            self.hide()
        if self._drag is not None:
            return
        position = body.skeleton.forward(pose).positions[body.index(part)] + actor.position
        orientation, parent = canonical_orientation(body, part, pose), parent_role(part, body.roles)
        facing = heading(canonical_orientation(body, "hips", start))
        above = facing if parent is None else canonical_orientation(body, parent, pose)
        self._grip = _Grip(part, position, orientation, above, posture, body.leg_length)
        size = (0.2 if part == "hips" else 0.13) * body.joint_height
        self.handle.show(position, orientation, scale=size, disable_axes=part != "hips")

    def hide(self) -> None:
        """Take the handle away."""
        self._grip = self._drag = None
        self.handle.remove()

    def move(self, position: Floats, orientation: Floats, tag: Any = None) -> None:
        """Rotate the joint by the rotation of the handle (4,), or shift the hips by its displacement (3,) [m].

        The key changes by as much as the handle since the start of the drag: the body on the stage may show less than
        all of the key, where something prevents it from bending so far. A drag is one step to undo, however slow.
        """
        with self._session.lock:
            if (grip := self._grip) is None:
                return
            if grip.rotated(orientation):
                before, after = (pm.multiply(pm.conjugate(grip.parent), q) for q in (grip.orientation, orientation))
                rotation = pm.multiply(after, pm.conjugate(before))
                self._editor.rotate(grip.part, pm.multiply(rotation, grip.posture.rotation(grip.part)), tag, math.inf)
            elif grip.part == "hips" and grip.shifted(position):
                displacement = pm.rotate(pm.conjugate(grip.parent), position - grip.position)
                self._editor.shift(grip.posture.hips + displacement / grip.leg_length, tag, math.inf)

    def _dragged(self, position: Floats, orientation: Floats) -> None:
        with self._session.lock:
            if self._drag is None:
                if self._grip is None or not (self._grip.shifted(position) or self._grip.rotated(orientation)):
                    return  # a click, or a message that arrives after the end of the drag
                self._drag = next(_drags)
            self.move(position, orientation, ("drag", self._drag))

    def _dropped(self) -> None:
        with self._session.lock:
            if self._drag is not None:
                self._drag = None
                self._session.changed("pose")

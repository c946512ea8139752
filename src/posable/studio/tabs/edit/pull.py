"""A part pulled at one frame, while the handle is on its way: what is asked, and what the body answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....edit import DragAnswer, MotionEditor
from ....edit.parts import joint_of
from ....skeleton import Pose
from ...core.actor import Actor


@dataclass(eq=False)
class Pull:
    """A drag under way, of a frame of the edited motion."""

    actor: Actor
    frame: int
    part: str
    pose: Pose
    """That it began in: the frame's, or one in which other parts were put somewhere already."""
    start: Floats
    """(3,) where the part was [m]."""
    turned: Floats
    """(4,) its orientation there."""
    target: Floats
    """(3,) where it shall be, in the actor's world [m]."""
    turn: Floats | None = None
    """(4,) by how much it shall be turned, in the world; None leaves that to the body."""
    answer: DragAnswer | None = None

    @classmethod
    def begin(cls, actor: Actor, editor: MotionEditor, frame: int, part: str, pose: Pose | None) -> Pull:
        """A drag that has not moved yet; `pose` where it is not the frame's."""
        begun = editor.motion[frame] if pose is None else pose
        here, joint = editor.body.skeleton.forward(begun), joint_of(editor.body, part)
        place = np.array(here.positions[joint])
        return cls(actor, frame, part, begun, place, np.array(here.orientations[joint]), place)

    def stands(self, target: Floats, turn: Floats | None) -> bool:
        """Whether a place (3,) and a turn (4,) are where it began: of a click, or a message after the drag's end."""
        turned = 0.0 if turn is None else float(pm.angle(np.array([1.0, 0.0, 0.0, 0.0]), turn))
        return bool(np.abs(target - self.start).max() < 1e-6 and turned < 1e-4)

    @property
    def orientation(self) -> Floats | None:
        """(4,) that the part shall have in the world; None leaves that to the body."""
        return None if self.turn is None else pm.multiply(self.turn, self.turned)

    def solve(self, editor: MotionEditor, pins: tuple[str, ...], settings: dict[str, Any]) -> None:
        """Work out the pose: from where it began, so that it depends on where the handle is and not on its way."""
        self.answer = editor.drag(
            frame=self.frame,
            part=self.part,
            displacement=self.target - self.start,
            orientation=self.orientation,
            pose=self.pose,
            pins=pins,
            **settings,
        )

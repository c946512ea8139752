"""A part dragged at one frame, during the drag: the target, and the pose that the editor finds for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....edit import DragSolution, MotionEditor
from ....edit.clip import joint_of
from ....skeleton import Pose
from ...core.actor import Actor
from ...widgets.handle import IDENTITY, NEAR
from ...widgets.status_text import distance_text, status_text


@dataclass(eq=False)
class Drag:
    """A drag of a frame of the edited motion."""

    actor: Actor
    frame: int
    part: str
    pose: Pose
    """At the start: the frame's, or one in which other parts were moved already."""
    start: Floats
    """(3,) position of the part at the start [m]."""
    start_orientation: Floats
    """(4,) orientation of the part at the start."""
    target: Floats
    """(3,) in the actor's world [m]."""
    rotation: Floats | None = None
    """(4,) from the orientation at the start to the target's, in the world; None leaves it to the body."""
    solution: DragSolution | None = None

    @classmethod
    def begin(cls, actor: Actor, editor: MotionEditor, frame: int, part: str, pose: Pose | None) -> Drag:
        """Return a drag that has not moved yet; `pose` where it is not the frame's."""
        pose = editor.motion[frame] if pose is None else pose
        frames, joint = editor.body.skeleton.forward(pose), joint_of(editor.body, part)
        position = np.array(frames.positions[joint])
        return cls(actor, frame, part, pose, position, np.array(frames.orientations[joint]), position)

    def is_click(self, target: Floats, rotation: Floats | None) -> bool:
        """Return whether a target is where the drag began: of a click, or of a message after the drag's end."""
        angle = 0.0 if rotation is None else float(pm.angle(IDENTITY, rotation))
        return bool(np.abs(target - self.start).max() < NEAR and angle < 1e-4)

    @property
    def orientation(self) -> Floats | None:
        """(4,) the part's target orientation in the world; None leaves it to the body."""
        return None if self.rotation is None else pm.multiply(self.rotation, self.start_orientation)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments for `MotionEditor.drag` and `edit`: a displacement, since an edit may be moved in time."""
        displacement = self.target - self.start
        return {"frame": self.frame, "part": self.part, "displacement": displacement, "orientation": self.orientation}

    def solve(self, editor: MotionEditor, pins: tuple[str, ...], options: dict[str, Any]) -> None:
        """Solve from the pose at the start, so that the result depends on where the handle is and not on its path."""
        self.solution = editor.drag(**self.settings, pose=self.pose, pins=pins, **options)

    @property
    def text(self) -> str:
        """How the drag goes: its status and the distance of the part from the handle, in position and orientation."""
        if (solution := self.solution) is None:
            return ""
        text = f"{status_text(solution.status)}, {distance_text(float(solution.position_error))} from the handle"
        return text if self.rotation is None else f"{text}, {np.degrees(float(solution.orientation_error)):.1f}°"

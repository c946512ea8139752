"""Something on the stage that a limb must keep out of, with a handle to drag it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .. import math as pm
from ..collision import Scene
from ..compute.types import Floats
from ..skeleton import Pose
from .orbit import canonical_orientation
from .session import Session
from .theme import Rgb
from .tracks import Track

if TYPE_CHECKING:
    from ..body import Humanoid

KINDS = ("box", "ball")
BOX, BALL = np.array([0.34, 0.22, 0.22]), 0.14
"""Edges of the box and radius of the ball, beside a body of 1.75 m [m]."""
COLOUR: Rgb = (150, 136, 118)
NAME = "obstacle"


class Obstacle:
    """A box or a ball; `scene` has it for the solver. The session's lock is held.

    Args:
        session: where it is shown.
        moved: called with its place on the stage (3,) [m] while it is dragged.
    """

    def __init__(self, session: Session, moved: Callable[[Floats], None]) -> None:
        self._session, self._moved = session, moved
        self.scene = Scene()

    def put(self, kind: str, track: Track, body: Humanoid) -> None:
        """Show one of `KINDS` where the last one is, or before the body."""
        session, scale = self._session, body.height / 1.75
        shown = NAME in self.scene
        place = self.scene[NAME].position if shown else _before_body(body, track.pose(session.time))
        self.remove()
        handle = session.add_gizmo(
            NAME, place + track.place, scale=0.13 * body.height, disable_rotations=True, depth_test=False
        )
        handle.on_update(session.guarded(lambda event: self._moved(event.target.position)))
        shape = f"/world/gizmo/{NAME}/shape"  # below its handle, so that it moves with it without a message
        if kind == "box":
            self.scene.box(NAME, BOX * scale, place)
            session.scene.add_box(shape, color=COLOUR, dimensions=BOX * scale, opacity=0.6)
        else:
            self.scene.sphere(NAME, BALL * scale, place)
            session.scene.add_icosphere(shape, radius=BALL * scale, color=COLOUR, opacity=0.6)

    def move(self, position: Floats, track: Track) -> None:
        """Have it at a place on the stage (3,) [m]."""
        if NAME in self.scene:
            self.scene.move(NAME, np.asarray(position, dtype=np.float64) - track.place)

    def remove(self) -> None:
        """Take it away; nothing happens when there is none."""
        if NAME in self.scene:
            self.scene.remove(NAME)
        self._session.remove_gizmo(NAME)


def _before_body(body: Humanoid, pose: Pose) -> Floats:
    """(3,) a place before the belly, an arm's length ahead of the hips [m]."""
    hips = body.skeleton.forward(pose).positions[body.index("hips")]
    ahead = pm.rotate(canonical_orientation(body, "hips", pose), np.array([0.0, 0.0, 1.0]))
    ahead[1] = 0.0
    length = max(float(np.linalg.norm(ahead)), 1e-6)
    place: Floats = hips + body.height * (0.28 * ahead / length + np.array([0.0, 0.04, 0.0]))
    return place

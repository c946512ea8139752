"""An obstacle on the stage that a limb must keep out of, with a handle to move and rotate it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import math as pm
from ...collision import Scene, Volumes
from ...compute.types import ArrayLike, Floats
from ...skeleton import Pose
from ..core.actor import Actor, canonical_orientation
from ..core.session import Session
from ..widgets.controls import IDENTITY, DragHandle, assign
from .theme import Rgb

if TYPE_CHECKING:
    from ...body import Humanoid

NOTHING = "(none)"
KINDS = ("box", "sphere", "capsule")
BOX, RADIUS, CAPSULE = np.array([0.34, 0.22, 0.22]), 0.14, (0.07, 0.40)
"""Edges of the box, radius of the sphere, radius and length of the capsule, beside a body of 1.75 m [m]."""
COLOUR: Rgb = (150, 136, 118)
NAME = "obstacle"
NODE = f"/world/gizmo/{NAME}/shape"  # below its handle, so that it moves with it without a message


@dataclass(frozen=True, eq=False)
class Shape:
    """An obstacle: its shape, position and orientation."""

    kind: str
    position: Floats
    """(3,) in the actor's world [m]."""
    orientation: Floats
    """(4,)."""


def shared_obstacle(session: Session) -> Obstacle:
    """Return the obstacle of a session and add a control for it here: there is one, whichever tab shows it."""
    obstacle: Obstacle = session.shared.setdefault("obstacle", Obstacle(session))
    obstacle.add_choice()
    return obstacle


class Obstacle:
    """A box, a sphere or a capsule, chosen in the panel; `scene` has it for the solver. Each step can be undone."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.scene = Scene()
        self.now: Shape | None = None
        self._before: Shape | None = None  # what a drag began with
        self._choices: list[Any] = []
        self._on_stage = False  # while a tab that works with it is in front
        self._handle = DragHandle(session, NAME, self.move, self.drop, disable_sliders=False)

    def add_choice(self) -> None:
        """Add a control that chooses it, here in the panel."""
        session = self._session
        hint = "Something to keep out of; drag its handle to move and rotate it"
        choice = session.gui.add_dropdown("Obstacle", (NOTHING, *KINDS), hint=hint)
        choice.on_update(session.guarded(lambda _: self.choose(str(choice.value))))
        self._choices.append(choice)

    def choose(self, kind: str) -> None:
        """Use one of `KINDS`, where the last one is or before the body; `NOTHING` removes it. Can be undone."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if kind == NOTHING or actor is None or body is None:
                if self.now is not None:
                    self._store("Remove the obstacle", self.now, None)
            elif self.now is None:
                position = _before_body(body, actor.pose(self._session.time))
                self._store(f"Put a {kind}", None, Shape(kind, position, IDENTITY))
            elif self.now.kind != kind:
                self._store(f"Put a {kind}", self.now, replace(self.now, kind=kind))

    def move(self, position: ArrayLike, orientation: ArrayLike | None = None) -> None:
        """Move it to a position (3,) on the stage [m] and an orientation (4,); `drop` makes the step to undo."""
        with self._session.lock:
            actor = self._session.active
            if self.now is None or actor is None:
                return
            there = np.array(position, dtype=np.float64) - actor.position
            rotated = self.now.orientation if orientation is None else np.array(orientation, dtype=np.float64)
            moved = float(np.abs(there - self.now.position).max())
            if moved < 1e-6 and pm.angle(rotated, self.now.orientation) < 1e-5:
                return  # a click, or a message that comes after the drag's end
            self._before = self._before or self.now
            self.now = replace(self.now, position=there, orientation=rotated)
            self.scene.move(NAME, there, rotated)
            self._session.changed("pose")

    def drop(self) -> None:
        """End a drag: from here it can be undone in one step."""
        with self._session.lock:
            before, self._before = self._before, None
            if before is not None and self.now is not None:
                self._store(f"Move the {self.now.kind}", before, self.now)

    def show(self) -> None:
        """Draw it anew, perhaps for another body; without a body there is none."""
        actor, body = self._session.active, self._session.body
        self.hide()
        self._on_stage = True
        for choice in self._choices:
            assign(choice, NOTHING if self.now is None else self.now.kind)
        if self.now is not None and actor is not None and body is not None:
            self._build(self.now, actor, body)

    def hide(self) -> None:
        """Take it off the stage and out of the solver's scene; `show` brings it back."""
        self._on_stage = False
        if NAME in self.scene:
            self.scene.remove(NAME)
        self._handle.remove()

    def _store(self, label: str, before: Shape | None, after: Shape | None) -> None:
        def put(shape: Shape | None) -> None:
            shown, self.now, self._before = self.now, shape, None
            actor = self._session.active
            if not self._on_stage:
                for choice in self._choices:
                    assign(choice, NOTHING if shape is None else shape.kind)
            elif shown and shape and shown.kind == shape.kind and self._handle.gizmo is not None and actor is not None:
                self.scene.move(NAME, shape.position, shape.orientation)
                self._handle.show(shape.position + actor.position, shape.orientation)
            else:
                self.show()
            self._session.changed("pose")

        self._session.run(label, lambda: put(after), lambda: put(before))

    def _build(self, now: Shape, actor: Actor, body: Humanoid) -> None:
        sphere, size = now.kind == "sphere", 0.13 * body.joint_height
        self._handle.show(now.position + actor.position, now.orientation, scale=size, disable_rotations=sphere)
        scale, shown = body.joint_height / 1.75, self._session.scene
        if now.kind == "box":
            self.scene.box(NAME, BOX * scale, now.position, now.orientation)
            shown.add_box(NODE, color=COLOUR, dimensions=BOX * scale, opacity=0.6)
        elif now.kind == "sphere":
            self.scene.sphere(NAME, RADIUS * scale, now.position)
            shown.add_icosphere(NODE, radius=RADIUS * scale, color=COLOUR, opacity=0.6)
        else:
            radius, length = CAPSULE[0] * scale, CAPSULE[1] * scale
            self.scene.capsule(NAME, radius, length, now.position, now.orientation)
            end = np.array([[0.0, 0.5 * length, 0.0]])
            volume = Volumes([0], ["capsule"], -end, end, np.full((1, 3), radius))
            shown.add_mesh_simple(NODE, *volume.mesh(0, 24), color=COLOUR, opacity=0.6)


def _before_body(body: Humanoid, pose: Pose) -> Floats:
    """Return (3,) a position before the belly, an arm's length ahead of the hips [m]."""
    hips = body.skeleton.forward(pose).positions[body.index("hips")]
    ahead = pm.rotate(canonical_orientation(body, "hips", pose), np.array([0.0, 0.0, 1.0]))
    ahead[1] = 0.0
    length = max(float(np.linalg.norm(ahead)), 1e-6)
    position: Floats = hips + body.joint_height * (0.28 * ahead / length + np.array([0.0, 0.04, 0.0]))
    return position

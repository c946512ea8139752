"""The orbit of an elbow or a knee: the circle on which it can be while the hand or foot stays at its goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....compute import Status
from ....compute.types import Bools, Floats, Ints
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...view.theme import Rgb, linear
from ...widgets.status_text import COLOURS, UNUSUAL
from .goals import Goal

if TYPE_CHECKING:
    from ....body import Humanoid

SWIVELS = 72
"""Positions of the elbow that are tried for the orbit circle."""
ON_CIRCLE = 1e-3
"""How far from the circle a tried elbow may be [m]; one without a posture is nowhere near it and is not drawn."""
INK: Rgb = (34, 40, 48)
"""Colour of the joint on its orbit: unlike that of any body."""


class Orbit:
    """The circle on which an elbow or a knee can be, coloured by what forbids it there, and the joint on it."""

    def __init__(self, session: Session) -> None:
        self._server = session.server
        self._circle = session.scene.add_line_segments(
            "/world/limb/orbit",
            np.zeros((SWIVELS, 2, 3), dtype=np.float32),
            np.zeros((SWIVELS, 2, 3), dtype=np.uint8),
            thickness=6.0,
            thickness_units="screen",
            visible=False,
        )
        self._joint = session.scene.add_icosphere(
            "/world/limb/joint", radius=1.0, color=INK, cast_shadow=False, visible=False
        )
        self.status: Ints | None = None
        self.usual: Bools | None = None

    def draw(
        self,
        actor: Actor,
        body: Humanoid,
        limb: str,
        pose: Pose,
        goal: Goal,
        options: dict[str, Any],
        usual: Callable[[Floats], Bools] | None = None,
    ) -> None:
        """Try swivels all around for a goal, in one call, and draw where they put the joint.

        Args:
            actor: whose limb it is.
            body: of the actor.
            limb: "right_arm".
            pose: of the body.
            goal: of the hand or foot.
            options: for `Limb.place`.
            usual: returns of swivels (N,) [rad] whether people have them there; without it nothing is marked.
        """
        swivels = np.linspace(-math.pi, math.pi, SWIVELS, endpoint=False)
        target = Target(np.tile(goal.position, (SWIVELS, 1)), goal.orientation)
        tried = body.limb(limb).place(pose, target, swivel=swivels, probe=True, **options)
        base, mid, _ = body.limb_joints(limb)
        joint = body.skeleton.forward(tried.pose).positions[:, mid]
        now = body.skeleton.forward(pose).positions
        on = _on_circle(joint, now[base], goal.position)
        ends = np.stack([0.5 * (joint + np.roll(joint, 1, axis=0)), 0.5 * (joint + np.roll(joint, -1, axis=0))], 1)
        ends[~(on & np.roll(on, 1) & np.roll(on, -1))] = now[mid]
        self.status = np.asarray(tried.status)
        self.usual = None if usual is None else usual(swivels)
        colours = np.array([COLOURS[int(status)] for status in self.status], dtype=np.float64)
        if self.usual is not None:
            colours[(self.status == Status.REACHED) & ~self.usual] = UNUSUAL
        with self._server.atomic():
            self._circle.points = (ends + actor.position).astype(np.float32)
            self._circle.colors = np.repeat(linear(colours)[:, None], 2, axis=1)
            self._joint.position, self._joint.scale = now[mid] + actor.position, 0.014 * body.joint_height
            self._circle.visible = self._joint.visible = True

    def hide(self) -> None:
        """Hide the circle and the joint."""
        if self._circle.visible:
            self._circle.visible = self._joint.visible = False
        self.status = self.usual = None

    def remove(self) -> None:
        """Take it off the scene."""
        self._circle.remove()
        self._joint.remove()


def _on_circle(positions: Floats, base: Floats, goal: Floats) -> Bools:
    """Return (N,) whether positions lie on the circle about the line from base to goal on which most of them lie."""
    axis = goal - base
    unit = axis / max(float(np.linalg.norm(axis)), 1e-9)
    along = (positions - base) @ unit
    radius = np.linalg.norm(positions - base - along[:, None] * unit, axis=-1)
    on: Bools = (np.abs(along - np.median(along)) < ON_CIRCLE) & (np.abs(radius - np.median(radius)) < ON_CIRCLE)
    return on

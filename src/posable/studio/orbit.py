"""The orbit of an elbow or a knee: the circle on which it can be while the hand or foot stays at its goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute import Status
from ..compute.types import Bools, Floats, Ints
from ..limb import Target
from ..skeleton import Pose
from .session import Session
from .theme import Rgb
from .tracks import Track

if TYPE_CHECKING:
    from ..body import Humanoid

SWIVELS = 72
"""Places of the elbow that are tried for the orbit circle."""
ON_CIRCLE = 1e-3
"""How far from the circle a tried elbow may be [m]; one without a posture is nowhere near it and is not drawn."""
INK: Rgb = (34, 40, 48)
"""Colour of the joint on its orbit: unlike that of any body."""
COLOURS: dict[int, Rgb] = {
    Status.REACHED: (22, 140, 52),
    Status.LIMITS: (224, 122, 0),
    Status.COLLISION: (198, 24, 24),
    Status.UNREACHABLE: (112, 118, 124),
    Status.SINGULAR: (112, 118, 124),
    Status.INVALID: (112, 118, 124),
}


@dataclass(frozen=True, eq=False)
class Goal:
    """Where a part shall be."""

    position: Floats
    """(3,) in the track's world [m]."""
    orientation: Floats | None
    """(4,) canonical; None: as it comes."""

    @property
    def target(self) -> Target:
        """The same for a solver."""
        return Target(self.position, self.orientation)


class Orbit:
    """The circle on which an elbow or a knee can be, coloured by what forbids it there, and the joint on it."""

    def __init__(self, session: Session) -> None:
        self._server = session.server
        points = np.zeros((SWIVELS, 2, 3), dtype=np.float32)
        self._circle = session.scene.add_line_segments(
            "/world/limb/orbit",
            points,
            np.zeros((SWIVELS, 2, 3), dtype=np.uint8),
            thickness=6.0,
            thickness_units="screen",
            visible=False,
        )
        self._joint = session.scene.add_icosphere(
            "/world/limb/joint", radius=1.0, color=INK, cast_shadow=False, visible=False
        )
        self.status: Ints | None = None

    def draw(self, track: Track, body: Humanoid, limb: str, pose: Pose, goal: Goal, options: dict[str, Any]) -> None:
        """Try swivels all around for a goal, in one call, and draw where they put the joint."""
        swivels = np.linspace(-math.pi, math.pi, SWIVELS, endpoint=False)
        target = Target(np.tile(goal.position, (SWIVELS, 1)), goal.orientation)
        tried = body.limb(limb).place(pose, target, swivel=swivels, probe=True, **options)
        base, mid, _ = body.limb_joints(limb)
        places = body.skeleton.forward(tried.pose).positions[:, mid]
        now = body.skeleton.forward(pose).positions
        self.status = tried.status
        on = _on_circle(places, now[base], goal.position)
        ends = np.stack([0.5 * (places + np.roll(places, 1, axis=0)), 0.5 * (places + np.roll(places, -1, axis=0))], 1)
        whole = on & np.roll(on, 1) & np.roll(on, -1)
        ends[~whole] = now[mid]
        # Browsers take the colours of lines for linear ones and show them brighter than they are.
        colours = 255.0 * (np.array([COLOURS[int(status)] for status in tried.status]) / 255.0) ** 2.2
        with self._server.atomic():
            self._circle.points = (ends + track.place).astype(np.float32)
            self._circle.colors = np.repeat(colours[:, None], 2, axis=1).astype(np.uint8)
            self._joint.position = now[mid] + track.place
            self._joint.scale = 0.014 * body.height
            self._circle.visible = self._joint.visible = True

    def hide(self) -> None:
        """Show nothing."""
        if self._circle.visible:
            self._circle.visible = self._joint.visible = False
        self.status = None

    def remove(self) -> None:
        """Take it off the scene."""
        self._circle.remove()
        self._joint.remove()


def _on_circle(places: Floats, base: Floats, goal: Floats) -> Bools:
    """(N,) whether places lie on the circle about the line from base to goal on which most of them lie."""
    way = goal - base
    unit = way / max(float(np.linalg.norm(way)), 1e-9)
    along = (places - base) @ unit
    away = np.linalg.norm(places - base - along[:, None] * unit, axis=-1)
    on: Bools = (np.abs(along - np.median(along)) < ON_CIRCLE) & (np.abs(away - np.median(away)) < ON_CIRCLE)
    return on


def canonical_orientation(body: Humanoid, part: str, pose: Pose) -> Floats:
    """(4,) a part's orientation in the world, the identity as in the neutral pose."""
    world = body.skeleton.forward(pose).orientations[body.index(part)]
    return pm.multiply(world, pm.conjugate(body.neutral_orientation(part)))

"""The target of a chain: a ball that is dragged or orbits by itself, and lines along which the tips point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....express import Chain
from ...core.session import Session
from ...view.theme import MARK, Rgb, linear
from ...widgets.controls import NEAR, DragHandle, show

POINT, DIRECTION, ORIENTATION = "a point", "a direction", "an orientation"
AIMS = (POINT, DIRECTION, ORIENTATION)
MOVE, ROTATE = "express_target", "express_orientation"
"""The gizmos: one that moves the ball, one that also rotates the tip."""
MAX_CHAINS = 3
PERIOD = 9.0
"""Seconds of one round of the orbit."""


class AimTarget:
    """The ball, its handles and its copies: each chain has one at the same position of its own world.

    Args:
        session: whose stage it is on.
        moved: called while it is dragged.
        dropped: called after a drag with where it was before (position, orientation).
    """

    def __init__(self, session: Session, moved: Callable[[], None], dropped: Callable[[tuple[Floats, Floats]], None]):
        self._session, self._moved, self._dropped = session, moved, dropped
        self.position = np.array([0.0, 1.0, 1.0])
        self.orientation = np.array([1.0, 0.0, 0.0, 0.0])
        self.phase = 0.0
        self._home, self._size, self._origin = np.zeros(3), 1.0, np.zeros(3)
        self._before: tuple[Floats, Floats] | None = None
        self._balls = [
            session.scene.add_icosphere(
                f"/world/express/target{k}", radius=1.0, color=MARK, cast_shadow=False, visible=False
            )
            for k in range(MAX_CHAINS)
        ]
        self._lines = session.scene.add_line_segments(
            "/world/express/aims",
            np.zeros((MAX_CHAINS, 2, 3), dtype=np.float32),
            np.zeros((MAX_CHAINS, 2, 3), dtype=np.uint8),
            thickness=3.0,
            thickness_units="screen",
            visible=False,
        )
        # Only the second handle rotates the tip.
        self._move = DragHandle(
            session,
            MOVE,
            lambda position, _: self._dragged(position, self.orientation),
            self._drop,
            disable_rotations=True,
            disable_sliders=False,
        )
        self._rotate = DragHandle(session, ROTATE, self._dragged, self._drop, disable_sliders=False)

    def start(self, chain: Chain, size: float) -> None:
        """Begin in front of another chain of a size [m]."""
        base = chain.forward(chain.zero).positions[0]
        self._size, self._home = size, base + size * np.array([0.0, 0.75, 1.3])
        self.phase, self._before = 0.0, None
        self.set(self._home + np.array([0.3 * size, 0.1 * size, 0.0]))
        self.face(chain)

    def set(self, position: Floats, orientation: Floats | None = None) -> None:
        """Move it to a position (3,) [m] in the first chain's world, with an orientation (4,)."""
        self.position = np.array(position, dtype=np.float64)
        if orientation is not None:
            self.orientation = np.array(orientation, dtype=np.float64)

    def orbit(self, chain: Chain, dt: float) -> None:
        """Go on around by `dt` seconds, on a closed curve in front of the chain that it faces."""
        self.phase = (self.phase + 2.0 * math.pi * dt / PERIOD) % (2.0 * math.pi)
        sideways, upwards = 0.7 * math.sin(self.phase), 0.45 * math.sin(2.0 * self.phase)
        self.set(self._home + self._size * np.array([sideways, upwards, 0.0]))
        self.face(chain)

    def face(self, chain: Chain) -> None:
        """Set the orientation with which a tip points from the chain's base to the ball."""
        rest = chain.forward(chain.zero)
        rotation = pm.between(rest.pointing, self._direction(chain))
        self.orientation = np.asarray(pm.multiply(rotation, rest.orientations[-1]))

    def aim(self, chain: Chain, kind: str) -> dict[str, Floats]:
        """Return the target as a solver takes it."""
        if kind == POINT:
            return {"look_at": self.position}
        return {"direction": self._direction(chain)} if kind == DIRECTION else {"orientation": self.orientation}

    def draw(self, kind: str, origins: Sequence[Floats], tips: Sequence[tuple[Floats, Floats, Rgb]]) -> None:
        """Show it for chains whose worlds have their origins (3,) on the stage [m].

        Args:
            kind: one of `AIMS`.
            origins: the first has the handle.
            tips: of each chain, on the stage: the tip's position, where it points, and the line's colour.
        """
        ends, colours = np.zeros((MAX_CHAINS, 2, 3)), np.zeros((MAX_CHAINS, 2, 3))
        for k, (tip, pointing, colour) in enumerate(tips):
            far = float(np.linalg.norm(self.position + origins[k] - tip)) if kind == POINT else 0.8 * self._size
            ends[k], colours[k] = (tip, tip + far * pointing), colour
        with self._session.server.atomic():
            for k, ball in enumerate(self._balls):
                show(ball, "visible", k < len(origins))
                if k < len(origins):
                    ball.position, ball.scale = self.position + origins[k], (0.032 if k == 0 else 0.022) * self._size
            self._lines.points, self._lines.colors = ends.astype(np.float32), linear(colours)
            show(self._lines, "visible", True)
            options: dict[str, Any] = {"follow": self._before is None, "scale": 0.28 * self._size}
            at, rotates = self.position + origins[0], kind == ORIENTATION
            self._move.show(at, visible=not rotates, **options)
            self._rotate.show(at, self.orientation, visible=rotates, **options)
        self._origin = np.asarray(origins[0])

    def hide(self) -> None:
        """Hide all of it."""
        for node in (*self._balls, self._lines):
            show(node, "visible", False)
        self._move.hide()
        self._rotate.hide()

    def remove(self) -> None:
        """Take it off the stage."""
        for node in (*self._balls, self._lines):
            node.remove()
        self._move.remove()
        self._rotate.remove()

    def _direction(self, chain: Chain) -> Floats:
        """Return (3,) unit, from the chain's first joint to the ball; up where both are at one position."""
        offset = self.position - chain.forward(chain.zero).positions[0]
        distance = float(np.linalg.norm(offset))
        return offset / distance if distance > 1e-6 else np.array([0.0, 1.0, 0.0])

    def _dragged(self, position: Floats, orientation: Floats) -> None:
        with self._session.lock:
            at = position - self._origin
            if np.abs(at - self.position).max() > NEAR or pm.angle(orientation, self.orientation) > 1e-5:
                self._before = self._before or (self.position, self.orientation)
                self.set(at, orientation)
                self._moved()

    def _drop(self) -> None:
        with self._session.lock:
            before, self._before = self._before, None
            if before is not None:
                self._dropped(before)

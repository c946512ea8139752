"""The swing plane of a behaviour on the sphere around the shoulder, at the distance of the target."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints
from .orbit import COLOURS
from .session import Session
from .swing import EDGE
from .swing_plane import CHOSEN, FREE, direction_of, pieces
from .theme import Rgb

if TYPE_CHECKING:
    from ..reach import Behaviour

NODE = "/world/reach"
RIM: Rgb = (46, 104, 128)
NET: Rgb = (120, 160, 180)


class ReachSphere:
    """Ellipse, triangles and keys as lines and balls in the scene; a click on a ball chooses its key.

    Args:
        session: whose scene.
        choose: called with the key whose ball was clicked.
    """

    def __init__(self, session: Session, choose: Callable[[int], None]) -> None:
        self._session, self._choose = session, choose
        self._balls: dict[int, Any] = {}
        self._drawn: tuple[Any, ...] = ()
        scene = session.scene
        self._node = scene.add_frame(NODE, show_axes=False, visible=False)
        empty = np.zeros((1, 2, 3), dtype=np.float32)
        self._rim = scene.add_line_segments(f"{NODE}/rim", empty, RIM, thickness=3.0, thickness_units="screen")
        self._net = scene.add_line_segments(f"{NODE}/net", empty, NET, thickness=1.4, thickness_units="screen")
        self._dots = scene.add_point_cloud(
            f"{NODE}/map",
            np.zeros((1, 3), dtype=np.float32),
            np.zeros((1, 3), dtype=np.uint8),
            point_shape="circle",
            precision="float32",
            point_shading="flat",
            visible=False,
        )

    def draw(
        self,
        behaviour: Behaviour,
        frame: tuple[Floats, Floats],
        radius: float,
        *,
        chosen: int | None,
        outer: bool,
        map: tuple[Floats, Ints] | None = None,
    ) -> None:
        """Draw a behaviour.

        Args:
            behaviour: its ellipse, triangles and keys.
            frame: of the arm: orientation (4,) and origin (3,) on the stage [m].
            radius: of the sphere [m].
            chosen: the key that is edited.
            outer: whether the outer keys and the lines to them are drawn.
            map: swings (N, 2) [rad] and statuses (N,), drawn as dots.
        """
        new = (behaviour, radius, chosen, outer, map)
        with self._session.server.atomic():
            if not (np.allclose(self._node.position, frame[1]) and np.allclose(self._node.wxyz, frame[0])):
                self._node.position, self._node.wxyz = frame[1], frame[0]
            if len(self._drawn) != len(new) or any(a is not b and a != b for a, b in zip(self._drawn[:4], new[:4])):
                self._draw_lines(behaviour, radius, outer)
                self._draw_balls(behaviour, radius, chosen, outer)
            if len(self._drawn) != len(new) or self._drawn[4] is not map or self._drawn[1] != radius:
                self._draw_map(radius, map)
            self._drawn = new
            if not self._node.visible:
                self._node.visible = True

    def hide(self) -> None:
        """Show nothing."""
        if self._node.visible:
            self._node.visible = False

    def remove(self) -> None:
        """Take it off the scene."""
        self._node.remove()

    def _draw_lines(self, behaviour: Behaviour, radius: float, outer: bool) -> None:
        rim = behaviour.ellipse.boundary(np.linspace(0.0, 2.0 * np.pi, 97))
        points = direction_of(rim)
        self._rim.points = (radius * np.stack([points[:-1], points[1:]], axis=1)).astype(np.float32)
        at = {key.id: key.at for key in behaviour.keys}
        pairs = sorted({tuple(sorted(p)) for a, b, c in behaviour.triangles for p in ((a, b), (b, c), (c, a))})
        swings = pieces([(at[a], at[b]) for a, b in pairs])
        if not outer:  # only what lies inside of the ellipse
            middle = (swings.mean(axis=1) - np.array(behaviour.ellipse.centre)) / np.array(behaviour.ellipse.radii)
            swings = swings[np.einsum("ni,ni->n", middle, middle) < 1.0]
        lines = radius * direction_of(swings) if len(swings) else np.zeros((1, 2, 3))
        self._net.points = lines.astype(np.float32)

    def _draw_balls(self, behaviour: Behaviour, radius: float, chosen: int | None, outer: bool) -> None:
        keys = {key.id: key for key in behaviour.keys if outer or not key.outer}
        for gone in [key for key in self._balls if key not in keys]:
            self._balls.pop(gone).remove()
        for key in keys.values():
            colour = CHOSEN if key.id == chosen else (FREE if key.outer or key.posture is None else EDGE)
            place = radius * direction_of(key.at)
            if key.id not in self._balls:
                ball = self._session.scene.add_icosphere(
                    f"{NODE}/key{key.id}", radius=1.0, subdivisions=2, color=_rgb(colour), cast_shadow=False
                )
                ball.on_click(self._session.guarded(partial(self._clicked, key.id)))
                self._balls[key.id] = ball
            ball = self._balls[key.id]
            ball.position, ball.color = place, _rgb(colour)
            ball.scale = (0.03 if key.id == chosen else 0.022) * radius / 0.6

    def _clicked(self, key: int, _: Any) -> None:
        self._choose(key)

    def _draw_map(self, radius: float, map: tuple[Floats, Ints] | None) -> None:
        if map is None:
            if self._dots.visible:
                self._dots.visible = False
            return
        swings, status = map
        self._dots.points = (radius * direction_of(swings)).astype(np.float32)
        self._dots.colors = np.array([COLOURS[int(each)] for each in status], dtype=np.uint8).reshape(-1, 3)
        self._dots.point_size = 0.012 * radius / 0.6
        self._dots.visible = True


def place_at(frame: tuple[Floats, Floats], swing: Floats, distance: float) -> Floats:
    """(..., 3) places [m] in the directions of swings (..., 2) [rad] from the origin of an arm's frame."""
    return np.asarray(frame[1] + distance * pm.rotate(frame[0], direction_of(swing)))


def _rgb(colour: str) -> Rgb:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue

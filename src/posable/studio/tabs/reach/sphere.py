"""The swing plane of a behaviour on the sphere around the shoulder, at the distance of the target.

Its keys are balls, and inside of the ellipse it is a thin shell that can be clicked. viser tells of a click anywhere on
the stage by the ray through the pointer, and of one on a node as well; the ray alone says what was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....compute.types import Floats, Ints
from ...core.session import Session
from ...view.theme import Rgb
from ...widgets.joint_limit_plot import EDGE
from ...widgets.status_text import COLOURS
from .swing_plane import CHOSEN, FREE
from .swings import direction_of, in_space, pieces, swing_of

if TYPE_CHECKING:
    from ....reach import Behaviour, Key

NODE = "/world/reach"
RIM: Rgb = (46, 104, 128)
NET: Rgb = (120, 160, 180)
SHELL: Rgb = (150, 190, 205)
SHELL_OPACITY = 0.16
BALL, CHOSEN_BALL = 0.022, 0.03
"""Radii of the balls of keys on a sphere of 0.6 m [m]."""
EASY = 1.4
"""A click this many radii from the middle of a ball still means it."""


class ReachSphere:
    """Shell, ellipse, triangles and keys in the scene, around a shoulder."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._balls: dict[int, Any] = {}
        self._drawn: tuple[Any, ...] = ()
        scene = session.scene
        self._node = scene.add_frame(NODE, show_axes=False, visible=False)
        empty = np.zeros((1, 2, 3), dtype=np.float32)
        self._rim = scene.add_line_segments(f"{NODE}/rim", empty, RIM, thickness=3.0, thickness_units="screen")
        self._net = scene.add_line_segments(f"{NODE}/net", empty, NET, thickness=1.4, thickness_units="screen")
        points, faces = _disc()
        self._shell = scene.add_mesh_simple(
            f"{NODE}/shell",
            np.zeros((len(points), 3), dtype=np.float32),
            faces,
            color=SHELL,
            opacity=SHELL_OPACITY,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )
        self._dots = scene.add_point_cloud(
            f"{NODE}/map",
            np.zeros((1, 3), dtype=np.float32),
            np.zeros((1, 3), dtype=np.uint8),
            point_shape="circle",
            precision="float32",
            point_shading="flat",
            visible=False,
        )

    @property
    def visible(self) -> bool:
        """Whether it is drawn."""
        return bool(self._node.visible)

    def draw(
        self,
        behaviour: Behaviour,
        frame: tuple[Floats, Floats],
        radius: float,
        length: float,
        *,
        chosen: int | None,
        outer: bool,
        map: tuple[Floats, Ints] | None = None,
    ) -> None:
        """Draw a behaviour.

        Args:
            behaviour: its ellipse, triangles and keys; of one with keys in space only these, where they are.
            frame: of the arm: orientation (4,) and origin (3,) on the stage [m].
            radius: of the sphere [m].
            length: of the arm [m].
            chosen: the key that is edited.
            outer: whether the outer keys and the lines to them are drawn.
            map: swings (N, 2) [rad] and statuses (N,), drawn as dots.
        """
        new = (behaviour, radius, length, chosen, outer, map)
        anew = len(self._drawn) != len(new)
        with self._session.server.atomic():
            if not (np.allclose(self._node.position, frame[1]) and np.allclose(self._node.wxyz, frame[0])):
                self._node.position, self._node.wxyz = frame[1], frame[0]
            if anew or any(a is not b and a != b for a, b in zip(self._drawn[:5], new[:5])):
                self._draw_lines(behaviour, radius, outer)
                self._draw_balls(behaviour, radius, length, chosen, outer)
            if anew or self._drawn[5] is not map or self._drawn[1] != radius:
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

    def key_at(self, origin: Floats, direction: Floats) -> int | None:
        """The key whose ball a ray of the stage meets first, its origin (3,) [m] and unit direction (3,)."""
        if not self.visible:
            return None
        start, way = self._in_frame(origin, direction)
        found: list[tuple[float, int]] = []
        for key, ball in self._balls.items():
            to = np.asarray(ball.position) - start
            along = float(to @ way)
            if along > 0.0 and float(np.linalg.norm(to - along * way)) <= EASY * float(ball.scale):
                found.append((along, key))
        return min(found)[1] if found else None

    def swing_at(self, origin: Floats, direction: Floats) -> Floats | None:
        """(2,) the swing [rad] where a ray of the stage first meets the shell; None where it passes it by."""
        if not self.visible or in_space(self._drawn[0]):
            return None
        behaviour, radius, _, _, outer, _ = self._drawn
        start, way = self._in_frame(origin, direction)
        middle = -float(start @ way)
        under = middle**2 - float(start @ start) + radius**2
        for far in (middle - under**0.5, middle + under**0.5) if under > 0.0 else ():
            swing = swing_of(start + far * way)
            away = (swing - np.array(behaviour.ellipse.centre)) / np.array(behaviour.ellipse.radii)
            if far > 0.0 and (outer or float(away @ away) <= 1.0):
                return swing
        return None

    def _in_frame(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """A ray of the stage in the arm's frame."""
        back = pm.conjugate(np.array(self._node.wxyz))
        return pm.rotate(back, origin - np.array(self._node.position)), pm.rotate(back, direction)

    def _draw_lines(self, behaviour: Behaviour, radius: float, outer: bool) -> None:
        flat = not in_space(behaviour)
        for part in (self._rim, self._net, self._shell):
            if part.visible != flat:
                part.visible = flat
        if not flat:
            return
        centre, radii = np.array(behaviour.ellipse.centre), np.array(behaviour.ellipse.radii)
        self._shell.vertices = (radius * direction_of(centre + radii * _disc()[0])).astype(np.float32)
        points = direction_of(behaviour.ellipse.boundary(np.linspace(0.0, 2.0 * np.pi, 97)))
        self._rim.points = (radius * np.stack([points[:-1], points[1:]], axis=1)).astype(np.float32)
        at = {key.id: key.at for key in behaviour.keys}
        pairs = sorted({tuple(sorted(p)) for a, b, c in behaviour.triangles for p in ((a, b), (b, c), (c, a))})
        swings = pieces([(at[a], at[b]) for a, b in pairs])
        if not outer:  # only what lies inside of the ellipse
            middle = (swings.mean(axis=1) - centre) / radii
            swings = swings[np.einsum("ni,ni->n", middle, middle) < 1.0]
        lines = radius * direction_of(swings) if len(swings) else np.zeros((1, 2, 3))
        self._net.points = lines.astype(np.float32)

    def _draw_balls(self, behaviour: Behaviour, radius: float, length: float, chosen: int | None, outer: bool) -> None:
        keys = {key.id: key for key in behaviour.keys if outer or not key.outer}
        for gone in [key for key in self._balls if key not in keys]:
            self._balls.pop(gone).remove()
        for key in keys.values():
            colour = CHOSEN if key.id == chosen else (FREE if key.outer or key.posture is None else EDGE)
            if key.id not in self._balls:
                self._balls[key.id] = self._session.scene.add_icosphere(
                    f"{NODE}/key{key.id}", radius=1.0, subdivisions=2, color=_rgb(colour), cast_shadow=False
                )
            ball = self._balls[key.id]
            ball.position, ball.color = _place_of(key, radius, length), _rgb(colour)
            ball.scale = (CHOSEN_BALL if key.id == chosen else BALL) * (radius if len(key.at) == 2 else length) / 0.6

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


def _place_of(key: Key, radius: float, length: float) -> Floats:
    """(3,) where a key's ball is in the arm's frame [m]."""
    return radius * direction_of(key.at) if len(key.at) == 2 else length * np.asarray(key.at, dtype=np.float64)


def _disc(rings: int = 14, around: int = 48) -> tuple[Floats, Ints]:
    """Points (V, 2) all over the unit disc, and triangles (T, 3) between them."""
    turn = 2.0 * np.pi * np.arange(around) / around
    share = np.arange(1, rings + 1)[:, None] / rings
    points = np.stack([share * np.cos(turn), share * np.sin(turn)], axis=-1).reshape(-1, 2)
    k = np.arange(around)
    fan = np.stack([np.zeros_like(k), 1 + k, 1 + (k + 1) % around], axis=-1)
    ring, at = np.meshgrid(np.arange(rings - 1), k, indexing="ij")
    a, b = 1 + ring * around + at, 1 + ring * around + (at + 1) % around
    band = np.concatenate([np.stack([a, a + around, b + around], -1), np.stack([a, b + around, b], -1)])
    return np.concatenate([np.zeros((1, 2)), points]), np.concatenate([fan, band.reshape(-1, 3)])


def _rgb(colour: str) -> Rgb:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue

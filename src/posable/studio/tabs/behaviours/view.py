"""The reach tab's view of a behaviour: the swing plane in the panel and on a sphere around the shoulder, and a map.

The sphere has the radius of the target's distance. Its keys are balls, and inside of the ellipse it is a thin shell
that can be clicked. viser reports a click anywhere on the stage by the ray through the pointer, and one on a node as
well; the ray alone decides what was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats, Ints
from ...core.session import Session
from ...view.points import PointCloud
from ...view.theme import Rgb
from ...widgets.controls import Follower, redraw_on_update, show
from ...widgets.joint_limit_plot import EDGE
from ...widgets.pointer import Pointed, PointerField, hidden
from ...widgets.status_text import COLOURS, legend
from .swing_plane import CHOSEN, FREE, MARK, Drawn, direction_of, in_space, net_of, plane_drawing, stroke_of, swing_of

if TYPE_CHECKING:
    from .tab import BehavioursTab

NODE = "/world/reach"
RIM: Rgb = (46, 104, 128)
NET: Rgb = (120, 160, 180)
SHELL: Rgb = (150, 190, 205)
BALL, CHOSEN_BALL = 0.022 / 0.6, 0.03 / 0.6
"""Radii of the balls of keys, as fractions of the sphere's radius."""
CLICKED = 1.4
"""A click this many radii from the middle of a ball still means it."""


class ReachView:
    """The plane, the sphere, and the controls that say what of them is shown."""

    def __init__(self, tab: BehavioursTab) -> None:
        self._tab, self._session = tab, tab.session
        self._field = PointerField(tab.session, MARK, self._pointed)
        self._plane = tab.session.gui.add_html(hidden(MARK))
        self.sphere = ReachSphere(tab.session)

    def add_controls(self) -> None:
        """Add the controls here in the panel."""
        session, gui = self._session, self._session.gui
        hint = "Of the target from the shoulder, in arm lengths"
        distance = gui.add_slider("Distance", min=0.1, max=2.5, step=0.01, initial_value=0.85, hint=hint)
        self._distance = Follower(session, distance, lambda lengths: self._tab.set_distance(float(lengths)))
        hint = "Reaches all over the plane, at this distance: where the hand reaches its target, and why not elsewhere"
        self.mapping = gui.add_checkbox("Where it fails", False, hint=hint)
        self._legend = gui.add_markdown("", visible=False)
        self.outer = gui.add_checkbox("Outer keys", False, hint="The four around the ellipse, which are fixed")
        self.on_sphere = gui.add_checkbox("Sphere", True, hint="Draw the plane around the shoulder, too")
        redraw_on_update(session, self.mapping, self.outer, self.on_sphere)

    def draw(self, drawn: Drawn) -> None:
        """Draw a behaviour."""
        show(self._plane, "content", plane_drawing(drawn))
        if self.on_sphere.value:
            self.sphere.draw(drawn)
        else:
            self.sphere.hide()
        slider = self._distance.control
        self._distance.show(round(min(max(drawn.distance / drawn.length, slider.min), slider.max), 2), near=0.006)
        show(self._legend, "content", "" if drawn.map is None else legend(statuses=drawn.map[1]))
        show(self._legend, "visible", drawn.map is not None)

    def face(self, client: viser.ClientHandle, side: str, frame: tuple[Floats, Floats]) -> None:
        """Move the camera of a window before the shoulder of an arm with a frame on the stage, as far away as it is."""
        camera, origin = client.camera, frame[1] + self._session.stage.offset
        look_at = np.array(camera.look_at)
        distance = float(np.linalg.norm(np.array(camera.position) - look_at))
        middle = np.array([origin[0], look_at[1], origin[2]])
        forward = 1.0 if side == "right" else -1.0  # the x axis of a left arm points back
        direction = pm.rotate(frame[0], np.array([forward, 0.0, 1.0])) + np.array([0.0, 0.45, 0.0])
        with client.atomic():
            camera.position = middle + distance * direction / np.linalg.norm(direction)
            camera.look_at = middle

    def hide(self) -> None:
        """Draw nothing."""
        show(self._plane, "content", hidden(MARK))
        self.sphere.hide()

    def _pointed(self, pointed: Pointed) -> None:
        if (stroke := stroke_of(pointed)) is not None:
            self._tab.keys.stroke(stroke)


class ReachSphere:
    """Shell, ellipse, triangles and keys in the scene, around a shoulder."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._balls: dict[int, Any] = {}
        self._drawn: Drawn | None = None
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
            opacity=0.16,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )
        self._dots = PointCloud(session.server, f"{NODE}/map")

    def draw(self, drawn: Drawn) -> None:
        """Draw a behaviour on a sphere through the target. Of keys in space only these are drawn."""
        old, self._drawn = self._drawn, drawn
        with self._session.server.atomic():
            if not (np.allclose(self._node.position, drawn.frame[1]) and np.allclose(self._node.wxyz, drawn.frame[0])):
                self._node.wxyz, self._node.position = drawn.frame
            if old is None or _shape(old) != _shape(drawn):
                self._draw_lines(drawn)
                self._draw_balls(drawn)
            if old is None or old.map is not drawn.map or old.distance != drawn.distance:
                swings, status = (np.zeros((0, 2)), np.zeros(0)) if drawn.map is None else drawn.map
                colours = [COLOURS[int(each)] for each in status]
                self._dots.draw(drawn.distance * direction_of(swings), colours, 0.02 * drawn.distance)
            show(self._node, "visible", True)

    def hide(self) -> None:
        """Show nothing."""
        show(self._node, "visible", False)

    def remove(self) -> None:
        """Take the sphere off the scene."""
        self._node.remove()

    def key_at(self, origin: Floats, direction: Floats) -> int | None:
        """Return the key whose ball a ray of the stage meets first: its origin (3,) [m], its unit direction (3,)."""
        if not self._node.visible:
            return None
        origin, direction = self._in_frame(origin, direction)
        found: list[tuple[float, int]] = []
        for key, ball in self._balls.items():
            to = np.asarray(ball.position) - origin
            along = float(to @ direction)
            if along > 0.0 and float(np.linalg.norm(to - along * direction)) <= CLICKED * float(ball.scale):
                found.append((along, key))
        return min(found)[1] if found else None

    def swing_at(self, origin: Floats, direction: Floats) -> Floats | None:
        """Return (2,) the swing [rad] where a ray of the stage first meets the shell; None where it misses."""
        drawn = self._drawn
        if not self._node.visible or drawn is None or in_space(drawn.behaviour):
            return None
        origin, direction = self._in_frame(origin, direction)
        middle = -float(origin @ direction)
        discriminant = middle**2 - float(origin @ origin) + drawn.distance**2
        for distance in (middle - discriminant**0.5, middle + discriminant**0.5) if discriminant > 0.0 else ():
            swing = swing_of(origin + distance * direction)
            relative = (swing - np.array(drawn.behaviour.ellipse.centre)) / np.array(drawn.behaviour.ellipse.radii)
            if distance > 0.0 and (drawn.outer or float(relative @ relative) <= 1.0):
                return swing
        return None

    def _in_frame(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Transform a ray of the stage into the arm's frame."""
        inverse = pm.conjugate(np.array(self._node.wxyz))
        return pm.rotate(inverse, origin - np.array(self._node.position)), pm.rotate(inverse, direction)

    def _draw_lines(self, drawn: Drawn) -> None:
        behaviour, radius, flat = drawn.behaviour, drawn.distance, not in_space(drawn.behaviour)
        for part in (self._rim, self._net, self._shell):
            show(part, "visible", flat)
        if not flat:
            return
        centre, radii = np.array(behaviour.ellipse.centre), np.array(behaviour.ellipse.radii)
        self._shell.vertices = (radius * direction_of(centre + radii * _disc()[0])).astype(np.float32)
        points = direction_of(behaviour.ellipse.boundary(np.linspace(0.0, 2.0 * np.pi, 97)))
        self._rim.points = (radius * np.stack([points[:-1], points[1:]], axis=1)).astype(np.float32)
        swings = net_of(behaviour)
        if not drawn.outer:  # only what lies inside of the ellipse
            middle = (swings.mean(axis=1) - centre) / radii
            swings = swings[np.einsum("ni,ni->n", middle, middle) < 1.0]
        lines = radius * direction_of(swings) if len(swings) else np.zeros((1, 2, 3))
        self._net.points = lines.astype(np.float32)

    def _draw_balls(self, drawn: Drawn) -> None:
        keys = {key.id: key for key in drawn.behaviour.keys if drawn.outer or not key.outer}
        for gone in [key for key in self._balls if key not in keys]:
            self._balls.pop(gone).remove()
        for key in keys.values():
            colour = _rgb(CHOSEN if key.id == drawn.chosen else (FREE if key.outer or key.posture is None else EDGE))
            if key.id not in self._balls:
                self._balls[key.id] = self._session.scene.add_icosphere(
                    f"{NODE}/key{key.id}", radius=1.0, subdivisions=2, color=colour, cast_shadow=False
                )
            ball, flat = self._balls[key.id], len(key.at) == 2
            radius, direction = (drawn.distance, direction_of(key.at)) if flat else (drawn.length, np.array(key.at))
            ball.position, ball.color = radius * direction, colour
            ball.scale = (CHOSEN_BALL if key.id == drawn.chosen else BALL) * radius


def _shape(drawn: Drawn) -> tuple[Any, ...]:
    """Return what the lines and balls depend on."""
    return (id(drawn.behaviour), drawn.distance, drawn.length, drawn.chosen, drawn.outer)


def _disc(rings: int = 14, around: int = 48) -> tuple[Floats, Ints]:
    """Return points (V, 2) all over the unit disc, and triangles (T, 3) between them."""
    angle = 2.0 * np.pi * np.arange(around) / around
    radius = np.arange(1, rings + 1)[:, None] / rings
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1, 2)
    k = np.arange(around)
    fan = np.stack([np.zeros_like(k), 1 + k, 1 + (k + 1) % around], axis=-1)
    ring, at = np.meshgrid(np.arange(rings - 1), k, indexing="ij")
    a, b = 1 + ring * around + at, 1 + ring * around + (at + 1) % around
    band = np.concatenate([np.stack([a, a + around, b + around], -1), np.stack([a, b + around, b], -1)])
    return np.concatenate([np.zeros((1, 2)), points]), np.concatenate([fan, band.reshape(-1, 3)])


def _rgb(colour: str) -> Rgb:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue

"""What the reach tab draws of a behaviour: the plane in the panel, the sphere in the scene, the map of failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats, Ints
from ...core.session import Session
from ...widgets.controls import Follower, assign
from .messages import map_legend
from .sphere import ReachSphere
from .swing_plane import Stroke, SwingPlane

if TYPE_CHECKING:
    from ....reach import Behaviour


class ReachView:
    """The plane, the sphere, and the controls that say what of them is seen.

    Args:
        session: whose panel and scene.
        stroke: called with what a pointer does on the plane.
        set_distance: called with the distance [arm lengths] that was chosen.
    """

    def __init__(
        self,
        session: Session,
        stroke: Callable[[Stroke], None],
        set_distance: Callable[[float], None],
    ) -> None:
        self._session = session
        self._set_distance = set_distance
        self.plane = SwingPlane(session, stroke)
        self.sphere = ReachSphere(session)

    def add_controls(self) -> None:
        """The controls, here in the panel."""
        session, gui = self._session, self._session.gui
        hint = "Of the target from the shoulder, in arm lengths"
        distance = gui.add_slider("Distance", min=0.1, max=2.5, step=0.01, initial_value=0.85, hint=hint)
        self._distance = Follower(session, distance, lambda lengths: self._set_distance(float(lengths)))
        hint = "Reaches all over the plane, at this distance: where the hand gets there, and what keeps it away"
        self._map = gui.add_checkbox("Where it fails", False, hint=hint)
        self._legend = gui.add_markdown("", visible=False)
        self._outer = gui.add_checkbox("Outer keys", False, hint="The four around the ellipse, which stay there")
        self._on_sphere = gui.add_checkbox("Sphere", True, hint="Draw the plane around the shoulder, too")
        for control in (self._map, self._outer, self._on_sphere):
            control.on_update(session.guarded(lambda _: session.changed("pose")))

    @property
    def mapping(self) -> bool:
        """Whether the map of failures is asked for."""
        return bool(self._map.value)

    def show(self, *, map: bool | None = None, outer: bool | None = None, sphere: bool | None = None) -> None:
        """Have parts of it seen, or not; what is not given stays."""
        for control, wanted in ((self._map, map), (self._outer, outer), (self._on_sphere, sphere)):
            if wanted is not None:
                assign(control, wanted)
        self._session.changed("pose")

    def draw(
        self,
        behaviour: Behaviour,
        frame: tuple[Floats, Floats],
        distance: float,
        length: float,
        *,
        swing: Floats,
        chosen: int | None,
        map: tuple[Floats, Ints] | None,
    ) -> None:
        """Draw a behaviour.

        Args:
            behaviour: which.
            frame: of the arm: orientation (4,) and origin (3,) on the stage [m].
            distance: of the target [m].
            length: of the arm [m].
            swing: (2,) of the target [rad].
            chosen: the key that is edited.
            map: swings (N, 2) [rad] and statuses (N,).
        """
        outer = bool(self._outer.value)
        self.plane.draw(behaviour, chosen=chosen, target=swing, outer=outer, map=map)
        if self._on_sphere.value:
            self.sphere.draw(behaviour, frame, distance, length, chosen=chosen, outer=outer, map=map)
        else:
            self.sphere.hide()
        slider = self._distance.control
        self._distance.show(round(min(max(distance / length, slider.min), slider.max), 2), near=0.006)
        legend = "" if map is None else map_legend(map[1])
        if self._legend.content != legend:
            self._legend.content, self._legend.visible = legend, bool(legend)

    def face(self, client: viser.ClientHandle, side: str, frame: tuple[Floats, Floats]) -> None:
        """Have the camera of one window before a shoulder, as far away as it is.

        Args:
            client: the window.
            side: "right" or "left".
            frame: of the arm: orientation (4,) and origin (3,) in the actor's world [m].
        """
        camera, actor = client.camera, self._session.active
        place = frame[1] + self._session.stage.offset + (actor.position if actor is not None else 0.0)
        look_at = np.array(camera.look_at)
        far = float(np.linalg.norm(np.array(camera.position) - look_at))
        middle = np.array([place[0], look_at[1], place[2]])
        forward = 1.0 if side == "right" else -1.0  # the x axis of a left arm points back
        way = pm.rotate(frame[0], np.array([forward, 0.0, 1.0])) + np.array([0.0, 0.45, 0.0])
        with client.atomic():
            camera.position = middle + far * way / np.linalg.norm(way)
            camera.look_at = middle

    def hide(self) -> None:
        """Draw nothing."""
        self.plane.hide()
        self.sphere.hide()

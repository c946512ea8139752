"""Plot: chosen joints over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats
from ....skeleton import Motion
from ...core.session import Session
from ...view.theme import LINES
from ...widgets.controls import assign
from ...widgets.time_plot import TimePlot, plot_times

HEIGHT, SIDEWAYS, FORWARD = "height [m]", "left-right [m]", "front-back [m]"
SPEED, ROTATION = "speed [m/s]", "rotation from rest [°]"
QUANTITIES = (HEIGHT, SIDEWAYS, FORWARD, SPEED, ROTATION)
AXES = {SIDEWAYS: 0, HEIGHT: 1, FORWARD: 2}
NONE = "(none)"


class JointPlot:
    """Lines of some joints of the active motion, with a cursor at the present time, here in the panel."""

    def __init__(self, session: Session) -> None:
        self._joints: list[str] = []
        self._session = session
        gui = session.gui
        self._quantity = gui.add_dropdown("Show", QUANTITIES)
        self._quantity.on_update(session.guarded(lambda _: self._draw()))
        self._joint = gui.add_dropdown("Joint", (NONE,), hint="Or click a joint of the body")
        self._add = gui.add_button("Add to the plot", icon=viser.Icon.PLUS)
        self._add.on_click(session.guarded(lambda _: self.add(self._joint.value)))
        gui.add_button("Clear", icon=viser.Icon.ERASER).on_click(session.guarded(lambda _: self.clear()))
        self._plot = TimePlot(session, aspect=1.1)
        self._unsubscribe = session.subscribe(self._on_event)
        self._offer_joints()

    def add(self, joint: str) -> None:
        """Add a joint's line; the first goes when there are too many."""
        motion = self._session.motion
        if motion is not None and joint in motion.skeleton.names:
            self._joints = [*(name for name in self._joints if name != joint), joint][-len(LINES) :]
            self._draw()

    def clear(self) -> None:
        """Remove all lines."""
        self._joints = []
        self._draw()

    def update(self, time: float) -> None:
        """Move the cursor."""
        self._plot.move_cursor(time)

    def close(self) -> None:
        """End the subscription."""
        self._unsubscribe()

    def _on_event(self, topic: str) -> None:
        if topic in ("actors", "active"):
            self._offer_joints()
        elif topic == "selection" and self._session.selection is not None:
            assign(self._joint, self._session.selection.name)

    def _offer_joints(self) -> None:
        motion = self._session.motion
        names = motion.skeleton.names if motion is not None else ()
        if names != self._joint.options:
            self._joint.options = names or (NONE,)
        self._joints = [name for name in self._joints if name in names]
        if motion is not None and not self._joints:
            self._joints = _first_choice(motion, self._session.body)
        self._draw()

    def _draw(self) -> None:
        motion, quantity = self._session.motion, self._quantity.value
        times, values = (np.zeros(2), []) if motion is None else sampled(motion, self._joints, quantity)
        self._plot.draw(quantity, times, dict(zip(self._joints, values)))


def sampled(motion: Motion, joints: list[str], quantity: str) -> tuple[Floats, list[Floats]]:
    """Return times (N,) [s] and, for each joint, a quantity of `QUANTITIES` at them."""
    times, skeleton = plot_times(motion), motion.skeleton
    chosen = [skeleton.index(joint) for joint in joints]
    if quantity == ROTATION:
        rest, rotations = skeleton.rest.rotations, motion.at(times).rotations
        return times, [np.rad2deg(pm.angle(rest[j], rotations[:, j])) for j in chosen]
    if quantity == SPEED:
        step = 0.5 / motion.fps
        before, after = np.maximum(times - step, 0.0), np.minimum(times + step, motion.duration)
        apart = skeleton.forward(motion.at(after)).positions - skeleton.forward(motion.at(before)).positions
        elapsed = np.maximum(after - before, 1e-9)
        return times, [np.linalg.norm(apart[:, j], axis=-1) / elapsed for j in chosen]
    positions = skeleton.forward(motion.at(times)).positions
    return times, [positions[:, j, AXES[quantity]] for j in chosen]


def _first_choice(motion: Motion, body: Any) -> list[str]:
    """Return the joints plotted before the user has chosen any: hands and feet of a person."""
    if body is None:
        return list(motion.skeleton.names[:1])
    roles = ("left_hand", "right_hand", "left_foot", "right_foot")
    return [motion.skeleton.names[body.roles[role]] for role in roles if role in body.roles]

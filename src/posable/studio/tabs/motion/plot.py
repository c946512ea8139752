"""Plot: chosen joints over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats
from ....edit.clip import joint_of
from ....skeleton import Motion
from ...core.session import Session
from ...view.theme import LINES
from ...widgets.controls import add_button, assign
from ...widgets.parts import parts_by_name
from ...widgets.time_plot import TimePlot, plot_times

if TYPE_CHECKING:
    from ....body import Humanoid

HEIGHT, SIDEWAYS, FORWARD = "height [m]", "left-right [m]", "front-back [m]"
SPEED, ROTATION = "speed [m/s]", "rotation from rest [°]"
QUANTITIES = (HEIGHT, SIDEWAYS, FORWARD, SPEED, ROTATION)
AXES = {SIDEWAYS: 0, HEIGHT: 1, FORWARD: 2}
NONE = "(none)"


class JointPlot:
    """Lines of some joints of the active motion, with a cursor at the present time, here in the panel."""

    def __init__(self, session: Session) -> None:
        self._joints: list[str] = []  # that are plotted, by their names in the list
        self._known: dict[str, int] = {}  # all that can be, with the index of the joint
        self._session = session
        gui = session.gui
        self._quantity = gui.add_dropdown("Show", QUANTITIES)
        self._quantity.on_update(session.guarded(lambda _: self._draw()))
        self._joint = gui.add_dropdown("Part", (NONE,), hint="Or click a part of the body")
        add_button(session, "Add to the plot", lambda _: self.add(str(self._joint.value)), icon=viser.Icon.PLUS)
        add_button(session, "Clear", lambda _: self.clear(), icon=viser.Icon.ERASER)
        self._plot = TimePlot(session, aspect=1.1)
        self._unsubscribe = session.subscribe(self._on_event)
        self._offer_joints()

    def add(self, joint: str) -> None:
        """Add the line of a joint, by its name in the list; the first goes when there are too many."""
        if joint in self._known:
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
        elif topic == "selection" and (selection := self._session.selection) is not None:
            name = next((name for name, joint in self._known.items() if joint == selection.joint), None)
            if name is not None and selection.actor is self._session.active:
                assign(self._joint, name)

    def _offer_joints(self) -> None:
        motion, body = self._session.motion, self._session.body
        self._known = {} if motion is None else _known(motion, body)
        names = tuple(self._known)
        if names != self._joint.options:
            self._joint.options = names or (NONE,)
        self._joints = [name for name in self._joints if name in self._known]
        if not self._joints:  # hands and feet of a person
            self._joints = list(names[: 1 if body is None else 4])
        self._draw()

    def _draw(self) -> None:
        motion, quantity = self._session.motion, str(self._quantity.value)
        joints = [self._known[name] for name in self._joints]
        times, values = (np.zeros(2), []) if motion is None else sampled(motion, joints, quantity)
        self._plot.draw(quantity, times, dict(zip(self._joints, values, strict=True)))


def _known(motion: Motion, body: Humanoid | None) -> dict[str, int]:
    """Return the joints of a motion by their names in the list: a person's parts first, in words."""
    if body is None:
        return {name: j for j, name in enumerate(motion.skeleton.names)}
    return {name: joint_of(body, part) for name, part in parts_by_name(body, True).items()}


def sampled(motion: Motion, joints: Sequence[int | str], quantity: str) -> tuple[Floats, list[Floats]]:
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

"""Plot: chosen joints over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from viser import uplot

from ... import math as pm
from ...compute.types import Floats
from ...skeleton import Motion
from ..core.session import Session
from ..view.theme import LINES
from ..widgets.controls import assign
from ..widgets.time_plot import CURSOR_A_SECOND, POINTS, cursor, span

QUANTITIES = ("height [m]", "left-right [m]", "front-back [m]", "speed [m/s]", "turn from rest [°]")
MOST_JOINTS = len(LINES)


class PlotTab:
    """Lines of some joints of the active motion, and where the clock is on them."""

    title = "Plot"

    def __init__(self) -> None:
        self._joints: list[str] = []
        self._lines: tuple[Floats, ...] = ()
        self._shown = -1.0

    def build(self, session: Session) -> None:
        """A choice of joints and of what to plot, and the plot."""
        self._session = session
        gui = session.gui
        self._quantity = gui.add_dropdown("Show", QUANTITIES)
        self._quantity.on_update(session.guarded(lambda _: self._draw()))
        self._joint = gui.add_dropdown("Joint", ("(none)",), hint="Or click a joint of the body")
        self._add = gui.add_button("Add to the plot", icon=viser.Icon.PLUS)
        self._add.on_click(session.guarded(lambda _: self.add(self._joint.value)))
        gui.add_button("Clear", icon=viser.Icon.ERASER).on_click(session.guarded(lambda _: self.clear()))
        self._plot = gui.add_uplot(
            (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
            (uplot.Series(label="time"), uplot.Series(label="", stroke=LINES[0])),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(size=28), uplot.Axis(size=44)),
            aspect=1.1,
            visible=False,
        )
        self._leave = session.subscribe(self._told)
        self._choices()

    def add(self, joint: str) -> None:
        """Add a joint's line; the first goes when there are too many."""
        motion = self._session.motion
        if motion is None or joint not in motion.skeleton.names:
            return
        self._joints = [*(name for name in self._joints if name != joint), joint][-MOST_JOINTS:]
        self._draw()

    def clear(self) -> None:
        """Take all lines away."""
        self._joints = []
        self._draw()

    def update(self, time: float) -> None:
        """Move the cursor, as often as an eye needs."""
        playing = self._session.clock.playing
        if not self._lines or (playing and abs(time - self._shown) < 1.0 / CURSOR_A_SECOND) or time == self._shown:
            return
        self._shown = time
        self._plot.data = (*self._lines, cursor(self._lines, time))

    def close(self) -> None:
        """Stop listening."""
        self._leave()

    def _told(self, topic: str) -> None:
        if topic in ("actors", "active"):
            self._choices()
        elif topic == "selection" and self._session.selection is not None:
            assign(self._joint, self._session.selection.name)

    def _choices(self) -> None:
        motion = self._session.motion
        names = motion.skeleton.names if motion is not None else ()
        if names != self._joint.options:
            self._joint.options = names or ("(none)",)
        kept = [name for name in self._joints if name in names]
        if motion is not None and not kept:
            kept = _first_choice(motion, self._session.body)
        self._joints = kept
        self._draw()

    def _draw(self) -> None:
        motion = self._session.motion
        self._plot.visible = bool(motion is not None and self._joints)
        if motion is None or not self._joints:
            self._lines = ()
            return
        times, values = sampled(motion, self._joints, self._quantity.value)
        self._lines = (times, *values)
        self._shown = -1.0
        with self._session.server.atomic():
            self._plot.title = self._quantity.value
            self._plot.scales = {"x": uplot.Scale(time=False), "y": uplot.Scale(range=span(values))}
            self._plot.series = (
                uplot.Series(label="time [s]"),
                *(uplot.Series(label=name, stroke=LINES[k], width=2) for k, name in enumerate(self._joints)),
                uplot.Series(label="now", stroke="#00000055", width=1, points=uplot.Series_Points(show=False)),
            )
            self._plot.data = (*self._lines, cursor(self._lines, self._session.time))


def sampled(motion: Motion, joints: list[str], quantity: str) -> tuple[Floats, list[Floats]]:
    """Times (N,) [s] and, for each joint, a quantity of `QUANTITIES` at them; N at most `POINTS`."""
    count = min(max(len(motion), 2), POINTS)
    times = np.linspace(0.0, max(motion.duration, 1.0 / motion.fps), count)
    pose = motion.at(times)
    skeleton = motion.skeleton
    chosen = [skeleton.index(joint) for joint in joints]
    if quantity == QUANTITIES[4]:
        rest = skeleton.rest.rotations
        return times, [np.rad2deg(pm.angle(rest[j], pose.rotations[:, j])) for j in chosen]
    places = skeleton.forward(pose).positions
    if quantity == QUANTITIES[3]:
        step = 0.5 / motion.fps
        before, after = np.maximum(times - step, 0.0), np.minimum(times + step, motion.duration)
        apart = skeleton.forward(motion.at(after)).positions - skeleton.forward(motion.at(before)).positions
        took = np.maximum(after - before, 1e-9)
        return times, [np.linalg.norm(apart[:, j], axis=-1) / took for j in chosen]
    axis = {QUANTITIES[0]: 1, QUANTITIES[1]: 0, QUANTITIES[2]: 2}[quantity]
    return times, [places[:, j, axis] for j in chosen]


def _first_choice(motion: Motion, body: Any) -> list[str]:
    """The joints plotted before the user has chosen: hands and feet of a person."""
    if body is None:
        return list(motion.skeleton.names[:1])
    roles = ("left_hand", "right_hand", "left_foot", "right_foot")
    return [motion.skeleton.names[body.roles[role]] for role in roles if role in body.roles]

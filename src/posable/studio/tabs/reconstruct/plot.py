"""How far reconstructed motions are from the original over time: a line for each method, and the cursor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from viser import uplot

from ....compute.types import Floats
from ...core.session import Session
from ...view.theme import LINES
from ...widgets.time_plot import CURSOR_A_SECOND, POINTS, cursor, span
from .job import Reconstructed

TITLE = "distance from the original [% of the height]"


class ReconstructPlot:
    """The plot, here in the panel."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: tuple[tuple[str, Reconstructed], ...] = ()
        self._lines: tuple[Floats, ...] = ()
        self._time = -1.0
        self._plot = session.gui.add_uplot(
            (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
            (uplot.Series(label="time"), uplot.Series(label="", stroke=LINES[0])),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(size=28), uplot.Axis(size=44)),
            aspect=1.25,
            visible=False,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The methods that have a line."""
        return tuple(name for name, _ in self._shown)

    def draw(self, reconstructed: Mapping[str, Reconstructed], time: float) -> None:
        """Show the errors of some methods (by name, the last ones), and the cursor at a time [s]."""
        shown = tuple(reconstructed.items())[-len(LINES) :]
        if [(name, id(one)) for name, one in shown] != [(name, id(one)) for name, one in self._shown]:
            self._shown = shown
            self._build(time)
        playing = self._session.clock.playing
        if not self._lines or time == self._time or (playing and abs(time - self._time) < 1.0 / CURSOR_A_SECOND):
            return
        self._time = time
        self._plot.data = (*self._lines, cursor(self._lines, time))

    def hide(self) -> None:
        """Show nothing."""
        self.draw({}, 0.0)

    def _build(self, time: float) -> None:
        if self._plot.visible != bool(self._shown):
            self._plot.visible = bool(self._shown)
        if not self._shown:
            self._lines = ()
            return
        motion = self._shown[0][1].motion
        frames = np.arange(len(motion)) / motion.fps
        times = np.linspace(0.0, max(motion.duration, 1.0 / motion.fps), min(max(len(motion), 2), POINTS))
        values = [100.0 * np.interp(times, frames, one.errors) for _, one in self._shown]
        self._lines, self._time = (times, *values), time
        with self._session.server.atomic():
            self._plot.title = TITLE
            self._plot.scales = {"x": uplot.Scale(time=False), "y": uplot.Scale(range=span([*values, np.zeros(1)]))}
            self._plot.series = (
                uplot.Series(label="time [s]"),
                *(uplot.Series(label=name, stroke=LINES[k], width=2) for k, (name, _) in enumerate(self._shown)),
                uplot.Series(label="now", stroke="#00000055", width=1, points=uplot.Series_Points(show=False)),
            )
            self._plot.data = (*self._lines, cursor(self._lines, time))

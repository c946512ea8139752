"""Lines over time in a plot of the panel: of a whole motion with a cursor, or of the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from viser import uplot

from ...compute.types import Floats
from ...skeleton import Motion
from ..core.session import Session
from ..view.theme import LINES
from .controls import show

POINTS = 600
"""Points of a line at most: more than a plot has pixels, few enough to send while playing."""
CURSOR_RATE = 12.0
"""How often the cursor moves while playing [1/s]."""
CURSOR = "#87919a"
"""Colour of the cursor: seen on a light panel and on a dark one."""
HISTORY = 8.0
"""How much of the past a live plot shows [s]."""
MAX_SAMPLES = 1200
"""Samples that a live plot stores at most."""


class TimePlot:
    """Lines over time, added here in the panel, and a cursor at the present moment; `aspect` is width over height."""

    def __init__(self, session: Session, aspect: float = 1.25) -> None:
        self._session = session
        self.labels: tuple[str, ...] = ()
        self._lines: tuple[Floats, ...] = ()
        self._cursor = -1.0
        self._plot = session.gui.add_uplot(
            (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
            (uplot.Series(label="time"), uplot.Series(label="", stroke=LINES[0])),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(size=32), uplot.Axis(size=56)),
            aspect=aspect,
            visible=False,
        )

    def draw(self, title: str, times: Floats, lines: Mapping[str, Floats], *, with_zero: bool = False) -> None:
        """Show other lines.

        Args:
            title: above the plot.
            times: (N,) [s].
            lines: (N,) values by label, as many as there are colours; none hides the plot.
            with_zero: whether zero is always in sight.
        """
        self._lines, self.labels, self._cursor = (times, *lines.values()) if lines else (), tuple(lines), -1.0
        show(self._plot, "visible", bool(lines))
        if not lines:
            return
        bounds = _bounds([*lines.values(), np.zeros(1)] if with_zero else [*lines.values()])
        now = uplot.Series(label="now", stroke=CURSOR, width=1, points=uplot.Series_Points(show=False))
        with self._session.server.atomic():
            self._plot.title = title
            self._plot.scales = {"x": uplot.Scale(time=False), "y": uplot.Scale(range=bounds)}
            self._plot.series = (*_series(self.labels), now)
            self._plot.data = (*self._lines, _cursor_line(self._lines, self._session.time))

    def move_cursor(self, time: float) -> None:
        """Move the cursor to a time [s]; while playing, only as often as is seen."""
        soon = self._session.clock.playing and abs(time - self._cursor) < 1.0 / CURSOR_RATE
        if self._lines and time != self._cursor and not soon:
            self._cursor = time
            self._plot.data = (*self._lines, _cursor_line(self._lines, time))


class LivePlot:
    """Lines over the last seconds, added here in the panel; they grow as time goes on."""

    def __init__(self, session: Session, title: str = "", aspect: float = 1.6) -> None:
        self._session, self._title = session, title
        self._plot = TimePlot(session, aspect)._plot
        self._samples: deque[tuple[float, tuple[float, ...]]] = deque(maxlen=MAX_SAMPLES)
        self.labels: tuple[str, ...] = ()
        self._colours: tuple[str, ...] = LINES
        self._drawn = -1.0

    @property
    def samples(self) -> Floats:
        """(M, 1 + lines): the stored samples, time [s] first."""
        return np.array([[time, *values] for time, values in self._samples]).reshape(-1, 1 + len(self.labels))

    def add(
        self,
        time: float,
        values: Sequence[float],
        labels: Sequence[str],
        title: str | None = None,
        colours: Sequence[str] = LINES,
    ) -> None:
        """Add a sample at a time [s], lines in some colours; other labels or another title forget the past."""
        self._colours = tuple(colours)
        heading = self._title if title is None else title
        if tuple(labels) != self.labels or heading != self._title:
            self._samples.clear()
            self.labels, self._title, self._drawn = tuple(labels), heading, -1.0
        self._samples.append((time, tuple(values)))
        while self._samples[0][0] < time - HISTORY:
            self._samples.popleft()
        if len(self._samples) > 1 and (self._drawn < 0.0 or time - self._drawn >= 1.0 / CURSOR_RATE):
            self._draw(time)

    def hide(self) -> None:
        """Hide the plot, and forget the past."""
        self._samples.clear()
        self.labels, self._drawn = (), -1.0
        show(self._plot, "visible", False)

    def _draw(self, time: float) -> None:
        samples = self.samples
        values = [np.ascontiguousarray(line) for line in samples[:, 1:].T]
        with self._session.server.atomic():
            if self._drawn < 0.0:
                self._plot.title, self._plot.series = self._title, _series(self.labels, self._colours)
            self._plot.scales = {
                "x": uplot.Scale(time=False, range=(-HISTORY, 0.0)),
                "y": uplot.Scale(range=_bounds([*values, np.zeros(1)])),
            }
            self._plot.data = (samples[:, 0] - time, *values)
            show(self._plot, "visible", True)
        self._drawn = time


def plot_times(motion: Motion) -> Floats:
    """Return (N,) times [s] at which a motion is plotted: at least 2, at most `POINTS`."""
    return np.linspace(0.0, max(motion.duration, 1.0 / motion.fps), min(max(len(motion), 2), POINTS))


def _series(labels: Sequence[str], colours: Sequence[str] = LINES) -> tuple[uplot.Series, ...]:
    lines = (uplot.Series(label=name, stroke=colours[k % len(colours)], width=2) for k, name in enumerate(labels))
    return (uplot.Series(label="time [s]"), *lines)


def _bounds(values: Sequence[Floats]) -> tuple[float, float]:
    """Return the least and greatest value with a little room around them."""
    low, high = min(float(line.min()) for line in values), max(float(line.max()) for line in values)
    room = max(0.06 * (high - low), 1e-3)
    return low - room, high + room


def _cursor_line(lines: Sequence[Floats], time: float) -> Floats:
    """Return a line (N,) that is NaN but at one time [s], where it spans the height of the lines after the first."""
    times, values = lines[0], np.concatenate(lines[1:])
    here = int(np.clip(np.searchsorted(times, time), 1, len(times) - 1))
    line = np.full(len(times), np.nan)
    line[here - 1 : here + 1] = _bounds([values])
    return line

"""The last seconds of the express tab: each method's error, and one motor as it is asked and as it goes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from viser import uplot

from ....compute.types import Floats
from ...core.session import Session
from ...view.theme import LINES
from ...widgets.time_plot import CURSOR_A_SECOND, span

SECONDS = 8.0
"""How much of the past a plot shows."""
MOST = 1200
"""Moments that are kept at most."""


class LivePlot:
    """Lines over the last seconds, here in the panel; made once, filled as time goes on."""

    def __init__(self, session: Session, title: str) -> None:
        self._session, self._title = session, title
        self._moments: deque[tuple[float, tuple[float, ...]]] = deque(maxlen=MOST)
        self._labels: tuple[str, ...] = ()
        self._drawn = -1.0
        self._plot = session.gui.add_uplot(
            (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
            (uplot.Series(label="time"), uplot.Series(label="", stroke=LINES[0])),
            title=title,
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(size=28), uplot.Axis(size=44)),
            aspect=1.6,
            visible=False,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What has a line."""
        return self._labels

    @property
    def lines(self) -> Floats:
        """(M, 1 + lines): the moments that are kept, time [s] first."""
        return np.array([[moment, *values] for moment, values in self._moments]).reshape(-1, 1 + len(self._labels))

    def add(self, moment: float, values: Sequence[float], labels: Sequence[str], title: str | None = None) -> None:
        """Have one more moment [s]; with other labels or another title the past is forgotten."""
        wanted = self._title if title is None else title
        if tuple(labels) != self._labels or wanted != self._title:
            self._moments.clear()
            self._labels, self._title, self._drawn = tuple(labels), wanted, -1.0
        self._moments.append((moment, tuple(values)))
        while self._moments[0][0] < moment - SECONDS:
            self._moments.popleft()
        if self._drawn < 0.0 or moment - self._drawn >= 1.0 / CURSOR_A_SECOND:
            self._draw(moment)

    def hide(self) -> None:
        """Show nothing, and forget the past."""
        self._moments.clear()
        self._labels, self._drawn = (), -1.0
        if self._plot.visible:
            self._plot.visible = False

    def _draw(self, moment: float) -> None:
        lines = self.lines
        if len(lines) < 2:
            return
        fresh = self._drawn < 0.0
        self._drawn = moment
        values = [np.ascontiguousarray(line) for line in lines[:, 1:].T]
        with self._session.server.atomic():
            if fresh:
                self._plot.title = self._title
                self._plot.series = (
                    uplot.Series(label="time [s]"),
                    *(uplot.Series(label=name, stroke=LINES[k], width=2) for k, name in enumerate(self._labels)),
                )
            self._plot.scales = {
                "x": uplot.Scale(time=False, range=(-SECONDS, 0.0)),
                "y": uplot.Scale(range=span([*values, np.zeros(1)])),
            }
            self._plot.data = (lines[:, 0] - moment, *values)
            if not self._plot.visible:
                self._plot.visible = True

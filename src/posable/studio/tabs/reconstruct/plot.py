"""How far reconstructed motions are from the original over time: a line for each method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.session import Session
from ...view.theme import LINES
from ...widgets.time_plot import TimePlot, plot_times
from .job import Reconstructed

TITLE = "distance from the original [% of the height]"


class ReconstructPlot(TimePlot):
    """The plot, here in the panel."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._shown: tuple[tuple[str, Reconstructed], ...] = ()

    def draw_errors(self, reconstructed: Mapping[str, Reconstructed], time: float) -> None:
        """Show the errors of some methods (by name, the last ones), and the cursor at a time [s]."""
        shown = tuple(reconstructed.items())[-len(LINES) :]
        if [(name, id(one)) for name, one in shown] != [(name, id(one)) for name, one in self._shown]:
            self._shown = shown
            times = plot_times(shown[0][1].motion) if shown else np.zeros(2)
            frames = {name: np.arange(len(one.motion)) / one.motion.fps for name, one in shown}
            lines = {name: 100.0 * np.interp(times, frames[name], one.errors) for name, one in shown}
            self.draw(TITLE, times, lines, with_zero=True)
        self.move_cursor(time)

    def hide(self) -> None:
        """Show nothing."""
        self.draw_errors({}, 0.0)

"""Sentences and tables of the tab Live about a loop, and a plot of the gaps between packets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from viser import uplot

from ....live import Report
from ....live.senders import BINS, Sender, bin_edges
from ...core.session import Session
from ...view.theme import ERROR, LINES, plain
from ...widgets.controls import show
from ...widgets.status_text import distance_text

PHASES = {
    "off": "not calibrated",
    "ready": "waits for calibrating",
    "stand": "**stand still**",
    "move": "**move**",
    "done": "calibrated",
}
MOST_ROWS = 12
LONGEST = 60.0
"""[ms] that the plot of gaps shows."""


def summary(report: Report, runs: bool) -> str:
    """Return what a loop does, in two lines."""
    spent = report.latencies
    took = f" · {1e3 * float(np.median(spent)):.2f} ms from packet to packets" if len(spent) else ""
    rate = _rate(report)
    first = f"{report.sent} bodies sent{rate}{took}" if runs else f"Ended: {report.sent} bodies sent"
    phase = PHASES.get(report.phase, report.phase)
    if report.phase in ("stand", "move"):
        phase += f" for {math.ceil(report.remaining)} s"
    elif report.message:
        phase = plain(report.message)
    recording = f" · records {plain(report.recording)}" if report.recording else ""
    wrong = [f"<span style='color:{ERROR}'>{plain(s.name)}: {plain(s.error)}</span>" for s in report.sinks if s.error]
    return "  \n".join([first, phase + recording, *wrong[:2]])


def _rate(report: Report) -> str:
    return f" in {report.seconds:.0f} s" if report.seconds >= 1.0 else ""


def sender_rows(report: Report) -> str:
    """Return a table of who sends what at which rate, and what is lost of it."""
    if not report.senders:
        return "Nobody has sent anything yet."
    rows = ["| who | a second | lost | broken |", "|---|---|---|---|"]
    for sender in report.senders[:MOST_ROWS]:
        rate = "stopped" if sender.silent else f"{sender.rate:.1f}"
        rows.append(f"| {plain(sender.name)} | {rate} | {sender.missing} | {sender.broken + sender.dropped} |")
    more = len(report.senders) - MOST_ROWS
    return "\n".join(rows) + (f"\n\nand {more} more" if more > 0 else "")


def point_rows(report: Report) -> str:
    """Return a table of the points: which part each is on, and how far the body is from it."""
    if not report.points:
        return "No points yet."
    rows = ["| point | part | off by |", "|---|---|---|"]
    for point in report.points[: 2 * MOST_ROWS]:
        off = "lost" if math.isinf(point.error) else "" if math.isnan(point.error) else distance_text(point.error)
        rows.append(f"| {plain(point.name)} | {plain(point.part.replace('_', ' '))} | {off} |")
    return "\n".join(rows)


class GapPlot:
    """A histogram of the time from packet to packet, a line for each sender, added here in the panel."""

    def __init__(self, session: Session) -> None:
        self._session = session
        edges = 1e3 * np.array(bin_edges())
        inside = edges <= LONGEST
        self._edges = np.concatenate([[0.0], edges[inside]])
        self._drawn: tuple[str, ...] = ()
        self._plot = session.gui.add_uplot(
            (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
            (uplot.Series(label="ms"), uplot.Series(label="", stroke=LINES[0])),
            title="time from packet to packet [ms]",
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(size=32), uplot.Axis(size=48)),
            aspect=1.6,
            visible=False,
        )

    def draw(self, senders: Sequence[Sender]) -> None:
        """Show the gaps of these senders, the first ones; none hides the plot."""
        chosen = [sender for sender in senders if sum(sender.gaps)][: len(LINES)]
        show(self._plot, "visible", bool(chosen))
        if not chosen:
            return
        lines = [_steps(sender, len(self._edges) - 1) for sender in chosen]
        x = np.repeat(self._edges, 2)[1:-1]
        names = tuple(sender.name for sender in chosen)
        with self._session.server.atomic():
            if names != self._drawn:
                self._drawn = names
                self._plot.series = (
                    uplot.Series(label="ms"),
                    *(uplot.Series(label=name, stroke=LINES[k], width=2) for k, name in enumerate(names)),
                )
            self._plot.data = (x, *lines)


def _steps(sender: Sender, count: int) -> np.ndarray:
    """Return the share of gaps [%] in each bin as the corners of steps."""
    gaps = np.array(sender.gaps[:count] + [0] * max(0, count - BINS), dtype=np.float64)
    return np.repeat(100.0 * gaps / max(1.0, float(sum(sender.gaps))), 2)

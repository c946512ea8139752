"""Lines over time in a plot of the panel, and the cursor on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compute.types import Floats

POINTS = 600
"""Points of a line at most: more than a plot has pixels, few enough to send while playing."""
CURSOR_A_SECOND = 12.0
"""How often the cursor moves while playing."""


def span(values: Sequence[Floats]) -> tuple[float, float]:
    """Least and greatest value with a little room around them."""
    low, high = min(float(line.min()) for line in values), max(float(line.max()) for line in values)
    room = max(0.06 * (high - low), 1e-3)
    return low - room, high + room


def cursor(lines: Sequence[Floats], time: float) -> Floats:
    """(N,) a line that is nowhere but at one time [s], where it goes from the bottom to the top of others.

    Args:
        lines: the times (N,) [s], then the lines (N,).
        time: where the cursor is.
    """
    times, values = lines[0], np.concatenate(lines[1:])
    here = int(np.clip(np.searchsorted(times, time), 1, len(times) - 1))
    line = np.full(len(times), np.nan)
    line[here - 1 : here + 1] = span([values])
    return line

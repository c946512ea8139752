"""Status → colour and sentence: the one table that every tab uses for how a solve went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute import Status
from ...compute.types import Ints
from ..view.theme import Rgb

COLOURS: dict[int, Rgb] = {
    Status.REACHED: (22, 140, 52),
    Status.LIMITS: (224, 122, 0),
    Status.COLLISION: (198, 24, 24),
    Status.UNREACHABLE: (112, 118, 124),
    Status.SINGULAR: (112, 118, 124),
    Status.INVALID: (112, 118, 124),
}
"""Colour of a status, in the panel and in the scene."""
UNUSUAL: Rgb = (126, 62, 168)
"""Colour of what no limit forbids and people still do not do."""
SENTENCES: dict[Status, str] = {
    Status.REACHED: "On target",
    Status.LIMITS: "Stopped by a joint's limit",
    Status.COLLISION: "Something is in the way",
    Status.UNREACHABLE: "Out of reach",
    Status.SINGULAR: "No single answer",
    Status.INVALID: "No target",
}
"""How a solve went, for a person."""
LABELS: dict[Status, str] = {
    Status.REACHED: "reached",
    Status.LIMITS: "stopped by a limit",
    Status.COLLISION: "in the way",
    Status.UNREACHABLE: "out of reach",
    Status.SINGULAR: "no single answer",
    Status.INVALID: "no target",
}
"""A status in a legend."""


def coloured(colour: Rgb, text: str) -> str:
    """Return Markdown in a colour."""
    return f'<span style="color: #{bytes(colour).hex()}">{text}</span>'


def status_text(status: int | NDArray[Any], reason: str | None = None) -> str:
    """Return how a solve went as Markdown, in the colour of its status.

    Args:
        status: of `Status`; an array has one element.
        reason: a more precise sentence than that of `SENTENCES`.
    """
    known = Status(int(status))
    return coloured(COLOURS[known], f"**{reason or SENTENCES[known]}**")


def legend(labels: dict[Status, str] = LABELS, statuses: Ints | None = None) -> str:
    """Return what colours stand for as Markdown; with statuses (N,), only those that occur and how often they do."""
    entries = []
    for status, label in labels.items():
        if statuses is None:
            entries.append(coloured(COLOURS[status], f"● {label}"))
        elif (fraction := float(np.mean(statuses == status))) > 0.0:
            percent = "<1 %" if fraction < 0.005 else f"{100 * fraction:.0f} %"
            entries.append(coloured(COLOURS[status], f"● {label} {percent}"))
    return " ".join(entries)


def distance_text(metres: float) -> str:
    """Return a distance as people say it: millimetres where it is small, else centimetres."""
    return f"{1000 * metres:.1f} mm" if metres < 0.01 else f"{100 * metres:.0f} cm"

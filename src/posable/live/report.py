"""`Report`: what a loop does at a moment: who sends what, how long it takes, how near the body is to its points."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..compute.types import Floats
from .board import LOST, Board
from .following import Follower
from .senders import Sender


@dataclass(frozen=True)
class PointReport:
    """A tracked point."""

    name: str
    sender: str
    part: str
    """The part that it is on, "" where that is not known."""
    age: float
    """[s] since it was reported."""
    error: float
    """[m] between it and the body; not finite where it is lost or not followed."""


@dataclass
class SinkReport:
    """A sink."""

    name: str
    packets: int = 0
    errors: int = 0
    error: str = ""
    """What goes wrong now."""


@dataclass(frozen=True, eq=False)
class Report:
    """A loop at a moment."""

    seconds: float
    """[s] since the beginning."""
    sent: int
    """Bodies."""
    latencies: Floats
    """(N,) [s] from a packet to the packets that were sent for it, of late."""
    senders: tuple[Sender, ...]
    points: tuple[PointReport, ...]
    sinks: tuple[SinkReport, ...]
    phase: str
    """Of calibrating: "off", "ready", "stand", "move" or "done"."""
    message: str
    """What somebody is to do to calibrate, or what came of it."""
    remaining: float
    """[s] that the phase lasts yet."""
    recording: str | None
    notes: tuple[str, ...]
    """What was said, the newest last."""


def point_reports(board: Board, follower: Follower, now: float) -> tuple[PointReport, ...]:
    """Return a report of each point, in the order of their names."""
    last = follower.last
    errors = {} if last is None else dict(zip(last.roles, last.errors.tolist(), strict=True))
    found = []
    for point in sorted(board.points.values(), key=lambda point: point.name):
        part = follower.role(point.name) or ""
        age = now - point.time
        seen = age <= LOST and math.isfinite(point.position[0])
        error = float(errors.get(part, math.nan)) if seen else math.inf
        found.append(PointReport(point.name, point.sender, part, age, error))
    return tuple(found)

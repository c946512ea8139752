"""Who sends what: rates, gaps between packets, what was lost, and rubbish, for at most `MOST` senders.

Who has sent no points makes room for others: nobody keeps those who do out by sending rubbish from many ports.

UDP numbers no packets: a gap of several usual intervals counts as the packets that would have come in it.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

MOST = 64
"""Senders that are told apart, at most."""
BUDGET = 64
"""Packets of one sender that are read in a hundredth of a second; more are dropped unread."""
LARGE = 1024
"""Bytes of a packet for each of which it counts as one more."""
WINDOW = 0.01  # [s]
BURST = 0.002
"""[s]: packets closer to each other than this come together."""
SILENT = 1.0
"""[s] after which a sender counts as having stopped, and makes room for another where there are too many."""
BINS = 28
FIRST, FACTOR = 0.0005, 1.35
"""[s] of the end of the first bin of gaps, and how much longer each bin is than the one before."""
_LOG = math.log(FACTOR)


def bin_edges() -> list[float]:
    """Return the ends [s] of the bins of gaps; the last has none."""
    return [FIRST * FACTOR**k for k in range(BINS - 1)]


@dataclass(slots=True)
class Sender:
    """One sender."""

    name: str
    """Source and address: "vmc 127.0.0.1:50123"."""
    first: float
    """[s] of its first packet."""
    number: int = 0
    """Of the sender, in the order in which they came."""
    last: float = 0.0
    """[s] of its last one."""
    packets: int = 0
    broken: int = 0
    """Packets that were none of the protocol."""
    dropped: int = 0
    """Packets that were not read, as there were too many."""
    missing: int = 0
    """Packets that seem to have been lost."""
    gaps: list[int] = field(default_factory=lambda: [0] * BINS)
    """How many gaps between packets fell into each of `bin_edges`."""
    has_points: bool = False
    """Whether it has reported a point."""
    silent: bool = False
    """Whether it has stopped."""
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=64))
    """[s] of its last moments: packets that come together are one."""
    moments: int = 1
    window: float = -math.inf
    in_window: int = 0

    @property
    def rate(self) -> float:
        """Moments a second at which packets came, of late."""
        if len(self.recent) < 2 or self.recent[-1] <= self.recent[0]:
            return 0.0
        return (len(self.recent) - 1) / (self.recent[-1] - self.recent[0])


class Senders:
    """All senders, by source and address."""

    def __init__(self) -> None:
        self._known: dict[Any, Sender] = {}
        self._pointless: deque[Any] = deque()  # keys of senders without points, when they came, the first first
        self._full_until = -math.inf
        self._count = 0
        self.strangers = 0
        """Packets of senders beyond the number that is told apart; they are dropped."""

    def __iter__(self) -> Any:
        return iter(list(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    def admit(self, key: Any, name: str, now: float, size: int = 0) -> Sender | None:
        """Return the sender of a packet that is to be read; None where the packet is dropped.

        Args:
            key: source and address.
            name: of the sender, where it is new.
            now: [s]
            size: of the packet [bytes], where large ones are to count as several; default 0.
        """
        sender = self._known.get(key)
        if sender is None:
            if len(self._known) >= MOST and not self._make_room(now):
                self.strangers += 1
                return None
            sender = self._known[key] = Sender(name, now, self._count, now)
            self._pointless.append(key)
            self._count += 1
        if now - sender.window >= WINDOW:
            sender.window, sender.in_window = now, 0
        if sender.in_window >= BUDGET:
            sender.dropped += 1
            return None
        sender.in_window += 1 + size // LARGE
        if sender.packets:
            self._gap(sender, now - sender.last)
        else:
            sender.recent.append(now)
        sender.packets += 1
        sender.last = max(now, sender.last)
        return sender

    def _make_room(self, now: float) -> bool:
        """Forget the first sender without points, or one that has stopped; return whether there was one."""
        while self._pointless:
            key = self._pointless.popleft()
            if key in self._known and not self._known[key].has_points:
                del self._known[key]
                return True
        if now < self._full_until:  # a flood of strangers is refused without a search
            return False
        oldest = min(self._known, key=lambda one: self._known[one].last)
        self._full_until = self._known[oldest].last + SILENT
        if now < self._full_until:
            return False
        del self._known[oldest]
        return True

    def _gap(self, sender: Sender, gap: float) -> None:
        if gap > 0.0:
            k = 0 if gap <= FIRST else min(BINS - 1, 1 + int(math.log(gap / FIRST) / _LOG))
            sender.gaps[k] += 1
        if gap < BURST:
            return
        sender.recent.append(sender.last + gap)
        sender.moments += 1
        steps = sorted(b - a for a, b in pairwise(sender.recent)) if gap < SILENT and len(sender.recent) >= 16 else []
        if steps and sender.moments > len(sender.recent):
            missed = round(gap / steps[len(steps) // 2]) - 1
            sender.missing += max(0, missed)

    def stopped(self, now: float) -> list[Sender]:
        """Return the senders that have stopped since the last call; those that go on again are no longer silent."""
        found = []
        for sender in self._known.values():
            silent = now - sender.last > SILENT
            if silent and not sender.silent:
                found.append(sender)
            sender.silent = silent
        return found

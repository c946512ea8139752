"""`SendingPace`: when a body is sent: with the packet that brings its points, and by the clock where none comes.

A body goes out as soon as points have come, so that nothing waits for a clock; never more often than `rate`, counted
over a while; and nearly half a period late where points fail to come, so that receivers go on at the same rate. On a
busy machine packets and clock come late by chance: what that costs is owed, and packets that come early make up for it.
"""

from __future__ import annotations

import math

from ..compute import PosableError, number

EARLY = 0.45
"""Periods that a packet may be early, and that the clock waits for one that is late."""
FOLLOW = 0.1
"""Part of a packet's lateness by which the grid follows it: packets at a slightly lower rate than ours set the beat,
and one that is late by chance does not."""
MOST_OWED = 4.0
"""Periods that are made up for at most: what a machine missed that slept is gone."""
FASTEST = 1000.0  # [1/s]


class SendingPace:
    """Says when to send.

    Args:
        rate: [1/s] at most.
        on_packets: whether packets send at once; else the clock alone does, on an even grid.
    """

    def __init__(self, rate: float, on_packets: bool = True) -> None:
        if not 0.0 < number(rate) <= FASTEST:
            raise PosableError(f"rate is {rate}; expected frames a second above 0, up to {FASTEST:g}")
        self.period, self.on_packets = 1.0 / rate, on_packets
        self._due = -math.inf
        self._owed = 0.0  # [s] by which the grid has come late
        self._begun = False

    @property
    def begun(self) -> bool:
        """Whether anything was sent yet."""
        return self._begun

    def wants(self, now: float) -> bool:
        """Return whether a packet that has come by now [s] may send at once."""
        return now >= self._due - EARLY * self.period - self._owed if self.on_packets else not self._begun

    def deadline(self) -> float:
        """Return when to send if no packet comes [s]; infinite before the first was sent."""
        if not self._begun:
            return math.inf
        return self._due + (EARLY * self.period if self.on_packets else 0.0)

    def sent(self, now: float, with_packet: bool) -> None:
        """Take note of what was sent [s]."""
        if not self._begun:
            self._due, self._begun = now + self.period, True
            return
        grid, early = self._due + self.period, self._due - now
        if not with_packet:
            due = max(self._due, now - EARLY * self.period) if self.on_packets else self._due
            if now - due > MOST_OWED * self.period:  # the machine slept: what was missed is not made up for
                due = now
            due += self.period
        elif early > 0.0:
            due = grid - min(self._owed, early if early > EARLY * self.period else FOLLOW * early)
        else:
            due = now + self.period if -early > self.period else grid - FOLLOW * early
        self._owed = min(max(0.0, self._owed + due - grid), MOST_OWED * self.period)
        self._due = due

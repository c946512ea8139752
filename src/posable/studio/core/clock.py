"""Playback time: one clock on the server, shared by every window.

The clock is read, never ticked: its time follows from when it was started, so a slow screen drops frames and stays
in time instead of playing slower.
"""

from __future__ import annotations

import threading
import time as _time
from collections.abc import Callable

from ...compute import PosableError

SPEEDS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Speeds the timeline offers, as multiples of real time."""


class Clock:
    """Plays from 0 to `duration` seconds. Safe to use from several threads.

    Args:
        now: seconds of a clock that never goes back; replaced in tests.
    """

    def __init__(self, now: Callable[[], float] = _time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._from = 0.0  # where on the timeline it stood ...
        self._since = now()  # ... at this moment
        self._playing = False
        self._speed = 1.0
        self._duration = 0.0
        self._loop = True

    @property
    def time(self) -> float:
        """Seconds on the timeline, from 0 to `duration`. Reaching the end without `loop` pauses."""
        with self._lock:
            return self._settle()

    @property
    def playing(self) -> bool:
        """Whether time passes."""
        with self._lock:
            self._settle()
            return self._playing

    @property
    def duration(self) -> float:
        """Seconds of the timeline; shortening it pulls the time back inside."""
        return self._duration

    @duration.setter
    def duration(self, seconds: float) -> None:
        if not 0.0 <= seconds < float("inf"):
            raise PosableError(f"a timeline lasts 0 seconds or more, got {seconds}")
        with self._lock:
            self._restart(min(self._settle(), seconds))
            self._duration = seconds

    @property
    def speed(self) -> float:
        """Timeline seconds a second; negative plays backwards."""
        return self._speed

    @speed.setter
    def speed(self, factor: float) -> None:
        if not 0.0 < abs(factor) <= 100.0:
            raise PosableError(f"a speed is a multiple of real time between 0 and 100, or negative, got {factor}")
        with self._lock:
            self._restart(self._settle())
            self._speed = factor

    @property
    def loop(self) -> bool:
        """Whether the end is followed by the beginning."""
        return self._loop

    @loop.setter
    def loop(self, again: bool) -> None:
        with self._lock:
            self._restart(self._settle())
            self._loop = again

    def play(self) -> None:
        """Let time pass, from the beginning when it stands at the end."""
        with self._lock:
            here = self._settle()
            at_end = here >= self._duration if self._speed > 0 else here <= 0.0
            start = 0.0 if self._speed > 0 else self._duration
            self._restart(start if at_end else here)
            self._playing = self._duration > 0.0

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self._restart(self._settle())
            self._playing = False

    def toggle(self) -> None:
        """Play when paused, pause when playing."""
        if self.playing:
            self.pause()
        else:
            self.play()

    def seek(self, seconds: float) -> None:
        """Go to a time, held inside the timeline; it plays on if it was playing."""
        if seconds != seconds:
            raise PosableError("cannot go to the time NaN; give seconds from the start")
        with self._lock:
            self._settle()
            self._restart(min(max(float(seconds), 0.0), self._duration))

    def step(self, seconds: float) -> None:
        """Pause, then go forwards (or, negative, backwards) by so much; around the end with `loop`."""
        with self._lock:
            target = self._settle() + seconds
            self._playing = False
            slack = 1e-9 * max(1.0, self._duration)  # a step to the last frame is not a step past it
            if self._loop and self._duration > 0.0 and not -slack <= target <= self._duration + slack:
                target = 0.0 if target > self._duration else self._duration
            self._restart(min(max(target, 0.0), self._duration))

    def _settle(self) -> float:
        """The time now; stops a clock that ran out. The lock is held."""
        if not self._playing:
            return self._from
        raw = self._from + (self._now() - self._since) * self._speed
        if 0.0 <= raw <= self._duration:
            return raw
        if self._loop and self._duration > 0.0:
            return raw % self._duration
        self._playing = False
        self._restart(min(max(raw, 0.0), self._duration))
        return self._from

    def _restart(self, seconds: float) -> None:
        self._from, self._since = seconds, self._now()

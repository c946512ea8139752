"""The timeline, below the stage and as wide as the window: play, pause, step, speed, loop, and the frames to scrub.

The page draws it (`page/stage.js`) and lets the time go on by itself while it plays, so that it is smooth and nothing
is sent for it: the server says when the clock starts, stops or jumps, and once a second where it is.
"""

from __future__ import annotations

import math
import time as _time
from typing import Any

import viser

from ..core.clock import SPEEDS
from ..core.keys import TIME
from ..core.session import Session

RESYNC = 1.0
"""How often a page that plays is told the time [s]."""
JUMP = 0.05
"""A time that is so much off from where the page has it is told at once [s]."""


class Timeline:
    """The clock of the session in every window, its buttons and its keys."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clock = session.clock
        self._sent: tuple[Any, ...] = ()
        self._sent_time, self._sent_at = 0.0, -math.inf
        session.on_page("time", lambda _, button: self.press(str(button)))
        session.on_page("scrub", lambda _, time: self.scrub(float(time)))
        icons = viser.Icon
        self._bind("space", "Play or pause", "Play", icons.PLAYER_PLAY)
        self._bind("arrowleft", "One frame back", "Back", icons.PLAYER_TRACK_PREV, repeats=True)
        self._bind("arrowright", "One frame forward", "Forward", icons.PLAYER_TRACK_NEXT, repeats=True)
        self._bind("home", "To the start", "Start", icons.PLAYER_SKIP_BACK)
        self._bind("end", "To the end", "End", icons.PLAYER_SKIP_FORWARD)
        self._bind("arrowup", "Faster", "Faster", icons.CHEVRONS_UP)
        self._bind("arrowdown", "Slower", "Slower", icons.CHEVRONS_DOWN)
        self._bind("l", "Loop or not", "Loop", icons.REPEAT)
        session.subscribe(lambda _: self.update(self._clock.time), "actors", "active")
        self.update(self._clock.time)

    @property
    def fps(self) -> float:
        """Frames a second of the active motion."""
        motion = self._session.motion
        return motion.fps if motion is not None else 60.0

    def press(self, button: str) -> None:
        """Do what a button of the bar says: "Play", "Back", "Slower", ...; a step pauses."""
        clock = self._clock
        if button in ("Play", "Pause"):
            clock.toggle()
        elif button == "Start":
            clock.seek(0.0)
        elif button == "End":
            clock.pause()
            clock.seek(clock.duration)
        elif button == "Forward":
            clock.step((math.floor(clock.time * self.fps + 1e-3) + 1) / self.fps - clock.time)
        elif button == "Back":
            clock.step((math.ceil(clock.time * self.fps - 1e-3) - 1) / self.fps - clock.time)
        elif button in ("Slower", "Faster"):
            near = min(range(len(SPEEDS)), key=lambda k: abs(SPEEDS[k] - clock.speed))
            clock.speed = SPEEDS[min(max(near + (1 if button == "Faster" else -1), 0), len(SPEEDS) - 1)]
        elif button == "Loop":
            clock.loop = not clock.loop
        self.update(clock.time)

    def scrub(self, time: float) -> None:
        """Pause, and go to a time [s]."""
        self._clock.pause()
        self._clock.seek(time)
        self.update(self._clock.time)

    def update(self, time: float) -> None:
        """Tell the pages the time [s] and how it goes on, where they cannot know."""
        with self._session.lock:
            clock, now = self._clock, _time.monotonic()
            how = (clock.playing, clock.speed, clock.loop, clock.duration, self.fps)
            expected = self._sent_time + (now - self._sent_at) * clock.speed if clock.playing else self._sent_time
            off = abs(time - expected)
            if clock.playing and clock.duration > 0.0:  # it begins anew at the end
                off = min(off % clock.duration, -off % clock.duration)
            known = how == self._sent and off <= (JUMP if clock.playing else 0.0)
            if known and (not clock.playing or now - self._sent_at < RESYNC):
                return
            self._sent, self._sent_time, self._sent_at = how, time, now
            words = ("playing", "speed", "loop", "duration", "fps")
            self._session.page.show("clock", {"time": time, **dict(zip(words, how))})

    def _bind(self, press: str, label: str, button: str, icon: Any, *, repeats: bool = False) -> None:
        self._session.keys.bind(press, label, lambda _: self.press(button), group=TIME, repeats=repeats, icon=icon)

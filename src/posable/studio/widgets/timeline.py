"""The timeline: play, pause, step, speed, loop, and a slider to scrub, in a panel of its own under the stage."""

from __future__ import annotations

import math
from typing import Any

import viser

from ..core.clock import SPEEDS
from ..core.session import Session
from .controls import Follower, show

SLIDER_RATE = 15.0
"""How often the slider moves while playing [1/s]: enough to look smooth, too seldom to crowd out the body."""


class Timeline:
    """The panel: a slider of frames and a bar of buttons.

    Keys: space plays and pauses, the arrows step, Home and End go to the ends.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clock = session.clock
        self._shown = -1.0
        gui, guarded = session.gui, session.guarded
        panel = gui.add_panel()
        panel.float(x=16.0, y=-16.0, width=600.0)
        with panel.add_tab("Timeline", viser.Icon.MOVIE):
            self._frame = gui.add_slider("0.00 s", min=0, max=1, step=1, initial_value=0)
            self._bar = gui.add_button_group("", self._buttons())
        self._shows = Follower(session, self._frame, self._scrub)
        self._bar.on_click(guarded(lambda event: self.press(event.target.value)))
        self._add_command("Play or pause", "space", "Play", viser.Icon.PLAYER_PLAY)
        self._add_command("One frame back", "arrowleft", "Back", viser.Icon.PLAYER_TRACK_PREV)
        self._add_command("One frame forward", "arrowright", "Forward", viser.Icon.PLAYER_TRACK_NEXT)
        self._add_command("Go to the start", "home", "Start", viser.Icon.PLAYER_SKIP_BACK)
        self._add_command("Go to the end", "end", "End", viser.Icon.PLAYER_SKIP_FORWARD)
        self._add_command("Faster", "arrowup", "Faster", viser.Icon.CHEVRONS_UP)
        self._add_command("Slower", "arrowdown", "Slower", viser.Icon.CHEVRONS_DOWN)
        self._add_command("Loop or not", "L", "Loop", viser.Icon.REPEAT)
        session.subscribe(lambda _: self._fit(), "actors", "active")
        self._fit()

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
        elif button.startswith("Loop"):
            clock.loop = not clock.loop
        self.update(clock.time, force=True)

    def update(self, time: float, *, force: bool = False) -> None:
        """Show a time [s]; while playing, only as often as an eye needs."""
        with self._session.lock:
            soon = 0.0 <= time - self._shown < self._clock.speed / SLIDER_RATE
            if soon and self._clock.playing and not force:
                return
            self._shown = time
            self._shows.show(min(round(time * self.fps), int(self._frame.max)))
            self._frame.label = f"{time:.2f} s"
            show(self._bar, "options", self._buttons())
            show(self._bar, "label", f"{self._clock.speed:g}× speed")

    def _buttons(self) -> tuple[str, ...]:
        play = "Pause" if self._clock.playing else "Play"
        loop = "Loop on" if self._clock.loop else "Loop off"
        return ("Start", "Back", play, "Forward", "End", "Slower", "Faster", loop)

    def _add_command(self, label: str, hotkey: Any, button: str, icon: Any) -> None:
        command = self._session.gui.add_command(label, hotkey=hotkey, icon=icon)
        command.on_trigger(self._session.guarded(lambda _: self.press(button)))

    def _fit(self) -> None:
        """Let the slider reach the last frame."""
        last = max(1, round(self._clock.duration * self.fps))
        if self._frame.value > last:
            self._shows.put(last)
        self._frame.max = last
        self._shown = -1.0

    def _scrub(self, frame: float) -> None:
        self._clock.pause()
        self._clock.seek(frame / self.fps)

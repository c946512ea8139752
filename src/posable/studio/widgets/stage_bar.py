"""The bar of buttons over the stage: views of the camera, pictures and videos, light and dark, help."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import viser

from ...compute import PosableError
from ...formats import save
from ..core import files
from ..core.keys import STAGE
from ..core.session import Session
from ..view import pictures
from ..view.camera import VIEWS
from .file_panel import suggested_file

HINT = (
    "Click a part of the body and drag it: the body answers.",
    "Drag the background to look around, scroll to come closer, press Space to play and pause.",
    "Press H for all keys; everything can be undone.",
)
"""What stands on the stage until the first click or key of a user who is new."""

PANEL, LARGE_PANEL = 320, 520
"""Width of the panel, and on a large screen that is not scaled by the system [pixels]."""


class StageBar:
    """The bar's buttons, its keys, and the sentences for a user who is new."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._filming: threading.Thread | None = None
        self._stop = threading.Event()
        session.on_page("camera", lambda client, view: self.look_from(str(view), client))
        session.on_page("follow", lambda _, on: session.follow(bool(on)))
        session.on_page("dark", lambda _, on: self.set_dark(bool(on)))
        session.on_page("large", lambda client, is_large: self.fit_panel(bool(is_large), client))
        session.on_page("picture", lambda client, size: self.take_picture(client, *(int(n) for n in size)))
        session.on_page("save", lambda client, _: self.save(client))
        session.on_page("video", lambda client, given: self.film(client, *given))
        icons = viser.Icon
        session.keys.bind("f", "Frame what is selected", self.frame_selection, group=STAGE, icon=icons.FOCUS_CENTERED)
        session.keys.bind("h", "Help: all keys", self._help, group=STAGE, icon=icons.HELP)
        session.keys.bind("ctrl+s", "Save the motion", self.save, group=STAGE, icon=icons.DEVICE_FLOPPY)
        session.page.show("hint", HINT)
        session.subscribe(lambda _: self._show(), "look")
        self._show()

    def fit_panel(self, is_large: bool, client: viser.ClientHandle) -> None:
        """Give a window's panel the width that fits its letters, which are larger on a large screen."""
        client.gui.main_panel.set_width(LARGE_PANEL if is_large else PANEL)

    def look_from(self, view: str, client: viser.ClientHandle) -> None:
        """Look at the bodies from a side: one of `VIEWS`, or "Frame all" from where the stage's front is."""
        session = self._session
        if view not in (*VIEWS, "Frame all"):
            raise PosableError(f"unknown view {view!r}; it is one of {', '.join(VIEWS)}, Frame all")
        with session.lock:
            actors = session.actors
            if view != "Frame all" and session.active is not None:
                actors = (session.active, *(actor for actor in actors if actor is not session.active))
            side = None if view == "Frame all" else view
            session.stage.frame(actors, client, view=side, time=session.time)

    def frame_selection(self, client: viser.ClientHandle) -> None:
        """Look at the joint that is selected from near; at everything where none is."""
        session = self._session
        with session.lock:
            chosen = session.selection
            if chosen is None:
                self.look_from("Frame all", client)
                return
            position = chosen.actor.frames(session.time).positions[chosen.joint]
            session.stage.frame_joint(position, float(np.ptp(chosen.actor.box, axis=0).max()), client)

    def set_dark(self, dark: bool) -> None:
        """Make stage and panels dark, or light again."""
        with self._session.lock:
            self._session.stage.dark = dark
            self._session.changed("look")

    def take_picture(self, client: viser.ClientHandle, width: int, height: int) -> None:
        """Send a window what it shows, as a PNG file of this size [pixels]."""
        content = pictures.still(client, width, height)
        client.send_file_download(f"{self._name()}.png", content, save_immediately=True)

    def save(self, client: viser.ClientHandle) -> None:
        """Send a window the active motion as a file, in the format that keeps all there is."""
        motion = self._session.require_motion()
        name, content = files.download(suggested_file(self._name(), motion), lambda path: save(motion, path))
        client.send_file_download(name, content, save_immediately=True)
        self._session.notify(f"Saved {name}. Other formats are in the tab Play.")

    def film(
        self, client: viser.ClientHandle, suffix: str, width: float, height: float, first: float, last: float
    ) -> None:
        """Send a window a video of the motion as it shows it; it is drawn frame by frame meanwhile.

        Args:
            client: the window.
            suffix: one of `pictures.VIDEOS`.
            width: of what the window shows [pixels].
            height: of what the window shows [pixels].
            first: when it begins [s].
            last: when it ends [s].
        """
        pictures.check_video(suffix)
        if self._filming is not None and self._filming.is_alive():
            raise PosableError("a video is being made already; wait until it is there")
        last = min(float(last), self._session.clock.duration)
        times = pictures.video_times(suffix, max(0.0, float(first)), last)
        size = pictures.video_size(suffix, int(width), int(height))
        work = self._session.guarded(lambda _: self._film(client, suffix, times, size))
        self._stop.clear()
        self._filming = threading.Thread(target=work, args=(self,), name="posable-film", daemon=True)
        self._filming.start()

    def close(self) -> None:
        """Give up a video that is being made."""
        self._stop.set()
        if self._filming is not None:
            self._filming.join(self._session.time_to_stop)

    def _film(self, client: viser.ClientHandle, suffix: str, times: Any, size: tuple[int, int]) -> None:
        session, clock = self._session, self._session.clock
        before, playing = clock.time, clock.playing
        clock.pause()

        def frames() -> Iterator[pictures.Image]:
            for k, time in enumerate(times):
                if self._stop.is_set():
                    raise PosableError("the video was given up")
                session.progress.show("video", f"The video is drawn: frame {k + 1} of {len(times)}", k / len(times))
                clock.seek(float(time))
                while not session.shows(session.time) and not self._stop.wait(0.002):  # the studio's loop draws it
                    pass
                yield pictures.seen(client, *size)
            session.progress.show("video", "The video is written", 1.0)

        try:
            content = pictures.video(suffix, frames())
        finally:
            session.progress.hide("video")
            clock.seek(before)
            if playing:
                clock.play()
        client.send_file_download(f"{self._name()}{suffix}", content, save_immediately=True)
        session.notify(f"The video has {len(times)} frames of {size[0]} by {size[1]} pixels.")

    def _name(self) -> str:
        active = self._session.active
        return Path(active.name).name if active is not None else "stage"

    def _help(self, client: viser.ClientHandle) -> None:
        self._session.page.show("help", None, client)

    def _show(self) -> None:
        videos = [[suffix, label] for suffix, (label, _, _) in pictures.VIDEOS.items()]
        stage = self._session.stage
        self._session.page.show("tools", {"follow": stage.following, "dark": stage.dark, "videos": videos})

"""A motion's editor made while the page goes on: fitting its weights takes seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..edit import EFFECTORS, MotionEditor
from .bulletin import log
from .session import Session
from .tracks import Track

if TYPE_CHECKING:
    from ..body import Humanoid


class EditorJob:
    """Makes one editor at a time, on a thread of its own; a newer question waits for its turn and older ones go.

    Args:
        session: kept drawing while an editor is made.
        done: called with a track and its editor, or with the error that came instead.
    """

    def __init__(self, session: Session, done: Callable[[Track, MotionEditor | Exception], None]) -> None:
        self._session, self._done = session, done
        self._lock = threading.Lock()
        self._wanted: tuple[Track, Humanoid] | None = None
        self._thread: threading.Thread | None = None
        self.share = 0.0
        """How much of the fit is done, from 0 to 1."""

    @property
    def running(self) -> bool:
        """Whether an editor is being made."""
        return self._thread is not None

    def ask(self, track: Track, body: Humanoid) -> None:
        """Have an editor for a track, instead of any that still waits for its turn."""
        with self._lock:
            self._wanted = (track, body)
            if self._thread is None:
                self._session.movers.add("edit")
                self._thread = threading.Thread(target=self._work, name="posable-edit", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Forget what waits, and wait for what is under way."""
        with self._lock:
            self._wanted, thread = None, self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _next(self) -> tuple[Track, Humanoid] | None:
        with self._lock:
            wanted, self._wanted, self.share = self._wanted, None, 0.0
            if wanted is None:
                self._thread = None
                self._session.movers.discard("edit")
            return wanted

    def _work(self) -> None:
        while (wanted := self._next()) is not None:
            track, body = wanted
            try:
                answer: MotionEditor | Exception = self._made(track, body)
            except Exception as error:
                log.debug("making an editor", exc_info=True)
                answer = error
            self._done(track, answer)
        self._session.changed("pose")

    def _made(self, track: Track, body: Humanoid) -> MotionEditor:
        editor = MotionEditor(track.motion, body, progress=self._advanced)
        part = next((role for role in EFFECTORS if role in body.roles), "hips")
        # The first drag and the first edit may compile; here nobody waits for them.
        editor.drag(frame=0, part=part, displacement=(0.0, 0.001, 0.0))
        editor.edit(frame=0, part=part, displacement=(0.0, 0.001, 0.0), spread=0.1).remove()
        return editor

    def _advanced(self, share: float) -> None:
        self.share = share

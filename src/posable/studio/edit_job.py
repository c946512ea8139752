"""A motion's editor made while the page goes on: fitting its weights takes seconds, and compiling may take a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..edit import EFFECTORS, MotionEditor
from .bulletin import log
from .edit_options import limits_of
from .session import Session
from .tracks import Track

if TYPE_CHECKING:
    from ..body import Humanoid

FEW, MANY = 3, 64
"""Frames either way that a rehearsal changes."""
LITTLE = (0.0, 0.001, 0.0)
"""[m]: how far it drags a part."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """An editor that is asked for."""

    track: Track
    body: Humanoid
    limits: str
    """One of `edit_options.LIMITS`, which edits shall be able to keep to without anybody waiting."""
    editor: MotionEditor | None
    """Where it is there already, and only the limits are new."""


class EditorJob:
    """Makes one editor at a time, on a thread of its own; a newer question waits for its turn and older ones go.

    Args:
        session: kept drawing while an editor is made.
        done: called with what was asked for and the editor, or with the error that came instead.
    """

    def __init__(self, session: Session, done: Callable[[Wanted, MotionEditor | Exception], None]) -> None:
        self._session, self._done = session, done
        self._lock = threading.Lock()
        self._wanted: Wanted | None = None
        self._thread: threading.Thread | None = None
        self.share = 0.0
        """How much of the fit is done, from 0 to 1."""

    @property
    def running(self) -> bool:
        """Whether an editor is being made."""
        return self._thread is not None

    def ask(self, wanted: Wanted) -> None:
        """Have an editor, instead of any that still waits for its turn."""
        with self._lock:
            self._wanted = wanted
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

    def _next(self) -> Wanted | None:
        with self._lock:
            wanted, self._wanted, self.share = self._wanted, None, 0.0
            if wanted is None:
                self._thread = None
                self._session.movers.discard("edit")
            return wanted

    def _work(self) -> None:
        while (wanted := self._next()) is not None:
            try:
                answer: MotionEditor | Exception = self._made(wanted)
            except Exception as error:
                log.debug("making an editor", exc_info=True)
                answer = error
            self._done(wanted, answer)
        self._session.changed("pose")

    def _made(self, wanted: Wanted) -> MotionEditor:
        motion, body, editor = wanted.track.motion, wanted.body, wanted.editor
        if editor is None:
            editor = MotionEditor(motion, body, progress=self._advanced)
            _ = editor.logs
        self.share = 1.0
        limits = limits_of(wanted.limits, body)
        rehearse(MotionEditor(editor.original, body, weights="identity", limits=limits, contacts=editor.contacts))
        return editor

    def _advanced(self, share: float) -> None:
        self.share = share


def rehearse(editor: MotionEditor) -> None:
    """Drag and edit a little, at a frame with a contact: what the first of them compiles is compiled here.

    Few frames and many are worked out by loops that are compiled each by itself.
    """
    part = next((role for role in EFFECTORS if role in editor.body.roles), "hips")
    others = [contact for contact in editor.contacts if contact.part != part]
    frame = max(others, key=lambda contact: contact.last - contact.first).first if others else 0
    editor.drag(frame=frame, part=part, displacement=LITTLE)
    for near in (FEW, MANY):
        frames = (max(frame - near, 0), min(frame + near, len(editor.original) - 1))
        editor.edit(frame=frame, part=part, displacement=LITTLE, frames=frames).remove()

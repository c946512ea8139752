"""Telling and being told: what a session says in the page, and who hears that something changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import viser

from ...compute import PosableError

log = logging.getLogger("posable.studio")


class Bulletin:
    """What was said last, and who listens.

    Args:
        server: in whose pages it is said.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self.server = server
        self.lock = threading.RLock()
        self.message: tuple[str, str] | None = None  # kind ("note" or "error") and text of the last one
        self._listeners: list[Callable[[str], None]] = []
        self._changes = 0

    def tell(self, text: str) -> None:
        """Say something in the page, for example where a file was saved."""
        self._say("note", text)

    def fail(self, text: str) -> None:
        """Show an error in the page: one clear sentence."""
        self._say("error", text)

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Be called with a topic when something changes; call what is returned to be left alone.

        Topics: "tracks" (which motions are on the stage, or which is active), "active", "pose", "selection", "look",
        "history", "message".
        """
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def changed(self, topic: str) -> None:
        """Tell the listeners, and have the next moment drawn anew."""
        with self.lock:  # never between the tabs' work on a moment and its drawing, which would take it for drawn
            self._changes += 1
            for listener in list(self._listeners):
                listener(topic)

    def guarded(self, action: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap what a button or a slider calls: a mistake is told in the page and the studio goes on.

        A value that the program itself assigned calls nothing.
        """

        def run(event: Any) -> None:
            if getattr(event, "client", self) is None:
                return
            try:
                action(event)
            except PosableError as error:
                self.fail(str(error))
            except Exception as error:
                log.exception("in the studio")
                self.fail(f"Something in the studio went wrong ({type(error).__name__}: {error}). It goes on.")

        return run

    def _say(self, kind: str, text: str) -> None:
        (log.warning if kind == "error" else log.info)(text)
        self.message = (kind, text)
        for client in self.server.get_clients().values():
            client.add_notification(
                "Error" if kind == "error" else "Done",
                text,
                color="red" if kind == "error" else "teal",
                auto_close_seconds=None if kind == "error" else 4.0,
            )
        self.changed("message")

"""Events of a session: subscribers that learn of a change, and messages shown in the page."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import viser

from ...compute import PosableError

log = logging.getLogger("posable.studio")


class Events:
    """Publishes changes to subscribers, and shows notes and errors in every window of a server."""

    def __init__(self, server: viser.ViserServer) -> None:
        self.server = server
        self.lock = threading.RLock()
        self.message: tuple[str, str] | None = None  # kind ("note" or "error") and text of the last one
        self._subscribers: list[Callable[[str], None]] = []
        self._changes = 0

    def notify(self, text: str) -> None:
        """Show a note in the page, for example where a file was saved."""
        self._show_message("note", text)

    def show_error(self, text: str) -> None:
        """Show an error in the page: one clear sentence."""
        self._show_message("error", text)

    def subscribe(self, subscriber: Callable[[str], None]) -> Callable[[], None]:
        """Call a function with a topic whenever something changes; returns a function that ends the subscription.

        Topics: "actors" (which motions are on the stage, or which is active), "active", "pose", "selection", "look",
        "history", "message".
        """
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def changed(self, topic: str) -> None:
        """Call the subscribers, and have the next moment drawn anew."""
        with self.lock:  # never between the tabs' work on a moment and its drawing: the change would count as drawn
            self._changes += 1
            for subscriber in list(self._subscribers):
                subscriber(topic)

    def guarded(self, action: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap the callback of a control: an exception becomes a message in the page and the studio goes on.

        A value that the program itself assigned calls nothing.
        """

        def run(event: Any) -> None:
            if getattr(event, "client", self) is None:
                return
            try:
                action(event)
            except PosableError as error:
                self.show_error(str(error))
            except Exception as error:
                log.exception("in the studio")
                self.show_error(f"Something in the studio went wrong ({type(error).__name__}: {error}). It goes on.")

        return run

    def _show_message(self, kind: str, text: str) -> None:
        error = kind == "error"
        (log.warning if error else log.info)(text)
        self.message = (kind, text)
        for client in self.server.get_clients().values():
            client.add_notification(
                "Error" if error else "Done",
                text,
                color="red" if error else "teal",
                auto_close_seconds=None if error else 4.0,
            )
        self.changed("message")

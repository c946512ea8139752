"""`Notes`: what went wrong, each said once, in plain words; the loop goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger("posable.live")
MOST = 200
"""Notes, at most: a stranger who makes up reasons fills no memory."""


class Notes:
    """Notes by key.

    Args:
        show: called with each note once; default: the log.
    """

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self._show = show
        self._said: dict[str, str] = {}
        self.recent: list[str] = []
        """The last ones, the newest last."""

    def add(self, key: str, text: str) -> None:
        """Show a note, unless one with this key was shown already."""
        if key in self._said or len(self._said) >= MOST:
            return
        self._said[key] = text
        self.recent = [*self.recent[-19:], text]
        if self._show is None:
            log.warning("%s", text)
        else:
            self._show(text)

    def forget(self, key: str) -> None:
        """Let the note with this key be shown again."""
        self._said.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._said

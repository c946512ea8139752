"""`Notes`: what went wrong, each said once, in plain words; the loop goes on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

log = logging.getLogger("posable.live")
MOST = 200
"""Notes, at most: a stranger who makes up reasons fills no memory."""
MOST_OF_A_KIND = 12


class Notes:
    """Notes by key.

    Args:
        show: called with each note once; default: the log.
    """

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self._show = show
        self._said: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self.recent: list[str] = []
        """The last ones, the newest last."""

    def add(self, key: str, text: str) -> None:
        """Show a note, unless one with this key was shown already.

        The first word of a key is the kind of note: of each kind there are some at most, so that whoever makes up
        reasons of one kind drowns no other.
        """
        if key in self._said or len(self._said) >= MOST:
            return
        kind = key.partition(" ")[0]
        self._kinds[kind] += 1
        if self._kinds[kind] > MOST_OF_A_KIND:
            return
        if self._kinds[kind] == MOST_OF_A_KIND:
            text += " (more of this kind are not shown)"
        self._said[key] = text
        self.recent = [*self.recent[-19:], text]
        if self._show is None:
            log.warning("%s", text)
        else:
            self._show(text)

    def forget(self, key: str) -> None:
        """Let the note with this key be shown again."""
        if self._said.pop(key, None) is not None:
            self._kinds[key.partition(" ")[0]] -= 1

    def __contains__(self, key: str) -> bool:
        return key in self._said

"""Steps that can be undone and redone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class _Step(NamedTuple):
    label: str
    do: Callable[[], None]
    undo: Callable[[], None]


class History:
    """Steps done and undone, the oldest forgotten beyond `limit`."""

    def __init__(self, limit: int = 100) -> None:
        self._limit = limit
        self._done: list[_Step] = []
        self._undone: list[_Step] = []

    @property
    def undoable(self) -> str | None:
        """The label of what `undo` would take back, or None."""
        return self._done[-1].label if self._done else None

    @property
    def redoable(self) -> str | None:
        """The label of what `redo` would bring back, or None."""
        return self._undone[-1].label if self._undone else None

    def run(self, label: str, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Do a step and remember it; one that raises is not remembered. Steps that were undone are forgotten.

        Args:
            label: what it does, in the words of a menu: "Open walk.bvh".
            do: makes the change; called now and on every redo.
            undo: takes it back; called only on the state that `do` left.
        """
        do()
        self._done.append(_Step(label, do, undo))
        del self._done[: -self._limit]
        self._undone.clear()

    def undo(self) -> str | None:
        """Take the last step back; returns its label, or None when there is none."""
        if self._done:
            self._done[-1].undo()
            self._undone.append(self._done.pop())
            return self.redoable
        return None

    def redo(self) -> str | None:
        """Bring the last step back that was undone; returns its label, or None when there is none."""
        if self._undone:
            self._undone[-1].do()
            self._done.append(self._undone.pop())
            return self.undoable
        return None

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()

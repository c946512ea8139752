"""The undo history: a list of commands, each of which can be done and undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One step a user can take back.

    Attributes:
        label: what it did, in the words of a menu: "Open walk.bvh".
        do: makes the change; called once at first and again on every redo.
        undo: unmakes it; called only on the state that `do` left.
    """

    label: str
    do: Callable[[], None]
    undo: Callable[[], None]


class History:
    """Commands done and undone, the oldest forgotten beyond `limit`."""

    def __init__(self, limit: int = 100) -> None:
        self._limit = limit
        self._done: list[Command] = []
        self._undone: list[Command] = []

    @property
    def undoable(self) -> str | None:
        """The label of what `undo` would take back, or None."""
        return self._done[-1].label if self._done else None

    @property
    def redoable(self) -> str | None:
        """The label of what `redo` would bring back, or None."""
        return self._undone[-1].label if self._undone else None

    def run(self, command: Command) -> None:
        """Do a command and remember it; one that raises is not remembered. What was undone is forgotten."""
        command.do()
        self._done.append(command)
        del self._done[: -self._limit]
        self._undone.clear()

    def undo(self) -> str | None:
        """Take the last command back; its label, or None when there is none."""
        if not self._done:
            return None
        self._done[-1].undo()
        self._undone.append(self._done.pop())
        return self._undone[-1].label

    def redo(self) -> str | None:
        """Bring the last command back that was undone; its label, or None when there is none."""
        if not self._undone:
            return None
        self._undone[-1].do()
        self._done.append(self._undone.pop())
        return self._done[-1].label

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()

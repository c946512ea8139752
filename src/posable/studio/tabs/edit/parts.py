"""The part that is pulled: chosen in a list, by a click on the body, or by a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....compute import PosableError
from ....edit.parts import part_of
from ...core.session import Session
from ...widgets.controls import assign
from .changes import words

if TYPE_CHECKING:
    from ....body import Humanoid

NONE = "(none)"


class EditParts:
    """A list of the panel, here.

    Args:
        session: whose panel.
        chosen: called when another part is chosen.
    """

    def __init__(self, session: Session, chosen: Callable[[], None]) -> None:
        self._session, self._chosen = session, chosen
        self._parts: dict[str, str] = {}  # what the list calls a part, and the part
        hint = "The part to pull by its handle in the scene; a click on the body chooses one, too"
        self.list = session.gui.add_dropdown("Pull", (NONE,), hint=hint)
        self.list.on_update(session.guarded(lambda _: chosen()))

    @property
    def part(self) -> str | None:
        """What is pulled: a role, or a joint's name; None for nothing."""
        return self._parts.get(str(self.list.value))

    def choose(self, part: str) -> None:
        """Choose a role, a joint's name, or `NONE`."""
        names = [name for name, known in self._parts.items() if known == part]
        if part != NONE and not names:
            raise PosableError(f"this body has no part {part!r}; it has {', '.join(self._parts.values())}")
        assign(self.list, names[0] if names else NONE)
        self._chosen()

    def offer(self, body: Humanoid | None) -> None:
        """Have the parts of a body in the list; what was chosen stays so where this body has it, too."""
        self._parts = {}
        for joint in range(0 if body is None else len(body.skeleton)):
            part = "" if body is None else part_of(body, joint)
            self._parts[part if words(part) in self._parts else words(part)] = part
        was = str(self.list.value)
        self.list.options = (NONE, *self._parts)
        assign(self.list, was if was in self._parts else NONE)

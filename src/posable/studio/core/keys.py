"""Keys of the studio: one registry, from which the page binds them and the help lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import viser

from ...compute import PosableError

if TYPE_CHECKING:
    from .session import Session

Press = Callable[[viser.ClientHandle], None]
"""What a key does, given the window in which it was pressed."""
TIME, STAGE, POSING, HISTORY = "Time", "Stage", "Posing", "History"
"""Groups of the help."""
MODIFIERS = ("ctrl", "alt", "shift")
NAMED = {
    "space": "Space",
    "arrowleft": "←",
    "arrowright": "→",
    "arrowup": "↑",
    "arrowdown": "↓",
    "home": "Home",
    "end": "End",
    "delete": "Del",
    "escape": "Esc",
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
}
"""Keys that are not a letter or a digit, as the page knows them and as people read them."""


@dataclass(frozen=True, eq=False)
class Key:
    """A key and what it does.

    Attributes:
        press: as the page knows it: "space", "f", "ctrl+shift+z".
        label: what it does, in the words of a menu.
        group: under which the help lists it.
        do: called with the window in which it was pressed.
        repeats: whether it is done again and again while the key is held down.
    """

    press: str
    label: str
    group: str
    do: Press
    repeats: bool = False

    @property
    def shown(self) -> str:
        """The key as people read it: "Ctrl+Shift+Z"."""
        return "+".join(NAMED.get(part, part.upper()) for part in self.press.split("+"))


class Keys:
    """The keys that are bound. A key that is bound twice does what was bound last, until that is unbound.

    A command of viser's palette (Ctrl+K) goes with each.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bound: list[tuple[Key, viser.CommandHandle]] = []
        session.on_page("key", lambda client, press: self.press(str(press), client))

    def bind(
        self, press: str, label: str, do: Press, *, group: str = STAGE, repeats: bool = False, icon: Any = None
    ) -> Callable[[], None]:
        """Bind a key; returns a function that unbinds it. Errors that `do` raises are shown in the page.

        Args:
            press: a letter, a digit or one of `NAMED`, after the modifiers "ctrl", "alt" and "shift", in this order:
                "f", "ctrl+z". On a Mac Command counts as Ctrl.
            label: what it does, in the words of a menu: "Frame what is selected".
            do: called with the window in which the key was pressed; the session's lock is not held.
            group: under which the help lists it.
            repeats: whether it is done again and again while the key is held down.
            icon: of viser's, in the palette.
        """
        key = Key(_checked(press), label, group, do, repeats)
        command = self._session.gui.add_command(label, description=key.shown, icon=icon)
        command.on_trigger(self._session.guarded(lambda event: do(event.client)))
        entry = (key, command)
        self._bound.append(entry)
        self._show()

        def unbind() -> None:
            if entry in self._bound:
                self._bound.remove(entry)
                command.remove()
                self._show()

        return unbind

    @property
    def bound(self) -> tuple[Key, ...]:
        """The keys as they work now, each once, in the order of the help."""
        last = {key.press: key for key, _ in self._bound}
        groups = list(dict.fromkeys(key.group for key, _ in self._bound))
        return tuple(sorted(last.values(), key=lambda key: groups.index(key.group)))

    def press(self, press: str, client: viser.ClientHandle) -> None:
        """Do what a key does; nothing where it is not bound."""
        for key in self.bound:
            if key.press == press:
                key.do(client)

    def _show(self) -> None:
        message = [
            {"press": key.press, "label": key.label, "group": key.group, "shown": key.shown, "repeats": key.repeats}
            for key in self.bound
        ]
        self._session.page.show("keys", message)


def _checked(press: str) -> str:
    *modifiers, last = press.split("+")
    single = len(last) == 1 and last.isascii() and last.isalnum() and last == last.lower()
    known = single or (last in NAMED and last not in MODIFIERS)
    if not known or modifiers != [name for name in MODIFIERS if name in modifiers]:
        raise PosableError(
            f"there is no key {press!r}; a key is a small letter, a digit or one of {', '.join(NAMED)}, "
            'after "ctrl+", "alt+", "shift+" in this order'
        )
    return press

"""Parts that stay where they are while another is pulled: toggled by a button, or by clicks on the body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser

from ....compute import PosableError
from ....compute.types import Floats
from ....edit.parts import part_of
from ...core.actor import nearest_joint
from ...core.session import CLICK_REACH, Session
from ...view.theme import plain
from ...widgets.controls import show
from .changes import words


class EditPins:
    """A folder of the panel, here.

    Args:
        session: whose panel and stage.
        chosen: the part that is pulled, or None: then clicks pin nothing.
    """

    def __init__(self, session: Session, chosen: Callable[[], str | None]) -> None:
        self._session, self._chosen = session, chosen
        self.parts: tuple[str, ...] = ()
        gui = session.gui
        with gui.add_folder("Pins", expand_by_default=False):
            self.told = gui.add_markdown("")
            hint = "A click on the body pins the part there, or lets it go"
            self.by_click = gui.add_checkbox("Clicks pin", False, hint=hint)
            one = gui.add_button(
                "Pin this part",
                icon=viser.Icon.PIN,
                hint="Has the part that is chosen under Pull stay where it is, or lets it go",
            )
            one.on_click(session.guarded(lambda _: self._toggle_chosen()))
            free = gui.add_button("Let all go", icon=viser.Icon.PINNED_OFF)
            free.on_click(session.guarded(lambda _: self.clear()))
        session.click_handlers.append(self.clicked)

    def toggle(self, part: str) -> None:
        """Have a part stay where it is in edits to come, or let it go."""
        with self._session.lock:
            left = tuple(pin for pin in self.parts if pin != part)
            self.parts = left if part in self.parts else (*self.parts, part)
            self._session.changed("pose")

    def clear(self) -> None:
        """Let all parts go."""
        with self._session.lock:
            self.parts = ()
            self._session.changed("pose")

    def beside(self, part: str) -> tuple[str, ...]:
        """All pins but the part that is pulled."""
        return tuple(pin for pin in self.parts if pin != part)

    def draw(self) -> None:
        """Tell what is pinned."""
        pins = ", ".join(words(pin) for pin in self.parts)
        show(self.told, "content", plain(f"Pinned: {pins}" if pins else "Nothing is pinned."))

    def clicked(self, origin: Floats, direction: Floats) -> bool:
        """A click on the body pins, while the user wants that."""
        actor, body = self._session.active, self._session.body
        if not self.by_click.value or self._chosen() is None or actor is None or body is None:
            return False
        reach = CLICK_REACH * float(np.ptp(actor.box, axis=0).max())
        hit = nearest_joint(actor.frames(self._session.time), origin, direction, reach)
        if hit is not None:
            self.toggle(part_of(body, hit[0]))
        return hit is not None

    def remove(self) -> None:
        """Take no more clicks."""
        self._session.click_handlers.remove(self.clicked)

    def _toggle_chosen(self) -> None:
        part = self._chosen()
        if part is None:
            raise PosableError("no part is chosen; choose one under Pull")
        self.toggle(part)

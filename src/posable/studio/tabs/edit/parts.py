"""The part that is dragged, chosen in a list or by a click on the body; and parts that are pinned meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import viser

from ....compute import PosableError
from ....compute.types import Floats
from ....edit.clip import part_of
from ...core.actor import nearest_joint
from ...core.session import CLICK_REACH
from ...view.theme import plain
from ...widgets.controls import add_button, assign, show
from .changes import words

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import EditTab

NONE = "(none)"


class EditParts:
    """The list of the body's parts in the panel, one of which is chosen."""

    def __init__(self, tab: EditTab) -> None:
        self._tab = tab
        self._parts: dict[str, str] = {}  # parts by their names in the list
        hint = "The part to drag by its handle in the scene; a click on the body chooses one, too"
        self.list = tab.session.gui.add_dropdown("Drag", (NONE,), hint=hint)
        self.list.on_update(tab.session.guarded(lambda _: tab.part_chosen()))

    @property
    def part(self) -> str | None:
        """The part that is dragged: a role, or a joint's name; None for none."""
        return self._parts.get(str(self.list.value))

    def choose(self, part: str) -> None:
        """Choose a role, a joint's name, or `NONE`."""
        names = [name for name, known in self._parts.items() if known == part]
        if part != NONE and not names:
            raise PosableError(f"this body has no part {part!r}; it has {', '.join(self._parts.values())}")
        assign(self.list, names[0] if names else NONE)
        self._tab.part_chosen()

    def offer(self, body: Humanoid | None) -> None:
        """List the parts of a body; the chosen one stays chosen where this body has it, too."""
        self._parts = {}
        for part in () if body is None else (part_of(body, joint) for joint in range(len(body.skeleton))):
            self._parts[part if words(part) in self._parts else words(part)] = part
        before = str(self.list.value)
        self.list.options = (NONE, *self._parts)
        assign(self.list, before if before in self._parts else NONE)


class EditPins:
    """A folder of the panel: parts that stay where they are while another is dragged."""

    def __init__(self, tab: EditTab) -> None:
        self._tab, self._session = tab, tab.session
        self.parts: tuple[str, ...] = ()
        session, gui = tab.session, tab.session.gui
        with gui.add_folder("Pins", expand_by_default=False):
            self.text = gui.add_markdown("")
            hint = "A click on the body pins the part there, or unpins it"
            self.by_click = gui.add_checkbox("Clicks pin", False, hint=hint)
            hint = "Pins the part that is chosen under Drag where it is, or unpins it"
            add_button(session, "Pin this part", lambda _: self.toggle(tab.need_part()), icon=viser.Icon.PIN, hint=hint)
            add_button(session, "Unpin all", lambda _: self.clear(), icon=viser.Icon.PINNED_OFF)
        session.click_handlers.append(self.clicked)

    def toggle(self, part: str) -> None:
        """Pin a part in edits to come, or unpin it."""
        with self._session.lock:
            self.parts = self.others(part) if part in self.parts else (*self.parts, part)
            self._session.changed("pose")

    def clear(self) -> None:
        """Unpin all parts."""
        with self._session.lock:
            self.parts = ()
            self._session.changed("pose")

    def others(self, part: str) -> tuple[str, ...]:
        """Return all pins but one part."""
        return tuple(pin for pin in self.parts if pin != part)

    def draw(self) -> None:
        """List the pins."""
        pins = ", ".join(words(pin) for pin in self.parts)
        show(self.text, "content", plain(f"Pinned: {pins}" if pins else "Nothing is pinned."))

    def clicked(self, origin: Floats, direction: Floats) -> bool:
        """Pin the part of the body that a ray meets, if clicks pin: its origin (3,) [m], its direction (3,)."""
        actor, body = self._session.active, self._session.body
        if not self.by_click.value or self._tab.part is None or actor is None or body is None:
            return False
        reach = CLICK_REACH * float(np.ptp(actor.box, axis=0).max())
        hit = nearest_joint(actor.frames(self._session.time), origin, direction, reach)
        if hit is not None:
            self.toggle(part_of(body, hit[0]))
        return hit is not None

    def close(self) -> None:
        """Take no more clicks."""
        self._session.click_handlers.remove(self.clicked)

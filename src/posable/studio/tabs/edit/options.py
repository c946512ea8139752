"""The part that is dragged, the parts that are pinned meanwhile, and the settings of edits to come."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import viser

from ....compute import PosableError
from ....compute.types import Floats
from ....edit import MotionEditor
from ....edit.clip import part_of
from ....edit.dragging import MODES
from ....edit.edits import EASES
from ...core.session import Session
from ...view.theme import plain, words
from ...widgets.controls import add_button, assign, redraw_on_update, show

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import EditTab

NONE = "(none)"
NARROWEST, WIDEST = 0.05, 3.0
"""Half-widths of an edit [s]."""
OF_BODY, OF_CLIP, LEARNED, FREE = "the body's limits", "this motion's range", "what people do", "none"
LIMITS = {OF_BODY: "body", OF_CLIP: "clip", "both of these": ("clip", "body"), LEARNED: None, FREE: None}
"""The limits of joints that can be chosen, as an editor takes them; the learned ones depend on the body."""
ANSWERS = {
    "arm or leg, and more if needed": "auto",
    "arm or leg alone": "limb",
    "upper or lower body": "half",
    "whole body": "whole",
}
"""How much of the body answers a drag, as an editor takes it."""
CURVES = "The curve by which the change comes and goes: cosine, smooth (no jolt anywhere) or linear"


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
        hit = actor.clicked_joint(self._session.time, origin, direction)
        if hit is not None:
            self.toggle(part_of(body, hit[0]))
        return hit is not None

    def close(self) -> None:
        """Take no more clicks."""
        self._session.click_handlers.remove(self.clicked)


class EditOptions:
    """Two controls of the panel and a folder of others, read when a drag or an edit is made."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        hint = "Rings on the handle rotate the part; its arrows then drag it without rotating it"
        self.rotate = gui.add_checkbox("Rotate it too", False, hint=hint)
        hint = (
            "What moves with the part: its arm or leg, with the rest of the body as far as that does not suffice; the "
        )
        hint += "arm or leg alone; all above or below the hips; or the whole body as readily as it moves in this motion"
        self.scope = gui.add_dropdown("Moves", tuple(ANSWERS), hint=hint)
        hint = "Seconds before and after the frame over which a new edit fades"
        self.spread = gui.add_slider(
            "Fades over [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, hint=hint
        )
        with gui.add_folder("How it is dragged", expand_by_default=False):
            self.ease = gui.add_dropdown("Fades as", EASES, hint=CURVES)
            hint = (
                "phase: a part dragged along its own path replays the motion, and across it moves by itself; frozen: "
            )
            hint += "whatever the direction, the other parts come along as they move at this frame"
            self.mode = gui.add_dropdown("Mode", tuple(MODES), hint=hint)
            hint = "How far joints may go: as far as the body's limits, as far as in this motion and 11° more, both, "
            hint += "as far as arms and legs of many people went, or anywhere. Counts for edits made from now on"
            self.limits = gui.add_dropdown("Joint limits", tuple(LIMITS), hint=hint)
            hint = "Feet on the ground and hands on the body stay where they are"
            self.contacts = gui.add_checkbox("Preserve contacts", True, hint=hint)
        redraw_on_update(session, self.rotate, self.limits)
        self._limited: weakref.WeakKeyDictionary[MotionEditor, str] = weakref.WeakKeyDictionary()

    def limit(self, editor: MotionEditor) -> None:
        """Apply the limits that are chosen to an editor."""
        chosen = str(self.limits.value)
        if self._limited.get(editor, OF_BODY) != chosen:
            editor.limits = limits_of(chosen, editor.body)
            self._limited[editor] = chosen

    @property
    def of_drag(self) -> dict[str, Any]:
        """Settings of a drag at one frame."""
        scope = ANSWERS[str(self.scope.value)]
        return {"mode": str(self.mode.value), "scope": scope, "contacts": bool(self.contacts.value)}

    @property
    def of_fade(self) -> dict[str, Any]:
        """Settings of how an edit fades."""
        return {"spread": float(self.spread.value), "ease": str(self.ease.value)}


def limits_of(choice: str, body: Humanoid) -> Any:
    """Return one of `LIMITS` as an editor takes it."""
    from ....limb import LimbRange
    from ....limb.model import ROLES

    if choice == LEARNED:
        limbs = [limb for limb in ROLES if all(role in body.roles for role in ROLES[limb])]
        return tuple(LimbRange.builtin(limb, body.limb(limb)) for limb in limbs)
    return LIMITS[choice]

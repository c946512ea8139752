"""How a part is dragged and how the change fades: the settings of edits to come."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ....edit import MotionEditor
from ....edit.dragging import MODES
from ....edit.edits import EASES
from ...core.session import Session
from ...widgets.controls import redraw_on_update
from .changes import NARROWEST, WIDEST

if TYPE_CHECKING:
    from ....body import Humanoid

OF_CLIP, OF_BODY, OF_BOTH, LEARNED, FREE = (
    "this motion's range",
    "the body's limits",
    "both of these",
    "what people do",
    "none",
)
LIMITS = (OF_CLIP, OF_BODY, OF_BOTH, LEARNED, FREE)
CURVES = "The curve by which the change comes and goes: cosine, smooth (no jolt anywhere) or linear"


class EditOptions:
    """Two controls of the panel and a folder of others, read when a drag or an edit is made."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        hint = "Rings on the handle rotate the part; its arrows then drag it without rotating it"
        self.rotate = gui.add_checkbox("Rotate it too", False, hint=hint)
        hint = "Seconds before and after the frame over which a new edit fades"
        self.spread = gui.add_slider(
            "Fades over [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, hint=hint
        )
        with gui.add_folder("How it is dragged", expand_by_default=False):
            self.ease = gui.add_dropdown("Fades as", EASES, hint=CURVES)
            hint = "frozen: the body moves as at this frame; phase: a part dragged along its path replays the motion"
            self.mode = gui.add_dropdown("Mode", tuple(MODES), hint=hint)
            hint = "How far joints may go: as far as in this motion and 11° more, as far as the body's limits, both, "
            hint += "as far as arms and legs of many people went, or anywhere. Counts for edits made from now on"
            self.limits = gui.add_dropdown("Joint limits", LIMITS, hint=hint)
            hint = "Feet on the ground and hands on the body stay where they are"
            self.contacts = gui.add_checkbox("Preserve contacts", True, hint=hint)
        redraw_on_update(session, self.rotate, self.limits)
        self._limited: weakref.WeakKeyDictionary[MotionEditor, str] = weakref.WeakKeyDictionary()

    def limit(self, editor: MotionEditor) -> None:
        """Apply the limits that are chosen to an editor."""
        chosen = str(self.limits.value)
        if self._limited.get(editor, OF_CLIP) != chosen:
            editor.limits = limits_of(chosen, editor.body)
            self._limited[editor] = chosen

    @property
    def of_drag(self) -> dict[str, Any]:
        """Settings of a drag at one frame."""
        return {"mode": str(self.mode.value), "contacts": bool(self.contacts.value)}

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
    return {OF_CLIP: "clip", OF_BODY: "body", OF_BOTH: ("clip", "body"), FREE: None}[choice]

"""What is seen of an edited motion: it or the original or both, ghosts, the weights as colours, what touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import viser

from ....compute.types import Floats
from ....edit import MotionEditor
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.controls import assign, show
from .ghosts import EditGhosts
from .marks import WeightColours, legend

if TYPE_CHECKING:
    from ....body import Humanoid

EDITED, ORIGINAL, BESIDE = "edited", "original", "side by side"
COMPARED = (EDITED, ORIGINAL, BESIDE)


class EditView:
    """A list and a folder of the panel, here, and the key C."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._painted: Actor | None = None
        self._weighing = WeightColours()
        self.ghosts = EditGhosts(session)
        gui = session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        hint = "See the edited motion, the original, or both side by side; the key C switches between them"
        self.shown = gui.add_dropdown("Compare", COMPARED, hint=hint)
        with gui.add_folder("What is seen", expand_by_default=False):
            self.onion = gui.add_checkbox("Onion skin", False, hint="The original over the edited motion, seen through")
            hint = "How many ghosts of the original are seen before this moment, and as many after it"
            self.around = gui.add_slider("Ghosts around", min=0, max=3, step=1, initial_value=0, hint=hint)
            self.apart = gui.add_slider(
                "Frames apart", min=1, max=30, step=1, initial_value=8, hint="From one ghost to the next"
            )
            self.weights = gui.add_checkbox(
                "Weights", False, hint="Colours show how readily this person moves each joint at this frame"
            )
            self._legend = gui.add_html(legend())
            self.contacts = gui.add_checkbox("Contacts", True, hint="Green rings around what touches at this frame")
        for control in (self.shown, self.onion, self.around, self.apart, self.weights, self.contacts):
            control.on_update(again)
        self._command = gui.add_command("Compare with the original", hotkey="C", icon=viser.Icon.ARROWS_EXCHANGE)
        self._command.on_trigger(session.guarded(lambda _: self.toggle()))

    @property
    def original(self) -> bool:
        """Whether the original is seen in place of the edited motion."""
        return bool(self.shown.value == ORIGINAL)

    def toggle(self) -> None:
        """Go from the edited motion to the original, or back."""
        with self._session.lock:
            assign(self.shown, EDITED if self.original else ORIGINAL)
            self._session.changed("pose")

    def draw(self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float, frame: int) -> None:
        """Show ghosts and colours as they are asked for."""
        each, apart = int(self.around.value), int(self.apart.value)
        later = tuple(apart * k for k in range(-each, each + 1) if k)
        frames = ((0,) if self.onion.value else ()) + later
        self.ghosts.draw(actor, body, editor.original, time, frames, self.shown.value == BESIDE)
        show(self._legend, "visible", bool(self.weights.value))
        show(self.apart, "visible", bool(each))
        stage = self._session.stage
        if self._painted is not None and self._painted is not actor:
            stage.paint(self._painted, None)
        stage.paint(actor, self._weighing.paint(editor, frame) if self.weights.value else None)
        self._painted = actor if self.weights.value else None

    def ease(self, editor: MotionEditor, frame: int) -> Floats:
        """(J,) from 0 to 1: how readily each joint moves at a frame."""
        return self._weighing.ease(editor, frame)

    def hide(self) -> None:
        """Show the motion as it is."""
        self.ghosts.send_off()
        if self._painted is not None:
            self._session.stage.paint(self._painted, None)
            self._painted = None
        show(self._legend, "visible", bool(self.weights.value))

    def remove(self) -> None:
        """Take everything away."""
        self.hide()
        self._command.remove()

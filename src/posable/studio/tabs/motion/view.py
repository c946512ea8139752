"""The view of an edited motion: it, the original or both, ghosts of the original, weights as colours, contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import viser

from ....edit import MotionEditor
from ....skeleton import Motion
from ...core.actor import Actor
from ...core.keys import POSING
from ...core.session import Session
from ...view.paint import Paint, scale_legend
from ...widgets.controls import assign, redraw_on_update, show

if TYPE_CHECKING:
    from ....body import Humanoid

EDITED, ORIGINAL, ADJACENT = "edited", "original", "side by side"
FADE = 0.6
"""Opacity of a ghost, as a fraction of that of the one nearer in time."""


class EditView:
    """A list and a folder of the panel, and the key C."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._painted: Actor | None = None
        self.ghosts: dict[int, Actor] = {}
        """Bodies of the original by how many frames later they are."""
        self.twin: Actor | None = None
        """The original next to the edited body, which is no ghost."""
        gui = session.gui
        hint = "Show the edited motion, the original, or both side by side; the key C switches between them"
        self.shown = gui.add_dropdown("Compare", (EDITED, ORIGINAL, ADJACENT), hint=hint)
        with gui.add_folder("What is shown", expand_by_default=False):
            hint = "The original over the edited motion, transparent"
            self.onion = gui.add_checkbox("Onion skin", False, hint=hint)
            hint = "How many ghosts of the original are shown before this moment, and as many after it"
            self.around = gui.add_slider("Ghosts around", min=0, max=3, step=1, initial_value=0, hint=hint)
            hint = "From one ghost to the next"
            self.apart = gui.add_slider("Frames apart", min=1, max=30, step=1, initial_value=8, hint=hint)
            hint = "Colours show how readily this person moves each joint at this frame"
            self.weights = gui.add_checkbox("Weights", False, hint=hint)
            self._legend = gui.add_html(scale_legend("hardly moves", "moves readily"))
            self.contacts = gui.add_checkbox("Contacts", True, hint="Green rings around contacts at this frame")
        redraw_on_update(session, self.shown, self.onion, self.around, self.apart, self.weights, self.contacts)
        label, icon = "Compare with the original", viser.Icon.ARROWS_EXCHANGE
        self._unbind = session.keys.bind("c", label, lambda _: self.toggle(), group=POSING, icon=icon)

    @property
    def original(self) -> bool:
        """Whether the original is shown in place of the edited motion."""
        return bool(self.shown.value == ORIGINAL)

    def toggle(self) -> None:
        """Switch from the edited motion to the original, or back."""
        with self._session.lock:
            if "Motion" in self._session.tabs:
                self._session.show_tab("Motion")
            assign(self.shown, EDITED if self.original else ORIGINAL)
            self._session.changed("pose")

    def draw(
        self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float, frame: int, *, fitted: bool
    ) -> None:
        """Show ghosts and colours as the controls have them; weights where they are `fitted`."""
        count, apart = int(self.around.value), int(self.apart.value)
        later = ((0,) if self.onion.value else ()) + tuple(apart * k for k in range(-count, count + 1) if k)
        self._draw_ghosts(actor, body, editor.original, time, later)
        self._draw_twin(actor, body, editor.original)
        show(self._legend, "visible", bool(self.weights.value))
        show(self.apart, "visible", bool(count))
        if self._painted is not actor or not self.weights.value:
            self._unpaint()
        if self.weights.value and fitted:
            paint = Paint.of_fractions(editor.mobility[frame], body.skeleton.parents)
            self._session.stage.paint(actor, paint)
            self._painted = actor

    def hide(self) -> None:
        """Show the motion as it is."""
        for later in list(self.ghosts):
            self._session.remove_extra(self.ghosts.pop(later))
        if self.twin is not None:
            self._session.remove_extra(self.twin)
            self.twin = None
        self._unpaint()
        show(self._legend, "visible", bool(self.weights.value))

    def remove(self) -> None:
        """Take everything away."""
        self.hide()
        self._unbind()

    def _unpaint(self) -> None:
        if self._painted is not None:
            self._session.stage.paint(self._painted, None)
            self._painted = None

    def _draw_ghosts(
        self, actor: Actor, body: Humanoid, original: Motion, time: float, frames: tuple[int, ...]
    ) -> None:
        """Show a ghost of the original for each number of frames later; below 0: earlier."""
        for later, ghost in list(self.ghosts.items()):
            if later not in frames or ghost.motion is not original:
                self._session.remove_extra(self.ghosts.pop(later))
        steps = sorted({abs(later) for later in frames} - {0})
        for later in frames:
            if later not in self.ghosts:
                opacity = FADE ** (1 + steps.index(abs(later))) if later else 1.0
                self.ghosts[later] = Actor(original, body, f"{actor.name} original", ghost=True, opacity=opacity)
                self._session.add_extra(self.ghosts[later])
            ghost = self.ghosts[later]
            ghost.position = actor.position
            if later:
                ghost.pose_override = original.at(float(np.clip(time + later / original.fps, 0.0, original.duration)))

    def _draw_twin(self, actor: Actor, body: Humanoid, original: Motion) -> None:
        adjacent = self.shown.value == ADJACENT
        if self.twin is not None and (not adjacent or self.twin.motion is not original):
            self._session.remove_extra(self.twin)
            self.twin = None
            self._session.stage.frame(self._session.shown)
        if adjacent and self.twin is None:
            position = actor.position + self._session.free_offset(actor)
            self.twin = Actor(original, body, f"{actor.name} original", position=position)
            self._session.add_extra(self.twin)
            self._session.stage.frame(self._session.shown)

"""A bone that is longer or shorter for a while."""

from __future__ import annotations

from collections.abc import Callable

import viser

from ....compute import PosableError
from ...core.session import Session
from ...view.theme import plain
from ...widgets.controls import assign, show
from .changes import words
from .options import EditOptions
from .states import EditStates


class EditStretch:
    """A folder of the panel, here.

    Args:
        session: whose panel.
        states: the editors of the motions.
        options: how the edit fades, and whether it keeps contacts.
        here: the part that is chosen and the frame that is shown; None while there is nothing to stretch.
    """

    def __init__(
        self,
        session: Session,
        states: EditStates,
        options: EditOptions,
        here: Callable[[], tuple[str, int] | None],
    ) -> None:
        self._session, self._states, self._options, self._here = session, states, options, here
        gui = session.gui
        with gui.add_folder("Stretch a bone", expand_by_default=False):
            self._told = gui.add_markdown("")
            hint = "How many times as long the bone is at this frame; the change fades before and after"
            self.factor = gui.add_slider("Times as long", min=0.5, max=2.0, step=0.05, initial_value=1.2, hint=hint)
            hint = "Makes an edit that can be moved, made longer and removed like the others"
            button = gui.add_button("Stretch this bone", icon=viser.Icon.ARROWS_DIAGONAL, hint=hint)
            button.on_click(session.guarded(lambda _: self.stretch()))

    def stretch(self, factor: float | None = None) -> None:
        """Have the bone that ends in the chosen part so many times as long at this frame. Can be undone."""
        with self._session.lock:
            here, editor = self._here(), self._states.sure()
            if here is None:
                raise PosableError("no part is chosen; choose one under Pull")
            if factor is not None:
                assign(self.factor, factor)
            part, frame = here
            contacts, bones = bool(self._options.contacts.value), {part: float(self.factor.value)}
            editor.stretch(bones, frame=frame, contacts=contacts, **self._options.of_fade())  # type: ignore[arg-type]
            self._states.keep(f"Stretch the bone to the {words(part)}")

    def draw(self) -> None:
        """Tell which bone it is."""
        here = self._here()
        told = "Choose a part above." if here is None else f"The bone that ends at the {plain(words(here[0]), 60)}."
        show(self._told, "content", told)

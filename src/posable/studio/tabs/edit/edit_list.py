"""The edits of a motion in the panel: one is chosen, moved in time, made longer or shorter, removed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....compute import PosableError
from ....compute.errors import number
from ....edit import Edit
from ....edit.edits import EASES
from ....skeleton import Motion
from ...widgets.controls import assign, redraw_on_update, show
from .changes import NARROWEST, WIDEST, frame_of, name_of, range_of
from .options import CURVES

if TYPE_CHECKING:
    from .tab import EditTab

NO_EDIT = "(none)"
CHANGE, REMOVE = "Change it", "Remove it"


class EditList:
    """A list and controls of the chosen edit, in the panel."""

    def __init__(self, tab: EditTab) -> None:
        self._tab, self._session = tab, tab.session
        self._names: tuple[str, ...] = ()
        self._fades = False  # whether the chosen one has an ease and may have a range
        self._filled: tuple[object, ...] | None = None  # the values of the edit that the controls show
        session, gui = tab.session, tab.session.gui
        hint = "Choose an edit to move it in time, to make it longer or shorter, or to remove it"
        self._list = gui.add_dropdown("Edit", (NO_EDIT,), hint=hint)
        hint = "The frame of its target; the first one of a warp"
        self._frame = gui.add_slider("At frame", min=0, max=1, step=1, initial_value=0, visible=False, hint=hint)
        hint = "Tick to set where the edit begins and ends; else it is as long before its frame as after it"
        self._separate = gui.add_checkbox("Separate ends", False, visible=False, hint=hint)
        redraw_on_update(session, self._list, self._separate)
        hint = "Seconds before and after the frame over which the edit fades"
        self._spread = gui.add_slider(
            "Half-width [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, visible=False, hint=hint
        )
        hint = "The first and the last frame that the edit changes; it fades towards them"
        self._range = gui.add_vector2("From, to frame", (0, 1), min=(0, 0), step=1, visible=False, hint=hint)
        self._ease = gui.add_dropdown("Fades as", EASES, visible=False, hint=CURVES)
        hint = "Change it applies the controls above to the edit; the edits after it are computed again"
        self._buttons = gui.add_button_group("This edit", (CHANGE, REMOVE), hint=hint, visible=False)
        self._buttons.on_click(session.guarded(lambda event: self.press(str(event.target.value))))

    @property
    def index(self) -> int | None:
        """The index of the chosen edit."""
        name = str(self._list.value)
        return self._names.index(name) if name in self._names else None

    def choose(self, index: int) -> None:
        """Choose an edit."""
        with self._session.lock:
            if not 0 <= index < len(self._names):
                raise PosableError(f"there is no edit {index + 1}; there are {len(self._names)}")
            assign(self._list, self._names[index])
            self._session.changed("pose")

    def press(self, button: str) -> None:
        """Press a button: `CHANGE` applies the controls to the chosen edit, `REMOVE` removes it."""
        with self._session.lock:
            if (index := self.index) is None:
                raise PosableError("no edit is chosen; choose one in the list")
            if button == REMOVE:
                self._tab.remove(index)
                return
            ease = str(self._ease.value) if self._fades else None
            frames = self._ends() if self._ranged else None
            self._tab.change(index, int(self._frame.value), float(self._spread.value), ease, frames)

    def draw(self, edits: Sequence[Edit], motion: Motion) -> None:
        """Show the edits of a motion."""
        names = tuple(f"{k + 1}: {name_of(edit)}, frame {frame_of(edit)}" for k, edit in enumerate(edits))
        if names != self._names:
            before, count = self.index, len(self._names)
            self._names = names
            self._list.options = (NO_EDIT, *names)
            row = len(names) - 1 if len(names) > count else min(count if before is None else before, len(names) - 1)
            assign(self._list, names[row] if names and (before is not None or len(names) > count) else NO_EDIT)
        index = self.index
        self._fades = index is not None and "ease" in edits[index].settings
        if index is None:
            self._filled = None
        else:
            self._fill(index, edits[index], motion)
        some, ranged = index is not None, self._ranged
        show(self._frame, "visible", some)
        show(self._separate, "visible", self._fades)
        show(self._spread, "visible", some and not ranged)
        show(self._range, "visible", ranged)
        show(self._ease, "visible", self._fades)
        show(self._buttons, "visible", some)

    def _fill(self, index: int, edit: Edit, motion: Motion) -> None:
        """Show an edit on the controls, where it is another one or has changed."""
        show(self._frame, "max", max(len(motion) - 1, 1))
        settings, reach = edit.settings, range_of(edit, motion)
        filled = (index, frame_of(edit), settings["spread"], settings.get("ease"), settings.get("frames"), reach)
        if filled == self._filled:  # the user's hand may be on the controls
            return
        self._filled = filled
        assign(self._frame, frame_of(edit))
        assign(self._spread, min(max(float(settings["spread"]), NARROWEST), WIDEST))
        assign(self._separate, settings.get("frames") is not None)
        assign(self._range, reach)
        if self._fades:
            assign(self._ease, str(settings["ease"]))

    def _ends(self) -> tuple[int, int]:
        """Return first and last frame, as the controls have them."""
        ends = [number(end) for end in self._range.value]
        if len(ends) != 2 or not all(map(math.isfinite, ends)):  # a field that was left empty
            raise PosableError(f"from and to are {tuple(self._range.value)}; expected the first and the last frame")
        return round(ends[0]), round(ends[1])

    @property
    def _ranged(self) -> bool:
        """Whether the chosen edit has separate ends, as the controls have it."""
        return self._fades and bool(self._separate.value)

"""The edits of a motion in the panel: one is chosen, moved in time, stretched, removed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....compute import PosableError
from ....compute.errors import number
from ....edit import Edit
from ....edit.fade import EASES
from ....skeleton import Motion
from ...core.session import Session
from ...widgets.controls import assign, show
from .bars import NARROWEST, WIDEST
from .changes import Changing, frame_of, name_of, range_of
from .options import CURVES

NOBODY = "(none)"
CHANGE, REMOVE = "Change it", "Remove it"


class EditList:
    """A list and controls of the chosen edit, here in the panel.

    Args:
        session: whose panel.
        change: called with what the chosen edit shall be.
        remove: called with the edit's index.
        chosen: called when another one is chosen, by the user or since it went.
    """

    def __init__(
        self,
        session: Session,
        change: Changing,
        remove: Callable[[int], None],
        chosen: Callable[[], None],
    ) -> None:
        self._session, self._change, self._remove, self._chosen = session, change, remove, chosen
        self._names: tuple[str, ...] = ()
        self._fades = False  # whether the chosen one has an ease and may have a range
        self._filled: tuple[object, ...] | None = None  # what the controls show, as the edit has it
        gui = session.gui
        hint = "Choose an edit to move it in time, to make it longer or shorter, or to remove it"
        self._list = gui.add_dropdown("Edit", (NOBODY,), hint=hint)
        self._list.on_update(session.guarded(lambda _: chosen()))
        hint = "Where the part is pulled; the first place of a warp"
        self._frame = gui.add_slider("At frame", min=0, max=1, step=1, initial_value=0, visible=False, hint=hint)
        hint = "Tick to say where the edit begins and ends; else it is as long before its frame as after it"
        self._apart = gui.add_checkbox("Separate ends", False, visible=False, hint=hint)
        self._apart.on_update(session.guarded(lambda _: session.changed("pose")))
        hint = "Seconds before and after the frame over which the edit fades"
        self._spread = gui.add_slider(
            "Half-width [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, visible=False, hint=hint
        )
        hint = "The first and the last frame that the edit changes; it fades towards them"
        self._range = gui.add_vector2("From, to frame", (0, 1), min=(0, 0), step=1, visible=False, hint=hint)
        self._ease = gui.add_dropdown("Fades as", EASES, visible=False, hint=CURVES)
        hint = "Change it has the edit as the controls above say; the edits after it are worked out anew"
        self._buttons = gui.add_button_group("This edit", (CHANGE, REMOVE), hint=hint, visible=False)
        self._buttons.on_click(session.guarded(lambda event: self.press(str(event.target.value))))

    @property
    def index(self) -> int | None:
        """Which edit is chosen."""
        name = str(self._list.value)
        return self._names.index(name) if name in self._names else None

    def choose(self, index: int) -> None:
        """Choose an edit."""
        with self._session.lock:
            if not 0 <= index < len(self._names):
                raise PosableError(f"there is no edit {index + 1}; there are {len(self._names)}")
            assign(self._list, self._names[index])
            self._chosen()

    def press(self, button: str) -> None:
        """Do what a button says: `CHANGE` the chosen edit as the controls say, or `REMOVE` it."""
        with self._session.lock:
            if button == REMOVE:
                self._remove(self._sure())
                return
            ease = str(self._ease.value) if self._fades else None
            frames = self._ends() if self._ranged else None
            self._change(self._sure(), int(self._frame.value), float(self._spread.value), ease, frames)

    def draw(self, edits: Sequence[Edit], motion: Motion) -> None:
        """Show the edits of a motion."""
        names = tuple(_name(k, edit) for k, edit in enumerate(edits))
        if names != self._names:
            was, count = self.index, len(self._names)
            self._names = names
            self._list.options = (NOBODY, *names)
            kept = len(names) - 1 if len(names) > count else min(count if was is None else was, len(names) - 1)
            assign(self._list, names[kept] if names and (was is not None or len(names) > count) else NOBODY)
        index = self.index
        self._fades = index is not None and "ease" in edits[index].settings
        if index is None:
            self._filled = None
        else:
            self._fill(index, edits[index], motion)
        some, ranged = index is not None, self._ranged
        show(self._frame, "visible", some)
        show(self._apart, "visible", self._fades)
        show(self._spread, "visible", some and not ranged)
        show(self._range, "visible", ranged)
        show(self._ease, "visible", self._fades)
        show(self._buttons, "visible", some)

    def _fill(self, index: int, edit: Edit, motion: Motion) -> None:
        """Have an edit on the controls, where it is another one or has become another one."""
        show(self._frame, "max", max(len(motion) - 1, 1))
        settings, reach = edit.settings, range_of(edit, motion)
        filled = (index, frame_of(edit), settings["spread"], settings.get("ease"), settings.get("frames"), reach)
        if filled == self._filled:  # the user's hand may be on the controls
            return
        self._filled = filled
        assign(self._frame, frame_of(edit))
        assign(self._spread, min(max(float(settings["spread"]), NARROWEST), WIDEST))
        assign(self._apart, settings.get("frames") is not None)
        assign(self._range, reach)
        if self._fades:
            assign(self._ease, str(settings["ease"]))

    def _ends(self) -> tuple[int, int]:
        """First and last frame, as the controls say."""
        ends = [number(end) for end in self._range.value]
        if len(ends) != 2 or not all(map(math.isfinite, ends)):  # a field that was left empty
            raise PosableError(f"from and to are {tuple(self._range.value)}; expected the first and the last frame")
        return round(ends[0]), round(ends[1])

    @property
    def _ranged(self) -> bool:
        """Whether the chosen edit has separate ends, as the controls say."""
        return self._fades and bool(self._apart.value)

    def _sure(self) -> int:
        if self.index is None:
            raise PosableError("no edit is chosen; choose one in the list")
        return self.index


def _name(k: int, edit: Edit) -> str:
    return f"{k + 1}: {name_of(edit)}, frame {frame_of(edit)}"

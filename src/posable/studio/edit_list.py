"""The edits of a motion in the panel: one is chosen, moved in time, stretched, removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..compute import PosableError
from ..edit import Edit
from ..edit.spreading import EASES
from .controls import assign, show
from .edit_bars import NARROWEST, WIDEST
from .edit_changes import frame_of, name_of
from .session import Session

NOBODY = "(none)"
CHANGE, REMOVE = "Change it", "Remove it"


class EditList:
    """A list and sliders, here in the panel.

    Args:
        session: whose panel.
        change: called with the edit's index, its new frame, half-width [s] and ease, None where it has none.
        remove: called with the edit's index.
        chosen: called when another one is chosen, by the user or since it went.
    """

    def __init__(
        self,
        session: Session,
        change: Callable[[int, int, float, str | None], None],
        remove: Callable[[int], None],
        chosen: Callable[[], None],
    ) -> None:
        self._session, self._change, self._remove, self._chosen = session, change, remove, chosen
        self._names: tuple[str, ...] = ()
        self._eases = False  # whether the chosen one has an ease
        self._filled: tuple[int, int, float, str] | None = None  # what the sliders show, as the edit has it
        gui = session.gui
        self._list = gui.add_dropdown("Edit", (NOBODY,), hint="Each can be moved, stretched and removed by itself")
        self._list.on_update(session.guarded(lambda _: chosen()))
        self._frame = gui.add_slider("At frame", min=0, max=1, step=1, initial_value=0, visible=False)
        self._spread = gui.add_slider(
            "Half-width [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, visible=False
        )
        self._ease = gui.add_dropdown("Fades as", EASES, visible=False)
        hint = "Moves and stretches the edit as the controls say; the edits after it are worked out anew"
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
            ease = str(self._ease.value) if self._eases else None
            self._change(self._sure(), int(self._frame.value), float(self._spread.value), ease)

    def draw(self, edits: Sequence[Edit], frames: int) -> None:
        """Show the edits of a motion of so many frames."""
        names = tuple(_name(k, edit) for k, edit in enumerate(edits))
        if names != self._names:
            was, count = self.index, len(self._names)
            self._names = names
            self._list.options = (NOBODY, *names)
            kept = len(names) - 1 if len(names) > count else min(count if was is None else was, len(names) - 1)
            assign(self._list, names[kept] if names and (was is not None or len(names) > count) else NOBODY)
        index = self.index
        self._eases = index is not None and "ease" in edits[index].settings
        for control in (self._frame, self._spread, self._buttons):
            show(control, "visible", index is not None)
        show(self._ease, "visible", self._eases)
        if index is None:
            self._filled = None
            return
        show(self._frame, "max", max(frames - 1, 1))
        settings = edits[index].settings
        filled = (index, frame_of(edits[index]), float(settings["spread"]), str(settings.get("ease", "")))
        if filled != self._filled:  # only then: the user's hand may be on the sliders
            self._filled = filled
            assign(self._frame, filled[1])
            assign(self._spread, min(max(filled[2], NARROWEST), WIDEST))
            if self._eases:
                assign(self._ease, filled[3])

    def _sure(self) -> int:
        if self.index is None:
            raise PosableError("no edit is chosen; choose one in the list")
        return self.index


def _name(k: int, edit: Edit) -> str:
    return f"{k + 1}: {name_of(edit)}, frame {frame_of(edit)}"

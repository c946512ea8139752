"""The edits of a motion in the panel: one is chosen, moved in time, made longer or shorter, removed; all of them saved.

A file of edits is the JSON that `posable edit` reads and writes (`posable.edit.edit_list`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....compute import FormatError, PosableError
from ....compute.errors import number
from ....edit import Edit, StretchEdit, WarpEdit
from ....edit.edit_list import MAX_BYTES, load_edits, make_edits, save_edits
from ....edit.edits import EASES
from ....skeleton import Motion
from ...view.theme import words
from ...widgets.controls import assign, redraw_on_update, show
from ...widgets.file_panel import FilePanel
from ...widgets.status_text import distance_text, status_text
from .options import CURVES, NARROWEST, WIDEST

if TYPE_CHECKING:
    from .tab import EditTab

NO_EDIT = "(none)"
CHANGE, REMOVE = "Change it", "Remove it"
MAX_EDITS = 200
"""Edits of a list, each target of a warp counted: they are computed while the page waits."""


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
        names = tuple(f"{k + 1}: {name_of(edit)}, frame {min(edit.target_frames)}" for k, edit in enumerate(edits))
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
        filled = (
            index,
            min(edit.target_frames),
            settings["spread"],
            settings.get("ease"),
            settings.get("frames"),
            reach,
        )
        if filled == self._filled:  # the user's hand may be on the controls
            return
        self._filled = filled
        assign(self._frame, min(edit.target_frames))
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


class EditFile(FilePanel):
    """A folder of the panel; loaded edits wait until the motion's editor is ready."""

    def __init__(self, tab: EditTab) -> None:
        super().__init__(
            tab.session, "edits", "edits.json", write=self._write, read=self._read, largest=MAX_BYTES, article=""
        )
        self._tab = tab
        self._pending: tuple[str, list[dict[str, Any]]] | None = None  # a file and its edits, to be made
        with tab.session.gui.add_folder("Edits to a file", expand_by_default=False):
            hint = "A list of edits in JSON, as posable edit --edits reads it; loaded edits add to those here"
            self.add_controls(hint=hint)

    def editor_ready(self) -> None:
        """Make the edits that were loaded before the motion's editor was ready."""
        if self._pending is not None:
            self._session.guarded(lambda _: self._make())(None)

    def motion_changed(self) -> None:
        """Report edits that were loaded for another motion than the one that is edited now."""
        if self._pending is not None:
            name, self._pending = self._pending[0], None
            self._session.show_error(f"{name} was not loaded, because another motion came first; load it again")

    def forget(self) -> None:
        """Forget edits that were loaded for a motion that cannot be edited."""
        self._pending = None

    def _write(self, path: Path) -> None:
        with self._session.lock:
            editor = self._tab.editor
            if editor is None or not editor.edits:
                raise PosableError("there are no edits to save; choose a part and drag its handle first")
            save_edits(editor.edits, path)

    def _read(self, path: Path, name: str) -> None:
        rows = load_edits(path)
        count = sum(len(row["warp"]) if "warp" in row else 1 for row in rows)
        if count > MAX_EDITS:
            raise FormatError(
                name, f"has {count} edits and targets of warps; the studio takes {MAX_EDITS}, posable edit takes more"
            )
        with self._session.lock:
            if self._session.body is None:
                raise PosableError("there is no person on the stage whose motion could be edited; open a motion first")
            self._pending = (name, rows)
            if self._tab.editor is None:
                self._tab.choose_any_part()
            else:
                self._make()

    def _make(self) -> None:
        with self._session.lock:
            if self._pending is None or self._tab.editor is None:
                return
            (name, rows), self._pending = self._pending, None
            try:
                made = make_edits(self._tab.editors.need(), rows)
            except PosableError as error:
                raise PosableError(f"{name}: {error}") from None
            count = "1 edit" if len(made) == 1 else f"{len(made)} edits"
            self._tab.commit(f"Load {count} of {Path(name).stem}")
            failed = sum(not edit.ok for edit in made)
            more = f"; {failed} did not reach all targets" if failed else ""
            self._session.notify(f"Loaded {count} of {name}{more}")


def range_of(edit: Edit, motion: Motion) -> tuple[int, int]:
    """Return first and last frame of an edit: those that it changes, or would where it changes nothing."""
    if len(edit.rows):
        return int(edit.rows[0]), int(edit.rows[-1])
    if edit.settings.get("frames") is not None:
        first, last = edit.settings["frames"]
        return int(first), int(last)
    at, around = edit.target_frames, max(int(np.ceil(edit.settings["spread"] * motion.fps)) - 1, 0)
    return max(min(at) - around, 0), min(max(at) + around, len(motion) - 1)


def name_of(edit: Edit) -> str:
    """Describe an edit in few words."""
    if isinstance(edit, WarpEdit):
        return f"warp {', '.join(sorted({words(part) for _, part, _ in edit.settings['constraints']}))}"
    if isinstance(edit, StretchEdit):
        return "stretch " + ", ".join(f"{words(part)} ×{factor:g}" for part, factor in edit.settings["bones"].items())
    return ("rotate " if edit.settings["orientation"] is not None else "") + words(edit.settings["part"])


def result_of(edit: Edit) -> str:
    """Describe the result of an edit: status, largest error, frames that it changed, motion of contacts."""
    text = status_text(int(np.max(np.asarray(edit.status))))
    if not isinstance(edit, StretchEdit):
        text += f", {distance_text(float(np.max(edit.position_error, initial=0.0)))} off"
    if edit.settings.get("orientation") is not None:
        text += f", {np.degrees(float(edit.orientation_error)):.1f}° off"
    if not len(edit.rows):
        return f"{text}  \nno frame changed"
    return f"{text}  \nframes {edit.rows[0]} to {edit.rows[-1]}, contacts moved {distance_text(float(edit.slid))}"

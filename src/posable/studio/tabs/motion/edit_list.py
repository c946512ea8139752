"""The edits of a motion in the panel: one is chosen, moved in time, made longer or shorter, muted, removed; all saved.

A file of edits is the JSON that `posable edit` reads and writes (`posable.edit.edit_list`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ....compute import FormatError, PosableError
from ....compute.errors import number
from ....edit import Edit
from ....edit.edit_list import MAX_BYTES, load_edits, make_edits, save_edits
from ....edit.edits import EASES
from ....skeleton import Motion
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.controls import Follower, assign, redraw_on_update, show
from ...widgets.edit_bars import NARROWEST, WIDEST, name_of, range_of
from ...widgets.file_panel import FilePanel
from ..pose.options import CURVES

NO_EDIT = "(none)"
CHANGE, MUTE, UNMUTE, REMOVE = "Change it", "Mute it", "Unmute it", "Remove it"
MAX_EDITS = 200
"""Edits of a list, each target of a warp counted: they are computed while the page waits."""


class EditList:
    """A list and controls of the chosen edit, in the panel."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names: tuple[str, ...] = ()
        self._fades = False  # whether the chosen one has an ease and may have a range
        self._filled: tuple[object, ...] | None = None  # the values of the edit that the controls show
        gui = session.gui
        hint = "Choose an edit to move it in time, to make it longer or shorter, or to remove it"
        self._list = gui.add_dropdown("Edit", (NO_EDIT,), hint=hint)
        hint = "The frame of its target; the first one of a warp"
        self._frame = gui.add_slider("At frame", min=0, max=1, step=1, initial_value=0, visible=False, hint=hint)
        hint = "Tick to set where the edit begins and ends; else it is as long before its frame as after it"
        self._separate = gui.add_checkbox("Separate ends", False, visible=False, hint=hint)
        self._follows = Follower(session, self._list, lambda name: self._pick(str(name)))
        redraw_on_update(session, self._separate)
        hint = "Seconds before and after the frame over which the edit fades"
        self._spread = gui.add_slider(
            "Half-width [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, visible=False, hint=hint
        )
        hint = "The first and the last frame that the edit changes; it fades towards them"
        self._range = gui.add_vector2("From, to frame", (0, 1), min=(0, 0), step=1, visible=False, hint=hint)
        self._ease = gui.add_dropdown("Fades as", EASES, visible=False, hint=CURVES)
        hint = "Change it applies the controls above to the edit; the edits after it are computed again"
        self._buttons = gui.add_button_group("This edit", (CHANGE, MUTE, REMOVE), hint=hint, visible=False)
        self._buttons.on_click(session.guarded(lambda event: self.press(str(event.target.value))))

    @property
    def index(self) -> int | None:
        """The index of the chosen edit."""
        return self._session.edits.chosen

    def choose(self, index: int) -> None:
        """Choose an edit."""
        self._session.edits.choose(index)

    def press(self, button: str) -> None:
        """Press a button: `CHANGE` applies the controls to the chosen edit; it is muted, unmuted or removed."""
        with self._session.lock:
            if (index := self.index) is None:
                raise PosableError("no edit is chosen; choose one in the list, or click its bar on the timeline")
            edits = self._session.edits
            if button == REMOVE:
                edits.remove(index)
            elif button in (MUTE, UNMUTE):
                edits.mute(index, button == MUTE)
            else:
                ease = str(self._ease.value) if self._fades else None
                frames = self._ends() if self._ranged else None
                edits.change(index, int(self._frame.value), float(self._spread.value), ease, frames)

    def draw(self, edits: Sequence[Edit], motion: Motion) -> None:
        """Show the edits of a motion."""
        names = tuple(
            f"{k + 1}: {name_of(edit)}, frame {min(edit.target_frames)}{', muted' if edit.muted else ''}"
            for k, edit in enumerate(edits)
        )
        self._names, index = names, self.index
        self._follows.offer((NO_EDIT, *names), NO_EDIT if index is None else names[index])
        self._fades = index is not None and "ease" in edits[index].settings
        if index is None:
            self._filled = None
        else:
            self._fill(index, edits[index], motion)
            show(self._buttons, "options", (CHANGE, UNMUTE if edits[index].muted else MUTE, REMOVE))
        some, ranged = index is not None, self._ranged
        show(self._frame, "visible", some)
        show(self._separate, "visible", self._fades)
        show(self._spread, "visible", some and not ranged)
        show(self._range, "visible", ranged)
        show(self._ease, "visible", self._fades)
        show(self._buttons, "visible", some)

    def _pick(self, name: str) -> None:
        self._session.edits.choose(self._names.index(name) if name in self._names else None)

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

    def __init__(self, session: Session) -> None:
        super().__init__(
            session, "edits", "edits.json", write=self._write, read=self._read, largest=MAX_BYTES, article=""
        )
        self._pending: tuple[Actor, str, list[dict[str, Any]]] | None = None  # for whom, a file, its edits to be made
        with session.gui.add_folder("Edits to a file", expand_by_default=False):
            hint = "A list of edits in JSON, as posable edit --edits reads it; loaded edits add to those here"
            self.add_controls(hint=hint)
        self._unsubscribe = session.subscribe(lambda _: self._go_on(), "actors", "active", "pose")

    def close(self) -> None:
        """Wait for nothing any more."""
        self._unsubscribe()

    def _go_on(self) -> None:
        """Make the edits that were loaded before the motion's editor was ready, unless another motion came first."""
        session = self._session
        if self._pending is None:
            return
        actor, name, _ = self._pending
        if session.active is not actor:
            self._pending = None
            session.show_error(f"{name} was not loaded, because another motion came first; load it again")
        elif (failure := session.edits.failure) is not None:
            self._pending = None
            session.show_error(failure)
        elif self._ready():
            session.guarded(lambda _: self._make())(SimpleNamespace())

    def _ready(self) -> bool:
        """Return whether the waiting edits can be made; all but keys are made in the style of the motion."""
        edits = self._session.edits
        styled = self._pending is not None and any("key" not in row for row in self._pending[2])
        if edits.editor is None or (styled and not edits.fitted):
            edits.request(fit=styled)
            return False
        return True

    def _write(self, path: Path) -> None:
        with self._session.lock:
            entries = self._session.edits.entries
            if not entries:
                raise PosableError(
                    "there are no edits to save; select a part in the tab Pose and drag its handle first"
                )
            save_edits(entries, path)

    def _read(self, path: Path, name: str) -> None:
        rows = load_edits(path)
        count = sum(len(row["warp"]) if "warp" in row else 1 for row in rows)
        if count > MAX_EDITS:
            raise FormatError(
                name, f"has {count} edits and targets of warps; the studio takes {MAX_EDITS}, posable edit takes more"
            )
        with self._session.lock:
            if self._session.body is None or self._session.active is None:
                raise PosableError("there is no person on the stage whose motion could be edited; open a motion first")
            self._pending = (self._session.active, name, rows)
            if self._ready():
                self._make()

    def _make(self) -> None:
        with self._session.lock:
            if self._pending is None:
                return
            (_, name, rows), self._pending = self._pending, None
            try:
                made = make_edits(self._session.edits.need(), rows)
            except PosableError as error:
                raise PosableError(f"{name}: {error}") from None
            count = "1 edit" if len(made) == 1 else f"{len(made)} edits"
            self._session.edits.commit(f"Load {count} of {Path(name).stem}")
            failed = sum(not edit.ok for edit in made)
            more = f"; {failed} did not reach all targets" if failed else ""
            self._session.notify(f"Loaded {count} of {name}{more}")

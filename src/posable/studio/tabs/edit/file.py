"""The list of edits in a file: the same JSON that `posable edit` reads and writes (`posable.edit.edit_list`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....compute import FormatError, PosableError
from ....edit.edit_list import MOST_BYTES, load_edits, make_edits, save_edits
from ...core.session import Session
from ...widgets.file_panel import FilePanel
from .states import EditStates

MOST_LOADED = 200
"""Edits of a list at most, each place of a warp counted: they are worked out while the page waits."""


class EditFile(FilePanel):
    """A folder of the panel, here.

    Args:
        session: whose panel, and whose active motion is edited.
        states: the editors of the motions.
        wake: called where edits wait for their motion's editor; has it made.
        keep: called with a label when the edits are made; has them on the stage as one step to undo.
    """

    def __init__(
        self, session: Session, states: EditStates, wake: Callable[[], None], keep: Callable[[str], None]
    ) -> None:
        super().__init__(
            session, "edits", "edits.json", write=self._write, read=self._read, largest=MOST_BYTES, article=""
        )
        self._states, self._wake, self._keep = states, wake, keep
        self._wanted: tuple[str, list[dict[str, Any]]] | None = None  # a file and its edits, to be made
        with session.gui.add_folder("Edits to a file", expand_by_default=False):
            self.add_controls(
                hint="A list of edits in JSON, as posable edit --edits reads it; loaded edits add to those here"
            )

    def ready(self) -> None:
        """The motion's editor is there now: make what was loaded before it was."""
        if self._wanted is not None:
            self._session.guarded(lambda _: self._make())(None)

    def left(self) -> None:
        """Another motion is edited now than the one that edits were loaded for."""
        if self._wanted is not None:
            name, self._wanted = self._wanted[0], None
            self._session.show_error(f"{name} was not loaded, because another motion came first; load it again")

    def forget(self) -> None:
        """The motion that edits were loaded for cannot be edited."""
        self._wanted = None

    def _write(self, path: Path) -> None:
        with self._session.lock:
            editor = self._states.editor
            if editor is None or not editor.edits:
                raise PosableError("there are no edits to save; choose a part and drag its handle first")
            save_edits(editor.edits, path)

    def _read(self, path: Path, name: str) -> None:
        rows = load_edits(path)
        count = sum(len(row["warp"]) if "warp" in row else 1 for row in rows)
        if count > MOST_LOADED:
            raise FormatError(
                name, f"has {count} edits and places of warps; the studio takes {MOST_LOADED}, posable edit takes more"
            )
        with self._session.lock:
            actor = self._session.active
            if actor is None or actor.body is None:
                raise PosableError("there is no person on the stage whose motion could be edited; open a motion first")
            self._wanted = (name, rows)
            if self._states.editor is None:
                self._wake()
            else:
                self._make()

    def _make(self) -> None:
        with self._session.lock:
            if self._wanted is None or self._states.editor is None:
                return
            (name, rows), self._wanted = self._wanted, None
            try:
                made = make_edits(self._states.sure(), rows)
            except PosableError as error:
                raise PosableError(f"{name}: {error}") from None
            count = "1 edit" if len(made) == 1 else f"{len(made)} edits"
            self._keep(f"Load {count} of {Path(name).stem}")
            short = sum(not edit.ok for edit in made)
            more = f"; {short} could not do all that was asked" if short else ""
            self._session.notify(f"Loaded {count} of {name}{more}")

"""The list of edits in a file: the same JSON that `posable edit` reads and writes (`posable.edit.edit_list`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....compute import FormatError, PosableError
from ....edit.edit_list import MAX_BYTES, load_edits, make_edits, save_edits
from ...widgets.file_panel import FilePanel

if TYPE_CHECKING:
    from .tab import EditTab

MAX_EDITS = 200
"""Edits of a list, each target of a warp counted: they are computed while the page waits."""


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

"""The edited motion to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import viser

from ..formats import suffixes
from .session import Session


class EditFiles:
    """Buttons of the panel, here: they save the active motion, which has the edits."""

    def __init__(self, session: Session) -> None:
        self._session = session
        gui = session.gui
        with gui.add_folder("Edited motion to a file", expand_by_default=False):
            hint = f"The suffix says the format: {', '.join(suffixes(written=True))}"
            self._file = gui.add_text("Edited file", "edited.bvh", hint=hint)
            if session.paths:
                save = gui.add_button("Save the edited motion", icon=viser.Icon.DEVICE_FLOPPY)
                save.on_click(session.guarded(lambda _: self.save(str(self._file.value))))
            download = gui.add_button("Download the edited motion", icon=viser.Icon.DOWNLOAD)
            download.on_click(session.guarded(self._download))

    def save(self, path: str) -> None:
        """Save it to a file of this machine."""
        self._session.tell(f"Saved {self._session.save(path)}")

    def _download(self, event: Any) -> None:
        name, content = self._session.encoded(Path(str(self._file.value)).name)
        event.client.send_file_download(name, content, save_immediately=True)

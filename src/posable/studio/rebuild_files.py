"""The rebuilt motion kept on the stage or in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ..formats import suffixes
from ..skeleton import Motion
from .session import Session


class RebuildFiles:
    """Buttons of the panel, here.

    Args:
        session: whose panel and stage.
        keep: puts the rebuilt motion on the stage.
        motion: the rebuilt motion; raises while there is none.
    """

    def __init__(self, session: Session, keep: Callable[[], None], motion: Callable[[], Motion]) -> None:
        self._session, self._motion = session, motion
        gui = session.gui
        hint = "As a motion of the stage, beside the others"
        kept = gui.add_button("Keep the rebuilt motion", icon=viser.Icon.MOVIE, hint=hint)
        kept.on_click(session.guarded(lambda _: keep()))
        with gui.add_folder("Rebuilt motion to a file", expand_by_default=False):
            hint = f"The suffix says the format: {', '.join(suffixes(written=True))}"
            self._file = gui.add_text("Rebuilt file", "rebuilt.bvh", hint=hint)
            if session.paths:
                save = gui.add_button("Save the rebuilt motion", icon=viser.Icon.DEVICE_FLOPPY)
                save.on_click(session.guarded(lambda _: self.save(str(self._file.value))))
            download = gui.add_button("Download the rebuilt motion", icon=viser.Icon.DOWNLOAD)
            download.on_click(session.guarded(self._download))

    def save(self, path: str) -> None:
        """Save it to a file of this machine."""
        self._session.tell(f"Saved {self._session.save(path, self._motion())}")

    def _download(self, event: Any) -> None:
        name, content = self._session.encoded(Path(str(self._file.value)).name, self._motion())
        event.client.send_file_download(name, content, save_immediately=True)

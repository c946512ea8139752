"""What a tab made of a motion, to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ...formats import suffixes
from ...skeleton import Motion
from ..core.session import Session


class MotionFile:
    """Buttons of the panel, here, that save a motion by path or download it.

    Args:
        session: whose panel.
        made: what became of the motion, as the buttons say it: "edited".
        motion: the motion to save, None for the session's active one; may raise while there is none.
    """

    def __init__(self, session: Session, made: str, motion: Callable[[], Motion | None]) -> None:
        self._session, self._motion = session, motion
        gui = session.gui
        with gui.add_folder(f"{made.capitalize()} motion to a file", expand_by_default=False):
            hint = f"The suffix says the format: {', '.join(suffixes(written=True))}"
            self._file = gui.add_text(f"{made.capitalize()} file", f"{made}.bvh", hint=hint)
            if session.paths:
                save = gui.add_button(f"Save the {made} motion", icon=viser.Icon.DEVICE_FLOPPY)
                save.on_click(session.guarded(lambda _: self.save(str(self._file.value))))
            download = gui.add_button(f"Download the {made} motion", icon=viser.Icon.DOWNLOAD)
            download.on_click(session.guarded(self._download))

    def save(self, path: str) -> None:
        """Save it to a file of this machine."""
        self._session.tell(f"Saved {self._session.save(path, self._motion())}")

    def _download(self, event: Any) -> None:
        name, content = self._session.encoded(Path(str(self._file.value)).name, self._motion())
        event.client.send_file_download(name, content, save_immediately=True)

"""Behaviours in files: a folder of the panel that saves, loads, downloads, uploads, and starts from an example."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ..compute import FormatError, PosableError
from ..reach import Behaviour
from .controls import assign
from .files import upload_name
from .session import Session

EXAMPLES = ("normal", "tired", "energetic")
PICK = "choose…"
SUFFIX = ".json"


class BehaviourFolder:
    """Save the behaviour that is edited; have one of a file or an example in its place.

    Args:
        session: whose panel.
        current: the behaviour that is edited.
        put: called with a behaviour and what it is ("the example tired"); its arm says whose it becomes.
        start: called with the name of an example.
    """

    def __init__(
        self,
        session: Session,
        current: Callable[[], Behaviour],
        put: Callable[[Behaviour, str], None],
        start: Callable[[str], None],
    ) -> None:
        self._session, self._current, self._put, self._begin = session, current, put, start
        gui = session.gui
        self._example = gui.add_dropdown(
            "Example", (PICK, *EXAMPLES), hint="Start from a behaviour that comes with Posable, for both arms"
        )
        self._example.on_update(session.guarded(lambda _: self.start_from(str(self._example.value))))

    def add_folder(self) -> None:
        """The folder with the files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("Behaviour to a file", expand_by_default=False):
            self._file = gui.add_text("Behaviour file", "behaviour.json", hint="A JSON file that people can read")
            if session.paths:
                save = gui.add_button("Save the behaviour", icon=viser.Icon.DEVICE_FLOPPY)
                save.on_click(session.guarded(lambda _: self.save(self._file.value)))
                load = gui.add_button("Load the behaviour", icon=viser.Icon.FOLDER_OPEN)
                load.on_click(session.guarded(lambda _: self.load(self._file.value)))
            download = gui.add_button("Download the behaviour", icon=viser.Icon.DOWNLOAD)
            download.on_click(session.guarded(self._download))
            upload = gui.add_upload_button("Upload a behaviour", icon=viser.Icon.UPLOAD, mime_type=SUFFIX)
            upload.on_upload(session.guarded(lambda event: self.load_upload(event.target.value)))

    def start_from(self, name: str) -> None:
        """Begin with an example, for both arms."""
        if name != PICK:
            assign(self._example, PICK)
            self._begin(name)
            self._session.tell(f"Both arms now reach as in the example {name}")

    def save(self, path: str) -> None:
        """Save to a file of this machine."""
        target = self._path(path)
        try:
            self._current().save(target)
        except OSError as error:
            raise FormatError(target, error.strerror or str(error)) from error
        self._session.tell(f"Saved {target}")

    def load(self, path: str) -> None:
        """Load a file of this machine."""
        source = self._path(path)
        self._take(Behaviour.load(source), source.stem)

    def load_upload(self, sent: Any) -> None:
        """Take a file that a browser sent (its name and content); errors speak of its name only."""
        shown = upload_name(sent.name)
        if Path(shown).suffix.lower() != SUFFIX:
            raise FormatError(shown, f"behaviours are {SUFFIX} files")
        with tempfile.TemporaryDirectory(prefix="posable-upload-") as folder:
            kept = Path(folder) / f"upload{SUFFIX}"
            kept.write_bytes(sent.content)
            try:
                behaviour = Behaviour.load(kept)
            except PosableError as error:
                raise PosableError(str(error).replace(str(kept), shown)) from None
        self._take(behaviour, Path(shown).stem)

    def _take(self, behaviour: Behaviour, name: str) -> None:
        self._put(behaviour, name)
        self._session.tell(f"The {behaviour.limb.replace('_', ' ')} now reaches as in {name}")

    def _download(self, event: Any) -> None:
        shown = upload_name(Path(str(self._file.value)).name or "behaviour.json")
        with tempfile.TemporaryDirectory(prefix="posable-download-") as folder:
            target = Path(folder) / f"behaviour{SUFFIX}"
            self._current().save(target)
            event.client.send_file_download(shown, target.read_bytes(), save_immediately=True)

    def _path(self, path: str) -> Path:
        if not self._session.paths:
            raise PosableError(
                "this studio is open to other machines, so it takes no files by path; download and upload behaviours"
            )
        text = str(path).strip().strip('"')
        if not text:
            raise PosableError("give a file name, such as behaviour.json")
        return Path(text).expanduser().absolute()

"""A JSON document of a tab's, saved and loaded: by path on this machine, or through the browser.

What a browser uploads is a stranger's until it is parsed: it must be small enough and have the right suffix, it is
written under a name of ours into a folder of its own, and an error speaks of the name that the browser gave.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import viser

from ...compute import FormatError, PosableError
from ..core.files import upload_name
from ..core.session import Session

SUFFIX = ".json"


class DocumentFile(ABC):
    """Buttons that save, load, download and upload what a folder of the panel holds; `_add_files` makes them."""

    document: ClassVar[str]
    """What it holds, as the buttons say it: "behaviour"."""
    one: ClassVar[str]
    """The same with its article: "a behaviour"."""
    file: ClassVar[str]
    """The name of a file that is offered at first."""
    largest: ClassVar[int]
    """Uploads with more bytes are refused."""
    _session: Session

    def save(self, path: str) -> None:
        """Save to a file of this machine."""
        target = self._path(path)
        try:
            self._write(target)
        except OSError as error:
            raise FormatError(target, error.strerror or str(error)) from error
        self._session.tell(f"Saved {target}")

    def load(self, path: str) -> None:
        """Load a file of this machine."""
        source = self._path(path)
        self._read(source, source.name)

    def load_upload(self, sent: Any) -> None:
        """Take a file that a browser sent (its name and content); errors speak of its name only."""
        shown = upload_name(sent.name)
        if Path(shown).suffix.lower() != SUFFIX:
            raise FormatError(shown, f"expected a {SUFFIX} file")
        if len(sent.content) > self.largest:
            raise FormatError(shown, f"has {len(sent.content)} bytes; at most {self.largest} are read")
        with tempfile.TemporaryDirectory(prefix="posable-upload-") as folder:
            kept = Path(folder) / f"upload{SUFFIX}"
            kept.write_bytes(sent.content)
            try:
                self._read(kept, shown)
            except PosableError as error:
                raise PosableError(str(error).replace(str(kept), shown)) from None

    @abstractmethod
    def _write(self, path: Path) -> None:
        """Write it to a file."""

    @abstractmethod
    def _read(self, path: Path, name: str) -> None:
        """Take what a file has in its place; `name` is what people call the file."""

    def _add_files(self, hint: str = "A JSON file that people can read") -> None:
        """The controls, here in the panel."""
        session, gui = self._session, self._session.gui
        self._file = gui.add_text(f"{self.document.capitalize()} file", self.file, hint=hint)
        if session.paths:
            save = gui.add_button(f"Save the {self.document}", icon=viser.Icon.DEVICE_FLOPPY)
            save.on_click(session.guarded(lambda _: self.save(str(self._file.value))))
            load = gui.add_button(f"Load the {self.document}", icon=viser.Icon.FOLDER_OPEN)
            load.on_click(session.guarded(lambda _: self.load(str(self._file.value))))
        download = gui.add_button(f"Download the {self.document}", icon=viser.Icon.DOWNLOAD)
        download.on_click(session.guarded(self._download))
        upload = gui.add_upload_button(f"Upload {self.one}", icon=viser.Icon.UPLOAD, mime_type=SUFFIX)
        upload.on_upload(session.guarded(lambda event: self.load_upload(event.target.value)))

    def _download(self, event: Any) -> None:
        shown = upload_name(Path(str(self._file.value)).name or self.file)
        with tempfile.TemporaryDirectory(prefix="posable-download-") as folder:
            target = Path(folder) / self.file
            self._write(target)
            event.client.send_file_download(shown, target.read_bytes(), save_immediately=True)

    def _path(self, path: str) -> Path:
        if not self._session.paths:
            raise PosableError(
                "this studio is open to other machines, so it takes no files by path; "
                f"download and upload the {self.document}"
            )
        text = str(path).strip().strip('"')
        if not text:
            raise PosableError(f"give a file name, such as {self.file}")
        return Path(text).expanduser().absolute()

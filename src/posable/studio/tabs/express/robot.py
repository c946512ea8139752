"""A robot's file for the express tab: by path or uploaded, and which way through the robot is the chain."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ....compute import FormatError, PosableError
from ....express import Chain
from ....formats.urdf import Shape, read_urdf
from ...core.files import LARGEST_UPLOAD, upload_name
from ...core.session import Session
from ...widgets.controls import assign

SUFFIX = ".urdf"
GUESSED = "(guessed)"


class RobotFolder:
    """Load a robot, and choose the links that its chain goes from and to.

    Args:
        session: whose panel.
        take: called with the robot's name, its chain and what is seen of it.
    """

    def __init__(self, session: Session, take: Callable[[str, Chain, tuple[Shape, ...]], None]) -> None:
        self._session, self._take = session, take
        self._robot: tuple[str, bytes] | None = None
        gui = session.gui
        with gui.add_folder("Robot from a file", expand_by_default=False):
            if session.paths:
                self._path = gui.add_text("Robot file", "", hint="The path of a .urdf file")
                load = gui.add_button("Load the robot", icon=viser.Icon.ROBOT)
                load.on_click(session.guarded(lambda _: self.load(str(self._path.value))))
            upload = gui.add_upload_button("Upload a robot", icon=viser.Icon.UPLOAD, mime_type=SUFFIX)
            upload.on_upload(session.guarded(lambda event: self.load_upload(event.target.value)))
            self._base = gui.add_dropdown("From link", (GUESSED,), hint="What stands still")
            self._tip = gui.add_dropdown("To link", (GUESSED,), hint="What points at the target")
            for control in (self._base, self._tip):
                control.on_update(session.guarded(lambda _: self.choose(str(self._base.value), str(self._tip.value))))

    def load(self, path: str) -> None:
        """Load a file of this machine."""
        if not self._session.paths:
            raise PosableError("this studio is open to other machines, so it opens no files by path; upload the file")
        text = path.strip().strip('"')
        if not text:
            raise PosableError("give the path of a robot, such as robot.urdf")
        source = Path(text).expanduser()
        try:
            if source.stat().st_size > LARGEST_UPLOAD:
                raise FormatError(source, f"has {source.stat().st_size} bytes; at most {LARGEST_UPLOAD} are read")
            content = source.read_bytes()
        except OSError as error:
            raise FormatError(source, error.strerror or str(error)) from error
        self._open(source.name, content)

    def load_upload(self, sent: Any) -> None:
        """Take a file that a browser sent (its name and content)."""
        self._open(upload_name(sent.name), sent.content)

    def choose(self, base: str = GUESSED, tip: str = GUESSED) -> None:
        """Have the chain from one link of the robot to another."""
        if self._robot is None:
            raise PosableError("load a robot first; its links can then be chosen")
        name, chain, shapes, links = _read(*self._robot, base, tip)
        with self._session.lock:
            for control, value in ((self._base, base), (self._tip, tip)):
                if control.options != (GUESSED, *links):
                    control.options = (GUESSED, *links)
                assign(control, value)
            self._take(name, chain, shapes)

    def _open(self, shown: str, content: bytes) -> None:
        if Path(shown).suffix.lower() != SUFFIX:
            raise FormatError(shown, f"robots are {SUFFIX} files")
        _read(shown, content, GUESSED, GUESSED)  # what cannot be read leaves the robot before it as it is
        self._robot = (shown, content)
        self.choose()


def _read(shown: str, content: bytes, base: str, tip: str) -> tuple[str, Chain, tuple[Shape, ...], tuple[str, ...]]:
    """(name, chain, shapes, links) of a robot; errors speak of the name it came with."""
    with tempfile.TemporaryDirectory(prefix="posable-upload-") as folder:
        kept = Path(folder) / f"robot{SUFFIX}"
        kept.write_bytes(content)
        try:
            model = read_urdf(kept)
            ends = (None if end == GUESSED else end for end in (base, tip))
            chain = Chain.from_urdf(kept, *ends)
        except PosableError as error:
            raise PosableError(str(error).replace(str(kept), shown).replace(folder, "")) from None
    return Path(shown).stem, chain, model.shapes, model.links

"""A robot's file for the express tab: by path or uploaded, and which links its chain goes from and to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....compute import PosableError
from ....express import Chain
from ....formats.urdf import Shape, read_urdf
from ...core.files import LARGEST_UPLOAD, read_upload
from ...core.session import Session
from ...widgets.controls import assign, show
from ...widgets.file_panel import FilePanel

SUFFIX = ".urdf"
GUESSED = "(guessed)"


class RobotFolder(FilePanel):
    """Load a robot, and choose the links that its chain goes from and to.

    Args:
        session: the session whose panel it is.
        loaded: called with the robot's name, its chain and its shapes.
    """

    def __init__(self, session: Session, loaded: Callable[[str, Chain, tuple[Shape, ...]], None]) -> None:
        super().__init__(session, "robot", f"robot{SUFFIX}", read=self._load)
        self._loaded = loaded
        self._robot: tuple[str, bytes] | None = None
        gui = session.gui
        with gui.add_folder("Robot from a file", expand_by_default=False):
            self.add_controls(hint="The path of a .urdf file", value="")
            self._base = gui.add_dropdown("From link", (GUESSED,), hint="The link that stands still")
            self._tip = gui.add_dropdown("To link", (GUESSED,), hint="The link that points at the target")
            for control in (self._base, self._tip):
                control.on_update(session.guarded(lambda _: self.choose(str(self._base.value), str(self._tip.value))))

    def choose(self, base: str = GUESSED, tip: str = GUESSED) -> None:
        """Use the chain from one link of the robot to another."""
        if self._robot is None:
            raise PosableError("load a robot first; its links can then be chosen")
        name, chain, shapes, links = read_upload(
            *self._robot, lambda path, name: _read(path, name, base, tip), (SUFFIX,), LARGEST_UPLOAD
        )
        with self._session.lock:
            for control, value in ((self._base, base), (self._tip, tip)):
                show(control, "options", (GUESSED, *links))
                assign(control, value)
            self._loaded(name, chain, shapes)

    def _load(self, path: Path, name: str) -> None:
        _read(path, name, GUESSED, GUESSED)  # a file that cannot be read leaves the robot before it as it is
        self._robot = (name, path.read_bytes())
        self.choose()


def _read(path: Path, name: str, base: str, tip: str) -> tuple[str, Chain, tuple[Shape, ...], tuple[str, ...]]:
    """Return (name, chain, shapes, links) of a robot with a chain from one link to another."""
    model = read_urdf(path)
    ends = (None if end == GUESSED else end for end in (base, tip))
    return Path(name).stem, Chain.from_urdf(path, *ends), model.shapes, model.links

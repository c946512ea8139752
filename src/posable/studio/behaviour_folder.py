"""The behaviour that is edited as a whole: how it blends, its files, the examples to start from."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ..compute import FormatError, PosableError
from ..reach import Behaviour, Weight
from ..reach.behaviour import WEIGHTS
from .controls import assign
from .files import upload_name
from .session import Session

EXAMPLES = ("normal", "tired", "energetic")
PICK = "choose…"
SUFFIX = ".json"
LONGEST_NAME = 60


class BehaviourFolder:
    """Save the behaviour that is edited; have one of a file or an example in its place.

    Args:
        session: whose panel.
        current: the behaviour that is edited.
        put: called with a behaviour and what it is ("the example tired"); its arm says whose it becomes.
        start: called with the name of an example.
        restyle: changes the behaviour that is edited, as `Behaviour.restyle`.
    """

    def __init__(
        self,
        session: Session,
        current: Callable[[], Behaviour],
        put: Callable[[Behaviour, str], None],
        start: Callable[[str], None],
        restyle: Callable[..., None],
    ) -> None:
        self._session, self._current, self._put = session, current, put
        self._begin, self._restyle = start, restyle
        gui = session.gui
        self._example = gui.add_dropdown(
            "Example", (PICK, *EXAMPLES), hint="Start from a behaviour that comes with Posable, for both arms"
        )
        self._example.on_update(session.guarded(lambda _: self.start_from(str(self._example.value))))

    def add_folder(self) -> None:
        """The folders with what is true of the whole behaviour and with its files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("The whole behaviour", expand_by_default=False):
            self._name = gui.add_text("Called", "")
            hint = "Linear: each place between three keys; smooth: all keys, without creases"
            self._blend = gui.add_dropdown("Blend", ("linear", "smooth"), hint=hint)
            hint = "How much of it a target takes by its distance"
            self._weighting = gui.add_dropdown("By distance", tuple(WEIGHTS), hint=hint)
            hint = "All of it is taken at a distance of 1 / √k arm lengths"
            self._k = gui.add_slider("k", min=0.05, max=1.0, step=0.01, initial_value=0.8, hint=hint)
            for control in (self._name, self._blend, self._weighting, self._k):
                control.on_update(session.guarded(lambda _: self._styled()))
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

    def show(self) -> None:
        """Have the controls as the behaviour is."""
        now = self._current()
        for control, value in (
            *((self._name, now.name), (self._blend, now.blending), (self._weighting, now.weight.kind)),
            (self._k, min(max(round(now.weight.k, 2), 0.05), 1.0)),
        ):
            if control.value != value:
                assign(control, value)

    def _styled(self) -> None:
        """Do what the controls say; only what differs from the behaviour is a change."""
        with self._session.lock:
            now = self._current()
            k = float(self._k.value)
            weight = Weight(str(self._weighting.value), now.weight.k if abs(k - now.weight.k) < 0.006 else k)
            wanted = {"name": str(self._name.value)[:LONGEST_NAME], "blend": str(self._blend.value), "weight": weight}
            have = {"name": now.name, "blend": now.blending, "weight": now.weight}
            changed = {what: value for what, value in wanted.items() if value != have[what]}
            if changed:
                self._restyle(**changed)

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

"""The behaviour that is edited as a whole: how it blends, its files, the examples to start from."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from ..compute import FormatError, PosableError
from ..reach import Behaviour, Weight
from ..reach.key import WEIGHTS
from .controls import Follower, assign
from .files import upload_name
from .reach_keys import ReachKeys
from .session import Session

EXAMPLES = ("normal", "tired", "energetic")
PICK = "choose…"
SUFFIX = ".json"
ON_PLANE, IN_SPACE = ("linear", "smooth"), ("around",)
"""Blends of keys on the swing plane and of keys in space: keys cannot go from one to the other."""
NEAR = 0.006
"""Values of k this close look the same on the slider."""
LONGEST_NAME = 60


class BehaviourFolder:
    """Save the behaviour that is edited; have one of a file or an example in its place.

    Args:
        session: whose panel.
        keys: tells what is edited.
    """

    def __init__(self, session: Session, keys: Callable[[], ReachKeys]) -> None:
        self._session, self._keys = session, keys
        gui = session.gui
        self._example = gui.add_dropdown(
            "Example", (PICK, *EXAMPLES), hint="Start from a behaviour that comes with Posable, for both arms"
        )
        self._example.on_update(session.guarded(lambda _: self.start_from(str(self._example.value))))

    def add_folder(self) -> None:
        """The folders with what is true of the whole behaviour and with its files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("The whole behaviour", expand_by_default=False):
            self._name = Follower(session, gui.add_text("Called", ""), self._named)
            hint = "Linear: each place between three keys; smooth: all keys, without creases; around: keys in space"
            self._blend = Follower(session, gui.add_dropdown("Blend", ON_PLANE, hint=hint), self._blended)
            hint = "How much of it a target takes by its distance"
            kinds = gui.add_dropdown("By distance", tuple(WEIGHTS), hint=hint)
            self._weighting = Follower(
                session, kinds, lambda kind: self._weighted(str(kind), self._keys().behaviour.weight.k)
            )
            hint = "All of it is taken at a distance of 1 / √k arm lengths"
            k = gui.add_slider("k", min=0.05, max=1.0, step=0.01, initial_value=0.8, hint=hint)
            self._k = Follower(session, k, lambda k: self._weighted(self._keys().behaviour.weight.kind, float(k)))
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
        now = self._keys().behaviour
        self._name.show(now.name)
        blends = IN_SPACE if now.blending in IN_SPACE else ON_PLANE
        if self._blend.control.options != blends:
            self._blend.control.options = blends
            self._blend.put(now.blending)
        self._blend.show(now.blending)
        self._weighting.show(now.weight.kind)
        self._k.show(min(max(now.weight.k, 0.05), 1.0), near=NEAR)

    def _named(self, name: str) -> None:
        if name[:LONGEST_NAME] != self._keys().behaviour.name:
            self._keys().restyle(name=name[:LONGEST_NAME])

    def _blended(self, blend: str) -> None:
        if blend != self._keys().behaviour.blending:
            self._keys().restyle(blend=blend)

    def _weighted(self, kind: str, k: float) -> None:
        now = self._keys().behaviour.weight
        weight = Weight(kind, now.k if abs(k - now.k) < NEAR else k)  # k to the last bit, if it was not changed
        if weight != now:
            self._keys().restyle(weight=weight)

    def start_from(self, name: str) -> None:
        """Begin with an example, for both arms."""
        if name != PICK:
            assign(self._example, PICK)
            self._keys().start_from(name)
            self._session.tell(f"Both arms now reach as in the example {name}")

    def save(self, path: str) -> None:
        """Save to a file of this machine."""
        target = self._path(path)
        try:
            self._keys().behaviour.save(target)
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
        self._keys().take(behaviour, name)
        self._session.tell(f"The {behaviour.limb.replace('_', ' ')} now reaches as in {name}")

    def _download(self, event: Any) -> None:
        shown = upload_name(Path(str(self._file.value)).name or "behaviour.json")
        with tempfile.TemporaryDirectory(prefix="posable-download-") as folder:
            target = Path(folder) / f"behaviour{SUFFIX}"
            self._keys().behaviour.save(target)
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

"""Controls that save, load, download and upload a file: motions, poses, robots and the tabs' own documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import viser

from ...compute import PosableError
from ...formats import save, suffixes
from ...skeleton import Motion, Pose
from ..core import files
from ..core.session import Session
from .controls import add_button, ask, assign

if TYPE_CHECKING:
    from ...body import Humanoid


class FilePanel:
    """A text field with a file's name, and buttons for the file; `add_controls` puts them into the panel.

    Files of this machine are offered only where the session allows paths.

    Args:
        session: the session whose panel it is.
        noun: what the file holds, as the buttons say it: "behaviour".
        file: the name offered at first: "behaviour.json".
        write: called with the path to write; without it nothing can be saved or downloaded.
        read: called with the path to read and the name that people know it by; without it nothing can be loaded.
        known: suffixes that can be loaded; that of `file` where not given.
        largest: bytes of an upload at most.
        article: "a" or "an" of the noun; empty for a plural.
    """

    def __init__(
        self,
        session: Session,
        noun: str,
        file: str,
        *,
        write: Callable[[Path], object] | None = None,
        read: Callable[[Path, str], object] | None = None,
        known: Sequence[str] | None = None,
        largest: int = files.LARGEST_UPLOAD,
        article: str = "a",
    ) -> None:
        self._session, self._noun, self._default = session, noun, file
        self._write_to, self._read_from, self._largest = write, read, largest
        self._known = (Path(file).suffix,) if known is None else tuple(known)
        self._one = f"{article} {noun}".strip()

    def add_upload(self, label: str, **options: Any) -> None:
        """Add a button here in the panel that takes a file from the browser."""
        options = {"color": "gray", **options}
        upload = self._session.gui.add_upload_button(label, mime_type=",".join(self._known), **options)
        upload.on_upload(self._session.guarded(lambda event: self._uploaded(event.target.value)))

    def add_controls(
        self, label: str | None = None, *, hint: str = "", value: str | None = None, upload: bool = True
    ) -> None:
        """Add the controls here in the panel; the field has a label, a hint and a value at first."""
        session, gui, noun, icons = self._session, self._session.gui, self._noun, viser.Icon
        name = f"{noun.capitalize()} file" if label is None else label
        if session.paths or self._write_to is not None:
            self._field = gui.add_text(name, self._default if value is None else value, hint=hint or None)
        if session.paths and self._write_to is not None:
            add_button(session, f"Save the {noun}", self._save, icon=icons.DEVICE_FLOPPY)
        if session.paths and self._read_from is not None:
            add_button(session, f"Load the {noun}", lambda _: self.load(self._field.value), icon=icons.FOLDER_OPEN)
        if self._write_to is not None:
            add_button(session, f"Download the {noun}", self._download, icon=icons.DOWNLOAD)
        if self._read_from is not None and upload:
            self.add_upload(f"Upload {self._one}", icon=icons.UPLOAD)

    def suggest(self, file: str) -> None:
        """Show another file name in the field."""
        assign(self._field, file)

    def _save(self, event: Any) -> None:
        """Save as the button says; a file that is there already is replaced only when the window says so."""
        path = str(self._field.value)
        target = self._local(path)
        if target.exists():
            question = f"{target} is there already. Its content will be lost."
            ask(self._session, event.client, "Replace the file?", question, "Replace it", lambda: self.save(path))
        else:
            self.save(path)

    def save(self, path: str) -> None:
        """Save to a file of this machine; one that is there already is replaced."""
        if self._write_to is not None:
            target = self._local(path)
            files.use_path(target, self._write_to)
            self._session.notify(f"Saved {target}")

    def load(self, path: str) -> None:
        """Load a file of this machine."""
        if (read := self._read_from) is not None:
            files.use_path(self._local(path), lambda file: read(file, file.name))

    def load_upload(self, sent: Any) -> None:
        """Load a file that a browser sent (its name and content)."""
        if self._read_from is not None:
            files.read_upload(sent.name, sent.content, self._read_from, self._known, self._largest)

    def _uploaded(self, sent: Any) -> None:
        try:
            self.load_upload(sent)
        finally:
            sent.content = b""  # the button would keep it as its value, until the next one comes

    def _download(self, event: Any) -> None:
        if self._write_to is not None:
            name, content = files.download(Path(str(self._field.value)).name or self._default, self._write_to)
            event.client.send_file_download(name, content, save_immediately=True)

    def _local(self, path: str) -> Path:
        self._session.require_paths()
        return files.local_path(path, self._default)


def motion_panel(session: Session, made: str, motion: Callable[[], Motion]) -> FilePanel:
    """Add a folder that saves a motion which a tab made, here in the panel.

    `made` is what became of it, as the buttons say it: "edited". `motion` returns it; it may raise while there is none.
    """
    panel = FilePanel(session, f"{made} motion", f"{made}.glb", write=lambda path: save(motion(), path))
    with session.gui.add_folder(f"{made.capitalize()} motion to a file", expand_by_default=False):
        panel.add_controls(f"{made.capitalize()} file", hint=suffix_hint())
    return panel


def suggested_file(name: str, motion: Motion) -> str:
    """Return a file name with the suffix of a format that keeps all there is: a skinned character is no BVH file.

    A robot's motion goes into a file of its joints' values.
    """
    if motion.skeleton.robot is not None:
        return f"{name}.csv"
    character = motion.skeleton.character
    if character is None or not character.meshes:
        return f"{name}.bvh"
    return f"{name}.vrm" if character.roles else f"{name}.glb"


def suffix_hint() -> str:
    """Return the hint of a field for a motion that is saved."""
    return f"The suffix says the format: {', '.join(suffixes(written=True))}"


def pose_panel(session: Session, put: Callable[[Pose, str], None]) -> FilePanel:
    """Add a folder that saves the active body's pose and loads the first pose of a file, here in the panel.

    `put` is called with the pose of a file and the file's name, and makes it the one that is shown.
    """

    def write(path: Path) -> None:
        with session.lock:
            actor, pose = session.active, session.pose
            if actor is None or pose is None:
                raise PosableError("there is no body on the stage whose pose could be saved; open a motion first")
            save(Motion(actor.skeleton, pose.reshape(1), actor.motion.fps, name=f"{actor.name} pose"), path)

    def read(path: Path, name: str) -> None:
        motion = files.read_motion(path, name)
        with session.lock:
            body, now = session.body, session.pose
            if body is None or now is None:
                raise PosableError("there is no human body on the stage to take the pose; open a motion of one first")
            put(pose_for(body, now, motion), motion.name or "a file")
        session.notify(f"Loaded the pose of {motion.name or 'the file'}")

    panel = FilePanel(session, "pose", "pose.npz", write=write, read=read, known=suffixes())
    with session.gui.add_folder("Pose to a file", expand_by_default=False):
        panel.add_controls(hint=suffix_hint())
    return panel


def pose_for(body: Humanoid, now: Pose, motion: Motion) -> Pose:
    """Return the first pose of a motion for a body: unchanged where the joints are the same, else the same posture.

    The motion is of any body with human roles; joints that it does not have stay as they are in the pose `now`.
    """
    from ...body import Humanoid

    if len(motion) == 0:
        raise PosableError(f"{motion.name or 'the file'} has no frames; there is no pose in it")
    first = motion[0]
    if not first.is_finite():
        raise PosableError(f"{motion.name or 'the file'} has numbers that are not finite; it cannot be shown")
    if motion.skeleton.names == body.skeleton.names and (motion.skeleton.parents == body.skeleton.parents).all():
        return first
    try:
        other = Humanoid(motion.skeleton)
    except PosableError:
        raise PosableError(
            f"{motion.name or 'the file'} has other joints than the body on the stage, and no human roles; "
            "give a pose of this body, or of any person"
        ) from None
    return body.pose(other.canonical(first), now)

"""A pose saved to a file, and set back from one: controls for a tab that makes poses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import viser

from ...compute import PosableError
from ...formats import suffixes
from ...skeleton import Motion, Pose
from ..core import files
from ..core.session import Session

if TYPE_CHECKING:
    from ...body import Humanoid


class PoseFile:
    """A folder of the panel: save the pose that is shown, set back the first one of a file.

    Args:
        session: where the pose is.
        put: called with the pose of a file and the file's name; makes it the one that is shown.
    """

    def __init__(self, session: Session, put: Callable[[Pose, str], None]) -> None:
        self._session, self._put = session, put
        gui = session.gui
        with gui.add_folder("Pose to a file", expand_by_default=False):
            hint = f"The suffix says the format: {', '.join(suffixes(written=True))}"
            self._file = gui.add_text("Pose file", "pose.npz", hint=hint)
            if session.paths:
                save = gui.add_button("Save the pose", icon=viser.Icon.DEVICE_FLOPPY)
                save.on_click(session.guarded(lambda _: self.save(self._file.value)))
                back = gui.add_button("Set it back", icon=viser.Icon.FOLDER_OPEN, hint="The first pose of the file")
                back.on_click(session.guarded(lambda _: self.set_back(self._file.value)))
            download = gui.add_button("Download the pose", icon=viser.Icon.DOWNLOAD)
            download.on_click(session.guarded(self._download))
            upload = gui.add_upload_button("Upload a pose", icon=viser.Icon.UPLOAD, mime_type=",".join(suffixes()))
            upload.on_upload(session.guarded(lambda event: self.set_upload(event.target.value)))

    def save(self, path: str) -> None:
        """Save the pose to a file of this machine, as a motion of one frame."""
        self._session.tell(f"Saved {self._session.save(path, self._motion())}")

    def set_back(self, path: str) -> None:
        """Show the first pose of a file of this machine."""
        self._show(self._session.read(path))

    def set_upload(self, sent: Any) -> None:
        """Show the first pose of a file that a browser sent (its name and content)."""
        self._show(files.open_upload(sent.name, sent.content))

    def _download(self, event: Any) -> None:
        name, content = self._session.encoded(Path(self._file.value).name, self._motion())
        event.client.send_file_download(name, content, save_immediately=True)

    def _motion(self) -> Motion:
        session = self._session
        with session.lock:
            track, pose = session.active, session.pose
            if track is None or pose is None:
                raise PosableError("there is no body on the stage whose pose could be saved; open a motion first")
            return Motion(track.skeleton, pose.reshape(1), track.motion.fps, name=f"{track.name} pose")

    def _show(self, motion: Motion) -> None:
        session = self._session
        with session.lock:
            body, now = session.body, session.pose
            if body is None or now is None:
                raise PosableError("there is no human body on the stage to take the pose; open a motion of one first")
            self._put(pose_for(body, now, motion), motion.name or "a file")
        session.tell(f"Set back the pose of {motion.name or 'the file'}")


def pose_for(body: Humanoid, now: Pose, motion: Motion) -> Pose:
    """The first pose of a motion for a body: as it is where the joints are the same, else the same posture.

    Args:
        body: who takes the pose.
        now: its pose, for joints that the other body does not have.
        motion: of any body with human roles.
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

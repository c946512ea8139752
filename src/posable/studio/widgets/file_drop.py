"""Files dropped on the page: opened next to the others; a motion that is dropped on a body is put on that body.

The page asks first (`page/stage.js`): it says where the files were dropped, is told which upload takes them, and sends
one after the other, each when the one before has been read. The bytes go the way of the button that opens files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ... import math as pm
from ...compute import PosableError
from ...compute.errors import number
from ...compute.types import Floats
from ...formats import suffixes
from ..core import files
from ..core.actor import Actor, actor_of

if TYPE_CHECKING:
    from ...skeleton import Motion
    from ..core.session import Session

Put = Callable[[Actor, Actor], None]
"""Puts the motion of an actor, who need not be on the stage, on another one."""
RETARGETING = "retargeting"
"""Under this name a tab shares its `Put` with the others (`Session.shared`)."""


class FileDrop:
    """Takes the files that are dropped in a window.

    Args:
        session: the session.
        opened: called with each motion that is to be opened.
    """

    def __init__(self, session: Session, opened: Callable[[Motion], None]) -> None:
        self._session, self._opened = session, opened
        self._onto: dict[int, Actor] = {}  # by window, the body that its files were dropped on
        with session.gui.add_folder(None, visible=False):  # it is the page that sends, not a button
            self._upload = session.gui.add_upload_button("Drop")
        self._upload.on_upload(self._received)
        session.on_page("drop", lambda client, value: self.drop(client, value))
        session.on_page("too_large", lambda _, name: self._refuse(str(name)))

    def drop(self, client: viser.ClientHandle, where: Any) -> None:
        """Take files that were dropped in a window, and have it send the first.

        Args:
            client: the window.
            where: x from the left and y from the top as fractions of the stage; None where they fell beside it.
        """
        with self._session.lock:
            self._onto.pop(client.client_id, None)
            found = None if where is None else self._session.body_at(*_ray(client.camera, where))
            if found is not None:
                self._onto[client.client_id] = found[0]
        self._next(client)

    def take(self, client: int, name: str, content: bytes) -> None:
        """Open a file that a window sent, or put its motion on the body that it was dropped on."""
        motion = files.read_upload(name, content, files.read_motion, suffixes(), files.LARGEST_UPLOAD)
        with self._session.lock:
            onto, put = self._onto.get(client), self._session.shared.get(RETARGETING)
            dropped = None if onto not in self._session.actors else actor_of(motion, roles=self._session.roles)
            character = motion.skeleton.character
            skinned = character is not None and bool(character.meshes)
            person = dropped is not None and dropped.body is not None and not skinned
            if onto is None or onto.performer is None or dropped is None or not person or put is None:
                self._opened(motion)
            else:
                put(dropped, onto)

    def _received(self, event: Any) -> None:
        sent = event.target.value
        self._session.guarded(lambda _: self.take(event.client_id, sent.name, sent.content))(event)
        self._next(event.client)

    def _next(self, client: viser.ClientHandle) -> None:
        """Ask a window for its next file, if it has one."""
        self._session.page.show("take", {"upload": self._upload._impl.uuid, "largest": files.LARGEST_UPLOAD}, client)

    def _refuse(self, name: str) -> None:
        limit = files.LARGEST_UPLOAD / 1e6
        raise PosableError(f"{files.upload_name(Path(name).name)} was not opened: files up to {limit:.0f} MB are taken")


def _ray(camera: viser.CameraHandle, where: Any) -> tuple[Floats, Floats]:
    """Return origin (3,) and unit direction (3,) of the ray through a point of a window, x and y as fractions of it."""
    x, y = (number(one) for one in where) if isinstance(where, list | tuple) and len(where) == 2 else (math.nan,) * 2
    if not (math.isfinite(x) and math.isfinite(y)):
        raise PosableError(f"files were dropped at {where}; expected two fractions of the stage")
    height = math.tan(0.5 * camera.fov)
    ahead = np.array([(2.0 * x - 1.0) * height * camera.aspect, (2.0 * y - 1.0) * height, 1.0])
    direction = pm.rotate(np.asarray(camera.wxyz, dtype=np.float64), ahead / np.linalg.norm(ahead))
    return np.asarray(camera.position, dtype=np.float64), direction

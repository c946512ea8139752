"""Uploads under way: how many there may be, how large, and for how long.

viser gathers the parts of an upload in memory until the last one is there. A window that announces uploads and never
finishes them would fill it; so what is announced is bounded, and what does not go on is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import viser

from .viser_parts import messages

IN_A_WINDOW, IN_ALL = 4, 12
"""Uploads under way at most."""
LONGEST_PAUSE = 60.0
"""Seconds without a part after which an upload is dropped."""
LONGEST = 1800.0
"""Seconds that an upload may take."""
LARGEST_PART = 8 * 1024 * 1024
"""Bytes that a part of an upload may have at most; viser's page sends half a megabyte."""
FREE_PARTS, SMALLEST_PART = 1000, 64 * 1024
"""Parts that any upload may have, and for more of them the bytes of each: all are kept, with a message each, until the
last is there."""


class RefusedError(Exception):
    """A message of a window that is not taken; its text says why, and is empty where nobody needs to know."""


@dataclass
class _Upload:
    client: int
    size: int
    begun: float
    latest: float
    received: int = 0


class Uploads:
    """The uploads under way, by their identities.

    Args:
        server: whose they are.
        largest: bytes of one; all together may have twice as many.
        now: seconds of a clock that never goes back; replaced in tests.
    """

    def __init__(self, server: viser.ViserServer, largest: int, now: Callable[[], float] = time.monotonic) -> None:
        self._server, self._largest, self._now = server, largest, now
        self._uploads: dict[str, _Upload] = {}
        self._is_watched = False

    def __len__(self) -> int:
        return len(self._uploads)

    def start(self, client: int, message: Any) -> None:
        """Note an upload that a window announces; raise where it is not taken."""
        self.drop_old()
        control = self._server.gui._gui_input_handle_from_uuid.get(str(message.source_component_uuid))
        size, parts, name = message.size_bytes, message.part_count, str(message.transfer_uuid)
        if not isinstance(control, viser.GuiUploadButtonHandle):
            raise _refused("there is no button for it")
        if not (isinstance(message.filename, str) and isinstance(message.mime_type, str) and len(name) <= 100):
            raise _refused("it has no name")
        if not (
            isinstance(size, int) and isinstance(parts, int) and 0 <= parts <= size and (parts == 0) == (size == 0)
        ):
            raise _refused(f"{size} bytes in {parts} parts are no file")
        if parts > FREE_PARTS + size // SMALLEST_PART:
            raise _refused(f"{size} bytes in {parts} parts are too many parts")
        if size > self._largest:
            megabytes, most = size / 1e6, self._largest / 1e6
            raise _refused(f"the file has {megabytes:.0f} MB, more than the {most:.0f} MB that are taken")
        if name in self._uploads:
            raise _refused("it has begun already")
        if sum(one.client == client for one in self._uploads.values()) >= IN_A_WINDOW or len(self) >= IN_ALL:
            raise _refused(f"{len(self)} others are under way; wait until they are there")
        if size + sum(one.size for one in self._uploads.values()) > 2 * self._largest:
            raise _refused("others that are under way are too large together; wait until they are there")
        if parts:  # an empty file is there at once
            self._uploads[name] = _Upload(client, size, self._now(), self._now())
        self._watch()

    def add_part(self, client: int, message: Any) -> None:
        """Note a part of an upload; raise where it is not taken, and drop an upload that is not what it said."""
        upload = self._uploads.get(str(message.transfer_uuid))
        if upload is None or upload.client != client:
            raise RefusedError("")  # dropped before, which was said
        count = len(message.content) if isinstance(message.content, bytes) else 0
        upload.received += count
        upload.latest = self._now()
        if not 0 < count <= LARGEST_PART or upload.received > upload.size:
            self._drop(str(message.transfer_uuid))
            raise _refused("more came than was announced" if count else "a part of it is empty")

    def drop_old(self) -> None:
        """Drop uploads that do not go on, or that take too long; forget those that are there."""
        now, gathered = self._now(), self._server.gui._current_file_upload_states
        for name, one in list(self._uploads.items()):
            if name not in gathered or now - one.latest > LONGEST_PAUSE or now - one.begun > LONGEST:
                self._drop(name)

    def forget(self, client: int) -> None:
        """Drop the uploads of a window that has gone."""
        for name in [name for name, one in self._uploads.items() if one.client == client]:
            self._drop(name)

    def _watch(self) -> None:
        """Look again later whether what was announced goes on."""
        if not self._is_watched:
            self._is_watched = True
            self._server.get_event_loop().call_later(LONGEST_PAUSE + 1.0, self._look)

    def _look(self) -> None:
        self._is_watched = False
        self.drop_old()
        if self._uploads:
            self._watch()
        else:  # that parts have come is kept for windows to come, whom it does not concern
            ack = messages().FileTransferPartAck
            self._server._websock_server.get_message_buffer().remove_from_buffer(lambda each: isinstance(each, ack))

    def _drop(self, name: str) -> None:
        self._uploads.pop(name, None)
        self._server.gui._current_file_upload_states.pop(name, None)


def _refused(why: str) -> RefusedError:
    return RefusedError(f"The upload was not taken: {why}.")

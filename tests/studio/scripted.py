"""A window without a browser: it talks to a studio as a page does, and sends whatever a test has it send."""

import time
from typing import Any

import msgspec
import viser
from websockets.sync.client import connect

from posable.studio import Session, Studio

PATIENCE = 60.0  # [s] that something may take that must come
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    **{"position": (0.0, 1.0, 3.0), "look_at": (0.0, 1.0, 0.0), "up_direction": (0.0, 1.0, 0.0)},
    **{"fov": 1.0, "near": 0.01, "far": 100.0, "image_height": 100, "image_width": 100},
}


class ScriptedWindow:
    """Connected from the start, until `close`."""

    def __init__(self, studio: Studio) -> None:
        self.session: Session = studio.session
        before = set(self.session.server.get_clients())
        address = studio.url.replace("http", "ws", 1)
        protocol = f"viser-v{viser.__version__}"
        self._socket = connect(address, subprotocols=[protocol], origin=studio.url, max_size=None, max_queue=None)
        self.send(**CAMERA)
        wait(lambda: set(self.session.server.get_clients()) - before)
        self.client = max(set(self.session.server.get_clients()) - before)

    def send(self, **message: Any) -> None:
        self._socket.send(msgspec.msgpack.encode(message))

    def give(self, control: Any, value: object) -> None:
        """Give a control of viser's a value."""
        self.send(type="GuiUpdateMessage", uuid=control._impl.uuid, updates={"value": value})

    def act(self, action: str, value: object = None) -> None:
        """Do something in the page's own controls."""
        self.send(type="StageAction", action=action, value=value)

    def settle(self) -> None:
        """Wait until all that was sent has been handled: messages are handled in their order."""
        self.session.page.on("settled", lambda _, value: settled.append(value))
        settled: list[object] = []
        self.act("settled", 1)
        wait(lambda: settled)

    def close(self) -> None:
        self._socket.close()
        wait(lambda: self.client not in self.session.server.get_clients())

    def __enter__(self) -> "ScriptedWindow":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wait(condition) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)

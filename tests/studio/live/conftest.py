"""The tab Live with a sender of trackers on loopback."""

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

import posable as ps
from posable.studio import Session, Studio
from posable.studio.tabs.live.tab import LiveTab

from ...live.conftest import Mailbox


def free_port() -> int:
    """A port that nobody had a moment ago."""
    box = Mailbox()
    box.socket.close()
    return box.port


class Trackers:
    """Six trackers of somebody who boxes, as JSON lines, at 50 Hz until they are stopped."""

    def __init__(self, port: int) -> None:
        self._stop, self._port = threading.Event(), port
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        body = ps.figure()
        points = body.markers(ps.samples.boxing(body).pose).round(4).tolist()
        made, k = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
        while not self._stop.is_set():
            line = json.dumps(dict(zip(ps.MARKERS, points[k % len(points)], strict=True))).encode()
            made.sendto(line, ("127.0.0.1", self._port))
            k += 1
            time.sleep(0.02)
        made.close()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def trackers(port: int) -> Iterator[Trackers]:
    made = Trackers(port)
    yield made
    made.stop()


@pytest.fixture
def box() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.socket.close()


@pytest.fixture
def tab(studio: Studio, port: int) -> Iterator[LiveTab]:
    """The tab in front, nothing running."""
    session: Session = studio.session
    found = next(tab for tab in studio.tabs if isinstance(tab, LiveTab))
    session.clock.pause()
    session.show_tab(found.title)
    found._in.value = f"udp://127.0.0.1:{port}"
    found._out.value = ""
    yield found
    found.stop()
    session.clear_error()

"""Sockets on loopback at ports that the system chooses."""

import socket
from collections.abc import Callable, Iterator

import pytest

import posable as ps


class Mailbox:
    """A receiver of packets."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]

    def read(self) -> list[bytes]:
        found = []
        while True:
            try:
                found.append(self.socket.recv(65536))
            except BlockingIOError:
                return found


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    yield box
    box.socket.close()


@pytest.fixture
def send() -> Iterator[Callable[[int, bytes], None]]:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    yield lambda port, packet: made.sendto(packet, ("127.0.0.1", port))
    made.close()


@pytest.fixture(scope="session")
def figure() -> ps.Humanoid:
    return ps.figure()


@pytest.fixture(scope="session")
def walk(figure) -> ps.Motion:
    return ps.samples.walk(figure, duration=2.0)

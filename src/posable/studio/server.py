"""The web server: where it listens, whom it answers, and the page it hands out.

viser serves a page and a websocket. What it leaves open is closed here, and its parts that are not public are touched
in this module only:

- A page from anywhere may open a websocket to this machine, and the studio reads and writes files. So a connection is
  answered only when it comes from a page that this server handed out (its `Origin` is the `Host` it asked), and, while
  listening on loopback, only under a loopback name (which stops a stranger's name from being pointed here).
- An upload is refused when it starts if it says it is too large, instead of after it filled the memory.
- A request to share the page through a relay on the internet is not answered.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import rich
import viser
from viser import _messages, infra

from ..compute import PosableError
from .view.theme import ICON, TITLE

PORTS_TRIED = 100
LONGEST_STOP = 20.0  # [s] that the end of a server waits for handlers under way
_building = threading.Lock()


def is_loopback(host: str) -> bool:
    """Return whether a host name is this machine talking to itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def free_port(host: str, port: int) -> int:
    """Return the first port from `port` on that nobody uses; with 0, one that the system chooses.

    Raises a PosableError for a host that is not this machine and when 100 ports in a row are taken.
    """
    if not 0 <= port <= 65535:
        raise PosableError(f"port {port} does not exist; ports go from 1 to 65535, and 0 lets the system choose")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise PosableError(f"cannot listen on host {host!r}: {error}") from error
    last: OSError | None = None
    for candidate in range(port, min(port + PORTS_TRIED, 65536)) if port else [0]:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address[0], candidate, *address[2:]))
                return int(probe.getsockname()[1])
            except OSError as error:
                last = error
    raise PosableError(f"cannot listen on {host!r} from port {port} on: {last}")


class Web:
    """A running server; `viser` is viser's own object.

    Args:
        host: name or address to listen on.
        port: first port to try; 0 lets the system choose.
        largest_upload: of one file [bytes].
        refuse: called with the client's number and the reason when an upload is not taken.
    """

    def __init__(self, host: str, port: int, largest_upload: int, refuse: Callable[[int, str], None]) -> None:
        chosen = free_port(host, port)
        self._page = tempfile.TemporaryDirectory(prefix="posable-studio-")
        with _building, _quiet(), _page_from(_write_page(Path(self._page.name))):
            self.viser = viser.ViserServer(host=host, port=chosen, label=TITLE, verbose=False)
        sockets = self.viser._websock_server
        _answer_own_pages_only(sockets, host)
        for shared in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
            sockets.unregister_handler(shared)

        _bound_uploads(self.viser, largest_upload, refuse)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{'localhost' if name in ('0.0.0.0', '[::]') else name}:{self.viser.get_port()}"

    def stop(self) -> None:
        """Stop answering and wait until the server's threads have ended, `LONGEST_STOP` seconds at most.

        The bound is for a handler that does not end: it must not keep the program from ending.
        """
        with _quiet():
            self.viser.stop()
        handlers = self.viser._thread_executor
        handlers.shutdown(wait=False, cancel_futures=True)
        latest = time.monotonic() + LONGEST_STOP
        for thread in tuple(handlers._threads):
            thread.join(max(0.0, latest - time.monotonic()))
        self._page.cleanup()


def allowed(host: str, headers: Any) -> bool:
    """Return whether a websocket with these headers is of our own page; programs that send no origin are let in."""
    requested = str(headers.get("Host", ""))
    name = urlsplit(f"//{requested}").hostname or ""
    if is_loopback(host) and not is_loopback(name):
        return False
    origin = headers.get("Origin")
    return origin is None or urlsplit(str(origin)).netloc.lower() == requested.lower()


def _bound_uploads(server: viser.ViserServer, largest: int, refuse: Callable[[int, str], None]) -> None:
    """Drop an upload that says it is too large, or that sends more than it said. viser's own handlers run first."""
    uploads = server.gui._current_file_upload_states

    def started(client: int, message: Any) -> None:
        if message.size_bytes > largest:
            uploads.pop(message.transfer_uuid, None)
            size, limit = message.size_bytes / 1e6, largest / 1e6
            refuse(client, f"the file has {size:.0f} MB, more than the {limit:.0f} MB that are taken")

    def went_on(client: int, message: Any) -> None:
        upload = uploads.get(message.transfer_uuid)
        if upload is not None and upload["transferred_bytes"] > upload["total_bytes"]:
            uploads.pop(message.transfer_uuid, None)
            refuse(client, "more came than was announced")

    server._websock_server.register_handler(_messages.FileTransferStartUpload, started)
    server._websock_server.register_handler(_messages.FileTransferPart, went_on)


def _answer_own_pages_only(sockets: Any, host: str) -> None:
    async def check(client: Any) -> None:
        connection = sockets._live_connections.get(client.client_id)
        if connection is not None and not allowed(host, connection.request.headers):
            await connection.close(1008, "not a page of this studio")

    sockets.on_client_connect(check)


def _write_page(folder: Path) -> Path:
    """A copy of viser's page under our title and sign."""
    page = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_bytes()
    head, mark, rest = page.partition(b"</head>")
    head = re.sub(rb"<title>.*?</title>", f"<title>{TITLE}</title>".encode(), head, count=1)
    head = re.sub(rb'href="data:image/svg\+xml,[^"]*"', f'href="{ICON}"'.encode(), head, count=1)
    (folder / "index.html").write_bytes(head + mark + rest)
    return folder


@contextlib.contextmanager
def _page_from(folder: Path) -> Iterator[None]:
    """Let a server that is built within take its page from a folder; viser's class has no argument for it."""

    class FromFolder(infra.WebsockServer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "http_server_root": folder})

    usual = infra.WebsockServer
    infra.WebsockServer = FromFolder  # type: ignore[misc]
    try:
        yield
    finally:
        infra.WebsockServer = usual  # type: ignore[misc]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep viser's own banner off the terminal: the command line says where the studio is."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before

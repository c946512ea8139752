"""The web server: where it listens, and the page it hands out.

viser serves a page and a websocket. What it leaves open is closed in `network`: who is answered (`access`), what is
taken from a window (`incoming`, `uploads`), and which parts of viser that depends on (`viser_parts`). A request to
share the page through a relay on the internet is not answered.

The page has a script and styles of its own besides (`page/stage.js`): the timeline and what else viser has no control
for. `Page` tells it what to show and hears what a user does there, through viser's own connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import rich
import viser
import websockets.asyncio.server

from ..compute import PosableError
from .network import viser_parts
from .network.access import TOKEN, Access
from .network.incoming import Incoming, check_action
from .network.uploads import Uploads
from .view.theme import ICON, TITLE

viser_parts.check_parts()
from viser import _messages, infra  # noqa: E402  # what viser does not promise to keep is known to be there

PORTS_TRIED = 100
LONGEST_STOP = 1.0  # [s] that the end of a server waits for handlers under way
PAGE = Path(__file__).with_name("page")
WITHOUT_TOKEN = (  # the cookie has it from now on; in the address it would be seen, copied and remembered
    f"(()=>{{const a=new URL(location.href),t='{TOKEN}';if(a.searchParams.has(t)){{a.searchParams.delete(t);"
    "history.replaceState(null,'',a);}})();\n"
)
_building = threading.Lock()


@dataclass
class _Shown(_messages.RunJavascriptMessage, include_in_scene_serialization=False):
    """Runs a call of the page's script; of each topic, windows that come later get the last."""

    topic: str

    def redundancy_key(self) -> str:
        return f"posable-{self.topic}"

    def as_serializable_dict(self, binary_buffers: Any = None) -> dict[str, Any]:
        return {"type": "RunJavascriptMessage", "source": self.source}


@dataclass
class StageAction(_messages.Message, include_in_scene_serialization=False):
    """An action of a user in the page's own controls; sent by `page/stage.js`."""

    action: str
    value: Any


class Page:
    """The page's own script: what it shows, and what a user does in it."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._actions: dict[str, Callable[[viser.ClientHandle, Any], None]] = {}
        self._hand = ThreadPoolExecutor(1, "posable-page")  # one thread: what a user did first is done first
        # Another server of this process may have read messages before this kind of them was there.
        vars(infra.Message)["_subclass_from_type_string"].__func__.cache_clear()
        server._websock_server.register_handler(StageAction, self._received)

    def show(self, topic: str, value: object, client: viser.ClientHandle | None = None) -> None:
        """Show a value that JSON can hold on a topic of `page/stage.js`: in one window, or in all and those to come."""
        call = f"window.posableStage.show({json.dumps(topic)}, {json.dumps(value)})"
        to = self._server._websock_server if client is None else client._websock_connection
        to.queue_message(_Shown(call, topic))

    def on(self, action: str, do: Callable[[viser.ClientHandle, Any], None]) -> None:
        """Call a function with the window and the value of an action of `page/stage.js`, in their order."""
        self._actions[action] = do

    def receive(self, client: viser.ClientHandle, action: str, value: object) -> None:
        """Do what a user did in a window; values come from outside and are checked by whoever takes them."""
        do = self._actions.get(action)
        if do is not None:
            do(client, value)

    def close(self) -> None:
        """Hear nothing more, and wait for what is being done, but not for what waits."""
        self._hand.shutdown(wait=False, cancel_futures=True)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """Those that do what a user did."""
        return tuple(self._hand._threads)

    def submit(self, do: Callable[..., None], *arguments: Any) -> None:
        """Call a function after all that a user did before."""
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            self._hand.submit(do, *arguments)

    def _received(self, client: int, message: StageAction) -> None:
        window = self._server.get_clients().get(client)
        if window is not None:
            self.submit(self.receive, window, message.action, message.value)


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
        refuse: called with the client's number and the reason when a message of a window is not taken.
        names: other names by which the studio may be asked for.
    """

    def __init__(
        self,
        host: str,
        port: int,
        largest_upload: int,
        refuse: Callable[[int, str], None],
        names: tuple[str, ...] = (),
    ) -> None:
        chosen = free_port(host, port)
        self.access = Access(host, names)
        self._page = tempfile.TemporaryDirectory(prefix="posable-studio-")
        folder = _write_page(Path(self._page.name))
        with _building, _quiet(), _guarded_server(folder, self.access):
            self.viser = viser.ViserServer(host=host, port=chosen, label=TITLE, verbose=False)
        sockets: Any = self.viser._websock_server
        try:
            viser_parts.check_server(self.viser)
            if not getattr(sockets, "is_guarded", False):
                raise viser_parts.missing("the call of websockets.asyncio.server.serve")
        except PosableError:
            with _quiet():
                self.viser.stop()
            self._page.cleanup()
            raise
        for shared in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
            sockets.unregister_handler(shared)
        self.page = Page(self.viser)
        # Not from the thread of the connections: whoever reports it may wait for somebody who waits for them.
        report = partial(self.page.submit, refuse)
        incoming = Incoming(self.viser, Uploads(self.viser, largest_upload), report)
        incoming.add_kind(StageAction, check_action)
        sockets.on_client_disconnect(lambda connection: incoming.forget(connection.client_id))
        sockets.incoming = incoming
        name = f"[{host}]" if ":" in host else host
        self._address = (name, self.viser.get_port())
        self.url = self.url_of("localhost" if name in ("0.0.0.0", "[::]") else name)

    def url_of(self, name: str) -> str:
        """Return the address of the page by a name of this machine, with the token where it takes one."""
        query = "" if self.access.token is None else f"/?{TOKEN}={self.access.token}"
        return f"http://{name}:{self._address[1]}{query}"

    @property
    def url_elsewhere(self) -> str | None:
        """Where other machines find the page; None where `url` says it, or where they cannot."""
        everywhere = self._address[0] in ("0.0.0.0", "[::]")
        return self.url_of(socket.gethostname()) if everywhere else None

    def stop(self) -> None:
        """Stop answering and wait until the server's threads have ended, `LONGEST_STOP` seconds at most.

        The bound is for a handler that does not end: it must not keep the program from ending.
        """
        with _quiet():
            self.viser.stop()
        handlers = self.viser._thread_executor
        handlers.shutdown(wait=False, cancel_futures=True)
        self.page.close()
        latest = time.monotonic() + LONGEST_STOP
        for thread in (*handlers._threads, *self.page.threads):
            thread.join(max(0.0, latest - time.monotonic()))
        self._page.cleanup()


def _write_page(folder: Path) -> Path:
    """A copy of viser's page under our title and sign, with our own script and styles."""
    page = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_bytes()
    head, mark, rest = page.partition(b"</head>")
    head = re.sub(rb"<title>.*?</title>", f"<title>{TITLE}</title>".encode(), head, count=1)
    head = re.sub(rb'href="data:image/svg\+xml,[^"]*"', f'href="{ICON}"'.encode(), head, count=1)
    script, style = ((PAGE / f"stage.{suffix}").read_bytes() for suffix in ("js", "css"))
    own = b"<style>" + style + b"</style><script>" + WITHOUT_TOKEN.encode() + script + b"</script>"
    # Styles of viser's that are as specific would win by coming later.
    rest = rest.replace(b"<body>", b"<body>" + own, 1)
    (folder / "index.html").write_bytes(head + mark + rest)
    return folder


@contextlib.contextmanager
def _guarded_server(folder: Path, access: Access) -> Iterator[None]:
    """Guard a server that is built within: it takes its page from a folder, and answers whom it may.

    viser has no arguments for either: it makes its server by the name `infra.WebsockServer`, and that one listens by
    the name `websockets.asyncio.server.serve`, on a thread of its own. Both are exchanged while it is built.
    """

    class Guarded(infra.WebsockServer):
        incoming: Incoming | None = None
        is_guarded = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "http_server_root": folder})
            self.on_client_connect(self._check_connection)
            made.append(self)

        def _check_connection(self, connection: Any) -> None:
            handle = connection._handle_incoming_message

            async def checked(client: Any, message: Any) -> None:
                await _until(lambda: hasattr(message, "is_taken"))  # `_handle_incoming_message` says so
                if getattr(message, "is_taken", False):
                    await handle(client, message)

            connection._handle_incoming_message = checked

        async def _handle_incoming_message(self, client_id: Any, message: Any) -> None:
            await _until(lambda: self.incoming is not None)  # a window may be there before all is built
            message.is_taken = self.incoming is not None and self.incoming.takes(client_id, message)
            if message.is_taken:
                await super()._handle_incoming_message(client_id, message)

    def guarded_serve(*args: Any, **kwargs: Any) -> Any:
        server = next((one for one in made if one._server_thread is threading.current_thread()), None)
        answer = kwargs.get("process_request")
        if server is not None and answer is not None:
            kwargs["process_request"] = access.guarded(answer)
            server.is_guarded = True
        return serve(*args, **kwargs)

    made: list[Guarded] = []
    usual, serve = infra.WebsockServer, websockets.asyncio.server.serve
    infra.WebsockServer = Guarded  # type: ignore[misc]
    websockets.asyncio.server.serve = guarded_serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        infra.WebsockServer = usual  # type: ignore[misc]
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


async def _until(condition: Callable[[], bool], longest: float = 20.0) -> None:
    """Wait on the event loop until something is true, or for so many seconds."""
    latest = time.monotonic() + longest
    while not condition() and time.monotonic() < latest:
        await asyncio.sleep(0.01)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep viser's own banner off the terminal: the command line says where the studio is."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before

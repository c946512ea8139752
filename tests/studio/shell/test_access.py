"""Who may talk to the studio: tried with raw requests, as any program or page could send them."""

import base64
import os
import socket
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import viser

from posable.compute import PosableError
from posable.studio import Session, Studio
from posable.studio.network.access import Access, is_loopback
from posable.studio.server import free_port

from ..scripted import CAMERA
from .conftest import chain_motion

EVIL = "evil.example"


def ask(port: int, path: str = "/", frames: bytes = b"", *, websocket: bool = True, **headers: str | list[str]):
    """The status of a raw request and its headers; `frames` are sent in the same breath as a websocket's handshake.

    A header is named as it is written but for "_"; a list is sent as several.
    """
    given: dict[str, str | list[str]] = {"Host": f"127.0.0.1:{port}", **headers}
    if websocket:
        key = base64.b64encode(os.urandom(16)).decode()
        given |= {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key}
        given |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}"}
    lines = [f"GET {path} HTTP/1.1"]
    for name, values in given.items():
        lines += [f"{name}: {value}" for value in ([values] if isinstance(values, str) else values)]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + frames)
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = connection.recv(4096)
            if not more:
                break
            answer += more
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    return int(head[0].split()[1]), dict(line.split(": ", 1) for line in head[1:])


def frame(message: dict[str, object]) -> bytes:
    """A message as a browser puts it on the wire: one masked binary frame."""
    content, mask = msgspec.msgpack.encode(message), os.urandom(4)
    length = bytes([0xFE]) + len(content).to_bytes(2, "big") if len(content) > 125 else bytes([0x80 | len(content)])
    return b"\x82" + length + mask + bytes(byte ^ mask[k % 4] for k, byte in enumerate(content))


SEEK = {"type": "StageAction", "action": "scrub", "value": 0.5}


def port_of(studio: Studio) -> int:
    return urlsplit(studio.url).port or 0


class TestLoopback:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8", "LOCALHOST.", "[::1]"])
    def test_loopback_is_known(self, host):
        assert is_loopback(host)

    @pytest.mark.parametrize(
        "host", ["0.0.0.0", "192.168.1.4", EVIL, "::", "", "127.0.0.1.example.org", "localhost.e.org"]
    )
    def test_everything_else_is_not_loopback(self, host):
        assert not is_loopback(host)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"Origin": f"http://{EVIL}"},
            {"Origin": "http://127.0.0.1:9"},
            {"Origin": "null"},
            {"Origin": ""},
            {"Origin": "http://127.0.0.1"},
            {"Origin": "file://"},
            {"Origin": "chrome-extension://abcdef"},
            {"Origin": "http://[::1"},
            {"Origin": "http://l\u00f6calhost"},
            {"Origin": "http://127.0.0.1:9@127.0.0.1"},
            {"Host": EVIL},
            {"Host": f"{EVIL}:8080", "Origin": f"http://{EVIL}:8080"},
            {"Host": "127.0.0.1.evil.example"},
            {"Host": "localhost@evil.example"},
            {"Host": "evil.example#localhost"},
            {"Host": ""},
            {"Host": ["127.0.0.1", EVIL]},
            {"Host": ["127.0.0.1", "127.0.0.1"]},
        ],
    )
    def test_a_stranger_is_refused_before_anything_it_sent_is_read(self, studio: Studio, session: Session, wrong):
        """Whether it asks for the page or for a websocket, and however early it sends its messages."""
        session.clock.seek(0.0)
        port, before = port_of(studio), dict(studio._web.viser._websock_server._client_state_from_id)
        if "Origin" in wrong:
            wrong = {name: value.replace(":8080", f":{port}") for name, value in wrong.items()}
        status, headers = ask(port, frames=(frame(CAMERA) + frame(SEEK)) * 8, **wrong)
        assert status in (400, 403), "403; 400 where the library itself takes the request for none"
        assert "Sec-WebSocket-Accept" not in headers
        assert ask(port, websocket=False, **wrong)[0] in (400, 403)
        time.sleep(0.05)
        assert session.clock.time == 0.0, "nothing was done"
        assert dict(studio._web.viser._websock_server._client_state_from_id) == before

    def test_our_own_page_and_programs_without_an_origin_are_let_in(self, studio: Studio, session: Session):
        port = port_of(studio)
        for own in (
            {},
            {"Origin": f"http://127.0.0.1:{port}"},
            {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"},
            {"Host": "localhost:9000", "Origin": "http://LOCALHOST:9000"},  # through a tunnel
            {"Host": f"[::1]:{port}", "Origin": f"http://[::1]:{port}"},
        ):
            assert ask(port, **own)[0] == 101, own
            status, headers = ask(port, websocket=False, **own)
            assert status == 200 and "Set-Cookie" not in headers
            assert headers["X-Frame-Options"] == "SAMEORIGIN" and "frame-ancestors 'self'" in str(headers)

    @pytest.mark.parametrize(
        "query", ["?websocket=ws://evil.example", "?fixedDpr=1&playbackPath=http://evil.example/x"]
    )
    def test_a_link_cannot_have_our_page_talk_to_another_server(self, studio: Studio, query):
        assert ask(port_of(studio), f"/{query}", websocket=False)[0] == 403
        status, headers = ask(port_of(studio), "/?fixedDpr=1", websocket=False)
        assert status == 200 and "connect-src 'self'" in headers["Content-Security-Policy"]

    def test_what_a_window_of_our_own_sends_at_once_is_done(self, studio: Studio, session: Session):
        """The same messages as a stranger's, from our own page: so that they would have done something."""
        from websockets.sync.client import connect

        session.clock.seek(0.0)
        with connect(
            studio.url.replace("http", "ws"), subprotocols=[f"viser-v{viser.__version__}"], origin=studio.url
        ) as own:
            own.send(msgspec.msgpack.encode(CAMERA))
            end = time.monotonic() + 30
            while session.clock.time != 0.5 and time.monotonic() < end:
                own.send(msgspec.msgpack.encode(SEEK))
                time.sleep(0.05)
        assert session.clock.time == 0.5


@pytest.fixture(scope="module")
def open_studio() -> Iterator[Studio]:
    with Studio(chain_motion(), host="0.0.0.0", port=0, open_browser=False, allowed_hosts=["studio.test"]) as running:
        yield running


class TestOtherMachines:
    def token_of(self, studio: Studio) -> str:
        return parse_qs(urlsplit(studio.url).query)["token"][0]

    @pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/?token=wr%C3%B6ng&token=x", "/?TOKEN=x"])
    def test_without_the_token_nobody_is_answered(self, open_studio: Studio, path):
        port = port_of(open_studio)
        wrong = {"Cookie": f"posable-studio-{port}=wrong; token={self.token_of(open_studio)}; x"}
        for headers in ({}, wrong, {"Origin": f"http://127.0.0.1:{port}"}):
            assert ask(port, path, **headers)[0] == 403
            assert ask(port, path, websocket=False, **headers)[0] == 403

    def test_the_printed_address_lets_a_browser_in_and_its_cookie_from_then_on(self, open_studio: Studio):
        port, token = port_of(open_studio), self.token_of(open_studio)
        assert len(token) >= 32
        status, headers = ask(port, f"/?token={token}", websocket=False)
        assert status == 200 and headers["Referrer-Policy"] == "no-referrer"
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "token=" not in headers.get("Location", "")
        kept = {"Cookie": f"other=1; {cookie.partition(';')[0]}"}
        assert ask(port, websocket=False, **kept)[0] == 200
        assert ask(port, Origin=f"http://127.0.0.1:{port}", **kept)[0] == 101
        assert ask(port, f"/?token={token}")[0] == 101, "a program without cookies"
        assert ask(port, Origin=f"http://{EVIL}", **kept)[0] == 403, "a cookie is no leave for another page"

    def test_a_name_that_is_pointed_here_is_refused_even_with_the_token(self, open_studio: Studio):
        port, path = port_of(open_studio), f"/?token={self.token_of(open_studio)}"
        for name in (EVIL, "192.0.2.7", f"{socket.gethostname()}.evil.example", "studio.test.evil.example"):
            here = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
            assert ask(port, path, **here)[0] == 403, name
        for name in ("localhost", "127.0.0.1", socket.gethostname(), socket.gethostname().upper(), "studio.test"):
            here = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
            assert ask(port, path, **here)[0] == 101, name

    def test_the_address_that_a_request_reached_is_a_name_of_ours(self):
        access = Access("0.0.0.0")
        assert access.knows("192.0.2.7", "192.0.2.7") and access.knows("[2001:DB8::1]", "2001:db8:0::1")
        assert not access.knows("192.0.2.7", "192.0.2.8") and not access.knows("192.0.2.7")
        assert not Access("127.0.0.1").knows("192.0.2.7", "192.0.2.7")

    def test_files_by_path_are_for_this_machine_alone(self, open_studio: Studio, tmp_path):
        with pytest.raises(PosableError, match="open to other machines"):
            open_studio.session.open(tmp_path / "walk.bvh")
        assert not Access("127.0.0.1", ["proxy.example.org"]).is_private
        assert Access("127.0.0.1", ["localhost"]).is_private and Access("127.0.0.1").token is None

    def test_every_studio_has_a_token_of_its_own(self):
        assert Access("0.0.0.0").token != Access("0.0.0.0").token

    @pytest.mark.parametrize("name", ["http://a.example", "a.example:80", "", "a b", "evil.example/", "*"])
    def test_a_name_that_is_none_is_one_clear_error(self, name):
        with pytest.raises(PosableError, match="no name of a host"):
            Studio(allowed_hosts=[name])


class TestPorts:
    def test_a_taken_port_is_followed_by_the_next(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert free_port("127.0.0.1", port) > port

    @pytest.mark.parametrize(("host", "port"), [("256.1.1.1", 8080), ("203.0.113.7", 8080), ("127.0.0.1", 70000)])
    def test_an_impossible_address_is_one_clear_error(self, host, port):
        with pytest.raises(PosableError):
            Studio(host=host, port=port, open_browser=False).start()

    def test_the_server_listens_on_loopback_only(self, studio: Studio):
        sockets = studio._web.viser._websock_server
        assert sockets._host == "127.0.0.1"
        assert studio.url.startswith("http://127.0.0.1:") and "token" not in studio.url

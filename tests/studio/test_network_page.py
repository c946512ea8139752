"""The studio on the network, in a real browser: other sites, the token, and pages that send what they should not."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from posable.formats import load
from posable.studio import Session, Studio

from .scripted import CAMERA
from .window import Window, wait

ATTACK = """<!doctype html><title>another site</title><script>
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const messages = MESSAGES.map(bytes);
window.told = {opened: 0, refused: 0, received: 0};
function attack(address) {
  const socket = new WebSocket(address, "viser-vVERSION");
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { told.opened += 1; for (const each of messages) socket.send(each); };
  socket.onmessage = () => { told.received += 1; };
  socket.onclose = () => { told.refused += 1; };
}
for (let k = 0; k < 8; k += 1) for (const address of ADDRESSES) attack(address);
</script><iframe id="frame" src="FRAME"></iframe>"""


class Site(ThreadingHTTPServer):
    """Another site on this machine, with one page."""

    def __init__(self) -> None:
        self.page = b""
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def site() -> Iterator[Site]:
    running = Site()
    yield running
    running.shutdown()
    running.server_close()


def attack_page(studio: Studio) -> bytes:
    import viser

    seek = {"type": "StageAction", "action": "scrub", "value": 0.5}
    tab = studio._bar._field._impl.uuid
    change = {"type": "GuiUpdateMessage", "uuid": tab, "updates": {"value": "tab:Robot"}}
    huge = {"type": "GuiUpdateMessage", "uuid": tab, "updates": {"value": "x" * 5_000_000}}
    sent = [base64.b64encode(msgspec.msgpack.encode(each)).decode() for each in (CAMERA, seek, change, huge)]
    local = studio.url.replace("http", "ws")
    words = {
        "MESSAGES": repr(sent),
        "ADDRESSES": repr([local, local.replace("127.0.0.1", "localhost"), f"{local}/?x=1"]),
        "VERSION": viser.__version__,
        "FRAME": studio.url,
    }
    page = ATTACK
    for word, value in words.items():
        page = page.replace(word, value)
    return page.encode()


def test_a_page_of_another_site_can_do_nothing_and_sees_nothing(browser, studio: Studio, session: Session, site: Site):
    session.clock.pause()
    session.clock.seek(0.0)
    site.page = attack_page(studio)
    clients = set(session.server.get_clients())
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.url)
    page.wait_for_function("told.refused === 24")
    assert page.evaluate("told") == {"opened": 0, "refused": 24, "received": 0}
    # A frame of the studio in which a user could be made to press what is not seen stays empty.
    framed = [frame for frame in page.frames if frame is not page.main_frame]
    assert all("Timeline" not in frame.content() for frame in framed)
    # A link by which the studio's own page would talk to another server, which could run programs in it.
    heard = page.goto(f"{studio.url}/?websocket={site.url.replace('http', 'ws')}")
    assert heard.status == 403
    context.close()
    assert session.clock.time == 0.0 and session.tab == "Play"
    assert set(session.server.get_clients()) == clients
    buffer = session.server._websock_server.get_message_buffer()
    assert not [one for one in list(buffer.message_from_id.values()) if "x" * 1000 in str(getattr(one, "updates", ""))]


def test_a_page_that_sends_wrong_values_stays_and_so_do_the_others(
    browser, studio: Studio, session: Session, tmp_path: Path
):
    """And saving over a file asks first."""
    window = Window(browser, studio)
    shadows = next(c for c in session.gui._gui_input_handle_from_uuid.values() if c.label == "Look")
    send = "(message) => window.__viserMutable.sendMessage(message)"
    window.page.evaluate(
        send, {"type": "GuiUpdateMessage", "uuid": shadows._impl.uuid, "updates": {"value": "nothing"}}
    )
    window.page.get_by_text("does not offer").first.wait_for()
    window.page.evaluate(
        "() => window.__viserMutable.sendMessage({type: 'ScenePointerMessage', event_type: 'click', modifier: null,"
        "ray_origin: [NaN, 0, 0], ray_direction: [0, 0, 1], screen_pos: [[0.5, 0.5]]})"
    )
    window.page.get_by_text("the origin of a click").first.wait_for()
    assert shadows.value == "body" and window.field("Look").first.input_value() == "body"

    target = tmp_path / "walk.npz"
    target.write_bytes(b"precious")
    window.page.get_by_text("Save", exact=True).first.click()
    field = window.page.locator("input[value='walk.bvh']")
    field.fill(str(target))
    wait(lambda: any(str(target) == c.value for c in session.gui._gui_input_handle_from_uuid.values()), "the path")
    window.press("Save the motion")
    window.page.get_by_text("Replace the file?").wait_for()
    window.page.get_by_text("is there already").wait_for()
    window.press("Cancel")
    window.page.get_by_text("Replace the file?").wait_for(state="detached")
    assert target.read_bytes() == b"precious"
    window.press("Save the motion")
    window.press("Replace it")
    wait(lambda: target.read_bytes() != b"precious", "the file")
    window.page.get_by_text("Replace the file?").wait_for(state="detached")
    assert len(load(target)) == len(session.motion)
    new = tmp_path / "new.npz"
    window.page.locator(f"input[value='{target}']").fill(str(new))
    wait(lambda: any(str(new) == c.value for c in session.gui._gui_input_handle_from_uuid.values()), "the path")
    window.press("Save the motion")
    wait(new.exists, "a file that was not there, without a question")
    assert window.errors == []
    window.context.close()


def test_the_printed_address_opens_the_page_on_another_host_and_nothing_else_does(browser):
    with Studio(host="0.0.0.0", port=0, open_browser=False) as studio:
        studio.session.stage.shadows = False
        bare = studio.url.partition("/?")[0]
        stranger = browser.new_context()
        page = stranger.new_page()
        assert page.goto(bare).status == 403 and "token is missing" in page.content()
        window = Window(browser, studio)
        assert "token" not in window.page.url and "fixedDpr=1" in window.page.url, "it is not seen nor copied"
        assert window.page.evaluate("document.cookie") == "", "no program of a page reads it"
        before = set(studio.session.server.get_clients())
        window.page.goto(bare)  # again without it: the browser has the cookie
        window.page.get_by_text("Timeline").wait_for()
        wait(lambda: set(studio.session.server.get_clients()) - before, "the window to connect again")
        assert window.page.get_by_text("Open by path").count() == 0
        assert window.errors == []
        window.context.close()
        stranger.close()

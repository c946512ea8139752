"""A browser window on a studio, and what a hand with a mouse does in it.

Pages are drawn in software here, a few frames a second on a busy machine, so nothing waits for a time: a test waits
until what it expects is there.
"""

import io
import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posable.math as pm
from posable.studio import Session, Studio

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "_static"
RENEW = os.environ.get("POSABLE_UPDATE_PICTURES") == "1"
"""Whether pictures of the docs are taken anew."""
PATIENCE = float(os.environ.get("POSABLE_PATIENCE", "60"))
"""Seconds a test waits for something that must come."""
SIZE = {"width": 960, "height": 600}
SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()
"""Those that have windows."""


FRAMES = """count => new Promise(done => {
  const next = () => (count -= 1) < 0 ? done() : requestAnimationFrame(next);
  next();
})"""


class Window:
    """A browser window on a studio, and everything that went wrong in it."""

    def __init__(self, browser, studio: Studio, size: dict[str, int] = SIZE, resolution: float = 1.0) -> None:
        """Open it; `resolution` is how many pixels of the stage are drawn for one of the screen."""
        self.session = studio.session
        SESSIONS.add(self.session)
        before = set(self.session.server.get_clients())
        self.context = browser.new_context(viewport=size, accept_downloads=True)
        self.context.set_default_timeout(PATIENCE * 1000)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        # A page that draws slowly lowers its resolution when it likes, also between two pictures to be compared.
        self.page.goto(f"{studio.url}{'&' if '?' in studio.url else '/?'}fixedDpr={resolution:g}")
        self.page.get_by_text("Timeline", exact=True).wait_for()
        wait(lambda: set(self.session.server.get_clients()) - before, "the window to connect")
        self.client = self.session.server.get_clients()[max(self.session.server.get_clients())]
        wait(lambda: "/floor" in self.nodes(), "the scene")
        self.page.keyboard.press("Shift")  # whoever is new has read the sentences on the stage
        self.dismiss()

    def nodes(self) -> list[str]:
        """Names in the scene."""
        return self.page.evaluate("Object.keys(window.__viserSceneTree?.getState() ?? {})")

    def position_of(self, node: str) -> list[float] | None:
        """Where the page has a node of the scene, (3,) below its parent [m]; None where it has none."""
        found = self.page.evaluate("name => window.__viserMutable.nodePoseData[name]?.position", node)
        return found if node in self.nodes() else None

    def dismiss(self) -> None:
        """Close all notifications, such as the one that says that the page is drawn in software."""
        self.page.evaluate("document.querySelectorAll('.mantine-Notification-closeButton').forEach(b => b.click())")

    def forget_messages(self) -> None:
        """Take all messages away: those of tests name folders that are nobody's."""
        self.session._messages.clear()
        self.session.page.show("messages", [])
        self.session.page.show("message", None)
        self.dismiss()

    def field(self, label: str, what: str = "input"):
        """The control beside a label."""
        return self.page.locator(
            f"xpath=//label[normalize-space()='{label}']/ancestor::div[contains(@class, 'mantine-Flex-root')][1]"
        ).locator(what)

    def drag(self, slider, fraction: float) -> None:
        """Drag a slider to a share of its length, as a hand does: pressed, moved, held, let go."""
        box = slider.bounding_box()
        x, y = box["x"] + fraction * box["width"], box["y"] + box["height"] / 2
        self.page.mouse.move(x - 8, y)
        self.page.mouse.down()
        self.page.mouse.move(x, y, steps=3)
        self.drawn()
        self.page.mouse.up()

    def drawn(self, frames: int = 3) -> None:
        """Wait until the page has drawn so many frames: only then has it seen where the pointer is."""
        self.page.evaluate(FRAMES, frames)

    def picture(self) -> np.ndarray:
        """The stage as this window draws it now, small: (H, W, 3) int."""
        return self.client.get_render(180, 220, transport_format="png", timeout=PATIENCE)[..., :3].astype(int)

    def screen(self) -> np.ndarray:
        """What is on the screen left of the panel and above the timeline, once it stands still: (H, W, 3) int."""
        shots = [self._shot()]

        def still() -> bool:
            self.drawn()
            shots.append(self._shot())
            return bool((np.abs(shots[-1] - shots[-2]).max(axis=-1) > 8).mean() < 2e-4)

        wait(still, "the screen to stand still")
        return shots[-1]

    def _shot(self) -> np.ndarray:
        from PIL import Image

        shot = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        return np.asarray(shot, dtype=int)[: SIZE["height"] - 135, : SIZE["width"] - 330]

    def camera(self) -> list[float]:
        """Where the window's camera is."""
        return self.page.evaluate("window.__viserMutable.camera.position.toArray()")

    def press(self, button: str) -> None:
        """Press a button by what is written on it."""
        self.page.get_by_role("button", name=button, exact=True).click()


def wait(condition: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Wait until something is true, and what made it true is done; `what` is said where it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"waited in vain for {what if isinstance(what, str) else what()}")
        time.sleep(0.05)
    for session in tuple(SESSIONS):
        with session.lock:  # whoever changes something holds it until all that belongs to the change is there
            pass


def settled(window: Window) -> np.ndarray:
    """The stage when the present moment is drawn and two pictures in a row are the same."""
    wait(lambda: not window.session.stale(window.session.time), "the moment to be drawn")
    pictures = [window.picture()]

    def still() -> bool:
        window.drawn()
        pictures.append(window.picture())
        return bool((np.abs(pictures[-1] - pictures[-2]).max(axis=-1) > 8).mean() < 1e-3)

    wait(still, "the picture to stand still")
    return pictures[-1]


def differing(one: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels that differ visibly."""
    return float((np.abs(one - other).max(axis=-1) > 24).mean())


FEW = 1.0 if RENEW else 0.2
"""Pixels of the stage that are drawn for one of the screen, where nobody looks at the page itself."""


def by(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z])


def choose(window: Window, label: str, option: str) -> None:
    """Choose an option of the list beside a label; a list that closes as its panel is drawn anew is opened again."""
    from playwright.sync_api import TimeoutError as PageTimeout

    for _ in range(6):
        window.field(label).first.click()
        try:
            window.page.get_by_role("option", name=option, exact=True).click(timeout=10_000)
            return
        except PageTimeout:
            window.page.keyboard.press("Escape")
    pytest.fail(f"waited in vain for {option} of {label}")


def drag_arrow(window: Window, origin: np.ndarray, size: float) -> None:
    """Drag the arrow of a handle that points up, as a hand with a mouse does."""
    base, tip = (on_screen(window, origin + by(0.0, fraction * size, 0.0)) for fraction in (0.0, 0.75))
    window.page.mouse.move(*tip)
    window.drawn()
    window.page.mouse.down()
    window.drawn()
    window.page.mouse.move(*(tip + 0.9 * (tip - base)), steps=6)
    window.drawn()
    window.page.mouse.up()


def on_screen(window: Window, point: np.ndarray) -> np.ndarray:
    """(2,) where a point of the scene is on the page [pixels]."""
    camera = window.client.camera
    x, y, z = pm.rotate(pm.conjugate(np.array(camera.wxyz)), point - np.array(camera.position))
    box = window.page.locator("canvas").first.bounding_box() or {"x": 0, "y": 0, **SIZE}
    focal = 0.5 * box["height"] / np.tan(0.5 * camera.fov)
    centre = np.array([box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]])
    return centre + focal * np.array([x, y]) / z


def drag_ring(window: Window, origin: np.ndarray, wxyz: np.ndarray, size: float, axis: int) -> None:
    """Drag the ring of a handle that turns it about an axis of its own (0 to 2), some 30 degrees."""
    across = [np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]]
    # The ring is a quarter of a circle between the other two axes, at 0.65 of the handle's size.
    path = [
        on_screen(window, origin + 0.65 * size * pm.rotate(wxyz, np.cos(angle) * across[0] + np.sin(angle) * across[1]))
        for angle in np.radians([45.0, 52.0, 60.0, 67.0, 75.0])
    ]
    window.page.mouse.move(*path[0])
    window.drawn()
    window.page.mouse.down()
    window.drawn()
    for place in path[1:]:
        window.page.mouse.move(*place)
        window.drawn(1)
    window.drawn()
    window.page.mouse.up()

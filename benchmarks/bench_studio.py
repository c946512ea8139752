"""What it costs to show a moment in the studio, beside the forward kinematics of the same body.

On the server: the pose, the joints, and the messages for one moment. In the page (where a chromium and Playwright are
at hand): the work of the browser's main thread for it, with the scene hidden, so that drawing in software, which no
user does, is not measured. A moment every 1/60 s leaves 16.7 ms for each of the two.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from posable import samples
from posable.body import figure
from posable.formats import load
from posable.skeleton import Motion
from posable.studio import Session, Studio

from .harness import Contender, Table, compare, data_dir, table

MOMENTS = 240
RATE = 60.0


def run() -> list[Table]:
    with Studio(port=0, open_browser=False) as studio:
        session = studio.session
        session.clock.pause()
        stages = _stages(session)
        tables = [_server(session, stages)]
        page = _page(studio, stages)
        return [*tables, page] if page is not None else tables


def _stages(session: Session) -> dict[str, tuple[Callable[[], None], str]]:
    """What is put on the stage, by name: how, and a note."""
    body = figure()
    walk = samples.walk(body)

    def put(*motions: Motion, look: str = "body") -> Callable[[], None]:
        def do() -> None:
            session.set_look(look)
            for k, motion in enumerate(motions):
                session.add(motion, body=body if motion is walk else None, keep=k > 0)

        return do

    stages = {
        "one figure": (put(walk), f"{len(body.volumes)} volumes, {len(walk.skeleton)} joints"),
        "two figures": (put(walk, walk), ""),
        "its bones": (put(walk, look="bones"), "octahedra, batched"),
        "body and bones": (put(walk, look="both"), ""),
    }
    folder = data_dir()
    for name in ("CesiumMan.glb", "KayKit_Knight.glb") if folder is not None else ():
        motion = load(folder / "characters" / name)
        vertices = sum(len(mesh.vertices) for mesh in motion.skeleton.character.meshes)
        stages[f"character {name}"] = (put(motion), f"{vertices} vertices, {len(motion.skeleton)} joints")
    return stages


def _server(session: Session, stages: dict[str, tuple[Callable[[], None], str]]) -> Table:
    walk = samples.walk(figure())
    times = iter(np.tile(np.linspace(0.0, walk.duration, 997), 10_000))
    samples_of: dict[str, tuple[list[float], str]] = {}
    alone = compare(
        "alone", [Contender("pose and forward kinematics", lambda: walk.skeleton.forward(walk.at(next(times))))]
    ).rows[0]
    samples_of[alone.name] = ([alone.low, alone.value, alone.high], "the same body, one pose, nothing shown")
    for name, (put, note) in stages.items():
        put()
        row = compare(name, [Contender(name, lambda: session.draw(float(next(times)) % session.clock.duration))]).rows[
            0
        ]
        samples_of[name] = ([row.low, row.value, row.high], note)
    return table("A moment on the server", "µs", samples_of, note="16 667 µs are there for it at 60 Hz.")


def _page(studio: Studio, stages: dict[str, tuple[Callable[[], None], str]]) -> Table | None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    arguments = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    rows: dict[str, tuple[list[float], str]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": 640, "height": 400})
        page.goto(studio.url)
        page.get_by_text("Timeline").wait_for()
        page.wait_for_function("window.__viserMutable?.scene && window.__viserTestpoints")
        page.wait_for_timeout(3000)
        page.evaluate("window.__viserMutable.scene.visible = false")
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable")
        rows["nothing on the stage"] = (_played(page, meter, studio.session, lambda: _empty(studio.session)), "")
        for name, (put, note) in stages.items():
            rows[name] = (_played(page, meter, studio.session, put), note)
        browser.close()
    note = "16.7 ms are there for it at 60 Hz."
    return table("A moment in the page, drawing left out", "ms", rows, baseline="one figure", note=note)


def _empty(session: Session) -> None:
    for actor in session.actors:
        session.close_actor(actor)


def _played(page: Any, meter: Any, session: Session, put: Callable[[], None]) -> list[float]:
    """Milliseconds of the page's main thread for each moment, measured a quarter of the moments at a time."""
    put()
    page.wait_for_timeout(1500)
    values = []
    for _ in range(4):
        before = _busy(meter)
        due = time.perf_counter()
        for k in range(MOMENTS // 4):
            session.draw(k / RATE % max(session.clock.duration, 1e-3))
            due += 1.0 / RATE
            page.wait_for_timeout(max(0.0, due - time.perf_counter()) * 1000)
        values.append((_busy(meter) - before) * 1000 / (MOMENTS // 4))
    return values


def _busy(meter: Any) -> float:
    """Seconds that the page's main thread has worked."""
    metrics = {each["name"]: each["value"] for each in meter.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])

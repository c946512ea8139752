"""What it costs to show a moment in the studio, beside the forward kinematics of the same body.

On the server: the pose, the joints, and the messages for one moment. In the page (where a chromium and Playwright are
at hand): the work of the browser's main thread for it, with the scene hidden, so that drawing in software, which no
user does, is not measured. A moment every 1/60 s leaves 16.7 ms for each of the two. And the memory of the server
while a full stage plays for three minutes, watched by a window that takes all messages.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from posable import samples
from posable.body import figure
from posable.formats import load
from posable.skeleton import Motion, SkinnedMesh
from posable.studio import Session, Studio
from posable.studio.tabs.pose.options import ANSWERS, MOTION

from .harness import Contender, Table, compare, data_dir, table

MOMENTS = 240
RATE = 60.0
FULL = "two figures and a character of 30 000 triangles"
TRIANGLES = 30_000
PLAYED, EVERY = 180.0, 10.0  # [s]


def run() -> list[Table]:
    with Studio(port=0, open_browser=False) as studio:
        session = studio.session
        session.clock.pause()
        stages = _stages(session)
        tables = [_drags(studio), _server(session, stages)]
        page = _page(studio, stages)
        memory = _memory(studio, stages[FULL][0]) if FULL in stages and Path("/proc/self/statm").exists() else None
        return [*tables, *(each for each in (page, memory) if each is not None)]


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
    if folder is not None:
        large = _with_triangles(load(folder / "characters" / "KayKit_Knight.glb"), TRIANGLES)
        stages[FULL] = (put(walk, walk, large), "the knight, its triangles cut into smaller ones")
    return stages


def _with_triangles(motion: Motion, count: int) -> Motion:
    """Return a motion of a character with at least `count` triangles: its own, cut into four as often as it takes."""
    character = motion.skeleton.character
    meshes = list(character.meshes)
    while (missing := count - sum(len(mesh.faces) for mesh in meshes)) > 0:
        k = int(np.argmax([len(mesh.faces) for mesh in meshes]))
        meshes[k] = _cut(meshes[k], min(len(meshes[k].faces), -(-missing // 3)))
    return motion.replace(skeleton=motion.skeleton.replace(character=replace(character, meshes=tuple(meshes))))


def _cut(mesh: SkinnedMesh, count: int) -> SkinnedMesh:
    """Return a mesh with its first triangles cut into four; a new vertex has the joints of one of its neighbours."""
    a, b, c = mesh.faces[:count].T
    first = len(mesh.vertices) + np.arange(3 * count).reshape(3, count)
    ends = np.concatenate([a, b, c]), np.concatenate([b, c, a])
    ab, bc, ca = first
    corners = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
    faces = np.concatenate([mesh.faces[count:], *(np.stack(each, axis=1) for each in corners)])
    middles = (mesh.vertices[ends[0]] + mesh.vertices[ends[1]]) / 2
    return replace(
        mesh,
        vertices=np.concatenate([mesh.vertices, middles]),
        faces=faces.astype(np.int32),
        joints=np.concatenate([mesh.joints, mesh.joints[ends[0]]]),
        weights=np.concatenate([mesh.weights, mesh.weights[ends[0]]]),
        colours=np.concatenate([mesh.colours, mesh.colours[ends[0]]]) if len(mesh.colours) else mesh.colours,
    )


def _memory(studio: Studio, put: Callable[[], None]) -> Table:
    """The memory of the server while it plays for three minutes, in thirds."""
    import viser
    from websockets.sync.client import connect

    session, stop, taken = studio.session, threading.Event(), [0]

    def watch() -> None:
        protocol = f"viser-v{viser.__version__}"
        with connect(studio.url.replace("http", "ws"), subprotocols=[protocol], max_size=None) as window:
            while not stop.is_set():
                taken[0] += len(window.recv(timeout=20))

    put()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    session.clock.play()
    samples, began = [], time.monotonic()
    while time.monotonic() - began < PLAYED:
        time.sleep(EVERY)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        samples.append(pages * 4096 / 1e6)
    session.clock.pause()
    stop.set()
    session.draw(0.0)
    watcher.join(20)
    third = len(samples) // 3
    rows = {f"minute {k + 1}": (samples[k * third : (k + 1) * third], "") for k in range(3)}
    return table(
        "Memory of the server while a full stage plays",
        "MB",
        rows,
        note=f"{taken[0] / 1e6:.0f} MB were sent meanwhile.",
    )


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


def _drags(studio: Studio) -> Table:
    """A message of a dragged handle in the tab Pose: solved, shown and sent, on the built-in figure."""
    session = studio.session
    pose = next(tab for tab in studio.tabs if tab.title == "Pose")
    session.show_tab("Pose")
    session.clock.seek(0.5)
    rows: dict[str, tuple[list[float], str]] = {}
    for how in ANSWERS:
        for part in ("left_hand", "head"):
            pose.answer_by(how)
            pose.choose(part)
            pose.update(session.time)
            while session.edits.editor is None or (how == MOTION and not session.edits.fitted):
                time.sleep(0.05)
                pose.update(session.time)
            pose.update(session.time)
            row = compare(how, [Contender(how, _dragging(session, pose))]).rows[0]
            rows[f"{how}, {part.replace('_', ' ')}"] = ([row.low, row.value, row.high], "")
            pose.leave()
    pose.choose("(none)")
    return table("A drag on the server", "µs", rows, note="16 667 µs are there for it at 60 Hz.")


def _dragging(session: Session, pose: Any) -> Callable[[], None]:
    """A function that drags the handle on a little each time it is called."""
    start = np.array(session.gizmos["pose"].position)
    steps = iter(np.tile(np.linspace(0.01, 0.12, 97), 100_000))

    def drag() -> None:
        pose.drag(start + next(steps) * np.array([0.2, 0.5, 1.0]))
        pose.update(session.time)
        session.draw(session.time)

    return drag


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

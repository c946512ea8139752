"""A studio that is used for hours does not grow: windows come and go, tabs change, values move, messages are said."""

import gc
import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import viser

from posable.studio import Studio
from posable.studio.core.session import MESSAGES

from ..scripted import ScriptedWindow, wait

SOAK_MINUTES = 60


@pytest.fixture(scope="module")
def whole() -> Iterator[Studio]:
    """A studio with a person and all tabs, of its own: others would count."""
    with Studio(port=0, open_browser=False) as running:
        running.session.stage.shadows = False
        yield running


def sizes(studio: Studio) -> dict[str, int]:
    """How much there is of what could grow."""
    session, server = studio.session, studio.session.server
    sockets, gui, scene = server._websock_server, server.gui, server.scene
    buffer = sockets.get_message_buffer()
    messages = list(buffer.message_from_id.values())
    return {
        "messages for new windows": len(messages),
        "entities in the buffer": len(buffer.ids_from_entity_state_key) + len(buffer.generator_cursors),
        "controls": len(gui._gui_input_handle_from_uuid) + len(gui._container_handle_from_uuid),
        "commands": len(gui._command_handle_from_uuid),
        "uploads": len(gui._current_file_upload_states) + len(sockets.incoming._uploads),
        "nodes of the scene": len(scene._handle_from_node_name),
        "drags": len(scene._active_transform_drag_handles),
        "windows": len(server.get_clients()) + len(sockets._client_state_from_id) + len(sockets._live_connections),
        "handlers": sum(map(len, sockets._incoming_handlers.values())),
        "subscribers": len(session._subscribers) + len(session.click_handlers),
        "keys": len(session.keys._bound),
        "gizmos": len(session.gizmos),
        "steps": len(session.history._done) + len(session.history._undone),
        "said": len(session._messages) + len(session._notices) + len(sockets.incoming._said),
        "actors": len(session.actors) + len(session.extras),
        "looks": len(session.stage._looks),
        "animating": len(session.animating),
        "threads": len([one for one in threading.enumerate() if "ThreadPool" not in one.name]),
    }


def use(studio: Studio, draw: np.random.Generator) -> None:
    """Use a studio as some windows do in a minute or so, in one go."""
    session = studio.session
    with ScriptedWindow(studio) as window, ScriptedWindow(studio) as other:
        for title in session.tabs:
            window.give(studio._bar._field, f"tab:{title}")
            other.act("scrub", float(draw.uniform(0.0, session.clock.duration)))
            for button in ("Play", "Faster", "Slower", "Loop", "Loop", "Pause"):
                other.act("time", button)
            window.act("camera", str(draw.choice(["Front", "Side", "Top", "Frame all"])))
            window.act("dark", bool(draw.integers(2)))
            window.settle()
            _drag(window)
            for control in list(session.gui._gui_input_handle_from_uuid.values()):
                if isinstance(control, viser.GuiSliderHandle) and draw.random() < 0.3:
                    other.give(control, control.value)
                    other.give(control, control.max * 10 + 1)  # wrong
        session.open_sample("walk")
        session.select(session.active, int(draw.integers(5)))
        session.close_actor(session.active)
        session.notify("a note")
        session.show_error("an error")
        upload = next(
            c for c in session.gui._gui_input_handle_from_uuid.values() if isinstance(c, viser.GuiUploadButtonHandle)
        )
        name = uuid.uuid4().hex
        words = {"transfer_uuid": name, "source_component_uuid": upload._impl.uuid}
        file = {"filename": "x.bvh", "mime_type": "text/plain", "part_count": 3, "size_bytes": 30}
        window.send(type="FileTransferStartUpload", **words, **file)
        window.send(type="FileTransferPart", **words, part_index=0, content=b"x" * 10)  # and no more of it
        window.settle()
        window.give(studio._bar._field, "tab:Play")
        other.settle()
    with session.lock:
        session.show_tab("Play")
        session.clock.pause()
        session.stage.dark = False


def _drag(window: ScriptedWindow) -> None:
    for gizmo in list(window.session.gizmos.values()):
        at = tuple(float(x) for x in gizmo.position)
        for kind, more in (("DragStart", {}), ("Update", {"position": at, "wxyz": (1.0, 0.0, 0.0, 0.0)})):
            window.send(type=f"TransformControls{kind}Message", name=gizmo.name, owner="", **more)


def settled_sizes(studio: Studio) -> dict[str, int]:
    """`sizes` when the windows are gone and nothing is computed any more."""
    server = studio.session.server
    wait(lambda: not server.get_clients() and not server._websock_server._live_connections)
    wait(lambda: not studio.session.animating)
    studio.session.history.clear()
    server._websock_server.incoming._uploads._look()  # as a minute later
    server._run_garbage_collector()  # as when a window connects: what was removed is forgotten then
    gc.collect()
    return sizes(studio)


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, tuple[int, int]]:
    """What there is more of."""
    return {name: (before[name], after[name]) for name in before if after[name] > before[name]}


def begin(studio: Studio) -> None:
    """Say as many messages as can be read again."""
    for _ in range(MESSAGES):
        studio.session.notify("one of those that can be read again")


def test_a_studio_that_is_used_again_and_again_stops_growing(whole: Studio):
    """What is made when it is first needed is there after some rounds; what grows with each would go on."""
    begin(whole)
    before, more = settled_sizes(whole), []
    while len(more) < 15 and (len(more) < 2 or any(more[-2:])):
        use(whole, np.random.default_rng(0))
        after = settled_sizes(whole)
        more.append(grown(before, after))
        before = after
    assert more[-2:] == [{}, {}]


@pytest.mark.soak
@pytest.mark.timeout(60 * SOAK_MINUTES + 600)
def test_an_hour_of_windows_leaves_a_studio_as_large_as_it_was(whole: Studio, drawn):
    """A case is a minute."""
    begin(whole)
    for seed in range(16):
        use(whole, np.random.default_rng(seed % 8))
    before, memory = settled_sizes(whole), resident()
    end, rounds = time.monotonic() + 60 * drawn(SOAK_MINUTES), 0
    while time.monotonic() < end:
        use(whole, np.random.default_rng(rounds % 8))
        rounds += 1
    after, more = settled_sizes(whole), resident() - memory
    print(f"{rounds} rounds, {more / 1e6:.1f} MB more; more of {grown(before, after)}")
    assert rounds < 20 or all(late - early <= 10 for early, late in grown(before, after).values())
    assert more < 200e6, f"bytes more after {rounds} rounds"


def resident() -> float:
    """The memory of this process [bytes]; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0.0

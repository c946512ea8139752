"""Whatever a window sends, a control has a value that it can have, and the studio goes on."""

import math
import time
from collections.abc import Iterator

import numpy as np
import pytest
import viser

from posable.compute import PosableError
from posable.studio import Session, Studio
from posable.studio.core.files import LARGEST_UPLOAD
from posable.studio.network import uploads, viser_parts
from posable.studio.network.incoming import LONGEST_TEXT, SAID, RefusedError, check_action, check_value
from posable.studio.server import StageAction

from ..scripted import ScriptedWindow, wait
from .conftest import chain_motion

HOSTILE = [
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 2**63, -1),
    *("", "no such choice", "NaN", "x" * 20_000, "<img src=x onerror=alert(1)>"),
    *(None, {}, [], [math.nan] * 3, [0.0] * 100_000, [1e308, 1e308], ["a", "b"], [[1.0]], b"\0" * 100),
]


@pytest.fixture(scope="module")
def whole() -> Iterator[Studio]:
    """A studio with a person and all tabs."""
    with Studio(port=0, open_browser=False) as running:
        running.session.clock.pause()
        running.session.stage.shadows = False
        yield running


def can_have(control, value: object) -> bool:
    """Whether a control can have a value, said independently of the studio's own checks."""
    if isinstance(control, (viser.GuiDropdownHandle, viser.GuiButtonGroupHandle)):
        return value in control.options
    if isinstance(control, (viser.GuiCheckboxHandle, viser.GuiButtonHandle)):
        return value is True or value is False
    if isinstance(control, viser.GuiTextHandle):
        return isinstance(value, str) and len(value) <= LONGEST_TEXT
    if isinstance(control, viser.GuiUploadButtonHandle) or not hasattr(control, "label"):  # a progress bar
        return not isinstance(value, int)
    numbers = np.asarray(value, dtype=float)
    low, high = (control.min, control.max)
    return bool(
        np.isfinite(numbers).all()
        and (low is None or (numbers >= np.asarray(low) - 1e-9).all())
        and (high is None or (numbers <= np.asarray(high) + 1e-9).all())
    )


def test_no_control_of_any_tab_takes_a_value_that_it_cannot_have(whole: Studio):
    session = whole.session
    controls = dict(session.gui._gui_input_handle_from_uuid)
    kinds = {type(control).__name__ for control in controls.values()}
    assert len(kinds) >= 8 and len(controls) > 80
    shapes = {
        uuid: np.shape(control.value) for uuid, control in controls.items() if "Upload" not in type(control).__name__
    }
    callbacks = {uuid: len(control._impl.update_cb) for uuid, control in controls.items()}
    with ScriptedWindow(whole) as window:
        for uuid, control in controls.items():
            for value in HOSTILE:
                if isinstance(value, str) and len(value) < 100 and isinstance(control, viser.GuiTextHandle):
                    continue  # a text may be any
                if value == -1 and can_have(control, value):
                    continue
                window.give(control, value)
            now = {} if isinstance(control, viser.GuiUploadButtonHandle) else {"value": control.value}
            for more in ({}, {"removed": True}, {**now, "update_cb": []}, {**now, "removed": True}, {"sync_cb": "x"}):
                window.send(type="GuiUpdateMessage", uuid=uuid, updates=more)
        window.settle()
        for uuid, control in controls.items():
            if not isinstance(control, (viser.GuiButtonHandle, viser.GuiUploadButtonHandle)):
                assert can_have(control, control.value), (type(control).__name__, control.label, control.value)
                assert np.shape(control.value) == shapes[uuid]
            assert not control._impl.removed and len(control._impl.update_cb) == callbacks[uuid]
        said = [message["text"] for message in session._messages]
        assert 1 <= len(said) <= SAID, "however many there were"
        for title in session.tabs:
            session.show_tab(title)
            with session.lock:
                whole._front.update(session.time)
                session.draw(session.time)
        assert not whole._off
    session.show_tab("Play")


def test_a_window_hears_the_value_that_stands(studio: Studio, session: Session):
    """Else its slider would stay where nobody else has it."""
    slider = session.gui.add_slider("x", min=0.0, max=1.0, step=0.1, initial_value=0.3)
    with ScriptedWindow(studio) as window:
        queued: list[object] = []
        connection = session.server.get_clients()[window.client]._websock_connection
        usual = connection.queue_message
        connection.queue_message = lambda message: (queued.append(message), usual(message))[1]
        window.give(slider, 7.0)
        window.settle()
        assert slider.value == 0.3
        assert [message.updates for message in queued if getattr(message, "uuid", "") == slider._impl.uuid] == [
            {"value": 0.3}
        ]
        window.give(slider, 0.7)
        window.settle()
        assert slider.value == 0.7
    slider.remove()


def test_a_handle_and_a_click_stay_where_numbers_are(studio: Studio, session: Session):
    moved: list[np.ndarray] = []
    gizmo = session.add_gizmo("probe", np.zeros(3))
    gizmo.on_update(lambda event: moved.append(np.array(event.target.position)))
    name, straight = gizmo.name, (1.0, 0.0, 0.0, 0.0)
    with ScriptedWindow(studio) as window:
        wrong = [(math.nan, 0.0, 0.0), (1e308, 0.0, 0.0), (0.0, -math.inf, 0.0), (0.0, 0.0), (2e6, 0.0, 0.0)]
        for position in wrong[:3] + wrong[4:]:
            window.send(type="TransformControlsUpdateMessage", name=name, position=position, wxyz=straight, owner="")
        for wxyz in ((0.0,) * 4, (math.nan, 0.0, 0.0, 0.0), (1e308, 0.0, 0.0, 0.0)):
            window.send(type="TransformControlsUpdateMessage", name=name, position=(0.0,) * 3, wxyz=wxyz, owner="")
        for ray in wrong[:3]:
            click = {"event_type": "click", "screen_pos": ((0.5, 0.5),), "modifier": None}
            window.send(type="ScenePointerMessage", ray_origin=ray, ray_direction=(0.0, 0.0, 1.0), **click)
            window.send(type="ScenePointerMessage", ray_origin=(0.0, 1.0, 0.0), ray_direction=ray, **click)
        window.settle()
        assert moved == [] and np.allclose(gizmo.position, 0.0)
        window.send(type="TransformControlsUpdateMessage", name=name, position=(0.1, 0.2, 0.3), wxyz=straight, owner="")
        wait(lambda: moved)
        np.testing.assert_allclose(moved[-1], [0.1, 0.2, 0.3])
    session.remove_gizmo("probe")


def test_a_camera_that_is_nowhere_is_not_taken(studio: Studio, session: Session):
    from ..scripted import CAMERA

    with ScriptedWindow(studio) as window:
        camera = session.server.get_clients()[window.client].camera
        for wrong in (
            {"position": (math.nan,) * 3},
            {"fov": 0.0},
            {"fov": 9.0},
            {"wxyz": (0.0,) * 4},
            {"far": math.inf},
            {"look_at": CAMERA["position"]},
            {"up_direction": (0.0, 0.0, 0.0)},
        ):
            window.send(**{**CAMERA, **wrong})
        window.settle()
        assert np.isfinite(camera.position).all() and camera.fov == 1.0 and np.isfinite(camera.far)


def test_messages_that_a_page_does_not_send_are_not_handed_on_to_other_windows(studio: Studio, session: Session):
    buffer = session.server._websock_server.get_message_buffer()
    with ScriptedWindow(studio) as window:
        window.settle()
        before = len(buffer.message_from_id)
        for k in range(50):
            window.send(type="GuiFormDirtyMessage", uuid=f"{k}" * 1000)
            window.send(type="RunJavascriptMessage", source="alert(1)")
            window.act("scrub", "x" * 1_000_000)
            window.act("x" * 2000, None)
        window.settle()
        assert len(buffer.message_from_id) <= before + 5  # what the messages about it are


@pytest.mark.parametrize("value", [math.nan, 1e301, b"x", {"a": 1}, [[0] * 300], ["x"] * 400, "x" * 20_000, [{1: 2}]])
def test_an_action_of_the_page_has_a_small_plain_value(value):
    with pytest.raises(RefusedError):
        check_action(0, StageAction("scrub", value))
    check_action(0, StageAction("video", [".gif", 100, 100.5, [None, True, "x"]]))


def test_a_slider_is_moved_to_its_ends_and_between(session: Session):
    slider = session.gui.add_slider("y", min=-0.3, max=0.7, step=0.1, initial_value=0.0)
    number = session.gui.add_number("n", 1.0)
    pair = session.gui.add_vector2("v", (0.0, 0.0), min=(0.0, 0.0), max=(1.0, 2.0))
    for value in (-0.3, 0.7, -0.3 + 3 * 0.1, 0, 0.7 + 1e-12):
        check_value(slider, value)
    check_value(number, 1e6)
    check_value(pair, [1.0, 2.0])
    for control, wrong in ((slider, 0.71), (slider, True), (number, 1e10), (pair, [2.0, 1.0]), (pair, [0.5])):
        with pytest.raises(RefusedError):
            check_value(control, wrong)
    slider.disabled = True
    with pytest.raises(RefusedError):
        check_value(slider, 0.0)
    for control in (slider, number, pair):
        control.remove()


class TestUploads:
    @pytest.fixture
    def now(self) -> list[float]:
        return [0.0]

    @pytest.fixture
    def under_way(self, session: Session, now: list[float]) -> uploads.Uploads:
        return uploads.Uploads(session.server, LARGEST_UPLOAD, lambda: now[0])

    def start(
        self, session: Session, under_way: uploads.Uploads, name: str, size: int = 10, parts: int = 2, client: int = 0
    ):
        """Announce an upload as viser's own handler takes it, where it is taken."""
        button = next(
            uuid
            for uuid, control in session.gui._gui_input_handle_from_uuid.items()
            if isinstance(control, viser.GuiUploadButtonHandle)
        )
        message = viser_parts.messages().FileTransferStartUpload(button, name, f"{name}.bvh", "text/plain", parts, size)
        under_way._is_watched = True  # no event loop here
        under_way.start(client, message)
        session.gui._handle_file_transfer_start(client, message)

    def part(self, under_way: uploads.Uploads, name: str, content: object, client: int = 0) -> None:
        under_way.add_part(client, viser_parts.messages().FileTransferPart(None, name, 0, content))

    @pytest.fixture(autouse=True)
    def none_left(self, session: Session) -> Iterator[None]:
        yield
        session.gui._current_file_upload_states.clear()

    @pytest.mark.parametrize(
        ("size", "parts"),
        [(LARGEST_UPLOAD + 1, 300), (-1, 0), (0, 5), (10, 0), (10, 11), (1.5, 1), (2**80, 2), (10**6, 10**6)],
    )
    def test_one_that_is_too_large_or_impossible_is_not_begun(self, session, under_way, size, parts):
        with pytest.raises(RefusedError, match=r"upload was not taken: .+\."):
            self.start(session, under_way, "huge", size, parts)
        assert session.gui._current_file_upload_states == {} and len(under_way) == 0

    @pytest.mark.parametrize("content", [b"x" * 11, b"", "text", None])
    def test_one_that_is_not_what_it_said_is_dropped(self, session, under_way, content):
        self.start(session, under_way, "liar")
        with pytest.raises(RefusedError):
            self.part(under_way, "liar", content)
        assert session.gui._current_file_upload_states == {} and len(under_way) == 0

    def test_their_number_and_their_size_together_are_bounded(self, session, under_way):
        for client in range(3):
            for k in range(uploads.IN_A_WINDOW):
                self.start(session, under_way, f"{client} {k}", client=client)
            with pytest.raises(RefusedError, match="under way"):
                self.start(session, under_way, f"{client} more", client=client)
        with pytest.raises(RefusedError, match="12 others"):
            self.start(session, under_way, "of another window", client=9)
        under_way.forget(0)
        assert len(session.gui._current_file_upload_states) == 2 * uploads.IN_A_WINDOW
        self.start(session, under_way, "a", LARGEST_UPLOAD, 2, client=9)
        with pytest.raises(RefusedError, match="together"):
            self.start(session, under_way, "b", LARGEST_UPLOAD, 2, client=9)

    def test_one_that_does_not_go_on_is_dropped_and_one_that_does_is_not(self, session, under_way, now):
        self.start(session, under_way, "slow", 1000, 100)
        self.start(session, under_way, "silent", 1000, 100)
        for _ in range(10):
            now[0] += uploads.LONGEST_PAUSE / 5
            self.part(under_way, "slow", b"x")
            under_way.drop_old()
        assert list(session.gui._current_file_upload_states) == ["slow"]
        now[0] += uploads.LONGEST
        under_way.drop_old()
        assert session.gui._current_file_upload_states == {}

    def test_a_part_of_another_windows_upload_is_not_taken(self, session, under_way):
        self.start(session, under_way, "mine", client=1)
        with pytest.raises(RefusedError):
            self.part(under_way, "mine", b"theirs", client=2)
        with pytest.raises(RefusedError):
            self.start(session, under_way, "mine", client=2)

    def test_no_upload_becomes_the_value_of_another_control(self, studio: Studio, session: Session):
        slider = session.gui.add_slider("z", min=0, max=1, step=1, initial_value=0)
        with ScriptedWindow(studio) as window:
            words = {"transfer_uuid": "t", "filename": "x", "mime_type": "text/plain", "part_count": 0, "size_bytes": 0}
            window.send(type="FileTransferStartUpload", source_component_uuid=slider._impl.uuid, **words)
            window.settle()
            assert slider.value == 0
        slider.remove()


class TestPartsOfViser:
    """What happens with a version of viser that has changed."""

    @pytest.mark.parametrize("where", list(viser_parts.PARTS))
    def test_a_part_that_is_missing_is_one_clear_sentence(self, monkeypatch, where):
        module, _, path = where.partition(":")
        *owners, name = path.split(".")
        owner = __import__(module, fromlist=["x"])
        for each in owners:
            owner = getattr(owner, each)
        if name == "__init__":
            monkeypatch.setattr(owner, name, lambda self: None)
        else:
            for above in getattr(owner, "__mro__", (owner,)):
                if name in vars(above):
                    monkeypatch.delattr(above, name)
        with pytest.raises(PosableError, match=rf"viser {viser.__version__} lacks .*{name}.*pip install 'viser"):
            viser_parts.check_parts()

    def test_an_argument_that_is_missing_is_named(self, monkeypatch):
        monkeypatch.setitem(viser_parts.PARTS, "viser._messages:GuiUpdateMessage", ("uuid", "moved_elsewhere"))
        with pytest.raises(PosableError, match="the argument 'moved_elsewhere' of viser"):
            viser_parts.check_parts()

    @pytest.mark.parametrize("part", ["gui.not_there", "_not_there"])
    def test_what_a_running_server_lacks_ends_it_with_a_sentence(self, monkeypatch, part):
        monkeypatch.setattr(viser_parts, "OF_A_SERVER", (*viser_parts.OF_A_SERVER, part))
        with pytest.raises(PosableError, match=f"lacks ViserServer.{part}"):
            Studio(chain_motion(), port=0, open_browser=False).start()

    def test_a_server_that_cannot_be_guarded_is_not_run(self, monkeypatch):
        """Should viser listen in another way, strangers would not be refused: then it does not listen at all."""
        import websockets.asyncio.server
        from viser.infra import _infra

        class Elsewhere:
            class asyncio:  # noqa: N801
                class server:  # noqa: N801
                    serve = websockets.asyncio.server.serve
                    ServerConnection = websockets.asyncio.server.ServerConnection

            datastructures, exceptions = websockets.datastructures, websockets.exceptions

        monkeypatch.setattr(_infra, "websockets", Elsewhere)
        with pytest.raises(PosableError, match=r"websockets\.asyncio\.server\.serve"):
            Studio(chain_motion(), port=0, open_browser=False).start()


class TestFailingTabs:
    def run(self, tab: type, doing) -> list[str]:
        """Messages of a studio with a tab while `doing(studio)` runs and a window looks."""
        tabs = [tab] if tab is Quiet else [tab, Quiet]
        with Studio(chain_motion(), port=0, open_browser=False, tabs=tabs) as studio, ScriptedWindow(studio):
            doing(studio)
            return [message["text"] for message in studio.session._messages]

    def test_a_tab_that_fails_is_switched_off_with_one_message_until_a_user_switches_it_on(self):
        calls: list[float] = []

        class Failing(Quiet):
            title = "Failing"

            def update(self, time: float) -> None:
                calls.append(time)
                if len(calls) < 100:
                    raise ValueError(f"wrong {len(calls)}")

            def leave(self) -> None:
                raise KeyError("cannot leave, either")

        def use(studio: Studio) -> None:
            session = studio.session
            session.clock.play()
            wait(lambda: studio._off)
            session.clock.play()
            session.animating.add("something")
            drawn = session._changes
            time.sleep(0.3)
            session.changed("pose")
            wait(lambda: not session.stale(session.time) or session._changes > drawn)
            assert len(calls) == 1, "it is not tried again by itself"
            assert not studio._folders["Failing"].visible and studio._off_panel.visible
            session.show_tab("Quiet")
            assert studio._folders["Quiet"].visible and not studio._off_panel.visible, "the others work"
            session.show_tab("Failing")
            assert studio._off_panel.visible and len(calls) == 1
            calls.extend([0.0] * 100)
            studio._switch_on(session)
            wait(lambda: len(calls) > 101)
            assert studio._folders["Failing"].visible and not studio._off_panel.visible

        said = self.run(Failing, use)
        assert [text for text in said if "switched off" in text] == [
            "The tab Failing was switched off: drawing it failed (ValueError: wrong 1)."
        ]

    def test_a_stage_that_cannot_be_drawn_is_said_once_and_tried_less_and_less(self):
        tries: list[float] = []

        def use(studio: Studio) -> None:
            def fail(_: float) -> None:
                tries.append(time.monotonic())
                raise ValueError("no numbers")

            studio.session.draw = fail
            studio.session.animating.add("something")
            wait(lambda: len(tries) >= 4)
            assert tries[-1] - tries[-2] > 0.3
            del studio.session.draw
            wait(lambda: studio._failures == 0)

        said = self.run(Quiet, use)
        assert len([text for text in said if "no numbers" in text]) <= 2, "of the tab, then of the stage"


class Quiet:
    """A tab that does nothing."""

    title = "Quiet"

    def build(self, session: Session) -> None:
        self.session = session

    def update(self, time: float) -> None:
        pass

    def leave(self) -> None:
        pass

    def close(self) -> None:
        pass

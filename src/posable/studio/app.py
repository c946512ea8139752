"""`Studio`: the browser app, started, run and closed."""

from __future__ import annotations

import logging
import os
import threading
import time
import webbrowser
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, Union

import viser

from ..compute import PosableError
from ..skeleton import Motion
from .core.files import LARGEST_UPLOAD, open_path
from .core.session import Session
from .server import Web, is_loopback
from .tabs import TABS, Tab
from .view.theme import ERROR, TAB_ROW, plain
from .widgets.timeline import Timeline

log = logging.getLogger("posable.studio")

RATE = 60.0
"""Moments drawn a second while something moves."""
Source: TypeAlias = Union[Motion, str, "os.PathLike[str]"]


class Studio:
    """One browser page with a stage, a timeline and a tab for each job.

    It starts with the built-in figure walking, or with what it is given. Use it as a context manager, or `start` and
    `close` it, or `run` it until Ctrl-C.

    Args:
        motions: motions and paths of files to show next to each other; None shows the built-in walk. A file that
            cannot be read becomes a message in the page.
        host: where to listen; the default is reached from this machine only. On any other host files are opened and
            saved through the browser only, not by path.
        port: first port to try; the next free one is taken. 0 lets the system choose.
        open_browser: open the page in the user's browser.
        tabs: the tabs' classes; see `posable.studio.Tab`.
    """

    def __init__(
        self,
        motions: Source | Iterable[Source] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        open_browser: bool = True,
        tabs: Sequence[type[Tab]] = TABS,
    ) -> None:
        one = isinstance(motions, (Motion, str, os.PathLike))
        self._sources: list[Source] = [motions] if one else list(motions or ())  # type: ignore[arg-type, list-item]
        self._host, self._port, self._open_browser = host, port, open_browser
        self._tab_classes = tuple(tabs)
        self._web: Web | None = None
        self._session: Session | None = None
        self._tabs: list[Tab] = []
        self._lifecycle = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._newcomers = threading.Event()

    @property
    def url(self) -> str:
        """Where the page is."""
        return self._running()[0].url

    @property
    def session(self) -> Session:
        """The session: the motions, the clock, the selection and the files that the studio works on."""
        return self._running()[1]

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """The tabs, built."""
        return tuple(self._tabs)

    def start(self) -> Studio:
        """Start the server and the loop that draws; returns at once."""
        with self._lifecycle:
            if self._web is not None:
                return self
            self._stop.clear()
            self._web = web = Web(self._host, self._port, LARGEST_UPLOAD, self._refused)
            try:
                self._session = session = Session(web.viser, paths=is_loopback(self._host))
                self._build(session)
                self._fill(session)
                web.viser.on_client_connect(self._welcome)
                loop = threading.Thread(target=self._loop, args=(web, session), name="posable-studio", daemon=True)
                loop.start()
                self._thread = loop
            except BaseException:
                self.close()
                raise
        if self._open_browser:
            webbrowser.open(web.url)
        return self

    def run(self) -> None:
        """Start, say where it is, and block until Ctrl-C or until another thread calls `close`."""
        try:
            web = self.start()._web
            if web is not None:  # None when another thread has closed it already
                print(f"The studio is at {web.url} (Ctrl-C ends it).", flush=True)
            while not self._stop.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the loop, the tabs and the server, and wait for their threads. A second call does nothing."""
        self._stop.set()
        self._newcomers.set()
        with self._lifecycle:  # whoever comes second waits, and then finds nothing left to do
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join()
            for tab in self._tabs:
                try:
                    tab.close()
                except Exception:
                    log.exception("closing the tab %s", tab.title)
            self._tabs, self._thread = [], None
            if self._session is not None:
                self._session.close()
            if self._web is not None:
                self._web.stop()
            self._session, self._web = None, None

    def __enter__(self) -> Studio:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> tuple[Web, Session]:
        if self._web is None or self._session is None:
            raise PosableError("the studio is not running; call start(), or use it in a with statement")
        return self._web, self._session

    def _build(self, session: Session) -> None:
        gui = session.gui
        self._message = gui.add_markdown("", visible=False)
        group = gui.add_tab_group()
        for kind in self._tab_classes:
            tab = kind()
            with group.add_tab(tab.title):
                tab.build(session)
            self._tabs.append(tab)
        self._timeline = Timeline(session)
        steps = gui.add_button_group("History", ("Undo", "Redo"))
        steps.on_click(session.guarded(lambda event: self._step(event.target.value)))
        gui.add_html(TAB_ROW)
        undo = gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl", icon=viser.Icon.ARROW_BACK_UP)
        undo.on_trigger(session.guarded(lambda _: self._step("Undo")))
        redo = gui.add_command("Redo", hotkey="Z", modifier="cmd/ctrl+shift", icon=viser.Icon.ARROW_FORWARD_UP)
        redo.on_trigger(session.guarded(lambda _: self._step("Redo")))
        session.subscribe(self._on_event)

    def _fill(self, session: Session) -> None:
        """Put the given motions on the stage; the walk when none was given, or none could be read."""
        failures = []
        for source in self._sources:
            try:
                if isinstance(source, Motion):
                    session.add(source)
                else:
                    session.add(open_path(os.fspath(source)))
            except PosableError as error:
                failures.append(str(error))
        if not session.actors:
            session.open_sample("walk")
        session.history.clear()
        session.changed("history")
        session.clock.play()
        session.draw(session.time)
        if failures:
            session.show_error("; ".join(failures))

    def _loop(self, web: Web, session: Session) -> None:
        """Draw at most `RATE` moments a second, each at its time; stand still while nobody looks."""
        due = time.monotonic()
        while not self._stop.is_set():
            if not web.viser.get_clients():
                self._newcomers.wait(0.5)
                due = time.monotonic()
            self._newcomers.clear()
            try:
                if session.stale(session.time):
                    with session.lock:  # a change by a user comes before the whole moment or after it, not inside
                        now = session.time  # whoever held the lock may have moved it
                        for tab in self._tabs:
                            tab.update(now)
                        self._timeline.update(now)
                        session.draw(now)
            except Exception as error:
                log.exception("drawing")
                session.clock.pause()
                session.show_error(f"Drawing failed and was paused ({type(error).__name__}: {error}).")
            due = max(due + 1.0 / RATE, time.monotonic())
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _welcome(self, client: viser.ClientHandle) -> None:
        self._newcomers.set()

    def _refused(self, client: int, why: str) -> None:
        if self._session is not None:
            self._session.show_error(f"The upload was not taken: {why}.")

    def _step(self, which: str) -> None:
        _, session = self._running()
        label = session.undo() if which == "Undo" else session.redo()
        session.notify(f"{which}: {label}" if label else f"Nothing to {which.lower()}")

    def _on_event(self, topic: str) -> None:
        if topic == "message" and self._session is not None and self._session.message is not None:
            kind, text = self._session.message
            self._message.visible = kind == "error"  # errors stay until something works again
            self._message.content = f'<span style="color: {ERROR}">{plain(text)}</span>'


def launch(motions: Source | Iterable[Source] | None = None, **options: Any) -> None:
    """Run a studio until Ctrl-C; the arguments are those of `Studio`."""
    Studio(motions, **options).run()

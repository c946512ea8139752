"""`Studio`: the browser app, started, run and closed."""

from __future__ import annotations

import logging
import os
import threading
import time
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import viser

from ..compute import PosableError, StoppedError, stoppable
from ..skeleton import Motion
from .core.files import LARGEST_UPLOAD, open_path
from .core.keys import HISTORY
from .core.progress import CompileWatch
from .core.session import Session
from .network.access import check_names
from .server import Web
from .tabs import TABS, Tab
from .tabs.live.tab import LIVE, LiveTab
from .widgets.contact_lane import ContactLane
from .widgets.controls import add_button, show
from .widgets.edit_bars import EditBars
from .widgets.stage_bar import StageBar
from .widgets.tab_bar import TabBar
from .widgets.timeline import Timeline

if TYPE_CHECKING:
    from ..live import Live

log = logging.getLogger("posable.studio")

RATE = 60.0
"""Moments drawn a second while something moves."""
LONGEST_PAUSE = 5.0
"""Seconds between two tries to draw a moment that fails, at most."""
LONGEST_CLOSE = 2.0
"""Seconds that closing waits for work under way, which is asked to stop."""
Source: TypeAlias = Union[Motion, str, "os.PathLike[str]"]


class Studio:
    """One browser page with a stage, a timeline and a tab for each job.

    It starts with the built-in figure walking, or with what it is given. Use it as a context manager, or `start` and
    `close` it, or `run` it until Ctrl-C.

    Args:
        motions: motions and paths of files to show next to each other; None shows the built-in walk. A file that
            cannot be read becomes a message in the page.
        host: where to listen; the default is reached from this machine only. On any other host the page asks for a
            token, which is in `url`, and files are opened and saved through the browser only, not by path.
        port: first port to try; the next free one is taken. 0 lets the system choose.
        open_browser: open the page in the user's browser.
        tabs: the tabs' classes; see `posable.studio.Tab`.
        allowed_hosts: names by which the page may be asked for besides those of this machine, such as that of a proxy
            before it. Whoever knows them is elsewhere: a token is asked for as on another host.
        roles: part to joint name, for rigs whose names do not tell who is who; they count for every skeleton that has
            the joint, also in files that are opened later.
        live: a loop to show in the tab Live, which comes to the front; whoever made it starts and stops it.
    """

    def __init__(
        self,
        motions: Source | Iterable[Source] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        open_browser: bool = True,
        tabs: Sequence[type[Tab]] = TABS,
        allowed_hosts: Iterable[str] = (),
        roles: Mapping[str, str] | None = None,
        live: Live | None = None,
    ) -> None:
        one = isinstance(motions, (Motion, str, os.PathLike))
        self._sources: list[Source] = [motions] if one else list(motions or ())  # type: ignore[arg-type, list-item]
        self._host, self._port, self._open_browser = host, port, open_browser
        self._tab_classes, self._allowed_hosts = tuple(tabs), check_names(allowed_hosts)
        self._roles, self._live = dict(roles or {}), live
        self._web: Web | None = None
        self._session: Session | None = None
        self._tabs: list[Tab] = []
        self._folders: dict[str, viser.GuiFolderHandle] = {}
        self._front: Tab | None = None
        self._off: set[Tab | None] = set()  # tabs that failed, and are not drawn
        self._off_panel: viser.GuiFolderHandle | None = None
        self._failures = 0  # moments in a row that could not be drawn
        self._lifecycle = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._newcomers = threading.Event()
        self._watch: CompileWatch | None = None
        self._stage_bar: StageBar | None = None
        self._contacts: ContactLane | None = None

    @property
    def url(self) -> str:
        """Where the page is, with the token where one is asked for."""
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
            self._web = web = Web(self._host, self._port, LARGEST_UPLOAD, self._refused, self._allowed_hosts)
            try:
                self._session = session = Session(web.viser, web.page, paths=web.access.is_private, roles=self._roles)
                self._watch = CompileWatch(session.progress)
                if self._live is not None:
                    session.shared[LIVE] = self._live
                if self._open_browser:  # now: the page says what is waited for, should kernels have to be compiled
                    webbrowser.open(web.url)
                self._build(session)
                self._fill(session)
                web.viser.on_client_connect(self._welcome)
                loop = threading.Thread(target=self._loop, args=(web, session), name="posable-studio", daemon=True)
                loop.start()
                self._thread = loop
            except BaseException:
                self.close()
                raise
        return self

    def run(self) -> None:
        """Start, say where it is, and block until Ctrl-C or until another thread calls `close`."""
        try:
            web = self.start()._web
            if web is not None:  # None when another thread has closed it already
                print(f"The studio is at {web.url} (Ctrl-C ends it).", flush=True)
                if web.url_elsewhere is not None:
                    print(f"From other machines: {web.url_elsewhere}", flush=True)
            while not self._stop.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the loop, the tabs and the server, and wait for their threads. A second call does nothing.

        Work under way is asked to stop, and waited for at most `LONGEST_CLOSE` seconds: what cannot stop ends by
        itself, and nothing comes of it.
        """
        self._stop.set()
        self._newcomers.set()
        if (session := self._session) is not None:
            session.stop_work(LONGEST_CLOSE)
        with self._lifecycle:  # whoever comes second waits, and then finds nothing left to do
            if self._session is not None:
                self._session.stop_work(LONGEST_CLOSE)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join(None if self._session is None else self._session.time_to_stop)
            self._close_tabs()
            for each in (self._stage_bar, self._contacts, self._watch):
                if each is not None:
                    each.close()
            self._stage_bar, self._contacts, self._watch = None, None, None
            if self._session is not None:
                self._session.edits.close()
                self._session.close()
            if self._web is not None:
                self._web.stop()
            self._session, self._web = None, None

    def _close_tabs(self) -> None:
        for tab in self._tabs:
            try:
                tab.close()
            except Exception:
                log.exception("closing the tab %s", tab.title)
        self._tabs, self._folders, self._front, self._thread = [], {}, None, None
        self._off.clear()
        self._off_panel = None

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
        tabs = [kind() for kind in self._tab_classes]
        session.tabs = tuple(tab.title for tab in tabs)
        self._bar = TabBar(session, session.tabs, session.show_tab)
        for tab in tabs:
            folder = gui.add_folder(None, visible=False)
            with folder:
                tab.build(session)
            self._tabs.append(tab)
            self._folders[tab.title] = folder
        self._off_panel = gui.add_folder(None, visible=False)
        with self._off_panel:
            gui.add_markdown("This tab was switched off, because drawing it failed. The others work as before.")
            add_button(session, "Switch it on again", lambda _: self._switch_on(session))
        self._timeline = Timeline(session)
        self._edits = EditBars(session)
        self._stage_bar = StageBar(session)
        self._contacts = ContactLane(session)
        session.on_page("history", lambda _, which: self._step(str(which)))
        undo, redo = (lambda _: self._step("Undo")), (lambda _: self._step("Redo"))
        session.keys.bind("ctrl+z", "Undo", undo, group=HISTORY, icon=viser.Icon.ARROW_BACK_UP)
        session.keys.bind("ctrl+y", "Redo", redo, group=HISTORY, icon=viser.Icon.ARROW_FORWARD_UP)
        session.keys.bind("ctrl+shift+z", "Redo", redo, group=HISTORY, icon=viser.Icon.ARROW_FORWARD_UP)
        session.subscribe(self._change_tab, "tab")
        if session.tabs:
            session.show_tab(session.tabs[0] if self._live is None else LiveTab.title)

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
        with stoppable(session.stopping):
            while not self._stop.is_set():
                if not web.viser.get_clients():
                    self._newcomers.wait(0.5)
                    due = time.monotonic()
                self._newcomers.clear()
                pause = 0.0
                if session.stale(session.time):
                    pause = self._draw(session)
                due = max(due + 1.0 / RATE, time.monotonic() + pause)
                self._stop.wait(max(0.0, due - time.monotonic()))

    def _draw(self, session: Session) -> float:
        """Draw a moment; returns how long to wait before the next one [s], more after each failure in a row.

        A failure is said once, however often it comes again; and the tab in front, which may be its cause, is switched
        off. (Saying it changes what is shown, and without that the next moment would be drawn at once, and fail.)
        """
        try:
            with session.lock:  # a change by a user comes before the whole moment or after it, not inside
                now = session.time  # whoever held the lock may have moved it
                if self._front is not None and self._front not in self._off:
                    self._front.update(now)
                self._edits.update(now)
                self._timeline.update(now)
                session.draw(now)
        except StoppedError:
            return 0.0
        except Exception as error:
            self._failures += 1
            if self._failures == 1 or (self._front is not None and self._front not in self._off):
                log.exception("drawing")
                self._switch_off(session, error)
            return min(0.1 * 2.0**self._failures, LONGEST_PAUSE)
        self._failures = 0
        return 0.0

    def _switch_off(self, session: Session, error: Exception) -> None:
        """Pause, and take the tab in front out of the drawing until a user switches it on again."""
        session.clock.pause()
        why, tab = f"{type(error).__name__}: {error}", self._front
        if tab is None or tab in self._off:
            session.show_error(f"Drawing failed and was paused ({why}).")
            return
        with session.lock:
            self._off.add(tab)
            self._leave(session, tab)
            self._show_folders(session)
        session.show_error(f"The tab {tab.title} was switched off: drawing it failed ({why}).")

    def _switch_on(self, session: Session) -> None:
        """Draw the tab in front again."""
        with session.lock:
            self._off.discard(self._front)
            self._show_folders(session)
            session.changed("look")

    def _leave(self, session: Session, tab: Tab) -> None:
        """Take away whatever a tab shows on the stage, also where it fails to do that itself."""
        try:
            tab.leave()
        except Exception:
            log.exception("leaving the tab %s", tab.title)
        session.clear_overlays()

    def _show_folders(self, session: Session) -> None:
        """Show the panel of the tab in front; in its place, while it is off, a sentence and a button."""
        is_off = self._front in self._off
        with session.server.atomic():
            for title, folder in self._folders.items():
                show(folder, "visible", title == session.tab and not is_off)
            if self._off_panel is not None:
                show(self._off_panel, "visible", is_off)

    def _welcome(self, client: viser.ClientHandle) -> None:
        self._newcomers.set()

    def _refused(self, client: int, why: str) -> None:
        if (session := self._session) is not None:
            session.show_error(why)

    def _step(self, which: str) -> None:
        _, session = self._running()
        label = session.undo() if which == "Undo" else session.redo()
        session.notify(f"{which}: {label}" if label else f"Nothing to {which.lower()}")

    def _change_tab(self, _topic: str) -> None:
        """Show the tab in front, and take away whatever the one before showed on the stage."""
        session = self._session
        if session is None:
            return
        old, self._front = self._front, next(tab for tab in self._tabs if tab.title == session.tab)
        session.marks_selection = getattr(self._front, "marks_selection", True)
        if old is not None:
            self._leave(session, old)
        with session.server.atomic():
            self._bar.show(session.tab)
            self._show_folders(session)


def launch(motions: Source | Iterable[Source] | None = None, **options: Any) -> None:
    """Run a studio until Ctrl-C; the arguments are those of `Studio`."""
    Studio(motions, **options).run()

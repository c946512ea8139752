"""The studio as a program: starting, running, closing, tabs."""

import threading
import time

import pytest

from posable.compute import PosableError
from posable.studio import Session, Studio
from posable.studio.server import free_port

from .conftest import chain_motion


class TestStudio:
    def test_it_starts_with_the_built_in_figure_walking(self):
        with Studio(port=0, open_browser=False) as studio:
            assert studio.session.active.name == "walk"
            assert studio.session.body is not None
            assert studio.session.clock.playing
            assert studio.session.history.undoable is None

    @pytest.mark.parametrize("name", ["walk", "run", "boxing", "reach", "dance", "throw"])
    def test_every_built_in_motion_opens(self, session: Session, name):
        actor = session.open_sample(name, keep=False)
        assert actor.body is not None and actor.motion.duration > 0.5
        session.draw(session.time)

    def test_an_unreadable_file_is_reported_and_the_walk_shown(self, tmp_path):
        broken = tmp_path / "broken.bvh"
        broken.write_text("HIERARCHY\nROOT")
        with Studio([broken, tmp_path / "missing.glb"], port=0, open_browser=False) as studio:
            kind, text = studio.session.message
            assert kind == "error" and "broken.bvh" in text and "missing.glb" in text
            assert studio.session.active.name == "walk"

    def test_motions_and_paths_are_shown_together(self, session: Session, tmp_path):
        path = session.save(tmp_path / "saved.npz")
        with Studio([chain_motion(), path], port=0, open_browser=False) as studio:
            assert len(studio.session.actors) == 2

    def test_closing_ends_every_thread_and_frees_the_port(self):
        before = set(threading.enumerate())
        studio = Studio(chain_motion(), port=0, open_browser=False).start()
        port = int(studio.url.rsplit(":", 1)[1])
        assert set(threading.enumerate()) - before
        studio.close()
        studio.close()
        assert not [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
        assert free_port("127.0.0.1", port) == port
        with pytest.raises(PosableError, match="not running"):
            _ = studio.url

    @pytest.mark.parametrize("ready", ["_web", "_session", "_thread"])
    def test_run_blocks_until_another_thread_closes_however_early(self, ready):
        failures: list[BaseException] = []

        def run() -> None:
            try:
                studio.run()
            except BaseException as error:
                failures.append(error)

        for closers in (1, 3):
            studio = Studio(chain_motion(), port=0, open_browser=False)
            runner = threading.Thread(target=run)
            runner.start()
            while getattr(studio, ready) is None:
                time.sleep(0.0005)
            assert runner.is_alive()
            closing = [threading.Thread(target=studio.close) for _ in range(closers)]
            for each in closing:
                each.start()
            for each in (*closing, runner):
                each.join(60)
                assert not each.is_alive()
            assert failures == []
            assert studio._web is None and studio._thread is None

    def test_it_can_be_started_again(self):
        studio = Studio(chain_motion(), port=0, open_browser=False)
        for _ in range(2):
            with studio:
                assert studio.session.actors

    def test_a_change_while_a_moment_is_drawn_is_drawn_in_the_next(self):
        """Else what a user does just then is never shown: the moment was taken for drawn with it."""
        threads: list[threading.Thread] = []
        seen: list[int] = []

        class Watch:
            title = "Watch"

            def build(self, session: Session) -> None:
                self.session, self.changes = session, 0

            def change(self) -> None:
                self.changes += 1
                self.session.changed("pose")

            def update(self, time: float) -> None:
                seen.append(self.changes)
                if len(threads) < 20:
                    threads.append(threading.Thread(target=self.change))
                    threads[-1].start()
                    threads[-1].join(0.02)  # in vain, while it has to wait for the drawing

            def close(self) -> None:
                pass

        with Studio(chain_motion(), port=0, open_browser=False, tabs=[Watch]) as studio:
            studio.session.clock.pause()
            studio.session.server.get_clients = lambda: {0: None}  # somebody looks
            studio.session._show_message = lambda *_: None
            studio._newcomers.set()
            end = time.monotonic() + 20
            while (len(seen) < 21 or seen[-1] < 20) and time.monotonic() < end:
                time.sleep(0.02)
        assert seen[-1] == 20, "every change was seen by an update after it"

    def test_a_tab_is_built_updated_and_closed(self):
        calls: list[str] = []

        class Counter:
            title = "Count"

            def build(self, session: Session) -> None:
                session.gui.add_button("Press")
                calls.append("build")

            def update(self, time: float) -> None:
                calls.append("update")

            def close(self) -> None:
                calls.append("close")

        with Studio(chain_motion(), port=0, open_browser=False, tabs=[Counter]) as studio:
            assert studio.tabs[0].title == "Count"
            studio._newcomers.set()  # as if a window had come
            while "update" not in calls:
                time.sleep(0.01)
        assert calls[0] == "build" and calls[-1] == "close" and calls.count("close") == 1

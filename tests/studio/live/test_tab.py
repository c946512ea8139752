"""The tab Live: started, calibrated, recorded, stopped; without a page."""

import numpy as np
import pytest

import posable as ps
from posable.live import Live
from posable.live.capture import CaptureReader
from posable.studio import Session, Studio
from posable.studio.tabs.live.tab import LiveTab
from posable.studio.view.theme import plain

from ..window import wait


def test_trackers_move_the_body_on_the_stage_and_it_is_sent(tab: LiveTab, session: Session, trackers, box):
    tab._out.value = f"vmc://127.0.0.1:{box.port}"
    tab.start()
    wait(lambda: tab.live.sent > 10, "bodies")
    tab.update(session.time)
    assert tab.guest in session.extras and tab.guest.pose_override is not None
    first = tab.guest.pose_override
    wait(lambda: tab.live.sent > 40, "more bodies")
    tab.update(session.time)
    assert not np.array_equal(tab.guest.pose_override.rotations, first.rotations)
    assert "live" in session.animating
    tab._written = -1.0
    tab.update(session.time)
    assert "bodies sent" in tab.status.text.content and "from packet to packets" in tab.status.text.content
    assert plain("udp 127.0.0.1:") in tab._senders.content and "left hand" in tab._points.content
    assert tab._gaps._plot.visible and len(box.read()) > 20
    tab.stop()
    assert tab.guest is None and "live" not in session.animating and tab.live is None
    tab.update(session.time)


def test_it_is_calibrated_and_says_what_to_do(tab: LiveTab, session: Session, trackers):
    tab.start()
    tab.live.calibrating.stand, tab.live.calibrating.move = 0.3, 0.3
    wait(lambda: tab.live.sent > 3, "bodies")
    tab.calibrate()
    wait(lambda: tab.live.calibrating.phase in ("stand", "move", "ready", "done"), "calibrating to begin")
    tab._write()
    assert "stand" in tab.status.text.content.lower() or "calibrat" in tab.status.text.content.lower()
    wait(lambda: not tab.live.calibrating.in_progress, "calibrating to end")
    tab._write()
    assert "alibrated" in tab.status.text.content


def test_a_capture_is_written(tab: LiveTab, session: Session, trackers, tmp_path):
    tab.start()
    wait(lambda: tab.live.sent > 3, "bodies")
    tab._file.value = str(tmp_path / "take.osc")
    tab.record()
    wait(lambda: tab.live.recording is not None, "the capture to begin")
    wait(lambda: tab.live.sent > 20, "more bodies")
    tab.record()
    wait(lambda: (tmp_path / "take.osc").exists(), "the capture to end")
    assert sum(record.kind == b"P" for record in CaptureReader(tmp_path / "take.osc")) > 3


def test_what_cannot_be_is_said(tab: LiveTab, session: Session):
    for label in ("calibrate", "record"):
        with pytest.raises(ps.PosableError, match="nothing runs"):
            getattr(tab, label)()
    tab._in.value = "fax"
    with pytest.raises(ps.PosableError, match="no such file"):
        tab.start()


def test_a_studio_that_is_open_to_others_speaks_to_this_machine_only(tab: LiveTab, session: Session, monkeypatch):
    monkeypatch.setattr(session, "paths", False)
    for field, text in (("_in", "vmc://0.0.0.0:0"), ("_out", "vmc://192.0.2.1:39539"), ("_in", "/etc/hosts.csv")):
        before = getattr(tab, field).value
        getattr(tab, field).value = text
        with pytest.raises(ps.PosableError, match="open to other machines"):
            tab.start()
        getattr(tab, field).value = before


def test_leaving_the_tab_takes_the_body_away_and_the_loop_goes_on(tab: LiveTab, session: Session, trackers):
    tab.start()
    wait(lambda: tab.live.sent > 3, "bodies")
    tab.update(session.time)
    session.show_tab("Play")
    assert tab.guest is None and "live" not in session.animating and tab.live.running
    session.show_tab("Live")
    tab.update(session.time)
    assert tab.guest is not None


def test_a_loop_that_the_command_started_is_shown(port, trackers):
    with Live(f"udp://127.0.0.1:{port}", (), show=lambda _: None) as live:
        live.start()
        with Studio(port=0, open_browser=False, live=live) as studio:
            assert studio.session.tab == "Live"
            found = next(tab for tab in studio.tabs if isinstance(tab, LiveTab))
            assert found.live is live and found._in.value == f"udp://127.0.0.1:{port}"
            wait(lambda: live.sent > 3, "bodies")
        assert live.running  # whoever made it stops it

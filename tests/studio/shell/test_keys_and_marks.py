"""Keys, marks on the timeline, the clock in the page, and the list of messages: what the server tells the page."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from posable.compute import PosableError
from posable.studio import Session, Studio
from posable.studio.core.keys import POSING
from posable.studio.core.marks import Mark
from posable.studio.widgets.timeline import RESYNC

from .conftest import chain_motion


class Told(list[tuple[str, Any]]):
    """What the page was told, in order."""

    def last(self, topic: str) -> Any:
        return next((value for name, value in reversed(self) if name == topic), None)

    def count(self, topic: object) -> int:
        return sum(name == topic for name, _ in self)


@pytest.fixture
def told(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Everything that is shown from now on, as the page would parse it."""
    heard = Told()
    monkeypatch.setattr(session.page, "show", lambda topic, value, client=None: heard.append((topic, _sent(value))))
    yield heard


def _sent(value: object) -> Any:
    return json.loads(json.dumps(value))


class TestKeys:
    def test_every_key_of_the_issue_is_bound_or_can_be(self, session: Session):
        bound = {key.press for key in session.keys.bound}
        assert {"space", "arrowleft", "arrowright", "ctrl+z", "ctrl+y", "ctrl+shift+z", "f", "h"} <= bound
        free = [session.keys.bind(press, press, lambda _: None) for press in ("1", "2", "3", "4", "g", "r", "delete")]
        for unbind in free:
            unbind()
        assert {key.press for key in session.keys.bound} == bound

    def test_the_help_lists_what_is_bound_and_nothing_else(self, session: Session, told: Told):
        unbind = session.keys.bind("alt+delete", "Remove it all", lambda _: None, group=POSING)
        shown = {key["shown"]: (key["label"], key["group"]) for key in told.last("keys")}
        assert shown["Alt+Del"] == ("Remove it all", "Posing")
        assert shown["Ctrl+Shift+Z"][0] == "Redo" and shown["←"][0] == "One frame back"
        assert set(shown) == {key.shown for key in session.keys.bound}
        unbind()
        assert "Alt+Del" not in {key["shown"] for key in told.last("keys")}

    def test_a_key_bound_twice_does_what_was_bound_last_until_that_is_unbound(self, session: Session):
        done: list[str] = []
        first = session.keys.bind("g", "Move", lambda _: done.append("first"))
        second = session.keys.bind("g", "Move it", lambda _: done.append("second"))
        session.keys.press("g", None)
        second()
        session.keys.press("g", None)
        first()
        session.keys.press("g", None)
        first()
        assert done == ["second", "first"]

    def test_a_key_that_fails_is_a_message_and_not_the_end(self, session: Session):
        def fail(_: object) -> None:
            raise PosableError("there is no edit to remove")

        unbind = session.keys.bind("delete", "Remove", fail)
        session.page.receive(None, "key", "delete")
        assert session.message == ("error", "there is no edit to remove")
        unbind()

    @pytest.mark.parametrize("press", ["", "G", "ctrl", "shift+ctrl+z", "ctrl+", "f13", "é", "gg", "meta+z"])
    def test_what_is_no_key_is_refused_by_name(self, session: Session, press: str):
        with pytest.raises(PosableError, match="no key"):
            session.keys.bind(press, "Nothing", lambda _: None)

    def test_keys_of_the_page_move_time_and_history(self, session: Session):
        session.clock.seek(0.0)
        for press, frame in (("arrowright", 1), ("arrowright", 2), ("arrowleft", 1), ("home", 0)):
            session.page.receive(None, "key", press)
            assert round(session.time * session.motion.fps) == frame
        before = session.actors
        session.add(chain_motion())
        session.page.receive(None, "key", "ctrl+z")
        assert session.actors == before
        session.page.receive(None, "key", "ctrl+y")
        assert len(session.actors) == len(before) + 1


class TestMarks:
    def test_marks_reach_the_page_with_their_frames_colours_and_labels(self, session: Session, told: Told):
        session.marks.put("Edits", [Mark(10, 30, "left hand", (200, 16, 255), at=(20,), name="7", muted=True)])
        (lane,) = (lane for lane in told.last("lanes") if lane["name"] == "Edits")
        (mark,) = lane["marks"]
        assert (mark["first"], mark["last"], mark["at"]) == (10, 30, [20])
        assert (mark["colour"], mark["label"], mark["key"], mark["muted"]) == ("#c810ff", "left hand", "7", True)
        assert not lane["moves"], "marks that nobody moves cannot be dragged"
        session.marks.put("Edits", ())
        assert "Edits" not in {lane["name"] for lane in told.last("lanes")}

    def test_the_same_marks_again_are_not_sent_again(self, session: Session, told: Told):
        for _ in range(3):
            session.marks.put("Keys", [Mark(5, 5, "key")])
        assert told.count("lanes") == 1
        session.marks.put("Keys", ())

    def test_a_mark_that_is_dragged_or_pressed_is_reported_by_its_name(self, session: Session):
        heard: list[object] = []
        marks = [Mark(10, 30, name="a"), Mark(40, 60, name="b")]
        session.marks.put("Edits", marks, moved=lambda *how: heard.append(how), chosen=heard.append)
        session.page.receive(None, "choose", ["Edits", "b"])
        session.page.receive(None, "move", ["Edits", "b", "first", -4, True])
        session.page.receive(None, "move", ["Elsewhere", "b", "first", -4, True])
        session.page.receive(None, "move", ["Edits", "b", "sideways", -4, True])
        assert heard == ["b", ("b", "first", -4, True)]
        session.marks.put("Edits", ())

    @pytest.mark.parametrize(("first", "last"), [(3, 2), (float("nan"), 2), (0, float("inf"))])
    def test_a_mark_without_a_range_is_refused(self, session: Session, first: float, last: float):
        with pytest.raises(PosableError, match="frame"):
            session.marks.put("Edits", [Mark(first, last)])

    def test_feet_that_stand_lie_on_the_timeline(self, studio: Studio, session: Session):
        """Judged from outside: a foot that is said to stand does not travel, one between two stands does."""
        session.open_sample("run", keep=False)
        session.open_sample("walk", keep=False)
        end = time.monotonic() + 60
        while studio._contacts.running and time.monotonic() < end:
            time.sleep(0.01)
        motion, body = session.motion, session.body
        world = motion.skeleton.forward(motion.pose).positions
        for side in ("left", "right"):
            marks = session.marks.of(f"{side.capitalize()} foot")
            assert len(marks) >= 3
            ball = world[:, body.index(f"{side}_toes")]
            for mark in marks:
                middle = (int(mark.first) + int(mark.last)) // 2
                assert np.ptp(ball[middle - 3 : middle + 4], axis=0).max() < 0.03
            for one, next_one in itertools.pairwise(marks):
                assert np.linalg.norm(ball[int(next_one.first)] - ball[int(one.last)]) > 0.3


class TestTimelineInThePage:
    def test_a_paused_clock_is_told_when_it_moves_and_only_then(self, studio: Studio, session: Session, told: Told):
        session.clock.pause()
        studio._timeline.scrub(0.5)
        assert told.last("clock")["time"] == session.time == 0.5 and not told.last("clock")["playing"]
        sent = told.count("clock")
        for _ in range(10):
            studio._timeline.update(session.time)
        assert told.count("clock") == sent

    def test_a_playing_clock_is_told_when_it_starts_and_about_once_a_second(
        self, studio: Studio, session: Session, told: Told, monkeypatch: pytest.MonkeyPatch
    ):
        session.add(chain_motion(10), keep=False)  # which begins anew every 0.3 s
        told.clear()
        now = [100.0]
        monkeypatch.setattr("posable.studio.widgets.timeline._time.monotonic", lambda: now[0])
        session.clock.seek(0.0)
        session.clock.play()
        duration = session.clock.duration
        studio._timeline.update(0.0)
        for k in range(1, 301):  # five seconds at 60 Hz
            now[0] = 100.0 + k / 60
            studio._timeline.update((k / 60) % duration)
        session.clock.pause()
        assert 1 <= told.count("clock") <= 5 / RESYNC + 2
        assert told.last("clock")["playing"]

    def test_time_that_jumps_while_it_plays_is_told_at_once(self, studio: Studio, session: Session, told: Told):
        session.clock.play()
        studio._timeline.update(session.time)
        sent = told.count("clock")
        studio._timeline.update(session.time + 0.4)
        session.clock.pause()
        assert told.count("clock") == sent + 1

    def test_a_page_that_sends_nonsense_does_no_harm(self, session: Session):
        session.clock.pause()
        session.clock.seek(0.25)
        for value in (None, "soon", float("nan"), []):
            session.page.receive(None, "scrub", value)
        session.page.receive(None, "nothing of ours", 1)
        session.page.receive(None, "move", 3)
        assert session.time == 0.25


class TestMessages:
    def test_the_last_messages_can_be_read_again_in_order(self, session: Session, told: Told):
        for k in range(80):
            (session.show_error if k % 2 else session.notify)(f"message {k}")
        listed = told.last("messages")
        assert [each["text"] for each in listed] == [f"message {k}" for k in range(20, 80)]
        assert [each["kind"] for each in listed[:2]] == ["note", "error"]


def test_marks_of_motions_that_are_not_on_the_stage_are_not_on_the_timeline(session: Session, told: Told):
    session.marks.put("Edits", [Mark(2, 8, "hand", name="1")])
    assert [lane["name"] for lane in told.last("lanes")] == ["Edits"]
    session.show_only(np.array([[-1.0, 0.0, -1.0], [1.0, 1.0, 1.0]]))
    assert told.last("lanes") == []
    session.marks.put("Contacts", [Mark(0, 3, "left foot")])  # found meanwhile
    assert told.last("lanes") == []
    session.show_only(None)
    assert {lane["name"] for lane in told.last("lanes")} == {"Edits", "Contacts"}
    session.marks.put("Edits", ())
    session.marks.put("Contacts", ())


def test_what_is_selected_is_of_the_body_that_is_worked_on(session: Session):
    """A name that stands at another body than the one whose handle is shown would be a lie."""
    first = session.active
    session.select(first, 1)
    session.replace(chain_motion(frames=9), "Shorten")
    assert session.selection is None, "another body"
    session.undo()
    session.select(first, 1)
    session.replace(first.motion[:5], "Cut")
    assert session.selection.actor is session.active and session.selection.joint == 1, "the same body, another motion"
    session.undo()
    assert session.selection.actor is first and session.selection.joint == 1
    second = session.add(chain_motion())
    assert session.selection is None
    session.select(first, 1)
    assert session.active is first
    session.activate(second)
    assert session.selection is None

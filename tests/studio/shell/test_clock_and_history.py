"""The clock of the studio, and what can be undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.compute import PosableError
from posable.studio.core.clock import Clock
from posable.studio.core.history import History


class FakeTime:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def clock_of(duration: float) -> tuple[Clock, FakeTime]:
    fake = FakeTime()
    clock = Clock(fake)
    clock.duration = duration
    return clock, fake


class TestClock:
    def test_time_passes_only_while_playing(self):
        clock, fake = clock_of(10.0)
        fake.now += 3
        assert clock.time == 0.0
        clock.play()
        fake.now += 3
        assert clock.time == pytest.approx(3.0)
        clock.pause()
        fake.now += 3
        assert clock.time == pytest.approx(3.0)

    def test_a_loop_goes_around_and_no_loop_stops_at_the_end(self):
        clock, fake = clock_of(2.0)
        clock.play()
        fake.now += 5
        assert clock.playing and clock.time == pytest.approx(1.0)
        clock.loop = False
        fake.now += 5
        assert clock.time == 2.0 and not clock.playing

    def test_play_at_the_end_starts_again(self):
        clock, fake = clock_of(2.0)
        clock.loop = False
        clock.seek(2.0)
        clock.play()
        fake.now += 0.5
        assert clock.time == pytest.approx(0.5)

    def test_a_change_of_speed_does_not_jump(self):
        clock, fake = clock_of(10.0)
        clock.play()
        fake.now += 2
        clock.speed = 0.5
        assert clock.time == pytest.approx(2.0)
        fake.now += 2
        assert clock.time == pytest.approx(3.0)

    def test_backwards_from_the_start_begins_at_the_end(self):
        clock, fake = clock_of(4.0)
        clock.speed = -1.0
        clock.play()
        fake.now += 1
        assert clock.time == pytest.approx(3.0)

    def test_a_timeline_of_no_length_never_plays(self):
        clock, fake = clock_of(0.0)
        clock.play()
        fake.now += 1
        assert not clock.playing and clock.time == 0.0

    def test_shortening_the_timeline_pulls_the_time_inside(self):
        clock, _ = clock_of(10.0)
        clock.seek(8.0)
        clock.duration = 3.0
        assert clock.time == 3.0

    @pytest.mark.parametrize("speed", [0.0, float("nan"), float("inf"), 1e6])
    def test_an_impossible_speed_is_refused(self, speed):
        with pytest.raises(PosableError, match="speed"):
            clock_of(1.0)[0].speed = speed

    def test_impossible_times_are_refused(self):
        clock, _ = clock_of(1.0)
        with pytest.raises(PosableError, match="NaN"):
            clock.seek(float("nan"))
        with pytest.raises(PosableError, match="timeline"):
            clock.duration = -1.0

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["play", "pause", "toggle", "seek", "step", "speed", "loop", "duration", "wait"]),
                st.floats(-20, 20),
            ),
            max_size=40,
        )
    )
    def test_the_time_is_always_on_the_timeline(self, actions):
        clock, fake = clock_of(3.0)
        for action, value in actions:
            if action == "wait":
                fake.now += abs(value)
            elif action in ("seek", "step"):
                getattr(clock, action)(value)
            elif action == "speed":
                clock.speed = value or 1.0
            elif action == "loop":
                clock.loop = value > 0
            elif action == "duration":
                clock.duration = abs(value)
            else:
                getattr(clock, action)()
            assert 0.0 <= clock.time <= clock.duration

    def test_stepping_visits_every_frame_and_comes_around(self):
        clock, _ = clock_of(30 / 30)
        visited = []
        for _ in range(31):
            visited.append(round(clock.time * 30))
            clock.step(1 / 30)
        assert visited == list(range(31))
        assert clock.time == 0.0
        clock.step(-1 / 30)
        assert clock.time == clock.duration


class TestHistory:
    @given(st.lists(st.sampled_from(["a", "b", "c", "undo", "redo"]), max_size=60))
    def test_it_behaves_like_a_list_with_a_cursor(self, actions):
        history, state = History(limit=1000), []
        done: list[str] = []
        undone: list[str] = []
        for action in actions:
            if action == "undo":
                assert history.undo() == (done[-1] if done else None)
                undone += [done.pop()] if done else []
            elif action == "redo":
                assert history.redo() == (undone[-1] if undone else None)
                done += [undone.pop()] if undone else []
            else:
                history.run(action, lambda letter=action: state.append(letter), state.pop)
                done.append(action)
                undone.clear()
            assert state == done
            assert history.undoable == (done[-1] if done else None)
            assert history.redoable == (undone[-1] if undone else None)

    def test_a_command_that_fails_is_not_remembered(self):
        history = History()

        def fail() -> None:
            raise PosableError("no")

        with pytest.raises(PosableError):
            history.run("fail", fail, lambda: None)
        assert history.undoable is None

    def test_the_oldest_are_forgotten(self):
        history = History(limit=3)
        for letter in "abcde":
            history.run(letter, lambda: None, lambda: None)
        assert [history.undo() for _ in range(4)] == ["e", "d", "c", None]

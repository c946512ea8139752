"""Controls that the studio's loop and a user both write."""

import pytest
from viser import _messages

from posable.compute import PosableError
from posable.studio import Session
from posable.studio.widgets.controls import Follower


def sent(session: Session, control, value: object) -> None:
    """A page's message has come, and its callback has not run yet (nobody is there to call back for)."""
    message = _messages.GuiUpdateMessage(control._impl.uuid, {"value": value})
    handling = session.gui._handle_gui_updates(12345, message)
    with pytest.raises(StopIteration):  # it never waits; and a browser of other tests has this thread's event loop
        handling.send(None)


@pytest.fixture
def slider(session: Session):
    control = session.gui.add_slider("x", min=0, max=100, step=1, initial_value=0)
    yield control
    control.remove()


def test_a_users_value_is_not_written_over_before_it_is_reported(session: Session, slider):
    received: list[int] = []
    follower = Follower(session, slider, received.append)
    follower.show(10)
    assert slider.value == 10 and received == []
    sent(session, slider, 40)
    assert follower.waits
    follower.show(10)
    assert slider.value == 40, "the loop leaves it alone"
    follower._changed()
    assert received == [40] and not follower.waits
    follower.show(39)
    assert slider.value == 39, "what became of it is shown"


def test_a_value_that_is_refused_goes_back(session: Session, slider):
    def refuse(value: int) -> None:
        raise PosableError(f"{value} is too much")

    follower = Follower(session, slider, refuse)
    follower.show(10)
    sent(session, slider, 90)
    session.guarded(lambda _: follower._changed())(object())
    assert session.message == ("error", "90 is too much")
    follower.show(10)
    assert slider.value == 10


def test_of_many_messages_the_last_is_reported(session: Session, slider):
    received: list[int] = []
    follower = Follower(session, slider, received.append)
    for value in (1, 2, 3):
        sent(session, slider, value)
        follower.show(0)
    for _ in range(3):
        follower._changed()
    assert received == [3, 3, 3] and slider.value == 3


def test_a_number_that_looks_the_same_is_left_as_it_is(session: Session):
    control = session.gui.add_slider("y", min=0.0, max=1.0, step=0.01, initial_value=0.8)
    follower = Follower(session, control, lambda _: None)
    follower.show(0.8004, near=0.006)
    assert control.value == 0.8
    follower.show(0.81, near=0.006)
    assert control.value == 0.81
    control.remove()

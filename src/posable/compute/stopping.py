"""Long work that another thread asks to stop: it does so between two batches, and between the pieces of a large one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class StoppedError(BaseException):
    """Raised in work that was asked to stop. Not an Exception, so that nobody takes it for a failure of the work."""


class _Request(threading.local):
    """The event that stops the work of this thread; None where there is none."""

    event: threading.Event | None = None


_request = _Request()
watched = 0
"""How many `stoppable` blocks there are, in all threads: while there are none, a batch looks no further."""
_counting = threading.Lock()


@contextmanager
def stoppable(event: threading.Event) -> Iterator[None]:
    """Let whatever this thread computes in the `with` block end with a `StoppedError` once the event is set."""
    global watched
    before, _request.event = _request.event, event
    with _counting:
        watched += 1
    try:
        yield
    finally:
        with _counting:
            watched -= 1
        _request.event = before


def stop_event() -> threading.Event | None:
    """Return the event that stops the work of this thread; None where nothing does."""
    return _request.event


def check_stop() -> None:
    """Raise a `StoppedError` where the work of this thread was asked to stop."""
    event = _request.event
    if event is not None and event.is_set():
        raise StoppedError("the work was asked to stop")

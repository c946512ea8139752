"""Long computations of a tab while the page stays responsive: one thread, and only the newest request is kept.

A computation stops between two blocks of it when the studio is closed (`posable.compute.stoppable`).
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from ...compute import StoppedError, check_stop, stoppable

if TYPE_CHECKING:
    from .session import Session

log = logging.getLogger("posable.studio")

Request = TypeVar("Request")
Result = TypeVar("Result")


class Worker(ABC, Generic[Request, Result]):
    """Computes one request at a time on its own thread; a newer request replaces one that still waits.

    The session is redrawn continuously meanwhile, and once more when the last result is there.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._lock = threading.Lock()
        self._pending: Request | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def running(self) -> bool:
        """Whether a computation is under way."""
        return self._thread is not None

    def submit(self, request: Request) -> None:
        """Compute a request, in place of any that still waits."""
        with self._lock:
            if self._stop.is_set():
                return
            self._pending = request
            if self._thread is None:
                self._session.animating.add(self._name)
                self._thread = threading.Thread(target=self._work, name=f"posable-{self._name}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Drop the waiting request, stop the computation under way, and wait for that.

        While the studio is closed, as long as that may take in all; what has not stopped by then ends by itself, and
        its result is dropped.
        """
        with self._lock:
            self._pending, thread = None, self._thread
            self._stop.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._session.time_to_stop)

    @abstractmethod
    def compute(self, request: Request) -> Result:
        """Compute the result; called on the worker's thread."""

    @abstractmethod
    def deliver(self, request: Request, result: Result | Exception) -> None:
        """Use a result, or the error raised instead of one; called on the worker's thread."""

    def _next(self) -> Request | None:
        with self._lock:
            request, self._pending = self._pending, None
            if request is None:
                self._thread = None
                self._session.animating.discard(self._name)
            return request

    def _work(self) -> None:
        while (request := self._next()) is not None:
            try:
                with stoppable(self._stop):
                    result: Result | Exception = self.compute(request)
                    check_stop()  # nobody is there any more to take it
            except StoppedError:
                continue
            except Exception as error:
                log.debug("working on %s", self._name, exc_info=True)
                result = error
            self.deliver(request, result)
        self._session.changed("pose")

"""Long work for a tab while the page goes on: one thread, and the newest question wins."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from .events import log
from .session import Session

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Worker(ABC, Generic[Question, Answer]):
    """Answers one question at a time, on a thread of its own; a newer one waits for its turn and older ones go.

    Args:
        session: told when there is an answer, and kept drawing while there is none.
        name: of the work, for the session and the thread.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._lock = threading.Lock()
        self._wanted: Question | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether something is under way."""
        return self._thread is not None

    def ask(self, question: Question) -> None:
        """Have a question answered, instead of any that still waits for its turn."""
        with self._lock:
            self._wanted = question
            if self._thread is None:
                self._session.movers.add(self._name)
                self._thread = threading.Thread(target=self._work, name=f"posable-{self._name}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Forget what waits, and wait for what is under way."""
        with self._lock:
            self._wanted, thread = None, self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @abstractmethod
    def answer(self, question: Question) -> Answer:
        """The work itself, on the thread."""

    @abstractmethod
    def tell(self, question: Question, answer: Answer | Exception) -> None:
        """What to do with an answer, or with the error that came instead."""

    def _next(self) -> Question | None:
        with self._lock:
            wanted, self._wanted = self._wanted, None
            if wanted is None:
                self._thread = None
                self._session.movers.discard(self._name)
            return wanted

    def _work(self) -> None:
        while (question := self._next()) is not None:
            try:
                answer: Answer | Exception = self.answer(question)
            except Exception as error:
                log.debug("working on %s", self._name, exc_info=True)
                answer = error
            self.tell(question, answer)
        self._session.changed("pose")

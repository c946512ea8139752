"""Controls of viser's that the program and a user both write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.session import Session


def assign(control: Any, value: object) -> None:
    """Set a control's value in every window. (Type checkers take viser's `value` for read-only.)"""
    control.value = value


def show(control: Any, what: str, value: object) -> None:
    """Set something of a control, such as its "content", where it differs: only what differs is sent."""
    if getattr(control, what) != value:
        setattr(control, what, value)


def add_button(session: Session, label: str, action: Callable[[Any], None], **options: Any) -> Any:
    """Add a button to the panel, here, that calls `action` with viser's event; errors are shown in the page."""
    button = session.gui.add_button(label, **options)
    button.on_click(session.guarded(action))
    return button


def redraw_on_update(session: Session, *controls: Any) -> None:
    """Draw the moment again whenever a user changes one of these controls."""
    for control in controls:
        control.on_update(session.guarded(lambda _: session.changed("pose")))


class ProgressText:
    """A text in the panel with a progress bar below it."""

    def __init__(self, session: Session) -> None:
        self.text = session.gui.add_markdown("")
        self._bar = session.gui.add_progress_bar(0.0, visible=False, animated=True)

    def show(self, text: str, progress: float | None = None) -> None:
        """Show a text, and a progress from 0 to 1; None hides the bar."""
        show(self.text, "content", text)
        show(self._bar, "visible", progress is not None)
        show(self._bar, "value", round(100.0 * (progress or 0.0)))


class Follower:
    """A control that shows a value of the program and reports the value that a user gives it.

    The studio's loop writes it as things change, a page whenever its user likes. What the page sends is in the control
    a moment before the callback for it runs; whatever the loop wrote in that moment would be older, would hide the
    user's value from the callback, and would have a slider snap back under the user's hand. So the loop leaves a
    control alone that has a value which neither the program nor a callback has seen.

    Args:
        session: whose lock is held while the user's value is reported.
        control: of viser's, with a `value`.
        received: called with the value that a user gave it.
    """

    def __init__(self, session: Session, control: Any, received: Callable[[Any], None]) -> None:
        self.control = control
        self._session, self._received = session, received
        self._seen = control.value
        control.on_update(session.guarded(lambda _: self._changed()))

    @property
    def waits(self) -> bool:
        """Whether the control has a value of a user that has not been reported yet."""
        return bool(self.control.value != self._seen)

    def show(self, value: object, near: float = 0.0) -> None:
        """Show a value, unless a user's waits; a number only if it differs by more than `near`."""
        with self._session.lock:
            if self.waits:
                return
            now: Any = self.control.value
            if now == value or (near and abs(now - value) <= near):
                return
            self.put(value)

    def put(self, value: object) -> None:
        """Show a value in any case."""
        with self._session.lock:
            assign(self.control, value)
            self._seen = self.control.value  # as the control keeps it

    def receive(self, value: object) -> None:
        """Act as if a user gave the control this value."""
        with self._session.lock:
            assign(self.control, value)
            self._changed()

    def _changed(self) -> None:
        # Callbacks run on several threads in any order; the control's value is always the latest.
        with self._session.lock:
            self._seen = self.control.value
            self._received(self._seen)

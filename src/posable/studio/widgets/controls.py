"""Controls that the program and a user both write: in the panel, and handles in the scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ... import math as pm
from ...compute.types import Floats
from ..view.theme import plain

if TYPE_CHECKING:
    from ..core.session import Session

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
NEAR = 1e-6
"""Positions [m] and angles [rad] this close are the same: browsers know positions to 1e-7."""


def assign(control: Any, value: object) -> None:
    """Set a control's value in every window. (Type checkers take viser's `value` for read-only.)"""
    control.value = value


def show(control: Any, what: str, value: object) -> None:
    """Set something of a control, such as its "content", where it differs: only what differs is sent."""
    if getattr(control, what) != value:
        setattr(control, what, value)


def add_button(session: Session, label: str, action: Callable[[Any], None], **options: Any) -> Any:
    """Add a button to the panel, here, that calls `action` with viser's event; errors are shown in the page.

    One button of a panel is the primary one (`primary=True`), in the colour of the studio; the others are grey.
    """
    if not options.pop("primary", False):
        options["color"] = "gray"
    button = session.gui.add_button(label, **options)
    button.on_click(session.guarded(action))
    return button


def ask(
    session: Session, client: viser.ClientHandle, title: str, question: str, yes: str, do: Callable[[], None]
) -> None:
    """Ask a window a question, over its page: `do` is called when the button `yes` is pressed, else nothing is."""
    modal = client.gui.add_modal(title)

    def close() -> bool:
        """Close the question; False where it is closed already, as after a second press."""
        with session.lock:
            was_open = not modal.closed
            if was_open:
                modal.close()
            return was_open

    def answer(_: Any) -> None:
        if close():
            do()

    def cancel(_: Any) -> None:
        close()

    with modal:
        client.gui.add_markdown(plain(question))
        client.gui.add_button(yes, color="red").on_click(session.guarded(answer))
        client.gui.add_button("Cancel", color="gray").on_click(session.guarded(cancel))


def redraw_on_update(session: Session, *controls: Any) -> None:
    """Draw the moment again whenever a user changes one of these controls."""
    for control in controls:
        control.on_update(session.guarded(lambda _: session.changed("pose")))


TWO_LINES = '<i class="stage-report"></i>'
"""In a text of the panel: it is at least two lines high (`page/stage.css`), and what is below stays in its place."""


class ProgressText:
    """A text in the panel, at least two lines high, with a progress bar below it."""

    def __init__(self, session: Session) -> None:
        self.text = session.gui.add_markdown("")
        self._bar = session.gui.add_progress_bar(0.0, visible=False, animated=True)

    def show(self, text: str, progress: float | None = None) -> None:
        """Show a text, and a progress from 0 to 1; None hides the bar."""
        show(self.text, "content", text and text + TWO_LINES)
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

    def offer(self, options: tuple[str, ...], value: str) -> None:
        """Show a list's options and the chosen one, unless a user's choice waits."""
        with self._session.lock:
            if self.waits:
                return
            if tuple(self.control.options) != options:
                self.control.options = options  # viser chooses the first one where the chosen one is gone
                self.put(value)
            else:
                self.show(value)

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


class DragHandle:
    """A gizmo that follows a position of the program's and reports what a user makes of it.

    Args:
        session: whose scene.
        name: of the gizmo.
        dragged: called during a drag with the position (3,) on the stage [m] and the orientation (4,) of the handle.
        dropped: called when the user lets the handle go.
        options: of viser's `add_transform_controls`.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        dragged: Callable[[Floats, Floats], None],
        dropped: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        self._session, self._name, self._dragged, self._dropped = session, name, dragged, dropped
        self._options = {"disable_sliders": True, "depth_test": False, **options}
        self._dragging = False  # whether a user drags it

    @property
    def gizmo(self) -> viser.TransformControlsHandle | None:
        """The handle in the scene; None while there is none."""
        return self._session.gizmos.get(self._name)

    def show(self, position: Floats, orientation: Floats = IDENTITY, *, follow: bool = True, **options: Any) -> None:
        """Show the handle; only what differs is sent.

        Args:
            position: (3,) on the stage [m].
            orientation: (4,) in the world.
            follow: False leaves a handle where it is that is in the scene already, as during a drag.
            options: of viser's handle, such as `scale` and `visible`.
        """
        gizmo = self.gizmo
        if gizmo is None:
            options = {**self._options, **options, "wxyz": orientation}
            gizmo = self._session.add_gizmo(self._name, position, **options)
            gizmo.on_update(self._session.guarded(self.receive))
            return
        if follow and not np.allclose(gizmo.position, position, rtol=0.0, atol=NEAR):
            gizmo.position = position
        if follow and pm.angle(np.array(gizmo.wxyz), orientation) > NEAR:
            gizmo.wxyz = orientation
        for option, value in options.items():
            show(gizmo, option, value)
        if not options.get("visible", True):
            self._end_drag()

    def hide(self) -> None:
        """Make the handle invisible; it stays in the scene."""
        if (gizmo := self.gizmo) is not None:
            show(gizmo, "visible", False)
        self._end_drag()

    def remove(self) -> None:
        """Take the handle off the scene."""
        self._session.remove_gizmo(self._name)
        self._end_drag()

    def _end_drag(self) -> None:
        """End a drag whose handle goes, as when one plays in the middle of it: the page says nothing more of it."""
        if self._dragging:
            self._dragging = False
            self._dropped()

    def receive(self, event: Any) -> None:
        """Report a message of a page: where the handle is, and whether the drag has ended."""
        position, orientation = (
            np.array(value, dtype=np.float64) for value in (event.target.position, event.target.wxyz)
        )
        if (gizmo := self.gizmo) is None or not gizmo.visible:
            return  # on its way while the handle went
        self._dragging = event.phase != "end"
        self._dragged(position, orientation)
        if event.phase == "end":
            self._dropped()

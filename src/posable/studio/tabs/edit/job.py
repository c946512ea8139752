"""A motion's editor made while the page goes on: fitting its weights takes seconds, and compiling may take a minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....edit import EFFECTORS, MotionEditor
from ...core.actor import Actor
from ...core.session import Session
from ...core.worker import Worker
from .options import limits_of

if TYPE_CHECKING:
    from ....body import Humanoid

FEW, MANY = 3, 64
"""Frames either way that a rehearsal changes."""
LITTLE = (0.0, 0.001, 0.0)
"""[m]: how far it drags a part."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """An editor that is asked for."""

    actor: Actor
    body: Humanoid
    limits: str
    """One of `edit_options.LIMITS`, which edits shall be able to keep to without anybody waiting."""
    editor: MotionEditor | None
    """Where it is there already, and only the limits are new."""


class EditorJob(Worker[Wanted, MotionEditor]):
    """Makes editors, ready to drag and edit.

    Args:
        session: kept drawing while an editor is made.
        done: called with what was asked for and the editor, or with the error that came instead.
    """

    def __init__(self, session: Session, done: Callable[[Wanted, MotionEditor | Exception], None]) -> None:
        super().__init__(session, "edit")
        self._done = done
        self.share = 0.0
        """How much of the fit is done, from 0 to 1."""

    def compute(self, question: Wanted) -> MotionEditor:
        """The editor, with nothing of it left to be compiled."""
        self.share = 0.0
        motion, body, editor = question.actor.motion, question.body, question.editor
        if editor is None:
            editor = MotionEditor(motion, body, progress=self._advanced)
            _ = editor.logs
        self.share = 1.0
        limits = limits_of(question.limits, body)
        rehearse(MotionEditor(editor.original, body, weights="identity", limits=limits, contacts=editor.contacts))
        return editor

    def deliver(self, question: Wanted, answer: MotionEditor | Exception) -> None:
        """Hand it over."""
        self._done(question, answer)

    def _advanced(self, share: float) -> None:
        self.share = share


def rehearse(editor: MotionEditor) -> None:
    """Drag and edit a little, at a frame with a contact: what the first of them compiles is compiled here.

    Few frames and many are worked out by loops that are compiled each by itself.
    """
    part = next((role for role in EFFECTORS if role in editor.body.roles), "hips")
    others = [contact for contact in editor.contacts if contact.part != part]
    frame = max(others, key=lambda contact: contact.last - contact.first).first if others else 0
    editor.drag(frame=frame, part=part, displacement=LITTLE)
    for near in (FEW, MANY):
        frames = (max(frame - near, 0), min(frame + near, len(editor.original) - 1))
        editor.edit(frame=frame, part=part, displacement=LITTLE, frames=frames).remove()

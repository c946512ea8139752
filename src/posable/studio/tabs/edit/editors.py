"""The editor of each motion, made while the page stays responsive, and the edits that each actor on the stage has.

Fitting a motion's weights takes seconds, and compiling may take a minute. Each state of a motion is an actor: undo and
redo put one on the stage again, and its edits with it.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....compute import PosableError
from ....edit import EFFECTORS, MotionEditor, Snapshot
from ...core.actor import Actor
from ...core.worker import Worker
from .options import FREE, limits_of

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import EditTab

FEW, MANY = 3, 64
"""Frames either way that a rehearsal changes."""
REHEARSED = (0.0, 0.001, 0.0)
"""[m]: how far a rehearsal drags a part."""


@dataclass(frozen=True, eq=False)
class EditorRequest:
    """A request for the editor of a motion."""

    actor: Actor
    body: Humanoid
    limits: str
    """One of `options.LIMITS`: edits under these limits are compiled in advance."""
    editor: MotionEditor | None
    """Where it is there already, and only the limits are new."""


class Editors(Worker[EditorRequest, MotionEditor]):
    """Makes editors in the background, once a motion."""

    def __init__(self, tab: EditTab) -> None:
        super().__init__(tab.session, "edit")
        self._tab = tab
        self._states: weakref.WeakKeyDictionary[Actor, tuple[MotionEditor, Snapshot]] = weakref.WeakKeyDictionary()
        self._requested: tuple[Actor, str] | None = None
        self._rehearsed = {FREE}  # limits under which edits are immediate, however new the machine is
        self.progress = 0.0
        """Fraction of the fit that is done, from 0 to 1."""

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready, with the limits that are chosen."""
        with self._session.lock:  # `commit` puts an actor on the stage before it has its edits
            actor = self._session.active
            found = None if actor is None else self._states.get(actor)
            return None if found is None or self._tab.options.limits.value not in self._rehearsed else found[0]

    def need(self) -> MotionEditor:
        """Return the editor, with the limits that are chosen now; raise while there is none."""
        editor = self.editor
        if editor is None:
            raise PosableError(
                "this motion cannot be edited yet; choose a part under Drag and wait until its handle is there"
            )
        self._tab.options.limit(editor)
        return editor

    def request(self, actor: Actor, body: Humanoid) -> None:
        """Make an editor, where that was not requested yet."""
        limits, known = str(self._tab.options.limits.value), self._states.get(actor)
        if self._requested != (actor, limits):
            self._requested = (actor, limits)
            self.submit(EditorRequest(actor, body, limits, None if known is None else known[0]))

    def commit(self, label: str) -> None:
        """Put the editor's motion on the stage, as a step that can be undone."""
        editor = self.need()
        self._session.replace(editor.motion, label)
        actor = self._session.active
        if actor is not None:
            self._states[actor] = (editor, editor.snapshot)

    def recall(self, actor: Actor | None) -> None:
        """Restore the edits that an actor had when it was last on the stage."""
        if actor is not None and (found := self._states.get(actor)) is not None:
            found[0].restore(found[1])

    def compute(self, request: EditorRequest) -> MotionEditor:
        """Return the editor, with nothing of it left to be compiled."""
        self.progress = 0.0
        body, editor = request.body, request.editor
        if editor is None:
            editor = MotionEditor(request.actor.motion, body, progress=self._advance)
            _ = editor.logs
        self.progress = 1.0
        limits = limits_of(request.limits, body)
        rehearse(MotionEditor(editor.original, body, weights="identity", limits=limits, contacts=editor.contacts))
        return editor

    def deliver(self, request: EditorRequest, result: MotionEditor | Exception) -> None:
        """Store the editor."""
        with self._session.lock:
            if isinstance(result, Exception):
                self._requested = None
                self._tab.editor_failed(f"This motion cannot be edited: {result}")
                return
            self._rehearsed |= {request.limits}
            if request.editor is None:
                self._states[request.actor] = (result, result.snapshot)
            self._tab.file.editor_ready()
            self._session.changed("pose")

    def _advance(self, fraction: float) -> None:
        self.progress = fraction


def rehearse(editor: MotionEditor) -> None:
    """Drag and edit a little, at a frame with a contact: what the first of them compiles is compiled here.

    Few frames and many are computed by loops that are compiled separately.
    """
    part = next((role for role in EFFECTORS if role in editor.body.roles), "hips")
    others = [contact for contact in editor.contacts if contact.part != part]
    frame = max(others, key=lambda contact: contact.last - contact.first).first if others else 0
    editor.drag(frame=frame, part=part, displacement=REHEARSED)
    for near in (FEW, MANY):
        frames = (max(frame - near, 0), min(frame + near, len(editor.original) - 1))
        editor.edit(frame=frame, part=part, displacement=REHEARSED, frames=frames).remove()

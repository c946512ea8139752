"""The edits of every motion on the stage: one list that nothing changes a motion without.

Each edit is an entry that can be moved, changed, muted and removed, whichever tab made it; a motion without its entries
is the motion that was opened. Each state of a motion is an actor: undo and redo put one on the stage again, and its
edits with it. The editor of a motion is made while the page stays responsive; weights, which take seconds to fit, only
where the style of the motion is requested.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...compute import PosableError
from ...edit import EFFECTORS, DragEdit, KeyEdit, MotionEditor, Snapshot
from ...skeleton import Pose
from .actor import Actor
from .worker import Worker

if TYPE_CHECKING:
    from ...body import Humanoid
    from ...edit import Edit
    from .session import Session

FEW, MANY = 3, 64
"""Frames either side that a rehearsal changes."""
REHEARSED = (0.0, 0.001, 0.0)
"""[m]: how far a rehearsal drags a part."""


@dataclass(frozen=True, eq=False)
class EditorRequest:
    """A request for the editor of a motion."""

    actor: Actor
    body: Humanoid
    editor: MotionEditor | None
    """Where it is there already."""
    fit: bool
    """Whether its weights are fitted."""


class Edits(Worker[EditorRequest, MotionEditor]):
    """Editors and edits by actor; those of the active one are worked on."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "edits")
        self._states: weakref.WeakKeyDictionary[Actor, tuple[MotionEditor, Snapshot]] = weakref.WeakKeyDictionary()
        self._failures: weakref.WeakKeyDictionary[Actor, str] = weakref.WeakKeyDictionary()
        self._requested: tuple[Actor, bool] | None = None
        self._actor: Actor | None = None
        self.chosen: int | None = None
        """The edit that is chosen, by its index."""
        self.marks: tuple[int, ...] = ()
        """Frames with marks of a warp to come."""
        self.progress = 0.0
        """Fraction of a fit that is done, from 0 to 1."""
        session.subscribe(lambda _: self._follow(), "actors", "active")

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready."""
        with self._session.lock:  # `commit` puts an actor on the stage before it has its edits
            actor = self._session.active
            found = None if actor is None else self._states.get(actor)
            return None if found is None else found[0]

    @property
    def entries(self) -> tuple[Edit, ...]:
        """The edits of the active motion, in order."""
        editor = self.editor
        return () if editor is None else editor.edits

    @property
    def fitted(self) -> bool:
        """Whether the weights of the active motion are fitted."""
        return self.editor is not None and "logs" in vars(self.editor)

    @property
    def failure(self) -> str | None:
        """Why the active motion cannot be edited."""
        actor = self._session.active
        return None if actor is None else self._failures.get(actor)

    def need(self) -> MotionEditor:
        """Return the editor of the active motion; raise while there is none."""
        editor = self.editor
        if editor is None:
            why = "open a motion of a person" if self._session.body is None else "wait until its handle is there"
            raise PosableError(self.failure or f"there is no motion to edit yet; {why}")
        return editor

    def request(self, fit: bool = False) -> None:
        """Make the editor of the active motion, and fit its weights, where that was not requested yet."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None or actor in self._failures or self._requested == (actor, fit):
                return
            if self.editor is None or (fit and not self.fitted):
                self._requested = (actor, fit)
                self.submit(EditorRequest(actor, body, self.editor, fit))

    def of_part(self, frame: int, part: str) -> Edit | None:
        """Return the last edit of a part at a frame, which another drag of it there changes; None without one."""
        for edit in reversed(self.entries):
            given = edit.settings
            if (
                isinstance(edit, DragEdit | KeyEdit)
                and not edit.muted
                and (given["frame"], given["part"]) == (frame, part)
            ):
                return edit
        return None

    def pose_without(self, edit: Edit, frame: int) -> Pose:
        """Return the pose of a frame in the motion without one of its edits; the motion stays as it is."""
        with self._session.lock:
            editor, before = self.need(), self.need().snapshot
            if edit is editor.edits[-1]:
                return before.motions[-2][frame]
            try:
                edit.mute()
                return editor.motion[frame]
            finally:
                editor.restore(before)

    def exchange(self, old: Edit | None, make: Callable[[MotionEditor], object]) -> None:
        """Make an edit in place of another, as the last one of the list: what it was made for is met exactly.

        Args:
            old: the edit that goes; None adds one.
            make: called with the editor. Where it raises, the edits stay as they were.
        """
        with self._session.lock:
            editor = self.need()
            before = editor.snapshot
            try:
                if old is not None:
                    old.remove()
                make(editor)
            except Exception:
                editor.restore(before)
                raise
            self.chosen = len(editor.edits) - 1

    def commit(self, label: str) -> None:
        """Put the editor's motion on the stage, as a step that can be undone; a new edit is the chosen one."""
        with self._session.lock:
            editor, old, chosen = self.need(), self._session.active, self.chosen
            before = 0 if old is None or old not in self._states else len(self._states[old][1].edits)
            self._session.replace(editor.motion, label)
            actor = self._session.active
            if actor is not None:
                self._states[actor] = (editor, editor.snapshot)
            count = len(editor.edits)
            self.chosen = count - 1 if count > before else None if not count else min(chosen or 0, count - 1)
            self._session.changed("pose")

    def change(
        self, index: int, frame: int, spread: float, ease: str | None = None, frames: tuple[int, int] | None = None
    ) -> None:
        """Move an edit to another frame, make it longer or shorter, fade it otherwise. Can be undone.

        Args:
            index: of the edit.
            frame: of its target; of a warp's first one.
            spread: half-width [s].
            ease: how it fades; None leaves that.
            frames: first and last frame that it may change, instead of the half-width.
        """
        with self._session.lock:
            edit = self._entry(index)
            settings: dict[str, Any] = {"spread": spread}
            if "frames" in edit.settings:
                settings["frames"] = frames
            if ease is not None:
                settings["ease"] = ease
            edit.move(frame, **settings)
            self.commit(f"Change edit {index + 1}")

    def mute(self, index: int, muted: bool = True) -> None:
        """Leave an edit out of the motion, or apply it again. Can be undone."""
        with self._session.lock:
            self._entry(index).mute(muted)
            self.commit(f"{'Mute' if muted else 'Unmute'} edit {index + 1}")

    def remove(self, index: int) -> None:
        """Remove an edit. Can be undone."""
        with self._session.lock:
            self._entry(index).remove()
            self.commit(f"Remove edit {index + 1}")

    def choose(self, index: int | None) -> None:
        """Choose an edit, or none."""
        with self._session.lock:
            if index is not None:
                self._entry(index)
            self.chosen = index
            self._session.changed("pose")

    def compute(self, request: EditorRequest) -> MotionEditor:
        """Return the editor, with nothing of it left to be compiled."""
        self.progress, editor = 0.0, request.editor
        if editor is None:
            editor = MotionEditor(request.actor.motion, request.body, progress=self._advance)
        if request.fit:
            _ = editor.logs
            self.progress = 1.0
            rehearse(MotionEditor(editor.original, request.body, weights="identity", contacts=editor.contacts))
        else:
            editor.drag(frame=0, part=_any_part(request.body), displacement=REHEARSED, fitted=False)
        return editor

    def deliver(self, request: EditorRequest, result: MotionEditor | Exception) -> None:
        """Store the editor."""
        with self._session.lock:
            self._requested = None
            if isinstance(result, Exception):
                self._failures[request.actor] = f"This motion cannot be edited: {result}"
            elif request.editor is None:
                self._states[request.actor] = (result, result.snapshot)
            self._session.changed("pose")

    def _entry(self, index: int) -> Edit:
        entries = self.need().edits
        if not 0 <= index < len(entries):
            raise PosableError(f"there is no edit {index + 1}; there are {len(entries)}")
        return entries[index]

    def _follow(self) -> None:
        """Restore the edits that the active actor had when it was last on the stage."""
        actor = self._session.active
        if actor is not self._actor:
            self._actor = actor
            if actor is not None and (found := self._states.get(actor)) is not None:
                found[0].restore(found[1])
            count = len(self.entries)
            self.chosen = None if self.chosen is None or not count else min(self.chosen, count - 1)

    def _advance(self, fraction: float) -> None:
        self.progress = fraction


def rehearse(editor: MotionEditor) -> None:
    """Drag and edit a little, at a frame with a contact: what the first of them compiles is compiled here.

    Few frames and many are computed by loops that are compiled separately.
    """
    part = _any_part(editor.body)
    others = [contact for contact in editor.contacts if contact.part != part]
    frame = max(others, key=lambda contact: contact.last - contact.first).first if others else 0
    editor.drag(frame=frame, part=part, displacement=REHEARSED)
    for near in (FEW, MANY):
        frames = (max(frame - near, 0), min(frame + near, len(editor.original) - 1))
        editor.edit(frame=frame, part=part, displacement=REHEARSED, frames=frames).remove()


def _any_part(body: Humanoid) -> str:
    return next((role for role in EFFECTORS if role in body.roles), "hips")

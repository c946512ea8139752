"""The editor of each motion, and the edits that each actor on the stage has.

Each state of a motion is an actor: undo and redo put one on the stage again, and its edits with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....compute import PosableError
from ....edit import Kept, MotionEditor
from ...core.actor import Actor
from ...core.session import Session
from .job import EditorJob, Wanted
from .options import FREE, EditOptions

if TYPE_CHECKING:
    from ....body import Humanoid


class EditStates:
    """Makes editors in the background, once a motion.

    Args:
        session: whose active actor is edited.
        options: which limits editors keep to.
        ready: called when an editor was made.
        failed: called with a sentence where a motion cannot be edited.
    """

    def __init__(
        self, session: Session, options: EditOptions, ready: Callable[[], None], failed: Callable[[str], None]
    ) -> None:
        self._session, self._options, self._ready, self._failed = session, options, ready, failed
        self._states: weakref.WeakKeyDictionary[Actor, tuple[MotionEditor, Kept]] = weakref.WeakKeyDictionary()
        self._asked: tuple[Actor, str] | None = None
        self._rehearsed = {FREE}  # limits under which edits are at once, however new the machine is
        self.job = EditorJob(session, self._done)

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready, with the limits that are chosen."""
        with self._session.lock:  # `keep` puts an actor on the stage before it has its edits
            actor = self._session.active
            found = None if actor is None else self._states.get(actor)
            return None if found is None or str(self._options.limits.value) not in self._rehearsed else found[0]

    def sure(self) -> MotionEditor:
        """The editor, with the limits that are chosen now; raises while there is none."""
        editor = self.editor
        if editor is None:
            raise PosableError(
                "this motion cannot be edited yet; choose a part under Pull and wait until its handle is there"
            )
        self._options.limit(editor)
        return editor

    def ask(self, actor: Actor, body: Humanoid) -> None:
        """Have an editor made, where it was not asked for yet."""
        limits, known = str(self._options.limits.value), self._states.get(actor)
        if self._asked != (actor, limits):
            self._asked = (actor, limits)
            self.job.submit(Wanted(actor, body, limits, None if known is None else known[0]))

    def keep(self, label: str) -> None:
        """Have the editor's motion on the stage, as a step that can be undone."""
        editor = self.sure()
        self._session.replace(editor.motion, label)
        actor = self._session.active
        if actor is not None:
            self._states[actor] = (editor, editor.kept)

    def recall(self, actor: Actor | None) -> None:
        """Have the edits that an actor had when it was last on the stage."""
        if actor is not None and (found := self._states.get(actor)) is not None:
            found[0].restore(found[1])

    def close(self) -> None:
        """Wait for what is under way."""
        self.job.close()

    def _done(self, wanted: Wanted, answer: MotionEditor | Exception) -> None:
        """Called by the worker."""
        with self._session.lock:
            if isinstance(answer, Exception):
                self._asked = None
                self._failed(f"This motion cannot be edited: {answer}")
                return
            self._rehearsed |= {wanted.limits}
            if wanted.editor is None:
                self._states[wanted.actor] = (answer, answer.kept)
            self._ready()
            self._session.changed("pose")

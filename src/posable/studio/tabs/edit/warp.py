"""Several places at once: parts that are pulled leave marks at their frames, and a warp goes through all of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import viser

from ....compute import PosableError
from ....compute.types import Floats
from ....edit.parts import joint_of
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...view.theme import plain
from ...widgets.controls import show
from .changes import words
from .options import EditOptions
from .states import EditStates

MOST_TOLD = 8
"""Marks that the panel lists."""


@dataclass(frozen=True, eq=False)
class Mark:
    """Where a part must be at a frame."""

    frame: int
    part: str
    target: Floats
    """(3,) in the actor's world [m]."""


class EditWarp:
    """A folder of the panel, here. Marks belong to an actor, so an undo of a warp has them again.

    Args:
        session: whose panel.
        states: the editors of the motions.
        options: how long a warp takes to fade, and whether it keeps contacts.
        here: the part that is chosen and the frame that is shown; None while nothing can be marked.
    """

    def __init__(
        self,
        session: Session,
        states: EditStates,
        options: EditOptions,
        here: Callable[[], tuple[str, int] | None],
    ) -> None:
        self._session, self._states, self._options, self._here = session, states, options, here
        self._marks: weakref.WeakKeyDictionary[Actor, tuple[Mark, ...]] = weakref.WeakKeyDictionary()
        self._seen: tuple[Actor, int, Pose] | None = None  # a frame with its marks met
        gui = session.gui
        with gui.add_folder("Warp through several places", expand_by_default=False):
            hint = "A part that you pull and let go leaves a mark at this frame instead of making an edit"
            self.marking = gui.add_checkbox("Leave marks", False, hint=hint)
            self.marking.on_update(session.guarded(lambda _: session.changed("pose")))
            hint = "A mark without a pull: at this frame the part stays where it is"
            here_too = gui.add_button("Mark where it is", icon=viser.Icon.MAP_PIN, hint=hint)
            here_too.on_click(session.guarded(lambda _: self.mark_here()))
            self._told = gui.add_markdown("")
            hint = "Makes one edit that takes every part through its marks, smoothly"
            self._warp = gui.add_button("Warp through the marks", icon=viser.Icon.WAVE_SINE, hint=hint, disabled=True)
            self._warp.on_click(session.guarded(lambda _: self.warp()))
            self._forget = gui.add_button("Forget the marks", icon=viser.Icon.MAP_PIN_OFF, disabled=True)
            self._forget.on_click(session.guarded(lambda _: self.forget()))

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of the active actor, by frame."""
        actor = self._session.active
        return () if actor is None else self._marks.get(actor, ())

    def parts_at(self, frame: int) -> tuple[str, ...]:
        """The parts that have marks at a frame."""
        return tuple(mark.part for mark in self.marks if mark.frame == frame)

    def pose_at(self, frame: int) -> Pose | None:
        """The pose in which the marks of a frame were made; None where there are none, or other frames came between."""
        seen = self._seen
        known = seen is not None and seen[0] is self._session.active and seen[1] == frame and self.parts_at(frame)
        return seen[2] if known and seen is not None else None

    def add(self, mark: Mark, pose: Pose | None = None) -> None:
        """Add a mark; one of the same part at the same frame goes. Can be undone.

        Args:
            mark: of the active actor.
            pose: in which the part is there, shown as long as nobody goes to another frame.
        """
        others = [one for one in self.marks if (one.frame, one.part) != (mark.frame, mark.part)]
        marks = tuple(sorted([*others, mark], key=lambda one: (one.frame, one.part)))
        self._change(f"Mark the {words(mark.part)}", marks)
        actor = self._session.active
        if pose is not None and actor is not None:
            self._seen = (actor, mark.frame, pose)

    def mark_here(self) -> None:
        """Have the chosen part stay where it is at this frame. Can be undone."""
        with self._session.lock:
            here, editor = self._here(), self._states.sure()
            if here is None:
                raise PosableError("no part is chosen; choose one under Pull")
            part, frame = here
            pose = self.pose_at(frame)
            frames = editor.body.skeleton.forward(editor.motion[frame] if pose is None else pose)
            self.add(Mark(frame, part, np.array(frames.positions[joint_of(editor.body, part)])), pose)

    def forget(self) -> None:
        """Take all marks away. Can be undone."""
        with self._session.lock:
            if self.marks:
                self._change("Forget the marks", ())

    def warp(self) -> None:
        """Make an edit of the marks. Can be undone."""
        with self._session.lock:
            editor, marks = self._states.sure(), self.marks
            if not marks:
                raise PosableError("there are no marks; tick 'Leave marks' and pull parts at some frames")
            constraints = [(mark.frame, mark.part, mark.target) for mark in marks]
            spread, contacts = float(self._options.spread.value), bool(self._options.contacts.value)
            editor.warp(constraints, spread=spread, contacts=contacts)
            self._states.keep(f"Warp through {len(marks)} places")

    def carry(self, old: Actor | None, new: Actor | None) -> None:
        """Have the marks of an actor on the one that an edit made of it, too."""
        if old is not None and new is not None and self._marks.get(old):
            self._marks[new] = self._marks[old]

    def draw(self, frame: int) -> None:
        """Tell what is marked; another frame than the one that was marked last is seen as it is."""
        if self._seen is not None and (self._seen[0] is not self._session.active or self._seen[1] != frame):
            self._seen = None
        marks = self.marks
        lines = [f"{plain(words(mark.part), 40)} at frame {mark.frame}" for mark in marks[:MOST_TOLD]]
        more = [f"and {len(marks) - MOST_TOLD} more"] if len(marks) > MOST_TOLD else []
        told = "\n".join(f"- {line}" for line in (*lines, *more)) if marks else "No marks yet."
        show(self._told, "content", told)
        show(self._warp, "disabled", not marks)
        show(self._forget, "disabled", not marks)

    def _change(self, label: str, marks: tuple[Mark, ...]) -> None:
        actor = self._session.active
        if actor is None:
            return
        before = self._marks.get(actor, ())

        def put(which: tuple[Mark, ...]) -> None:
            self._marks[actor], self._seen = which, None
            self._session.changed("pose")

        self._session.run(label, lambda: put(marks), lambda: put(before))

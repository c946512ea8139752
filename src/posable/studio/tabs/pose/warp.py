"""Other edits in the style of the motion: a warp through marks at several frames, and a stretch of a bone."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import viser

from ....compute import PosableError
from ....compute.types import Floats
from ....edit.clip import joint_of
from ....skeleton import Pose
from ...core.actor import Actor
from ...view.theme import plain, words
from ...widgets.controls import add_button, assign, redraw_on_update, show

if TYPE_CHECKING:
    from .tab import PoseTab

LISTED = 8
"""Marks that the panel lists."""


@dataclass(frozen=True, eq=False)
class Mark:
    """A target of a part at a frame."""

    frame: int
    part: str
    target: Floats
    """(3,) in the actor's world [m]."""


class PoseWarp:
    """A folder of the panel. Marks belong to an actor, so that they return when a warp is undone."""

    def __init__(self, tab: PoseTab) -> None:
        self._tab, self._session = tab, tab.session
        self._marks: weakref.WeakKeyDictionary[Actor, tuple[Mark, ...]] = weakref.WeakKeyDictionary()
        self._shown: tuple[Actor, int, Pose] | None = None  # a frame with its marks reached
        session, gui, icons = tab.session, tab.session.gui, viser.Icon
        with gui.add_folder("Warp through several targets", expand_by_default=False):
            hint = "A part that you drag and drop leaves a mark at this frame instead of making an edit"
            self.marking = gui.add_checkbox("Leave marks", False, hint=hint)
            redraw_on_update(session, self.marking)
            hint = "A mark without a drag: at this frame the part stays where it is"
            add_button(session, "Mark where it is", lambda _: self.mark_here(), icon=icons.MAP_PIN, hint=hint)
            self._text = gui.add_markdown("")
            hint = "Makes one edit that takes every part through its marks, smoothly"
            options = {"icon": icons.WAVE_SINE, "hint": hint, "disabled": True}
            self._warp = add_button(session, "Warp through the marks", lambda _: self.warp(), **options)
            options = {"icon": icons.MAP_PIN_OFF, "disabled": True}
            self._clear = add_button(session, "Remove the marks", lambda _: self.clear(), **options)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks of the active actor, by frame."""
        actor = self._session.active
        return () if actor is None else self._marks.get(actor, ())

    def parts_at(self, frame: int) -> tuple[str, ...]:
        """Return the parts that have marks at a frame."""
        return tuple(mark.part for mark in self.marks if mark.frame == frame)

    def pose_at(self, frame: int) -> Pose | None:
        """Return the pose in which the marks of a frame were made; None without, or once other frames were shown."""
        shown = self._shown
        if shown is None or shown[0] is not self._session.active or shown[1] != frame or not self.parts_at(frame):
            return None
        return shown[2]

    def add(self, mark: Mark, pose: Pose | None = None) -> None:
        """Add a mark of the active actor, in place of one of its part at its frame. Can be undone.

        A pose that reaches it is shown until another frame is.
        """
        others = [one for one in self.marks if (one.frame, one.part) != (mark.frame, mark.part)]
        marks = tuple(sorted([*others, mark], key=lambda one: (one.frame, one.part)))
        self._change(f"Mark the {words(mark.part)}", marks)
        actor = self._session.active
        if pose is not None and actor is not None:
            self._shown = (actor, mark.frame, pose)

    def mark_here(self) -> None:
        """Mark the chosen part where it is at this frame. Can be undone."""
        with self._session.lock:
            editor, part, frame = self._session.edits.need(), self._tab.need_part(), self._tab.frame
            pose = self.pose_at(frame)
            frames = editor.body.skeleton.forward(editor.motion[frame] if pose is None else pose)
            self.add(Mark(frame, part, np.array(frames.positions[joint_of(editor.body, part)])), pose)

    def clear(self) -> None:
        """Remove all marks. Can be undone."""
        with self._session.lock:
            if self.marks:
                self._change("Remove the marks", ())

    def warp(self) -> None:
        """Make an edit of the marks. Can be undone."""
        with self._session.lock:
            editor, marks, options = self._tab.need_fitted(), self.marks, self._tab.options
            if not marks:
                raise PosableError("there are no marks; tick 'Leave marks' and drag parts at some frames")
            constraints = [(mark.frame, mark.part, mark.target) for mark in marks]
            editor.warp(
                constraints,
                spread=float(options.spread.value),
                contacts=bool(options.contacts.value),
                scope=options.of_drag["scope"],
            )
            self._session.edits.commit(f"Warp through {len(marks)} targets")

    def carry(self, old: Actor | None, new: Actor | None) -> None:
        """Carry the marks of an actor over to the one that an edit made of it."""
        if old is not None and new is not None and self._marks.get(old):
            self._marks[new] = self._marks[old]

    def draw(self, frame: int) -> None:
        """List the marks; another frame than the one that was marked last is shown as it is."""
        if self._shown is not None and (self._shown[0] is not self._session.active or self._shown[1] != frame):
            self._shown = None
        marks = self.marks
        lines = [f"- {plain(words(mark.part), 40)} at frame {mark.frame}" for mark in marks[:LISTED]]
        more = [f"- and {len(marks) - LISTED} more"] if len(marks) > LISTED else []
        show(self._text, "content", "\n".join([*lines, *more]) or "No marks yet.")
        show(self._warp, "disabled", not marks)
        show(self._clear, "disabled", not marks)

    def _change(self, label: str, marks: tuple[Mark, ...]) -> None:
        actor = self._session.active
        if actor is None:
            return
        before = self._marks.get(actor, ())

        def put(which: tuple[Mark, ...]) -> None:
            self._marks[actor], self._shown = which, None
            self._session.changed("pose")

        self._session.run(label, lambda: put(marks), lambda: put(before))


class PoseStretch:
    """A folder of the panel: a bone that is longer or shorter for a while."""

    def __init__(self, tab: PoseTab) -> None:
        self._tab = tab
        gui = tab.session.gui
        with gui.add_folder("Stretch a bone", expand_by_default=False):
            self._text = gui.add_markdown("")
            hint = "How many times as long the bone is at this frame; the change fades before and after"
            self.factor = gui.add_slider("Times as long", min=0.5, max=2.0, step=0.05, initial_value=1.2, hint=hint)
            options = {"icon": viser.Icon.ARROWS_DIAGONAL, "hint": "Makes an edit like the others"}
            add_button(tab.session, "Stretch this bone", lambda _: self.stretch(), **options)

    def stretch(self, factor: float | None = None) -> None:
        """Make the bone that ends in the chosen part so many times as long at this frame. Can be undone."""
        tab = self._tab
        with tab.session.lock:
            editor, part = tab.need_fitted(), tab.need_part()
            if factor is not None:
                assign(self.factor, factor)
            bones, contacts = {part: float(self.factor.value)}, bool(tab.options.contacts.value)
            editor.stretch(bones, frame=tab.frame, contacts=contacts, **tab.options.of_fade)  # type: ignore[arg-type]
            tab.commit(f"Stretch the bone to the {words(part)}")

    def draw(self) -> None:
        """Name the bone."""
        part = self._tab.part
        bone = "Select a part." if part is None else f"The bone that ends at the {plain(words(part), 60)}."
        show(self._text, "content", bone)

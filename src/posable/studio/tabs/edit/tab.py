"""Edit: a part of the body is pulled at one frame, and the whole body answers the way it moves in this motion.

The engine is `posable.edit`. While the handle is dragged the pose of the frame follows; when it is let go the change is
spread over the frames around and becomes the motion on the stage, one step to undo. What the motion says about its
person is fitted in the background, once a motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....compute.types import ArrayLike
from ....edit import EFFECTORS, MotionEditor
from ....edit.parts import joint_of, part_of
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.file_panel import motion_panel
from .bars import EditBars
from .changes import change, words
from .edit_list import EditList
from .file import EditFile
from .handle import EditHandle
from .marks import EditMarks
from .messages import EditTelling
from .options import EditOptions
from .parts import NONE, EditParts
from .pins import EditPins
from .pull import Pull
from .states import EditStates
from .stretch import EditStretch
from .view import EditView
from .warp import EditWarp, Mark

if TYPE_CHECKING:
    from ....body import Humanoid

HANDLE, TURNING_HANDLE = 0.12, 0.16
"""Sizes of the handle, without and with rings, as shares of the body's height."""


class EditTab:
    """Motions edited by dragging."""

    title = "Edit"

    def __init__(self) -> None:
        self._actor: Actor | None = None
        self._pull: Pull | None = None
        self._holding = False

    # The panel.

    def build(self, session: Session) -> None:
        """What is pulled and how, the edits over time, what is seen, warps, stretches, pins, files."""
        self._session = session
        self.parts = EditParts(session, self._part_chosen)
        self.telling = EditTelling(session)
        self.options = EditOptions(session)
        self.states = EditStates(session, self.options, lambda: self.listed.ready(), self._failed)
        self.bars = EditBars(session, self.change, lambda index: self.list.choose(index))
        self.list = EditList(session, self.change, self.remove, lambda: session.changed("pose"))
        self.view = EditView(session)
        self.warp = EditWarp(session, self.states, self.options, lambda: self._here)
        self.stretch = EditStretch(session, self.states, self.options, lambda: self._here)
        self.pins = EditPins(session, lambda: self.part)
        self.listed = EditFile(session, self.states, self._wake, self._keep)
        self.files = motion_panel(session, "edited", session.require_motion)
        self.marks = EditMarks(session)
        self.handle = EditHandle(session, self.drag, self.drop)
        self._leave = session.subscribe(self._told)
        self._follow()
        self._rest()

    def update(self, time: float) -> None:
        """Show the moment with its handle, marks and bars."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None or self.part is None:
                self._rest()
                return
            editor = self.editor
            if editor is None:
                self._wait(actor, body)
                return
            self._draw(actor, body, editor, time)

    def close(self) -> None:
        """Take everything away, and wait for what is under way."""
        self._leave()
        self.states.close()
        with self._session.lock:
            self.pins.remove()
            self.view.remove()
            self._hold(None)
            self.handle.remove()
            self.marks.remove()

    # What a user can do.

    @property
    def part(self) -> str | None:
        """What the handle pulls: a role, or a joint's name."""
        return self.parts.part

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready."""
        return self.states.editor

    @property
    def frame(self) -> int:
        """The frame that is shown: the nearest one."""
        motion = self._session.motion
        return 0 if motion is None else int(np.clip(round(self._session.time * motion.fps), 0, len(motion) - 1))

    def choose(self, part: str) -> None:
        """Pull another part: a role, a joint's name, or `NONE`."""
        with self._session.lock:
            self.parts.choose(part)

    def drag(self, position: ArrayLike, turn: ArrayLike | None = None) -> None:
        """Have the part at a place on the stage (3,) [m]; the step to undo is made by `drop`.

        Args:
            position: where it shall be.
            turn: (4,) by how much it shall be turned, in the world; None leaves that to the body.
        """
        session = self._session
        with session.lock:
            actor, part = session.active, self.part
            if actor is None or self.editor is None or part is None:
                return
            editor = self.states.sure()
            target = np.array(position, dtype=np.float64) - actor.position
            turned = None if turn is None else np.array(turn, dtype=np.float64)
            if self._pull is None:
                frame = self.frame
                begun = Pull.begin(actor, editor, frame, part, self.warp.pose_at(frame))
                if begun.stands(target, turned):
                    return
                session.clock.pause()
                session.clock.seek(frame / actor.motion.fps)
                self._pull = begun
            self._pull.target, self._pull.turn = target, turned
            self._pull.solve(editor, self._held_beside(self._pull), self.options.of_drag())
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: the change is spread over the frames around, or leaves a mark. Can be undone."""
        with self._session.lock:
            pull, self._pull = self._pull, None
            editor = self.editor
            self._session.changed("pose")
            if pull is None or editor is None or pull.actor is not self._session.active:
                return
            if self.warp.marking.value:
                self.warp.add(
                    Mark(pull.frame, pull.part, pull.target), None if pull.answer is None else pull.answer.pose
                )
                return
            editor.edit(
                frame=pull.frame,
                part=pull.part,
                displacement=pull.target - pull.start,  # and not its target: the edit may be moved in time
                orientation=pull.orientation,
                pins=self.pins.beside(pull.part),
                **self.options.of_drag(),
                **self.options.of_fade(),
            )
            self._keep(f"{'Pull' if pull.turn is None else 'Pull and turn'} the {words(pull.part)}")

    def change(
        self, index: int, frame: int, spread: float, ease: str | None = None, frames: tuple[int, int] | None = None
    ) -> None:
        """Have an edit at another frame, longer or shorter, fading otherwise. Can be undone.

        Args:
            index: of the edit.
            frame: where it shall be; a warp's first place.
            spread: half-width [s].
            ease: how it fades; None leaves that.
            frames: first and last frame that it may change, instead of the half-width.
        """
        with self._session.lock:
            editor = self.states.sure()
            change(editor, editor.edits[index], frame, spread, ease, frames)
            self._keep(f"Change edit {index + 1}")

    def remove(self, index: int) -> None:
        """Take an edit away. Can be undone."""
        with self._session.lock:
            self.states.sure().edits[index].remove()
            self._keep(f"Remove edit {index + 1}")

    # What follows from it.

    @property
    def _here(self) -> tuple[str, int] | None:
        return None if self.part is None or self.editor is None else (self.part, self.frame)

    def _held_beside(self, pull: Pull) -> tuple[str, ...]:
        """What stays where it is during a pull: pins, and parts that have marks at this frame already."""
        held = {*self.pins.beside(pull.part)}
        if self.warp.marking.value:
            held |= {*self.warp.parts_at(pull.frame)} - {pull.part}
        return tuple(sorted(held))

    def _keep(self, label: str) -> None:
        """Have the editor's motion on the stage, as a step that can be undone."""
        old = self._session.active
        self.states.keep(label)
        self.warp.carry(old, self._session.active)

    def _draw(self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float) -> None:
        pull, frame, playing = self._pull, self.frame, self._session.clock.playing
        original = self.view.original and pull is None
        self.warp.draw(-1 if playing else frame)
        if pull is not None and pull.answer is not None:
            self._hold(pull.answer.pose)
        else:
            self._hold(editor.original.at(time) if original else self.warp.pose_at(frame))
        frames = actor.frames(time)
        if pull is None and self.part is not None:
            turning = bool(self.options.turn.value and not self.warp.marking.value)
            size = (TURNING_HANDLE if turning else HANDLE) * body.joint_height
            self.handle.show(frames.positions[joint_of(body, self.part)], size, not playing and not original, turning)
        self.view.draw(actor, body, editor, time, frame)
        marks = self.warp.marks
        self.marks.draw(editor, frames, frame, self.pins.parts, bool(self.view.contacts.value), marks, actor.position)
        self.list.draw(editor.edits, actor.motion)
        at = [mark.frame for mark in marks]
        self.bars.draw(editor.edits, self.list.index, editor.contacts, at, actor.motion, time)
        self.stretch.draw()
        self.pins.draw()
        self._tell(editor, frame)

    def _tell(self, editor: MotionEditor, frame: int) -> None:
        if self._pull is not None:
            self.telling.pull(self._pull)
        elif self._session.clock.playing:
            self.telling.playing()
        elif self.list.index is not None:
            self.telling.edit(self.list.index, editor.edits[self.list.index])
        elif self.part is not None:
            self.telling.invite(frame, self.part)

    def _wait(self, actor: Actor, body: Humanoid) -> None:
        """Nothing can be pulled yet: say so, and have the editor made where nobody was asked."""
        self._show_nothing()
        self.states.ask(actor, body)
        self.telling.fitting(self.states.job)

    def _wake(self) -> None:
        """Have something to pull, so that the motion's editor is made."""
        body = self._session.body
        if self.part is None and body is not None:
            self.choose(next((role for role in EFFECTORS if role in body.roles), part_of(body, 0)))

    def _failed(self, why: str) -> None:
        self.listed.forget()
        self.choose(NONE)
        self._session.show_error(why)

    def _rest(self) -> None:
        """Nothing is edited."""
        self._show_nothing()
        self.telling.rest()

    def _show_nothing(self) -> None:
        self._pull = None
        self._hold(None)
        self.handle.hide()
        self.marks.hide()
        self.bars.hide()
        self.view.hide()
        self.stretch.draw()

    def _hold(self, pose: Any) -> None:
        """Show a pose of the active body; None lets go of it, where it was held here."""
        if pose is not None or self._holding:
            self._holding = pose is not None
            self._session.override_pose(pose)

    def _part_chosen(self) -> None:
        self._pull = None
        self._session.changed("pose")

    def _told(self, topic: str) -> None:
        session = self._session
        if topic in ("actors", "active"):
            with session.lock:
                self._follow()
        elif topic == "selection" and self.part is not None and session.selection is not None:
            with session.lock:
                if session.selection.actor is session.active and session.body is not None and self._pull is None:
                    self.choose(part_of(session.body, session.selection.joint))

    def _follow(self) -> None:
        """Edit the active actor: its edits are those that it had when it was last on the stage."""
        actor, body = self._session.active, self._session.body
        if actor is self._actor:
            return
        if self._actor is not None and self._holding:
            self._actor.pose_override, self._holding = None, False
        self._pull = None
        self.listed.left()
        self.states.recall(actor)
        same = self._actor is not None and actor is not None and self._actor.body is actor.body
        self._actor = actor
        if not same:
            self.pins.parts = ()
            self.parts.offer(body)

"""Edit: a part of the body is pulled at one frame, and the whole body answers the way it moves in this motion.

The engine is `posable.edit`. While the handle is dragged the pose of the frame follows; when it is let go the change is
spread over the frames around and becomes the motion on the stage, one step to undo. What the motion says about its
person is fitted in the background, once a motion.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compute import PosableError
from ...compute.types import ArrayLike, Floats
from ...edit import DragAnswer, Kept, MotionEditor
from ...edit.parts import joint_of
from ..controls import assign, show
from ..edit_bars import EditBars
from ..edit_handle import EditHandle
from ..edit_job import EditorJob
from ..edit_list import EditList
from ..edit_marks import EditMarks
from ..edit_pins import EditPins, part_of, words
from ..motion_file import MotionFile
from ..session import Session
from ..theme import plain
from ..tracks import Track

if TYPE_CHECKING:
    from ...body import Humanoid

NONE = "(none)"
EDITED, ORIGINAL = "edited", "original"
FITTING = "Learning how this person moves ({share:.0f} %); on a new machine kernels are compiled first, once."


@dataclass(eq=False)
class _Pull:
    """A drag under way."""

    track: Track
    frame: int
    part: str
    start: Floats
    """(3,) where the part is in the motion [m]."""
    target: Floats
    """(3,) where it shall be, in the track's world [m]."""
    answer: DragAnswer | None = None


class EditTab:
    """Motions edited by dragging."""

    title = "Edit"

    def __init__(self) -> None:
        self.skin: Track | None = None  # the original, seen through
        self._track: Track | None = None
        self._pull: _Pull | None = None
        self._asked: Track | None = None
        self._holding = False
        self._through: Track | None = None  # the body that is seen through for the marks in it
        self._parts: dict[str, str] = {}  # what the list calls a part, and the part
        # Each state of a motion is a track: undo and redo put one on the stage again, and its edits with it.
        self._states: weakref.WeakKeyDictionary[Track, tuple[MotionEditor, Kept]] = weakref.WeakKeyDictionary()

    # The panel.

    def build(self, session: Session) -> None:
        """What is pulled, the edits over time, pins, what is seen, files."""
        self._session = session
        gui = session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        hint = "Drag its handle in the scene; a click on the body chooses a part, too"
        self._part = gui.add_dropdown("Pull", (NONE,), hint=hint)
        self._part.on_update(session.guarded(lambda _: self._part_chosen()))
        self._told_now = gui.add_markdown("")
        self._progress = gui.add_progress_bar(0.0, visible=False, animated=True)
        hint = "Seconds before and after the frame over which a new edit fades"
        self._spread = gui.add_slider("Fades over [s]", min=0.05, max=3.0, step=0.05, initial_value=0.5, hint=hint)
        hint = "Feet on the ground, hands on the body: they stay there"
        self._contacts = gui.add_checkbox("Keep contacts", True, hint=hint)
        self.bars = EditBars(session, self.change, lambda index: self.list.choose(index))
        self.list = EditList(session, self.change, self.remove, lambda: session.changed("pose"))
        self._shown = gui.add_dropdown("Compare", (EDITED, ORIGINAL), hint="Which of the two motions is seen")
        self._onion = gui.add_checkbox("Onion skin", False, hint="The original over it, seen through")
        self._weights = gui.add_checkbox("Weights", False, hint="Joints that move readily: orange; hardly: blue")
        self._touching = gui.add_checkbox("Contacts", True, hint="Green where something touches at this frame")
        for control in (self._shown, self._onion, self._weights, self._touching):
            control.on_update(again)
        self.pins = EditPins(session, lambda: self.part)
        self.files = MotionFile(session, "edited", lambda: session.motion)
        self.marks = EditMarks(session)
        self.handle = EditHandle(session, self.drag, self.drop)
        self._job = EditorJob(session, self._done)
        self._leave = session.listen(self._told)
        self._follow()
        self._rest()

    def update(self, time: float) -> None:
        """Show the moment with its handle, marks and bars."""
        with self._session.lock:
            track, body = self._session.active, self._session.body
            if track is None or body is None or self.part is None:
                self._rest()
                return
            editor = self.editor
            if editor is None:
                self._wait(track, body)
                return
            show(self._progress, "visible", False)
            self._draw(track, body, editor, time)

    def close(self) -> None:
        """Take everything away, and wait for what is under way."""
        self._leave()
        self._job.close()
        with self._session.lock:
            self.pins.remove()
            self._send_off()
            self._hold(None)
            self.handle.remove()
            self.marks.remove()

    # What a user can do.

    @property
    def part(self) -> str | None:
        """What the handle pulls: a role, or a joint's name."""
        return self._parts.get(str(self._part.value))

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready."""
        track = self._session.active
        found = None if track is None else self._states.get(track)
        return None if found is None else found[0]

    @property
    def frame(self) -> int:
        """The frame that is shown: the nearest one."""
        motion = self._session.motion
        return 0 if motion is None else int(np.clip(round(self._session.time * motion.fps), 0, len(motion) - 1))

    def choose(self, part: str) -> None:
        """Pull another part: a role, a joint's name, or `NONE`."""
        with self._session.lock:
            names = [name for name, known in self._parts.items() if known == part]
            if part != NONE and not names:
                raise PosableError(f"this body has no part {part!r}; it has {', '.join(self._parts.values())}")
            assign(self._part, names[0] if names else NONE)
            self._part_chosen()

    def drag(self, position: ArrayLike) -> None:
        """Have the part at a place on the stage (3,) [m]; the step to undo is made by `drop`."""
        session = self._session
        with session.lock:
            track, editor, part = session.active, self.editor, self.part
            if track is None or editor is None or part is None:
                return
            target = np.array(position, dtype=np.float64) - track.place
            if self._pull is None:
                frame = self.frame
                start = editor.body.skeleton.forward(editor.motion[frame]).positions[joint_of(editor.body, part)]
                if np.abs(target - start).max() < 1e-6:
                    return  # a click, or a message that comes after the drag's end
                session.clock.pause()
                session.clock.seek(frame / track.motion.fps)
                self._pull = _Pull(track, frame, part, start, target)
            pull = self._pull
            pull.target = target
            pull.answer = editor.drag(
                frame=pull.frame,
                part=pull.part,
                target=target,
                pose=None if pull.answer is None else pull.answer.pose,
                pins=self.pins.beside(pull.part),
                contacts=bool(self._contacts.value),
            )
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: the change is spread over the frames around. Can be undone."""
        with self._session.lock:
            pull, self._pull = self._pull, None
            editor = self.editor
            self._session.changed("pose")
            if pull is None or editor is None or pull.track is not self._session.active:
                return
            editor.edit(
                frame=pull.frame,
                part=pull.part,
                displacement=pull.target - pull.start,  # and not its target: the edit may be moved in time
                spread=float(self._spread.value),
                pins=self.pins.beside(pull.part),
                contacts=bool(self._contacts.value),
            )
            self._keep(f"Pull the {words(pull.part)}", editor)

    def change(self, index: int, frame: int, spread: float) -> None:
        """Have an edit at another frame, with another half-width [s]. Can be undone."""
        with self._session.lock:
            editor = self._sure_editor()
            editor.edits[index].change(frame=frame, spread=spread)
            self._keep(f"Change edit {index + 1}", editor)

    def remove(self, index: int) -> None:
        """Take an edit away. Can be undone."""
        with self._session.lock:
            editor = self._sure_editor()
            editor.edits[index].remove()
            self._keep(f"Remove edit {index + 1}", editor)

    # What follows from it.

    def _keep(self, label: str, editor: MotionEditor) -> None:
        """Have the editor's motion on the stage, as a step that can be undone."""
        self._session.replace(editor.motion, label)
        track = self._session.active
        if track is not None:
            self._states[track] = (editor, editor.kept)

    def _draw(self, track: Track, body: Humanoid, editor: MotionEditor, time: float) -> None:
        pull, frame = self._pull, self.frame
        original = self._shown.value == ORIGINAL and pull is None
        if pull is not None and pull.answer is not None:
            self._hold(pull.answer.pose)
        else:
            self._hold(editor.original.at(time) if original else None)
        places = body.skeleton.forward(track.pose(time)).positions + track.place
        if pull is None and self.part is not None:
            still = not self._session.clock.playing and not original
            self.handle.show(places[joint_of(body, self.part)], 0.12 * body.height, still)
        self._show_skin(track, body, editor)
        weights = bool(self._weights.value)
        self._see_through(track if weights else None)
        self.marks.draw(editor, places, frame, self.pins.parts, weights, bool(self._touching.value))
        self.list.draw(editor.edits, len(track.motion))
        self.bars.draw(editor.edits, self.list.index, editor.contacts, track.motion, time)
        self._tell(editor, frame)

    def _tell(self, editor: MotionEditor, frame: int) -> None:
        pull = self._pull
        if pull is not None and pull.answer is not None:
            answer = pull.answer
            told = f"**{answer.status.name}** ({answer.cause}), {1000 * float(answer.residual):.1f} mm from the handle"
        elif self._session.clock.playing:
            told = "Stop at a frame to pull."
        elif self.list.index is not None:
            edit = editor.edits[self.list.index]
            told = (
                f"Edit {self.list.index + 1}: **{edit.status.name}**, {1000 * float(edit.residual):.1f} mm off, "
                f"{len(edit.rows)} frames, contacts moved {1000 * edit.slid:.1f} mm"
            )
        else:
            told = f"Frame {frame}: drag the handle at the {plain(words(self.part or 'part'), 60)}."
        show(self._told_now, "content", told)
        self.pins.draw()

    def _show_skin(self, track: Track, body: Humanoid, editor: MotionEditor) -> None:
        """The original over the edited body, or not."""
        if not self._onion.value or (self.skin is not None and self.skin.motion is not editor.original):
            self._send_off()
        if self._onion.value and self.skin is None:
            name = f"{track.name} original"
            self.skin = Track(editor.original, body, name, place=track.place, ghost=True)
            self._session.invite(self.skin)
        if self.skin is not None:
            self.skin.place = track.place

    def _wait(self, track: Track, body: Humanoid) -> None:
        """Nothing can be pulled yet: say so, and have the editor made where nobody was asked."""
        self._show_nothing()
        if self._asked is not track:
            self._asked = track
            self._job.ask(track, body)
        show(self._progress, "visible", self._job.running)
        show(self._progress, "value", round(100.0 * self._job.share))
        show(self._told_now, "content", FITTING.format(share=100.0 * self._job.share))

    def _done(self, track: Track, answer: MotionEditor | Exception) -> None:
        """Called by the worker."""
        with self._session.lock:
            if isinstance(answer, Exception):
                self.choose(NONE)
                self._asked = None
                self._session.fail(f"This motion cannot be edited: {answer}")
                return
            self._states[track] = (answer, answer.kept)
            self._session.changed("pose")

    def _rest(self) -> None:
        """Nothing is edited."""
        self._show_nothing()
        show(self._progress, "visible", False)
        told = "Choose a part to pull." if self._session.body is not None else "Open a motion of a person first."
        show(self._told_now, "content", told)

    def _show_nothing(self) -> None:
        self._pull = None
        self._send_off()
        self._hold(None)
        self.handle.hide()
        self.marks.hide()
        self.bars.hide()
        self._see_through(None)

    def _see_through(self, track: Track | None) -> None:
        """Have the marks inside a body seen; None ends it, where it was begun here."""
        stage = self._session.stage
        if track is not self._through:
            if track is not None or stage.seen_through is self._through:
                stage.seen_through = track
                stage.apply_look(self._session.shown)
            self._through = track

    def _hold(self, pose: Any) -> None:
        """Show a pose of the active body; None lets go of it, where it was held here."""
        if pose is not None or self._holding:
            self._holding = pose is not None
            self._session.hold(pose)

    def _send_off(self) -> None:
        if self.skin is not None:
            self._session.send_off(self.skin)
            self.skin = None

    def _sure_editor(self) -> MotionEditor:
        editor = self.editor
        if editor is None:
            raise PosableError("there are no edits yet; choose a part and drag its handle")
        return editor

    def _part_chosen(self) -> None:
        self._pull = None
        self._session.changed("pose")

    def _told(self, topic: str) -> None:
        session = self._session
        if topic in ("tracks", "active"):
            with session.lock:
                self._follow()
        elif topic == "selection" and self.part is not None and session.selection is not None:
            with session.lock:
                if session.selection.track is session.active and session.body is not None and self._pull is None:
                    self.choose(part_of(session.body, session.selection.joint))

    def _follow(self) -> None:
        """Edit the active track: its edits are those that it had when it was last on the stage."""
        track, body = self._session.active, self._session.body
        if track is self._track:
            return
        if self._track is not None and self._holding:
            self._track.held, self._holding = None, False
        self._pull = None
        if track is not None and (found := self._states.get(track)) is not None:
            found[0].restore(found[1])
        same = self._track is not None and track is not None and self._track.body is track.body
        self._track = track
        if not same:
            self.pins.parts = ()
            parts = [] if body is None else [part_of(body, j) for j in range(len(body.skeleton))]
            self._parts = {}
            for part in parts:
                self._parts[part if words(part) in self._parts else words(part)] = part
            was = str(self._part.value)
            self._part.options = (NONE, *self._parts)
            assign(self._part, was if was in self._parts else NONE)

"""Edit: a part of the body is dragged at one frame, and the whole body follows as it moves in this motion.

The engine is `posable.edit`. While the handle is dragged the pose of the frame follows; when it is dropped the change
is spread over the frames around and becomes the motion on the stage, one step to undo. The weights, which describe how
this person moves, are fitted in the background, once a motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....edit import EFFECTORS, DragSolution, MotionEditor
from ....edit.clip import joint_of, part_of
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...view.theme import plain, words
from ...widgets.controls import IDENTITY, NEAR, DragHandle, ProgressText
from ...widgets.file_panel import motion_panel
from ...widgets.status_text import distance_text, status_text
from .bars import EditBars
from .edit_list import EditFile, EditList, result_of
from .editors import Editors
from .options import NONE, EditOptions, EditParts, EditPins
from .view import EditRings, EditView
from .warp import EditStretch, EditWarp, Mark

if TYPE_CHECKING:
    from ....body import Humanoid

HANDLE, ROTATING_HANDLE = 0.12, 0.16
"""Sizes of the handle, without and with rings, as fractions of the body's height."""
COMPILING = "Nearly ready. On a new machine code is compiled now, once, which takes a minute."


class Drag:
    """A part dragged at one frame of the edited motion: where it began, its target, and the pose that is found for it.

    It begins in the frame's pose, or in a given one where other parts were moved already.
    """

    def __init__(self, actor: Actor, editor: MotionEditor, frame: int, part: str, pose: Pose | None) -> None:
        self.actor, self.frame, self.part = actor, frame, part
        self.pose = editor.motion[frame] if pose is None else pose
        frames, joint = editor.body.skeleton.forward(self.pose), joint_of(editor.body, part)
        self.start, self._orientation = np.array(frames.positions[joint]), np.array(frames.orientations[joint])
        self.target: Floats = self.start
        """(3,) in the actor's world [m]."""
        self.rotation: Floats | None = None
        """(4,) from the orientation at the start to the target's, in the world; None leaves it to the body."""
        self.solution: DragSolution | None = None

    def is_click(self, target: Floats, rotation: Floats | None) -> bool:
        """Return whether a target is where the drag began: of a click, or of a message after the drag's end."""
        angle = 0.0 if rotation is None else float(pm.angle(IDENTITY, rotation))
        return bool(np.abs(target - self.start).max() < NEAR and angle < 1e-4)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments for `MotionEditor.drag` and `edit`: a displacement, since an edit may be moved in time."""
        orientation = None if self.rotation is None else pm.multiply(self.rotation, self._orientation)
        displacement = self.target - self.start
        return {"frame": self.frame, "part": self.part, "displacement": displacement, "orientation": orientation}

    @property
    def text(self) -> str:
        """How the drag goes: its status and the distance of the part from the handle, in position and orientation."""
        if (solution := self.solution) is None:
            return ""
        text = f"{status_text(solution.status)}, {distance_text(float(solution.position_error))} from the handle"
        return text if self.rotation is None else f"{text}, {np.degrees(float(solution.orientation_error)):.1f}°"


class EditTab:
    """Motions edited by dragging."""

    title = "Edit"

    def __init__(self) -> None:
        self._actor: Actor | None = None
        self._drag: Drag | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """Add the controls: what is dragged and how, edits over time, view, warps, stretches, pins, files."""
        self.session = session
        self.parts = EditParts(self)
        self.report = ProgressText(session)
        self.options = EditOptions(session)
        self.editors = Editors(self)
        self.bars = EditBars(self)
        self.list = EditList(self)
        self.view = EditView(session)
        self.warp = EditWarp(self)
        self.stretch = EditStretch(self)
        self.pins = EditPins(self)
        self.file = EditFile(self)
        self.files = motion_panel(session, "edited", session.require_motion)
        self.rings = EditRings(self)
        self.handle = DragHandle(session, "edit", self._handle_dragged, self.drop)
        self._unsubscribe = session.subscribe(self._on_event, "actors", "active", "selection")
        self._follow_actor()
        self._rest()

    def update(self, time: float) -> None:
        """Show the moment with its handle, rings and bars."""
        with self.session.lock:
            actor, body = self.session.active, self.session.body
            if actor is None or body is None or self.part is None:
                self._rest()
            elif (editor := self.editor) is None:
                self._hide()
                self.editors.request(actor, body)
                fitted, running = self.editors.progress, self.editors.running
                text = f"Learning how this person moves: {100.0 * fitted:.0f} %." if fitted < 1.0 else COMPILING
                self.report.show(text, fitted if running else None)
            else:
                self._draw(actor, body, editor, time)

    def close(self) -> None:
        """Take everything away, and wait for an editor under way."""
        self._unsubscribe()
        self.editors.close()
        with self.session.lock:
            self.pins.close()
            self.view.remove()
            self.session.override_pose(None, self)
            self.handle.remove()
            self.rings.remove()

    # What a user can do.

    @property
    def part(self) -> str | None:
        """The part that the handle drags: a role, or a joint's name."""
        return self.parts.part

    @property
    def editor(self) -> MotionEditor | None:
        """The editor of the active motion; None until it is ready."""
        return self.editors.editor

    @property
    def frame(self) -> int:
        """The frame that is shown: the nearest one."""
        motion = self.session.motion
        return 0 if motion is None else int(np.clip(round(self.session.time * motion.fps), 0, len(motion) - 1))

    def need_part(self) -> str:
        """Return the part that the handle drags; raise where none is chosen."""
        if self.part is None:
            raise PosableError("no part is chosen; choose one under Drag")
        return self.part

    def choose(self, part: str) -> None:
        """Drag another part: a role, a joint's name, or `NONE`."""
        with self.session.lock:
            self.parts.choose(part)

    def choose_any_part(self) -> None:
        """Choose a part where none is, so that the motion's editor is made."""
        body = self.session.body
        if self.part is None and body is not None:
            self.choose(next((role for role in EFFECTORS if role in body.roles), part_of(body, 0)))

    def drag(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Drag the part to a position on the stage (3,) [m]; `drop` makes it a step to undo.

        Args:
            position: of the target.
            rotation: (4,) of the part since the start of the drag, in the world; None leaves it to the body.
        """
        session = self.session
        with session.lock:
            actor, part = session.active, self.part
            if actor is None or self.editor is None or part is None:
                return
            editor = self.editors.need()
            target = np.array(position, dtype=np.float64) - actor.position
            given = None if rotation is None else np.array(rotation, dtype=np.float64)
            if self._drag is None:
                frame = self.frame
                drag = Drag(actor, editor, frame, part, self.warp.pose_at(frame))
                if drag.is_click(target, given):
                    return
                session.clock.pause()
                session.clock.seek(frame / actor.motion.fps)
                self._drag = drag
            drag = self._drag
            drag.target, drag.rotation = target, given
            pins = {*self.pins.others(part)}
            if self.warp.marking.value:  # parts that have marks at this frame stay there
                pins |= {*self.warp.parts_at(drag.frame)} - {part}
            # From the pose at the start, so that the result depends on where the handle is and not on its path.
            options = self.options.of_drag
            drag.solution = editor.drag(**drag.settings, pose=drag.pose, pins=tuple(sorted(pins)), **options)
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: the change is spread over the frames around, or leaves a mark. Can be undone."""
        with self.session.lock:
            drag, self._drag = self._drag, None
            editor = self.editor
            self.session.changed("pose")
            if drag is None or editor is None or drag.actor is not self.session.active:
                return
            if self.warp.marking.value:
                pose = None if drag.solution is None else drag.solution.pose
                self.warp.add(Mark(drag.frame, drag.part, drag.target), pose)
                return
            pins, options = self.pins.others(drag.part), {**self.options.of_drag, **self.options.of_fade}
            editor.edit(**drag.settings, pins=pins, **options)
            self.commit(f"{'Drag' if drag.rotation is None else 'Drag and rotate'} the {words(drag.part)}")

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
        with self.session.lock:
            edit = self.editors.need().edits[index]
            settings: dict[str, Any] = {"spread": spread}
            if "frames" in edit.settings:
                settings["frames"] = frames
            if ease is not None:
                settings["ease"] = ease
            edit.move(frame, **settings)
            self.commit(f"Change edit {index + 1}")

    def remove(self, index: int) -> None:
        """Remove an edit. Can be undone."""
        with self.session.lock:
            self.editors.need().edits[index].remove()
            self.commit(f"Remove edit {index + 1}")

    # What follows from it.

    def commit(self, label: str) -> None:
        """Put the editor's motion on the stage with the marks, as a step that can be undone."""
        old = self.session.active
        self.editors.commit(label)
        self.warp.carry(old, self.session.active)

    def part_chosen(self) -> None:
        """Follow another choice of the part."""
        self._drag = None
        self.session.changed("pose")

    def editor_failed(self, reason: str) -> None:
        """Give up a motion that cannot be edited."""
        self.file.forget()
        self.choose(NONE)
        self.session.show_error(reason)

    def _handle_dragged(self, position: Floats, orientation: Floats) -> None:
        gizmo = self.handle.gizmo
        self.drag(position, None if gizmo is None or gizmo.disable_rotations else orientation)

    def _draw(self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float) -> None:
        drag, frame, playing = self._drag, self.frame, self.session.clock.playing
        original = self.view.original and drag is None
        self.warp.draw(-1 if playing else frame)
        if drag is not None and drag.solution is not None:
            pose: Pose | None = drag.solution.pose
        else:
            pose = editor.original.at(time) if original else self.warp.pose_at(frame)
        self.session.override_pose(pose, self)
        frames = actor.frames(time)
        if drag is None and self.part is not None:
            rotating = bool(self.options.rotate.value and not self.warp.marking.value)
            size = (ROTATING_HANDLE if rotating else HANDLE) * body.joint_height
            position, visible = frames.positions[joint_of(body, self.part)], not playing and not original
            self.handle.show(position, scale=size, disable_rotations=not rotating, visible=visible)
        self.view.draw(actor, body, editor, time, frame)
        self.rings.draw(editor, actor, frames, frame)
        self.list.draw(editor.edits, actor.motion)
        self.bars.draw(editor, actor.motion, time)
        self.stretch.draw()
        self.pins.draw()
        self.report.show(self._text(editor, frame))

    def _text(self, editor: MotionEditor, frame: int) -> str:
        """Describe the drag under way or the chosen edit, else what to do next."""
        if self._drag is not None:
            return self._drag.text
        if self.session.clock.playing:
            return "Pause at a frame to drag."
        if (index := self.list.index) is not None:
            return f"Edit {index + 1}: {result_of(editor.edits[index])}"
        return f"Frame {frame}: drag the handle at the {plain(words(self.part), 60)}."

    def _rest(self) -> None:
        """Show nothing: no part is chosen."""
        self._hide()
        person = self.session.body is not None
        self.report.show("Choose a part to drag." if person else "Open a motion of a person first.")

    def _hide(self) -> None:
        self._drag = None
        self.session.override_pose(None, self)
        self.handle.hide()
        self.rings.hide()
        self.bars.hide()
        self.view.hide()
        self.stretch.draw()

    def _on_event(self, topic: str) -> None:
        if topic != "selection":
            self._follow_actor()
        elif self.part is not None and self._drag is None:
            selection, body = self.session.selection, self.session.body
            if selection is not None and selection.actor is self.session.active and body is not None:
                self.choose(part_of(body, selection.joint))

    def _follow_actor(self) -> None:
        """Edit the active actor: its edits are those that it had when it was last on the stage."""
        actor, body = self.session.active, self.session.body
        if actor is self._actor:
            return
        self._drag = None
        self.file.motion_changed()
        self.editors.recall(actor)
        same = self._actor is not None and actor is not None and self._actor.body is actor.body
        self._actor = actor
        if not same:
            self.pins.parts = ()
            self.parts.offer(body)

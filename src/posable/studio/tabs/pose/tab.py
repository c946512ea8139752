"""Pose: click a part of the body, drag it, and the body answers as one control says.

While the handle is dragged the pose of the frame follows; when it is dropped the change fades over the frames around
and is an edit of the motion like any other (`core.edits`), one step to undo. A pose without a motion simply stays.
Nothing is stored here: what is seen when the tab is left is the motion with its edits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ....compute import PosableError, Status
from ....compute.types import ArrayLike, Floats
from ....edit import MotionEditor
from ....edit.clip import joint_of
from ....limb.model import ROLES
from ....skeleton import Pose
from ...core import keys
from ...core.actor import Actor, canonical_orientation
from ...core.session import POSING, Session
from ...view.obstacle import shared_obstacle
from ...view.points import PointCloud
from ...view.rings import Rings
from ...view.theme import Rgb, plain, words
from ...widgets.controls import IDENTITY, DragHandle, ProgressText, assign, redraw_on_update, show
from ...widgets.edit_bars import result_of
from ...widgets.file_panel import pose_panel
from ...widgets.joint_limit_plot import SwingPlot
from ...widgets.status_text import COLOURS, UNUSUAL, coloured, legend
from .answers import Answer, Drag, answer, make_edit
from .hands import PoseHands
from .options import ANSWERS, BOTH, LIMB, MOTION, MOVE, PEOPLE, ROTATE, PoseOptions, PoseParts, PosePins
from .ranges import LIMB_OF, Goal, LearnedRange, Orbit
from .touched import PoseTouched
from .warp import Mark, PoseStretch, PoseWarp

if TYPE_CHECKING:
    from ....body import Humanoid

SIZE = 0.16
"""Of the handle, as a fraction of the body's height."""
PROMPT = "Click a part of the body, then drag its handle."
READY = "Getting ready; on a new machine the kernels are compiled, once."
MARKED: Rgb = (122, 63, 176)
OTHER_FRAME: Rgb = (176, 146, 204)
"""Colours of marks at this frame and at others."""
ORBIT_LABELS = {
    Status.REACHED: "free",
    Status.LIMITS: "beyond a joint's limit",
    Status.COLLISION: "in the way",
    Status.SINGULAR: "no posture",
}
"""What the colours of the orbit stand for."""


class PoseTab:
    """A body posed by its parts."""

    title = POSING

    def __init__(self) -> None:
        self._drag: Drag | None = None
        self._left = True  # nothing of it is on the stage
        self._body: Humanoid | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """Add the controls: the part, how the body answers, and in folders all that is needed less often."""
        self.session = session
        gui = session.gui
        self.report = ProgressText(session)
        self.parts = PoseParts(session)
        self.options = PoseOptions(session)
        self.touched = PoseTouched(self)
        with gui.add_folder("Numbers", expand_by_default=False):
            self._numbers = gui.add_markdown("Drag a part to see them.")
        with gui.add_folder("Range of an arm or leg", expand_by_default=False):
            hint = "The circle on which the elbow or knee can be while the hand or foot is where it is"
            self.show_orbit = gui.add_checkbox("Where the elbow can go", False, hint=hint)
            self._legend = gui.add_markdown("", visible=False)
            self.show_limits = gui.add_checkbox("Limits of its joints", False, hint="A drawing, and the joints in it")
            self._swing = SwingPlot(session)
            self.learned = LearnedRange(session)
            redraw_on_update(session, self.show_orbit, self.show_limits)
        with gui.add_folder("Obstacle", expand_by_default=False):
            self.obstacle = shared_obstacle(session)
        self.hands = PoseHands(self)
        self.pins = PosePins(self)
        self.warp = PoseWarp(self)
        self.stretch = PoseStretch(self)
        self.files = pose_panel(session, self.set_pose)
        self._orbit = Orbit(session)
        self._rings = Rings(session, "pose")
        self._balls = PointCloud(session.server, "/world/pose/marks")
        self.handle = DragHandle(session, "pose", self._handle_dragged, self.drop)
        self._add_keys()
        self._unsubscribe = session.subscribe(self._on_event, "actors", "active", "selection")
        self._follow_actor()

    def _add_keys(self) -> None:
        session, icons = self.session, viser.Icon
        bound: list[tuple[str, str, Any, Callable[[], None]]] = [
            (f"Answer: {one}", str(k + 1), icons.USER, partial(self.answer_by, one)) for k, one in enumerate(ANSWERS)
        ]
        bound += [
            ("Move the part", "g", icons.ARROWS_MOVE, partial(self.handle_does, MOVE)),
            ("Turn the part", "r", icons.ROTATE, partial(self.handle_does, ROTATE)),
            ("Remove the chosen edit", "delete", icons.TRASH, self.remove_edit),
        ]
        self._unbind = [
            session.keys.bind(key, label, partial(self._pressed, do), group=keys.POSING, icon=icon)
            for label, key, icon, do in bound
        ]

    def _pressed(self, do: Callable[[], None], _event: Any) -> None:
        """Do what a key says, while this tab is in front."""
        if self.session.tab == self.title:
            do()

    def remove_edit(self) -> None:
        """Remove the edit that is chosen. Can be undone."""
        if (index := self.session.edits.chosen) is not None:
            self.session.edits.remove(index)

    def update(self, time: float) -> None:
        """Show the moment with its handle and whatever else is chosen."""
        with self.session.lock:
            actor, body = self.session.active, self.session.body
            if self._left:
                self._left = False
                self.obstacle.show()
                if self.part is not None:
                    self.session.clock.pause()
            self.parts.draw()
            self.pins.draw()
            self.hands.draw(body)
            self.touched.draw()
            self.stretch.draw()
            self.options.draw(body, actor is not None and len(actor.motion) == 1)
            if actor is None or body is None:
                self._rest("Nothing here is a person." if actor else "Open a motion to begin.")
                return
            self.session.edits.request(fit=self.answer == MOTION)
            if (waiting := self._waits()) is not None:
                self._hide()
                self.report.show(*waiting)
            else:
                self._draw(actor, body, self.session.edits.need(), time)

    def leave(self) -> None:
        """Take the handle and all drawings away."""
        with self.session.lock:
            self._hide()
            self.obstacle.hide()
            self._left = True

    def close(self) -> None:
        """Take everything away."""
        self._unsubscribe()
        for unbind in self._unbind:
            unbind()
        with self.session.lock:
            self.pins.close()
            self.leave()
            self.handle.remove()
            nodes: list[Any] = [self._orbit, self.learned, self._rings, self._balls]
            for node in nodes:
                node.remove()

    # What a user can do.

    @property
    def part(self) -> str | None:
        """The part that the handle drags, the selected one: a role, or a joint's name."""
        return self.parts.part

    @property
    def answer(self) -> str:
        """How the body answers: one of `ANSWERS`."""
        return str(self.options.answer.value)

    @property
    def frame(self) -> int:
        """The frame that is shown: the nearest one."""
        motion = self.session.motion
        return 0 if motion is None else int(np.clip(round(self.session.time * motion.fps), 0, len(motion) - 1))

    def need_part(self) -> str:
        """Return the part that the handle drags; raise where none is selected."""
        if self.part is None:
            raise PosableError("no part is selected; click one on the body")
        return self.part

    def need_fitted(self) -> MotionEditor:
        """Return the editor with its weights fitted; raise while they are not."""
        editor = self.session.edits.need()
        if not self.session.edits.fitted:
            raise PosableError(f"choose {MOTION!r} first and wait until it is learned: this is done in its style")
        self.options.limit(editor)
        return editor

    def choose(self, part: str) -> None:
        """Select a part: a role, a joint's name, or `NONE`."""
        self.parts.choose(part)

    def answer_by(self, how: str) -> None:
        """Choose how the body answers: one of `ANSWERS`."""
        with self.session.lock:
            if how not in ANSWERS:
                raise PosableError(f"unknown answer {how!r}; it is one of {', '.join(ANSWERS)}")
            assign(self.options.answer, how)
            self.session.changed("pose")

    def handle_does(self, what: str) -> None:
        """Let the handle move or rotate the part alone; pressed again, both."""
        with self.session.lock:
            assign(self.options.handle, BOTH if str(self.options.handle.value) == what else what)
            self.session.changed("pose")

    def drag(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Drag the part to a position on the stage (3,) [m]; `drop` makes it a step to undo.

        Args:
            position: of the target.
            rotation: (4,) of the part since the start of the drag, in the world; None leaves it to the body.
        """
        session = self.session
        with session.lock:
            actor, part, editor = session.active, self.part, session.edits.editor
            if actor is None or part is None or editor is None or self._waits() is not None:
                return
            self.options.limit(editor)
            target = np.array(position, dtype=np.float64) - actor.position
            given = None if rotation is None else np.array(rotation, dtype=np.float64)
            if self._drag is None:
                frame = self.frame
                drag = Drag(actor, session.edits, frame, part, self.warp.pose_at(frame))
                if drag.is_click(target, given):
                    return
                if self.answer == PEOPLE:
                    drag.changes = self.touched.changed_by(drag)
                session.clock.pause()
                session.clock.seek(frame / actor.motion.fps)
                self._drag = drag
            drag = self._drag
            drag.target, drag.rotation = target, given
            if not drag.rotated:
                drag.rotation = IDENTITY if self.options.keep_orientation.value else None
            # From the pose at the start, so that the result depends on where the handle is and not on its path. As
            # people do it also goes on from the last step, as there may be two poses that are as good.
            drag.answer = answer(self, drag, editor)
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: the change is an edit that fades over the frames around, or leaves a mark. Can be undone."""
        with self.session.lock:
            drag, self._drag = self._drag, None
            editor = self.session.edits.editor
            self.session.changed("pose")
            if drag is None or drag.answer is None or editor is None or drag.actor is not self.session.active:
                return
            if self.warp.marking.value:
                self.warp.add(Mark(drag.frame, drag.part, drag.target), drag.answer.pose)
                return
            self.session.edits.exchange(drag.changes, partial(make_edit, self, drag, drag.answer))
            does = "Drag and rotate" if drag.rotated and drag.displaced else "Rotate" if drag.rotated else "Drag"
            self.commit(f"{does} the {words(drag.part)}")
            if self.answer == PEOPLE and drag.part in drag.body.roles:
                self.touched.put(drag)

    def set_pose(self, pose: Pose, name: str) -> None:
        """Make a pose the one of this frame, as an edit that fades around it. Can be undone."""
        self.key_pose(pose, f"Set the pose of {name}")

    def key_pose(self, pose: Pose, label: str) -> None:
        """Make a pose the one of this frame, as an edit that fades around it, a step to undo with this label."""
        with self.session.lock:
            self.session.clock.pause()
            self.session.edits.need().key(frame=self.frame, pose=pose, contacts=False, **self.options.of_fade)
            self.commit(label)

    def commit(self, label: str) -> None:
        """Put the edited motion on the stage with the marks, as a step that can be undone."""
        old = self.session.active
        self.session.edits.commit(label)
        self.warp.carry(old, self.session.active)
        self.touched.carry(old, self.session.active)

    def pinned(self, drag: Drag) -> tuple[str, ...]:
        """Return the parts that stay where they are during a drag."""
        pins = {*self.pins.others(drag.part)}
        if self.warp.marking.value:  # parts that have marks at this frame stay there
            pins |= {*self.warp.parts_at(drag.frame)} - {drag.part}
        return tuple(sorted(pins))

    def limb_options(self, body: Humanoid, part: str) -> dict[str, Any]:
        """Return the settings of `Humanoid.place` for a hand or foot."""
        options = self.options.of_limb
        if len(self.obstacle.scene):
            options["scene"] = self.obstacle.scene
        if self.learned.applied:
            options["limb_range"] = self.learned.of(body, LIMB_OF[part])
        return options

    # What follows from it.

    def _waits(self) -> tuple[str, float | None] | None:
        """Return what is to be read while the body cannot answer yet, and the progress; None when it can."""
        edits = self.session.edits
        if edits.failure is not None:
            return plain(edits.failure), None
        if edits.editor is None:
            return READY, edits.progress
        if self.answer == MOTION and not edits.fitted:
            return f"Learning how this person moves: {100.0 * edits.progress:.0f} %.", edits.progress
        return None

    def _handle_dragged(self, position: Floats, orientation: Floats) -> None:
        gizmo = self.handle.gizmo
        self.drag(position, None if gizmo is None or gizmo.disable_rotations else orientation)

    def _draw(self, actor: Actor, body: Humanoid, editor: MotionEditor, time: float) -> None:
        drag, frame, playing, part = self._drag, self.frame, self.session.clock.playing, self.part
        self.warp.draw(-1 if playing else frame)
        found = None if drag is None else drag.answer
        pose = self.warp.pose_at(frame) if found is None else found.pose
        self.session.override_pose(pose, self)
        frames = actor.frames(time)
        if part is None or playing:
            self.handle.hide()
        elif drag is None:
            does, marking = str(self.options.handle.value), bool(self.warp.marking.value)
            options: dict[str, Any] = {
                "disable_rotations": does == MOVE or marking,
                "disable_axes": does == ROTATE and not marking,
            }
            position = frames.positions[joint_of(body, part)]
            self.handle.show(position, scale=SIZE * body.joint_height, visible=True, **options)
        dragged = self.touched.parts if self.answer == PEOPLE and not playing else ()
        self._rings.draw(body, frames, tuple(dict.fromkeys((*self.pins.parts, *dragged))))
        self._draw_marks(actor, body, frame)
        self._draw_range(actor, body, part, actor.pose(time), drag)
        if found is not None:
            show(self._numbers, "content", "  \n".join(found.numbers))
        self.report.show(self._text(found, part, frame))

    def _draw_marks(self, actor: Actor, body: Humanoid, frame: int) -> None:
        marks = self.warp.marks
        self.session.edits.marks = tuple(mark.frame for mark in marks)
        points = np.array([mark.target + actor.position for mark in marks]).reshape(-1, 3)
        tones = [MARKED if mark.frame == frame else OTHER_FRAME for mark in marks]
        self._balls.draw(points, tones, 0.028 * body.joint_height)

    def _draw_range(self, actor: Actor, body: Humanoid, part: str | None, pose: Pose, drag: Drag | None) -> None:
        """Draw where the elbow or knee can be, the limits of the joints, and what people do, where that is chosen."""
        limb = None if part is None else LIMB_OF.get(part)
        if limb is None or not all(role in body.roles for role in ROLES[limb]) or self.session.clock.playing:
            self._hide_range()
            return
        assert part is not None
        position = body.skeleton.forward(pose).positions[body.index(part)]
        reached = drag is None or drag.answer is None or drag.answer.status == Status.REACHED
        rotated = drag is not None and drag.rotation is not None
        orientation = canonical_orientation(body, part, pose) if rotated else None
        goal = Goal(position if drag is None or self.learned.applied or reached else drag.target, orientation)
        learned = self.learned
        self._set_transparent(actor if self.show_orbit.value or learned.drawn else None)
        if self.show_orbit.value:
            options = {k: v for k, v in self.limb_options(body, part).items() if k in ("self_collision", "scene")}
            usual = (lambda swivels: learned.usual(body, limb, pose, swivels)) if learned.used else None
            self._orbit.draw(actor, body, limb, pose, goal, options, usual)
        else:
            self._orbit.hide()
        if self.show_limits.value:
            self._swing.draw(body, limb, pose)
        else:
            self._swing.hide()
        learned.draw(actor, body, limb, pose)
        show(self._legend, "content", _orbit_legend(learned.used))
        show(self._legend, "visible", bool(self.show_orbit.value))

    def range_changes(self, body: Humanoid, part: str, pose: Pose, goal: Floats) -> list[str]:
        """Return which of "direction", "distance", ... of a target (3,) [m] people do not do, where that counts."""
        if not self.learned.used:
            return []
        limb = LIMB_OF[part]
        swivel = float(body.limb(limb).read(pose).swivel)
        if self.learned.applied:
            swivel = math.radians(float(self.options.preferred.value))
        return self.learned.corrections(body, limb, pose, goal, swivel)

    def _text(self, found: Answer | None, part: str | None, frame: int) -> str:
        """Describe the drag under way, else what to do next."""
        body, drag = self.session.body, self._drag
        if found is None:
            if part is None:
                return PROMPT
            if self.session.clock.playing:
                return "Pause at a frame to drag."
            index, entries = self.session.edits.chosen, self.session.edits.entries
            if index is not None and index < len(entries) and frame in entries[index].target_frames:
                return f"Edit {index + 1}: {result_of(entries[index])}"
            alone = self.session.motion is not None and len(self.session.motion) == 1
            becomes = "" if alone else f" It will be a key at frame {frame}."
            return f"Drag the handle at the {plain(words(part), 60)}.{becomes}"
        lines = [found.text]
        if self.learned.used and self.answer == LIMB and drag is not None and drag.part in LIMB_OF and body is not None:
            lines.append(
                _range_text(self.range_changes(body, drag.part, found.pose, drag.target), self.learned.applied)
            )
        return "  \n".join(lines)

    def _rest(self, text: str) -> None:
        """Show nothing but a text: there is nobody to pose."""
        self._hide()
        self.report.show(text)

    def _hide(self) -> None:
        self._drag = None
        self.session.override_pose(None, self)
        self.handle.hide()
        self._rings.hide()
        self._balls.hide()
        self._hide_range()

    def _hide_range(self) -> None:
        self._orbit.hide()
        self._swing.hide()
        self.learned.hide()
        show(self._legend, "visible", False)
        self._set_transparent(None)

    def _set_transparent(self, actor: Actor | None) -> None:
        """Draw a body transparent, so that the orbit is seen where it passes through and behind it."""
        stage = self.session.stage
        if stage.transparent is not actor:
            stage.transparent = actor
            stage.apply_look(self.session.shown)

    def _on_event(self, topic: str) -> None:
        if topic != "selection":
            self._follow_actor()
        else:
            self._drag = None
            selected, body = self.part, self.session.body
            if selected is not None and self.session.tab == self.title:
                self.session.clock.pause()
            if (
                selected in LIMB_OF
                and body is not None
                and all(role in body.roles for role in ROLES[LIMB_OF[selected]])
            ):
                assign(self.options.preferred, round(math.degrees(body.limb(LIMB_OF[selected]).search.preferred)))

    def _follow_actor(self) -> None:
        """Pose the active actor; pins stay where it is another state of the same body."""
        body = self.session.body
        self._drag = None
        if body is not self._body:
            self._body, self.pins.parts = body, ()
            if body is not None:
                self.session.behaviours.ensure(body)
        if not self._left:
            self.obstacle.show()


def _orbit_legend(unusual: bool) -> str:
    """Return the colours of the orbit; with `unusual`, also that of what people do not do."""
    return legend(ORBIT_LABELS) + (f" {coloured(UNUSUAL, '● unusual')}" if unusual else "")


def _range_text(changed: list[str], applied: bool) -> str:
    """Return what a learned range changed of a target, or would change."""
    if not changed:
        return coloured(COLOURS[Status.REACHED], "People do this.")
    what = " and ".join(changed)
    return coloured(UNUSUAL, f"The {what} was corrected." if applied else f"People do not do this: {what}.")

"""Parts that were dragged at a frame while the body answers as people do: they stay where they were put."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats
from ....edit import AutoPose, AutoPoseSolution, Edit
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import Actor
from ...view.theme import plain, words
from ...widgets.controls import add_button, show
from .options import PEOPLE

if TYPE_CHECKING:
    from ....body import Humanoid
    from .answers import Drag
    from .tab import PoseTab

SAME = 1e-6
"""[m], and of a rotation's numbers: a frame whose pose differs by more was changed by something else meanwhile."""


@dataclass(frozen=True, eq=False)
class Touched:
    """The parts that were dragged at a frame, and the pose before and after."""

    origin: Pose
    """Before any part was dragged."""
    pose: Pose
    """After the last drag."""
    targets: dict[str, Target]
    """Part to where it was put, in the actor's world."""
    edit: Edit | None
    """The edit that all of it is."""
    answer: AutoPoseSolution | None = None
    """From which the next drag goes on; None after a release."""


class PoseTouched:
    """A folder of the panel. What was dragged belongs to an actor, so that it returns when a drag is undone."""

    def __init__(self, tab: PoseTab) -> None:
        self._tab = tab
        self._touched: weakref.WeakKeyDictionary[Actor, dict[int, Touched]] = weakref.WeakKeyDictionary()
        self._solvers: weakref.WeakKeyDictionary[Humanoid, AutoPose] = weakref.WeakKeyDictionary()
        session, gui, icons = tab.session, tab.session.gui, viser.Icon
        self._folder = gui.add_folder("Parts that you dragged", expand_by_default=False)
        with self._folder:
            self._text = gui.add_markdown("")
            hint = "The selected part does what people do again"
            one, every = "Release this part", "Release all"
            self._one = add_button(
                session, one, lambda _: self.release((tab.need_part(),)), icon=icons.HAND_OFF, hint=hint
            )
            hint = "The body is as it was before any part was dragged at this frame"
            self._all = add_button(session, every, lambda _: self.release(self.parts), icon=icons.HAND_OFF, hint=hint)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that were dragged at this frame and stay where they were put."""
        actor = self._tab.session.active
        known = None if actor is None else self.at(actor, self._tab.frame)
        return () if known is None else tuple(known.targets)

    def at(self, actor: Actor, frame: int) -> Touched | None:
        """Return what was dragged at a frame of an actor; None where nothing was, or the pose has changed since."""
        known = self._touched.get(actor, {}).get(frame)
        if known is None or frame >= len(actor.motion):
            return None
        now = actor.motion[frame]
        same = np.abs(now.translation - known.pose.translation).max() <= SAME
        same = same and float(pm.angle(now.rotations, known.pose.rotations).max()) <= SAME
        return known if same else None

    def solve(self, drag: Drag) -> AutoPoseSolution:
        """Return the body's answer to a drag: all parts that were dragged, and pins, are where they were put.

        It goes on from the answer to the last step, so that nothing leaps while a part is dragged.
        """
        known = self.at(drag.actor, drag.frame)
        origin = drag.pose if known is None else known.origin
        before = None if known is None else known.answer
        if drag.answer is not None and isinstance(drag.answer.solution, AutoPoseSolution):
            before = drag.answer.solution
        return self._solver(drag.body).solve(self._targets(drag, known), origin, before)

    def changed_by(self, drag: Drag) -> Edit | None:
        """Return the edit that a drag changes: that of the parts which were dragged before."""
        known = self.at(drag.actor, drag.frame)
        if known is None or known.edit is None:
            return None
        return known.edit if any(edit is known.edit for edit in self._tab.session.edits.entries) else None

    def put(self, drag: Drag) -> None:
        """Remember a drag whose edit has been made and is on the stage."""
        actor, edits = self._tab.session.active, self._tab.session.edits
        if actor is None:
            return
        known = self.at(drag.actor, drag.frame)
        origin = drag.pose if known is None else known.origin
        targets = self._targets(drag, known)
        pinned = set(self._tab.pins.parts) - (set() if known is None else set(known.targets)) - {drag.part}
        targets = {part: target for part, target in targets.items() if part not in pinned}
        answer = None if drag.answer is None else drag.answer.solution
        self._store(actor, drag.frame, Touched(origin, actor.motion[drag.frame], targets, edits.entries[-1], answer))

    def carry(self, old: Actor | None, new: Actor | None) -> None:
        """Carry what was dragged of an actor over to the one that an edit made of it."""
        if old is not None and new is not None and self._touched.get(old):
            self._touched[new] = dict(self._touched[old])

    def release(self, parts: tuple[str, ...]) -> None:
        """Let parts do what people do again. Can be undone."""
        tab, session = self._tab, self._tab.session
        with session.lock:
            actor, frame, editor = session.active, tab.frame, session.edits.need()
            known = None if actor is None else self.at(actor, frame)
            gone = () if known is None else tuple(part for part in parts if part in known.targets)
            if known is None or not gone:
                return
            rest = {part: target for part, target in known.targets.items() if part not in gone}
            pose = self._solver(editor.body).solve(rest, known.origin).pose
            old = next((edit for edit in session.edits.entries if edit is known.edit), None)
            options: dict[str, Any] = tab.options.fade_of(old) | {"contacts": False}
            session.edits.exchange(old, lambda made: made.key(frame=frame, pose=pose, **options))
            tab.commit(f"Release the {words(gone[0])}" if len(gone) == 1 else "Release all parts")
            if (new := session.active) is not None:
                self._store(new, frame, Touched(known.origin, new.motion[frame], rest, session.edits.entries[-1]))

    def draw(self) -> None:
        """List the parts while the body answers as people do."""
        parts = self.parts
        show(self._folder, "visible", self._tab.answer == PEOPLE)
        listed = ", ".join(words(part) for part in parts)
        show(self._text, "content", plain(f"Here: {listed}." if parts else "None at this frame."))
        show(self._one, "disabled", self._tab.part not in parts)
        show(self._all, "disabled", not parts)

    def _targets(self, drag: Drag, known: Touched | None) -> dict[str, Target]:
        """Return the targets of all parts, the pinned ones where they are."""
        frames = drag.body.skeleton.forward(drag.pose)
        targets = {
            part: Target(frames.positions[drag.body.roles[part]])
            for part in self._tab.pins.others(drag.part)
            if part in drag.body.roles
        }
        before = {} if known is None else known.targets
        orientation: Floats | None = None
        if drag.rotation is not None and (drag.rotated or self._tab.options.keep_orientation.value):
            orientation = pm.multiply(drag.rotation, drag.orientation)
        elif drag.part in before:
            orientation = before[drag.part].world_orientation  # type: ignore[assignment]
        return targets | before | {drag.part: Target(drag.target, world_orientation=orientation)}

    def _solver(self, body: Humanoid) -> AutoPose:
        if body not in self._solvers:
            self._solvers[body] = AutoPose(body)
        return self._solvers[body]

    def _store(self, actor: Actor, frame: int, touched: Touched) -> None:
        self._touched[actor] = {**self._touched.get(actor, {}), frame: touched}
        self._tab.session.changed("pose")

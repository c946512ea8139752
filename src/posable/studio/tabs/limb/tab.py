"""Limb: drag a hand or a foot, and see what the elbow or the knee can do about it.

The targets of the parts are stored for each actor as goals; whenever a moment is drawn, the pose is made of the
motion's pose, or of one from a file, and the goals. A drag therefore only changes a goal, and however fast it
is, one solve is made for each frame of the screen. While the motion plays on, the part stays where it was put.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import viser

from .... import math as pm
from ....compute import Status
from ....compute.types import Floats
from ....limb import Target
from ....limb.model import ROLES
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...core.session import Session
from ...view.obstacle import shared_obstacle
from ...view.theme import words
from ...widgets.controls import IDENTITY, DragHandle, add_button, assign, redraw_on_update, show
from ...widgets.file_panel import pose_panel
from ...widgets.joint_limit_plot import SwingPlot
from ...widgets.status_text import COLOURS, UNUSUAL, coloured, legend, status_text
from .ranges import LearnedRange, Orbit

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....body.limb.body_limb import PlaceSolution

NONE = "(none)"
LIMB_OF = {roles[-1]: limb for limb, roles in ROLES.items()}
"""Limbs by the part that is dragged: "right_hand" of "right_arm"."""
ORBIT_LABELS = {
    Status.REACHED: "free",
    Status.LIMITS: "limits",
    Status.COLLISION: "collision",
    Status.SINGULAR: "none",
}
"""What the colours of the orbit stand for."""


@dataclass(frozen=True, eq=False)
class Goal:
    """The target of a part."""

    position: Floats
    """(3,) in the actor's world [m]."""
    orientation: Floats | None
    """(4,) in the world, canonical; None leaves it to the limb."""

    def is_close(self, other: Goal) -> bool:
        """Return whether two goals look the same: browsers know positions to 1e-7."""
        if self.orientation is None or other.orientation is None:
            rotated = self.orientation is not other.orientation
        else:
            rotated = bool(pm.angle(self.orientation, other.orientation) > 1e-5)
        return not rotated and bool(np.allclose(self.position, other.position, rtol=0.0, atol=1e-6))


@dataclass(frozen=True, eq=False)
class Placing:
    """Parts with goals, on a pose of the motion or on one from a file."""

    goals: Mapping[str, Goal] = field(default_factory=dict)
    base: Pose | None = None
    """A pose in place of the motion's; None follows the motion."""

    def __bool__(self) -> bool:
        return bool(self.goals) or self.base is not None

    def placed(self, part: str, goal: Goal) -> Placing:
        """Return the same with another goal of a part."""
        return Placing({**self.goals, part: goal}, self.base)


class LimbTab:
    """Put hands and feet somewhere with handles in the scene."""

    title = "Limb"

    def __init__(self) -> None:
        self._placings: WeakKeyDictionary[Actor, Placing] = WeakKeyDictionary()
        self._before: tuple[Actor, Placing] | None = None  # what a drag began with
        self.placement: PlaceSolution | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """Add the part and how it is placed, the solution, limits, what people do, an obstacle, files."""
        self._session = session
        gui = session.gui
        self._part = gui.add_dropdown("Part", (NONE,), hint="The hand or foot to drag; its handle is in the scene")
        self._part.on_update(session.guarded(lambda _: self.choose(self._part.value)))
        self._rotate = gui.add_checkbox("Rotate it too", False, hint="The handle also rotates the hand or foot")
        self._rotate.on_update(session.guarded(lambda _: self.rotate(self._rotate.value)))
        hint = "The limb stays out of the rest of the body"
        self._self_collision = gui.add_checkbox("Keep off the body", True, hint=hint)
        hint = "The swivel from which the search for the elbow or knee begins"
        self._preferred = gui.add_slider("Preferred [°]", min=-180, max=180, step=1, initial_value=30, hint=hint)
        redraw_on_update(session, self._self_collision, self._preferred)
        self._text = gui.add_markdown("")
        self._legend = gui.add_markdown(_orbit_legend(False))
        add_button(session, "Back to the motion", lambda _: self.release(), icon=viser.Icon.ARROW_BACK)
        self._swing = SwingPlot(session)
        self.learned = LearnedRange(session)
        self.obstacle = shared_obstacle(session)
        self.files = pose_panel(session, self.set_pose)
        self._orbit = Orbit(session)
        self._handle = DragHandle(session, "limb", self._dragged, self.drop, disable_sliders=False)
        self._unsubscribe = session.subscribe(lambda _: self._follow_actor(), "actors", "active")
        self._follow_actor()

    def update(self, time: float) -> None:
        """Make the pose of this moment, and draw the orbit of the elbow in it."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None:
                return
            placing = self._placing_of(actor)
            own = placing or self._session.pose_owner is self
            pose = actor.motion.at(time) if own else actor.pose(time)
            pose = pose if placing.base is None else placing.base
            shown: PlaceSolution | None = None
            for part, goal in placing.goals.items():
                placed = body.place(pose, part, Target(goal.position, goal.orientation), **self._options(body, part))
                pose = placed.pose
                shown = placed if part == self.part else shown
            self.placement = shown  # at once: others read it while this goes on
            self._session.override_pose(pose if placing else None, self)
            self._draw(actor, body, pose)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._unsubscribe()
        with self._session.lock:
            self._session.override_pose(None, self)
            self._set_transparent(None)
            self._orbit.remove()
            self.learned.remove()
            self.obstacle.hide()
            self._handle.remove()

    # What a user can do.

    @property
    def part(self) -> str | None:
        """The part that is dragged: "right_hand", or None."""
        name = str(self._part.value)
        return None if name == NONE else name.replace(" ", "_")

    def choose(self, part: str) -> None:
        """Put the handle on a part ("right hand"), and stand still to have it dragged; `NONE` takes it away."""
        session = self._session
        with session.lock:
            assign(self._part, words(part))
            self._before = None
            actor, body = session.active, session.body
            self._set_transparent(actor if self.part is not None and body is not None else None)
            if self.part is None or actor is None or body is None:
                self._handle.remove()
                session.changed("pose")
                return
            session.clock.pause()
            goal = self._placing_of(actor).goals.get(self.part)
            assign(self._rotate, goal is not None and goal.orientation is not None)
            assign(self._preferred, round(math.degrees(body.limb(LIMB_OF[self.part]).search.preferred)))
            self._show_handle(actor, body, self._goal(actor, body, self.part))
            session.changed("pose")

    def drag(self, position: Floats, orientation: Floats | None = None) -> None:
        """Move the part to a position on the stage [m], with a canonical orientation; `drop` makes the step to undo."""
        session = self._session
        with session.lock:
            actor, body, part = session.active, session.body, self.part
            if actor is None or body is None or part is None:
                return
            placing = self._placing_of(actor)
            target = None if orientation is None else np.array(orientation, dtype=np.float64)
            goal = Goal(np.array(position, dtype=np.float64) - actor.position, target)
            if goal.is_close(self._goal(actor, body, part)):
                return  # a click, or a message that comes after the drag's end
            self._before = self._before or (actor, placing)
            self._placings[actor] = placing.placed(part, goal)
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: from here it can be undone in one step."""
        with self._session.lock:
            begun, self._before = self._before, None
            if begun is not None and begun[0] in self._session.actors:
                self._store(f"Place the {words(self.part or 'part')}", *begun, self._placing_of(begun[0]))

    def rotate(self, too: bool) -> None:
        """Let the handle rotate the part too, or leave its orientation to the limb."""
        session = self._session
        with session.lock:
            assign(self._rotate, too)
            actor, body, part = session.active, session.body, self.part
            if actor is None or body is None or part is None:
                return
            placing = self._placing_of(actor)
            if part in placing.goals:
                now = goal_here(body, part, actor.pose(session.time), too)
                goal = Goal(placing.goals[part].position, now.orientation)
                self._store(f"Rotate the {words(part)}", actor, placing, placing.placed(part, goal))
            self._show_handle(actor, body, self._goal(actor, body, part))

    def release(self) -> None:
        """Go back to the motion: drop all goals, and a pose from a file. Can be undone."""
        with self._session.lock:
            actor = self._session.active
            if actor is not None and (placing := self._placing_of(actor)):
                self._store("Back to the motion", actor, placing, Placing())

    def set_pose(self, pose: Pose, name: str) -> None:
        """Show a pose in place of the motion's, with all parts where it has them. Can be undone."""
        with self._session.lock:
            actor = self._session.active
            if actor is not None:
                self._session.clock.pause()
                self._store(f"Set the pose of {name}", actor, self._placing_of(actor), Placing(base=pose))

    # What follows from it.

    def _options(self, body: Humanoid, part: str) -> dict[str, Any]:
        options: dict[str, Any] = {"self_collision": bool(self._self_collision.value)}
        if part == self.part:
            options["preferred"] = math.radians(self._preferred.value)
        if len(self.obstacle.scene):
            options["scene"] = self.obstacle.scene
        if self.learned.applied:
            options["limb_range"] = self.learned.of(body, LIMB_OF[part])
        return options

    def _placing_of(self, actor: Actor) -> Placing:
        return self._placings.get(actor, Placing())

    def _goal(self, actor: Actor, body: Humanoid, part: str) -> Goal:
        """Return a part's goal; without one, where it is now."""
        goal = self._placing_of(actor).goals.get(part)
        return goal or goal_here(body, part, actor.pose(self._session.time), bool(self._rotate.value))

    def _store(self, label: str, actor: Actor, before: Placing, after: Placing) -> None:
        """Make a change of what is placed a step that can be undone."""

        def put(placing: Placing) -> None:
            self._placings[actor], self._before = placing, None
            goal = placing.goals.get(self.part) if actor is self._session.active and self.part is not None else None
            if goal is not None:
                show(self._rotate, "value", goal.orientation is not None)
            self._session.changed("pose")

        self._session.run(label, lambda: put(after), lambda: put(before))

    def _draw(self, actor: Actor, body: Humanoid, pose: Pose) -> None:
        part = self.part
        if part is None:
            self._show_nothing("Choose a part, then drag its handle in the scene.")
            return
        goal = self._placing_of(actor).goals.get(part)
        if goal is None:
            goal = goal_here(body, part, pose, bool(self._rotate.value))
        self._show_handle(actor, body, goal)
        limb, learned, changed = LIMB_OF[part], self.learned, []
        if learned.used:
            preferred = math.radians(self._preferred.value)
            swivel = preferred if learned.applied else float(body.limb(limb).read(pose).swivel)
            changed = learned.corrections(body, limb, pose, goal.position, swivel)
        moved = "direction" in changed or "distance" in changed
        if moved and learned.applied:  # the orbit is around where the range has moved the part
            goal = Goal(goal_here(body, part, pose, False).position, goal.orientation)
        options = self._options(body, part)
        tried = {name: value for name, value in options.items() if name in ("self_collision", "scene")}
        usual = (lambda swivels: learned.usual(body, limb, pose, swivels)) if learned.used else None
        self._orbit.draw(actor, body, limb, pose, goal, tried, usual)
        self._swing.draw(body, limb, pose)
        learned.draw(actor, body, limb, pose)
        placed, prompt = self.placement, f"Drag the handle at the {words(part)}."
        lines = [_placement_text(placed, moved) if placed else prompt]
        if learned.used:
            lines.append(_range_text(changed, learned.applied))
        show(self._text, "content", "  \n".join(lines))
        show(self._legend, "content", _orbit_legend(learned.used))

    def _show_nothing(self, text: str) -> None:
        self._orbit.hide()
        self._swing.hide()
        self.learned.hide()
        show(self._text, "content", text)

    def _set_transparent(self, actor: Actor | None) -> None:
        """Draw a body transparent, so that the orbit is seen where it passes through and behind it."""
        stage = self._session.stage
        if stage.transparent is not actor:
            stage.transparent = actor
            stage.apply_look(self._session.actors)

    def _show_handle(self, actor: Actor, body: Humanoid, goal: Goal) -> None:
        """Show the handle at a goal; during a drag it stays under the user's hand."""
        self._handle.show(
            goal.position + actor.position,
            IDENTITY if goal.orientation is None else goal.orientation,
            follow=self._before is None,
            scale=0.16 * body.joint_height,
            disable_rotations=goal.orientation is None,
        )

    def _dragged(self, position: Floats, orientation: Floats) -> None:
        self.drag(position, orientation if self._rotate.value else None)

    def _follow_actor(self) -> None:
        """Offer the parts of the active body."""
        actor, body = self._session.active, self._session.body
        if self._before is not None and self._before[0] is not actor:
            self._before = None
        parts = [part for part, limb in LIMB_OF.items() if body and all(role in body.roles for role in ROLES[limb])]
        offered = (NONE, *(words(part) for part in parts))
        before = str(self._part.value)
        show(self._part, "options", offered)
        if before != NONE:
            self.choose(before if before in offered else NONE)
        self.obstacle.show()
        if not parts:
            self._show_nothing("Nothing here has arms or legs." if actor else "Open a motion to begin.")


def goal_here(body: Humanoid, part: str, pose: Pose, with_orientation: bool) -> Goal:
    """Return the goal that leaves a part at its position in a pose, and, if requested, with its orientation."""
    position = body.skeleton.forward(pose).positions[body.index(part)]
    return Goal(position, canonical_orientation(body, part, pose) if with_orientation else None)


def _orbit_legend(unusual: bool) -> str:
    """Return the colours of the orbit; with `unusual`, also that of what people do not do."""
    return f"orbit: {legend(ORBIT_LABELS)}" + (f" {coloured(UNUSUAL, '● unusual')}" if unusual else "")


def _placement_text(placed: PlaceSolution, moved_by_range: bool) -> str:
    """Return how a placement went; `moved_by_range` where a learned range has moved its target."""
    outside = moved_by_range and int(placed.status) == Status.LIMITS
    tests, rotated = int(placed.tests), math.degrees(float(placed.orientation_error))
    violations = []
    if placed.penetrates:
        violations.append(f"touches something, {1000 * float(placed.penetration):.0f} mm deep")
    if not placed.in_range:
        violations.append("outside what people do")
    broken = "".join(f"  \n{coloured(COLOURS[Status.COLLISION], text)}" for text in violations)
    return (
        f"{status_text(placed.status, 'people do not reach there' if outside else None)}  \n"
        f"error {1000 * float(placed.position_error):.1f} mm, {rotated:.1f}°  \n"
        f"swivel {math.degrees(float(placed.swivel)):.1f}° · {tests} test{'' if tests == 1 else 's'}{broken}"
    )


def _range_text(changed: Sequence[str], applied: bool) -> str:
    """Return what a learned range changed of a target, or would change."""
    if not changed:
        return coloured(COLOURS[Status.REACHED], "people do this")
    what = " and ".join(changed)
    return coloured(UNUSUAL, f"the range changed the {what}" if applied else f"people do not do this: {what}")

"""Limb: drag a hand or a foot, and see what the elbow or the knee can do about it.

Where the parts shall be is kept for each actor as goals; the pose is made of the motion's pose, or of one that was set
back from a file, and the goals whenever a moment is drawn. A drag therefore only changes a goal, and however fast it
is, one solve is made for each frame of the screen. While the motion plays on, the part stays where it was put.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import viser

from ....compute import Status
from ....compute.types import Floats
from ....limb.model import ROLES
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...view.obstacle import shared_obstacle
from ...widgets.controls import assign
from ...widgets.file_panel import pose_panel
from ...widgets.joint_limit_plot import SwingPlot
from ...widgets.status_text import COLOURS, UNUSUAL, coloured, legend, status_text
from .goals import Goal, Placing, goal_here
from .learned import LearnedRange
from .orbit import Orbit

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....body.limb.results import PlaceSolution

NONE = "(none)"
LIMB_OF = {roles[-1]: limb for limb, roles in ROLES.items()}
"""Limbs by the part that is dragged: "right_hand" of "right_arm"."""
ORBIT_LABELS = {
    Status.REACHED: "free",
    Status.LIMITS: "limits",
    Status.COLLISION: "collision",
    Status.SINGULAR: "no solution",
}
"""What the colours of the orbit stand for."""
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


class LimbTab:
    """Put hands and feet somewhere with handles in the scene."""

    title = "Limb"

    def __init__(self) -> None:
        self._placings: WeakKeyDictionary[Actor, Placing] = WeakKeyDictionary()
        self._before: tuple[Actor, Placing] | None = None  # what a drag began with
        self._actor: Actor | None = None
        self._holding = False
        self.placement: PlaceSolution | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """The part and how it is placed, the answer, limits, what people do, an obstacle, files."""
        self._session = session
        gui = session.gui
        self._part = gui.add_dropdown("Part", (NONE,), hint="The hand or foot to drag; its handle is in the scene")
        self._part.on_update(session.guarded(lambda _: self.choose(self._part.value)))
        self._turn = gui.add_checkbox("Turn it too", False, hint="The handle also turns the hand or foot")
        self._turn.on_update(session.guarded(lambda _: self.turn(self._turn.value)))
        self._itself = gui.add_checkbox("Keep off the body", True, hint="The limb stays out of the rest of the body")
        self._itself.on_update(session.guarded(lambda _: session.changed("pose")))
        hint = "The swivel from which the search for the elbow or knee begins"
        self._preferred = gui.add_slider("Preferred [°]", min=-180, max=180, step=1, initial_value=30, hint=hint)
        self._preferred.on_update(session.guarded(lambda _: session.changed("pose")))
        self._told_now = gui.add_markdown("")
        self._legend = gui.add_markdown(_orbit_legend(False))
        back = gui.add_button("Back to the motion", icon=viser.Icon.ARROW_BACK)
        back.on_click(session.guarded(lambda _: self.release()))
        self._swing = SwingPlot(session)
        self.learned = LearnedRange(session)
        self.obstacle = shared_obstacle(session)
        self.files = pose_panel(session, self.set_pose)
        self._orbit = Orbit(session)
        self._leave = session.subscribe(self._told)
        self._follow_actor()

    def update(self, time: float) -> None:
        """Make the pose of this moment, and draw the orbit of the elbow in it."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None:
                return
            placing = self._placing_of(actor)
            pose = actor.motion.at(time) if placing or self._holding else actor.pose(time)
            pose = pose if placing.base is None else placing.base
            shown: PlaceSolution | None = None
            for part, goal in placing.goals.items():
                placed = body.place(pose, part, goal.target, **self._options(body, part))
                pose = placed.pose
                shown = placed if part == self.part else shown
            self.placement = shown  # at once: others read it while this goes on
            if placing:
                self._session.override_pose(pose)
            elif self._holding:
                self._session.override_pose(None)
            self._holding = bool(placing)
            self._draw(actor, body, pose)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._leave()
        with self._session.lock:
            self._let_go(self._actor)
            self._see_through(None)
            self._orbit.remove()
            self.learned.remove()
            self.obstacle.hide()
            self._session.remove_gizmo("limb")

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
            assign(self._part, _words(part))
            self._before = None
            actor, body = session.active, session.body
            self._see_through(actor if self.part is not None and body is not None else None)
            if self.part is None or actor is None or body is None:
                session.remove_gizmo("limb")
                session.changed("pose")
                return
            session.clock.pause()
            goal = self._placing_of(actor).goals.get(self.part)
            assign(self._turn, goal is not None and goal.orientation is not None)
            assign(self._preferred, round(math.degrees(body.limb(LIMB_OF[self.part]).search.preferred)))
            self._add_handle()
            session.changed("pose")

    def drag(self, position: Floats, orientation: Floats | None = None) -> None:
        """Have the part at a place on the stage [m], turned so (canonical); the step to undo is made by `drop`."""
        session = self._session
        with session.lock:
            actor, body, part = session.active, session.body, self.part
            if actor is None or body is None or part is None:
                return
            placing = self._placing_of(actor)
            turned = None if orientation is None else np.array(orientation, dtype=np.float64)
            goal = Goal(np.array(position, dtype=np.float64) - actor.position, turned)
            if goal.is_like(placing.goals.get(part) or self._as_it_is(body, part, actor.pose(session.time))):
                return  # a click, or a message that comes after the drag's end
            self._before = self._before or (actor, placing)
            self._placings[actor] = placing.placed(part, goal)
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: from here it can be undone in one step."""
        with self._session.lock:
            begun, self._before = self._before, None
            if begun is not None and begun[0] in self._session.actors:
                words = _words(self.part or "part")
                self._keep(f"Place the {words}", *begun, self._placing_of(begun[0]))

    def turn(self, too: bool) -> None:
        """Have the handle turn the part too, or leave its turn to the limb."""
        session = self._session
        with session.lock:
            assign(self._turn, too)
            actor, body, part = session.active, session.body, self.part
            if actor is None or body is None or part is None:
                return
            placing = self._placing_of(actor)
            if part in placing.goals:
                now = goal_here(body, part, actor.pose(session.time), too)
                goal = Goal(placing.goals[part].position, now.orientation)
                self._keep(f"Turn the {_words(part)}", actor, placing, placing.placed(part, goal))
            self._add_handle()

    def release(self) -> None:
        """Back to the motion: all goals go, and a pose from a file. Can be undone."""
        with self._session.lock:
            actor = self._session.active
            if actor is not None and (placing := self._placing_of(actor)):
                self._keep("Back to the motion", actor, placing, Placing())

    def set_pose(self, pose: Pose, name: str) -> None:
        """Show a pose in place of the motion's, with all parts where it has them. Can be undone."""
        with self._session.lock:
            actor = self._session.active
            if actor is not None:
                self._session.clock.pause()
                self._keep(f"Set the pose of {name}", actor, self._placing_of(actor), Placing(base=pose))

    # What follows from it.

    def _options(self, body: Humanoid, part: str) -> dict[str, Any]:
        options: dict[str, Any] = {"self_collision": bool(self._itself.value)}
        if part == self.part:
            options["preferred"] = math.radians(self._preferred.value)
        if len(self.obstacle.scene):
            options["scene"] = self.obstacle.scene
        if self.learned.keeping:
            options["limb_range"] = self.learned.of(body, LIMB_OF[part])
        return options

    def _placing_of(self, actor: Actor) -> Placing:
        return self._placings.get(actor, Placing())

    def _keep(self, label: str, actor: Actor, before: Placing, after: Placing) -> None:
        """Make a change of what is placed a step that can be undone."""

        def put(placing: Placing) -> None:
            self._placings[actor] = placing
            self._before = None
            if actor is self._session.active and self.part is not None:
                goal = placing.goals.get(self.part)
                if goal is not None and (goal.orientation is not None) != self._turn.value:
                    assign(self._turn, goal.orientation is not None)
                    self._add_handle()
                elif goal is not None:
                    self._move_handle(actor, goal.position, goal.orientation)
            self._session.changed("pose")

        self._session.run(label, lambda: put(after), lambda: put(before))

    def _draw(self, actor: Actor, body: Humanoid, pose: Pose) -> None:
        part = self.part
        if part is None:
            self._show_nothing("Choose a part, then drag its handle in the scene.")
            return
        goal = self._placing_of(actor).goals.get(part)
        if goal is None:
            goal = self._as_it_is(body, part, pose)
            self._move_handle(actor, goal.position, goal.orientation)
        limb, changed = LIMB_OF[part], []
        if self.learned.asked:
            changed = self._unusual(body, limb, pose, goal)
        self._draw_orbit(actor, body, part, pose, goal, moved := "direction" in changed or "distance" in changed)
        self._swing.draw(body, limb, pose)
        self.learned.draw(actor, body, limb, pose)
        lines = (
            [_placement_text(self.placement, moved)] if self.placement else [f"Drag the handle at the {_words(part)}."]
        )
        if self.learned.asked:
            lines.append(_range_text(changed, self.learned.keeping))
        self._say("  \n".join(lines))

    def _unusual(self, body: Humanoid, limb: str, pose: Pose, goal: Goal) -> list[str]:
        """What of the goal the learned range changes; without one that is kept to, what it would."""
        if self.learned.keeping:
            swivel = math.radians(self._preferred.value)
        else:
            swivel = float(body.limb(limb).read(pose).swivel)
        return self.learned.corrections(body, limb, pose, goal.position, swivel)

    def _draw_orbit(self, actor: Actor, body: Humanoid, part: str, pose: Pose, goal: Goal, moved: bool) -> None:
        """The orbit around where the part is, where the learned range has moved it, and else around its goal."""
        limb, asked = LIMB_OF[part], self.learned.asked
        if moved and self.learned.keeping:
            goal = Goal(goal_here(body, part, pose, False).position, goal.orientation)
        tried = {
            name: value for name, value in self._options(body, part).items() if name in ("self_collision", "scene")
        }
        usual = (lambda swivels: self.learned.usual(body, limb, pose, swivels)) if asked else None
        self._orbit.draw(actor, body, limb, pose, goal, tried, usual)
        if self._legend.content != _orbit_legend(asked):
            self._legend.content = _orbit_legend(asked)

    def _show_nothing(self, text: str) -> None:
        self._orbit.hide()
        self._swing.hide()
        self.learned.hide()
        self._say(text)

    def _as_it_is(self, body: Humanoid, part: str, pose: Pose) -> Goal:
        return goal_here(body, part, pose, bool(self._turn.value))

    def _see_through(self, actor: Actor | None) -> None:
        """Have the orbit seen where it passes through and behind the body."""
        stage = self._session.stage
        if stage.seen_through is not actor:
            stage.seen_through = actor
            stage.apply_look(self._session.actors)

    def _say(self, text: str) -> None:
        if self._told_now.content != text:
            self._told_now.content = text

    def _add_handle(self) -> None:
        """The handle at the part; made anew where it begins or ceases to turn."""
        session, actor, body, part = self._session, self._session.active, self._session.body, self.part
        if actor is None or body is None or part is None:
            return
        goal = self._placing_of(actor).goals.get(part) or self._as_it_is(body, part, actor.pose(session.time))
        handle = session.add_gizmo(
            "limb",
            goal.position + actor.position,
            scale=0.16 * body.joint_height,
            wxyz=UPRIGHT if goal.orientation is None else goal.orientation,
            disable_rotations=goal.orientation is None,
            depth_test=False,
        )
        handle.on_update(session.guarded(self._dragged))

    def _dragged(self, event: Any) -> None:
        handle = event.target
        self.drag(handle.position, handle.wxyz if self._turn.value else None)
        if event.phase == "end":
            self.drop()

    def _move_handle(self, actor: Actor, position: Floats, orientation: Floats | None) -> None:
        handle = self._session.gizmos.get("limb")
        if handle is None or self._before is not None:
            return
        if not np.allclose(handle.position, position + actor.position, atol=1e-9):
            handle.position = position + actor.position
        if orientation is not None and not np.allclose(handle.wxyz, orientation, atol=1e-9):
            handle.wxyz = orientation

    def _told(self, topic: str) -> None:
        if topic in ("actors", "active"):
            with self._session.lock:
                self._follow_actor()

    def _follow_actor(self) -> None:
        """Offer the parts of the active body; the one before goes back to its motion."""
        actor, body = self._session.active, self._session.body
        if actor is not self._actor:
            self._let_go(self._actor)
        self._actor = actor
        parts = [part for part, limb in LIMB_OF.items() if body and all(role in body.roles for role in ROLES[limb])]
        offered = (NONE, *(_words(part) for part in parts))
        before = str(self._part.value)
        if self._part.options != offered:
            self._part.options = offered
        if before != NONE:
            self.choose(before if before in offered else NONE)
        self.obstacle.show()
        if not parts:
            self._show_nothing("Nothing here has arms or legs." if actor else "Open a motion to begin.")

    def _let_go(self, actor: Actor | None) -> None:
        if actor is not None and self._holding:
            actor.pose_override = None
        self._holding, self._before = False, None


def _words(part: str) -> str:
    return part.replace("_", " ")


def _orbit_legend(unusual: bool) -> str:
    """Return the colours of the orbit; with `unusual`, also that of what people do not do."""
    return f"orbit: {legend(ORBIT_LABELS)}" + (f" {coloured(UNUSUAL, '● unusual')}" if unusual else "")


def _placement_text(placed: PlaceSolution, moved_by_range: bool) -> str:
    """Return how a placement went; `moved_by_range` where a learned range has moved its target."""
    outside = moved_by_range and int(placed.status) == Status.LIMITS
    tests, rotated = int(placed.tests), math.degrees(float(placed.orientation_error))
    return (
        f"{status_text(placed.status, 'people do not reach there' if outside else None)}  \n"
        f"residual {1000 * float(placed.position_error):.1f} mm, {rotated:.1f}°  \n"
        f"swivel {math.degrees(float(placed.swivel)):.1f}° · {tests} test{'' if tests == 1 else 's'}"
    )


def _range_text(changed: Sequence[str], applied: bool) -> str:
    """Return what a learned range changed of a target, or would change."""
    if not changed:
        return coloured(COLOURS[Status.REACHED], "people do this")
    what = " and ".join(changed)
    return coloured(UNUSUAL, f"the range changed the {what}" if applied else f"people do not do this: {what}")

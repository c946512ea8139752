"""Limb: drag a hand or a foot, and see what the elbow or the knee can do about it.

Where the parts shall be is kept for each track as goals; the pose is made of the motion's pose and the goals whenever
a moment is drawn. A drag therefore only changes a goal, and however fast it is, one solve is made for each frame of
the screen. While the motion plays on, the part stays where it was put.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import viser

from ... import math as pm
from ...compute import Status
from ...compute.types import Floats
from ...limb.model import ROLES
from ...skeleton import Pose
from ..controls import assign
from ..obstacle import KINDS, Obstacle
from ..orbit import COLOURS, Goal, Orbit, canonical_orientation
from ..session import Session
from ..tracks import Track

if TYPE_CHECKING:
    from ...body import Humanoid
    from ...body.limbs import Placement

NONE = "(none)"
LIMB_OF = {roles[-1]: limb for limb, roles in ROLES.items()}
"""Limbs by the part that is dragged: "right_hand" of "right_arm"."""
WORDS = {
    Status.REACHED: "the part is where the handle is",
    Status.LIMITS: "the joints' limits hold it back",
    Status.COLLISION: "something is in the way",
    Status.UNREACHABLE: "out of reach",
    Status.SINGULAR: "no single answer there",
    Status.INVALID: "that is no place",
}
LEGEND = (
    (Status.REACHED, "free"),
    (Status.LIMITS, "limits"),
    (Status.COLLISION, "collision"),
    (Status.SINGULAR, "none"),
)
"""What the colours of the orbit say."""


Goals = Mapping[str, Goal]


class LimbTab:
    """Put hands and feet somewhere with handles in the scene."""

    title = "Limb"

    def __init__(self) -> None:
        self._goals: WeakKeyDictionary[Track, Goals] = WeakKeyDictionary()
        self._before: tuple[Track, Goals] | None = None  # what a drag began with
        self._track: Track | None = None
        self._holding = False
        self.placement: Placement | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """The part and how it is placed, the answer, an obstacle."""
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
        gui.add_markdown("orbit: " + " ".join(_coloured(status, f"● {word}") for status, word in LEGEND))
        back = gui.add_button("Back to the motion", icon=viser.Icon.ARROW_BACK)
        back.on_click(session.guarded(lambda _: self.release()))
        self._kind = gui.add_dropdown("Obstacle", (NONE, *KINDS), hint="Something to keep out of; drag its handle")
        self._kind.on_update(session.guarded(lambda _: self.put_obstacle(self._kind.value)))
        self._obstacle = Obstacle(session, self.move_obstacle)
        self._orbit = Orbit(session)
        self._leave = session.listen(self._told)
        self._follow_track()

    def update(self, time: float) -> None:
        """Make the pose of this moment, and draw the orbit of the elbow in it."""
        with self._session.lock:
            track, body = self._session.active, self._session.body
            if track is None or body is None:
                return
            goals = self._goals_of(track)
            pose = track.motion.at(time) if goals or self._holding else track.pose(time)
            self.placement = None
            for part, goal in goals.items():
                placed = body.place(pose, part, goal.target, **self._options(part))
                pose = placed.pose
                if part == self.part:
                    self.placement = placed
            if goals:
                self._session.hold(pose)
            elif self._holding:
                self._session.hold(None)
            self._holding = bool(goals)
            self._draw(track, body, pose)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._leave()
        with self._session.lock:
            self._let_go(self._track)
            self._see_through(None)
            self._orbit.remove()
            self._obstacle.remove()
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
            assign(self._part, part.replace("_", " "))
            self._before = None
            track, body = session.active, session.body
            self._see_through(track if self.part is not None and body is not None else None)
            if self.part is None or track is None or body is None:
                session.remove_gizmo("limb")
                session.changed("pose")
                return
            session.clock.pause()
            goal = self._goals_of(track).get(self.part)
            assign(self._turn, goal is not None and goal.orientation is not None)
            assign(self._preferred, round(math.degrees(body.limb(LIMB_OF[self.part]).search.preferred)))
            self._add_handle()
            session.changed("pose")

    def drag(self, position: Floats, orientation: Floats | None = None) -> None:
        """Have the part at a place on the stage [m], turned so (canonical); the step to undo is made by `drop`."""
        session = self._session
        with session.lock:
            track, body, part = session.active, session.body, self.part
            if track is None or body is None or part is None:
                return
            goals = self._goals_of(track)
            turned = None if orientation is None else np.array(orientation, dtype=np.float64)
            goal = Goal(np.array(position, dtype=np.float64) - track.place, turned)
            if _same(goal, goals.get(part) or self._as_it_is(body, part, track.pose(session.time))):
                return  # a click, or a message that comes after the drag's end
            self._before = self._before or (track, goals)
            self._goals[track] = {**goals, part: goal}
            session.changed("pose")

    def drop(self) -> None:
        """End a drag: from here it can be undone in one step."""
        with self._session.lock:
            begun, self._before = self._before, None
            if begun is not None and begun[0] in self._session.tracks:
                words = (self.part or "part").replace("_", " ")
                self._keep(f"Place the {words}", begun[0], begun[1], self._goals_of(begun[0]))

    def turn(self, too: bool) -> None:
        """Have the handle turn the part too, or leave its turn to the limb."""
        session = self._session
        with session.lock:
            assign(self._turn, too)
            track, body, part = session.active, session.body, self.part
            if track is None or body is None or part is None:
                return
            goals = self._goals_of(track)
            if part in goals:
                now = canonical_orientation(body, part, track.pose(session.time)) if too else None
                goal = Goal(goals[part].position, now)
                self._keep(f"Turn the {part.replace('_', ' ')}", track, goals, {**goals, part: goal})
            self._add_handle()

    def release(self) -> None:
        """Back to the motion: all goals go. Can be undone."""
        with self._session.lock:
            track = self._session.active
            if track is not None and (goals := self._goals_of(track)):
                self._keep("Back to the motion", track, goals, {})

    def put_obstacle(self, kind: str) -> None:
        """Put a "box" or a "ball" before the body, where the one before it was; `NONE` takes it away."""
        session = self._session
        with session.lock:
            assign(self._kind, kind)
            track, body = session.active, session.body
            if track is None or body is None or kind == NONE:
                self._obstacle.remove()
            else:
                self._obstacle.put(kind, track, body)
            session.changed("pose")

    def move_obstacle(self, position: Floats) -> None:
        """Have the obstacle at a place on the stage [m]."""
        with self._session.lock:
            if self._session.active is not None:
                self._obstacle.move(position, self._session.active)
                self._session.changed("pose")

    # What follows from it.

    def _options(self, part: str) -> dict[str, Any]:
        options: dict[str, Any] = {"itself": bool(self._itself.value)}
        if part == self.part:
            options["preferred"] = math.radians(self._preferred.value)
        if len(self._obstacle.scene):
            options["scene"] = self._obstacle.scene
        return options

    def _goals_of(self, track: Track) -> Goals:
        return self._goals.get(track, {})

    def _keep(self, label: str, track: Track, before: Goals, after: Goals) -> None:
        """Make a change of the goals a step that can be undone."""

        def put(goals: Goals) -> None:
            self._goals[track] = goals
            self._before = None
            if track is self._session.active and self.part is not None:
                goal = goals.get(self.part)
                if goal is not None and (goal.orientation is not None) != self._turn.value:
                    assign(self._turn, goal.orientation is not None)
                    self._add_handle()
                elif goal is not None:
                    self._move_handle(track, goal.position, goal.orientation)
            self._session.changed("pose")

        self._session.run(label, lambda: put(after), lambda: put(before))

    def _draw(self, track: Track, body: Humanoid, pose: Pose) -> None:
        part = self.part
        if part is None:
            self._orbit.hide()
            self._say("Choose a part, then drag its handle in the scene.")
            return
        goal = self._goals_of(track).get(part)
        if goal is None:
            goal = self._as_it_is(body, part, pose)
            self._move_handle(track, goal.position, goal.orientation)
        options = {name: value for name, value in self._options(part).items() if name != "preferred"}
        self._orbit.draw(track, body, LIMB_OF[part], pose, goal, options)
        self._say(_facts(self.placement) if self.placement else f"Drag the handle at the {part.replace('_', ' ')}.")

    def _as_it_is(self, body: Humanoid, part: str, pose: Pose) -> Goal:
        """The goal that leaves a part where it is."""
        place = body.skeleton.forward(pose).positions[body.index(part)]
        return Goal(place, canonical_orientation(body, part, pose) if self._turn.value else None)

    def _see_through(self, track: Track | None) -> None:
        """Have the orbit seen where it passes through and behind the body."""
        stage = self._session.stage
        if stage.seen_through is not track:
            stage.seen_through = track
            stage.apply_look(self._session.tracks)

    def _say(self, text: str) -> None:
        if self._told_now.content != text:
            self._told_now.content = text

    def _add_handle(self) -> None:
        """The handle at the part; made anew where it begins or ceases to turn."""
        session, track, body, part = self._session, self._session.active, self._session.body, self.part
        if track is None or body is None or part is None:
            return
        goal = self._goals_of(track).get(part) or self._as_it_is(body, part, track.pose(session.time))
        handle = session.add_gizmo(
            "limb",
            goal.position + track.place,
            scale=0.16 * body.height,
            wxyz=np.array([1.0, 0.0, 0.0, 0.0]) if goal.orientation is None else goal.orientation,
            disable_rotations=goal.orientation is None,
            depth_test=False,
        )
        handle.on_update(session.guarded(self._dragged))

    def _dragged(self, event: Any) -> None:
        handle = event.target
        self.drag(handle.position, handle.wxyz if self._turn.value else None)
        if event.phase == "end":
            self.drop()

    def _move_handle(self, track: Track, position: Floats, orientation: Floats | None) -> None:
        handle = self._session.gizmos.get("limb")
        if handle is None or self._before is not None:
            return
        if not np.allclose(handle.position, position + track.place, atol=1e-9):
            handle.position = position + track.place
        if orientation is not None and not np.allclose(handle.wxyz, orientation, atol=1e-9):
            handle.wxyz = orientation

    def _told(self, topic: str) -> None:
        if topic in ("tracks", "active"):
            with self._session.lock:
                self._follow_track()

    def _follow_track(self) -> None:
        """Offer the parts of the active body; the one before goes back to its motion."""
        track, body = self._session.active, self._session.body
        if track is not self._track:
            self._let_go(self._track)
        self._track = track
        parts = [part for part, limb in LIMB_OF.items() if body and all(role in body.roles for role in ROLES[limb])]
        offered = (NONE, *(part.replace("_", " ") for part in parts))
        before = str(self._part.value)
        if self._part.options != offered:
            self._part.options = offered
        if before != NONE:
            self.choose(before if before in offered else NONE)
        if self._kind.value != NONE:
            self.put_obstacle(self._kind.value if parts else NONE)
        if not parts:
            self._orbit.hide()
            self._say("Nothing here has arms or legs." if track else "Open a motion to begin.")

    def _let_go(self, track: Track | None) -> None:
        if track is not None and self._holding:
            track.held = None
        self._holding, self._before = False, None


def _same(one: Goal, other: Goal) -> bool:
    """Whether two goals are one to an eye: browsers know places to 1e-7."""
    if one.orientation is None or other.orientation is None:
        turned = one.orientation is not other.orientation
    else:
        turned = bool(pm.angle(one.orientation, other.orientation) > 1e-5)
    return not turned and bool(np.allclose(one.position, other.position, rtol=0.0, atol=1e-6))


def _facts(placed: Placement) -> str:
    status = Status(int(placed.status))
    turned = math.degrees(float(placed.orientation_residual))
    return (
        f"{_coloured(status, f'**{status.name}**')} · {WORDS[status]}  \n"
        f"residual {1000 * float(placed.residual):.1f} mm, {turned:.1f}°  \n"
        f"swivel {math.degrees(float(placed.swivel)):.1f}° · {int(placed.tests)} tests"
    )


def _coloured(status: Status, text: str) -> str:
    colour = "#{:02x}{:02x}{:02x}".format(*COLOURS[status])
    return f'<span style="color: {colour}">{text}</span>'

"""Reach: drag a hand's target, and design how the rest of the body goes with it.

A behaviour is a set of key postures on the swing plane of the shoulder. The plane is drawn in the panel and on a sphere
around the shoulder; keys are chosen, added, moved and removed there, and their joints turned with sliders. Whatever is
changed, the whole body is solved anew before the next moment is drawn, so that an artist sees the reach, not numbers.
While a key is chosen, all of its posture is shown; else as much as the distance of the target asks for.
"""

from __future__ import annotations

import viser

from ....compute import PosableError
from ....compute.types import Floats, Ints
from ....reach import Behaviour, ReachAnswer, Reacher, ReachMotion, ReachStep
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.controls import assign
from .behaviour_folder import BehaviourFolder
from .behaviours import SIDES
from .joint_handle import JointHandle
from .key_editor import KeyEditor
from .keys import IN_SPACE, ReachKeys
from .messages import reach_facts
from .options import ReachOptions
from .player import HOLD, ReachPlayer
from .swings import in_space
from .targets import ReachTargets
from .view import ReachView

NONE = "(none)"
WELCOME = "The whole body goes along with a hand, in a style of key postures. Choose a hand to begin."
HANDS = (NONE, "right hand", "left hand", "both hands")


class ReachTab:
    """Reach with the whole body, in a style that is designed here."""

    title = "Reach"

    def __init__(self) -> None:
        self.answer: ReachAnswer | None = None
        self.map: tuple[Floats, Ints] | None = None  # swings and statuses, while they are shown
        self._actor: Actor | None = None
        self._holding = False

    # The panel.

    def build(self, session: Session) -> None:
        """Hands, the plane and its keys, the posture of a key, what is seen, how to reach, files."""
        self._session = session
        gui = session.gui
        self._hands = gui.add_dropdown("Hand", HANDS, hint="Which hand reaches; its target is in the scene")
        self._hands.on_update(session.guarded(lambda _: self.choose(str(self._hands.value))))
        self._side = gui.add_dropdown("Edit", SIDES, hint="The arm whose behaviour the plane shows", visible=False)
        self._side.on_update(session.guarded(lambda _: self.edit_side(str(self._side.value))))
        self.files = BehaviourFolder(session, lambda: self.keys)
        self._told_now = gui.add_markdown("")
        self.view = ReachView(session, lambda stroke: self.keys.stroke(stroke), self.set_distance)
        tools = gui.add_button_group("Key", ("Add", "Copy", "Remove"), hint="Add: where the target is")
        tools.on_click(session.guarded(lambda event: self.keys.tool(event.target.value)))
        self.editor = KeyEditor(session, lambda: self.keys.edited, lambda *change: self.keys.change(*change))
        self.joint = JointHandle(session, self.editor)
        self.view.add_controls()
        self.player = ReachPlayer(session, self.motion)
        face = gui.add_button("Look from that side", icon=viser.Icon.EYE, hint="The camera before the arm's shoulder")
        face.on_click(session.guarded(lambda event: self.face(event.client)))
        mirror = gui.add_button("Mirror to the other arm", icon=viser.Icon.FLIP_VERTICAL)
        mirror.on_click(session.guarded(lambda _: self.keys.mirror()))
        self.options = ReachOptions(session)
        self.targets = ReachTargets(session, self.options, self._target_moved)
        self.keys = ReachKeys(
            *(session, self.options, self.targets, self.view.sphere),
            hands=lambda: (self.sides, self.side),
            turn_to=self._turn_to,
            changed=self._changed,
        )
        self.files.add_folder()
        self._leave = session.subscribe(self._told)
        self._follow_actor()

    def update(self, time: float) -> None:
        """Solve the reach of this moment and draw it."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None or not self.sides:
                self._rest()
                return
            start = self.options.start(actor, body, time)
            self.targets.carry(self.options.ground(start))
            self._holding = True
            playing = self.player.pose()
            if playing is not None:
                self.joint.hide()
                self._session.override_pose(playing)
                return
            reacher = self.keys.reacher(body)
            answer = reacher.solve(**self.targets.aims(self.sides), start=start, weight=self.weight)
            self.answer = answer
            self._session.override_pose(answer.pose)
            self._draw(actor, start, answer, reacher)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._leave()
        self.keys.leave()
        with self._session.lock:
            if self._actor is not None and self._holding:
                self._actor.pose_override = None
            self.view.sphere.remove()
            self.options.obstacle.hide()
            self.joint.hide()
            self.targets.show(())

    # Hands and targets.

    @property
    def sides(self) -> tuple[str, ...]:
        """The hands that reach."""
        hands = str(self._hands.value)
        return () if hands == NONE else (SIDES if hands == HANDS[3] else (hands.split()[0],))

    @property
    def weight(self) -> float | None:
        """How much of the behaviour is shown: set by hand, all while a key is edited, or None: by the distance."""
        if self.options.weight is not None:
            return self.options.weight
        return None if self.keys.chosen is None else 1.0

    def choose(self, hands: str) -> None:
        """Have a hand reach ("right hand"), or both; `NONE` goes back to the motion."""
        session = self._session
        with session.lock:
            assign(self._hands, hands if hands in HANDS else NONE)
            if self.sides and self.side not in self.sides:
                assign(self._side, self.sides[0])
            self._side.visible = len(self.sides) == 2
            self.keys.chosen = None
            self.player.stop()
            if self.sides:
                session.clock.pause()
            self.targets.show(self.sides)
            session.changed("pose")

    def set_distance(self, lengths: float) -> None:
        """Put the target of the edited arm so many arm lengths from the shoulder, in its direction."""
        with self._session.lock:
            if self.side in self.targets and self.targets.set_distance(self.side, lengths):
                self._changed()

    def face(self, client: viser.ClientHandle) -> None:
        """Have the camera of a window before the edited arm."""
        with self._session.lock:
            self.view.face(client, self.side, self.targets.frame(self.side))

    def motion(self) -> ReachMotion:
        """The reach motion from the starting pose to the targets."""
        with self._session.lock:
            body, actor, aims = self._session.body, self._session.active, self.targets.aims(self.sides)
            if body is None or actor is None or not aims:
                raise PosableError("choose a hand first; its target says where the reach goes")
            step = ReachStep(aims.get("right"), aims.get("left"), HOLD)
            start = self.options.start(actor, body, self._session.time)
            return self.keys.reacher(body).animate(steps=[step], start=start)

    @property
    def side(self) -> str:
        """The arm whose behaviour is edited."""
        return str(self._side.value)

    def edit_side(self, side: str) -> None:
        """Have the plane show the behaviour of this arm."""
        with self._session.lock:
            assign(self._side, side)
            self.keys.chosen = None
            self._changed()

    def _turn_to(self, side: str) -> None:
        if len(self.sides) == 1:
            self.choose(f"{side} hand")
        else:
            self.edit_side(side)

    # What follows from it.

    def _draw(self, actor: Actor, start: Pose, answer: ReachAnswer, reacher: Reacher) -> None:
        side, distance = self.side, self.targets.distance(self.side)
        turned, origin = self.targets.frame(side)
        self.map = self.options.map(reacher, side, start, distance) if self.view.mapping else None
        self.view.draw(
            self.keys.behaviour,
            (turned, origin + actor.position),
            distance,
            self.targets.length(side),
            swing=self.targets.swing(side),
            chosen=self.keys.chosen,
            map=self.map,
        )
        self.targets.draw(actor)
        self.files.show()
        self.editor.show()
        if self.keys.chosen is not None and self.editor.handle:
            self.joint.draw(actor, reacher.body, answer.pose, start, self.keys.behaviour.posture(self.keys.chosen))
        else:
            self.joint.hide()
        facts = reach_facts(answer, self.keys.chosen is not None and self.options.weight is None)
        self._say(f"{facts}  \n{IN_SPACE}" if in_space(self.keys.behaviour) else facts)

    def _say(self, text: str) -> None:
        if self._told_now.content != text:
            self._told_now.content = text

    def _rest(self) -> None:
        """No hand reaches: the motion goes on."""
        if self._holding:
            self._session.override_pose(None)
        self._holding, self.answer, self.map = False, None, None
        self.view.hide()
        self.editor.show()
        self.joint.hide()
        self._say(WELCOME if self._session.body is not None else "Open a motion of a person first.")

    def _target_moved(self, side: str) -> None:
        self.keys.chosen = None if side == self.side else self.keys.chosen
        self._changed()

    def _changed(self) -> None:
        self.player.stop()
        self._session.changed("pose")

    def _told(self, topic: str) -> None:
        if topic in ("actors", "active"):
            with self._session.lock:
                self._follow_actor()
        elif topic == "selection" and self._session.selection is not None and self.keys.chosen is not None:
            chosen, body = self._session.selection, self._session.body
            if body is not None and chosen.actor is self._session.active:
                self.editor.choose(next((role for role, joint in body.roles.items() if joint == chosen.joint), ""))

    def _follow_actor(self) -> None:
        """Reach with the active body; behaviours with parts that it lacks give way to the example "normal"."""
        actor, body = self._session.active, self._session.body
        if actor is self._actor:
            return
        if self._actor is not None and self._holding:
            self._actor.pose_override = None
        self._actor, self._holding = actor, False
        self.keys.chosen = None
        self.targets.clear()
        self.player.stop()
        if body is not None and not self.keys.behaviours.fit(body):
            self.keys.behaviours.begin(*(Behaviour.default(body, f"{side}_arm") for side in SIDES))
        self.targets.show(self.sides)

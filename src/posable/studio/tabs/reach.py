"""Reach: drag a hand's target, and design how the rest of the body goes with it.

A behaviour is a set of key postures on the swing plane of the shoulder. The plane is drawn in the panel and on a sphere
around the shoulder; keys are chosen, added, moved and removed there, and their joints turned with sliders. Whatever is
changed, the whole body is solved anew before the next moment is drawn, so that an artist sees the reach, not numbers.
While a key is chosen, all of its posture is shown; else as much as the distance of the target asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import viser

from ...compute import PosableError
from ...compute.types import ArrayLike, Floats, Ints
from ...reach import Behaviour, ReachAnswer, Reacher, ReachMotion
from ...reach import Reach as ReachStep
from ...skeleton import Pose
from ..behaviour_folder import BehaviourFolder
from ..behaviours import PATIENCE, SIDES, Behaviours
from ..controls import assign
from ..joint_handle import JointHandle
from ..key_editor import KeyEditor
from ..reach_options import ReachOptions
from ..reach_player import HOLD, ReachPlayer
from ..reach_targets import ReachTargets
from ..reach_telling import reach_facts
from ..reach_view import ReachView
from ..session import Session
from ..swing_plane import Stroke
from ..tracks import Track

if TYPE_CHECKING:
    from ...body import Humanoid

NONE = "(none)"
HANDS = (NONE, "right hand", "left hand", "both hands")


class ReachTab:
    """Reach with the whole body, in a style that is designed here."""

    title = "Reach"

    def __init__(self) -> None:
        self.key: int | None = None  # the one that is edited
        self.answer: ReachAnswer | None = None
        self.map: tuple[Floats, Ints] | None = None  # swings and statuses, while they are shown
        self._track: Track | None = None
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
        self.files = BehaviourFolder(session, lambda: self.behaviour, self.take, self.start_from, self.restyle)
        self._told_now = gui.add_markdown("")
        self.behaviours = Behaviours(session, self._behaviours_changed)
        self.view = ReachView(session, self.stroke, self.choose_key, self.set_distance)
        keys = gui.add_button_group("Key", ("Add", "Copy", "Remove"), hint="Add: in the direction of the target")
        keys.on_click(session.guarded(lambda event: self._key_tool(event.target.value)))
        self.editor = KeyEditor(session, self._edited, self._change_key)
        self.joint = JointHandle(session, self.editor)
        self.view.add_controls()
        self.player = ReachPlayer(session, self.motion)
        face = gui.add_button("Look from that side", icon=viser.Icon.EYE, hint="The camera before the arm's shoulder")
        face.on_click(session.guarded(lambda event: self.face(event.client)))
        mirror = gui.add_button("Mirror to the other arm", icon=viser.Icon.FLIP_VERTICAL)
        mirror.on_click(session.guarded(lambda _: self.mirror()))
        self.options = ReachOptions(session)
        self.targets = ReachTargets(session, self.options, self._target_moved)
        self.files.add_folder()
        self._leave = session.listen(self._told)
        self._follow_track()

    def update(self, time: float) -> None:
        """Solve the reach of this moment and draw it."""
        with self._session.lock:
            track, body = self._session.active, self._session.body
            if track is None or body is None or not self.sides:
                self._rest()
                return
            start = self.options.start(track, body, time)
            self.targets.carry(self.options.ground(start))
            self._holding = True
            playing = self.player.pose()
            if playing is not None:
                self._session.hold(playing)
                return
            reacher = self._reacher(body)
            answer = reacher.solve(**self.targets.aims(self.sides), start=start, weight=self.weight)
            self.answer = answer
            self._session.hold(answer.pose)
            self._draw(track, start, answer, reacher)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._leave()
        self.behaviours.leave()
        with self._session.lock:
            if self._track is not None and self._holding:
                self._track.held = None
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
        return None if self.key is None else 1.0

    def choose(self, hands: str) -> None:
        """Have a hand reach ("right hand"), or both; `NONE` goes back to the motion."""
        session = self._session
        with session.lock:
            assign(self._hands, hands if hands in HANDS else NONE)
            if self.sides and self.side not in self.sides:
                assign(self._side, self.sides[0])
            self._side.visible = len(self.sides) == 2
            self.key = None
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
            body, track, aims = self._session.body, self._session.active, self.targets.aims(self.sides)
            if body is None or track is None or not aims:
                raise PosableError("choose a hand first; its target says where the reach goes")
            step = ReachStep(aims.get("right"), aims.get("left"), HOLD)
            start = self.options.start(track, body, self._session.time)
            return self._reacher(body).animate(steps=[step], start=start)

    # Keys.

    @property
    def side(self) -> str:
        """The arm whose behaviour is edited."""
        return str(self._side.value)

    @property
    def behaviour(self) -> Behaviour:
        """The behaviour that is edited; as it is now: an edit makes a new one."""
        return self.behaviours[self.side]

    def edit_side(self, side: str) -> None:
        """Have the plane show the behaviour of this arm."""
        with self._session.lock:
            assign(self._side, side)
            self.key = None
            self._changed()

    def choose_key(self, key: int) -> None:
        """Edit a key: the target goes where the hand comes with all of its posture, which is shown."""
        with self._session.lock:
            self.key = key
            self._show_key(self.behaviour.key(key).at)

    def stroke(self, stroke: Stroke) -> None:
        """Do what a pointer on the plane asks for: choose a key, drag it, or put the target elsewhere."""
        with self._session.lock:
            if not self.sides:
                return
            keys = {key.id: key for key in self.behaviour.keys}
            if stroke.key is None or stroke.key not in keys:
                self.targets.aim(self.side, stroke.now)
                self.key = None
                self._changed()
                return
            if stroke.moved and not keys[stroke.key].outer:
                self.behaviours.move(self.side, stroke.key, stroke.now, tag=("move", stroke.id))
            self.choose_key(stroke.key)

    def add_key(self) -> int:
        """Add a key in the direction of the target and edit it; it follows the field until it is changed."""
        with self._session.lock:
            if self.side not in self.targets or not self.sides:
                raise PosableError("choose a hand first; the key is added in the direction of its target")
            at = self.targets.swing(self.side)
            self.key = self.behaviours.add(self.side, at)
            self._show_key(at)
            return self.key

    def copy_key(self) -> int:
        """Copy the key that is edited to a place beside it, and edit the copy."""
        with self._session.lock:
            copy = self.behaviours.copy(self.side, self._some_key())
            self.choose_key(copy)
            return copy

    def remove_key(self) -> None:
        """Remove the key that is edited."""
        with self._session.lock:
            self.behaviours.remove(self.side, self._some_key())

    def mirror(self) -> None:
        """Give the other arm the mirrored behaviour. Can be undone."""
        with self._session.lock:
            other = SIDES[1 - SIDES.index(self.side)]
            self.behaviours.replace(f"Mirror to the {other} arm", **{other: self.behaviour.mirrored()})
            self._session.tell(f"The {other} arm now reaches like the {self.side} one")

    def take(self, behaviour: Behaviour, name: str) -> None:
        """Have a behaviour for the arm it is made for, and edit it. Can be undone."""
        with self._session.lock:
            if behaviour.blending == "around":
                raise PosableError(
                    f"{name} has its keys in space around the shoulder; here they are on the swing plane"
                )
            side = behaviour.limb.split("_")[0]
            self.key = None
            self.behaviours.replace(f"Load {name}", **{side: behaviour})
            if len(self.sides) == 1 and side not in self.sides:
                self.choose(f"{side} hand")
            elif side != self.side:
                self.edit_side(side)

    def start_from(self, example: str) -> None:
        """Have an example for both arms. Can be undone."""
        with self._session.lock:
            made = {side: Behaviour.example(example, f"{side}_arm", self._session.body) for side in SIDES}
            self.key = None
            self.behaviours.replace(f"Start from {example}", **made)

    def restyle(self, **style: Any) -> None:
        """Change how the edited behaviour blends, how the distance counts, or its name: as `Behaviour.restyle`."""
        self.behaviours.edit(
            self.side, "Restyle the behaviour", lambda one: one.restyle(**style), tag=(*style,), patience=PATIENCE
        )

    def _show_key(self, at: ArrayLike) -> None:
        """Have the target in a key's direction, where the hand comes when the body has all of the key's posture."""
        track, body = self._session.active, self._session.body
        if track is None or body is None or not self.sides:
            return
        self.targets.aim(self.side, at)
        start = self.options.start(track, body, self._session.time)
        answer = self._reacher(body).solve(**self.targets.aims(self.sides), start=start, weight=1.0)
        shoulder = body.skeleton.forward(answer.pose).positions[body.index(f"{self.side}_upper_arm")]
        self.targets.reach_out(self.side, at, shoulder)
        self._changed()

    def _key_tool(self, which: str) -> None:
        {"Add": self.add_key, "Copy": self.copy_key, "Remove": self.remove_key}[which]()

    def _change_key(self, label: str, change: Callable[[Behaviour, int], None], tag: Any, patience: float) -> None:
        key = self._some_key()
        self.behaviours.edit(self.side, label, lambda one: change(one, key), tag=tag, patience=patience)

    def _edited(self) -> tuple[Humanoid, Behaviour, int] | None:
        body = self._session.body
        return None if body is None or self.key is None or not self.sides else (body, self.behaviour, self.key)

    def _some_key(self) -> int:
        if self.key is None:
            raise PosableError("choose a key first: click it on the plane, or add one")
        return self.key

    # What follows from it.

    def _reacher(self, body: Humanoid) -> Reacher:
        return self.options.reacher(body, self.behaviours["right"], self.behaviours["left"])

    def _draw(self, track: Track, start: Pose, answer: ReachAnswer, reacher: Reacher) -> None:
        side, distance = self.side, self.targets.distance(self.side)
        turned, origin = self.targets.frame(side)
        self.map = self.options.map(reacher, side, start, distance) if self.view.mapping else None
        self.view.draw(
            self.behaviour,
            (turned, origin + track.place),
            distance,
            self.targets.length(side),
            swing=self.targets.swing(side),
            chosen=self.key,
            map=self.map,
        )
        self.targets.draw(track)
        self.files.show()
        self.editor.show()
        if self.key is not None and self.editor.handle:
            self.joint.draw(track, reacher.body, answer.pose, start, self.behaviour.posture(self.key))
        else:
            self.joint.hide()
        self._say(reach_facts(answer, self.key is not None and self.options.weight is None))

    def _say(self, text: str) -> None:
        if self._told_now.content != text:
            self._told_now.content = text

    def _rest(self) -> None:
        """No hand reaches: the motion goes on."""
        if self._holding:
            self._session.hold(None)
        self._holding, self.answer, self.map = False, None, None
        self.view.hide()
        self.editor.show()
        self.joint.hide()
        self._say("Choose a hand to begin." if self._session.body is not None else "Open a motion of a person first.")

    def _target_moved(self, side: str) -> None:
        self.key = None if side == self.side else self.key
        self._changed()

    def _changed(self) -> None:
        self.player.stop()
        self._session.changed("pose")

    def _behaviours_changed(self) -> None:
        if self.key is not None and self.key not in [key.id for key in self.behaviour.keys]:
            self.key = None
        self._session.changed("pose")

    def _told(self, topic: str) -> None:
        if topic in ("tracks", "active"):
            with self._session.lock:
                self._follow_track()
        elif topic == "selection" and self._session.selection is not None and self.key is not None:
            chosen, body = self._session.selection, self._session.body
            if body is not None and chosen.track is self._session.active:
                self.editor.choose(next((role for role, joint in body.roles.items() if joint == chosen.joint), ""))

    def _follow_track(self) -> None:
        """Reach with the active body; behaviours with parts that it lacks give way to the example "normal"."""
        track, body = self._session.active, self._session.body
        if track is self._track:
            return
        if self._track is not None and self._holding:
            self._track.held = None
        self._track, self._holding = track, False
        self.key = None
        self.targets.clear()
        self.player.stop()
        if body is not None and not self.behaviours.fit(body):
            self.behaviours.begin(*(Behaviour.default(body, f"{side}_arm") for side in SIDES))
        self.targets.show(self.sides)

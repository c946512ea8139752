"""Reach: drag a hand's target, and design how the rest of the body goes with it.

A behaviour is a set of key postures on the swing plane of the shoulder. The plane is drawn in the panel and on a sphere
around the shoulder; keys are chosen, added, moved and removed there, and their joints turned with sliders. Whatever is
changed, the whole body is solved anew before the next moment is drawn, so that an artist sees the reach, not numbers.
While a key is chosen, all of its posture is shown; else as much as the distance of the target asks for.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ... import math as pm
from ...compute import PosableError
from ...compute.types import ArrayLike, Floats, Ints
from ...limb import Target
from ...reach import Behaviour, Posture, ReachAnswer, Reacher, ReachMotion
from ...reach import Reach as ReachStep
from ...skeleton import Pose
from ..behaviour_folder import BehaviourFolder
from ..behaviours import PATIENCE, SIDES, Behaviours
from ..controls import assign
from ..key_editor import KeyEditor
from ..learned import limb_frame
from ..reach_options import ReachOptions
from ..reach_player import HOLD, ReachPlayer
from ..reach_sphere import place_at
from ..reach_telling import reach_facts
from ..reach_view import ReachView
from ..session import Session
from ..swing_plane import Stroke, swing_of
from ..tracks import Track

if TYPE_CHECKING:
    from ...body import Humanoid

NONE = "(none)"
HANDS = (NONE, "right hand", "left hand", "both hands")
AHEAD = (math.radians(20.0), math.radians(60.0), 0.85)
"""Where a target is that nobody has moved yet: swing of the right arm [rad], distance [arm lengths]."""


class ReachTab:
    """Reach with the whole body, in a style that is designed here."""

    title = "Reach"

    def __init__(self) -> None:
        self.targets: dict[str, Floats] = {}  # by side, (3,) in the track's world [m]
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
        self._told_now = gui.add_markdown("")
        self.behaviours = Behaviours(session, self._behaviours_changed)
        self.view = ReachView(session, self.stroke, self.choose_key, self.set_distance)
        keys = gui.add_button_group("Key", ("Add", "Copy", "Remove"), hint="Add: in the direction of the target")
        keys.on_click(session.guarded(lambda event: self._key_tool(event.target.value)))
        self.editor = KeyEditor(session, self._edited, self._put_posture)
        self.view.add_controls()
        self.player = ReachPlayer(session, self.motion)
        mirror = gui.add_button("Mirror to the other arm", icon=viser.Icon.FLIP_VERTICAL)
        mirror.on_click(session.guarded(lambda _: self.mirror()))
        self.options = ReachOptions(session)
        self.files = BehaviourFolder(session, lambda: self.behaviour, self.take, self.start_from)
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
            self._place_new_targets(body, start)
            self._holding = True
            playing = self.player.pose()
            if playing is not None:
                self._session.hold(playing)
                return
            reacher = self._reacher(body)
            self.answer = reacher.solve(**self._aims(), start=start, weight=self.weight)
            self._session.hold(self.answer.pose)
            self._draw(track, start, reacher)

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._leave()
        self.behaviours.leave()
        with self._session.lock:
            if self._track is not None and self._holding:
                self._track.held = None
            self.view.sphere.remove()
            self.options.obstacle.hide()
            for side in SIDES:
                self._session.remove_gizmo(f"reach_{side}")

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

    @property
    def swing(self) -> Floats:
        """(2,) the swing [rad] of the edited arm's target."""
        body = self._body()
        turned, origin = self.frame(body, self.side)
        return swing_of(pm.rotate(pm.conjugate(turned), self.targets[self.side] - origin))

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
            self._add_handles()
            session.changed("pose")

    def drag(self, side: str, position: ArrayLike) -> None:
        """Have the target of a hand at a place on the stage (3,) [m]; the key that was edited is let go."""
        with self._session.lock:
            track = self._session.active
            if track is None or side not in self.sides:
                return
            place = np.array(position, dtype=np.float64) - track.place
            if side in self.targets and np.allclose(place, self.targets[side], rtol=0.0, atol=1e-6):
                return  # a click, or a message that comes late
            self.targets[side] = place
            self.key = None if side == self.side else self.key
            self._changed()

    def aim(self, swing: ArrayLike) -> None:
        """Put the target of the edited arm into the direction of a swing (2,) [rad], as far away as it is."""
        with self._session.lock:
            body = self._body()
            frame = self.frame(body, self.side)
            far = AHEAD[2] * _length(body, self.side)
            if self.side in self.targets:
                far = float(np.linalg.norm(self.targets[self.side] - frame[1]))
            self.targets[self.side] = place_at(frame, np.asarray(swing, dtype=np.float64), far)
            self._changed()

    def set_distance(self, lengths: float) -> None:
        """Put the target of the edited arm so many arm lengths from the shoulder, in its direction."""
        with self._session.lock:
            body = self._body()
            _, origin = self.frame(body, self.side)
            if self.side in self.targets:
                way, length = self.targets[self.side] - origin, _length(body, self.side)
                far = max(float(np.linalg.norm(way)), 1e-9)
                if abs(far / length - lengths) > 0.006:  # else an echo of what the target did
                    self.targets[self.side] = origin + way * (lengths * length / far)
                    self._changed()

    def motion(self) -> ReachMotion:
        """The reach motion from the starting pose to the targets."""
        with self._session.lock:
            body, track = self._body(), self._session.active
            if track is None or not self._aims():
                raise PosableError("choose a hand first; its target says where the reach goes")
            start = self.options.start(track, body, self._session.time)
            aims = self._aims()
            step = ReachStep(aims.get("right"), aims.get("left"), HOLD)
            return self._reacher(body).animate(steps=[step], start=start)

    def frame(self, body: Humanoid, side: str) -> tuple[Floats, Floats]:
        """(orientation (4,), origin (3,) [m]) of an arm's frame in the world where the reach starts."""
        track = self._session.active
        assert track is not None
        return limb_frame(body, f"{side}_arm", self.options.start(track, body, self._session.time))

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
        """Edit a key: the target goes into its direction, and all of its posture is shown."""
        with self._session.lock:
            self.aim(self.behaviour.key(key).at)
            self.key = key

    def stroke(self, stroke: Stroke) -> None:
        """Do what a pointer on the plane asks for: choose a key, drag it, or put the target elsewhere."""
        with self._session.lock:
            if not self.sides:
                return
            keys = {key.id: key for key in self.behaviour.keys}
            if stroke.key is None or stroke.key not in keys:
                self.key = None
                self.aim(stroke.now)
                return
            if stroke.moved and not keys[stroke.key].outer:
                self.behaviours.move(self.side, stroke.key, stroke.now, tag=("move", stroke.id))
            self.choose_key(stroke.key)

    def add_key(self) -> int:
        """Add a key in the direction of the target and edit it; it follows the field until it is changed."""
        with self._session.lock:
            if self.side not in self.targets or not self.sides:
                raise PosableError("choose a hand first; the key is added in the direction of its target")
            self.key = self.behaviours.add(self.side, self.swing)
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

    def _key_tool(self, which: str) -> None:
        {"Add": self.add_key, "Copy": self.copy_key, "Remove": self.remove_key}[which]()

    def _put_posture(self, posture: Posture | None, label: str, tag: Any) -> None:
        key = self._some_key()
        self.behaviours.edit(self.side, label, lambda one: one.set(key, posture), tag=tag, patience=PATIENCE)

    def _edited(self) -> tuple[Humanoid, Behaviour, int] | None:
        body = self._session.body
        return None if body is None or self.key is None or not self.sides else (body, self.behaviour, self.key)

    def _some_key(self) -> int:
        if self.key is None:
            raise PosableError("choose a key first: click it on the plane, or add one")
        return self.key

    # What follows from it.

    def _body(self) -> Humanoid:
        if self._session.body is None:
            raise PosableError("there is no human body on the stage; open a motion of one first")
        return self._session.body

    def _reacher(self, body: Humanoid) -> Reacher:
        return self.options.reacher(body, self.behaviours["right"], self.behaviours["left"])

    def _aims(self) -> dict[str, Target]:
        return {side: Target(self.targets[side]) for side in self.sides if side in self.targets}

    def _place_new_targets(self, body: Humanoid, start: Pose) -> None:
        for side in self.sides:
            if side not in self.targets:
                swing = np.array([AHEAD[0], AHEAD[1] if side == "right" else -AHEAD[1]])
                frame = limb_frame(body, f"{side}_arm", start)
                self.targets[side] = place_at(frame, swing, AHEAD[2] * _length(body, side))

    def _draw(self, track: Track, start: Pose, reacher: Reacher) -> None:
        body, side = reacher.body, self.side
        turned, origin = limb_frame(body, f"{side}_arm", start)
        distance = float(np.linalg.norm(self.targets[side] - origin))
        self.map = self.options.map(reacher, side, start, distance) if self.view.mapping else None
        frame, length = (turned, origin + track.place), _length(body, side)
        self.view.draw(self.behaviour, frame, distance, length, swing=self.swing, chosen=self.key, map=self.map)
        self.editor.show()
        edited = self.key is not None and self.options.weight is None
        self._say(reach_facts(self.answer, edited) if self.answer is not None else "")
        for one in self.sides:
            handle, place = self._session.gizmos.get(f"reach_{one}"), self.targets[one] + track.place
            if handle is not None and not np.allclose(handle.position, place, rtol=0.0, atol=1e-6):
                handle.position = place

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
        self._say("Choose a hand to begin." if self._session.body is not None else "Open a motion of a person first.")

    def _add_handles(self) -> None:
        """A handle for each target; they are put in place when the moment is drawn."""
        session, track = self._session, self._session.active
        for side in SIDES:
            session.remove_gizmo(f"reach_{side}")
            if side in self.sides and track is not None and session.body is not None:
                self._place_new_targets(session.body, self.options.start(track, session.body, session.time))
                place, size = self.targets[side] + track.place, 0.14 * session.body.height
                handle = session.add_gizmo(f"reach_{side}", place, scale=size, disable_rotations=True, depth_test=False)
                handle.on_update(session.guarded(partial(self._dragged, side)))

    def _dragged(self, side: str, event: Any) -> None:
        self.drag(side, event.target.position)

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
        self.targets, self.key = {}, None
        self.player.stop()
        if body is not None and not self.behaviours.fit(body):
            self.behaviours.begin(*(Behaviour.default(body, f"{side}_arm") for side in SIDES))
        self._add_handles()


def _length(body: Humanoid, side: str) -> float:
    """Of an arm [m]."""
    arm = body.limb(f"{side}_arm")
    return float(arm.upper + arm.lower)

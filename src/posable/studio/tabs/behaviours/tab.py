"""Behaviours: drag a hand's target, and design how the rest of the body goes with it.

A behaviour is a set of key postures on the swing plane of the shoulder. The plane is drawn in the panel and on a sphere
around the shoulder; keys are chosen, added, moved and removed there, and their joints rotated with sliders. Whatever is
changed, the whole body is solved again before the next moment is drawn, so that an artist sees the reach, not numbers.
While a key is chosen, all of its posture is shown; else as much as follows from the distance of the target.
"""

from __future__ import annotations

import time as clock

import numpy as np
import viser

from ....compute import PosableError, Status
from ....compute.types import Floats, Ints
from ....reach import HandSolution, Reacher, ReachMotionSolution, ReachSolution, ReachStep
from ....skeleton import Motion, Pose
from ...core.actor import Actor
from ...core.behaviours import SIDES
from ...core.session import Session
from ...widgets.controls import add_button, assign, show
from ...widgets.status_text import COLOURS, SENTENCES, coloured, distance_text, status_text
from .key_editor import JointHandle, KeyEditor
from .keys import IN_SPACE, BehaviourPanel, ReachKeys
from .request import ReachOptions, ReachTargets
from .swing_plane import Drawn, in_space
from .view import ReachView

NONE = "(none)"
WELCOME = "The whole body goes along with a hand, in a style of key postures. Choose a hand to begin."
HANDS = (NONE, "right hand", "left hand", "both hands")
DWELL = 0.6
"""Seconds that the hand stays on its target when a reach is played."""
LOWERED = {
    Status.COLLISION: "lowered: the body would touch something",
    Status.UNREACHABLE: "lowered: a leg could not hold its foot",
}


class BehavioursTab:
    """Reach with the whole body, in a style that is designed here."""

    title = "Behaviours"
    marks_selection = False

    def __init__(self) -> None:
        self.solution: ReachSolution | None = None
        self.map: tuple[Floats, Ints] | None = None  # swings and statuses, while they are shown
        self._actor: Actor | None = None
        self._left = True  # nothing of it is on the stage
        self._posing = False  # whether the active body shows a pose of this tab
        self._played: tuple[Motion, float] | None = None  # a reach, and when it began

    # The panel.

    def build(self, session: Session) -> None:
        """Add the controls: hands, the plane and its keys, the posture of a key, the view, options and files."""
        self.session = session
        gui = session.gui
        self._hands = gui.add_dropdown("Hand", HANDS, hint="Which hand reaches; its target is in the scene")
        self._hands.on_update(session.guarded(lambda _: self.choose(str(self._hands.value))))
        self._side = gui.add_dropdown("Edit", SIDES, hint="The arm whose behaviour the plane shows", visible=False)
        self._side.on_update(session.guarded(lambda _: self.edit_side(str(self._side.value))))
        self.keys = ReachKeys(self)
        self.files = BehaviourPanel(session, self.keys)
        self.report = gui.add_markdown("")
        self.view = ReachView(self)
        self._tools = gui.add_button_group("Key", ("Add", "Copy", "Remove"), hint="Add: where the target is")
        self._tools.on_click(session.guarded(lambda event: getattr(self.keys, event.target.value.lower())()))
        self.editor = KeyEditor(self)
        self.joint = JointHandle(session, self.editor)
        self.view.add_controls()
        icons = viser.Icon
        hint = "From the start pose"
        play = add_button(session, "Play the reach", lambda _: self.play(), icon=icons.PLAYER_PLAY, hint=hint)
        hint = "As a motion of the stage, which can be played, plotted and saved"
        keep = add_button(
            session, "Keep it as a motion", lambda _: self.add_to_stage(), primary=True, icon=icons.MOVIE, hint=hint
        )
        hint = "Moves the camera before the arm's shoulder"
        look = add_button(
            session, "Look from that side", lambda event: self.face(event.client), icon=icons.EYE, hint=hint
        )
        self._of_reach = (play, keep, look)
        add_button(session, "Mirror to the other arm", lambda _: self.keys.mirror(), icon=icons.FLIP_VERTICAL)
        self.options = ReachOptions(session)
        self.targets = ReachTargets(self)
        self.files.add_folders()
        self._unsubscribe = session.subscribe(self._on_event)
        self._follow_actor()

    def update(self, time: float) -> None:
        """Solve the reach of this moment and draw it."""
        with self.session.lock:
            actor, body = self.session.active, self.session.body
            if self._left:
                self._left = False
                self.options.obstacle.show()
                self.targets.show(self.sides)
            reaches = actor is not None and body is not None and bool(self.sides)
            for control in self._of_reach:
                show(control, "disabled", not reaches)
            show(self._tools, "visible", reaches)
            if actor is None or body is None or not reaches:
                self._rest()
                return
            start = self.options.start(actor, body, time)
            self.targets.carry(self.options.ground(start))
            self._posing = True
            played = self._played_pose()
            if played is not None:
                self.joint.hide()
                self.session.override_pose(played)
                return
            reacher = self.keys.reacher(body)
            solution = reacher.solve(**self.targets.targets(self.sides), start=start, weight=self.weight)
            self.solution = solution
            self.session.override_pose(solution.pose)
            self._draw(actor, start, solution, reacher)

    def leave(self) -> None:
        """Go back to the motion: a reach is shown while it is designed; **Keep it as a motion** keeps one."""
        with self.session.lock:
            self.stop()
            self._rest()
            self.targets.show(())
            self.options.obstacle.hide()
            self._left = True

    def close(self) -> None:
        """Take the handles and the drawing away."""
        self._unsubscribe()
        self.keys.close()
        with self.session.lock:
            if self._actor is not None and self._posing:
                self._actor.pose_override = None
            self.view.sphere.remove()
            self.options.obstacle.hide()
            self.joint.hide()
            self.targets.show(())

    # Hands and targets.

    @property
    def in_front(self) -> bool:
        """Whether this tab is in front."""
        return self.session.tab == self.title

    @property
    def sides(self) -> tuple[str, ...]:
        """The hands that reach."""
        hands = str(self._hands.value)
        return () if hands == NONE else (SIDES if hands == HANDS[3] else (hands.split()[0],))

    @property
    def side(self) -> str:
        """The arm whose behaviour is edited."""
        return str(self._side.value)

    @property
    def weight(self) -> float | None:
        """The weight of the behaviour: set by hand, 1 while a key is edited, or None: by the distance."""
        if self.options.weight is not None:
            return self.options.weight
        return None if self.keys.chosen is None else 1.0

    def choose(self, hands: str) -> None:
        """Reach with a hand ("right hand"), or with both; `NONE` goes back to the motion."""
        with self.session.lock:
            assign(self._hands, hands if hands in HANDS else NONE)
            if self.sides and self.side not in self.sides:
                assign(self._side, self.sides[0])
            self._side.visible = len(self.sides) == 2
            self.keys.chosen = None
            if self.sides:
                self.session.clock.pause()
            if not self._left:
                self.targets.show(self.sides)
            self.reach_changed()

    def edit_side(self, side: str) -> None:
        """Show the behaviour of this arm on the plane."""
        with self.session.lock:
            assign(self._side, side)
            self.keys.chosen = None
            self.reach_changed()

    def switch_to(self, side: str) -> None:
        """Edit the behaviour of this arm; where one hand reaches, reach with it."""
        if len(self.sides) == 1:
            self.choose(f"{side} hand")
        else:
            self.edit_side(side)

    def set_distance(self, lengths: float) -> None:
        """Move the target of the edited arm to a distance [arm lengths] from the shoulder, in its direction."""
        with self.session.lock:
            if self.side in self.targets and self.targets.set_distance(self.side, lengths):
                self.reach_changed()

    def target_moved(self, side: str) -> None:
        """Release the key of an arm whose target was moved."""
        self.keys.chosen = None if side == self.side else self.keys.chosen
        self.reach_changed()

    def reach_changed(self) -> None:
        """Stop playing, and solve the reach again."""
        self.stop()
        self.session.changed("pose")

    def face(self, client: viser.ClientHandle) -> None:
        """Move the camera of a window before the edited arm."""
        with self.session.lock:
            actor, (orientation, origin) = self.session.active, self.targets.frame(self.side)
            self.view.face(client, self.side, (orientation, origin + (0.0 if actor is None else actor.position)))

    # Reach motions.

    def motion(self) -> ReachMotionSolution:
        """Return the reach motion from the starting pose to the targets; notes where the hand leaves its path."""
        with self.session.lock:
            body, actor, targets = self.session.body, self.session.active, self.targets.targets(self.sides)
            if body is None or actor is None or not targets:
                raise PosableError("choose a hand first; its target says where the reach goes")
            step = ReachStep(targets.get("right"), targets.get("left"), DWELL)
            start = self.options.start(actor, body, self.session.time)
            solution = self.keys.reacher(body).animate(steps=[step], start=start)
            if (first := solution.first_failure) is not None:
                reason = SENTENCES[Status(int(solution.status[first]))]
                self.session.notify(f"From {first / solution.motion.fps:.2f} s on the hand leaves its path: {reason}")
            return solution

    @property
    def playing(self) -> bool:
        """Whether a reach is being shown."""
        return self._played is not None

    def play(self) -> None:
        """Show the reach motion once."""
        with self.session.lock:
            self._played = (self.motion().motion, clock.monotonic())
            self.session.animating.add("reach")

    def stop(self) -> None:
        """Stop showing a reach motion."""
        self._played = None
        self.session.animating.discard("reach")

    def add_to_stage(self) -> None:
        """Put the reach motion on the stage with the others, and play it. Can be undone."""
        with self.session.lock:
            body, motion = self.session.body, self.motion().motion
            self.choose(NONE)
            self.session.add(motion, body=body, name="reach")
            self.session.show_tab("Play")
            self.session.clock.seek(0.0)
            self.session.clock.play()

    def _played_pose(self) -> Pose | None:
        """Return the pose to show now; None when no reach is played."""
        if self._played is None:
            return None
        motion, start = self._played
        now = clock.monotonic() - start
        if now > motion.duration:
            self.stop()
            return None
        return motion.at(now)

    # What follows from it.

    def _draw(self, actor: Actor, start: Pose, solution: ReachSolution, reacher: Reacher) -> None:
        side, behaviour, chosen = self.side, self.keys.behaviour, self.keys.chosen
        distance, (orientation, origin) = self.targets.distance(side), self.targets.frame(side)
        self.map = self.options.map(reacher, side, start, distance) if self.view.mapping.value else None
        frame, target, outer = (orientation, origin + actor.position), self.targets.swing(side), self.view.outer.value
        self.view.draw(Drawn(behaviour, frame, distance, self.targets.length(side), target, chosen, outer, self.map))
        self.targets.draw(actor)
        self.files.show()
        self.editor.show()
        if chosen is not None and self.editor.handle.value:
            self.joint.draw(actor, reacher.body, solution.pose, start, behaviour.posture(chosen))
        else:
            self.joint.hide()
        text = reach_text(solution, chosen is not None and self.options.weight is None)
        show(self.report, "content", f"{text}  \n{IN_SPACE}" if in_space(behaviour) else text)

    def _rest(self) -> None:
        """Return to the motion: no hand reaches."""
        if self._posing:
            self.session.override_pose(None)
        self._posing, self.solution, self.map = False, None, None
        self.view.hide()
        self.editor.show()
        self.joint.hide()
        show(self.report, "content", WELCOME if self.session.body is not None else "Open a motion of a person first.")

    def _on_event(self, topic: str) -> None:
        if topic in ("actors", "active"):
            with self.session.lock:
                self._follow_actor()
        elif topic == "selection" and self.in_front and self.session.selection and self.keys.chosen is not None:
            selection, body = self.session.selection, self.session.body
            if body is not None and selection.actor is self.session.active:
                self.editor.choose(next((role for role, joint in body.roles.items() if joint == selection.joint), ""))

    def _follow_actor(self) -> None:
        """Reach with the active body; behaviours with parts that it lacks give way to the example "normal"."""
        actor, body = self.session.active, self.session.body
        if actor is self._actor:
            return
        if self._actor is not None and self._posing:
            self._actor.pose_override = None
        self._actor, self._posing = actor, False
        self.keys.chosen = None
        self.targets.clear()
        self.stop()
        if body is not None:
            self.session.behaviours.ensure(body)
        if not self._left:
            self.targets.show(self.sides)


def reach_text(solution: ReachSolution, edited: bool) -> str:
    """Describe a reach: the status and the weight of each hand; `edited` while all of a key's posture is shown."""
    hands = {"right hand: ": solution.right, "left hand: ": solution.left}
    both = all(hand is not None for hand in hands.values())
    reason = Status(int(solution.reason))
    lines = [
        f"{name if both else ''}{_hand_text(hand)}  \n{_weight_text(hand, reason, edited)}"
        for name, hand in hands.items()
        if hand is not None
    ]
    if solution.contact is not None:
        one, other = (name.replace("_", " ") for name in solution.contact)
        lines.append(f"{one} at {other}")
    return "  \n".join(lines + _stance_text(solution))


def _stance_text(solution: ReachSolution) -> list[str]:
    """Describe a step, lifted heels, and a body that would fall."""
    step, heels = float(np.linalg.norm(solution.step)), float(np.degrees(np.max(solution.heels)))
    said = [f"a step of {distance_text(step)}"] if step > 0.0 else []
    said += [f"heels lifted by {heels:.0f}°"] if heels > 0.5 else []
    margin = float(solution.balance.margin)
    if margin < 0.0:
        said.append(coloured(COLOURS[Status.LIMITS], f"out of balance by {distance_text(-margin)}"))
    return [" · ".join(said)] if said else []


def _hand_text(hand: HandSolution) -> str:
    text = status_text(hand.status)
    return text if hand.status == Status.REACHED else f"{text}, {distance_text(float(hand.position_error))} away"


def _weight_text(hand: HandSolution, reason: Status, edited: bool) -> str:
    """Describe the weight: lowered for a reason, raised where the arm is too short, or as requested."""
    used, requested = float(hand.weight), float(hand.requested_weight)
    if reason != Status.REACHED:
        return f"weight **{used:.2f}** of {requested:.2f} · {coloured(COLOURS[Status.LIMITS], LOWERED[reason])}"
    if used > requested + 5e-3:
        return f"weight **{used:.2f}** · raised from {requested:.2f}: the arm alone is too short"
    return f"weight **{used:.2f}**" + (" · the key as it is" if edited else "")

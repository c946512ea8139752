"""A folder of the panel: shapes of the hands, and a hand that closes on the obstacle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import viser

from ....body.hand.closing import GRIPS
from ....body.hand.shapes import SHAPES, HandShape
from ....compute import PosableError, Status
from ...view.theme import plain
from ...widgets.controls import add_button, show

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....skeleton import Pose
    from .tab import PoseTab

SIDES = ("left", "right")
BOTH_HANDS = "both hands"
WITHOUT = (
    "This body has no fingers. Open a character that has some, or, in the tab Play, a built-in motion *With fingers*."
)
ROUND = "around a "
"""What the name of a grip begins with, in the list of shapes."""
CHOICES = (*SHAPES, *(f"{ROUND}{kind}" for kind in GRIPS))


class PoseHands:
    """Shapes for the hands of the body that is posed; each change is an edit at the frame, as a drag is."""

    def __init__(self, tab: PoseTab) -> None:
        self._tab, self._session = tab, tab.session
        self._report = ""
        session, gui = tab.session, tab.session.gui
        with gui.add_folder("Hands", expand_by_default=False):
            self.text = gui.add_markdown("")
            self.side = gui.add_dropdown("Hand", (*SIDES, BOTH_HANDS), hint="Whose fingers are posed")
            self.shape = gui.add_dropdown("Shape", CHOICES, initial_value="relaxed", hint="How the fingers are bent")
            hint = "Between the hand as it is, 0, and the shape, 1"
            self.weight = gui.add_slider("How much", min=0.0, max=1.0, step=0.05, initial_value=1.0, hint=hint)
            hint = "Of the cylinder or the ball that the fingers are around"
            self.radius = gui.add_slider("Radius [cm]", min=0.5, max=15.0, step=0.1, initial_value=2.5, hint=hint)
            hint = "Bends the fingers at this frame; the change fades over the frames around"
            self._button = add_button(
                session, "Shape the hand", lambda _: self.apply(), icon=viser.Icon.HAND_STOP, hint=hint
            )
            hint = "Curls each finger until it touches the obstacle; put the hand there first"
            self._close = add_button(session, "Close on the obstacle", lambda _: self.close_on_obstacle(), hint=hint)

    def draw(self, body: Humanoid | None) -> None:
        """Offer what the body can do."""
        fingers = body is not None and bool(body.fingers)
        show(self.text, "content", plain(self._report if fingers else WITHOUT, 400))
        for control in (self._button, self.side, self.shape, self.weight):
            show(control, "disabled", not fingers)
        show(self._close, "disabled", not fingers or not len(self._tab.obstacle.scene))
        show(self.radius, "visible", str(self.shape.value).startswith(ROUND))

    def apply(self) -> None:
        """Put the chosen hands into the chosen shape at this frame. Can be undone."""
        with self._session.lock:
            body, name = self._body(), str(self.shape.value)
            pose = self._pose()
            for side in self._sides():
                shape: HandShape | str = name
                if name.startswith(ROUND):
                    shape = HandShape.grip(body, 0.01 * float(self.radius.value), name.removeprefix(ROUND), side)
                pose = body.pose_hand(pose, side, shape, float(self.weight.value))
            self._report = ""
            self._tab.key_pose(pose, f"{self._hands()}: {name}")

    def close_on_obstacle(self) -> None:
        """Close the chosen hands on the obstacle at this frame. Can be undone."""
        with self._session.lock:
            body, scene = self._body(), self._tab.obstacle.scene
            if not len(scene):
                raise PosableError("there is no obstacle to close on; choose one in the folder Obstacle")
            pose, lines = self._pose(), []
            for side in self._sides():
                closed = body.close_hand(pose, side, scene)
                pose = closed.pose
                touching = int((closed.finger_status == Status.REACHED).sum())
                inside = int((closed.finger_status == Status.COLLISION).sum())
                line = f"{side} hand: {touching} of {len(closed.fingers)} fingers touch"
                lines.append(f"{line}, {inside} were inside and stay" if inside else line)
            self._report = "; ".join(lines) + "."
            self._tab.key_pose(pose, f"Close {self._hands()} on the obstacle")

    def _pose(self) -> Pose:
        return self._session.require_motion()[self._tab.frame]

    def _body(self) -> Humanoid:
        body = self._session.body
        if body is None or not body.fingers:
            raise PosableError(
                "nobody with fingers is on the stage; open a character that has some, or a built-in motion with fingers"
            )
        return body

    def _sides(self) -> tuple[str, ...]:
        chosen = str(self.side.value)
        return SIDES if chosen == BOTH_HANDS else (chosen,)

    def _hands(self) -> str:
        chosen = str(self.side.value)
        return chosen if chosen == BOTH_HANDS else f"the {chosen} hand"

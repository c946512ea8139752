"""A motion put on another character or a robot on the stage: one list and one button, computed in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import viser

from ....compute import PosableError
from ....robots import RobotSolution, retarget
from ...core.actor import Actor
from ...core.session import Session
from ...core.worker import Worker
from ...view.theme import plain
from ...widgets.controls import ProgressText, add_button, assign, show
from ...widgets.file_drop import RETARGETING

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....edit import RetargetSolution
    from ....skeleton import Motion

NOBODY = "(open another body first)"


@dataclass(frozen=True, eq=False)
class RetargetRequest:
    """A motion of one person to be performed by another, or by a robot."""

    motion: Motion
    source: Humanoid
    actor: Actor
    """Who shall perform it."""
    target: Humanoid
    name: str


class RetargetPanel(Worker[RetargetRequest, Any]):
    """The controls, here in the panel."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "retarget")
        self._last = ""
        self._about: Actor | None = None  # whom the report is about, once it is there
        session.shared[RETARGETING] = self.put_on
        hint = "Who shall perform the active motion; open a character or a robot in the tab Play"
        self.choice = session.gui.add_dropdown("Character", (NOBODY,), hint=hint)
        options = {"icon": viser.Icon.WALK, "primary": True, "hint": "In its own proportions, feet on the ground"}
        self._button = add_button(session, "Put the motion on it", lambda _: self.put(), **options)
        self._report = ProgressText(session)

    @property
    def others(self) -> dict[str, Actor]:
        """The persons and robots on the stage besides the active one, by name."""
        active = self._session.active
        return {one.name: one for one in self._session.actors if one is not active and one.performer is not None}

    def put(self, name: str | None = None) -> None:
        """Put the active motion on another person, or a robot, on the stage. Can be undone, once it is there."""
        with self._session.lock:
            actor = self._session.active
            if actor is None or actor.body is None:
                raise PosableError("the active motion is not a person's; activate one in the tab Play")
            target = self.others.get(str(self.choice.value) if name is None else name)
            if target is None:
                raise PosableError("there is nobody else on the stage; open a character or a robot in the tab Play")
            self.put_on(actor, target)

    def put_on(self, actor: Actor, target: Actor) -> None:
        """Put the motion of a person, who need not be on the stage, on one who is. Can be undone, once it is there."""
        if actor.body is None or target.performer is None:
            who = f"{(target if actor.body else actor).name} has no human roles"
            raise PosableError(f"{who}; a motion goes from a person to a person or a robot")
        with self._session.lock:
            name = f"{actor.name} on {target.name}"
            self._last, self._about = plain(f"Putting {name}."), None
            self._session.progress.show(RETARGETING, f"Putting {name}.")
            self.submit(RetargetRequest(actor.motion, actor.body, target, target.performer, name))

    def update(self) -> None:
        """Offer the persons and robots on the stage, and say how it goes."""
        names = tuple(self.others)
        show(self.choice, "options", names or (NOBODY,))
        if str(self.choice.value) not in (names or (NOBODY,)):
            assign(self.choice, (names or (NOBODY,))[0])
        show(self._button, "disabled", not names or self.running)
        if self._about is not None and self._about not in self._session.actors:  # undone, closed, or changed since
            self._last, self._about = "", None
        self._report.show(self._last, 1.0 if self.running else None)

    def compute(self, request: RetargetRequest) -> RetargetSolution | RobotSolution:
        """Retarget the motion."""
        return retarget(request.motion, request.source, request.target)

    def deliver(self, request: RetargetRequest, result: Any) -> None:
        """Put the motion on its character."""
        session = self._session
        session.progress.hide(RETARGETING)
        with session.lock:
            if isinstance(result, Exception):
                self._last = ""
                session.show_error(f"The motion was not put on {request.actor.name}: {result}")
            elif request.actor not in session.actors:
                self._last = plain(f"{request.actor.name} has left the stage.")
            else:
                motion = result.motion.replace(name=request.name)
                self._about = session.replace(motion, f"Put {request.name}", request.actor)
                self._last = plain(f"{request.name}: {str(result).replace('_', ' ')}", 600)
                session.notify(f"Put {request.name}.")
                session.clock.play()

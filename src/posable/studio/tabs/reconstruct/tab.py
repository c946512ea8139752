"""Reconstruct: the active motion's body from six of its points, by one method or another, beside the original.

The motion on the stage is the original; its hips, head, wrists and ankles are the points. The whole motion is
reconstructed in the background whenever the question changes (method, weights, lost points); until it is done, and
while points are dragged, the moment on the screen is solved alone. Reconstructed motions are stored, so that methods
can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ....body import MARKERS
from ....compute import PosableError, Status
from ....compute.types import Floats
from ....evaluate import find_method, method_names
from ....evaluate.measures import scored_joints
from ....reconstruct import SequentialIK
from ....skeleton import Motion, Pose
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.controls import assign, show
from ...widgets.file_panel import motion_panel
from .job import Question, Reconstructed, ReconstructJob
from .limits import ReconstructLimits
from .messages import now_facts, whole_facts
from .plot import ReconstructPlot
from .points import ReconstructPoints

if TYPE_CHECKING:
    from ....body import Humanoid

NONE, OVER, BESIDE = "(none)", "over the original", "beside the original"
WELCOME = "The body is reconstructed from six of its points: hips, head, wrists, ankles. Choose where it shall stand."
SHOWS = (NONE, OVER, BESIDE)
OURS = "SequentialIK"
"""The method with everything that Posable adds to it."""
ROOM = 0.25
"""Metres between the original and a reconstructed body beside it."""
KEPT = 24
"""Reconstructed motions that are kept for comparison."""


class ReconstructTab:
    """A whole body from six points."""

    title = "Reconstruct"

    def __init__(self) -> None:
        self.reconstructed: dict[Any, Reconstructed] = {}  # by question, for the active actor
        self.guest: Actor | None = None  # the reconstructed body on the stage
        self.status: Status | None = None
        self.residual: Floats = np.zeros(len(MARKERS))
        self._actor: Actor | None = None
        self._asked: Any = None
        self._solver: tuple[Any, Any] | None = None  # method and weights, and the solver that has them

    # The panel.

    def build(self, session: Session) -> None:
        """How it is shown and reconstructed, the errors, lost points, limits and volumes, files."""
        self._session = session
        gui = session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        self._show = gui.add_dropdown(
            "Reconstruct", SHOWS, hint="Where the body stands that is reconstructed from six points"
        )
        self._show.on_update(session.guarded(lambda _: self.show(str(self._show.value))))
        self._method = gui.add_dropdown(
            "Method", (OURS, *method_names()), hint=f"{OURS}: as Posable has it; sik: as published"
        )
        self._method.on_update(again)
        self._told_now = gui.add_markdown("")
        self._progress = gui.add_progress_bar(0.0, visible=False, animated=True)
        self._plot = ReconstructPlot(session)
        self.points = ReconstructPoints(session)
        back = gui.add_button("Let the points go", icon=viser.Icon.ARROW_BACK, hint="Dragged points go back")
        back.on_click(session.guarded(lambda _: self.points.release()))
        self.points.add_controls()
        with gui.add_folder("Where the pelvis faces", expand_by_default=False):
            hint = "How much they say about it; with all at 0, wrists and ankles alike"
            self._weights = [
                gui.add_slider(name, min=0.0, max=1.0, step=0.05, initial_value=value, hint=hint)
                for name, value in (("Wrists", 1.0), ("Ankles", 1.0), ("Frame before", 0.0))
            ]
            for slider in self._weights:
                slider.on_update(again)
        self.limits = ReconstructLimits(session)
        hint = "As a motion of the stage, beside the others"
        kept = gui.add_button("Keep the reconstructed motion", icon=viser.Icon.MOVIE, hint=hint)
        kept.on_click(session.guarded(lambda _: self.keep()))
        self.files = motion_panel(session, "reconstructed", self._whole)
        self._job = ReconstructJob(session, self._ready, self._done)
        self._leave = session.subscribe(self._told)
        self._actor = session.active
        self._rest()

    def update(self, time: float) -> None:
        """Reconstruct the body of this moment and draw it."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if actor is None or body is None or self.mode == NONE or not _has_points(body):
                self._rest()
                return
            try:
                self._draw(actor, body, time)
            except PosableError as error:  # a method that this body does not suit
                self.show(NONE)
                self._session.show_error(str(error))

    def close(self) -> None:
        """Take everything away, and wait for what is under way."""
        self._leave()
        self._job.close()
        with self._session.lock:
            self._send_off()
            self.points.remove()

    # What a user can do.

    @property
    def mode(self) -> str:
        """How the reconstructed body is shown: one of `SHOWS`."""
        return str(self._show.value)

    @property
    def method(self) -> str:
        """What reconstructs it."""
        return str(self._method.value)

    @property
    def result(self) -> Reconstructed | None:
        """The whole motion, reconstructed as the controls say; None until it is done."""
        return self.reconstructed.get(self._question)

    def show(self, mode: str) -> None:
        """Have the reconstructed body over the original, beside it, or not at all: one of `SHOWS`."""
        with self._session.lock:
            assign(self._show, mode)
            self._send_off()
            self._session.changed("pose")

    def choose(self, method: str) -> None:
        """Reconstruct by another method: `OURS`, or one of `posable.evaluate.method_names()`."""
        with self._session.lock:
            assign(self._method, method)
            self._session.changed("pose")

    def keep(self) -> None:
        """Put the reconstructed motion on the stage with the others. Can be undone."""
        with self._session.lock:
            motion, body = self._whole(), self._session.body
            self._session.add(motion, body=body, name=motion.name)
            self.show(NONE)

    # What follows from it.

    @property
    def _question(self) -> tuple[Any, ...]:
        weights = tuple(float(slider.value) for slider in self._weights)
        lost = (self.points.loses, self.points.when) if any(self.points.loses) else None
        return (self.method, weights, lost)

    def _whole(self) -> Motion:
        with self._session.lock:
            actor, found = self._session.active, self.result
            if actor is None or self.mode == NONE:
                raise PosableError(f"nothing is reconstructed yet; choose {OVER!r} or {BESIDE!r} first")
            if found is None:
                raise PosableError(
                    f"the motion is still being reconstructed ({100 * self._job.share:.0f} %); wait until it is"
                )
            return found.motion.replace(name=f"{actor.name} {self.method}")

    def _maker(self, body: Humanoid) -> Callable[[], Any]:
        method, weights, _ = self._question
        make = SequentialIK if method == OURS else find_method(method)
        return lambda: make(body, weights if any(weights) else (1.0, 1.0, 0.0))

    def _ask(self, actor: Actor, body: Humanoid) -> None:
        """Have the whole motion reconstructed, where it is not and nobody was asked yet."""
        question = self._question
        if question in self.reconstructed or question == self._asked:
            return
        self._asked = question
        points = self.points.of_motion(actor, body)
        self._job.submit(Question(actor, body, question, points, self._maker(body)))

    def _ready(self, question: Question, solver: Any) -> None:
        """Called by the worker."""
        with self._session.lock:
            if question.actor is self._actor:
                self._solver = (question.key[:2], solver)

    def _done(self, question: Question, answer: Reconstructed | Exception) -> None:
        """Called by the worker."""
        with self._session.lock:
            if question.actor is not self._actor:
                return
            if isinstance(answer, Exception):
                self._session.show_error(f"The motion was not reconstructed: {answer}")
                return
            self.reconstructed[question.key] = answer
            for oldest in list(self.reconstructed)[:-KEPT]:
                del self.reconstructed[oldest]
            if question.key == self._asked:
                self._asked = None
            self._session.changed("pose")

    def _draw(self, actor: Actor, body: Humanoid, time: float) -> None:
        self._ask(actor, body)
        points = self.points.at(actor, body, time)
        pose = self._solve(body, points, time)
        if pose is None:
            self._show_progress()
            show(self._told_now, "content", "Getting ready; on a new machine the kernels are compiled, once.")
            return
        guest = self._invite(actor, body)
        guest.pose_override = pose
        guest.position = actor.position + self._shift(actor)
        self.points.draw(actor, body, points, self.residual, guest.position)
        self._tell(actor, body, pose, time)

    def _solve(self, body: Humanoid, points: Floats, time: float) -> Pose | None:
        """Return the pose at `time`: of the reconstructed motion, else solved alone; None while it is not ready."""
        found = self.result
        if found is not None and not self.points.dragged(time):
            whole = found.motion.at(time)
            frame = min(max(round(time * found.motion.fps), 0), len(found.status) - 1)
            self.status = Status(int(found.status[frame]))
            self.residual = np.linalg.norm(body.markers(whole) - points, axis=-1)
            return whole
        if self._solver is None or self._solver[0] != self._question[:2]:
            return None
        answer = self._solver[1].solve(points)
        self.status, self.residual = Status(int(answer.status)), np.asarray(answer.residual)
        pose: Pose = answer.pose
        return pose

    def _tell(self, actor: Actor, body: Humanoid, pose: Pose, time: float) -> None:
        joints = scored_joints(body).joints
        frames = body.skeleton.forward(pose)
        there = body.skeleton.forward(actor.motion.at(time)).positions[joints]
        error = float(np.linalg.norm(frames.positions[joints] - there, axis=-1).mean())
        lines = [
            now_facts(Status.INVALID if self.status is None else self.status, self.residual, error, body.joint_height)
        ]
        if (found := self.result) is not None:
            lines.append(whole_facts(found))
        show(self._told_now, "content", "  \n".join(lines))
        self._show_progress()
        _, *same = self._question
        self._plot.draw_errors({key[0]: one for key, one in self.reconstructed.items() if list(key[1:]) == same}, time)
        self.limits.draw(body, pose, frames)

    def _show_progress(self) -> None:
        show(self._progress, "visible", self._job.running and self.result is None)
        show(self._progress, "value", round(100.0 * self._job.share))

    def _invite(self, actor: Actor, body: Humanoid) -> Actor:
        """The reconstructed body on the stage; another one where it shall look otherwise."""
        plain, ghost = self.limits.volumes, self.mode == OVER
        if self.guest is not None and (self.guest.volumes_only, self.guest.ghost) != (plain, ghost):
            self._send_off()
        if self.guest is None:
            place = actor.position + self._shift(actor)
            self.guest = Actor(
                actor.motion, body, f"{actor.name} reconstructed", position=place, volumes_only=plain, ghost=ghost
            )
            self._session.add_extra(self.guest)
            self._session.stage.frame(self._session.shown)
        return self.guest

    def _send_off(self) -> None:
        if self.guest is not None:
            self._session.remove_extra(self.guest)
            self.guest = None

    def _shift(self, actor: Actor) -> Floats:
        """(3,) from the original to the reconstructed body [m]: nothing, or right of everybody on the stage."""
        if self.mode == OVER:
            return np.zeros(3)
        own = actor.position[0] + actor.motion.pose.translation[0, 0] + actor.box[0, 0]
        edges = [one.position[0] + one.motion.pose.translation[0, 0] + one.box[1, 0] for one in self._session.actors]
        return np.array([max(edges) + ROOM - own, 0.0, 0.0])

    def _rest(self) -> None:
        """Nothing is reconstructed."""
        self._send_off()
        self.points.hide()
        self._plot.hide()
        self.limits.hide()
        show(self._progress, "visible", False)
        body = self._session.body
        known = body is not None and _has_points(body)
        words = WELCOME if known else "Open a motion of a whole person first."
        show(self._told_now, "content", words)

    def _told(self, topic: str) -> None:
        if topic in ("actors", "active"):
            with self._session.lock:
                if self._session.active is not self._actor:
                    self._actor, self._asked, self._solver = self._session.active, None, None
                    self.reconstructed.clear()
                    self._send_off()


def _has_points(body: Humanoid) -> bool:
    return all(role in body.roles for role in MARKERS)

"""Trackers: the active motion's body from six of its points, by one method or another, next to the original.

The motion on the stage is the original; its hips, head, wrists and ankles are the points. The whole motion is
reconstructed in the background whenever the request changes (method, weights, untracked points); until it is done, and
while points are dragged, the moment on the screen is solved alone. Reconstructed motions are stored, so that methods
can be compared.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ....body import MARKERS
from ....compute import PosableError, Status
from ....compute.types import Bools, Floats
from ....evaluate import find_method, method_names
from ....evaluate.measures import scored_joints
from ....skeleton import Motion, Pose, PoseSolution
from ...core.actor import Actor
from ...core.session import Session
from ...widgets.controls import add_button, assign, redraw_on_update, show
from ...widgets.file_panel import motion_panel
from .motion import (
    NONE,
    Reconstructed,
    ReconstructJob,
    ReconstructLimits,
    ReconstructReport,
    ReconstructRequest,
    distance_line,
    frame_text,
    motion_text,
)
from .points import ReconstructPoints

if TYPE_CHECKING:
    from ....body import Humanoid

OVER, ADJACENT = "over the original", "next to the original"
SHOWS = (NONE, OVER, ADJACENT)
WELCOME = "The body is reconstructed from six of its points: hips, head, wrists, ankles. Choose where to show it."
OURS = "sik_prior"
"""The method with everything that Posable adds to it."""
NAMES = {
    "sik_prior": "Sequential IK with learned prior",
    "sik": "Sequential IK, as published",
    "sik_literal": "Sequential IK with the paper's own spine",
    "kma": "Kulpa, Multon and Arnaldi",
    "ccd": "Cyclic coordinate descent",
    "jacobian_transpose": "Jacobian transpose",
    "pseudoinverse": "Pseudoinverse",
    "dls": "Damped least squares",
    "dls_svd": "Damped least squares by SVD",
    "sdls": "Selectively damped least squares",
    "pik": "Prioritised IK",
    "tgbsik": "Tolani, Goswami and Badler",
    "fabrik": "FABRIK",
    "pik_from_sik": "Prioritised IK from sequential IK",
}
"""Names that people read, by the names of `posable.evaluate.method_names()`."""
STORED = 24
"""Reconstructed motions that are stored for comparison."""


class TrackersTab:
    """A whole body from six points."""

    title = "Trackers"
    marks_selection = False

    def __init__(self) -> None:
        self.results: dict[Any, Reconstructed] = {}  # by `_key`, for the active actor
        self.guest: Actor | None = None  # the reconstructed body on the stage
        self.status: Status | None = None
        self.marker_errors: Floats = np.zeros(len(MARKERS))
        self._actor: Actor | None = None
        self._requested: Any = None
        self._solver: tuple[Any, Any] | None = None  # method and weights, and the solver that has them

    # The panel.

    def build(self, session: Session) -> None:
        """Add the controls: where to show the body, method, report, points, weights, limits and files."""
        self.session = session
        gui = session.gui
        hint = "Where to show the body that is reconstructed from six points"
        self._show = gui.add_dropdown("Body", SHOWS, hint=hint)
        self._show.on_update(session.guarded(lambda _: self.show(str(self._show.value))))
        self._methods = {NAMES.get(one, one): one for one in (OURS, *method_names())}
        self._method = gui.add_dropdown("Method", tuple(self._methods), hint=f"{NAMES[OURS]} is Posable's own")
        self.report = ReconstructReport(session)
        with gui.add_folder("Numbers", expand_by_default=False):
            self._numbers = gui.add_markdown("")
        self.points = ReconstructPoints(session)
        options: dict[str, Any] = {"icon": viser.Icon.ARROW_BACK, "hint": "Dragged points return to the motion"}
        release = add_button(session, "Release the points", lambda _: self.points.release(), **options)
        self.points.add_controls()
        with gui.add_folder("Pelvis orientation", expand_by_default=False):
            hint = "Weights of the cues for the direction the pelvis faces; all 0: wrists and ankles alike"
            self._weights = [
                gui.add_slider(name, min=0.0, max=1.0, step=0.05, initial_value=value, hint=hint)
                for name, value in (("Wrists", 1.0), ("Ankles", 1.0), ("Previous frame", 0.0))
            ]
        redraw_on_update(session, self._method, *self._weights)
        self.limits = ReconstructLimits(session)
        options = {"icon": viser.Icon.MOVIE, "hint": "Next to the others", "primary": True}
        keep = add_button(session, "Keep it as a motion", lambda _: self.add_to_stage(), **options)
        self._of_result = (release, keep)
        self.files = motion_panel(session, "reconstructed", self._whole_motion)
        self.job = ReconstructJob(self)
        self._unsubscribe = session.subscribe(self._on_event)
        self._actor = session.active
        self._rest()

    def update(self, time: float) -> None:
        """Reconstruct the body of this moment and draw it."""
        with self.session.lock:
            actor, body = self.session.active, self.session.body
            rests = actor is None or body is None or self.mode == NONE or not _has_points(body)
            for button in self._of_result:
                show(button, "disabled", rests)
            if actor is None or body is None or rests:
                self._rest()
                return
            try:
                self._draw(actor, body, time)
            except PosableError as error:  # a method that does not suit this body
                self.show(NONE)
                self.session.show_error(str(error))

    def leave(self) -> None:
        """Take the body and its points away; what is chosen comes back with the tab."""
        with self.session.lock:
            self._rest()

    def close(self) -> None:
        """Take everything away, and wait for a reconstruction under way."""
        self._unsubscribe()
        self.job.close()
        with self.session.lock:
            self._remove_guest()
            self.points.remove()

    # What a user can do.

    @property
    def mode(self) -> str:
        """Where the reconstructed body is shown: one of `SHOWS`."""
        return str(self._show.value)

    @property
    def method(self) -> str:
        """The method of reconstruction, by its name in `posable.evaluate.method_names()`."""
        return self._methods[str(self._method.value)]

    @property
    def result(self) -> Reconstructed | None:
        """The whole motion, reconstructed as the controls say; None until it is done."""
        return self.results.get(self._key)

    def show(self, mode: str) -> None:
        """Show the reconstructed body over the original, next to it, or not at all: one of `SHOWS`."""
        with self.session.lock:
            assign(self._show, mode)
            self._remove_guest()
            self.session.changed("pose")

    def choose(self, method: str) -> None:
        """Reconstruct by another method: `OURS`, or one of `posable.evaluate.method_names()`."""
        with self.session.lock:
            names = {one: name for name, one in self._methods.items()}
            if method not in names:
                raise PosableError(f"unknown method {method!r}; it is one of {', '.join(names)}")
            assign(self._method, names[method])
            self.session.changed("pose")

    def add_to_stage(self) -> None:
        """Put the reconstructed motion on the stage with the others. Can be undone."""
        with self.session.lock:
            motion, body = self._whole_motion(), self.session.body
            self.session.add(motion, body=body, name=motion.name)
            self.show(NONE)

    # What follows from it.

    @property
    def _key(self) -> tuple[Any, ...]:
        """Method, weights, and which points are untracked when: what a reconstruction depends on."""
        weights = tuple(float(slider.value) for slider in self._weights)
        untracked = (self.points.untracked, self.points.when) if any(self.points.untracked) else None
        return (self.method, weights, untracked)

    def _whole_motion(self) -> Motion:
        with self.session.lock:
            actor, result = self.session.active, self.result
            if actor is None or self.mode == NONE:
                raise PosableError(f"nothing is reconstructed yet; choose {OVER!r} or {ADJACENT!r} first")
            if result is None:
                raise PosableError(
                    f"the motion is still being reconstructed ({100 * self.job.progress:.0f} %); wait until it is"
                )
            return result.motion.replace(name=f"{actor.name} from six points")

    def _request(self, actor: Actor, body: Humanoid) -> None:
        """Reconstruct the whole motion in the background, unless that was done or requested already."""
        key = self._key
        if key in self.results or key == self._requested:
            return
        self._requested = key
        method, weights, _ = key
        solver = partial(find_method(method), body, weights if any(weights) else (1.0, 1.0, 0.0))
        self.job.submit(ReconstructRequest(actor, body, key, self.points.of_motion(actor, body), solver))

    def solver_ready(self, request: ReconstructRequest, solver: Any) -> None:
        """Use a solver that has run once; called by the worker."""
        with self.session.lock:
            if request.actor is self._actor:
                self._solver = (request.key[:2], solver)

    def reconstructed(self, request: ReconstructRequest, result: Reconstructed | Exception) -> None:
        """Store a result; called by the worker."""
        with self.session.lock:
            if request.actor is not self._actor:
                return
            if isinstance(result, Exception):
                self.session.show_error(f"The motion was not reconstructed: {result}")
                return
            self.results[request.key] = result
            for oldest in list(self.results)[:-STORED]:
                del self.results[oldest]
            if request.key == self._requested:
                self._requested = None
            self.session.changed("pose")

    def _draw(self, actor: Actor, body: Humanoid, time: float) -> None:
        self._request(actor, body)
        points = self.points.at(actor, body, time)
        pose = self._solve(body, points, time)
        progress = self.job.progress if self.job.running and self.result is None else None
        if pose is None:
            self.report.show("Getting ready; on a new machine the kernels are compiled, once.", progress)
            return
        guest = self._show_guest(actor, body)
        guest.pose_override, guest.position = pose, self._position(actor)
        self.points.draw(body, points, body.markers(pose), self.marker_errors, guest.position)
        frames, joints = body.skeleton.forward(pose), scored_joints(body).joints
        original = body.skeleton.forward(actor.motion.at(time)).positions[joints]
        distance = float(np.linalg.norm(frames.positions[joints] - original, axis=-1).mean())
        status = Status.INVALID if self.status is None else self.status
        self.report.show(frame_text(status, self.marker_errors, points), progress)
        numbers = distance_line(distance, body.joint_height)
        show(self._numbers, "content", numbers if self.result is None else f"{numbers}  \n{motion_text(self.result)}")
        same = self._key[1:]
        self.report.draw_errors(
            {NAMES.get(key[0], key[0]): one for key, one in self.results.items() if key[1:] == same}, time
        )
        self.limits.draw(body, pose, frames)

    def _solve(self, body: Humanoid, points: Floats, time: float) -> Pose | None:
        """Return the pose at `time` [s]: of the reconstructed motion, else solved alone; None while it is not ready."""
        result = self.result
        if result is not None and not self.points.dragged(time):
            pose = result.motion.at(time)
            frame = min(max(round(time * result.motion.fps), 0), len(result.status) - 1)
            self.status = Status(int(result.status[frame]))
        elif self._solver is None or self._solver[0] != self._key[:2]:
            return None
        elif np.isnan(points).any() and result is None:
            return None  # a lost point is guessed from the motion around it, which is still being reconstructed
        else:
            lost: Bools = np.asarray(np.isnan(points).any(axis=-1))
            if result is not None and lost.any():
                points = np.where(lost[:, None], body.markers(result.motion.at(time)), points)
            solution: PoseSolution = self._solver[1].solve(points)
            pose, self.status = solution.pose, Status(int(solution.status))
        self.marker_errors = np.linalg.norm(body.markers(pose) - points, axis=-1)
        return pose

    def _show_guest(self, actor: Actor, body: Humanoid) -> Actor:
        """Return the reconstructed body on the stage; another one where it is to look different."""
        volumes, ghost = self.limits.volumes, self.mode == OVER
        if self.guest is not None and (self.guest.volumes_only, self.guest.ghost) != (volumes, ghost):
            self._remove_guest()
        if self.guest is None:
            name, position = f"{actor.name} reconstructed", self._position(actor)
            self.guest = Actor(actor.motion, body, name, position=position, volumes_only=volumes, ghost=ghost)
            self.session.add_extra(self.guest)
            self.session.stage.frame(self.session.shown)
        return self.guest

    def _position(self, actor: Actor) -> Floats:
        """Return (3,) the reconstructed body's position on the stage [m]: the original's, or right of everybody."""
        return actor.position if self.mode == OVER else actor.position + self.session.free_offset(actor)

    def _remove_guest(self) -> None:
        if self.guest is not None:
            self.session.remove_extra(self.guest)
            self.guest = None

    def _rest(self) -> None:
        """Show nothing: no motion is reconstructed."""
        self._remove_guest()
        self.points.hide()
        self.report.draw_errors({}, 0.0)
        self.limits.hide()
        body = self.session.body
        known = body is not None and _has_points(body)
        self.report.show(WELCOME if known else "Open a motion of a whole person first.")

    def _on_event(self, topic: str) -> None:
        if topic in ("actors", "active"):
            with self.session.lock:
                if self.session.active is not self._actor:
                    self._actor, self._requested, self._solver = self.session.active, None, None
                    self.results.clear()
                    self._remove_guest()


def _has_points(body: Humanoid) -> bool:
    return all(role in body.roles for role in MARKERS)

"""Reconstruction of a whole motion from its six points while the page stays responsive; the newest request wins."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....body import MARKERS
from ....body.collision.clearance import SelfCollision
from ....compute import Status
from ....compute.types import Floats, Ints
from ....evaluate.measures import position_errors, root_mean_square, scored_joints
from ....limb.model import ROLES
from ....skeleton import Frames, Motion, Pose
from ...core.actor import Actor
from ...core.session import Session
from ...core.worker import Worker
from ...view.theme import LINES, plain
from ...widgets.controls import ProgressText, redraw_on_update, show
from ...widgets.joint_limit_plot import SwingPlot
from ...widgets.status_text import COLOURS, coloured, distance_text, status_text
from ...widgets.time_plot import TimePlot, plot_times

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import TrackersTab

PROBE = 12
"""Frames that are reconstructed first, twice, to estimate the whole duration; the first time may compile."""


@dataclass(frozen=True, eq=False)
class ReconstructRequest:
    """A motion to reconstruct, and how."""

    actor: Actor
    """Performs the original motion."""
    body: Humanoid
    key: tuple[Any, ...]
    """Method, weights and untracked points: equal for equal requests about an actor."""
    points: Floats
    """(F, 6, 3) [m], NaN where a point is untracked."""
    make: Callable[[], Any]
    """Makes the solver."""


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """A reconstructed motion, and its distance from the original."""

    motion: Motion
    status: Ints
    """(F,) of `Status`."""
    errors: Floats
    """(F,) mean distance of the joints from the original's, in body heights."""
    overall: float
    """The paper's measure: root mean square of `errors`."""
    seconds: float
    """Computing time of the solver's `track`."""


class ReconstructJob(Worker[ReconstructRequest, Reconstructed]):
    """Reconstructs motions from their points."""

    def __init__(self, tab: TrackersTab) -> None:
        super().__init__(tab.session, "reconstruct")
        self._tab = tab
        self._schedule: tuple[float, float] | None = None  # start and expected duration [s]

    @property
    def progress(self) -> float:
        """The estimated fraction of the work that is done, from 0 to 1."""
        if self._schedule is None:
            return 0.0
        start, duration = self._schedule
        return min((time.monotonic() - start) / max(duration, 1e-6), 0.99)

    def compute(self, request: ReconstructRequest) -> Reconstructed:
        """Reconstruct the motion and compare it with the original."""
        self._schedule = None
        solver, points, fps = request.make(), request.points, request.actor.motion.fps
        solver.solve(points[0])
        for _ in range(2):
            start = time.monotonic()
            solver.track(points[:PROBE], fps=fps)
            per_frame = (time.monotonic() - start) / max(len(points[:PROBE]), 1)
        self._tab.solver_ready(request, solver)  # compiled: the first run of a solver may take a minute
        start = time.monotonic()
        self._schedule = (start, per_frame * len(points))
        solution = solver.track(points, fps=fps)
        seconds = time.monotonic() - start
        body, joints = request.body, scored_joints(request.body).joints
        original, found = (
            body.skeleton.forward(motion.pose).positions[:, joints]
            for motion in (request.actor.motion, solution.motion)
        )
        errors = position_errors(original, found, body.joint_height)
        status = np.asarray(solution.status)
        return Reconstructed(solution.motion, status, errors.mean(axis=-1), root_mean_square(errors), seconds)

    def deliver(self, request: ReconstructRequest, result: Reconstructed | Exception) -> None:
        """Hand the result over."""
        self._tab.reconstructed(request, result)


NONE = "(none)"
PLOT_TITLE = "distance from the original [% of the height]"
REASONS = {Status.REACHED: "All six points are met", Status.INVALID: "A tracker is lost"}


class ReconstructReport(ProgressText):
    """A text, a progress bar and a plot with a line for each method, in the panel."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.plot = TimePlot(session)
        self._plotted: dict[str, Reconstructed] = {}

    def draw_errors(self, results: Mapping[str, Reconstructed], time: float) -> None:
        """Plot the errors of reconstructed motions by their methods, the last ones, and the cursor at a time [s]."""
        shown = dict(list(results.items())[-len(LINES) :])
        if shown != self._plotted:
            self._plotted = shown
            motion = next((one.motion for one in shown.values()), None)
            times = np.zeros(2) if motion is None else plot_times(motion)
            lines = {
                name: 100.0 * np.interp(times, np.arange(len(one.errors)) / one.motion.fps, one.errors)
                for name, one in shown.items()
            }
            self.plot.draw(PLOT_TITLE, times, lines, with_zero=True)
        self.plot.move_cursor(time)


class ReconstructLimits:
    """A folder of the panel: a drawing of a limb's joint limits, and the volumes of the body that penetrate."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        with gui.add_folder("Limits and volumes", expand_by_default=False):
            limbs = (NONE, *(limb.replace("_", " ") for limb in ROLES))
            self._limb = gui.add_dropdown("Limits of", limbs, hint="The limits of its joints, and the joints in them")
            hint = "Draw the reconstructed body's volumes; list those in contact"
            self._volumes = gui.add_checkbox("Volumes", False, hint=hint)
            redraw_on_update(session, self._limb, self._volumes)
            self._swing = SwingPlot(session)
            self._contacts = gui.add_markdown("", visible=False)

    @property
    def volumes(self) -> bool:
        """Whether the body is drawn as its volumes."""
        return bool(self._volumes.value)

    def draw(self, body: Humanoid, pose: Pose, frames: Frames) -> None:
        """Show the limits and contacts of a pose, whose joints are at `frames`."""
        limb = str(self._limb.value).replace(" ", "_")
        if limb in ROLES and all(role in body.roles for role in ROLES[limb]):
            self._swing.draw(body, limb, pose)
        else:
            self._swing.hide()
        show(self._contacts, "visible", self.volumes)
        if self.volumes:
            show(self._contacts, "content", contact_text(SelfCollision.of(body).touching(frames)))

    def hide(self) -> None:
        """Show nothing."""
        self._swing.hide()
        show(self._contacts, "visible", False)


def frame_text(status: Status, errors: Floats, points: Floats) -> str:
    """Describe one moment: how the points are met, the worst one, and which are lost.

    Args:
        status: of the frame.
        errors: (6,) of the points [m]; not finite for lost ones.
        points: (6, 3) [m], NaN where lost.
    """
    lost = [MARKERS[k].replace("_", " ") for k in np.flatnonzero(np.isnan(points).any(axis=-1))]
    if lost:
        return coloured(COLOURS[Status.LIMITS], f"**Lost: {', '.join(lost)}, guessed**")
    text, worst = status_text(status, REASONS.get(status)), int(np.argmax(errors))
    if errors[worst] >= 1e-3:
        text += f", the {MARKERS[worst].replace('_', ' ')} {distance_text(errors[worst])} off"
    return text


def distance_line(distance: float, height: float) -> str:
    """Describe the mean distance [m] of the joints from the original's, of a body of a height [m]."""
    return f"now **{100.0 * distance / height:.2f} %** of the height from the original ({1000 * distance:.1f} mm)"


def motion_text(result: Reconstructed) -> str:
    """Describe the whole motion: the paper's measure, the worst moment, and the computing time."""
    worst = int(np.argmax(result.errors))
    each = 1e6 * result.seconds / max(len(result.errors), 1)
    duration = f"{each:.0f} µs" if each < 1000.0 else f"{each / 1000.0:.1f} ms"
    reached = float(np.mean(result.status == Status.REACHED))
    return (
        f"whole motion **{100.0 * result.overall:.2f} %** (RMS), at worst {100.0 * result.errors[worst]:.1f} % at "
        f"{worst / result.motion.fps:.2f} s  \npoints reached in {100.0 * reached:.0f} % of frames · {duration} a frame"
    )


def contact_text(pairs: Sequence[tuple[str, str]]) -> str:
    """List the volumes of the body that penetrate each other."""
    if not pairs:
        return "no volumes touch"
    named = ", ".join(f"{plain(a.replace('_', ' '))} and {plain(b.replace('_', ' '))}" for a, b in pairs[:4])
    more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
    return coloured(COLOURS[Status.COLLISION], f"in contact: {named}{more}")

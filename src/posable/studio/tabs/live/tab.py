"""Live: points that come over the network or from a file move a body on the stage, which is sent to others.

The loop runs in a thread of its own (`posable.live.Live`); the tab starts and stops it, calibrates, records, and shows
who sends what. A loop that `posable live` has started is shown from the beginning.
"""

from __future__ import annotations

import time as _time
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ....compute import PosableError
from ....live import Live
from ....skeleton import Motion, Pose
from ...core.actor import Actor
from ...core.files import local_path
from ...core.session import Session
from ...view.points import PointCloud
from ...widgets.controls import ProgressText, add_button, assign, show
from .report import GapPlot, point_rows, sender_rows, summary

if TYPE_CHECKING:
    from ....body import Humanoid

LIVE = "live"
"""Under this name a loop that was started elsewhere is in `session.shared`."""
WELCOME = (
    "Trackers and bodies by VMC, VRChat, JSON lines or from a file move a body here, which is sent on. "
    "Say where they come from and where the body goes, and start."
)
OFTEN = 0.25
"""[s] between two writings of the panel."""
MET, MISSED = (61, 139, 94), (224, 102, 60)
NEAR = 0.02
"""[m]: a point this near to the body counts as met, for its colour."""


class LiveTab:
    """Points in, a body out."""

    title = "Live"
    marks_selection = False

    def __init__(self) -> None:
        self.live: Live | None = None
        self.guest: Actor | None = None  # the body on the stage
        self._owned = False  # whether the loop was started here
        self._written = -1.0

    # The panel.

    def build(self, session: Session) -> None:
        """Add the controls: sources and sinks, start, calibrate, record, and what is sent."""
        self.session = session
        gui = session.gui
        self.status = ProgressText(session)
        with gui.add_folder("Wires"):
            hint = "vmc, vrchat, udp, each with ://host:port; or a file: a motion, a CSV, a capture. Commas between"
            self._in = gui.add_text("In", "vmc", hint=hint)
            hint = "vmc, vmc-trackers, vrchat, udp, each with ://host:port. Commas between; empty: nowhere"
            self._out = gui.add_text("Out", "vmc", hint=hint)
            hint = "The active body of the stage: open the character that the receiver shows"
            self._active_body = gui.add_checkbox("Active body", True, hint=hint)
            self._rate = gui.add_slider("Rate [1/s]", min=10, max=100, step=5, initial_value=60, hint="Bodies, at most")
            hint = "What trembles is evened out, and lags by about as much"
            self._smoothing = gui.add_slider("Smoothing [ms]", min=0, max=200, step=10, initial_value=0, hint=hint)
        options: dict[str, Any] = {"icon": viser.Icon.PLAYER_PLAY, "primary": True}
        self._start = add_button(session, "Start live", lambda _: self.start(), **options)
        self._stop = add_button(session, "Stop live", lambda _: self.stop(), icon=viser.Icon.PLAYER_STOP, visible=False)
        hint = "Stand still for three seconds, then move for eight"
        self._calibrate = add_button(session, "Calibrate", lambda _: self.calibrate(), hint=hint, visible=False)
        with gui.add_folder("Record", expand_by_default=False):
            self._file = gui.add_text("Capture", "take.osc", hint="Replayed byte for byte when given as In")
            self._record = add_button(session, "Record", lambda _: self.record(), icon=viser.Icon.PLAYER_RECORD)
        with gui.add_folder("Senders"):
            self._senders = gui.add_markdown("")
            self._gaps = GapPlot(session)
        with gui.add_folder("Points", expand_by_default=False):
            self._points = gui.add_markdown("")
        self._cloud = PointCloud(session.server, "/world/live/points")
        given = session.shared.get(LIVE)
        if isinstance(given, Live):
            self.live = given
            self._show_wires(given)
        self._write()

    def update(self, time: float) -> None:
        """Draw the body as it was sent last."""
        live = self.live
        if live is None:
            return
        if not live.running and self._owned:
            self.session.animating.discard(LIVE)
        else:
            self.session.animating.add(LIVE)
        with self.session.lock:
            if (frame := live.frame) is not None:
                guest = self._show_guest(live.body)
                guest.pose_override = frame.pose
                seen = np.isfinite(frame.points).all(axis=-1)
                colours = np.where((frame.errors < NEAR)[:, None], MET, MISSED)
                self._cloud.draw(frame.points[seen] + guest.position, colours[seen], 0.034 * live.body.joint_height)
            now = _time.monotonic()
            if now - self._written >= OFTEN:
                self._written = now
                self._write()

    def leave(self) -> None:
        """Take the body off the stage; the loop goes on."""
        with self.session.lock:
            self.session.animating.discard(LIVE)
            self._cloud.hide()
            self._remove_guest()

    def close(self) -> None:
        """End the loop, where it was started here."""
        self.session.animating.discard(LIVE)
        if self.live is not None and self._owned:
            self.live.stop()
        with self.session.lock:
            self._remove_guest()
            self._cloud.remove()

    # What a user can do.

    def start(self) -> None:
        """Start a loop as the fields say."""
        if self.live is not None and self.live.running:
            raise PosableError("it runs already; stop it first")
        sources, sinks = _words(str(self._in.value)), _words(str(self._out.value))
        if not self.session.paths:
            _check_private(sources, sinks)
        body = self.session.body if self._active_body.value else None
        smoothing = float(self._smoothing.value) / 1000.0 or None
        live = Live(
            sources, sinks, body=body, rate=float(self._rate.value), smoothing=smoothing, show=self.session.notify
        )
        live.start()
        with self.session.lock:
            self._remove_guest()
            self.live, self._owned = live, True
            self.session.changed("look")
        self._write()

    def stop(self) -> None:
        """End the loop; the body goes off the stage."""
        live = self.live
        if live is not None:
            live.stop()
        with self.session.lock:
            self.session.animating.discard(LIVE)
            self._remove_guest()
            self._cloud.hide()
            self.live = None
            self.session.changed("look")
        self._write()

    def calibrate(self) -> None:
        """Begin to calibrate."""
        self._running().calibrate()

    def record(self) -> None:
        """Begin or end a capture."""
        live = self._running()
        if live.recording is not None:
            name = live.recording.name
            live.record(None)
            self.session.notify(f"The capture {name} has ended.")
            return
        self.session.require_paths()
        live.record(local_path(str(self._file.value), "take.osc"))

    def _running(self) -> Live:
        if self.live is None or not self.live.running:
            raise PosableError("nothing runs; press Start live first")
        return self.live

    # What is shown.

    def _show_wires(self, live: Live) -> None:
        """Show in the fields what a loop that was started elsewhere does."""
        from ....live import UdpSource

        names = [str(one.address) if isinstance(one, UdpSource) else one.name for one in live.sources]
        if live.capture is not None:
            names.append(str(live.capture.path))
        assign(self._in, ", ".join(names))
        assign(self._out, ", ".join(sink.name for sink in live.sinks))

    def _write(self) -> None:
        """Write the panel."""
        live = self.live
        runs = live is not None and live.running
        show(self._start, "visible", not runs)
        show(self._stop, "visible", live is not None)
        show(self._calibrate, "visible", runs)
        show(self._record, "label", "End the capture" if live is not None and live.recording else "Record")
        if live is None:
            self.status.show(WELCOME)
            for text in (self._senders, self._points):
                show(text, "content", "Nothing runs.")
            self._gaps.draw(())
            return
        report = live.report()
        whole = {"stand": live.calibrating.stand, "move": live.calibrating.move}.get(report.phase)
        progress = None if not whole else 1.0 - report.remaining / whole
        self.status.show(summary(report, runs), progress)
        show(self._senders, "content", sender_rows(report))
        show(self._points, "content", point_rows(report))
        self._gaps.draw(report.senders)

    def _show_guest(self, body: Humanoid) -> Actor:
        """Return the body on the stage, right of the motions that are there."""
        if self.guest is None:
            still = body.neutral_pose
            motion = Motion(body.skeleton, Pose(still.translation[None], still.rotations[None]), 60.0, "live")
            self.guest = Actor(motion, body, "live")
            if self.session.active is not None:
                self.guest.position = self.session.active.position + self.session.free_offset(self.session.active)
            self.session.add_extra(self.guest)
            self.session.stage.frame(self.session.shown)
        return self.guest

    def _remove_guest(self) -> None:
        if self.guest is not None:
            self.session.remove_extra(self.guest)
            self.guest = None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_private(sources: list[str], sinks: list[str]) -> None:
    """Refuse files and other machines in a studio that other machines see."""
    from ....live.addresses import IN_PORTS, OUT_PORTS, parse

    for words, ports in ((sources, IN_PORTS), (sinks, OUT_PORTS)):
        for word in words:
            address = parse(word, ports)
            if address is None or not address.is_private:
                raise PosableError(
                    f"{word}: this studio is open to other machines, so it reads no files and speaks to this "
                    "machine only; use `posable live`"
                )


__all__ = ["LIVE", "LiveTab"]

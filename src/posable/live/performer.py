"""`Performer`: what packets and moments make of a body, and what of it goes out; sockets and clocks are `Live`'s.

A body is a function of the packets, the moments at which they came, and the moments at which bodies were sent; nothing
else. So a capture of these, written as they happen, replays to the same bytes. Whatever goes wrong is said once.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..compute import PosableError
from .board import LOST, FingerReport, Point
from .calibrating import Calibrating
from .capture import SENT
from .following import BodyFrame, Follower
from .intake import Intake, plain_points
from .notes import Notes, log
from .osc import OscError
from .pace import SendingPace
from .recording import Recorder
from .report import SinkReport
from .robots import RobotDriver
from .senders import MOST, Sender, Senders
from .sinks import NOBODY, Sending, Sink, VmcSink
from .vmc import Status

if TYPE_CHECKING:
    from ..body import Humanoid

GRACE = 0.001
"""[s] for which a body waits for the rest of a sender's points, where they come in several packets."""
LATENCIES = 4096
"""Times from packet to packets that are remembered."""
LOOKS = 0.5
"""[s] from one look at senders and points to the next."""


class Performer:
    """A body that follows the points of packets, and is handed to sinks.

    Args:
        body: the body that follows.
        follower: makes it of points.
        calibrating: the procedure.
        sinks: where it goes.
        pace: when it is sent.
        notes: where what goes wrong is said.
        robot: what turns bodies into values of motors; default none.
    """

    def __init__(
        self,
        body: Humanoid,
        follower: Follower,
        calibrating: Calibrating,
        sinks: list[Sink],
        pace: SendingPace,
        notes: Notes,
        robot: RobotDriver | None = None,
    ) -> None:
        self.body, self.follower, self.calibrating, self.robot = body, follower, calibrating, robot
        self.sinks, self.pace, self.notes = sinks, pace, notes
        self.intake, self.senders, self.recorder = Intake(), Senders(), Recorder(notes)
        self.sent = 0
        """Bodies sent."""
        self.last_packets: list[list[bytes]] = [[] for _ in sinks]
        """What each sink sent last."""
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        """[s] from a packet to the packets that were sent for it, of late."""
        self.sink_reports = [SinkReport(sink.name) for sink in sinks]
        self._unsent: float | None = None  # when the first points came that no body shows yet
        self._fresh: set[str] = set()  # who has reported since the last body
        self._arrived = 0.0  # when the packet that is not yet sent was received, for the latency
        self._looked = 0.0

    # Packets in

    def take_packet(
        self, source: int, kind: str, packet: bytes, sender: Sender, now: float, arrived: float | None = None
    ) -> bool:
        """Take a packet; return whether it reported a point.

        Args:
            source: number of the source.
            kind: what its packets are: "osc" or "lines".
            packet: its bytes.
            sender: whose it is.
            now: [s] since the beginning.
            arrived: when it was received by `time.perf_counter`, for the latency; default now.
        """
        self.recorder.packet(source, sender, now, packet)
        try:
            taken = self.intake.osc if kind == "osc" else self.intake.lines
            reported = taken(packet, sender.name, now)
        except PosableError as error:
            sender.broken += 1
            what = "OSC" if isinstance(error, OscError) else "JSON lines"
            self.notes.add(f"broken {sender.name}", f"{sender.name} sends packets that are no {what}: {error}")
            return False
        except Exception as error:  # nothing that a packet says ends the loop
            sender.broken += 1
            log.exception("a packet")
            self.notes.add("packet", f"a packet could not be read ({type(error).__name__}: {error})")
            return False
        if reported:
            self._take_note(sender, now, arrived)
        return reported

    def take_frame(self, source: int, name: str, frame: Mapping[str, Any], now: float) -> None:
        """Take the points of a moment from a source that has no packets; when it is recorded, as a JSON line."""
        sender = self.senders.admit((source, None), name, now)
        if sender is None:
            return
        try:
            frame = plain_points(frame)
            if self.recorder.path is not None:
                self.recorder.packet(source, sender, now, msgspec.json.encode(frame))
            if self.intake.frame(frame, sender.name, now):
                self._take_note(sender, now, None)
        except (TypeError, ValueError):
            self.notes.add(f"frame {source}", f"{name} has frames that are no points by part")

    def _take_note(self, sender: Sender, now: float, arrived: float | None) -> None:
        """Take note of points that no body shows yet."""
        sender.has_points = True
        if self._unsent is None:
            self._unsent, self._arrived = now, time.perf_counter() if arrived is None else arrived
        self._fresh.add(sender.name)

    # Bodies out

    def deadline(self) -> float:
        """Return when a body is due even if no packet comes [s]."""
        # What waits for the rest of its points waits past the clock too: else files, whose clock this is, stood still.
        return self.pace.deadline() if self._unsent is None else self._unsent + GRACE

    def send_if_due(self, now: float) -> None:
        """Send the body of a moment, if it is time."""
        if self._unsent is not None and not self.pace.wants(now):
            self._unsent = None  # more comes than is sent: the next packet counts, or the clock
            self._fresh.clear()
        if self._unsent is not None:
            if self._complete(now) or now >= self._unsent + GRACE:
                self.send(now, True)
        elif now >= (due := self.pace.deadline()):
            # A robot moves by whole steps: its times are those of the even grid, whenever the machine came to it.
            self.send(now if self.pace.on_packets or now - due > 4.0 * self.pace.period else due, False)

    def _complete(self, now: float) -> bool:
        """Return whether all points of the senders that have reported are there."""
        unsent = self._unsent
        assert unsent is not None
        board = self.intake.board
        reports: Iterator[Point | FingerReport] = itertools.chain(board.points.values(), board.fingers.values())
        return all(each.time >= unsent or now - each.time > LOST or each.sender not in self._fresh for each in reports)

    def send(self, now: float, with_packet: bool) -> None:
        """Make the body of a moment and send it everywhere."""
        self.recorder.write(SENT, 0, now, b"p" if with_packet else b"c")
        self.pace.sent(now, with_packet)
        arrived, fresh = self._arrived, self._unsent is not None
        self._unsent = None
        self._fresh.clear()
        try:
            self.calibrate_step(now)
            frame = self.follower.step(self.intake.board, now)
            values = None if self.robot is None else self.robot.step(frame)
            sending = self.sending(frame, now, values)
            for k, sink in enumerate(self.sinks):
                made = sink.packets(frame, sending)
                self._note_write(k, sink, sink.write(made), len(made))
                self.last_packets[k] = made
        except PosableError as error:
            self.notes.add(f"body {error}", f"no body: {error}")
            return
        except Exception as error:
            log.exception("a body")
            self.notes.add("body", f"a body could not be sent ({type(error).__name__}: {error})")
            return
        self.sent += frame is not None
        if fresh and frame is not None:
            self.latencies.append(time.perf_counter() - arrived)

    def sending(self, frame: BodyFrame | None, now: float, values: Any) -> Sending:
        """Return everything that goes with a body."""
        expressions: dict[str, float] = {}
        if self.intake.apply:
            expressions, self.intake.expressions, self.intake.apply = self.intake.expressions, {}, False
        status = Status(frame is not None, self.calibrating.state, 0, frame is not None and frame.tracking)
        return Sending(now, status, expressions, values)

    def _note_write(self, k: int, sink: Sink, wrong: str, count: int) -> None:
        report = self.sink_reports[k]
        report.packets += count
        if wrong:
            report.errors += 1
            report.error = wrong
            if wrong != NOBODY or report.errors > 5:
                self.notes.add(f"write {k} {wrong}", f"{sink.name}: {wrong}")
        elif count:
            report.error = ""

    # Commands and calibration

    def calibrate_step(self, now: float) -> None:
        """Do what packets ask for, and go on calibrating."""
        for each in self.intake.commands:
            if each.name == "ready":
                self.calibrating.ready()
            elif each.name == "calibrate" and not self.calibrating.in_progress:
                self.calibrating.begin(now)
            elif each.name == "periods":
                for sink in self.sinks:
                    if isinstance(sink, VmcSink):
                        sink.writer.set_periods(each.values)
        self.intake.commands.clear()
        found = self.calibrating.step(self.intake.board, now)
        if found is not None:
            self.follower.calibrate(found)
            self.notes.forget("calibrated")  # each one is said
            self.notes.add("calibrated", "; ".join(found.notes))

    def carry_out(self, name: str, value: Any, now: float) -> None:
        """Do what was requested: "calibrate", or take another "calibration"."""
        if name == "calibrate":
            self.recorder.command(now, do="calibrate")
            self.calibrating.begin(now)
        elif name == "calibration":
            self.recorder.command(now, do="calibration", calibration=None if value is None else value.document)
            self.follower.calibrate(value)
            self.calibrating.phase = "off" if value is None else "done"

    def start_recording(self, path: Any, kinds: list[str], now: float) -> None:
        """Begin a capture with what bodies depend on besides packets.

        Args:
            path: of the file.
            kinds: what the packets of each source are.
            now: [s]
        """
        self.recorder.start(path, kinds, 1.0 / self.pace.period, now)
        follower = self.follower
        if follower.sizes is not None:
            self.recorder.command(now, do="sizes", sizes=follower.sizes)
        if follower.standing:
            self.recorder.command(now, do="standing")
        if follower.calibration is not None:
            self.recorder.command(now, do="calibration", calibration=follower.calibration.document)

    # What is noticed

    def look_round(self, now: float) -> None:
        """Say who has stopped, who sends the same point as another, and whose time runs backwards."""
        if now < self._looked:
            return
        self._looked = now + LOOKS
        for sender in self.senders.stopped(now):
            self.notes.add(
                f"stopped {sender.name}",
                f"{sender.name} sends nothing any more; its points are bridged, then the body stays as it was",
            )
        for sender in self.senders:
            if not sender.silent and f"stopped {sender.name}" in self.notes:
                self.notes.forget(f"stopped {sender.name}")
        for name, one, other in sorted(self.intake.board.doubled):
            self.notes.add(f"doubled {one} {other}", f"{one} and {other} both send {name!r}; the newest counts")
        if self.intake.backwards:
            who = self.intake.backwards
            self.notes.add(f"backwards {who}", f"the time of {who} ran backwards; when packets come counts instead")
        if self.senders.strangers:
            self.notes.add(
                "strangers",
                f"{MOST} senders send points already; packets of others are dropped until one of these stops",
            )
        if self.intake.board.refused:
            self.notes.add("refused", "more points are sent than can be taken; the first ones count")
        if self.intake.board.fingers and not self.body.fingers:
            self.notes.add(
                "fingers",
                "fingers are sent, and this body has none; a character's own may have, ps.figure(fingers=True) has",
            )
        if who := self.follower.strange_fingers:
            self.notes.add(
                f"strange {who}",
                f"fingers of {who} are not counted from a T-pose; give the model that it shows as the body",
            )
        if self.follower.puzzle and not self.follower.guess:
            who = self.follower.puzzle
            self.notes.add(
                f"puzzle {who}", f"which parts {who} are on is not known; stand upright for a moment, or calibrate"
            )
        if self.follower.guess:
            self.notes.add(f"guess {self.follower.guess}", f"taken by where they are: {self.follower.guess}")

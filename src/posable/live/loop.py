"""`Live`: the loop from packets to bodies; `run`: the same in one call.

A body is a function of the packets, the moments at which they came, and the moments at which bodies were sent; nothing
else. So a capture of these replays to the same bytes. Whatever goes wrong while it runs is said once (`Notes`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from ..body import MARKERS, Humanoid, figure
from ..compute import FormatError, PosableError, number
from ..compute.extent import EXTENT
from ..formats import load
from ..reconstruct import Points
from ..skeleton import Motion
from .addresses import IN_PORTS, parse
from .board import LOST, Point
from .calibrating import MOVE, STAND, Calibrating, LiveCalibration
from .capture import COMMAND, PACKET, SENT, SUFFIX, CaptureReader, CaptureWriter, Record, command, read_command
from .following import BodyFrame, Follower, guessed_sizes
from .intake import Intake, plain_points
from .notes import Notes, log
from .osc import OscError
from .pace import Pace
from .report import Report, SinkReport, point_reports
from .robots import RobotDriver, robot_driver
from .senders import Sender, Senders
from .sinks import NOBODY, CsvSink, Sending, Sink, UdpSink, VmcSink, sink_of
from .sources import FramesSource, IterableSource, UdpSource, file_source, motion_source, points_source
from .vmc import Status

if TYPE_CHECKING:
    from ..collision import Scene
    from ..reconstruct import Prior

Source: TypeAlias = UdpSource | FramesSource | IterableSource
AT_ONCE = 512
"""Packets of a socket that are read before bodies are sent."""
READING = 0.004
"""[s] for which packets of a socket are read before bodies are sent: large ones take long."""
GRACE = 0.001
"""[s] for which a body waits for the rest of a sender's points, where they come in several packets."""
LONGEST_WAIT = 0.25  # [s]
LATENCIES = 4096
"""Times from packet to packets that are remembered."""


class Live:
    """A body that follows tracked points, and is sent to others.

    Use it as a context manager and call `run`, or `start` and `stop` it. It can be used once.

    Args:
        sources: where points come from: "vmc", "vrchat", "udp" (JSON lines), each with ://host:port; a motion, a
            CSV of points or of MediaPipe's landmarks, a capture (.osc); `Points`, a `Motion`; an iterable of landmarks
            or of points by part.
        sinks: where bodies go: "vmc", "vmc-trackers", "vrchat", "udp" (JSON lines), each with ://host:port; a .csv file
            of a robot; or a `Sink`.
        body: the body that follows, or the file of a character; default the built-in figure.
        rate: bodies a second, at most; of a robot exactly. Default 60.
        roles: name of a tracker to the part it is on; default found by where they are.
        calibration: how trackers sit on the person, or its file; default none.
        height: stature of the person [m], sole to crown, for calibrating; default what fits.
        smoothing: time constant [s] of a One-Euro filter; default none.
        lock_feet: whether feet that stand are locked where they came to stand; default True.
        floor: height of the floor in the world of the points [m]; default found from the feet.
        fit: whether points are scaled to the size of the body; default True.
        prior: a learned model of how people move, as for `SequentialIK`; default ours.
        scene: obstacles that arms and legs keep out of; default none.
        robot: a driver, or the file of a robot that follows; default none.
        posture: of a robot that looks at somebody [rad]; default zero.
        look_at: the part of the body that a robot looks at; default the head, and a humanoid follows instead.
        record: the capture to write; default none.
        stand: how long somebody stands to calibrate [s]; default 3.
        move: how long somebody moves to calibrate [s]; default 8.
        show: called with each note, once; default the log.
    """

    def __init__(
        self,
        sources: Any = ("vmc",),
        sinks: Any = ("vmc",),
        *,
        body: Humanoid | str | os.PathLike[str] | None = None,
        rate: float = 60.0,
        roles: Mapping[str, str] | None = None,
        calibration: LiveCalibration | str | os.PathLike[str] | None = None,
        height: float | None = None,
        smoothing: float | None = None,
        lock_feet: bool = True,
        floor: float | None = None,
        fit: bool = True,
        prior: Prior | str | None = "default",
        scene: Scene | None = None,
        robot: RobotDriver | str | os.PathLike[str] | None = None,
        posture: Any = None,
        look_at: str | None = None,
        record: str | os.PathLike[str] | None = None,
        stand: float = STAND,
        move: float = MOVE,
        show: Callable[[str], None] | None = None,
    ) -> None:
        self.notes = Notes(show)
        for name, value, low in (
            ("floor", floor, -EXTENT),
            ("height", height, 1e-3),
            ("stand", stand, 0.0),
            ("move", move, 0.0),
        ):
            if value is not None and not low <= number(value) <= EXTENT:
                raise PosableError(f"{name} is {value}; expected a number from {low:g} to {EXTENT:g}")
        self.body = body_of(body)
        self.robot: RobotDriver | None
        if isinstance(robot, str | os.PathLike):
            self.robot = robot_driver(robot, self.body, rate=rate, posture=posture, look_at=look_at)
        else:
            self.robot = robot
        self.capture: CaptureReader | None = None
        self.sources: list[Source] = [source for one in _listed(sources) if (source := self._source(one)) is not None]
        self.sinks: list[Sink] = [
            sink_of(os.fspath(one), self.body, self.robot) if _is_path(one) else one for one in _listed(sinks)
        ]
        if not self.sources and self.capture is None:
            raise PosableError("there is no source; expected vmc, vrchat, udp or a file")
        if self.sources and self.capture is not None:
            raise PosableError(
                f"{str(self.capture.path)!r} is a capture, which is replayed alone; leave the others out"
            )
        self.pace = Pace(rate if self.robot is None else self.robot.rate, on_packets=self.robot is None)
        loaded = (
            calibration
            if calibration is None or isinstance(calibration, LiveCalibration)
            else (LiveCalibration.load(calibration))
        )
        takes = [source for source in self.sources if isinstance(source, FramesSource)]
        self.follower = Follower(
            self.body,
            dict(roles or {}),
            loaded,
            smoothing,
            lock_feet,
            floor,
            fit,
            prior,
            scene,
            standing=any(isinstance(s, FramesSource | IterableSource) and s.standing for s in self.sources),
            sizes=take_sizes(self.body, takes[0]) if len(takes) == 1 else None,
        )
        self.calibrating = Calibrating(self.body, stand, move, height, dict(roles or {}))
        if loaded is not None:
            self.calibrating.phase = "done"
        self.intake, self.senders = Intake(), Senders()
        self.sent = 0
        """Bodies sent."""
        self.last_packets: list[list[bytes]] = [[] for _ in self.sinks]
        """What each sink sent last."""
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._sink_reports = [SinkReport(sink.name) for sink in self.sinks]
        self._record_path = record
        self._recording: CaptureWriter | None = None
        self._recorded_from = 0.0
        self._recorded_senders: dict[int, int] = {}  # of each source, the number of the sender of its last packet
        self._replayed_senders: dict[int, int] = {}
        self._requests: deque[tuple[str, Any]] = deque(maxlen=64)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun = time.monotonic()
        self._unsent: float | None = None
        self._fresh: set[str] = set()
        self._arrived = 0.0  # when the packet that is not yet sent was received, for the latency
        self._own_ports: set[int] = set()
        self._selector: selectors.BaseSelector | None = None
        self._wake: tuple[socket.socket, socket.socket] | None = None
        self._stopping_error: BaseException | None = None
        self._is_open = False

    def _source(self, given: Any) -> Source | None:
        """Return a source; a capture is stored apart."""
        if isinstance(given, UdpSource | FramesSource | IterableSource):
            return given
        if isinstance(given, Points):
            return points_source(given)
        if isinstance(given, Motion):
            return motion_source(given, given.name or "motion")
        if not _is_path(given):
            return IterableSource(given)
        text = os.fspath(given)
        if text == "mediapipe":
            from .landmarks import camera

            return IterableSource(camera(), "mediapipe")
        address = parse(text, IN_PORTS)
        if address is not None:
            return UdpSource(address)
        if Path(text).suffix.lower() == SUFFIX:
            if self.capture is not None:
                raise PosableError(f"{text!r} is a second capture; one can be replayed at a time")
            self.capture = CaptureReader(text)
            return None
        return file_source(text)

    # Begin and end

    def __enter__(self) -> Live:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def open(self) -> None:
        """Open sockets and files; what cannot be opened is a `PosableError`."""
        if self._is_open:
            return
        self._is_open = True
        try:
            self._open()
        except BaseException:
            self._discard()
            self._close()
            raise

    def _open(self) -> None:
        self._selector = selectors.DefaultSelector()
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        self._wake = (reader, writer)
        self._selector.register(reader, selectors.EVENT_READ, None)
        for k, source in enumerate(self.sources):
            if isinstance(source, UdpSource):
                source.open()
                self._selector.register(source, selectors.EVENT_READ, k)
                if not source.address.is_private:
                    self.notes.add(
                        f"open {k}", f"{source.name} listens at {source.address.host}: other machines can send to it"
                    )
        for sink in self.sinks:
            sink.open()
            if isinstance(sink, UdpSink):
                self._own_ports.add(sink.own_port)
                if not sink.address.is_private:
                    self.notes.add(f"away {sink.name}", f"bodies leave this machine, to {sink.address}")
                self._check_circle(sink)
        if any(isinstance(s, VmcSink) for s in self.sinks) and self.body.skeleton.character is None:
            self.notes.add(
                "model",
                "without a model of your own, receivers get the built-in figure's bones; give the VRM that they show "
                "as the body",
            )
        if self._record_path is not None:
            self._start_recording(self._record_path, 0.0)
        self.follower.warm_up()
        for source in self.sources:
            if isinstance(source, IterableSource):
                source.start(self.wake)
        self._begun = time.monotonic()

    def _check_circle(self, sink: UdpSink) -> None:
        for source in self.sources:
            if isinstance(source, UdpSource) and source.port == sink.address.port and sink.address.is_private:
                self.notes.add(
                    f"circle {sink.name}",
                    f"{sink.address} is where this program listens itself; what it sends there it passes over, and "
                    "nobody else on this machine gets it",
                )

    def start(self) -> Live:
        """Open everything and run in a thread; returns at once."""
        self.open()
        self._thread = threading.Thread(target=self._run_quietly, name="posable-live", daemon=True)
        self._thread.start()
        return self

    def _run_quietly(self) -> None:
        try:
            self.run()
        except Exception as error:
            self._stopping_error = error
            log.exception("the loop ended")
            self.notes.add("ended", f"the loop ended: {error}")

    def stop(self) -> None:
        """End the loop, and what it records; a second call does nothing."""
        self._ending.set()
        self.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5.0)
        self._close()

    def _discard(self) -> None:
        """Leave files as they were: nothing has begun."""
        for sink in self.sinks:
            if isinstance(sink, CsvSink):
                sink.discard()
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.discard()

    def _close(self) -> None:
        for each in (*self.sources, *self.sinks):
            if not isinstance(each, FramesSource):
                each.close()
        if self.capture is not None:
            self.capture.close()
        self._stop_recording()
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        if self._wake is not None:
            for end in self._wake:
                end.close()
            self._wake = None

    @property
    def running(self) -> bool:
        """Whether the thread of `start` runs."""
        return self._thread is not None and self._thread.is_alive()

    def wake(self) -> None:
        """Let the loop look what there is to do."""
        if self._wake is not None:
            with contextlib.suppress(OSError):  # full: it is awake; or closed: it has ended
                self._wake[1].send(b"w")

    # What others ask for

    def calibrate(self) -> None:
        """Begin to calibrate: stand, then move."""
        self._request("calibrate", None)

    def set_calibration(self, calibration: LiveCalibration | None) -> None:
        """Use another calibration, or none."""
        self._request("calibration", calibration)

    def record(self, path: str | os.PathLike[str] | None) -> None:
        """Begin a capture; None ends it."""
        self._request("record", path)

    def _request(self, name: str, value: Any) -> None:
        self._requests.append((name, value))
        self.wake()

    # The loop

    def run(self, seconds: float | None = None, *, realtime: bool = True) -> Live:
        """Run until everything has ended, `stop` is called, or some seconds have passed.

        Args:
            seconds: [s]; default without end, where a socket is open.
            realtime: False: files are played as fast as can be, their times being the clock. Default True.
        """
        self.open()
        if self.capture is not None and not self.sources:
            self._replay(self.capture, seconds, realtime)
        elif realtime:
            end = None if seconds is None else self._now() + seconds
            while not self._ending.is_set() and not self._ended():
                if end is not None and self._now() >= end:
                    break
                self.poll(LONGEST_WAIT if end is None else min(LONGEST_WAIT, max(0.0, end - self._now())))
            self._note_failures()  # one that came after the last look
        else:
            self._run_in_virtual_time(seconds)
        return self

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _ended(self) -> bool:
        """Whether no more points can come."""
        if any(isinstance(source, UdpSource) for source in self.sources):
            return False
        timed = [source.next_time() is None for source in self.sources if isinstance(source, FramesSource)]
        fed = [source.ended for source in self.sources if isinstance(source, IterableSource)]
        return all(timed) and all(fed) and self._unsent is None

    def _deadline(self) -> float:
        """Return when there is something to do even if no packet comes [s]."""
        # What waits for the rest of its points waits past the clock too: else files, whose clock this is, stood still.
        due = self.pace.deadline() if self._unsent is None else self._unsent + GRACE
        for source in self.sources:
            if isinstance(source, FramesSource) and (at := source.next_time()) is not None:
                due = min(due, at)
        return due

    def poll(self, timeout: float = LONGEST_WAIT) -> None:
        """Wait for packets, at most so long [s], take them, and send the body if one is due."""
        selector = self._selector
        if selector is None:
            raise PosableError("it is not open")
        wait = min(timeout, max(0.0, self._deadline() - self._now()))
        ready = selector.select(wait)
        with self._lock:
            for key, _ in ready:
                if key.data is None:
                    self._drain_wake()
                else:
                    self._read(key.data)
            now = self._now()
            for k, source in enumerate(self.sources):
                if isinstance(source, FramesSource):
                    while (at := source.next_time()) is not None and at <= now:
                        self._take_frame(k, source.take(), now)
                elif isinstance(source, IterableSource):
                    while (frame := source.receive()) is not None:
                        self._take_frame(k, frame, now)
            self._note_failures()
            self._do_requests(now)
            self._send_if_due(self._now())
            self._look_round(now)

    def _note_failures(self) -> None:
        for k, source in enumerate(self.sources):
            if isinstance(source, IterableSource) and source.error:
                self.notes.add(f"failed {k}", f"{source.name} failed: {source.error}")

    def _drain_wake(self) -> None:
        assert self._wake is not None
        try:
            while self._wake[0].recv(4096):
                pass
        except OSError:
            pass

    def _read(self, k: int) -> None:
        """Take the packets that wait at a socket, so many at most."""
        source = self.sources[k]
        assert isinstance(source, UdpSource)
        begun = time.perf_counter()
        for _ in range(AT_ONCE):
            found = source.receive()
            arrived = time.perf_counter()
            if found is None:
                return
            packet, address = found
            if address[1] in self._own_ports and source.address.is_private:
                continue
            now = self._now()
            name = f"{source.name} {address[0]}:{address[1]}"
            sender = self.senders.admit((k, address), name, now, len(packet))
            if sender is None:
                continue
            if self._take_packet(k, packet, sender, now) and self._unsent is None:
                self._arrived = arrived
            if arrived - begun > READING:
                return

    def _take_packet(self, k: int, packet: bytes, sender: Sender, now: float) -> bool:
        """Take a packet; return whether it reported a point."""
        self._write_packet(k, sender, now, packet)
        return self._understand(self.sources[k].packets if k < len(self.sources) else "osc", packet, sender, now)

    def _understand(self, kind: str, packet: bytes, sender: Sender, now: float) -> bool:
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
            if self._unsent is None:
                self._unsent = now
                self._arrived = time.perf_counter()
            self._fresh.add(sender.name)
        return reported

    def _take_frame(self, k: int, frame: Mapping[str, Any], now: float) -> None:
        """Take the points of a moment; when it is recorded, as a JSON line."""
        source = self.sources[k]
        sender = self.senders.admit((k, None), source.name, now)
        if sender is None:
            return
        try:
            frame = plain_points(frame)
            if self._recording is not None:
                self._write_packet(k, sender, now, msgspec.json.encode(frame))
            if self.intake.frame(frame, sender.name, now) and self._unsent is None:
                self._unsent, self._arrived = now, time.perf_counter()
        except (TypeError, ValueError):
            self.notes.add(f"frame {k}", f"{source.name} has frames that are no points by part")
            return
        self._fresh.add(sender.name)

    def _send_if_due(self, now: float) -> None:
        if self._unsent is not None and not self.pace.wants(now):
            self._unsent = None  # more comes than is sent: the next packet counts, or the clock
            self._fresh.clear()
        if self._unsent is not None:
            if self._complete(now) or now >= self._unsent + GRACE:
                self._send(now, True)
        elif now >= (due := self.pace.deadline()):
            # A robot moves by whole steps: its times are those of the even grid, whenever the machine came to it.
            self._send(now if self.pace.on_packets or now - due > 4.0 * self.pace.period else due, False)

    def _complete(self, now: float) -> bool:
        """Return whether all points of the senders that have reported are there."""
        unsent = self._unsent
        assert unsent is not None
        return all(
            point.time >= unsent or now - point.time > LOST or point.sender not in self._fresh
            for point in self.intake.board.points.values()
        )

    def _send(self, now: float, with_packet: bool) -> None:
        """Make the body of a moment and send it everywhere."""
        self._write(SENT, 0, now, b"p" if with_packet else b"c")
        self.pace.sent(now, with_packet)
        arrived, fresh = self._arrived, self._unsent is not None
        self._unsent = None
        self._fresh.clear()
        try:
            self._calibrate(now)
            frame = self.follower.step(self.intake.board, now)
            values = None if self.robot is None else self.robot.step(frame)
            sending = self._sending(frame, now, values)
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
            self._latencies.append(time.perf_counter() - arrived)

    def _sending(self, frame: BodyFrame | None, now: float, values: Any) -> Sending:
        expressions: dict[str, float] = {}
        if self.intake.apply:
            expressions, self.intake.expressions, self.intake.apply = self.intake.expressions, {}, False
        status = Status(frame is not None, self.calibrating.state, 0, frame is not None and frame.tracking)
        return Sending(now, status, expressions, values)

    def _note_write(self, k: int, sink: Sink, wrong: str, count: int) -> None:
        report = self._sink_reports[k]
        report.packets += count
        if wrong:
            report.errors += 1
            report.error = wrong
            if wrong != NOBODY or report.errors > 5:
                self.notes.add(f"write {k} {wrong}", f"{sink.name}: {wrong}")
        elif count:
            report.error = ""

    # Commands and calibration

    def _calibrate(self, now: float) -> None:
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
            for note in found.notes:
                self.notes.add(f"calibrated {now} {note}", note)

    def _do_requests(self, now: float) -> None:
        while self._requests:
            name, value = self._requests.popleft()
            try:
                if name == "record":
                    self._stop_recording()
                    if value is not None:
                        self._start_recording(value, now)
                else:
                    self._carry_out(name, value, now)
            except PosableError as error:
                self.notes.add(f"{name} {error}", str(error))

    def _carry_out(self, name: str, value: Any, now: float) -> None:
        if name == "calibrate":
            self._write(COMMAND, 0, now, command(do="calibrate"))
            self.calibrating.begin(now)
        elif name == "calibration":
            self._write(
                COMMAND, 0, now, command(do="calibration", calibration=None if value is None else value.document)
            )
            self.follower.calibrate(value)
            self.calibrating.phase = "off" if value is None else "done"

    def _look_round(self, now: float) -> None:
        """Say who has stopped, who sends the same point as another, and whose time runs backwards."""
        if now < getattr(self, "_looked", 0.0):
            return
        self._looked = now + 0.5
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
        if self.intake.board.refused:
            self.notes.add("refused", "more points are sent than can be taken; the first ones count")
        if self.follower.guess:
            self.notes.add(f"guess {self.follower.guess}", f"taken by where they are: {self.follower.guess}")

    # Recording and replay

    def _start_recording(self, path: str | os.PathLike[str], now: float) -> None:
        kinds = [source.packets for source in self.sources]
        if self.capture is not None:
            kinds = self.capture.head.sources
        self._recording = CaptureWriter(path, kinds, 1.0 / self.pace.period)
        self._recorded_from, self._recorded_senders = now, {}
        if self.follower.sizes is not None:
            self._write(COMMAND, 0, now, command(do="sizes", sizes=self.follower.sizes))
        if self.follower.standing:
            self._write(COMMAND, 0, now, command(do="standing"))
        if self.follower.calibration is not None:
            self._write(COMMAND, 0, now, command(do="calibration", calibration=self.follower.calibration.document))

    def _stop_recording(self) -> None:
        if self._recording is not None:
            recording, self._recording = self._recording, None
            try:
                recording.close()
            except OSError as error:
                self.notes.add("record", f"{recording.path}: the capture is given up: {error.strerror or error}")

    @property
    def recording(self) -> Path | None:
        """The capture that is being written; None without."""
        return None if self._recording is None else self._recording.path

    def _write(self, kind: bytes, source: int, now: float, content: bytes) -> None:
        if self._recording is not None:
            try:
                self._recording.write(kind, source, max(0.0, now - self._recorded_from), content)
            except OSError as error:  # the disk is full: the loop goes on
                recording, self._recording = self._recording, None
                recording.discard()
                self.notes.add("record", f"{recording.path}: the capture is given up: {error.strerror or error}")

    def _write_packet(self, source: int, sender: Sender, now: float, packet: bytes) -> None:
        """Record a packet, and whose it is where that is not the one before."""
        if self._recording is not None and self._recorded_senders.get(source) != sender.number:
            self._recorded_senders[source] = sender.number
            self._write(COMMAND, source, now, command(do="sender", number=sender.number))
        self._write(PACKET, source, now, packet)

    def _replay(self, capture: CaptureReader, seconds: float | None, realtime: bool) -> None:
        """Do what a capture says, at its times; bodies are sent at its moments only."""
        begun = time.monotonic()
        for record in capture:
            if self._ending.is_set() or (seconds is not None and record.time > seconds):
                break
            if realtime:
                while (wait := record.time - (time.monotonic() - begun)) > 0.0 and not self._ending.is_set():
                    time.sleep(min(wait, LONGEST_WAIT))
            with self._lock:
                self._replay_record(capture, record)
                self._look_round(record.time)

    def _replay_record(self, capture: CaptureReader, record: Record) -> None:
        now = record.time
        if record.kind == PACKET:
            kind = capture.head.sources[record.source]
            number = self._replayed_senders.get(record.source, 0)
            name = f"{capture.path.name} {record.source}.{number}"
            sender = self.senders.admit((record.source, number), name, now)
            if sender is not None:
                self._write_packet(record.source, sender, now, record.content)
                self._understand(kind, record.content, sender, now)
        elif record.kind == SENT:
            self._send(now, record.content == b"p")
        else:
            content = read_command(record.content, capture.path)
            if content.get("do") == "sender":
                whose = content.get("number")
                if not isinstance(whose, int) or whose < 0:
                    raise FormatError(capture.path, f"has the sender {str(whose)[:60]}; expected a number")
                self._replayed_senders[record.source] = whose
            else:
                self._replay_command(content, capture.path, now)

    def _replay_command(self, content: Mapping[str, Any], path: Path, now: float) -> None:
        what = content.get("do")
        if what == "calibration":
            value = content.get("calibration")
            self._carry_out(what, None if value is None else LiveCalibration.of_document(path, value), now)
        elif what == "calibrate":
            self._carry_out(what, None, now)
        elif what == "sizes":
            found = content.get("sizes")
            sound = isinstance(found, list) and len(found) == 2
            if not (sound and all(isinstance(size, float) and 1e-3 < size < 1e3 for size in found or ())):
                raise FormatError(path, f"has the sizes {str(found)[:60]}; expected two numbers")
            self.follower.sizes = (found[0], found[1]) if found else None
            self._write(COMMAND, 0, now, command(do="sizes", sizes=self.follower.sizes))
        elif what == "standing":
            self.follower.standing = True
            self._write(COMMAND, 0, now, command(do="standing"))

    def _run_in_virtual_time(self, seconds: float | None) -> None:
        """Play files as fast as can be."""
        if not all(isinstance(source, FramesSource) for source in self.sources):
            raise PosableError("realtime=False is for files and captures; sockets and iterables come when they come")
        while not self._ending.is_set() and not self._ended():
            now = self._deadline()
            if seconds is not None and now > seconds:
                return
            with self._lock:
                for k, source in enumerate(self.sources):
                    assert isinstance(source, FramesSource)
                    while (at := source.next_time()) is not None and at <= now:
                        self._take_frame(k, source.take(), now)
                self._do_requests(now)
                self._send_if_due(now)
                self._look_round(now)

    # What there is to see

    @property
    def frame(self) -> BodyFrame | None:
        """The body as it was sent last; None before the first."""
        return self.follower.last

    def report(self) -> Report:
        """Return who sends what, how long it takes and how near the body is, as it is now."""
        with self._lock:
            now = self._now()
            return Report(
                seconds=now,
                sent=self.sent,
                latencies=np.array(self._latencies),
                senders=tuple(self.senders),
                points=point_reports(self.intake.board, self.follower, now),
                sinks=tuple(self._sink_reports),
                phase=self.calibrating.phase,
                message=self.calibrating.message,
                remaining=self.calibrating.remaining(now),
                recording=None if self._recording is None else str(self._recording.path),
                notes=tuple(self.notes.recent),
            )

    def points(self) -> list[Point]:
        """Return the points that are seen now."""
        with self._lock:
            return self.intake.board.present(self._now())


def run(
    sources: Any = ("vmc",),
    sinks: Any = ("vmc",),
    *,
    seconds: float | None = None,
    realtime: bool = True,
    **options: Any,
) -> Live:
    """Follow tracked points with a body and send it, until Ctrl-C, the end of the files, or some seconds.

    Args:
        sources: where points come from: "vmc", "vrchat", "udp", a file, an iterable; as for `Live`. Default "vmc".
        sinks: where bodies go: "vmc", "vmc-trackers", "vrchat", "udp", a .csv file. Default "vmc".
        seconds: how long [s]; default without end.
        realtime: whether files are played at their own times; default True, else as fast as can be.
        options: those of `Live`: `body`, `rate`, `robot`, `record`, ...
    """
    with Live(sources, sinks, **options) as live, contextlib.suppress(KeyboardInterrupt):
        live.run(seconds, realtime=realtime)
    return live


def take_sizes(body: Humanoid, take: FramesSource) -> tuple[float, float] | None:
    """Return how much longer (legs, trunk) of a body are than those of the person of a take, if it shows them."""
    if take.person is not None:
        standing = take.person.markers(take.person.neutral_pose)[None]
        return guessed_sizes(body, MARKERS, standing)
    if take.points is not None:
        names = [name for name in take.points.names if name in body.roles]
        return guessed_sizes(body, names, take.points.of(names))
    return None


def body_of(body: Humanoid | str | os.PathLike[str] | None) -> Humanoid:
    """Return a body: the given one, that of a character's file, or the built-in figure."""
    if body is None:
        return figure()
    if isinstance(body, Humanoid):
        return body
    motion = load(body)
    try:
        made = Humanoid(motion.skeleton)
    except PosableError as error:
        raise PosableError(f"{os.fspath(body)}: has no person's bones: {error}") from None
    made.require_person("posable live (a robot is given as the robot)")
    return made


def _listed(given: Any) -> Iterator[Any]:
    """Yield what one argument or a list of them has."""
    single = _is_path(given) or isinstance(given, Points | Motion | UdpSource | FramesSource | IterableSource)
    if single or not isinstance(given, Sequence):
        yield given
    else:
        yield from given


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)

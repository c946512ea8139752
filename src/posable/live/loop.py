"""`Live`: the loop from packets to bodies, with its sockets, files and clock; `run`: the same in one call.

What packets and moments make of a body is a `Performer`'s; here is when they come: from sockets and threads in real
time, from files at their times or as fast as can be, from a capture.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, number
from ..compute.extent import EXTENT
from .board import Point
from .calibrating import MOVE, STAND, Calibrating, LiveCalibration
from .capture import CaptureReader
from .following import BodyFrame, Follower, body_of, take_sizes
from .notes import Notes, log
from .pace import SendingPace
from .performer import Performer
from .recording import Replay
from .report import Report, point_reports
from .robots import RobotDriver, robot_driver
from .sinks import CsvSink, Sink, UdpSink, VmcSink, sink_of
from .sources import FramesSource, IterableSource, UdpSource, is_path, listed, sources_of

if TYPE_CHECKING:
    from ..collision import Scene
    from ..reconstruct import Prior

AT_ONCE = 512
"""Packets of a socket that are read before bodies are sent."""
READING = 0.004
"""[s] for which packets of a socket are read before bodies are sent: large ones take long."""
LONGEST_WAIT = 0.25  # [s]


class Live(Performer):
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
        for name, value, low in (
            ("floor", floor, -EXTENT),
            ("height", height, 1e-3),
            ("stand", stand, 0.0),
            ("move", move, 0.0),
        ):
            if value is not None and not low <= number(value) <= EXTENT:
                raise PosableError(f"{name} is {value}; expected a number from {low:g} to {EXTENT:g}")
        notes, whose = Notes(show), body_of(body)
        driver = robot
        if isinstance(driver, str | os.PathLike):
            driver = robot_driver(driver, whose, rate=rate, posture=posture, look_at=look_at)
        self.sources, self.capture = sources_of(sources)
        targets: list[Sink] = [sink_of(os.fspath(one), whose, driver) if is_path(one) else one for one in listed(sinks)]
        pace = SendingPace(rate if driver is None else driver.rate, on_packets=driver is None)
        if isinstance(calibration, str | os.PathLike):
            calibration = LiveCalibration.load(calibration)
        takes = [source for source in self.sources if isinstance(source, FramesSource)]
        follower = Follower(
            whose,
            dict(roles or {}),
            calibration,
            smoothing,
            lock_feet,
            floor,
            fit,
            prior,
            scene,
            standing=any(isinstance(s, FramesSource | IterableSource) and s.standing for s in self.sources),
            sizes=take_sizes(whose, takes[0]) if len(takes) == 1 else None,
        )
        calibrating = Calibrating(whose, stand, move, height, dict(roles or {}))
        if calibration is not None:
            calibrating.phase = "done"
        super().__init__(whose, follower, calibrating, targets, pace, notes, driver)
        self._record_path = record
        self._requests: deque[tuple[str, Any]] = deque(maxlen=64)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun = time.monotonic()
        self._own_ports: set[int] = set()
        self._selector: selectors.BaseSelector | None = None
        self._wake: tuple[socket.socket, socket.socket] | None = None
        self._is_open = False

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
            self.start_recording(self._record_path, self._kinds, 0.0)
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
        self.recorder.discard()

    def _close(self) -> None:
        for each in (*self.sources, *self.sinks):
            if not isinstance(each, FramesSource):
                each.close()
        if self.capture is not None:
            self.capture.close()
        self.recorder.stop()
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

        A file that breaks in the middle is said, and the others go on; where nothing else is left, it is raised.

        Args:
            seconds: [s]; default without end, where a socket is open.
            realtime: False: files are played as fast as can be, their times being the clock. Default True.
        """
        self.open()
        try:
            if self.capture is not None:
                self._replay(self.capture, seconds, realtime)
            elif realtime:
                self._run_in_real_time(seconds)
            else:
                self._run_in_virtual_time(seconds)
            for k, source in enumerate(self.sources):
                failure = source.failure if isinstance(source, FramesSource) else None
                if failure is not None and f"failed {k}" not in self.notes and self._ended():
                    raise failure
        except PosableError:
            if not self.sent:
                self._discard()
            raise
        return self

    def _run_in_real_time(self, seconds: float | None) -> None:
        end = None if seconds is None else self._now() + seconds
        while not self._ending.is_set() and not self._ended():
            if end is not None and self._now() >= end:
                break
            self.poll(LONGEST_WAIT if end is None else min(LONGEST_WAIT, max(0.0, end - self._now())))
        self._note_failures()  # one that came after the last look

    def _replay(self, capture: CaptureReader, seconds: float | None, realtime: bool) -> None:
        """Do what a capture says, at its times; bodies are sent at its moments only."""
        replay, begun = Replay(self, capture), time.monotonic()
        for record in capture:
            while realtime and (wait := record.time - (time.monotonic() - begun)) > 0.0 and not self._ending.is_set():
                self._ending.wait(min(wait, LONGEST_WAIT))
            if self._ending.is_set() or (seconds is not None and record.time > seconds):
                return
            with self._lock:
                replay.step(record)
                self.look_round(record.time)

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _ended(self) -> bool:
        """Whether no more points can come, and those that came were sent."""
        return self._sources_ended() and self._unsent is None

    def _sources_ended(self) -> bool:
        for source in self.sources:
            if isinstance(source, FramesSource):
                if source.next_time() is not None:
                    return False
            elif isinstance(source, UdpSource) or not source.ended:
                return False
        return True

    def _deadline(self) -> float:
        """Return when there is something to do even if no packet comes [s]."""
        due = self.deadline()
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
            self._take_frames(now)
            self._note_failures()
            self._do_requests(now)
            self.send_if_due(self._now())
            self.look_round(now)

    def _take_frames(self, now: float) -> None:
        """Take what files and iterables have by now [s]."""
        for k, source in enumerate(self.sources):
            if isinstance(source, FramesSource):
                while (at := source.next_time()) is not None and at <= now:
                    self.take_frame(k, source.name, source.take(), now)
            elif isinstance(source, IterableSource):
                while (frame := source.receive()) is not None:
                    self.take_frame(k, source.name, frame, now)

    def _note_failures(self) -> None:
        for k, source in enumerate(self.sources):
            if isinstance(source, IterableSource) and source.error:
                self.notes.add(f"failed {k}", f"{source.name} failed: {source.error}")
            elif isinstance(source, FramesSource) and source.failure is not None and not self._sources_ended():
                self.notes.add(f"failed {k}", f"{source.failure}; what came before it counts, and the others go on")

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
            sender = self.senders.admit((k, address), f"{source.name} {address[0]}:{address[1]}", now, len(packet))
            if sender is not None:
                self.take_packet(k, source.packets, packet, sender, now, arrived)
            if arrived - begun > READING:
                return

    def _do_requests(self, now: float) -> None:
        while self._requests:
            name, value = self._requests.popleft()
            try:
                if name != "record":
                    self.carry_out(name, value, now)
                elif value is None:
                    self.recorder.stop()
                else:
                    self.start_recording(value, self._kinds, now)
            except PosableError as error:
                self.notes.add(f"{name} {error}", str(error))

    @property
    def _kinds(self) -> list[str]:
        """Kinds of the packets of each source."""
        return [s.packets for s in self.sources] if self.capture is None else self.capture.head.sources

    def _run_in_virtual_time(self, seconds: float | None) -> None:
        """Play files as fast as can be."""
        if not all(isinstance(source, FramesSource) for source in self.sources):
            raise PosableError("realtime=False is for files and captures; sockets and iterables come when they come")
        while not self._ending.is_set() and not self._ended():
            now = self._deadline()
            if seconds is not None and now > seconds:
                return
            with self._lock:
                self._take_frames(now)
                self._note_failures()
                self._do_requests(now)
                self.send_if_due(now)
                self.look_round(now)

    # What there is to see

    @property
    def recording(self) -> Path | None:
        """The capture that is being written; None without."""
        return self.recorder.path

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
                latencies=np.array(self.latencies),
                senders=tuple(self.senders),
                points=point_reports(self.intake.board, self.follower, now),
                sinks=tuple(self.sink_reports),
                phase=self.calibrating.phase,
                message=self.calibrating.message,
                remaining=self.calibrating.remaining(now),
                recording=None if self.recording is None else str(self.recording),
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

"""Sources: where points come from. Each can be used alone: `for event in source.events(): ...`.

`UdpSource` is a socket with OSC (VMC, VRChat) or JSON lines. `FramesSource` plays frames that are known (a file, a
list) at their times. `IterableSource` takes frames from an iterable as they come, in a thread of its own. A capture is
replayed by the loop itself.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..body import MARKERS, Humanoid
from ..compute import FormatError, PosableError
from ..formats import load
from ..reconstruct import Points, load_points
from ..reconstruct.sik import TRACKABLE
from ..skeleton import Motion
from .addresses import IN_PORTS, Address, parse
from .capture import SUFFIX, CaptureReader
from .landmarks import camera, is_landmarks, points_of, read_landmarks

Frame = Mapping[str, Any]
LARGEST = 65536
BUFFER = 1 << 20
"""Bytes of packets that the system stores while the loop does something else."""
WAITING = 4
"""Frames of an iterable that wait at most; older ones are dropped."""
IN_USE = (errno.EADDRINUSE, errno.EACCES)
FRAMES = 512
"""Frames whose fingers are read at once."""
RESERVED, HIGHEST = 1024, 65535
"""The first port that everybody may open, and the last there is."""


class UdpSource:
    """A socket that listens.

    Args:
        address: protocol, host and port; port 0 takes a free one, which `port` says then.
    """

    def __init__(self, address: Address) -> None:
        self.address, self.name = address, address.protocol
        self.packets = "lines" if address.protocol == "udp" else "osc"
        """What its packets are: "osc" or "lines"."""
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Bind the socket; a port that is in use is a `PosableError`."""
        family = socket.AF_INET6 if ":" in self.address.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            made.bind((self.address.host, self.address.port))
        except (OSError, UnicodeError) as error:
            made.close()
            if isinstance(error, OSError) and error.errno in IN_USE:
                port = self.address.port
                if error.errno == errno.EACCES and port < RESERVED:
                    raise PosableError(
                        f"port {port} is one of the system's; listen at another port: "
                        f"{replace(self.address, port=IN_PORTS[self.name])}"
                    ) from None
                raise PosableError(
                    f"port {port} is in use: another program listens for {self.name} there; end it, or "
                    f"listen at another port: {replace(self.address, port=port + 1 if port < HIGHEST else port - 1)}"
                ) from None
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise PosableError(f"cannot listen at {self.address}: {reason}") from None
        made.setblocking(False)
        self._socket = made

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._open.getsockname()[1])

    def fileno(self) -> int:
        """Return the number of the socket, for `select`."""
        return self._open.fileno()

    def receive(self) -> tuple[bytes, Any] | None:
        """Return the next packet and its sender's address; None where none waits."""
        try:
            packet, sender = self._open.recvfrom(LARGEST)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:  # a packet that we sent from here was refused; nothing to read
            return None
        return packet, sender[:2]

    def close(self) -> None:
        """Stop listening."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @property
    def _open(self) -> socket.socket:
        if self._socket is None:
            raise PosableError(f"{self.address} is not open")
        return self._socket


class FramesSource:
    """Frames whose times are known: (time [s], points by part), in the order of time.

    Args:
        frames: see above; points are [x, y, z] or those and `wxyz`, or None.
        name: of the source.
        standing: whether points are counted from the hips, so that the feet say where the floor is.
    """

    packets = "lines"

    def __init__(self, frames: Iterable[tuple[float, Frame]], name: str = "frames", standing: bool = False) -> None:
        self.name, self.standing = name, standing
        self.points: Points | None = None
        """The whole take, where it is known: it shows how large the person is."""
        self.person: Humanoid | None = None
        """The person of the take, where its file has the whole body."""
        self.failure: Exception | None = None
        """Why it ended, where that was not its end."""
        self._frames = iter(frames)
        self._next: tuple[float, Frame] | None = None
        self._ended = False

    def next_time(self) -> float | None:
        """Return when the next frame is due [s] since the beginning; None after the last."""
        if self._next is None and not self._ended:
            try:
                self._next = next(self._frames, None)
            except PosableError as error:  # a file that breaks in the middle
                self.failure = error
            except Exception as error:
                self.failure = PosableError(f"{self.name} failed: {type(error).__name__}: {error}")
            self._ended = self._next is None
        return None if self._next is None else self._next[0]

    def take(self) -> Frame:
        """Return the next frame."""
        self.next_time()
        if self._next is None:
            raise PosableError(f"{self.name} has ended")
        frame, self._next = self._next[1], None
        return frame

    def events(self) -> Iterator[tuple[float, Frame]]:
        """Yield (time [s], points by part), without waiting."""
        while (time := self.next_time()) is not None:
            yield time, self.take()


class IterableSource:
    """Frames that come when they come, from an iterable that may block: landmarks, or points by part.

    Args:
        frames: arrays of 33 landmarks, MediaPipe's results, points by part, or None where nobody is seen.
        name: of the source.
        standing: as in `FramesSource`.
    """

    packets = "lines"

    def __init__(self, frames: Iterable[Any], name: str = "landmarks", standing: bool = True) -> None:
        self.name, self.standing = name, standing
        self._frames, self._waiting = frames, deque[Frame](maxlen=WAITING)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.ended = False
        self.error: str = ""
        """Why it ended, where it failed."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin to take frames, in a thread; `wake` is called when one is there."""
        self._thread = threading.Thread(target=self._run, args=(wake,), name="posable-live-source", daemon=True)
        self._thread.start()

    def _run(self, wake: Callable[[], None]) -> None:
        try:
            for frame in self._frames:
                if self._stop.is_set():
                    return
                points = points_of(frame)
                if points is not None:
                    self._waiting.append(points)
                    wake()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.ended = True
            wake()

    def receive(self) -> Frame | None:
        """Return the next frame; None where none waits."""
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def close(self) -> None:
        """Stop after the frame that is awaited; an iterable that blocks is left to itself."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(0.2)


Source: TypeAlias = UdpSource | FramesSource | IterableSource


def source_of(given: Any) -> Source | CaptureReader:
    """Return the source that is meant: an address, a file, points, a motion, or an iterable; or the capture."""
    if isinstance(given, UdpSource | FramesSource | IterableSource):
        return given
    if isinstance(given, Points):
        return points_source(given)
    if isinstance(given, Motion):
        return motion_source(given, given.name or "motion")
    if not is_path(given):
        return IterableSource(given)
    text = os.fspath(given)
    if text == "mediapipe":
        return IterableSource(camera(), "mediapipe")
    address = parse(text, IN_PORTS)
    if address is not None:
        return UdpSource(address)
    return CaptureReader(text) if Path(text).suffix.lower() == SUFFIX else file_source(text)


def sources_of(given: Any) -> tuple[list[Source], CaptureReader | None]:
    """Return the sources that are meant by one argument or a list of them, or the one capture."""
    found = [source_of(one) for one in listed(given)]
    captures = [one for one in found if isinstance(one, CaptureReader)]
    sources = [one for one in found if not isinstance(one, CaptureReader)]
    if len(captures) > 1:
        raise PosableError(f"{str(captures[1].path)!r} is a second capture; one can be replayed at a time")
    if captures and sources:
        raise PosableError(f"{str(captures[0].path)!r} is a capture, which is replayed alone; leave the others out")
    if not found:
        raise PosableError("there is no source; expected vmc, vrchat, udp or a file")
    return sources, captures[0] if captures else None


def listed(given: Any) -> Iterator[Any]:
    """Yield what one argument or a list of them has."""
    single = is_path(given) or isinstance(given, Points | Motion | UdpSource | FramesSource | IterableSource)
    if single or not isinstance(given, Sequence):
        yield given
    else:
        yield from given


def is_path(given: Any) -> bool:
    """Return whether something is an address or a file."""
    return isinstance(given, str | os.PathLike)


def file_source(path: str | os.PathLike[str], *, fps: float | None = None) -> FramesSource:
    """Return a recorded file as if it were live: a motion, a CSV of points, or a CSV of MediaPipe's landmarks."""
    file = Path(path)
    if not file.is_file():
        raise FormatError(file, "no such file")
    if file.suffix.lower() == ".csv" and is_landmarks(file):
        return FramesSource(read_landmarks(file, fps), file.name, standing=True)
    if file.suffix.lower() == ".csv":
        points = load_points(file, fps=fps)
        return points_source(points, file.name)
    return motion_source(load(file, fps=fps), file.name)


def points_source(points: Points, name: str = "points") -> FramesSource:
    """Return tracked points as a source."""
    made = FramesSource(_frames(points), name)
    made.points = points
    return made


def motion_source(motion: Motion, name: str = "motion") -> FramesSource:
    """Return a motion of a person as a source: the joints and orientations of its six markers, and its fingers."""
    person = Humanoid(motion.skeleton)
    frames = motion.skeleton.forward(motion.pose)
    rows = [person.index(role) for role in MARKERS]
    rotations = {role: person.canonical_orientation(frames, row) for role, row in zip(MARKERS, rows, strict=True)}
    made = points_source(Points(MARKERS, frames.positions[:, rows], motion.fps, rotations), name)
    made.person = person
    if person.fingers:
        made._frames = _with_fingers(person, motion, made._frames)
    return made


def _with_fingers(
    person: Humanoid, motion: Motion, frames: Iterator[tuple[float, Frame]]
) -> Iterator[tuple[float, Frame]]:
    """Yield frames of a motion with the canonical rotations of its fingers."""
    for first in range(0, len(motion), FRAMES):
        posture = person.canonical(motion.pose[first : first + FRAMES])
        rows = [posture.index(role) for role in person.fingers]
        for rotations, (time, frame) in zip(posture.rotations[:, rows].tolist(), frames, strict=False):
            yield time, dict(frame) | dict(zip(person.fingers, rotations, strict=True))


def _frames(points: Points) -> Iterator[tuple[float, Frame]]:
    for k in range(len(points)):
        frame: dict[str, Any] = {}
        for m, role in enumerate(points.names):
            if role not in TRACKABLE:
                continue
            numbers = points.positions[k, m].tolist()
            rotation = points.orientations.get(role)
            if rotation is not None and np.isfinite(rotation[k]).all():
                numbers += rotation[k].tolist()
            frame[role] = numbers if np.isfinite(points.positions[k, m]).all() else None
        yield k / points.fps, frame

"""Sinks: where bodies go. Each can be used alone: `sink.write(sink.packets(frame, ...))`.

A sink makes packets of a body and writes them; what it sends is a function of what it is given, so that a replay sends
the same bytes. A receiver that is not there is no error: it is said once, and the next body is sent all the same.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO

import msgspec
import numpy as np

from ..compute import PosableError
from ..compute.files import atomic_write
from ..compute.types import Floats
from .addresses import OUT_PORTS, Address, parse
from .capture import discard
from .following import BodyFrame
from .vmc import Status, VmcWriter
from .vrchat import VrchatWriter

if TYPE_CHECKING:
    from ..body import Humanoid
    from .robots import RobotDriver


NOBODY = "nobody listens there yet"


@dataclass(frozen=True)
class Sending:
    """Everything that goes with a body."""

    seconds: float
    """[s] since the beginning."""
    status: Status = field(default_factory=Status)
    expressions: Mapping[str, float] = field(default_factory=dict)
    """Blend shapes that came since the last body."""
    values: Floats | None = None
    """(N,) of the robot's motors [rad, m], where one is driven."""


class Sink(Protocol):
    """The interface of a sink."""

    name: str

    def open(self) -> None:
        """Begin."""

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """Return what is to be sent of a body; None before there is one."""

    def write(self, packets: Sequence[bytes]) -> str:
        """Send packets; return what went wrong, "" where nothing did."""

    def close(self) -> None:
        """End."""


class UdpSink:
    """A socket that sends to one address."""

    def __init__(self, address: Address) -> None:
        self.address, self.name = address, str(address)
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Open the socket, and find the host."""
        try:
            found = socket.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(found[0], socket.SOCK_DGRAM)
            self._socket.connect(found[4])  # what comes back from others is not stored for anybody
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise PosableError(f"cannot send to {self.address}: {reason}") from None
        self._socket.setblocking(False)

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """See `Sink`."""
        raise NotImplementedError

    def write(self, packets: Sequence[bytes]) -> str:
        """See `Sink`. Packets for which the system has no room are dropped, as UDP does."""
        if self._socket is None:
            raise PosableError(f"{self.address} is not open")
        wrong = ""
        for packet in packets:
            try:
                self._socket.send(packet)
            except ConnectionRefusedError:
                wrong = NOBODY
            except BlockingIOError:
                wrong = "the system has no room for packets; some are dropped"
            except OSError as error:
                wrong = error.strerror or str(error)
        return wrong

    @property
    def own_port(self) -> int:
        """The port that it sends from; 0 while it is closed."""
        return 0 if self._socket is None else int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class VmcSink(UdpSink):
    """Sends bodies by VMC.

    Args:
        address: of the renderer.
        body: the model that the renderer shows.
        trackers: whether the joints of the six markers are sent as devices, and no bones.
    """

    def __init__(self, address: Address, body: Humanoid, trackers: bool = False) -> None:
        super().__init__(address)
        self.writer = VmcWriter(body, trackers=trackers, bones=not trackers)

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """See `Sink`."""
        if frame is None:
            return []
        return self.writer.packets(frame.frames, sending.seconds, sending.status, sending.expressions)


class VrchatSink(UdpSink):
    """Sends bodies as VRChat's trackers."""

    def __init__(self, address: Address, body: Humanoid) -> None:
        super().__init__(address)
        self.writer = VrchatWriter(body)

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """See `Sink`."""
        return [] if frame is None else self.writer.packets(frame.frames)


class LinesSink(UdpSink):
    """Sends JSON lines: the angles of a robot's joints by name, else the parts of the body.

    A line is {"time": seconds, "joints": {...}} or {"time": ..., "parts": {"hips": [x, y, z, w, x, y, z], ...}}, with
    positions in metres and canonical orientations `wxyz` in our frame. Values of motors are not rounded, as that would
    move them out of their limits.
    """

    def __init__(self, address: Address, body: Humanoid, robot: RobotDriver | None = None) -> None:
        super().__init__(address)
        self._body, self._robot = body, robot
        self._roles = (*body.roles, *body.fingers)
        self._joints = [body.index(role) for role in self._roles]

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """See `Sink`."""
        document: dict[str, object] = {"time": round(sending.seconds, 6)}
        if self._robot is not None:
            if sending.values is None:
                return []
            document["joints"] = dict(zip(self._robot.names, sending.values.tolist(), strict=True))
        elif frame is None:
            return []
        else:
            world = self._body.canonical(frame.pose, frame.frames).world()
            rows = np.concatenate([frame.frames.positions[self._joints], world], axis=-1)
            document["parts"] = dict(zip(self._roles, np.round(rows, 6).tolist(), strict=True))
        return [msgspec.json.encode(document) + b"\n"]


class CsvSink:
    """Writes the angles of a robot's joints to a CSV file, which appears when the sink is closed.

    Args:
        path: of the file.
        robot: whose joints they are.
    """

    def __init__(self, path: str | os.PathLike[str], robot: RobotDriver) -> None:
        self.name, self._path, self._robot = str(path), path, robot
        self._stack = ExitStack()
        self._file: TextIO | None = None

    def open(self) -> None:
        """Write the line of names: time [s], and each joint [rad, m]."""
        temporary = self._stack.enter_context(atomic_write(self._path))
        self._file = self._stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
        self._file.write(",".join(["time", *(_cell(name) for name in self._robot.names)]) + "\n")

    def packets(self, frame: BodyFrame | None, sending: Sending) -> list[bytes]:
        """See `Sink`: the line of the file."""
        if sending.values is None:
            return []
        return [",".join([f"{sending.seconds:.6f}", *map(repr, sending.values.tolist())]).encode() + b"\n"]

    def write(self, packets: Sequence[bytes]) -> str:
        """See `Sink`."""
        if self._file is None:
            raise PosableError(f"{self.name} is not open")
        for packet in packets:
            self._file.write(packet.decode())
        return ""

    def close(self) -> None:
        """End the file."""
        self._stack.close()
        self._file = None

    def discard(self) -> None:
        """End without a file: what was there before stays."""
        discard(self._stack)
        self._file = None


def _cell(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n\r') else name


def sink_of(text: str, body: Humanoid, robot: RobotDriver | None = None) -> UdpSink | CsvSink:
    """Return the sink that a text says: "vmc", "vrchat://host:port", "udp://host:port", or a CSV file of a robot."""
    address = parse(text, OUT_PORTS)
    if address is None:
        if not text.lower().endswith(".csv"):
            raise PosableError(f"{text!r} is no output; expected {', '.join(OUT_PORTS)}, or a .csv file of a robot")
        if robot is None:
            raise PosableError(f"{text!r} is a file of a robot's angles; give the robot too")
        return CsvSink(text, robot)
    if address.port == 0:
        raise PosableError(f"{text}: the port is 0; expected the one that the receiver listens at")
    if address.protocol in ("vmc", "vmc-trackers"):
        return VmcSink(address, body, trackers=address.protocol == "vmc-trackers")
    return VrchatSink(address, body) if address.protocol == "vrchat" else LinesSink(address, body, robot)

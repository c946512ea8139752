"""Captures made and played: `Recorder` writes what a performer does as it does it, `Replay` lets one do it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compute import FormatError
from .calibrating import LiveCalibration
from .capture import COMMAND, PACKET, SENT, CaptureReader, CaptureWriter, Record, command, read_command
from .notes import Notes
from .senders import Sender

if TYPE_CHECKING:
    from .performer import Performer


class Recorder:
    """Writes a capture while one is wanted; a disk that is full gives the capture up, and nothing else.

    Args:
        notes: where it is said that a capture was given up.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._writer: CaptureWriter | None = None
        self._begun = 0.0
        self._numbers: dict[int, int] = {}  # of each source, the number of the sender of its last packet

    @property
    def path(self) -> Path | None:
        """The capture that is being written; None without."""
        return None if self._writer is None else self._writer.path

    def start(self, path: str | os.PathLike[str], kinds: list[str], rate: float, now: float) -> None:
        """Begin a capture at a moment [s], of sources with packets of these kinds and bodies at this rate [1/s]."""
        self.stop()
        self._writer = CaptureWriter(path, kinds, rate)
        self._begun, self._numbers = now, {}

    def stop(self) -> None:
        """End the capture: the file is there."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            try:
                writer.close()
            except OSError as error:
                self._give_up(writer, error)

    def discard(self) -> None:
        """End without a file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.discard()

    def write(self, kind: bytes, source: int, now: float, content: bytes) -> None:
        """Add a record of a moment [s]."""
        if self._writer is not None:
            try:
                self._writer.write(kind, source, max(0.0, now - self._begun), content)
            except OSError as error:  # the disk is full: the loop goes on
                writer, self._writer = self._writer, None
                writer.discard()
                self._give_up(writer, error)

    def packet(self, source: int, sender: Sender, now: float, packet: bytes) -> None:
        """Add a packet, and whose it is where that is not the one before."""
        if self._writer is None:
            return
        if self._numbers.get(source) != sender.number:
            self._numbers[source] = sender.number
            self.write(COMMAND, source, now, command(do="sender", number=sender.number))
        self.write(PACKET, source, now, packet)

    def command(self, now: float, **content: Any) -> None:
        """Add a command."""
        if self._writer is not None:
            self.write(COMMAND, 0, now, command(**content))

    def _give_up(self, writer: CaptureWriter, error: OSError) -> None:
        self._notes.add("record", f"{writer.path}: the capture is given up: {error.strerror or error}")


class Replay:
    """Does what a capture says, record by record; bodies are sent at its moments only.

    Args:
        performer: what makes the bodies.
        capture: what is played.
    """

    def __init__(self, performer: Performer, capture: CaptureReader) -> None:
        self._performer, self._capture = performer, capture
        self._numbers: dict[int, int] = {}  # of each source, the number of the sender of its packets

    def step(self, record: Record) -> None:
        """Do what one record says."""
        performer, now = self._performer, record.time
        if record.kind == PACKET:
            number = self._numbers.get(record.source, 0)
            name = f"{self._capture.path.name} {record.source}.{number}"
            sender = performer.senders.admit((record.source, number), name, now)
            if sender is not None:
                kind = self._capture.head.sources[record.source]
                performer.take_packet(record.source, kind, record.content, sender, now)
        elif record.kind == SENT:
            performer.send(now, record.content == b"p")
        else:
            self._command(read_command(record.content, self._capture.path), record.source, now)

    def _command(self, content: Mapping[str, Any], source: int, now: float) -> None:
        performer, path, what = self._performer, self._capture.path, content.get("do")
        if what == "sender":
            number = content.get("number")
            if not isinstance(number, int) or number < 0:
                raise FormatError(path, f"has the sender {str(number)[:60]}; expected a number")
            self._numbers[source] = number
        elif what == "calibration":
            value = content.get("calibration")
            performer.carry_out(what, None if value is None else LiveCalibration.of_document(path, value), now)
        elif what == "calibrate":
            performer.carry_out(what, None, now)
        elif what == "sizes":
            found = content.get("sizes")
            sound = isinstance(found, list) and len(found) == 2
            if not (sound and all(isinstance(size, float) and 1e-3 < size < 1e3 for size in found or ())):
                raise FormatError(path, f"has the sizes {str(found)[:60]}; expected two numbers")
            performer.follower.sizes = (found[0], found[1]) if found else None
            performer.recorder.command(now, do="sizes", sizes=performer.follower.sizes)
        elif what == "standing":
            performer.follower.standing = True
            performer.recorder.command(now, do="standing")

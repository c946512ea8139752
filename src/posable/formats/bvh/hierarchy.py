"""The HIERARCHY part of a BVH file: joints, channels, end sites, and where the numbers begin.

Words are read as a stream, so that braces may stand on any line and names may have blanks in them. Keywords are
accepted in any case. Nothing recurses: nesting is as deep as memory, up to `MAX_JOINTS`.

BVH has no unit and no comments. A file we write in metres (the default, and what Blender assumes) needs no mark:
without one, and without `scale=`, a unit is a metre. A file written with `save(..., scale=0.01)`, as MotionBuilder
wants it, carries its scale behind the word HIERARCHY as blanks and tabs, which every reader skips: three.js, for one,
complains about anything visible there. An editor that trims lines removes the mark; the reader then notes that it took
the numbers for metres.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...compute import FormatError

MAX_JOINTS = 10_000
MAX_CHANNELS = 12  # of one joint
MAX_NAME = 1_000  # characters

_MOTION = re.compile(
    rb"(?:^|(?<=\s))motion\s+frames\s*:\s*(?P<frames>\S+)\s+frame\s+time\s*:\s*(?P<time>\S+)[^\S\n\r]*", re.IGNORECASE
)
_CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)
_SIGNATURE = "\t \t\t"
_BITS = 7  # of an ASCII character


@dataclass
class Joint:
    """A joint as the file has it: lengths in file units."""

    name: str
    parent: int
    offset: tuple[float, float, float] | None = None
    positions: dict[int, int] = field(default_factory=dict)
    """Axis (0 X to 2 Z) to the number of the channel that moves the joint along it."""
    axes: list[int] = field(default_factory=list)
    """Axes of its rotation channels, in their order."""
    rotations: list[int] = field(default_factory=list)
    """Numbers of those channels."""


@dataclass
class Hierarchy:
    """All joints in the order of the file, parents first, and its end sites."""

    joints: list[Joint] = field(default_factory=list)
    end_parents: list[int] = field(default_factory=list)
    end_offsets: list[tuple[float, float, float]] = field(default_factory=list)
    channels: int = 0


@dataclass(frozen=True)
class Header:
    """The part of a BVH file before its numbers."""

    hierarchy: Hierarchy
    frames: int
    frame_time: str
    numbers_at: int
    """Byte at which the numbers begin."""
    first_line: bytes
    """The rest of the line that begins with HIERARCHY."""


def read_header(path: Path, text: bytes) -> Header:
    """Parse everything before the numbers of a BVH file."""
    if b"\0" in text:
        raise FormatError(path, "is not text; a BVH file is", line_of(text, text.index(b"\0")))
    start = 3 if text.startswith(b"\xef\xbb\xbf") else 0  # a byte-order mark
    found = _MOTION.search(text)
    hierarchy = _Parser(path, text, start, found.start() if found else len(text)).run()
    if found is None:
        raise FormatError(path, "the file ends without 'MOTION', 'Frames:' and 'Frame Time:'", line_of(text, len(text)))
    end = text.find(b"\n", start)
    first = text[start : end if end >= 0 else len(text)].strip(b"\r")
    at = first.upper().find(b"HIERARCHY")
    frames = _frame_count(path, found["frames"], line_of(text, found.start("frames")))
    time = found["time"].decode("latin-1")
    return Header(hierarchy, frames, time, found.end(), first[at + 9 :] if at >= 0 else b"")


def line_of(text: bytes, offset: int) -> str:
    """Return the line of a byte, for error messages; lines may end as on any system."""
    before = text[:offset]
    number = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n") + 1
    return f"line {number}"


def _frame_count(path: Path, word: bytes, location: str) -> int:
    try:
        count = int(word) if len(word) < 19 else -1
    except ValueError:
        count = -1
    if count < 0:
        raise FormatError(path, f"'Frames:' must be followed by a whole number, not {_shown(word)}", location)
    return count


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("latin-1"))


class _Parser:
    """One pass over the words of the hierarchy."""

    def __init__(self, path: Path, text: bytes, start: int, stop: int) -> None:
        self.path, self.text, self.at = path, text, start
        self.words = self._words(start, stop)
        self.hierarchy = Hierarchy()

    def run(self) -> Hierarchy:
        if (word := self._next("HIERARCHY")).upper() != b"HIERARCHY":
            raise self._error(f"a BVH file begins with 'HIERARCHY', not {_shown(word)}")
        if (word := self._next("ROOT")).upper() != b"ROOT":
            raise self._error(f"expected 'ROOT', found {_shown(word)}")
        open_joints = [self._open_joint(-1)]
        while open_joints:
            word = self._next("'}'")
            match word.upper():
                case b"}":
                    self._close(self.hierarchy.joints[open_joints.pop()])
                case b"OFFSET":
                    self.hierarchy.joints[open_joints[-1]].offset = self._vector()
                case b"CHANNELS":
                    self._channels(self.hierarchy.joints[open_joints[-1]])
                case b"JOINT":
                    open_joints.append(self._open_joint(open_joints[-1]))
                case b"END":
                    self._end_site(open_joints[-1])
                case _:
                    raise self._error(f"expected OFFSET, CHANNELS, JOINT, End Site or '}}', found {_shown(word)}")
        for word in self.words:
            what = "a second ROOT; one is read" if word.upper() == b"ROOT" else f"{_shown(word)} after the root's '}}'"
            raise self._error(f"expected 'MOTION', 'Frames:' and 'Frame Time:', found {what}")
        return self.hierarchy

    def _words(self, start: int, stop: int) -> Iterator[bytes]:
        for match in re.compile(rb"[{}]|[^\s{}]+").finditer(self.text, start, stop):
            self.at = match.start()
            yield match.group()
        self.at = stop

    def _next(self, expected: str) -> bytes:
        word = next(self.words, None)
        if word is None:
            raise self._error(f"the hierarchy ends where {expected} was expected")
        return word

    def _error(self, message: str) -> FormatError:
        return FormatError(self.path, message, line_of(self.text, self.at))

    def _open_joint(self, parent: int) -> int:
        joints = self.hierarchy.joints
        if len(joints) >= MAX_JOINTS:
            raise self._error(f"more than {MAX_JOINTS} joints")
        joints.append(Joint(self._name() or f"joint{len(joints)}", parent))
        return len(joints) - 1

    def _name(self) -> str:
        words: list[bytes] = []
        length = 0
        while (word := self._next("'{'")) != b"{":
            words.append(word)
            length += len(word) + 1
            if length > MAX_NAME or word == b"}":
                raise self._error("a joint's name must be followed by '{'")
        joined = b" ".join(words)
        try:
            return joined.decode("utf-8")
        except UnicodeDecodeError:
            return joined.decode("latin-1")

    def _vector(self) -> tuple[float, float, float]:
        x, y, z = (self._number() for _ in range(3))
        return x, y, z

    def _number(self) -> float:
        word = self._next("a number")
        try:
            value = float(word) if b"_" not in word else np.nan
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise self._error(f"expected a finite number, found {_shown(word)}")
        return value

    def _channels(self, joint: Joint) -> None:
        if joint.positions or joint.axes:
            raise self._error(f"joint {joint.name!r} has CHANNELS twice")
        word = self._next("the number of channels")
        if not (word.isdigit() and len(word) <= 3 and int(word) <= MAX_CHANNELS):
            raise self._error(f"CHANNELS must be followed by a number up to {MAX_CHANNELS}, not {_shown(word)}")
        for _ in range(int(word)):
            word = self._next("a channel")
            match = _CHANNEL.fullmatch(word.decode("latin-1"))
            if match is None:
                raise self._error(
                    f"unknown channel {_shown(word)}; known: Xposition to Zposition, Xrotation to Zrotation"
                )
            axis = "xyz".index(match[1].lower())
            if match[2].lower() == "rotation":
                joint.axes.append(axis)
                joint.rotations.append(self.hierarchy.channels)
            elif axis in joint.positions:
                raise self._error(f"joint {joint.name!r} has {match[0]} twice")
            else:
                joint.positions[axis] = self.hierarchy.channels
            self.hierarchy.channels += 1

    def _end_site(self, parent: int) -> None:
        if (word := self._next("'Site'")).upper() != b"SITE":
            raise self._error(f"expected 'Site' after 'End', found {_shown(word)}")
        self._name()  # some programs name their end sites; nothing keeps it
        if (word := self._next("OFFSET")).upper() != b"OFFSET":
            raise self._error(f"an End Site has one OFFSET, not {_shown(word)}")
        offset = self._vector()
        if (word := self._next("'}'")) != b"}":
            raise self._error(f"expected '}}' after the End Site's OFFSET, found {_shown(word)}")
        if len(self.hierarchy.end_parents) >= MAX_JOINTS:
            raise self._error(f"more than {MAX_JOINTS} end sites")
        self.hierarchy.end_parents.append(parent)
        self.hierarchy.end_offsets.append(offset)

    def _close(self, joint: Joint) -> None:
        if joint.offset is None:
            raise self._error(f"joint {joint.name!r} has no OFFSET")


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Return names made different by a number (`Arm`, `Arm.001`), and which had to be changed."""
    taken, used = set(names), set[str]()
    numbers: dict[str, int] = {}
    result, changed = [], []
    for name in names:
        new = name
        while new in used or (new != name and new in taken):
            numbers[name] = numbers.get(name, 0) + 1
            new = f"{name}.{numbers[name]:03d}"
        if new != name:
            changed.append(new)
        used.add(new)
        result.append(new)
    return result, changed


def unit_mark(scale: float) -> str:
    """Return the blanks to write behind HIERARCHY for a file unit of `scale` metres."""
    if scale == 1.0:
        return ""
    bits = "".join(f"{ord(character):0{_BITS}b}" for character in repr(scale))
    return _SIGNATURE + bits.replace("0", " ").replace("1", "\t")


def read_unit_mark(behind: bytes) -> float | None:
    """Return the scale that is marked behind HIERARCHY; None without a mark of ours."""
    mark = behind.decode("latin-1")
    if not mark.startswith(_SIGNATURE) or mark.strip(" \t"):
        return None
    bits = mark[len(_SIGNATURE) :].replace(" ", "0").replace("\t", "1")
    if not bits or len(bits) % _BITS or len(bits) > 40 * _BITS:
        return None
    text = "".join(chr(int(bits[k : k + _BITS], 2)) for k in range(0, len(bits), _BITS))
    try:
        scale = float(text)
    except ValueError:
        return None
    return scale if math.isfinite(scale) and scale > 0 else None

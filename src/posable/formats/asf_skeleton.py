"""The skeleton half of ASF/AMC: sections of `:units`, `:root`, `:bonedata` and `:hierarchy` in a text file.

Everything is in file units but for angles, which become radians.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..compute import FormatError, PosableError
from ..compute.files import read_bytes
from ..compute.types import Ints
from ..skeleton import topological_order

MAX_BYTES = 1 << 24
MAX_BONES = 10_000
_ROTATIONS = ("rx", "ry", "rz")
_TRANSLATIONS = ("tx", "ty", "tz")


@dataclass(frozen=True)
class AsfBone:
    """A bone of an ASF file, or its root (bone 0, of length zero)."""

    name: str
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    length: float = 0.0
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Angles about fixed axes that take the world's axes to the bone's own [rad]."""
    axis_order: str = "xyz"
    dofs: tuple[str, ...] = ()
    """Its channels in the motion file, in their order: "rx", "ry", "rz"; for the root also "tx", "ty", "tz"."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class AsfSkeleton:
    """Bones, parents first, and what one unit of length and of angle is."""

    bones: list[AsfBone] = field(default_factory=list)
    parents: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    length: float = 1.0
    """Inches are divided by this to give file units."""
    radians: float = math.pi / 180
    """One unit of angle [rad]."""


@dataclass(frozen=True)
class _Line:
    number: int
    words: list[str]


def read_asf(path: Path) -> AsfSkeleton:
    """Parse an ASF file."""
    return _Reader(path).run()


def text_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file without comments and blank lines; binary files are refused."""
    data = read_bytes(path, max_bytes)
    if b"\0" in data:
        raise FormatError(path, "is not text", f"byte {data.index(bytes(1))}")
    for number, line in enumerate(data.decode("latin-1").splitlines(), 1):
        bare = line.split("#", 1)[0].strip() if "#" in line else line.strip()
        if bare:
            yield number, bare


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = (_Line(number, text.split()) for number, text in text_lines(path, MAX_BYTES))
        self.asf = AsfSkeleton()
        self.bones: dict[str, AsfBone] = {}
        self.parent_of: dict[str, str] = {}
        self.root = AsfBone("root")
        self.line = _Line(1, [])

    def run(self) -> AsfSkeleton:
        section = ""
        seen = set()
        for line in self.lines:
            self.line = line
            word = line.words[0].lower()
            if word.startswith(":"):
                section = word
                seen.add(section)
            elif section == ":units":
                self._unit()
            elif section == ":root":
                self._root()
            elif section == ":bonedata" and word == "begin":
                self._bone()
            elif section == ":hierarchy" and word not in ("begin", "end"):
                self._family()
        for needed in (":root", ":bonedata", ":hierarchy"):
            if needed not in seen:
                raise self._error(f"the file has no section '{needed}'")
        return self._ordered()

    def _error(self, message: str) -> FormatError:
        return FormatError(self.path, message, f"line {self.line.number}")

    def _numbers(self, words: list[str], count: int) -> tuple[float, ...]:
        try:
            values = tuple(float(word) for word in words[:count] if "_" not in word)
        except ValueError:
            values = ()
        if len(values) != count or not all(map(math.isfinite, values)):
            raise self._error(f"expected {count} finite numbers after {self.line.words[0]!r}, found {words[:count]}")
        return values

    def _vector(self, words: list[str]) -> tuple[float, float, float]:
        x, y, z = self._numbers(words, 3)
        return x, y, z

    def _angles(self, words: list[str]) -> tuple[float, float, float]:
        x, y, z = (value * self.asf.radians for value in self._numbers(words, 3))
        return x, y, z

    def _unit(self) -> None:
        name, rest = self.line.words[0].lower(), self.line.words[1:]
        if name == "length":
            (self.asf.length,) = self._numbers(rest, 1)
            if self.asf.length <= 0:
                raise self._error(f"the unit of length must be above zero, not {self.asf.length:g}")
        elif name == "angle":
            if not rest or rest[0].lower() not in ("deg", "rad"):
                raise self._error(f"the unit of angle is 'deg' or 'rad', not {rest[:1]}")
            self.asf.radians = math.pi / 180 if rest[0].lower() == "deg" else 1.0

    def _root(self) -> None:
        name, rest = self.line.words[0].lower(), self.line.words[1:]
        if name == "order":
            self.root = replace(self.root, dofs=self._channels(rest, (*_TRANSLATIONS, *_ROTATIONS)))
        elif name == "axis":
            self.root = replace(self.root, axis_order=self._order(rest))
        elif name == "position":
            self.root = replace(self.root, position=self._vector(rest))
        elif name == "orientation":
            self.root = replace(self.root, axis=self._angles(rest))

    def _bone(self) -> None:
        begun = self.line.number
        bone = AsfBone("")
        for line in self.lines:
            self.line = line
            word, rest = line.words[0].lower(), line.words[1:]
            if word == "end":
                break
            if word == "begin" or word.startswith(":"):
                raise self._error("a bone without 'end' before this")
            if word == "name":
                bone = replace(bone, name=" ".join(rest))
            elif word == "direction":
                bone = replace(bone, direction=self._vector(rest))
            elif word == "length":
                bone = replace(bone, length=self._numbers(rest, 1)[0])
            elif word == "axis":
                bone = replace(bone, axis=self._angles(rest), axis_order=self._order(rest[3:]))
            elif word == "dof":
                bone = replace(bone, dofs=self._channels(rest, _ROTATIONS))
        else:
            raise FormatError(self.path, "the file ends inside a bone", f"line {begun}")
        if not bone.name or bone.name in self.bones or bone.name == "root":
            raise self._error(f"a bone needs a name of its own, not {bone.name!r}")
        if len(self.bones) >= MAX_BONES:
            raise self._error(f"more than {MAX_BONES} bones")
        self.bones[bone.name] = bone

    def _order(self, words: list[str]) -> str:
        order = words[0].lower() if words else ""
        if sorted(order) != ["x", "y", "z"]:
            raise self._error(f"an axis order is XYZ in some order, not {order!r}")
        return order

    def _channels(self, words: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
        channels = tuple(word.lower() for word in words)
        for channel in channels:
            if channel not in known or channels.count(channel) > 1:
                raise self._error(f"channel {channel!r} is not read here or stands twice; known: {', '.join(known)}")
        return channels

    def _family(self) -> None:
        parent, *children = self.line.words
        for name in (parent, *children):
            if name != "root" and name not in self.bones:
                raise self._error(f"the hierarchy names {name!r}, which is no bone of this file")
        for child in children:
            if child in self.parent_of or child == "root":
                raise self._error(f"bone {child!r} has two parents")
            self.parent_of[child] = parent

    def _ordered(self) -> AsfSkeleton:
        names = ["root", *self.bones]
        index = {name: j for j, name in enumerate(names)}
        for name in self.bones:
            if name not in self.parent_of:
                raise self._error(f"bone {name!r} is not in the hierarchy")
        parents = [-1, *(index[self.parent_of[name]] for name in self.bones)]
        try:
            order = topological_order(parents)
        except PosableError as error:
            raise FormatError(self.path, f"the hierarchy is no tree: {error}") from None
        new = {old: j for j, old in enumerate(order)}
        self.asf.bones = [self.root if j == 0 else self.bones[names[j]] for j in order]
        self.asf.parents = np.array([-1 if parents[j] < 0 else new[parents[j]] for j in order], dtype=np.int64)
        return self.asf

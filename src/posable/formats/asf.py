"""ASF/AMC (Acclaim): a skeleton file and a motion file that go together; read only.

`load("01_03.amc")` finds its skeleton next to it: the `.asf` of the same name, else the one named by what stands
before the first underscore (`01.asf`, as in the CMU database), else the only one in the folder; `asf=` says it.
`load("01.asf")` is the skeleton at rest, one frame. The skeleton file has sections `:units`, `:root`, `:bonedata` and
`:hierarchy`; what is read of them is in file units but for angles, which become radians.

A bone of an ASF file becomes a joint at the bone's beginning, with its name; its frame is the world's at rest, so a
local rotation is C R C^-1 with C the bone's `axis` and R the rotations of its `dof`. Bones without children get an end
site. A bone with one rotating `dof` is a hinge, one without is fixed. Lengths are in inches divided by the header's
`length` (0.45: one unit is 0.0564 m), which is CMU's rule; `scale=` [m a file unit] overrides it. AMC has no frame
rate: 120 is assumed and noted, `fps=` overrides it, and `repair="cmu"` knows the subjects captured at 60.
"""

from __future__ import annotations

import io
import math
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.files import inside_folder, read_bytes
from ..compute.types import Floats, Ints
from ..math import conjugate, multiply, rotate
from ..skeleton import Motion, Pose, Skeleton, topological_order
from . import cmu
from .doubts import doubts
from .euler import quaternions_from_euler
from .rows import most_rows

INCH = 0.0254
FPS = 120.0
MAX_AMC_BYTES, MAX_ASF_BYTES = 1 << 30, 1 << 24
MAX_BONES = 10_000
_ROTATIONS = ("rx", "ry", "rz")
_TRANSLATIONS = ("tx", "ty", "tz")


def read(
    path: Path,
    *,
    scale: float | None = None,
    fps: float | None = None,
    repair: str | None = None,
    asf: str | os.PathLike[str] | None = None,
) -> Motion:
    """Read an AMC file with its ASF skeleton, or an ASF file alone; the options are those of `posable.load`."""
    if repair not in (None, "cmu"):
        raise UnknownNameError("repair", repair, ("cmu",))
    alone = path.suffix.lower() == ".asf"
    asf_path = path if alone else _skeleton_file(path, asf)
    bones = _AsfReader(asf_path).run()
    unit = scale or INCH / bones.length
    with np.errstate(over="ignore"):  # an overflow is found and reported below
        skeleton = _skeleton(asf_path, bones, unit)
        pose = Pose(skeleton.offsets[:1], skeleton.rest_rotations[None]) if alone else _pose(path, bones, unit)
    if not np.isfinite(pose.translation).all():
        raise FormatError(path, f"positions are not finite once multiplied by the scale {unit:g}")
    notes = [] if alone else [f"skeleton from {asf_path.name}"]
    if scale is None:
        notes.append(f"one file unit is {unit:.6f} m (1/{bones.length:g} inch)")
    rate, note = cmu.true_fps(path) if repair else (FPS, "AMC has no frame rate; 120 was assumed, fps= overrides it")
    if fps is None and not alone:
        notes.append(note)
    motion = Motion(skeleton, pose, fps or rate, path.stem, tuple(notes))
    return motion.replace(notes=(*motion.notes, *doubts(motion, unit)))


def _skeleton_file(path: Path, given: str | os.PathLike[str] | None) -> Path:
    if given is not None:
        if not (chosen := Path(given)).is_file():
            raise FormatError(chosen, "no such skeleton file")
        return chosen
    names = [path.stem, path.stem.split("_")[0]]
    for name in names:
        for suffix in (".asf", ".ASF"):
            if (candidate := path.with_name(name + suffix)).is_file():
                return _checked_neighbour(path, candidate)
    all_of_them = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".asf" and p.is_file())
    if len(all_of_them) == 1:
        return _checked_neighbour(path, all_of_them[0])
    tried = " and ".join(f"{name}.asf" for name in dict.fromkeys(names))
    raise FormatError(path, f"its skeleton is not next to it (looked for {tried}); give asf=")


def _checked_neighbour(path: Path, skeleton: Path) -> Path:
    """The skeleton's file that was found next to a motion; a link that leads out of the folder is refused."""
    if inside_folder(path.parent, skeleton.name) is None:
        raise FormatError(skeleton, "leads out of the motion's folder; asf= reads it all the same")
    return skeleton


def _skeleton(path: Path, asf: AsfSkeleton, scale: float) -> Skeleton:
    bones = asf.bones
    parents = asf.parents
    tips = np.array([bone.direction for bone in bones]) * np.array([[bone.length] for bone in bones]) * scale
    offsets = np.where(parents[:, None] > 0, tips[parents], 0.0)  # a joint sits at its parent bone's tip
    offsets[0] = np.array(bones[0].position) * scale
    if not (np.isfinite(offsets).all() and np.isfinite(tips).all()):
        raise FormatError(path, f"bone lengths are not finite once multiplied by the scale {scale:g}")
    leaves = np.setdiff1d(np.arange(1, len(bones)), parents)
    axes = np.zeros((len(bones), 3))
    axes[:, 0] = 1.0
    for j, bone in enumerate(bones):
        if j and len(bone.dofs) == 1:
            axes[j] = rotate(_frame(bone), np.eye(3)["xyz".index(bone.dofs[0][1])])
    kinds = ["free", *({0: "fixed", 1: "hinge"}.get(len(bone.dofs), "ball") for bone in bones[1:])]
    return Skeleton(
        [bone.name for bone in bones],
        parents,
        offsets,
        kinds=kinds,
        axes=axes,
        end_parents=leaves,
        end_offsets=tips[leaves].reshape(-1, 3),
    )


def _frame(bone: AsfBone) -> Floats:
    """Return the bone's axes in the world (4,): rotations about fixed axes in the order written (the last first)."""
    axes = ["xyz".index(letter) for letter in reversed(bone.axis_order)]
    return quaternions_from_euler(axes, np.array(bone.axis[::-1]))


def _pose(path: Path, asf: AsfSkeleton, scale: float) -> Pose:
    channels = _channels(path, asf)
    frames = len(channels[0])
    rotations = np.zeros((frames, len(asf.bones), 4))
    translation = np.zeros((frames, 3))
    for j, (bone, values) in enumerate(zip(asf.bones, channels, strict=True)):
        angles = [(k, "xyz".index(name[1])) for k, name in enumerate(bone.dofs) if name[0] == "r"]
        # Channels act about fixed axes in the order written: the matrix of the first stands rightmost.
        rotation = quaternions_from_euler(
            [axis for _, axis in reversed(angles)], values[:, [k for k, _ in reversed(angles)]]
        )
        frame = _frame(bone)
        rotations[:, j] = multiply(multiply(frame, rotation), conjugate(frame))
        for k, name in enumerate(bone.dofs):
            if name[0] == "t":
                translation[:, "xyz".index(name[1])] = values[:, k]
    return Pose((translation + np.array(asf.bones[0].position)) * scale, rotations)


def _channels(path: Path, asf: AsfSkeleton) -> list[Floats]:
    """Return for each bone the values (F, channels) of an AMC file: angles [rad], the root's shifts in file units.

    Frames must be numbered one after the other; every bone with channels must be in every frame.
    """
    channels = {bone.name: len(bone.dofs) for bone in asf.bones}
    values = {name: array("d") for name in channels}
    radians = math.pi / 180
    needed = {name for name, count in channels.items() if count}
    # Bones without channels take memory in every frame and no text.
    most = most_rows(path.stat().st_size) // len(channels)
    frames = first = number = 0
    here: set[str] = set()
    for number, text in text_lines(path, MAX_AMC_BYTES):
        name, *rest = text.split()
        if rest and frames and name not in here and channels.get(name) == len(rest):
            try:
                values[name].extend(map(float, rest))
            except ValueError:
                shown = " ".join(rest)[:60]
                raise FormatError(path, f"expected numbers after {name!r}, found {shown!r}", f"line {number}") from None
            here.add(name)
        elif name.startswith(":"):
            radians = 1.0 if name.upper() == ":RADIANS" else radians
        elif not rest and name.isascii() and name.isdigit() and len(name) < 12:
            if frames:
                _check_frame(path, needed, here, number)
            if frames == most:
                raise FormatError(
                    path, f"more than {most} frames of {len(channels)} bones in so short a file", f"line {number}"
                )
            first = first if frames else int(name)
            if int(name) != first + frames:
                raise FormatError(path, f"expected frame {first + frames}, found {name}", f"line {number}")
            frames += 1
            here = set()
        else:
            if problem := _bone_problem(name, rest, channels, here, frames):
                raise FormatError(path, problem, f"line {number}")
            here.add(name)
    if frames:
        _check_frame(path, needed, here, number)
    return [_table(path, bone.name, bone.dofs, values[bone.name], frames, radians) for bone in asf.bones]


def _bone_problem(name: str, rest: list[str], channels: dict[str, int], here: set[str], frames: int) -> str | None:
    if not frames:
        return f"expected a frame's number, found {name[:40]!r}"
    if name not in channels:
        return f"bone {name[:40]!r} is not in the skeleton"
    if name in here:
        return f"bone {name!r} stands twice in one frame"
    if len(rest) != channels[name]:
        return f"bone {name!r} has {channels[name]} channels in the skeleton, {len(rest)} here"
    return None


def _check_frame(path: Path, needed: set[str], here: set[str], number: int) -> None:
    if not needed <= here:
        name = min(needed - here)
        raise FormatError(path, f"bone {name!r} is missing from the frame that ends here", f"line {number}")


def _table(path: Path, name: str, dofs: tuple[str, ...], values: array[float], frames: int, radians: float) -> Floats:
    table = np.array(values).reshape(frames, len(dofs))
    if len(bad := np.argwhere(~np.isfinite(table))):
        raise FormatError(path, f"bone {name!r} has a number that is not finite", f"frame {int(bad[0, 0]) + 1}")
    table[:, [k for k, dof in enumerate(dofs) if dof[0] == "r"]] *= radians
    return table


@dataclass(frozen=True)
class AsfBone:
    """A bone of an ASF file, or its root (bone 0, of length zero)."""

    name: str
    direction: tuple[float, ...] = (0.0, 0.0, 0.0)
    length: float = 0.0
    axis: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Angles about fixed axes that take the world's axes to the bone's own [rad]."""
    axis_order: str = "xyz"
    dofs: tuple[str, ...] = ()
    """Its channels in the motion file, in their order: "rx", "ry", "rz"; for the root also "tx", "ty", "tz"."""
    position: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass
class AsfSkeleton:
    """Bones, parents first, and what one unit of length and of angle is."""

    bones: list[AsfBone] = field(default_factory=list)
    parents: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    length: float = 1.0
    """Inches are divided by this to give file units."""
    radians: float = math.pi / 180
    """One unit of angle [rad]."""


def text_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file without comments and blank lines; binary files are refused."""
    data = read_bytes(path, max_bytes)
    if b"\0" in data:
        raise FormatError(path, "is not text", f"byte {data.index(bytes(1))}")
    for number, line in enumerate(io.StringIO(data.decode("latin-1"), newline=None), 1):
        bare = line.split("#", 1)[0].strip() if "#" in line else line.strip()
        if bare:
            yield number, bare


class _AsfReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = ((number, text.split()) for number, text in text_lines(path, MAX_ASF_BYTES))
        self.asf = AsfSkeleton()
        self.bones: dict[str, AsfBone] = {}
        self.parent_of: dict[str, str] = {}
        self.root = AsfBone("root")
        self.number, self.words = 1, [""]  # of the line that is read

    def run(self) -> AsfSkeleton:
        section = ""
        seen = set()
        while (word := self._next()) is not None:
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

    def _next(self) -> str | None:
        """Go to the next line and return its first word in lower case; None at the end of the file."""
        line = next(self.lines, None)
        if line is None:
            return None
        self.number, self.words = line
        return self.words[0].lower()

    def _error(self, message: str) -> FormatError:
        return FormatError(self.path, message, f"line {self.number}")

    def _numbers(self, words: list[str], count: int) -> tuple[float, ...]:
        try:
            values = tuple(float(word) for word in words[:count] if "_" not in word)
        except ValueError:
            values = ()
        if len(values) != count or not all(map(math.isfinite, values)):
            raise self._error(f"expected {count} finite numbers after {self.words[0]!r}, found {words[:count]}")
        return values

    def _angles(self, words: list[str]) -> tuple[float, ...]:
        return tuple(value * self.asf.radians for value in self._numbers(words, 3))

    def _unit(self) -> None:
        name, rest = self.words[0].lower(), self.words[1:]
        if name == "length":
            (self.asf.length,) = self._numbers(rest, 1)
            if self.asf.length <= 0:
                raise self._error(f"the unit of length must be above zero, not {self.asf.length:g}")
        elif name == "angle":
            if not rest or rest[0].lower() not in ("deg", "rad"):
                raise self._error(f"the unit of angle is 'deg' or 'rad', not {rest[:1]}")
            self.asf.radians = math.pi / 180 if rest[0].lower() == "deg" else 1.0

    def _root(self) -> None:
        name, rest = self.words[0].lower(), self.words[1:]
        if name == "order":
            self.root = replace(self.root, dofs=self._channels(rest, (*_TRANSLATIONS, *_ROTATIONS)))
        elif name == "axis":
            self.root = replace(self.root, axis_order=self._order(rest))
        elif name == "position":
            self.root = replace(self.root, position=self._numbers(rest, 3))
        elif name == "orientation":
            self.root = replace(self.root, axis=self._angles(rest))

    def _bone(self) -> None:
        begun = self.number
        bone = AsfBone("")
        while (word := self._next()) != "end":
            rest = self.words[1:]
            if word is None:
                raise FormatError(self.path, "the file ends inside a bone", f"line {begun}")
            if word == "begin" or word.startswith(":"):
                raise self._error("a bone without 'end' before this")
            if word == "name":
                bone = replace(bone, name=" ".join(rest))
            elif word == "direction":
                bone = replace(bone, direction=self._numbers(rest, 3))
            elif word == "length":
                bone = replace(bone, length=self._numbers(rest, 1)[0])
            elif word == "axis":
                bone = replace(bone, axis=self._angles(rest), axis_order=self._order(rest[3:]))
            elif word == "dof":
                bone = replace(bone, dofs=self._channels(rest, _ROTATIONS))
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
        parent, *children = self.words
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

"""BVH: a hierarchy of joints with Euler channels in degrees, then one line of numbers a frame.

Decided where the format is silent:
- A position channel replaces the joint's OFFSET (MotionBuilder and Blender do; the old papers add them); an axis
  without a channel keeps its OFFSET. So the root's OFFSET is its rest position only.
- Rotation channels compose in the order written: "Zrotation Yrotation Xrotation" is Rz Ry Rx on column vectors.
- A unit is a metre unless the file carries our mark (`posable.formats.bvh.hierarchy`) or the caller gives `scale`, and
  Y is up unless the caller says `up="z"`; what makes a giant, or one who stands along z, is noted.
- Numbers are a stream: a frame may spill over lines, but there must be exactly frames times channels of them.
- A frame time whose written digits are those of 1/n, rounded or cut, means n frames a second, n whole (".0083333"
  is 120). Otherwise the number is believed, true or not: only `repair="cmu"` knows better.
- Two joints of one name are told apart by a number, as Blender does, and that is noted.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ...compute import FormatError, UnknownNameError
from ...compute.files import read_bytes
from ...compute.types import Floats
from ...math import multiply
from ...skeleton import Motion, Pose, Skeleton
from .. import cmu
from ..doubts import doubts
from ..euler import compose_rotations
from ..rows import most_rows
from .hierarchy import Header, Hierarchy, line_of, read_header, read_unit_mark, unique_names
from .numbers import NotANumberError, read_decimals
from .writer import write

__all__ = ["read", "write"]

MAX_BYTES = 1 << 31
UPS = ("y", "z")


@np.errstate(over="ignore")  # an overflow is found and reported
def read(
    path: Path,
    *,
    scale: float | None = None,
    fps: float | None = None,
    repair: str | None = None,
    up: str = "y",
) -> Motion:
    """Read a BVH file; the options are those of `posable.load`. With `fps` the file's own need not be good."""
    if repair not in (None, "cmu"):
        raise UnknownNameError("repair", repair, ("cmu",))
    if up not in UPS:
        raise UnknownNameError("up axis", up, UPS)
    text = read_bytes(path, MAX_BYTES)
    header = read_header(path, text)
    unit, notes = _scale(path, header, scale, repair)
    rate = fps or _fps(path, text, header)
    values = _numbers(path, text, header)
    hierarchy = header.hierarchy
    names, changed = unique_names([joint.name for joint in hierarchy.joints])
    if changed:
        notes.append(f"joints of one name were renamed: {', '.join(changed[:5])}{'...' if len(changed) > 5 else ''}")
    offsets = np.array([joint.offset for joint in hierarchy.joints], dtype=np.float64) * unit
    ends = np.array(hierarchy.end_offsets, dtype=np.float64).reshape(-1, 3) * unit
    pose = _pose(hierarchy, values, offsets, unit)
    if not (np.isfinite(offsets).all() and np.isfinite(ends).all() and pose.is_finite()):
        raise FormatError(path, f"positions are not finite once multiplied by the scale {unit:g}")
    parents = [joint.parent for joint in hierarchy.joints]
    skeleton = Skeleton(names, parents, offsets, end_parents=hierarchy.end_parents, end_offsets=ends)
    motion = Motion(skeleton, pose, rate, path.stem, tuple(notes))
    if up == "z":
        motion = _rotated(motion)
    if repair == "cmu":
        motion = cmu.repaired(motion, path, scale or cmu.UNIT, fps)
    elif scale is None and cmu.is_conversion(skeleton):
        mended = "this is a clip of the CMU conversion, which lost some bones and its unit; repair='cmu' mends it"
        return motion.replace(notes=(*motion.notes, mended))
    return motion.replace(notes=(*motion.notes, *doubts(motion, unit, has_up=True)))


def _scale(path: Path, header: Header, given: float | None, repair: str | None) -> tuple[float, list[str]]:
    """Return the metres in a file unit, and notes: the caller's, else the file's mark, else the repair's, else 1."""
    if given is not None:
        return float(given), [f"one file unit is {given:g} m, as given"] if repair else []
    if (marked := read_unit_mark(header.first_line)) is not None:
        return marked, [f"the file's mark says that one unit is {marked:g} m"]
    if repair == "cmu":
        return cmu.file_unit(path, {joint.name: joint.offset for joint in header.hierarchy.joints})
    return 1.0, []


def _fps(path: Path, text: bytes, header: Header) -> float:
    word = header.frame_time
    try:
        time = float(word) if "_" not in word else math.nan
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time > 0 and math.isfinite(1 / time)):
        location = line_of(text, header.numbers_at)
        raise FormatError(
            path, f"'Frame Time:' must be seconds above zero, not {word[:40]!r}; fps= overrides it", location
        )
    whole = round(1 / time)
    digits = word.lower().split("e")[0].partition(".")[2]
    unit = 10.0 ** -len(digits) if "e" not in word.lower() else 0.0
    meant = whole > 0 and abs(1 / whole - time) <= max(unit, 1e-15 * time) and abs(whole * time - 1) < 1e-4
    return float(whole) if meant else 1 / time


def _numbers(path: Path, text: bytes, header: Header) -> Floats:
    """Return the motion's numbers (F, C), or raise with the line where their count or form is wrong."""
    frames, channels = header.frames, header.hierarchy.channels
    size = len(text) - header.numbers_at
    joints = len(header.hierarchy.joints)
    expected = frames * channels
    # Nothing is allocated for what a header promises before the file's own size makes it possible.
    if expected > size or frames > size + 1 or frames * joints > most_rows(len(text)):
        location = line_of(text, header.numbers_at)
        raise FormatError(
            path, f"'Frames: {frames}' of {channels} numbers do not fit in the {size} bytes left", location
        )
    try:
        values, count = read_decimals(text, expected, header.numbers_at)
    except NotANumberError as error:
        message = f"expected a finite number, found {error.word!r}"
        raise FormatError(path, message, line_of(text, error.offset)) from None
    if count != expected:
        raise _wrong_count(path, text, header, count)
    return values.reshape(frames, channels)


def _wrong_count(path: Path, text: bytes, header: Header, count: int) -> FormatError:
    frames, channels = header.frames, header.hierarchy.channels
    before = int(line_of(text, header.numbers_at).split()[1])
    lines = text[header.numbers_at :].splitlines()
    for number, line in enumerate(lines, before):
        words = len(line.split(None, channels + 1))
        if words and words != channels:
            found = f"more than {channels}" if words > channels else str(words)
            return FormatError(path, f"a frame has {channels} numbers, this line {found}", f"line {number}")
    found = f"more than {frames}" if count > frames * channels else str(count // max(channels, 1))
    return FormatError(path, f"'Frames:' says {frames}, the file has {found}", f"line {before + len(lines) - 1}")


def _pose(hierarchy: Hierarchy, values: Floats, offsets: Floats, scale: float) -> Pose:
    frames, joints = len(values), hierarchy.joints
    rotations = compose_rotations(
        values, [joint.axes for joint in joints], [joint.rotations for joint in joints], np.pi / 180
    )
    translation = np.tile(offsets[0], (frames, 1))
    for axis, channel in joints[0].positions.items():
        translation[:, axis] = values[:, channel] * scale
    moved = None
    if any(joint.positions for joint in joints[1:]):
        moved = np.tile(offsets, (frames, 1, 1))
        for j, joint in enumerate(joints[1:], 1):
            for axis, channel in joint.positions.items():
                moved[:, j, axis] = values[:, channel] * scale
        if (moved == offsets).all():  # the channels are there but say nothing new
            moved = None
    return Pose(translation, rotations, moved)


def _rotated(motion: Motion) -> Motion:
    """Return a motion of a world with Z up in ours: x stays, and who faces -y there faces +Z here."""
    there = np.array([np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])
    back = there * (1.0, -1.0, -1.0, -1.0)

    def vectors(v: Floats) -> Floats:
        return np.stack([v[..., 0], v[..., 2], -v[..., 1]], axis=-1)

    skeleton, pose = motion.skeleton, motion.pose
    rotated = Skeleton(
        skeleton.names,
        skeleton.parents,
        vectors(skeleton.offsets),
        end_parents=skeleton.end_parents,
        end_offsets=vectors(skeleton.end_offsets),
    )
    rotations = multiply(multiply(there, pose.rotations), back)
    offsets = None if pose.offsets is None else vectors(pose.offsets)
    return motion.replace(skeleton=rotated, pose=Pose(vectors(pose.translation), rotations, offsets))

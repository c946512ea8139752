"""Writing BVH, so that other programs see the same figure.

The figure at rest is what the OFFSETs draw: where the skeleton has rest rotations (glTF does), the joint frames are
rotated to be the world's at rest, which leaves every position in every frame as it was. Positions are written for the
root and for joints that the motion really moves. Nine decimals of a degree and ten of a metre keep a round
trip within 1e-9 m and rad.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...compute import PosableError, atomic_write
from ...compute.types import Bools, Floats
from ...math import conjugate, multiply, rotate
from ...skeleton import Motion
from ..euler import euler_axes, euler_from_quaternions
from .hierarchy import unique_names, unit_mark

ANGLE_DECIMALS = 9  # of a degree
POSITION_DECIMALS = 10  # of a metre
LARGEST = 1e100  # of a length, in the file's unit: decimals of larger ones are none that anybody reads
_FRAMES_AT_ONCE = 256


def write(motion: Motion, path: Path, *, scale: float = 1.0, order: str = "ZYX") -> None:
    """Write a BVH file; the options are those of `posable.save`."""
    scale = float(scale)
    if not (np.isfinite(scale) and scale > 0):
        raise PosableError(f"scale={scale!r}: give the metres of one file unit, a number above zero")
    order = str(order).upper()
    euler_axes(order)
    if not motion.pose.is_finite():
        raise PosableError(f"cannot write {str(path)!r}: the motion has numbers that are not finite")
    aligned = _WorldAligned(motion)
    with np.errstate(over="ignore"):  # infinite is too large as well
        lengths = [aligned.offsets, aligned.ends, motion.pose.translation, *aligned.all_moved()]
        if not all((np.abs(length / scale) < LARGEST).all() for length in lengths):
            raise PosableError(f"cannot write {str(path)!r}: it would have lengths of {LARGEST:g} units and more")
    slides = aligned.slides()
    header, walk = _header(motion, aligned.offsets / scale, aligned.ends / scale, slides, order, scale)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(header)
        for lines in _motion_lines(motion.pose.translation / scale, aligned, slides, walk, scale, order):
            file.write(lines)


class _WorldAligned:
    """A motion with joint frames that are the world's at rest, a joint at a time: an hour of all of them is large."""

    def __init__(self, motion: Motion) -> None:
        skeleton, self.pose = motion.skeleton, motion.pose
        identity = np.array([1.0, 0.0, 0.0, 0.0])
        self.is_same = bool((skeleton.rest_rotations == identity).all())
        self.offsets, self.ends = skeleton.offsets, skeleton.end_offsets
        if not self.is_same:
            self.rest = skeleton.forward(skeleton.rest).orientations
            self.outer = np.concatenate([identity[None], self.rest[skeleton.parents[1:]]])  # the parent's
            self.offsets = rotate(self.outer, skeleton.offsets)
            self.ends = rotate(self.rest[skeleton.end_parents], skeleton.end_offsets)

    def rotations(self, j: int) -> Floats:
        """(F, 1, 4) the local rotations of a joint."""
        own = self.pose.rotations[:, j : j + 1]
        return own if self.is_same else multiply(multiply(self.outer[j], own), conjugate(self.rest[j]))

    def moved(self, j: int) -> Floats:
        """(F, 3) [m] where a joint is from its parent, of a motion that has such offsets."""
        assert self.pose.offsets is not None
        own = self.pose.offsets[:, j]
        return own if self.is_same else rotate(self.outer[j], own)

    def all_moved(self) -> Iterator[Floats]:
        """Yield `moved` of all joints, where the motion has offsets."""
        if self.pose.offsets is not None:
            yield from (self.moved(j) for j in range(len(self.offsets)))

    def slides(self) -> Bools:
        """Return which joints the motion moves away from their OFFSET; the root always has channels of its own."""
        found = np.zeros(len(self.offsets), dtype=np.bool_)
        for j, moved in enumerate(self.all_moved()):
            found[j] = j > 0 and bool((np.abs(moved - self.offsets[j]) > 1e-12).any())
        return found


def _header(
    motion: Motion, offsets: Floats, ends: Floats, slides: Bools, order: str, scale: float
) -> tuple[str, list[int]]:
    """Everything before the numbers, and the joints in the order in which they stand there."""
    skeleton = motion.skeleton
    walk: list[int] = []
    names, _ = unique_names([_plain(name, j) for j, name in enumerate(skeleton.names)])
    rotations = " ".join(f"{axis}rotation" for axis in order)
    lines = [f"HIERARCHY{unit_mark(scale)}"]
    children: list[list[int]] = [[] for _ in names]
    for j, parent in enumerate(skeleton.parents[1:].tolist(), 1):
        children[parent].append(j)
    sites: list[list[int]] = [[] for _ in names]
    for e, parent in enumerate(skeleton.end_parents.tolist()):
        sites[parent].append(e)
    stack: list[tuple[int, int]] = [(0, 0)]  # joint (or ~joint: close it) and depth
    while stack:
        j, depth = stack.pop()
        tab = "\t" * depth
        if j < 0:
            lines.append(f"{tab}}}")
            continue
        walk.append(j)
        positions = "Xposition Yposition Zposition " if j == 0 or slides[j] else ""
        lines += [f"{tab}{'JOINT' if j else 'ROOT'} {names[j]}", f"{tab}{{", f"{tab}\tOFFSET {_vector(offsets[j])}"]
        lines.append(f"{tab}\tCHANNELS {6 if positions else 3} {positions}{rotations}")
        for e in sites[j]:
            lines += [f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\tOFFSET {_vector(ends[e])}", f"{tab}\t}}"]
        stack.append((~j, depth))
        stack.extend((child, depth + 1) for child in reversed(children[j]))
    lines += ["MOTION", f"Frames: {len(motion)}", f"Frame Time: {1 / motion.fps!r}"]
    return "\n".join(lines) + "\n", walk


def _plain(name: str, j: int) -> str:
    """A name that survives: single blanks inside, no braces."""
    return " ".join(name.replace("{", "(").replace("}", ")").split()) or f"joint{j}"


def _vector(vector: Floats) -> str:
    return " ".join(f"{value + 0.0:.15g}" for value in vector.tolist())


def _motion_lines(
    translation: Floats, aligned: _WorldAligned, slides: Bools, walk: list[int], scale: float, order: str
) -> Iterator[str]:
    """Text of some frames at a time, channels in the order of the header."""
    decimals = POSITION_DECIMALS + max(0, math.ceil(math.log10(scale)))  # of a file unit; what counts is metres
    angle, position = [f"%.{ANGLE_DECIMALS}f"] * 3, [f"%.{decimals}f"] * 3
    formats = [*position]
    values = np.empty((len(translation), 3 + 3 * (len(walk) + int(slides.sum()))))
    values[:, :3] = translation.round(decimals)
    at = 3
    for j in walk:
        if slides[j]:
            values[:, at : at + 3] = (aligned.moved(j) / scale).round(decimals)
            formats += position
            at += 3
        angles = np.rad2deg(euler_from_quaternions(order, aligned.rotations(j)))  # continuous from frame to frame
        values[:, at : at + 3] = angles[:, 0].round(ANGLE_DECIMALS)
        formats += angle
        at += 3
    line = " ".join(formats) + "\n"
    for start in range(0, len(values), _FRAMES_AT_ONCE):
        rows = values[start : start + _FRAMES_AT_ONCE] + 0.0  # no "-0.000000000"
        yield (line * len(rows)) % tuple(rows.ravel().tolist())

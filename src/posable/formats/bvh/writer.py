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
    offsets, ends, rotations, moved = _world_aligned(motion)
    with np.errstate(over="ignore"):  # infinite is too large as well
        lengths = [array / scale for array in (offsets, ends, motion.pose.translation, moved) if array is not None]
    if not all((np.abs(length) < LARGEST).all() for length in lengths):
        raise PosableError(f"cannot write {str(path)!r}: it would have lengths of {LARGEST:g} units and more")
    slides = _moving(offsets, moved)
    header, walk = _header(motion, offsets / scale, ends / scale, slides, order, scale)
    angles = np.rad2deg(euler_from_quaternions(order, rotations))
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(header)
        for lines in _motion_lines(motion.pose.translation / scale, angles, moved, slides, walk, scale):
            file.write(lines)


def _world_aligned(motion: Motion) -> tuple[Floats, Floats, Floats, Floats | None]:
    """Offsets, end offsets, local rotations and moved offsets with joint frames that are the world's at rest."""
    skeleton, pose = motion.skeleton, motion.pose
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    if (skeleton.rest_rotations == identity).all():
        return skeleton.offsets, skeleton.end_offsets, pose.rotations, pose.offsets
    rest = skeleton.forward(skeleton.rest).orientations
    outer = np.concatenate([identity[None], rest[skeleton.parents[1:]]])  # the parent's, the world for the root
    offsets = rotate(outer, skeleton.offsets)
    ends = rotate(rest[skeleton.end_parents], skeleton.end_offsets)
    rotations = multiply(multiply(outer, pose.rotations), conjugate(rest))
    moved = None if pose.offsets is None else rotate(outer, pose.offsets)
    return offsets, ends, rotations, moved


def _moving(offsets: Floats, moved: Floats | None) -> Bools:
    """Which joints the motion moves away from their OFFSET; the root always has channels of its own."""
    if moved is None or not len(moved):
        return np.zeros(len(offsets), dtype=np.bool_)
    slides: Bools = np.any(np.abs(moved - offsets) > 1e-12, axis=(0, 2))
    slides[0] = False
    return slides


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
    translation: Floats, angles: Floats, moved: Floats | None, slides: Bools, walk: list[int], scale: float
) -> Iterator[str]:
    """Text of some frames at a time, channels in the order of the header."""
    decimals = POSITION_DECIMALS + max(0, math.ceil(math.log10(scale)))  # of a file unit; what counts is metres
    angle, position = [f"%.{ANGLE_DECIMALS}f"] * 3, [f"%.{decimals}f"] * 3
    columns, formats = [translation.round(decimals)], [*position]
    for j in walk:
        if slides[j] and moved is not None:
            columns.append((moved[:, j] / scale).round(decimals))
            formats += position
        columns.append(angles[:, j].round(ANGLE_DECIMALS))
        formats += angle
    values = np.concatenate(columns, axis=1) + 0.0  # no "-0.000000000"
    line = " ".join(formats) + "\n"
    for start in range(0, len(values), _FRAMES_AT_ONCE):
        rows = values[start : start + _FRAMES_AT_ONCE]
        yield (line * len(rows)) % tuple(rows.ravel().tolist())

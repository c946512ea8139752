"""Notes for files whose lengths or axes are hardly right: a giant, a dwarf, a figure that lies on its back.

A file without a unit is taken to be in metres with Y up. Nothing is changed where that gives a person of 178 m or one
whose head is in front of the feet; the notes say so, with the option that would mend it.
"""

from __future__ import annotations

import numpy as np

from ..compute.types import Floats, Ints
from ..skeleton import Motion

UNITS = {"centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048, "metres": 1.0}
"""Units that people measure bodies in [m]."""
GIANT, DWARF = 3.0, 0.3  # [m]: a person is between
PERSON = (0.9, 2.5)  # [m]: what a person measures in the right unit
LIKELY = 1.7  # [m]: made of a figure that no unit makes a person of
FRAMES = 20  # that are looked at
MOST_JOINTS = 2000
HEADS, FEET = ("head", "skull"), ("foot", "feet", "ankle", "toe")


@np.errstate(all="ignore")  # lengths of 1e300 are a giant too
def doubts(motion: Motion, unit: float | None, has_up: bool = False) -> list[str]:
    """Return notes on the size of a figure and on the axis that is up.

    Args:
        motion: as it was read.
        unit: what was taken for the length of one file unit [m]; None: the format takes no scale.
        has_up: whether the format takes the option `up`.
    """
    if len(motion.skeleton) > MOST_JOINTS:
        return []  # no person, and no pleasure to look at
    rest = _positions(motion, np.zeros(0, np.int64))[0]
    ends = rest[motion.skeleton.end_parents] + motion.skeleton.end_offsets  # near enough for a size
    span = float(np.ptp(np.concatenate([rest, ends]), axis=0).max())
    notes = []
    person = bool(_named(motion, HEADS)) and bool(_named(motion, FEET))
    # Our own files are in metres, and what is no person may be as large as it likes in them.
    if (span > GIANT and (person or unit is not None)) or (person and 0.0 < span < DWARF):
        notes.append(_size_note(span, unit))
    if person and _stands_along_z(motion, rest):
        advice = "up='z' turns it to Y up" if has_up else "write the file anew with Y up"
        notes.append(f"the figure stands along the z axis in this file, not along y; {advice}")
    return notes


def likely_unit(length: float) -> tuple[str, float]:
    """Return (name, [m]) of the unit in which a length is that of a person; ("", factor) where there is none."""
    for name, unit in UNITS.items():
        if PERSON[0] <= length * unit <= PERSON[1]:
            return name, unit
    return "", float(f"{LIKELY / length:.2g}")


def _size_note(span: float, unit: float | None) -> str:
    what = "giant" if span > GIANT else "dwarf"
    name, factor = likely_unit(span if unit is None else span / unit)
    if unit is None:
        advice = f"its lengths times {factor:g}{f' ({name})' if name else ''} would make it {span * factor:.3g} m"
        return f"its joints span {span:.3g} m, which is a {what} if it is a person; {advice}"
    taken = "a metre" if unit == 1.0 else f"{unit:g} m"
    advice = f"scale={factor:g}{f' ({name})' if name else ''} would make it {span / unit * factor:.3g} m"
    return f"its joints span {span:.3g} m, which is a {what} if it is a person: a unit was taken for {taken}; {advice}"


def _stands_along_z(motion: Motion, rest: Floats) -> bool:
    """Return whether the head is above the feet along z and not along y, in most frames and, if at all, at rest."""
    if not len(motion):
        return False
    rows = np.unique(np.linspace(0, len(motion) - 1, FRAMES).astype(np.int64))
    placed = np.concatenate([rest[None], _positions(motion, rows)])
    upright = placed[:, _named(motion, HEADS)].mean(axis=1) - placed[:, _named(motion, FEET)].mean(axis=1)
    upright /= np.maximum(np.linalg.norm(upright, axis=-1, keepdims=True), 1e-12)
    still, moving = upright[0], np.median(upright[1:], axis=0)
    # A rest pose may stand in a world with another axis up; who lies down in ours rarely lies along z alone.
    return bool(moving[2] > 0.9 and moving[1] < 0.3 and (still[2] > 0.9 or still[1] > 0.9))


def _named(motion: Motion, words: tuple[str, ...]) -> list[int]:
    names = [name.lower() for name in motion.skeleton.names]
    return [j for j, name in enumerate(names) if any(word in name for word in words)]


def _positions(motion: Motion, rows: Ints) -> Floats:
    """Return positions (K, J, 3) [m] of joints in frames, at rest (1, J, 3) for no rows; nothing is compiled for it."""
    skeleton, pose = motion.skeleton, motion.pose
    local = pose.rotations[rows] if len(rows) else skeleton.rest_rotations[None]
    offsets = np.broadcast_to(skeleton.offsets, (len(local), *skeleton.offsets.shape)).copy()
    if len(motion) and pose.offsets is not None:  # what a file writes for each frame may say all, and its rest nothing
        offsets = pose.offsets[rows if len(rows) else [0]].copy()
    if len(rows):
        offsets[:, 0] = pose.translation[rows]
    positions, world = np.empty(offsets.shape), np.empty((*offsets.shape, 3))
    matrices = _matrices(local)
    for j, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0:
            positions[:, j], world[:, j] = offsets[:, j], matrices[:, j]
            continue
        positions[:, j] = positions[:, parent] + np.einsum("kab,kb->ka", world[:, parent], offsets[:, j])
        world[:, j] = world[:, parent] @ matrices[:, j]
    return positions


def _matrices(q: Floats) -> Floats:
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

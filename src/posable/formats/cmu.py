"""Repair of clips of the 2010 "MotionBuilder-friendly" BVH conversion of the CMU motion-capture database.

The conversion lost three things. `load(path, repair="cmu")` puts them back and says so in the motion's notes:

1. The length of bones that have several children. `Neck`, `LeftShoulder` and `RightShoulder` belong one thorax bone
   above `Spine1`, finger base and thumb one wrist bone beyond the hand; all have offset zero in the files. Rotations
   need no change. The thorax of 112 subjects is known from CMU's own ASF files (`thorax.csv`, looked for next to the
   clip and in `$POSABLE_DATA`, or `skeleton_fix.csv` where it says so); otherwise it is estimated from the bone
   below it: 1.010 times as long, along its direction plus (0.0025, 0, 0.028). Measured on the 27 subjects whose
   clips were at hand, that is 3 mm off in the median and 11 mm at worst. A wrist bone is exactly half of the forearm
   bone in every ASF file.
2. The unit: lengths are in 1/0.45 inch, unless the thigh shows that somebody has changed them to metres. `scale=`
   still overrides it.
3. The rate of subjects captured at 60 frames a second; every header says 120. `fps=` still overrides it.

Frame 0, a T-pose that was never captured, stays and is noted; `first_frame=1` drops it.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..compute import FormatError
from ..compute.files import inside_folder, read_text
from ..compute.types import Floats
from ..skeleton import Motion, Skeleton

MAX_TABLE = 1_000_000  # bytes of a table next to a clip; those of the database have ten thousand
UNIT = 0.0254 / 0.45
"""Metres in one unit of length of the CMU database."""

_SIDE = "{0}Shoulder {0}Arm {0}ForeArm {0}Hand {0}FingerBase {0}HandIndex1"
_CHAINS = (
    "Hips LHipJoint LeftUpLeg LeftLeg LeftFoot LeftToeBase",
    "Hips RHipJoint RightUpLeg RightLeg RightFoot RightToeBase",
    "Hips LowerBack Spine Spine1 Neck Neck1 Head",
    f"Spine1 {_SIDE.format('Left')}",
    "LeftHand LThumb",
    f"Spine1 {_SIDE.format('Right')}",
    "RightHand RThumb",
)
_PARENT = {child: parent for chain in map(str.split, _CHAINS) for parent, child in pairwise(chain)}
_CLIP = re.compile(r"(?P<subject>\d{1,3})_\d{1,3}(?!\d)")
_THORAX_CHILDREN = ("Neck", "LeftShoulder", "RightShoulder")
_WRIST_CHILDREN = {"LeftHand": ("LeftFingerBase", "LThumb"), "RightHand": ("RightFingerBase", "RThumb")}

# Captured at 60 frames a second by CMU's listing; 84 and 139 are the same recordings as 74 and 77.
_LISTED_AT_60 = frozenset({33, 34, 42, 60, 61, 62, 74, 75, 77, 79, 80, 84, 87, 88, 89, 139})
# Listed at 120, but falling bodies and walking pace are right only at 60.
_MEASURED_AT_60 = frozenset({93, 103, 106, 141, 143})


def is_conversion(skeleton: Skeleton) -> bool:
    """Whether a skeleton is that of the conversion, its lost bones still missing."""
    return _why_not(skeleton) is None


def file_unit(path: Path, offsets: Mapping[str, tuple[float, float, float] | None]) -> tuple[float, list[str]]:
    """The metres in one unit of a clip, and a note: the thigh tells whether somebody has changed it to metres."""
    thigh = math.dist(offsets.get("LeftLeg") or (7.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    if 3.0 < thigh < 15.0:
        return UNIT, [f"one file unit is {UNIT:.6f} m (1/0.45 inch)"]
    if 3.0 * UNIT < thigh < 15.0 * UNIT:
        return 1.0, ["lengths are in metres already"]
    raise FormatError(path, f"a thigh of {thigh:g} units is neither in the database's unit nor in metres; give scale=")


def repaired(motion: Motion, path: Path, unit: float, given_fps: float | None = None) -> Motion:
    """The motion with its lost bones, and its rate, put back. `unit` is the database's unit of length in it [m]."""
    reason = _why_not(motion.skeleton)
    if reason is not None:
        raise FormatError(path, f"repair='cmu' is for clips of the CMU conversion: {reason}")
    subject = subject_of(path)
    notes = list(motion.notes)
    thorax, source = _thorax(path, subject, motion.skeleton, unit)
    skeleton = _with_bones(motion.skeleton, thorax)
    length = float(np.linalg.norm(thorax)) * 1000
    notes.append(f"thorax bone put back below neck and shoulders: {length:.1f} mm, {source}")
    notes.append("wrist bones put back below finger bases and thumbs: half of the forearm bones")
    fps, note = true_fps(path)
    if given_fps is not None:
        fps, note = given_fps, f"{given_fps:g} frames a second, as given (known: {note})"
    elif abs(motion.fps - fps) > 0.01:
        note += f"; the file's header says {motion.fps:g}"
    notes.append(note)
    notes.append("frame 0 is the converter's T-pose, not captured; first_frame=1 drops it")
    return motion.replace(skeleton=skeleton, fps=fps, notes=tuple(notes))


def subject_of(path: Path) -> int | None:
    """The subject's number in a CMU file name (`17_10.bvh` is of subject 17), or None."""
    match = _CLIP.match(path.stem)
    return int(match["subject"]) if match else None


def true_fps(path: Path) -> tuple[float, str]:
    """The rate a clip was captured at, and how we know."""
    match = _CLIP.match(path.stem)
    for row in _rows("clips.csv", path):
        rate = _floats(row, "fps_true")
        if match and row.get("clip") == match[0] and rate is not None and rate[0] > 0:
            return float(rate[0]), f"{rate[0]:g} frames a second, by clips.csv"
    subject = subject_of(path)
    if subject in _LISTED_AT_60:
        return 60.0, f"60 frames a second: subject {subject} was captured at that rate by CMU's listing"
    if subject in _MEASURED_AT_60:
        return 60.0, f"60 frames a second: subject {subject} is listed at 120, but moves and falls rightly only at 60"
    if subject is None:
        return 120.0, "120 frames a second, as most of the database (the file's name does not name its subject)"
    return 120.0, "120 frames a second, by CMU's listing"


def _why_not(skeleton: Skeleton) -> str | None:
    missing = [name for name in ("Hips", *_PARENT) if name not in skeleton.names]
    if missing:
        return f"this skeleton has no joint {missing[0]!r}"
    if len(skeleton) != len(_PARENT) + 1:
        return f"this skeleton has {len(skeleton)} joints, not {len(_PARENT) + 1}"
    for child, parent in _PARENT.items():
        if skeleton.parents[skeleton.index(child)] != skeleton.index(parent):
            return f"here {child!r} does not hang on {parent!r}"
    for name in (*_THORAX_CHILDREN, *_WRIST_CHILDREN["LeftHand"], *_WRIST_CHILDREN["RightHand"]):
        if skeleton.offsets[skeleton.index(name)].any():
            return f"here {name!r} has an offset already, so nothing is missing"
    if not skeleton.offsets[skeleton.index("Spine1")].any():
        return "here 'Spine1' has no offset, from which the thorax is estimated"
    return None


def _thorax(path: Path, subject: int | None, skeleton: Skeleton, unit: float) -> tuple[Floats, str]:
    """The thorax bone [m] in Spine1's frame, and where it comes from."""
    for table, columns in (("thorax.csv", ("x", "y", "z")), ("skeleton_fix.csv", ("thorax_x", "thorax_y", "thorax_z"))):
        for row in _rows(table, path):
            vector = _floats(row, *columns)
            known = row.get("thorax_source", "ASF") == "ASF"
            if subject is not None and known and vector is not None and _subject_in(row) == subject:
                return vector * unit, f"subject {subject}'s own, by {table}"
    below = skeleton.offsets[skeleton.index("Spine1")]
    length = float(np.linalg.norm(below))
    direction = below / length + np.array([0.0025, 0.0, 0.028])
    return direction * (1.010 * length / float(np.linalg.norm(direction))), "estimated from the bone below it"


def _with_bones(skeleton: Skeleton, thorax: Floats) -> Skeleton:
    offsets = skeleton.offsets.copy()
    for name in _THORAX_CHILDREN:
        offsets[skeleton.index(name)] = thorax
    for hand, children in _WRIST_CHILDREN.items():
        for name in children:
            offsets[skeleton.index(name)] = 0.5 * skeleton.offsets[skeleton.index(hand)]
    return skeleton.replace(offsets=offsets)


def _rows(table: str, path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the rows of a table of the data set, next to the clip or in `$POSABLE_DATA`; none where it is missing."""
    files = [path.with_name(table)] if inside_folder(path.parent, table) else []
    if data := os.environ.get("POSABLE_DATA"):
        files += [Path(data) / "cmu" / table, Path(data) / table]
    for file in files:
        try:
            yield from csv.DictReader(io.StringIO(read_text(file, MAX_TABLE), newline=""))
        except (FormatError, csv.Error):
            continue  # not at hand or not such a table: the next source, or the estimate, serves
        return


def _subject_in(row: Mapping[str, str]) -> int | None:
    text = row.get("subject") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _floats(row: Mapping[str, str], *columns: str) -> Floats | None:
    try:
        vector = np.array([float(row[column]) for column in columns])
    except (KeyError, TypeError, ValueError):
        return None
    return vector if np.isfinite(vector).all() else None

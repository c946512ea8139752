"""The model of a limb that the kernels read, and the frames of the four limbs of a body.

A limb has seven values: base (swing v0, v1 and twist v2), mid (flexion v3 about local y, twist v4 about local z) and
end (swing v5, v6).
Its frame has its origin at the base joint and z along the limb at zero posture; local z of each joint runs along its
bone (Kallmann 2008, Framework; specification limb-and-reach, section 1):

    Qb = q(v0, v1, 0) q(0, 0, v2)    mid = Qb (0, 0, upper)
    Qm = Qb q(0, v3, 0)              end = mid + Qm (0, 0, lower)
    Qe = Qm q(0, 0, v4) q(v5, v6, 0)

Arms lie sideways at zero posture (a T pose), legs hang. The swivel is 0 with the elbow down or the knee forward, and
grows outwards. A left limb is the mirror image of the right one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..compute.types import Quat, Records, Vec3

LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")
ROLES = {
    "right_arm": ("right_upper_arm", "right_lower_arm", "right_hand"),
    "left_arm": ("left_upper_arm", "left_lower_arm", "left_hand"),
    "right_leg": ("right_upper_leg", "right_lower_leg", "right_foot"),
    "left_leg": ("left_upper_leg", "left_lower_leg", "left_foot"),
}

LIMB = np.dtype(
    [("paper", "i8"), ("limited", "i8"), ("refine", "i8")]  # swivel reference, limits on, bisections of the search
    + [(name, "f8") for name in ("upper", "lower", "flex", "sign", "offset")]
    + [(name, "f8") for name in ("px", "py", "pz", "ux", "uy", "uz")]  # pole, reference at the pole
    + [(name, "f8") for name in ("fw", "fx", "fy", "fz", "bw", "bx", "by", "bz")]  # canonical = f * Q * b
    + [(name, "f8") for name in ("flex_low", "flex_high")]  # |v3| that the limits allow [rad]
    + [(name, "f8") for name in ("preferred", "low", "high", "step", "growth")]  # the search [rad]
    + [(name, "i8") for name in ("base", "mid", "end", "carrier")]  # joints; `carrier`: of the part it hangs on
    + [(name, "i8") for name in ("first_driven", "last_driven", "first_limit", "first_bone", "last_bone")]
    + [(name, "f8", 4) for name in ("carrier_neutral", "end_neutral")],  # their orientations in the neutral pose
    align=True,
)
"""The model: one row. Rotations Q of the limb's frame are `f Q b` in the canonical frame of the body.

From `base` on: where the limb of a body sits in it, and which rows of `body.packed.PackedBody` are its own; zero for a
limb by itself."""


@dataclass(frozen=True, slots=True)
class Side:
    """What tells one limb from another: how its frame lies in the body, and which way it bends and swivels."""

    axes: tuple[Vec3, Vec3, Vec3]
    """x, y, z of the limb's frame in the canonical frame of its parent."""
    zero: Quat
    """Canonical orientation of the limb's bones at zero posture."""
    flex: float
    """Sign of v3."""
    sign: float
    offset: float
    """The swivel measured from the reference is sign * swivel + offset [rad]."""
    pole: Vec3
    """The direction in which the reference is what the frame says; the transported one is singular opposite to it."""


_HALF = math.sqrt(0.5)
SIDES = {
    # Arms: z sideways, y up; the pole points forward and down, where hands spend their time.
    "right_arm": Side(((0, 0, 1), (0, 1, 0), (-1, 0, 0)), (_HALF, 0, 0, -_HALF), 1.0, 1.0, 0.0, (1, -0.3, 0.3)),
    "left_arm": Side(((0, 0, -1), (0, 1, 0), (1, 0, 0)), (_HALF, 0, 0, _HALF), -1.0, -1.0, 0.0, (-1, -0.3, 0.3)),
    # Legs: z down, y to the left.
    "right_leg": Side(((0, 0, -1), (1, 0, 0), (0, -1, 0)), (1, 0, 0, 0), 1.0, -1.0, math.pi / 2, (0, 0, 1)),
    "left_leg": Side(((0, 0, -1), (1, 0, 0), (0, -1, 0)), (1, 0, 0, 0), 1.0, 1.0, math.pi / 2, (0, 0, 1)),
}


@dataclass(frozen=True, slots=True)
class Search:
    """How the swivel is searched (Kallmann 2008, Automatic swivel angle), in radians.

    From `preferred` outwards to both sides by steps that grow: `step`, `step + growth`, `step + 2 growth`, ...; both
    bounds are tested once. The first valid swivel is moved back to the edge of its valid interval by `refine`
    bisections, so that it moves evenly when that edge does.
    """

    preferred: float
    low: float
    high: float
    step: float = math.radians(1.0)
    growth: float = math.radians(0.4)
    refine: int = 6


SEARCHES = {
    "arm": Search(math.radians(30), math.radians(-15), math.radians(130)),
    "leg": Search(0.0, math.radians(-60), math.radians(60)),
}


def pack_limb(
    name: str, upper: float, lower: float, flexion: tuple[float, float], paper: bool, limited: bool, search: Search
) -> Records:
    """The model of a limb as one row of `LIMB`; `flexion` is the least and the largest |v3| allowed [rad]."""
    from ..math import conjugate, from_matrix, multiply

    side = SIDES[name]
    row = np.zeros(1, dtype=LIMB)
    frame = from_matrix(np.array(side.axes, dtype=np.float64).T)
    back = multiply(conjugate(frame), np.array(side.zero, dtype=np.float64))
    pole = np.array(side.pole, dtype=np.float64) / np.linalg.norm(side.pole)
    down = np.array([0.0, -1.0, 0.0])
    reference = down - (down @ pole) * pole
    reference /= np.linalg.norm(reference)
    for column, value in zip(("fw", "fx", "fy", "fz"), frame, strict=True):
        row[column] = value
    for column, value in zip(("bw", "bx", "by", "bz"), back, strict=True):
        row[column] = value
    for axis, p, u in zip("xyz", pole, reference, strict=True):
        row[f"p{axis}"], row[f"u{axis}"] = p, u
    row["paper"], row["limited"] = paper, limited
    row["upper"], row["lower"], row["flex"] = upper, lower, side.flex
    row["sign"], row["offset"] = side.sign, side.offset
    row["flex_low"], row["flex_high"] = flexion
    row["preferred"], row["low"], row["high"] = search.preferred, search.low, search.high
    row["step"], row["growth"], row["refine"] = search.step, search.growth, search.refine
    return row

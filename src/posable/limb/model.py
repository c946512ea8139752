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

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from ..compute import PosableError
from ..compute.types import ArrayLike, Bools, Floats, Quat, Records, Vec3
from ..limits import JointLimit, Limits
from ..math import axis_angle, between, conjugate, from_matrix, multiply

LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")
ROLES = {
    "right_arm": ("right_upper_arm", "right_lower_arm", "right_hand"),
    "left_arm": ("left_upper_arm", "left_lower_arm", "left_hand"),
    "right_leg": ("right_upper_leg", "right_lower_leg", "right_foot"),
    "left_leg": ("left_upper_leg", "left_lower_leg", "left_foot"),
}

LIMB_VALUES = (
    *("base_swing_x", "base_swing_y", "base_twist"),
    *("flexion", "mid_twist", "end_swing_x", "end_swing_y"),
)
"""Names of the seven values of a limb, v0 to v6: base is the shoulder or hip, mid the elbow or knee, end the wrist or
ankle. The sign of v3, about local y, is that of the side's frame; as "flexion" it is positive wherever the limb bends.
"""

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


def named_values(values: Floats) -> dict[str, Floats]:
    """Return the values (..., 7) [rad] of a limb by their `LIMB_VALUES`, (...) each; the flexion is 0 when straight."""
    columns = np.moveaxis(np.asarray(values), -1, 0)
    return {name: np.abs(one) if name == "flexion" else one for name, one in zip(LIMB_VALUES, columns, strict=True)}


@dataclass(frozen=True, slots=True)
class Side:
    """The difference between limbs: how its frame lies in the body, and how it bends and swivels."""

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
    """The swivel search and its parameters (Kallmann 2008, Automatic swivel angle), in radians.

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
    """Return the model of a limb as one row of `LIMB`; `flexion` is the smallest and the largest |v3| allowed [rad]."""
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


def checked_search(search: Search) -> Search:
    """Return the search itself; raise where its angles or steps make no sense."""
    angles = (search.preferred, search.low, search.high, search.step, search.growth)
    if not all(map(math.isfinite, angles)) or search.low > search.high:
        raise PosableError(f"{search}: expected finite angles with low <= high")
    if search.step <= 0.0 or search.growth < 0.0 or search.refine < 0:
        raise PosableError(f"{search}: expected step above 0, growth and refine 0 or more")
    return search


def limit_rows(name: str, limits: Limits | None) -> tuple[Records, Floats]:
    """Return the packed limits of the limb's three joints and their curves; free ones, never read, without limits."""
    if limits is None:
        limits = Limits({role: JointLimit() for role in ROLES[name]})
    rows = limits.packed[[limits.index(role) for role in ROLES[name]]]
    return np.ascontiguousarray(rows), np.array(limits.curves)


def allowed_bones(name: str, limits: Limits, count: int = 120) -> Floats:
    """Return (count, 4) orientations of the base joint in the limb's frame, bones spread over all that limits allow.

    The twist of each is the middle of what the limits allow.
    """
    role, side = ROLES[name][0], SIDES[name]
    sphere = np.arange(1000) + 0.5
    z, azimuth = 1.0 - sphere / 500.0, sphere * math.pi * (1.0 + math.sqrt(5.0))
    across = np.sqrt(1.0 - z * z)
    directions = np.stack([across * np.cos(azimuth), across * np.sin(azimuth), z], axis=-1)
    limit = limits[role]
    swing_only = Limits({role: dataclasses.replace(limit, twist=None)})
    mirror = -1.0 if limit.is_mirrored else 1.0
    rest = np.array(limit.direction) * [mirror, 1.0, 1.0]
    allowed = directions[swing_only.contains(role, between(rest, directions))]
    if not len(allowed):
        allowed = rest[None]
    chosen = [allowed[0]]
    far = np.full(len(allowed), np.inf)
    while len(chosen) < min(count, len(allowed)):
        far = np.minimum(far, np.linalg.norm(allowed - chosen[-1], axis=-1))
        chosen.append(allowed[int(np.argmax(far))])
    middle = 0.0 if limit.twist is None else limit.twist.middle
    canonical = multiply(between(rest, np.array(chosen)), axis_angle(rest, middle * mirror))
    frame = from_matrix(np.array(side.axes, dtype=np.float64).T)
    zero = np.array(side.zero, dtype=np.float64)
    return np.ascontiguousarray(multiply(multiply(conjugate(frame), canonical), multiply(conjugate(zero), frame)))


def flexion_range(name: str, limits: Limits, flex: float) -> tuple[float, float]:
    """Return the smallest and largest flexion [rad] that the mid joint's limit allows, by scanning and bisection."""
    side = SIDES[name]
    axis = np.array(side.axes[1], dtype=np.float64) * flex
    zero = np.array(side.zero, dtype=np.float64)
    role = ROLES[name][1]

    def fits(bend: ArrayLike) -> Bools:
        rotation = multiply(multiply(conjugate(zero), axis_angle(axis, bend)), zero)
        return np.asarray(limits.contains(role, rotation, 0.0))

    grid = np.linspace(0.0, math.pi, 721)
    inside = np.flatnonzero(fits(grid))
    if not len(inside):
        raise PosableError(f"the limits of {role!r} allow no flexion at all; give it a Hinge that the limb can bend in")
    low, high = int(inside[0]), int(inside[-1])
    edges = []
    for good, bad in ((low, low - 1), (high, high + 1)):
        a, b = grid[good], grid[bad] if 0 <= bad < len(grid) else grid[good]
        for _ in range(50):
            middle = 0.5 * (a + b)
            a, b = (middle, b) if fits(middle) else (a, middle)
        edges.append(float(a))
    return edges[0], edges[1]

"""Which tracker is on which part of the body, found from where they are while a person stands.

The joints of a body that stands, arms hanging or out to the sides, are laid under the trackers: on the floor, as tall
as the highest tracker says, facing as the headset does, or ahead (+Z) where there is none. Trackers and parts are then
paired so that squared distances are smallest altogether (the assignment problem, Kuhn 1955). Headsets are on heads,
controllers in hands. A tracker of an elbow or a knee may be worn anywhere along the two bones that meet there. Which
side is left follows from which direction is ahead, and can be corrected later: people who move reach and step ahead of
themselves (`faces_backwards`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..body.roles import MARKERS
from ..compute import PosableError
from ..compute.types import Floats, Ints
from ..math import axis_angle, rotate
from .board import Point
from .bones import t_pose
from .intake import part_of

if TYPE_CHECKING:
    from ..body import Humanoid

EXTRA = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg", "chest")
"""Parts that trackers are on besides the six of `MARKERS`."""
COST, WITHOUT_END = 0.002, 0.007
"""[statures squared] of a set with elbows, knees or a chest; and more with elbows but no hands, or knees but no feet:
the six of `MARKERS` come first."""
STATURE, SPREAD, UNUSUAL = 1.7, 0.2, 0.004
"""[m]; what is off it by a factor of exp(`SPREAD`) costs so much [statures squared]."""
HEIGHT, NO_FLOOR = 0.3, 0.03
"""[m]; a floor that is so far from 0 costs so much [statures squared], and none costs more."""
MEAN, LARGEST = 0.075, 0.16
"""[statures] by which trackers are off at most, root of the mean square and each, as they are worn."""
UNEVEN = 0.005
"""[statures squared] for each tracker of a set that is not the same on both sides."""
SOLES = 0.045
"""[statures] from the floor to the ankles."""
MEETING = {
    f"{side}_lower_{limb}": (f"{side}_upper_{limb}", f"{side}_{end}")
    for side in ("left", "right")
    for limb, end in (("arm", "hand"), ("leg", "foot"))
}
"""Elbows and knees, with the other ends of the two bones that meet there."""
ALONG = (0.25, 0.5)
"""Of the way from the joint to either end, where trackers of elbows and knees are worn."""
FORBIDDEN = 1e3
UP = np.array([0.0, 1.0, 0.0])
FLAT = 0.3
"""A head that looks up or down further than this cosine from level does not show where ahead is."""


@dataclass(frozen=True)
class Assignment:
    """Which tracker is on which part."""

    roles: dict[str, str]
    """Name of a tracker to the part it is on."""
    pose: str
    """"neutral" or "t": how the person stood."""
    distance: float
    """[m] between trackers and where they were expected, root of the mean square."""
    distances: dict[str, float] = field(default_factory=dict)
    """[m] from there of each tracker that was found by where it is."""
    from_joints: dict[str, float] = field(default_factory=dict)
    """[m] of the same from the joint itself."""
    stature: float = 0.0
    """[m] of the person, as it seems; 0 where all trackers say themselves what they are on."""

    @property
    def misfit(self) -> float:
        """How far trackers are off, as a multiple of what people who stand show at most."""
        if not self.distances:
            return 0.0
        return max(self.distance / MEAN, max(self.distances.values()) / LARGEST) / self.stature

    @property
    def fits(self) -> bool:
        """Whether the trackers may be somebody's who stands."""
        return self.misfit <= 1.0


def assign(points: Sequence[Point], body: Humanoid, fixed: Mapping[str, str] | None = None) -> Assignment:
    """Return which tracker is on which part of a person who stands.

    Args:
        points: the trackers; those whose names say what they are on stay there.
        body: whose proportions the person has.
        fixed: name of a tracker to its part, where that is known; default none.
    """
    known = {point.name: role for point in points if (role := (fixed or {}).get(point.name) or part_of(point.name))}
    free = [point for point in points if point.name not in known]
    if not free:
        return Assignment(known, "neutral", 0.0)
    roles = [role for role in (*MARKERS, *EXTRA) if role in body.roles and role not in known.values()]
    fits: list[_Fit] = []
    for pose in ("neutral", "t"):
        frames = body.skeleton.forward(body.neutral_pose if pose == "neutral" else t_pose(body))
        stand = _Stand(pose, body, frames.positions, heading(points))
        for some, cost in _sets(roles, len(free)):
            if not all(_may_be(point, some) for point in free):
                continue
            for low in (True, False):
                fit = _fit(stand, points, free, some, known, low)
                if fit is not None:
                    fits.append(replace(fit, cost=fit.cost + cost))
    if not fits:
        heights = [point.position[1] for point in points]
        high = f"{min(heights):.3g} to {max(heights):.3g} m high"
        raise PosableError(f"trackers are {high}; expected a person who stands, in metres, y up")
    best = min(fits, key=lambda fit: fit.cost)
    return Assignment(
        known | best.roles,
        best.pose,
        math.sqrt(sum(far * far for far in best.distances.values()) / len(best.distances)),
        best.distances,
        best.from_joints,
        best.stature,
    )


@dataclass(frozen=True)
class _Fit:
    """Trackers on parts of one stand."""

    cost: float
    """[statures squared]"""
    pose: str
    stature: float
    roles: dict[str, str]
    distances: dict[str, float]
    from_joints: dict[str, float]


@dataclass(frozen=True)
class _Stand:
    """A body that stands, before it is laid under trackers."""

    pose: str
    body: Humanoid
    joints: Floats
    """(J, 3) [m]"""
    facing: float
    """[rad]"""

    @property
    def floor(self) -> float:
        """Height of the ankles [m]."""
        return min(float(self.joints[self.body.index(f"{side}_foot")][1]) for side in ("left", "right"))


def _may_be(point: Point, roles: Sequence[str]) -> bool:
    """Return whether a device can be on any of these parts: headsets are on heads, controllers in hands."""
    if point.kind == "headset":
        return "head" in roles
    return point.kind != "controller" or any(role.endswith("hand") for role in roles)


def _sets(roles: Sequence[str], count: int) -> Iterator[tuple[list[str], float]]:
    """Yield sets of so many parts that trackers may be on, and what each costs: both sides alike, or any."""
    groups: dict[str, list[str]] = {}
    for role in roles:
        groups.setdefault(role.removeprefix("left_").removeprefix("right_"), []).append(role)
    for k in range(1, len(groups) + 1):
        for chosen in combinations(groups, k):
            made = [role for name in chosen for role in groups[name]]
            if len(made) == count:
                alone = ("lower_arm" in chosen and "hand" not in chosen) + (
                    "lower_leg" in chosen and "foot" not in chosen
                )
                yield made, COST * sum(role in EXTRA for role in made) + WITHOUT_END * alone
    yield list(roles), UNEVEN + (0.0 if count > len(roles) else UNEVEN * count)


def _fit(
    stand: _Stand,
    points: Sequence[Point],
    free: Sequence[Point],
    roles: Sequence[str],
    known: Mapping[str, str],
    low: bool,
) -> _Fit | None:
    """Return how trackers fit parts; None where nobody is so large or so small.

    `low`: the floor is found from the lowest tracker, and not at 0.
    """
    from scipy.optimize import linear_sum_assignment

    body, joints = stand.body, stand.joints
    worn = [body.index(role) for role in (*roles, *(role for role in known.values() if role in body.roles))]
    every = np.array([point.position for point in points])
    least, most = float(every[:, 1].min()), float(every[:, 1].max())
    top, bottom = float(joints[worn, 1].max()) - stand.floor, float(joints[worn, 1].min()) - stand.floor
    ground = 0.0
    if low:
        if top - bottom < 0.2 * body.height:
            return None
        scale = (most - least) / (top - bottom)
        ground = least - bottom * scale - SOLES * scale * body.height
    else:
        scale = most / (top + SOLES * body.height)
    if not 0.05 < scale < 20.0:
        return None
    expected, owners = _worn_positions(body, joints, roles)
    middle = joints[body.index("hips")] * [1.0, 0.0, 1.0]
    laid = rotate(axis_angle(UP, stand.facing), expected - middle) * scale
    laid[:, 1] += ground + (SOLES * body.height - stand.floor) * scale
    centre = _centre(points, stand.facing)
    positions, stature = np.array([point.position for point in free]), scale * body.height
    forbidden = np.array([[0.0 if _may_be(point, [role]) else FORBIDDEN for role in roles] for point in free])
    firsts = np.searchsorted(owners, np.arange(len(roles)))
    for _ in range(2):  # then with the middle of what was found
        moved = laid + np.array([centre[0], 0.0, centre[1]])
        all_squares = ((positions[:, None] - moved[None]) ** 2).sum(axis=-1)
        squares = np.minimum.reduceat(all_squares, firsts, axis=-1)
        rows, columns = linear_sum_assignment(squares / stature**2 + forbidden)
        nearest = [firsts[c] + int(np.argmin(all_squares[r, owners == c])) for r, c in zip(rows, columns, strict=True)]
        centre = centre + (positions[rows] - moved[nearest]).mean(axis=0)[[0, 2]]
    odd = UNUSUAL * (math.log(stature / STATURE) / SPREAD) ** 2 + NO_FLOOR * min(1.0, abs(ground) / HEIGHT) ** 2
    chosen, from_joints = squares[rows, columns], all_squares[rows, firsts[columns]]
    names = [free[row].name for row in rows]
    return _Fit(
        float((chosen / stature**2 + forbidden[rows, columns]).sum()) + odd,
        stand.pose,
        stature,
        dict(zip(names, (roles[column] for column in columns), strict=True)),
        dict(zip(names, np.sqrt(chosen).tolist(), strict=True)),
        dict(zip(names, np.sqrt(from_joints).tolist(), strict=True)),
    )


def _worn_positions(body: Humanoid, joints: Floats, roles: Sequence[str]) -> tuple[Floats, Ints]:
    """Return ((P, 3) [m] where trackers of parts are worn, the joint first; (P,) the part of each)."""
    found, owners = [], []
    for k, role in enumerate(roles):
        at = joints[body.index(role)]
        ends = [joints[body.index(end)] for end in MEETING.get(role, ())]
        along_bones = [at, *(at + along * (end - at) for end in ends for along in ALONG)]
        found += along_bones
        owners += [k] * len(along_bones)
    return np.array(found), np.array(owners)


def heading(points: Sequence[Point]) -> float:
    """Return where a person faces [rad] to the left of +Z, by the headset; 0 where there is none that looks ahead."""
    for point in points:
        if point.kind == "headset" and point.rotation is not None:
            ahead = rotate(np.array(point.rotation), (0.0, 0.0, 1.0))
            if math.hypot(ahead[0], ahead[2]) > FLAT:
                return math.atan2(ahead[0], ahead[2])
    return 0.0


def _centre(points: Sequence[Point], facing: float) -> Floats:
    """Return x and z [m] in the middle of the trackers: halfway between the outermost, across and along the heading."""
    flat = np.array([[point.position[0], point.position[2]] for point in points])
    across = np.array([math.cos(facing), -math.sin(facing)])
    ahead = np.array([math.sin(facing), math.cos(facing)])
    middle: Floats = np.zeros(2)
    for axis in (across, ahead):
        at = flat @ axis
        middle = middle + 0.5 * (at.min() + at.max()) * axis
    return middle


def faces_backwards(roles: Sequence[str], positions: Floats) -> bool:
    """Return whether a person who moves seems to face away from where the parts' sides say, so that sides are swapped.

    Hands reach ahead of the hips, and the head bends ahead of them.

    Args:
        roles: the part of each point.
        positions: (F, M, 3) [m], NaN where lost.
    """
    names = list(roles)
    pairs = [(f"left_{part}", f"right_{part}") for part in ("hand", "foot", "lower_leg", "lower_arm")]
    pairs = [(a, b) for a, b in pairs if a in names and b in names]
    reaching = [k for k, role in enumerate(names) if role in ("left_hand", "right_hand", "head")]
    if not pairs or "hips" not in names or not reaching:
        return False
    hips = positions[:, names.index("hips")]
    across = np.nanmean([positions[:, names.index(a)] - positions[:, names.index(b)] for a, b in pairs], axis=0)
    ahead = np.stack([-across[:, 2], np.zeros(len(across)), across[:, 0]], axis=-1)
    length = np.linalg.norm(ahead, axis=-1, keepdims=True)
    ahead = ahead / np.where(length > 1e-6, length, np.nan)
    reach = ((positions[:, reaching] - hips[:, None]) * ahead[:, None]).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        found = np.nanmean(reach) if np.isfinite(reach).any() else 0.0
    return bool(found < 0.0)


def swapped(roles: Mapping[str, str]) -> dict[str, str]:
    """Return the same parts with left and right exchanged."""
    other = {"left": "right", "right": "left"}
    found = {}
    for name, role in roles.items():
        side, _, part = role.partition("_")
        found[name] = f"{other[side]}_{part}" if side in other else role
    return found

"""Which tracker is on which part of the body, found from where they are while a person stands.

The joints of a body that stands, arms hanging or out to the sides, are laid under the trackers: on the floor, as tall
as the highest tracker says, facing as the headset does, or ahead (+Z) where there is none. Trackers and parts are then
paired so that squared distances are smallest altogether (the assignment problem, Kuhn 1955). Headsets are on heads,
controllers in hands. Which side is left follows from which direction is ahead, and can be corrected later: people who
move reach and step ahead of themselves (`faces_backwards`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.roles import MARKERS
from ..compute import PosableError
from ..compute.types import Floats
from ..math import axis_angle, rotate
from ..skeleton import Pose
from .board import Point
from .bones import t_pose
from .intake import part_of

if TYPE_CHECKING:
    from ..body import Humanoid

EXTRA = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg", "chest")
"""Parts that trackers are on besides the six of `MARKERS`; each costs a little, so that the six come first."""
COST = 0.02
"""[statures squared] of one of those."""
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
    """[m] between trackers and joints, root of the mean square."""


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
    found: Assignment | None = None
    for pose in ("neutral", "t"):
        made = _paired(points, free, known, body, pose)
        if found is None or made.distance < found.distance:
            found = made
    assert found is not None
    return found


def _paired(
    points: Sequence[Point], free: Sequence[Point], known: Mapping[str, str], body: Humanoid, pose: str
) -> Assignment:
    from scipy.optimize import linear_sum_assignment

    roles = [role for role in (*MARKERS, *EXTRA) if role in body.roles and role not in known.values()]
    if len(free) > len(roles):
        free = sorted(free, key=lambda point: (point.kind == "tracker", point.name))[: len(roles)]
    standing: Pose = body.neutral_pose if pose == "neutral" else t_pose(body)
    frames = body.skeleton.forward(standing)
    joints = np.array([frames.positions[body.index(role)] for role in roles])
    middle = frames.positions[body.index("hips")] * [1.0, 0.0, 1.0]
    floor = min(frames.positions[body.index(f"{side}_foot")][1] for side in ("left", "right"))
    positions = np.array([point.position for point in free])
    every = np.array([point.position for point in points])
    low, high = every[:, 1].min(), every[:, 1].max()
    top = float(frames.positions[body.index("head")][1])
    lying = low < 0.35 * high or len(points) < 4  # some of them at the feet: the floor is near the lowest
    ground = low - 0.05 * body.height if lying and len(points) >= 4 else 0.0
    scale = max(high - ground, 1e-3) / max(top - floor, 1e-3)
    if not 0.05 < scale < 20.0:
        raise PosableError(
            f"trackers span {high - ground:.3g} m upwards; expected a person who stands, in metres, y up"
        )
    facing = heading(points)
    laid = rotate(axis_angle(UP, facing), joints - middle) * scale
    laid[:, 1] += ground - floor * scale
    centre = _centre(points, facing)
    laid += np.array([centre[0], 0.0, centre[1]])
    stature = scale * body.height
    cost = ((positions[:, None] - laid[None]) ** 2).sum(axis=-1) / stature**2
    cost[:, [role not in MARKERS for role in roles]] += COST
    for row, point in enumerate(free):
        if point.kind == "headset":
            cost[row, [role != "head" for role in roles]] += FORBIDDEN
        if point.kind == "controller":
            cost[row, ["hand" not in role for role in roles]] += FORBIDDEN
    rows, columns = linear_sum_assignment(cost)
    pairs = {free[row].name: roles[column] for row, column in zip(rows, columns, strict=True)}
    chosen = ((positions[rows] - laid[columns]) ** 2).sum(axis=-1)
    return Assignment(dict(known) | pairs, pose, math.sqrt(float(chosen.mean())))


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

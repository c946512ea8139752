"""`Balance`: the centre of mass of a body, and whether it is over the feet.

Segment masses are those of grown people (de Leva 1996, Table 4, men; women's differ by up to 2 % of the body): a
fraction of the body each, at a fraction of the way between two joints. A character's skin weighs nothing, so a rig of
any proportions is treated as if its segments weighed what a person's do.

Feet carry where they touch the ground: each of them is a rectangle from heel to ball, as wide as a foot, and another
from there to the tip of the toes, which bends with them. What of it is higher than `LIFTED` over the lowest point of
both feet carries nothing. The support polygon is the convex hull of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..compute.types import Bools, Floats
from ..math import rotate
from ..skeleton import Frames

if TYPE_CHECKING:
    from .humanoid import Humanoid

SEGMENTS = (  # from, to, how far between, mass: of each side
    ("upper_arm", "lower_arm", 0.577, 0.0271),
    ("lower_arm", "hand", 0.457, 0.0162),
    ("hand", "hand", 0.0, 0.0061),
    ("upper_leg", "lower_leg", 0.410, 0.1416),
    ("lower_leg", "foot", 0.440, 0.0433),
    ("foot", "foot", 0.0, 0.0137),
)
TRUNK = ((0.0, 0.1117), (0.45, 0.1633), (0.85, 0.1596))  # where along the spine (`Humanoid.arc_length`), mass
HEAD, HEAD_CENTRE = 0.0694, 0.045  # mass; of the stature, its centre over the head's joint
HEEL, TIP, HALF_WIDTH = 0.4, 0.45, 0.3  # of the distance from ankle to ball: behind the one, beyond the other, aside
WITHOUT_TOES = 0.16  # of a leg's length: from the ankle to the ball of a foot that has no joint there
LIFTED = 0.02  # of a leg's length: higher over the lowest point of the feet than this, nothing carries
BLOCK = 4096  # poses whose hulls are taken at once: each takes some kilobytes


@dataclass(frozen=True, eq=False)
class Balance:
    """How a pose stands, one or a batch."""

    center_of_mass: Floats
    """(..., 3) in the world [m]."""
    margin: Floats
    """(...) [m]: how far inside the support polygon the centre of mass is, seen from above; below 0 where a body that
    held still would fall."""


def balance(body: Humanoid, frames: Frames) -> Balance:
    """Return the balance of poses of a body from their forward kinematics; see `Humanoid.balance`."""
    center = center_of_mass(body, frames)
    points, carries = foot_points(body, frames)
    level = (points - center[..., None, :])[..., [0, 2]].reshape(-1, points.shape[-2], 2)
    carrying = carries.reshape(level.shape[:-1])
    margin = np.empty(len(level))
    for first in range(0, len(level), BLOCK):
        block = slice(first, first + BLOCK)
        margin[block] = hull_margin(level[block], carrying[block])
    return Balance(center, margin.reshape(center.shape[:-1]))


def hull_margin(points: Floats, counts: Bools) -> Floats:
    """Return how far (N,) [m] the origin is inside the convex hull of those points (N, P, 2) [m] that count (N, P),
    below 0 where it is outside.

    That is the least, over all directions, of how far the hull extends beyond the origin. It is attained along the
    normal of an edge, or along the line to a corner: every pair of points is tried as an edge, every point as a corner.
    """
    one, other = np.triu_indices(points.shape[1], 1)
    edges = points[:, other] - points[:, one]
    headings = np.concatenate([np.stack([-edges[..., 1], edges[..., 0]], axis=-1), points], axis=1)
    length = np.linalg.norm(headings, axis=-1)
    usable = np.concatenate([counts[:, one] & counts[:, other], counts], axis=1) & (length > 1e-12)
    headings = headings / np.where(usable, length, 1.0)[..., None]
    along = headings @ np.swapaxes(points, 1, 2)
    counted = counts[:, None, :]
    ahead, behind = np.where(counted, along, -np.inf).max(axis=-1), np.where(counted, -along, -np.inf).max(axis=-1)
    return np.asarray(np.where(usable, np.minimum(ahead, behind), np.inf).min(axis=-1))


def center_of_mass(body: Humanoid, frames: Frames) -> Floats:
    """Return the centre of mass (..., 3) in the world [m]."""
    positions = frames.positions
    total, mass = np.zeros((*positions.shape[:-2], 3)), 0.0
    for side in ("left", "right"):
        for first, last, at, part in SEGMENTS:
            a, b = (positions[..., body.index(f"{side}_{role}"), :] for role in (first, last))
            total, mass = total + part * (a + at * (b - a)), mass + part
    arc, spine = body.arc_length, positions[..., body.spine, :]
    for at, part in TRUNK:
        k = int(np.clip(np.searchsorted(arc, at, side="right") - 1, 0, len(arc) - 2))
        between = (at - arc[k]) / max(arc[k + 1] - arc[k], 1e-9)
        total, mass = (
            total + part * (spine[..., k, :] + between * (spine[..., k + 1, :] - spine[..., k, :])),
            mass + part,
        )
    up = rotate(body.canonical_orientation(frames, body.index("head")), [0.0, 1.0, 0.0])
    total = total + HEAD * (positions[..., body.index("head"), :] + HEAD_CENTRE * body.height * up)
    return np.asarray(total / (mass + HEAD))


def foot_points(body: Humanoid, frames: Frames) -> tuple[Floats, Bools]:
    """Return the corners (..., 12, 3) of both feet in the world [m], two at each heel, ball and tip of the toes, and
    whether (..., 12) each carries.
    """
    corners = []
    for side in ("left", "right"):
        foot = body.index(f"{side}_foot")
        ankle, orientation = frames.positions[..., foot, :], body.canonical_orientation(frames, foot)
        ball = foot_ball(body, side)
        length = float(np.hypot(ball[0], ball[2]))
        ahead = np.array([ball[0], 0.0, ball[2]]) / length
        aside = HALF_WIDTH * length * np.array([ahead[2], 0.0, -ahead[0]])
        # The sole of a standing foot is level: its heel is as low as the ball.
        heel = np.array([0.0, ball[1], 0.0]) - HEEL * length * ahead
        corners += [
            ankle + rotate(orientation, point) for point in (heel - aside, heel + aside, ball - aside, ball + aside)
        ]
        # Toes bend: those of a foot on tiptoe stay flat, and carry.
        bends = has_toes(body, side)
        toes = body.canonical_orientation(frames, body.index(f"{side}_toes")) if bends else orientation
        middle = ankle + rotate(orientation, ball)
        corners += [middle + rotate(toes, TIP * length * ahead + point) for point in (-aside, aside)]
    points = np.stack(corners, axis=-2)
    heights = points[..., 1] - points[..., 1].min(axis=-1, keepdims=True)
    return points, np.asarray(heights <= LIFTED * body.leg_length)


def foot_ball(body: Humanoid, side: str) -> Floats:
    """Return (3,) the ball of a foot from its ankle [m], in the foot's canonical frame: the joint of its toes, or as
    far ahead of the ankle and below it as people's is.
    """
    neutral = body.neutral_frames.positions
    if has_toes(body, side):
        return np.asarray(neutral[body.index(f"{side}_toes")] - neutral[body.index(f"{side}_foot")])
    return WITHOUT_TOES * body.leg_length * np.array([0.0, -0.5, 1.0])


def has_toes(body: Humanoid, side: str) -> bool:
    """Return whether a foot has a joint at the ball, ahead of its ankle, about which its toes bend."""
    if f"{side}_toes" not in body.roles:
        return False
    neutral = body.neutral_frames.positions
    ball = neutral[body.index(f"{side}_toes")] - neutral[body.index(f"{side}_foot")]
    return float(np.hypot(ball[0], ball[2])) > 0.05 * body.leg_length

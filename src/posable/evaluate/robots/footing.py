"""How a robot's feet stand where the person's do: slide, penetration and height above the floor.

A foot of the person is in contact while its toe is lower than 6 cm above the floor and slower than 25 cm/s, the floor
being 2 cm under the lowest position of both toes in the clip; contacts of less than a tenth of a second are left out.
Nothing of the robot decides what a contact is, so a foot that never comes down, or that is lifted a moment later than
the person's, cannot escape being measured.

Of the robot, the sole counts, the flat underside of its foot: how far its tip moves along the floor between any two
frames of a contact (the tip, because people roll over their toes: a rigid foot that rises on its tip does not slide),
how far any corner of it is under the floor, and how high its lowest corner is above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...body import Humanoid
from ...compute.types import Bools, Floats
from ...skeleton import Motion

SIDES = ("left", "right")
TOE_ON_FLOOR = 0.02  # [m]: the lowest position of a toe's joint above the floor
LOW, SLOW = 0.06, 0.25  # [m], [m/s]
SHORTEST = 0.1  # [s]
TIP = 0.1  # of a sole's length: what is no further back belongs to its tip


@dataclass(frozen=True)
class FootContact:
    """A foot of the person on the floor, and what the robot's does meanwhile."""

    side: str
    first: int
    last: int
    """Both included."""
    slide: float
    """The largest distance along the floor between two positions of the tip of the robot's sole [m]."""
    penetration: float
    """How deep the sole is under the floor at worst [m]; 0 where it never is."""
    height: float
    """How high its lowest corner is above the floor at worst [m]."""


def floor_of(motion: Motion, body: Humanoid) -> float:
    """Return the height of the floor under a person [m]: 2 cm under the lowest position of both toes."""
    return float(_toes(motion, body)[..., 1].min(initial=np.inf)) - TOE_ON_FLOOR


def stands(motion: Motion, body: Humanoid) -> Bools:
    """Return in which frames (F, 2) the left and the right foot of a person are in contact."""
    toes = _toes(motion, body)
    if not len(toes):
        return np.zeros((0, 2), np.bool_)
    speeds = np.zeros(toes.shape[:2])
    if len(toes) > 1:
        speeds = np.linalg.norm(np.gradient(toes, 1.0 / motion.fps, axis=0), axis=-1)
    return np.asarray((toes[..., 1] < floor_of(motion, body) + LOW) & (speeds < SLOW))


def foot_contacts(standing: Bools, fps: float, tips: Floats, heights: Floats) -> tuple[FootContact, ...]:
    """Return all contacts, with what the robot's soles do in them.

    Args:
        standing: (F, 2) frames in which the person's feet are in contact.
        fps: frames a second.
        tips: (F, 2, 3) [m] the tips of the robot's soles.
        heights: (F, 2) [m] their lowest corners, above the robot's floor.
    """
    found = []
    for k, side in enumerate(SIDES):
        for first, last in _runs(standing[:, k]):
            if last - first + 1 < SHORTEST * fps:
                continue
            rows = slice(first, last + 1)
            low = heights[rows, k]
            penetration, height = max(0.0, -float(low.min())), max(0.0, float(low.max()))
            found.append(FootContact(side, first, last, _widest(tips[rows, k][:, [0, 2]]), penetration, height))
    return tuple(found)


def sole_points(motion: Motion, body: Humanoid) -> tuple[Floats, Floats]:
    """Return the tips (F, 2, 3) [m] of a robot's soles and the heights (F, 2) [m] of their lowest corners."""
    parts = body.robot_parts
    assert parts is not None
    frames = body.skeleton.forward(motion.pose)
    tips, heights = [], []
    for side in SIDES:
        sole = parts.soles[f"{side}_foot"]
        ahead = sole.outline @ sole.forward
        tip = sole.outline[ahead > ahead.max() - TIP * sole.length].mean(axis=0)
        tips.append(frames.point(sole.joint, tip))
        corners = [frames.point(sole.joint, corner)[..., 1] for corner in sole.outline]
        heights.append(np.min(corners, axis=0))
    return np.stack(tips, axis=1), np.stack(heights, axis=1)


def _toes(motion: Motion, body: Humanoid) -> Floats:
    """Return the positions (F, 2, 3) [m] of both toes; of the ankles where a rig has no toes."""
    roles = [f"{side}_toes" if f"{side}_toes" in body.roles else f"{side}_foot" for side in SIDES]
    return body.skeleton.forward(motion.pose).positions[:, [body.roles[role] for role in roles]]


def _widest(points: Floats) -> float:
    """Return the largest distance [m] between two of the points (N, 2); of very many, of those at the borders."""
    if len(points) > 64:  # the two furthest are corners of the hull, and lie outermost in one of many directions
        angles = np.linspace(0.0, np.pi, 180, endpoint=False)
        along = points @ np.array([np.cos(angles), np.sin(angles)])
        points = points[np.unique(np.concatenate([along.argmin(axis=0), along.argmax(axis=0)]))]
    return float(np.linalg.norm(points[:, None] - points[None], axis=-1).max())


def _runs(flags: Bools) -> Sequence[tuple[int, int]]:
    """Return the first and the last frame of each stretch of frames that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(end) - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]

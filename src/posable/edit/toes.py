"""Toes on the floor.

Toes are captured badly: a single marker tells their pitch, which changes by 15 degrees from one frame to the next, and
they point into the floor that they stand on. A skin that followed them would lift the whole leg. So while a ball stands
on the floor its toes point down no further than the floor, and some time before and after they bend there and back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..body import Humanoid
from ..compute.types import Bools, Floats
from ..math import conjugate, exp, multiply, rotate
from ..skeleton import Frames, Pose
from .contacts import GROUND, Contact
from .repair import ramp

UNBEND = 0.3  # [s]: how long toes take to point down after their ball has left the floor, and before it stands
STEEP = 0.7  # [rad]: toes that point down further while they stand do so on their tips, on a body that kneels
CALM = 0.03  # [s]: standard deviation of the filter on their pitch, and half the width of that on outliers
HALVINGS = 12


def toes_on_floor(body: Humanoid, pose: Pose, contacts: Sequence[Contact], fps: float) -> Pose:
    """Return the poses (F,) with toes that point down no further than the floor; limits keep them as they did."""
    from scipy.ndimage import gaussian_filter1d, median_filter

    rotations, frames = pose.rotations.copy(), body.skeleton.forward(pose)
    for side in ("left", "right"):
        joint = body.roles.get(f"{side}_toes")
        if joint is None:
            continue
        ahead = rotate(body.canonical_orientation(frames, joint), np.array([0.0, 0.0, 1.0]))
        level = np.hypot(ahead[:, 0], ahead[:, 2])
        down = np.arctan2(-ahead[:, 1], level)
        calm = gaussian_filter1d(median_filter(down, 2 * round(CALM * fps) + 1), CALM * fps, mode="nearest")
        standing = _standing(contacts, f"{side}_toes", calm)
        upward = down - calm + ramp(standing, UNBEND * fps) * np.maximum(calm, 0.0)
        across = np.stack([ahead[:, 2], np.zeros(len(ahead)), -ahead[:, 0]], axis=1) / np.maximum(level, 1e-9)[:, None]
        rotation = _inside(body, frames, side, -upward[:, None] * across)
        rotated = multiply(exp(rotation), frames.orientations[:, joint])
        rotations[:, joint] = multiply(conjugate(frames.orientations[:, body.skeleton.parents[joint]]), rotated)
    return pose.replace(rotations=rotations)


def _standing(contacts: Sequence[Contact], part: str, down: Floats) -> Bools:
    """Return the frames (F,) in which toes stand on their underside; `down` (F,) is how far they point down [rad]."""
    standing = np.zeros(len(down), np.bool_)
    for contact in contacts:
        rows = slice(contact.first, contact.last + 1)
        if contact.part == part and contact.on == GROUND and np.median(down[rows]) < STEEP:
            standing[rows] = True
    return standing


def _inside(body: Humanoid, frames: Frames, side: str, rotation: Floats) -> Floats:
    """Return as much of rotation vectors (F, 3) [rad], in the world, as takes toes no further out of their limits."""
    role = f"{side}_toes"
    if role not in body.limits:
        return rotation
    foot, toes = (body.canonical_orientation(frames, body.roles[name]) for name in (f"{side}_foot", role))

    def outside(part: Floats) -> Floats:
        return np.asarray(body.limits.excess(role, multiply(conjugate(foot), multiply(exp(part), toes))))

    most = outside(np.zeros_like(rotation)) + 1e-9
    low, high = np.zeros(len(rotation)), np.ones(len(rotation))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        inside = outside(middle[:, None] * rotation) <= most
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray(rotation * np.where(outside(rotation) <= most, 1.0, low)[:, None])

"""Where the camera looks from: views of a body from named sides, and one that shows all of a box."""

from __future__ import annotations

import numpy as np

from ... import math as pm
from ...compute.types import Floats
from ..core.actor import Actor, canonical_orientation

FIELD = np.deg2rad(32.0)
"""Vertical field of view of a window: long enough that a body is not distorted."""
FILLED = 0.84
"""Fraction of a window's height that bodies take."""
ASPECT = 1.3
"""Width over height that is there for bodies in every window, beside the panel."""
CLOSE = 0.45
"""Height that is seen around a joint, as a fraction of the body's size."""
VIEWS: dict[str, tuple[float, float, float]] = {
    "Front": (0.0, 0.08, 1.0),
    "Side": (1.0, 0.08, 0.0),
    "Top": (0.0, 1.0, 0.001),  # a camera exactly above would not know which way is up
    "Three-quarter": (0.62, 0.26, 1.0),
}
"""From a body to the camera: to the body's left, up, ahead."""
DEFAULT = "Three-quarter"


def facing(actor: Actor, time: float) -> Floats:
    """Return (4,) the rotation about the vertical that turns +Z to where a body faces at a time [s]."""
    body = actor.body
    ahead = np.array([0.0, 0.0, 1.0])
    if body is not None and "hips" in body.roles:
        ahead = pm.rotate(canonical_orientation(body, "hips", actor.pose(time)), ahead)
    angle = 0.5 * float(np.arctan2(ahead[0], ahead[2]))
    return np.array([np.cos(angle), 0.0, np.sin(angle), 0.0])


def direction_of(view: str, rotation: Floats | None = None) -> Floats:
    """Return (3,) the unit vector from a body to the camera of a view; `rotation` is the body's rotation (4,)."""
    direction = np.array(VIEWS[view])
    direction = direction / np.linalg.norm(direction)
    return direction if rotation is None else pm.rotate(rotation, direction)


def seen_from(box: Floats, direction: Floats) -> tuple[Floats, Floats]:
    """Return a point to look at and one to look from, (3,) each [m], so that a box (2, 3) is in full view."""
    centre, size = box.mean(axis=0), np.maximum(box[1] - box[0], 0.2)
    right = np.cross([0.0, 1.0, 0.0], direction)
    right = right / np.linalg.norm(right)
    tall, wide, deep = (float(np.abs(axis) @ size) for axis in (np.cross(direction, right), right, direction))
    half = float(np.tan(FIELD / 2))
    far = max(tall / FILLED, wide / ASPECT) / (2 * half) + deep / 2
    return centre, centre + direction * far

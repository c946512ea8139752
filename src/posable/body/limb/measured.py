"""Contacts of a placed limb, measured on the pose of the whole body.

The search sees a limb as three rigid parts on straight bones. Rigs with joints along a bone (MakeHuman's) or with
rotations that seven values cannot express (captured ones) have their volumes millimetres to centimetres elsewhere. So
the returned pose is measured as it is, and where it touches unseen the search runs once more with that much more
distance.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...collision.bodies import body_depth_rows
from ...collision.kernels import OBSTACLE
from ...compute.types import Bools, Floats, Ints, Records
from ...skeleton import Pose
from ..collision.clearance import SelfCollision, limb_links

if TYPE_CHECKING:
    from ...collision import Scene
    from ..humanoid import Humanoid

UNSEEN = 1e-7  # [m]: deeper than rounding
ROUNDS = 4  # searches with more distance, at most
MORE = 5e-4  # [m] added to what was missing: the volumes move with the posture


@dataclass(frozen=True, eq=False)
class Touching:
    """The contacts that a limb must avoid, to be measured on poses of its body; made by `touching`."""

    body: Humanoid
    between: Ints
    """(P, 2) volumes of the limb and of the rest of the body that must keep apart."""
    within: Ints
    """(Q, 2) volumes of the limb that must keep apart."""
    outside: Ints
    """(K,) volumes that must keep out of the obstacles."""
    obstacles: Records
    """(O,) rows of `OBSTACLE` in the world."""
    allowed: Bools
    """(P + K O,) contacts that do not count."""
    margin: float
    softness: float

    def depth(self, pose: Pose) -> Floats:
        """(...) [m] how deep the limb lies in something, beyond softness and into the margin; 0 outside."""
        frames = self.body.skeleton.forward(pose)
        n, shape, volumes = math.prod(pose.shape), pose.shape, self.body.volumes.packed
        positions = np.ascontiguousarray(frames.positions).reshape(n, len(self.body.skeleton), 3)
        orientations = np.ascontiguousarray(frames.orientations).reshape(n, len(self.body.skeleton), 4)
        balls, which = np.empty((n, len(volumes), 4)), np.empty(n, np.int64)
        deep, own = np.empty(n), np.empty(n)
        allowed = np.ascontiguousarray(np.broadcast_to(self.allowed, (n, len(self.allowed))))
        body_depth_rows(
            *(n, volumes, self.between, self.outside, positions, orientations, self.obstacles),
            *(self.margin + MORE, self.softness, allowed, balls, deep, which),
        )
        body_depth_rows(
            *(n, volumes, self.within, self.outside[:0], positions, orientations, self.obstacles[:0]),
            *(MORE, self.softness, np.zeros((n, 0), np.bool_), balls, own, which),
        )
        return np.maximum(np.maximum(deep + self.margin, own), 0.0).reshape(shape)


def touching(
    body: Humanoid,
    limb: str,
    scene: Scene | None,
    *,
    self_collision: bool,
    margin: float,
    allowed_contacts: Collection[str],
    leave_out: Collection[str],
) -> Touching:
    """Return what the limb of a body must keep out of, with the options of `BodyLimb.place`; meshes are left out."""
    made, learned = limb_links(body, limb), SelfCollision.of(body)
    part = np.full(len(body.volumes), -1)
    part[made.volumes] = made.links["joint"]
    counts = np.ones(len(body.volumes), np.bool_)
    for other in leave_out:
        counts[limb_links(body, other).volumes] = False
    pairs = learned.pairs if self_collision else np.zeros((0, 2), np.int64)
    of_limb = part[pairs] >= 0
    between = np.ascontiguousarray(pairs[(of_limb.sum(axis=-1) == 1) & counts[pairs].all(axis=-1)])
    # As in the search, fingers do not bend: parts on one joint stay as they are.
    within = np.ascontiguousarray(pairs[of_limb.all(axis=-1) & (part[pairs[:, 0]] != part[pairs[:, 1]])])
    rows: Records = np.zeros(0, OBSTACLE) if scene is None else scene.packed
    outside = np.sort(made.volumes).astype(np.int64)
    allowed = np.zeros(len(between) + len(outside) * len(rows), np.bool_)
    if scene is not None and allowed_contacts:
        sources = [scene.names.index(name) for name in allowed_contacts]
        spared = (part[outside] == 2)[:, None] & np.isin(rows["source"], sources)
        allowed[len(between) :] = spared.reshape(-1)
    return Touching(body, between, within, outside, rows, allowed, float(margin), learned.softness)

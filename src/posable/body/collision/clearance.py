"""How clear a body is of itself and of a scene, for whole poses; and which of its parts count.

```python
from posable.body.collision.clearance import clearance

rest = clearance(body, leave_out=("right_arm", "left_arm"))     # what the arms do, their own search sees to
rest.touches(frames, scene)                                      # (...) bools
rest.depth(frames, scene)                                        # (...) [m], above 0 where something is sunk in
```

Inside kernels, the same is `collision.bodies.body_touching` with `pairs`, `outside` and `softness` of a `Clearance`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...collision.bodies import body_contacts_rows, body_depth_rows, body_touching_rows
from ...compute.types import Bools, Floats, Ints, Records
from .obstacles import NOTHING, SelfCollision, limb_links

if TYPE_CHECKING:
    from ...collision.scene import Scene
    from ...skeleton import Frames
    from ..humanoid import Humanoid

REACH = 0.1
"""[m] Distances further than this are told as this one, unless more is asked for."""


def clearance(body: Humanoid, leave_out: Collection[str] = (), *, self_collision: bool = True) -> Clearance:
    """Return the contacts of a body that are looked at.

    Args:
        body: whose parts.
        leave_out: limbs whose volumes do not count: "right_arm", "left_arm", "right_leg", "left_leg".
        self_collision: whether the body must keep out of itself too.
    """
    counts = np.ones(len(body.volumes), np.bool_)
    for limb in leave_out:
        counts[limb_links(body, limb).volumes] = False
    learned = SelfCollision.of(body)
    pairs = learned.pairs if self_collision else np.zeros((0, 2), np.int64)
    counted = np.ascontiguousarray(pairs[counts[pairs].all(axis=-1)])
    return Clearance(body, counted, np.flatnonzero(counts).astype(np.int64), learned.softness)


@dataclass(frozen=True, eq=False)
class Clearance:
    """The contacts of a body that are looked at: made by `clearance`; immutable."""

    body: Humanoid
    pairs: Ints
    """(P, 2) volumes that must keep apart."""
    outside: Ints
    """(K,) volumes that must keep out of scenes."""
    softness: float
    """[m] How far two volumes of the body may sink into each other before that counts."""

    def touches(self, frames: Frames, scene: Scene | None = None, margin: float = 0.0) -> Bools:
        """(...) whether anything comes nearer than `margin` [m]; meshes are asked last, pose by pose."""
        n, positions, orientations = _flat(frames)
        first = np.empty(n, np.int64)
        body_touching_rows(
            *(n, self.body.volumes.packed, self.pairs, self.outside, positions, orientations, _around(scene)),
            *(
                float(margin),
                self.softness,
                np.zeros((n, 0), np.bool_),
                np.empty((n, len(self.body.volumes), 4)),
                first,
            ),
        )
        touches = (first >= 0).reshape(frames.positions.shape[:-2])
        if scene is not None and scene.has_meshes:
            touches |= self.touches_meshes(frames, scene, margin, ~touches)
        return np.asarray(touches)

    def touches_meshes(self, frames: Frames, scene: Scene, margin: float = 0.0, where: Bools | bool = True) -> Bools:
        """(...) whether a volume of `outside` comes nearer to a mesh of the scene than `margin` [m]; `where`: asked."""
        n, positions, orientations = _flat(frames)
        touches = np.zeros(n, np.bool_)
        volumes = np.ascontiguousarray(self.body.volumes.packed[self.outside])
        shape = frames.positions.shape[:-2]
        for i in np.flatnonzero(np.broadcast_to(where, shape).reshape(n)) if len(volumes) else ():
            touches[i] = scene.meshes_touch(volumes, positions[i], orientations[i], margin)
        return touches.reshape(shape)

    def depth(self, frames: Frames, scene: Scene | None = None, reach: float = REACH) -> Floats:
        """(...) [m] how far the worst contact is sunk in; below 0, how far away the nearest is, at most `reach`.

        A mesh has a surface only: what touches it is 0 deep.
        """
        n, positions, orientations = _flat(frames)
        deep, which = np.empty(n), np.empty(n, np.int64)
        body_depth_rows(
            *(n, self.body.volumes.packed, self.pairs, self.outside, positions, orientations, _around(scene)),
            *(float(reach), self.softness, np.zeros((n, 0), np.bool_), np.empty((n, len(self.body.volumes), 4))),
            *(deep, which),
        )
        if scene is not None and scene.has_meshes and len(self.outside):
            volumes = np.ascontiguousarray(self.body.volumes.packed[self.outside])
            for i in np.flatnonzero(deep < 0.0):
                deep[i] = max(deep[i], -scene.mesh_distance(volumes, positions[i], orientations[i])[0])
        return deep.reshape(frames.positions.shape[:-2])

    def contacts(self, frames: Frames, scene: Scene | None = None, margin: float = 0.0) -> Bools:
        """(..., P + K O) which contacts are nearer than they may be: all pairs, then each volume of `outside` and each
        row of `scene.packed`.
        """
        n, positions, orientations = _flat(frames)
        around = _around(scene)
        out = np.zeros((n, len(self.pairs) + len(self.outside) * len(around)), np.bool_)
        body_contacts_rows(
            *(n, self.body.volumes.packed, self.pairs, self.outside, positions, orientations, around),
            *(float(margin), self.softness, np.empty((n, len(self.body.volumes), 4)), out),
        )
        return out.reshape(*frames.positions.shape[:-2], out.shape[-1])

    def touching(self, frames: Frames, scene: Scene | None = None, margin: float = 0.0) -> list[tuple[str, str]]:
        """Names of what touches in any of the poses: two volumes, or a volume and a thing of the scene (no mesh)."""
        around, names = _around(scene), self.body.volumes.names
        touches = self.contacts(frames, scene, margin)
        found = np.flatnonzero(touches.reshape(-1, touches.shape[-1]).any(axis=0))
        own = [(names[a], names[b]) for a, b in self.pairs[found[found < len(self.pairs)]]]
        if scene is None:
            return own
        at = found[found >= len(self.pairs)] - len(self.pairs)
        obstacle_names = [scene.names[int(around["source"][k % len(around)])] for k in at]
        volumes = [names[self.outside[k // len(around)]] for k in at]
        return own + list(zip(volumes, obstacle_names, strict=True))


def _around(scene: Scene | None) -> Records:
    return NOTHING if scene is None else scene.packed


def _flat(frames: Frames) -> tuple[int, Floats, Floats]:
    """(n, (n, J, 3), (n, J, 4)) of frames of any batch."""
    shape, count = frames.positions.shape[:-2], frames.positions.shape[-2]
    n = math.prod(shape)
    positions = np.ascontiguousarray(frames.positions).reshape(n, count, 3)
    return n, positions, np.ascontiguousarray(frames.orientations).reshape(n, count, 4)

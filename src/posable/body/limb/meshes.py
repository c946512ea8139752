"""A limb against the meshes of a scene, one posture at a time, as the swivel search tests it again and again.

A hand or foot with a target position and orientation is the same at every swivel, so it is tested once; where it
touches, no swivel helps. Of the rest, one compiled call finds which links are near which mesh at all, and where they
are in its frame; `coal` tests those only, beginning with the link that was hit last, and a hand's many links only where
a ball around them touches.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ...collision.meshes import seen_volume
from ...collision.volumes import CAPSULE
from ...compute import batch, kernel, prange
from ...compute.types import Floats, Ints, Quat, Records, Vec3
from ...limb.kernels import rotations_of
from ...limb.limb import HOPELESS
from ...math.quaternion import mul, rotate

if TYPE_CHECKING:
    from ...collision.scene import Scene
    from ..collision.clearance import LimbLinks

LimbArrays: TypeAlias = tuple[Records, Records, Floats]
Tested: TypeAlias = tuple[int, int, float]
Found: TypeAlias = tuple[Ints, Floats, Floats]

END = 2  # the joint of a limb that carries its hand or foot


class LimbAgainstMeshes:
    """A test for `Limb.solve(collides=...)`: whether a limb's links touch a mesh of a scene, as it is now.

    Args:
        made: the limb's links.
        model: (1,) the limb as its kernels read it.
        world: (7,) position [m] and orientation of the limb's frame.
        scene: whose meshes.
        margin: how near is too near [m].
        allowed_contacts: meshes that the hand or foot may touch.
        fixed_end: whether the hand or foot is the same at every swivel.
    """

    def __init__(
        self,
        made: LimbLinks,
        model: Records,
        world: Floats,
        scene: Scene,
        *,
        margin: float = 0.0,
        allowed_contacts: Collection[str] = (),
        fixed_end: bool = False,
    ) -> None:
        obstacles = scene.meshes
        self._links, self._model, self._margin = _with_ball(made), model, max(float(margin), 0.0)
        self._world = world
        placed = [(*obstacle.placed_mesh, obstacle.name in allowed_contacts) for obstacle in obstacles]
        self._touches_link = [mesh.contact_test(self._links, self._margin) for mesh, _, _ in placed]
        self._meshes = np.concatenate([mesh.row(*frame, allowed) for mesh, frame, allowed in placed])
        self._hand = int(made.groups[END]["first"])
        self._fixed_end, self._hand_is_free = fixed_end, False
        shape = (len(obstacles), len(self._links))
        self._near, self._axes = np.empty(shape, np.int64), np.empty((*shape, 3, 3))
        self._centres = np.empty((*shape, 3))
        self._last = -1

    def __call__(self, values: Floats, swivel: float) -> bool | int:
        """Whether the posture touches; `HOPELESS` if it does at any swivel."""
        count = len(self._links)
        if not self._fixed_end:
            return self._touches(values, 0, count)
        if not self._hand_is_free:
            if self._touches(values, self._hand, count):
                return HOPELESS
            self._hand_is_free = True
        return self._touches(values, 0, self._hand)

    def whole(self, values: Floats, swivel: float) -> bool:
        """Whether a posture touches whose hand or foot is not where the target has it: a closest one."""
        return self._touches(values, 0, len(self._links))

    def _touches(self, values: Floats, first: int, last: int) -> bool:
        """Whether one of the links first to last - 1 touches a mesh."""
        links, near = self._links, self._near
        limb, found_at = (self._model, links, self._world), (near, self._axes, self._centres)
        near_meshes(len(near), limb, self._meshes, values, (first, last, self._margin), found_at)
        count = len(links)
        found = np.flatnonzero(near).tolist()
        if self._last in found and self._mesh_touches(*divmod(self._last, count)):
            return True
        hand_near = [True] * len(near)
        if last == count:
            hand_near = [bool(row[-1]) and self._mesh_touches(m, count - 1) for m, row in enumerate(near)]
        for k in found:
            m, v = divmod(k, count)
            if v < count - 1 and k != self._last and (v < self._hand or hand_near[m]) and self._mesh_touches(m, v):
                self._last = k
                return True
        return False

    def _mesh_touches(self, mesh: int, link: int) -> bool:
        return self._touches_link[mesh](link, self._axes[mesh, link], self._centres[mesh, link])


def _with_ball(made: LimbLinks) -> Records:
    """The links, and one more: the ball around those of the hand or foot."""
    known = _WITH_BALL.get(made)
    if known is None:
        group, ball = made.groups[END], np.zeros(1, made.links.dtype)
        ball["joint"], ball["kind"], ball["rotation"] = END, CAPSULE, (1.0, 0.0, 0.0, 0.0)
        ball["start"] = ball["end"] = (group["x"], group["y"], group["z"])
        ball["radii"][:, :2] = ball["bound"] = group["bound"]
        known = _WITH_BALL[made] = np.concatenate([made.links, ball])
    return known


_WITH_BALL: WeakKeyDictionary[LimbLinks, Records] = WeakKeyDictionary()


@kernel
def _beyond(start: Vec3, rotation: Quat, length: float) -> Vec3:
    arm = rotate(rotation, (0.0, 0.0, length))
    return (start[0] + arm[0], start[1] + arm[1], start[2] + arm[2])


@kernel
def near_mesh(i: int, limb: LimbArrays, meshes: Records, values: Floats, tested: Tested, found: Found) -> None:
    """Row i: which links of a limb in this posture are near mesh i, and where those are in its frame.

    Args:
        i: which mesh.
        limb: the model (1,), its links (L,), and (7,) position [m] and orientation of its frame in the world.
        meshes: (M,) of `collision.meshes.MESH_ROW`.
        values: (7,) the posture [rad].
        tested: the first link that is tested, one beyond the last, and how near is near [m].
        found: (M, L) 1 where a link is near; there, its axes (M, L, 3, 3) and middle (M, L, 3) in the mesh's frame.
    """
    (models, links, world), (first, last, margin), (near, axes, centres) = limb, tested, found
    model, mesh = models[0], meshes[i]
    base, middle, swing = rotations_of((values[0], values[1], values[2], values[3], values[4], values[5], values[6]))
    origin, frame = (world[0], world[1], world[2]), (world[3], world[4], world[5], world[6])
    q_base = mul(frame, base)
    q_mid = mul(q_base, middle)
    mid = _beyond(origin, q_base, model["upper"])
    end = _beyond(mid, q_mid, model["lower"])
    q_end = mul(q_mid, swing)
    for k in range(links.shape[0]):
        near[i, k] = 0
        j = links[k]["joint"]
        if k < first or k >= last or (j == END and mesh["allowed"] != 0):
            continue
        p, q = (origin, q_base) if j == 0 else (mid, q_mid) if j == 1 else (end, q_end)
        near[i, k] = seen_volume(links[k], p, q, mesh, margin, axes[i, k], centres[i, k])


@batch
def near_meshes(n: int, limb: LimbArrays, meshes: Records, values: Floats, tested: Tested, found: Found) -> None:
    """`near_mesh` over the meshes of a scene."""
    for i in prange(n):
        near_mesh(i, limb, meshes, values, tested, found)

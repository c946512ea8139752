"""A limb against the meshes of a scene, one posture at a time: what the swivel search asks again and again.

A hand or foot that is sent to a place and an orientation is there at every swivel, so it is asked about once; where it
touches, no swivel helps. Of the rest, one compiled call finds which links are near which mesh at all, and where they
are in its frame; `coal` is asked about those only, beginning with what was hit last, and about a hand's many links only
where a ball around them touches.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
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

END = 2  # the joint of a limb that carries its hand or foot


class LimbAgainstMeshes:
    """A test for `Limb.solve(collides=...)`: whether a limb's links touch a mesh of a scene, as it is now.

    Args:
        made: the limb's links.
        model: (1,) the limb as its kernels read it.
        world: (7,) place [m] and orientation of the limb's frame.
        scene: whose meshes.
        margin: how near is too near [m].
        allowed_contacts: meshes that the hand or foot may touch.
        held: whether the hand or foot is the same at every swivel.
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
        self._ask = [
            obstacle.mesh.contact_test(self._links, self._margin) for obstacle in obstacles if obstacle.mesh is not None
        ]
        self._meshes = np.array([obstacle.row(obstacle.name in allowed_contacts) for obstacle in obstacles])
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

    def _touches(self, values: Floats, first: int, last: int) -> bool:
        """Whether one of the links first to last - 1 touches a mesh."""
        links, near = self._links, self._near
        near_meshes(
            len(near),
            *(self._model, links, self._world, self._meshes, values, first, last, self._margin),
            *(near, self._axes, self._centres),
        )
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
        return self._ask[mesh](link, self._axes[mesh, link], self._centres[mesh, link])


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
def near_mesh(
    i: int,
    limb: Records,
    links: Records,
    world: Floats,
    meshes: Floats,
    values: Floats,
    first: int,
    last: int,
    margin: float,
    near: Ints,
    axes: Floats,
    centres: Floats,
) -> None:
    """Row i: which links of a limb in this posture are near mesh i, and where those are in its frame."""
    model = limb[0]
    base, middle, swing = rotations_of((values[0], values[1], values[2], values[3], values[4], values[5], values[6]))
    origin, frame = (world[0], world[1], world[2]), (world[3], world[4], world[5], world[6])
    q_base = mul(frame, base)
    q_mid = mul(q_base, middle)
    mid = _beyond(origin, q_base, model["upper"])
    end = _beyond(mid, q_mid, model["lower"])
    q_end = mul(q_mid, swing)
    row = meshes[i]
    for k in range(links.shape[0]):
        near[i, k] = 0
        j = links[k]["joint"]
        if k < first or k >= last or (j == END and row[13] > 0.0):
            continue
        p, q = (origin, q_base) if j == 0 else (mid, q_mid) if j == 1 else (end, q_end)
        near[i, k] = seen_volume(links[k], p, q, row, margin, axes[i, k], centres[i, k])


@kernel
def _beyond(start: Vec3, rotation: Quat, length: float) -> Vec3:
    arm = rotate(rotation, (0.0, 0.0, length))
    return (start[0] + arm[0], start[1] + arm[1], start[2] + arm[2])


@batch
def near_meshes(
    n: int,
    limb: Records,
    links: Records,
    world: Floats,
    meshes: Floats,
    values: Floats,
    first: int,
    last: int,
    margin: float,
    near: Ints,
    axes: Floats,
    centres: Floats,
) -> None:
    """`near_mesh` over the meshes of a scene.

    Args:
        n: number of meshes.
        limb: (1,) the limb's model.
        links: (L,) its links.
        world: (7,) position and orientation of the limb's frame.
        meshes: (M, 14) rows of `collision.scene.Obstacle.row`.
        values: (7,) the posture.
        first: the first link asked about.
        last: one beyond the last.
        margin: how near is near [m].
        near: (M, L) 1 where a link is near.
        axes: (M, L, 3, 3) its axes in the mesh's frame, where it is near.
        centres: (M, L, 3) its middle there.
    """
    for i in prange(n):
        near_mesh(i, limb, links, world, meshes, values, first, last, margin, near, axes, centres)

"""How clear a body is of itself and of a scene, and what a limb consists of and must keep out of.

```python
from posable.body.collision.clearance import clearance

rest = clearance(body, leave_out=("right_arm", "left_arm"))     # the arms' own search keeps them clear
rest.touches(frames, scene)                                      # (...) bools
rest.depth(frames, scene)                                        # (...) [m], above 0 where something is sunk in
```

Inside kernels, the same is `collision.bodies.body_touching` with `pairs`, `outside` and `softness` of a `Clearance`.

Volumes overlap by nature (a thigh grows out of a pelvis) and flesh yields, so a body touches itself only where two
volumes that are not neighbours sink into each other further than `softness`, see `collision.bodies.pairs_to_test`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...collision.bodies import (
    FEELER,
    body_depth_rows,
    body_touching_rows,
    neighbours,
    pairs_to_test,
)
from ...collision.kernels import GROUP, OBSTACLE, seen_from, set_shape, shape_of
from ...collision.kernels import placed as placed_volume
from ...compute import UnknownNameError, batch, kernel, prange
from ...compute.types import Bools, Floats, Ints, Records
from ...math import axis_angle, exp, multiply, rotate
from ...skeleton import Pose
from ...skeleton.forward import quat_at, vec_at
from ..canonical import CanonicalPose
from ..limb.kernels import frame_of
from ..roles import ROLES as ALL_ROLES

if TYPE_CHECKING:
    from ...collision.scene import Scene
    from ...skeleton import Frames
    from ..humanoid import Humanoid

REACH = 0.1
"""[m] Larger distances are reported as this one, unless `depth` is given another limit."""

SOFT = 0.012
"""[m] How far two volumes may sink into each other before that is a collision, on a body whose `joint_height` is
1.75 m; a larger body yields more."""

NOTHING: Records = np.zeros(0, OBSTACLE)
NOTHING.flags.writeable = False  # as a scene's rows are: one kind of array, one compiled version

MOST_SHAPES = 64
"""Shapes of hands whose volumes are stored for a body, at most."""
SAMPLES = 400
"""Poses from which the pairs are learned."""

_LEARNED: WeakKeyDictionary[Humanoid, tuple[Bools, float]] = WeakKeyDictionary()
_LINKS: WeakKeyDictionary[Humanoid, dict[str, LimbLinks]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SelfCollision:
    """Which of a body's volumes must keep apart, and whether they do. Made by `SelfCollision.of`; immutable."""

    body: Humanoid
    tested: Bools
    """(V, V) symmetric: pairs that are tested."""
    softness: float
    """[m]"""

    @classmethod
    def of(cls, body: Humanoid, seed: int = 0) -> SelfCollision:
        """Return what of a body must keep apart; learned once a body, in a fraction of a second, and stored."""
        if seed == 0 and body in _LEARNED:
            return cls(body, *_LEARNED[body])
        softness = SOFT * body.joint_height / 1.75
        skeleton = body.skeleton
        free = skeleton.forward(_free_poses(body))
        many = skeleton.forward(_poses_inside_limits(body, seed))
        tested = pairs_to_test(
            _candidates(body),
            body.volumes.packed,
            np.asarray(skeleton.parents, dtype=np.int64),
            (free.positions, free.orientations),
            (many.positions, many.orientations),
            softness,
            FEELER * body.joint_height,
        )
        if seed == 0:
            _LEARNED[body] = tested, softness  # nothing that holds the body itself, or it would never be forgotten
        return cls(body, tested, softness)

    @property
    def pairs(self) -> Ints:
        """(P, 2) the volumes of each tested pair."""
        return np.ascontiguousarray(np.argwhere(np.triu(self.tested)), dtype=np.int64)

    def touches(self, frames: Frames) -> Bools:
        """(...) whether the body touches itself."""
        return self._clearance.touches(frames)

    def touching(self, frames: Frames) -> list[tuple[str, str]]:
        """The names of the pairs of volumes that touch, in any of the poses."""
        return self._clearance.touching(frames)

    @property
    def _clearance(self) -> Clearance:
        return Clearance(self.body, self.pairs, np.zeros(0, np.int64), self.softness)


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
        """(...) whether anything comes nearer than `margin` [m]; meshes are tested last, pose by pose."""
        shape = frames.positions.shape[:-2]
        first = self._run(frames, scene, margin, np.zeros((math.prod(shape), 0), np.bool_), False)
        touches = (first >= 0).reshape(shape)
        if scene is not None and scene.has_meshes:
            touches |= self.touches_meshes(frames, scene, margin, ~touches)
        return np.asarray(touches)

    def touches_meshes(self, frames: Frames, scene: Scene, margin: float = 0.0, where: Bools | bool = True) -> Bools:
        """(...) whether a volume of `outside` is nearer to a mesh of the scene than `margin` [m], for poses `where`."""
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
        count = len(self.pairs) + len(self.outside) * len(_around(scene))
        contacts = np.zeros((math.prod(frames.positions.shape[:-2]), count), np.bool_)
        self._run(frames, scene, margin, contacts, True)
        return contacts.reshape(*frames.positions.shape[:-2], count)

    def _run(self, frames: Frames, scene: Scene | None, margin: float, contacts: Bools, noting: bool) -> Ints:
        """Return (n,) the first contact of each pose, -1 for none, or fill `contacts` (n, P + K O) with all of them."""
        n, positions, orientations = _flat(frames)
        volumes, first = self.body.volumes.packed, np.empty(n, np.int64)
        body_touching_rows(
            *(n, volumes, self.pairs, self.outside, positions, orientations, _around(scene), float(margin)),
            *(self.softness, contacts, np.empty((n, len(volumes), 4)), noting, first),
        )
        return first

    def touching(self, frames: Frames, scene: Scene | None = None, margin: float = 0.0) -> list[tuple[str, str]]:
        """Names of contacts in any of the poses: two volumes, or a volume and an obstacle of the scene (no mesh)."""
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


@dataclass(frozen=True, eq=False)
class LimbLinks:
    """The volumes of a limb, and those of its body that it must keep out of."""

    links: Records
    """(L,) rows of `collision.volumes.PACKED`; joint 0, 1, 2 is the limb's base, mid, end, in the frames of its
    model: z along the bone, the identity at zero posture."""
    groups: Records
    """(3,) rows of `collision.kernels.GROUP`: the links on each of the three joints."""
    volumes: Ints
    """(L,) which volumes of the body they are."""
    obstacles: Ints
    """(O,) volumes of the rest of the body that at least one link must keep out of."""
    own: Records
    """(O,) rows of `OBSTACLE` for them, not placed yet: `source` is -1 - v, `spares` the links that may touch them."""
    pairs: Ints
    """(P, 2) links that must keep out of each other: the limb folded onto itself."""
    softness: float
    """[m] How far those may sink into each other."""


def limb_links(body: Humanoid, limb: str, rotations: Floats | None = None) -> LimbLinks:
    """Return the volumes of a limb and what they must keep out of; made once a body and limb, and stored.

    Args:
        body: whose limb it is.
        limb: "right_arm", "left_arm", "right_leg" or "left_leg".
        rotations: (J, 4) of a pose that has the fingers bent as they are; None: straight, the thumb out, as in the
            neutral pose. All else of hands and feet is as in the neutral pose. A rig's off-axis remainders (see
            `BodyLimb.read`) are left out.
    """
    known = _LINKS.setdefault(body, {})
    if limb not in known:
        known[limb] = _links(body, limb)
    side = limb.removesuffix("arm")
    joints = [joint for role, joint in body.fingers.items() if role.startswith(side)]
    if rotations is None or not joints:
        return known[limb]
    bent = rotations[joints]
    key = f"{limb} {bent.tobytes().hex()}"
    if key not in known:
        if len(known) >= MOST_SHAPES:
            del known[next(one for one in known if " " in one)]
        pose = Pose(body.neutral_pose.translation, body.neutral_pose.rotations.copy())
        if np.isfinite(bent).all():
            pose.rotations[joints] = bent
        links = _placed_links(body, limb, pose)[0]
        known[key] = replace(known[limb], links=links, groups=_groups(links))
    return known[key]


def bending_changes(body: Humanoid, rotations: Floats) -> Ints:
    """Return the rows of rotations (N, J, 4) whose fingers are not bent as in the row before, without the first."""
    bent = rotations[:, [*body.fingers.values()]]
    return np.flatnonzero((bent[1:] != bent[:-1]).any(axis=(-1, -2))) + 1 if body.fingers else np.zeros(0, np.int64)


def limb_obstacles(
    body: Humanoid,
    limb: str,
    frames: Frames,
    scene: Scene | None = None,
    *,
    self_collision: bool = True,
    allowed_contacts: Collection[str] = (),
    leave_out: Collection[str] = (),
) -> Records:
    """(..., O) rows of `OBSTACLE` in the limb's frame: the rest of the body, and the primitives of a scene.

    Args:
        body: whose limb it is.
        limb: "right_arm", "left_arm", "right_leg" or "left_leg".
        frames: of one pose, or of a batch.
        scene: obstacles in the world; its meshes are tested by `Scene.touches`.
        self_collision: whether the limb must keep out of the body's own volumes.
        allowed_contacts: obstacles of the scene that the hand or foot may touch.
        leave_out: other limbs, whose volumes do not count.
    """
    made, part = limb_links(body, limb), body.limb(limb)
    own = made.own if self_collision else NOTHING
    if self_collision and leave_out:
        gone = np.concatenate([limb_links(body, other).volumes for other in leave_out])
        own = own[~np.isin(made.obstacles, gone)]
        own.flags.writeable = False
    around = NOTHING if scene is None else spared(scene, allowed_contacts, int(made.groups[2]["bits"]))
    n, positions, orientations = _flat(frames)
    out = np.empty((n, len(own) + len(around)), OBSTACLE)
    limb_obstacle_rows(n, part.packed, body.volumes.packed, own, around, positions, orientations, out)
    return out.reshape(*frames.positions.shape[:-2], len(own) + len(around))


def spared(scene: Scene, allowed_contacts: Collection[str], bits: int) -> Records:
    """Return the scene's rows, with these links spared by the obstacles named."""
    rows, names = scene.packed, scene.names
    if not allowed_contacts:
        return rows
    unknown = [name for name in allowed_contacts if name not in names]
    if unknown:
        raise UnknownNameError("obstacle", unknown[0], names)
    rows = rows.copy()
    rows["spares"][np.isin(rows["source"], [names.index(name) for name in allowed_contacts])] |= bits
    rows.flags.writeable = False
    return rows


def _placed_links(body: Humanoid, limb: str, pose: Pose) -> tuple[Records, Ints, Ints]:
    """Return `LimbLinks.links` with the hand or foot as in a pose that is otherwise neutral; `LimbLinks.volumes`; and
    (V,) which of the limb's three joints carries each volume of the body, -1 for none.
    """
    base, mid, end = body.limb_joints(limb)
    packed, skeleton = body.volumes.packed, body.skeleton
    frames = skeleton.forward(pose)
    model = body.limb(limb).packed[0]
    back = np.array([model["bw"], model["bx"], model["by"], model["bz"]])
    segment = np.full(len(packed), -1)
    for part, joint in enumerate((base, mid, end)):
        segment[[joint in skeleton.path(int(j)) for j in packed["joint"]]] = part
    own = np.flatnonzero(segment >= 0)
    own = own[np.argsort(segment[own], kind="stable")]
    heads = frames.positions[np.array([base, mid, end])[segment[own]]]
    carrier = packed["joint"][own]
    position, orientation = frames.positions[carrier], frames.orientations[carrier]
    links = packed[own].copy()
    links["joint"] = segment[own]
    for field in ("start", "end"):
        links[field] = rotate(back, position + rotate(orientation, packed[field][own]) - heads)
    links["rotation"] = multiply(multiply(back, orientation), packed["rotation"][own])
    return links, own, segment


def _links(body: Humanoid, limb: str) -> LimbLinks:
    links, own, segment = _placed_links(body, limb, body.neutral_pose)
    packed = body.volumes.packed
    others = np.flatnonzero(segment < 0)
    tested = SelfCollision.of(body).tested[np.ix_(own, others)]  # (L, O)
    chosen = tested.any(axis=0)
    bits = (1 << np.arange(len(own), dtype=np.int64))[:, None]
    spares = np.where(tested[:, chosen], 0, bits).sum(axis=0, dtype=np.int64)
    rows = np.zeros(int(chosen.sum()), OBSTACLE)
    rows["source"], rows["spares"], rows["softness"] = -1 - others[chosen], spares, SelfCollision.of(body).softness
    rows["bound"] = packed["bound"][others[chosen]]
    rows.flags.writeable = False
    both = np.argwhere(np.triu(SelfCollision.of(body).tested[np.ix_(own, own)])).astype(np.int64)
    pairs = np.ascontiguousarray(both[segment[own[both[:, 0]]] != segment[own[both[:, 1]]]])  # fingers do not bend here
    return LimbLinks(links, _groups(links), own, others[chosen], rows, pairs, SelfCollision.of(body).softness)


def _groups(links: Records) -> Records:
    """The links on each joint, which are sorted by it, with a ball around them."""
    out = np.zeros(3, GROUP)
    for joint, row in enumerate(out):
        row["first"], row["last"] = np.searchsorted(links["joint"], [joint, joint + 1])
        mine = links[row["first"] : row["last"]]
        row["bits"] = sum(1 << k for k in range(row["first"], row["last"]))
        if len(mine):
            middles = 0.5 * (mine["start"] + mine["end"])
            centre = 0.5 * (
                (middles - mine["bound"][:, None]).min(axis=0) + (middles + mine["bound"][:, None]).max(axis=0)
            )
            row["x"], row["y"], row["z"] = centre
            row["bound"] = (np.linalg.norm(middles - centre, axis=-1) + mine["bound"]).max()
    return out


def _candidates(body: Humanoid) -> Bools:
    """(V, V) pairs that are not neighbours: parts of the trunk, neck and head bend into each other by nature, and so
    do a thigh and the belly.
    """
    packed = body.volumes.packed
    candidates = ~neighbours(packed, np.asarray(body.skeleton.parents))
    trunk = np.isin(packed["joint"], body.spine)
    belly = np.isin(packed["joint"], body.spine[: 1 + len(body.spine) // 3])
    thigh = np.isin(packed["joint"], [body.index("left_upper_leg"), body.index("right_upper_leg")])
    candidates &= ~(trunk[:, None] & trunk[None, :])
    candidates &= ~((thigh[:, None] & belly[None, :]) | (belly[:, None] & thigh[None, :]))
    for side in ("left", "right"):  # fingers of a hand touch each other and its palm by nature
        hand = np.isin(packed["joint"], [j for role, j in body.fingers.items() if role.startswith(side)])
        hand |= (packed["joint"] == body.index(f"{side}_hand")) & bool(body.fingers)
        candidates &= ~(hand[:, None] & hand[None, :])
    return np.asarray(candidates)


def _free_poses(body: Humanoid) -> Pose:
    """Standing with the arms down, and with the arms out to the sides: nothing touches there that could keep apart."""
    roles = tuple(role for role in ALL_ROLES if role in body.roles)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (2, len(roles), 1))
    for role, sign in (("left_upper_arm", 1.0), ("right_upper_arm", -1.0)):
        rotations[1, roles.index(role)] = axis_angle((0.0, 0.0, 1.0), sign * math.pi / 2)
    return body.pose(CanonicalPose(roles, rotations, np.zeros((2, 3))))


def _poses_inside_limits(body: Humanoid, seed: int) -> Pose:
    roles = tuple(role for role in ALL_ROLES if role in body.roles)
    vectors = np.empty((SAMPLES, len(roles), 3))
    for k in range(SAMPLES):
        vectors[k] = np.random.default_rng([seed, k]).normal(size=(len(roles), 3))
    pose = body.pose(CanonicalPose(roles, exp(vectors), np.zeros((SAMPLES, 3))))
    return body.clamp(pose)


@kernel
def limb_obstacle_row(
    i: int,
    limb: Records,
    volumes: Records,
    own: Records,
    around: Records,
    positions: Floats,
    orientations: Floats,
    out: Records,
) -> None:
    """Row i: the body's own volumes, then the obstacles around, in the limb's frame of pose i."""
    frame = frame_of(limb[0], orientations, i)
    origin = vec_at(positions, i, limb[0]["base"])
    for k in range(own.shape[0] + around.shape[0]):
        if k < own.shape[0]:
            row = own[k]
            volume = volumes[-1 - row["source"]]
            joint = volume["joint"]
            shape = placed_volume(volume, vec_at(positions, i, joint), quat_at(orientations, i, joint))
        else:
            row = around[k - own.shape[0]]
            shape = shape_of(row)
        obstacle = out[i, k]
        set_shape(obstacle, seen_from(shape, origin, frame))
        obstacle["source"], obstacle["spares"] = row["source"], row["spares"]
        obstacle["bound"], obstacle["softness"] = row["bound"], row["softness"]


@batch(rows=512)
def limb_obstacle_rows(
    n: int,
    limb: Records,
    volumes: Records,
    own: Records,
    around: Records,
    positions: Floats,
    orientations: Floats,
    out: Records,
) -> None:
    """`limb_obstacle_row` over a batch."""
    for i in prange(n):
        limb_obstacle_row(i, limb, volumes, own, around, positions, orientations, out)

"""A reacher as its kernels read it: the body, its behaviours, and the poses between start and solution.

Tuples of arrays: a new body or behaviour compiles nothing. They enter compiled code as plain tuples and get their names
there: Numba takes three times as long to look into a named one, longer than it takes to bend a body. Both hands are in
the same arrays, right first: each array more costs compile time in every function it passes through. Arrays of limbs
have the order of `PackedBody.limbs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..body.canonical import CanonicalPose
from ..body.collision.clearance import NOTHING, clearance, limb_links
from ..body.limb.kernels import READING
from ..body.packed import PackedBody
from ..body.roles import ROLES
from ..collision.kernels import OBSTACLE
from ..compute.gpu_arrays import empty
from ..compute.types import Floats, Ints, Records, zero_records
from ..limb.model import LIMB
from ..limb.solve import REPORT
from .behaviour import ARMS, Behaviour
from .field import FIELD
from .posture import Posture

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene
    from ..limits import Limits

Arrays: TypeAlias = tuple[Any, ...]

ARM, LEG = 1, 3  # rows of the right arm and leg in `Body.limbs`; those of the left side come before
BEND, JUDGE, ALL, COMPARE = range(4)
"""Stages of a solution: the body without its arms, the status of a whole pose, or everything; or, instead of them, the
first contact of one pose that another one does not have."""
NEED_SAMPLES = 8  # steps of the weight at which the distances of shoulders from their targets are measured

OPTIONS = np.dtype(
    [(name, "i8") for name in ("stage", "feet", "extend", "guided", "hips", "head", "neck")]
    + [(name, "i8", 2) for name in ("hands", "oriented", "poles")]
    + [(name, "i8", (2, 2)) for name in ("links", "own")]
    + [(name, "f8") for name in ("adjustment", "handedness", "gaze", "margin", "softness")]
    + [("fractions", "f8", 2), ("extensions", "f8", 2), ("hips_neutral", "f8", 4), ("head_neutral", "f8", 4)],
    align=True,
)
"""One row. The stage; whether the feet are fixed, whether the weight may be raised, whether keys have searches of their
own; the joints of hips, head and neck (-1: none). For each hand: whether it has a target, an orientation, a pole; the
first and last row of its `Body.links` and `Body.own`. The adjustment of the weight to begin with, NaN for the one that
the arms need; how right-handed; the
fraction of the rotation towards the target that the head takes; the margin to obstacles and how far flesh yields [m];
the fraction of each hand's weight that is due, which grows from 0 where a motion begins, and the same of what `extend`
takes besides; neutral orientations."""

WORK = np.dtype(
    [
        *(("position", "f8", (2, 3)), ("orientation", "f8", (2, 4)), ("pole", "f8", (2, 3))),
        *(("search", "f8", (2, 5)), ("shift", "f8", 3), ("shift_weight", "f8")),
        ("stretches", "f8", (2, NEED_SAMPLES + 1)),
    ],
    align=True,
)
"""Of a row: each hand's target position [m], canonical orientation and pole [m] in the world; preferred, low, high,
step and growth of each arm's search [rad]; the hips' displacement in the world at weight 1 [m], and its weight; how far
each arm must stretch at weights in even steps (`need`)."""

RESULT = np.dtype(
    [("status", "i1"), ("reason", "i1"), ("hand_status", "i1", 2), ("tried", "i4"), ("contact", "i8")]
    + [("adjustment", "f8")]
    + [(name, "f8", 2) for name in ("requested_weight", "weight", "position_error", "orientation_error", "swivel")],
    align=True,
)
"""Of a row: its status; why the weight was lowered (REACHED: it was not); the status of each hand; how many postures of
the body were tried; the contact that lowered the weight, -1 where none did; the adjustment used. For each hand the
weight by its target's distance, the one used, the errors [m], [rad], and the swivel of its elbow [rad]."""


class Body(NamedTuple):
    """The body and its obstacles. The first eight are `PackedBody`'s."""

    joints: Records
    drive: Records
    driven: Records
    limits: Records
    curves: Floats
    bones: Floats
    volumes: Records
    limbs: Records
    slots: Ints
    """(J,) row of the joint among those that behaviours drive, parents first; or -1."""
    above_shoulders: Ints
    """(J,) bits: 1 for a joint from the root to the shoulder of the right arm, 2 to that of the left."""
    pairs: Ints
    """(P, 2) volumes that stay apart while the body bends; those of arms that are solved are not among them."""
    outside: Ints
    """(O,) volumes that stay out of the scene."""
    legs: Ints
    """(V,) bits: 1 for a volume of the right leg, 2 for one of the left."""
    links: Records
    """The volumes of the arms."""
    groups: Records
    """(2, 3) of `collision.kernels.GROUP`."""
    own: Records
    """The volumes of the body that the arms stay out of: of the right arm, of the right one where the left one is yet
    to be solved, of the left arm."""
    around: Records
    """The scene's primitives."""
    around_right: Records
    """The same, with those marked that the hand may touch."""
    around_left: Records


class Styles(NamedTuple):
    """The behaviours of both hands on this body; rows that one of them does not have are zero."""

    header: Records
    """(2,) of `FIELD`."""
    keys: Floats
    triangles: Ints
    barycentric: Floats
    spline: Floats
    rotations: Floats
    """(2, K, U, 4) local rotations of the driven joints; the hips' is canonical, relative to the body's heading."""
    numbers: Floats
    """(2, K, 8) displacement of the hips [m], then preferred, low, high, step and growth of the arm's search [rad]."""
    owned: Ints
    """(2, U) whether the behaviour drives the joint."""


class Rows(NamedTuple):
    """All that differs from target to target."""

    translation: Floats
    """(2, N, 3) of the starting pose and of the solution; so the next three."""
    rotations: Floats
    positions: Floats
    orientations: Floats
    offsets: Floats
    """(N, J, 3), or no rows."""
    driven: Floats
    """(N, U, 4) local rotations that the driven joints approach at weight 1."""
    driven_weights: Floats
    """(N, U)."""
    gaps: Floats
    """(N, C) how near [m] the contacts of the starting pose may come; infinite for what did not touch, NaN where nobody
    asked yet: most reaches end without a contact."""
    balls: Floats
    """(N, V, 4) scratch: balls around the volumes."""
    key_weights: Floats
    """(2, N, K)."""
    limbs: Records
    """(4, N) of `LIMB`: bones, searches, and whether limits apply, may differ from row to row."""
    readings: Records
    """(4, N) of `READING`: the legs of the starting pose, the arms of the bent body."""
    remainders: Floats
    """(4, N, D, 4)."""
    values: Floats
    """(4, N, 7)."""
    obstacles: Records
    """(N, O) scratch: of an arm, in its frame."""
    report: Records
    """(2, N) of `limb.solve.REPORT`, of the arms."""
    work: Records
    """(N,) of `WORK`."""
    result: Records
    """(N,) of `RESULT`."""

    def with_new_result(self) -> Rows:
        """Return the same rows for another call: all that is read is written before, but for the result."""
        return Rows(*self[:-1], zero_records(self.result.shape, RESULT))


def pack_body(
    packed: PackedBody, joints: Sequence[int], arms: Sequence[str], scene: Scene | None, self_collision: bool
) -> Body:
    """Return the body for kernels. The volumes of `arms`, which are solved last, do not stop it from bending."""
    body = packed.body
    slots = np.full(len(body.skeleton), -1, np.int64)
    slots[list(joints)] = np.arange(len(joints))
    contacts = clearance(body, leave_out=arms, self_collision=self_collision)
    links = [limb_links(body, arm) for arm in ARMS]
    own = [links[0].own, links[0].own[~np.isin(links[0].obstacles, links[1].volumes)], links[1].own]
    around = NOTHING if scene is None else scene.packed
    legs = np.zeros(len(packed.volumes), np.int64)
    for bit, leg in ((1, "right_leg"), (2, "left_leg")):
        legs[limb_links(body, leg).volumes] = bit
    above = np.zeros(len(body.skeleton), np.int64)
    for side in range(2):
        joint = int(packed.limbs[ARM - side]["base"])
        while joint >= 0:
            above[joint] |= 1 << side
            joint = int(body.skeleton.parents[joint])
    return Body(
        packed.joints,
        packed.drive,
        packed.driven,
        packed.limits,
        packed.curves,
        packed.bones,
        packed.volumes,
        packed.limbs,
        slots,
        above,
        contacts.pairs,
        contacts.outside if scene is not None else np.zeros(0, np.int64),
        legs,
        np.concatenate([one.links for one in links]),
        np.stack([one.groups for one in links]),
        np.concatenate(own if self_collision else [NOTHING]),
        around,
        around,
        around,
    )


def link_ranges(body: Humanoid, hands: tuple[bool, bool], self_collision: bool) -> tuple[Ints, Ints]:
    """Return the rows ((2, 2), (2, 2)) of each arm in `Body.links` and `Body.own`, first and last.

    With two hands the right arm is solved first and ignores the left one, which will move and stay out of it.
    """
    right, left = (limb_links(body, arm) for arm in ARMS)
    count = np.cumsum([0, len(right.links), len(left.links)])
    alone = len(right.own) - int(np.isin(right.obstacles, left.volumes).sum())
    own = np.cumsum([0, len(right.own), alone, len(left.own)]) if self_collision else np.zeros(4, np.int64)
    first = 1 if all(hands) else 0
    return np.stack([count[:2], count[1:]]).T, np.array([own[first : first + 2], own[2:4]])


def driven_joints(body: Humanoid, parts: set[str]) -> list[int]:
    """Return the joints of a rig that behaviours of these parts rotate, parents first.

    A joint of the spine that has no role belongs to the next part above it.
    """
    joints = {body.roles[part] for part in parts if part in body.roles}
    for row, joint in enumerate(body.spine):
        if next((role for role in body.spine_roles[row:] if role), None) in parts:
            joints.add(joint)
    return sorted(joints)


def pack_styles(
    body: Humanoid, limits: Limits | None, behaviours: Sequence[Behaviour | None], joints: list[int], hips: bool
) -> Styles:
    """Return the behaviours of right and left hand on a body with these limits; `hips`: whether their hips move."""
    fields = [None if behaviour is None else behaviour.packed for behaviour in behaviours]
    keys = max(len(one[0].keys) for one in fields if one is not None)
    triangles = max(len(one[0].triangles) for one in fields if one is not None)
    styles = Styles(
        header=np.zeros(2, FIELD),
        keys=np.zeros((2, keys, 3)),
        triangles=np.zeros((2, triangles, 3), np.int64),
        barycentric=np.zeros((2, triangles, 6)),
        spline=np.zeros((2, keys, keys + 4)),
        rotations=np.zeros((2, keys, len(joints), 4)),
        numbers=np.zeros((2, keys, 8)),
        owned=np.zeros((2, len(joints)), np.int64),
    )
    for side, (behaviour, made) in enumerate(zip(behaviours, fields, strict=True)):
        if behaviour is None or made is None:
            continue
        field, rotations, numbers = made
        count = len(field.keys)
        styles.header[side] = field.header[0]
        styles.keys[side, :count], styles.numbers[side, :count] = field.keys, numbers
        styles.numbers[side, :, :3] *= body.leg_length if hips else 0.0
        styles.triangles[side, : len(field.triangles)] = field.triangles
        styles.barycentric[side, : len(field.barycentric)] = field.barycentric
        if len(field.spline):
            styles.spline[side, :count, : count + 4] = field.spline
        for k, one in enumerate(rotations):
            styles.rotations[side, k] = key_rotations(body, limits, Posture(behaviour.parts, one), joints)
        driven = set(driven_joints(body, set(behaviour.parts) - (set() if hips else {"hips"})))
        styles.owned[side] = [joint in driven for joint in joints]
    return styles


def key_rotations(body: Humanoid, limits: Limits | None, posture: Posture, joints: list[int]) -> Floats:
    """Return the rotations (U, 4) of the driven joints in a key's posture: local ones of the rig, the hips' canonical.

    Spines of other rigs are retargeted by arc length, as `body.pose` does. Of q and -q the one nearer to the neutral
    pose, so that sums of them are means. Rotations are clamped to the limits.
    """
    given = {part: posture.rotation(part) for part in posture.parts}
    roles = tuple(role for role in ROLES if role in body.roles or role in given)
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    canonical = CanonicalPose(roles, [given.get(role, identity) for role in roles], (0.0, 1.0, 0.0))
    pose = body.pose(canonical, base=body.neutral_pose)
    if limits is not None:
        pose = body.clamp(pose, limits)
    out = pose.rotations[joints].copy()
    neutral = body.neutral_pose.rotations[joints].copy()
    hips = body.roles["hips"]
    if hips in joints:
        out[joints.index(hips)], neutral[joints.index(hips)] = given.get("hips", identity), identity
    return np.where((out * neutral).sum(axis=-1, keepdims=True) < 0.0, -out, out)


def empty_rows(
    n: int,
    body: Body,
    styles: Styles,
    limb_joints: int,
    offsets: Floats,
    result: Records | None = None,
    like: Any = None,
) -> Rows:
    """Return room for n rows: inputs to be filled in, outputs (`result` where that is given), and scratch between.

    On the GPU of the array `like` where it is on one.
    """
    joints, driven = len(body.joints), styles.owned.shape[1]

    def room(*shape: int) -> Floats:
        return np.empty(shape) if like is None else empty(shape, like, np.float64)

    def records(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Records:
        return np.empty(shape, dtype) if like is None else zero_records(shape, dtype, like)

    return Rows(
        translation=room(2, n, 3),
        rotations=room(2, n, joints, 4),
        positions=room(2, n, joints, 3),
        orientations=room(2, n, joints, 4),
        offsets=offsets,
        driven=room(n, driven, 4),
        driven_weights=room(n, driven),
        gaps=room(n, len(body.pairs) + len(body.outside) * len(body.around)),
        balls=room(n, len(body.volumes), 4),
        key_weights=room(2, n, styles.keys.shape[1]),
        limbs=records((4, n), LIMB),
        readings=records((4, n), READING),
        remainders=room(4, n, limb_joints, 4),
        values=room(4, n, 7),
        obstacles=records((n, len(body.own) + len(body.around)), OBSTACLE),
        report=zero_records((2, n), REPORT, like),
        work=zero_records((n,), WORK, like),
        result=zero_records((n,), RESULT, like) if result is None else result,
    )

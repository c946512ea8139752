"""Postures of arrays on a GPU: read from one rig in canonical rotations, and posed on another, frame by frame.

What `Humanoid.canonical` and `Humanoid.pose` do on the CPU with NumPy, here as kernels over rows, so that millions of
frames go from one body to another without leaving the GPU. Spines are handed over by arc length, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import math as pm
from ..compute import PosableError, batch, kernel, prange
from ..compute.gpu_arrays import contiguous, empty, first_on_gpu, like_array, unwrapped, wrapped
from ..compute.types import Floats, Ints, Records
from ..math.quaternion import conj, mul, rotate, slerp
from ..skeleton import Frames, Pose
from ..skeleton.forward import quat_at, set_quat, vec_at
from .canonical import CanonicalPose, SpineShape, source_spine, spine_fractions
from .packed import chain_rows, drive_row
from .roles import parent_role

if TYPE_CHECKING:
    from .humanoid import Humanoid


@kernel
def quat_row(rows: Floats, k: int) -> tuple[float, float, float, float]:
    """Return a quaternion that is row k of (N, 4)."""
    return (rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3])


@batch
def read_rows(n: int, joints: Ints, neutral: Floats, above: Ints, orientations: Floats, local: Floats) -> None:
    """Fill canonical rotations (N, R, 4) of parts from orientations (N, J, 4) of joints in the world.

    `joints` (R,) and `neutral` (R, 4): the joint of each part and its orientation in the neutral pose; `above` (R,):
    the part that it is relative to, -1 for the world.
    """
    for i in prange(n):
        for k in range(joints.shape[0]):
            q = mul(quat_at(orientations, i, joints[k]), conj(quat_row(neutral, k)))
            a = above[k]
            if a >= 0:
                q = mul(conj(mul(quat_at(orientations, i, joints[a]), conj(quat_row(neutral, a)))), q)
            set_quat(local, i, k, q)


@batch
def blend_rows(n: int, low: Ints, high: Ints, fraction: Floats, given: Floats, out: Floats) -> None:
    """Fill out (N, K, 4) with rotations between two of those given (N, X, 4), exactly one of them where both are it."""
    for i in prange(n):
        for k in range(low.shape[0]):
            q = quat_at(given, i, low[k])
            if low[k] != high[k]:
                q = slerp(q, quat_at(given, i, high[k]), fraction[k])
            set_quat(out, i, k, q)


@batch
def pose_rows(
    n: int,
    drive: Records,
    path: Ints,
    base: Floats,
    offsets: Floats,
    canonical: Floats,
    hips: Floats,
    rotations: Floats,
    world: Floats,
    translation: Floats,
) -> None:
    """Fill rotations (N, J, 4) and root positions (N, 3) from canonical orientations (N, K, 4) and hips (N, 3) [m].

    `base` (1 or N, J, 4) and `offsets` (1 or N, J, 3): of joints that nothing drives; `path`: (joint, its parent) from
    the hips up to the root, the root left out.
    """
    for i in prange(n):
        k = int(np.int64(i)) if base.shape[0] > 1 else 0
        for j in range(rotations.shape[1]):
            set_quat(rotations, i, j, quat_at(base, k, j))
        drive_row(i, drive, canonical, rotations, world)
        x, y, z = hips[i, 0], hips[i, 1], hips[i, 2]
        k = int(np.int64(i)) if offsets.shape[0] > 1 else 0
        for p in range(path.shape[0]):
            v = rotate(quat_at(world, i, path[p, 1]), vec_at(offsets, k, path[p, 0]))
            x, y, z = x - v[0], y - v[1], z - v[2]
        translation[i, 0], translation[i, 1], translation[i, 2] = x, y, z


class Tables(NamedTuple):
    """The arrays of a body from which kernels read and pose postures; made once a body (`Humanoid.tables`)."""

    names: tuple[str, ...]
    """(R,) parts, then joints of fingers."""
    joints: Ints
    """(R,) the joint that has the orientation of each."""
    neutral: Floats
    """(R, 4) its orientation in the neutral pose."""
    above: Ints
    """(R,) which of them each is relative to; -1 for the world."""
    spine: Ints
    spine_neutral: Floats
    spine_above: Ints
    """The same three of the joints from hips to head."""
    path: Ints
    """(P, 2) joint and parent, from the hips up to the root."""
    rest: Floats
    """(1, J, 4) rotations at rest."""
    offsets: Floats
    """(1, J, 3) [m]."""

    @classmethod
    def of(cls, body: Humanoid, joints: Sequence[int], neutral: Mapping[int, Floats]) -> Tables:
        """Return the tables of a body: the joint of each part and finger, orientations in the neutral pose by joint."""
        names, parents = (*body.roles, *body.fingers), body.skeleton.parents
        above = [-1 if role is None else names.index(role) for role in _above(names)]
        path = [(j, int(parents[j])) for j in body.skeleton.path(body.roles["hips"])[:0:-1]]
        return cls(
            names,
            np.array(joints, dtype=np.int64),
            np.array([neutral[j] for j in joints]),
            np.array(above, dtype=np.int64),
            np.array(body.spine, dtype=np.int64),
            np.array([neutral[j] for j in body.spine]),
            np.arange(-1, len(body.spine) - 1),
            np.array(path, dtype=np.int64).reshape(-1, 2),
            np.ascontiguousarray(body.skeleton.rest.rotations)[None].copy(),
            np.ascontiguousarray(body.skeleton.offsets)[None].copy(),
        )


def is_on_gpu(*poses: Any) -> bool:
    """Return whether an array of poses, frames or postures lies on a GPU."""
    names = ("translation", "rotations", "offsets", "positions", "orientations", "hips")
    return first_on_gpu(*(wrapped(getattr(one, name, None)) for one in poses for name in names)) is not None


def read_posture(body: Humanoid, frames: Frames) -> CanonicalPose:
    """Return what `Humanoid.canonical` does."""
    orientations, positions = wrapped(frames.orientations), wrapped(frames.positions)
    shape = tuple(orientations.shape[:-2])
    rows = contiguous(orientations).reshape(-1, *orientations.shape[-2:])
    tables = body.tables
    parts, joints = len(tables.joints), len(tables.spine)
    local, bends = empty((len(rows), parts, 4), rows), empty((len(rows), joints, 4), rows)
    read_rows(len(rows), tables.joints, tables.neutral, tables.above, rows, local)
    read_rows(len(rows), tables.spine, tables.spine_neutral, tables.spine_above, rows, bends)
    bent = unwrapped(bends.reshape(*shape, joints, 4))
    hips = positions[..., body.roles["hips"], :] / body.leg_length
    spine = SpineShape(body.spine_roles, body.arc_length, body.chest, bent)
    return CanonicalPose(tables.names, unwrapped(local.reshape(*shape, parts, 4)), unwrapped(hips), spine)


def pose_posture(body: Humanoid, posture: CanonicalPose, base: Pose, scale: float) -> Pose:
    """Return what `Humanoid.pose` does; `scale` [m] is what the posture's hips are in."""
    if body.robot_parts is not None:
        raise PosableError("postures are posed on a robot's motors by a search on the CPU; copy them there")
    like = first_on_gpu(wrapped(posture.rotations), wrapped(posture.hips), wrapped(base.rotations))
    shape, count = np.broadcast_shapes(tuple(posture.shape), tuple(base.shape)), len(body.skeleton)
    canonical, drive = _canonical_orientations(body, posture, base, like)
    driven = _rows(canonical, shape, *canonical.shape[-2:])
    n = len(driven)
    rotations, translation = empty((n, count, 4), like), empty((n, 3), like)
    hips = _rows(like_array(wrapped(posture.hips), like) * scale, shape, 3)
    tables = body.tables
    pose_rows(
        n,
        drive,
        tables.path,
        tables.rest if base is body.skeleton.rest else _few(like_array(wrapped(base.rotations), like), shape, count, 4),
        tables.offsets if base.offsets is None else _few(like_array(wrapped(base.offsets), like), shape, count, 3),
        driven,
        hips,
        rotations,
        empty((n, count, 4), like, np.float64),
        translation,
    )
    moved = None if base.offsets is None else unwrapped(np.broadcast_to(wrapped(base.offsets), (*shape, count, 3)))
    return Pose(unwrapped(translation.reshape(*shape, 3)), unwrapped(rotations.reshape(*shape, count, 4)), moved)


def _canonical_orientations(body: Humanoid, posture: CanonicalPose, base: Pose, like: Any) -> tuple[Any, Records]:
    """Return (..., K, 4) the canonical orientations of all parts, the spine and fingers, and what they drive."""
    roles, shape = posture.roles, tuple(posture.shape)
    local = _rows(like_array(wrapped(posture.rotations), like), shape, len(roles), 4)
    world = _chained(local, [-1 if above is None else roles.index(above) for above in _above(roles)])
    parts = [role if role in roles else parent_role(role, roles) for role in body.roles]
    low = [roles.index(role or "hips") for role in parts]
    high, fraction, known = list(low), [0.0] * len(low), world
    if "head" in roles:
        source = source_spine(posture, body.spine_roles, body.arc_length)
        known = np.concatenate([world, _spine_orientations(posture, source, world)], 1)
        one, other, part = spine_fractions(source.at, source.chest, body.arc_length, body.chest)
        if posture.spine is None and set(source.roles) == {role for role in body.spine_roles if role}:
            for row, role in enumerate(source.roles):
                at = body.spine_roles.index(role)
                one[at] = other[at] = row
        low += (len(roles) + one).tolist()
        high += (len(roles) + other).tolist()
        fraction += part.tolist()
    else:
        names = [*body.roles]
        below = [max(k for k in range(row + 1) if body.spine_roles[k]) for row in range(len(body.spine))]
        same = [low[names.index(body.spine_roles[k])] for k in below]
        low, high, fraction = low + same, high + same, fraction + [0.0] * len(same)
    fingers, drive = body.finger_drive(roles)
    bent = [roles.index(role if role in roles else parent_role(role, roles) or "hips") for role in fingers]
    low, high, fraction = low + bent, high + bent, fraction + [0.0] * len(bent)
    out = empty((len(world), len(low), 4), world, np.float64)
    blend_rows(len(world), np.array(low), np.array(high), np.array(fraction), known, out)
    out = out.reshape(*shape, len(low), 4)
    return (_with_segments(body, out, base) if body.segments else out), drive


def _spine_orientations(posture: CanonicalPose, spine: SpineShape, world: Any) -> Any:
    """Return (N, S, 4): canonical world orientations of the spine's own joints; roles hold the truth."""
    count, roles = len(spine.at), posture.roles
    named = {row: roles.index(role) for row, role in enumerate(spine.roles) if role in roles}
    known, rows = world, [named.get(row, 0) for row in range(count)]
    if len(named) < count:
        bends = _rows(like_array(wrapped(spine.bends), world), tuple(posture.shape), count, 4)
        known = np.concatenate([world, bends], 1)
        rows = [named.get(row, len(roles) + row) for row in range(count)]
    local = empty((len(world), count, 4), world, np.float64)
    blend_rows(len(world), np.array(rows), np.array(rows), np.zeros(count), known, local)
    return _chained(local, [-1 if row in named else row - 1 for row in range(count)])


def _with_segments(body: Humanoid, canonical: Any, base: Pose) -> Any:
    """Return canonical orientations with those of first segments of bones that orient the last ones as requested."""
    rows = [canonical[..., k, :] for k in range(canonical.shape[-2])]
    names, rotations, neutral = [*body.roles], wrapped(base.rotations), body.neutral_orientations
    for role, (first, *others) in body.segments.items():
        last = neutral[others[-1]]
        for joint in reversed(others):
            last = pm.multiply(last, pm.conjugate(unwrapped(rotations[..., joint, :])))
        row = names.index(role)
        more = pm.multiply(last, pm.conjugate(neutral[first]))
        rows[row] = wrapped(pm.multiply(unwrapped(rows[row]), more))
    shape = np.broadcast_shapes(*(tuple(one.shape) for one in rows))
    return np.stack([one if tuple(one.shape) == shape else np.broadcast_to(one, shape) for one in rows], -2)


def _chained(local: Any, parents: Sequence[int]) -> Any:
    """Return (N, R, 4) products down the tree, in float64: rounded, they would be rounded again."""
    world = empty(tuple(local.shape), local, np.float64)
    chain_rows(len(local), np.array(parents, dtype=np.int64), local, world)
    return world


def _above(roles: Sequence[str]) -> list[str | None]:
    return [parent_role(role, roles) for role in roles]


def _rows(array: Any, shape: tuple[int, ...], *columns: int) -> Any:
    """Return the rows of a batch, broadcast over its leading axes."""
    given = array if tuple(array.shape) == (*shape, *columns) else np.broadcast_to(array, (*shape, *columns))
    return contiguous(given).reshape(-1, *columns)


def _few(array: Any, shape: tuple[int, ...], *columns: int) -> Any:
    """Return the rows of a batch, or the one row where all are the same."""
    given = wrapped(array)
    if given.ndim == len(columns):
        return contiguous(given).reshape(1, *columns)
    return _rows(given, shape, *columns)

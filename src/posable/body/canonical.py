"""`CanonicalPose`: a posture that belongs to no rig. Anything made for one body works on another.

Canonical world orientations are the identity in H-Anim's neutral pose (standing, arms hanging, palms in, facing +Z).
A part's canonical rotation is local: from the canonical orientation of the nearest part above it (`roles.parent_role`)
to its own. In canonical rotations an elbow bends about -X and a knee about +X, on every body.

Spines differ in their number of joints. A canonical pose therefore also carries the shape of the spine it was read
from (`SpineShape`): the canonical rotation of every joint from hips to head, and where the joint sits, as an arc length
that is 0 at the hips, 1 at the joint that carries the arms and 2 at the head. Handed to another spine
(`spine_orientations`):

- hips, the joint that carries the arms and the head keep their world orientations exactly, so that legs, arms and
  gaze do;
- where both spines have as many joints below and above the arms, at positions within 0.1, joints are paired;
- else a stretch between two joints takes the orientation found at its middle, by slerp between the middles of the
  other spine's stretches. That keeps the displacements from hips to chest and from chest to head to first order, and
  bends a spine of many joints smoothly.

Rotations of roles take precedence: the shape only describes the joints between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.gpu_arrays import contiguous, unwrapped, wrapped
from ..compute.types import ArrayLike, Floats, Ints, floats
from ..math import conjugate, multiply, slerp
from .roles import EVERY_ROLE, ROLES, SPINE_ROLES, TRUNK, parent_role

MIRROR = np.array([1.0, 1.0, -1.0, -1.0])  # a rotation seen in a mirror across the plane x = 0
PAIRED_WITHIN = 0.1  # of the arc length: how far apart two spines' joints may sit and still be the same joint


@dataclass(frozen=True, eq=False)
class SpineShape:
    """How a spine of any number of joints is bent."""

    roles: tuple[str, ...]
    """(S,) the role of each joint from hips to head, "" where it has none."""
    at: Floats
    """(S,) where each joint sits: 0 at the hips, 1 at the joint that carries the arms, 2 at the head."""
    chest: int
    """Which of them carries the arms."""
    bends: Floats
    """(..., S, 4) canonical rotation of each joint in the frame of the one before. Used where a joint has no role."""


@dataclass(frozen=True, eq=False)
class CanonicalPose:
    """A posture, or a batch of them, in canonical rotations."""

    roles: tuple[str, ...]
    """(R,) which parts, in the order of `ROLES`, then joints of fingers in that of `FINGERS`."""
    rotations: Floats
    """(..., R, 4) `wxyz`: each part in the canonical frame of the nearest part above it; the hips' in the world."""
    hips: Floats
    """(..., 3): position of the hips' joint in the world, divided by the leg length of the body it was read from."""
    spine: SpineShape | None = None
    """How the joints between the roles of the spine are bent, or None: they follow their neighbours."""

    def __init__(
        self, roles: Sequence[str], rotations: ArrayLike, hips: ArrayLike, spine: SpineShape | None = None
    ) -> None:
        order = tuple(roles)
        for role in order:
            if role not in EVERY_ROLE:
                raise UnknownNameError("role", role, EVERY_ROLE)
        if order != tuple(role for role in EVERY_ROLE if role in order) or "hips" not in order:
            raise PosableError(f"roles {order} must have hips and follow the order of ROLES and FINGERS, each once")
        hint = f" for {len(order)} roles"
        rotated = contiguous(floats(rotations, "rotations", len(order), 4, hint=hint))
        given = floats(hips, "hips")
        try:
            position = np.broadcast_to(given, (*rotated.shape[:-2], 3))
        except ValueError:
            raise ShapeError(f"hips have shape {np.shape(hips)}; expected {(*rotated.shape[:-2], 3)}") from None
        object.__setattr__(self, "roles", order)
        object.__setattr__(self, "rotations", unwrapped(rotated))
        object.__setattr__(self, "hips", unwrapped(contiguous(position)))
        object.__setattr__(self, "spine", spine)

    @staticmethod
    def neutral(roles: Sequence[str] = ROLES, hips: ArrayLike = (0.0, 1.0, 0.0)) -> CanonicalPose:
        """Standing, arms hanging, palms in; the hips one leg length up by default."""
        return CanonicalPose(roles, np.tile([1.0, 0.0, 0.0, 0.0], (len(roles), 1)), hips)

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch's shape; `()` for a single posture."""
        return tuple(self.rotations.shape[:-2])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single posture has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> CanonicalPose:
        """Postures of the batch, by anything that indexes its leading axes."""
        if not self.shape:
            raise IndexError("a single posture cannot be indexed; batches can")
        spine = self.spine
        if spine is not None:
            bends = np.broadcast_to(wrapped(spine.bends), (*self.shape, *spine.bends.shape[-2:]))
            spine = replace(spine, bends=unwrapped(bends)[index])
        return CanonicalPose(self.roles, self.rotations[index], self.hips[index], spine)

    def index(self, role: str) -> int:
        """The row of a role."""
        try:
            return self.roles.index(role)
        except ValueError:
            raise UnknownNameError("role of this posture", role, self.roles) from None

    def rotation(self, role: str) -> Floats:
        """(..., 4): the canonical rotation of a part."""
        return np.asarray(self.rotations[..., self.index(role), :])

    def rotated(self, **rotations: ArrayLike) -> CanonicalPose:
        """The same posture with some parts' canonical rotations exchanged, by role: (..., 4) each."""
        given = {self.index(role): floats(q, f"the rotation of {role!r}", 4) for role, q in rotations.items()}
        batch = np.broadcast_shapes(self.shape, *(q.shape[:-1] for q in given.values()))
        changed = np.broadcast_to(self.rotations, (*batch, *self.rotations.shape[-2:])).copy()
        for row, q in given.items():
            changed[..., row, :] = q
        return CanonicalPose(self.roles, changed, np.broadcast_to(self.hips, (*batch, 3)), self.spine)

    def replace(self, **changes: Any) -> CanonicalPose:
        """The same posture with some of its fields exchanged."""
        return replace(self, **changes)

    def without_fingers(self) -> CanonicalPose:
        """The same posture without fingers: posed on a body, those keep what its base says."""
        parts = tuple(role for role in self.roles if role in ROLES)
        if parts == self.roles:
            return self
        return CanonicalPose(parts, self.rotations[..., : len(parts), :], self.hips, self.spine)

    def world(self) -> Floats:
        """(..., R, 4): the canonical orientation of every part in the world."""
        return world_orientations(self.roles, self.rotations)

    def mirrored(self) -> CanonicalPose:
        """Left and right exchanged, across the plane x = 0."""
        order = tuple(role for role in EVERY_ROLE if other_side(role) in self.roles)
        rows = [self.roles.index(other_side(role)) for role in order]
        spine = None if self.spine is None else replace(self.spine, bends=self.spine.bends * MIRROR)
        hips = self.hips * np.array([-1.0, 1.0, 1.0])
        return CanonicalPose(order, self.rotations[..., rows, :] * MIRROR, hips, spine)


def other_side(role: str) -> str:
    """The role on the other side of the body; middle parts are their own."""
    side, _, part = role.partition("_")
    return {"left": f"right_{part}", "right": f"left_{part}"}.get(side, role)


def world_orientations(roles: Sequence[str], rotations: Floats) -> Floats:
    """(..., R, 4): canonical orientations in the world of parts given by canonical rotations."""
    return _chained([-1 if above is None else roles.index(above) for above in _parents(tuple(roles))], rotations)


def local_rotations(roles: Sequence[str], world: Floats) -> Floats:
    """(..., R, 4): the inverse of `world_orientations`."""
    parents = _parents(tuple(roles))
    above = [row if parent is None else roles.index(parent) for row, parent in enumerate(parents)]
    local = multiply(conjugate(world[..., above, :]), world)
    for row, parent in enumerate(parents):
        if parent is None:
            local[..., row, :] = world[..., row, :]
    return local


def spine_orientations(posture: CanonicalPose, roles: Sequence[str], at: Floats, chest: int) -> Floats:
    """(..., S, 4): canonical world orientations for a spine whose joints have these roles ("" for none) and positions.

    Args:
        posture: where the shape comes from.
        roles: (S,) of the spine to be posed, from hips to head.
        at: (S,) positions of its joints, as in `SpineShape.at`.
        chest: which of them carries the arms.
    """
    source = source_spine(posture, roles, at)
    orientations = _shape_orientations(posture, source)
    low, high, fraction = spine_fractions(source.at, source.chest, at, chest)
    sampled = slerp(orientations[..., low, :], orientations[..., high, :], fraction)
    exact = {row: int(low[row]) for row in range(len(at)) if low[row] == high[row]}
    if posture.spine is None and set(source.roles) == {role for role in roles if role}:
        exact |= {list(roles).index(role): row for row, role in enumerate(source.roles)}
    for row, origin in exact.items():
        sampled[..., row, :] = orientations[..., origin, :]
    return sampled


def spine_fractions(source_at: Floats, source_chest: int, at: Floats, chest: int) -> tuple[Ints, Ints, Floats]:
    """(S,) each: between which two joints of a source spine a joint's orientation is found, and how far from the first.

    Args:
        source_at: positions of the source's joints, as in `SpineShape.at`.
        source_chest: which of them carries the arms.
        at: (S,) the same of the spine to be posed.
        chest: which of its joints carries the arms.
    """
    if len(source_at) == len(at) and source_chest == chest and np.abs(source_at - at).max() < PAIRED_WITHIN:
        return np.arange(len(at)), np.arange(len(at)), np.zeros(len(at))
    known = _middles(source_at)
    requested = np.array([middle for middle, _ in _middles(at)])
    # The joint that carries the arms ends one section and begins the next: it is known at both its ends.
    positions = np.array([position for position, _ in known] + [1.0])
    rows = np.array([row for _, row in known] + [source_chest])
    order = np.argsort(positions, kind="stable")
    positions, rows = positions[order], rows[order]
    upper = np.clip(np.searchsorted(positions, requested, side="right"), 1, len(positions) - 1)
    gap = positions[upper] - positions[upper - 1]
    fraction = np.clip((requested - positions[upper - 1]) / np.where(gap > 1e-12, gap, 1.0), 0.0, 1.0)
    low, high = rows[upper - 1], rows[upper]
    for row, origin in ((0, 0), (chest, source_chest), (len(at) - 1, len(source_at) - 1)):
        low[row], high[row], fraction[row] = origin, origin, 0.0
    return low, high, fraction


def source_spine(posture: CanonicalPose, roles: Sequence[str], at: Floats) -> SpineShape:
    """The posture's own spine; made up from its roles where it has none, at the positions of the spine to be posed."""
    if posture.spine is not None:
        return posture.spine
    present = tuple(role for role in SPINE_ROLES if role in posture.roles)
    trunk = [role for role in present if role in TRUNK]
    chest = len(trunk)  # the hips where there is no trunk
    none = np.empty((*posture.shape, len(present), 4))
    if set(present) == {role for role in roles if role}:
        return SpineShape(present, np.array([at[list(roles).index(role)] for role in present]), chest, none)
    positions = {"hips": 0.0, "neck": 1.4, "head": 2.0}
    positions |= {role: (row + 1.0) / len(trunk) for row, role in enumerate(trunk)}
    return SpineShape(present, np.array([positions[role] for role in present]), chest, none)


def _shape_orientations(posture: CanonicalPose, spine: SpineShape) -> Floats:
    """(..., S, 4): canonical world orientations of the spine's own joints; roles hold the truth."""
    named = {row: posture.roles.index(role) for row, role in enumerate(spine.roles) if role in posture.roles}
    local = np.broadcast_to(spine.bends, (*posture.shape, len(spine.at), 4)).copy()
    local[..., list(named), :] = posture.world()[..., list(named.values()), :]
    return _chained([-1 if row in named else row - 1 for row in range(len(spine.at))], local)


def _chained(parents: Sequence[int], local: Floats) -> Floats:
    """(..., R, 4): products down the tree; a parent of -1 has nothing above it."""
    from .packed import chain_rows

    rows = np.ascontiguousarray(local).reshape(-1, *local.shape[-2:])
    world = np.empty_like(rows)
    chain_rows(len(rows), np.array(parents, dtype=np.int64), rows, world)
    return world.reshape(local.shape)


@lru_cache(maxsize=256)
def _parents(roles: tuple[str, ...]) -> tuple[str | None, ...]:
    return tuple(parent_role(role, roles) for role in roles)


def _middles(at: Floats) -> list[tuple[float, int]]:
    """(the middle of the stretch above a joint, the joint) along a spine; the head's is its own position."""
    ends = [*at[1:], at[-1]]
    return [(0.5 * (float(low) + float(high)), row) for row, (low, high) in enumerate(zip(at, ends))]

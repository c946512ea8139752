"""`Posture`: what a behaviour says of a body: canonical rotations of some parts, and a shift of the hips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import MIRROR, other_side
from ..body.roles import LIMBS, ROLES
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats
from ..math import conjugate, multiply, normalize, rotate
from .heading import heading

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Pose


@dataclass(frozen=True, eq=False)
class Posture:
    """A posture of some parts of a body, or a batch of them; it belongs to no rig.

    Rotations are canonical and local, as in `CanonicalPose`. The hips' is seen from the way the body faced at the
    start, and so is their shift: a behaviour works wherever a body stands and whichever way it faces.
    """

    parts: tuple[str, ...]
    """(R,) roles, in the order of `ROLES`."""
    rotations: Floats
    """(..., R, 4) `wxyz`, with w >= 0: q and -q are one rotation, and sums of quaternions need one of them."""
    hips: Floats
    """(..., 3) how far the hips move from where they were, in leg lengths: to the left, up, ahead."""

    def __init__(self, parts: Sequence[str], rotations: ArrayLike, hips: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        order = ordered_parts(parts)
        turned = np.array(rotations, dtype=np.float64)
        if turned.ndim < 2 or turned.shape[-2:] != (len(parts), 4):
            raise ShapeError(f"rotations have shape {turned.shape}; expected (..., {len(parts)}, 4) for these parts")
        turned = turned[..., [list(parts).index(part) for part in order], :]
        with np.errstate(over="ignore"):  # too large is told below
            sizes = np.linalg.norm(turned, axis=-1)
        if not (np.isfinite(sizes).all() and (sizes > 1e-9).all()):
            raise PosableError("a posture's rotations must be finite quaternions other than zero")
        shift = np.array(hips, dtype=np.float64)
        if shift.shape[-1:] != (3,) or not np.isfinite(shift).all():
            raise PosableError(f"hips are {shift}; expected (..., 3) leg lengths")
        # What is a unit quaternion already stays as it is, to the last bit: files come back exactly.
        turned = np.where(np.abs(sizes - 1.0)[..., None] < 1e-14, turned, normalize(turned))
        object.__setattr__(self, "parts", order)
        object.__setattr__(self, "rotations", np.where(turned[..., :1] < 0.0, -turned, turned))
        object.__setattr__(self, "hips", np.broadcast_to(shift, (*turned.shape[:-2], 3)).copy())
        self.rotations.flags.writeable = self.hips.flags.writeable = False

    @staticmethod
    def neutral(parts: Sequence[str]) -> Posture:
        """Standing: every part as in the neutral pose, the hips where they were."""
        return Posture(parts, np.tile([1.0, 0.0, 0.0, 0.0], (len(parts), 1)))

    @staticmethod
    def of(body: Humanoid, pose: Pose, start: Pose, parts: Sequence[str]) -> Posture:
        """What a pose of a body says of these parts; its hips are seen from `start`."""
        now, before = body.canonical(pose), body.canonical(start)
        facing = heading(before.rotation("hips"))
        order = ordered_parts(parts)
        turned = np.stack([now.rotation(part) for part in order], axis=-2)
        if "hips" in order:
            turned[..., order.index("hips"), :] = multiply(conjugate(facing), now.rotation("hips"))
        return Posture(order, turned, rotate(conjugate(facing), now.hips - before.hips))

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch's shape; `()` for a single posture."""
        return self.rotations.shape[:-2]

    def rotation(self, part: str) -> Floats:
        """(..., 4): the canonical rotation of a part."""
        return np.asarray(self.rotations[..., self._index(part), :])

    def turned(self, **rotations: ArrayLike) -> Posture:
        """The same posture with some parts' rotations exchanged, by role."""
        changed = self.rotations.copy()
        for part, q in rotations.items():
            if np.shape(q)[-1:] != (4,):
                raise ShapeError(f"the rotation of {part} has shape {np.shape(q)}; expected (..., 4)")
            changed[..., self._index(part), :] = q
        return Posture(self.parts, changed, self.hips)

    def shifted(self, hips: ArrayLike) -> Posture:
        """The same posture with the hips shifted by (3,) leg lengths in all."""
        return Posture(self.parts, self.rotations, hips)

    def mirrored(self) -> Posture:
        """Left and right exchanged."""
        order = ordered_parts([other_side(part) for part in self.parts])
        rows = [self.parts.index(other_side(part)) for part in order]
        return Posture(order, self.rotations[..., rows, :] * MIRROR, self.hips * [-1.0, 1.0, 1.0])

    def _index(self, part: str) -> int:
        if part not in self.parts:
            raise UnknownNameError("part of this posture", part, self.parts)
        return self.parts.index(part)


def ordered_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The roles in the order of `ROLES`, each once; an error for a name that is none."""
    for part in parts:
        if part not in ROLES:
            raise UnknownNameError("part", part, ROLES)
    if len(set(parts)) != len(parts):
        raise PosableError(f"parts {tuple(parts)}: each may stand there once")
    return tuple(role for role in ROLES if role in parts)


def drivable_parts(limb: str) -> tuple[str, ...]:
    """The parts that a behaviour of an arm may drive: not that arm, and not the legs, which hold the feet."""
    solved = {*LIMBS[limb], *LIMBS["right_leg"], *LIMBS["left_leg"], "left_toes", "right_toes"}
    return tuple(role for role in ROLES if role not in solved)

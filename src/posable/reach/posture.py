"""`Posture`, `Key` and `Weight`: what a behaviour is made of.

A posture has canonical rotations of some parts of a body and a displacement of its hips; a key puts one at a point of
the shoulder's swing plane; a weight decides how much of the behaviour a reach takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import MIRROR, other_side
from ..body.roles import LIMBS, ROLES
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats, floats
from ..limb.model import Search
from ..math import conjugate, multiply, normalize, rotate

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Pose

QUADRATIC, SMOOTHSTEP, CONSTANT, NEEDED = range(4)
WEIGHTS = {"quadratic": QUADRATIC, "smooth": SMOOTHSTEP, "constant": CONSTANT, "needed": NEEDED}
"""The kinds of weight, by name, with their numbers in kernels."""
MAX_COMFORT = 0.95  # [arm lengths]: the body begins to help before the arm is stretched


@dataclass(frozen=True, eq=False, repr=False)
class Posture:
    """A posture of some parts of a body, or a batch of them; it belongs to no rig.

    Rotations are canonical and local, as in `CanonicalPose`. The rotation and the displacement of the hips are relative
    to the heading of the starting pose: a behaviour works wherever a body stands and whatever direction it faces.
    """

    parts: tuple[str, ...]
    """(R,) roles, in the order of `ROLES`."""
    rotations: Floats
    """(..., R, 4) `wxyz`, with w >= 0: q and -q are one rotation, and sums of quaternions need one of them."""
    hips: Floats
    """(..., 3) displacement of the hips from the starting pose [leg lengths]: to the left, up, ahead."""

    def __init__(self, parts: Sequence[str], rotations: ArrayLike, hips: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        order = ordered_parts(parts)
        given = np.array(rotations, dtype=np.float64)
        if given.ndim < 2 or given.shape[-2:] != (len(parts), 4):
            raise ShapeError(f"rotations have shape {given.shape}; expected (..., {len(parts)}, 4) for these parts")
        given = given[..., [list(parts).index(part) for part in order], :]
        with np.errstate(over="ignore"):  # too large is refused below
            sizes = np.linalg.norm(given, axis=-1)
        if not (np.isfinite(sizes).all() and (sizes > 1e-9).all()):
            raise PosableError("a posture's rotations must be finite quaternions other than zero")
        displacement = np.array(hips, dtype=np.float64)
        if displacement.shape[-1:] != (3,) or not np.isfinite(displacement).all():
            raise PosableError(f"hips are {displacement}; expected (..., 3) leg lengths")
        # Unit quaternions stay as they are, to the last bit: files come back exactly.
        given = np.where(np.abs(sizes - 1.0)[..., None] < 1e-14, given, normalize(given))
        object.__setattr__(self, "parts", order)
        object.__setattr__(self, "rotations", np.where(given[..., :1] < 0.0, -given, given))
        object.__setattr__(self, "hips", np.broadcast_to(displacement, (*given.shape[:-2], 3)).copy())
        self.rotations.flags.writeable = self.hips.flags.writeable = False

    def __repr__(self) -> str:
        batch_of = f"{'x'.join(map(str, self.shape))} of " if self.shape else ""
        return f"Posture({batch_of}{len(self.parts)} parts: {', '.join(self.parts)})"

    @staticmethod
    def neutral(parts: Sequence[str]) -> Posture:
        """Return the posture of a standing body: every part as in the neutral pose, the hips where they were."""
        return Posture(parts, np.tile([1.0, 0.0, 0.0, 0.0], (len(parts), 1)))

    @staticmethod
    def of(body: Humanoid, pose: Pose, start: Pose, parts: Sequence[str]) -> Posture:
        """Return the posture of these parts in a pose of a body, with its hips relative to those of `start`."""
        now, before = body.canonical(pose), body.canonical(start)
        facing = heading(before.rotation("hips"))
        order = ordered_parts(parts)
        rotations = np.stack([now.rotation(part) for part in order], axis=-2)
        if "hips" in order:
            rotations[..., order.index("hips"), :] = multiply(conjugate(facing), now.rotation("hips"))
        return Posture(order, rotations, rotate(conjugate(facing), now.hips - before.hips))

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch's shape; `()` for a single posture."""
        return self.rotations.shape[:-2]

    def rotation(self, part: str) -> Floats:
        """Return the canonical rotation (..., 4) of a part."""
        return np.asarray(self.rotations[..., self._index(part), :])

    def rotated(self, **rotations: ArrayLike) -> Posture:
        """Return the same posture with the rotations (..., 4) of some parts replaced, by role."""
        changed = self.rotations.copy()
        for part, q in rotations.items():
            if np.shape(q)[-1:] != (4,):
                raise ShapeError(f"the rotation of {part} has shape {np.shape(q)}; expected (..., 4)")
            changed[..., self._index(part), :] = q
        return Posture(self.parts, changed, self.hips)

    def shifted(self, hips: ArrayLike) -> Posture:
        """Return the same posture with the hips displaced by `hips` (3,) [leg lengths] from the starting pose."""
        return Posture(self.parts, self.rotations, hips)

    def mirrored(self) -> Posture:
        """Return the posture with left and right exchanged."""
        order = ordered_parts([other_side(part) for part in self.parts])
        rows = [self.parts.index(other_side(part)) for part in order]
        return Posture(order, self.rotations[..., rows, :] * MIRROR, self.hips * [-1.0, 1.0, 1.0])

    def _index(self, part: str) -> int:
        if part not in self.parts:
            raise UnknownNameError("part of this posture", part, self.parts)
        return self.parts.index(part)


@dataclass(frozen=True)
class Weight:
    """How much of the behaviour a reach takes, by the target's distance from the shoulder (paper: f_weight)."""

    kind: str = "quadratic"
    """"quadratic": k (d / arm length)^2, the paper's; "smooth": the same ends without its corner; "constant": k;
    "needed": as much as brings the target within k arm lengths of the shoulder, nothing where it is (`reach.need`)."""
    k: float = 0.8
    """From 0 to 1. For the first two, weight 1 is reached at a distance of arm length / sqrt(k)."""

    def __post_init__(self) -> None:
        if self.kind not in WEIGHTS:
            raise UnknownNameError("kind of weight", self.kind, WEIGHTS)
        if not 0.0 < self.k <= 1.0:
            raise PosableError(f"weight k is {self.k}; expected above 0 and at most 1")
        if self.kind == "needed" and self.k > MAX_COMFORT:
            raise PosableError(f"a needed weight's k is {self.k} arm lengths; expected at most {MAX_COMFORT}")

    def __call__(self, d: ArrayLike) -> Floats:
        """Return the weight at distances of d arm lengths; "needed" ones depend on the body, and on the direction."""
        d = np.maximum(floats(d, "d"), 0.0)
        if self.kind == "needed":
            raise PosableError("how much is needed depends on the body: Reacher.solve has it as requested_weight")
        if self.kind == "constant":
            return np.full(d.shape, self.k)
        x = np.minimum(1.0, d * math.sqrt(self.k))
        return x * x if self.kind == "quadratic" else x * x * (3.0 - 2.0 * x)


@dataclass(frozen=True, eq=False)
class Key:
    """A key of a behaviour. `Behaviour` replaces its keys when they are edited; those it has returned do not change."""

    id: int
    at: tuple[float, ...]
    """(2,) swing [rad] about x and y of the shoulder's frame; (3,) [arm lengths] in a behaviour around it."""
    posture: Posture | None
    """None: interpolated from the other keys until it is set."""
    outer: bool = False
    """One of the four around the ellipse: editable, never removed or moved."""
    search: Search | None = None
    """How the arm's swivel is searched here; None: the arm's own search."""
    name: str = ""


def ordered_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the roles in the order of `ROLES`; raise for an unknown or repeated name."""
    for part in parts:
        if part not in ROLES:
            raise UnknownNameError("part", part, ROLES)
    if len(set(parts)) != len(parts):
        raise PosableError(f"parts {tuple(parts)}: each may occur once")
    return tuple(role for role in ROLES if role in parts)


def drivable_parts(limb: str) -> tuple[str, ...]:
    """Return the parts that a behaviour of an arm may drive: not that arm, nor the legs, which keep the feet fixed."""
    solved = {*LIMBS[limb], *LIMBS["right_leg"], *LIMBS["left_leg"], "left_toes", "right_toes"}
    return tuple(role for role in ROLES if role not in solved)


def heading(hips: Floats) -> Floats:
    """Return the headings (..., 4) of canonical orientations (..., 4) of the hips: their twists about the vertical, the
    identity for a body upside down.
    """
    twist = np.zeros(np.shape(hips))
    twist[..., [0, 2]] = hips[..., [0, 2]]
    return normalize(twist)

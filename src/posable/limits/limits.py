"""One joint's limit, and the limits of a whole body.

`JointLimit` is a swing shape and a twist interval in the joint's own axes. `Limits` maps names (roles of a humanoid,
in canonical rotations) to joint limits, packs them for kernels, and answers for one rotation or any batch of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, batch, prange
from ..compute.gpu_arrays import contiguous, empty, unwrapped
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records, Vec3, floats
from . import kernels
from .nearest import CONE, ELLIPSE, FREE, HINGE
from .shapes import Cone, Ellipse, Hinge, Interval, Swing, boundary_samples

ROW = np.dtype(
    [(name, np.int64) for name in ("kind", "start", "samples", "pieces")]
    + [(name, np.float64) for name in ("side", "order", "d1", "d2", "d3", "a1", "a2", "a3")]
    + [(name, np.float64) for name in ("c1", "c2", "r1", "r2", "twist_middle", "twist_half")],
    align=True,  # the same layout; unaligned, a GPU reads each number byte by byte
)
"""A row of `Limits.packed`: shape, axes, numbers. `start` is where the shape's boundary begins in `Limits.curves`,
`side` -1 for a mirrored joint, `order` -1 where the swing's axes turn with the twist; both are else 1."""


@dataclass(frozen=True, slots=True)
class JointLimit:
    """The limit of one joint: a swing shape and a twist interval; `None` does not limit.

    `direction` is the bone at rest and `axis` the first swing axis a1 (unit, perpendicular to it), both in the joint's
    canonical frame; the second is `a2 = direction x axis`. With `is_mirrored` they and all angles are read as the
    mirror image across the body's middle (x -> -x): a right joint has the values of its left twin. `source` says where
    the values come from.

    A rotation is a twist followed by a swing about axes that stay. With `turning` the swing's axes turn with the twist:
    a wrist flexes about the axis of its palm, however far the forearm has turned it, and wherever a rig turns it.
    """

    swing: Swing | None = None
    twist: Interval | None = None
    direction: Vec3 = (0.0, -1.0, 0.0)
    axis: Vec3 = (1.0, 0.0, 0.0)
    is_mirrored: bool = False
    source: str = ""
    turning: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.swing, Hinge | Ellipse | Cone | None):
            raise PosableError(f"swing limit {self.swing!r}: give a Hinge, an Ellipse, a Cone or None")
        if not isinstance(self.twist, Interval | None):
            raise PosableError(f"twist limit {self.twist!r}: give an Interval or None")
        d, a = np.array(self.direction, dtype=np.float64), np.array(self.axis, dtype=np.float64)
        if d.shape != (3,) or a.shape != (3,) or not np.allclose([d @ d, a @ a, d @ a], [1.0, 1.0, 0.0], atol=1e-9):
            raise PosableError(f"direction {self.direction} and axis {self.axis}: give perpendicular unit vectors")

    def mirrored(self) -> JointLimit:
        """Return the limit of the joint's twin on the other side; a symmetric joint of the middle is its own."""
        return self if self._symmetric else dataclasses.replace(self, is_mirrored=not self.is_mirrored)

    def scaled(self, factor: float) -> JointLimit:
        """Return the same limit with all its angles times `factor`; not for cones."""
        if isinstance(self.swing, Cone):
            raise PosableError("a cone does not scale; give the joint a cone of its own")
        return dataclasses.replace(
            self, swing=self.swing and self.swing.scaled(factor), twist=self.twist and self.twist.scaled(factor)
        )

    @property
    def _symmetric(self) -> bool:
        """Whether the joint is its own mirror image: its swing axis across the body, its shape and twist even."""
        upright = self.direction[0] == 0.0 and abs(self.axis[0]) == 1.0
        swing = self.swing is None or isinstance(self.swing, Hinge)
        swing = swing or (isinstance(self.swing, Ellipse) and self.swing.centre[1] == 0.0)
        return upright and swing and (self.twist is None or self.twist.low == -self.twist.high)


@dataclass(frozen=True)
class Limits(Mapping[str, JointLimit]):
    """The limits of a body, by name: `limits["left_hand"]`.

    The methods take one name and rotations (..., 4), or a sequence of R names and rotations (..., R, 4). Rotations
    are canonical, local to the parent role, `wxyz`. `limits.kernels` describes singular rotations.
    """

    joints: Mapping[str, JointLimit]

    def __post_init__(self) -> None:
        for name, joint in self.joints.items():
            if not isinstance(joint, JointLimit):
                raise PosableError(f"limit of {name!r} is {joint!r}: give a JointLimit")
        object.__setattr__(self, "joints", MappingProxyType(dict(self.joints)))

    @classmethod
    def human(cls, roles: Sequence[str] | None = None, *, palms: Mapping[str, float] | None = None) -> Limits:
        """Return the limits of an adult for every joint of the body; `human.py` has the values' sources.

        Args:
            roles: the ones a body has (default: all of them); its spine roles divide the trunk's and the neck's range
                equally among them.
            palms: by role of a hand, where the thumb's side points in the neutral pose, as an angle [rad] about +Y from
                straight ahead; default 0. A wrist flexes about that direction, see `body.neutral.palm_headings`.
        """
        from .human import human_joints

        return cls(human_joints(roles, palms or {}))

    @staticmethod
    def for_spine(trunk: int | Sequence[float], neck: int | Sequence[float]) -> tuple[JointLimit, ...]:
        """Return human limits for a spine of any number of joints, from the lowest up: the trunk's, then the neck's.

        `trunk` and `neck` are numbers of joints, or the arc lengths of the bones the joints move (any unit). A joint
        with the fraction f of the length gets sqrt(f) of the whole's range: three equal joints 58 % each. Real spines
        bend unevenly, so a plain third would forbid ordinary poses; the square root is how uneven parts add up.
        """
        from .human import spine_joints

        return spine_joints(trunk, neck)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints' names, in the order of `packed`."""
        return tuple(self.joints)

    def contains(self, role: str | Sequence[str], q: ArrayLike, tolerance: float = 1e-9) -> Bools:
        """Return whether each rotation lies inside, or at most `tolerance` [rad] outside."""
        inside = self.excess(role, q) <= tolerance
        return np.asarray(inside) if isinstance(inside, np.bool_) else inside

    def excess(self, role: str | Sequence[str], q: ArrayLike) -> Floats:
        """Return how far each rotation lies outside [rad], the larger of swing along the sphere and twist; 0 inside."""
        which, flat, lead = self._rows(role, q)
        out = empty((len(flat),), flat)
        _excess_rows(len(flat), *self._packing, which, flat, out)
        return unwrapped(out.reshape(lead))  # type: ignore[no-any-return]

    def clamp(self, role: str | Sequence[str], q: ArrayLike, *, approximate: bool = False) -> Floats:
        """Return the nearest rotations inside, swing and twist each by itself; rotations inside are returned untouched.

        The swing goes to the nearest point of the boundary along the sphere. `approximate` uses the papers' rules
        instead: the nearest point in the swing plane for ellipses, the same direction for cones.
        """
        which, flat, lead = self._rows(role, q)
        out = empty(flat.shape, flat)
        _clamp_rows(len(flat), *self._packing, which, flat, bool(approximate), out)
        return unwrapped(out.reshape(*lead, 4))  # type: ignore[no-any-return]

    def clamp_from(self, role: str | Sequence[str], start: ArrayLike, q: ArrayLike) -> Floats:
        """Return what `clamp` does for a joint that starts at `start`: from outside, q may lie as far out, no more."""
        begin, goal = floats(start, "start", 4), floats(q, "q", 4)
        try:
            shape = np.broadcast_shapes(begin.shape, goal.shape)
        except ValueError:
            raise ShapeError(f"start {begin.shape} and q {goal.shape} do not broadcast") from None
        begin, goal = np.broadcast_to(begin, shape), np.broadcast_to(goal, shape)
        which, flat, lead = self._rows(role, goal)
        _, first, _ = self._rows(role, begin)
        out = empty(flat.shape, (first, flat))
        _clamp_from_rows(len(flat), *self._packing, which, first, flat, out)
        return unwrapped(out.reshape(*lead, 4))  # type: ignore[no-any-return]

    def slack(self, role: str | Sequence[str], start: ArrayLike) -> Floats:
        """Return (..., 3) [rad]: how far starts lie outside (swing, twist below, above); `clamp_from` widens by it."""
        which, flat, lead = self._rows(role, start)
        out = empty((len(flat), 3), flat)
        _slack_rows(len(flat), *self._packing, which, flat, out)
        return unwrapped(out.reshape(*lead, 3))  # type: ignore[no-any-return]

    def mirrored(self) -> Limits:
        """Return the limits of the body's mirror image: left and right exchanged."""
        return Limits({_other_side(name): joint.mirrored() for name, joint in self.joints.items()})

    def replace(self, **joints: JointLimit) -> Limits:
        """Return the same limits with some joints' changed or added: `limits.replace(head=JointLimit(...))`."""
        return Limits({**self.joints, **joints})

    @cached_property
    def packed(self) -> Records:
        """One row a joint, for kernels: a structured array of dtype `ROW`."""
        return _frozen(self._packing[0])

    @cached_property
    def curves(self) -> Floats:
        """The boundary samples and spline pieces of all the shapes, flat; rows say where theirs begin."""
        return _frozen(self._packing[1])

    def index(self, name: str) -> int:
        """Return the joint's row in `packed`."""
        try:
            return self._index[name]
        except KeyError:
            raise UnknownNameError("joint limit", name, self.names) from None

    def __repr__(self) -> str:
        names = ", ".join(self.names[:4]) + (", ..." if len(self) > 4 else "")
        return f"Limits({len(self)} joints: {names})" if names else "Limits(no joints)"

    def __getitem__(self, name: str) -> JointLimit:
        return self.joints[self.names[self.index(name)]]

    def __contains__(self, name: object) -> bool:
        return name in self.joints

    def __iter__(self) -> Iterator[str]:
        return iter(self.joints)

    def __len__(self) -> int:
        return len(self.joints)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joints)}

    @cached_property
    def _packing(self) -> tuple[Records, Floats]:
        """`packed` and `curves` as kernels take them: Numba compiles once more for arrays that cannot be written."""
        rows = np.zeros(len(self.joints), dtype=ROW)
        curves: list[Floats] = [np.zeros(1)]  # never empty: kernels may not see a zero-sized array
        start = 1
        for row, joint in zip(rows, self.joints.values(), strict=True):
            curve = _pack(row, joint)
            row["start"] = start
            start += len(curve)
            curves.append(curve)
        return rows, np.concatenate(curves)

    def _rows(self, role: str | Sequence[str], q: ArrayLike) -> tuple[Ints, Floats, tuple[int, ...]]:
        """Return (row of each joint, rotations (n, 4), leading shape): rotation i belongs to joint `i % len(rows)`."""
        rotations = floats(q, "rotations")
        single = isinstance(role, str)
        which = np.array([self.index(name) for name in ([role] if isinstance(role, str) else role)], dtype=np.int64)
        expected = "(..., 4)" if single else f"(..., {len(which)}, 4)"
        fits = rotations.ndim >= 1 and rotations.shape[-1] == 4
        if not fits or not (single or (rotations.ndim >= 2 and rotations.shape[-2] == len(which))):
            raise ShapeError(f"rotations have shape {rotations.shape}; expected {expected}")
        return which, contiguous(rotations).reshape(-1, 4), rotations.shape[:-1]


def _pack(row: Any, joint: JointLimit) -> Floats:
    """Fill a row of `packed` but for its start; return the shape's part of `curves`."""
    row["side"] = -1.0 if joint.is_mirrored else 1.0
    row["order"] = -1.0 if joint.turning else 1.0
    for k in range(3):
        row[f"d{k + 1}"], row[f"a{k + 1}"] = joint.direction[k], joint.axis[k]
    twist = joint.twist or Interval(-math.pi, math.pi)
    full = twist.half >= math.pi
    row["twist_middle"], row["twist_half"] = twist.middle, math.inf if full else twist.half
    swing = joint.swing
    if swing is None:
        row["kind"] = FREE
        return np.zeros(0)
    if isinstance(swing, Hinge):
        row["kind"] = HINGE
        row["c1"], row["r1"] = 0.5 * (swing.low + swing.high), 0.5 * (swing.high - swing.low)
        row["r2"] = swing.slack
        return np.zeros(0)
    samples = boundary_samples(swing)
    row["samples"] = len(samples)
    if isinstance(swing, Ellipse):
        row["kind"] = ELLIPSE
        (row["c1"], row["c2"]), (row["r1"], row["r2"]) = swing.centre, swing.radii
        return samples.ravel()
    row["kind"] = CONE
    pieces = swing.pieces()
    row["pieces"] = len(pieces)
    return np.concatenate([samples.ravel(), pieces.ravel()])


def _frozen(array: Records) -> Records:
    """Return a read-only view of the array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _other_side(name: str) -> str:
    for here, there in (("left_", "right_"), ("right_", "left_")):
        if name.startswith(here):
            return there + name[len(here) :]
    return name


@batch
def _excess_rows(n: int, packed: Records, curves: Floats, which: Ints, q: Floats, out: Floats) -> None:
    for i in prange(n):
        row = packed[which[i % len(which)]]
        s, t = kernels.excess(row, curves, (q[i, 0], q[i, 1], q[i, 2], q[i, 3]))
        out[i] = max(s, t)


@batch
def _clamp_rows(
    n: int, packed: Records, curves: Floats, which: Ints, q: Floats, approximate: bool, out: Floats
) -> None:
    for i in prange(n):
        row, given = packed[which[i % len(which)]], (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        w, x, y, z = kernels.clamp_approximate(row, curves, given) if approximate else kernels.clamp(row, curves, given)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch
def _clamp_from_rows(
    n: int, packed: Records, curves: Floats, which: Ints, start: Floats, q: Floats, out: Floats
) -> None:
    for i in prange(n):
        row = packed[which[i % len(which)]]
        begin = (start[i, 0], start[i, 1], start[i, 2], start[i, 3])
        w, x, y, z = kernels.clamp_from(row, curves, begin, (q[i, 0], q[i, 1], q[i, 2], q[i, 3]))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch
def _slack_rows(n: int, packed: Records, curves: Floats, which: Ints, start: Floats, out: Floats) -> None:
    for i in prange(n):
        row = packed[which[i % len(which)]]
        q = (start[i, 0], start[i, 1], start[i, 2], start[i, 3])
        out[i, 0], out[i, 1], out[i, 2] = kernels.slack(row, curves, q)

"""Joint kinds, the one list of degrees of freedom, and the packed model that kernels read.

| kind | DoF | local rotation |
|---|---|---|
| `free` | 3 translations along world axes, 3 rotations | rest * exp(x, y, z) |
| `ball` | 3 rotations about the joint's own axes | rest * exp(x, y, z) |
| `hinge` | 1 rotation about `axis` | rest * A(axis, a) |
| `hinge_twist` | 2 rotations: flexion about `axis`, then twist | rest * A(axis, a) * A(twist axis, b) |
| `slide` | 1 translation along `axis`, in the joint's own frame | rest |
| `fixed` | none | rest |

Rates of ball and free rotations are body angular velocities (in the joint's own, rotated frame), so that no angle is
ever singular; their *values* are rotation vectors from rest. Everything that counts DoF indexes this list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.types import ArrayLike, Floats, Ints, Records

KINDS = ("fixed", "ball", "hinge", "hinge_twist", "slide", "free")
FIXED, BALL, HINGE, HINGE_TWIST, SLIDE, FREE = range(6)  # codes in the packed model: indices into KINDS
DOF_COUNT = (0, 3, 1, 2, 1, 6)

JOINT = np.dtype(
    [("parent", "i8"), ("kind", "i8"), ("dof", "i8")]  # dof: index of the joint's first DoF
    + [(name, "f8") for name in ("ox", "oy", "oz")]  # offset from the parent [m]
    + [(name, "f8") for name in ("rw", "rx", "ry", "rz")]  # rest rotation
    + [(name, "f8") for name in ("ax", "ay", "az", "bx", "by", "bz")],  # axis, twist axis
    align=True,  # the same layout; unaligned, a GPU reads each number byte by byte
)


@dataclass(frozen=True, eq=False)
class Dofs:
    """The degrees of freedom of a skeleton, in order: joint by joint, translations before rotations."""

    joint: Ints
    """(D,) index of the joint."""
    kind: tuple[str, ...]
    """(D,) "rotation" or "translation"."""
    axis: Floats
    """(D, 3) unit axis in the joint's own frame; translations of a free root: in the world."""
    names: tuple[str, ...]
    """(D,) for people: "LeftArm.x", "elbow.flexion"."""

    def __len__(self) -> int:
        return len(self.joint)

    def __repr__(self) -> str:
        return f"Dofs({len(self)} of {len(np.unique(self.joint))} joints)"

    def of(self, joint: int) -> slice:
        """The DoF of one joint, as a slice of this list."""
        first, last = np.searchsorted(self.joint, [joint, joint + 1])
        return slice(int(first), int(last))


def kind_codes(kinds: tuple[str, ...]) -> Ints:
    """Codes of joint kinds; an unknown kind raises."""
    codes = {kind: code for code, kind in enumerate(KINDS)}
    for kind in kinds:
        if kind not in codes:
            raise UnknownNameError("joint kind", kind, KINDS)
    return np.array([codes[kind] for kind in kinds], dtype=np.int64)


def unit_axes(names: tuple[str, ...], codes: Ints, axes: ArrayLike | None) -> Floats:
    """(J, 2, 3) unit axis and twist axis; kinds that have no axis get zeros. Default: x and y."""
    default = np.broadcast_to(np.eye(3)[:2], (len(codes), 2, 3))
    given = np.array(default if axes is None else axes, dtype=np.float64)
    if given.shape == (len(codes), 3):
        given = np.stack([given, default[:, 1]], axis=1)
    if given.shape != (len(codes), 2, 3):
        raise PosableError(f"axes have shape {given.shape}; expected ({len(codes)}, 3) or ({len(codes)}, 2, 3)")
    needed = np.stack([np.isin(codes, (HINGE, HINGE_TWIST, SLIDE)), codes == HINGE_TWIST], axis=1)
    given[~needed] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        lengths = np.linalg.norm(given, axis=-1, keepdims=True)
    missing = needed & ~(np.isfinite(lengths) & (lengths > 1e-9))[..., 0]
    if missing.any():
        j = int(np.flatnonzero(missing.any(axis=1))[0])
        raise PosableError(f"joint {names[j]!r} is a {KINDS[codes[j]]} and needs an axis; got {given[j].tolist()}")
    given /= np.where(needed[..., None], lengths, 1.0)
    slanted = np.abs((given[:, 0] * given[:, 1]).sum(axis=-1)) > 1e-6
    if slanted.any():
        j = int(np.flatnonzero(slanted)[0])
        raise PosableError(f"joint {names[j]!r}: its flexion and twist axes must be perpendicular")
    return given


def list_dofs(names: tuple[str, ...], codes: Ints, axes: Floats) -> Dofs:
    """The list for joints of these kinds."""
    rows: list[tuple[int, str, Floats, str]] = []
    world = np.eye(3)
    for j, (name, code) in enumerate(zip(names, codes, strict=True)):
        if code == FREE:
            rows += [(j, "translation", world[a], f"{name}.t{'xyz'[a]}") for a in range(3)]
        if code in (FREE, BALL):
            rows += [(j, "rotation", world[a], f"{name}.{'xyz'[a]}") for a in range(3)]
        elif code == HINGE:
            rows.append((j, "rotation", axes[j, 0], f"{name}.angle"))
        elif code == HINGE_TWIST:
            rows += [(j, "rotation", axes[j, 0], f"{name}.flexion"), (j, "rotation", axes[j, 1], f"{name}.twist")]
        elif code == SLIDE:
            rows.append((j, "translation", axes[j, 0], f"{name}.slide"))
    return Dofs(
        joint=np.array([row[0] for row in rows], dtype=np.int64),
        kind=tuple(row[1] for row in rows),
        axis=np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 3),
        names=tuple(row[3] for row in rows),
    )


def pack(parents: Ints, codes: Ints, offsets: Floats, rest: Floats, axes: Floats) -> Records:
    """The model as kernels read it: one row a joint, scalars only, so that a new skeleton compiles nothing."""
    joints = np.zeros(len(parents), dtype=JOINT)
    joints["parent"], joints["kind"] = parents, codes
    counts = np.array(DOF_COUNT)[codes]
    joints["dof"] = np.cumsum(counts) - counts
    for column, name in enumerate("xyz"):
        joints[f"o{name}"] = offsets[:, column]
        joints[f"a{name}"], joints[f"b{name}"] = axes[:, 0, column], axes[:, 1, column]
    for column, name in enumerate("wxyz"):
        joints[f"r{name}"] = rest[:, column]
    return joints

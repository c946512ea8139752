"""Chains on a body or any skeleton: a path of joints as one-axis rotations after each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..math.vector import any_perpendicular
from ..skeleton import Skeleton
from .chain import SHORT, Chain, Link

if TYPE_CHECKING:
    from ..body import Humanoid

X, Y, Z = np.eye(3)
DOWN = -Y

# Rotations of each part: (name, canonical axis for the left side, low, high [degrees]). A bend forward or sideways
# away from the body and a rotation inwards are positive; the right side is the mirror image.
ARM = {
    "upper_arm": (("flexion", -X, -50, 160), ("abduction", Z, -20, 150), ("twist", Y, -80, 80)),
    "lower_arm": (("flexion", -X, 0, 145), ("twist", Y, -80, 80)),
    "hand": (("deviation", X, -25, 35), ("flexion", Z, -70, 70)),
}
LEG = {
    "upper_leg": (("flexion", -X, -20, 120), ("abduction", Z, -25, 45), ("twist", Y, -40, 40)),
    "lower_leg": (("flexion", X, 0, 140),),
    "foot": (("flexion", -X, -45, 20), ("tilt", Z, -20, 20)),
}
BACK = (("flexion", X, -10, 25), ("side", Z, -15, 15), ("twist", Y, -15, 15))
HEAD = (("flexion", X, -30, 30), ("side", Z, -20, 20), ("twist", Y, -45, 45))


def chain_of_body(
    cls: type[Chain], body: Humanoid, part: str, limits: ArrayLike | None, pointing: ArrayLike | None
) -> Chain:
    """Implement `Chain.from_body`."""
    from ..body.roles import LIMBS

    if part == "spine":
        names = {joint: role for role, joint in body.roles.items()}
        rows = [(j, names.get(j, body.skeleton.names[j])) for j in body.spine[1:]]
        plan = [(j, role, HEAD if role in ("neck", "head") else BACK) for j, role in rows]
        ahead = Z
    elif part in LIMBS:
        plan = [(body.index(role), role, _rotations(role)) for role in LIMBS[part]]
        ahead = DOWN if part.endswith("arm") else Z
    else:
        raise UnknownNameError("part", part, ("spine", *LIMBS))
    links: list[Link] = []
    names_of: list[str] = []
    ends: list[tuple[float, float]] = []
    frames = body.skeleton.forward(body.neutral_pose)
    for joint, role, rotations in plan:
        for name, axis, low, high in rotations:
            # Mirrored about the body's middle plane, a rotation about y or z changes its sign.
            side = -1.0 if role.startswith("right_") and axis[0] == 0.0 else 1.0
            in_joint = np.asarray(pm.rotate(pm.conjugate(frames.orientations[joint]), side * axis))
            links.append(Link(joint, in_joint, False, len(links)))
            names_of.append(f"{role}.{name}")
            ends.append((np.radians(low), np.radians(high)))
    tip = plan[-1][0]
    given = ahead if pointing is None else floats(pointing, "pointing", 3)
    points = np.asarray(pm.rotate(pm.conjugate(frames.orientations[tip]), given))
    rows_of = _limits(ends if limits is None else limits, len(links))
    return cls(body.skeleton, links, rows_of, tip=tip, pointing=points, names=names_of)


def _rotations(role: str) -> Any:
    part = role.split("_", 1)[1]
    return ARM[part] if part in ARM else LEG[part]


def chain_of_path(
    cls: type[Chain],
    skeleton: Skeleton,
    base: int | str,
    tip: int | str,
    limits: ArrayLike | Mapping[str, tuple[float, float]],
    tip_offset: ArrayLike | None,
    pointing: ArrayLike | None,
) -> Chain:
    """Implement `Chain.from_skeleton`."""
    first, last = skeleton.index(base), skeleton.index(tip)
    path = skeleton.path(last)
    if first not in path:
        raise PosableError(f"{skeleton.names[last]!r} does not hang on {skeleton.names[first]!r}")
    path = path[path.index(first) :]
    offset = _tip_offset(skeleton, last) if tip_offset is None else np.array(tip_offset, dtype=np.float64)
    links: list[Link] = []
    names: list[str] = []
    for at, joint in enumerate(path):
        bone = skeleton.offsets[path[at + 1]] if at + 1 < len(path) else offset
        for axis, slides, name in _one_axis_joints(skeleton, joint, bone):
            links.append(Link(joint, axis, slides, len(links)))
            names.append(f"{skeleton.names[joint]}.{name}")
    if not links:
        raise PosableError(f"nothing between {skeleton.names[first]!r} and {skeleton.names[last]!r} moves")
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in names:
                raise UnknownNameError("value of the chain", name, names)
        limits = [limits.get(name, (-np.pi / 2, np.pi / 2)) for name in names]
    points = pointing if pointing is not None else offset if np.linalg.norm(offset) > SHORT else links[-1].axis
    rows = _limits(limits, len(links))
    return cls(skeleton, links, rows, tip=last, tip_offset=offset, pointing=points, names=names)


def _tip_offset(skeleton: Skeleton, joint: int) -> Floats:
    sites = np.flatnonzero(skeleton.end_parents == joint)
    return skeleton.end_offsets[sites[0]].copy() if len(sites) else np.zeros(3)


def _one_axis_joints(skeleton: Skeleton, joint: int, bone: Floats) -> list[tuple[Floats, bool, str]]:
    """Return (axis, slides, name) of a joint's rotations in order; a ball bends its bone twice, then twists it."""
    kind, axes = skeleton.kinds[joint], skeleton.axes[joint]
    if kind == "hinge":
        return [(axes[0], False, "angle")]
    if kind == "slide":
        return [(axes[0], True, "slide")]
    if kind == "hinge_twist":
        return [(axes[0], False, "flexion"), (axes[1], False, "twist")]
    if kind == "ball":
        along = bone / np.linalg.norm(bone) if np.linalg.norm(bone) > SHORT else Y
        one = np.array(any_perpendicular(tuple(along.tolist())))
        return [(one, False, "bend"), (np.cross(along, one), False, "side"), (along, False, "twist")]
    return []


def _limits(limits: ArrayLike, count: int) -> Floats:
    rows = np.array(limits, dtype=np.float64)
    rows = np.tile(rows, (count, 1)) if rows.shape == (2,) else rows
    if rows.shape != (count, 2):
        raise ShapeError(f"limits have shape {rows.shape}; expected (2,) or ({count}, 2)")
    return rows
